//! PowerShell (and `cmd /c`): the same policy, read more roughly. Statements are split at separators and brackets;
//! quotes and a few variables are understood. A command that is not a known cmdlet is judged like any other program.

mod parameters;
mod reader;

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{DEEP, Stream, Tags, activate, deactivate, has_hole};
use crate::powershell::parameters::Parameters;
use crate::powershell::reader::{PowerShellReader, PowerShellStatement, PowerShellWord, slashes};
use crate::rules;
use crate::rules::names;
use crate::sql;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CmdletEffect {
    Delete,
    Empty,
    Move,
    Copy,
    WriteKind,
    Read,
    List,
    Evaluate,
    Download,
    StopProcess,
    ListProcesses,
    StartProcess,
    Format,
    Power,
    History,
    Privilege,
    Location,
    /// Runs SQL.
    Query,
}
use CmdletEffect::*;

// `CMDLETS`: cmdlets and their aliases in lower case, sorted, from `rules/cmdlets.toml`.
include!(concat!(env!("OUT_DIR"), "/guard/cmdlets.rs"));

/// What the whole text tells about each of its statements.
struct CmdletCall<'t> {
    /// For the reason.
    subject: &'t str,
    downloads: bool,
    decodes: bool,
    names_history: bool,
    lists_processes: bool,
}

pub(crate) fn judge(eval: &mut Evaluator<'_>, state: &mut ShellState, text: &str) {
    let lower = text.to_lowercase();
    let mut reader = PowerShellReader::default();
    let statements = reader.read(eval, state, text);
    if reader.unfinished {
        eval.report(&state.machine, &rules::SHELL_UNREADABLE, text);
    }
    let downloads = words_of(&lower).any(|word| names::POWERSHELL_DOWNLOADS.contains(&word))
        || lower.contains("net.webclient");
    let decodes = lower.contains("frombase64string");
    if lower.contains("[scriptblock]::create") && (downloads || decodes) {
        eval.report(
            &state.machine,
            if downloads { &rules::NETWORK_SHELL } else { &rules::NETWORK_DECODED },
            text,
        );
    }
    static_calls(eval, state, &mut reader, text);
    let about = CmdletCall {
        subject: &headspace_core::text::one_line(text, 300),
        downloads,
        decodes,
        names_history: lower.contains("historysavepath"),
        lists_processes: lower.contains("get-process"),
    };
    let mut before: Option<(Option<CmdletEffect>, Vec<PowerShellWord>)> = None;
    for statement in &statements {
        if !eval.tick() {
            break;
        }
        let piped = if statement.bar { before.as_ref() } else { None };
        let does = run(eval, state, statement, piped, &about);
        before = Some((does, statement.words.clone()));
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
}

/// `[IO.File]::WriteAllText('path', …)` and similar calls.
fn static_calls(eval: &mut Evaluator<'_>, state: &mut ShellState, reader: &mut PowerShellReader, text: &str) {
    for (at, _) in text.match_indices("]::") {
        let rest = &text[at + 3..];
        if !eval.spend(8) {
            return;
        }
        // No method has a longer name, and searching the whole rest for each would be quadratic.
        let Some(open) = rest.bytes().take(64).position(|byte| byte == b'(') else { continue };
        let method = rest[..open].trim().to_lowercase();
        let path = rest[open + 1..].trim_start();
        let Some(quote) = path.chars().next().filter(|c| matches!(c, '\'' | '"')) else { continue };
        let path = path[1..].split(quote).next().unwrap_or("");
        let mut path = path.to_owned();
        if quote == '"' && path.contains('$') {
            let read = reader.read(eval, state, &format!("\"{path}\""));
            let word = read.first().and_then(|statement| statement.words.first());
            path = word.map_or(path, |word| word.text.clone());
        }
        let path = slashes(&path);
        match method.as_str() {
            "delete" => eval.delete(state, &path, text),
            "writealltext" | "writealllines" | "writeallbytes" | "appendalltext" | "create" | "openwrite" => {
                eval.write(state, &path, WriteKind::Overwrite, text);
            }
            "readalltext" | "readalllines" | "readallbytes" | "openread" => {
                eval.read(state, &path);
            }
            _ => {}
        }
    }
}

/// A path as a cmdlet takes it, with `~` for the home.
fn at_home(eval: &Evaluator<'_>, path: &str) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", eval.locations.home),
        _ => path.to_owned(),
    }
}

