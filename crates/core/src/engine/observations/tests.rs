use crate::engine::{World, apply};
use crate::model::*;
use crate::stamp::Stamp;
use serde_json::{Value, json};
use std::time::Duration;

/// A world of one session that gets an event every second.
struct Story {
    world: World,
    now: Stamp,
    events: i64,
    turns: Vec<Turn>,
}

impl Story {
    fn new() -> Story {
        let now = Stamp::parse("2026-11-16T10:00:00.000400Z").unwrap();
        Story { world: World::default(), now, events: 0, turns: Vec::new() }
    }

    /// A session that got its first prompt.
    fn prompted() -> Story {
        Story::new().hook("UserPromptSubmit", json!({"prompt": "go"}))
    }

    fn apply_at(mut self, name: &str, at: Stamp, source: Source, mut body: Value) -> Story {
        self.events += 1;
        if source == Source::Transcript {
            body["uuid"] = format!("u{}", self.events).into();
        }
        let event = Event {
            id: self.events,
            name: name.into(),
            session_id: "s".into(),
            at,
            received_at: self.now,
            source,
            body,
            facts: Facts::default(),
            agent_hint: None,
        };
        for change in apply(&mut self.world, &event).changes {
            if let Change::Turn(turn) = change {
                self.turns.retain(|old| old.id != turn.id);
                self.turns.push(turn);
            }
        }
        self
    }

    fn hook(mut self, name: &str, body: Value) -> Story {
        self.now = self.now.plus(Duration::from_secs(1));
        let now = self.now;
        self.apply_at(name, now, Source::Hook, body)
    }

    fn line(mut self, name: &str, body: Value) -> Story {
        self.now = self.now.plus(Duration::from_secs(1));
        let now = self.now;
        self.apply_at(name, now, Source::Transcript, body)
    }

    fn agent(&self) -> AgentView {
        self.world.agents().next().unwrap().view(self.now, None)
    }

    fn detail(&self) -> String {
        self.agent().status_detail.unwrap_or_default()
    }

    fn said(&self) -> Vec<(Actor, Intent, &str)> {
        self.turns.iter().map(|turn| (turn.actor, turn.intent, turn.text.as_str())).collect()
    }
}

fn bash(id: &str) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "npm test"}})
}

#[test]
fn a_session_known_from_its_transcript_alone_shows_what_it_does() {
    let story = Story::new()
        .line(observed::SESSION_FOUND, json!({"cwd": "/p", "entrypoint": "cli"}))
        .line(observed::PROMPT, json!({"text": "upgrade the deps"}))
        .line(observed::TOOL_USE, bash("t1"));
    let agent = story.agent();
    assert_eq!(
        (agent.state, agent.status, story.detail()),
        (AgentState::Processing, Status::Working, "Bash: npm test".into())
    );
    assert_eq!((agent.source, agent.confidence), (Source::Transcript, Confidence::Medium));
    let story = story.line(observed::TOOL_RESULT, json!({"tool_use_id": "t1"}));
    assert_eq!(story.detail(), "Thinking");
    let story = story.line(observed::TURN_END, json!({"text": "All upgraded."}));
    assert_eq!(story.agent().state, AgentState::Idle);
    assert_eq!(
        story.said(),
        [
            (Actor::User, Intent::Command, "upgrade the deps"),
            (Actor::Agent, Intent::Completion, "All upgraded.")
        ]
    );
}

#[test]
fn a_question_in_a_transcript_alone_needs_the_user() {
    let input = json!({"questions": [{"question": "Which port?", "options": []}]});
    let call = json!({"tool_name": "AskUserQuestion", "tool_use_id": "t1", "tool_input": input});
    let story = Story::new()
        .line(observed::SESSION_FOUND, json!({"cwd": "/p"}))
        .line(observed::PROMPT, json!({"text": "go"}))
        .line(observed::TOOL_USE, call);
    assert_eq!((story.agent().state, story.detail()), (AgentState::AwaitingInput, "Which port?".into()));
    let story = story.line(observed::TOOL_RESULT, json!({"tool_use_id": "t1"}));
    assert_eq!((story.agent().state, story.agent().interactions.len()), (AgentState::Processing, 0));
}

#[test]
fn a_tasks_report_in_the_transcript_is_work_and_not_a_prompt() {
    let text = "<task-notification>\n<task-id>a1</task-id>\n</task-notification>";
    let story = Story::new()
        .line(observed::SESSION_FOUND, json!({"cwd": "/p"}))
        .line(observed::PROMPT, json!({"text": text}));
    assert_eq!((story.agent().state, story.said().len()), (AgentState::Processing, 0));
}

