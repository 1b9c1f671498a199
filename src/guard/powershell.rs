//! PowerShell (and `cmd /c`): the same policy, read more roughly. Statements are cut at separators and brackets,
//! quotes and a few variables are understood; what is not a cmdlet of ours is judged like any other program.

use super::paths;
use super::rules;
use super::walk::Walk;
use super::walk::env::Env;
use super::walk::touch::Write;
use super::walk::value::{DEEP, Stream, Tags, activate, has_hole};
use std::collections::HashMap;

/// One command with its words; `bar` if it reads from the one before.
#[derive(Default, Debug)]
struct Statement {
    words: Vec<Word>,
    bar: bool,
    /// Behind the call operator `&`.
    called: bool,
}

#[derive(Clone, Debug)]
struct Word {
    text: String,
    quoted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Delete,
    Empty,
    Move,
    Copy,
    Write,
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
}
use Does::*;

/// Cmdlets and their aliases, in small letters.
static CMDLETS: &[(&[&str], Does)] = &[
    (&["remove-item", "ri", "rm", "rmdir", "rd", "del", "erase", "deltree"], Delete),
    (&["clear-content", "clc", "clear-item", "cli"], Empty),
    (&["move-item", "mi", "mv", "move", "rename-item", "rni", "ren"], Move),
    (&["copy-item", "cpi", "cp", "copy", "xcopy", "robocopy"], Copy),
    (
        &[
            "set-content",
            "sc",
            "add-content",
            "ac",
            "out-file",
            "tee-object",
            "tee",
            "new-item",
            "ni",
            "set-item",
            "si",
            "export-csv",
            "export-clixml",
        ],
        Write,
    ),
    (&["get-content", "gc", "cat", "type", "select-string", "sls", "import-csv"], Read),
    (&["get-childitem", "gci", "ls", "dir", "get-item", "gi"], List),
    (&["invoke-expression", "iex"], Evaluate),
    (
        &["invoke-webrequest", "iwr", "invoke-restmethod", "irm", "curl", "wget", "start-bitstransfer"],
        Download,
    ),
    (&["stop-process", "spps", "kill"], StopProcess),
    (&["get-process", "gps", "ps"], ListProcesses),
    (&["start-process", "saps", "start"], StartProcess),
    (
        &[
            "format-volume",
            "clear-disk",
            "initialize-disk",
            "remove-partition",
            "format-disk",
            "diskpart",
            "format",
        ],
        Format,
    ),
    (&["restart-computer", "stop-computer", "shutdown"], Power),
    (&["clear-history", "clhy"], History),
    (&["runas", "sudo", "gsudo"], Privilege),
    (&["set-location", "sl", "cd", "chdir", "push-location", "pushd"], Location),
];

const DOWNLOADS: [&str; 11] = [
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "downloadstring",
    "downloaddata",
    "downloadfile",
    "net.webclient",
    "httpclient",
    "curl",
    "wget",
];

pub fn judge(walk: &mut Walk<'_>, env: &mut Env, text: &str) {
    let lower = text.to_lowercase();
    let mut reader = Reader { variables: HashMap::new(), unfinished: false };
    let statements = reader.read(walk, env, text);
    if reader.unfinished {
        walk.found(&env.world.clone(), &rules::UNREADABLE, text);
    }
    let downloads = words_of(&lower).any(|word| DOWNLOADS.contains(&word)) || lower.contains("net.webclient");
    let decodes = lower.contains("frombase64string");
    if lower.contains("[scriptblock]::create") && (downloads || decodes) {
        walk.found(
            &env.world.clone(),
            if downloads { &rules::NETWORK_SHELL } else { &rules::NETWORK_DECODED },
            text,
        );
    }
    static_calls(walk, env, text);
    let mut before: Option<(Option<Does>, Vec<Word>)> = None;
    for statement in &statements {
        let piped = if statement.bar { before.as_ref() } else { None };
        let does = run(walk, env, statement, piped, (downloads, decodes), text);
        before = Some((does, statement.words.clone()));
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
}

/// `[IO.File]::WriteAllText('path', …)` and its like.
fn static_calls(walk: &mut Walk<'_>, env: &mut Env, text: &str) {
    for (at, _) in text.match_indices("]::") {
        let rest = &text[at + 3..];
        let Some(open) = rest.find('(') else { continue };
        let method = rest[..open].trim().to_lowercase();
        let path = rest[open + 1..].trim_start();
        let Some(quote) = path.chars().next().filter(|c| matches!(c, '\'' | '"')) else { continue };
        let path = path[1..].split(quote).next().unwrap_or("");
        let path = slashes(path);
        match method.as_str() {
            "delete" => walk.delete(env, &path, text),
            "writealltext" | "writealllines" | "writeallbytes" | "appendalltext" | "create" | "openwrite" => {
                walk.write(env, &path, Write::Overwrite, text);
            }
            "readalltext" | "readalllines" | "readallbytes" | "openread" => {
                walk.read(env, &path);
            }
            _ => {}
        }
    }
}

fn slashes(path: &str) -> String {
    if paths::is_windows(path) { paths::slashed(path) } else { path.replace('\\', "/") }
}

/// A path as a cmdlet takes it, with the tilde for the home.
fn at_home(walk: &Walk<'_>, path: &str) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", walk.ground.home),
        _ => path.to_owned(),
    }
}

