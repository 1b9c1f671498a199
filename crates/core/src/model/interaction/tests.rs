use super::*;
use crate::model::{AnswerState, AnswerStep, Choice};
use serde_json::json;

fn ask(tool: &str, kind: InteractionKind, input: Value) -> Interaction {
    Interaction {
        id: 1,
        kind,
        tool_use_id: None,
        tool_name: Some(tool.to_string()),
        subagent: None,
        text: "the line".to_string(),
        options: Vec::new(),
        opened_at: Stamp(1),
        closed_at: None,
        event_id: 1,
        asked: Some(Box::new(Asked { input, ..Asked::default() })),
        answer: Some(AnswerStep {
            state: AnswerState::Open,
            digest: "d".repeat(64),
            at: Stamp(2),
            by: None,
            choice: None,
            confirm: None,
        }),
    }
}

fn bash(command: &str) -> Interaction {
    ask("Bash", InteractionKind::Permission, json!({"command": command, "description": "Do it"}))
}

#[test]
fn a_card_has_all_of_the_ask() {
    let view = bash("set -e\n\tmake  \n").view("off");
    assert_eq!((view.text.as_str(), view.ask.as_str()), ("set -e\n\tmake  \n", "the line"));
    assert_eq!((view.title.as_str(), view.description.as_deref()), ("Bash: the line", Some("Do it")));
    assert_eq!(view.answer.can(), [Choice::Allow, Choice::Deny, Choice::Stop]);
    assert_eq!(serde_json::to_value(&view).unwrap()["questions"], json!([]), "every card has the list");
    let other = ask("mcp__db__drop", InteractionKind::Permission, json!({"table": "users", "force": true}));
    assert!(other.view("off").text.contains("\"force\": true"));
    let plan = ask("ExitPlanMode", InteractionKind::Plan, json!({"plan": "# Plan\n1. x\n"})).view("off");
    assert_eq!((plan.plan.as_deref(), plan.text.as_str()), (Some("# Plan\n1. x\n"), "# Plan\n1. x\n"));
    assert_eq!(plan.answer.can(), [Choice::Approve, Choice::KeepPlanning, Choice::Deny, Choice::Stop]);
}

#[test]
fn questions_are_shown_with_their_options_and_answered_only_if_they_are_clear() {
    let colour = json!({"question": "Colour?", "header": "C", "multiSelect": true,
        "options": [{"label": "Red", "description": "r"}, {"label": "Blue"}]});
    let view = ask("AskUserQuestion", InteractionKind::Question, json!({"questions": [colour]})).view("off");
    assert_eq!(view.text, "Colour?\n- Red: r\n- Blue");
    assert_eq!(view.questions[0].options.len(), 2);
    assert!(view.questions[0].multi_select);
    assert_eq!(view.answer.can(), [Choice::Answers, Choice::Deny, Choice::Stop]);
    for unclear in [
        json!({"questions": []}),
        json!({"questions": [colour, colour]}),
        json!({"questions": [colour, {"header": "no text"}]}),
        json!({"questions": [{"question": "q", "options": [{"label": "a"}, {"label": "a"}]}]}),
        json!({}),
    ] {
        let view = ask("AskUserQuestion", InteractionKind::Question, unclear.clone()).view("off");
        assert_eq!(view.answer.can(), [Choice::Deny, Choice::Stop], "{unclear}");
    }
}

#[test]
fn what_is_not_shown_as_asked_can_only_be_denied() {
    for facts in [
        AskFacts { masked: true, ..AskFacts::default() },
        AskFacts { cut: true, ..AskFacts::default() },
        AskFacts { deceptive: true, ..AskFacts::default() },
    ] {
        let mut one = bash("ls");
        one.asked.as_mut().unwrap().facts = facts;
        let answer = one.view("off").answer;
        assert_eq!(answer.can(), [Choice::Deny, Choice::Stop]);
        assert!(answer.why().is_some());
    }
    let mut unknown = bash("ls");
    unknown.asked = None;
    assert_eq!(unknown.view("off").answer.can(), [Choice::Deny, Choice::Stop]);
}

#[test]
fn only_open_asks_with_the_same_known_input_and_choices_are_alike() {
    let key = |one: &Interaction| one.view("off").answer.alike().map(String::from);
    let changed = |change: fn(&mut Interaction)| {
        let mut one = bash("ls");
        change(&mut one);
        key(&one)
    };
    let ours = key(&bash("ls"));
    assert_eq!(ours.as_ref().map(String::len), Some(32));
    assert_eq!(changed(|one| (one.id, one.text) = (77, "Allow Bash: ls".to_string())), ours);
    for (what, other) in [
        ("another command", key(&bash("ls -l"))),
        ("another tool", changed(|one| one.tool_name = Some("Shell".to_string()))),
        ("fewer choices", changed(|one| one.asked.as_mut().unwrap().facts.cut = true)),
        ("a word to type", changed(|one| one.answer.as_mut().unwrap().confirm = Some("ls".to_string()))),
    ] {
        assert!(other.is_some() && other != ours, "{what}: {other:?}");
    }
    for (what, none) in [
        ("unknown input", changed(|one| one.asked = None)),
        ("nobody waits", changed(|one| one.answer = None)),
        ("answered", changed(|one| one.answer.as_mut().unwrap().state = AnswerState::Claimed)),
    ] {
        assert_eq!(none, None, "{what}");
    }
}

#[test]
fn an_ask_that_nobody_waits_for_says_why() {
    let mut one = bash("ls");
    one.answer = None;
    assert_eq!(one.view("answering is off").answer, AnswerView::terminal("answering is off"));
    one.subagent = Some("a1".to_string());
    assert!(one.view("answering is off").answer.why().unwrap().contains("subagent"));
    let json = serde_json::to_value(bash("ls").view("").answer).unwrap();
    assert_eq!(json["state"], "open");
    assert!(json["by"].is_null() && json.get("at").is_some() && json.get("confirm").is_none());
    let back: AnswerView = serde_json::from_value(json).unwrap();
    assert_eq!(back, bash("ls").view("").answer);
}

#[test]
fn a_question_of_the_first_version_is_still_read() {
    let old: Interaction = serde_json::from_value(json!({"id": 3, "kind": "mcp_input", "tool_use_id": null,
        "tool_name": null, "subagent": null, "text": "MCP input", "opened_at": "2026-11-14T10:00:00Z",
        "closed_at": null, "event_id": 4}))
    .unwrap();
    let view = old.view("off");
    assert_eq!((view.text.as_str(), view.title.as_str()), ("MCP input", "MCP input"));
    assert_eq!(serde_json::to_value(view.kind).unwrap(), "mcp");
}
