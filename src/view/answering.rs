//! Answering from a terminal, for `headspace answer` and `top`: the key that the server gives to a person at a terminal, and
//! the answer with the digest of what was shown.

use crate::view::client::Client;
use anyhow::{Result, bail};
use headspace_core::model::{Choice, InteractionView, Surface};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use headspace_core::wire::{AnswerKey, AnswerStatus, Health, TerminalKey};
use serde_json::{Value, json};

/// The right of this terminal to answer, until it is dropped.
pub struct Answering<'c> {
    client: &'c Client,
    key: String,
    /// When the server that gave the key had started.
    server: Option<Stamp>,
}

/// Whether a key still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    Counts,
    /// It was withdrawn, or it has expired.
    Ended,
    /// The server was restarted; the new one does not know the key.
    ServerIsAnother,
}

/// What goes with a choice: a message, answers to questions, the guard's word.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub message: Option<String>,
    /// `{question: label | [labels] | {"text"}}`
    pub answers: Option<Value>,
    /// The word that the guard wants typed.
    pub confirm: Option<String>,
}

impl<'c> Answering<'c> {
    /// Asks the server for a key; the server checks this process itself. Fails if answering is off or this is not a person.
    pub fn open(client: &'c Client, surface: Surface) -> Result<Answering<'c>> {
        let server = server_start(client);
        let TerminalKey { key, .. } = client.post("/api/answer/terminal", &json!({"surface": surface}))?;
        Ok(Answering { client, key, server })
    }

    /// Whether the key still counts, and if not, why. `status` is what the server says to the holder of this key.
    pub fn state(&self, status: &AnswerStatus) -> KeyState {
        match status.mine {
            true => KeyState::Counts,
            false if server_start(self.client) == self.server => KeyState::Ended,
            false => KeyState::ServerIsAnother,
        }
    }

    /// Answers exactly the ask that was shown. The error says why it did not count.
    pub fn answer(&self, ask: &InteractionView, choice: Choice, said: &Said) -> Result<()> {
        let Some(digest) = ask.answer.digest() else {
            bail!("{}", ask.answer.why().unwrap_or("this ask takes no answer"));
        };
        let mut body = json!({"digest": digest, "choice": choice});
        for (name, value) in [
            ("message", said.message.clone().map(Value::from)),
            ("answers", said.answers.clone()),
            ("confirm", said.confirm.clone().map(Value::from)),
        ] {
            if let Some(value) = value {
                body[name] = value;
            }
        }
        self.client.post_with_key(&format!("/api/interactions/{}/answer", ask.id), &body, &self.key).map(drop)
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        let _ = self.client.post_with_key("/api/answer/lock", &json!({}), &self.key);
    }
}

/// Whether two open asks are exactly alike, so that a person may answer both at once: the server says so by their keys.
pub fn are_alike(one: &InteractionView, other: &InteractionView) -> bool {
    one.id != other.id && one.answer.alike().is_some() && one.answer.alike() == other.answer.alike()
}

fn server_start(client: &Client) -> Option<Stamp> {
    client.get::<Health>("/health").ok().and_then(|health| health.started_at)
}

/// Whether asks can be answered, and by whom.
pub fn status(client: &Client) -> Result<AnswerStatus> {
    client.get("/api/answer")
}

/// The same for the holder of a key.
pub fn status_for(client: &Client, own: Option<&Answering>) -> Result<AnswerStatus> {
    client.get_with_key("/api/answer", own.map_or("", |own| &own.key))
}

/// Who may answer, in words for the person who is told.
pub fn who(key: &AnswerKey) -> String {
    let from = one_line(&key.from, 40);
    match key.surface {
        Surface::Cli => format!("`headspace answer` is used on {from}"),
        surface => format!("{surface} was unlocked from {from}"),
    }
}

/// Withdraws every key.
pub fn lock_all(client: &Client) -> Result<()> {
    client.post_with_key("/api/answer/lock", &json!({"all": true}), "").map(drop)
}
