//! Prompts: what the user types, and reports of background tasks, which arrive as prompts.

use crate::engine::conversation::turns::{Words, apart};
use crate::engine::effects::of_this_turn;
use crate::engine::step::{Step, first_part};
use crate::engine::subagents;
use crate::model::*;
use crate::text::one_line;
use std::time::Duration;

/// A prompt and the client's own "busy" belong together if they are no further apart than this.
const SAME_START_WITHIN: Duration = Duration::from_secs(5);

pub(in crate::engine) fn user_prompt_submit(step: &mut Step) {
    let text = step.event.text("prompt").unwrap_or_default();
    if text.trim_start().starts_with("<task-notification>") {
        return step.task_notification(text);
    }
    if let Some(turn) = step.already_reported(Actor::User, text, false) {
        return step.confirm_prompt(turn.command_id);
    }
    step.prompt(text);
}

impl Step<'_> {
    /// The user said something: an answer if the main thread waits, otherwise a command.
    pub fn prompt(&mut self, text: &str) {
        if !self.fresh && !self.overtaken() {
            return self.late_prompt(text);
        }
        self.revive();
        self.flush_tail();
        self.agent.report_due = None;
        let had_questions = self.close_questions_before();
        let intent = if self.agent.state == AgentState::AwaitingInput && (self.fresh || had_questions) {
            self.advance(Actor::User, Intent::Answer);
            self.agent.turn_at = self.event.at;
            self.agent.boundary_at = self.event.at;
            Intent::Answer
        } else {
            self.command_by_prompt(text);
            Intent::Command
        };
        self.say(Actor::User, intent, text);
        let names = &mut self.agent.names;
        if names.prompt.is_none() && !text.trim().is_empty() {
            names.prompt = Some(one_line(text, 48));
        }
        self.agent.unseen = false;
        self.agent.error = None;
        self.agent.interrupted = false;
        self.agent.memory.silent_stop = None;
        if self.agent.interactions.iter().any(|one| one.subagent.is_none()) {
            self.wait();
        }
        self.mark();
    }

    /// Closes the main thread's questions that were open when the prompt was typed; returns whether there were any.
    fn close_questions_before(&mut self) -> bool {
        let event = self.event;
        let before = |one: &Interaction| one.subagent.is_none() && event.is_after(one.opened_at);
        let asked = self.agent.interactions.iter().filter(|one| before(one));
        let asked: Vec<Option<String>> = asked.map(|one| one.tool_use_id.clone()).collect();
        self.close_interactions(before);
        // A prompt that closed a dialog abandoned it: its call will never end by itself.
        self.agent.calls.retain(|call| call.tool_use_id.is_none() || !asked.contains(&call.tool_use_id));
        !asked.is_empty()
    }

    /// The prompt begins a command, unless the client was seen busy a moment before: then it is what that command is about.
    fn command_by_prompt(&mut self, text: &str) {
        let inferred = self.agent.command.as_ref().is_some_and(|command| {
            command.instruction.is_none()
                && command.confidence == Confidence::Medium
                && apart(command.started_at, self.event.at) <= SAME_START_WITHIN
        });
        if inferred {
            return self.set_instruction(text);
        }
        if self.agent.command.is_some() {
            self.advance(Actor::Agent, Intent::Completion);
        }
        self.begin(Some(text), self.level());
        self.advance(Actor::Agent, Intent::Progress);
    }

    /// A message typed in mid-turn, overtaken by a tool's event: the turn it belongs to is still running.
    fn overtaken(&self) -> bool {
        self.event.source == Source::Hook && self.agent.command.is_some() && of_this_turn(self)
    }

    /// A prompt that arrives after its consequences: it is history, and it gives an inferred command its missing text.
    fn late_prompt(&mut self, text: &str) {
        let at = self.event.at;
        let adopt = self.agent.command.as_mut().filter(|command| {
            command.instruction.is_none()
                && command.confidence != Confidence::High
                && at <= command.started_at
        });
        let command_id = match adopt {
            Some(command) => {
                command.instruction = first_part(text);
                command.started_at = at;
                command.confidence = Confidence::High;
                let command = command.clone();
                let id = command.id;
                self.changes.push(Change::Command(command));
                self.agent.confidence = self.level();
                self.agent.unseen = false;
                self.agent.error = None;
                id
            }
            None => self.past_command(text),
        };
        self.turn(Words {
            actor: Actor::User,
            intent: Intent::Command,
            text,
            command_id: Some(command_id),
            at,
            uuid: self.event.text("uuid").map(String::from),
            jsonl: self.event.source == Source::Transcript,
        });
    }

    /// The client was seen at work a moment before its prompt arrived: this is what it works on.
    fn set_instruction(&mut self, text: &str) {
        let (level, at) = (self.level(), self.event.at);
        let Some(command) = self.agent.command.as_mut() else { return };
        command.instruction = first_part(text);
        command.started_at = command.started_at.min(at);
        command.confidence = level;
        let command = command.clone();
        self.agent.turn_at = command.started_at;
        self.changes.push(Change::Command(command));
    }

    /// The hook of a prompt that the transcript reported first: the command is certain now.
    fn confirm_prompt(&mut self, command_id: Option<i64>) {
        if let Some(command) = self.agent.command.as_mut().filter(|command| Some(command.id) == command_id) {
            command.confidence = Confidence::High;
            let command = command.clone();
            self.changes.push(Change::Command(command));
            self.mark();
        }
    }

    /// A background task reports back, and the main thread works on it. The user did not type it, so it makes no turn and
    /// closes no question.
    pub fn task_notification(&mut self, text: &str) {
        let id = between(text, "<task-id>", "</task-id>");
        let listed = self.agent.background.len();
        self.agent.background.retain(|task| id.is_none() || subagents::task_id(task) != id);
        if id.is_some() && self.agent.background.len() == listed {
            self.agent.more_background.one_ended(false);
        }
        self.agent.report_due = None;
        if !self.fresh {
            return;
        }
        self.revive();
        if self.agent.command.is_none() {
            let summary = between(text, "<summary>", "</summary>").map(|summary| one_line(summary, 120));
            self.begin(Some(summary.as_deref().unwrap_or("Background task finished")), self.level());
        }
        self.agent.turn_at = self.event.at;
        self.agent.boundary_at = self.agent.boundary_at.max(self.event.at);
        self.agent.error = None;
        self.work();
    }

    /// Whether the task a notification is about is still on the client's list.
    pub fn has_task_of(&self, text: &str) -> bool {
        let id = between(text, "<task-id>", "</task-id>");
        id.is_some() && self.agent.background.iter().any(|task| subagents::task_id(task) == id)
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let rest = text.split_once(open)?.1;
    Some(rest.split_once(close)?.0.trim())
}
