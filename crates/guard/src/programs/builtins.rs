//! Shell builtins that change what later commands mean.

use crate::code::Language;
use crate::eval::Evaluator;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{ShellState, Var};
use crate::eval::value;
use crate::eval::value::{Stream, Tags};
use crate::paths;
use crate::programs::runners::shells;
use crate::programs::{Call, Options, Spec};
use crate::rules;
use crate::rules::names;
use std::rc::Rc;

pub(super) fn cd(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    let target = options.operands.first().copied();
    let dir = match target {
        None => Some(eval.locations.home.clone()),
        Some("-") => {
            let old = state.old_cwd.clone();
            state.go(old.as_ref().clone());
            return Stream::None;
        }
        // It may lead to a directory of that name elsewhere.
        Some(target) if state.vars.contains_key("CDPATH") && !target.starts_with(['/', '.']) => None,
        Some(target) => directory(eval, state, target),
    };
    state.go(vec![dir]);
    Stream::None
}

/// Where `cd target` leads. The shell resolves `..` along the path as typed, so links are kept.
fn directory(eval: &mut Evaluator<'_>, state: &ShellState, target: &str) -> Option<String> {
    match eval.resolve(state, target) {
        ResolvedPath::Known(path) if value::has_glob(&path) => {
            let matched = eval.glob_path(&path);
            match matched.as_slice() {
                [one] => Some(one.clone()),
                _ => None,
            }
        }
        ResolvedPath::Known(path) => {
            let mut parts: Vec<&str> = Vec::new();
            for part in paths::split(&path) {
                if part == ".." {
                    parts.pop();
                } else {
                    parts.push(part);
                }
            }
            Some(parts.iter().map(|part| format!("/{part}")).collect())
        }
        _ => None,
    }
}

pub(super) fn pushd(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    let before = state.cwd.clone();
    let dirs = match options.operands.first() {
        Some(target) => vec![directory(eval, state, target)],
        None => state.dirs.pop().map_or_else(|| vec![None], |dirs| dirs.as_ref().clone()),
    };
    state.dirs.push(before);
    state.go(dirs);
    Stream::None
}

pub(super) fn popd(_: &mut Evaluator<'_>, state: &mut ShellState, _: &Call<'_>) -> Stream {
    let dirs = state.dirs.pop().map_or_else(|| vec![None], |dirs| dirs.as_ref().clone());
    state.go(dirs);
    Stream::None
}

/// `export`, `declare`, `local`, `readonly`, `typeset`
pub(super) fn declare(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let by_name = call.args().iter().any(|arg| arg.starts_with('-') && arg.contains('n'))
        && matches!(call.name, "declare" | "typeset" | "local");
    for arg in call.args() {
        if let Some((name, value)) = arg.split_once('=')
            && !name.starts_with('-')
        {
            let name = name.trim_end_matches('+');
            if by_name {
                // Another name for a variable: its value is not followed, so it may be anything.
                let hole = eval.origins.hole(format!("${name}"), Tags::NONE).to_string();
                state.set(name, hole);
            } else {
                eval.set_variable(state, name, value.to_owned());
            }
        }
    }
    // `export -p`, `declare -x`: without a name they print all variables.
    if call.args().iter().all(|arg| arg.starts_with('-') && !arg.contains(['f', 'F'])) {
        return Stream::Data(Tags::SECRET);
    }
    Stream::None
}

pub(super) fn unset(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    for name in options.operands {
        if name == "HISTFILE" {
            call.report(eval, state, &rules::HISTORY);
        }
        if options_have_f(call) {
            Rc::make_mut(&mut state.functions).remove(name);
        } else {
            state.unset(name);
        }
    }
    Stream::None
}

fn options_have_f(call: &Call<'_>) -> bool {
    call.args().iter().any(|arg| arg == "-f")
}

pub(super) fn alias(_: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    for arg in call.args() {
        if let Some((name, text)) = arg.split_once('=') {
            Rc::make_mut(&mut state.aliases).insert(name.to_owned(), text.to_owned());
        }
    }
    Stream::None
}

pub(super) fn unalias(_: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let aliases = Rc::make_mut(&mut state.aliases);
    for arg in call.args() {
        if arg == "-a" {
            aliases.clear();
        }
        aliases.remove(arg);
    }
    Stream::None
}

