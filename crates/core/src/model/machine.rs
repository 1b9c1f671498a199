//! Which machine an event comes from. A machine is not its name: containers share one, and laptops change theirs.

use serde_json::Value;

/// What an event says of the machine it comes from, or a machine of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    pub name: Option<String>,
    /// Kept in the state directory; older hooks and hand-made events have none.
    pub id: Option<String>,
}

impl Machine {
    pub fn of(body: &Value) -> Machine {
        let text = |field: &str| {
            body.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Machine { name: text("host"), id: text("host_id") }
    }

    /// It says nothing.
    pub fn is_unknown(&self) -> bool {
        self.name.is_none() && self.id.is_none()
    }

    /// Whether this is `here`: by the ids where both are known, else by the names. Who says nothing is here.
    pub fn is(&self, here: &Machine) -> bool {
        match (&self.id, &here.id) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.name.is_none() || self.name == here.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_decide_and_names_where_there_is_none() {
        let here = Machine { name: Some("box".into()), id: Some("1".into()) };
        for (body, is_here) in [
            (json!({}), true),
            (json!({"host": ""}), true),
            (json!({"host": "box"}), true),
            (json!({"host": "other"}), false),
            (json!({"host": "box", "host_id": "1"}), true),
            (json!({"host": "box", "host_id": "2"}), false),
            (json!({"host": "renamed", "host_id": "1"}), true),
            (json!({"host_id": "2"}), false),
            (json!({"host": "box", "host_id": 7}), true),
        ] {
            assert_eq!(Machine::of(&body).is(&here), is_here, "{body}");
        }
        // A server that could not keep an id goes by the names.
        let nameless = Machine { id: None, ..here };
        assert!(Machine::of(&json!({"host": "box", "host_id": "2"})).is(&nameless));
        assert!(!Machine::of(&json!({"host": "other", "host_id": "2"})).is(&nameless));
    }
}
