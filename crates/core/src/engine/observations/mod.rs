//! What headspace itself saw or was told: transcript lines, processes, the status line, a person. Begin with the table.

mod client_status;

use crate::engine::bounds;
use crate::engine::context::window;
use crate::engine::interactions::Named;
use crate::engine::interactions::answers;
use crate::engine::step::{Step, remember};
use crate::model::*;
use serde_json::Value;

/// Whether an event of this kind creates an agent. A transcript line or a person's click needs an existing one.
pub(super) fn creates(name: &str) -> bool {
    matches!(name, observed::SESSION_FOUND | observed::STATUS_LINE | observed::CLIENT_STATUS)
        || !is_observed(name)
}

/// Events that are not activity: a person looked, a process is gone.
pub(super) fn is_quiet(name: &str) -> bool {
    matches!(
        name,
        observed::SEEN
            | observed::RENAMED
            | observed::PROCESS_GONE
            | observed::PROCESS_FOUND
            | observed::WARNED
            | observed::ANSWER
            | observed::REPLY
            | observed::STOP_REQUEST
    )
}

type Effect = fn(&mut Step);

const EFFECTS: &[(&str, Effect)] = &[
    (observed::TEXT, |step| step.transcript_text()),
    (observed::INTERRUPTED, interrupted),
    (observed::CLIENT_STATUS, client_status::changed),
    (observed::CLIENT_IDLE, client_idle),
    (observed::DEQUEUED, client_status::dequeued),
    (observed::REFUSED, refused),
    (observed::TOOL_USE, tool_use),
    (observed::TOOL_RESULT, tool_result),
    (observed::TURN_END, turn_end),
    (observed::PROMPT, prompt),
    (observed::DETAILS, details),
    (observed::USAGE, usage),
    (observed::SESSION_FOUND, |_| ()),
    (observed::ALLOWED, allowed),
    (observed::PROCESS_FOUND, |_| ()),
    (observed::PROCESS_GONE, process_gone),
    (observed::STATUS_LINE, status_line),
    (observed::SEEN, |step| step.agent.unseen = false),
    (observed::RENAMED, renamed),
    (observed::GUARD, |_| ()),
    (observed::WARNED, warned),
    (observed::ANSWER, answers::step),
    (observed::DECIDED, decided),
    (observed::REPLY, replied),
    (observed::STOP_REQUEST, stop_requested),
];

pub(super) fn is_observed(name: &str) -> bool {
    EFFECTS.iter().any(|(known, _)| *known == name)
}

pub(super) fn apply(step: &mut Step) {
    if let Some((_, effect)) = EFFECTS.iter().find(|(name, _)| *name == step.event.name) {
        effect(step);
    }
}

/// A prompt sent through headspace begins to wait, or stops waiting.
fn replied(step: &mut Step) {
    let event = step.event;
    let Some(id) = event.text("reply_id") else { return };
    let waits = event.text("state") == Some(ReplyState::Queued.word());
    let why = event.text("why").map(str::to_owned);
    let replies = &mut step.agent.replies;
    match replies.iter_mut().find(|reply| reply.id == id) {
        Some(known) if waits => known.why = why,
        Some(_) => replies.retain(|reply| reply.id != id),
        None if waits => remember(
            replies,
            QueuedReply {
                id: id.to_owned(),
                text: event.text("text").unwrap_or_default().to_owned(),
                by: event.text("by").unwrap_or_default().to_owned(),
                queued_at: event.at,
                why,
            },
        ),
        None => {}
    }
}

/// A requested stop is shown until its turn is over.
fn stop_requested(step: &mut Step) {
    let wanted = step.event.text("state") == Some(StopState::Requested.word());
    let works = step.agent.command.is_some() && step.event.session_id == step.agent.session_id;
    step.agent.stop_requested = Some(step.event.at).filter(|_| wanted && works);
}

/// Esc or Ctrl-C: no hook reports it, the transcript does at once.
fn interrupted(step: &mut Step) {
    if !step.new_entry() {
        return;
    }
    if let Some(child) = step.event.text("agent_id") {
        // A refused subagent continues with what it was told; its own Stop follows.
        let event = step.event;
        step.close_interactions(|one| {
            one.subagent.as_deref() == Some(child) && event.is_after(one.opened_at)
        });
        step.agent.calls.retain(|call| call.subagent.as_deref() != Some(child) || !event.is_after(call.at));
        step.refresh_child(child);
    } else if step.fresh && step.agent.command.is_some() {
        step.interrupt();
    }
}

/// Esc before the first output, as 0.1 recorded it.
fn client_idle(step: &mut Step) {
    let asks = step.agent.interactions.iter().any(|one| one.subagent.is_none());
    if step.fresh && step.agent.command.is_some() && !asks {
        step.interrupt();
    }
}

