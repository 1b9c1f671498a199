//! The parser's core: lists, pipelines, simple commands, redirections.

use crate::shell::heredoc::PendingHeredoc;
use crate::shell::*;

/// What [`read`] returns.
#[derive(Debug, Default, Clone)]
pub struct Parsed {
    pub script: Script,
    pub problems: Vec<Problem>,
}

/// Parses `text`; nesting beyond `max_depth` is a problem, because every level costs stack.
pub fn read(text: &str, max_depth: usize) -> Parsed {
    let mut reader = Parser::new(text, max_depth);
    let script = reader.list(Stop::End);
    reader.finish_heredocs();
    Parsed { script, problems: reader.problems }
}

/// How often a text, in multiples of its length, may be read again because a `((` turned out to be two brackets.
/// Without a limit, nesting them would double the work at every level.
const MAX_REREAD_DEPTH: usize = 16;

pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub bytes: &'a [u8],
    pub at: usize,
    pub depth: usize,
    pub max_depth: usize,
    /// Bytes that were read for nothing.
    pub wasted: usize,
    pub pending: Vec<PendingHeredoc>,
    pub problems: Vec<Problem>,
    /// Some character is not printable ASCII, so a closer look is needed.
    pub suspicious: bool,
}

/// Where a list of commands ends. The end itself is left to the caller.
#[derive(Clone, Copy)]
pub(super) enum Stop {
    End,
    Paren,
    Brace,
    Words(&'static [&'static str]),
    /// `;;`, `;&`, `;;&` or `esac`
    CaseArm,
}

