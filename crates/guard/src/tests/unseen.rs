//! Cases that were written from the policy, with their verdicts, before anybody ran them, pack by pack. Each set was run
//! once to see how the rules do on what they were not made for; since then they are rows like any other.

use super::*;
use serde_json::Value;

/// A pack's rows: commands, or calls of other tools, perhaps with settings and files.
fn pack(texts: &[&str], judge: impl Fn(&str) -> Verdict) {
    let rows = texts.join("\n");
    table(&rows, judge);
}

#[test]
fn cloud() {
    pack(
        &[
            include_str!("unseen/cloud-1.txt"),
            include_str!("unseen/cloud-2.txt"),
            include_str!("unseen/cloud-3.txt"),
            include_str!("unseen/cloud-4.txt"),
            include_str!("unseen/cloud-5.txt"),
            include_str!("unseen/cloud-6.txt"),
            include_str!("unseen/cloud-7.txt"),
        ],
        bash,
    );
}

#[test]
fn database() {
    pack(
        &[
            include_str!("unseen/database-1.txt"),
            include_str!("unseen/database-2.txt"),
            include_str!("unseen/database-3.txt"),
            include_str!("unseen/database-4.txt"),
            include_str!("unseen/database-5.txt"),
            include_str!("unseen/database-6.txt"),
            include_str!("unseen/database-7.txt"),
        ],
        bash,
    );
}

#[test]
fn container() {
    pack(
        &[
            include_str!("unseen/container-1.txt"),
            include_str!("unseen/container-2.txt"),
            include_str!("unseen/container-3.txt"),
            include_str!("unseen/container-4.txt"),
            include_str!("unseen/container-5.txt"),
            include_str!("unseen/container-6.txt"),
            include_str!("unseen/container-7.txt"),
        ],
        bash,
    );
}

#[test]
fn publish() {
    pack(
        &[
            include_str!("unseen/publish-1.txt"),
            include_str!("unseen/publish-2.txt"),
            include_str!("unseen/publish-3.txt"),
            include_str!("unseen/publish-4.txt"),
            include_str!("unseen/publish-5.txt"),
            include_str!("unseen/publish-6.txt"),
        ],
        bash,
    );
}

#[test]
fn everything_else() {
    pack(
        &[
            include_str!("unseen/rest-1.txt"),
            include_str!("unseen/rest-2.txt"),
            include_str!("unseen/rest-3.txt"),
            include_str!("unseen/rest-4.txt"),
        ],
        bash,
    );
}

/// `Tool {input}`
fn call(row: &str, environment: &GuardEnvironment) -> Verdict {
    let (tool, input) = row.split_once(' ').unwrap();
    let input: Value = serde_json::from_str(input).unwrap_or_else(|error| panic!("{row}: {error}"));
    judge(&json!({"tool_name": tool, "tool_input": input, "cwd": "/home/dev/proj"}), environment)
}

#[test]
fn other_tools() {
    pack(
        &[
            include_str!("unseen/tools-1.txt"),
            include_str!("unseen/tools-2.txt"),
            include_str!("unseen/tools-3.txt"),
            include_str!("unseen/tools-4.txt"),
        ],
        |row| call(row, &environment()),
    );
}

/// `{settings} command`, or `{settings} MCP Tool {input}`. Two keys are no settings of the user's: `project` stands in the
/// project's own file, and `file` holds the texts of files in the project.
fn with_settings(row: &str) -> Verdict {
    let mut values = serde_json::Deserializer::from_str(row).into_iter::<Value>();
    let mut settings = values.next().unwrap().unwrap_or_else(|error| panic!("{row}: {error}"));
    let command = row[values.byte_offset()..].trim_start();
    let mut environment = environment();
    let mut disk = disk();
    let settings_of = settings.as_object_mut().unwrap();
    if let Some(project) = settings_of.remove("project") {
        let text = json!({"guard": project}).to_string();
        disk.texts.insert(format!("/home/dev/proj/{PROJECT_FILE}"), text);
    }
    for (name, text) in settings_of.remove("file").as_ref().and_then(Value::as_object).into_iter().flatten() {
        disk.texts.insert(format!("/home/dev/proj/{name}"), text.as_str().unwrap().to_owned());
    }
    environment.files = Box::new(disk);
    environment.config = serde_json::from_value(settings).unwrap();
    match command.strip_prefix("MCP ") {
        Some(row) => call(row, &environment),
        None => call(&format!("Bash {}", json!({"command": command})), &environment),
    }
}

#[test]
fn own_rules_protected_paths_and_scripts() {
    pack(
        &[
            include_str!("unseen/own-1.txt"),
            include_str!("unseen/own-2.txt"),
            include_str!("unseen/own-3.txt"),
            include_str!("unseen/own-4.txt"),
        ],
        with_settings,
    );
}

#[test]
fn variations_of_what_was_missed() {
    pack(&[include_str!("unseen/variations.txt")], bash);
}
