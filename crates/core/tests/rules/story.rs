//! A story: events sent to the engine one second apart, and how the agent looks in the end.

use headspace_core::engine;
use headspace_core::engine::{Agent, World};
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use headspace_test_support::each_row;
use serde_json::{Value, json};
use std::time::Duration;

/// One event of a story.
#[derive(Clone, Debug)]
pub struct Tell {
    pub name: String,
    pub session: &'static str,
    pub source: Source,
    pub body: Value,
    /// How long before now the event is stamped.
    pub ago: Duration,
}

pub fn tell(name: &str, body: Value) -> Tell {
    let transcript = name.starts_with("Transcript") || name == observed::SESSION_FOUND;
    let source = if transcript { Source::Transcript } else { Source::Hook };
    Tell { name: name.into(), session: "s1", source, body, ago: Duration::ZERO }
}

impl Tell {
    pub fn of(mut self, session: &'static str) -> Tell {
        self.session = session;
        self
    }

    /// Late by this many events: stamped between two of those before it.
    pub fn ago(mut self, events: u64) -> Tell {
        self.ago = Duration::from_millis(events * 1000 + 500);
        self
    }

    /// Stamped like the event before it.
    pub fn same_time(mut self) -> Tell {
        self.ago = Duration::from_secs(1);
        self
    }

    pub fn with(mut self, fields: Value) -> Tell {
        for (key, value) in fields.as_object().unwrap() {
            self.body[key] = value.clone();
        }
        self
    }

    /// Sent from inside a subagent.
    pub fn inside(self, child: &str) -> Tell {
        self.with(json!({"agent_id": child, "agent_type": "Explore"}))
    }
}

pub fn start(source: &str) -> Tell {
    tell("SessionStart", json!({"source": source}))
}

pub fn prompt(text: &str) -> Tell {
    tell("UserPromptSubmit", json!({"prompt": text}))
}

pub fn pre(tool: &str, id: &str) -> Tell {
    tell("PreToolUse", json!({"tool_name": tool, "tool_use_id": id, "tool_input": input(tool)}))
}

pub fn post(tool: &str, id: &str) -> Tell {
    tell("PostToolUse", json!({"tool_name": tool, "tool_use_id": id, "tool_input": input(tool)}))
}

pub fn asks(tool: &str) -> Tell {
    tell("PermissionRequest", json!({"tool_name": tool, "tool_input": input(tool)}))
}

pub fn stop(text: &str) -> Tell {
    tell("Stop", json!({"last_assistant_message": text, "background_tasks": [], "session_crons": []}))
}

pub fn notice(kind: &str) -> Tell {
    tell("Notification", json!({"notification_type": kind, "message": "Claude needs you"}))
}

pub fn end(reason: &str) -> Tell {
    tell("SessionEnd", json!({"reason": reason}))
}

fn input(tool: &str) -> Value {
    match tool {
        "Bash" => json!({"command": "npm test"}),
        "AskUserQuestion" => {
            json!({"questions": [{"question": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}]})
        }
        "ExitPlanMode" => json!({"plan": "# Split it\n1. now"}),
        _ => json!({"file_path": "/srv/a.rs"}),
    }
}

pub struct Story {
    pub world: World,
    pub now: Stamp,
    pub outcomes: Vec<Outcome>,
    /// Pids of living processes.
    pub alive: Vec<u32>,
}

impl Story {
    pub fn new() -> Story {
        let now = Stamp(1_800_000_000_000_000_000);
        Story { world: World::default(), now, outcomes: Vec::new(), alive: Vec::new() }
    }

    pub fn of(tells: impl IntoIterator<Item = Tell>) -> Story {
        let mut story = Story::new();
        tells.into_iter().for_each(|tell| {
            story.tell(tell);
        });
        story
    }

    pub fn tell(&mut self, tell: Tell) -> &Outcome {
        self.now = self.now.plus(Duration::from_secs(1));
        let mut body = tell.body;
        let cwd = body.get("cwd").and_then(Value::as_str).unwrap_or("/srv/app").to_string();
        body["cwd"] = json!(cwd);
        // A directory on a dead mount: its facts are not known in time.
        let root = body.get("root").and_then(Value::as_str).map_or(cwd, String::from);
        let root = Some(root).filter(|_| body.get("dead_mount").is_none());
        if let Some(pid) = body.get("claude_pid").cloned() {
            body["claude_pid_start"] = pid;
        }
        // The server's own machine.
        let here = Machine { name: Some("a".into()), id: Some("id-a".into()) };
        let machine = Machine::of(&body);
        let mut event = Event {
            id: self.outcomes.len() as i64 + 1,
            name: tell.name,
            session_id: tell.session.to_string(),
            at: self.now.minus(tell.ago),
            received_at: self.now,
            source: tell.source,
            facts: Facts { root, elsewhere: !machine.is(&here), ..Facts::default() },
            body,
            agent_hint: None,
        };
        let asked = self.world.asks(&event);
        event.facts.alive = asked.into_iter().filter(|process| self.alive.contains(&process.pid)).collect();
        let outcome = engine::apply(&mut self.world, &event);
        self.outcomes.push(outcome);
        self.outcomes.last().unwrap()
    }

    pub fn agent(&self) -> &Agent {
        self.world.agent_of_session("s1").unwrap()
    }

    pub fn view(&self) -> AgentView {
        self.agent().view(self.now, None)
    }

    /// `state status detail`, the look of the agent in one line.
    pub fn look(&self) -> String {
        let view = self.view();
        let detail = view.status_detail.map(|detail| format!(" {detail}")).unwrap_or_default();
        format!("{} {}{detail}", view.state, view.status)
    }

    fn changes(&self) -> impl Iterator<Item = &Change> {
        self.outcomes.iter().flat_map(|outcome| &outcome.changes)
    }

    /// The turns as a reader sees them: `actor:intent text`, oldest first.
    pub fn turns(&self) -> Vec<String> {
        let mut turns: Vec<&Turn> = Vec::new();
        for change in self.changes() {
            let Change::Turn(turn) = change else { continue };
            turns.retain(|old| old.id != turn.id);
            turns.push(turn);
        }
        turns.sort_by_key(|turn| (turn.timestamp, turn.id));
        turns.iter().map(|turn| format!("{}:{} {}", turn.actor, turn.intent, turn.text)).collect()
    }

    /// The last state of every command, oldest first.
    pub fn commands(&self) -> Vec<&'static str> {
        let mut commands = std::collections::BTreeMap::new();
        for change in self.changes() {
            if let Change::Command(command) = change {
                commands.insert(command.id, command.state.word());
            }
        }
        commands.into_values().collect()
    }

    /// Every step of the machine: `from actor:intent to`, invalid ones with a mark.
    pub fn steps(&self) -> Vec<String> {
        let step = |change: &Change| match change {
            Change::Transition(t) => {
                let mark = if t.valid { "" } else { " invalid" };
                Some(format!("{} {}:{} {}{mark}", t.from, t.actor, t.intent, t.to))
            }
            _ => None,
        };
        self.changes().filter_map(step).collect()
    }
}

/// Each row: the rule in words, what happens, and how the agent looks then.
pub fn looks_as_each_row_says(rows: Vec<(&'static str, Vec<Tell>, &'static str)>) {
    each_row(
        rows,
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| assert_eq!(Story::of(tells).look(), wanted, "{rule}"),
    );
}
