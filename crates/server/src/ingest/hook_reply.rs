//! What the server replies to a hook: context warnings, reminders, the terminal's title; and the stop that a person
//! asked for. No other decision about a tool call comes from here.

use crate::ledger::{Ledger, NewEvent, Receipt};
use headspace_core::engine::context::warnings::{self, WarningDue};
use headspace_core::model::{AgentView, Source, observed, stop_output};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use headspace_platform::clock::WallClock;
use headspace_platform::config::{Config, ContextFiles};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A model that works this long without a message is asked for one.
const ASK_FOR_PROGRESS_AFTER: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub struct HookReplies {
    context: ContextFiles,
    title: bool,
    /// What each agent's title was last set to, and when its model was last reminded.
    last_replies: Mutex<RepliesByAgent>,
}

/// The last replies to agents that have not ended.
#[derive(Debug, Default)]
struct RepliesByAgent {
    replies: HashMap<i64, LastReply>,
    /// With this many agents, ended ones are removed.
    full: usize,
}

impl RepliesByAgent {
    /// Fewer than this are not worth cleaning up.
    const CLEAN_UP_ABOVE: usize = 64;

    fn of(&mut self, agent_id: i64, lives: impl Fn(i64) -> bool) -> &mut LastReply {
        if self.replies.len() >= self.full.max(RepliesByAgent::CLEAN_UP_ABOVE) {
            self.replies.retain(|id, _| lives(*id));
            self.full = self.replies.len() * 2;
        }
        self.replies.entry(agent_id).or_default()
    }
}

#[derive(Debug, Default)]
struct LastReply {
    title: String,
    reminded_at: Option<Stamp>,
    report_asked: bool,
}

/// The parts of an event that decide what may be replied.
#[derive(Debug)]
pub struct HookRequest {
    name: String,
    main_thread: bool,
    /// A Stop that a hook has already answered.
    again: bool,
}

impl HookRequest {
    pub fn by(event: &NewEvent) -> HookRequest {
        HookRequest {
            name: event.name.clone(),
            main_thread: event.body.get("agent_id").is_none_or(Value::is_null),
            again: event.body.get("stop_hook_active") == Some(&Value::Bool(true)),
        }
    }
}

impl HookReplies {
    pub fn new(config: &Config) -> HookReplies {
        HookReplies {
            context: config.context.clone(),
            title: config.terminal_title,
            last_replies: Mutex::default(),
        }
    }

    /// Warnings need to know how full the window is now, and the transcript knows that best.
    pub fn wants_transcript(&self, request: &HookRequest) -> bool {
        !self.context.warnings.is_empty() && self.warns_at(request)
    }

    /// Whether there can be an output for the client in answer to this session's event.
    pub fn may_reply(&self, ledger: &Ledger, request: &HookRequest, session_id: &str) -> bool {
        let agent = ledger.snapshot().agent_of_session(session_id);
        self.has_words(request) || agent.is_some_and(|agent| agent.stop_requested.is_some())
    }

    fn has_words(&self, request: &HookRequest) -> bool {
        self.title || self.context.reminders || self.wants_transcript(request)
    }

    /// The output for the client in answer to this event.
    pub async fn output(&self, ledger: &Ledger, request: &HookRequest, receipt: &Receipt) -> Option<Value> {
        if let Some(stop) = stop(ledger, request, receipt) {
            return Some(stop);
        }
        if receipt.duplicate || !self.has_words(request) {
            return None;
        }
        let view = &ledger.view(&*ledger.snapshot().agent(receipt.agent_id?)?, Stamp::now());
        let mut output = self.warning(ledger, request, view).await;
        if output.is_none() {
            output = self.reminder(ledger, request, view);
        }
        if let Some(title) = self.new_title(ledger, request, view) {
            output.get_or_insert_with(|| json!({}))["terminalSequence"] = json!(title);
        }
        output
    }

    /// Subagents have their own windows.
    fn warns_at(&self, request: &HookRequest) -> bool {
        let at_stop = request.name == "Stop" && self.context.warn_at_stop && !request.again;
        request.main_thread && (request.name == "UserPromptSubmit" || at_stop)
    }

