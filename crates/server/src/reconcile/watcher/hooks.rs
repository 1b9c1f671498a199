//! What the hooks of a watched session report, as far as it matters to its transcript.

use crate::ledger::NewEvent;
use crate::reconcile::watcher::push_bounded;
use headspace_core::model::Machine;
use headspace_core::stamp::Stamp;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

/// A hook this much older than a line can still be about the same thing.
const HOOK_MAY_PRECEDE_LINE_BY: Duration = Duration::from_secs(2);
const MAX_REMEMBERED_PROMPTS: usize = 8;

/// What a hook's event means for the watcher of its session's transcript.
#[derive(Clone, Debug)]
pub struct HookSignal {
    pub session_id: String,
    pub at: Stamp,
    pub transcript_path: Option<PathBuf>,
    pub machine: Machine,
    pub(super) kind: SignalKind,
    pub(super) prompt_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SignalKind {
    /// Says nothing about the main thread.
    Subagent,
    /// The turn is over.
    End,
    /// The turn is over, and its last text was not included.
    EndWithoutText,
    /// The session is over. That says nothing about its last turn: whether a Stop came is another matter.
    SessionEnd,
    /// The main thread continues.
    GoesOn,
    /// The context was compacted: what was measured before is not valid any longer.
    Compacted,
    Other,
}

impl HookSignal {
    pub fn of(event: &NewEvent) -> HookSignal {
        HookSignal::new(&event.name, &event.session_id, event.at, &event.body)
    }

    pub fn new(name: &str, session_id: &str, at: Stamp, body: &Value) -> HookSignal {
        let text = |field: &str| body.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let kind = match name {
            _ if text("agent_id").is_some() => SignalKind::Subagent,
            "Stop" if text("last_assistant_message").is_none() => SignalKind::EndWithoutText,
            "Stop" | "StopFailure" => SignalKind::End,
            "SessionEnd" => SignalKind::SessionEnd,
            "UserPromptSubmit" | "PreToolUse" => SignalKind::GoesOn,
            "SessionStart" if text("source") == Some("compact") => SignalKind::Compacted,
            _ => SignalKind::Other,
        };
        HookSignal {
            session_id: session_id.to_owned(),
            at,
            transcript_path: text("transcript_path").map(PathBuf::from).filter(|path| path.is_absolute()),
            machine: Machine::of(body),
            kind,
            prompt_id: text("prompt_id").map(str::to_owned),
        }
    }

    /// The context was compacted just now.
    pub fn compacts(&self) -> bool {
        self.kind == SignalKind::Compacted
    }

    /// The turn is over, and the session continues.
    pub fn ends_turn(&self) -> bool {
        matches!(self.kind, SignalKind::End | SignalKind::EndWithoutText)
    }

    /// The main thread continues with this.
    pub fn goes_on(&self) -> bool {
        self.kind == SignalKind::GoesOn
    }

    /// The session is over: what its transcript says last is all there is.
    pub fn ends_session(&self) -> bool {
        self.kind == SignalKind::SessionEnd
    }

    /// A Stop without the text the turn ended with.
    pub fn lacks_text(&self) -> bool {
        self.kind == SignalKind::EndWithoutText
    }
}

/// What the session's hooks reported, by their own times. Those of subagents do not count.
#[derive(Debug, Default)]
pub(super) struct HookHistory {
    pub(super) at: Option<Stamp>,
    /// The newest that is not the end of a turn: a Stop says nothing about the prompt that follows it.
    went_on_at: Option<Stamp>,
    /// The prompts they reported, newest last: the client may stamp its line long after a slow hook.
    prompts: VecDeque<String>,
    /// The turn is over, with the text it ended with.
    pub(super) stop_at: Option<Stamp>,
    /// When the turn ended, if its text was not included.
    pub(super) text_missing_since: Option<Stamp>,
    /// For a Stop up to this time, the text was found before the Stop was handled.
    pub(super) text_found: Option<Stamp>,
    /// The session is over, and nothing came since.
    session_over: bool,
    /// They do not report on this session, or not any longer.
    pub(super) silent: bool,
}

impl HookHistory {
    /// They reported on this session before this server started, last at `at`.
    pub(super) fn reported_before(&mut self, at: Stamp) {
        (self.at, self.went_on_at) = (Some(at), Some(at));
    }

    /// Whether a hook came at about `at`, or later.
    pub(super) fn spoke(&self, at: Stamp) -> bool {
        self.at.is_some_and(|hook| hook.plus(HOOK_MAY_PRECEDE_LINE_BY) >= at)
    }

    /// Whether a hook came at about `at`, or later, that is not the end of the turn before.
    pub(super) fn went_on(&self, at: Stamp) -> bool {
        self.went_on_at.is_some_and(|hook| hook.plus(HOOK_MAY_PRECEDE_LINE_BY) >= at)
    }

    pub(super) fn reported_prompt(&self, id: Option<&String>, at: Stamp) -> bool {
        self.went_on(at) || id.is_some_and(|id| self.prompts.contains(id))
    }

    pub(super) fn stopped(&self, at: Stamp) -> bool {
        self.stop_at.is_some_and(|stop| stop.plus(HOOK_MAY_PRECEDE_LINE_BY) >= at)
    }

    /// If the agent is idle: whether hooks can be assumed to have reported the answer said at `at`. The end of the
    /// session makes the agent idle, too, and says nothing about its last turn.
    pub(super) fn reported_answer(&self, at: Stamp) -> bool {
        self.stopped(at) || !self.session_over && self.spoke(at)
    }

    /// Adds one event; `true` if it ends the turn.
    pub(super) fn add(&mut self, kind: SignalKind, at: Stamp, prompt_id: Option<String>) -> bool {
        if kind == SignalKind::Subagent {
            return false;
        }
        self.session_over = kind == SignalKind::SessionEnd;
        if self.session_over {
            return true;
        }
        self.at = self.at.max(Some(at));
        let ends = matches!(kind, SignalKind::End | SignalKind::EndWithoutText);
        if !ends {
            self.went_on_at = self.went_on_at.max(Some(at));
        }
        self.silent = false;
        if let Some(id) = prompt_id.filter(|id| !self.prompts.contains(id)) {
            push_bounded(&mut self.prompts, id, MAX_REMEMBERED_PROMPTS);
        }
        match kind {
            SignalKind::EndWithoutText => {
                self.text_missing_since = Some(at).filter(|_| self.text_found < Some(at))
            }
            SignalKind::End => {
                self.text_missing_since = None;
                self.stop_at = self.stop_at.max(Some(at));
            }
            SignalKind::GoesOn => self.text_missing_since = None,
            _ => {}
        }
        ends
    }
}
