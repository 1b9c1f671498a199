//! The hooks in another client's hook file, and what is wrong with the file. Pure.

use crate::table::{Registration, Row, Unit};
use serde_json::Value;

/// A hook in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub event: String,
    pub matcher: Option<String>,
    pub command: String,
}

/// Something wrong with the file. An error keeps the client from reading it, or from running the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where in the file, as a path of keys.
    pub path: String,
    pub is_error: bool,
    pub message: String,
}

/// The keys a file of Codex may have: with any other the whole file is refused.
const CODEX_KEYS: [&str; 2] = ["description", "hooks"];

/// Events of each client that headspace does not subscribe to, but that are its own.
const OTHER_EVENTS: &[(&str, &[&str])] = &[
    ("gemini", &["BeforeModel", "BeforeToolSelection", "AfterModel", "PreCompress"]),
    (
        "qwen",
        &[
            "UserPromptExpansion",
            "SessionDelete",
            "InstructionsLoaded",
            "TodoCreated",
            "TodoCompleted",
            "MessageDisplay",
        ],
    ),
    (
        "copilot",
        &[
            "PermissionRequest",
            "PreCompact",
            "sessionStart",
            "sessionEnd",
            "userPromptSubmitted",
            "userPromptTransformed",
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "preMcpToolCall",
            "preCompact",
            "permissionRequest",
            "notification",
            "agentStop",
            "subagentStart",
            "subagentStop",
            "errorOccurred",
        ],
    ),
];

/// A timeout beyond these can only be in the wrong unit.
const LONGEST_SECONDS: f64 = 3600.0;
const SHORTEST_MILLISECONDS: f64 = 1000.0;

/// The hooks of a file, and its faults. `value` is the file as JSON without comments.
pub fn read(row: &Row, value: &Value) -> (Vec<Hook>, Vec<Fault>) {
    let mut reading = Reading { row, hooks: Vec::new(), faults: Vec::new() };
    reading.file(value);
    (reading.hooks, reading.faults)
}

struct Reading<'a> {
    row: &'a Row,
    hooks: Vec<Hook>,
    faults: Vec<Fault>,
}

impl Reading<'_> {
    fn fault(&mut self, path: &str, is_error: bool, message: impl Into<String>) {
        self.faults.push(Fault { path: path.to_owned(), is_error, message: message.into() });
    }

    fn file(&mut self, value: &Value) {
        let Some(keys) = value.as_object() else { return self.fault("", true, "the file is not an object") };
        if self.row.name == crate::client::codex::ROW.name {
            for key in keys.keys().filter(|key| !CODEX_KEYS.contains(&key.as_str())) {
                self.fault(key, true, format!("Codex refuses the whole file because of the key {key:?}"));
            }
        }
        if matches!(self.row.registration, Registration::DropIn { .. })
            && value.get("version") != Some(&1.into())
        {
            self.fault("version", true, "\"version\" must be 1");
        }
        let Some(hooks) = keys.get("hooks") else { return };
        let Some(events) = hooks.as_object() else {
            return self.fault("hooks", true, "\"hooks\" must be an object");
        };
        for (event, groups) in events {
            self.event(event, groups);
        }
    }

    fn event(&mut self, event: &str, groups: &Value) {
        let path = format!("hooks.{event}");
        let others = OTHER_EVENTS.iter().find(|(name, _)| *name == self.row.name);
        let known =
            self.row.event(event).is_some() || others.is_some_and(|(_, names)| names.contains(&event));
        if !known {
            self.fault(
                &path,
                false,
                format!("{} has no event {event:?} that headspace knows of", self.row.title),
            );
        }
        let Some(groups) = groups.as_array() else {
            return self.fault(&path, true, format!("\"{path}\" must be an array"));
        };
        for (index, group) in groups.iter().enumerate() {
            let path = format!("{path}[{index}]");
            match (group.get("hooks").and_then(Value::as_array), self.row.registration) {
                (Some(entries), _) => {
                    let matcher = group.get("matcher").and_then(Value::as_str);
                    for (place, entry) in entries.iter().enumerate() {
                        self.entry(&format!("{path}.hooks[{place}]"), event, matcher, entry);
                    }
                }
                (None, Registration::DropIn { .. }) => self.entry(&path, event, None, group),
                (None, _) => self.fault(&path, true, "not a group with a list of hooks"),
            }
        }
    }

    fn entry(&mut self, path: &str, event: &str, matcher: Option<&str>, entry: &Value) {
        let command = ["command", "bash", "powershell"].iter().find_map(|key| entry.get(key)?.as_str());
        let is_command = entry.get("type").and_then(Value::as_str) == Some("command");
        match command {
            Some(command) => self.hooks.push(Hook {
                event: event.to_owned(),
                matcher: matcher.map(str::to_owned),
                command: command.to_owned(),
            }),
            None if is_command => self.fault(path, true, "a hook of type \"command\" without a command"),
            None => {}
        }
        let unit = match self.row.registration {
            Registration::Groups { unit, .. } => unit,
            _ => Unit::Seconds,
        };
        let timeout = ["timeout", "timeoutSec"].iter().find_map(|key| entry.get(key)?.as_f64());
        let title = self.row.title;
        match (timeout, unit) {
            (Some(time), Unit::Seconds) if time > LONGEST_SECONDS => self.fault(
                path,
                false,
                format!("the timeout {time} is in seconds for {title}: did you mean {}?", time / 1000.0),
            ),
            (Some(time), Unit::Milliseconds) if time < SHORTEST_MILLISECONDS => self.fault(
                path,
                false,
                format!("the timeout {time} is in milliseconds for {title}: did you mean {}?", time * 1000.0),
            ),
            _ => {}
        }
    }
}

