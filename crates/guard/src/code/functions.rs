//! The functions in several languages that run, delete, write or read something, from `rules/functions.toml`.

/// What a function does with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionEffect {
    /// Shell text, or a program and its arguments.
    Runs,
    /// Like [`FunctionEffect::Runs`], with the program named a second time: `execvp("rm", ["rm", …])`.
    RunsNamed,
    Deletes,
    Writes,
    Reads,
    /// Reads or writes, depending on its mode: `open(path, "w")`.
    Opens,
    /// From the first argument to the second.
    Copies,
    Moves,
    Links,
    /// From the network to a file.
    Downloads,
    /// Runs text as code.
    Evaluates,
    /// Acts on the object it is called on: `Path("x").write_text(…)`.
    WritesSelf,
    ReadsSelf,
}
use FunctionEffect::*;

/// The objects a function must belong to; empty means any or none.
pub(super) type Owners = &'static [&'static str];

// `SYSTEM`, `FILES`, and `FUNCTIONS`, sorted by name. The flag says whether the bare name is enough.
include!(concat!(env!("OUT_DIR"), "/guard/functions.rs"));

/// What a function of this name does.
pub(super) fn find(name: &str) -> Option<&'static (&'static str, FunctionEffect, Owners, bool)> {
    FUNCTIONS.binary_search_by(|(known, ..)| (*known).cmp(name)).ok().map(|at| &FUNCTIONS[at])
}