fn run(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    statement: &PowerShellStatement,
    piped: Option<&(Option<CmdletEffect>, Vec<PowerShellWord>)>,
    about: &CmdletCall<'_>,
) -> Option<CmdletEffect> {
    let subject = about.subject;
    let (first, rest) = statement.words.split_first()?;
    let name = first.text.to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name).rsplit(['/', '\\']).next().unwrap_or("").to_owned();
    let mut parameters = Parameters::read(rest);
    for path in
        parameters.positional.iter_mut().chain(parameters.named.iter_mut().filter_map(|(_, v)| v.as_mut()))
    {
        *path = at_home(eval, path);
    }
    for target in &parameters.redirects {
        eval.write(state, target, WriteKind::Overwrite, subject);
    }
    let machine = state.machine.clone();
    let found = CMDLETS.binary_search_by(|(known, _)| (*known).cmp(name.as_str()));
    let does = found.ok().map(|at| CMDLETS[at].1);
    if parameters.has("whatif") && parameters.named.iter().any(|(name, _)| name.starts_with("wh")) {
        return does;
    }
    match does {
        Some(Delete) => {
            let mut paths = parameters.paths();
            if paths.is_empty()
                && let Some((Some(List), words)) = piped
            {
                paths = listed(eval, words);
            }
            if paths.is_empty() && statement.bar {
                eval.report(&machine, &rules::DELETE_UNKNOWN, subject);
            }
            if about.names_history {
                eval.report(&machine, &rules::HISTORY, subject);
            }
            for path in paths {
                eval.delete(state, &path, subject);
            }
        }
        Some(Empty) => {
            for path in parameters.paths() {
                eval.write(state, &path, WriteKind::Empty, subject);
            }
        }
        Some(Move) => {
            let paths = parameters.paths();
            let target =
                parameters.value("destination", 1).or(paths.get(1).map(String::as_str)).map(str::to_owned);
            if let Some(source) = paths.first() {
                eval.delete(state, source, subject);
            }
            if let Some(target) = target {
                eval.write(state, &target, WriteKind::Replace, subject);
            }
        }
        Some(Copy) => {
            let paths = parameters.paths();
            if let Some(source) = paths.first() {
                eval.read(state, source);
            }
            if let Some(target) = parameters.value("destination", 1).or(paths.get(1).map(String::as_str)) {
                eval.write(state, target, WriteKind::Overwrite, subject);
            }
        }
        Some(WriteKind) => {
            if let Some(path) = parameters.paths().first() {
                eval.write(state, path, WriteKind::Overwrite, subject);
            }
        }
        Some(Read) => {
            for path in parameters.paths() {
                eval.read(state, &path);
            }
        }
        Some(Evaluate) => evaluate(eval, state, rest, about),
        Some(Download) => {
            if let Some(file) = parameters.value("infile", 3)
                && eval.is_secret(state, file)
            {
                eval.report(&machine, &rules::NETWORK_SECRET, subject);
            }
            if let Some(file) = parameters.value("outfile", 2).or(parameters.value("destination", 1)) {
                eval.write(state, file, WriteKind::Overwrite, subject);
                eval.remember(state, file, Stream::Data(Tags::DOWNLOAD), false);
            }
        }
        Some(StopProcess) => {
            let by_name =
                parameters.value("name", 1).is_some() || parameters.value("processname", 2).is_some();
            let found = matches!(piped, Some((Some(ListProcesses), _))) || about.lists_processes;
            let numbers =
                parameters.positional.iter().chain(parameters.named.iter().filter_map(|(_, v)| v.as_ref()));
            let known = numbers.clone().count() > 0
                && numbers.clone().all(|number| number.chars().all(|c| c.is_ascii_digit() || c == '%'));
            if by_name || found {
                eval.report(&machine, &rules::KILL_PATTERN, subject);
            } else if !known {
                eval.report(&machine, &rules::KILL_UNKNOWN, subject);
            }
        }
        Some(StartProcess) => {
            let elevated = parameters.value("verb", 1).is_some_and(|verb| verb.eq_ignore_ascii_case("runas"));
            if elevated {
                eval.report(&machine, &rules::PRIVILEGE, subject);
            }
            eval.call(&mut state.clone(), &parameters.positional, &Stream::None, false);
        }
        Some(Format) => {
            let disk = name != "format" || parameters.positional.iter().any(|word| word.ends_with(':'));
            if disk {
                eval.report(&machine, &rules::DISK_FORMAT, subject);
            }
        }
        Some(Power) => eval.report(&machine, &rules::SYSTEM_POWER, subject),
        Some(History) => eval.report(&machine, &rules::HISTORY, subject),
        Some(Privilege) => eval.report(&machine, &rules::PRIVILEGE, subject),
        Some(Location) => {
            if let Some(dir) = parameters.paths().first() {
                let argv = ["cd".to_owned(), dir.clone()];
                eval.call(state, &argv, &Stream::None, false);
            }
        }
        Some(Query) => {
            let text = parameters.value("query", 1).or(parameters.positional.first().map(String::as_str));
            if let Some(rule) = text.and_then(|text| sql::judge(&deactivate(text))) {
                eval.report(&machine, rule, subject);
            }
        }
        Some(List | ListProcesses) => {}
        None if names::CLOUD_CMDLETS.iter().any(|start| name.starts_with(start)) => {
            eval.report(&machine, &rules::CLOUD_DELETE, subject);
        }
        None => program(eval, state, statement, subject),
    }
    does
}

