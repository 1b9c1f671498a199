//! Tools other than the shell, by the shape of their input: commands, files, messages.

use crate::code;
use crate::code::Language;
use crate::eval::Walk;
use crate::eval::env::World;
use crate::eval::file_effects::Write;
use crate::eval::value::{Stream, Tags, activate};
use crate::paths;
use crate::powershell;
use crate::rules;
use crate::shell::characters;
use crate::sql;
use serde_json::{Map, Value};

/// Fields that hold shell text, whatever the tool.
const COMMAND_FIELDS: [&str; 3] = ["command", "cmd", "script"];
/// The same for tools whose name says that they run commands; see [`folded`].
const SHELL_FIELDS: [&str; 4] = ["commands", "commandline", "shellcommand", "bashcommand"];
/// Fields that hold a file.
const PATH_FIELDS: [&str; 9] = [
    "file_path",
    "path",
    "notebook_path",
    "filepath",
    "filename",
    "target_file",
    "destination",
    "dest",
    "uri",
];

/// Name parts that make an MCP tool a messaging tool.
const MESSENGERS: [&str; 34] = [
    "message",
    "messages",
    "messaging",
    "messenger",
    "mail",
    "mails",
    "mailer",
    "email",
    "emails",
    "gmail",
    "outlook",
    "imap",
    "smtp",
    "sms",
    "mms",
    "slack",
    "discord",
    "telegram",
    "whatsapp",
    "imessage",
    "imessages",
    "twilio",
    "sendgrid",
    "mailgun",
    "mailchimp",
    "postmark",
    "mattermost",
    "zulip",
    "rocketchat",
    "wechat",
    "msteams",
    "tweet",
    "twitter",
    "mastodon",
];
/// Only as the server's own name: elsewhere they are ordinary words.
const MESSENGER_SERVERS: [&str; 5] = ["signal", "teams", "line", "bluesky", "matrix"];
/// Name parts, or words of an operation, that send.
const SENDING: [&str; 10] =
    ["send", "post", "reply", "forward", "schedule", "respond", "publish", "broadcast", "deliver", "dm"];

pub fn judge(walk: &mut Walk<'_>, payload: &Value) {
    let Some(payload) = payload.as_object() else {
        return walk.found(&World::Here, &rules::INPUT_SHAPE, "a payload that is no object");
    };
    let Some(tool) = payload.get("tool_name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
        return walk.found(&World::Here, &rules::INPUT_SHAPE, "a call without a tool name");
    };
    let empty = Map::new();
    let input = match payload.get("tool_input") {
        Some(Value::Object(input)) => input,
        None | Some(Value::Null) if !needs_input(tool) => &empty,
        _ => return walk.found(&World::Here, &rules::INPUT_SHAPE, format!("{tool} without an input")),
    };
    // The user's own rules may name tools as well: `mcp__prod__*`.
    if tool != "Bash" {
        let env = walk.env();
        walk.own_rules(&env, &[tool.to_owned()]);
    }
    match tool {
        "Bash" | "PowerShell" | "Monitor" => shell(walk, tool, input),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => match first_path(input) {
            Some(path) => write(walk, tool, path),
            None => walk.found(&World::Here, &rules::INPUT_SHAPE, format!("{tool} without a path")),
        },
        "Read" | "NotebookRead" => match first_path(input) {
            Some(path) => read(walk, path),
            None => walk.found(&World::Here, &rules::INPUT_SHAPE, format!("{tool} without a path")),
        },
        "Grep" => search(walk, input),
        // Only names, texts, or the client's own affairs.
        "Glob" | "LS" | "WebFetch" | "WebSearch" | "Task" | "Agent" | "TodoWrite" | "SlashCommand"
        | "Skill" | "ExitPlanMode" | "EnterPlanMode" | "AskUserQuestion" | "BashOutput" | "KillShell"
        | "KillBash" | "ToolSearch" | "SendMessage" => {}
        tool => by_shape(walk, tool, input),
    }
}