/// A call in a session whose hooks are silent.
fn tool_use(step: &mut Step) {
    let known = step.event.text("tool_use_id").is_some_and(|id| step.ended_before(id));
    if step.new_entry() && step.fresh && !known {
        step.main_call();
    }
}

/// "No" in a dialog closes the question. The next lines show whether the turn continues.
fn refused(step: &mut Step) {
    if step.new_entry() {
        call_over(step);
    }
}

/// "Yes" in a dialog: the call runs now.
fn allowed(step: &mut Step) {
    if step.event.session_id == step.agent.session_id && step.new_entry() && step.close_answered(None) > 0 {
        step.settle();
        if step.fresh {
            step.mark();
        }
    }
}

fn decided(step: &mut Step) {
    if step.event.session_id == step.agent.session_id && step.new_entry() {
        let (id, by) = (step.event.text("tool_use_id"), step.event.text("decided_by").unwrap_or_default());
        step.decided_by(id, by);
    }
}

fn tool_result(step: &mut Step) {
    if !step.new_entry() {
        return;
    }
    let main = step.event.text("agent_id").is_none();
    if main && step.agent.memory.tail.iter().all(|said| said.at <= step.event.at) {
        step.flush_tail();
    }
    call_over(step);
    if main && step.fresh && !step.agent.hooked {
        step.work();
    }
}

/// The transcript knows the end of a call whatever the hooks reported. A refusal also closes a question that never had
/// an id, if it is the only one.
fn call_over(step: &mut Step) {
    if step.event.session_id != step.agent.session_id {
        return;
    }
    let (event, child) = (step.event, step.event.text("agent_id"));
    let Some(id) = step.event.text("tool_use_id") else { return };
    let closed = step.close_call(&Named { tool: "", id: Some(id), input: None, subagent: child });
    let mine = |one: &Interaction| one.subagent.as_deref() == child;
    let nameless = |one: &Interaction| {
        mine(one)
            && one.tool_use_id.is_none()
            && one.kind != InteractionKind::Reply
            && event.is_after(one.opened_at)
    };
    let alone = step.agent.interactions.iter().filter(|one| mine(one)).count() == 1;
    let refused = step.event.name == observed::REFUSED;
    let closed = closed + if closed == 0 && alone && refused { step.close_interactions(nameless) } else { 0 };
    match child {
        Some(child) => step.refresh_child(child),
        None if closed > 0 => {
            step.settle();
            if step.fresh {
                step.mark();
            }
        }
        None => {}
    }
}

/// A Stop that no hook reported. If it is too late to matter, its text is still worth keeping.
fn turn_end(step: &mut Step) {
    if !step.new_entry() {
        return;
    }
    if let Some(id) = step.event.text("agent_id") {
        // A subagent that the user stopped has no Stop of its own.
        return step.close_children(|child| child.is(id));
    }
    let waits_for_reply = step.agent.interactions.iter().any(|one| one.kind == InteractionKind::Reply);
    let message = step.event.text("text").map(String::from);
    if step.fresh && step.agent.command.is_some() && !waits_for_reply {
        match step.event.text("error") {
            Some(error) => step.fail(error, message.as_deref()),
            None => {
                let text = message.or_else(|| step.tail_text());
                step.turn_over(text.as_deref());
            }
        }
    } else if let Some(text) = message {
        let intent = crate::engine::intent::at_stop(&text).intent;
        step.answer(&text, intent, step.command_at(step.event.at));
    }
}

/// Prefixes of texts that appear as prompts but that the user did not type.
const NOT_TYPED: &[&str] = &[
    "<",
    "[Request interrupted by user",
    "Another Claude session sent a message",
    "This session is being continued from a previous conversation",
    "Caveat: The messages below",
];

/// A prompt that no hook reported, or whose hook has not arrived yet.
fn prompt(step: &mut Step) {
    let text = step.event.text("text").unwrap_or_default().trim_start();
    if text.starts_with("<task-notification>") {
        // Its hook, if there was one, has already removed the task from the list.
        if (!step.agent.hooked || step.has_task_of(text)) && step.new_entry() {
            step.task_notification(text);
        }
        return;
    }
    let typed = !text.is_empty() && !NOT_TYPED.iter().any(|start| text.starts_with(start));
    if typed && step.new_entry() && step.already_reported(Actor::User, text, true).is_none() {
        step.prompt(text);
    }
}

/// Lines without their own time: what a hook reported is newer.
fn details(step: &mut Step) {
    let event = step.event;
    if event.session_id != step.agent.session_id {
        return;
    }
    if let Some(title) = event.text("title") {
        step.agent.names.title = Some(bounds::text(title));
    }
    let newer = !step.agent.hooked || event.source == Source::Client || event.at >= step.agent.place.told_at;
    if let Some(mode) = event.text("permission_mode").filter(|_| newer) {
        step.agent.place.permission_mode = Some(mode.to_string());
    }
}

