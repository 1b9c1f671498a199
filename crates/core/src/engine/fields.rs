//! What any event reports besides its effect: where the agent runs, and its names.

use crate::engine::agent::{Agent, AgentPlace};
use crate::engine::bounds;
use crate::engine::context::window;
use crate::engine::observations;
use crate::model::*;
use serde_json::Value;

/// Takes the fields of an event into the agent. Subagents may run elsewhere: their directory is not the agent's.
pub(super) fn take(agent: &mut Agent, event: &Event) {
    if !observations::is_quiet(&event.name) {
        agent.last_active_at = agent.last_active_at.max(event.at);
    }
    if agent.session_id != event.session_id {
        return;
    }
    if event.at >= agent.place.told_at && event.text("agent_id").is_none() && tells_place(event) {
        agent.place.told_at = event.at;
        take_place(&mut agent.place, event);
    }
    if event.source == Source::Hook && !observations::is_observed(&event.name) {
        agent.hooked = true;
    }
    if event.name == "UserPromptSubmit" && event.text("agent_id").is_none() && event.at >= agent.turn_at {
        agent.turn_id = event.text("turn_id").map(String::from);
    }
    if let Some(title) = event.text("session_title") {
        agent.names.title = Some(bounds::text(title));
    }
    let model = match event.name.as_str() {
        "SessionStart" => event.text("model"),
        "Stop" if event.body.get(hints::CONTEXT_TOKENS).is_some() => event.text("model"),
        "PostModelSwitch" => event.text("to_model"),
        _ => None,
    };
    if let Some(model) = model.filter(|model| agent.metrics.model.as_deref() != Some(model)) {
        agent.metrics.model = Some(model.to_string());
        agent.metrics.window = window::of_model(model);
    }
    // After the model, because a size that the client reports is better than one guessed from the model's name.
    take_context(agent, event);
}

/// Some clients report in a hook how full the context is.
fn take_context(agent: &mut Agent, event: &Event) {
    let number = |field: &str| event.body.get(field).and_then(Value::as_u64).filter(|number| *number > 0);
    if event.text("agent_id").is_some() {
        return;
    }
    if let Some(used) = number(hints::CONTEXT_TOKENS) {
        (agent.metrics.used_tokens, agent.metrics.percent) = (Some(used), None);
    }
    if let Some(window) = number(hints::CONTEXT_WINDOW) {
        agent.metrics.window = Some(window);
    }
}

/// Transcript lines and actions of people say nothing about where the agent runs.
fn tells_place(event: &Event) -> bool {
    !observations::is_observed(&event.name)
        || matches!(
            event.name.as_str(),
            observed::SESSION_FOUND
                | observed::STATUS_LINE
                | observed::CLIENT_STATUS
                | observed::PROCESS_FOUND
        )
}

pub(super) fn take_place(place: &mut AgentPlace, event: &Event) {
    let number = |field: &str| event.body.get(field).and_then(Value::as_u64);
    // The machine is one thing: a name without its id must not keep another's.
    let machine = Machine::of(&event.body);
    if !machine.is_unknown() {
        (place.host, place.host_id, place.elsewhere) = (machine.name, machine.id, event.facts.elsewhere);
    }
    let told = |field: &str| event.body.get(field) == Some(&Value::Bool(true));
    keep(&mut place.client_name, event.text(hints::CLIENT).filter(|name| *name != hints::DEFAULT_CLIENT));
    place.silent_client |= told(hints::SILENT_CLIENT);
    place.shared_process |= told(hints::SHARED_PROCESS);
    // The process is one thing: a pid without its start time must not keep another's.
    if let Some(pid) = number("claude_pid").and_then(|pid| u32::try_from(pid).ok()) {
        place.claude_pid = Some(pid);
        place.claude_pid_start = number("claude_pid_start");
    }
    if let Some(entrypoint) = event.text("entrypoint") {
        place.headless = entrypoint != "cli";
    }
    // A session can be renamed and its panes moved: the first name and the last pane are kept.
    if place.tmux_session.is_none() {
        place.tmux_session = event.text("tmux_session").map(String::from);
    }
    for (slot, field) in [
        (&mut place.tmux_pane, "tmux_pane"),
        (&mut place.headspace_session_id, "headspace_session_id"),
        (&mut place.role, "session_role"),
        (&mut place.mode, "session_mode"),
        (&mut place.transcript_path, "transcript_path"),
        (&mut place.permission_mode, "permission_mode"),
    ] {
        keep(slot, event.text(field));
    }
    if let Some(terminal) = event.body.get("terminal").filter(|value| !value.is_null()) {
        place.terminal = Some(bounds::value(terminal));
    }
    let cwd = event.text("new_cwd").filter(|_| event.name == "CwdChanged");
    let cwd = cwd.or_else(|| event.text("cwd")).or_else(|| event.text("working_directory"));
    let Some(cwd) = cwd else { return };
    // The directory did not answer in time, and where it belongs is known already.
    if event.facts.root.is_none() && place.root.is_some() && place.cwd.as_deref() == Some(cwd) {
        return;
    }
    let root = event.facts.root.as_deref().unwrap_or(cwd);
    keep(&mut place.project, event.facts.project.as_deref().or_else(|| last_part(root)));
    replace(&mut place.branch, event.facts.branch.as_deref());
    keep(&mut place.root, Some(root));
    keep(&mut place.cwd, Some(cwd));
}

/// A missing value leaves the old one.
fn keep(slot: &mut Option<String>, value: Option<&str>) {
    if value.is_some() {
        replace(slot, value);
    }
}

/// Nearly every event says what the last one said: only a new text is copied.
fn replace(slot: &mut Option<String>, value: Option<&str>) {
    if slot.as_deref() != value {
        *slot = value.map(String::from);
    }
}

fn last_part(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty()).or(Some(path))
}