pub(super) fn set(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let args = call.args();
    let off = args
        .windows(2)
        .any(|pair| pair[0].starts_with('+') && pair[0].ends_with('o') && pair[1] == "history");
    if off {
        call.report(eval, state, &rules::HISTORY);
    }
    // Without arguments it prints every variable.
    if args.is_empty() && call.name == "set" {
        return Stream::Data(Tags::SECRET);
    }
    let operands = match args.iter().position(|arg| arg == "--") {
        Some(at) => Some(&args[at + 1..]),
        None if args.first().is_some_and(|arg| !arg.starts_with(['-', '+'])) => Some(args),
        None => None,
    };
    if let Some(operands) = operands {
        state.args = Rc::new(operands.to_vec());
    }
    Stream::None
}

pub(super) fn shift(_: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let count: usize = call.args().first().and_then(|arg| arg.parse().ok()).unwrap_or(1);
    let rest = state.args.iter().skip(count).cloned().collect();
    state.args = Rc::new(rest);
    Stream::None
}

pub(super) fn leave(_: &mut Evaluator<'_>, state: &mut ShellState, _: &Call<'_>) -> Stream {
    state.ended = true;
    Stream::None
}

/// `read a b`: the words of known text, otherwise what is known about the stream.
pub(super) fn read(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "adinNptu", ..Spec::default() });
    let array = options.value(&["a"]);
    let names: Vec<&str> = match array {
        Some(name) => vec![name],
        None if options.operands.is_empty() => vec!["REPLY"],
        None => options.operands.clone(),
    };
    match call.stdin {
        Stream::Text(text, _) => {
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            if array.is_some() {
                let words =
                    lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect();
                state.put(names[0], Var::Array(words));
                return Stream::None;
            }
            for (at, name) in names.iter().enumerate() {
                let values = lines.iter().map(|line| {
                    if names.len() == 1 {
                        return line.trim().to_owned();
                    }
                    let mut words = line.split_whitespace();
                    let word = words.nth(at).unwrap_or_default();
                    if at + 1 == names.len() {
                        let rest: Vec<&str> = std::iter::once(word).chain(words).collect();
                        return rest.join(" ");
                    }
                    word.to_owned()
                });
                let values: Vec<String> = values.collect();
                eval.set_values(state, name, values);
            }
        }
        stream => {
            let tags = stream.tags();
            for name in names {
                let hole = eval.origins.hole(format!("${name}"), tags);
                state.set(name, hole.to_string());
            }
        }
    }
    Stream::None
}

pub(super) fn mapfile(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "dnOsuCc", ..Spec::default() });
    let name = options.operands.first().copied().unwrap_or("MAPFILE");
    let items = match call.stdin {
        Stream::Text(text, _) => text.lines().map(str::to_owned).collect(),
        stream => vec![eval.origins.hole(format!("${name}"), stream.tags()).to_string()],
    };
    state.put(name, Var::Array(items));
    Stream::None
}

pub(super) fn eval(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let args = match call.args() {
        [first, rest @ ..] if first == "--" => rest,
        args => args,
    };
    let text = args.join(" ");
    shells::text(eval, state, &text, call)
}

/// `source file`, `. file`
pub(super) fn source(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let Some(file) = call.args().iter().find(|arg| *arg != "--") else { return Stream::None };
    shells::file(eval, state, Language::Shell, file, &[], call);
    Stream::None
}

pub(super) fn trap(_: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = Options::read(call.args(), Spec { stops: true, ..Spec::default() });
    if let [text, _signal, ..] = options.operands.as_slice()
        && *text != "-"
        && !text.is_empty()
    {
        state.traps.push((*text).to_owned());
    }
    Stream::None
}

/// `printenv`: one variable, or all of them.
pub(super) fn printenv(_: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    let names: Vec<&String> = call.args().iter().filter(|arg| !arg.starts_with('-')).collect();
    let secret =
        |name: &&String| name.to_uppercase().split('_').any(|part| names::SECRET_VARIABLES.contains(&part));
    Stream::Data(if names.is_empty() || names.iter().any(|name| *name != "PWD" && secret(name)) {
        Tags::SECRET
    } else {
        Tags::NONE
    })
}
