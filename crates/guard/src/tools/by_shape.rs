//! Tools the guard does not know, most of them from MCP servers, judged by their names and the fields of their input:
//! commands, code, files, SQL, messages.

use crate::code;
use crate::code::Language;
use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::Machine;
use crate::eval::value::Stream;
use crate::rules;
use crate::rules::names;
use crate::rules::names::{
    COMMAND_FIELDS, CONTAINERS_AND_CLUSTERS, DATABASE_WORDS, DELETED_THINGS, DELETING_VERBS,
    MESSENGER_SERVERS, MESSENGER_WORDS, PATH_FIELDS, SENDING_VERBS, SHELL_FIELDS, SHELL_WORDS,
    STATEMENT_FIELDS, WRAPPING_FIELDS,
};
use crate::sql;
use crate::tools::{clean, command_text, tool_path};
use serde_json::{Map, Value};

/// `mcp__server__do_something` and `doSomething` become their words in lower case.
fn name_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut previous = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && previous.is_lowercase()) {
            parts.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(last) = parts.last_mut()
        {
            last.extend(c.to_lowercase());
        }
        previous = c;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// How deep `{"params": {"input": {…}}}` is followed.
const MAX_WRAPPED_INPUTS: usize = 3;

pub(super) fn judge(eval: &mut Evaluator<'_>, tool: &str, input: &Map<String, Value>) {
    let mut inputs = vec![input];
    for depth in 0..MAX_WRAPPED_INPUTS {
        let Some(outer) = inputs.get(depth) else { break };
        let inner = WRAPPING_FIELDS.iter().find_map(|field| outer.get(*field)?.as_object());
        inputs.extend(inner);
    }
    for input in inputs {
        judge_fields(eval, tool, input);
    }
}

fn judge_fields(eval: &mut Evaluator<'_>, tool: &str, input: &Map<String, Value>) {
    let parts = name_parts(tool);
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    if tool.starts_with("mcp__") {
        messages(eval, tool, &parts, input);
        deletions(eval, tool, &parts);
    }
    statements(eval, tool, &parts, input);
    // What such a server runs, it runs on another machine.
    if says(&["ssh", "remote"]) {
        eval.machine = Machine::Remote;
    } else if says(CONTAINERS_AND_CLUSTERS) {
        eval.machine = Machine::LiveContainer;
    }
    let language = if says(&["python", "ipython", "jupyter"]) {
        Some(Language::Python)
    } else if says(names::JAVASCRIPT_WORDS) {
        Some(Language::JavaScript)
    } else {
        None
    };
    for field in COMMAND_FIELDS.iter().copied() {
        match (input.get(field), language) {
            (Some(Value::String(text)), Some(language)) if field == "script" => {
                foreign_code(eval, language, text, tool)
            }
            (Some(Value::String(text)), _) => {
                command_text(eval, text, says(&["powershell", "pwsh"]));
                with_arguments(eval, text, input);
            }
            (Some(Value::Null) | None, _) => {}
            // An editor's options, or a list of words: still a command.
            (Some(Value::Array(words)), _) => words_of_command(eval, words, tool),
            (Some(_), _) => eval.report(&Machine::Local, &rules::INPUT_SHAPE, format!("{tool}: {field}")),
        }
    }
    other_commands(eval, input, says(SHELL_WORDS), says(&["powershell", "pwsh"]));
    if let Some(Value::String(text)) = input.get("code")
        && (language.is_some() || says(&["execute", "exec", "run", "eval", "code"]))
    {
        foreign_code(eval, language.unwrap_or(Language::Python), text, tool);
    }
    files(eval, tool, &parts, input);
}

/// Tools that execute SQL, and tools named after what they destroy: `mcp__mongodb__drop-collection`.
fn statements(eval: &mut Evaluator<'_>, tool: &str, parts: &[String], input: &Map<String, Value>) {
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    let for_databases = says(DATABASE_WORDS);
    let mut rule = None;
    for (field, value) in input {
        let name = folded(field);
        if name != "sql" && !(for_databases && STATEMENT_FIELDS.contains(&name.as_str())) {
            continue;
        }
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().filter_map(statement_of).collect(),
            _ => continue,
        };
        let text = texts.join(";\n");
        let first = text.split_whitespace().next().unwrap_or("").to_lowercase();
        if matches!(first.as_str(), "flushall" | "flushdb") {
            rule = Some(&rules::DATABASE_DROP);
        }
        rule = rule.or_else(|| sql::judge(&text)).or_else(|| sql::judge_mongo(&text));
    }
    let verb = parts.iter().skip_while(|part| *part == "mcp").nth(1).map_or("", String::as_str);
    let drops = for_databases
        && (matches!(verb, "drop" | "truncate" | "flush" | "flushall" | "flushdb")
            || says(&["flushall", "flushdb"]));
    let empty = |field: &str| matches!(input.get(field), Some(Value::Object(filter)) if filter.is_empty());
    let everything =
        for_databases && says(&["delete", "deletemany"]) && says(&["many", "deletemany"]) && empty("filter");
    if drops {
        rule = Some(&rules::DATABASE_DROP);
    } else if everything {
        rule = rule.or(Some(&rules::DATABASE_ROWS));
    }
    if let Some(rule) = rule {
        eval.report(&Machine::Local, rule, tool);
    }
}

