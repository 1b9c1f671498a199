//! Archives: packing reads, unpacking writes, and both can run commands on the way.

use crate::eval::Walk;
use crate::eval::env::Env;
use crate::eval::file_effects::{Spot, Write};
use crate::eval::value::{Stream, Tags};
use crate::programs::{Call, Spec};

pub fn tar(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
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
        Spec {
            short: "fCTXbHIKLNVg",
            long: &[
                "file",
                "directory",
                "files-from",
                "exclude",
                "exclude-from",
                "use-compress-program",
                "to-command",
                "transform",
                "strip-components",
            ],
            stops: false,
        },
    );
    for command in options.values(&[
        "I",
        "use-compress-program",
        "to-command",
        "info-script",
        "new-volume-script",
        "rsh-command",
    ]) {
        walk.text(&mut env.clone(), command, &Stream::None, false);
    }
    for action in options.values(&["checkpoint-action"]) {
        if let Some(command) = action.strip_prefix("exec=") {
            walk.text(&mut env.clone(), command, &Stream::None, false);
        }
    }
    let subject = call.show();
    let file = options.value(&["f", "file"]);
    let dir = options.value(&["C", "directory"]);
    if options.has(&["x", "extract", "get"]) {
        let source = match file {
            Some("-") | None => call.stdin.clone(),
            Some(file) => walk.read(env, file),
        };
        unpack(walk, env, dir.unwrap_or("."), &source, &subject);
        return Stream::Data(source.tags().only(Tags::FLOWING));
    }
    let mut tags = Tags::NONE;
    if options.has(&["c", "create", "r", "append", "u", "update"]) {
        for operand in &options.operands {
            let path = match dir {
                Some(dir) if !operand.starts_with('/') => format!("{}/{operand}", dir.trim_end_matches('/')),
                _ => (*operand).to_owned(),
            };
            if walk.is_secret(env, &path) {
                walk.read(env, &path);
                tags = Tags::SECRET;
            }
            if options.has(&["remove-files"]) {
                walk.delete(env, &path, &subject);
            }
        }
        if let Some(file) = file.filter(|file| *file != "-") {
            walk.write(env, file, Write::Overwrite, &subject);
            walk.remember(env, file, Stream::Data(tags), false);
        }
    }
    Stream::Data(tags.and(call.stdin.tags().only(Tags::FLOWING)))
}

/// Whatever is in there may end up in `dir`.
fn unpack(walk: &mut Walk<'_>, env: &mut Env, dir: &str, source: &Stream, subject: &str) {
    walk.write(env, &format!("{}/unpacked", dir.trim_end_matches('/')), Write::Overwrite, subject);
    if source.tags().has(Tags::DOWNLOAD)
        && let Spot::At(path) = walk.spot(env, dir)
    {
        let real = walk.ground.real(&path, true);
        walk.unpacked.push(real);
    }
}

pub fn unzip(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "dxP", ..Spec::default() });
    let Some(file) = options.operands.first() else { return Stream::None };
    if options.has(&["l", "t", "v", "Z"]) {
        return Stream::Data(Tags::FILES);
    }
    let source = walk.read(env, file);
    if options.has(&["p"]) {
        return Stream::Data(source.tags().only(Tags::FLOWING));
    }
    unpack(walk, env, options.value(&["d"]).unwrap_or("."), &source, &call.show());
    Stream::None
}

/// `zip archive files`, `7z a archive files`, `gpg -c`: secrets packed are secrets still.
pub fn zip(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "xiPtnb", ..Spec::default() });
    let mut operands = options.operands.iter();
    if call.name.starts_with('7') && !matches!(operands.next(), Some(&("a" | "u"))) {
        return Stream::None;
    }
    let archive = operands.next();
    let mut tags = Tags::NONE;
    for operand in operands {
        if walk.is_secret(env, operand) {
            walk.read(env, operand);
            tags = Tags::SECRET;
        }
        if options.has(&["m", "move", "sdel"]) {
            walk.delete(env, operand, &call.show());
        }
    }
    if let Some(archive) = archive {
        walk.write(env, archive, Write::Overwrite, &call.show());
        walk.remember(env, archive, Stream::Data(tags), false);
    }
    Stream::Data(tags)
}

/// `gunzip -c`, `gzip -dc`, `zcat`: what comes out is what went in, and nobody has seen it.
pub fn gzip(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "S", ..Spec::default() });
    let mut tags = call.stdin.tags().only(Tags::FLOWING);
    for operand in &options.operands {
        if options.has(&["c", "stdout", "to-stdout"]) {
            tags = tags.and(walk.read(env, operand).tags().only(Tags::FLOWING));
        }
    }
    Stream::Data(tags)
}
