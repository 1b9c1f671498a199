//! What the client's status file says, against what its hooks said.

use crate::story::*;
use headspace_core::model::*;
use headspace_test_support::each_row;
use serde_json::json;

fn says(status: &str) -> Tell {
    let mut tell =
        tell(observed::CLIENT_STATUS, json!({"status": status, "waiting_for": "permission prompt"}));
    tell.source = Source::Client;
    tell
}

fn of_pid(tell: Tell, pid: u32) -> Tell {
    tell.with(json!({"claude_pid": pid}))
}

fn background(task: &str, kind: &str) -> Tell {
    let tasks = json!([{"id": task, "type": kind, "status": "running"}]);
    stop("Started.").with(json!({"background_tasks": tasks}))
}

/// The rule, what happens, and how the agent looks then.
fn rows() -> Vec<(&'static str, Vec<Tell>, &'static str)> {
    let asked = || vec![prompt("W"), says("busy"), pre("Bash", "t1"), asks("Bash"), says("waiting")];
    let after = |mut tells: Vec<Tell>, more: Vec<Tell>| {
        tells.extend(more);
        tells
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
            "another dialog means that the first was answered, though nobody saw it",
            after(asked(), vec![pre("Edit", "t2"), asks("Edit"), says("waiting")]),
            "awaiting_input attention Allow Edit: /srv/a.rs",
        ),
        (
            "Yes to a subagent of the background",
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
                tell("PreCompact", json!({"trigger": "manual"})),
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
            "… and that asked something in its last words",
            vec![prompt("W"), says("busy"), stop("Should I use Postgres or SQLite?"), says("busy")],
            "processing working Thinking",
        ),
        (
            "… is done when the client rests",
            vec![prompt("W"), says("busy"), stop("Done."), says("busy"), says("idle")],
            "idle idle",
        ),
        (
            "a question in words stays open while the client rests",
            vec![prompt("W"), says("busy"), stop("Should I use Postgres or SQLite?"), says("idle")],
            "awaiting_input attention Should I use Postgres or SQLite?",
        ),
        (
            "an agent in the background explains a busy client",
            vec![prompt("W"), says("busy"), background("a1", "subagent"), says("busy")],
            "idle working 1 background task",
        ),
        (
            "a client that rests has no agents in the background",
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
            "… and gives way to the hook that describes it",
            vec![prompt("W"), pre("Edit", "t1"), says("waiting"), asks("Edit")],
            "awaiting_input attention Allow Edit: /srv/a.rs",
        ),
        (
            "a menu that was left leaves no trace",
            vec![prompt("W"), stop("Done."), says("waiting"), says("idle")],
            "idle idle",
        ),
        (
            "a Stop that arrives after the client was seen at rest ended the turn",
            vec![prompt("W"), says("busy"), says("idle"), stop("All done.").ago(1)],
            "idle idle",
        ),
        (
            "hooks of a turn that the client has left do not bring it back",
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
            "a prompt that arrives after the client was seen at work is that work",
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
fn the_client_is_believed_about_itself() {
    each_row(
        rows(),
        |(rule, ..)| rule.to_string(),
        |(_, tells, look)| assert_eq!(Story::of(tells).look(), look),
    );
}

#[test]
fn the_file_makes_no_turns_and_one_prompt_is_one_command() {
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
fn a_prompt_that_was_queued_is_at_work_from_its_start() {
    let dequeued = |text: &str| tell(observed::DEQUEUED, json!({"text": text, "uuid": "dequeued-1"}));
    let mut story = Story::of([prompt("first"), says("busy"), prompt("second"), stop("First answer.")]);
    story.tell(dequeued("second"));
    assert_eq!(story.look(), "processing working Thinking");
    assert_eq!(story.view().current_command.unwrap().instruction.as_deref(), Some("second"));
    let turns = story.turns();
    assert_eq!(turns, ["user:command first", "user:command second", "agent:completion First answer."]);
    story.tell(stop("Second answer."));
    assert_eq!(story.look(), "idle idle");
    // A prompt that was not reported when it was typed gets its own hook.
    let mut story = Story::of([start("startup"), dequeued("first")]);
    assert_eq!(story.look(), "idle idle");
    story.tell(prompt("first"));
    assert_eq!(story.commands(), ["processing"]);
}

#[test]
fn one_session_in_two_terminals_is_two_agents() {
    let mut story = Story::new();
    story.alive = vec![7, 8];
    for tell in [start("startup"), prompt("W"), stop("Done.")] {
        story.tell(of_pid(tell, 7));
    }
    let second = story.tell(of_pid(start("resume"), 8)).clone();
    assert!(second.is_new_agent);
    story.tell(of_pid(prompt("X"), 8));
    story.tell(of_pid(asks("Bash"), 8));
    let agents: Vec<_> = story.world.agents().map(|agent| agent.view(story.now, None)).collect();
    let looks: Vec<_> = agents.iter().map(|agent| (agent.claude_pid.unwrap(), agent.status)).collect();
    assert_eq!(looks, [(7, Status::Idle), (8, Status::Attention)]);
    assert_ne!(agents[0].name, agents[1].name, "their names tell them apart");
    story.tell(of_pid(prompt("Y"), 7));
    story.tell(of_pid(says("busy"), 7));
    let status = |story: &Story, pid: u32| {
        let agent = story.world.agents().find(|agent| agent.place.claude_pid == Some(pid)).unwrap();
        (agent.view(story.now, None).status, agent.ended_at.is_some())
    };
    assert_eq!(status(&story, 8), (Status::Attention, false), "the other one works, this one still asks");
    story.tell(of_pid(end("prompt_input_exit"), 7));
    assert_eq!(status(&story, 7), (Status::Idle, true));
    assert_eq!(status(&story, 8), (Status::Attention, false), "the other one left");
    story.alive = vec![8];
    story.tell(of_pid(tell(observed::PROCESS_GONE, json!({})), 8));
    assert!(status(&story, 8).1);
    // The session is free now, so the process that resumes it is not a third agent.
    story.alive = vec![9];
    assert!(!story.tell(of_pid(start("resume"), 9)).is_new_agent);
}

#[test]
fn an_agent_still_works_between_the_end_of_a_background_agent_and_its_report() {
    let mut story = Story::of([
        prompt("W"),
        says("busy"),
        tell("SubagentStart", json!({})).inside("a1"),
        background("a1", "subagent"),
        tell("SubagentStop", json!({})).inside("a1"),
    ]);
    assert_eq!(story.look(), "idle working 1 background task");
    story.tell(prompt("<task-notification>\n<task-id>a1</task-id>\n</task-notification>"));
    assert_eq!(story.look(), "processing working Thinking");
    story.tell(stop("Told."));
    story.tell(says("idle"));
    assert_eq!(story.look(), "idle idle");
}