/// `mcp__github__delete_repository`, `mcp__cloudflare__r2_bucket_delete`: what a tool's name says it destroys.
fn deletions(eval: &mut Evaluator<'_>, tool: &str, parts: &[String]) {
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    let [.., first, last] = parts else { return };
    let deletes = |word: &String| DELETING_VERBS.contains(&word.as_str());
    let thing = match (deletes(first), deletes(last)) {
        (true, false) => last.as_str(),
        (false, true) => first.as_str(),
        _ => return,
    };
    let thing = thing.strip_suffix('s').unwrap_or(thing);
    let rule = match thing {
        "kubectl" | "kubernete" | "k8" | "pod" | "namespace" | "deployment" => &rules::CLOUD_CLUSTER,
        "volume" => &rules::CONTAINER_VOLUME,
        "database" | "table" | "collection" | "schema" | "keyspace" => &rules::DATABASE_DROP,
        "repository" | "repo" | "release" | "package" => &rules::PUBLISH_RELEASE,
        "branch" if says(&["git", "github", "gitlab", "gitea", "bitbucket"]) => &rules::GIT_DELETE_REF,
        thing if DELETED_THINGS.contains(&thing) => &rules::CLOUD_DELETE,
        _ => return,
    };
    eval.report(&Machine::Local, rule, tool);
}

/// An item of `statements`: a text, or an object that contains one.
fn statement_of(item: &Value) -> Option<&str> {
    match item {
        Value::Object(fields) => {
            fields.iter().find(|(field, _)| STATEMENT_FIELDS.contains(&folded(field).as_str()))?.1.as_str()
        }
        item => item.as_str(),
    }
}

/// `filePath` and `file_path` are the same field.
fn folded(field: &str) -> String {
    field.chars().filter(|c| *c != '_' && *c != '-').flat_map(char::to_lowercase).collect()
}

fn is_path_field(field: &str) -> bool {
    PATH_FIELDS.iter().any(|known| folded(known) == folded(field))
}

/// `{"command": "rm", "args": ["-rf", "/"]}`
fn with_arguments(eval: &mut Evaluator<'_>, program: &str, input: &Map<String, Value>) {
    let words = match input.get("args").or_else(|| input.get("arguments")) {
        Some(Value::Array(args)) => args.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(args)) => args.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if !words.is_empty() && !program.contains(char::is_whitespace) {
        let argv: Vec<String> = std::iter::once(program.to_owned()).chain(words).collect();
        let mut state = eval.initial_state();
        eval.call(&mut state, &argv, &Stream::None, false);
    }
}

