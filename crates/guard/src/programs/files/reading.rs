//! Programs that show the contents of files. A table tells which operand is a file and which is a pattern.

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags, activate};
use crate::programs::{Call, Options, Spec};
use crate::rules;

struct ReadingProgram {
    names: &'static [&'static str],
    /// Options with a value.
    short: &'static str,
    long: &'static [&'static str],
    /// How many operands are patterns or scripts instead of files.
    patterns: usize,
    /// Options that provide the pattern; then every operand is a file.
    pattern_options: &'static [&'static str],
    /// Options that name files to read.
    file_options: &'static [&'static str],
    /// Options that hold a file name pattern.
    glob_options: &'static [&'static str],
    /// With any of these, no content is printed.
    silent: &'static [&'static str],
    /// Changes its files with this option.
    in_place: &'static [&'static str],
    /// Options that name a file to write.
    outputs: &'static [&'static str],
}

const DEFAULT: ReadingProgram = ReadingProgram {
    names: &[],
    short: "",
    long: &[],
    patterns: 0,
    pattern_options: &[],
    file_options: &[],
    glob_options: &[],
    silent: &[],
    in_place: &[],
    outputs: &[],
};

include!(concat!(env!("OUT_DIR"), "/guard/readers.rs"));

pub(crate) fn reader(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let Some(reader) = READERS.iter().find(|reader| reader.names.contains(&call.name)) else {
        return call.filtered();
    };
    let options = call.options(Spec { short: reader.short, long: reader.long, stops: false });
    let in_place = !reader.in_place.is_empty() && given_exactly(call, reader.in_place);
    if call.name == "sed" {
        for file in options.values(&["f", "file"]) {
            program_file(eval, state, file, call);
        }
        sed_scripts(eval, state, call, &options);
    }
    let skip = if options.has(reader.pattern_options) { 0 } else { reader.patterns };
    let files: Vec<&str> = options
        .operands
        .iter()
        .skip(skip)
        .copied()
        .chain(options.values(reader.file_options))
        .filter(|file| *file != "-")
        .collect();
    let subject = call.show();
    let mut tags = Tags::NONE;
    if in_place || call.name == "sd" {
        for file in files {
            eval.write(state, file, WriteKind::Append, &subject);
        }
        return Stream::None;
    }
    for file in options.values(reader.outputs) {
        eval.write(state, file, WriteKind::Overwrite, &subject);
    }
    if let ("uniq", [_, output]) = (call.name, options.operands.as_slice()) {
        eval.write(state, output, WriteKind::Overwrite, &subject);
    }
    let silent = options.has(reader.silent) && !reader.silent.is_empty();
    for file in files {
        if silent {
            continue;
        }
        tags = tags.and(eval.read(state, file).tags().only(Tags::FLOWING));
    }
    if !silent {
        for glob in options.values(reader.glob_options) {
            if !glob.starts_with('!') {
                eval.read(state, &activate(glob.rsplit('/').next().unwrap_or(glob)));
            }
        }
    }
    if files_from_listing(call, &options) {
        return Stream::Data(tags.and(Tags::FILES));
    }
    Stream::Data(tags.and(call.stdin.tags().only(Tags::FLOWING)))
}

/// `grep -l`, `rg --files`: the output is file names.
fn files_from_listing(call: &Call<'_>, options: &Options<'_>) -> bool {
    matches!(call.name, "grep" | "egrep" | "rg" | "ag" | "ack")
        && options.has(&["l", "L", "files-with-matches", "files-without-match", "files"])
}

/// `sed -i`, `-i.bak`, `--in-place=.bak`, `-ni`: the letter anywhere before one that takes a value.
fn given_exactly(call: &Call<'_>, names: &[&str]) -> bool {
    call.args().iter().take_while(|arg| *arg != "--").any(|arg| match arg.strip_prefix("--") {
        Some(long) => names.iter().any(|name| {
            let long = long.split('=').next().unwrap_or(long);
            name.len() > 1 && long.len() >= 2 && name.starts_with(long)
        }),
        None => arg.strip_prefix('-').is_some_and(|letters| {
            let letters = letters.split(['e', 'f', 'l']).next().unwrap_or("");
            letters.chars().any(|c| names.contains(&c.to_string().as_str()))
        }),
    })
}

/// What a sed script does besides editing: `e` runs, `w` writes.
fn sed_scripts(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>, options: &Options<'_>) {
    let mut scripts: Vec<&str> = options.values(&["e", "expression"]).collect();
    if scripts.is_empty() && !options.has(&["f", "file"]) {
        scripts.extend(options.operands.first());
    }
    for script in scripts {
        for line in script.split(['\n', ';']) {
            let line = line
                .trim()
                .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | ' ' | '!'));
            if let Some(command) = line.strip_prefix("e ") {
                eval.text(&mut state.clone(), command, &Stream::None, false);
            } else if let Some(file) = line.strip_prefix("w ") {
                eval.write(state, file.trim(), WriteKind::Overwrite, &call.show());
            }
        }
        if let Some(command) = run_result(script) {
            eval.text(&mut state.clone(), &command, &Stream::None, false);
            call.report(eval, state, &rules::SHELL_UNKNOWN_COMMAND);
        }
    }
}

