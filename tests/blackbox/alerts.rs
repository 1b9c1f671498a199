//! Notifications, end to end: captured events in, a fake notify-send and a local webhook receiver record what rings.

use headspace_test_support::{Home, Installation, Request, Requests, answer, listen, wait_until};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Records its arguments, one line per call, separated by bars.
const NOTIFY_SEND: &str = "#!/bin/sh\n(IFS='|'; echo \"$*\") >> \"$HOME/rung\"\n";

fn rung(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(home.at("rung")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A webhook that answers the first `failures` requests with 500 and all others with 200.
fn webhook(failures: usize) -> (String, Requests) {
    let (failed, fine) = (answer("500 Oops", ""), answer("200 OK", ""));
    let count = Arc::new(AtomicUsize::new(0));
    let (url, requests) =
        listen(move |stream: TcpStream| match count.fetch_add(1, Ordering::Relaxed) < failures {
            true => failed(stream),
            false => fine(stream),
        });
    (format!("{url}/hook/secret"), requests)
}

#[test]
fn each_cause_rings_once_with_its_reason() {
    let mut home =
        Installation::without_server(json!({"notifications": {"desktop": true, "finished_after": 0}}));
    home.program("notify-send", NOTIFY_SEND);
    home.start();
    let dir = home.project("api", "fix-auth");
    let ask = json!({"tool_name": "Bash", "tool_input": {"command": "npm <test>"}});
    home.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    home.send("PermissionRequest", "s1", &dir, ask.clone());
    wait_until("the question", || rung(&home).len() == 1);
    assert!(
        rung(&home)[0]
            .contains("--urgency|critical|--|api · fix-auth needs you|Allow Bash: npm &lt;test&gt;"),
        "{:?}",
        rung(&home)
    );
    // The client repeats its question after six seconds; headspace does not.
    home.send(
        "Notification",
        "s1",
        &dir,
        json!({"notification_type": "permission_prompt", "message": "Claude needs your permission"}),
    );
    home.send("PostToolUse", "s1", &dir, json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "npm <test>"}, "tool_response": {}}));
    home.send("Stop", "s1", &dir, json!({"last_assistant_message": "Done."}));
    wait_until("the end", || rung(&home).len() == 2);
    assert!(rung(&home)[1].contains("--urgency|normal|--|api · fix-auth is done|after"), "{:?}", rung(&home));
    home.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "again"}));
    home.send("StopFailure", "s1", &dir, json!({"error": "rate_limit"}));
    wait_until("the error", || rung(&home).len() == 3);
    assert!(rung(&home)[2].contains("api · fix-auth failed|rate_limit"), "{:?}", rung(&home));
    // Nothing else rings: what another agent does afterwards comes right behind it.
    let web = home.project("web", "main");
    home.send("UserPromptSubmit", "s2", &web, json!({"prompt": "go"}));
    home.send("Stop", "s2", &web, json!({"last_assistant_message": "Done."}));
    wait_until("the other agent's end", || {
        rung(&home).iter().any(|line| line.contains("|web · go is done|"))
    });
    assert_eq!(rung(&home).len(), 4, "{:?}", rung(&home));
}

#[test]
fn dialogs_that_close_themselves_and_subagents_do_not_ring() {
    let mut home =
        Installation::without_server(json!({"notifications": {"desktop": true, "finished_after": 60}}));
    home.program("notify-send", NOTIFY_SEND);
    home.start();
    let dir = home.project("api", "main");
    home.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    home.send(
        "PreToolUse",
        "s1",
        &dir,
        json!({"tool_name": "EnterPlanMode", "tool_use_id": "t1", "tool_input": {}}),
    );
    home.send(
        "PostToolUse",
        "s1",
        &dir,
        json!({"tool_name": "EnterPlanMode", "tool_use_id": "t1", "tool_input": {}, "tool_response": {}}),
    );
    home.send("SubagentStart", "s1", &dir, json!({"agent_id": "a1", "agent_type": "Explore"}));
    home.send("SubagentStop", "s1", &dir, json!({"agent_id": "a1", "agent_type": "Explore"}));
    home.send("Stop", "s1", &dir, json!({"last_assistant_message": "Done."}));
    // A subagent's question is a question, and the first thing that rings.
    home.send("PermissionRequest", "s1", &dir, json!({"agent_id": "a2", "agent_type": "Explore", "tool_name": "Bash", "tool_input": {"command": "ls"}}));
    wait_until("the subagent's question", || rung(&home).iter().any(|line| line.contains("Allow Bash: ls")));
    assert_eq!(rung(&home).len(), 1, "{:?}", rung(&home));
}

#[test]
fn webhooks_get_the_alert_in_their_format_are_retried_and_get_no_text_unless_configured() {
    let (plain_url, plain) = webhook(0);
    let (slack_url, slack) = webhook(1);
    let (ntfy_url, ntfy) = webhook(0);
    let home = Installation::new(json!({
        "notifications": {"desktop": false},
        "webhooks": [
            {"url": plain_url}, {"url": slack_url, "format": "slack", "include_text": true}, {"url": ntfy_url, "format": "ntfy"},
        ],
    }));
    let dir = home.project("api", "fix-auth");
    home.send(
        "PermissionRequest",
        "s1",
        &dir,
        json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}}),
    );
    let body = plain.next().body;
    assert_eq!(
        (&body["cause"], &body["title"], &body["text"]),
        (&json!("attention"), &json!("api · fix-auth needs you"), &Value::Null)
    );
    let Request { head, body } = ntfy.next();
    assert!(
        head.to_lowercase().contains("x-title: api - fix-auth needs you")
            && body == json!("api · fix-auth needs you"),
        "{head} {body}"
    );
    let failed = slack.next().body;
    let body = slack.next().body;
    assert_eq!(failed, body);
    assert_eq!(body, json!({"text": "*api · fix-auth needs you*\nAllow Bash: npm test"}));
}

#[test]
fn https_webhooks_use_curl_without_secrets_in_its_arguments() {
    let home = Installation::without_server(json!({
        "notifications": {"desktop": false},
        "webhooks": [{"url": "https://example.invalid/secret", "format": "slack", "include_text": true}],
    }));
    home.program("curl", "#!/bin/sh\necho \"$*\" > \"$HOME/arguments\"\ncat > \"$HOME/input\"\n");
    let said = home.ok(&["notify-test"]);
    let read = |name: &str| std::fs::read_to_string(home.at(name)).unwrap();
    assert!(!read("arguments").contains("secret") && !said.contains("secret"), "{said}");
    let input = read("input");
    assert!(input.starts_with("url = \"https://example.invalid/secret\"\n"), "{input}");
    assert!(
        input.contains(r#"data-raw = "{\"text\":\"*headspace · test needs you*\\nAllow Bash"#),
        "{input}"
    );
}

#[test]
fn notify_test_says_how_each_channel_went() {
    let (url, hook) = webhook(0);
    let home =
        Installation::without_server(json!({"notifications": {"desktop": true}, "webhooks": [{"url": url}]}));
    home.program("notify-send", "#!/bin/sh\necho no display >&2\nexit 1\n");
    let out = home.run(&["notify-test"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text.contains("FAIL  desktop: notify-send: no display") && text.contains("ok    webhook 127.0.0.1:"),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
    hook.next();
}
