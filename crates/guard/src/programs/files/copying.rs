//! Programs that write files: copies, moves, links, editors.

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{Machine, ShellState};
use crate::eval::value;
use crate::eval::value::{Stream, Tags};
use crate::paths;
use crate::paths::Zone;
use crate::programs::{Call, Options, Spec};
use crate::protected;
use crate::rules;

/// Each source and where it ends up.
fn pairs(eval: &mut Evaluator<'_>, state: &mut ShellState, options: &Options<'_>) -> Vec<(String, String)> {
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
        || (!options.has(&["T", "no-target-directory"]) && is_directory(eval, state, target));
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

fn is_directory(eval: &mut Evaluator<'_>, state: &ShellState, target: &str) -> bool {
    match eval.resolve(state, target) {
        ResolvedPath::Known(path) => {
            let real = eval.locations.real(&path, true);
            eval.locations.files.is_dir(if real.is_empty() { "/" } else { &real })
        }
        _ => false,
    }
}

pub(crate) fn cp(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
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
    for (source, target) in pairs(eval, state, &options) {
        let content = if source == "/dev/stdin" || source == "-" {
            call.stdin.clone()
        } else if source == "/dev/null" {
            Stream::text("")
        } else if let Some(name) = crate::programs::known_program(&source) {
            // A program copied under another name does what it always did.
            Stream::text(format!("exec {name} \"$@\"\n"))
        } else {
            eval.read(state, &source)
        };
        let how = if protected::is_template(&source) {
            WriteKind::FromTemplate
        } else if source == "/dev/null" {
            WriteKind::Empty
        } else {
            WriteKind::Overwrite
        };
        eval.write(state, &target, how, &subject);
        // A plain copy is as local as its source; only what is worth following is recorded.
        let worth = content.tags().has(Tags::FLOWING) || matches!(content, Stream::Text(..));
        if worth {
            eval.remember(state, &target, content, false);
        }
    }
    Stream::None
}

pub(crate) fn mv(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "St", long: &["target-directory", "suffix"], ..Spec::default() });
    let subject = call.show();
    for (source, target) in pairs(eval, state, &options) {
        let listed = eval.origins.tags(&source).has(Tags::FILES);
        if moves_in(eval, state, &source, &target) {
            eval.report(&state.machine, &rules::DELETE_MOVE_IN, subject.clone());
        } else if !listed {
            eval.delete(state, &source, &subject);
        }
        let how = if protected::is_template(&source) { WriteKind::FromTemplate } else { WriteKind::Replace };
        eval.write(state, &target, how, &subject);
        if let Some(content) = eval.content_to_run(state, &source) {
            eval.remember(state, &target, content, false);
        } else if eval.is_secret(state, &source) {
            eval.remember(state, &target, Stream::Data(Tags::SECRET), false);
        }
    }
    Stream::None
}

/// `mv ~/Downloads/x docs/`: out of the home, but not protected, and the project keeps it.
fn moves_in(eval: &mut Evaluator<'_>, state: &ShellState, source: &str, target: &str) -> bool {
    if state.machine != Machine::Local {
        return false;
    }
    let (ResolvedPath::Known(source), ResolvedPath::Known(target)) =
        (eval.resolve(state, source), eval.resolve(state, target))
    else {
        return false;
    };
    let locations = &eval.locations;
    let (real, end) = (locations.real(&source, false), locations.real(&target, true));
    // A file below a directory of the home, but neither one of those directories itself nor anything hidden.
    let below = real.strip_prefix(locations.real_home.as_str()).unwrap_or("");
    let plain = paths::split(below).count() >= 1 && !paths::split(below).any(|part| part.starts_with('.'));
    !value::has_special(&source)
        && plain
        && !locations.files.is_dir(&real)
        && locations.zone(&real) == Zone::Outside
        && locations.zone(&end) == Zone::Inside
        && protected::kind(&real, &locations.protected_roots).is_none()
        && !eval.is_user_protected(&real)
}

/// `rename 's/a/b/' files`: the old names disappear.
pub(crate) fn rename(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "e", ..Spec::default() });
    if !options.has(&["n", "no-act", "nono"]) {
        for file in options.operands.iter().skip(1) {
            eval.delete(state, file, &call.show());
        }
    }
    Stream::None
}

/// `cc -o file`
pub(crate) fn compiler(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "oDILlUWfmxO", ..Spec::default() });
    for file in options.values(&["o"]) {
        eval.write(state, file, WriteKind::Overwrite, &call.show());
    }
    Stream::None
}

pub(crate) fn ln(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "St", long: &["target-directory", "suffix"], ..Spec::default() });
    let subject = call.show();
    let pairs = if options.operands.len() == 1 && options.value(&["t"]).is_none() {
        let source = options.operands[0];
        vec![(source.to_owned(), paths::base_name(source).to_owned())]
    } else {
        pairs(eval, state, &options)
    };
    for (source, link) in pairs {
        eval.write(state, &link, WriteKind::Replace, &subject);
        let target = match eval.resolve(state, &source) {
            // A symbolic link's target is relative to the link, a hard link's to the directory.
            ResolvedPath::Known(path) if !options.has(&["s", "symbolic"]) => path,
            ResolvedPath::Known(_) => source,
            _ => continue,
        };
        if let ResolvedPath::Known(path) = eval.resolve(state, &link) {
            eval.locations.add_link(&path, &target);
        }
    }
    Stream::None
}

