//! Patches as text: the format of `apply_patch`, and unified diffs that a client made itself.

use crate::changes::call::Edited;
use serde_json::Value;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The patch in a call's input: by itself, in a field, or as a word of a command.
pub fn find(input: &Value) -> Option<&str> {
    match input {
        Value::String(text) => text.find(BEGIN).map(|at| &text[at..]),
        Value::Array(items) => items.iter().find_map(find),
        Value::Object(fields) => {
            ["input", "patch", "command", "cmd"].iter().find_map(|field| find(fields.get(*field)?))
        }
        _ => None,
    }
}

/// The files of an `apply_patch` text. It has no line numbers: `@@` is followed by a line to look for.
pub fn edits(text: &str, tool: &str) -> Vec<Edited> {
    let mut found: Vec<(Edited, String)> = Vec::new();
    for line in text.lines().skip(1) {
        if line.starts_with(END) {
            break;
        }
        let after = |word: &str| line.strip_prefix(word).map(|path| path.trim().to_owned());
        let begin = |path: String, created, deleted| Edited { path, created, deleted, ..Edited::default() };
        if let Some(path) = after("*** Add File: ") {
            found.push((begin(path, true, false), "@@ … @@\n".to_owned()));
        } else if let Some(path) = after("*** Update File: ") {
            found.push((begin(path, false, false), String::new()));
        } else if let Some(path) = after("*** Delete File: ") {
            found.push((begin(path, false, true), String::new()));
        } else if let Some((file, diff)) = found.last_mut() {
            if let Some(path) = after("*** Move to: ") {
                file.path = path;
            } else if let Some(place) = line.strip_prefix("@@") {
                *diff += &format!("@@ … @@{}\n", place.trim_end_matches("@@").trim_end());
            } else if line.starts_with(['+', '-', ' ']) || line.is_empty() {
                if diff.is_empty() {
                    diff.push_str("@@ … @@\n");
                }
                *diff += line;
                diff.push('\n');
            }
        }
    }
    let named = found.into_iter().filter(|(file, _)| !file.path.is_empty());
    let counted = |(file, diff): (Edited, String)| Edited {
        created: file.created,
        deleted: file.deleted,
        ..Edited::new(&file.path, tool, diff)
    };
    named.map(counted).collect()
}

/// A unified diff without its head: from the first hunk on.
pub fn hunks(diff: &str) -> String {
    let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
    lines.flat_map(|line| [line, "\n"]).collect()
}
