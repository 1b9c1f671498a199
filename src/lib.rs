//! headspace: which of your Claude Code sessions needs you now, and why.
//!
//! One room per concern; dependencies point one way. `main` calls `cli`, `cli` calls the commands, the commands
//! call the middle (`engine`, `guard`, `hook`, `settings::merge`), and the middle takes values and returns values.

pub mod address;
pub mod alerts;
pub mod cli;
pub mod client;
pub mod clients;
pub mod clock;
pub mod completions;
pub mod config;
pub mod context;
mod count;
pub mod daemon;
pub mod delivery;
pub mod demo;
pub mod desktop;
pub mod doctor;
pub mod engine;
pub mod files;
pub mod fnv;
pub mod git;
pub mod glob;
pub mod guard;
pub mod hook;
pub mod json;
mod log;
pub mod machine;
pub mod mask;
pub mod model;
pub mod multiplexer;
pub mod notify;
pub mod process;
pub mod server;
pub mod service;
pub mod settings;
pub mod spool;
pub mod statusline;
pub mod store;
pub mod terminal;
pub mod tmux;
pub mod transcript;
pub mod usage;
pub mod view;
pub mod webhook;
