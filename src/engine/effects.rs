//! What each hook event does to the main thread: a table of names and functions.

use super::interactions::{Ask, Named};
use super::step::Step;
use super::turns::Words;
use super::{detail, intent, subagents};
use crate::engine::agent::Phase;
use crate::model::*;
use crate::terminal::gist;
use serde_json::Value;

type Effect = fn(&mut Step);

/// Events without a line here (worktrees, model switches, tasks, …) change fields and the time of the last sign only.
const EFFECTS: &[(&str, Effect)] = &[
    ("SessionStart", session_start),
    ("UserPromptSubmit", user_prompt_submit),
    ("PreToolUse", pre_tool_use),
    ("PermissionRequest", permission_request),
    ("PostToolUse", post_tool_use),
    ("PostToolUseFailure", post_tool_use),
    ("PermissionDenied", post_tool_use),
    ("PostToolBatch", post_tool_batch),
    ("Notification", notification),
    ("Elicitation", |step| step.open_elicitation(None)),
    ("ElicitationResult", |step| step.close_elicitation(None)),
    ("Stop", stop),
    ("StopFailure", stop_failure),
    ("PreCompact", |step| phase(step, Phase::Compacting)),
    ("Setup", |step| phase(step, Phase::Setup)),
    ("SessionEnd", session_end),
];

/// Main-thread events that can come while a compaction or a setup still runs.
const WITHIN_PHASE: &[&str] =
    &["SubagentStop", "SubagentStart", "InstructionsLoaded", "PreCompact", "Setup", "ConfigChange"];

/// A hook event of the main thread.
pub(super) fn apply(step: &mut Step) {
    let event = step.event;
    let within = WITHIN_PHASE.contains(&event.name.as_str())
        || (event.name == "SessionStart" && event.text("source") == Some("compact"));
    if step.fresh && !within {
        step.agent.phase = None;
    }
    if let Some((_, effect)) = EFFECTS.iter().find(|(name, _)| *name == event.name) {
        effect(step);
    }
}

/// Startup, resume, clear, fork: a fresh idle seat. `compact` can come in mid-turn and changes no state.
fn session_start(step: &mut Step) {
    let source = step.event.text("source").unwrap_or("startup");
    if matches!(source, "compact" | "clear") {
        step.agent.figures.warned = None;
    }
    if source == "compact" || !step.fresh {
        return;
    }
    step.close_all();
    step.revive();
    step.agent.error = None;
    step.agent.unseen = false;
}

fn user_prompt_submit(step: &mut Step) {
    let text = step.event.text("prompt").unwrap_or_default();
    if text.trim_start().starts_with("<task-notification>") {
        return step.task_notification(text);
    }
    if let Some(told) = step.already_told(Actor::User, text, false) {
        return step.confirm_prompt(told.command_id);
    }
    step.prompt(text);
}

