//! What the commands in the terminal share: the client of the server, the board, columns and colors.

pub mod archive;
pub mod board;
pub mod client;
pub mod columns;
pub mod style;
pub mod timeline;
