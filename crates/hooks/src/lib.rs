//! The language of hooks, shared by all: event names, payloads, configurations, matchers, execution.
//!
//! Pure are the tables and the rules: `event`, `dialect`, `tools`, `spans`, `shape`, `settings`, `check`, `matcher`,
//! `condition`, `input`, `sample`, `output`, `repair`, `select`, `verdict`. The world is touched by `sources` and `plugins` (files),
//! `runner` with `process` and `http`, `advice`, `capture`, and `command` with `show`.

#![forbid(unsafe_code)]

pub mod check;
pub mod client_settings;
pub mod condition;
pub mod dialect;
pub mod http;
pub mod input;
pub mod json_spans;
pub mod match_values;
pub mod matcher;
pub mod output;
pub mod plugins;
pub mod process;
pub mod runner;
pub mod sample;
pub mod schema;
pub mod select;
pub mod settings;
pub mod shell_words;
pub mod sources;
pub mod tools;
pub mod verdict;
