//! Programs that run another program: a table of how they take it.

use crate::eval::Evaluator;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags};
use crate::programs::runners::shells;
use crate::programs::{Call, Options, Spec};
use crate::rules;

struct Wrapper {
    names: &'static [&'static str],
    /// One of these words must come first; empty means none is needed.
    verbs: &'static [&'static str],
    /// Options with a value.
    short: &'static str,
    long: &'static [&'static str],
    /// How many operands precede the command: a duration, a file, a priority.
    skip: usize,
    /// Options whose value is shell text to run.
    text: &'static [&'static str],
    /// The words are joined into shell text, as `watch` does.
    joins: bool,
    /// Only what follows `--` is a command.
    after_dashes: bool,
    /// Options with two values.
    pairs: &'static [&'static str],
}

const DEFAULT: Wrapper = Wrapper {
    names: &[],
    verbs: &[],
    short: "",
    long: &[],
    skip: 0,
    text: &[],
    joins: false,
    after_dashes: false,
    pairs: &[],
};

include!(concat!(env!("OUT_DIR"), "/guard/wrappers.rs"));

pub(crate) fn wrapper(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&call.name)) else {
        return call.filtered();
    };
    let mut single = Vec::new();
    let mut args = call.args();
    if !wrapper.pairs.is_empty() {
        let mut words = args.iter();
        while let Some(word) = words.next() {
            if wrapper.pairs.contains(&word.as_str()) {
                words.nth(1);
            } else {
                single.push(word.clone());
            }
        }
        args = &single;
    }
    if !wrapper.verbs.is_empty() {
        let verb = args.iter().position(|arg| !arg.starts_with('-'));
        match verb {
            Some(at) if wrapper.verbs.contains(&args[at].as_str()) => args = &args[at + 1..],
            // `uv tool run x`
            Some(at)
                if wrapper
                    .verbs
                    .contains(&args[at..].iter().take(2).cloned().collect::<Vec<_>>().join(" ").as_str()) =>
            {
                args = &args[at + 2..];
            }
            // `bundle install`, `npm ci`: no command to judge. Some print settings for `eval`.
            _ => return crate::programs::printing::completion_printer(eval, state, call),
        }
    }
    let options = Options::read(args, Spec { short: wrapper.short, long: wrapper.long, stops: true });
    for text in options.values(wrapper.text) {
        let text = match call.name {
            "gdb" | "lldb" => debugger_escape(eval, state, text, call),
            _ => Some(text),
        };
        let Some(text) = text else { continue };
        shells::code(eval, state, crate::code::Language::Shell, text, call, &[]);
    }
    let mut rest = args.get(options.rest..).unwrap_or(&[]);
    if wrapper.after_dashes {
        match args.iter().position(|arg| arg == "--" || arg == "--args" || arg == "-c" || arg == "--command")
        {
            Some(at) => rest = &args[at + 1..],
            None => return Stream::Data(Tags::NONE),
        }
    }
    // `nix run nixpkgs#cargo -- publish`: the program is the part of the flake behind the `#`.
    let flake = options.operands.iter().find_map(|word| word.split_once('#')?.1.rsplit('.').next());
    if let ("nix", Some(name)) = (call.name, flake.filter(|_| call.args().iter().any(|arg| arg == "run"))) {
        let words: Vec<String> = std::iter::once(name.to_owned()).chain(rest.iter().cloned()).collect();
        return eval.call(&mut state.clone(), &words, call.stdin, call.output_used);
    }
    rest = rest.get(wrapper.skip..).unwrap_or(&[]);
    // `flock file -c 'text'`
    if let [flag, text, ..] = rest
        && (flag == "-c" || flag == "--command")
        && wrapper.text.contains(&"c")
    {
        return shells::code(eval, state, crate::code::Language::Shell, text, call, &[]);
    }
    // `aws-vault exec prod --no-session -- aws …`: options may follow the operand too.
    if wrapper.skip > 0
        && rest.first().is_some_and(|first| first.starts_with('-'))
        && let Some(at) = rest.iter().position(|word| word == "--")
    {
        rest = &rest[at..];
    }
    while let Some(first) = rest.first()
        && (first == "--" || is_assignment(first))
    {
        rest = &rest[1..];
    }
    if rest.is_empty() {
        return Stream::Data(Tags::NONE);
    }
    if wrapper.joins {
        // `hyperfine 'a' 'b'` and `concurrently 'a' 'b'` run each; `watch a b` runs them as one.
        let lines = if matches!(call.name, "hyperfine" | "concurrently") {
            rest.to_vec()
        } else {
            vec![rest.join(" ")]
        };
        // `concurrently npm:dev:*` names scripts.
        let scripts = ["npm:", "yarn:", "pnpm:", "bun:", "node:", "deno:"];
        for line in lines {
            if call.name == "concurrently" && scripts.iter().any(|script| line.starts_with(script)) {
                continue;
            }
            shells::code(eval, state, crate::code::Language::Shell, &line, call, &[]);
        }
        return Stream::Data(Tags::NONE);
    }
    // `uv run -` and `uv run script.py` do not name the interpreter.
    if call.name == "uv" && (rest[0] == "-" || rest[0].ends_with(".py")) {
        let words: Vec<String> = std::iter::once("python".to_owned()).chain(rest.iter().cloned()).collect();
        return eval.call(&mut state.clone(), &words, call.stdin, call.output_used);
    }
    // `builtin` ignores functions of the same name.
    if call.name == "builtin" {
        return crate::programs::run(eval, state, rest, call.stdin, call.output_used);
    }
    // `exec` acts on the shell itself, the others on a process of their own.
    if matches!(call.name, "exec" | "noglob" | "nocorrect") {
        return eval.call(state, rest, call.stdin, call.output_used);
    }
    eval.call(&mut state.clone(), rest, call.stdin, call.output_used)
}

