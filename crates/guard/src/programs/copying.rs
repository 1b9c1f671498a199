//! Programs that write files: copies, moves, links, editors in place.

use crate::eval::Walk;
use crate::eval::env::{Env, World};
use crate::eval::file_effects::{Spot, Write};
use crate::eval::value;
use crate::eval::value::{Stream, Tags};
use crate::paths;
use crate::paths::Zone;
use crate::programs::{Call, Options, Spec};
use crate::protected;
use crate::rules;

/// The sources and, for each, where it ends up.
fn pairs(walk: &mut Walk<'_>, env: &mut Env, options: &Options<'_>) -> Vec<(String, String)> {
    let directory = options.value(&["t", "target-directory"]);
    let (sources, target) = match (directory, options.operands.split_last()) {
        (Some(directory), _) => (options.operands.as_slice(), directory),
        (None, Some((target, sources))) => (sources, *target),
        (None, None) => return Vec::new(),
    };
    // A glob may match one file, which then becomes the target, or many, which need a directory there.
    let glob = sources.iter().any(|source| value::has_glob(source));
    let into = directory.is_some()
        || sources.len() > 1
        || target.ends_with('/')
        || matches!(target, "." | "..")
        || (!options.has(&["T", "no-target-directory"]) && is_directory(walk, env, target));
    let mut pairs = Vec::new();
    for source in sources {
        if into || glob {
            let end = format!("{}/{}", target.trim_end_matches('/'), paths::base_name(source));
            pairs.push(((*source).to_owned(), end));
        }
        if !into {
            pairs.push(((*source).to_owned(), target.to_owned()));
        }
    }
    pairs
}

fn is_directory(walk: &mut Walk<'_>, env: &Env, target: &str) -> bool {
    match walk.spot(env, target) {
        Spot::At(path) => {
            let real = walk.ground.real(&path, true);
            walk.ground.files.is_dir(if real.is_empty() { "/" } else { &real })
        }
        _ => false,
    }
}

pub fn cp(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let short = if call.name == "install" { "mogStT" } else { "St" };
    let options = call.options(Spec {
        short,
        long: &["target-directory", "suffix", "mode", "owner", "group"],
        ..Spec::default()
    });
    if call.name == "install" && options.has(&["d", "directory"]) {
        return Stream::None;
    }
    let subject = call.show();
    for (source, target) in pairs(walk, env, &options) {
        let content = if source == "/dev/stdin" || source == "-" {
            call.stdin.clone()
        } else if source == "/dev/null" {
            Stream::text("")
        } else if let Some(name) = crate::programs::known_program(&source) {
            // A program under another name does what it always did.
            Stream::text(format!("exec {name} \"$@\"\n"))
        } else {
            walk.read(env, &source)
        };
        let how = if protected::is_template(&source) {
            Write::FromTemplate
        } else if source == "/dev/null" {
            Write::Empty
        } else {
            Write::Overwrite
        };
        walk.write(env, &target, how, &subject);
        // A plain copy is as local as its source; only what is worth following is noted.
        let worth = content.tags().has(Tags::FLOWING) || matches!(content, Stream::Text(..));
        if worth {
            walk.remember(env, &target, content, false);
        }
    }
    Stream::None
}

pub fn mv(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "St", long: &["target-directory", "suffix"], ..Spec::default() });
    let subject = call.show();
    for (source, target) in pairs(walk, env, &options) {
        let listed = walk.origins.tags(&source).has(Tags::FILES);
        if moves_in(walk, env, &source, &target) {
            walk.found(&env.world.clone(), &rules::DELETE_MOVE_IN, subject.clone());
        } else if !listed {
            walk.delete(env, &source, &subject);
        }
        let how = if protected::is_template(&source) { Write::FromTemplate } else { Write::Replace };
        walk.write(env, &target, how, &subject);
        if let Some(content) = walk.content_to_run(env, &source) {
            walk.remember(env, &target, content, false);
        } else if walk.is_secret(env, &source) {
            walk.remember(env, &target, Stream::Data(Tags::SECRET), false);
        }
    }
    Stream::None
}

/// `mv ~/Downloads/x docs/`: out of the home, but nothing protected, and the project keeps it.
fn moves_in(walk: &mut Walk<'_>, env: &Env, source: &str, target: &str) -> bool {
    if env.world != World::Here {
        return false;
    }
    let (Spot::At(source), Spot::At(target)) = (walk.spot(env, source), walk.spot(env, target)) else {
        return false;
    };
    let ground = &walk.ground;
    let (real, end) = (ground.real(&source, false), ground.real(&target, true));
    // A file below a directory of the home, not one of the home's own directories or anything hidden.
    let below = real.strip_prefix(ground.real_home.as_str()).unwrap_or("");
    let plain = paths::split(below).count() >= 1 && !paths::split(below).any(|part| part.starts_with('.'));
    !value::has_special(&source)
        && plain
        && !ground.files.is_dir(&real)
        && ground.zone(&real) == Zone::Outside
        && ground.zone(&end) == Zone::Inside
        && protected::kind(&real, &ground.known).is_none()
        && !walk.is_custom(&real)
}

/// `rename 's/a/b/' files`: the old names go.
pub fn rename(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "e", ..Spec::default() });
    if !options.has(&["n", "no-act", "nono"]) {
        for file in options.operands.iter().skip(1) {
            walk.delete(env, file, &call.show());
        }
    }
    Stream::None
}

/// `cc -o file`
pub fn compiler(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "oDILlUWfmxO", ..Spec::default() });
    for file in options.values(&["o"]) {
        walk.write(env, file, Write::Overwrite, &call.show());
    }
    Stream::None
}

