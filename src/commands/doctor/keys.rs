//! Unknown keys in `config.jsonc`. A mistyped name looks like a setting that does not work.

use headspace_guard::rules;
use headspace_platform::config;
use headspace_platform::config::{
    Answering, Config, ContextFiles, Guard, HubSharing, Notifications, OtherMachine, Reconcile, Retention,
    Webhook,
};
use serde::Deserialize;
use serde::de::value::Error;
use serde::de::{Deserializer, Error as _, Visitor};
use serde_json::Value;

/// A key that no setting has.
#[derive(Debug, PartialEq)]
pub struct UnknownKey {
    /// As `section.key`.
    pub name: String,
    /// The setting that was probably meant, in the same form.
    meant: Option<String>,
}

impl UnknownKey {
    fn new(prefix: &str, key: &str, known: &[&str]) -> UnknownKey {
        let meant = rules::likely(key, known).map(|meant| format!("{prefix}{meant}"));
        UnknownKey { name: format!("{prefix}{key}"), meant }
    }
}

/// What is to be said about it.
impl std::fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown setting `{}`", self.name)?;
        self.meant.iter().try_for_each(|meant| write!(f, "; did you mean `{meant}`?"))
    }
}

/// The unknown keys.
pub fn unknown(text: &str) -> Vec<UnknownKey> {
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

/// The unknown keys of a project's own file: its line, and what is to be said about it. The guard's settings are the only
/// ones that a project may have.
pub fn unknown_in_project(text: &str) -> Vec<(usize, String)> {
    let Ok(root) = serde_json::from_str::<Value>(&config::strict_json(text)) else { return Vec::new() };
    let settings = names::<Guard>();
    let nested = root["guard"]["projects"].as_object().into_iter().flat_map(|projects| projects.values());
    let mut sections = vec![(&root, "", &["guard"][..]), (&root["guard"], "guard.", settings)];
    sections.extend(nested.map(|project| (project, "guard.projects.", settings)));
    let mut found = Vec::new();
    for (section, prefix, known) in sections {
        for key in section.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if known.contains(&key.as_str()) {
                continue;
            }
            let unknown = UnknownKey::new(prefix, key, known);
            let elsewhere = prefix.is_empty() && names::<Config>().contains(&key.as_str());
            let why = match unknown.meant {
                None if elsewhere => "; a project's file has only `guard`",
                _ => "",
            };
            let line = line_of(text, key).unwrap_or(1);
            found.push((line, format!("{unknown}{why}")));
        }
    }
    found.sort();
    found
}

/// The line on which a key is written; the same word may also be a value.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let quoted = serde_json::to_string(key).ok()?;
    let is_key = |at: usize| text[at + quoted.len()..].trim_start().starts_with(':');
    let at = text.match_indices(&quoted).map(|(at, _)| at).find(|at| is_key(*at))?;
    Some(text[..at].matches('\n').count() + 1)
}

fn unknown_in(section: &Value, prefix: &str, names: &[&str]) -> Vec<UnknownKey> {
    let keys = section.as_object().into_iter().flat_map(|fields| fields.keys());
    let unknown = keys.filter(|key| !names.contains(&key.as_str()));
    unknown.map(|key| UnknownKey::new(prefix, key, names)).collect()
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
    fn mistyped_keys_of_a_project_are_named_with_line_and_likely_spelling() {
        let text = "{ // ours\n  \"gaurd\": {},\n  \"port\": 1,\n  \"guard\": {\n    \"ask\": [\"protected_path\"],\n    \
                    \"protected_path\": [\"x\"],\n    \"unheard_of_setting\": 1,\n  },\n}";
        let said = |line, text: &str| (line, text.to_owned());
        assert_eq!(
            unknown_in_project(text),
            [
                said(2, "unknown setting `gaurd`; did you mean `guard`?"),
                said(3, "unknown setting `port`; a project's file has only `guard`"),
                said(6, "unknown setting `guard.protected_path`; did you mean `guard.protected_paths`?"),
                said(7, "unknown setting `guard.unheard_of_setting`"),
            ]
        );
        assert_eq!(unknown_in_project(r#"{"guard": {"ask": ["terraform apply"]}}"#), []);
    }

    #[test]
    fn mistyped_keys_are_named_with_their_section() {
        let text = r#"// mine
            {"prot": 1, "port": 2, "reconcile": {"polling": 1, "fallback_timeout": 3}, "webhooks": [{"url": "x", "txt": 1}],
             "guard": {"rules": {"any": "on"}, "projects": {"/srv": {"rule": {}}}},
             "answer": {"code_seconds": 60, "key_second": 1}, "hub": {"share": {"/srv": "none"}, "shares": {}},}"#;
        let found = [
            ("prot", Some("port")),
            ("reconcile.polling", None),
            ("answer.key_second", Some("answer.key_seconds")),
            ("hub.shares", Some("hub.share")),
            ("webhooks.txt", None),
            ("guard.projects.rule", Some("guard.projects.rules")),
        ];
        let keys = unknown(text);
        let keys: Vec<_> = keys.iter().map(|key| (&*key.name, key.meant.as_deref())).collect();
        assert_eq!(keys, found);
        assert!(unknown_in_project("").is_empty() && unknown_in_project("[1]").is_empty());
        assert!(unknown("").is_empty() && unknown("[1]").is_empty());
    }
}
