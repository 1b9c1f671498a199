//! Programs that delete, empty, or change who may touch a file.

use crate::eval::Walk;
use crate::eval::env::{Env, World};
use crate::eval::file_effects::{Spot, Write};
use crate::eval::value::{Stream, Tags};
use crate::programs::{Call, Spec};
use crate::rules;

/// `rm`, `unlink`, `rimraf` and the like: every operand goes.
pub fn rm(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    if options.has(&["help", "version"]) {
        return Stream::None;
    }
    let subject = call.show();
    for operand in options.operands {
        walk.delete(env, operand, &subject);
    }
    Stream::None
}

/// An empty directory is no loss, but outside the project it is still somebody else's.
pub fn rmdir(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let before = walk.worst.clone();
    rm(walk, env, call);
    let denied = walk.worst.as_ref().is_some_and(|finding| finding.decision == crate::Decision::Deny);
    if denied && before.as_ref().is_none_or(|finding| finding.decision < crate::Decision::Deny) {
        walk.worst = before;
        walk.found(&env.world.clone(), &rules::DELETE_UNKNOWN, call.show());
    }
    Stream::None
}

/// `git rm`, `gio trash`: the first operand is the subcommand.
pub fn trash(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
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
        walk.delete(env, operand, &subject);
    }
    Stream::None
}

/// `shred`, `srm`, `wipe`
pub fn shred(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "ns", long: &["iterations", "size", "random-source"], ..Spec::default() });
    let subject = call.show();
    for operand in options.operands {
        if operand.starts_with("/dev/") {
            walk.write(env, operand, Write::Overwrite, &subject);
        } else {
            walk.delete(env, operand, &subject);
        }
    }
    Stream::None
}

pub fn truncate(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "sr", long: &["size", "reference"], ..Spec::default() });
    let empties =
        options.value(&["s", "size"]).is_none_or(|size| size.trim_start_matches(['<', '=', '-']) == "0");
    let subject = call.show();
    for operand in options.operands {
        // Nothing is left of whatever it is.
        if empties && matches!(walk.spot(env, operand), Spot::UnknownStart(_) | Spot::NoDirectory(_)) {
            walk.found(&env.world.clone(), &rules::DELETE_UNKNOWN, subject.clone());
        }
        walk.write(env, operand, if empties { Write::Empty } else { Write::Overwrite }, &subject);
    }
    Stream::None
}

/// `chmod`, `chown`, `chgrp`: harmless one by one, but not down a system tree.
pub fn permissions(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { long: &["reference", "from"], ..Spec::default() });
    if !options.has(&["R", "recursive"]) {
        return Stream::None;
    }
    let skip = usize::from(!options.has(&["reference"]));
    let subject = call.show();
    for operand in options.operands.iter().skip(skip) {
        let rule = match walk.spot(env, operand) {
            Spot::At(path) => {
                let (dir, _) = walk.before_glob(&path);
                let inside =
                    matches!(walk.ground.zone(&dir), crate::paths::Zone::Inside | crate::paths::Zone::Temp);
                let project = walk.ground.projects.contains(&dir);
                (!inside && !project && walk.ground.is_system(&dir)).then_some(&rules::PERMISSIONS_SYSTEM)
            }
            Spot::UnknownPart(dir, _) => {
                let dir = walk.ground.real(&dir, true);
                Some(if walk.ground.is_system(&dir) {
                    &rules::PERMISSIONS_SYSTEM
                } else {
                    &rules::DELETE_UNKNOWN
                })
            }
            Spot::UnknownStart(_) | Spot::NoDirectory(_) => Some(&rules::DELETE_UNKNOWN),
        };
        if let Some(rule) = rule {
            walk.found(&env.world.clone(), rule, subject.clone());
        }
    }
    Stream::None
}

pub fn rsync(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "eTfBM",
        long: &[
            "rsh",
            "exclude",
            "include",
            "filter",
            "exclude-from",
            "include-from",
            "files-from",
            "temp-dir",
            "backup-dir",
            "suffix",
            "rsync-path",
            "port",
            "log-file",
            "bwlimit",
            "chmod",
            "chown",
            "link-dest",
        ],
        ..Spec::default()
    });
    let subject = call.show();
    for command in options.values(&["e", "rsh"]) {
        walk.text(&mut env.clone(), command, &Stream::None, false);
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
        if walk.is_secret(env, source) {
            walk.read(env, source);
            if to_remote {
                walk.found(&env.world.clone(), &rules::NETWORK_SECRET, subject.clone());
            }
        }
        if options.has(&["remove-source-files"]) {
            walk.delete(env, source, &subject);
        }
    }
    let deletes = options.names().any(|name| name.starts_with("del"));
    if to_remote {
        if deletes {
            walk.found(&World::Here, &rules::REMOTE_CHANGE, subject);
        }
        return Stream::None;
    }
    if deletes {
        // What is in the directory goes, not the directory.
        walk.delete(env, &format!("{}/", target.trim_end_matches('/')), &subject);
    }
    walk.write(env, target, Write::Overwrite, &subject);
    Stream::Data(Tags::NONE)
}

/// `host:path`, but not `C:\path` or `./a:b`.
pub fn is_remote(path: &str) -> bool {
    match path.split_once(':') {
        Some((host, rest)) => {
            !host.is_empty() && !host.contains('/') && (host.len() > 1 || !rest.starts_with(['/', '\\']))
        }
        None => false,
    }
}
