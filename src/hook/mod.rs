//! The language of hooks, shared by all: event names, payloads, configurations, matchers, execution.

pub mod command;
pub mod event;
