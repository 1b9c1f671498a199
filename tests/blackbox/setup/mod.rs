//! From a fresh account to a board that lives: installing, starting, diagnosing; and what the package brings along.

mod clients;
mod daemon;
mod doctor;
mod generated;
mod install;
