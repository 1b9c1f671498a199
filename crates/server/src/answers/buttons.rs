//! Buttons in a notification: each has its own secret, which gives one answer to one ask, once, within a few minutes.
//!
//! Everyone who can read the notification can press its buttons. So *Deny* is always offered, and *Allow* only to a receiver
//! that its owner alone can read, for an ask that the notification shows whole.

use crate::answers::Answers;
use crate::http::auth::policy::same_secret;
use crate::ledger::Ledger;
use anyhow::Result;
use headspace_core::model::{AgentView, Choice, InteractionView};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::process;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a button works. Later the notification leads to the card, where one has to be unlocked.
const BUTTON_FOR: Duration = Duration::from_secs(900);
/// How many buttons are kept; the oldest are dropped first.
const MAX_BUTTONS: usize = 512;
/// A longer ask does not fit into a notification, where 4096 bytes are the limit.
const MAX_ASK_SHOWN_WHOLE: usize = 3000;

/// The answer that one button gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Button {
    secret: String,
    pub ask: i64,
    pub digest: String,
    pub choice: Choice,
    /// Where the notification went.
    pub to: String,
    since: Instant,
}

#[derive(Debug, Default)]
pub struct Buttons(Vec<Button>);

impl Buttons {
    fn give(&mut self, ask: i64, digest: &str, choice: Choice, to: &str, now: Instant) -> Result<String> {
        self.0.retain(|button| now.duration_since(button.since) < BUTTON_FOR);
        if self.0.len() >= MAX_BUTTONS {
            self.0.remove(0);
        }
        let secret = process::random_hex::<32>()?;
        let (digest, to) = (digest.to_owned(), to.to_owned());
        self.0.push(Button { secret: secret.clone(), ask, digest, choice, to, since: now });
        Ok(secret)
    }

    /// The answer behind the secret. Uses up all buttons of the same ask.
    pub fn press(&mut self, secret: &str, now: Instant) -> Option<Button> {
        let pressed = self.0.iter().find(|button| same_secret(&button.secret, secret))?.clone();
        self.0.retain(|button| button.ask != pressed.ask);
        (now.duration_since(pressed.since) < BUTTON_FOR).then_some(pressed)
    }

    pub fn end_all(&mut self) {
        self.0.clear();
    }
}

/// The buttons of one notification: their secrets, and with *Allow* the whole text of what it allows.
#[derive(Debug, Default, PartialEq)]
pub struct Offer {
    pub deny: Option<String>,
    pub allow: Option<(String, String)>,
}

/// Makes buttons for asks that `headspace wait` holds.
#[derive(Clone)]
pub struct ButtonMaker {
    answers: Arc<Answers>,
    ledger: Ledger,
}

impl ButtonMaker {
    pub fn new(answers: Arc<Answers>, ledger: Ledger) -> ButtonMaker {
        ButtonMaker { answers, ledger }
    }

    /// The buttons for an ask in its current form. `may_allow`: only its owner can read what is sent `to` that receiver.
    pub fn offer(&self, agent_id: i64, ask: i64, to: &str, may_allow: bool) -> Offer {
        let view = self.ledger.agent(agent_id).map(|agent| self.ledger.view(&agent, Stamp::now()));
        let asked = view.as_ref().and_then(|view| view.interactions.iter().find(|open| open.id == ask));
        let (Some(view), Some(asked)) = (&view, asked) else { return Offer::default() };
        let Some(digest) = asked.answer.digest().filter(|_| self.answers.is_unlocked()) else {
            return Offer::default();
        };
        let give = |choice| {
            self.answers.with_buttons(|buttons, now| buttons.give(ask, digest, choice, to, now)).ok()
        };
        let can = |choice| asked.answer.can().contains(&choice);
        let whole = whole_ask(view, asked).filter(|_| may_allow);
        Offer {
            deny: can(Choice::Deny).then(|| give(Choice::Deny)).flatten(),
            allow: whole.and_then(|whole| Some((give(Choice::Allow)?, whole))),
        }
    }
}

