//! What a hook reads on standard input: one JSON object on one line.

pub mod sample;

use crate::json_spans::{JsonDocument, JsonKind, SpannedValue};
use anyhow::{Context, Result, bail};

/// A payload. Values are kept as they were written, so that numbers that fit no type and unknown fields pass through
/// unchanged.
#[derive(Clone, Debug, Default)]
pub struct HookJsonInput {
    fields: Vec<(String, String)>,
}

impl HookJsonInput {
    /// Parses a payload; anything but one JSON object is rejected.
    pub fn parse(text: &str) -> Result<HookJsonInput> {
        let doc = JsonDocument::parse(text).map_err(|error| {
            let position = crate::json_spans::position(text, error.at);
            anyhow::anyhow!("not valid JSON at {}:{}: {error}", position.line, position.column)
        })?;
        let root = doc.root();
        if root.kind() != JsonKind::Object {
            bail!("must be an object, not {}", root.kind());
        }
        let fields = root.members().map(|(key, value)| (key.to_owned(), compact(value.source()))).collect();
        Ok(HookJsonInput { fields })
    }

    pub fn get(&self, key: &str) -> Option<serde_json::Value> {
        let (_, source) = self.fields.iter().find(|(name, _)| name == key)?;
        value(source)
    }

    pub fn text(&self, key: &str) -> Option<String> {
        match self.get(key)? {
            serde_json::Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == key)
    }

    pub fn set(&mut self, key: &str, value: &serde_json::Value) {
        self.set_source(key, value.to_string());
    }

    fn set_source(&mut self, key: &str, source: String) {
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = source,
            None => self.fields.push((key.to_owned(), source)),
        }
    }

    /// Overrides fields with those of `over`.
    pub fn lay_over(&mut self, over: HookJsonInput) {
        for (key, source) in over.fields {
            self.set_source(&key, source);
        }
    }

    /// `tool_input.command=ls`: the value is JSON if it parses as JSON, otherwise a text.
    pub fn assign(&mut self, assignment: &str) -> Result<()> {
        let (path, text) = assignment.split_once('=').context("it must look like key=value")?;
        let new = value(text).unwrap_or_else(|| serde_json::Value::String(text.to_owned()));
        let mut steps = path.split('.');
        let key = steps.next().filter(|key| !key.is_empty()).context("the key is empty")?;
        let mut whole = self.get(key).unwrap_or(serde_json::Value::Null);
        let mut at = &mut whole;
        for step in steps {
            if !at.is_object() {
                *at = serde_json::Value::Object(serde_json::Map::new());
            }
            at = &mut at[step];
        }
        *at = new;
        self.set(key, &whole);
        Ok(())
    }

    /// One line, as the client writes it.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (i, (key, source)) in self.fields.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(&serde_json::Value::String(key.clone()).to_string());
            out.push(':');
            out.push_str(source);
        }
        out.push('}');
        out
    }
}

/// A value to look at; what is passed on is the written form.
fn value(source: &str) -> Option<serde_json::Value> {
    let doc = JsonDocument::parse(source).ok()?;
    serde_json::from_str(source).ok().or_else(|| lenient(doc.root()))
}

/// What serde rejects and JavaScript accepts: lone surrogates. Only texts matter here.
fn lenient(root: SpannedValue<'_>) -> Option<serde_json::Value> {
    match root.kind() {
        JsonKind::Text => Some(serde_json::Value::String(root.text()?.to_owned())),
        JsonKind::Object => Some(
            root.members()
                .filter_map(|(key, value)| Some((key.to_owned(), value.text()?.to_owned().into())))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        ),
        _ => None,
    }
}

/// Removes the blanks between values: hooks that read one line get all of it.
fn compact(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut in_text = false;
    let mut escaped = false;
    for c in source.chars() {
        if in_text || !matches!(c, ' ' | '\t' | '\n' | '\r') {
            out.push(c);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_pass_through_as_they_are_written() {
        let text = "{ \"big\": 123456789012345678901234567890,\n \"half\": \"\\ud83d\", \"x\": [ 1.0, \" a \\\" b\" ] }";
        let input = HookJsonInput::parse(text).unwrap();
        assert_eq!(
            input.to_json(),
            r#"{"big":123456789012345678901234567890,"half":"\ud83d","x":[1.0," a \" b"]}"#
        );
        assert_eq!(input.text("half").as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn assignments_reach_into_objects() {
        let mut input = HookJsonInput::parse(r#"{"tool_input":{"command":"ls"}}"#).unwrap();
        for assignment in ["tool_input.command=git status", "n=5", "flag=true", "a.b.c=\"x\"", "t=a=b"] {
            input.assign(assignment).unwrap();
        }
        assert_eq!(
            input.to_json(),
            r#"{"tool_input":{"command":"git status"},"n":5,"flag":true,"a":{"b":{"c":"x"}},"t":"a=b"}"#
        );
        assert!(input.assign("novalue").is_err());
        assert!(input.assign("=x").is_err());
    }

    #[test]
    fn payloads_that_are_not_objects_are_rejected() {
        for bad in ["", "not json", "[1]", "null", "{\"a\":1,}", "{} {}"] {
            assert!(HookJsonInput::parse(bad).is_err(), "{bad}");
        }
    }
}
