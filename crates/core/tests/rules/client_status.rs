//! What the client says about itself, compared with what its hooks said.

use crate::story::*;
use headspace_core::model::*;
use headspace_test_support::each_row;
use serde_json::json;

fn says(status: &str) -> StoryEvent {
    let mut status_event =
        event(observed::CLIENT_STATUS, json!({"status": status, "waiting_for": "permission prompt"}));
    status_event.source = Source::Client;
    status_event
}

fn of_pid(event: StoryEvent, pid: u32) -> StoryEvent {
    event.with(json!({"claude_pid": pid}))
}

fn background(task: &str, kind: &str) -> StoryEvent {
    let tasks = json!([{"id": task, "type": kind, "status": "running"}]);
    stop("Started.").with(json!({"background_tasks": tasks}))
}

/// The rule, what happens, and the agent's state after it.
fn rows() -> Vec<(&'static str, Vec<StoryEvent>, &'static str)> {
    let asked = || vec![prompt("W"), says("busy"), pre("Bash", "t1"), asks("Bash"), says("waiting")];
    let after = |mut events: Vec<StoryEvent>, more: Vec<StoryEvent>| {
        events.extend(more);
        events
    };
    vec![
        ("Yes is known at once", after(asked(), vec![says("busy")]), "processing working Bash: npm test"),
        ("No or Esc in a dialog", after(asked(), vec![says("idle")]), "idle idle interrupted"),
        ("a dialog that stays open", asked(), "awaiting_input attention Allow Bash: npm test"),
        (
            "what it wrote before the dialog opened does not close it",
            after(asked(), vec![says("busy").ago(2)]),
            "awaiting_input attention Allow Bash: npm test",
        ),
        (
            "a dialog cannot be answered in the moment it opens",
            vec![prompt("W"), pre("Bash", "t1"), asks("Bash"), says("busy").same_time()],
            "awaiting_input attention Allow Bash: npm test",
        ),
        (
            "the next dialog is shown after the answer to the first",
            after(asked(), vec![says("busy"), pre("Edit", "t2"), asks("Edit"), says("waiting")]),
            "awaiting_input attention Allow Edit: /srv/a.rs",
        ),
        (
            "another dialog means that the first was answered, even if nobody saw it",
            after(asked(), vec![pre("Edit", "t2"), asks("Edit"), says("waiting")]),
            "awaiting_input attention Allow Edit: /srv/a.rs",
        ),
        (
            "Yes to a background subagent",
            vec![
                prompt("W"),
                pre("Bash", "t1").inside("a1"),
                asks("Bash").inside("a1"),
                background("a1", "subagent"),
                says("waiting"),
                says("busy"),
            ],
            "idle working 1 background task",
        ),
        ("Esc before the first word", vec![prompt("W"), says("busy"), says("idle")], "idle idle interrupted"),
        (
            "Esc in a compaction",
            vec![
                prompt("W"),
                stop("Done."),
                event("PreCompact", json!({"trigger": "manual"})),
                says("busy"),
                says("idle"),
            ],
            "idle idle",
        ),
        (
            "a turn that continues after its Stop",
            vec![prompt("W"), says("busy"), stop("Done."), says("busy")],
            "processing working Thinking",
        ),
        (
            "… and whose last message asked something",
            vec![prompt("W"), says("busy"), stop("Should I use Postgres or SQLite?"), says("busy")],
            "processing working Thinking",
        ),
        (
            "… is done when the client is idle",
            vec![prompt("W"), says("busy"), stop("Done."), says("busy"), says("idle")],
            "idle idle",
        ),
        (
            "a question in words stays open while the client is idle",
            vec![prompt("W"), says("busy"), stop("Should I use Postgres or SQLite?"), says("idle")],
            "awaiting_input attention Should I use Postgres or SQLite?",
        ),
        (
            "a background agent explains a busy client",
            vec![prompt("W"), says("busy"), background("a1", "subagent"), says("busy")],
            "idle working 1 background task",
        ),
        (
            "an idle client has no background agents",
            vec![prompt("W"), background("a1", "subagent"), says("idle")],
            "idle idle",
        ),
        (
            "a client with shells has shells",
            vec![prompt("W"), background("b1", "shell"), says("shell")],
            "idle working 1 background task",
        ),
        (
            "… and one without has none",
            vec![prompt("W"), background("b1", "shell"), says("idle")],
            "idle idle",
        ),
        (
            "shells that no hook reported",
            vec![start("startup"), says("shell")],
            "idle working 1 background task",
        ),
        (
            "a dialog that no hook described",
            vec![start("startup"), says("waiting").with(json!({"waiting_for": "dialog open"}))],
            "idle attention dialog open",
        ),
        (
            "… is the permission for the call that is open",
            vec![prompt("W"), pre("Bash", "t1"), says("waiting")],
            "awaiting_input attention Allow Bash: npm test",
        ),
        (
            "… and is replaced by the hook that describes it",
            vec![prompt("W"), pre("Edit", "t1"), says("waiting"), asks("Edit")],
            "awaiting_input attention Allow Edit: /srv/a.rs",
        ),
        (
            "a closed menu leaves no trace",
            vec![prompt("W"), stop("Done."), says("waiting"), says("idle")],
            "idle idle",
        ),
        (
            "a Stop that arrives after the client was seen idle ended the turn",
            vec![prompt("W"), says("busy"), says("idle"), stop("All done.").ago(1)],
            "idle idle",
        ),
        (
            "hooks of a turn that the client has ended do not reopen it",
            vec![
                start("startup"),
                says("idle"),
                prompt("W").ago(1),
                pre("Bash", "t1").ago(2),
                asks("Bash").ago(3),
            ],
            "idle idle",
        ),
        (
            "a prompt that arrives after the client was seen working is that work",
            vec![start("startup"), says("busy"), prompt("W").ago(1), stop("Done.")],
            "idle idle",
        ),
        (
            "an unknown word changes nothing",
            vec![prompt("W"), pre("Bash", "t1"), asks("Bash"), says("pondering")],
            "awaiting_input attention Allow Bash: npm test",
        ),
    ]
}

