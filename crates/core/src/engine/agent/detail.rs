//! Describes in words what an agent does and asks.

use crate::model::{Event, InteractionKind, observed};
use crate::text::{one_line, without_marks};
use serde_json::Value;

/// Long enough for a command line, short enough for a row.
const DETAIL_WIDTH: usize = 120;

/// Which field of a tool's input best describes the call. First match; for unknown tools: the first text.
const DETAIL_FIELDS: &[(&str, &[&str])] = &[
    ("Bash", &["command"]),
    ("bash", &["command"]),
    ("run_shell_command", &["command"]),
    ("write_file", &["file_path"]),
    ("PowerShell", &["command"]),
    ("Read", &["file_path", "path"]),
    ("Write", &["file_path", "path"]),
    ("Edit", &["file_path", "path"]),
    ("MultiEdit", &["file_path"]),
    ("NotebookEdit", &["notebook_path"]),
    ("Glob", &["pattern"]),
    ("Grep", &["pattern"]),
    ("WebFetch", &["url"]),
    ("WebSearch", &["query"]),
    ("ToolSearch", &["query"]),
    ("Agent", &["description", "prompt"]),
    ("Task", &["description", "prompt"]),
    ("Skill", &["skill", "command"]),
    ("SlashCommand", &["command"]),
    ("TaskCreate", &["subject", "description"]),
    ("BashOutput", &["bash_id"]),
    ("TaskStop", &["task_id", "shell_id"]),
    ("EnterWorktree", &["name"]),
];

/// Tools that are a question to the user, whatever the permissions say.
pub fn is_question(tool: &str) -> bool {
    matches!(tool, "AskUserQuestion" | "ExitPlanMode" | "EnterPlanMode")
}

pub fn kind_of(tool: &str) -> InteractionKind {
    match tool {
        "AskUserQuestion" => InteractionKind::Question,
        "ExitPlanMode" | "EnterPlanMode" => InteractionKind::Plan,
        _ => InteractionKind::Permission,
    }
}

/// "Bash: npm test".
pub fn call(tool: &str, input: Option<&Value>) -> String {
    let name = short_tool(tool);
    match about(tool, input) {
        Some(about) => one_line(&format!("{name}: {about}"), DETAIL_WIDTH),
        None => one_line(&name, DETAIL_WIDTH),
    }
}

/// `mcp__github__list_issues` ▶ `github list_issues`: the name people know.
fn short_tool(tool: &str) -> String {
    match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server} {tool}"),
        None if tool.is_empty() => "Tool".to_string(),
        None => tool.to_string(),
    }
}

fn about<'a>(tool: &str, input: Option<&'a Value>) -> Option<&'a str> {
    let input = input?.as_object()?;
    let text = |key: &str| input.get(key)?.as_str().filter(|text| !text.trim().is_empty());
    match DETAIL_FIELDS.iter().find(|(name, _)| *name == tool) {
        Some((_, fields)) => fields.iter().find_map(|field| text(field)),
        None => input.values().find_map(|value| value.as_str().filter(|text| !text.trim().is_empty())),
    }
}

/// What a tool's dialog asks: the questions, the plan, "Allow Bash: npm test".
pub fn ask(tool: &str, input: Option<&Value>) -> String {
    match tool {
        "AskUserQuestion" => {
            let questions: Vec<&str> = questions(input).filter_map(|q| q.get("question")?.as_str()).collect();
            if questions.is_empty() {
                "A question is open".to_string()
            } else {
                one_line(&questions.join(" "), 4 * DETAIL_WIDTH)
            }
        }
        "ExitPlanMode" => match input.and_then(|input| input.get("plan")?.as_str()).and_then(headline) {
            Some(line) => one_line(&format!("Approve plan: {line}"), DETAIL_WIDTH),
            None => "Approve the plan".to_string(),
        },
        "EnterPlanMode" => "Enter plan mode".to_string(),
        "" => "Permission needed".to_string(),
        _ => one_line(&format!("Allow {}", call(tool, input)), DETAIL_WIDTH),
    }
}

/// The full text of a question turn: the plan itself, every question with its choices.
pub fn ask_in_full(tool: &str, input: Option<&Value>) -> String {
    let text = match tool {
        "AskUserQuestion" => {
            let lines = questions(input).filter_map(|question| {
                let text = question.get("question")?.as_str()?;
                let labels = labels(question).collect::<Vec<_>>().join(", ");
                Some(if labels.is_empty() { text.to_string() } else { format!("{text} ({labels})") })
            });
            lines.collect::<Vec<_>>().join(" ")
        }
        "ExitPlanMode" => input.and_then(|i| i.get("plan")?.as_str()).unwrap_or_default().to_string(),
        _ => String::new(),
    };
    if text.trim().is_empty() { ask(tool, input) } else { text }
}

