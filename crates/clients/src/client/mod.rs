//! One module per coding agent: how its payloads become headspace's events, and how a line of its transcript is read. What a table can say is in [`table`](crate::table).

pub(crate) mod claude;
pub mod codex;
pub(crate) mod copilot;
pub(crate) mod cursor;
pub(crate) mod gemini;
mod json_lines;
pub(crate) mod opencode;
pub(crate) mod qwen;
