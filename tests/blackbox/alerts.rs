//! Notifications, end to end: captured events in, a fake notify-send and a local webhook receiver record what rings.

use crate::stage::{Stage, wait_for};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Records its arguments, one line per call, separated by bars.
const NOTIFY_SEND: &str = "#!/bin/sh\n(IFS='|'; echo \"$*\") >> \"$HOME/rung\"\n";

fn rung(stage: &Stage) -> Vec<String> {
    let text = std::fs::read_to_string(stage.home.path().join("rung")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Answers the first `failures` requests with 500, all others with 200, and hands their bodies on.
fn webhook(failures: usize) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook/secret", listener.local_addr().unwrap());
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() <= 2 {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let status = if count < failures { "500 Oops" } else { "200 OK" };
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            let value =
                serde_json::from_slice(&body).unwrap_or_else(|_| json!(String::from_utf8_lossy(&body)));
            let _ = send.send((head, value));
        }
    });
    (url, receive)
}

#[test]
fn every_cause_rings_once_with_its_reason() {
    let mut stage = Stage::bare(json!({"notifications": {"desktop": true, "finished_after": 0}}));
    stage.program("notify-send", NOTIFY_SEND);
    stage.start();
    let dir = stage.project("api", "fix-auth");
    let ask = json!({"tool_name": "Bash", "tool_input": {"command": "npm <test>"}});
    stage.event("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    stage.event("PermissionRequest", "s1", &dir, ask.clone());
    wait_for("the question", || (rung(&stage).len() == 1).then_some(()));
    assert!(
        rung(&stage)[0]
            .contains("--urgency|critical|--|api · fix-auth needs you|Allow Bash: npm &lt;test&gt;"),
        "{:?}",
        rung(&stage)
    );
    // Six seconds later the client repeats itself; nobody else does.
    stage.event(
        "Notification",
        "s1",
        &dir,
        json!({"notification_type": "permission_prompt", "message": "Claude needs your permission"}),
    );
    stage.event("PostToolUse", "s1", &dir, json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "npm <test>"}, "tool_response": {}}));
    stage.event("Stop", "s1", &dir, json!({"last_assistant_message": "Done."}));
    wait_for("the end", || (rung(&stage).len() == 2).then_some(()));
    assert!(
        rung(&stage)[1].contains("--urgency|normal|--|api · fix-auth is done|after"),
        "{:?}",
        rung(&stage)
    );
    stage.event("UserPromptSubmit", "s1", &dir, json!({"prompt": "again"}));
    stage.event("StopFailure", "s1", &dir, json!({"error": "rate_limit"}));
    wait_for("the error", || (rung(&stage).len() == 3).then_some(()));
    assert!(rung(&stage)[2].contains("api · fix-auth failed|rate_limit"), "{:?}", rung(&stage));
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(rung(&stage).len(), 3, "{:?}", rung(&stage));
}

#[test]
fn what_closes_itself_and_what_subagents_do_is_quiet() {
    let mut stage = Stage::bare(json!({"notifications": {"desktop": true, "finished_after": 60}}));
    stage.program("notify-send", NOTIFY_SEND);
    stage.start();
    let dir = stage.project("api", "main");
    stage.event("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    stage.event(
        "PreToolUse",
        "s1",
        &dir,
        json!({"tool_name": "EnterPlanMode", "tool_use_id": "t1", "tool_input": {}}),
    );
    stage.event(
        "PostToolUse",
        "s1",
        &dir,
        json!({"tool_name": "EnterPlanMode", "tool_use_id": "t1", "tool_input": {}, "tool_response": {}}),
    );
    stage.event("SubagentStart", "s1", &dir, json!({"agent_id": "a1", "agent_type": "Explore"}));
    stage.event("SubagentStop", "s1", &dir, json!({"agent_id": "a1", "agent_type": "Explore"}));
    stage.event("Stop", "s1", &dir, json!({"last_assistant_message": "Done."}));
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(rung(&stage), Vec::<String>::new());
    // A subagent's question is a question.
    stage.event("PermissionRequest", "s1", &dir, json!({"agent_id": "a2", "agent_type": "Explore", "tool_name": "Bash", "tool_input": {"command": "ls"}}));
    wait_for("the subagent's question", || (rung(&stage).len() == 1).then_some(()));
}

#[test]
fn webhooks_get_the_alert_in_their_format_after_a_failure_and_without_texts_unless_asked() {
    let (plain_url, plain) = webhook(0);
    let (slack_url, slack) = webhook(1);
    let (ntfy_url, ntfy) = webhook(0);
    let stage = Stage::new(json!({
        "notifications": {"desktop": false},
        "webhooks": [
            {"url": plain_url}, {"url": slack_url, "format": "slack", "include_text": true}, {"url": ntfy_url, "format": "ntfy"},
        ],
    }));
    let dir = stage.project("api", "fix-auth");
    stage.event(
        "PermissionRequest",
        "s1",
        &dir,
        json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}}),
    );
    let patience = Duration::from_secs(10);
    let (_, body) = plain.recv_timeout(patience).unwrap();
    assert_eq!(
        (&body["cause"], &body["title"], &body["text"]),
        (&json!("attention"), &json!("api · fix-auth needs you"), &Value::Null)
    );
    let (head, body) = ntfy.recv_timeout(patience).unwrap();
    assert!(
        head.to_lowercase().contains("x-title: api - fix-auth needs you")
            && body == json!("api · fix-auth needs you"),
        "{head} {body}"
    );
    let failed = slack.recv_timeout(patience).unwrap();
    let (_, body) = slack.recv_timeout(patience).unwrap();
    assert_eq!(failed.1, body);
    assert_eq!(body, json!({"text": "*api · fix-auth needs you*\nAllow Bash: npm test"}));
}

#[test]
fn https_goes_through_curl_with_nothing_secret_in_its_arguments() {
    let stage = Stage::bare(json!({
        "notifications": {"desktop": false},
        "webhooks": [{"url": "https://example.invalid/secret", "format": "slack", "include_text": true}],
    }));
    stage.program("curl", "#!/bin/sh\necho \"$*\" > \"$HOME/arguments\"\ncat > \"$HOME/input\"\n");
    let said = stage.says(&["notify-test"]);
    let read = |name: &str| std::fs::read_to_string(stage.home.path().join(name)).unwrap();
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
    let stage = Stage::bare(json!({"notifications": {"desktop": true}, "webhooks": [{"url": url}]}));
    stage.program("notify-send", "#!/bin/sh\necho no display >&2\nexit 1\n");
    let out = stage.run(&["notify-test"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text.contains("FAIL  desktop: notify-send: no display") && text.contains("ok    webhook 127.0.0.1:"),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
    hook.recv_timeout(Duration::from_secs(5)).unwrap();
}
