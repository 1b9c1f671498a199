//! Program names and their handlers, generated from `rules/programs.toml` and the tables of wrappers, readers,
//! interpreters and disk tools.

use crate::programs::files::{archives, copying, deleting, find as finding, reading};
use crate::programs::runners::{shells, wrappers};
use crate::programs::system::{containers, control, disks, kill};
use crate::programs::{Handler, builtins, databases, git, network, printing};

include!(concat!(env!("OUT_DIR"), "/guard/programs.rs"));

fn text_only(
    _: &mut crate::eval::Evaluator<'_>,
    _: &mut crate::eval::shell_state::ShellState,
    call: &crate::programs::Call<'_>,
) -> crate::eval::value::Stream {
    call.filtered()
}

/// Every name in the table, for globs that could mean one of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|(name, _)| *name)
}

pub(super) fn find(name: &str) -> Option<Handler> {
    PROGRAMS.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|at| PROGRAMS[at].1)
}
