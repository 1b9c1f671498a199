//! A tokenizer that is good enough for one-liners in Python, JavaScript, Perl, Ruby and PHP alike: names, strings,
//! brackets. It has no grammar and never fails.

use crate::code::Language;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// Its text; `true` if it contained variables or expressions (each is now a [`GAP`]).
    Text(String, bool),
    /// Text between backticks that the language runs as a command.
    Command(String),
    Punct(char),
    Line,
}

/// Stands for an expression inside a string.
pub(super) const GAP: char = '\u{1}';

/// A longer program on a command line is cut off here.
const MAX_TOKENS: usize = 200_000;

pub(super) fn read(code: &str, language: Language) -> Vec<Token> {
    let mut reader = Lexer { chars: code.chars().collect(), at: 0, language };
    let mut tokens = Vec::new();
    while let Some(token) = reader.next() {
        tokens.push(token);
        if tokens.len() >= MAX_TOKENS {
            break;
        }
    }
    tokens
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    language: Language,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn next(&mut self) -> Option<Token> {
        use Language::{JavaScript, Perl, Php, Ruby};
        loop {
            let c = *self.chars.get(self.at)?;
            match c {
                '\n' => {
                    self.at += 1;
                    return Some(Token::Line);
                }
                c if c.is_whitespace() => self.at += 1,
                '#' if self.language != JavaScript && self.peek(1) != '{' => self.skip_line(),
                '/' if matches!(self.language, JavaScript | Php) && self.peek(1) == '/' => self.skip_line(),
                '/' if matches!(self.language, JavaScript | Php) && self.peek(1) == '*' => self.skip_block(),
                '\'' | '"' => return Some(self.string(c)),
                '`' if matches!(self.language, Perl | Ruby | Php) => {
                    return Some(match self.string('`') {
                        Token::Text(text, _) => Token::Command(text),
                        other => other,
                    });
                }
                '`' => return Some(self.string(c)),
                '%' if self.language == Ruby && self.peek(1) == 'x' => {
                    self.at += 2;
                    return Some(self.delimited());
                }
                c if c.is_alphanumeric() || c == '_' || c == '$' || c == '@' => return Some(self.name()),
                ':' if self.peek(1) == ':' => {
                    self.at += 2;
                    return Some(Token::Punct('.'));
                }
                '-' if self.peek(1) == '>' => {
                    self.at += 2;
                    return Some(Token::Punct('.'));
                }
                c => {
                    self.at += 1;
                    return Some(Token::Punct(c));
                }
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.chars.len() && self.chars[self.at] != '\n' {
            self.at += 1;
        }
    }

    fn skip_block(&mut self) {
        self.at += 2;
        while self.at < self.chars.len() && !(self.peek(0) == '*' && self.peek(1) == '/') {
            self.at += 1;
        }
        self.at += 2;
    }

    fn name(&mut self) -> Token {
        let start = self.at;
        self.at += 1;
        while self.chars.get(self.at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
            self.at += 1;
        }
        let name: String = self.chars[start..self.at].iter().collect();
        let quote = self.peek(0);
        if self.language == Language::Python
            && matches!(quote, '\'' | '"')
            && name.len() <= 2
            && name.chars().all(|c| "rbfuRBFU".contains(c))
        {
            return self.string(quote);
        }
        if self.language == Language::Perl
            && matches!(name.as_str(), "qx" | "q" | "qq")
            && "{([</|!".contains(quote)
        {
            return match self.delimited() {
                Token::Command(text) if name != "qx" => Token::Text(text, false),
                token => token,
            };
        }
        Token::Name(name.trim_start_matches(['$', '@']).to_owned())
    }

    /// `qx{…}`, `%x(…)`: from this delimiter to its partner.
    fn delimited(&mut self) -> Token {
        let open = self.peek(0);
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        let start = (self.at + 1).min(self.chars.len());
        self.at = start;
        while self.at < self.chars.len() && self.chars[self.at] != close {
            self.at += 1;
        }
        let text = self.chars[start..self.at].iter().collect();
        self.at += 1;
        Token::Command(text)
    }

    fn string(&mut self, quote: char) -> Token {
        let start = self.at;
        let triple = self.language == Language::Python && self.peek(1) == quote && self.peek(2) == quote;
        self.at += if triple { 3 } else { 1 };
        let formatted = start > 0 && self.chars[start - 1].eq_ignore_ascii_case(&'f')
            || self.language != Language::Python;
        let mut text = String::new();
        let mut gaps = false;
        while let Some(&c) = self.chars.get(self.at) {
            if c == quote && (!triple || (self.peek(1) == quote && self.peek(2) == quote)) {
                self.at += if triple { 3 } else { 1 };
                return Token::Text(text, gaps);
            }
            // In Python and JavaScript a line end shows that this was not a string.
            let one_line = matches!(self.language, Language::Python | Language::JavaScript) && quote != '`';
            if c == '\n' && !triple && one_line {
                break;
            }
            if c == '\\' {
                self.escaped(&mut text);
                continue;
            }
            let expression = match self.language {
                Language::Python => formatted && c == '{' && self.peek(1) != '{',
                Language::JavaScript => quote == '`' && c == '$' && self.peek(1) == '{',
                Language::Ruby => quote != '\'' && c == '#' && self.peek(1) == '{',
                Language::Perl | Language::Php => {
                    quote != '\'' && c == '$' && (self.peek(1).is_alphabetic() || self.peek(1) == '{')
                }
                _ => false,
            };
            if expression {
                gaps = true;
                text.push(GAP);
                self.skip_expression();
                continue;
            }
            text.push(c);
            self.at += 1;
        }
        if self.at >= self.chars.len() {
            return Token::Text(text, gaps);
        }
        self.at = start + 1;
        Token::Punct(quote)
    }

    fn escaped(&mut self, text: &mut String) {
        let next = self.peek(1);
        self.at += 2;
        match next {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'x' => {
                let digits: String = [self.peek(0), self.peek(1)].iter().collect();
                if let Ok(code) = u8::from_str_radix(&digits, 16) {
                    text.push(char::from(code));
                    self.at += 2;
                }
            }
            '\n' | '\0' => {}
            other => text.push(other),
        }
    }

    fn skip_expression(&mut self) {
        if self.peek(0) == '{' || self.peek(1) == '{' {
            let mut depth = 0usize;
            while let Some(&c) = self.chars.get(self.at) {
                self.at += 1;
                match c {
                    '{' => depth += 1,
                    '}' => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            return;
                        }
                    }
                    '\n' => return,
                    _ => {}
                }
            }
        } else {
            self.at += 1;
            while self.chars.get(self.at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                self.at += 1;
            }
        }
    }
}

/// For each opening bracket the index of its closing one, and vice versa.
pub(super) fn brackets(tokens: &[Token]) -> Vec<usize> {
    let mut partner = vec![usize::MAX; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Punct('(' | '[' | '{') => open.push(at),
            Token::Punct(')' | ']' | '}') => {
                if let Some(start) = open.pop() {
                    partner[start] = at;
                    partner[at] = start;
                }
            }
            _ => {}
        }
    }
    partner
}
