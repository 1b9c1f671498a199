//! Turns the rule files into tables of the program at build time.
//!
//! Why not read them when they are needed? The hook judges one command and exits: reading all the rules for it would
//! cost as much as the judgment itself. As constants they cost nothing (no parsing, no memory, found by binary search),
//! a mistake in a file stops the build and names its line, and the binary needs no TOML reader. The user's own rules
//! use the same matcher and the same pattern language; only those are read at run time.

#[path = "read.rs"]
pub mod read;

use read::{Table, Value};
use std::fmt::Write;
use std::path::Path;

/// Tables of plain records: the file, the record's type, and the function that knows what its programs do.
const RECORDS: [(&str, &str, &str); 5] = [
    ("wrappers", "Wrapper", "wrappers::wrapper"),
    ("readers", "ReadingProgram", "reading::reader"),
    ("interpreters", "Interpreter", "shells::interpreter"),
    ("disks", "DiskTool", "disks::disk_tool"),
    ("sql", "DatabaseClient", "databases::client"),
];

/// Files whose rules have patterns: each file is one pack. `findings` comes first; its rules are found by code.
pub const PACKS: [&str; 5] = ["findings", "cloud", "database", "container", "publish"];

/// Reads `rules/*.toml` in `from` and writes one Rust file for each table to `to`.
pub fn generate(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::create_dir_all(to).map_err(|error| error.to_string())?;
    let file = |name: &str| tables(from, name);
    let write = |name: &str, text: String| {
        std::fs::write(to.join(format!("{name}.rs")), text).map_err(|error| error.to_string())
    };
    let mut programs: Vec<(String, String)> = Vec::new();
    for (handler, names) in file("programs")?.iter().flat_map(|table| &table.entries) {
        programs.extend(names.texts().iter().map(|name| (name.clone(), handler.clone())));
    }
    for (name, kind, handler) in RECORDS {
        let tables = file(name)?;
        let of_kind: Vec<&Table> = tables.iter().filter(|table| !table.kind.is_empty()).collect();
        for table in &of_kind {
            programs.extend(table.texts("names").iter().map(|name| (name.clone(), handler.to_owned())));
        }
        write(name, records(&of_kind, name, kind))?;
    }
    programs.sort();
    if let Some(pair) = programs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("{} has two handlers", pair[0].0));
    }
    let mut out = String::from("static PROGRAMS: &[(&str, Handler)] = &[\n");
    for (name, handler) in &programs {
        let _ = writeln!(out, "    ({name:?}, {handler}),");
    }
    write("programs", out + "];\n")?;
    write("names", names(&file("names")?))?;
    write("shields", shields(&file("shields")?))?;
    write("rules", rules(from)?)?;
    write("secrets", secrets(&file("secrets")?, "SECRETS"))?;
    write("functions", functions(&file("functions")?))?;
    write("cmdlets", cmdlets(&file("cmdlets")?))?;
    write("prompts", secrets(&file("prompts")?, "PROMPTS"))?;
    write("grammars", grammars(&file("grammars")?)?)
}

