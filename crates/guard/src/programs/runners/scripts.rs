//! Scripts in the project that the line runs: shell scripts, make targets, package scripts. They are read one level
//! deep and judged like the line itself, except that what is merely unknown in them does not count: a script is full of
//! variables, and asking about each of them would only teach people to say yes.

use crate::code::Language;
use crate::eval::Evaluator;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{Machine, ShellState};
use crate::eval::value::{Stream, Tags, has_special};
use crate::paths;
use crate::paths::Zone;
use crate::programs::{Call, Spec};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many further positional parameters a script is assumed to get.
const UNKNOWN_PARAMETERS: usize = 9;
/// No more targets than this are followed from one goal.
const MAX_MAKE_TARGETS: usize = 200;
/// Variables that contain variables are followed this deep.
const MAX_SCRIPT_DEPTH: usize = 8;

/// Programs that run a named script from another file.
pub(crate) fn named(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    match call.name {
        "npm" | "pnpm" | "yarn" | "bun" => package(eval, state, call),
        _ => {}
    }
}

/// `./deploy.sh`: the file itself, if it is a shell script.
pub(crate) fn program(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    let path = call.argv[0].as_str();
    if let Some(text) = text_of(eval, state, path)
        && is_shell(&text, path)
    {
        run(eval, state, &text, path, call.args(), call);
    }
}

/// Whether a file is shell text, judging by its first line or its name.
fn is_shell(text: &str, path: &str) -> bool {
    let first = text.lines().next().unwrap_or("");
    match first.strip_prefix("#!") {
        Some(program) => program.contains("sh") && Language::of_shebang(text) == Language::Shell,
        None => path.ends_with(".sh") || path.ends_with(".bash"),
    }
}

/// The text of a file in the project.
pub(crate) fn text_of(eval: &mut Evaluator<'_>, state: &ShellState, path: &str) -> Option<String> {
    if state.machine != Machine::Local || eval.script.is_some() {
        return None;
    }
    let ResolvedPath::Known(path) = eval.resolve(state, path) else { return None };
    if has_special(&path) {
        return None;
    }
    let real = eval.locations.real(&path, true);
    if eval.locations.zone(&real) != Zone::Inside || eval.written_files.contains_key(&real) {
        return None;
    }
    eval.locations.files.read(&real).filter(|text| !text.contains('\0'))
}

/// Judges a script's text as a separate shell would run it.
pub(crate) fn run(
    eval: &mut Evaluator<'_>,
    state: &ShellState,
    text: &str,
    name: &str,
    args: &[String],
    call: &Call<'_>,
) -> Stream {
    let mut inner = state.clone();
    inner.set("0", name.to_owned());
    let mut args = args.to_vec();
    args.extend(
        (args.len()..UNKNOWN_PARAMETERS)
            .map(|at| eval.origins.hole(format!("${}", at + 1), Tags::NOT_EMPTY).to_string()),
    );
    within(eval, name, text, |eval| eval.process(&inner, text, &args, call.stdin, call.output_used))
}