#[test]
fn the_clients_own_status_is_trusted() {
    each_row(
        rows(),
        |(rule, ..)| rule.to_string(),
        |(_, events, look)| assert_eq!(Story::of(events).look(), look),
    );
}

#[test]
fn the_status_file_makes_no_turns_and_one_prompt_is_one_command() {
    let story = Story::of([
        start("startup"),
        says("busy"),
        prompt("W").ago(1),
        pre("Bash", "t1"),
        asks("Bash"),
        says("waiting"),
        says("busy"),
        post("Bash", "t1"),
        stop("Done."),
        says("idle"),
    ]);
    assert_eq!(
        story.turns(),
        ["user:command W", "agent:question Allow Bash: npm test", "agent:end_of_task Done."]
    );
    assert_eq!(story.commands(), ["complete"]);
    assert!(story.view().unseen);
}

#[test]
fn a_queued_prompt_is_at_work_from_its_start() {
    let dequeued = |text: &str| event(observed::DEQUEUED, json!({"text": text, "uuid": "dequeued-1"}));
    let mut story = Story::of([prompt("first"), says("busy"), prompt("second"), stop("First answer.")]);
    story.apply(dequeued("second"));
    assert_eq!(story.look(), "processing working Thinking");
    assert_eq!(story.view().current_command.unwrap().instruction.as_deref(), Some("second"));
    let turns = story.turns();
    assert_eq!(turns, ["user:command first", "user:command second", "agent:completion First answer."]);
    story.apply(stop("Second answer."));
    assert_eq!(story.look(), "idle idle");
    // One that was not reported when it was typed has its own hook.
    let mut story = Story::of([start("startup"), dequeued("first")]);
    assert_eq!(story.look(), "idle idle");
    story.apply(prompt("first"));
    assert_eq!(story.commands(), ["processing"]);
}

#[test]
fn one_session_in_two_terminals_is_two_agents() {
    let mut story = Story::new();
    story.alive = vec![7, 8];
    for event in [start("startup"), prompt("W"), stop("Done.")] {
        story.apply(of_pid(event, 7));
    }
    let second = story.apply(of_pid(start("resume"), 8)).clone();
    assert!(second.is_new_agent);
    story.apply(of_pid(prompt("X"), 8));
    story.apply(of_pid(asks("Bash"), 8));
    let agents: Vec<_> = story.world.agents().map(|agent| agent.view(story.now, None)).collect();
    let looks: Vec<_> = agents.iter().map(|agent| (agent.claude_pid.unwrap(), agent.status)).collect();
    assert_eq!(looks, [(7, Status::Idle), (8, Status::Attention)]);
    assert_ne!(agents[0].name, agents[1].name, "their names differ");
    story.apply(of_pid(prompt("Y"), 7));
    story.apply(of_pid(says("busy"), 7));
    let status = |story: &Story, pid: u32| {
        let agent = story.world.agents().find(|agent| agent.place.claude_pid == Some(pid)).unwrap();
        (agent.view(story.now, None).status, agent.ended_at.is_some())
    };
    assert_eq!(status(&story, 8), (Status::Attention, false), "the other one works, this one still asks");
    story.apply(of_pid(end("prompt_input_exit"), 7));
    assert_eq!(status(&story, 7), (Status::Idle, true));
    assert_eq!(status(&story, 8), (Status::Attention, false), "the other one left");
    story.alive = vec![8];
    story.apply(of_pid(event(observed::PROCESS_GONE, json!({})), 8));
    assert!(status(&story, 8).1);
    // Nobody has the session now: a client that returns to it is not a third agent.
    story.alive = vec![9];
    assert!(!story.apply(of_pid(start("resume"), 9)).is_new_agent);
}

#[test]
fn an_agent_is_not_done_between_the_end_of_a_background_agent_and_its_report() {
    let mut story = Story::of([
        prompt("W"),
        says("busy"),
        event("SubagentStart", json!({})).inside("a1"),
        background("a1", "subagent"),
        event("SubagentStop", json!({})).inside("a1"),
    ]);
    assert_eq!(story.look(), "idle working 1 background task");
    story.apply(prompt("<task-notification>\n<task-id>a1</task-id>\n</task-notification>"));
    assert_eq!(story.look(), "processing working Thinking");
    story.apply(stop("Told."));
    story.apply(says("idle"));
    assert_eq!(story.look(), "idle idle");
}
