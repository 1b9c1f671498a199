//! What a program's expressions are worth, as far as they are plain: texts, known variables, joined paths, loops over literal
//! names; and where calls begin and end.

use crate::code::Language;
use crate::code::tokens::{GAP, Token};
use crate::eval::Evaluator;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{DEEP, STAR, Tags, activate, has_glob, has_hole};
use crate::rules::names;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

/// A program's tokens, and what is known about its variables.
pub(super) struct CodeScan<'t> {
    pub(super) tokens: &'t [Token],
    pub(super) partner: Vec<usize>,
    pub(super) language: Language,
    pub(super) variables: HashMap<String, String>,
    /// Variables of loops over literal names.
    pub(super) alternatives: HashMap<String, Vec<String>>,
    pub(super) networks: bool,
    /// How deep the expression at hand is nested.
    pub(super) depth: Cell<usize>,
}

/// The value of an expression nested deeper than this is unknown.
const MAX_VALUE_DEPTH: usize = 40;
/// A chain of methods longer than this is not followed back to its start.
const MAX_CHAIN_TOKENS: usize = 60;
/// A call without its closing bracket is read this far.
const MAX_UNCLOSED_TOKENS: usize = 200;
/// A loop over more names than this is not followed.
const MAX_VARIABLES: usize = 64;
impl CodeScan<'_> {
    pub(super) fn name(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn is(&self, at: usize, c: char) -> bool {
        self.tokens.get(at) == Some(&Token::Punct(c))
    }

    /// The ranges of a call's arguments: in brackets, or, in Perl and Ruby, right after the name.
    pub(super) fn arguments(&self, at: usize) -> Option<Vec<Range<usize>>> {
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
    pub(super) fn close(&self, open: usize) -> usize {
        match self.partner[open] {
            usize::MAX => self.tokens.len().min(open + MAX_UNCLOSED_TOKENS),
            close => close,
        }
    }

    /// Splits `from..to` at its commas.
    pub(super) fn split(&self, from: usize, to: usize) -> Vec<Range<usize>> {
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
    pub(super) fn owner(&self, at: usize) -> Option<String> {
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
    pub(super) fn receiver(&self, at: usize) -> Option<Range<usize>> {
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

    pub(super) fn is_path_call(&self, at: usize) -> bool {
        self.is(at - 2, ')') && {
            let open = self.partner[at - 2];
            open > 0 && open < at && self.name(open - 1).is_some_and(|name| name.contains("Path"))
        } || self.name(at - 2).is_some_and(|name| self.variables.contains_key(name))
    }

    /// `name = expression`
    pub(super) fn assignment(&mut self, eval: &mut Evaluator<'_>, state: &ShellState, at: usize) {
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

    pub(super) fn with_gaps(&self, eval: &mut Evaluator<'_>, text: &str) -> String {
        if !text.contains(GAP) {
            return text.to_owned();
        }
        let hole = eval.origins.hole("{…}", Tags::NONE);
        text.replace(GAP, &hole.to_string())
    }

    /// The value of an expression as far as it is plain: texts, known variables, joined paths.
    pub(super) fn value(&self, eval: &mut Evaluator<'_>, state: &ShellState, range: Range<usize>) -> String {
        if self.depth.get() >= MAX_VALUE_DEPTH || !eval.spend(range.len()) {
            return eval.origins.hole("…", Tags::NONE).to_string();
        }
        self.depth.set(self.depth.get() + 1);
        let text = self.known_value(eval, state, range);
        self.depth.set(self.depth.get() - 1);
        text
    }

    pub(super) fn known_value(
        &self,
        eval: &mut Evaluator<'_>,
        state: &ShellState,
        range: Range<usize>,
    ) -> String {
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
    pub(super) fn named(
        &self,
        eval: &mut Evaluator<'_>,
        state: &ShellState,
        name: &str,
        at: usize,
    ) -> (String, usize) {
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
            name if names::SEE_THROUGH_CALLS.contains(&name) => (String::new(), at),
            name => match self.variables.get(name) {
                Some(value) => (value.clone(), at),
                None => (eval.origins.hole(name.to_owned(), Tags::NONE).to_string(), self.after_call(at)),
            },
        }
    }

    pub(super) fn after_call(&self, at: usize) -> usize {
        if self.is(at + 1, '(') && self.partner[at + 1] < self.tokens.len() {
            self.partner[at + 1]
        } else {
            at
        }
    }

    /// The words of `["rm", "-rf", x]`; `None` if it is not a list.
    pub(super) fn list(
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

    pub(super) fn mentions(&self, range: &Range<usize>, names: &[&str]) -> bool {
        self.tokens[range.start..range.end.min(self.tokens.len())].iter().any(|token| match token {
            Token::Name(name) => names.contains(&name.as_str()),
            Token::Text(text, _) => matches!(text.as_str(), "base64" | "hex") && names.contains(&"base64"),
            _ => false,
        })
    }

    /// `for name in glob("build/*")`, `for x in ["a", "b"]`: what the variable will hold wherever it is used.
    pub(super) fn loops(&mut self, eval: &mut Evaluator<'_>, state: &ShellState) {
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
    pub(super) fn end_of_iterated(&self, from: usize) -> usize {
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
    pub(super) fn tuple(
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
}
