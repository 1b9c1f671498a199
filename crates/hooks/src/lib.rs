//! The language of hooks, shared by all: event names, payloads, configurations, matchers, execution.
//!
//! Pure are the tables and the rules: `event`, `dialect`, `tools`, `spans`, `shape`, `settings`, `check`, `matcher`,
//! `condition`, `input`, `sample`, `output`, `repair`, `select`, `verdict`. The world is touched by `sources` and `plugins` (files),
//! `runner` with `process` and `http`, `advice`, `capture`, and `command` with `show`.

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