struct Reader {
    variables: HashMap<String, String>,
    unfinished: bool,
}

impl Reader {
    fn read(&mut self, walk: &mut Walk<'_>, env: &mut Env, text: &str) -> Vec<Statement> {
        let chars: Vec<char> = text.chars().collect();
        let mut statements = vec![Statement::default()];
        let mut word: Option<Word> = None;
        let mut at = 0;
        while at < chars.len() {
            let c = chars[at];
            let next = chars.get(at + 1).copied();
            at += 1;
            match c {
                '`' => {
                    // An escape, or a continued line.
                    if let Some(next) = next {
                        at += 1;
                        if next != '\n' {
                            push(&mut word, next, false);
                        }
                    }
                }
                '\'' | '"' => {
                    let mut inner = String::new();
                    let mut closed = false;
                    while let Some(&d) = chars.get(at) {
                        at += 1;
                        if d == c && chars.get(at) == Some(&c) {
                            inner.push(c);
                            at += 1;
                        } else if d == c {
                            closed = true;
                            break;
                        } else if d == '`' && c == '"' {
                            inner.extend(chars.get(at));
                            at += 1;
                        } else if d == '$' && c == '"' {
                            let (value, used) = self.variable(walk, env, &chars[at..]);
                            inner.push_str(&value);
                            at += used;
                        } else {
                            inner.push(d);
                        }
                    }
                    self.unfinished |= !closed;
                    let word = word.get_or_insert(Word { text: String::new(), quoted: true });
                    word.quoted = true;
                    word.text.push_str(&inner);
                }
                '#' if word.is_none() => {
                    while at < chars.len() && chars[at] != '\n' {
                        at += 1;
                    }
                }
                '$' => {
                    let assigns = word.is_none();
                    let name_start = at;
                    let (value, used) = self.variable(walk, env, &chars[at..]);
                    at += used;
                    if assigns && self.assigned(&chars, at) {
                        let name: String = chars[name_start..at].iter().collect();
                        at = self.assign(walk, env, &chars, at, name.to_lowercase());
                        continue;
                    }
                    for c in value.chars() {
                        push(&mut word, c, false);
                    }
                }
                ' ' | '\t' | ',' => finish(&mut word, &mut statements),
                '\n' | ';' | '(' | ')' | '{' | '}' | '|' | '&' => {
                    finish(&mut word, &mut statements);
                    let bar = c == '|' && next != Some('|');
                    if c == '|' && next == Some('|') || c == '&' && next == Some('&') {
                        at += 1;
                    }
                    // `)` and `}` before a pipe: the command after the pipe reads from the inner one.
                    let called = c == '&' && next != Some('&');
                    match statements.last_mut() {
                        Some(last) if last.words.is_empty() => {
                            last.bar |= bar;
                            last.called = called;
                        }
                        _ => statements.push(Statement { words: Vec::new(), bar, called }),
                    }
                }
                '>' => {
                    finish(&mut word, &mut statements);
                    if next == Some('>') {
                        at += 1;
                    }
                    if let Some(last) = statements.last_mut() {
                        last.words.push(Word { text: ">".into(), quoted: false });
                    }
                }
                c => push(&mut word, c, false),
            }
        }
        finish(&mut word, &mut statements);
        statements.retain(|statement| !statement.words.is_empty());
        statements
    }

