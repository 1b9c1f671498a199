//! Calls in a program: which function, on which object, with which plain arguments.

use crate::code::Language;
use crate::code::aliases;
use crate::code::functions::FunctionEffect;
use crate::code::functions::FunctionEffect::*;
use crate::code::functions::{DECODERS, NETWORK, find};
use crate::code::tokens;
use crate::code::tokens::{GAP, Token};
use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{DEEP, STAR, Stream, Tags, activate, has_glob, has_hole};
use crate::rules;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

struct CodeScan<'t> {
    tokens: &'t [Token],
    partner: Vec<usize>,
    language: Language,
    variables: HashMap<String, String>,
    /// Variables of loops over literal names.
    alternatives: HashMap<String, Vec<String>>,
    networks: bool,
    /// How deep the expression at hand is nested.
    depth: Cell<usize>,
}

/// The value of an expression nested deeper than this is unknown.
const MAX_VALUE_DEPTH: usize = 40;
/// A chain of methods longer than this is not followed back to its start.
const MAX_CHAIN_TOKENS: usize = 60;
/// A call without its closing bracket is read this far.
const MAX_UNCLOSED_TOKENS: usize = 200;
/// A loop over more names than this is not followed.
const MAX_VARIABLES: usize = 64;

pub(super) fn scan(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    language: Language,
    code: &str,
    subject: &str,
) {
    let mut tokens = tokens::read(code, language);
    aliases::undo(&mut tokens);
    let names = |wanted: &[&str]| {
        tokens.iter().any(|token| matches!(token, Token::Name(name) if wanted.contains(&name.as_str())))
    };
    let mut scan = CodeScan {
        tokens: &tokens,
        partner: tokens::brackets(&tokens),
        language,
        variables: HashMap::new(),
        alternatives: HashMap::new(),
        networks: names(&NETWORK) || tokens.iter().any(|token| matches!(token, Token::Text(text, _) if matches!(text.as_str(), "http" | "https" | "net" | "open-uri" | "net/http"))),
        depth: Cell::new(0),
    };
    let machine = state.machine.clone();
    if names(&["fork"]) && names(&["while", "loop", "for"]) && language != Language::JavaScript {
        eval.report(&machine, &rules::BOMB, subject);
    }
    if names(&["socket"]) && (names(&["dup2"]) || names(&["pty"])) {
        eval.report(&machine, &rules::NETWORK_SHELL, subject);
    }
    let mut reads_secret = false;
    scan.loops(eval, state);
    for (at, token) in tokens.iter().enumerate() {
        if !eval.spend(4) {
            break;
        }
        scan.assignment(eval, state, at);
        match token {
            Token::Command(text) => {
                let text = scan.with_gaps(eval, text);
                crate::programs::run_code_text(eval, state, &text, subject);
            }
            Token::Name(name) if name == "eval" && scan.networks && scan.is(at + 1, ')') => {
                eval.report(&machine, &rules::NETWORK_SHELL, subject);
            }
            Token::Name(name) => {
                let Some(&(_, does, owners, bare)) = find(name) else {
                    reads_secret |= scan.callback(eval, state, at, name, subject);
                    continue;
                };
                let Some(args) = scan.arguments(at) else { continue };
                let owner = scan.owner(at);
                let owned =
                    owner.as_ref().is_some_and(|owner| owners.contains(&owner.to_lowercase().as_str()));
                let on_self = matches!(does, WritesSelf | ReadsSelf);
                if !on_self && !owned && !(bare && (owner.is_none() || owners.is_empty())) {
                    // `Path("x").unlink()`, `Path("a").rename("b")`
                    if let (Some(receiver), true) = (scan.receiver(at), matches!(does, Deletes | Moves)) {
                        let path = scan.value(eval, state, receiver);
                        if scan.is_path_call(at) {
                            eval.delete(state, &path, subject);
                        }
                    }
                    continue;
                }
                reads_secret |= scan.act_on_all(eval, state, does, at, &args, subject);
            }
            _ => {}
        }
    }
    if reads_secret && scan.networks {
        eval.report(&machine, &rules::NETWORK_SECRET, subject);
    }
}

