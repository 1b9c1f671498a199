//! See the files of this folder.

pub mod completions;
pub mod context;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod explain;
pub mod guard;
pub mod hooks;
pub mod install;
pub mod jump;
pub mod open;
pub mod prune;
pub mod rebuild;
pub mod rename;
pub mod service;
pub mod status;
pub mod statusline;
pub mod top;
pub mod up;
pub mod wake;