    /// The value behind a `$`, and how many characters it took.
    fn variable(&self, walk: &mut Walk<'_>, env: &Env, rest: &[char]) -> (String, usize) {
        let braced = rest.first() == Some(&'{');
        let start = usize::from(braced);
        let mut length = rest[start.min(rest.len())..]
            .iter()
            .take_while(|c| c.is_alphanumeric() || matches!(**c, '_' | ':' | '?'))
            .count();
        let name: String = rest[start.min(rest.len())..(start + length).min(rest.len())].iter().collect();
        length += start + usize::from(braced);
        let name = name.to_lowercase();
        let value = match name.trim_start_matches("global:").trim_start_matches("script:") {
            "" => return ("$".into(), length),
            "home" | "env:userprofile" | "env:home" => walk.ground.home.clone(),
            "env:temp" | "env:tmp" | "env:tmpdir" => walk.ground.tmpdir.clone(),
            "pwd" => walk.current_dir(env),
            "true" | "false" | "null" | "_" | "?" => String::new(),
            "env:systemroot" | "env:windir" => "C:/Windows".into(),
            "env:systemdrive" => "C:".into(),
            "profile" => {
                format!("{}/Documents/PowerShell/Microsoft.PowerShell_profile.ps1", walk.ground.home)
            }
            name => match self.variables.get(name) {
                Some(value) => value.clone(),
                None => walk.origins.hole(format!("${name}"), Tags::NONE).to_string(),
            },
        };
        (value, length.min(rest.len()))
    }

    fn assigned(&self, chars: &[char], at: usize) -> bool {
        let rest: Vec<char> = chars[at..].iter().copied().skip_while(|c| *c == ' ').take(2).collect();
        rest.first() == Some(&'=') && rest.get(1) != Some(&'=')
    }

    /// `$name = 'text'`; anything else on the right is read on as a command.
    fn assign(
        &mut self,
        walk: &mut Walk<'_>,
        env: &Env,
        chars: &[char],
        mut at: usize,
        name: String,
    ) -> usize {
        while at < chars.len() && matches!(chars[at], ' ' | '=') {
            at += 1;
        }
        let value = match chars.get(at) {
            Some(&quote @ ('\'' | '"')) => {
                let text: String = chars[at + 1..].iter().take_while(|c| **c != quote).collect();
                at += text.chars().count() + 2;
                text
            }
            _ => walk.origins.hole(format!("${name}"), Tags::NONE).to_string(),
        };
        let _ = env;
        self.variables.insert(name, value);
        at
    }
}

fn push(word: &mut Option<Word>, c: char, quoted: bool) {
    word.get_or_insert(Word { text: String::new(), quoted }).text.push(c);
}

fn finish(word: &mut Option<Word>, statements: &mut [Statement]) {
    if let (Some(word), Some(last)) = (word.take(), statements.last_mut()) {
        last.words.push(word);
    }
}

/// Parameters and what stands alone.
struct Parameters {
    named: Vec<(String, Option<String>)>,
    positional: Vec<String>,
    redirects: Vec<String>,
}

/// Parameters without a value.
const SWITCHES: [&str; 14] = [
    "recurse",
    "force",
    "whatif",
    "confirm",
    "verbose",
    "passthru",
    "append",
    "nonewline",
    "asplaintext",
    "wait",
    "nonewwindow",
    "usebasicparsing",
    "raw",
    "noclobber",
];

impl Parameters {
    fn read(words: &[Word]) -> Parameters {
        let mut parameters = Parameters { named: Vec::new(), positional: Vec::new(), redirects: Vec::new() };
        let mut at = 0;
        while at < words.len() {
            let word = &words[at];
            at += 1;
            let text = if word.quoted { word.text.clone() } else { activate(&word.text) };
            if !word.quoted && word.text == ">" {
                if let Some(target) = words.get(at) {
                    parameters.redirects.push(slashes(&target.text));
                    at += 1;
                }
            } else if !word.quoted && word.text.len() > 1 && word.text.starts_with('-') {
                let name = word.text[1..].to_lowercase();
                let (name, mut value) = match name.split_once(':') {
                    Some((name, value)) => (name.to_owned(), Some(slashes(value))),
                    None => (name, None),
                };
                let switch = name != "verb" && SWITCHES.iter().any(|switch| switch.starts_with(&name));
                if value.is_none()
                    && !switch
                    && let Some(next) =
                        words.get(at).filter(|next| next.quoted || !next.text.starts_with('-'))
                {
                    let next_text = if next.quoted { next.text.clone() } else { activate(&next.text) };
                    value = Some(slashes(&next_text));
                    at += 1;
                }
                parameters.named.push((name, value));
            } else if !word.quoted && word.text.starts_with('/') && word.text.len() <= 3 {
                // `del /s /q`
                parameters.named.push((word.text[1..].to_lowercase(), None));
            } else {
                parameters.positional.push(slashes(&text));
            }
        }
        parameters
    }

