//! What a tool would make of a file: text ▶ text.

use serde_json::Value;

/// The file a tool call would change.
pub fn file_of<'a>(tool: &str, input: &'a Value) -> Option<&'a str> {
    matches!(tool, "Edit" | "MultiEdit" | "Write" | "write_file" | "replace")
        .then(|| input.get("file_path")?.as_str().filter(|path| !path.is_empty()))
        .flatten()
}

/// The file before and after. If the file is not known, or the text to replace is not in it, only that text before and after:
/// it still shows what would change. `None`: the call makes no sense.
pub fn change(tool: &str, input: &Value, file: Option<&str>) -> Option<(String, String)> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(String::from);
    match tool {
        "Write" | "write_file" => Some((file.unwrap_or_default().to_string(), text(input, "content")?)),
        "Edit" | "replace" => Some(edited(&[edit(input)?], file)),
        "MultiEdit" => {
            let edits = input.get("edits")?.as_array()?.iter().map(edit).collect::<Option<Vec<_>>>()?;
            Some(edited(&edits, file))
        }
        _ => None,
    }
}

struct Edit<'a> {
    old: &'a str,
    new: &'a str,
    everywhere: bool,
}

fn edit(value: &Value) -> Option<Edit<'_>> {
    Some(Edit {
        old: value.get("old_string")?.as_str()?,
        new: value.get("new_string")?.as_str()?,
        everywhere: value.get("replace_all") == Some(&Value::Bool(true)),
    })
}

fn edited(edits: &[Edit], file: Option<&str>) -> (String, String) {
    let in_file = file.and_then(|before| {
        let after = edits.iter().try_fold(before.to_string(), |text, edit| match edit.old {
            "" if text.is_empty() => Some(edit.new.to_string()),
            "" => None,
            old if !text.contains(old) => None,
            old if edit.everywhere => Some(text.replace(old, edit.new)),
            old => Some(text.replacen(old, edit.new, 1)),
        })?;
        Some((before.to_string(), after))
    });
    in_file.unwrap_or_else(|| {
        let side = |part: fn(&Edit) -> String| edits.iter().map(part).collect::<Vec<_>>().join("\n");
        (side(|edit| edit.old.to_string()), side(|edit| edit.new.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_is_computed_with_the_file_or_without_it() {
        let file = Some("one\ntwo\nthree two\n");
        let both = |old: &str, new: &str| Some((old.to_string(), new.to_string()));
        for (tool, input, file, wanted) in [
            (
                "Edit",
                json!({"old_string": "two", "new_string": "2"}),
                file,
                both("one\ntwo\nthree two\n", "one\n2\nthree two\n"),
            ),
            (
                "Edit",
                json!({"old_string": "two", "new_string": "2", "replace_all": true}),
                file,
                both("one\ntwo\nthree two\n", "one\n2\nthree 2\n"),
            ),
            ("Edit", json!({"old_string": "four", "new_string": "4"}), file, both("four", "4")),
            ("Edit", json!({"old_string": "", "new_string": "new"}), None, both("", "new")),
            (
                "MultiEdit",
                json!({"edits": [{"old_string": "one", "new_string": "1"}, {"old_string": "1\n", "new_string": ""}]}),
                file,
                both("one\ntwo\nthree two\n", "two\nthree two\n"),
            ),
            ("Write", json!({"content": "x\n"}), None, both("", "x\n")),
            ("Write", json!({"content": "x\n"}), Some("y\n"), both("y\n", "x\n")),
            ("Write", json!({}), None, None),
            ("Bash", json!({"command": "ls"}), None, None),
        ] {
            assert_eq!(change(tool, &input, file), wanted, "{tool} {input}");
        }
        assert_eq!(file_of("Write", &json!({"file_path": "/a"})), Some("/a"));
        assert_eq!(file_of("Bash", &json!({"file_path": "/a"})), None);
    }
}
