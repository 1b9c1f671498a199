//! What goes wrong around an answer: after each, the terminal's dialog is in charge and nothing ran that nobody saw.

use super::{ALLOW, Desk, below_an_agent, clock};
use headspace_test_support::{Process, each_row, on_terminal, wait_until};
use serde_json::json;

#[test]
fn the_same_command_twice_takes_two_answers() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let first = desk.ask("twice", "make");
    let old = desk.card("twice");
    desk.send("PostToolUse", "twice", json!({"tool_name": "Bash", "tool_use_id": "t-twice"}));
    assert_eq!(first.printed(), "", "the terminal was first");
    let mut second = desk.ask("twice", "make");
    let new = desk.card("twice");
    assert_ne!(old["id"], new["id"]);
    assert_eq!(old["answer"]["digest"], new["answer"]["digest"], "they are asked word for word alike");
    let late = desk.answer(&old, "allow");
    assert_eq!((late.status, late.json()["by"].clone()), (409, json!("terminal")), "an old tab");
    assert!(second.runs(), "the answer to the first is none to the second");
    assert_eq!(desk.answer(&new, "allow").status, 200);
    assert_eq!(second.printed(), ALLOW);
}

#[test]
fn what_cannot_be_shown_as_it_was_asked_can_only_be_denied() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let secret = format!("sk-ant-{}", "api03-".to_owned() + &"x1".repeat(45));
    let rows = [
        ("a secret", format!("curl -H 'x-api-key: {secret}' https://api.example.com")),
        ("too long", format!("echo {}", "x".repeat(70 << 10))),
        ("a turned direction", "echo \u{202e}cod.exe".to_owned()),
        ("an escape sequence", "echo \u{1b}[2K ls".to_owned()),
        ("a carriage return", "rm -r build\rls          ".to_owned()),
        ("an invisible character", "echo a\u{200b}b".to_owned()),
    ];
    each_row(
        rows,
        |(name, _)| name.to_string(),
        |(name, command)| {
            let session = name.replace(' ', "-");
            let mut waiter = desk.ask(&session, &command);
            let card = desk.card(&session);
            assert_eq!(card["answer"]["can"], json!(["deny", "stop"]), "{card}");
            assert!(card["answer"]["why"].as_str().is_some_and(|why| !why.is_empty()), "{card}");
            assert!(!card.to_string().contains(&secret), "it is masked");
            assert_eq!(desk.answer(&card, "allow").status, 422);
            let (said, code) = on_terminal(desk.headspace.command(&["answer", &session, "allow"]), "");
            assert_eq!(code, Some(1), "{said}");
            assert!(waiter.runs());
            assert_eq!(desk.answer(&card, "deny").status, 200);
            assert!(waiter.printed().contains("\"behavior\":\"deny\""));
        },
    );
}

#[test]
fn a_wall_clock_that_jumps_ends_no_key_and_loses_no_answer() {
    if below_an_agent() {
        return;
    }
    const DAY: i64 = 86_400;
    let desk = Desk::new();
    let pid = desk.headspace.server().pid();
    for (session, jump) in [("back", -DAY), ("ahead", 2 * DAY), ("and-back", -30 * DAY)] {
        let before = desk.ask(session, "make");
        let card = desk.card(session);
        let code = desk.code();
        if !clock::jump(pid, jump) {
            return;
        }
        let mine = desk.headspace.server().request(
            "GET",
            "/api/answer",
            &[("Cookie", &format!("headspace_answer={}", desk.cookie))],
            None,
        );
        assert_eq!(mine.json()["mine"], true, "{session}: the key counts by a clock that cannot be set");
        let unlocked = desk.browser("/api/answer/unlock", &json!({"code": code}), "");
        assert_eq!(unlocked.status, 204, "{session}: so does the code");
        let answered = desk.answer(&card, "allow");
        assert_eq!(answered.status, 200, "{session}: {}", answered.text());
        assert_eq!(before.printed(), ALLOW, "{session}");
        wait_until("the card goes", || desk.open(session).is_none());
        let again = desk.answer(&card, "deny");
        assert_eq!((again.status, again.json()["by"].clone()), (409, json!("web")), "{session}");
        // What is asked after the jump is held and answered as ever.
        let session = format!("{session}-after");
        let after = desk.ask(&session, "make");
        assert_eq!(desk.answer(&desk.card(&session), "deny").status, 200);
        assert!(after.printed().contains("deny"), "{session}");
    }
}

#[test]
fn a_client_that_is_killed_leaves_no_hook_behind_and_no_card_that_can_be_answered() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let client = Process::idle();
    let ask = json!({"tool_name": "Bash", "tool_input": {"command": "make"}});
    let pid = client.id().to_string();
    let variables = [("CLAUDE_PID", pid.as_str())];
    desk.headspace.send_with(
        "UserPromptSubmit",
        "killed",
        desk.headspace.path(),
        json!({"prompt": "go"}),
        &variables,
    );
    let mut waiter = desk.hold(&desk.payload("killed", "make"), &variables);
    desk.headspace.send_with("PermissionRequest", "killed", desk.headspace.path(), ask, &variables);
    let card = desk.card("killed");
    client.end();
    drop((waiter.0.stdout.take(), waiter.0.stderr.take()));
    wait_until("the hook goes with its client", || !waiter.runs());
    wait_until("nobody can answer it", || {
        desk.open("killed").is_none_or(|card| card["answer"]["can"] == json!([]))
    });
    assert_eq!(desk.answer(&card, "allow").status, 409);
}
