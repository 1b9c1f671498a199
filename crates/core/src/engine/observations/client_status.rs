//! What the client says about itself, in the file it rewrites whenever it becomes busy, idle or opens a dialog.
//!
//! It reports what no hook does: that the user said "Yes" (the hook comes when the tool has ended), that Esc was
//! pressed, that a turn continues after its Stop, that a dialog is open which no hook describes. It describes one process
//! at one moment, so it closes what was open before that moment and never anything later. It creates no turns.

use crate::engine::agent::Phase;
use crate::engine::bounds;
use crate::engine::interactions::Ask;
use crate::engine::step::{Step, adopt};
use crate::engine::subagents;
use crate::model::*;
use crate::stamp::Stamp;
use crate::text::one_line;
use std::time::Duration;

/// A dialog ignores keys at first, and the hook that describes it is stamped a moment before or after the client
/// writes `waiting`. So a dialog this young is still open, unless the client was seen waiting in between.
const DIALOG_IGNORES_KEYS_FOR: Duration = Duration::from_millis(300);

pub(super) fn changed(step: &mut Step) {
    let event = step.event;
    if event.session_id != step.agent.session_id || step.agent.ended_at.is_some() {
        return;
    }
    if let Some(title) = event.text("title") {
        step.agent.names.title = Some(bounds::text(title));
    }
    let Some(status) = event.text("status").and_then(ClientState::from_word) else { return };
    let before = step.agent.client;
    if before.is_some_and(|before| before.at > event.at) {
        return;
    }
    step.agent.client = Some(ClientSays { status, at: event.at });
    match status {
        ClientState::Busy => busy(step, before),
        ClientState::Waiting => waiting(step, before),
        ClientState::Idle | ClientState::Shell => at_rest(step, status, before),
    }
}

/// No dialog is open, and a turn is running: in the main thread, or in a subagent that works beside it.
fn busy(step: &mut Step, before: Option<ClientSays>) {
    // A reply that Claude asked for in words is not a dialog, but it is not awaited while the turn continues.
    let answered = close_answered(step, before, |_| true);
    let explained = step.agent.phase.is_some() || step.has_working_child();
    if !step.fresh {
        return;
    }
    let goes_on = if step.agent.command.is_some() { answered > 0 } else { !explained };
    if goes_on {
        step.work();
        step.agent.unseen = false;
    }
}

/// A dialog is open. If another one was open before, that one was answered: dialogs queue up, the oldest is shown.
fn waiting(step: &mut Step, before: Option<ClientSays>) {
    let earlier = before.filter(|before| before.status == ClientState::Waiting && before.at < step.event.at);
    if let Some(earlier) = earlier {
        let front = step
            .agent
            .interactions
            .iter()
            .filter(|one| is_dialog(one) && one.opened_at <= earlier.at.plus(DIALOG_IGNORES_KEYS_FOR))
            .min_by_key(|one| (one.opened_at, one.id))
            .map(|one| one.id);
        close_answered(step, before, |one| Some(one.id) == front);
    }
    if step.fresh && step.agent.interactions.is_empty() {
        describe(step);
    }
}

/// A dialog that no hook described: shown as the client calls it, with the call it is probably about.
fn describe(step: &mut Step) {
    let named = step.event.text("waiting_for").unwrap_or("a dialog is open");
    let call = step.newest_call(None, |_| true).filter(|_| named.contains("permission")).cloned();
    let text = match &call {
        Some(call) => format!("Allow {}", call.detail),
        None => one_line(named, 240),
    };
    step.open(Ask {
        kind: InteractionKind::Dialog,
        tool_use_id: call.as_ref().and_then(|call| call.tool_use_id.clone()),
        tool_name: call.map(|call| call.tool_name),
        subagent: None,
        text,
        options: Vec::new(),
        asked: None,
    });
    // A menu that a person opened outside a turn (`/model`) is a dialog, but not work.
    if step.agent.command.is_some() {
        step.wait();
    } else {
        step.mark();
    }
}