/// `mkdir`: harmless, except where the user wants no changes.
pub(crate) fn mkdir(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "m", long: &["mode"], ..Spec::default() });
    for operand in options.operands {
        eval.check_user_protected(state, operand, &call.show());
    }
    Stream::None
}

pub(crate) fn tee(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    let append = options.has(&["a", "append"]);
    let subject = call.show();
    for operand in options.operands {
        let nothing = matches!(call.stdin, Stream::Text(text, _) if text.is_empty());
        let how = match (append, nothing) {
            (true, _) => WriteKind::Append,
            (false, true) => WriteKind::Empty,
            (false, false) => WriteKind::Overwrite,
        };
        eval.write(state, operand, how, &subject);
        eval.remember(state, operand, call.stdin.clone(), append);
    }
    call.stdin.clone()
}

/// Programs that change every operand: `touch`, `sponge`, `dos2unix`.
pub(crate) fn writes_operands(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "drt", long: &["date", "reference", "time"], ..Spec::default() });
    let subject = call.show();
    // Without a file, `sponge` and `dos2unix` are filters.
    if options.operands.is_empty() {
        return call.filtered();
    }
    for operand in options.operands {
        eval.write(state, operand, WriteKind::Append, &subject);
        if call.name == "sponge" {
            eval.remember(state, operand, call.stdin.clone(), false);
        }
    }
    Stream::None
}

/// Editors: a person or a script in them can write every file they open.
pub(crate) fn editor(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    // `ex -s` is silent, `vim -s` names a file.
    let ex_mode = matches!(call.name, "ex" | "ed")
        || call.args().iter().any(|arg| {
            arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['e', 'E']) && arg.len() <= 3
        });
    let short = if ex_mode { "cSuUiTw" } else { "csSuUiTw" };
    let options = call.options(Spec { short, long: &["cmd"], ..Spec::default() });
    let subject = call.show();
    for command in options.values(&["c", "cmd"]) {
        editor_command(eval, state, command, call);
    }
    for operand in &options.operands {
        match operand.strip_prefix('+') {
            Some(command) => editor_command(eval, state, command, call),
            None if options.has(&["R", "M"]) => {
                eval.read(state, operand);
            }
            None => eval.write(state, operand, WriteKind::Overwrite, &subject),
        }
    }
    if let Stream::Text(text, _) = call.stdin
        && ex_mode
    {
        for line in text.lines() {
            editor_command(eval, state, line, call);
        }
    }
    Stream::None
}

/// `:!command`, `:w file`
fn editor_command(eval: &mut Evaluator<'_>, state: &mut ShellState, command: &str, call: &Call<'_>) {
    let command = command.trim_start_matches([':', ' ']);
    if let Some(at) = command.find('!')
        && command[..at].chars().all(|c| c.is_ascii_alphanumeric() || "%,.$ ".contains(c))
    {
        eval.text(&mut state.clone(), &command[at + 1..], &Stream::None, false);
    } else if let Some(file) = command.strip_prefix("w ").or_else(|| command.strip_prefix("w! ")) {
        eval.write(state, file.trim(), WriteKind::Overwrite, &call.show());
    }
}

pub(crate) fn dd(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let value = |name: &str| call.args().iter().find_map(|arg| arg.strip_prefix(name));
    let content = match value("if=") {
        Some("/dev/null") => Stream::text(""),
        Some(source) if source.starts_with("/dev/") => Stream::Data(Tags::NONE),
        Some(source) => eval.read(state, source),
        None => call.stdin.clone(),
    };
    if let Some(target) = value("of=") {
        // Zeros or noise over a file are as good as deleting it.
        let noise = matches!(value("if="), Some("/dev/zero" | "/dev/urandom" | "/dev/random"));
        let nothing = noise || matches!(&content, Stream::Text(text, _) if text.is_empty());
        eval.write(
            state,
            target,
            if nothing { WriteKind::Empty } else { WriteKind::Overwrite },
            &call.show(),
        );
        eval.remember(state, target, content, false);
        return Stream::None;
    }
    content
}

/// `patch [file]`
pub(crate) fn patch(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "pidoBDFgrVYz", long: &["input", "output", "strip"], ..Spec::default() });
    let subject = call.show();
    for file in options.operands.first().into_iter().chain(options.value(&["o", "output"]).iter()) {
        eval.write(state, file, WriteKind::Overwrite, &subject);
    }
    Stream::None
}

/// `crontab file`, `crontab -r`: what runs later without anyone watching.
pub(crate) fn crontab(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "u", ..Spec::default() });
    if !options.has(&["l"]) {
        call.report(eval, state, &rules::WRITE_SHELL_START);
    }
    Stream::None
}

/// `mkfifo`: what will come out of it is unknown.
pub(crate) fn fifo(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "m", ..Spec::default() });
    for operand in options.operands {
        eval.remember(state, operand, Stream::Data(Tags::NONE), false);
    }
    Stream::None
}