/// The choices an AskUserQuestion offers, when there is one question.
pub fn options(input: Option<&Value>) -> Vec<String> {
    let all: Vec<&Value> = questions(input).collect();
    match all.as_slice() {
        [one] => labels(one).map(String::from).collect(),
        _ => Vec::new(),
    }
}

/// What the user chose, in the order of the questions; empty if the client did not say.
pub fn answers(body: &Value) -> String {
    let answers = ["tool_response", "tool_input"]
        .iter()
        .find_map(|field| body.get(field)?.get("answers")?.as_object().filter(|map| !map.is_empty()));
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    };
    let texts = answers.into_iter().flat_map(|map| map.values().map(said)).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("; ")
}

fn questions(input: Option<&Value>) -> impl Iterator<Item = &Value> {
    input.and_then(|input| input.get("questions")?.as_array()).into_iter().flatten()
}

fn labels(question: &Value) -> impl Iterator<Item = &str> {
    let options = question.get("options").and_then(Value::as_array);
    options.into_iter().flatten().filter_map(|option| option.get("label")?.as_str())
}

/// The first informative line of a plan, without its marks: "# Plan" alone is not informative.
fn headline(plan: &str) -> Option<String> {
    let bare = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || "#*-.) ".contains(c));
        without_marks(line).trim_end_matches(['*', ':', ' ']).to_owned()
    };
    let lines = plan.lines().map(bare).filter(|line| !line.is_empty());
    let mut first = None;
    for line in lines {
        if !EMPTY_TITLES.contains(&line.to_lowercase().as_str()) {
            return Some(line);
        }
        first.get_or_insert(line);
    }
    first
}

const EMPTY_TITLES: &[&str] =
    &["plan", "the plan", "implementation plan", "context", "overview", "summary", "goal", "steps"];

/// Describes the event, for the record of a transition: "PermissionRequest Bash 'npm test'".
pub fn why(event: &Event) -> String {
    if event.name == observed::CLIENT_STATUS {
        let pid = event.body.get("claude_pid").and_then(Value::as_u64).unwrap_or_default();
        return format!(
            "sessions/{pid}.json says {}",
            one_line(event.text("status").unwrap_or("nothing"), 20)
        );
    }
    let tool = event.text("tool_name").unwrap_or_default();
    let mut words = vec![event.name.clone()];
    if !tool.is_empty() {
        words.push(tool.to_string());
        if let Some(about) = about(tool, event.body.get("tool_input")) {
            words.push(format!("'{}'", one_line(about, 60)));
        }
    } else if let Some(text) = ["prompt", "notification_type", "source", "reason", "error", "trigger"]
        .iter()
        .find_map(|field| event.text(field))
    {
        words.push(format!("'{}'", one_line(text, 60)));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_described_by_its_most_informative_field() {
        for (tool, input, wanted) in [
            ("Bash", json!({"description": "Run tests", "command": "npm test"}), "Bash: npm test"),
            ("Bash", json!({"command": "a\n  b"}), "Bash: a b"),
            ("Read", json!({"file_path": "/srv/main.rs", "limit": 3}), "Read: /srv/main.rs"),
            ("Agent", json!({"prompt": "p", "description": "Look around"}), "Agent: Look around"),
            ("mcp__github__list_issues", json!({"repo": "a/b"}), "github list_issues: a/b"),
            ("NewTool", json!({"n": 1, "what": "this"}), "NewTool: this"),
            ("Bash", json!(null), "Bash"),
            ("", json!({}), "Tool"),
        ] {
            assert_eq!(call(tool, Some(&input)), wanted);
        }
    }

    #[test]
    fn a_dialog_is_described_by_what_it_asks() {
        let two = json!({"questions": [{"question": "Color?", "options": [{"label": "Red"}, {"label": "Blue"}]}, {"question": "Size?"}]});
        for (tool, input, wanted) in [
            ("Bash", json!({"command": "npm test"}), "Allow Bash: npm test"),
            ("AskUserQuestion", two.clone(), "Color? Size?"),
            ("AskUserQuestion", json!({}), "A question is open"),
            ("ExitPlanMode", json!({"plan": "\n# Do it\n1. now"}), "Approve plan: Do it"),
            (
                "ExitPlanMode",
                json!({"plan": "# Plan\n\n1. **Split** the parser\n"}),
                "Approve plan: Split the parser",
            ),
            ("ExitPlanMode", json!({"plan": "# Plan"}), "Approve plan: Plan"),
            ("", json!(null), "Permission needed"),
        ] {
            assert_eq!(ask(tool, Some(&input)), wanted);
        }
        assert_eq!(ask_in_full("AskUserQuestion", Some(&two)), "Color? (Red, Blue) Size?");
        assert_eq!(options(Some(&json!({"questions": [two["questions"][0]]}))), ["Red", "Blue"]);
    }
}