const CLOSERS: [&str; 10] = ["then", "elif", "else", "fi", "do", "done", "esac", "}", "]]", "in"];

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, max_depth: usize) -> Parser<'a> {
        Parser {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            max_depth,
            wasted: 0,
            pending: Vec::new(),
            problems: Vec::new(),
            suspicious: !characters::is_plain(text),
        }
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        // A text full of problems would otherwise grow a list as long as itself.
        if self.problems.len() < 16 || problem == Problem::TooDeep {
            self.problems.push(problem);
        }
    }

    /// The next byte, after any line continuation.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at) == Some(&b'\\') && self.bytes.get(self.at + 1) == Some(&b'\n') {
            self.at += 2;
        }
        self.bytes.get(self.at).copied()
    }

    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn starts(&mut self, text: &str) -> bool {
        self.peek();
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.starts(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Moves on after an [`Self::attempt`], which may have given up on the text: never past its end.
    pub(super) fn step(&mut self, length: usize) {
        self.at = (self.at + length).min(self.bytes.len());
    }

    /// Runs `f` one level deeper, or gives up on the rest of the text.
    pub(super) fn deeper<T: Default>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= self.max_depth {
            self.problem(Problem::TooDeep);
            self.at = self.bytes.len();
            return T::default();
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Records a misleading character in `text`, which ends at the current position.
    pub(super) fn look_at(&mut self, text: &str, before: Option<char>, quoted: bool) {
        if self.suspicious
            && let Some(c) = characters::misleading(text, before, quoted)
        {
            self.problem(Problem::Character(c));
        }
    }

    /// Blanks, and a comment if one starts here.
    pub(super) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.look_at(&self.text[self.at..self.at + length], None, true);
        self.at += length;
    }

    /// Blanks, line ends (with the heredocs that wait for them) and comments.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => self.newline(),
                Some(b'#') => self.skip_comment(),
                _ => return,
            }
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.read_heredocs();
    }

    /// The current word if it consists of plain letters only, as reserved words do; nothing is consumed.
    pub(super) fn peek_reserved(&mut self) -> &'a str {
        self.peek();
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .take(16)
            .position(|b| !matches!(b, b'a'..=b'z' | b'{' | b'}' | b'!' | b'[' | b']'))
            .unwrap_or(rest.len().min(16));
        let end = rest.get(length).copied().unwrap_or(b' ');
        let ends = matches!(end, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
            || (end == b'\\' && rest.get(length + 1) == Some(&b'\n'));
        if ends { &self.text[self.at..self.at + length] } else { "" }
    }

    pub(super) fn eat_reserved(&mut self, word: &str) -> bool {
        let found = self.peek_reserved() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn stops(&mut self, stop: Stop) -> bool {
        match stop {
            Stop::End => false,
            Stop::Paren => self.starts(")"),
            Stop::Brace => self.peek_reserved() == "}",
            Stop::Words(words) => words.contains(&self.peek_reserved()),
            Stop::CaseArm => self.starts(";;") || self.starts(";&") || self.peek_reserved() == "esac",
        }
    }

    /// Commands up to `stop`, which is not consumed.
    pub(super) fn list(&mut self, stop: Stop) -> Script {
        let mut script = Script::default();
        loop {
            self.skip_lines();
            if self.peek().is_none() || self.stops(stop) {
                return script;
            }
            let start = self.at;
            if let Some(item) = self.item() {
                script.items.push(item);
            }
            if self.at == start {
                self.skip_unexpected();
            }
        }
    }

    /// Skips something that does not start a command.
    pub(super) fn skip_unexpected(&mut self) {
        let word = self.peek_reserved();
        let length = if CLOSERS.contains(&word) {
            word.len()
        } else {
            self.text[self.at..].chars().next().map_or(1, char::len_utf8)
        };
        let text = self.text[self.at..self.at + length].to_owned();
        self.at += length;
        self.problem(Problem::Unexpected(text));
    }

    fn item(&mut self) -> Option<Item> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let link = if self.eat("&&") {
                Link::And
            } else if self.eat("||") {
                Link::Or
            } else {
                break;
            };
            self.skip_lines();
            match self.pipeline() {
                Some(pipeline) => rest.push((link, pipeline)),
                None => {
                    self.problem(Problem::Unexpected(if link == Link::And { "&&" } else { "||" }.into()));
                    break;
                }
            }
        }
        self.skip_blanks();
        let mut background = false;
        match self.peek() {
            Some(b'&') if self.byte(1) != Some(b'>') => {
                self.at += 1;
                background = true;
            }
            Some(b';') if !self.starts(";;") && !self.starts(";&") => self.at += 1,
            Some(b'\n') => self.newline(),
            None | Some(b')' | b';' | b'#') => {}
            // `{ a; } b`: only the end of a block may follow without a separator.
            Some(_) if CLOSERS.contains(&self.peek_reserved()) => {}
            Some(_) => {
                let next = self.text[self.at..].chars().next().unwrap_or(' ');
                self.problem(Problem::Unexpected(next.to_string()));
            }
        }
        Some(Item { first, rest, background })
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        loop {
            self.skip_blanks();
            if self.eat_reserved("!") {
                continue;
            }
            if self.eat_reserved("time") {
                self.skip_blanks();
                while self.starts("-p ") || self.starts("-- ") {
                    self.at += 3;
                    self.skip_blanks();
                }
                continue;
            }
            break;
        }
        let mut pipeline = Pipeline::default();
        pipeline.stages.push(self.command()?);
        loop {
            self.skip_blanks();
            if self.starts("||") || !self.eat("|") {
                return Some(pipeline);
            }
            self.eat("&");
            self.skip_lines();
            match self.command() {
                Some(stage) => pipeline.stages.push(stage),
                None => {
                    self.problem(Problem::Unexpected("|".into()));
                    return Some(pipeline);
                }
            }
        }
    }

    /// One command with its redirections; `None` if none starts here.
    pub(super) fn command(&mut self) -> Option<Command> {
        self.skip_blanks();
        match self.compound() {
            Some(Command::Compound(kind, mut redirects)) => {
                while let Some(redirect) = self.redirect() {
                    redirects.push(redirect);
                }
                Some(Command::Compound(kind, redirects))
            }
            Some(function) => Some(function),
            None => self.simple(),
        }
    }

    fn simple(&mut self) -> Option<Command> {
        if CLOSERS[..9].contains(&self.peek_reserved()) {
            return None;
        }
        let mut simple = Simple::default();
        let start = self.at;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect() {
                simple.redirects.push(redirect);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'#') => {
                    self.skip_comment();
                    break;
                }
                Some(b'(') => match self.function_after(&simple) {
                    Some(function) => return Some(function),
                    None => {
                        if simple.words.is_empty() && simple.assigns.is_empty() {
                            break;
                        }
                        self.problem(Problem::Unexpected("(".into()));
                        self.at += 1;
                        continue;
                    }
                },
                _ => {}
            }
            let declares = simple.words.first().is_some_and(|word| {
                word.literal().is_some_and(|name| {
                    matches!(name.as_str(), "declare" | "typeset" | "local" | "export" | "readonly")
                })
            });
            if (simple.words.is_empty() || declares)
                && let Some(assign) = self.assignment(declares)
            {
                simple.assigns.push(assign);
                continue;
            }
            simple.words.push(self.word());
        }
        if self.at == start { None } else { Some(Command::Simple(simple)) }
    }

    /// `name () body`, after the name has been read.
    fn function_after(&mut self, simple: &Simple) -> Option<Command> {
        let [word] = simple.words.as_slice() else { return None };
        if !simple.assigns.is_empty() || !simple.redirects.is_empty() || word.has_quotes() {
            return None;
        }
        let name = word.literal()?;
        let before = self.at;
        self.at += 1;
        self.skip_blanks();
        if !self.eat(")") {
            self.at = before;
            return None;
        }
        Some(self.function_body(name))
    }

    pub(super) fn function_body(&mut self, name: String) -> Command {
        self.skip_lines();
        let body = self.deeper(|r| r.command());
        match body {
            Some(body) => Command::Function(name, Rc::new(body)),
            None => {
                self.problem(Problem::OpenBlock("{"));
                Command::Function(name, Rc::new(Command::Simple(Simple::default())))
            }
        }
    }

    /// Tries one reading, and goes back if it fails; gives up on the text when too much of it was read for nothing.
    pub(super) fn attempt<T>(&mut self, first: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (at, problems, pending) = (self.at, self.problems.len(), self.pending.len());
        let result = first(self);
        if result.is_none() {
            self.wasted += self.at - at;
            if self.wasted > MAX_REREAD_DEPTH * (self.bytes.len() + 1024) {
                self.problem(Problem::TooDeep);
                self.at = self.bytes.len();
                return None;
            }
            self.at = at;
            self.problems.truncate(problems);
            self.pending.truncate(pending);
        }
        result
    }
}

/// The length of the variable name at the start of `bytes`.
pub(super) fn name_length(bytes: &[u8]) -> usize {
    let length = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    if bytes.first().is_some_and(u8::is_ascii_digit) { 0 } else { length }
}
