//! Disks: what formats, wipes or partitions them.

use crate::eval::Evaluator;
use crate::eval::shell_state::ShellState;
use crate::eval::value::Stream;
use crate::programs::{Call, Spec};
use crate::rules;

/// How a disk tool's words are read.
struct DiskTool {
    names: &'static [&'static str],
    /// With any of these words or options it only reads.
    looks: &'static [&'static str],
    /// Only these words make it write; empty means that everything else does.
    writes: &'static [&'static str],
}

const DEFAULT: DiskTool = DiskTool { names: &[], looks: &[], writes: &[] };

include!(concat!(env!("OUT_DIR"), "/guard/disks.rs"));

pub(crate) fn disk_tool(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let Some(tool) = DISKS.iter().find(|tool| tool.names.contains(&call.name)) else { return Stream::None };
    let has = |words: &[&str]| {
        call.args().iter().any(|arg| {
            let arg = arg.as_str();
            // In tools that only read unless told otherwise, no letter takes an attached value: `-af` is two letters.
            words.contains(&arg) || !tool.writes.is_empty() && cluster_has(arg, words)
        })
    };
    let writes = if tool.writes.is_empty() { !has(tool.looks) } else { has(tool.writes) && !has(tool.looks) };
    // `format` and a few others are also common script names.
    let is_format = call.name != "format" || call.args().iter().any(|arg| arg.ends_with(':'));
    if !writes || !is_format {
        return Stream::None;
    }
    let options = call.options(Spec::default());
    let on_file = matches!(call.name, "mkfs" | "mke2fs" | "mkswap" | "mkdosfs")
        && options.operands.last().is_some_and(|target| !target.starts_with("/dev/") && target.contains('.'));
    call.report(eval, state, if on_file { &rules::DISK_IMAGE } else { &rules::DISK_FORMAT });
    Stream::None
}

/// Whether one of the single letters in `words` is among those of `-af`.
fn cluster_has(arg: &str, words: &[&str]) -> bool {
    let Some(letters) = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
    letters.chars().all(char::is_alphabetic)
        && words.iter().any(|word| {
            word.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && letters.contains(letter))
        })
}
