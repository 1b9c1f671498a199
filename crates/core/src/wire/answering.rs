//! Unlocking: which pages and terminals may answer, and the codes that unlock them.

use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};

/// `GET /api/answer`: whether asks can be answered from here, and by whom. Also a message of the stream, `answer`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerStatus {
    pub on: bool,
    /// Some key is valid.
    pub unlocked: bool,
    /// The key sent with the request is valid.
    pub mine: bool,
    /// Dialogs whose hooks wait for an answer.
    pub waiting: usize,
    /// Who may answer now.
    pub keys: Vec<AnswerKey>,
}

/// A page that was unlocked, or `top` on a terminal: it may answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerKey {
    /// `POST /api/answer/lock {"id": …}` ends it.
    pub id: u64,
    pub surface: crate::model::Surface,
    /// The terminal it was unlocked from.
    pub from: String,
    pub at: Stamp,
    pub expires_at: Stamp,
    #[serde(default)]
    pub mine: bool,
}

/// `POST /api/answer/code`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnlockCode {
    pub code: String,
    pub seconds: u64,
}

/// `POST /api/answer/terminal`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TerminalKey {
    pub key: String,
    pub seconds: u64,
}
