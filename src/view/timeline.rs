//! Events ▶ lines of a timeline. The events of one tool call are one line, with how long it took and how it ended.

use headspace_core::model::observed;
use headspace_core::stamp::Stamp;
use headspace_core::wire::StoredEvent;
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

/// The state of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    Running,
    AsksYou,
    Done,
    Failed,
    NotRun,
    Interrupted,
    /// Its turn is over, and no end was reported.
    NoEndSeen,
}

impl CallState {
    pub const fn word(self) -> &'static str {
        match self {
            CallState::Running => "running",
            CallState::AsksYou => "asks you",
            CallState::Done => "ok",
            CallState::Failed => "failed",
            CallState::NotRun => "not run",
            CallState::Interrupted => "interrupted",
            CallState::NoEndSeen => "no end seen",
        }
    }

    const fn is_open(self) -> bool {
        matches!(self, CallState::Running | CallState::AsksYou)
    }
}

/// One line of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRow {
    pub at: Stamp,
    /// The tool, or the event's name.
    pub title: String,
    pub text: String,
    /// `None`: not a tool call.
    pub state: Option<CallState>,
    pub took: Option<Duration>,
    /// The subagent it belongs to.
    pub subagent: Option<String>,
}

/// Events that only confirm what another line shows.
const SILENT: [&str; 5] =
    ["PostToolBatch", observed::TOOL_RESULT, observed::USAGE, observed::STATUS_LINE, "InstructionsLoaded"];
/// Events after which no call of the main thread is still running.
const ENDS_CALLS: [&str; 6] =
    ["Stop", "StopFailure", "SessionEnd", observed::PROCESS_GONE, observed::INTERRUPTED, observed::TURN_END];

/// The events as lines, oldest first.
pub fn rows(events: &[StoredEvent]) -> Vec<TimelineRow> {
    let mut events: Vec<&StoredEvent> = events.iter().filter(|event| !event.duplicate).collect();
    events.sort_unstable_by_key(|event| (event.at, event.id));
    let mut rows: Vec<TimelineRow> = Vec::new();
    let mut calls: HashMap<&str, usize> = HashMap::new();
    for event in events {
        let text = |field: &str| event.body[field].as_str().filter(|text| !text.is_empty());
        let (name, subagent) = (event.name.as_str(), text("agent_id"));
        if name == "SubagentStop" && text("agent_type").is_none() {
            continue;
        }
        let id = text("tool_use_id");
        let call = match (name, id) {
            ("PreToolUse", _) => None,
            (_, Some(id)) => calls.get(id).copied(),
            // A request has no id: it belongs to the newest call of its tool that is still open.
            ("PermissionRequest", None) => rows.iter().rposition(|row| {
                row.state.is_some_and(CallState::is_open)
                    && row.subagent.as_deref() == subagent
                    && Some(row.title.as_str()) == text("tool_name")
            }),
            ("Notification", None) if text("notification_type") == Some("permission_prompt") => {
                rows.iter().rposition(|row| row.state == Some(CallState::AsksYou))
            }
            _ => None,
        };
        match call {
            Some(at) => advance(&mut rows[at], event),
            None if SILENT.contains(&name) => {}
            None => {
                rows.push(new_row(event, subagent));
                if let (Some(id), "PreToolUse") = (id, name) {
                    calls.insert(id, rows.len() - 1);
                }
            }
        }
        for row in &mut rows {
            let ended = ENDS_CALLS.contains(&name) && row.subagent.is_none()
                || name == "SubagentStop" && row.subagent.as_deref() == subagent;
            if ended && row.state.is_some_and(CallState::is_open) {
                let interrupted = name == observed::INTERRUPTED;
                let state = if interrupted { CallState::Interrupted } else { CallState::NoEndSeen };
                (row.state, row.took) = (Some(state), Some(event.at.since(row.at)));
            }
        }
    }
    rows
}

/// The calls of the main thread that are still running, in full: "Bash: npm test", the newest first.
pub fn running_calls(events: &[StoredEvent]) -> impl Iterator<Item = String> {
    let own = |row: &TimelineRow| row.subagent.is_none() && row.state == Some(CallState::Running);
    rows(events).into_iter().rev().filter(own).map(|row| format!("{}: {}", row.title, row.text))
}

fn new_row(event: &StoredEvent, subagent: Option<&str>) -> TimelineRow {
    let tool = event.body["tool_name"].as_str().filter(|_| is_call(&event.name));
    let mut row = TimelineRow {
        at: event.at,
        title: tool.unwrap_or(&event.name).to_owned(),
        text: match tool {
            Some(_) => tool_gist(&event.body["tool_input"]),
            None => event_gist(&event.body),
        },
        state: tool.map(|_| CallState::Running),
        took: None,
        subagent: subagent.map(str::to_owned),
    };
    if row.state.is_some() {
        advance(&mut row, event);
    }
    row
}

fn is_call(name: &str) -> bool {
    matches!(
        name,
        "PreToolUse" | "PermissionRequest" | "PostToolUse" | "PostToolUseFailure" | "PermissionDenied"
    )
}

