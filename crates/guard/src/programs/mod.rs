//! What programs do with their arguments: one table from names to handlers. A program that is not in the table passes,
//! unless a rule pack names it.

mod builtins;
mod databases;
mod files;
mod git;
pub(crate) mod network;
mod options;
mod printing;
mod runners;
mod system;
mod table;

use crate::code::Language;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{Machine, ShellState};
use crate::eval::value;
use crate::eval::value::{Stream, Tags};
use crate::eval::{Evaluator, glob};
use crate::programs::options::{Options, Spec};
use crate::programs::runners::{scripts, shells};
use crate::rules;
use crate::rules::pattern::CommandWords;
use crate::rules::{Rule, names};

/// One command as its program would see it.
pub(crate) struct Call<'c> {
    pub name: &'c str,
    pub argv: &'c [String],
    pub stdin: &'c Stream,
    /// Another command reads its output.
    pub output_used: bool,
}

impl<'c> Call<'c> {
    pub(crate) fn args(&self) -> &'c [String] {
        &self.argv[1..]
    }

    pub(crate) fn options(&self, spec: Spec<'_>) -> Options<'c> {
        Options::read(self.args(), spec)
    }

    /// For the reason shown to the user.
    pub(crate) fn show(&self) -> String {
        let mut text = String::new();
        for word in self.argv {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            if text.len() > 300 {
                break;
            }
        }
        text
    }

    /// Reports what a rule says about this command.
    pub(crate) fn report(&self, eval: &mut Evaluator<'_>, state: &ShellState, rule: &'static Rule) {
        eval.report(&state.machine, rule, self.show());
    }

    /// What a filter passes on.
    pub(crate) fn filtered(&self) -> Stream {
        Stream::Data(self.stdin.tags().only(Tags::FLOWING))
    }
}

pub(crate) type Handler = fn(&mut Evaluator<'_>, &mut ShellState, &Call<'_>) -> Stream;

/// If a glob matches more programs than this, they are not looked at one by one.
const MAX_GLOBBED_PROGRAMS: usize = 16;

/// Shows one command to the rules of its program.
pub(crate) fn run(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    argv: &[String],
    stdin: &Stream,
    output_used: bool,
) -> Stream {
    let full = argv[0].as_str();
    // The scope of a package is part of its name: `npx @changesets/cli`.
    let base = if full.starts_with('@') { full } else { full.rsplit('/').next().unwrap_or(full) };
    if value::has_hole(base) {
        return unknown_program(eval, state, full, argv);
    }
    if value::has_glob(full) {
        return globbed_program(eval, state, argv, stdin, output_used);
    }
    let mut plain = plain_name(base);
    if let Some(other) = linked_program(eval, state, full, &plain) {
        plain = other;
    }
    let call = Call { name: &plain, argv, stdin, output_used };
    if full.contains('/')
        && let Some(content) = eval.content_to_run(state, full)
    {
        run_made_file(eval, state, &content, &call);
    } else if full.contains('/') && table::find(&plain).is_none() {
        scripts::program(eval, state, &call);
    }
    scripts::named(eval, state, &call);
    named_rules(eval, state, &call);
    databases::prompt(eval, state, &call);
    let out = match table::find(&plain) {
        Some(handler) => handler(eval, state, &call),
        None => {
            unknown_wrapper(eval, state, &call);
            call.filtered()
        }
    };
    printed_secret(eval, &call, out)
}

/// The rules of the form "this program with these words".
fn named_rules(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    let rows = rules::about(rules::NAMED, call.name, |row| row.0);
    if rows.is_empty() {
        return;
    }
    let words = CommandWords::read(call.name, call.args());
    if words.helps {
        return;
    }
    for (_, pattern, rule) in rows {
        if words.fit(pattern) && !rule.unless_env.iter().any(|setting| state.holds(setting)) {
            eval.report_match(&state.machine, rule, call.show(), pattern);
        }
    }
}

/// `gh auth token`: its output is a secret, wherever it goes.
fn printed_secret(eval: &mut Evaluator<'_>, call: &Call<'_>, out: Stream) -> Stream {
    let rows = rules::about(rules::SECRETS, call.name, |row| row.0);
    if rows.is_empty() || !call.output_used {
        return out;
    }
    let words = CommandWords::read(call.name, call.args());
    let Some((_, _, hosts)) = rows.iter().find(|(_, pattern, _)| words.fit(pattern)) else { return out };
    if hosts.is_empty() {
        eval.any_host = true;
    }
    eval.token_hosts.extend_from_slice(hosts);
    Stream::Data(out.tags().and(Tags::SECRET))
}

/// The name of a system program, if the rules know it.
fn known_program(path: &str) -> Option<String> {
    let of_machine = ["/bin/", "/sbin/", "/usr/", "/opt/"].iter().any(|dir| path.starts_with(dir));
    let name = plain_name(path.rsplit('/').next()?);
    (of_machine && table::find(&name).is_some()).then_some(name)
}

/// `ln -s /usr/bin/sudo s; ./s id`: the program behind a link with another name.
fn linked_program(eval: &mut Evaluator<'_>, state: &ShellState, full: &str, plain: &str) -> Option<String> {
    if !full.contains('/') || table::find(plain).is_some() {
        return None;
    }
    let ResolvedPath::Known(path) = eval.resolve(state, full) else { return None };
    let real = eval.locations.real(&path, true);
    known_program(&real).filter(|_| real != path)
}

