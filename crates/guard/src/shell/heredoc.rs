//! Heredocs: the delimiter is read with the command, the body at the end of the line.

use crate::shell::parser::Parser;
use crate::shell::*;

pub(super) struct PendingHeredoc {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    body: Rc<OnceCell<Word>>,
    /// Inside `$(…)` the closing bracket may follow the delimiter directly.
    nested: bool,
}

impl Parser<'_> {
    pub(super) fn heredoc_start(&mut self, fd: Option<u32>, strip_tabs: bool) -> Redirect {
        let body = Rc::new(OnceCell::new());
        let word = self.word();
        let quoted = word.has_quotes();
        let delimiter = word.literal().unwrap_or_default();
        if delimiter.is_empty() && !quoted {
            self.problem(Problem::OpenHeredoc);
        } else {
            let nested = self.depth > 0;
            self.pending.push(PendingHeredoc { delimiter, quoted, strip_tabs, body: body.clone(), nested });
        }
        Redirect { fd, op: RedirectOp::Text, target: RedirectTarget::Heredoc(body) }
    }

    /// Reads the bodies that were waiting for this line end.
    pub(super) fn read_heredocs(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            self.read_body(pending);
        }
    }

    /// The text ended on the operator's line.
    pub(super) fn finish_heredocs(&mut self) {
        if !self.pending.is_empty() {
            self.pending.clear();
            self.problem(Problem::OpenHeredoc);
        }
    }

    fn read_body(&mut self, pending: PendingHeredoc) {
        let start = self.at;
        let mut body = String::new();
        let mut closed = false;
        while self.at < self.bytes.len() {
            let rest = &self.text[self.at..];
            let line_length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let line = &rest[..line_length];
            let shown = if pending.strip_tabs { line.trim_start_matches('\t') } else { line };
            if shown == pending.delimiter {
                self.at += line_length + usize::from(line_length < rest.len());
                closed = true;
                break;
            }
            let tail = shown.strip_prefix(pending.delimiter.as_str());
            if pending.nested && tail.is_some_and(|tail| tail.trim_start().starts_with(')')) {
                self.at += line_length - tail.map_or(0, str::len);
                closed = true;
                break;
            }
            body.push_str(shown);
            body.push('\n');
            self.at += line_length + usize::from(line_length < rest.len());
        }
        if !closed {
            self.at = self.bytes.len();
            self.problem(Problem::OpenHeredoc);
        }
        debug_assert!(self.at >= start);
        let word = if pending.quoted {
            Word { parts: vec![Part::Quoted(body)] }
        } else {
            let mut inner = Parser::new(&body, self.max_depth);
            inner.depth = self.depth + 1;
            inner.wasted = self.wasted;
            // What is only written to a file may contain any character.
            inner.suspicious = false;
            let parts = if inner.depth >= inner.max_depth {
                inner.problem(Problem::TooDeep);
                Vec::new()
            } else {
                inner.expandable_text()
            };
            self.wasted = inner.wasted;
            for problem in inner.problems {
                self.problem(problem);
            }
            Word { parts: vec![Part::Double(parts)] }
        };
        let _ = pending.body.set(word);
    }
}