/// What the event says about the call's end, if anything.
fn advance(row: &mut TimelineRow, event: &StoredEvent) {
    let state = match event.name.as_str() {
        "PermissionRequest" if row.state.is_some_and(CallState::is_open) => {
            row.state = Some(CallState::AsksYou);
            return;
        }
        "PostToolUse" => CallState::Done,
        "PostToolUseFailure" if event.body["is_interrupt"] == true => CallState::Interrupted,
        "PostToolUseFailure" => CallState::Failed,
        "PermissionDenied" => CallState::NotRun,
        observed::REFUSED if row.state.is_some_and(CallState::is_open) => CallState::NotRun,
        observed::TOOL_RESULT if row.state.is_some_and(CallState::is_open) => CallState::Done,
        _ => return,
    };
    let measured = event.body["duration_ms"].as_u64().map(Duration::from_millis);
    row.took = Some(measured.unwrap_or_else(|| event.at.since(row.at)));
    row.state = Some(state);
}

/// What a tool call does: the field of its input that says the most.
fn tool_gist(input: &Value) -> String {
    const FIELDS: [&str; 9] =
        ["command", "file_path", "notebook_path", "pattern", "url", "query", "description", "prompt", "plan"];
    let question = input["questions"][0]["question"].as_str();
    let known = || FIELDS.iter().find_map(|field| input[*field].as_str());
    let any = || input.as_object()?.values().find_map(Value::as_str);
    question.or_else(known).or_else(any).unwrap_or_default().to_owned()
}

/// What an event says: the field of its payload that says the most.
pub fn event_gist(body: &Value) -> String {
    const FIELDS: [&str; 10] = [
        "prompt",
        "message",
        "last_assistant_message",
        "text",
        "error",
        "reason",
        "status",
        "agent_type",
        "source",
        "trigger",
    ];
    if body["interaction_id"].is_i64() && body["state"].is_string() {
        return answer_gist(body);
    }
    match body["tool_name"].as_str() {
        Some(tool) => format!("{tool}: {}", tool_gist(&body["tool_input"])),
        None => FIELDS.iter().find_map(|field| body[*field].as_str()).unwrap_or_default().to_owned(),
    }
}

/// A step of an answer: its state, what was answered, and from where. This line is the audit trail.
fn answer_gist(body: &Value) -> String {
    const FIELDS: [&str; 6] = ["tool_name", "state", "choice", "by", "from", "message"];
    let said = FIELDS.iter().filter_map(|field| {
        let text = body[*field].as_str().filter(|text| !text.is_empty())?;
        Some(if *field == "message" { text.to_owned() } else { text.replace('_', " ") })
    });
    said.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(id: i64, name: &str, body: Value) -> StoredEvent {
        serde_json::from_value(json!({
            "id": id, "name": name, "session_id": "s", "agent_id": 1, "at": Stamp(id * 1_000_000_000),
            "received_at": Stamp(0), "source": "hook", "duplicate": false, "body": body,
        }))
        .unwrap()
    }

    #[test]
    fn a_step_of_an_answer_says_what_who_and_where() {
        let step = json!({"interaction_id": 7, "state": "lost_to_terminal", "tool_name": "Bash", "choice": "deny",
            "by": "cli", "from": "pts/6", "message": "use my_file", "digest": "00"});
        assert_eq!(event_gist(&step), "Bash · lost to terminal · deny · cli · pts/6 · use my_file");
        assert_eq!(
            event_gist(&json!({"interaction_id": 7, "state": "open", "tool_name": "Bash"})),
            "Bash · open"
        );
    }

    #[test]
    fn the_events_of_a_call_are_one_line() {
        let bash =
            |id: &str| json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": id});
        let mut ended = bash("a");
        ended["duration_ms"] = json!(1200);
        let events = [
            event(1, "UserPromptSubmit", json!({"prompt": "go"})),
            event(2, "PreToolUse", bash("a")),
            event(3, "PreToolUse", bash("b")),
            event(4, "PermissionRequest", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}})),
            event(6, "PostToolUse", ended),
            event(7, "PostToolBatch", json!({})),
        ];
        let rows = rows(&events);
        let seen: Vec<_> =
            rows.iter().map(|row| (row.title.as_str(), row.text.as_str(), row.state)).collect();
        assert_eq!(
            seen,
            [
                ("UserPromptSubmit", "go", None),
                ("Bash", "ls", Some(CallState::Done)),
                ("Bash", "ls", Some(CallState::AsksYou)),
            ]
        );
        assert_eq!(rows[1].took, Some(Duration::from_millis(1200)));
    }

    #[test]
    fn a_call_without_an_end_is_over_when_its_turn_is() {
        let call = event(1, "PreToolUse", json!({"tool_name": "Bash", "tool_use_id": "a"}));
        for (name, state) in [
            ("Stop", CallState::NoEndSeen),
            (observed::INTERRUPTED, CallState::Interrupted),
            ("Notification", CallState::Running),
        ] {
            let rows = rows(&[call.clone(), event(3, name, json!({}))]);
            assert_eq!(rows[0].state, Some(state), "{name}");
        }
        let child = json!({"tool_name": "Bash", "tool_use_id": "c", "agent_id": "x"});
        let end = json!({"agent_id": "x", "agent_type": "Explore"});
        let of_child = rows(&[call, event(2, "PreToolUse", child), event(3, "SubagentStop", end)]);
        assert_eq!(of_child[0].state, Some(CallState::Running), "not ended by another thread");
        assert_eq!(of_child[1].state, Some(CallState::NoEndSeen));
    }
}
