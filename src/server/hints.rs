//! What the server has to say to a hook: context warnings, reminders, the terminal's title. Texts only; a
//! decision about a tool call never comes from here.

use super::ledger::{Ledger, NewEvent, Receipt};
use crate::clock::Stamp;
use crate::config::{Config, ContextFiles};
use crate::context::warnings::{self, Due};
use crate::engine::Agent;
use crate::model::{AgentView, Source, observed};
use crate::terminal::gist;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Tokens of a window nobody named.
const USUAL_WINDOW: u64 = 200_000;
/// A model that works this long without a word is asked for one.
const SILENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub struct Hints {
    context: ContextFiles,
    title: bool,
    /// What each agent's title was last set to, and when its model was last reminded.
    said: Mutex<HashMap<i64, Said>>,
}

#[derive(Debug, Default)]
struct Said {
    title: String,
    reminded_at: Option<Stamp>,
    report_asked: bool,
}

/// As much of an event as decides what may be said to it.
#[derive(Debug)]
pub struct Asked {
    name: String,
    main_thread: bool,
    /// A Stop that a hook has answered already.
    again: bool,
}

impl Asked {
    pub fn by(event: &NewEvent) -> Asked {
        Asked {
            name: event.name.clone(),
            main_thread: event.body.get("agent_id").is_none_or(Value::is_null),
            again: event.body.get("stop_hook_active") == Some(&Value::Bool(true)),
        }
    }
}

impl Hints {
    pub fn new(config: &Config) -> Hints {
        Hints { context: config.context.clone(), title: config.terminal_title, said: Mutex::default() }
    }

    /// Warnings need to know how full the window is now, and the transcript knows it best.
    pub fn wants_transcript(&self, asked: &Asked) -> bool {
        !self.context.warnings.is_empty() && self.warns_at(asked)
    }

    /// What the client is to be told in answer to this event.
    pub async fn output(&self, ledger: &Ledger, asked: &Asked, receipt: &Receipt) -> Option<Value> {
        let silent = !self.title && !self.context.reminders && !self.wants_transcript(asked);
        if receipt.duplicate || silent {
            return None;
        }
        let view = &ledger.snapshot().agent(receipt.agent_id?)?.view(Stamp::now());
        let mut output = self.warning(ledger, asked, view).await;
        if output.is_none() {
            output = self.reminder(asked, view);
        }
        if let Some(title) = self.new_title(asked, view) {
            output.get_or_insert_with(|| json!({}))["terminalSequence"] = json!(title);
        }
        output
    }

    /// Subagents have windows of their own.
    fn warns_at(&self, asked: &Asked) -> bool {
        let at_stop = asked.name == "Stop" && self.context.warn_at_stop && !asked.again;
        asked.main_thread && (asked.name == "UserPromptSubmit" || at_stop)
    }

    async fn warning(&self, ledger: &Ledger, asked: &Asked, view: &AgentView) -> Option<Value> {
        if !self.wants_transcript(asked) {
            return None;
        }
        let agent = ledger.snapshot().agent(view.id)?;
        let percent = self.percent(&agent)?;
        let said = agent.figures.warned.and_then(|level| u32::try_from(level).ok());
        let (level, output) = match warnings::due(percent, said, &self.context.warnings) {
            Due::Nothing => return None,
            Due::StartAgain => (None, None),
            Due::Say(level) => (Some(level), warnings::output(&asked.name, &warnings::text(percent, level))),
        };
        // Recorded before it is said: a restart in between must not say it twice.
        let note = json!({"session_id": view.session_id, "level": level});
        let event = NewEvent::observed(observed::WARNED, &view.session_id, Stamp::now(), Source::Hook, note);
        ledger.submit(event).answer().await.ok()?;
        output
    }

    /// Over the configured window, else the one the client named.
    fn percent(&self, agent: &Agent) -> Option<f64> {
        let figures = &agent.figures;
        let window = self.context.window.or(figures.window).unwrap_or(USUAL_WINDOW).max(1);
        let used = figures.used_tokens.map(|used| used as f64 * 100.0 / window as f64);
        used.or(figures.percent).map(|percent| percent.clamp(0.0, 100.0))
    }

    /// Opt-in: a word now and then from a model that works silently, and a report from one nobody watches.
    fn reminder(&self, asked: &Asked, view: &AgentView) -> Option<Value> {
        if !self.context.reminders || !asked.main_thread {
            return None;
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = said.entry(view.id).or_default();
        let text = match asked.name.as_str() {
            "UserPromptSubmit" => {
                said.reminded_at = Some(Stamp::now());
                let background = view.mode.as_deref().is_some_and(|mode| mode != "interactive");
                if !background || std::mem::replace(&mut said.report_asked, true) {
                    return None;
                }
                "[HEADSPACE: INFO]: Nobody watches this session. Report what was done, and what is open, before you end."
            }
            "PostToolUse" => {
                let since =
                    said.reminded_at.or(view.current_command.as_ref().map(|command| command.started_at))?;
                if Stamp::now().since(since) < SILENCE {
                    return None;
                }
                said.reminded_at = Some(Stamp::now());
                "[HEADSPACE: INFO]: Two minutes without a word: say in one line what you are doing."
            }
            _ => return None,
        };
        Some(json!({"hookSpecificOutput": {"hookEventName": asked.name, "additionalContext": text}}))
    }

    /// `! api · fix-auth`, if that differs from what was set before.
    fn new_title(&self, asked: &Asked, view: &AgentView) -> Option<String> {
        // At the end of a session the client reads no output any more.
        if !self.title || view.headless || asked.name == "SessionEnd" {
            return None;
        }
        let title = format!("{} {}", view.group.glyph(), gist(&view.name, 60));
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = said.entry(view.id).or_default();
        if said.title == title {
            return None;
        }
        said.title.clone_from(&title);
        Some(format!("\x1b]2;{title}\x07"))
    }
}