    fn has(&self, full: &str) -> bool {
        self.named.iter().any(|(name, _)| !name.is_empty() && full.starts_with(name.as_str()))
    }

    fn value(&self, full: &str, shortest: usize) -> Option<&str> {
        self.named
            .iter()
            .find(|(name, _)| name.len() >= shortest && full.starts_with(name.as_str()))
            .and_then(|(_, value)| value.as_deref())
    }

    /// The files a cmdlet works on.
    fn paths(&self) -> Vec<String> {
        let named = ["path", "literalpath", "filepath"].iter().filter_map(|name| self.value(name, 1));
        let named: Vec<String> = named.map(str::to_owned).collect();
        if named.is_empty() { self.positional.clone() } else { named }
    }
}

fn run(
    walk: &mut Walk<'_>,
    env: &mut Env,
    statement: &Statement,
    piped: Option<&(Option<Does>, Vec<Word>)>,
    (downloads, decodes): (bool, bool),
    subject: &str,
) -> Option<Does> {
    let (first, rest) = statement.words.split_first()?;
    let name = first.text.to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name).rsplit(['/', '\\']).next().unwrap_or("").to_owned();
    let mut parameters = Parameters::read(rest);
    for path in
        parameters.positional.iter_mut().chain(parameters.named.iter_mut().filter_map(|(_, v)| v.as_mut()))
    {
        *path = at_home(walk, path);
    }
    for target in &parameters.redirects {
        walk.write(env, target, Write::Overwrite, subject);
    }
    let world = env.world.clone();
    let does = CMDLETS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, does)| *does);
    if parameters.has("whatif") && parameters.named.iter().any(|(name, _)| name.starts_with("wh")) {
        return does;
    }
    match does {
        Some(Delete) => {
            let mut paths = parameters.paths();
            if paths.is_empty()
                && let Some((Some(List), words)) = piped
            {
                paths = listed(words);
            }
            if paths.is_empty() && statement.bar {
                walk.found(&world, &rules::DELETE_UNKNOWN, subject);
            }
            if subject.to_lowercase().contains("historysavepath") {
                walk.found(&world, &rules::HISTORY, subject);
            }
            for path in paths {
                walk.delete(env, &path, subject);
            }
        }
        Some(Empty) => {
            for path in parameters.paths() {
                walk.write(env, &path, Write::Empty, subject);
            }
        }
        Some(Move) => {
            let paths = parameters.paths();
            let target =
                parameters.value("destination", 1).or(paths.get(1).map(String::as_str)).map(str::to_owned);
            if let Some(source) = paths.first() {
                walk.delete(env, source, subject);
            }
            if let Some(target) = target {
                walk.write(env, &target, Write::Replace, subject);
            }
        }
        Some(Copy) => {
            let paths = parameters.paths();
            if let Some(source) = paths.first() {
                walk.read(env, source);
            }
            if let Some(target) = parameters.value("destination", 1).or(paths.get(1).map(String::as_str)) {
                walk.write(env, &target.to_owned(), Write::Overwrite, subject);
            }
        }
        Some(Write) => {
            if let Some(path) = parameters.paths().first() {
                walk.write(env, path, Write::Overwrite, subject);
            }
        }
        Some(Read) => {
            for path in parameters.paths() {
                walk.read(env, &path);
            }
        }
        Some(Evaluate) => evaluate(walk, env, rest, statement.bar, downloads, decodes, subject),
        Some(Download) => {
            if let Some(file) = parameters.value("outfile", 2).or(parameters.value("destination", 1)) {
                walk.write(env, &file.to_owned(), Write::Overwrite, subject);
                walk.remember(env, &file.to_owned(), Stream::Data(Tags::DOWNLOAD), false);
            }
        }
        Some(StopProcess) => {
            let by_name =
                parameters.value("name", 1).is_some() || parameters.value("processname", 2).is_some();
            let found = matches!(piped, Some((Some(ListProcesses), _)))
                || subject.to_lowercase().contains("get-process");
            let numbers =
                parameters.positional.iter().chain(parameters.named.iter().filter_map(|(_, v)| v.as_ref()));
            let known = numbers.clone().count() > 0
                && numbers.clone().all(|number| number.chars().all(|c| c.is_ascii_digit() || c == '%'));
            if by_name || found {
                walk.found(&world, &rules::KILL_PATTERN, subject);
            } else if !known {
                walk.found(&world, &rules::KILL_UNKNOWN, subject);
            }
        }
        Some(StartProcess) => {
            let elevated = parameters.value("verb", 1).is_some_and(|verb| verb.eq_ignore_ascii_case("runas"));
            if elevated {
                walk.found(&world, &rules::PRIVILEGE, subject);
            }
            if let Some(program) = parameters.positional.first() {
                let argv: Vec<String> = parameters.positional.iter().map(|word| word.to_owned()).collect();
                let _ = program;
                walk.call(&mut env.clone(), &argv, &Stream::None, false);
            }
        }
        Some(Format) => {
            let disk = name != "format" || parameters.positional.iter().any(|word| word.ends_with(':'));
            if disk {
                walk.found(&world, &rules::DISK_FORMAT, subject);
            }
        }
        Some(Power) => walk.found(&world, &rules::POWER, subject),
        Some(History) => walk.found(&world, &rules::HISTORY, subject),
        Some(Privilege) => walk.found(&world, &rules::PRIVILEGE, subject),
        Some(Location) => {
            if let Some(dir) = parameters.paths().first() {
                let argv = ["cd".to_owned(), dir.clone()];
                walk.call(env, &argv, &Stream::None, false);
            }
        }
        Some(List | ListProcesses) => {}
        None => program(walk, env, statement, subject),
    }
    does
}

