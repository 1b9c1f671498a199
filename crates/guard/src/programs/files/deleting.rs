//! Programs that delete or truncate files, or change who may access them.

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{Machine, ShellState};
use crate::eval::value::{Stream, Tags};
use crate::programs::{Call, Spec};
use crate::rules;
use crate::rules::names;

/// `rm`, `unlink`, `rimraf` and similar: every operand is deleted.
pub(crate) fn rm(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    if options.has(&["help", "version"]) {
        return Stream::None;
    }
    let subject = call.show();
    for operand in options.operands {
        eval.delete(state, operand, &subject);
    }
    Stream::None
}

/// Removing an empty directory loses nothing, but outside the project it still belongs to someone else.
pub(crate) fn rmdir(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let before = eval.worst.clone();
    rm(eval, state, call);
    let denied = eval.worst.as_ref().is_some_and(|finding| finding.decision == crate::Decision::Deny);
    if denied && before.as_ref().is_none_or(|finding| finding.decision < crate::Decision::Deny) {
        eval.worst = before;
        call.report(eval, state, &rules::DELETE_UNKNOWN);
    }
    Stream::None
}

/// `git rm`, `gio trash`: the first operand is the subcommand.
pub(crate) fn trash(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    let subject = call.show();
    let operands = match call.name {
        "gio"
            if options.operands.first() == Some(&"trash") || options.operands.first() == Some(&"remove") =>
        {
            &options.operands[1..]
        }
        "gio" => &[],
        _ => options.operands.as_slice(),
    };
    for operand in operands {
        eval.delete(state, operand, &subject);
    }
    Stream::None
}

/// `shred`, `srm`, `wipe`
pub(crate) fn shred(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "ns", long: &["iterations", "size", "random-source"], ..Spec::default() });
    let subject = call.show();
    for operand in options.operands {
        if operand.starts_with("/dev/") {
            eval.write(state, operand, WriteKind::Overwrite, &subject);
        } else {
            eval.delete(state, operand, &subject);
        }
    }
    Stream::None
}

pub(crate) fn truncate(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "sr", long: &["size", "reference"], ..Spec::default() });
    let empties =
        options.value(&["s", "size"]).is_none_or(|size| size.trim_start_matches(['<', '=', '-']) == "0");
    let subject = call.show();
    for operand in options.operands {
        // The content is lost.
        if empties
            && matches!(
                eval.resolve(state, operand),
                ResolvedPath::UnknownStart(_) | ResolvedPath::NoDirectory(_)
            )
        {
            eval.report(&state.machine, &rules::DELETE_UNKNOWN, subject.clone());
        }
        eval.write(state, operand, if empties { WriteKind::Empty } else { WriteKind::Overwrite }, &subject);
    }
    Stream::None
}

/// `chmod`, `chown`, `chgrp`: harmless file by file, but not recursively in a system tree.
pub(crate) fn permissions(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { long: &["reference", "from"], ..Spec::default() });
    if !options.has(&["R", "recursive"]) {
        return Stream::None;
    }
    let skip = usize::from(!options.has(&["reference"]));
    let subject = call.show();
    for operand in options.operands.iter().skip(skip) {
        let rule = match eval.resolve(state, operand) {
            ResolvedPath::Known(path) => {
                let (dir, _) = eval.before_glob(&path);
                let inside = matches!(
                    eval.locations.zone(&dir),
                    crate::paths::Zone::Inside | crate::paths::Zone::Temp
                );
                let project = eval.locations.projects.contains(&dir);
                (!inside && !project && eval.locations.is_system(&dir)).then_some(&rules::PERMISSIONS_SYSTEM)
            }
            ResolvedPath::UnknownPart(dir, _) => {
                let dir = eval.locations.real(&dir, true);
                Some(if eval.locations.is_system(&dir) {
                    &rules::PERMISSIONS_SYSTEM
                } else {
                    &rules::DELETE_UNKNOWN
                })
            }
            ResolvedPath::UnknownStart(_) | ResolvedPath::NoDirectory(_) => Some(&rules::DELETE_UNKNOWN),
        };
        if let Some(rule) = rule {
            eval.report(&state.machine, rule, subject.clone());
        }
    }
    Stream::None
}

pub(crate) fn rsync(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "eTfBM", long: names::RSYNC_OPTIONS_WITH_VALUE, ..Spec::default() });
    let subject = call.show();
    for command in options.values(&["e", "rsh"]) {
        eval.text(&mut state.clone(), command, &Stream::None, false);
    }
    if options.has(&["n", "dry-run"]) {
        return Stream::None;
    }
    let Some((target, sources)) = options.operands.split_last() else { return Stream::None };
    let is_remote = |path: &str| path.starts_with("rsync://") || is_remote(path);
    let to_remote = is_remote(target);
    for source in sources {
        if is_remote(source) {
            continue;
        }
        if eval.is_secret(state, source) {
            eval.read(state, source);
            if to_remote {
                eval.report(&state.machine, &rules::NETWORK_SECRET, subject.clone());
            }
        }
        if options.has(&["remove-source-files"]) {
            eval.delete(state, source, &subject);
        }
    }
    let deletes = options.names().any(|name| name.starts_with("del"));
    if to_remote {
        if deletes {
            eval.report(&Machine::Local, &rules::REMOTE_CHANGE, subject);
        }
        return Stream::None;
    }
    if deletes {
        // The directory's contents are deleted, not the directory.
        eval.delete(state, &format!("{}/", target.trim_end_matches('/')), &subject);
    }
    eval.write(state, target, WriteKind::Overwrite, &subject);
    Stream::Data(Tags::NONE)
}

/// `host:path`, but not `C:\path` or `./a:b`.
pub(crate) fn is_remote(path: &str) -> bool {
    match path.split_once(':') {
        Some((host, rest)) => {
            !host.is_empty() && !host.contains('/') && (host.len() > 1 || !rest.starts_with(['/', '\\']))
        }
        None => false,
    }
}
