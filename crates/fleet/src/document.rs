//! Makes another machine's document about an agent safe to show: a machine that is broken, hostile or of another
//! version must not spoil the board for everyone else.

use crate::level::view;
use headspace_core::json::serialize::to_text;
use headspace_core::model::Summary;
use serde_json::{Map, Value, json};

/// The most fields read from a document that cannot be read as a whole. A real one has about fifty.
const MOST_FIELDS: usize = 200;

/// Returns the document itself if every surface can read it. Otherwise keeps each field that makes sense on its own,
/// and fills in the rest like an agent about which nothing is known. Unknown fields are kept: a newer machine may send
/// them.
pub fn sound(document: Value) -> Value {
    let mut document = if view(&document).is_some() { document } else { mended(document) };
    let summary = document.get("summary").and_then(|summary| to_text(summary).ok());
    if summary.is_none_or(|summary| serde_json::from_slice::<Summary>(summary.as_bytes()).is_err())
        && let Some(view) = view(&document)
    {
        document["summary"] = json!(view.summarize());
    }
    document
}

fn mended(document: Value) -> Value {
    let Value::Object(fields) = document else { return Value::Object(bare()) };
    let mut left = bare();
    for (name, value) in fields.into_iter().take(MOST_FIELDS) {
        let mut tried = bare();
        tried.insert(name.clone(), value);
        let tried = Value::Object(tried);
        if view(&tried).is_some()
            && let Value::Object(mut tried) = tried
            && let Some(value) = tried.remove(&name)
        {
            left.insert(name, value);
        }
    }
    Value::Object(left)
}

/// An agent about which nothing is known.
fn bare() -> Map<String, Value> {
    let then = "1970-01-01T00:00:00Z";
    let known = json!({
        "id": 0, "session_id": "", "sessions": [], "name": "", "state": "idle", "status": "idle", "group": "idle", "unseen": false,
        "stale": false, "headless": false, "started_at": then, "last_active_at": then, "background": [], "interactions": [],
        "subagents": [], "turn_count": 0, "source": "hook", "source_at": then, "confidence": "low",
    });
    match known {
        Value::Object(known) => known,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_sense_is_kept_and_the_rest_can_be_shown() {
        assert!(view(&Value::Object(bare())).is_some(), "the bare agent is one");
        let whole = Value::Object(bare());
        assert_eq!(sound(whole.clone())["name"], whole["name"]);
        for (field, odd) in [
            ("group", json!("of tomorrow")),
            ("state", json!(7)),
            ("interactions", json!("no")),
            ("interactions", json!([{"kind": 3}])),
            ("subagents", json!({"a": 1})),
            ("sessions", json!(null)),
            ("started_at", json!("soon")),
            ("summary", json!({"order": 5})),
            ("summary", json!(null)),
        ] {
            let mut document = whole.clone();
            document["name"] = json!("kept");
            document["of_tomorrow"] = json!({"a": [1]});
            document[field] = odd;
            let mended = sound(document.clone());
            assert!(view(&mended).is_some(), "{field}");
            assert_eq!(
                (&mended["name"], &mended["of_tomorrow"]),
                (&json!("kept"), &json!({"a": [1]})),
                "{field}"
            );
            assert_ne!(mended[field], document[field]);
            assert!(mended["summary"]["order"].is_string(), "{field}");
            assert_eq!(sound(mended.clone()), mended, "{field}");
        }
        for nothing in [json!([]), json!("x"), json!({})] {
            assert!(view(&sound(nothing)).is_some());
        }
    }
}