/// Whether `name` is a shell or an interpreter.
pub(crate) fn is_shell(name: &str) -> bool {
    let name = plain_name(name.rsplit('/').next().unwrap_or(name));
    matches!(
        name.as_str(),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "python" | "perl" | "ruby" | "node" | "php"
    )
}

/// The name under which the rules know a command's program.
pub(crate) fn name_of(word: &str) -> String {
    plain_name(word.rsplit('/').next().unwrap_or(word))
}

/// The common name of a program: without path, version or vendor prefix.
fn plain_name(base: &str) -> String {
    let mut name = base.strip_suffix(".exe").unwrap_or(base);
    if cfg!(any(target_os = "macos", windows)) && name.chars().any(char::is_uppercase) {
        return plain_name(&name.to_lowercase());
    }
    // `npx cdk@2`, `uvx twine==6.0`
    if let Some(at) = name.get(1..).and_then(|rest| rest.find(['@', '='])) {
        name = &name[..at + 1];
    }
    if let Some(stem) = names::VERSIONED_PROGRAMS.iter().find(|stem| {
        name.strip_prefix(**stem).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'))
        })
    }) {
        name = stem;
    }
    let makes_system = name.starts_with("mkfs.") || name.starts_with("newfs_");
    if makes_system {
        name = "mkfs";
    }
    if name.starts_with("ld-linux") || name.starts_with("ld-musl") {
        name = "ld.so";
    }
    if let Some(other) =
        names::PROGRAM_ALIASES.iter().find_map(|alias| alias.strip_prefix(name)?.strip_prefix('='))
    {
        name = other;
    }
    if name.starts_with('@') {
        name = name.rsplit('/').next().unwrap_or(name);
    }
    if let Some(gnu) = name.strip_prefix('g')
        && names::GNU_PROGRAMS.contains(&gnu)
    {
        name = gnu;
    }
    name.to_owned()
}

fn unknown_program(eval: &mut Evaluator<'_>, state: &mut ShellState, full: &str, argv: &[String]) -> Stream {
    let tags = eval.origins.tags(full);
    let subject = argv.join(" ");
    let rule = if tags.has(Tags::DOWNLOAD) {
        &rules::NETWORK_SHELL
    } else if tags.has(Tags::DECODED) {
        &rules::NETWORK_DECODED
    } else if tags.has(Tags::HAS_DEFAULT.and(Tags::TRUSTED).and(Tags::LOCAL_FILE)) {
        // The default is judged separately; the others are as trustworthy as a script on this disk.
        return Stream::Data(Tags::NONE);
    } else {
        &rules::SHELL_UNKNOWN_COMMAND
    };
    eval.report(&state.machine, rule, subject);
    Stream::Data(Tags::NONE)
}

/// `/bin/r? -rf /`: whatever the glob matches on this disk.
fn globbed_program(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    argv: &[String],
    stdin: &Stream,
    output_used: bool,
) -> Stream {
    let mut matched = Vec::new();
    if let ResolvedPath::Known(path) = eval.resolve(state, &argv[0]) {
        matched = eval.glob_path(&path);
    }
    // The machine's disk may have programs that this one does not show.
    let last = argv[0].rsplit('/').next().unwrap_or("");
    matched.extend(table::names().filter(|name| glob::matches_visible(last, name)).map(str::to_owned));
    if matched.is_empty() || matched.len() > MAX_GLOBBED_PROGRAMS {
        eval.report(&state.machine, &rules::SHELL_UNKNOWN_COMMAND, argv.join(" "));
    }
    let mut out = Stream::Data(Tags::NONE);
    for path in matched.into_iter().take(MAX_GLOBBED_PROGRAMS) {
        let mut argv = argv.to_vec();
        argv[0] = path;
        out = eval.call(state, &argv, stdin, output_used);
    }
    out
}

/// A file that the line itself wrote or downloaded and now runs.
fn run_made_file(eval: &mut Evaluator<'_>, state: &mut ShellState, content: &Stream, call: &Call<'_>) {
    match content {
        Stream::Text(text, tags) if !tags.has(Tags::DECODED) => {
            let language = Language::of_shebang(text);
            shells::code(eval, state, language, text, call, call.args());
        }
        content => shells::run_stored(eval, state, content.tags(), call),
    }
}

/// An unknown program that is given a dangerous command, word by word.
fn unknown_wrapper(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) {
    let Some(at) =
        call.args().iter().position(|arg| matches!(arg.rsplit('/').next(), Some("rm" | "mkfs" | "dd")))
    else {
        return;
    };
    if state.machine != Machine::Local {
        return;
    }
    let before = eval.worst.take();
    eval.call(&mut state.clone(), &call.args()[at..], &Stream::None, false);
    let inner = std::mem::replace(&mut eval.worst, before);
    if inner.is_some_and(|finding| finding.decision == crate::Decision::Deny) {
        eval.report(&Machine::Local, &rules::SHELL_WRAPPED, call.show());
    }
}

/// Shell text run by a program in another language.
pub(crate) fn run_code_text(eval: &mut Evaluator<'_>, state: &mut ShellState, text: &str, subject: &str) {
    let argv = [subject.to_owned()];
    let call = Call { name: "", argv: &argv, stdin: &Stream::None, output_used: false };
    shells::text(eval, &mut state.clone(), text, &call);
}
