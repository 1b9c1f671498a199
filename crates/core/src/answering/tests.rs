use super::*;
use crate::model::{AnswerState, AnswerStep, AskFacts, Asked, InteractionKind};
use crate::stamp::Stamp;

fn held(tool: &str, kind: InteractionKind, input: Value, confirm: Option<&str>) -> Interaction {
    Interaction {
        id: 1,
        kind,
        tool_use_id: None,
        tool_name: Some(tool.into()),
        subagent: None,
        text: String::new(),
        options: Vec::new(),
        opened_at: Stamp(1),
        closed_at: None,
        event_id: 1,
        asked: Some(Box::new(Asked { input, key: 0, text: None, facts: AskFacts::default() })),
        answer: Some(AnswerStep {
            state: AnswerState::Open,
            digest: "d1".into(),
            at: Stamp(1),
            by: None,
            choice: None,
            confirm: confirm.map(String::from),
        }),
    }
}

fn question() -> Interaction {
    let input = json!({"questions": [
        {"question": "Colour?", "options": [{"label": "Red"}, {"label": "Blue"}]},
        {"question": "Sizes?", "multiSelect": true, "options": [{"label": "S"}, {"label": "M"}, {"label": "L"}]}]});
    held("AskUserQuestion", InteractionKind::Question, input, None)
}

#[test]
fn the_digest_covers_all_that_is_shown_and_no_order_of_keys() {
    let ask = json!({"session_id": "s", "cwd": "/p", "permission_mode": "default", "tool_name": "Bash",
        "tool_input": {"command": "ls", "n": [1, {"b": 2, "a": 1}]}, "prompt_id": "x"});
    let same = json!({"tool_input": {"n": [1, {"a": 1, "b": 2}], "command": "ls"}, "tool_name": "Bash",
        "permission_mode": "default", "cwd": "/p", "session_id": "s"});
    assert_eq!(digest(&ask), digest(&same));
    assert_eq!(digest(&ask).len(), 64);
    for (path, value) in [
        ("/session_id", json!("t")),
        ("/cwd", json!("/q")),
        ("/permission_mode", Value::Null),
        ("/tool_name", json!("bash")),
        ("/tool_input/command", json!("ls ")),
        ("/tool_input/n/0", json!("1")),
        ("/tool_input/n/1/a", json!(1.5)),
    ] {
        let mut other = ask.clone();
        *other.pointer_mut(path).unwrap() = value;
        assert_ne!(digest(&ask), digest(&other), "{path}");
    }
}

#[test]
fn only_a_whole_answer_to_this_ask_is_read() {
    let bash = held("Bash", InteractionKind::Permission, json!({"command": "ls"}), None);
    let yes = read_answer(&bash, &json!({"digest": "d1", "choice": "allow"})).unwrap();
    assert_eq!(yes.choice, Choice::Allow);
    for bad in [
        json!([]),
        json!({"choice": "allow"}),
        json!({"digest": "d2", "choice": "allow"}),
        json!({"digest": null, "choice": "allow"}),
        json!({"digest": "d1"}),
        json!({"digest": "d1", "choice": "ALLOW"}),
        json!({"digest": "d1", "choice": "approve"}),
        json!({"digest": "d1", "choice": ["allow"]}),
        json!({"digest": "d1", "choice": "allow", "updatedInput": {}}),
        json!({"digest": "d1", "choice": "allow", "message": "for nobody"}),
        json!({"digest": "d1", "choice": "allow", "answers": {}}),
        json!({"digest": "d1", "choice": "allow", "confirm": true}),
        json!({"digest": "d1", "choice": "deny", "message": 7}),
        json!({"digest": "d1", "choice": "deny", "message": "x".repeat(20_000)}),
    ] {
        assert!(read_answer(&bash, &bad).is_err(), "{bad}");
    }
}

#[test]
fn what_the_guard_would_stop_needs_its_word_and_a_no_does_not() {
    let push = held("Bash", InteractionKind::Permission, json!({"command": "git push -f"}), Some("git"));
    for bad in [json!({}), json!({"confirm": ""}), json!({"confirm": "GIT"}), json!({"confirm": true})] {
        let mut body = json!({"digest": "d1", "choice": "allow"});
        body.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        assert!(read_answer(&push, &body).is_err(), "{body}");
    }
    assert!(read_answer(&push, &json!({"digest": "d1", "choice": "allow", "confirm": "git"})).is_ok());
    assert!(read_answer(&push, &json!({"digest": "d1", "choice": "deny"})).is_ok());
}