fn needs_input(tool: &str) -> bool {
    matches!(
        tool,
        "Bash"
            | "PowerShell"
            | "Write"
            | "Edit"
            | "MultiEdit"
            | "NotebookEdit"
            | "Read"
            | "NotebookRead"
            | "Monitor"
    )
}

fn shell(walk: &mut Walk<'_>, tool: &str, input: &Map<String, Value>) {
    match input.get("command") {
        Some(Value::String(command)) => command_text(walk, command, tool == "PowerShell"),
        _ => walk.found(&World::Here, &rules::INPUT_SHAPE, format!("{tool} without a command text")),
    }
}

fn command_text(walk: &mut Walk<'_>, command: &str, is_powershell: bool) {
    let text = clean(walk, command);
    if is_powershell {
        if let Some(c) = characters::misleading(&text, None, true) {
            walk.found(&World::Here, &rules::SHELL_HIDDEN_CHARACTER, format!("U+{:04X}", u32::from(c)));
        }
        let mut env = walk.env();
        powershell::judge(walk, &mut env, &text);
    } else {
        walk.line(&text);
    }
}

/// Line ends of other systems, and the characters the guard keeps for itself.
fn clean(walk: &mut Walk<'_>, text: &str) -> String {
    let mut text = if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.to_owned() };
    if text.chars().any(|c| c >= characters::RESERVED) {
        walk.found(&World::Here, &rules::SHELL_HIDDEN_CHARACTER, "a character of no script");
        text.retain(|c| c < characters::RESERVED);
    }
    text
}

fn first_path(input: &Map<String, Value>) -> Option<&str> {
    PATH_FIELDS.iter().find_map(|field| input.get(*field)?.as_str()).filter(|path| !path.is_empty())
}

/// A path as a tool takes it: no shell, so no globs and no variables, but a tilde for good measure.
fn tool_path(walk: &mut Walk<'_>, path: &str) -> String {
    let path = clean(walk, path);
    if path.chars().any(|c| {
        characters::is_control(c) || c == '\n' || characters::is_invisible(c) || characters::is_slash(c)
    }) {
        walk.found(&World::Here, &rules::SHELL_HIDDEN_CHARACTER, path.clone());
    }
    let path = path.strip_prefix("file://").unwrap_or(&path);
    // `..\..\.ssh\config`: a file of this odd name here, another directory on Windows. Nobody means the first.
    let slashed = path.contains('\\') && !path.contains('/') && !paths::is_windows(path);
    let path = &if slashed { path.replace('\\', "/") } else { path.to_owned() };
    match path.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", walk.ground.home),
        None => path.to_owned(),
    }
}

fn write(walk: &mut Walk<'_>, tool: &str, path: &str) {
    let upwards = path.starts_with("..\\");
    let path = tool_path(walk, path);
    let env = walk.env();
    // How far up that leads is a question of whose directory counts; what it is called there is not.
    if upwards {
        let below = path.trim_start_matches("../");
        let anywhere = format!("{}/{below}", walk.origins.hole("..", Tags::NOT_EMPTY));
        walk.write(&env, &anywhere, Write::Overwrite, &format!("{tool} {path}"));
    }
    walk.write(&env, &path, Write::Overwrite, &format!("{tool} {path}"));
}

fn read(walk: &mut Walk<'_>, path: &str) {
    let path = tool_path(walk, path);
    let env = walk.env();
    walk.read(&env, &path);
}

/// `Grep` shows contents: of a path, and of what its glob matches.
fn search(walk: &mut Walk<'_>, input: &Map<String, Value>) {
    let path = input.get("path").and_then(Value::as_str);
    if let Some(path) = path {
        read(walk, path);
    }
    if let Some(glob) = input.get("glob").and_then(Value::as_str) {
        let dir = tool_path(walk, path.unwrap_or("."));
        let env = walk.env();
        for pattern in split_braces(glob) {
            let name = pattern.rsplit('/').next().unwrap_or(&pattern).to_owned();
            if !name.starts_with('!') {
                walk.read(&env, &format!("{}/{}", dir.trim_end_matches('/'), activate(&name)));
            }
        }
    }
}

