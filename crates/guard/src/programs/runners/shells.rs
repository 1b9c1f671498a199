//! Shells and interpreters: where their program comes from, and whether it may run.

use crate::code;
use crate::code::Language;
use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags, deactivate, is_hole};
use crate::programs::runners::scripts;
use crate::programs::{Call, Spec, network};
use crate::rules;
use crate::rules::Rule;

/// The rule for text that nobody has seen, by its tags.
fn unseen(tags: Tags) -> Option<&'static Rule> {
    if tags.has(Tags::DOWNLOAD) {
        Some(&rules::NETWORK_SHELL)
    } else if tags.has(Tags::DECODED) {
        Some(&rules::NETWORK_DECODED)
    } else {
        None
    }
}

/// Shell text in the current shell: `eval`.
pub(crate) fn text(eval: &mut Evaluator<'_>, state: &mut ShellState, text: &str, call: &Call<'_>) -> Stream {
    if let Some(rule) = unseen(eval.origins.tags(text)) {
        call.report(eval, state, rule);
    }
    eval.text(state, &deactivate(text), call.stdin, call.output_used)
}

/// A program's text, known at least in part.
pub(crate) fn code(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    language: Language,
    text: &str,
    call: &Call<'_>,
    args: &[String],
) -> Stream {
    if let Some(rule) = unseen(eval.origins.tags(text)) {
        call.report(eval, state, rule);
    }
    let text = deactivate(text);
    if language == Language::Shell {
        return eval.process(state, &text, args, call.stdin, call.output_used);
    }
    let local = Tags::LOCAL_FILE.and(Tags::TRUSTED).and(Tags::HAS_DEFAULT);
    if !text.is_empty() && text.trim().chars().all(is_hole) && !eval.origins.tags(&text).has(local) {
        call.report(eval, state, &rules::SHELL_UNKNOWN_COMMAND);
    }
    code::judge(eval, &mut state.clone(), language, &text, call);
    call.filtered()
}

/// A program that arrives on a stream, with its arguments: `bash -s -- a b`.
pub(crate) fn program(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    language: Language,
    stream: &Stream,
    args: &[String],
    call: &Call<'_>,
) -> Stream {
    let machine = state.machine.clone();
    if let Some(rule) = unseen(stream.tags()) {
        eval.report(&machine, rule, call.show());
        return Stream::Data(Tags::NONE);
    }
    match stream {
        Stream::None => Stream::Data(Tags::NONE),
        Stream::Text(text, _) => {
            let inner = Call { stdin: &Stream::None, ..*call };
            code(eval, state, language, text, &inner, args)
        }
        Stream::Data(tags) => {
            if !tags.has(Tags::LOCAL_FILE.and(Tags::TRUSTED)) {
                eval.report(&machine, &rules::SHELL_UNKNOWN_COMMAND, call.show());
            }
            Stream::Data(Tags::NONE)
        }
    }
}

/// A program in a file: one that the line wrote itself is read, one from the network is asked about.
pub(crate) fn file(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    language: Language,
    file: &str,
    args: &[String],
    call: &Call<'_>,
) -> Stream {
    if matches!(file, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
        return program(eval, state, language, call.stdin, args, call);
    }
    let from_process = file.chars().next().and_then(|c| eval.origins.get(c)?.stream.clone());
    if let Some(stream) = from_process {
        return program(eval, state, language, &stream, args, call);
    }
    match eval.content_to_run(state, file) {
        Some(Stream::Text(text, tags)) if !tags.has(Tags::DECODED) => {
            if call.name == "source" || call.name == "." {
                return eval.text(state, &deactivate(&text), &Stream::None, false);
            }
            code(eval, state, language, &text, call, args)
        }
        Some(content) => {
            run_stored(eval, state, content.tags(), call);
            Stream::Data(Tags::NONE)
        }
        None => {
            // Sourcing a file with secrets puts them into the environment.
            if language == Language::Shell && eval.script.is_none() {
                eval.read(state, file);
            }
            if language == Language::Shell
                && let Some(text) = scripts::text_of(eval, state, file)
            {
                return scripts::run(eval, state, &text, file, args, call);
            }
            Stream::Data(call.stdin.tags().only(Tags::FLOWING))
        }
    }
}

/// Running a file that the line wrote with unknown content.
pub(crate) fn run_stored(eval: &mut Evaluator<'_>, state: &mut ShellState, tags: Tags, call: &Call<'_>) {
    let rule = if tags.has(Tags::DOWNLOAD) {
        &rules::NETWORK_RUN_FILE
    } else if tags.has(Tags::DECODED) {
        &rules::NETWORK_DECODED
    } else {
        return;
    };
    call.report(eval, state, rule);
}

