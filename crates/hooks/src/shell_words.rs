//! The words of the first simple command in a shell line, as far as they can be known without a shell.

use std::path::PathBuf;

/// A word with its quotes removed and known variables filled in.
#[derive(Debug, Default, PartialEq)]
pub struct ShellWord {
    pub text: String,
    /// Only a shell can tell what it becomes.
    pub opaque: bool,
    /// A known variable outside quotes.
    pub unquoted_variable: Option<String>,
}

impl ShellWord {
    /// `NAME=value`
    pub fn is_assignment(&self) -> bool {
        self.text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }
}

/// Reads up to the first operator. `known` variables are filled in; others make a word opaque.
pub fn first_command(line: &str, known: &[(String, PathBuf)]) -> Vec<ShellWord> {
    let mut words = Vec::new();
    let mut word: Option<ShellWord> = None;
    let mut rest = line.trim_start();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            ' ' | '\t' => words.extend(word.take()),
            ';' | '|' | '&' | '<' | '>' | '\n' | '(' | ')' => break,
            '\'' => {
                let (inside, after) = rest.split_once('\'').unwrap_or((rest, ""));
                word.get_or_insert_default().text.push_str(inside);
                rest = after;
            }
            '"' => rest = double_quoted(rest, word.get_or_insert_default(), known),
            '\\' => {
                let escaped = rest.chars().next();
                word.get_or_insert_default().text.extend(escaped);
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
            }
            '$' => rest = variable(rest, word.get_or_insert_default(), known, true),
            '`' => {
                word.get_or_insert_default().opaque = true;
                break;
            }
            '*' | '?' | '[' | '{' => {
                let word = word.get_or_insert_default();
                word.opaque = true;
                word.text.push(c);
            }
            '~' if word.is_none() && (rest.is_empty() || rest.starts_with(['/', ' '])) => {
                let home = known.iter().find(|(name, _)| name == "HOME").map(|(_, home)| home);
                word.get_or_insert_default().text.push_str(&home.map_or("~".into(), |h| h.to_string_lossy()));
            }
            c => word.get_or_insert_default().text.push(c),
        }
    }
    words.extend(word);
    words
}

fn double_quoted<'l>(mut rest: &'l str, word: &mut ShellWord, known: &[(String, PathBuf)]) -> &'l str {
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return rest,
            '$' => rest = variable(rest, word, known, false),
            '`' => word.opaque = true,
            '\\' => {
                let escaped = rest.chars().next();
                if !matches!(escaped, Some('"' | '\\' | '$' | '`')) {
                    word.text.push('\\');
                }
                word.text.extend(escaped);
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
            }
            c => word.text.push(c),
        }
    }
    rest
}

/// What follows a `$`.
fn variable<'l>(rest: &'l str, word: &mut ShellWord, known: &[(String, PathBuf)], bare: bool) -> &'l str {
    let (braced, body) = match rest.strip_prefix('{') {
        Some(body) => (true, body),
        None => (false, rest),
    };
    let length = body.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let (name, after) = body.split_at(length);
    let after = match (braced, after.strip_prefix('}')) {
        (true, Some(after)) => after,
        (true, None) => {
            word.opaque = true;
            return after;
        }
        (false, _) => after,
    };
    match known.iter().find(|(known, _)| known == name) {
        Some((name, value)) => {
            word.text.push_str(&value.to_string_lossy());
            if bare && name != "HOME" {
                word.unquoted_variable = Some(name.clone());
            }
        }
        None => word.opaque = true,
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_the_shell_would() {
        let known =
            [("P".to_owned(), PathBuf::from("/my project")), ("HOME".to_owned(), PathBuf::from("/h"))];
        let table = [
            ("a b; c", "a|b"),
            ("'/x y/z' \"q r\"s", "/x y/z|q rs"),
            ("\"$P\"/run.sh --x", "/my project/run.sh|--x"),
            ("\"${P}/run.sh\"", "/my project/run.sh"),
            ("$P/run.sh", "/my project/run.sh=P"),
            ("~/bin/x ~y", "/h/bin/x|~y"),
            ("a\\ b \"c\\\"d\"", "a b|c\"d"),
            ("$OTHER/x b", "/x?|b"),
            ("$(which x)", "?"),
            ("FOO=1 x > y", "FOO=1|x"),
            ("echo *.txt", "echo|*.txt?"),
        ];
        for (line, expected) in table {
            let words: Vec<String> = first_command(line, &known)
                .into_iter()
                .map(|word| {
                    let mark = if word.opaque { "?" } else { "" };
                    let bare = word.unquoted_variable.map(|name| format!("={name}")).unwrap_or_default();
                    format!("{}{mark}{bare}", word.text)
                })
                .collect();
            assert_eq!(words.join("|"), expected, "{line}");
        }
    }
}
