//! What is wrong with a configuration file, in words for the person who wrote it: the parser's own words name Rust's types.

use std::fmt;

/// A mistake in the file: where, and what.
#[derive(Debug)]
pub struct Mistake {
    pub line: usize,
    pub column: usize,
    pub why: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.why)
    }
}

impl std::error::Error for Mistake {}

/// What the parser says about the text itself, and what that means. `EOF` stands for the end of the file.
const SYNTAX: &[(&str, &str)] = &[
    ("EOF while parsing a list", "the file ends inside a list: a ] is missing"),
    ("EOF while parsing an object", "the file ends inside an object: a } is missing"),
    ("EOF while parsing a string", "the file ends inside a text: a quotation mark is missing"),
    ("EOF while parsing a value", "the file ends where a value has to be"),
    ("expected `:`", "a : is missing after a name"),
    ("expected `,` or `]`", "a , or ] is missing before this"),
    ("expected `,` or `}`", "a , or } is missing before this"),
    ("expected ident", "this is not a value; a text needs quotation marks"),
    ("expected value", "this is not a value; a text needs quotation marks"),
    ("key must be a string", "a name needs quotation marks"),
    ("trailing comma", "there is a comma too many"),
    ("trailing characters", "there is something after the end of the object"),
    ("invalid number", "this is not a number"),
    ("number out of range", "this number is too large"),
    ("invalid escape", "this is not an escape: a backslash in a text is written \\\\"),
    ("control character", "a line break in a text is written \\n"),
];

/// What the parser calls the types of values, and what a person writes.
const TYPES: &[(&str, &str)] = &[
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number, 0 or more"),
    ("u64", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotation marks"),
    ("a sequence", "a list: [ … ]"),
    ("a map", "an object: { … }"),
    ("struct ", "an object: { … }"),
];

/// What the parser calls a value that it found.
const FOUND: &[(&str, &str)] = &[
    ("string ", "the text "),
    ("integer ", ""),
    ("floating point ", ""),
    ("boolean ", ""),
    ("sequence", "a list"),
    ("map", "an object"),
];

impl Mistake {
    /// The mistake that `error` found in `json`.
    pub(super) fn new(error: &serde_json::Error, json: &str) -> Mistake {
        // At the end of a file that ends with a line break, the parser counts from 0.
        let (line, column) = (error.line(), error.column().max(1));
        let said = error.to_string();
        let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
        let before: usize = json.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        Mistake { line, column, why: in_words(said, &setting_at(json, before + column)) }
    }
}

fn in_words(said: &str, setting: &str) -> String {
    if let Some((_, words)) = SYNTAX.iter().find(|(start, _)| said.starts_with(start)) {
        return (*words).to_owned();
    }
    let whose = if setting.is_empty() { "it".to_owned() } else { format!("`{setting}`") };
    let wrong = said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    let Some((found, expected)) = wrong.and_then(|wrong| wrong.rsplit_once(", expected ")) else {
        let unknown = said.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "));
        return match unknown {
            Some((found, known)) => {
                format!("{whose} has to be {}, not {found}", known)
            }
            None => format!("{whose}: {said}"),
        };
    };
    let expected = TYPES.iter().find(|(name, _)| expected.starts_with(name)).map_or(expected, |row| row.1);
    let found = FOUND
        .iter()
        .find_map(|(name, words)| Some(format!("{words}{}", found.strip_prefix(name)?)))
        .unwrap_or_else(|| found.to_owned());
    format!("{whose} has to be {expected}, not {}", found.replace('`', ""))
}

/// The setting that stands at this place, with those around it: `reconcile.fallback_timeout`.
fn setting_at(json: &str, end: usize) -> String {
    let bytes = json.as_bytes();
    // The name that was read last at each depth.
    let mut names: Vec<Option<&str>> = Vec::new();
    let mut at = 0;
    while at < end.min(bytes.len()) {
        match bytes[at] {
            b'{' | b'[' => names.push(None),
            b'}' | b']' => drop(names.pop()),
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let is_name = json.get(at + 1..).is_some_and(|rest| rest.trim_start().starts_with(':'));
                if let Some(name) = names.last_mut().filter(|_| is_name) {
                    *name = json.get(start..at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    names.into_iter().flatten().collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn a_mistake_is_told_in_plain_words_with_its_place() {
        for (text, expected) in [
            (
                "{\n  \"port\": \"abc\"\n}",
                "line 2, column 15: `port` has to be a whole number from 0 to 65535, not the text \"abc\"",
            ),
            (
                "{\"port\": 70000}",
                "line 1, column 14: `port` has to be a whole number from 0 to 65535, not 70000",
            ),
            ("{\"paranoid\": 1}", "line 1, column 14: `paranoid` has to be true or false, not 1"),
            ("{\"names\": \"a\"}", "line 1, column 13: `names` has to be a list: [ … ], not the text \"a\""),
            ("{\"guard\": true}", "line 1, column 14: `guard` has to be an object: { … }, not true"),
            (
                "{\"names\": [\"port\"], \"reconcile\": {\"fallback_timeout\": \"1\"}}",
                "line 1, column 57: `reconcile.fallback_timeout` has to be a number, not the text \"1\"",
            ),
            (
                "{\"durability\": \"disk\"}",
                "line 1, column 21: `durability` has to be `crash` or `power`, not `disk`",
            ),
            ("{\"port\": 1", "line 1, column 10: the file ends inside an object: a } is missing"),
            ("{\"port\": 1\n", "line 2, column 1: the file ends inside an object: a } is missing"),
            ("{\"names\": [\"a\"", "line 1, column 14: the file ends inside a list: a ] is missing"),
            ("{\"port\" 1}", "line 1, column 9: a : is missing after a name"),
            ("{\"port\": 1 \"url\": 2}", "line 1, column 12: a , or } is missing before this"),
            ("{port: 1}", "line 1, column 2: a name needs quotation marks"),
            ("{\"url\": http}", "line 1, column 9: this is not a value; a text needs quotation marks"),
        ] {
            assert_eq!(Config::parse(text).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