#[test]
fn answers_fit_the_questions_or_are_refused() {
    let ask = question();
    let given =
        |answers: Value| read_answer(&ask, &json!({"digest": "d1", "choice": "answers", "answers": answers}));
    let good = given(json!({"Colour?": "Blue", "Sizes?": ["L", "S"]})).unwrap();
    assert_eq!(good.answers[1].1, "S, L");
    assert_eq!(good.said(), "Blue; S, L");
    assert_eq!(
        given(json!({"Colour?": {"text": "grey\nish"}, "Sizes?": "M"})).unwrap().said(),
        "grey\nish; M"
    );
    for bad in [
        json!(null),
        json!({}),
        json!("Red"),
        json!({"Colour?": "Red"}),
        json!({"Colour?": "Red", "Sizes?": ["S"], "More?": "x"}),
        json!({"Colour?": "Green", "Sizes?": ["S"]}),
        json!({"Colour?": ["Red"], "Sizes?": ["S"]}),
        json!({"Colour?": "Red", "Sizes?": ["S", "XL"]}),
        json!({"Colour?": "Red", "Sizes?": []}),
        json!({"Colour?": "", "Sizes?": ["S"]}),
        json!({"Colour?": {"text": " "}, "Sizes?": ["S"]}),
        json!({"Colour?": {"text": "x", "y": 1}, "Sizes?": ["S"]}),
        json!({"Colour?": 1, "Sizes?": ["S"]}),
        json!({"Colour?": "Red", "Sizes?": ["S", "S"]}),
    ] {
        assert!(given(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn wait_prints_only_what_is_meant_for_it() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let plan = raw("{\"plan\": \"a\\u00e9\", \"n\": 12345678901234567890123, \"\":1.50}");
    let said = |line: &str, tool: &str| decision(line.as_bytes(), "i", "d", tool, &plan);
    let wrapped = |inner: &str| {
        Some(format!(
            "{{\"hookSpecificOutput\":{{\"hookEventName\":\"PermissionRequest\",\"decision\":{inner}}}}}"
        ))
    };
    for (line, tool, inner) in [
        (r#"{"id":"i","digest":"d","choice":"allow"}"#, "Bash", r#"{"behavior":"allow"}"#),
        (r#"{"id":"i","digest":"d","choice":"deny"}"#, "Bash", r#"{"behavior":"deny"}"#),
        (
            r#"{"id":"i","digest":"d","choice":"deny","message":"a\nb"}"#,
            "Bash",
            r#"{"behavior":"deny","message":"a\nb"}"#,
        ),
        (r#"{"id":"i","digest":"d","choice":"stop"}"#, "Bash", r#"{"behavior":"deny","interrupt":true}"#),
        (
            r#"{"id":"i","digest":"d","choice":"approve"}"#,
            "ExitPlanMode",
            r#"{"behavior":"allow","updatedInput":{"plan": "a\u00e9", "n": 12345678901234567890123, "":1.50}}"#,
        ),
        (
            r#"{"id":"i","digest":"d","choice":"answers","answers":{"q":"x"}}"#,
            "AskUserQuestion",
            r#"{"behavior":"allow","updatedInput":{"plan": "a\u00e9", "n": 12345678901234567890123, "":1.50,"answers":{"q":"x"}}}"#,
        ),
    ] {
        assert_eq!(said(line, tool), wrapped(inner), "{line}");
    }
    for (line, tool) in [
        (r#"{"id":"j","digest":"d","choice":"allow"}"#, "Bash"),
        (r#"{"id":"i","digest":"e","choice":"allow"}"#, "Bash"),
        (r#"{"id":"i","digest":"d"}"#, "Bash"),
        (r#"{"id":"i","digest":"d","choice":"always"}"#, "Bash"),
        (r#"{"id":"i","digest":"d","choice":"approve"}"#, "Bash"),
        (r#"{"id":"i","digest":"d","choice":"allow"}"#, "ExitPlanMode"),
        (r#"{"id":"i","digest":"d","choice":"allow"}"#, "AskUserQuestion"),
        (r#"{"id":"i","digest":"d","choice":"answers"}"#, "AskUserQuestion"),
        (r#"{"id":"i","digest":"d","choice":"answers","answers":{"q":1}}"#, "AskUserQuestion"),
        (r#"{"id":"i","digest":"d","choice":"deny","message":1}"#, "Bash"),
        ("{\"decision\":{\"behavior\":\"allow\"}}", "Bash"),
        ("", "Bash"),
        ("\u{0}", "Bash"),
    ] {
        assert_eq!(said(line, tool), None, "{line}");
    }
    let empty = raw("{}");
    let line = br#"{"id":"i","digest":"d","choice":"answers","answers":{"q":"x"}}"#;
    assert!(
        decision(line, "i", "d", "AskUserQuestion", &empty).unwrap().contains(r#"{"answers":{"q":"x"}}"#)
    );
    let doubled = raw(r#"{"answers":{"old":"y"},"a":1}"#);
    assert!(
        decision(line, "i", "d", "AskUserQuestion", &doubled)
            .unwrap()
            .contains(r#"{"answers":{"q":"x"},"a":1}"#)
    );
}