/// What `Get-ChildItem … | Remove-Item` removes.
fn listed(eval: &Evaluator<'_>, words: &[PowerShellWord]) -> Vec<String> {
    let parameters = Parameters::read(&words[1.min(words.len())..]);
    let root = parameters.paths().first().map_or_else(|| ".".into(), |path| at_home(eval, path));
    let pattern = parameters.value("filter", 3).or(parameters.value("include", 3)).map(activate);
    vec![match pattern {
        Some(pattern) => format!("{root}/{DEEP}/{pattern}"),
        None if crate::eval::value::has_glob(&root) => root,
        None => format!("{root}/{DEEP}"),
    }]
}

fn evaluate(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    words: &[PowerShellWord],
    about: &CmdletCall<'_>,
) {
    let machine = state.machine.clone();
    let subject = about.subject;
    if about.downloads {
        return eval.report(&machine, &rules::NETWORK_SHELL, subject);
    }
    if about.decodes {
        return eval.report(&machine, &rules::NETWORK_DECODED, subject);
    }
    match words {
        [only] if only.quoted && !has_hole(&only.text) && eval.depth < 24 => {
            eval.depth += 1;
            judge(eval, state, &only.text);
            eval.depth -= 1;
        }
        _ => eval.report(&machine, &rules::SHELL_UNKNOWN_COMMAND, subject),
    }
}

/// A program that is not a cmdlet: the shell's rules apply.
fn program(eval: &mut Evaluator<'_>, state: &mut ShellState, statement: &PowerShellStatement, subject: &str) {
    let lower = statement.words[0].text.to_lowercase();
    if lower == "set-psreadlineoption" {
        if statement.words.iter().any(|word| word.text.eq_ignore_ascii_case("SaveNothing")) {
            eval.report(&state.machine, &rules::HISTORY, subject);
        }
        return;
    }
    let argv: Vec<String> = statement
        .words
        .iter()
        .map(|word| if word.quoted { word.text.clone() } else { activate(&slashes(&word.text)) })
        .collect();
    // A keyword, a type or a number is not a program.
    let plain = argv[0].chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':'));
    if plain && !has_hole(&argv[0]) {
        eval.call(&mut state.clone(), &argv, &Stream::None, false);
    } else if has_hole(&argv[0]) && statement.called {
        eval.report(&state.machine, &rules::SHELL_UNKNOWN_COMMAND, subject);
    }
}
