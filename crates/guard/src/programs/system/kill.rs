//! Ending processes: one whose number you know is fine, whatever matches a pattern is not.

use crate::eval::Evaluator;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags, has_hole};
use crate::programs::Call;
use crate::rules;

/// `pkill`, `killall` and similar take only a pattern.
pub(crate) fn by_pattern(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let only_asks = call
        .args()
        .iter()
        .any(|arg| matches!(arg.as_str(), "-l" | "-L" | "-V" | "--version" | "--help" | "--list"));
    if !only_asks {
        call.report(eval, state, &rules::KILL_PATTERN);
    }
    Stream::None
}

pub(crate) fn kill(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let mut args = call.args();
    let mut signal = None;
    match args {
        [flag, ..]
            if matches!(flag.as_str(), "-l" | "-L" | "--list" | "--table" | "--help" | "--version") =>
        {
            return Stream::None;
        }
        [flag, value, rest @ ..] if matches!(flag.as_str(), "-s" | "-n" | "--signal") => {
            signal = Some(value.as_str());
            args = rest;
        }
        // `kill -1` alone is one keystroke away from `kill -9 -1`.
        [only] if only == "-1" => {
            call.report(eval, state, &rules::KILL_PATTERN);
            return Stream::None;
        }
        [flag, rest @ ..] if flag.starts_with('-') && flag != "--" => {
            signal = flag.strip_prefix('-');
            args = rest;
        }
        _ => {}
    }
    // Signal 0 only checks whether the process exists.
    if signal == Some("0") {
        return Stream::None;
    }
    for target in args.iter().filter(|arg| *arg != "--") {
        let tags = eval.origins.tags(target);
        let rule = if target == "-1" || tags.has(Tags::FOUND_PIDS) {
            Some(&rules::KILL_PATTERN)
        } else if has_hole(target) && !tags.has(Tags::OWN_PID) {
            Some(&rules::KILL_UNKNOWN)
        } else {
            None
        };
        if let Some(rule) = rule {
            call.report(eval, state, rule);
        }
    }
    Stream::None
}
