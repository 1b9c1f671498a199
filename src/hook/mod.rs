//! The language of hooks, shared by all: event names, payloads, configurations, matchers, execution.

pub mod check;
pub mod command;
pub mod condition;
pub mod dialect;
pub mod event;
pub mod input;
pub mod matcher;
pub mod settings;
pub mod shape;
pub mod spans;
pub mod tools;