/// The hooks of our plugin. A plugin is a program, but ours is known word for word, so it need not be run.
pub fn read_plugin(row: &Row, source: &str, text: &str) -> (Vec<Hook>, Vec<Fault>) {
    let fault = |message: String| Fault { path: String::new(), is_error: false, message };
    if source.lines().next() != text.lines().next() {
        return (Vec::new(), vec![fault("a plugin that headspace did not write".to_owned())]);
    }
    let Some(words) = plugin_command(text) else {
        return (Vec::new(), vec![fault(format!("it calls nothing; {}", refresh(row)))]);
    };
    let command = words.join(" ");
    let hook = |theirs: &str| Hook { event: theirs.to_owned(), matcher: None, command: command.clone() };
    let hooks = row.events().iter().map(|event| hook(event.theirs)).collect();
    let as_installed = Value::from(words).to_string();
    let is_current = source.replace("{command}", &as_installed) == text;
    let other = || fault(format!("not the plugin of this version of headspace; {}", refresh(row)));
    (hooks, if is_current { Vec::new() } else { vec![other()] })
}

/// The words that our plugin runs.
pub fn plugin_command(text: &str) -> Option<Vec<String>> {
    let list = text.lines().find_map(|line| line.strip_prefix("const COMMAND = "))?;
    serde_json::from_str(list).ok().filter(|words: &Vec<String>| !words.is_empty())
}

fn refresh(row: &Row) -> String {
    format!("headspace install --client {} puts it right", row.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::named;
    use serde_json::json;

    fn faults(client: &str, value: Value) -> Vec<(String, bool)> {
        let (_, faults) = read(named(client).unwrap(), &value);
        faults.into_iter().map(|fault| (fault.path, fault.is_error)).collect()
    }

    fn entry(timeout: u64) -> Value {
        json!([{"hooks": [{"type": "command", "command": "x", "timeout": timeout}]}])
    }

    #[test]
    fn each_shape_has_its_own_faults() {
        for (client, value, expected) in [
            ("codex", json!({"description": "d", "hooks": {"Stop": entry(5)}}), vec![]),
            ("codex", json!({"hooks": {}, "model": "x"}), vec![("model", true)]),
            ("codex", json!({"hooks": {"Stop": entry(5000)}}), vec![("hooks.Stop[0].hooks[0]", false)]),
            ("codex", json!({"hooks": {"BeforeTool": entry(5)}}), vec![("hooks.BeforeTool", false)]),
            ("codex", json!({"hooks": {"Stop": [{"command": "x"}]}}), vec![("hooks.Stop[0]", true)]),
            ("gemini", json!({"ui": 1, "hooks": {"BeforeTool": entry(5000)}}), vec![]),
            (
                "gemini",
                json!({"hooks": {"BeforeTool": entry(10)}}),
                vec![("hooks.BeforeTool[0].hooks[0]", false)],
            ),
            ("gemini", json!({"hooks": {"BeforeModel": entry(5000)}}), vec![]),
            ("qwen", json!({"hooks": {"Stop": {}}}), vec![("hooks.Stop", true)]),
            (
                "copilot",
                json!({"version": 1, "hooks": {"agentStop": [{"type": "command", "bash": "x"}]}}),
                vec![],
            ),
            ("copilot", json!({"hooks": {}}), vec![("version", true)]),
            (
                "copilot",
                json!({"version": 1, "hooks": {"Stop": [{"type": "command"}]}}),
                vec![("hooks.Stop[0]", true)],
            ),
        ] {
            let expected: Vec<(String, bool)> =
                expected.iter().map(|(path, error)| ((*path).to_owned(), *error)).collect();
            assert_eq!(faults(client, value.clone()), expected, "{client} {value}");
        }
    }

    #[test]
    fn a_plugin_is_ours_and_of_this_version_or_not() {
        let row = crate::named("opencode").unwrap();
        let Registration::Plugin { source, .. } = row.registration else { panic!("not a plugin") };
        let installed = source.replace("{command}", r#"["/opt/head space","notify"]"#);
        let told = |text: &str| {
            let (hooks, faults) = read_plugin(row, source, text);
            (hooks.len() == row.events().len(), faults.len())
        };
        assert_eq!(told(&installed), (true, 0));
        assert_eq!(told(&format!("{installed}// more\n")), (true, 1));
        assert_eq!(told("export const Mine = () => {}\n"), (false, 1));
        assert_eq!(told(source), (false, 1));
        assert_eq!(plugin_command(&installed).unwrap(), ["/opt/head space", "notify"]);
    }
}