/// `*.{env,pem}` ▶ `*.env`, `*.pem`; one pair of braces is all that tools take.
fn split_braces(glob: &str) -> Vec<String> {
    match (glob.find('{'), glob.rfind('}')) {
        (Some(open), Some(close)) if open < close => glob[open + 1..close]
            .split(',')
            .map(|choice| format!("{}{choice}{}", &glob[..open], &glob[close + 1..]))
            .collect(),
        _ => vec![glob.to_owned()],
    }
}

/// `mcp__server__do_something` and `doSomething` ▶ their words in small letters.
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

fn by_shape(walk: &mut Walk<'_>, tool: &str, input: &Map<String, Value>) {
    let parts = name_parts(tool);
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    if tool.starts_with("mcp__") {
        messages(walk, tool, &parts, input);
    }
    statements(walk, tool, &parts, input);
    // What such a server runs, it runs elsewhere.
    if says(&["ssh", "remote"]) {
        walk.world = World::Remote;
    } else if says(&["docker", "kubernetes", "k8s", "kubectl", "pod", "pods", "container"]) {
        walk.world = World::Running;
    }
    let language = if says(&["python", "ipython", "jupyter"]) {
        Some(Language::Python)
    } else if says(&[
        "evaluate",
        "javascript",
        "js",
        "browser",
        "page",
        "playwright",
        "puppeteer",
        "node",
        "chrome",
    ]) {
        Some(Language::JavaScript)
    } else {
        None
    };
    for field in COMMAND_FIELDS {
        match (input.get(field), language) {
            (Some(Value::String(text)), Some(language)) if field == "script" => {
                foreign_code(walk, language, text, tool)
            }
            (Some(Value::String(text)), _) => {
                command_text(walk, text, says(&["powershell", "pwsh"]));
                with_arguments(walk, text, input);
            }
            (Some(Value::Null) | None, _) => {}
            // An editor's options, a list of words: somebody's command all the same.
            (Some(Value::Array(words)), _) => words_of_command(walk, words, tool),
            (Some(_), _) => walk.found(&World::Here, &rules::INPUT_SHAPE, format!("{tool}: {field}")),
        }
    }
    if says(&["shell", "terminal", "bash", "exec", "execute", "run", "command", "commands", "process", "ssh"])
    {
        other_commands(walk, input, says(&["powershell", "pwsh"]));
    }
    if let Some(Value::String(text)) = input.get("code")
        && (language.is_some() || says(&["execute", "exec", "run", "eval", "code"]))
    {
        foreign_code(walk, language.unwrap_or(Language::Python), text, tool);
    }
    files(walk, tool, &parts, input);
}

/// Name parts that make a tool one for databases.
const DATABASES: [&str; 32] = [
    "sql",
    "postgres",
    "postgresql",
    "pg",
    "psql",
    "mysql",
    "mariadb",
    "sqlite",
    "database",
    "databases",
    "db",
    "bigquery",
    "snowflake",
    "supabase",
    "duckdb",
    "clickhouse",
    "redshift",
    "mssql",
    "sqlserver",
    "oracle",
    "cockroachdb",
    "neon",
    "planetscale",
    "databricks",
    "athena",
    "d1",
    "turso",
    "libsql",
    "trino",
    "mongo",
    "mongodb",
    "redis",
];
/// Fields that hold statements; `sql` does whatever the tool's name is.
const STATEMENT_FIELDS: [&str; 10] = [
    "sql",
    "query",
    "statement",
    "statements",
    "queries",
    "sqlquery",
    "sqlstatement",
    "sqltext",
    "command",
    "commands",
];

/// Tools that execute SQL, and those that are named for what they throw away: `mcp__mongodb__drop-collection`.
fn statements(walk: &mut Walk<'_>, tool: &str, parts: &[String], input: &Map<String, Value>) {
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    let for_databases = says(&DATABASES);
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
        walk.found(&World::Here, rule, tool);
    }
}