impl Step<'_> {
    /// The user said something: an answer if the main thread waits, else a command.
    pub fn prompt(&mut self, text: &str) {
        if !self.fresh {
            return self.late_prompt(text);
        }
        self.revive();
        self.flush_tail();
        let asked: Vec<Option<String>> = self
            .agent
            .interactions
            .iter()
            .filter(|one| one.subagent.is_none())
            .map(|one| one.tool_use_id.clone())
            .collect();
        self.close_interactions(|one| one.subagent.is_none());
        // A dialog that a prompt closed was left: its call will never end by itself.
        self.agent.calls.retain(|call| call.tool_use_id.is_none() || !asked.contains(&call.tool_use_id));
        let intent = if self.agent.state == AgentState::AwaitingInput {
            self.advance(Actor::User, Intent::Answer);
            self.agent.turn_at = self.event.at;
            self.agent.boundary_at = self.event.at;
            Intent::Answer
        } else {
            if self.agent.command.is_some() {
                self.advance(Actor::Agent, Intent::Completion);
            }
            self.begin(Some(text), self.level());
            self.advance(Actor::Agent, Intent::Progress);
            Intent::Command
        };
        self.say(Actor::User, intent, text);
        let names = &mut self.agent.names;
        if names.prompt.is_none() && !text.trim().is_empty() {
            names.prompt = Some(gist(text, 48));
        }
        self.agent.unseen = false;
        self.agent.error = None;
        self.agent.interrupted = false;
        self.agent.memory.silent_stop = None;
        self.mark();
    }

    /// A background task reports back: the main thread works on it. Nobody typed it, so no turn, and no question
    /// closes.
    pub fn task_notification(&mut self, text: &str) {
        let id = between(text, "<task-id>", "</task-id>");
        self.agent.background.retain(|task| id.is_none() || subagents::task_id(task) != id);
        if !self.fresh {
            return;
        }
        self.revive();
        if self.agent.command.is_none() {
            let summary = between(text, "<summary>", "</summary>").map(|summary| gist(summary, 120));
            self.begin(Some(summary.as_deref().unwrap_or("Background task finished")), self.level());
        }
        self.agent.turn_at = self.event.at;
        self.agent.boundary_at = self.agent.boundary_at.max(self.event.at);
        self.agent.error = None;
        self.work();
    }

    /// Whether the task a notification is about still stands on the client's list.
    pub fn has_task_of(&self, text: &str) -> bool {
        let id = between(text, "<task-id>", "</task-id>");
        id.is_some() && self.agent.background.iter().any(|task| subagents::task_id(task) == id)
    }

    /// PreToolUse of the main thread, by whatever source.
    pub fn main_call(&mut self) {
        let named = Named::of(self.event, None);
        self.open_call(&named);
        self.close_loose();
        if detail::is_question(named.tool) {
            if self.open_dialog(&named) {
                self.ask(&named);
            }
            self.wait();
        } else if self.fresh {
            self.work();
        }
    }

    /// The question turn of a dialog just opened.
    fn ask(&mut self, named: &Named) {
        self.wait();
        self.say(Actor::Agent, Intent::Question, &detail::ask_in_full(named.tool, named.input));
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

    /// A prompt that comes after what it led to: history, and the words an inferred command lacked.
    fn late_prompt(&mut self, text: &str) {
        let at = self.event.at;
        let adopt = self.agent.command.as_mut().filter(|command| {
            command.instruction.is_none() && command.confidence == Confidence::Low && at <= command.started_at
        });
        let command_id = match adopt {
            Some(command) => {
                command.instruction = Some(text.to_string()).filter(|text| !text.trim().is_empty());
                command.started_at = at;
                command.confidence = Confidence::High;
                let command = command.clone();
                let id = command.id;
                self.changes.push(Change::Command(command));
                id
            }
            None => self.bygone_command(text),
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

    /// The hook of a prompt the transcript told first: the command is certain now.
    fn confirm_prompt(&mut self, command_id: Option<i64>) {
        if let Some(command) = self.agent.command.as_mut().filter(|command| Some(command.id) == command_id) {
            command.confidence = Confidence::High;
            let command = command.clone();
            self.changes.push(Change::Command(command));
            self.mark();
        }
    }

    pub fn open_elicitation(&mut self, subagent: Option<&str>) {
        if subagent.is_none() && !self.fresh {
            return;
        }
        let server = self.event.text("mcp_server_name").unwrap_or("MCP");
        let prefix = format!("mcp__{server}");
        let call = self.newest_call(subagent, |call| call.tool_name.starts_with(&prefix)).cloned();
        let text = match self.event.text("message") {
            Some(message) => gist(&format!("MCP input for {server}: {message}"), 240),
            None => format!("MCP input for {server}"),
        };
        self.open(Ask {
            kind: InteractionKind::McpInput,
            tool_use_id: call.and_then(|call| call.tool_use_id),
            tool_name: Some(prefix),
            subagent: subagent.map(String::from),
            text: text.clone(),
            options: Vec::new(),
        });
        if subagent.is_none() {
            self.wait();
            self.say(Actor::Agent, Intent::Question, &text);
        }
    }

    pub fn close_elicitation(&mut self, subagent: Option<&str>) {
        let server = self.event.text("mcp_server_name").map(|server| format!("mcp__{server}"));
        let at = self.event.at;
        self.close_interactions(|one| {
            one.kind == InteractionKind::McpInput
                && one.subagent.as_deref() == subagent
                && one.opened_at <= at
                && (server.is_none() || one.tool_name.is_none() || one.tool_name == server)
        });
        if subagent.is_none() {
            self.settle();
            if self.fresh {
                self.mark();
            }
        }
    }

    /// PostToolBatch: the calls it names are over, and those of its thread that nothing asks for any more.
    pub fn close_batch(&mut self, subagent: Option<&str>) {
        let event = self.event;
        for call in event.body.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let text = |field: &str| call.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
            self.close_call(&Named {
                tool: text("tool_name").unwrap_or_default(),
                id: text("tool_use_id"),
                input: None,
                subagent,
            });
        }
        let asking: Vec<Option<String>> =
            self.agent.interactions.iter().map(|one| one.tool_use_id.clone()).collect();
        self.agent.calls.retain(|call| {
            call.subagent.as_deref() != subagent || call.at > event.at || asking.contains(&call.tool_use_id)
        });
    }

    /// A Stop's text that asks something is a question like any other.
    pub fn open_reply(&mut self, text: &str) {
        self.open(Ask {
            kind: InteractionKind::Reply,
            tool_use_id: None,
            tool_name: None,
            subagent: None,
            text: gist(&intent::asking_part(text), 240),
            options: Vec::new(),
        });
    }

    /// The turn is over, with or without words: complete, or waiting for a reply.
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
            self.agent.phase = None;
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
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let rest = text.split_once(open)?.1;
    Some(rest.split_once(close)?.0.trim())
}

/// A late event still counts for the call it is about, as long as its turn is not over.
fn of_this_turn(step: &Step) -> bool {
    step.agent.ended_at.is_none()
        && step.event.session_id == step.agent.session_id
        && step.event.at > step.agent.boundary_at
}

fn pre_tool_use(step: &mut Step) {
    let ended = step.event.text("tool_use_id").is_none_or(|id| step.ended_before(id));
    if step.fresh || (of_this_turn(step) && !ended) {
        step.main_call();
    }
}

fn permission_request(step: &mut Step) {
    let named = Named::of(step.event, None);
    if !step.fresh && !(of_this_turn(step) && step.call_of_request(&named).is_some()) {
        return;
    }
    if step.open_dialog(&named) {
        step.ask(&named);
    }
    step.wait();
}

/// PostToolUse, PostToolUseFailure, PermissionDenied: the call is over.
fn post_tool_use(step: &mut Step) {
    let named = Named::of(step.event, None);
    let asked = step.close_call(&named) > 0;
    step.close_loose();
    step.note_launch();
    if !step.fresh {
        return step.settle();
    }
    if step.event.body.get("is_interrupt") == Some(&Value::Bool(true)) {
        return step.interrupt();
    }
    if asked && named.tool == "AskUserQuestion" {
        step.say(Actor::User, Intent::Answer, &detail::answers(&step.event.body));
    }
    step.work();
}

fn post_tool_batch(step: &mut Step) {
    step.close_batch(None);
    step.close_loose();
    if step.fresh { step.work() } else { step.settle() }
}

/// What a notification means.
#[derive(Clone, Copy)]
enum Notice {
    Asks(InteractionKind),
    Answered,
    Idle,
}

const NOTICES: &[(&str, Notice)] = &[
    ("permission_prompt", Notice::Asks(InteractionKind::Permission)),
    ("worker_permission_prompt", Notice::Asks(InteractionKind::Permission)),
    ("elicitation_dialog", Notice::Asks(InteractionKind::McpInput)),
    ("elicitation_url_dialog", Notice::Asks(InteractionKind::McpInput)),
    ("agent_needs_input", Notice::Asks(InteractionKind::Question)),
    ("elicitation_complete", Notice::Answered),
    ("elicitation_response", Notice::Answered),
    ("idle_prompt", Notice::Idle),
];

fn notification(step: &mut Step) {
    let kind = step.event.text("notification_type").unwrap_or_default();
    let Some((_, notice)) = NOTICES.iter().find(|(name, _)| *name == kind) else { return };
    match notice {
        Notice::Asks(kind) if step.fresh => notified_ask(step, *kind),
        Notice::Answered => step.close_elicitation(None),
        Notice::Idle if step.fresh => idle_prompt(step),
        _ => {}
    }
}

/// A dialog the client speaks of seconds late. It is news only if nothing told of it before; then it belongs to the
/// newest open call, of the main thread or else of a child.
fn notified_ask(step: &mut Step, kind: InteractionKind) {
    if !step.agent.interactions.is_empty() {
        return;
    }
    let idle = step.agent.command.is_none();
    let worker = step.agent.children.iter().rev().find(|child| child.at_work());
    let worker = worker.filter(|_| idle).map(|child| child.subagent.agent_id.clone());
    let call = step.newest_call(worker.as_deref(), |_| true).cloned();
    let message = step.event.text("message").unwrap_or("Claude needs you");
    let text = match (&call, kind) {
        (Some(call), InteractionKind::Permission) => format!("Allow {}", call.detail),
        _ => gist(message, 240),
    };
    step.open(Ask {
        kind,
        tool_use_id: call.as_ref().and_then(|call| call.tool_use_id.clone()),
        tool_name: call.map(|call| call.tool_name),
        subagent: worker.clone(),
        text: text.clone(),
        options: Vec::new(),
    });
    match worker {
        Some(child) => step.refresh_child(&child),
        None => {
            step.wait();
            step.say(Actor::Agent, Intent::Question, &text);
        }
    }
}

/// A Stop was missed: the main thread has been idle for a minute. What the last Stop asked is still asked.
fn idle_prompt(step: &mut Step) {
    let asked = step.agent.interactions.iter().any(|one| one.kind == InteractionKind::Reply);
    if asked || step.agent.command.is_none() {
        return;
    }
    match step.tail_text() {
        Some(text) => step.turn_over(Some(&text)),
        None => step.turn_over(None),
    }
}

fn stop(step: &mut Step) {
    let told = step.event.text("last_assistant_message").filter(|text| !text.trim().is_empty());
    if !step.fresh {
        if let Some(text) = told {
            let intent = intent::at_stop(text).intent;
            step.answer(text, intent, step.command_at(step.event.at));
        }
        return;
    }
    let text = told.map(String::from).or_else(|| step.tail_text());
    step.turn_over(text.as_deref());
    step.agent.memory.silent_stop = text.is_none().then_some(step.event.at);
    step.agent.interrupted = false;
    step.agent.error = None;
    let list = |field: &str| step.event.body.get(field).and_then(Value::as_array).cloned();
    if let Some(tasks) = list("background_tasks") {
        step.reconcile_children(&tasks);
        step.agent.background = tasks;
    }
    if let Some(crons) = list("session_crons") {
        step.agent.crons = crons;
    }
}

fn stop_failure(step: &mut Step) {
    step.fail(step.event.text("error").unwrap_or("unknown"), step.event.text("last_assistant_message"));
}

fn phase(step: &mut Step, phase: Phase) {
    if step.fresh {
        step.agent.phase = Some(phase);
        step.mark();
    }
}

/// `clear` and `resume` keep the agent for the session that follows in the same process.
fn session_end(step: &mut Step) {
    if !step.fresh {
        return;
    }
    let reason = step.event.text("reason").unwrap_or("other");
    if matches!(reason, "clear" | "resume") {
        step.close_all();
    } else {
        step.end(reason);
    }
}
