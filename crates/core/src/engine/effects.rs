//! What each hook event does to the main thread: a table of names and functions. Begin with [`EFFECTS`].

use crate::engine::agent::Phase;
use crate::engine::agent::detail;
use crate::engine::conversation::{prompts, turn_end};
use crate::engine::interactions::Named;
use crate::engine::interactions::notifications;
use crate::engine::step::Step;
use crate::model::*;
use serde_json::Value;

type Effect = fn(&mut Step);

/// Events without a row here (worktrees, model switches, tasks, …) change only fields and the time of the last activity.
const EFFECTS: &[(&str, Effect)] = &[
    ("SessionStart", session_start),
    ("UserPromptSubmit", prompts::user_prompt_submit),
    ("PreToolUse", pre_tool_use),
    ("PermissionRequest", permission_request),
    ("PostToolUse", post_tool_use),
    ("PostToolUseFailure", post_tool_use),
    ("PermissionDenied", post_tool_use),
    ("PermissionAnswered", permission_answered),
    ("Interrupt", interrupt),
    ("PostToolBatch", post_tool_batch),
    ("Notification", notifications::notification),
    ("Elicitation", |step| step.open_elicitation(None)),
    ("ElicitationResult", |step| step.close_elicitation(None)),
    ("Stop", turn_end::stop),
    ("StopFailure", turn_end::stop_failure),
    ("PreCompact", |step| phase(step, Phase::Compacting)),
    ("Setup", |step| phase(step, Phase::Setup)),
    ("TeammateIdle", teammate_idle),
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
    if is_current(step) && !within {
        step.end_phase();
    }
    if let Some((_, effect)) = EFFECTS.iter().find(|(name, _)| *name == event.name) {
        effect(step);
    }
}

/// Startup, resume, clear, fork: the agent is idle again. `compact` can come in mid-turn and changes no state.
fn session_start(step: &mut Step) {
    let source = step.event.text("source").unwrap_or("startup");
    if matches!(source, "compact" | "clear") {
        let metrics = &mut step.agent.metrics;
        // The new size reaches the transcript only later, sometimes after the next Stop needs it.
        (metrics.used_tokens, metrics.percent, metrics.warned) = (None, None, None);
    }
    if source == "compact" || !step.fresh {
        return;
    }
    let keeps_turn = step.event.body.get(hints::KEEPS_TURN) == Some(&Value::Bool(true));
    if keeps_turn && step.agent.command.is_some() {
        return;
    }
    step.agent.metrics.resumed = matches!(source, "resume" | "fork");
    if source == "clear" {
        step.close_main_thread()
    } else {
        step.close_all()
    }
    step.revive();
    step.agent.error = None;
    step.agent.unseen = false;
}

impl Step<'_> {
    /// PreToolUse of the main thread, from any source.
    pub fn main_call(&mut self) {
        let named = Named::of(self.event, None);
        self.close_consented(&named);
        self.open_call(&named);
        self.close_loose();
        if detail::is_question(named.tool) && !self.is_consented() {
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

    /// A request that arrives after its answer: only the question is worth keeping. A tool that is itself a question has
    /// already asked it.
    fn late_question(&mut self, named: &Named) {
        if !detail::is_question(named.tool) {
            self.past_question(&detail::ask_in_full(named.tool, named.input));
        }
    }

    /// PostToolBatch: the calls it names are over, and so are those of its thread that no question needs any longer.
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
}

/// The event belongs to the agent's current session, which has not ended.
fn is_current(step: &Step) -> bool {
    step.agent.ended_at.is_none() && step.event.session_id == step.agent.session_id
}

/// A late event still counts for the call it is about, as long as its turn is not over.
pub(super) fn of_this_turn(step: &Step) -> bool {
    is_current(step) && step.event.at > step.agent.boundary_at
}

fn pre_tool_use(step: &mut Step) {
    let ended = step.event.text("tool_use_id").is_none_or(|id| step.ended_before(id));
    if step.fresh || (of_this_turn(step) && !ended) {
        step.main_call();
    }
}

/// The user answered a dialog; the call's own events report how it went.
fn permission_answered(step: &mut Step) {
    step.close_answered(None);
    step.settle();
    if step.fresh {
        step.mark();
    }
}

/// The client reports that the user interrupted the turn. For a turn that is over, nothing changes.
fn interrupt(step: &mut Step) {
    let other_turn = match (step.event.text("turn_id"), step.agent.turn_id.as_deref()) {
        (Some(theirs), Some(ours)) => theirs != ours,
        _ => false,
    };
    if step.fresh && step.agent.command.is_some() && !other_turn {
        step.interrupt();
    }
}

fn permission_request(step: &mut Step) {
    let named = Named::of(step.event, None);
    let late = !step.fresh;
    if late && !(of_this_turn(step) && step.asks_for_open_call(&named)) {
        return step.late_question(&named);
    }
    if step.open_dialog(&named) {
        step.ask(&named);
    }
    step.wait();
}

/// PostToolUse, PostToolUseFailure, PermissionDenied: the call is over.
fn post_tool_use(step: &mut Step) {
    let named = Named::of(step.event, None);
    step.close_call(&named);
    step.close_loose();
    step.note_launch();
    if step.fresh && step.event.body.get("is_interrupt") == Some(&Value::Bool(true)) {
        return step.interrupt();
    }
    // The question may be closed already, but only this event has the text of the answer.
    step.answered_call_ran(&named);
    if named.tool == "AskUserQuestion" && !step.has_answered(&named) {
        step.reply(&detail::answers(&step.event.body));
    }
    if step.fresh { step.work() } else { step.settle() }
}

fn post_tool_batch(step: &mut Step) {
    let known = step.agent.interrupted && batch_ended_before(step);
    step.close_batch(None);
    step.close_loose();
    if step.fresh && !known { step.work() } else { step.settle() }
}

/// Whether this batch has only calls that have ended: the batch of an interrupted call reports nothing new.
fn batch_ended_before(step: &Step) -> bool {
    let calls = step.event.body.get("tool_calls").and_then(Value::as_array);
    calls
        .into_iter()
        .flatten()
        .all(|call| call.get("tool_use_id").and_then(Value::as_str).is_some_and(|id| step.ended_before(id)))
}

fn phase(step: &mut Step, phase: Phase) {
    if is_current(step) && step.event.at >= step.agent.phase_at {
        step.agent.phase = Some(phase);
        step.agent.phase_at = step.event.at;
        step.marked = true;
    }
}

/// A teammate that the client names, but whose own Stop did not arrive.
fn teammate_idle(step: &mut Step) {
    let at = step.event.at;
    if let Some(name) = step.event.text("teammate_name") {
        step.close_children(|child| {
            child.is_teammate() && child.subagent.agent_type == name && child.at <= at
        });
    }
}

/// `clear` and `resume` keep the agent for the session that follows in the same process.
fn session_end(step: &mut Step) {
    if !step.fresh {
        return;
    }
    let reason = step.event.text("reason").unwrap_or("other");
    match reason {
        "clear" => step.close_main_thread(),
        "resume" => step.close_all(),
        _ => step.end(reason),
    }
}
