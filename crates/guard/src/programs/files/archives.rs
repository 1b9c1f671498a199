//! Archives: packing reads, unpacking writes, and both can run commands on the way.

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags};
use crate::programs::{Call, Spec};
use crate::rules::names;

pub(crate) fn tar(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    // The first word may be a cluster without its dash: `tar xzf file`.
    let mut args: Vec<String> = call.args().to_vec();
    if let Some(first) = args.first_mut()
        && !first.starts_with('-')
        && !first.contains('/')
        && first.chars().all(|c| c.is_ascii_alphabetic())
    {
        first.insert(0, '-');
    }
    let options = crate::programs::Options::read(
        &args,
        Spec { short: "fCTXbHIKLNVg", long: names::TAR_OPTIONS_WITH_VALUE, stops: false },
    );
    for command in options.values(names::TAR_OPTIONS_WITH_COMMAND) {
        eval.text(&mut state.clone(), command, &Stream::None, false);
    }
    for action in options.values(&["checkpoint-action"]) {
        if let Some(command) = action.strip_prefix("exec=") {
            eval.text(&mut state.clone(), command, &Stream::None, false);
        }
    }
    let subject = call.show();
    let file = options.value(&["f", "file"]);
    let dir = options.value(&["C", "directory"]);
    if options.has(&["x", "extract", "get"]) {
        let source = match file {
            Some("-") | None => call.stdin.clone(),
            Some(file) => eval.read(state, file),
        };
        unpack(eval, state, dir.unwrap_or("."), &source, &subject);
        return Stream::Data(source.tags().only(Tags::FLOWING));
    }
    let mut tags = Tags::NONE;
    if options.has(&["c", "create", "r", "append", "u", "update"]) {
        for operand in &options.operands {
            let path = match dir {
                Some(dir) if !operand.starts_with('/') => format!("{}/{operand}", dir.trim_end_matches('/')),
                _ => (*operand).to_owned(),
            };
            if eval.is_secret(state, &path) {
                eval.read(state, &path);
                tags = Tags::SECRET;
            }
            if options.has(&["remove-files"]) {
                eval.delete(state, &path, &subject);
            }
        }
        if let Some(file) = file.filter(|file| *file != "-") {
            eval.write(state, file, WriteKind::Overwrite, &subject);
            eval.remember(state, file, Stream::Data(tags), false);
        }
    }
    Stream::Data(tags.and(call.stdin.tags().only(Tags::FLOWING)))
}

/// Anything in the archive may end up in `dir`.
fn unpack(eval: &mut Evaluator<'_>, state: &mut ShellState, dir: &str, source: &Stream, subject: &str) {
    eval.write(state, &format!("{}/unpacked", dir.trim_end_matches('/')), WriteKind::Overwrite, subject);
    if source.tags().has(Tags::DOWNLOAD)
        && let ResolvedPath::Known(path) = eval.resolve(state, dir)
    {
        let real = eval.locations.real(&path, true);
        eval.unpacked.push(real);
    }
}

pub(crate) fn unzip(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "dxP", ..Spec::default() });
    let Some(file) = options.operands.first() else { return Stream::None };
    if options.has(&["l", "t", "v", "Z"]) {
        return Stream::Data(Tags::FILES);
    }
    let source = eval.read(state, file);
    if options.has(&["p"]) {
        return Stream::Data(source.tags().only(Tags::FLOWING));
    }
    unpack(eval, state, options.value(&["d"]).unwrap_or("."), &source, &call.show());
    Stream::None
}

/// `zip archive files`, `7z a archive files`, `gpg -c`: packed secrets are still secrets.
pub(crate) fn zip(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "xiPtnb", ..Spec::default() });
    let mut operands = options.operands.iter();
    if call.name.starts_with('7') && !matches!(operands.next(), Some(&("a" | "u"))) {
        return Stream::None;
    }
    let archive = operands.next();
    let mut tags = Tags::NONE;
    for operand in operands {
        if eval.is_secret(state, operand) {
            eval.read(state, operand);
            tags = Tags::SECRET;
        }
        if options.has(&["m", "move", "sdel"]) {
            eval.delete(state, operand, &call.show());
        }
    }
    if let Some(archive) = archive {
        eval.write(state, archive, WriteKind::Overwrite, &call.show());
        eval.remember(state, archive, Stream::Data(tags), false);
    }
    Stream::Data(tags)
}

/// `gunzip -c`, `gzip -dc`, `zcat`: what comes out is what went in, unseen.
pub(crate) fn gzip(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "S", ..Spec::default() });
    let mut tags = call.stdin.tags().only(Tags::FLOWING);
    for operand in &options.operands {
        if options.has(&["c", "stdout", "to-stdout"]) {
            tags = tags.and(eval.read(state, operand).tags().only(Tags::FLOWING));
        }
    }
    Stream::Data(tags)
}
