//! A session as a document: what was said in reading order, and between it what was done. Pure: rows in, Markdown out.

use crate::model::{Actor, AgentView, Intent, observed};
use crate::stamp::Stamp;
use crate::text::{one_line, plain_lines};
use crate::wire::{StoredEvent, StoredTurn};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

/// Events that say what a tool call did.
pub const CALL_EVENTS: [&str; 6] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionDenied",
    observed::REFUSED,
    observed::TOOL_RESULT,
];

/// Characters of a tool call's line.
const CALL_WIDTH: usize = 200;

/// A tool call, from its first event to its last.
struct ListedCall {
    at: Stamp,
    what: String,
    end: Option<(&'static str, Duration)>,
}

/// The session as Markdown. `turns` and `events` are oldest first; `cut` says that there was more than fits.
pub fn markdown(
    agent: &AgentView,
    session: &str,
    turns: &[StoredTurn],
    events: &[StoredEvent],
    cut: bool,
) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "# {}\n", one_line(&agent.title(), 200));
    let facts = [
        ("Project", agent.project.clone()),
        ("Directory", agent.cwd.clone()),
        ("Branch", agent.branch.clone()),
        ("Client", Some(agent.client.clone())),
        ("Model", agent.model.clone()),
        ("Session", Some(session.to_owned())),
        ("Started", Some(time(agent.started_at))),
        ("Ended", agent.ended_at.map(time)),
        ("Cost", agent.cost_usd.map(|cost| format!("${cost:.2}"))),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            let _ = writeln!(text, "- {name}: {}", one_line(&value, 300));
        }
    }
    if cut {
        text.push_str("\nThe session is longer than this document: its oldest part is left out.\n");
    }
    let calls = calls(events);
    let mut next = calls.iter().peekable();
    for turn in turns {
        let before: Vec<&ListedCall> =
            std::iter::from_fn(|| next.next_if(|call| call.at <= turn.timestamp)).collect();
        list(&mut text, &before);
        let said = quoted(&plain_lines(turn.text.trim_end()));
        let _ = write!(text, "\n## {} · {}\n\n{said}", who(turn), time(turn.timestamp));
    }
    list(&mut text, &next.collect::<Vec<_>>());
    text
}

/// Who spoke, and to what end where that is not plain from the text.
fn who(turn: &StoredTurn) -> &'static str {
    match (turn.actor, turn.intent) {
        (Actor::User, Intent::Answer) => "You answered",
        (Actor::User, _) => "You",
        (Actor::Agent, Intent::Question) => "Agent asked",
        (Actor::Agent, _) => "Agent",
    }
}

/// `2026-11-18 20:36:12 UTC`
fn time(at: Stamp) -> String {
    let text = at.to_string();
    format!("{} {} UTC", &text[..10], &text[11..19])
}

/// As a quotation, line by line: what was said can have headings, lists and fences of its own, and none of them is one of
/// this document's. Without the marks it is exactly what was said.
fn quoted(text: &str) -> String {
    let marked = |line: &str| if line.is_empty() { ">\n".to_owned() } else { format!("> {line}\n") };
    text.split('\n').map(marked).collect()
}

fn list(text: &mut String, calls: &[&ListedCall]) {
    if !calls.is_empty() {
        text.push('\n');
    }
    for call in calls {
        let end = call.end.map(|(end, time)| format!(" ({end}, {})", took(time)));
        let _ = writeln!(text, "- {}{}", call.what, end.unwrap_or_default());
    }
}

/// `29 ms`, `2.4 s`, `1 m 05 s`.
fn took(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1000 => format!("{ms} ms"),
        ms @ 1000..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        ms @ 10_000..60_000 => format!("{} s", ms / 1000),
        ms => format!("{} m {:02} s", ms / 60_000, ms / 1000 % 60),
    }
}

/// The calls in the order in which they began.
fn calls(events: &[StoredEvent]) -> Vec<ListedCall> {
    let mut calls: Vec<ListedCall> = Vec::new();
    let mut open: HashMap<&str, usize> = HashMap::new();
    for event in events.iter().filter(|event| !event.duplicate) {
        let field = |name: &str| event.body.get(name).and_then(Value::as_str);
        let id = field("tool_use_id").unwrap_or_default();
        if event.name == "PreToolUse" {
            let what = crate::engine::agent::detail::call(
                field("tool_name").unwrap_or_default(),
                event.body.get("tool_input"),
            );
            open.insert(id, calls.len());
            calls.push(ListedCall { at: event.at, what: code(&one_line(&what, CALL_WIDTH)), end: None });
            continue;
        }
        let end = match event.name.as_str() {
            "PostToolUse" | observed::TOOL_RESULT => "ok",
            "PostToolUseFailure" => "failed",
            "PermissionDenied" | observed::REFUSED => "not run",
            _ => continue,
        };
        let Some(call) = open.get(id).and_then(|at| calls.get_mut(*at)) else { continue };
        let took = event.body.get("duration_ms").and_then(Value::as_u64).map(Duration::from_millis);
        call.end.get_or_insert((end, took.unwrap_or_else(|| event.at.since(call.at))));
    }
    calls
}

