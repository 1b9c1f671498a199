//! Notifications, end to end: captured events in, a fake notify-send and a local webhook receiver record what rings.

mod session_bus;

use headspace_test_support::{Home, Installation, Request, Requests, answer, listen, wait_for, wait_until};
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

/// The line that a stand-in for a program writes to a file: the file is there a moment before.
fn line_in(home: &Home, name: &str) -> String {
    wait_for(name, || std::fs::read_to_string(home.at(name)).ok().filter(|text| text.ends_with('\n')))
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
    // Posted, because a dialog rings after a second, and a busy machine may not start two hooks in that time.
    let call = json!({"session_id": "s1", "cwd": dir, "tool_name": "EnterPlanMode", "tool_use_id": "t1", "tool_input": {}});
    home.server().hook("pre-tool-use", call.clone());
    home.server().hook("post-tool-use", call);
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

/// As today's notify-send: prints the notification's number, and with a file `click` in the home directory the action in it;
/// stays while the notification is on the screen.
const CLICKABLE: &str = r#"#!/bin/sh
(IFS='|'; echo "$*") >> "$HOME/rung"
case "$*" in *--print-id*) echo 41 ;; esac
case "$*" in *--action*) while [ ! -e "$HOME/closed" ] && [ ! -e "$HOME/click" ]; do sleep 0.05; done ;; esac
[ ! -e "$HOME/click" ] || cat "$HOME/click"
"#;

#[test]
fn a_click_opens_the_card_and_an_answered_ask_takes_its_notification_away() {
    let mut home = Installation::without_server(json!({"notifications": {"sound": {"attention": "bell"}}}));
    home.program("notify-send", CLICKABLE);
    home.program("gdbus", "#!/bin/sh\necho \"$*\" > \"$HOME/closed\"\n");
    home.program("xdg-open", "#!/bin/sh\necho \"$1\" > \"$HOME/opened\"\n");
    home.home.set("DISPLAY", ":7");
    home.start();
    let dir = home.project("api", "fix-auth");
    let ask = json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_use_id": "t1"});
    home.send("PermissionRequest", "s1", &dir, ask.clone());
    wait_until("the question", || rung(&home).len() == 1);
    let first = rung(&home).remove(0);
    assert!(first.contains("--action=default=Open|--action=jump=Go to its terminal|"), "{first}");
    assert!(first.contains("--hint=string:sound-name:bell|"), "{first}");
    home.send("PostToolUse", "s1", &dir, ask.clone());
    let closed = line_in(&home, "closed");
    assert!(closed.trim_end().ends_with("org.freedesktop.Notifications.CloseNotification 41"), "{closed}");

    std::fs::remove_file(home.at("closed")).unwrap();
    home.send("PermissionRequest", "s1", &dir, ask);
    wait_until("the second question", || rung(&home).len() == 2);
    home.write("click", "default\n");
    let page = line_in(&home, "opened");
    let page = std::fs::read_to_string(page.trim().trim_start_matches("file://")).unwrap();
    assert!(page.contains("/login?code=") && page.contains("&amp;agent=1\""), "{page}");
}

#[test]
fn an_old_notify_send_shows_the_alert_without_actions() {
    let mut home = Installation::without_server(json!({"notifications": {"desktop": true}}));
    let old = "#!/bin/sh\ncase \"$*\" in *--action*) echo Unknown option --action >&2; exit 1 ;; esac\n";
    home.program("notify-send", &format!("{old}{}", NOTIFY_SEND.trim_start_matches("#!/bin/sh\n")));
    home.start();
    let dir = home.project("api", "main");
    let ask = json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}});
    home.send("PermissionRequest", "s1", &dir, ask);
    wait_until("the question", || rung(&home).len() == 1);
    assert!(rung(&home)[0].ends_with("api needs you|Allow Bash: npm test"), "{:?}", rung(&home));
}

#[test]
fn done_says_how_it_ended_and_links_lead_to_the_card() {
    let (ntfy_url, ntfy) = webhook(0);
    let (discord_url, discord) = webhook(0);
    let (telegram_url, telegram) = webhook(0);
    let (template_url, template) = webhook(0);
    let hook = |url: &str, format: &str| json!({"url": url, "format": format, "include_text": true});
    let mut chat = hook(&telegram_url, "telegram");
    chat["chat"] = json!("42");
    let mut own = hook(&template_url, "template");
    own["template"] = json!({"message": "{title}: {text}", "link": "{url}"});
    let home = Installation::new(json!({
        "notifications": {"desktop": false, "finished_after": 0},
        "dashboard_url": "https://board.example",
        "webhooks": [hook(&ntfy_url, "ntfy"), hook(&discord_url, "discord"), chat, own],
    }));
    let dir = home.project("api", "fix-auth");
    home.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    home.send(
        "Stop",
        "s1",
        &dir,
        json!({"last_assistant_message": "I changed two files. All 12 tests pass."}),
    );
    let card = "https://board.example/#/agents/1";
    let Request { head, body } = ntfy.next();
    assert!(head.to_lowercase().contains(&format!("x-click: {card}")), "{head}");
    let words = body.as_str().unwrap();
    assert!(words.starts_with("after ") && words.ends_with(": All 12 tests pass."), "{words}");
    let content = discord.next().body["content"].as_str().unwrap().to_owned();
    assert!(content.contains("is done**") && content.ends_with(&format!("<{card}>")), "{content}");
    let message = telegram.next().body;
    assert_eq!(message["chat_id"], "42");
    assert!(message["text"].as_str().unwrap().ends_with(&format!("All 12 tests pass.\n{card}")), "{message}");
    let filled = template.next().body;
    assert!(filled["message"].as_str().unwrap().contains("is done: after "), "{filled}");
    assert_eq!(filled["link"], card);
}

#[test]
fn an_unknown_webhook_format_is_an_error_that_names_the_known_ones() {
    let home =
        Installation::without_server(json!({"webhooks": [{"url": "http://127.0.0.1:1", "format": "pager"}]}));
    let out = home.run(&["notify-test"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1));
    for known in ["pager", "json", "ntfy", "slack", "discord", "telegram", "template"] {
        assert!(said.contains(known), "{known}: {said}");
    }
    assert_eq!(said.lines().count(), 1, "{said}");
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
