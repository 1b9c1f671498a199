//! Answers that were given through headspace: what each step does to the agent, and what an event says about them.
//!
//! A question that `headspace wait` holds carries the last step of its answer. When it closes, it becomes a past ask. If a
//! later event shows its next step, that step is *due*, and the server records it. So every step is an event, and a replay
//! gives the same.

use crate::engine::interactions::Named;
use crate::engine::step::{Step, remember};
use crate::model::*;
use serde_json::Value;

/// One step, reported by the server itself. A hook payload with the same name changes nothing.
pub(in crate::engine) fn step(step: &mut Step) {
    let body = &step.event.body;
    let state = step.event.text("state").and_then(AnswerState::from_word);
    let (Some(state), Some(id)) = (state, body.get("interaction_id").and_then(Value::as_i64)) else { return };
    if step.event.source != Source::Answer {
        return;
    }
    match state {
        AnswerState::Open | AnswerState::Claimed | AnswerState::Withdrawn => {
            step.note_answer(id, state);
        }
        AnswerState::Delivered => delivered(step, id),
        AnswerState::RefusedInTerminal => {
            if step.note_answer(id, state) {
                over(step, id);
            }
        }
        AnswerState::Confirmed | AnswerState::LostToTerminal | AnswerState::AnsweredInTerminal => {
            step.note_answer(id, state);
        }
    }
}

/// `headspace wait` has printed the decision: the dialog is closed, and what was said is the user's turn.
fn delivered(step: &mut Step, id: i64) {
    if !step.note_answer(id, AnswerState::Delivered) {
        return;
    }
    let choice = step.event.text("choice").and_then(Choice::from_word);
    if choice != Some(Choice::Stop) {
        let said = step.event.text("answers").or_else(|| step.event.text("message")).map(String::from);
        step.reply(&said.unwrap_or_default());
        over(step, id);
    } else if step.fresh && step.agent.command.is_some() {
        // The client ends the turn without another event.
        step.interrupt();
    } else {
        over(step, id);
    }
}

/// The dialog is closed; the main thread continues unless it asks something else.
fn over(step: &mut Step, id: i64) {
    step.close_interactions(|one| one.id == id);
    step.settle();
    if step.fresh {
        step.mark();
    }
}

impl Step<'_> {
    /// Records the step with its question, open or past. `false`: it belongs to neither, or comes after the end.
    fn note_answer(&mut self, id: i64, state: AnswerState) -> bool {
        let event = self.event;
        let open = self.agent.interactions.iter_mut().find(|one| one.id == id);
        if let Some(open) = open {
            let next = next_step(open.answer.as_ref(), event, state);
            open.answer = Some(next);
            return true;
        }
        let Some(past) = self.agent.past_asks.iter_mut().find(|past| past.id == id) else { return false };
        if past.step.state.is_final() {
            return false;
        }
        let ran = past.due.take();
        past.step = next_step(Some(&past.step), event, state);
        // The call ended before the server heard that the decision was printed.
        if state == AnswerState::Delivered && ran.is_some() {
            past.due = Some(outcome(past.step.choice));
        }
        true
    }

    /// A question closes. If `headspace wait` held it, the event that closed it shows how it was answered.
    pub(in crate::engine) fn remember_ask(&mut self, closed: &Interaction) {
        let Some(step) = &closed.answer else { return };
        let gone = matches!(self.event.name.as_str(), "SessionEnd" | observed::PROCESS_GONE);
        let refused = matches!(self.event.name.as_str(), observed::REFUSED | observed::INTERRUPTED);
        let due = match step.state {
            _ if self.event.name == observed::ANSWER => None,
            AnswerState::Open | AnswerState::Claimed if gone => Some(AnswerState::Withdrawn),
            AnswerState::Open if refused => Some(AnswerState::RefusedInTerminal),
            AnswerState::Open => Some(AnswerState::AnsweredInTerminal),
            AnswerState::Claimed => Some(AnswerState::LostToTerminal),
            _ => None,
        };
        let past = PastAsk {
            id: closed.id,
            tool_use_id: closed.tool_use_id.clone(),
            tool_name: closed.tool_name.clone(),
            step: step.clone(),
            due,
        };
        remember(&mut self.agent.past_asks, past);
    }

    /// The call has run, whatever was answered.
    pub(in crate::engine) fn answered_call_ran(&mut self, named: &Named) {
        let ran = self.event.name != "PermissionDenied";
        for past in self.past_asks_of(named.id).filter(|past| past.step.state == AnswerState::Delivered) {
            past.due = past.due.or(ran.then(|| outcome(past.step.choice)));
        }
    }

    /// The transcript says who decided about a call: a hook, or the user in the terminal.
    pub(in crate::engine) fn decided_by(&mut self, tool_use_id: Option<&str>, source: &str) {
        let by_user = source.starts_with("user");
        for past in self.past_asks_of(tool_use_id) {
            past.due = match past.step.state {
                AnswerState::Delivered | AnswerState::Confirmed if by_user => {
                    Some(AnswerState::LostToTerminal)
                }
                AnswerState::Delivered if source == "hook" => past.due.or(Some(AnswerState::Confirmed)),
                _ => past.due,
            };
        }
    }

    /// Whether a person has answered this call through headspace, so that the answer's turn is already recorded.
    pub(in crate::engine) fn has_answered(&mut self, named: &Named) -> bool {
        self.past_asks_of(named.id).any(|past| past.step.choice == Some(Choice::Answers))
    }

    fn past_asks_of(&mut self, tool_use_id: Option<&str>) -> impl Iterator<Item = &mut PastAsk> {
        let asked =
            move |past: &&mut PastAsk| tool_use_id.is_some() && past.tool_use_id.as_deref() == tool_use_id;
        self.agent.past_asks.iter_mut().filter(asked)
    }
}

/// The outcome of an answer whose call ran.
fn outcome(choice: Option<Choice>) -> AnswerState {
    match choice {
        Some(choice) if choice.is_yes() => AnswerState::Confirmed,
        _ => AnswerState::LostToTerminal,
    }
}

/// The next step. Fields that the event does not have are taken from the step before.
fn next_step(before: Option<&AnswerStep>, event: &Event, state: AnswerState) -> AnswerStep {
    let kept = |field: fn(&AnswerStep) -> Option<String>| before.and_then(field);
    let by = if state.is_final() {
        Some(Surface::Terminal)
    } else {
        event.text("by").and_then(Surface::from_word)
    };
    AnswerStep {
        state,
        digest: event
            .text("digest")
            .map(String::from)
            .or(kept(|step| Some(step.digest.clone())))
            .unwrap_or_default(),
        at: event.at,
        by: by.or(before.and_then(|step| step.by)),
        choice: event.text("choice").and_then(Choice::from_word).or(before.and_then(|step| step.choice)),
        confirm: event.text("confirm").map(String::from).or(kept(|step| step.confirm.clone())),
    }
}

impl crate::engine::Agent {
    /// Whether it is still unknown if an answer counted. That the call ran does not show who allowed it.
    pub fn has_answers_in_doubt(&self) -> bool {
        let undecided = |past: &PastAsk| past.step.state == AnswerState::Delivered;
        self.past_asks.iter().any(undecided)
            || self.past_asks.last().is_some_and(|past| past.step.state == AnswerState::Confirmed)
    }
}