/// Attributes everything that `judge` finds to the script `name`.
fn within<T>(
    eval: &mut Evaluator<'_>,
    name: &str,
    text: &str,
    judge: impl FnOnce(&mut Evaluator<'_>) -> T,
) -> T {
    eval.script = Some(name.to_owned());
    eval.sources_more = text.lines().any(|line| {
        let line = line.trim_start();
        ["source ", ". ", "include ", "-include "].iter().any(|word| line.starts_with(word))
    });
    let out = judge(eval);
    eval.script = None;
    out
}

/// `npm run build`, `yarn build`, `npm test`: the scripts in the nearest package.json, with those that npm runs before
/// and after.
fn package(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    let options = call.options(Spec {
        short: "CwF",
        long: &["prefix", "dir", "cwd", "workspace", "filter", "loglevel"],
        stops: false,
    });
    if options.has(&["workspace", "workspaces", "filter", "w", "F", "r", "recursive"]) {
        return;
    }
    let (name, given) = match options.operands.as_slice() {
        ["run" | "run-script" | "rum" | "urn", name, rest @ ..] => (*name, rest),
        ["t" | "tst", rest @ ..] => ("test", rest),
        [name @ ("test" | "start" | "stop" | "restart"), rest @ ..] => (*name, rest),
        ["ci" | "install" | "i" | "add", ..] | []
            if !options.has(&["ignore-scripts", "version", "help", "g"]) =>
        {
            ("install", &[][..])
        }
        [name, rest @ ..] if call.name != "npm" => (*name, rest),
        _ => return,
    };
    let start = options.value(&["prefix", "C", "dir", "cwd"]).unwrap_or(".");
    let (dir, manifest) = nearest(eval, state, start, "package.json").unwrap_or_default();
    let manifest = serde_json::from_str::<Value>(&manifest).unwrap_or_default();
    // `yarn prisma migrate reset`: there is no script of that name, so it is a program of the project.
    // `npm run cdk -- destroy`: a script that cannot be read is probably named after its program.
    let is_program = call.name != "npm" || !given.is_empty();
    if is_program && manifest["scripts"][name].as_str().is_none() {
        let argv: Vec<String> =
            std::iter::once(name).chain(given.iter().copied()).map(str::to_owned).collect();
        let argv = call
            .args()
            .iter()
            .position(|arg| *arg == argv[0])
            .map_or(argv.as_slice(), |at| &call.args()[at..]);
        crate::programs::named_rules(eval, state, &Call { name, argv, ..*call });
        return;
    }
    let mut inner = state.clone();
    inner.go(vec![Some(dir)]);
    for part in [format!("pre{name}"), name.to_owned(), format!("post{name}"), "prepare".to_owned()] {
        if part == "prepare" && name != "install" {
            continue;
        }
        let Some(text) = manifest["scripts"][&part].as_str() else { continue };
        let mut text = text.to_owned();
        if part == name {
            for word in given {
                text.push(' ');
                text.push_str(&crate::eval::quote(word));
            }
        }
        let shown = format!("package.json, script {part}");
        within(eval, &shown, &text, |eval| eval.process(&inner, &text, &[], &Stream::None, false));
    }
}

/// The nearest file of this name at or above a directory, inside the project.
fn nearest(
    eval: &mut Evaluator<'_>,
    state: &ShellState,
    start: &str,
    name: &str,
) -> Option<(String, String)> {
    let ResolvedPath::Known(start) = eval.resolve(state, start) else { return None };
    let mut dir = eval.locations.real(&start, true);
    loop {
        if let Some(text) = text_of(eval, state, &format!("{dir}/{name}")) {
            return Some((dir, text));
        }
        if dir.is_empty() || eval.locations.projects.contains(&dir) {
            return None;
        }
        dir.truncate(paths::parent(&dir).len());
    }
}

/// `make target`: the recipes of the target and of its prerequisites.
pub(crate) fn make(
    eval: &mut Evaluator<'_>,
    state: &ShellState,
    dir: &str,
    files: &[&str],
    operands: &[&str],
) {
    let mut found = None;
    for file in files {
        let path = if file.starts_with('/') { (*file).to_owned() } else { format!("{dir}/{file}") };
        if let Some(text) = text_of(eval, state, &path) {
            found = Some(text);
            break;
        }
    }
    let (Some(text), ResolvedPath::Known(dir)) = (found, eval.resolve(state, dir)) else { return };
    let dir = eval.locations.real(&dir, true);
    let mut makefile = Makefile::read(&text);
    for word in operands {
        if let Some((name, value)) = word.split_once('=') {
            makefile.variables.insert(name.trim_end_matches([':', '?', '+']).to_owned(), value.to_owned());
        }
    }
    makefile.variables.insert("CURDIR".into(), dir.clone());
    let mut inner = state.clone();
    inner.go(vec![Some(dir)]);
    let mut goals: Vec<String> =
        operands.iter().filter(|word| !word.contains('=')).map(|word| (*word).to_owned()).collect();
    if goals.is_empty() {
        goals.extend(makefile.first.clone());
    }
    let mut seen = Vec::new();
    while let Some(goal) = goals.pop() {
        if seen.contains(&goal) || seen.len() > MAX_MAKE_TARGETS || !eval.tick() {
            continue;
        }
        let Some(target) = makefile.targets.get(&goal) else { continue };
        let shown = format!("Makefile, target {goal}");
        for line in &target.recipe {
            let line = makefile.expand(eval, line, &goal, MAX_SCRIPT_DEPTH);
            within(eval, &shown, &text, |eval| eval.process(&inner, &line, &[], &Stream::None, false));
        }
        goals.extend(target.needs.iter().cloned());
        seen.push(goal);
    }
}

#[derive(Default, Debug)]
struct MakeTarget {
    needs: Vec<String>,
    recipe: Vec<String>,
}

/// A Makefile, as far as it can be read without being make.
#[derive(Default, Debug)]
struct Makefile {
    variables: BTreeMap<String, String>,
    targets: BTreeMap<String, MakeTarget>,
    first: Option<String>,
}

impl Makefile {
    fn read(text: &str) -> Makefile {
        let mut makefile = Makefile::default();
        let mut current: Vec<String> = Vec::new();
        for line in text.replace("\\\n", " ").lines() {
            if let Some(recipe) = line.strip_prefix('\t') {
                makefile.recipe(&current, recipe);
                continue;
            }
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let equals = line.find('=');
            let colon = line.find(':').filter(|at| equals.is_none_or(|equals| *at + 1 < equals));
            match (colon, equals) {
                (Some(colon), _) if !line[colon..].starts_with("::=") => {
                    let (names, rest) = (&line[..colon], line[colon + 1..].trim_start_matches(':'));
                    let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
                    current = names.split_whitespace().map(str::to_owned).collect();
                    for name in &current {
                        if makefile.first.is_none() && !name.starts_with('.') && !name.contains('%') {
                            makefile.first = Some(name.clone());
                        }
                        let target = makefile.targets.entry(name.clone()).or_default();
                        target.needs.extend(needs.split_whitespace().map(str::to_owned));
                    }
                    if !recipe.trim().is_empty() {
                        makefile.recipe(&current, recipe);
                    }
                }
                (_, Some(equals)) => {
                    let name = line[..equals].trim_end_matches([':', '?', '+', '!', ' ']);
                    let name = name.trim_start_matches("export ").trim_start_matches("override ").trim();
                    makefile.variables.insert(name.to_owned(), line[equals + 1..].trim().to_owned());
                }
                _ => {}
            }
        }
        makefile
    }

    fn recipe(&mut self, targets: &[String], line: &str) {
        let line = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
        for name in targets {
            if let Some(target) = self.targets.get_mut(name) {
                target.recipe.push(line.to_owned());
            }
        }
    }

    /// A recipe line with make's variables filled in; what is unknown becomes a hole.
    fn expand(&self, eval: &mut Evaluator<'_>, line: &str, goal: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let Some(c) = rest.chars().next() else { break };
            let close = match c {
                '(' => matching(rest, '(', ')'),
                '{' => matching(rest, '{', '}'),
                _ => None,
            };
            let (name, length) = match close {
                Some(close) => (&rest[1..close], close + 1),
                None => (&rest[..c.len_utf8()], c.len_utf8()),
            };
            match name {
                "$" => out.push('$'),
                "@" | "*" => out.push_str(goal),
                "MAKE" => out.push_str("make"),
                "RM" => out.push_str("rm -f"),
                "HOME" => out.push_str(&eval.locations.home.clone()),
                "PWD" => out.push_str(self.variables.get("CURDIR").map_or(".", String::as_str)),
                name => match self.variables.get(name) {
                    Some(value) if depth > 0 => {
                        let value = self.expand(eval, value, goal, depth - 1);
                        out.push_str(&value);
                    }
                    _ => {
                        // A function or a list of files is never empty; a plain variable may be.
                        let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_') && name.len() > 1;
                        let tags = if plain { Tags::NONE } else { Tags::NOT_EMPTY };
                        out.push(eval.origins.hole(format!("$({name})"), tags));
                    }
                },
            }
            rest = &rest[length..];
        }
        out + rest
    }
}

/// Where the bracket that starts `text` closes.
fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makefiles_are_read_as_targets_and_variables() {
        let makefile = Makefile::read(
            "OUT := build\nexport DIR ?= $(OUT)/x\n.PHONY: all\nall: one two # both\n\t@echo a \\\n\t  b\none two:\n\trm -rf $(DIR)\nthree: ; ls\n",
        );
        assert_eq!(makefile.first.as_deref(), Some("all"));
        assert_eq!(makefile.variables["DIR"], "$(OUT)/x");
        assert_eq!(makefile.targets["all"].needs, ["one", "two"]);
        assert_eq!(makefile.targets["all"].recipe.len(), 1);
        assert_eq!(makefile.targets["two"].recipe, ["rm -rf $(DIR)"]);
        assert_eq!(makefile.targets["three"].recipe, ["ls"]);
    }
}
