//! Which machine an event comes from. A machine is not its name: containers share one, and laptops change theirs.

use serde_json::Value;

/// What an event says about the machine it comes from, or a machine about itself.
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

    /// Whether it says nothing.
    pub fn is_unknown(&self) -> bool {
        self.name.is_none() && self.id.is_none()
    }

    /// Whether this is `here`: by the ids if both are known, otherwise by the names. An unknown machine counts as here.
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
    fn machines_are_compared_by_id_and_without_one_by_name() {
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
        // A server that could not store an id compares names.
        let nameless = Machine { id: None, ..here };
        assert!(Machine::of(&json!({"host": "box", "host_id": "2"})).is(&nameless));
        assert!(!Machine::of(&json!({"host": "other", "host_id": "2"})).is(&nameless));
    }
}