/// `s/x/y/e` runs the result as a command: returns the replacement if so.
fn run_result(script: &str) -> Option<String> {
    let rest =
        script.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '$').strip_prefix('s')?;
    let delimiter = rest.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
    let mut parts = vec![String::new()];
    let mut chars = rest[1..].chars();
    while let Some(c) = chars.next() {
        match (c, parts.last_mut()) {
            ('\\', Some(part)) => match chars.next() {
                Some(next) if next == delimiter => part.push(next),
                Some(next) => part.extend(['\\', next]),
                None => {}
            },
            (c, _) if c == delimiter => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            _ => {}
        }
    }
    let [_, with, flags] = parts.as_slice() else { return None };
    let runs = flags.len() < 5 && flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric());
    runs.then(|| with.clone())
}

/// `awk`: only text, unless the program runs or writes something.
pub(crate) fn awk(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "Fvfi",
        long: &["field-separator", "assign", "file", "include"],
        stops: false,
    });
    for file in options.values(&["f", "file"]) {
        program_file(eval, state, file, call);
    }
    let in_place = options.values(&["i", "include"]).any(|library| library == "inplace");
    let mut operands = options.operands.iter();
    if !options.has(&["f", "file"])
        && let Some(program) = operands.next()
    {
        crate::code::awk(eval, state, program, call);
    }
    let mut tags = call.stdin.tags().only(Tags::FLOWING);
    for file in operands.filter(|operand| !operand.contains('=')) {
        if in_place {
            eval.write(state, file, WriteKind::Append, &call.show());
        } else {
            tags = tags.and(eval.read(state, file).tags().only(Tags::FLOWING));
        }
    }
    Stream::Data(tags)
}

/// `awk -f -`: a program from the pipe; `system` and `e` make it as powerful as a shell.
fn program_file(eval: &mut Evaluator<'_>, state: &ShellState, file: &str, call: &Call<'_>) {
    let piped = matches!(file, "-" | "/dev/stdin" | "/dev/fd/0");
    if piped && call.stdin.tags().has(Tags::DOWNLOAD) {
        call.report(eval, state, &rules::NETWORK_SHELL);
    }
}

/// `openssl`: keys may be used, or generated elsewhere, but not printed. `-noout` leaves out the key as it is encoded, and
/// `-text` writes its numbers all the same.
pub(crate) fn openssl(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let value = |names: &[&str]| {
        call.args().windows(2).find(|pair| names.contains(&pair[0].as_str())).map(|pair| pair[1].as_str())
    };
    let has = |names: &[&str]| call.args().iter().any(|arg| names.contains(&arg.as_str()));
    let verb = call.args().first().map_or("", String::as_str);
    let subject = call.show();
    if let Some(file) = value(&["-in"])
        && matches!(verb, "rsa" | "pkey" | "ec" | "dsa" | "pkcs8" | "pkcs12" | "enc" | "base64")
        && !has(&["-pubin"])
        && (has(&["-text"]) || !has(&["-noout", "-pubout"]))
    {
        eval.read(state, file);
    }
    for file in [value(&["-out"]), value(&["-keyout"])].into_iter().flatten() {
        if eval.is_secret_place(state, file) {
            eval.report(&state.machine, &rules::WRITE_NEW_KEY, subject.clone());
        }
    }
    let mut tags = call.stdin.tags().only(Tags::FLOWING);
    if matches!(verb, "enc" | "base64" | "aes-256-cbc" | "smime" | "rsautl" | "pkeyutl")
        && has(&["-d", "-decrypt"])
    {
        tags = tags.and(Tags::DECODED);
    }
    if verb == "s_client" {
        if tags.has(Tags::SECRET) {
            eval.report(&state.machine, &rules::NETWORK_SECRET, subject);
        }
        tags = tags.and(Tags::DOWNLOAD);
    }
    Stream::Data(tags)
}

/// `gpg --export-secret-keys`
pub(crate) fn gpg(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    if call.args().iter().any(|arg| arg.starts_with("--export-secret")) {
        call.report(eval, state, &rules::READ_KEY);
        return Stream::Data(Tags::SECRET);
    }
    let decodes = call.args().iter().any(|arg| matches!(arg.as_str(), "-d" | "--decrypt"));
    let tags = call.stdin.tags().only(Tags::FLOWING);
    Stream::Data(if decodes { tags.and(Tags::DECODED) } else { tags })
}

/// `ssh-keygen` writes keys unless it is only asked for information.
pub(crate) fn ssh_keygen(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "tbfCNPmaIsVnDOEwzZ", ..Spec::default() });
    let only_asks = options.has(&["l", "y", "F", "B", "e", "i", "H", "R", "Q", "Y"]);
    let target = options
        .value(&["f"])
        .map_or_else(|| format!("{}/.ssh/id_ed25519", eval.locations.home), str::to_owned);
    if !only_asks && eval.is_secret_place(state, &target) {
        call.report(eval, state, &rules::WRITE_NEW_KEY);
    }
    Stream::Data(Tags::NONE)
}
