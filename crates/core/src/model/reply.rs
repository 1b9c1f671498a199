//! What a person sends into an agent's terminal through headspace: the next prompt, or a stop.

use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

words! {
    /// What became of a prompt.
    ReplyState {
        /// It waits until the agent is idle.
        Queued = "queued",
        /// The client reported a prompt with the same text.
        Sent = "sent",
        /// Enter was pressed and the box is empty, but the client reported no prompt: usual for `/` and `!`.
        Entered = "entered",
        /// It is in the input box, but Enter was not pressed, or did nothing.
        InBox = "in_box",
        /// A person took it back.
        Canceled = "canceled",
        /// It was not typed, and will not be.
        Dropped = "dropped",
    }
}

words! {
    /// What became of a stop.
    StopState {
        /// Esc was pressed, and the turn is over.
        Interrupted = "interrupted",
        /// The next tool call will be denied, and the turn ends there.
        Requested = "requested",
        /// The turn ended before that.
        Withdrawn = "withdrawn",
    }
}

/// A prompt that waits for its agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedReply {
    pub id: String,
    /// As it is stored: secrets masked, and cut if it is very long.
    pub text: String,
    /// The surface it came from: `cli`, `top`, `web`.
    pub by: String,
    pub queued_at: Stamp,
    /// Why it could not be typed when it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What the hook prints to stop an agent at its next tool call, word for word: the call does not run, and the turn ends.
/// The one decision that the server may hand to the hook, and only after a person asked for it.
pub fn stop_output() -> Value {
    json!({
        "continue": false,
        "stopReason": "Stopped from headspace",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "The user stopped this agent from headspace",
        },
    })
}
