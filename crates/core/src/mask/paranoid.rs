//! `"paranoid": true`: prompts, tool inputs and outputs are not stored at all, secret or not.

use serde_json::Value;

/// Reduces a body to what a paranoid configuration keeps: that something was said and done, not what.
pub fn forget_texts(body: &mut Value) {
    const FORGOTTEN: &[&str] =
        &["prompt", "tool_input", "tool_response", "last_assistant_message", "tool_calls", "text", "delta"];
    const TASK: &str = "<task-notification>";
    let Value::Object(fields) = body else { return };
    for (key, value) in fields.iter_mut() {
        if !FORGOTTEN.contains(&key.as_str()) {
            continue;
        }
        // States depend on whether a prompt came from a person or a finished task, so that much is kept.
        if value.as_str().is_some_and(|text| text.starts_with(TASK)) {
            *value = TASK.into();
        } else {
            forget(value);
        }
    }
}

fn forget(value: &mut Value) {
    match value {
        Value::String(text) if !text.is_empty() => *text = "[not stored]".into(),
        Value::Array(items) => items.iter_mut().for_each(forget),
        // Ids decide which call an answer belongs to.
        Value::Object(fields) => {
            fields.iter_mut().filter(|(key, _)| *key != "tool_use_id").for_each(|(_, v)| forget(v));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paranoid_bodies_keep_only_shapes_and_ids() {
        let mut body = json!({"prompt": "secret plan", "tool_name": "Bash", "tool_input": {"command": "ls"},
            "tool_calls": [{"tool_use_id": "t1", "tool_response": "x"}]});
        forget_texts(&mut body);
        assert_eq!(
            body,
            json!({"prompt": "[not stored]", "tool_name": "Bash", "tool_input": {"command": "[not stored]"},
                "tool_calls": [{"tool_use_id": "t1", "tool_response": "[not stored]"}]})
        );
        let mut task = json!({"prompt": "<task-notification><id>1</id>"});
        forget_texts(&mut task);
        assert_eq!(task["prompt"], "<task-notification>");
    }
}
