//! Unknown keys in `config.jsonc`. A mistyped name looks like a setting that does not work.

use headspace_platform::config;
use headspace_platform::config::{
    Answering, Config, ContextFiles, Guard, HubSharing, Notifications, OtherMachine, Reconcile, Retention,
    Webhook,
};
use serde::Deserialize;
use serde::de::value::Error;
use serde::de::{Deserializer, Error as _, Visitor};
use serde_json::Value;

/// The unknown keys, as `section.key`.
pub fn unknown(text: &str) -> Vec<String> {
    let Ok(root) = serde_json::from_str::<Value>(&config::strict_json(text)) else { return Vec::new() };
    let mut found = unknown_in(&root, "", names::<Config>());
    for (section, names) in [
        ("reconcile", names::<Reconcile>()),
        ("context", names::<ContextFiles>()),
        ("guard", names::<Guard>()),
        ("answer", names::<Answering>()),
        ("hub", names::<HubSharing>()),
        ("notifications", names::<Notifications>()),
        ("retention", names::<Retention>()),
    ] {
        found.extend(unknown_in(&root[section], &format!("{section}."), names));
    }
    for webhook in root["webhooks"].as_array().into_iter().flatten() {
        found.extend(unknown_in(webhook, "webhooks.", names::<Webhook>()));
    }
    for machine in root["machines"].as_array().into_iter().flatten() {
        found.extend(unknown_in(machine, "machines.", names::<OtherMachine>()));
    }
    for project in root["guard"]["projects"].as_object().into_iter().flat_map(|projects| projects.values()) {
        found.extend(unknown_in(project, "guard.projects.", names::<Guard>()));
    }
    found
}

fn unknown_in(section: &Value, prefix: &str, names: &[&str]) -> Vec<String> {
    let keys = section.as_object().into_iter().flat_map(|fields| fields.keys());
    keys.filter(|key| !names.contains(&key.as_str())).map(|key| format!("{prefix}{key}")).collect()
}

/// The field names of a section, taken from its type, because a second list would not be kept up to date.
fn names<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names = FieldNames(&[]);
    let _ = T::deserialize(&mut names);
    names.0
}

/// Has no data; only learns which fields it is asked for.
struct FieldNames(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut FieldNames {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0 = fields;
        Err(Error::custom("no data"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no data"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_keys_are_named_with_their_section() {
        let text = r#"// mine
            {"prot": 1, "port": 2, "reconcile": {"polling": 1, "fallback_timeout": 3}, "webhooks": [{"url": "x", "txt": 1}],
             "guard": {"rules": {"any": "on"}, "projects": {"/srv": {"rule": {}}}},
             "answer": {"code_seconds": 60, "key_second": 1}, "hub": {"share": {"/srv": "none"}, "shares": {}},}"#;
        let found = [
            "prot",
            "reconcile.polling",
            "answer.key_second",
            "hub.shares",
            "webhooks.txt",
            "guard.projects.rule",
        ];
        assert_eq!(unknown(text), found);
        assert!(unknown("").is_empty() && unknown("[1]").is_empty());
    }
}