/// As code: within more backquotes than the text has in a row.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let gap = if longest > 0 { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

/// A name for the file, of letters, digits and hyphens.
pub fn file_name(agent: &AgentView, session: &str, ending: &str) -> String {
    let about = agent.project.as_deref().unwrap_or("session");
    let clean = |text: &str, most: usize| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(most).collect()
    };
    format!("headspace-{}-{}.{ending}", clean(about, 40), clean(session, 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Confidence, TimestampSource};
    use serde_json::json;

    fn turn(id: i64, actor: Actor, text: &str) -> StoredTurn {
        StoredTurn {
            id,
            command_id: None,
            session_id: "s".into(),
            actor,
            intent: Intent::Command,
            text: text.into(),
            timestamp: Stamp(id * 1_000_000_000),
            timestamp_source: TimestampSource::Server,
            confidence: Confidence::High,
            event_id: id,
        }
    }

    fn event(second: i64, name: &str, body: Value) -> StoredEvent {
        StoredEvent {
            id: second,
            name: name.into(),
            session_id: "s".into(),
            agent_id: Some(1),
            at: Stamp(second * 1_000_000_000),
            received_at: Stamp(second),
            source: "hook".into(),
            duplicate: false,
            client: None,
            body,
        }
    }

    #[test]
    fn calls_stand_between_what_was_said_with_their_time() {
        let turns = [turn(1, Actor::User, "Fix\u{1b}[2J it"), turn(9, Actor::Agent, "**Done.**\n")];
        let tick = "echo `date`";
        let events = [
            event(
                2,
                "PreToolUse",
                json!({"tool_name": "Bash", "tool_use_id": "a", "tool_input": {"command": tick}}),
            ),
            event(
                3,
                "PreToolUse",
                json!({"tool_name": "Read", "tool_use_id": "b", "tool_input": {"file_path": "x"}}),
            ),
            event(4, "PostToolUseFailure", json!({"tool_use_id": "a"})),
            event(5, "PostToolUse", json!({"tool_use_id": "b", "duration_ms": 20})),
            event(
                10,
                "PreToolUse",
                json!({"tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": "ls"}}),
            ),
        ];
        let mut agent = crate::engine::Agent::default().view(Stamp(0), None);
        (agent.project, agent.name) = (Some("shop".into()), "fix-cart".into());
        let text = markdown(&agent, "s", &turns, &events, true);
        assert!(text.starts_with("# shop · fix-cart\n"), "{text}");
        assert!(text.contains("- Started: 1970-01-01 00:00:00 UTC\n"), "{text}");
        let wanted = "\nThe session is longer than this document: its oldest part is left out.\n\
            \n## You · 1970-01-01 00:00:01 UTC\n\n> Fix[2J it\n\
            \n- `` Bash: echo `date` `` (failed, 2.0 s)\n- `Read: x` (ok, 20 ms)\n\
            \n## Agent · 1970-01-01 00:00:09 UTC\n\n> **Done.**\n\
            \n- `Bash: ls`\n";
        assert!(text.ends_with(wanted), "{text}");
    }

    #[test]
    fn what_was_said_cannot_pass_for_a_part_of_the_document() {
        let said = "ok\n\n## You · 1970-01-01 00:00:02 UTC\n\n- `Bash: ls` (ok, 1 ms)\n> quoted\n```\n# open fence\n    code\n\n<!-- open";
        let turns = [turn(1, Actor::Agent, said), turn(2, Actor::User, ""), turn(3, Actor::User, "last")];
        let agent = crate::engine::Agent::default().view(Stamp(0), None);
        let text = markdown(&agent, "s", &turns, &[], false);
        let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(heads.len(), turns.len(), "{text}");
        // The way back: the lines below a heading, without their marks.
        let parts: Vec<String> = text
            .split("\n## ")
            .skip(1)
            .map(|part| {
                let lines = part.lines().filter_map(|line| line.strip_prefix('>'));
                lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
            })
            .collect();
        assert_eq!(parts, turns.iter().map(|turn| turn.text.clone()).collect::<Vec<_>>(), "{text}");
    }

    #[test]
    fn a_file_name_is_harmless() {
        let mut agent = crate::engine::Agent::default().view(Stamp(0), None);
        agent.project = Some("../../etc/\"x\r\n".into());
        assert_eq!(file_name(&agent, "a/b\"c", "md"), "headspace-etcx-abc.md");
    }
}