/// Command fields other than the usual three. `commands` may be anything, except in a tool that runs commands.
fn other_commands(
    eval: &mut Evaluator<'_>,
    input: &Map<String, Value>,
    runs_commands: bool,
    is_powershell: bool,
) {
    for (field, value) in input {
        let name = folded(field);
        let usual = COMMAND_FIELDS.contains(&field.as_str());
        let holds_commands = SHELL_FIELDS.contains(&name.as_str())
            || runs_commands && (name == "commands" || COMMAND_FIELDS.contains(&name.as_str()));
        if usual || !holds_commands {
            continue;
        }
        match value {
            Value::String(text) => command_text(eval, text, is_powershell),
            Value::Array(texts) => {
                for text in texts.iter().filter_map(Value::as_str) {
                    command_text(eval, text, is_powershell);
                }
            }
            _ => {}
        }
    }
}

fn words_of_command(eval: &mut Evaluator<'_>, words: &[Value], tool: &str) {
    let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
    eval.report(&Machine::Local, &rules::INPUT_SHAPE, format!("{tool}: a command that is not text"));
    if let Some(words) = words {
        let mut state = eval.initial_state();
        eval.call(&mut state, &words, &Stream::None, false);
    }
}

fn foreign_code(eval: &mut Evaluator<'_>, language: Language, text: &str, tool: &str) {
    let text = clean(eval, text);
    let mut state = eval.initial_state();
    code::judge_tool(eval, &mut state, language, &text, tool);
}

fn files(eval: &mut Evaluator<'_>, tool: &str, parts: &[String], input: &Map<String, Value>) {
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    let only_views = input.get("command").and_then(Value::as_str) == Some("view");
    let writes = says(names::WRITING_VERBS);
    let deletes = says(&["delete", "remove", "rm", "unlink", "trash"]);
    let moves = says(&["move", "rename", "mv"]);
    // Names and dates are not the content.
    let reads = says(&["read", "cat", "view", "open", "get", "load", "show"])
        && !says(&["info", "metadata", "stat", "stats", "status"]);
    let state = eval.initial_state();
    for (field, value) in input {
        let field = field.as_str();
        let values: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().filter_map(path_of).collect(),
            _ => continue,
        };
        let is_path = is_path_field(field) || matches!(field, "paths" | "files" | "file");
        let is_source = moves && matches!(field, "source" | "src" | "from" | "old_path" | "path");
        if !is_path && !is_source {
            continue;
        }
        for value in values.into_iter().filter(|value| !value.is_empty() && value.len() < 4096) {
            let path = tool_path(eval, value);
            let subject = format!("{tool} {path}");
            if is_source || (deletes && !writes) {
                eval.delete(&state, &path, &subject);
            } else if moves {
                eval.write(&state, &path, WriteKind::Replace, &subject);
            } else if writes && !only_views {
                eval.write(&state, &path, WriteKind::Overwrite, &subject);
            } else if reads || only_views {
                eval.read(&state, &path);
            }
        }
    }
}

/// An item of `files`: a path, or an object that contains one.
fn path_of(item: &Value) -> Option<&str> {
    match item {
        Value::Object(fields) => fields.iter().find(|(field, _)| is_path_field(field))?.1.as_str(),
        item => item.as_str(),
    }
}

/// Messages: none while nobody is watching, and none sent without asking.
fn messages(eval: &mut Evaluator<'_>, tool: &str, parts: &[String], input: &Map<String, Value>) {
    let server = tool.trim_start_matches("mcp__").split("__").next().unwrap_or("").to_lowercase();
    let is_messenger = parts.iter().any(|part| MESSENGER_WORDS.contains(&part.as_str()))
        || MESSENGER_SERVERS.contains(&server.as_str());
    if !is_messenger {
        return;
    }
    if eval.unattended {
        return eval.report(&Machine::Local, &rules::MESSAGE_UNATTENDED, tool);
    }
    let operation = ["operation", "action", "op", "method"]
        .iter()
        .filter_map(|field| input.get(*field)?.as_str())
        .flat_map(name_parts);
    let sends = parts.iter().cloned().chain(operation).any(|part| SENDING_VERBS.contains(&part.as_str()));
    if sends {
        eval.report(&Machine::Local, &rules::MESSAGE_SEND, tool);
    }
}
