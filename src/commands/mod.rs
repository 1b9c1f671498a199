//! The commands: a file or folder per command, with its arguments, its help text and the function that runs it.

pub mod agents;
pub mod answer;
pub mod completions;
mod config_edit;
pub mod context;
pub mod demo;
pub mod doctor;
pub mod guard;
pub mod hooks;
pub mod hub;
pub mod install;
pub mod machines;
pub mod server;
pub mod statusline;
pub mod top;