pub fn ln(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "St", long: &["target-directory", "suffix"], ..Spec::default() });
    let subject = call.show();
    let pairs = if options.operands.len() == 1 && options.value(&["t"]).is_none() {
        let source = options.operands[0];
        vec![(source.to_owned(), paths::base_name(source).to_owned())]
    } else {
        pairs(walk, env, &options)
    };
    for (source, link) in pairs {
        walk.write(env, &link, Write::Replace, &subject);
        let target = match walk.spot(env, &source) {
            // A symbolic link's target is relative to the link, a hard link's to the directory.
            Spot::At(path) if !options.has(&["s", "symbolic"]) => path,
            Spot::At(_) => source,
            _ => continue,
        };
        if let Spot::At(path) = walk.spot(env, &link) {
            walk.ground.add_link(&path, &target);
        }
    }
    Stream::None
}

/// `mkdir`: harmless, but not where the user wants nothing to change.
pub fn mkdir(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "m", long: &["mode"], ..Spec::default() });
    for operand in options.operands {
        walk.custom(env, operand, &call.show());
    }
    Stream::None
}

pub fn tee(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    let append = options.has(&["a", "append"]);
    let subject = call.show();
    for operand in options.operands {
        let nothing = matches!(call.stdin, Stream::Text(text, _) if text.is_empty());
        let how = match (append, nothing) {
            (true, _) => Write::Append,
            (false, true) => Write::Empty,
            (false, false) => Write::Overwrite,
        };
        walk.write(env, operand, how, &subject);
        walk.remember(env, operand, call.stdin.clone(), append);
    }
    call.stdin.clone()
}

/// Programs all of whose operands are files they change: `touch`, `sponge`, `dos2unix`.
pub fn writes_operands(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "drt", long: &["date", "reference", "time"], ..Spec::default() });
    let subject = call.show();
    // Without a file `sponge` and `dos2unix` are filters.
    if options.operands.is_empty() {
        return call.filtered();
    }
    for operand in options.operands {
        walk.write(env, operand, Write::Append, &subject);
        if call.name == "sponge" {
            walk.remember(env, operand, call.stdin.clone(), false);
        }
    }
    Stream::None
}

/// Editors: a person or a script in them can write every file they open.
pub fn editor(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    // `ex -s` is silent, `vim -s` names a file.
    let ex_mode = matches!(call.name, "ex" | "ed")
        || call.args().iter().any(|arg| {
            arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['e', 'E']) && arg.len() <= 3
        });
    let short = if ex_mode { "cSuUiTw" } else { "csSuUiTw" };
    let options = call.options(Spec { short, long: &["cmd"], ..Spec::default() });
    let subject = call.show();
    for command in options.values(&["c", "cmd"]) {
        editor_command(walk, env, command, call);
    }
    for operand in &options.operands {
        match operand.strip_prefix('+') {
            Some(command) => editor_command(walk, env, command, call),
            None if options.has(&["R", "M"]) => {
                walk.read(env, operand);
            }
            None => walk.write(env, operand, Write::Overwrite, &subject),
        }
    }
    if let Stream::Text(text, _) = call.stdin
        && ex_mode
    {
        for line in text.lines() {
            editor_command(walk, env, line, call);
        }
    }
    Stream::None
}

/// `:!command`, `:w file`
fn editor_command(walk: &mut Walk<'_>, env: &mut Env, command: &str, call: &Call<'_>) {
    let command = command.trim_start_matches([':', ' ']);
    if let Some(at) = command.find('!')
        && command[..at].chars().all(|c| c.is_ascii_alphanumeric() || "%,.$ ".contains(c))
    {
        walk.text(&mut env.clone(), &command[at + 1..], &Stream::None, false);
    } else if let Some(file) = command.strip_prefix("w ").or_else(|| command.strip_prefix("w! ")) {
        walk.write(env, file.trim(), Write::Overwrite, &call.show());
    }
}

pub fn dd(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let value = |name: &str| call.args().iter().find_map(|arg| arg.strip_prefix(name));
    let content = match value("if=") {
        Some("/dev/null") => Stream::text(""),
        Some(source) if source.starts_with("/dev/") => Stream::Data(Tags::NONE),
        Some(source) => walk.read(env, source),
        None => call.stdin.clone(),
    };
    if let Some(target) = value("of=") {
        let nothing = matches!(&content, Stream::Text(text, _) if text.is_empty());
        walk.write(env, target, if nothing { Write::Empty } else { Write::Overwrite }, &call.show());
        walk.remember(env, target, content, false);
        return Stream::None;
    }
    content
}

/// `patch [file]`
pub fn patch(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "pidoBDFgrVYz", long: &["input", "output", "strip"], ..Spec::default() });
    let subject = call.show();
    for file in options.operands.first().into_iter().chain(options.value(&["o", "output"]).iter()) {
        walk.write(env, file, Write::Overwrite, &subject);
    }
    Stream::None
}

/// `crontab file`, `crontab -r`: what runs later, by itself.
pub fn crontab(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "u", ..Spec::default() });
    if !options.has(&["l"]) {
        walk.found(&env.world.clone(), &rules::WRITE_SHELL_START, call.show());
    }
    Stream::None
}

/// `mkfifo`: what will come out of it is anybody's guess.
pub fn fifo(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "m", ..Spec::default() });
    for operand in options.operands {
        walk.remember(env, operand, Stream::Data(Tags::NONE), false);
    }
    Stream::None
}