/// Everything that *Allow* would let run, for a receiver that shows nothing else; `None` if it cannot be shown whole, or if
/// a word must be typed.
fn whole_ask(agent: &AgentView, ask: &InteractionView) -> Option<String> {
    if !ask.answer.can().contains(&Choice::Allow) || ask.answer.confirm().is_some() {
        return None;
    }
    let Some(Value::Object(input)) = &ask.input else { return None };
    let mut text = format!("{} in {}", ask.tool_name.as_deref()?, agent.cwd.as_deref()?);
    for (name, value) in input {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // A line inside a value must not look like another member of the input.
        text.push_str(&format!("\n{name}: {}", value.trim_end_matches('\n').replace('\n', "\n    ")));
    }
    (text.len() <= MAX_ASK_SHOWN_WHOLE).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_button_works_once_for_a_while_and_says_one_thing() {
        let (mut buttons, now) = (Buttons::default(), Instant::now());
        let give = |buttons: &mut Buttons, ask, choice| buttons.give(ask, "d", choice, "box", now).unwrap();
        let deny = give(&mut buttons, 7, Choice::Deny);
        let allow = give(&mut buttons, 7, Choice::Allow);
        let other = give(&mut buttons, 8, Choice::Deny);
        assert_ne!(deny, allow);
        assert_eq!(buttons.press(&deny.to_uppercase(), now), None);
        let pressed = buttons.press(&deny, now).unwrap();
        assert_eq!((pressed.ask, pressed.choice, pressed.to.as_str()), (7, Choice::Deny, "box"));
        assert_eq!(buttons.press(&deny, now), None, "once");
        assert_eq!(buttons.press(&allow, now), None, "the ask is answered");
        assert_eq!(buttons.press(&other, now + BUTTON_FOR), None, "too old");
        let last = give(&mut buttons, 9, Choice::Deny);
        buttons.end_all();
        assert_eq!(buttons.press(&last, now), None, "locked");
        for ask in 0..2 * MAX_BUTTONS as i64 {
            give(&mut buttons, ask, Choice::Deny);
        }
        assert_eq!(buttons.0.len(), MAX_BUTTONS);
    }

    fn asked(input: Value, answer: Value) -> (AgentView, InteractionView) {
        let stamp = Stamp(0);
        let agent = json!({"id": 1, "session_id": "s", "sessions": ["s"], "name": "n", "state": "idle", "status": "idle",
            "group": "idle", "unseen": false, "stale": false, "headless": false, "started_at": stamp, "last_active_at": stamp,
            "background": [], "interactions": [], "subagents": [], "turn_count": 0, "source": "hook", "source_at": stamp,
            "confidence": "high", "cwd": "/srv/api"});
        let ask = json!({"id": 7, "kind": "permission", "tool_name": "Bash", "text": "x", "opened_at": stamp, "input": input, "answer": answer});
        (serde_json::from_value(agent).unwrap(), serde_json::from_value(ask).unwrap())
    }

    #[test]
    fn only_what_is_shown_whole_can_be_allowed() {
        let open = |can: Value, confirm: Value| json!({"can": can, "digest": "d", "state": "open", "by": null, "at": null, "confirm": confirm});
        let yes = open(json!(["allow", "deny"]), Value::Null);
        let of = |input: Value, answer: &Value| {
            let (agent, ask) = asked(input, answer.clone());
            whole_ask(&agent, &ask)
        };
        let input = json!({"command": "make\ntimeout: 9", "timeout": 5});
        assert_eq!(
            of(input.clone(), &yes).as_deref(),
            Some("Bash in /srv/api\ncommand: make\n    timeout: 9\ntimeout: 5")
        );
        assert_eq!(of(json!({"command": "x".repeat(MAX_ASK_SHOWN_WHOLE)}), &yes), None);
        assert_eq!(of(json!("ls"), &yes), None);
        assert_eq!(of(input.clone(), &open(json!(["deny"]), Value::Null)), None);
        assert_eq!(of(input.clone(), &open(json!(["allow"]), json!("rm"))), None, "a word must be typed");
        assert_eq!(of(input, &json!({"can": [], "why": "off"})), None);
    }
}
