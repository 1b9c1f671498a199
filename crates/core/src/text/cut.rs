//! Long texts are stored cut in the middle, and say so there.

use serde_json::Value;

/// A text longer than this is stored cut.
pub const MAX_STORED_TEXT: usize = 16 << 10;
/// A text that a person is asked about is kept whole up to this.
pub const MAX_ASKED_TEXT: usize = 64 << 10;
/// All texts of one ask together; beyond it they are cut like any other.
const MAX_ASKED_TOTAL: usize = 4 * MAX_ASKED_TEXT;
/// Of a cut text this much of its end is kept: a question usually comes last.
const KEPT_END_OF_CUT_TEXT: usize = 4 << 10;

/// Cuts every text over [`MAX_STORED_TEXT`] bytes. Returns whether there was one.
pub fn stored(value: &mut Value) -> bool {
    cut(value, MAX_STORED_TEXT)
}

/// Cuts what a person is asked about: only texts that are too long to show. Returns whether there was one.
pub fn asked(value: &mut Value) -> bool {
    let limit = if total(value) > MAX_ASKED_TOTAL { MAX_STORED_TEXT } else { MAX_ASKED_TEXT };
    cut(value, limit)
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
}