/// An item of `statements`: a text, or an object with one.
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
fn with_arguments(walk: &mut Walk<'_>, program: &str, input: &Map<String, Value>) {
    let words = match input.get("args").or_else(|| input.get("arguments")) {
        Some(Value::Array(args)) => args.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(args)) => args.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if !words.is_empty() && !program.contains(char::is_whitespace) {
        let argv: Vec<String> = std::iter::once(program.to_owned()).chain(words).collect();
        let mut env = walk.env();
        walk.call(&mut env, &argv, &Stream::None, false);
    }
}

/// Fields of a tool that runs commands, other than the usual three.
fn other_commands(walk: &mut Walk<'_>, input: &Map<String, Value>, is_powershell: bool) {
    for (field, value) in input {
        let name = folded(field);
        let usual = COMMAND_FIELDS.contains(&field.as_str());
        if usual || !COMMAND_FIELDS.contains(&name.as_str()) && !SHELL_FIELDS.contains(&name.as_str()) {
            continue;
        }
        match value {
            Value::String(text) => command_text(walk, text, is_powershell),
            Value::Array(texts) => {
                for text in texts.iter().filter_map(Value::as_str) {
                    command_text(walk, text, is_powershell);
                }
            }
            _ => {}
        }
    }
}

fn words_of_command(walk: &mut Walk<'_>, words: &[Value], tool: &str) {
    let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
    walk.found(&World::Here, &rules::INPUT_SHAPE, format!("{tool}: a command that is no text"));
    if let Some(words) = words {
        let mut env = walk.env();
        walk.call(&mut env, &words, &Stream::None, false);
    }
}

fn foreign_code(walk: &mut Walk<'_>, language: Language, text: &str, tool: &str) {
    let text = clean(walk, text);
    let mut env = walk.env();
    code::judge_tool(walk, &mut env, language, &text, tool);
}

fn files(walk: &mut Walk<'_>, tool: &str, parts: &[String], input: &Map<String, Value>) {
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    let only_views = input.get("command").and_then(Value::as_str) == Some("view");
    let writes = says(&[
        "write",
        "edit",
        "create",
        "save",
        "append",
        "update",
        "insert",
        "replace",
        "patch",
        "overwrite",
        "upload",
    ]);
    let deletes = says(&["delete", "remove", "rm", "unlink", "trash"]);
    let moves = says(&["move", "rename", "mv"]);
    let reads = says(&["read", "cat", "view", "open", "get", "load", "show"]);
    let env = walk.env();
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
            let path = tool_path(walk, value);
            let subject = format!("{tool} {path}");
            if is_source || (deletes && !writes) {
                walk.delete(&env, &path, &subject);
            } else if moves {
                walk.write(&env, &path, Write::Replace, &subject);
            } else if writes && !only_views {
                walk.write(&env, &path, Write::Overwrite, &subject);
            } else if reads || only_views {
                walk.read(&env, &path);
            }
        }
    }
}

/// An item of `files`: a path, or an object with one.
fn path_of(item: &Value) -> Option<&str> {
    match item {
        Value::Object(fields) => fields.iter().find(|(field, _)| is_path_field(field))?.1.as_str(),
        item => item.as_str(),
    }
}

/// Messages: none while nobody watches, and no sending without a question.
fn messages(walk: &mut Walk<'_>, tool: &str, parts: &[String], input: &Map<String, Value>) {
    let server = tool.trim_start_matches("mcp__").split("__").next().unwrap_or("").to_lowercase();
    let is_messenger = parts.iter().any(|part| MESSENGERS.contains(&part.as_str()))
        || MESSENGER_SERVERS.contains(&server.as_str());
    if !is_messenger {
        return;
    }
    if walk.unattended {
        return walk.found(&World::Here, &rules::MESSAGE_UNATTENDED, tool);
    }
    let operation = ["operation", "action", "op", "method"]
        .iter()
        .filter_map(|field| input.get(*field)?.as_str())
        .flat_map(name_parts);
    let sends = parts.iter().cloned().chain(operation).any(|part| SENDING.contains(&part.as_str()));
    if sends {
        walk.found(&World::Here, &rules::MESSAGE_SEND, tool);
    }
}

/// The payload with all brackets of its command texts undone, for texts nested deeper than any stack.
pub fn flattened(payload: &Value) -> Value {
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
