//! From PowerShell text to statements and words.

use crate::eval::Evaluator;
use crate::eval::shell_state::ShellState;
use crate::eval::value::Tags;
use crate::paths;
use std::collections::HashMap;

/// One command with its words; `bar` if it reads from the previous one.
#[derive(Default, Debug)]
pub(super) struct PowerShellStatement {
    pub words: Vec<PowerShellWord>,
    pub bar: bool,
    /// After the call operator `&`.
    pub called: bool,
}

#[derive(Clone, Debug)]
pub(super) struct PowerShellWord {
    pub text: String,
    pub quoted: bool,
}

pub(super) fn slashes(path: &str) -> String {
    if paths::is_windows(path) { paths::slashed(path) } else { path.replace('\\', "/") }
}

#[derive(Default)]
pub(super) struct PowerShellReader {
    pub variables: HashMap<String, String>,
    pub unfinished: bool,
}

impl PowerShellReader {
    pub(super) fn read(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        text: &str,
    ) -> Vec<PowerShellStatement> {
        let chars: Vec<char> = text.chars().collect();
        let mut statements = vec![PowerShellStatement::default()];
        let mut word: Option<PowerShellWord> = None;
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
                            let (value, used) = self.variable(eval, state, &chars[at..]);
                            inner.push_str(&value);
                            at += used;
                        } else {
                            inner.push(d);
                        }
                    }
                    self.unfinished |= !closed;
                    let word = word.get_or_insert(PowerShellWord { text: String::new(), quoted: true });
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
                    let (value, used) = self.variable(eval, state, &chars[at..]);
                    at += used;
                    if assigns && self.assigned(&chars, at) {
                        let name: String = chars[name_start..at].iter().collect();
                        at = self.assign(eval, &chars, at, name.to_lowercase());
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
                        _ => statements.push(PowerShellStatement { words: Vec::new(), bar, called }),
                    }
                }
                '>' => {
                    finish(&mut word, &mut statements);
                    if next == Some('>') {
                        at += 1;
                    }
                    if let Some(last) = statements.last_mut() {
                        last.words.push(PowerShellWord { text: ">".into(), quoted: false });
                    }
                }
                c => push(&mut word, c, false),
            }
        }
        finish(&mut word, &mut statements);
        statements.retain(|statement| !statement.words.is_empty());
        statements
    }

    /// The value after a `$`, and how many characters it took.
    fn variable(&self, eval: &mut Evaluator<'_>, state: &ShellState, rest: &[char]) -> (String, usize) {
        let braced = rest.first() == Some(&'{');
        let start = usize::from(braced);
        let mut length = rest[start.min(rest.len())..]
            .iter()
            .take_while(|c| c.is_alphanumeric() || matches!(**c, '_' | ':' | '?'))
            .count();
        let name: String = rest[start.min(rest.len())..(start + length).min(rest.len())].iter().collect();
        length = (length + start + usize::from(braced)).min(rest.len());
        let name = name.to_lowercase();
        let value = match name.trim_start_matches("global:").trim_start_matches("script:") {
            "" => return ("$".into(), length),
            "home" | "env:userprofile" | "env:home" => eval.locations.home.clone(),
            "env:temp" | "env:tmp" | "env:tmpdir" => eval.locations.tmpdir.clone(),
            "pwd" => eval.current_dir(state),
            "true" | "false" | "null" | "?" => String::new(),
            "env:systemroot" | "env:windir" => "C:/Windows".into(),
            "env:systemdrive" => "C:".into(),
            "profile" => {
                format!("{}/Documents/PowerShell/Microsoft.PowerShell_profile.ps1", eval.locations.home)
            }
            name => match self.variables.get(name) {
                Some(value) => value.clone(),
                None => eval.origins.hole(format!("${name}"), Tags::NONE).to_string(),
            },
        };
        (value, length)
    }

    fn assigned(&self, chars: &[char], at: usize) -> bool {
        let rest: Vec<char> = chars[at..].iter().copied().skip_while(|c| *c == ' ').take(2).collect();
        rest.first() == Some(&'=') && rest.get(1) != Some(&'=')
    }

    /// `$name = 'text'`; anything else on the right is read as a command.
    fn assign(&mut self, eval: &mut Evaluator<'_>, chars: &[char], mut at: usize, name: String) -> usize {
        while at < chars.len() && matches!(chars[at], ' ' | '=') {
            at += 1;
        }
        let value = match chars.get(at) {
            Some(&quote @ ('\'' | '"')) => {
                let text: String = chars[at + 1..].iter().take_while(|c| **c != quote).collect();
                at += text.chars().count() + 2;
                text
            }
            _ => eval.origins.hole(format!("${name}"), Tags::NONE).to_string(),
        };
        self.variables.insert(name, value);
        at
    }
}

fn push(word: &mut Option<PowerShellWord>, c: char, quoted: bool) {
    word.get_or_insert(PowerShellWord { text: String::new(), quoted }).text.push(c);
}

fn finish(word: &mut Option<PowerShellWord>, statements: &mut [PowerShellStatement]) {
    if let (Some(word), Some(last)) = (word.take(), statements.last_mut()) {
        last.words.push(word);
    }
}