/// `gdb -ex 'shell …'`, `-ex '!…'`: the shell text, if the debugger command contains one.
fn debugger_escape<'t>(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    text: &'t str,
    call: &Call<'_>,
) -> Option<&'t str> {
    let text = text.trim_start();
    if let Some(program) =
        ["python ", "py ", "pi ", "script "].iter().find_map(|word| text.strip_prefix(word))
    {
        shells::code(eval, state, crate::code::Language::Python, program, call, &[]);
    }
    ["shell ", "!", "platform shell ", "make "].iter().find_map(|word| text.strip_prefix(word))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// `env [-i] [-u NAME] [-C DIR] [-S TEXT] [NAME=value]… [command]`
pub(crate) fn env_command(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let mut inner = state.clone();
    let mut words: Vec<String> = call.args().to_vec();
    let mut at = 0;
    while at < words.len() {
        let word = words[at].clone();
        let next = words.get(at + 1).cloned();
        match word.as_str() {
            "-u" | "--unset" => {
                if let Some(name) = next {
                    if name == "HISTFILE" {
                        call.report(eval, state, &rules::HISTORY);
                    }
                    inner.unset(&name);
                }
                at += 2;
            }
            "-C" | "--chdir" => {
                chdir(eval, &mut inner, &next.unwrap_or_default());
                at += 2;
            }
            "-S" | "--split-string" => {
                let text = next.unwrap_or_default();
                words.splice(at..(at + 2).min(words.len()), split_string(&text));
            }
            "-P" => at += 2,
            // `-iS 'text'`: the preceding letters take no value.
            word if is_cluster(word) => {
                let rest = word[1..].trim_start_matches(['i', '0', 'v']);
                words[at] = format!("-{rest}");
            }
            word if word.starts_with("--split-string=") => {
                let text = word["--split-string=".len()..].to_owned();
                words.splice(at..=at, split_string(&text));
            }
            word if word.starts_with("-S") => {
                let text = word["-S".len()..].to_owned();
                words.splice(at..=at, split_string(&text));
            }
            word if word.starts_with("-C") => {
                chdir(eval, &mut inner, &word["-C".len()..]);
                at += 1;
            }
            word if word.starts_with("--chdir=") => {
                chdir(eval, &mut inner, &word["--chdir=".len()..]);
                at += 1;
            }
            "--" => {
                at += 1;
                break;
            }
            word if word.starts_with('-') => at += 1,
            word if is_assignment(word) => {
                if let Some((name, value)) = word.split_once('=') {
                    let (name, value) = (name.to_owned(), value.to_owned());
                    eval.set_variable(&mut inner, &name, value);
                }
                at += 1;
            }
            _ => break,
        }
    }
    while words.get(at).is_some_and(|word| is_assignment(word)) {
        at += 1;
    }
    match words.get(at..) {
        Some(command) if !command.is_empty() => eval.call(&mut inner, command, call.stdin, call.output_used),
        // The whole environment, which must not leave this machine.
        _ => Stream::Data(Tags::SECRET),
    }
}

/// A flag of `env` followed by more letters, such as `-iS` and `-0u`.
fn is_cluster(word: &str) -> bool {
    let flags = word.strip_prefix('-').unwrap_or("");
    flags.starts_with(['i', '0', 'v']) && !flags.trim_start_matches(['i', '0', 'v']).is_empty()
}

fn chdir(eval: &mut Evaluator<'_>, state: &mut ShellState, dir: &str) {
    let dir = match eval.resolve(state, dir) {
        ResolvedPath::Known(path) => Some(eval.locations.real(&path, true)),
        _ => None,
    };
    state.go(vec![dir]);
}

/// The words of `env -S`: blanks and quotes, but no expansions.
fn split_string(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut open, mut quote) = (false, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\\', _) => {
                match chars.next() {
                    Some('_') => word.push(' '),
                    Some(c) => word.push(c),
                    None => {}
                }
                open = true;
            }
            ('\'' | '"', None) => {
                quote = Some(c);
                open = true;
            }
            (c, None) if c.is_whitespace() => {
                if std::mem::take(&mut open) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (c, _) => {
                word.push(c);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    words
}

/// `command rm` runs it, `command -v rm` only asks where it is.
pub(crate) fn command(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { stops: true, ..Spec::default() });
    if options.has(&["v", "V"]) {
        return match options.operands.first() {
            Some(name) if call.output_used => Stream::text(format!("{name}\n")),
            _ => Stream::Data(Tags::NONE),
        };
    }
    let rest = call.args().get(options.rest..).unwrap_or(&[]);
    if rest.is_empty() {
        return Stream::None;
    }
    // Aliases and functions are ignored here.
    crate::programs::run(eval, state, rest, call.stdin, call.output_used)
}

/// `busybox rm`, `toybox sh -c …`
pub(crate) fn multicall(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    match call.args().first() {
        Some(first) if !first.starts_with('-') => {
            eval.call(&mut state.clone(), call.args(), call.stdin, call.output_used)
        }
        _ => Stream::Data(Tags::NONE),
    }
}
