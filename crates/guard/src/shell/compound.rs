//! Compound commands: groups, branches, loops, `case`, tests, function definitions.

use crate::shell::parser::{Parser, Stop, name_length};
use crate::shell::*;

impl Parser<'_> {
    /// A compound command or a function, if one starts here.
    pub(super) fn compound(&mut self) -> Option<Command> {
        let kind = match self.peek()? {
            b'(' if self.byte(1) == Some(b'(') => {
                let start = self.at;
                match self.attempt(|r| {
                    r.at += 2;
                    r.deeper(|r| r.arithmetic("))"))
                }) {
                    Some(parts) => {
                        let text = self.text[start..self.at].trim_matches(['(', ')', ' ']);
                        Compound::Arithmetic(Word { parts }, text.to_owned())
                    }
                    None => self.subshell(),
                }
            }
            b'(' => self.subshell(),
            _ => return self.keyword(),
        };
        Some(Command::Compound(Box::new(kind), Vec::new()))
    }

    fn subshell(&mut self) -> Compound {
        self.step(1);
        Compound::Subshell(self.deeper(|r| {
            let script = r.list(Stop::Paren);
            r.close_with(")");
            script
        }))
    }

    fn keyword(&mut self) -> Option<Command> {
        let word = self.peek_reserved();
        let kind = match word {
            "{" => {
                self.at += 1;
                Compound::Group(self.deeper(|r| {
                    let script = r.list(Stop::Brace);
                    r.end_word("}");
                    script
                }))
            }
            "if" => {
                self.at += 2;
                self.deeper(|r| Some(r.if_arms()))?
            }
            "while" | "until" => {
                self.at += 5;
                let until = word == "until";
                self.deeper(|r| {
                    let condition = r.list(Stop::Words(&["do", "done"]));
                    Some(Compound::Loop { until, condition, body: r.do_done() })
                })?
            }
            "for" | "select" => {
                self.at += word.len();
                self.deeper(|r| Some(r.for_loop()))?
            }
            "case" => {
                self.at += 4;
                self.deeper(|r| Some(r.case()))?
            }
            "[[" => {
                self.at += 2;
                let words = self.test_words();
                self.skip_blanks();
                // A second end: what came before it was not a test.
                if self.peek_reserved() == "]]" {
                    self.problem(Problem::Unexpected("]]".into()));
                }
                Compound::Test(words)
            }
            "function" => {
                self.at += 8;
                self.skip_blanks();
                let name = self.word().literal().unwrap_or_default();
                self.skip_blanks();
                if self.eat("(") {
                    self.skip_blanks();
                    self.close_with(")");
                }
                return Some(self.function_body(name));
            }
            "coproc" => {
                self.at += 6;
                self.skip_blanks();
                // `coproc NAME { …; }`: the name is there only before a compound command.
                let before = self.at;
                let name = name_length(&self.bytes[self.at..]);
                self.at += name;
                self.skip_blanks();
                let named = name > 0 && (self.peek_reserved() == "{" || self.starts("("));
                if !named {
                    self.at = before;
                }
                return self.deeper(|r| r.command());
            }
            _ => return None,
        };
        Some(Command::Compound(Box::new(kind), Vec::new()))
    }

    pub(super) fn close_with(&mut self, text: &'static str) {
        self.skip_lines();
        if !self.eat(text) {
            self.problem(Problem::OpenBlock(text));
        }
    }

    fn end_word(&mut self, word: &'static str) {
        self.skip_lines();
        if !self.eat_reserved(word) {
            self.problem(Problem::OpenBlock(word));
        }
    }

    fn if_arms(&mut self) -> Compound {
        let mut arms = Vec::new();
        loop {
            let condition = self.list(Stop::Words(&["then", "fi"]));
            self.end_word("then");
            let body = self.list(Stop::Words(&["elif", "else", "fi"]));
            arms.push((condition, body));
            if self.eat_reserved("elif") {
                continue;
            }
            let otherwise = self.eat_reserved("else").then(|| self.list(Stop::Words(&["fi"])));
            self.end_word("fi");
            return Compound::If(arms, otherwise);
        }
    }

    fn do_done(&mut self) -> Script {
        self.end_word("do");
        let body = self.list(Stop::Words(&["done"]));
        self.end_word("done");
        body
    }

    /// The body of a `for`: `do … done`, or the older `{ … }`.
    fn for_body(&mut self) -> Script {
        self.skip_blanks();
        self.eat(";");
        self.skip_lines();
        if self.eat_reserved("{") {
            let body = self.list(Stop::Brace);
            self.end_word("}");
            return body;
        }
        self.do_done()
    }

    fn for_loop(&mut self) -> Compound {
        self.skip_blanks();
        if self.eat("((") {
            let start = self.at;
            let clauses = Word { parts: self.arithmetic("))").unwrap_or_default() };
            let text = self.text.get(start..self.at).unwrap_or("");
            let endless = text.split(';').nth(1).is_some_and(|condition| condition.trim().is_empty());
            return Compound::CountingFor { clauses, endless, body: self.for_body() };
        }
        let name = self.word().literal().unwrap_or_default();
        self.skip_lines();
        let mut words = None;
        if self.eat_reserved("in") {
            let mut list = Vec::new();
            loop {
                self.skip_blanks();
                match self.peek() {
                    None | Some(b'\n' | b';' | b'&' | b'|' | b')' | b'#') => break,
                    _ => {}
                }
                let start = self.at;
                list.push(self.word());
                if self.at == start {
                    break;
                }
            }
            words = Some(list);
        }
        Compound::For(name, words, self.for_body())
    }

    fn case(&mut self) -> Compound {
        self.skip_blanks();
        let subject = self.word();
        self.end_word("in");
        let mut arms = Vec::new();
        loop {
            self.skip_lines();
            if self.peek().is_none() || self.peek_reserved() == "esac" {
                self.end_word("esac");
                return Compound::Case(subject, arms);
            }
            let start = self.at;
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                if matches!(self.peek(), None | Some(b')' | b'\n')) {
                    break;
                }
                let before = self.at;
                patterns.push(self.word());
                self.skip_blanks();
                if !self.eat("|") && self.at == before {
                    break;
                }
            }
            self.close_with(")");
            let body = self.list(Stop::CaseArm);
            for end in [";;&", ";;", ";&"] {
                if self.eat(end) {
                    break;
                }
            }
            arms.push((patterns, body));
            if self.at == start {
                self.problem(Problem::OpenBlock("esac"));
                self.at = self.bytes.len();
            }
        }
    }

    /// Everything between `[[` and `]]`. Brackets and bars are plain letters here: they group tests and occur in
    /// regular expressions, and either way only the expansions matter.
    fn test_words(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n')) {
                self.at += 1;
            }
            if self.peek().is_none() {
                self.problem(Problem::OpenBlock("]]"));
                return words;
            }
            if self.eat_reserved("]]") {
                return words;
            }
            let start = self.at;
            words.push(self.test_word());
            if self.at == start {
                self.at += 1;
            }
        }
    }
}