    async fn warning(&self, ledger: &Ledger, request: &HookRequest, view: &AgentView) -> Option<Value> {
        if !self.wants_transcript(request) {
            return None;
        }
        let agent = ledger.snapshot().agent(view.id.number)?;
        let percent = view.context.as_ref()?.percent;
        let said = agent.metrics.warned.and_then(|level| u32::try_from(level).ok());
        let (level, output) = match warnings::due(percent, said, &self.context.warnings) {
            WarningDue::Nothing => return None,
            WarningDue::StartAgain => (None, None),
            WarningDue::Say(level) => {
                (Some(level), warnings::output(&request.name, &warnings::text(percent, level)))
            }
        };
        // Recorded before it is sent: a restart in between must not send it twice.
        let note = json!({"session_id": view.session_id, "level": level});
        let event = NewEvent::observed(observed::WARNED, &view.session_id, Stamp::now(), Source::Hook, note);
        ledger.submit_one(event).answer().await.ok()?;
        output
    }

    /// Opt-in: now and then asks a silently working model for a message, and an unwatched model for a report.
    fn reminder(&self, ledger: &Ledger, request: &HookRequest, view: &AgentView) -> Option<Value> {
        if !self.context.reminders || !request.main_thread {
            return None;
        }
        let mut replies = self.last_replies.lock().unwrap_or_else(PoisonError::into_inner);
        let last = replies.of(view.id.number, |id| lives(ledger, id));
        let text = match request.name.as_str() {
            "UserPromptSubmit" => {
                last.reminded_at = Some(Stamp::now());
                let background = view.mode.as_deref().is_some_and(|mode| mode != "interactive");
                if !background || std::mem::replace(&mut last.report_asked, true) {
                    return None;
                }
                "[HEADSPACE: INFO]: Nobody watches this session. Report what was done, and what is open, before you end."
            }
            "PostToolUse" => {
                let since =
                    last.reminded_at.or(view.current_command.as_ref().map(|command| command.started_at))?;
                if Stamp::now().since(since) < ASK_FOR_PROGRESS_AFTER {
                    return None;
                }
                last.reminded_at = Some(Stamp::now());
                "[HEADSPACE: INFO]: Two minutes without a word: say in one line what you are doing."
            }
            _ => return None,
        };
        Some(json!({"hookSpecificOutput": {"hookEventName": request.name, "additionalContext": text}}))
    }

    /// `! api · fix-auth`, if that differs from the last title.
    fn new_title(&self, ledger: &Ledger, request: &HookRequest, view: &AgentView) -> Option<String> {
        // At the end of a session the client does not read output any longer.
        if !self.title || view.headless || request.name == "SessionEnd" {
            return None;
        }
        let title = format!("{} {}", view.group.glyph(), one_line(&view.name, 60));
        let mut replies = self.last_replies.lock().unwrap_or_else(PoisonError::into_inner);
        let last = replies.of(view.id.number, |id| lives(ledger, id));
        if last.title == title {
            return None;
        }
        last.title.clone_from(&title);
        Some(format!("\x1b]2;{title}\x07"))
    }
}

/// A stop that a person asked for and that Esc could not bring about. It is repeated at every call until the turn is
/// over, because the guard may have answered in its place.
fn stop(ledger: &Ledger, request: &HookRequest, receipt: &Receipt) -> Option<Value> {
    if request.name != "PreToolUse" || !request.main_thread {
        return None;
    }
    let agent = ledger.snapshot().agent(receipt.agent_id?)?;
    agent.stop_requested.map(|_| stop_output())
}

fn lives(ledger: &Ledger, agent_id: i64) -> bool {
    ledger.snapshot().agent(agent_id).is_some_and(|agent| agent.ended_at.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_to_ended_agents_are_forgotten() {
        let mut memory = RepliesByAgent::default();
        for id in 0..10_000 {
            memory.of(id, |known| known % 1000 == 7).title = id.to_string();
            assert!(memory.replies.len() <= RepliesByAgent::CLEAN_UP_ABOVE + 20, "{}", memory.replies.len());
        }
        assert_eq!(memory.of(7, |_| true).title, "7");
    }
}