/// The client waits for a prompt: whatever was open is over. An open turn was interrupted by the user, because a hook or
/// the transcript would have reported its end first.
fn at_rest(step: &mut Step, status: ClientState, before: Option<ClientSays>) {
    close_answered(step, before, is_dialog);
    if step.event.at >= step.agent.phase_at && step.agent.phase == Some(Phase::Compacting) {
        step.end_phase();
        step.marked = true;
    }
    if !step.fresh {
        return;
    }
    let asks_in_words = step.agent.interactions.iter().any(|one| one.kind == InteractionKind::Reply);
    match &step.agent.command {
        Some(command) if command.instruction.is_none() && command.confidence == Confidence::Medium => {
            // Only the client reported this work (a user's hook after the turn, a shell command): it is done.
            step.flush_tail();
            step.finish(Intent::Completion);
            step.agent.unseen = true;
        }
        Some(_) if !asks_in_words => step.interrupt(),
        _ => {}
    }
    let at = step.event.at;
    // A client with background agents reports busy, one with shells reports shell.
    step.agent.background.retain(|task| match subagents::task_type(task) {
        Some("shell") => status == ClientState::Shell,
        Some("subagent") => false,
        _ => true,
    });
    let more = &mut step.agent.more_background;
    more.subagents = 0;
    if status != ClientState::Shell {
        more.shells = 0;
    }
    step.close_children(|child| !child.is_teammate() && child.at <= at);
    // Events from before this moment must not change the state, even if they arrive later.
    step.agent.state_at = step.agent.state_at.max(at);
    step.agent.boundary_at = step.agent.boundary_at.max(at);
}

fn is_dialog(one: &Interaction) -> bool {
    one.kind != InteractionKind::Reply
}

/// Closes the matching questions that were open long enough to have been answered; returns how many.
fn close_answered(step: &mut Step, before: Option<ClientSays>, fits: impl Fn(&Interaction) -> bool) -> usize {
    let at = step.event.at;
    let waited = before.is_some_and(|before| before.status == ClientState::Waiting && before.at < at);
    let open_long = |one: &Interaction| at >= one.opened_at.plus(DIALOG_IGNORES_KEYS_FOR);
    let answered = |one: &Interaction| fits(one) && at > one.opened_at && (waited || open_long(one));
    let children: Vec<String> = step
        .agent
        .interactions
        .iter()
        .filter(|one| answered(one))
        .filter_map(|one| one.subagent.clone())
        .collect();
    let closed = step.close_interactions(answered);
    for child in &children {
        step.refresh_child(child);
    }
    if closed > children.len() {
        step.settle();
        step.marked = true;
    }
    closed
}

/// A prompt typed in the middle of a turn begins its own turn. Its text was already reported when it was typed.
pub(super) fn dequeued(step: &mut Step) {
    let text = step.event.text("text").unwrap_or_default().trim();
    let typed = crate::engine::hash::text(text);
    let reported = step.agent.memory.turns.iter().any(|turn| turn.actor == Actor::User && turn.text == typed);
    // A prompt that nothing reported yet is about to be reported by its hook, or by its own line.
    if text.starts_with('<') || !reported || !step.new_entry() {
        return;
    }
    if adopt(step, text) {
        return;
    }
    if step.fresh && step.agent.command.is_none() {
        step.begin(Some(text), step.level());
        step.work();
        step.agent.unseen = false;
    }
}

impl Step<'_> {
    /// Whether a subagent works, so that the client is busy without a turn in the main thread.
    fn has_working_child(&self) -> bool {
        let more = self.agent.more_background;
        more.subagents + more.others > 0
            || self.agent.children.iter().any(|child| child.at_work())
            || self
                .agent
                .background
                .iter()
                .any(|task| subagents::is_live_task(task) && subagents::task_type(task) != Some("shell"))
    }

    /// Whether this is the Stop of a turn whose end the client showed first. Then it was not an interruption.
    pub(in crate::engine) fn ended_by_client(&self) -> bool {
        let at: Stamp = self.event.at;
        self.agent.interrupted
            && self.agent.command.is_none()
            && self.agent.source == Source::Client
            && self.event.session_id == self.agent.session_id
            && self.agent.ended_at.is_none()
            && at >= self.agent.turn_at
            && at <= self.agent.state_at
    }
}
