//! The language of hooks, shared by all: event names, payloads, configurations, matchers, execution.
//!
//! Pure are the tables and the rules: `event`, `dialect`, `tools`, `spans`, `shape`, `settings`, `check`, `matcher`,
//! `condition`, `input`, `sample`, `output`, `repair`, `select`, `verdict`. The world is touched by `sources` and `plugins` (files),
//! `runner` with `process` and `http`, `advice`, `capture`, and `command` with `show`.

pub mod advice;
pub mod capture;
pub mod check;
pub mod command;
pub mod condition;
pub mod dialect;
pub mod event;
mod http;
pub mod input;
pub mod matcher;
pub mod output;
mod plugins;
pub mod process;
pub mod repair;
pub mod runner;
pub mod sample;
pub mod select;
pub mod settings;
pub mod shape;
mod show;
pub mod sources;
pub mod spans;
pub mod tools;
pub mod values;
pub mod verdict;
mod words;
