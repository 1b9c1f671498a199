//! The domain types of headspace: events, agents, commands, turns, as all code, every API and the store know them. Only
//! data: what an event does to an agent is in [`crate::engine`].

mod agent_id;
pub mod event_names;
pub mod hints;
pub mod limits;
mod machine;

pub use crate::model::agent_id::{AgentId, MachineName};
pub use crate::model::machine::Machine;
pub use crate::model::row::{AgeKind, Fold, Row, STOP_REQUESTED, SubRow, Summary, rows};
use serde::{Deserialize, Serialize};

/// An enum whose values are lower-case words in every API and in the store.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn from_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

/// The session of a process that was found before it had one.
pub fn stand_in_session(pid: u32, start: u64) -> String {
    format!("pid-{pid}-{start}")
}

pub fn is_stand_in_session(session_id: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = session_id.strip_prefix("pid-").and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(pid, start)| number(pid) && number(start))
}

// After the macro, which they use.
mod agent_view;
mod answer;
mod change;
mod conversation;
mod event;
mod interaction;
mod reply;
mod row;

pub use agent_view::*;
pub use answer::*;
pub use change::*;
pub use conversation::*;
pub use event::*;
pub use interaction::*;
pub use reply::{QueuedReply, ReplyState, StopState, stop_output};

words! {
    /// What an agent's main thread is doing. The newest open command determines it.
    AgentState { Idle = "idle", Commanded = "commanded", Processing = "processing", AwaitingInput = "awaiting_input" }
}
words! {
    CommandState {
        Commanded = "commanded", Processing = "processing", AwaitingInput = "awaiting_input", Complete = "complete",
    }
}
words! {
    /// What a person wants to know: does it need me, is it busy, is it quiet?
    Status { Idle = "idle", Working = "working", Attention = "attention" }
}
words! { Actor { User = "user", Agent = "agent" } }
words! {
    Intent {
        Command = "command", Answer = "answer", Question = "question", Progress = "progress",
        Completion = "completion", EndOfTask = "end_of_task",
    }
}
words! {
    /// How sure we are: a hook said so, a transcript showed it, we inferred it.
    Confidence { High = "high", Medium = "medium", Low = "low" }
}
words! {
    /// Where information came from: a hook, what the client writes about itself, its transcript, the process table, an
    /// answer that a person gave through headspace.
    Source { Hook = "hook", Client = "client", Transcript = "transcript", Process = "process", Answer = "answer" }
}
words! {
    /// What a client writes about itself: a turn is running, it waits for a prompt, a dialog is open, or it waits for a
    /// prompt while its own shells run in the background.
    ClientState { Busy = "busy", Idle = "idle", Waiting = "waiting", Shell = "shell" }
}
words! { TimestampSource { Server = "server", Jsonl = "jsonl" } }
words! {
    /// Which of the six strategies found an event's agent.
    Method {
        SessionId = "session_id", DbSessionId = "db_session_id", HeadspaceSessionId = "headspace_session_id",
        TmuxPane = "tmux_pane", WorkingDirectory = "working_directory", Created = "created",
    }
}
words! {
    InteractionKind {
        Permission = "permission", Question = "question", Plan = "plan",
        // Databases of 0.1 have its longer name.
        #[serde(alias = "mcp_input")]
        McpInput = "mcp",
        Reply = "reply",
        // A dialog that no hook described: only the client's status file says that one is open.
        Dialog = "dialog",
    }
}
words! {
    /// The six groups every surface shows, in this order. One glyph, one word, one color each.
    Group {
        NeedsYou = "needs_you", Error = "error", Working = "working", Background = "background",
        Done = "done", Idle = "idle",
    }
}

impl Group {
    pub const fn glyph(self) -> char {
        match self {
            Group::NeedsYou => '!',
            Group::Error => 'x',
            Group::Working => '*',
            Group::Background => '~',
            Group::Done => '+',
            Group::Idle => '-',
        }
    }

    /// The label for people.
    pub const fn label(self) -> &'static str {
        match self {
            Group::NeedsYou => "needs you",
            Group::Error => "error",
            Group::Working => "working",
            Group::Background => "background",
            Group::Done => "done, unseen",
            Group::Idle => "idle",
        }
    }

    /// The label, explained.
    pub const fn meaning(self) -> &'static str {
        match self {
            Group::NeedsYou => "asks something and waits for you",
            Group::Error => "the turn failed",
            Group::Working => "busy with your command",
            Group::Background => "its turn is over, background work is not",
            Group::Done => "finished, and nobody has looked yet",
            Group::Idle => "nothing to do",
        }
    }
}