#[test]
fn an_api_error_that_no_hook_reported_stays_until_the_next_prompt() {
    let story = Story::prompted()
        .line(observed::TURN_END, json!({"text": "API Error: 529", "error": "server_error"}));
    let agent = story.agent();
    assert_eq!((agent.state, agent.error.as_deref()), (AgentState::Idle, Some("server_error")));
    assert_eq!(story.said()[1], (Actor::Agent, Intent::EndOfTask, "API Error: 529"));
    assert_eq!(story.hook("UserPromptSubmit", json!({"prompt": "again"})).agent().error, None);
}

#[test]
fn a_missed_answer_keeps_the_time_it_was_said() {
    let said = "2026-11-16T10:00:01.500Z";
    let story = Story::prompted().line(observed::TURN_END, json!({"text": "Done.", "timestamp": said}));
    let turn = &story.turns[1];
    assert_eq!(
        (turn.timestamp, turn.timestamp_source),
        (Stamp::parse(said).unwrap(), TimestampSource::Jsonl)
    );
}

#[test]
fn a_client_that_says_it_is_idle_was_interrupted_before_its_first_word() {
    let says = |story: Story, later: i64| {
        let at = Stamp(story.now.0 + later);
        story.apply_at(observed::CLIENT_IDLE, at, Source::Process, json!({"claude_pid": 1}))
    };
    let story = says(Story::prompted(), 1_000_000_000);
    assert_eq!((story.agent().state, story.detail()), (AgentState::Idle, "interrupted".into()));
    assert_eq!((story.agent().source, story.agent().confidence), (Source::Process, Confidence::Medium));
    // Something came after it became idle.
    assert_eq!(says(Story::prompted(), -1_000_000_000).agent().state, AgentState::Processing);
    let asking = Story::prompted().hook("PreToolUse", bash("t1")).hook("PermissionRequest", bash("t1"));
    assert_eq!(says(asking, 1_000_000_000).agent().state, AgentState::AwaitingInput);
    let done = Story::prompted().hook("Stop", json!({"last_assistant_message": "Done."}));
    assert_eq!(says(done, 1_000_000_000).detail(), "");
}

#[test]
fn a_subagents_refusal_closes_its_own_question_only() {
    let mut childs = bash("t1");
    childs["agent_id"] = "a1".into();
    let asks = |story: Story| {
        story
            .hook("SubagentStart", json!({"agent_id": "a1", "agent_type": "x"}))
            .hook("PreToolUse", childs.clone())
            .hook("PermissionRequest", childs.clone())
            .hook("PreToolUse", bash("t2"))
            .hook("PermissionRequest", bash("t2"))
    };
    for name in [observed::REFUSED, observed::TOOL_RESULT, observed::INTERRUPTED] {
        let story = asks(Story::prompted());
        assert_eq!(story.agent().interactions.len(), 2);
        let story = story.line(name, json!({"tool_use_id": "t1", "agent_id": "a1"}));
        let agent = story.agent();
        assert_eq!((agent.state, agent.interactions.len()), (AgentState::AwaitingInput, 1), "{name}");
        assert_eq!(agent.interactions[0].subagent, None);
        assert_eq!(agent.subagents[0].status, Status::Working);
    }
}

#[test]
fn a_refusal_in_the_millisecond_of_the_request_counts() {
    let mut story = Story::prompted().hook("PreToolUse", bash("t1")).hook("PermissionRequest", bash("t1"));
    assert_eq!(story.agent().interactions.len(), 1);
    let line = Stamp(story.now.0 / 1_000_000 * 1_000_000);
    assert!(line < story.now);
    story = story.apply_at(observed::REFUSED, line, Source::Transcript, json!({"tool_use_id": "t1"}));
    assert_eq!(story.agent().interactions.len(), 0);
}

#[test]
fn the_measured_usage_is_dropped_after_a_compaction() {
    let used = |story: &Story| story.agent().context.map(|context| context.used_tokens);
    let story = Story::prompted()
        .line(observed::USAGE, json!({"used_tokens": 153_500}))
        .hook("PreCompact", json!({"trigger": "auto"}))
        .hook("SessionStart", json!({"source": "compact"}));
    assert_eq!(used(&story), None);
    let story = story.line(observed::USAGE, json!({"used_tokens": 2_945, "compacted": true}));
    assert_eq!(used(&story), Some(2_945));
}
