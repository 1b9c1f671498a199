//! How a turn ends: with an answer, with a question, in an error, or without a Stop.

use crate::engine::bounds;
use crate::engine::intent;
use crate::engine::interactions::Ask;
use crate::engine::step::Step;
use crate::model::*;
use crate::text::one_line;
use serde_json::Value;

pub(in crate::engine) fn stop(step: &mut Step) {
    let message = step.event.text("last_assistant_message").filter(|text| !text.trim().is_empty());
    step.agent.report_due = None;
    if step.event.body.get(hints::NO_ANSWER) == Some(&Value::Bool(true)) {
        if step.fresh && step.agent.command.is_some() {
            step.fail("the request failed", None);
        }
        return;
    }
    if !step.fresh && step.ended_by_client() {
        return late_stop(step, message);
    }
    if !step.fresh {
        if let Some(text) = message {
            let intent = intent::at_stop(text).intent;
            step.answer(text, intent, step.command_at(step.event.at));
        }
        return;
    }
    let text = message.map(String::from).or_else(|| step.tail_text());
    step.turn_over(text.as_deref());
    step.agent.memory.silent_stop = text.is_none().then_some(step.event.at);
    step.agent.interrupted = false;
    step.agent.error = None;
    let list = |field: &str| step.event.body.get(field).and_then(Value::as_array).cloned();
    if let Some(mut tasks) = list("background_tasks") {
        tasks.retain(|task| !step.ended_since(task));
        step.reconcile_children(&tasks);
        (step.agent.background, step.agent.more_background) = bounds::tasks(&tasks);
    }
    if let Some(crons) = list("session_crons") {
        step.agent.crons = bounds::list(&crons);
    }
}

/// The client was seen idle before its Stop arrived: the turn ended normally and was not interrupted.
fn late_stop(step: &mut Step, message: Option<&str>) {
    step.agent.interrupted = false;
    step.agent.unseen = true;
    step.agent.source = Source::Hook;
    let Some(text) = message else { return };
    let command_id = step.command_at(step.event.at);
    let intent = intent::at_stop(text).intent;
    if intent == Intent::Question {
        step.wait();
        let command_id = step.agent.command.as_ref().map(|command| command.id);
        step.answer(text, intent, command_id);
        step.open_reply(text);
    } else {
        step.answer(text, intent, command_id);
    }
}

pub(in crate::engine) fn stop_failure(step: &mut Step) {
    step.fail(step.event.text("error").unwrap_or("unknown"), step.event.text("last_assistant_message"));
}

/// A Stop was missed: the main thread has been idle for a minute. A question from the last Stop stays open.
pub(in crate::engine) fn idle_prompt(step: &mut Step) {
    let asked = step.agent.interactions.iter().any(|one| one.kind == InteractionKind::Reply);
    if asked || step.agent.command.is_none() {
        return;
    }
    if step.event.body.get(hints::IDLE_AT_ONCE) == Some(&Value::Bool(true)) {
        return step.interrupt();
    }
    match step.tail_text() {
        Some(text) => step.turn_over(Some(&text)),
        None => step.turn_over(None),
    }
}

impl Step<'_> {
    /// The turn is over, with or without a text: complete, or waiting for a reply.
    pub fn turn_over(&mut self, text: Option<&str>) {
        let command_id =
            self.agent.command.as_ref().map(|command| command.id).or_else(|| self.command_at(self.event.at));
        let Some(text) = text else {
            self.flush_tail();
            if self.agent.command.is_none() {
                self.advance(Actor::Agent, Intent::Completion);
            }
            self.finish(Intent::Completion);
            self.agent.unseen = true;
            return;
        };
        let intent = intent::at_stop(text).intent;
        if intent == Intent::Question {
            self.close_interactions(|one| one.subagent.is_none());
            self.agent.calls.retain(|call| call.subagent.is_some());
            self.end_phase();
            self.wait();
            let command_id = self.agent.command.as_ref().map(|command| command.id);
            self.answer(text, intent, command_id);
            self.open_reply(text);
            self.agent.boundary_at = self.agent.boundary_at.max(self.event.at);
        } else {
            self.answer(text, intent, command_id);
            if self.agent.command.is_none() {
                self.advance(Actor::Agent, intent);
            }
            self.finish(intent);
            self.agent.unseen = true;
        }
    }

    /// The turn ended in an error.
    pub fn fail(&mut self, error: &str, text: Option<&str>) {
        let command_id = self.agent.command.as_ref().map(|command| command.id);
        let command_id = command_id.or_else(|| self.command_at(self.event.at));
        if let Some(text) = text {
            self.answer(text, Intent::EndOfTask, command_id);
        }
        if !self.fresh {
            return;
        }
        self.flush_tail();
        self.finish(Intent::EndOfTask);
        self.agent.interrupted = false;
        self.agent.error = Some(error.to_string());
        self.agent.unseen = true;
    }

    /// A Stop's text that asks something is an interaction like any other question.
    pub fn open_reply(&mut self, text: &str) {
        self.open(Ask {
            kind: InteractionKind::Reply,
            tool_use_id: None,
            tool_name: None,
            subagent: None,
            text: one_line(&intent::asking_part(text), 240),
            options: Vec::new(),
            asked: Some(Box::new(Asked { text: Some(text.to_string()), ..Asked::default() })),
        });
    }
}