fn usage(step: &mut Step) {
    if step.event.session_id != step.agent.session_id {
        return;
    }
    let metrics = &mut step.agent.metrics;
    let other = |known: &str, model: &str| !window::same_model(known, model);
    if let Some(model) = step.event.text("model")
        && metrics.model.as_deref().is_none_or(|known| other(known, model))
    {
        metrics.model = Some(model.to_string());
        metrics.window = None;
    }
    if let Some(window) = step.event.body.get("window").and_then(Value::as_u64).filter(|window| *window > 0) {
        metrics.window = Some(window);
    }
    if let Some(used) = step.event.body.get("used_tokens").and_then(Value::as_u64) {
        metrics.used_tokens = Some(used);
        metrics.percent = None;
    }
    let spent = step.event.body.get("spent").and_then(|spent| serde_json::from_value(spent.clone()).ok());
    spend(step, spent.unwrap_or_default());
}

fn spend(step: &mut Step, spent: Spent) {
    if spent.is_nothing() {
        return;
    }
    let (agent_id, project, at) = (step.agent.id, step.agent.place.project.clone(), step.event.at);
    step.changes.push(Change::Spent { agent_id, project, at, spent });
}

fn process_gone(step: &mut Step) {
    let number = |field: &str| step.event.body.get(field).and_then(Value::as_u64);
    let place = &step.agent.place;
    let other = number("claude_pid").is_some_and(|pid| place.claude_pid.map(u64::from) != Some(pid))
        || number("claude_pid_start").is_some_and(|start| place.claude_pid_start != Some(start));
    if other || step.agent.ended_at.is_some() {
        return;
    }
    step.end("process_gone");
}

/// Only data: never activity of the agent.
fn status_line(step: &mut Step) {
    // The status line of an abandoned session may be drawn once more.
    if step.event.session_id != step.agent.session_id {
        return;
    }
    let body = &step.event.body;
    let get = |path: &str| body.pointer(path).filter(|value| !value.is_null());
    let metrics = &mut step.agent.metrics;
    if let Some(model) = get("/model/id").or_else(|| get("/model/display_name")).and_then(Value::as_str) {
        metrics.model = Some(model.to_string());
    }
    if let Some(window) = get("/context_window/context_window_size").and_then(Value::as_u64) {
        metrics.window = Some(window).filter(|window| *window > 0).or(metrics.window);
    }
    let tokens = |field: &str| {
        get("/context_window/current_usage").and_then(|usage| usage.get(field)?.as_u64()).unwrap_or(0)
    };
    let percent = get("/context_window/used_percentage").and_then(Value::as_f64);
    let unused = body.pointer("/context_window/current_usage") == Some(&Value::Null);
    if get("/context_window/current_usage").is_some() {
        let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        metrics.used_tokens = Some(parts.iter().map(|part| tokens(part)).fold(0, u64::saturating_add));
        (metrics.percent, metrics.resumed) = (None, false);
    } else if let Some(percent) = percent.filter(|percent| !unused || *percent > 0.0) {
        (metrics.percent, metrics.resumed) = (Some(percent), false);
        metrics.used_tokens = None;
    } else if unused && !metrics.resumed {
        (metrics.used_tokens, metrics.percent) = (None, None);
    }
    for (slot, path) in [
        (&mut metrics.rate_limits, "/rate_limits"),
        (&mut metrics.pr, "/pr"),
        (&mut metrics.worktree, "/worktree"),
    ] {
        if let Some(value) = get(path) {
            *slot = Some(bounds::value(value));
        }
    }
    if metrics.rate_limits.is_some() && get("/rate_limits").is_some() {
        metrics.limits_at = Some(step.event.at);
    }
    let count = |path: &str| get(path).and_then(Value::as_u64);
    if let (Some(added), Some(removed)) =
        (count("/cost/total_lines_added"), count("/cost/total_lines_removed"))
    {
        metrics.lines = Some(LinesChanged { added, removed });
    }
    let mut spent = Spent::default();
    if let Some(cost) = get("/cost/total_cost_usd").and_then(Value::as_f64).filter(|cost| cost.is_finite()) {
        // The client counts from the start of its process, or of the session: less than before is a new count.
        let before = metrics.cost_usd.filter(|before| *before <= cost).unwrap_or(0.0);
        spent.micro_usd = micro(cost).saturating_sub(micro(before));
        metrics.cost_usd = Some(cost);
    }
    spend(step, spent);
    if let Some(name) = step.event.text("session_name") {
        step.agent.names.title = Some(bounds::text(name));
    }
}

fn micro(dollars: f64) -> u64 {
    (dollars.max(0.0) * 1e6).round() as u64
}

fn renamed(step: &mut Step) {
    let name = step.event.text("name").map(str::trim).filter(|name| !name.is_empty());
    step.agent.names.given = name.map(bounds::text);
}

fn warned(step: &mut Step) {
    step.agent.metrics.warned = step.event.body.get("level").and_then(Value::as_u64);
}

#[cfg(test)]
mod tests;