/// `sh`, `bash`, `zsh` and similar shells.
pub(crate) fn shell(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let args = call.args();
    let (mut takes_text, mut from_stdin, mut only_checks) = (false, false, false);
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        match arg.as_str() {
            "--" => {
                at += 1;
                break;
            }
            "-" => {
                at += 1;
                break;
            }
            "--version" | "--help" => return Stream::None,
            "--rcfile" | "--init-file" => {
                file(eval, state, Language::Shell, args.get(at + 1).map_or("", String::as_str), &[], call);
                at += 2;
            }
            "-o" | "+o" | "-O" | "+O" => at += 2,
            arg if arg.starts_with("--") => at += 1,
            arg if arg.starts_with(['-', '+']) => {
                let letters = &arg[1..];
                takes_text |= letters.contains('c');
                from_stdin |= letters.contains('s');
                only_checks |= letters.contains('n');
                at += 1 + usize::from(letters.ends_with('o') || letters.ends_with('O'));
            }
            _ => break,
        }
    }
    let rest = args.get(at..).unwrap_or(&[]);
    if only_checks {
        return Stream::Data(Tags::NONE);
    }
    if takes_text {
        let Some((text, params)) = rest.split_first() else { return Stream::None };
        // The text is followed by `$0`, then `$1`.
        let params = params.get(1..).unwrap_or(&[]);
        let zero = rest.get(1).cloned();
        let mut inner = state.clone();
        if let Some(zero) = zero {
            inner.set("0", zero);
        }
        return code(eval, &mut inner, Language::Shell, text, call, params);
    }
    match rest.first() {
        Some(script) if !from_stdin => file(eval, state, Language::Shell, script, &rest[1..], call),
        _ => program(eval, state, Language::Shell, call.stdin, rest, call),
    }
}

/// How an interpreter takes its program.
struct Interpreter {
    names: &'static [&'static str],
    language: Language,
    /// Letters whose value is the program.
    code: &'static str,
    long_code: &'static [&'static str],
    /// Letters that name a module as the program.
    module: &'static str,
    /// Letters with a value of their own.
    values: &'static str,
    /// Letters whose optional value is attached: `-i.bak`, `-MModule`.
    attached: &'static str,
    /// `-i` edits the operands in place, `-n` and `-p` read them.
    filters: bool,
    /// Words before the file: `deno run`, `bun run`.
    verbs: &'static [&'static str],
}

const DEFAULT: Interpreter = Interpreter {
    names: &[],
    language: Language::Other,
    code: "e",
    long_code: &[],
    module: "",
    values: "",
    attached: "",
    filters: false,
    verbs: &[],
};

include!(concat!(env!("OUT_DIR"), "/guard/interpreters.rs"));

pub(crate) fn interpreter(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let Some(interpreter) = INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&call.name))
    else {
        return call.filtered();
    };
    let args = call.args();
    let mut programs: Vec<&str> = Vec::new();
    let (mut in_place, mut at) = (false, 0);
    while let Some(arg) = args.get(at) {
        at += 1;
        if arg == "--version" || arg == "--help" || arg == "-V" {
            return Stream::Data(Tags::NONE);
        }
        if interpreter.long_code.contains(&arg.as_str()) {
            programs.extend(args.get(at).map(String::as_str));
            at += 1;
            continue;
        }
        let long_value =
            interpreter.long_code.iter().find_map(|name| arg.strip_prefix(name)?.strip_prefix('='));
        if let Some(code) = long_value {
            programs.push(code);
            continue;
        }
        if arg == "-" || arg == "--" || arg.starts_with("--") && arg.len() > 2 {
            if arg == "-" {
                at -= 1;
                break;
            }
            continue;
        }
        let Some(letters) = arg.strip_prefix('-') else {
            at -= 1;
            break;
        };
        for (i, c) in letters.char_indices() {
            let rest = &letters[i + c.len_utf8()..];
            in_place |= interpreter.filters && c == 'i';
            if interpreter.module.contains(c) {
                // The module is the program; what is piped in is its data.
                let tags = call.stdin.tags().only(Tags::FLOWING);
                let decodes = args[at - 1..].iter().any(|arg| arg.ends_with("base64"));
                let module = if rest.is_empty() { args.get(at).map_or("", String::as_str) } else { rest };
                let behind = args.get(at + usize::from(rest.is_empty())..).unwrap_or(&[]);
                let argv: Vec<String> =
                    std::iter::once(module.to_owned()).chain(behind.iter().cloned()).collect();
                let name = crate::programs::name_of(module);
                crate::programs::named_rules(eval, state, &Call { name: &name, argv: &argv, ..*call });
                return Stream::Data(if decodes { tags.and(Tags::DECODED) } else { tags });
            }
            if interpreter.code.contains(c) {
                if rest.is_empty() {
                    programs.extend(args.get(at).map(String::as_str));
                    at += 1;
                } else if interpreter.language == Language::JavaScript {
                    // `-pe`: both letters want the same code.
                    continue;
                } else {
                    programs.push(rest);
                }
                break;
            }
            if interpreter.attached.contains(c) {
                break;
            }
            if interpreter.values.contains(c) {
                at += usize::from(rest.is_empty());
                break;
            }
        }
        // Python's options end at its program.
        if !programs.is_empty() && interpreter.language == Language::Python {
            break;
        }
    }
    let mut rest = args.get(at..).unwrap_or(&[]);
    if let Some(verb) = rest.first()
        && interpreter.verbs.contains(&verb.as_str())
    {
        if verb == "eval" {
            programs.extend(rest.get(1).map(String::as_str));
        }
        rest = &rest[1..];
        while let [first, more @ ..] = rest
            && first.starts_with('-')
            && first != "-"
        {
            rest = more;
        }
    }
    if !programs.is_empty() {
        for program in &programs {
            code(eval, state, interpreter.language, program, call, rest);
        }
        return operands(eval, state, interpreter, in_place, rest, call);
    }
    if call.name == "deno" && network::runs_urls(eval, state, call) {
        return Stream::Data(Tags::NONE);
    }
    match rest.first() {
        Some(script) => file(eval, state, interpreter.language, script, &rest[1..], call),
        None if matches!(call.name, "deno" | "bun") => Stream::Data(Tags::NONE),
        None => program(eval, state, interpreter.language, call.stdin, &[], call),
    }
}

