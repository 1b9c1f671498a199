//! Answers given through headspace: what each step does, and what later events show about it.

use crate::story::*;
use headspace_core::model::*;
use serde_json::{Value, json};

const DIGEST: &str = "00000000000000000000000000000000000000000000000000000000000000aa";

fn step(state: AnswerState, more: Value) -> Tell {
    let body = json!({"interaction_id": 1, "digest": DIGEST, "state": state});
    let mut tell = tell(observed::ANSWER, body).with(more);
    tell.source = Source::Answer;
    tell
}

fn claimed(choice: &str) -> Tell {
    step(AnswerState::Claimed, json!({"choice": choice, "by": "web"}))
}

fn delivered(choice: &str, more: Value) -> Tell {
    step(AnswerState::Delivered, json!({"choice": choice, "by": "web"})).with(more)
}

/// A Bash call that asks, and a hook waits for its answer.
fn held() -> Vec<Tell> {
    vec![start("startup"), prompt("go"), pre("Bash", "t1"), asks("Bash"), step(AnswerState::Open, json!({}))]
}

fn answered(choice: &str, more: Value) -> Vec<Tell> {
    held().into_iter().chain([claimed(choice), delivered(choice, more)]).collect()
}

fn due(story: &Story) -> Vec<Option<AnswerState>> {
    story.agent().past_asks.iter().map(|past| past.due).collect()
}

#[test]
fn a_held_ask_can_be_answered_until_someone_has() {
    let mut story = Story::of(held());
    assert_eq!(story.look(), "awaiting_input attention Allow Bash: npm test");
    let answer = story.view().interactions[0].answer.clone();
    assert_eq!((answer.can().len(), answer.digest()), (3, Some(DIGEST)));
    story.tell(claimed("allow"));
    assert_eq!(story.look(), "awaiting_input attention Allow Bash: npm test");
    assert!(story.view().interactions[0].answer.can().is_empty());
}

#[test]
fn a_delivered_answer_closes_the_dialog_and_the_turn_continues() {
    for (choice, more, turn) in [
        ("allow", json!({}), None),
        ("deny", json!({"message": "another name"}), Some("user:answer another name")),
        ("deny", json!({}), None),
        ("keep_planning", json!({"message": "add a test"}), Some("user:answer add a test")),
        ("answers", json!({"answers": "Blue; Small, Large"}), Some("user:answer Blue; Small, Large")),
    ] {
        let story = Story::of(answered(choice, more));
        assert_eq!(story.look(), "processing working Bash: npm test", "{choice}");
        assert_eq!(story.agent().source, Source::Answer);
        assert_eq!(
            story.turns().last().filter(|last| last.starts_with("user:answer")).map(String::as_str),
            turn
        );
    }
}

#[test]
fn a_stop_ends_the_turn_because_no_event_will() {
    let story = Story::of(answered("stop", json!({"message": "lost"})));
    assert_eq!(story.look(), "idle idle interrupted");
    assert!(story.view().interactions.is_empty());
    assert!(!story.turns().iter().any(|turn| turn.contains("lost")), "the client does not pass it on");
}

#[test]
fn what_the_call_did_shows_whether_the_answer_counted() {
    let decided =
        |by: &str| tell(observed::DECIDED, json!({"tool_use_id": "t1", "decided_by": by, "uuid": by}));
    use AnswerState::{Confirmed, LostToTerminal};
    for (choice, after, wanted) in [
        ("allow", vec![post("Bash", "t1")], Some(Confirmed)),
        ("deny", vec![post("Bash", "t1")], Some(LostToTerminal)),
        ("allow", vec![post("Bash", "t2")], None),
        ("deny", vec![decided("hook")], Some(Confirmed)),
        ("allow", vec![decided("user_temporary")], Some(LostToTerminal)),
        ("allow", vec![decided("user_temporary"), post("Bash", "t1")], Some(LostToTerminal)),
        ("allow", vec![post("Bash", "t1"), decided("user_temporary")], Some(LostToTerminal)),
        ("allow", vec![post("Bash", "t1"), decided("hook")], Some(Confirmed)),
        ("deny", vec![tell("PermissionDenied", json!({"tool_name": "Bash", "tool_use_id": "t1"}))], None),
    ] {
        let names: Vec<String> = after.iter().map(|tell| tell.name.clone()).collect();
        let story = Story::of(answered(choice, json!({})).into_iter().chain(after));
        assert_eq!(due(&story), [wanted], "{choice}, then {names:?}");
    }
}

