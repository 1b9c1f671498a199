//! Tools by name: the client's own, which the guard knows, and all others by the shape of their input.

mod by_shape;

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::Machine;
use crate::eval::value::{Tags, activate};
use crate::paths;
use crate::powershell;
use crate::rules;
use crate::rules::names;
use crate::rules::names::PATH_FIELDS;
use crate::shell::characters;
use headspace_core::model::hints;
use serde_json::{Map, Value};

pub(crate) fn judge(eval: &mut Evaluator<'_>, payload: &Value) {
    let Some(payload) = payload.as_object() else {
        return eval.report(&Machine::Local, &rules::INPUT_SHAPE, "a payload that is not an object");
    };
    let Some(tool) = payload.get("tool_name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
        return eval.report(&Machine::Local, &rules::INPUT_SHAPE, "a call without a tool name");
    };
    let empty = Map::new();
    let input = match payload.get("tool_input") {
        Some(Value::Object(input)) => input,
        None | Some(Value::Null) if !needs_input(tool) => &empty,
        _ => return eval.report(&Machine::Local, &rules::INPUT_SHAPE, format!("{tool} without input")),
    };
    // The user's own rules may name tools too: `mcp__prod__*`.
    if tool != "Bash" {
        let state = eval.initial_state();
        eval.apply_user_rules(&state, &[tool.to_owned()]);
    }
    let listed = payload.get(hints::WRITTEN_FILES).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for path in listed.iter().filter_map(Value::as_str) {
        write(eval, tool, path);
    }
    match tool {
        "Bash" | "PowerShell" | "Monitor" => shell(eval, tool, input),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => match first_path(input) {
            Some(path) => write(eval, tool, path),
            None if !listed.is_empty() => {}
            None => eval.report(&Machine::Local, &rules::INPUT_SHAPE, format!("{tool} without a path")),
        },
        "Read" | "NotebookRead" => match first_path(input) {
            Some(path) => read(eval, path),
            None => eval.report(&Machine::Local, &rules::INPUT_SHAPE, format!("{tool} without a path")),
        },
        "Grep" => search(eval, input),
        // Only names, text, or the client's own business.
        "Glob" | "LS" | "WebFetch" | "WebSearch" | "Task" | "Agent" | "TodoWrite" | "SlashCommand"
        | "Skill" | "ExitPlanMode" | "EnterPlanMode" | "AskUserQuestion" | "BashOutput" | "KillShell"
        | "KillBash" | "ToolSearch" | "SendMessage" => {}
        tool => by_shape::judge(eval, tool, input),
    }
}

fn needs_input(tool: &str) -> bool {
    names::TOOLS_WITH_INPUT.contains(&tool)
}

fn shell(eval: &mut Evaluator<'_>, tool: &str, input: &Map<String, Value>) {
    match input.get("command") {
        Some(Value::String(command)) => command_text(eval, command, tool == "PowerShell"),
        _ => eval.report(&Machine::Local, &rules::INPUT_SHAPE, format!("{tool} without a command")),
    }
}

fn command_text(eval: &mut Evaluator<'_>, command: &str, is_powershell: bool) {
    let text = clean(eval, command);
    if is_powershell {
        if let Some(c) = characters::misleading(&text, None, true) {
            eval.report(&Machine::Local, &rules::SHELL_HIDDEN_CHARACTER, format!("U+{:04X}", u32::from(c)));
        }
        let mut state = eval.initial_state();
        powershell::judge(eval, &mut state, &text);
    } else {
        eval.line(&text);
    }
}

/// Normalizes line ends, and removes the characters the guard reserves for itself.
fn clean(eval: &mut Evaluator<'_>, text: &str) -> String {
    let mut text = if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.to_owned() };
    if text.chars().any(|c| c >= characters::RESERVED) {
        eval.report(
            &Machine::Local,
            &rules::SHELL_HIDDEN_CHARACTER,
            "a character from a private Unicode plane",
        );
        text.retain(|c| c < characters::RESERVED);
    }
    text
}