/// What `Get-ChildItem … | Remove-Item` removes.
fn listed(words: &[Word]) -> Vec<String> {
    let parameters = Parameters::read(&words[1.min(words.len())..]);
    let root = parameters.paths().first().cloned().unwrap_or_else(|| ".".into());
    let pattern = parameters.value("filter", 3).or(parameters.value("include", 3)).map(activate);
    vec![match pattern {
        Some(pattern) => format!("{root}/{DEEP}/{pattern}"),
        None if super::walk::value::has_glob(&root) => root,
        None => format!("{root}/{DEEP}"),
    }]
}

fn evaluate(
    walk: &mut Walk<'_>,
    env: &mut Env,
    words: &[Word],
    bar: bool,
    downloads: bool,
    decodes: bool,
    subject: &str,
) {
    let world = env.world.clone();
    if downloads {
        return walk.found(&world, &rules::NETWORK_SHELL, subject);
    }
    if decodes {
        return walk.found(&world, &rules::NETWORK_DECODED, subject);
    }
    match words {
        [only] if only.quoted && !has_hole(&only.text) && walk.depth < 24 => {
            walk.depth += 1;
            judge(walk, env, &only.text);
            walk.depth -= 1;
        }
        _ => {
            let _ = bar;
            walk.found(&world, &rules::UNKNOWN_COMMAND, subject);
        }
    }
}

/// A program that is no cmdlet: the rules of the shell hold.
fn program(walk: &mut Walk<'_>, env: &mut Env, statement: &Statement, subject: &str) {
    let lower = statement.words[0].text.to_lowercase();
    if lower == "set-psreadlineoption" {
        if statement.words.iter().any(|word| word.text.eq_ignore_ascii_case("SaveNothing")) {
            walk.found(&env.world.clone(), &rules::HISTORY, subject);
        }
        return;
    }
    let argv: Vec<String> = statement
        .words
        .iter()
        .map(|word| if word.quoted { word.text.clone() } else { activate(&slashes(&word.text)) })
        .collect();
    // A word of a language construct, a type or a number is no program.
    let plain = argv[0].chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':'));
    if plain && !has_hole(&argv[0]) {
        walk.call(&mut env.clone(), &argv, &Stream::None, false);
    } else if has_hole(&argv[0]) && statement.called {
        walk.found(&env.world.clone(), &rules::UNKNOWN_COMMAND, subject);
    }
}