#[test]
fn lost_to_the_terminal_is_the_last_word() {
    let mut story = Story::of(answered("allow", json!({})));
    story.tell(step(AnswerState::LostToTerminal, json!({})));
    story.tell(post("Bash", "t1"));
    story.tell(step(AnswerState::Confirmed, json!({})));
    let past = &story.agent().past_asks[0];
    assert_eq!((past.step.state, past.due), (AnswerState::LostToTerminal, None));
    assert_eq!(past.step.by, Some(Surface::Terminal));
}

#[test]
fn whatever_closes_a_held_ask_says_how_it_ended() {
    use AnswerState::{AnsweredInTerminal, RefusedInTerminal, Withdrawn};
    for (tell, wanted) in [
        (post("Bash", "t1"), AnsweredInTerminal),
        (stop("Done."), AnsweredInTerminal),
        (prompt("something else"), AnsweredInTerminal),
        (tell(observed::REFUSED, json!({"tool_use_id": "t1", "uuid": "u"})), RefusedInTerminal),
        (tell(observed::INTERRUPTED, json!({"uuid": "u"})), RefusedInTerminal),
        (end("prompt_input_exit"), Withdrawn),
    ] {
        let name = tell.name.clone();
        let story = Story::of(held().into_iter().chain([tell]));
        assert_eq!(due(&story), [Some(wanted)], "{name}");
        assert!(story.view().interactions.is_empty(), "{name}");
    }
    let other = Story::of(held().into_iter().chain([post("Read", "t9")]));
    assert_eq!((due(&other).len(), other.view().interactions.len()), (0, 1), "another call's event");
}

#[test]
fn a_call_that_ends_before_its_delivery_is_reported_is_judged_when_it_is() {
    let early = held().into_iter().chain([claimed("allow"), post("Bash", "t1")]);
    let mut story = Story::of(early);
    assert_eq!(due(&story), [Some(AnswerState::LostToTerminal)]);
    story.tell(delivered("allow", json!({})));
    assert_eq!(due(&story), [Some(AnswerState::Confirmed)]);
}

#[test]
fn a_refusal_in_the_terminal_closes_the_ask() {
    let mut story = Story::of(held());
    story.tell(step(AnswerState::RefusedInTerminal, json!({})));
    assert_eq!(story.look(), "processing working Bash: npm test");
    assert_eq!(story.agent().past_asks[0].step.by, Some(Surface::Terminal));
}

#[test]
fn a_withdrawn_ask_stays_open_and_is_answered_in_the_terminal() {
    let mut story = Story::of(held());
    story.tell(step(AnswerState::Withdrawn, json!({})));
    assert_eq!(story.look(), "awaiting_input attention Allow Bash: npm test");
    let answer = story.view().interactions[0].answer.clone();
    assert!(answer.can().is_empty() && answer.why().is_some_and(|why| why.contains("withdrawn")));
    story.tell(post("Bash", "t1"));
    assert_eq!(due(&story), [None], "nobody waited any more");
}

#[test]
fn a_payload_that_calls_itself_an_answer_changes_nothing() {
    let mut forged = delivered("allow", json!({}));
    forged.source = Source::Hook;
    let story = Story::of(held().into_iter().chain([forged]));
    assert_eq!(story.look(), "awaiting_input attention Allow Bash: npm test");
    assert_eq!(story.view().interactions.len(), 1);
}

#[test]
fn an_answered_question_is_one_turn() {
    let mut story =
        Story::of([start("startup"), prompt("go"), pre("AskUserQuestion", "t1"), asks("AskUserQuestion")]);
    assert_eq!(story.view().interactions.len(), 1);
    story.tell(step(AnswerState::Open, json!({})));
    story.tell(delivered("answers", json!({"answers": "A"})));
    let over = post("AskUserQuestion", "t1").with(json!({"tool_response": {"answers": {"Which one?": "A"}}}));
    story.tell(over);
    let said: Vec<String> =
        story.turns().into_iter().filter(|turn| turn.starts_with("user:answer")).collect();
    assert_eq!(said, ["user:answer A"]);
}

#[test]
fn of_many_open_asks_only_the_newest_are_kept_whole() {
    let asks = |n: i32| {
        let input = json!({"command": format!("npm run {n}")});
        let call = json!({"tool_name": "Bash", "tool_use_id": format!("t{n}"), "tool_input": input});
        tell("PermissionRequest", call)
    };
    let story = Story::of([start("startup"), prompt("go")].into_iter().chain((0..40).map(asks)));
    let shown = story.view().interactions;
    assert_eq!(shown.len(), 40);
    let whole: Vec<bool> = shown.iter().map(|one| one.input.is_some()).collect();
    assert_eq!(whole, [vec![false; 8], vec![true; 32]].concat());
    assert_eq!(shown[0].text, "Allow Bash: npm run 0");
}