pub fn tables(from: &Path, name: &str) -> Result<Vec<Table>, String> {
    let path = from.join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    read::read(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn list(texts: &[String]) -> String {
    format!("&{texts:?}")
}

fn records(tables: &[&Table], file: &str, kind: &str) -> String {
    let mut out = format!("static {}: &[{kind}] = &[\n", file.to_uppercase());
    for table in tables {
        // A row may name every field, and then there is nothing left to take from the default.
        let _ = write!(out, "    #[allow(clippy::needless_update)]\n    {kind} {{ ");
        for (key, value) in &table.entries {
            let value = match (key.as_str(), value) {
                ("language", Value::Text(language)) => format!("Language::{language}"),
                (_, Value::Text(text)) => format!("{text:?}"),
                (_, Value::List(texts)) => list(texts),
                (_, Value::Number(number)) => number.to_string(),
                (_, Value::Flag(flag)) => flag.to_string(),
            };
            let _ = write!(out, "{key}: {value}, ");
        }
        out.push_str("..DEFAULT },\n");
    }
    out + "];\n"
}

/// Plain lists: `disk-devices` becomes `DISK_DEVICES`.
fn names(tables: &[Table]) -> String {
    let mut out = String::new();
    for (key, names) in tables.iter().flat_map(|table| &table.entries) {
        let _ = writeln!(out, "pub(crate) static {}: &[&str] = {};", constant(key), list(names.texts()));
    }
    out
}

fn shields(tables: &[Table]) -> String {
    let mut out = String::from("static SHIELDS: &[(Anchor, &str, ProtectedKind)] = &[\n");
    for table in tables {
        let kind = table.text("kind").unwrap_or_default();
        for (key, at) in [("name", "Name"), ("home", "Home"), ("root", "Root")] {
            for path in table.texts(key) {
                let _ = writeln!(out, "    ({at}, {path:?}, {kind}),");
            }
        }
    }
    out + "];\n"
}

/// `SYSTEM`, `FILES`, and all functions, sorted by name.
fn functions(tables: &[Table]) -> String {
    let mut out = String::new();
    for (key, names) in tables.iter().filter(|table| table.kind.is_empty()).flat_map(|table| &table.entries) {
        let _ = writeln!(out, "pub(super) const {}: Owners = {};", constant(key), list(names.texts()));
    }
    let mut rows: Vec<(String, String)> = Vec::new();
    for table in tables.iter().filter(|table| !table.kind.is_empty()) {
        let owners = match table.texts("owners") {
            [only] if tables[0].get(only).is_some() => constant(only),
            owners => list(owners),
        };
        let does = table.text("does").unwrap_or_default();
        let bare = matches!(table.get("bare"), Some(Value::Flag(true)));
        let row = |name: &String| (name.clone(), format!("    ({name:?}, {does}, {owners}, {bare}),"));
        rows.extend(table.texts("names").iter().map(row));
    }
    sorted(out, "static FUNCTIONS: &[(&str, FunctionEffect, Owners, bool)]", rows)
}

fn cmdlets(tables: &[Table]) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for (does, names) in tables.iter().flat_map(|table| &table.entries) {
        let row = |name: &String| (name.clone(), format!("    ({name:?}, {does}),"));
        rows.extend(names.texts().iter().map(row));
    }
    sorted(String::new(), "static CMDLETS: &[(&str, CmdletEffect)]", rows)
}

fn sorted(before: String, table: &str, mut rows: Vec<(String, String)>) -> String {
    rows.sort();
    let rows: Vec<String> = rows.into_iter().map(|(_, row)| row).collect();
    format!("{before}{table} = &[\n{}\n];\n", rows.join("\n"))
}

/// `write.shell-start` ▶ `WRITE_SHELL_START`
fn constant(id: &str) -> String {
    id.to_uppercase().replace(['.', '-'], "_")
}

const VERDICTS: [(&str, &str); 3] = [("off", "Allow"), ("ask", "Ask"), ("deny", "Deny")];
const RULE_KEYS: [&str; 11] = [
    "id",
    "verdict",
    "balanced",
    "quiet",
    "what",
    "instead",
    "match",
    "never",
    "unless_env",
    "must",
    "must_not",
];

fn rules(from: &Path) -> Result<String, String> {
    let mut out = String::new();
    let mut all = Vec::new();
    let mut named: Vec<(String, usize, String, String)> = Vec::new();
    for pack in PACKS {
        for table in tables(from, pack)?.iter().filter(|table| !table.kind.is_empty()) {
            let fail = |why: &str| format!("{pack}.toml, line {}: {why}", table.line);
            if let Some((key, _)) = table.entries.iter().find(|(key, _)| !RULE_KEYS.contains(&key.as_str())) {
                return Err(fail(&format!("unknown key {key}")));
            }
            let text = |key: &str| table.text(key).ok_or_else(|| fail(&format!("no {key}")));
            let id = text("id")?;
            let verdict = |key: &str, default: &str| {
                let word = table.text(key).unwrap_or(default);
                let known = VERDICTS.iter().find(|(name, _)| *name == word);
                known.map(|(_, decision)| *decision).ok_or_else(|| fail(&format!("{key} is {word}")))
            };
            let strict = text("verdict")?;
            let balanced = table.text("balanced").unwrap_or(strict);
            let _ = writeln!(
                out,
                "pub static {}: Rule = Rule {{ id: {id:?}, decision: Decision::{}, balanced: Decision::{}, \
                 quiet: Decision::{}, what: {:?}, instead: {:?}, pack: {pack:?}, line: {}, unless_env: {} }};",
                constant(id),
                verdict("verdict", strict)?,
                verdict("balanced", strict)?,
                verdict("quiet", balanced)?,
                text("what")?,
                text("instead")?,
                table.line,
                list(table.texts("unless_env")),
            );
            all.push(constant(id));
            let never = table.texts("never").join("|");
            let never = if never.is_empty() { never } else { format!(" !{never}") };
            for pattern in table.texts("match") {
                let programs = pattern.split(' ').next().unwrap_or("");
                // Words before the verb that make it a name, where a pattern leaves open which words come before it.
                let names = if pattern.contains(" ** ") { never.as_str() } else { "" };
                let pattern = format!("{pattern}{names}");
                for program in programs.split('|') {
                    named.push((program.to_owned(), named.len(), pattern.clone(), constant(id)));
                }
            }
        }
    }
    let _ = writeln!(out, "/// All rules, in the order of the policy.\npub static RULES: &[&Rule] = &[");
    for name in all {
        let _ = writeln!(out, "    &{name},");
    }
    out.push_str(
        "];\n/// Program, pattern, rule; sorted by program.\npub static NAMED: &[(&str, &str, &Rule)] = &[\n",
    );
    named.sort();
    for (program, _, pattern, rule) in named {
        let _ = writeln!(out, "    ({program:?}, {pattern:?}, &{rule}),");
    }
    Ok(out + "];\n")
}

/// Program, pattern, and the hosts its secret is meant for, if it has one; sorted by program.
fn secrets(tables: &[Table], name: &str) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for table in tables {
        for pattern in table.texts("match") {
            for program in pattern.split(' ').next().unwrap_or("").split('|') {
                let hosts = list(table.texts("hosts"));
                rows.push((program.to_owned(), format!("    ({program:?}, {pattern:?}, {hosts}),")));
            }
        }
    }
    rows.sort();
    let rows: Vec<String> = rows.into_iter().map(|(_, row)| row).collect();
    format!("pub static {name}: &[(&str, &str, &[&str])] = &[\n{}\n];\n", rows.join("\n"))
}

fn grammars(tables: &[Table]) -> Result<String, String> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for table in tables.iter().filter(|table| !table.kind.is_empty()) {
        let words = matches!(table.get("words"), Some(Value::Flag(true)));
        for name in table.texts("names") {
            let row = format!(
                "OptionGrammar {{ name: {name:?}, values: {}, flags: {}, words: {words} }}",
                list(table.texts("values")),
                list(table.texts("flags"))
            );
            rows.push((name.clone(), row));
        }
    }
    rows.sort();
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("{} has two grammars", pair[0].0));
    }
    let mut out = String::from("static GRAMMARS: &[OptionGrammar] = &[\n");
    for (_, row) in rows {
        let _ = writeln!(out, "    {row},");
    }
    Ok(out + "];\n")
}
