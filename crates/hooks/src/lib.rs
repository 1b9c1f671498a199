//! The language of hooks: settings files, matchers, payloads, running hooks, and what the client makes of their output.
//!
//! `dialect` says what a client does, in tables. `settings` reads and checks the files (through `json_spans`, which
//! knows where every value is), `matching` selects the hooks that run for a payload (`payload`), `running` runs them,
//! and `outcome` concludes what the client would do. `client_settings` edits the client's files to install and remove
//! headspace's own entries.
//!
//! Only `settings::sources`, `settings::plugins`, `client_settings::locate` and `running` touch the disk, processes or
//! the network; everything else is pure. The crate knows nothing about the guard, the store or the server, and prints
//! nothing. Begin with [`dialect`], then [`settings`].

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod client_settings;
pub mod dialect;
pub mod json_spans;
pub mod matching;
pub mod outcome;
pub mod payload;
pub mod running;
pub mod settings;
pub mod shell_words;
pub mod tools;