fn first_path(input: &Map<String, Value>) -> Option<&str> {
    PATH_FIELDS.iter().find_map(|field| input.get(*field)?.as_str()).filter(|path| !path.is_empty())
}

/// A path as a tool takes it: without a shell there are no globs and no variables, but a tilde is expanded to be safe.
fn tool_path(eval: &mut Evaluator<'_>, path: &str) -> String {
    let path = clean(eval, path);
    if path.chars().any(|c| {
        characters::is_control(c) || c == '\n' || characters::is_invisible(c) || characters::is_slash(c)
    }) {
        eval.report(&Machine::Local, &rules::SHELL_HIDDEN_CHARACTER, path.clone());
    }
    let path = path.strip_prefix("file://").unwrap_or(&path);
    // `..\..\.ssh\config`: an oddly named file here, another directory on Windows. Nobody means the former.
    let slashed = path.contains('\\') && !path.contains('/') && !paths::is_windows(path);
    let path = &if slashed { path.replace('\\', "/") } else { path.to_owned() };
    match path.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", eval.locations.home),
        None => path.to_owned(),
    }
}

fn write(eval: &mut Evaluator<'_>, tool: &str, path: &str) {
    let upwards = path.starts_with("../") || path.starts_with("..\\");
    let path = tool_path(eval, path);
    let state = eval.initial_state();
    // How far up this leads depends on the working directory; the name at its end does not.
    if upwards {
        let below = path.trim_start_matches("../");
        let anywhere = format!("{}/{below}", eval.origins.hole("..", Tags::NOT_EMPTY));
        eval.write(&state, &anywhere, WriteKind::Overwrite, &format!("{tool} {path}"));
    }
    eval.write(&state, &path, WriteKind::Overwrite, &format!("{tool} {path}"));
}

fn read(eval: &mut Evaluator<'_>, path: &str) {
    let path = tool_path(eval, path);
    let state = eval.initial_state();
    eval.read(&state, &path);
}

/// `Grep` shows contents: of a path, and of what its glob matches.
fn search(eval: &mut Evaluator<'_>, input: &Map<String, Value>) {
    let path = input.get("path").and_then(Value::as_str);
    if let Some(path) = path {
        read(eval, path);
    }
    if let Some(glob) = input.get("glob").and_then(Value::as_str) {
        let dir = tool_path(eval, path.unwrap_or("."));
        let state = eval.initial_state();
        for pattern in split_braces(glob) {
            let name = pattern.rsplit('/').next().unwrap_or(&pattern).to_owned();
            if !name.starts_with('!') {
                eval.read(&state, &format!("{}/{}", dir.trim_end_matches('/'), activate(&name)));
            }
        }
    }
}

/// `*.{env,pem}` becomes `*.env`, `*.pem`; tools accept only one pair of braces.
fn split_braces(glob: &str) -> Vec<String> {
    match (glob.find('{'), glob.rfind('}')) {
        (Some(open), Some(close)) if open < close => glob[open + 1..close]
            .split(',')
            .map(|choice| format!("{}{choice}{}", &glob[..open], &glob[close + 1..]))
            .collect(),
        _ => vec![glob.to_owned()],
    }
}

/// The payload with all brackets in its command texts removed, for text nested deeper than any stack.
pub(crate) fn flattened(payload: &Value) -> Value {
    let mut flat = payload.clone();
    if let Some(input) = flat.get_mut("tool_input").and_then(Value::as_object_mut) {
        for (_, value) in input.iter_mut() {
            if let Value::String(text) = value {
                *text =
                    text.chars()
                        .map(|c| {
                            if matches!(c, '(' | ')' | '{' | '}' | '`' | '$' | '"' | '\'') { '\n' } else { c }
                        })
                        .collect();
            }
        }
    }
    flat
}
