//! Agents of other machines: one person's own over ssh, and a team's through a hub.

pub(crate) mod hub;
mod machines;
