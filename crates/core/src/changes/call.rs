//! What one tool call did to files, from its input and its result.

use crate::changes::patch;
use crate::text::diff;
use serde_json::Value;

/// One of these is in the stored body of every call that [`edits`] understands.
pub const SIGNS: &[&str] = &[
    "\"structuredPatch\"",
    "\"old_string\"",
    "\"new_string\"",
    "\"content\"",
    "\"new_source\"",
    "\"oldString\"",
    "\"newString\"",
    "\"old_str\"",
    "\"file_text\"",
    "\"fileDiff\"",
    "*** Begin Patch",
];

/// What clients call the fields of a call, by tool.
struct Tool {
    names: &'static [&'static str],
    path: &'static [&'static str],
    old: &'static [&'static str],
    new: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool {
        names: &["Edit", "MultiEdit", "edit", "replace", "str_replace", "str_replace_editor"],
        path: &["file_path", "filePath", "path"],
        old: &["old_string", "oldString", "old_str"],
        new: &["new_string", "newString", "new_str"],
    },
    Tool {
        names: &["Write", "write", "write_file", "create"],
        path: &["file_path", "filePath", "path"],
        old: &[],
        new: &["content", "file_text"],
    },
    Tool {
        names: &["NotebookEdit", "notebook_edit"],
        path: &["notebook_path", "file_path"],
        old: &["old_source"],
        new: &["new_source"],
    },
];

/// Bytes of one call's diff.
const MAX_DIFF_BYTES: usize = 64 << 10;
/// What a stored text says where it was shortened.
const CUT_MARK: &str = " bytes cut …]";

/// What a call did to one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edited {
    pub path: String,
    pub tool: String,
    pub added: u64,
    pub removed: u64,
    pub diff: String,
    pub created: bool,
    pub deleted: bool,
    pub cut: bool,
}

impl Edited {
    /// Counts the lines of `diff` and shortens it if it is too long.
    pub fn new(path: &str, tool: &str, diff: String) -> Edited {
        let lines = |sign: char| diff.lines().filter(|line| line.starts_with(sign)).count() as u64;
        let (added, removed) = (lines('+'), lines('-'));
        let cut = diff.contains(CUT_MARK);
        let mut edited = Edited {
            path: path.to_owned(),
            tool: tool.to_owned(),
            added,
            removed,
            diff,
            cut,
            ..Edited::default()
        };
        if edited.diff.len() > MAX_DIFF_BYTES {
            let end = (0..=MAX_DIFF_BYTES).rev().find(|at| edited.diff.is_char_boundary(*at)).unwrap_or(0);
            edited.diff.truncate(edited.diff[..end].rfind('\n').map_or(end, |at| at + 1));
            edited.cut = true;
        }
        edited
    }
}

/// What a finished call changed; nothing for one that only looked.
pub fn edits(body: &Value) -> Vec<Edited> {
    let name = body.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    let (input, response) = (&body["tool_input"], &body["tool_response"]);
    if let Some(text) = patch::find(input) {
        return patch::edits(text, name);
    }
    let Some(tool) = TOOLS.iter().find(|tool| tool.names.contains(&name)) else { return Vec::new() };
    let Some(path) = first(input, tool.path).filter(|path| !path.is_empty()) else { return Vec::new() };
    let created = response["type"] == "create";
    let diff = structured(&response["structuredPatch"])
        .or_else(|| response.pointer("/returnDisplay/fileDiff").and_then(Value::as_str).map(patch::hunks))
        .unwrap_or_else(|| from_input(tool, input, created));
    let edited = Edited { created, ..Edited::new(path, name, diff) };
    if edited.diff.is_empty() && !created { Vec::new() } else { vec![edited] }
}

fn first<'a>(input: &'a Value, fields: &[&str]) -> Option<&'a str> {
    fields.iter().find_map(|field| input.get(*field)?.as_str())
}

/// The client's own hunks; `None` if it gave none, as for a new file.
fn structured(hunks: &Value) -> Option<String> {
    let hunks = hunks.as_array().filter(|hunks| !hunks.is_empty())?;
    let mut text = String::new();
    for hunk in hunks {
        let number = |field: &str| hunk.get(field).and_then(Value::as_u64).unwrap_or(0);
        let (old, new) = ((number("oldStart"), number("oldLines")), (number("newStart"), number("newLines")));
        text += &format!("@@ -{},{} +{},{} @@\n", old.0, old.1, new.0, new.1);
        for line in hunk.get("lines").and_then(Value::as_array).into_iter().flatten() {
            // A line break inside a line would turn it into two lines, each with its own sign.
            text += &line.as_str().unwrap_or_default().replace('\n', " ");
            text.push('\n');
        }
    }
    Some(text)
}

/// The diff according to the call's input: the old and the new text of each replacement, or a whole file that was written.
fn from_input(tool: &Tool, input: &Value, created: bool) -> String {
    let of = |input: &Value| {
        let (old, new) =
            (first(input, tool.old).unwrap_or_default(), first(input, tool.new).unwrap_or_default());
        diff::fragment(old, new, tool.old.is_empty() && created)
    };
    match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().map(of).collect(),
        None => of(input),
    }
}
