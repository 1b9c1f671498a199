//! Fields that a translated event carries for the engine. They state a fact about the event, never which client sent it.

/// The name of the client; an event without it is Claude's.
pub const CLIENT: &str = "client";
/// The client of an event that does not name one.
pub const DEFAULT_CLIENT: &str = "claude";
/// A SessionStart that can arrive after the first prompt of its session: a running turn continues.
pub const KEEPS_TURN: &str = "keeps_turn";
/// A PreToolUse that comes after the user's consent, not before the question.
pub const CONSENTED: &str = "consented";
/// An idle_prompt that comes as soon as a turn is over, not after a minute: without a Stop before it, the user interrupted
/// the turn.
pub const IDLE_AT_ONCE: &str = "idle_at_once";
/// A Stop of a turn without an answer: the request failed, unless the user interrupted it.
pub const NO_ANSWER: &str = "no_answer";
/// The client does not report denials, interrupts and errors: its silence proves nothing.
pub const SILENT_CLIENT: &str = "silent_client";
/// The process that ran the hook serves many sessions, so it does not show where this one runs.
pub const SHARED_PROCESS: &str = "shared_process";
/// Tokens in the context window, and how many it holds.
pub const CONTEXT_TOKENS: &str = "context_tokens";
pub const CONTEXT_WINDOW: &str = "context_window";
/// For the guard: the files that a tool call writes or removes, where its input has a form that only its client knows.
pub const WRITTEN_FILES: &str = "written_files";
