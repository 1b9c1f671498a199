//! What people look at: the terminal's screens, the way to the dashboard, and the figures on both.

mod changes;
mod dashboard;
mod phone;
mod screens;
mod show;
mod spending;
mod terminal;