/// The files of `perl -pi -e …` and `ruby -ne …`.
fn operands(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    interpreter: &Interpreter,
    in_place: bool,
    files: &[String],
    call: &Call<'_>,
) -> Stream {
    let mut tags = call.stdin.tags().only(Tags::FLOWING);
    if interpreter.filters {
        for file in files {
            if in_place {
                eval.write(state, file, WriteKind::Append, &call.show());
            } else if eval.is_secret(state, file) {
                tags = tags.and(eval.read(state, file).tags().only(Tags::FLOWING));
            }
        }
    }
    Stream::Data(tags)
}

/// `powershell -Command …`, `pwsh -File …`, `cmd /c …`
pub(crate) fn powershell(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let args = call.args();
    for (at, arg) in args.iter().enumerate() {
        let flag = arg.trim_start_matches(['-', '/']).to_lowercase();
        let is_flag = arg.starts_with('-') || (call.name == "cmd" && arg.starts_with('/'));
        if !is_flag || flag.is_empty() {
            if call.name != "cmd" {
                return file(eval, state, Language::PowerShell, arg, &[], call);
            }
            continue;
        }
        let rest = || args[at + 1..].join(" ");
        if "encodedcommand".starts_with(&flag) && flag.starts_with('e') && !flag.starts_with("ex") {
            call.report(eval, state, &rules::NETWORK_DECODED);
            return Stream::None;
        }
        if "command".starts_with(&flag) || (call.name == "cmd" && matches!(flag.as_str(), "c" | "k")) {
            if rest() == "-" {
                return program(eval, state, Language::PowerShell, call.stdin, &[], call);
            }
            return code(eval, state, Language::PowerShell, &rest(), call, &[]);
        }
        if flag == "file" || flag == "f" {
            let script = args.get(at + 1).map_or("", String::as_str);
            return file(eval, state, Language::PowerShell, script, &[], call);
        }
    }
    program(eval, state, Language::PowerShell, call.stdin, &[], call)
}

/// `make`: its file is a program like any other if the line has just downloaded it.
pub(crate) fn make(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "fCIjlo", long: &["file", "makefile", "directory"], stops: false });
    let dir = options.value(&["C", "directory"]).unwrap_or(".");
    let named = options.value(&["f", "file", "makefile"]);
    let files = named.map_or_else(|| vec!["GNUmakefile", "makefile", "Makefile"], |file| vec![file]);
    let only_shows =
        options.has(&["n", "just-print", "dry-run", "recon", "q", "question", "version", "help", "v", "p"]);
    if !only_shows {
        scripts::make(eval, state, dir, &files, &options.operands);
    }
    for file in files {
        let path = format!("{dir}/{file}");
        let content = match file {
            "-" | "/dev/stdin" => Some(call.stdin.clone()),
            _ if eval.written_by_line(state, &path) => eval.content_to_run(state, &path),
            _ => None,
        };
        match content {
            Some(Stream::Text(text, tags)) if !tags.has(Tags::DECODED) => recipes(eval, state, &text),
            Some(content) if content.tags().has(Tags::DOWNLOAD) => {
                run_stored(eval, state, content.tags(), call);
            }
            _ => {}
        }
    }
    call.filtered()
}

/// The lines that make passes to a shell. All of them are judged, without working out which would run.
fn recipes(eval: &mut Evaluator<'_>, state: &ShellState, makefile: &str) {
    for line in makefile.lines().filter_map(|line| line.strip_prefix('\t')) {
        let line = line.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$");
        eval.text(&mut state.clone(), &line, &Stream::None, false);
    }
}
