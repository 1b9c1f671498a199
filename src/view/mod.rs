//! What the commands share when they print: the server's client and the archive, the board, the card, columns and colors.

pub mod answering;
pub mod archive;
pub mod board;
pub mod card;
pub mod client;
pub mod columns;
pub mod far_agent;
pub mod guard_word;
pub mod person;
pub mod style;
pub mod timeline;
