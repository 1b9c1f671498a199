//! Long texts are stored cut in the middle, and say so there. What a person is asked is kept up to limits of its own.

use crate::json::bounded::{MARK_KEY, is_mark, mark};
use serde_json::{Map, Value};

/// A text longer than this is stored cut.
pub const MAX_STORED_TEXT: usize = 16 << 10;
/// A text that a person is asked about is kept whole up to this.
pub const MAX_ASKED_TEXT: usize = 64 << 10;
/// All texts of one ask together; beyond it they are cut like any other, and then the rest of the ask is left out.
const MAX_ASKED_TOTAL: usize = 4 * MAX_ASKED_TEXT;
/// Values of one ask; the rest is left out. Hundreds of options or edits: a person reads a dozen.
const MAX_ASKED_VALUES: usize = 2_000;
/// Marks say in each open list and object that something is left out; JSON is at most 128 deep. With them it still fits,
/// so that what was cut once is not cut again.
const ROOM_FOR_MARKS: usize = 256;
const BYTES_FOR_MARKS: usize = 16 << 10;
/// Of a cut text this much of its end is kept: a question usually comes last.
const KEPT_END_OF_CUT_TEXT: usize = 4 << 10;

/// Cuts every text over [`MAX_STORED_TEXT`] bytes. Returns whether there was one.
pub fn stored(value: &mut Value) -> bool {
    cut(value, MAX_STORED_TEXT)
}

/// Cuts what a person is asked about: what is too long or too much to show. Returns whether anything is missing, also if it
/// was left out before.
pub fn asked(value: &mut Value) -> bool {
    let limit = if total(value) > MAX_ASKED_TOTAL { MAX_STORED_TEXT } else { MAX_ASKED_TEXT };
    let texts = cut(value, limit);
    if !fits(value) {
        *value = beginning(value);
    }
    texts || has_mark(value)
}

/// Cuts only what is too much to show, whatever the texts are. Returns whether anything was cut.
pub fn asked_values(value: &mut Value) -> bool {
    let too_many = asks_too_much(value);
    if too_many {
        let mut room = Room { values: MAX_ASKED_VALUES - ROOM_FOR_MARKS, bytes: usize::MAX };
        *value = room.fill(value);
    }
    too_many
}

/// Whether it has more values than anybody reads.
pub fn asks_too_much(value: &Value) -> bool {
    count(value) > MAX_ASKED_VALUES
}

/// Whether an ask with this input is kept with all its values.
pub(crate) fn fits(value: &Value) -> bool {
    !asks_too_much(value) && total(value) <= MAX_ASKED_TOTAL
}

/// As much of it as an ask keeps.
pub(crate) fn beginning(value: &Value) -> Value {
    Room { values: MAX_ASKED_VALUES - ROOM_FOR_MARKS, bytes: MAX_ASKED_TOTAL - BYTES_FOR_MARKS }.fill(value)
}

struct Room {
    values: usize,
    bytes: usize,
}

impl Room {
    /// Nothing fits after the first that does not: what is left is a beginning.
    fn take(&mut self, bytes: usize) -> bool {
        let fits = self.values > 0 && bytes <= self.bytes;
        if fits {
            self.values -= 1;
            self.bytes -= bytes;
        } else {
            self.values = 0;
        }
        fits
    }

    fn fill(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) => {
                let mut kept = Vec::new();
                for item in items {
                    if !self.take(own_bytes(item)) {
                        kept.push(mark(items.len() - kept.len()));
                        break;
                    }
                    kept.push(self.fill(item));
                }
                Value::Array(kept)
            }
            Value::Object(fields) => {
                let mut kept = Map::new();
                for (key, item) in fields {
                    if !self.take(key.len() + own_bytes(item)) {
                        kept.insert(MARK_KEY.into(), mark(fields.len() - kept.len()));
                        break;
                    }
                    kept.insert(key.clone(), self.fill(item));
                }
                Value::Object(kept)
            }
            _ => value.clone(),
        }
    }
}

/// Without what is inside.
fn own_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(_) | Value::Object(_) => 0,
        _ => 8,
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn has_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => is_mark(text),
        Value::Array(items) => items.iter().any(has_mark),
        Value::Object(fields) => fields.values().any(has_mark),
        _ => false,
    }
}