impl CodeScan<'_> {
    fn name(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    fn is(&self, at: usize, c: char) -> bool {
        self.tokens.get(at) == Some(&Token::Punct(c))
    }

    /// The ranges of a call's arguments: in brackets, or, in Perl and Ruby, right after the name.
    fn arguments(&self, at: usize) -> Option<Vec<Range<usize>>> {
        let (from, to) = if self.is(at + 1, '(') {
            (at + 2, self.close(at + 1))
        } else if matches!(self.language, Language::Perl | Language::Ruby | Language::Php | Language::Other)
            && matches!(self.tokens.get(at + 1), Some(Token::Text(..) | Token::Name(_)))
            && !self.is(at.wrapping_sub(1), '.')
            || matches!(self.tokens.get(at + 1), Some(Token::Text(..)))
                && self.language != Language::JavaScript
        {
            let end = (at + 1..self.tokens.len().min(at + MAX_UNCLOSED_TOKENS))
                .find(|i| matches!(self.tokens[*i], Token::Line | Token::Punct(';' | '}')))
                .unwrap_or(self.tokens.len().min(at + MAX_UNCLOSED_TOKENS));
            (at + 1, end)
        } else {
            return None;
        };
        Some(self.split(from, to))
    }

    /// Where the bracket at `open` closes.
    fn close(&self, open: usize) -> usize {
        match self.partner[open] {
            usize::MAX => self.tokens.len().min(open + MAX_UNCLOSED_TOKENS),
            close => close,
        }
    }

    /// Splits `from..to` at its commas.
    fn split(&self, from: usize, to: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = from;
        let mut at = from;
        while at < to {
            match self.tokens[at] {
                Token::Punct('(' | '[' | '{') if self.partner[at] < to => at = self.partner[at],
                Token::Punct(',') => {
                    parts.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        if start < to {
            parts.push(start..to);
        }
        parts
    }

    /// The name in front of the dot: `os` in `os.remove`, `child_process` in `require('child_process').exec`.
    fn owner(&self, at: usize) -> Option<String> {
        if at < 2 || !self.is(at - 1, '.') {
            return None;
        }
        if let Some(name) = self.name(at - 2) {
            return Some(name.to_owned());
        }
        if self.is(at - 2, ')') {
            let open = self.partner[at - 2];
            if let Some(Token::Text(text, _)) = self.tokens.get(open.saturating_add(1)) {
                return Some(text.trim_start_matches("node:").rsplit('/').next().unwrap_or(text).to_owned());
            }
        }
        Some(String::new())
    }

    /// The expression a method is called on, back to the start of its chain of names and calls.
    fn receiver(&self, at: usize) -> Option<Range<usize>> {
        if at < 2 || !self.is(at - 1, '.') {
            return None;
        }
        let mut start = at - 1;
        for _ in 0..MAX_CHAIN_TOKENS {
            start -= 1;
            if self.is(start, ')') || self.is(start, ']') {
                let open = self.partner[start];
                if open >= start {
                    return None;
                }
                start = open;
                if start > 0 && self.name(start - 1).is_some() {
                    start -= 1;
                }
            } else if self.name(start).is_none() && !matches!(self.tokens[start], Token::Text(..)) {
                return None;
            }
            if start < 2 || !self.is(start - 1, '.') {
                return Some(start..at - 1);
            }
            start -= 1;
        }
        None
    }

    fn is_path_call(&self, at: usize) -> bool {
        self.is(at - 2, ')') && {
            let open = self.partner[at - 2];
            open > 0 && open < at && self.name(open - 1).is_some_and(|name| name.contains("Path"))
        } || self.name(at - 2).is_some_and(|name| self.variables.contains_key(name))
    }

    /// `name = expression`
    fn assignment(&mut self, eval: &mut Evaluator<'_>, state: &ShellState, at: usize) {
        let Some(name) = self.name(at).map(str::to_owned) else { return };
        if !self.is(at + 1, '=') || self.is(at + 2, '=') || at > 0 && self.is(at - 1, '.') {
            return;
        }
        let end = (at + 2..self.tokens.len().min(at + 60))
            .find(|i| matches!(self.tokens[*i], Token::Line | Token::Punct(';' | ',')))
            .unwrap_or(self.tokens.len().min(at + 60));
        let value = self.value(eval, state, at + 2..end);
        if has_hole(&value) || !eval.may_grow(value.len()) {
            self.variables.remove(&name);
        } else {
            self.variables.insert(name, value);
        }
    }

    fn with_gaps(&self, eval: &mut Evaluator<'_>, text: &str) -> String {
        if !text.contains(GAP) {
            return text.to_owned();
        }
        let hole = eval.origins.hole("{…}", Tags::NONE);
        text.replace(GAP, &hole.to_string())
    }

    /// The value of an expression as far as it is plain: texts, known variables, joined paths.
    fn value(&self, eval: &mut Evaluator<'_>, state: &ShellState, range: Range<usize>) -> String {
        if self.depth.get() >= MAX_VALUE_DEPTH || !eval.spend(range.len()) {
            return eval.origins.hole("…", Tags::NONE).to_string();
        }
        self.depth.set(self.depth.get() + 1);
        let text = self.known_value(eval, state, range);
        self.depth.set(self.depth.get() - 1);
        text
    }

    fn known_value(&self, eval: &mut Evaluator<'_>, state: &ShellState, range: Range<usize>) -> String {
        let mut text = String::new();
        let mut at = range.start;
        let mut skip_value = false;
        while at < range.end.min(self.tokens.len()) {
            match &self.tokens[at] {
                Token::Text(part, _) => {
                    if !std::mem::take(&mut skip_value) {
                        text.push_str(&self.with_gaps(eval, part));
                    }
                }
                // Python's paths are joined with a slash.
                Token::Punct('/') => text.push('/'),
                Token::Punct('+' | '.' | '(' | ')' | '[' | ']' | '<' | ',') | Token::Line => {}
                Token::Name(name) => {
                    let (value, next) = self.named(eval, state, name, at);
                    text.push_str(&value);
                    at = next;
                }
                _ => {
                    if !text.contains(['/', '.']) {
                        text.push(eval.origins.hole("…", Tags::NONE));
                    }
                }
            }
            at += 1;
        }
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", eval.locations.home)
            }
            _ => text,
        }
    }

    /// A name inside an expression: a variable, a known call, or unknown. Returns the last token used.
    fn named(&self, eval: &mut Evaluator<'_>, state: &ShellState, name: &str, at: usize) -> (String, usize) {
        const SEE_THROUGH: [&str; 17] = [
            "os",
            "path",
            "pathlib",
            "Path",
            "PurePath",
            "expanduser",
            "expand_path",
            "resolve",
            "abspath",
            "normpath",
            "realpath",
            "str",
            "String",
            "fspath",
            "File",
            "process",
            "tempfile",
        ];
        match name {
            "home" | "homedir" => (eval.locations.home.clone(), self.after_call(at)),
            "getcwd" | "cwd" | "pwd" | "__dirname" => (eval.current_dir(state), self.after_call(at)),
            // The module is not part of what its functions return.
            "require" => (String::new(), self.after_call(at)),
            "mkdtemp" | "mkstemp" | "mkdtempSync" | "TemporaryDirectory" | "NamedTemporaryFile"
            | "gettempdir" | "tmpdir" | "mktmpdir" => {
                (format!("{}/{}", eval.locations.tmpdir.clone(), eval.temp_name()), self.after_call(at))
            }
            "HOME" => (eval.locations.home.clone(), at),
            "environ" | "env" | "ENV" | "getenv" => {
                let next = (at + 1..self.tokens.len().min(at + 6)).find(|i| {
                    matches!(&self.tokens[*i], Token::Text(text, _) if text == "HOME")
                        || self.name(*i) == Some("HOME")
                });
                match next {
                    Some(next) => (eval.locations.home.clone(), next),
                    None => (eval.origins.hole("$…", Tags::NONE).to_string(), self.after_call(at)),
                }
            }
            "join" if self.is(at + 1, '(') => {
                let close = self.close(at + 1);
                let parts = self.split(at + 2, close);
                let parts: Vec<String> =
                    parts.into_iter().map(|part| self.value(eval, state, part)).collect();
                (parts.join("/"), close)
            }
            "joinpath" if self.is(at + 1, '(') => {
                let close = self.close(at + 1);
                let parts = self.split(at + 2, close);
                let parts: Vec<String> =
                    parts.into_iter().map(|part| self.value(eval, state, part)).collect();
                (format!("/{}", parts.join("/")), close)
            }
            "glob" | "iglob" | "rglob" | "globSync" | "sync" if self.is(at + 1, '(') => {
                let close = self.close(at + 1);
                let pattern = self.split(at + 2, close).first().cloned();
                let pattern = pattern.map_or_else(String::new, |part| self.value(eval, state, part));
                // Called on a path it adds a component: `Path("build").glob("*.o")`
                let on_path = at > 1 && self.is(at - 1, '.') && self.is(at - 2, ')');
                let deep = if name == "rglob" { format!("/{DEEP}/") } else { "/".to_owned() };
                let joint = if on_path { deep.as_str() } else { "" };
                (format!("{joint}{}", activate(&pattern)), close)
            }
            "listdir" | "readdirSync" | "scandir" | "children" if self.is(at + 1, '(') => {
                (STAR.to_string(), self.close(at + 1))
            }
            "glob" | "fs" | "Dir" => (String::new(), at),
            "executable" | "execPath" => ("python3".to_owned(), at),
            "sys" => (String::new(), at),
            name if SEE_THROUGH.contains(&name) => (String::new(), at),
            name => match self.variables.get(name) {
                Some(value) => (value.clone(), at),
                None => (eval.origins.hole(name.to_owned(), Tags::NONE).to_string(), self.after_call(at)),
            },
        }
    }

    fn after_call(&self, at: usize) -> usize {
        if self.is(at + 1, '(') && self.partner[at + 1] < self.tokens.len() {
            self.partner[at + 1]
        } else {
            at
        }
    }

    /// The words of `["rm", "-rf", x]`; `None` if it is not a list.
    fn list(
        &self,
        eval: &mut Evaluator<'_>,
        state: &ShellState,
        range: &Range<usize>,
    ) -> Option<Vec<String>> {
        let open = range.start;
        if !self.is(open, '[') {
            return None;
        }
        let close = self.close(open);
        Some(self.split(open + 1, close).into_iter().map(|part| self.value(eval, state, part)).collect())
    }

    fn mentions(&self, range: &Range<usize>, names: &[&str]) -> bool {
        self.tokens[range.start..range.end.min(self.tokens.len())].iter().any(|token| match token {
            Token::Name(name) => names.contains(&name.as_str()),
            Token::Text(text, _) => matches!(text.as_str(), "base64" | "hex") && names.contains(&"base64"),
            _ => false,
        })
    }

    /// `for name in glob("build/*")`, `for x in ["a", "b"]`: what the variable will hold wherever it is used.
    fn loops(&mut self, eval: &mut Evaluator<'_>, state: &ShellState) {
        for at in 0..self.tokens.len() {
            let binds = matches!(self.name(at), Some("in" | "of" | "as")) && at > 0 && eval.spend(1);
            if !binds {
                continue;
            }
            // PHP's foreach names the variable last.
            let (name_at, from) =
                if self.name(at) == Some("as") { (at + 1, usize::MAX) } else { (at - 1, at + 1) };
            let Some(name) = self.name(name_at).map(str::to_owned) else { continue };
            let range = if from == usize::MAX {
                let open = (0..at).rev().take(MAX_UNCLOSED_TOKENS).find(|i| self.name(*i) == Some("foreach"));
                match open {
                    Some(open) => open + 2..at,
                    None => continue,
                }
            } else {
                from..self.end_of_iterated(from)
            };
            if let Some(names) = self.list(eval, state, &range).or_else(|| self.tuple(eval, state, &range)) {
                if !names.is_empty()
                    && names.len() <= MAX_VARIABLES
                    && !names.iter().any(|name| has_hole(name))
                {
                    self.alternatives.insert(name, names);
                }
                continue;
            }
            let value = self.value(eval, state, range);
            if !value.is_empty() && !has_hole(&value) && has_glob(&value) {
                self.variables.insert(name, value);
            }
        }
    }

    /// Where the expression that a loop iterates over ends.
    fn end_of_iterated(&self, from: usize) -> usize {
        let mut at = from;
        while at < self.tokens.len().min(from + MAX_UNCLOSED_TOKENS) {
            match self.tokens[at] {
                Token::Punct('(' | '[' | '{')
                    if self.partner[at] < self.tokens.len() && at > from
                        || self.is(at, '[') && at == from =>
                {
                    at = self.close(at);
                }
                Token::Punct(':' | ')' | ']' | '}' | ';') | Token::Line => return at,
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// `("a", "b")`
    fn tuple(
        &self,
        eval: &mut Evaluator<'_>,
        state: &ShellState,
        range: &Range<usize>,
    ) -> Option<Vec<String>> {
        if !self.is(range.start, '(') {
            return None;
        }
        let close = self.close(range.start);
        Some(
            self.split(range.start + 1, close)
                .into_iter()
                .map(|part| self.value(eval, state, part))
                .collect(),
        )
    }

    /// `array_map("unlink", …)`, `map(os.remove, …)`, `files.forEach(fs.unlinkSync)`: a function passed to another.
    fn callback(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        at: usize,
        name: &str,
        subject: &str,
    ) -> bool {
        const CALLERS: [&str; 9] = [
            "array_map",
            "array_walk",
            "call_user_func",
            "call_user_func_array",
            "map",
            "forEach",
            "each",
            "starmap",
            "array_filter",
        ];
        if !CALLERS.contains(&name) {
            return false;
        }
        let Some(args) = self.arguments(at) else { return false };
        let named = |range: &Range<usize>| match self.tokens[range.start..range.end.min(self.tokens.len())] {
            [Token::Text(ref name, _) | Token::Name(ref name)] => find(name).copied(),
            [.., Token::Punct('.'), Token::Name(ref name)] => find(name).copied(),
            _ => None,
        };
        let Some((place, function)) = args.iter().enumerate().find_map(|(at, arg)| Some((at, named(arg)?)))
        else {
            return false;
        };
        let others: Vec<Range<usize>> =
            args.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, arg)| arg.clone()).collect();
        let values = if others.is_empty() { self.receiver(at).into_iter().collect() } else { others };
        self.act_on_all(eval, state, function.1, at, &values, subject)
    }

    /// Like [`CodeScan::act`], once for each value a loop variable may have.
    fn act_on_all(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        does: FunctionEffect,
        at: usize,
        args: &[Range<usize>],
        subject: &str,
    ) -> bool {
        let receiver = self.receiver(at);
        let name = args.iter().chain(receiver.as_ref()).flat_map(Clone::clone).find_map(|at| {
            self.name(at).filter(|name| self.alternatives.contains_key(*name)).map(str::to_owned)
        });
        let Some(name) = name else { return self.act(eval, state, does, at, args, subject) };
        let mut secret = false;
        for value in self.alternatives.get(&name).cloned().unwrap_or_default() {
            self.variables.insert(name.clone(), value);
            secret |= self.act(eval, state, does, at, args, subject);
        }
        self.variables.remove(&name);
        secret
    }

    /// Judges one call; `true` if it reads a secret.
    fn act(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        does: FunctionEffect,
        at: usize,
        args: &[Range<usize>],
        subject: &str,
    ) -> bool {
        let python_exec =
            self.language == Language::Python && self.name(at) == Some("exec") && self.owner(at).is_none();
        let does = if python_exec { Evaluates } else { does };
        let mut values = Vec::new();
        for range in args.iter().take(4) {
            values.push(self.value(eval, state, range.clone()));
        }
        let first = values.first().cloned().unwrap_or_default();
        let second = values.get(1).cloned().unwrap_or_default();
        match does {
            Runs | RunsNamed => self.runs(eval, state, does, args, &values, subject),
            Evaluates => self.evaluates(eval, state, args, subject),
            Deletes if first.is_empty() && self.receiver(at).is_some() => {
                let path =
                    self.receiver(at).map(|receiver| self.value(eval, state, receiver)).unwrap_or_default();
                eval.delete(state, &path, subject);
            }
            Deletes => {
                let lists = args.first().and_then(|range| self.list(eval, state, range));
                for path in lists.unwrap_or_else(|| vec![first]) {
                    eval.delete(state, &path, subject);
                }
            }
            Writes => eval.write(state, &first, WriteKind::Overwrite, subject),
            Reads => return self.reads(eval, state, &first),
            Opens => {
                let mode = args.iter().skip(1).any(|range| {
                    self.tokens[range.start..range.end.min(self.tokens.len())].iter().any(|token| {
                        matches!(token, Token::Text(mode, _) if mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+', '>']))
                    })
                });
                // Perl: `open(F, ">>", "file")`, `open(F, ">file")`, `open(F, "command|")`.
                if self.language == Language::Perl {
                    let path =
                        values.get(2).unwrap_or(&second).trim_start_matches(['>', '<', '+', ' ']).to_owned();
                    if second.contains('>') {
                        eval.write(state, &path, WriteKind::Overwrite, subject);
                        return false;
                    }
                    if let Some(command) = second.strip_suffix('|') {
                        eval.text(&mut state.clone(), command, &Stream::None, false);
                        return false;
                    }
                    return self.reads(eval, state, &path);
                }
                if mode {
                    eval.write(state, &first, WriteKind::Overwrite, subject);
                } else {
                    return self.reads(eval, state, &first);
                }
            }
            Copies => {
                let secret = self.reads(eval, state, &first);
                eval.write(state, &second, WriteKind::Overwrite, subject);
                return secret;
            }
            Moves => {
                eval.delete(state, &first, subject);
                eval.write(state, &second, WriteKind::Replace, subject);
            }
            Downloads => {
                eval.write(state, &second, WriteKind::Overwrite, subject);
                eval.remember(state, &second, Stream::Data(Tags::DOWNLOAD), false);
            }
            Links => eval.write(state, &second, WriteKind::Replace, subject),
            WritesSelf | ReadsSelf => {
                let Some(receiver) = self.receiver(at) else { return false };
                let path = self.value(eval, state, receiver);
                if does == ReadsSelf {
                    return self.reads(eval, state, &path);
                }
                eval.write(state, &path, WriteKind::Overwrite, subject);
            }
        }
        false
    }

    fn reads(&self, eval: &mut Evaluator<'_>, state: &ShellState, path: &str) -> bool {
        if path.is_empty() || path.starts_with("http://") || path.starts_with("https://") {
            return false;
        }
        eval.read(state, path).tags().has(Tags::SECRET)
    }

    fn runs(
        &self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        does: FunctionEffect,
        args: &[Range<usize>],
        values: &[String],
        subject: &str,
    ) {
        let machine = state.machine.clone();
        let Some(range) = args.first() else { return };
        if self.mentions(range, &NETWORK) {
            return eval.report(&machine, &rules::NETWORK_SHELL, subject);
        }
        if self.mentions(range, &DECODERS) {
            return eval.report(&machine, &rules::NETWORK_DECODED, subject);
        }
        let mut argv: Vec<String> = Vec::new();
        let mut is_list = false;
        for range in args {
            match self.list(eval, state, range) {
                Some(words) => {
                    argv.extend(words);
                    is_list = true;
                    break;
                }
                None if argv.is_empty() => argv.push(self.value(eval, state, range.clone())),
                None => {
                    // Several texts are an argument list; `shell=True`, `{stdio: …}` and the like are not.
                    let options = self.is(range.start, '{') || self.is(range.start + 1, '=');
                    if options || self.language == Language::JavaScript {
                        break;
                    }
                    argv.push(self.value(eval, state, range.clone()));
                    is_list = true;
                }
            }
        }
        if does == RunsNamed && argv.len() > 1 {
            argv.remove(0);
        }
        if is_list && argv.len() > 1 {
            eval.call(&mut state.clone(), &argv, &Stream::None, false);
        } else if let Some(text) = argv.first().or(values.first()) {
            crate::programs::run_code_text(eval, state, text, subject);
        }
    }

    fn evaluates(
        &self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        args: &[Range<usize>],
        subject: &str,
    ) {
        let machine = state.machine.clone();
        let Some(range) = args.last() else { return };
        let literal =
            matches!(&self.tokens[range.start..range.end.min(self.tokens.len())], [Token::Text(_, false)]);
        if literal {
            if eval.depth < 24 {
                let code = self.value(eval, state, range.clone());
                eval.depth += 1;
                scan(eval, state, self.language, &code, subject);
                eval.depth -= 1;
            }
            return;
        }
        let rule = if self.mentions(range, &NETWORK) || self.networks {
            &rules::NETWORK_SHELL
        } else if self.mentions(range, &DECODERS) {
            &rules::NETWORK_DECODED
        } else {
            &rules::SHELL_UNKNOWN_COMMAND
        };
        eval.report(&machine, rule, subject);
    }
}
