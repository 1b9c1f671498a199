//! The reference in docs/configuration.md is made of the configuration's own types: names and defaults from their
//! values, descriptions and types from their source.

use crate::{files, generated, root};
use headspace_platform::config::Config;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PAGE: &str = "docs/configuration.md";

/// Types that are a text in the file.
const WRITTEN_AS_TEXT: [&str; 2] = ["String", "QuietHours"];

/// The source of the configuration: everything in its room.
fn source() -> String {
    let files = files(&root().join("crates/platform/src/config"), ".rs");
    let source: String = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(source.contains("pub struct Config {"), "crates/platform/src/config has no `pub struct Config`");
    source
}

/// Something with a description: a struct, an enum, a field, a variable.
#[derive(Debug, Default)]
struct Item {
    /// First paragraph.
    about: String,
    /// Of a field: its type.
    kind: String,
    /// Of a struct its fields, of an enum its variants, in their order.
    members: Vec<(String, Item)>,
}

/// The public structs and enums of a source, and its constants that hold a text (under the text).
fn items(source: &str) -> (BTreeMap<String, Item>, Vec<(String, Item)>) {
    let (mut types, mut variables) = (BTreeMap::new(), Vec::new());
    let mut open: Option<(String, Item)> = None;
    let (mut about, mut whole) = (String::new(), false);
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            whole |= text.trim().is_empty();
            if !whole {
                about = format!("{about} {}", text.trim()).trim().to_owned();
            }
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let item = |kind: &str| Item {
            about: about.clone(),
            kind: kind.trim().trim_end_matches(',').to_owned(),
            members: Vec::new(),
        };
        let declared = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        if let Some(name) = declared.and_then(|rest| rest.strip_suffix(" {")) {
            open = Some((name.to_owned(), item("")));
        } else if line == "}" {
            types.extend(open.take());
        } else if let Some((_, owner)) = &mut open {
            let field = line.strip_prefix("pub ").and_then(|field| field.split_once(": "));
            let (name, kind) = field.unwrap_or((line.trim_end_matches(','), ""));
            if !name.is_empty() {
                owner.members.push((name.to_owned(), item(kind)));
            }
        } else if let Some((_, text)) =
            line.strip_prefix("pub const ").and_then(|c| c.split_once(": &str = \""))
        {
            variables.push((text.trim_end_matches("\";").to_owned(), item("")));
        }
        (about, whole) = (String::new(), false);
    }
    (types, variables)
}

/// A type in words.
fn in_words(kind: &str, types: &BTreeMap<String, Item>) -> String {
    let inner = |outer: &str| kind.strip_prefix(outer).and_then(|rest| rest.strip_suffix('>'));
    if let Some(inner) = inner("Option<") {
        return in_words(inner, types);
    }
    if let Some(inner) = inner("Vec<") {
        return format!("list of {}", plural(&in_words(inner, types)));
    }
    if inner("BTreeMap<").is_some() {
        return "object".into();
    }
    match kind {
        kind if WRITTEN_AS_TEXT.contains(&kind) => "string".into(),
        "bool" => "boolean".into(),
        "serde_json::Value" => "anything".into(),
        "f64" => "number".into(),
        "u16" | "u32" | "u64" | "usize" => "whole number".into(),
        name => match types.get(name) {
            Some(item) if item.members.iter().all(|(_, member)| member.kind.is_empty()) => {
                let words: Vec<String> =
                    item.members.iter().map(|(name, _)| format!("`\"{}\"`", name.to_lowercase())).collect();
                words.join(", ")
            }
            Some(_) => "object".into(),
            None => panic!("{kind} is a type without words"),
        },
    }
}

fn plural(word: &str) -> String {
    format!("{word}s")
}

/// Whether a type is a section of its own: it has fields, and is not written as a text.
fn is_section(kind: &str, types: &BTreeMap<String, Item>) -> bool {
    let fields = |item: &Item| item.members.iter().any(|(_, member)| !member.kind.is_empty());
    !WRITTEN_AS_TEXT.contains(&kind) && types.get(kind).is_some_and(fields)
}

/// The settings of one section as a table; `defaults` has a value for each.
fn table(item: &Item, defaults: &Value, types: &BTreeMap<String, Item>, missing: &mut Vec<String>) -> String {
    let mut out = String::from("| setting | type | default | what it does |\n|---|---|---|---|\n");
    let names: Vec<&String> = defaults.as_object().unwrap().keys().collect();
    let written: Vec<&String> = item.members.iter().map(|(name, _)| name).collect();
    assert_eq!(names, written, "the source and the values name the same settings");
    for (name, member) in item.members.iter().filter(|(_, member)| !is_section(section(&member.kind), types))
    {
        if member.about.is_empty() {
            missing.push(name.clone());
        }
        let default = match &defaults[name] {
            Value::Null => "–".to_owned(),
            Value::Array(list) if list.is_empty() => "none".to_owned(),
            Value::Object(fields) if fields.is_empty() => "none".to_owned(),
            Value::String(text) if text == REQUIRED => "required".to_owned(),
            Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => {
                format!("`{}`", number.as_f64().unwrap())
            }
            value => format!("`{}`", value.to_string().replace(',', ", ")),
        };
        out += &format!("| `{name}` | {} | {default} | {} |\n", in_words(&member.kind, types), member.about);
    }
    out
}

/// The struct in a field's type: `Webhook` in `Vec<Webhook>`.
fn section(kind: &str) -> &str {
    kind.strip_prefix("Vec<").and_then(|rest| rest.strip_suffix('>')).unwrap_or(kind)
}

const REQUIRED: &str = "required";

/// A table for each section of `item`, and for each section of those.
fn sections(
    prefix: &str,
    item: &Item,
    defaults: &Value,
    types: &BTreeMap<String, Item>,
    missing: &mut Vec<String>,
) -> String {
    let mut page = String::new();
    for (name, member) in &item.members {
        let kind = section(&member.kind);
        if !is_section(kind, types) {
            continue;
        }
        let (item, name_of) = (&types[kind], format!("{prefix}{name}"));
        if item.about.is_empty() {
            missing.push(name_of.clone());
        }
        let values = defaults[name].get(0).unwrap_or(&defaults[name]);
        page += &format!("\n### `{name_of}`\n\n{}\n\n{}", item.about, table(item, values, types, missing));
        page += &sections(&format!("{name_of}."), item, values, types, missing);
    }
    page
}

#[test]
fn the_configuration_reference_is_current_and_describes_every_setting() {
    let (types, variables) = items(&source());
    let config =
        Config::parse(&json!({"webhooks": [{"url": REQUIRED}], "machines": [{}]}).to_string()).unwrap();
    let defaults = serde_json::to_value(&config).unwrap();
    let mut missing = Vec::new();
    let root = &types["Config"];
    let mut page = format!("\n### Top level\n\n{}", table(root, &defaults, &types, &mut missing));
    page += &sections("", root, &defaults, &types, &mut missing);
    page += "\n### Environment variables\n\n| variable | what it does |\n|---|---|\n";
    for (name, item) in
        variables.iter().filter(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    {
        if item.about.is_empty() {
            missing.push(name.clone());
        }
        page += &format!("| `{name}` | {} |\n", item.about);
    }
    assert!(missing.is_empty(), "no description: {missing:?}");
    assert!(variables.len() > 10 && page.contains("`port`"), "{page}");
    page.push('\n');
    generated(PAGE, "reference", &page);
}