fn cut(value: &mut Value, limit: usize) -> bool {
    match value {
        Value::String(text) if text.len() > limit => {
            *text = cut_text(text);
            true
        }
        // Not `any`, which stops at the first.
        Value::Array(items) => items.iter_mut().fold(false, |any, item| cut(item, limit) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, item| cut(item, limit) | any),
        _ => false,
    }
}

fn total(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(total).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + total(value)).sum(),
        _ => 8,
    }
}

const MARK: &str = "\n[… ";

/// Whether this is what [`cut_text`] leaves.
pub fn is_cut(text: &str) -> bool {
    text.contains(MARK)
}

pub fn cut_text(text: &str) -> String {
    let mark = format!("{MARK}{} bytes cut …]\n", text.len() - MAX_STORED_TEXT);
    let head = floor(text, MAX_STORED_TEXT - KEPT_END_OF_CUT_TEXT - mark.len());
    let tail = floor(text, text.len() - KEPT_END_OF_CUT_TEXT);
    format!("{}{mark}{}", &text[..head], &text[tail..])
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_long_text_is_cut_in_the_middle_and_marked() {
        let mut body =
            json!({"prompt": format!("Begin. {}ü Which one?", "é".repeat(50_000)), "n": ["short"]});
        assert!(stored(&mut body));
        let text = body["prompt"].as_str().unwrap();
        assert!(text.len() <= MAX_STORED_TEXT + 4, "{}", text.len());
        assert!(text.starts_with("Begin. é") && text.ends_with("Which one?") && text.contains("bytes cut"));
        assert!(is_cut(text));
        assert_eq!(body["n"][0], "short");
        assert!(!stored(&mut json!({"n": ["short", 1, null]})));
    }

    #[test]
    fn an_ask_is_kept_whole_up_to_its_own_limit() {
        let mut whole = json!({"command": "x".repeat(MAX_ASKED_TEXT), "description": "y"});
        assert!(!asked(&mut whole));
        let mut long = json!({"command": "x".repeat(MAX_ASKED_TEXT + 1)});
        assert!(asked(&mut long));
        let mut many = json!({"edits": vec!["x".repeat(MAX_ASKED_TEXT); 5]});
        assert!(asked(&mut many));
        assert!(total(&many) < 5 * (MAX_STORED_TEXT + 10));
    }

    #[test]
    fn an_ask_of_countless_values_is_kept_in_part_and_says_so() {
        let options =
            |n: usize| json!({"questions": [{"question": "q", "options": vec![json!({"label": "x"}); n]}]});
        assert!(!asked(&mut options(600)));
        let edit = json!({"old_string": "a", "new_string": "b"});
        for mut wide in [
            options(100_000),
            json!({"questions": vec![json!({"question": "q", "options": [{"label": "x"}]}); 30_000]}),
            json!({"file_path": "/x", "edits": vec![edit; 33_000]}),
            Value::Object((0..50_000).map(|n| (format!("{n:08}"), json!(1))).collect()),
            json!(vec![json!([[[[]]]]); 20_000]),
            json!({"texts": vec!["x".repeat(MAX_STORED_TEXT); 900]}),
            json!({"x".repeat(1 << 20): 1}),
        ] {
            let whole = wide.clone();
            assert!(asked(&mut wide));
            assert!(count(&wide) <= MAX_ASKED_VALUES && total(&wide) <= MAX_ASKED_TOTAL, "{}", total(&wide));
            let once = wide.clone();
            assert!(asked(&mut wide) && wide == once, "cut twice is cut once");
            let mut early = whole;
            asked_values(&mut early);
            assert!(asked(&mut early));
            assert_eq!(early, once, "too much is cut before secrets are looked for");
        }
    }

    #[test]
    fn what_was_left_out_while_parsing_is_missing_too() {
        let all = format!(
            r#"{{"first":[{}1],"tool_input":{{"command":"ls","more":[1,2]}}}}"#,
            "1,".repeat(100_000)
        );
        let mut body = crate::json::bounded::parse(all.as_bytes()).unwrap();
        assert!(fits(&body["tool_input"]) && asked(&mut body["tool_input"]));
    }
}
