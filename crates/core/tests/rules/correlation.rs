//! Which agent an event belongs to: the six strategies, and what keeps two sessions apart.

use crate::story::*;
use headspace_core::model::{Method, observed};
use headspace_test_support::each_row;
use serde_json::{Value, json};

const UUID: &str = "0b9e4a52-1f0c-4d0e-9b57-3c1f6f1f0a11";

/// The rule; `s1`'s fields; what it does; how `s2` starts; which pids live; the strategy.
type Case = (&'static str, Value, Vec<Tell>, Tell, &'static [u32], Method);

/// Session `s1` has the first fields; then `s2` starts with the second ones. Which strategy finds its agent?
fn placed(first: Value, then: Vec<Tell>, second: Tell, alive: &[u32]) -> (Method, bool) {
    let mut story = Story::of([start("startup").with(first.clone())]);
    story.alive = alive.to_vec();
    for tell in then {
        story.tell(tell.with(first.clone()));
    }
    let outcome = story.tell(second.of("s2")).clone();
    (outcome.method, outcome.is_new_agent)
}

#[test]
fn the_first_strategy_that_finds_an_agent_places_a_new_session() {
    let fresh = |fields: Value| start("startup").with(fields);
    let cases: Vec<Case> = vec![
        (
            "same launcher id, even in mid-turn",
            json!({"headspace_session_id": UUID}),
            vec![prompt("W")],
            fresh(json!({"headspace_session_id": UUID})),
            &[],
            Method::HeadspaceSessionId,
        ),
        (
            "same launcher id, other directory",
            json!({"headspace_session_id": UUID}),
            vec![],
            fresh(json!({"headspace_session_id": UUID, "cwd": "/srv/b"})),
            &[],
            Method::HeadspaceSessionId,
        ),
        (
            "a malformed launcher id says nothing",
            json!({"headspace_session_id": "x"}),
            vec![prompt("W")],
            fresh(json!({"headspace_session_id": "x"})),
            &[],
            Method::Created,
        ),
        (
            "a headless child inherits the launcher id",
            json!({"headspace_session_id": UUID, "entrypoint": "cli"}),
            vec![prompt("W")],
            fresh(json!({"headspace_session_id": UUID, "entrypoint": "sdk-cli"})),
            &[],
            Method::Created,
        ),
        (
            "the same process",
            json!({"claude_pid": 7}),
            vec![prompt("W")],
            fresh(json!({"claude_pid": 7})),
            &[7],
            Method::TmuxPane,
        ),
        (
            "the same pane",
            json!({"tmux_pane": "%1"}),
            vec![prompt("W")],
            fresh(json!({"tmux_pane": "%1"})),
            &[],
            Method::TmuxPane,
        ),
        (
            "the same pane, but its process lives on",
            json!({"tmux_pane": "%1", "claude_pid": 7}),
            vec![prompt("W")],
            fresh(json!({"tmux_pane": "%1", "claude_pid": 8})),
            &[7, 8],
            Method::Created,
        ),
        (
            "the same pane after a crash in mid-turn",
            json!({"tmux_pane": "%1", "claude_pid": 7}),
            vec![prompt("W")],
            fresh(json!({"tmux_pane": "%1", "claude_pid": 8})),
            &[8],
            Method::TmuxPane,
        ),
        (
            "a pane reused for another project after a crash",
            json!({"tmux_pane": "%1", "claude_pid": 7}),
            vec![prompt("W")],
            fresh(json!({"tmux_pane": "%1", "claude_pid": 8, "cwd": "/srv/b"})),
            &[8],
            Method::Created,
        ),
        (
            "a headless run in the pane of a session",
            json!({"tmux_pane": "%1", "entrypoint": "cli"}),
            vec![],
            fresh(json!({"tmux_pane": "%1", "entrypoint": "sdk-cli"})),
            &[],
            Method::Created,
        ),
        (
            "an ended agent's pane says nothing",
            json!({"tmux_pane": "%1"}),
            vec![end("other")],
            fresh(json!({"tmux_pane": "%1", "cwd": "/srv/b"})),
            &[],
            Method::Created,
        ),
        ("the same directory", json!({}), vec![], fresh(json!({})), &[], Method::WorkingDirectory),
        (
            "the same directory, ended",
            json!({}),
            vec![end("other")],
            fresh(json!({})),
            &[],
            Method::WorkingDirectory,
        ),
        (
            "the same directory, ended in mid-turn by its process",
            json!({"claude_pid": 7}),
            vec![prompt("W"), tell("ProcessGone", json!({}))],
            fresh(json!({"claude_pid": 8})),
            &[8],
            Method::WorkingDirectory,
        ),
        ("not while busy", json!({}), vec![prompt("W")], fresh(json!({})), &[], Method::Created),
        (
            "not while a question of its Stop is open",
            json!({}),
            vec![prompt("W"), stop("Which?")],
            fresh(json!({})),
            &[],
            Method::Created,
        ),
        (
            "free again after Stop",
            json!({}),
            vec![prompt("W"), stop("Fine.")],
            fresh(json!({})),
            &[],
            Method::WorkingDirectory,
        ),
        (
            "not if a living process holds it",
            json!({"claude_pid": 7}),
            vec![],
            fresh(json!({"claude_pid": 8})),
            &[7, 8],
            Method::Created,
        ),
        (
            "a dead process holds nothing",
            json!({"claude_pid": 7}),
            vec![],
            fresh(json!({"claude_pid": 8})),
            &[8],
            Method::WorkingDirectory,
        ),
        (
            "kinds do not mix",
            json!({"entrypoint": "cli"}),
            vec![],
            fresh(json!({"entrypoint": "sdk-cli"})),
            &[],
            Method::Created,
        ),
        (
            "another known pane is another agent",
            json!({"tmux_pane": "%1"}),
            vec![],
            fresh(json!({"tmux_pane": "%2"})),
            &[],
            Method::Created,
        ),
        (
            "hosts never mix: directory",
            json!({"host": "a"}),
            vec![],
            fresh(json!({"host": "b"})),
            &[],
            Method::Created,
        ),
        (
            "hosts never mix: pane",
            json!({"host": "a", "tmux_pane": "%1"}),
            vec![],
            fresh(json!({"host": "b", "tmux_pane": "%1"})),
            &[],
            Method::Created,
        ),
        (
            "hosts never mix: process",
            json!({"host": "a", "claude_pid": 7}),
            vec![],
            fresh(json!({"host": "b", "claude_pid": 7})),
            &[7],
            Method::Created,
        ),
        (
            "any event may be the first",
            json!({}),
            vec![prompt("W")],
            tell("TaskCreated", json!({})),
            &[],
            Method::Created,
        ),
        (
            "an older session is not a successor",
            json!({}),
            vec![prompt("W"), stop("Fine.")],
            tell("SessionFound", json!({})).ago(3),
            &[],
            Method::Created,
        ),
    ];
    each_row(
        cases,
        |(rule, ..)| rule.to_string(),
        |(rule, first, then, second, alive, method)| {
            let new = method == Method::Created;
            assert_eq!(placed(first, then, second, alive), (method, new), "{rule}");
        },
    );
}

#[test]
fn clear_keeps_the_agent_and_its_background_work() {
    let pid = json!({"claude_pid": 7});
    let mut story = Story::of([prompt("W"), asks("Bash").inside("a1")].map(|tell| tell.with(pid.clone())));
    story.tell(end("clear").with(pid.clone()));
    assert_eq!(story.view().ended_at, None);
    let outcome = story.tell(start("clear").of("s2").with(pid.clone())).clone();
    assert!(!outcome.is_new_agent);
    let view = story.view();
    assert_eq!((view.session_id.as_str(), view.sessions.len()), ("s2", 2));
    assert_eq!(story.look(), "idle attention Allow Bash: npm test", "the subagent's dialog is still open");
    story
        .tell(tell("SubagentStop", json!({"agent_type": "Explore"})).inside("a1").of("s2").with(pid.clone()));
    assert_eq!(story.look(), "idle idle");
    assert!(story.view().interactions.is_empty());
    story.tell(end("other").with(pid.clone()).of("s1"));
    assert_eq!(story.view().ended_at, None, "the end of a past session does not end the agent that moved on");
    story.tell(pre("Bash", "t1").with(pid));
    assert_eq!(story.look(), "idle idle", "a straggler of a past session is history");
}

#[test]
fn a_session_resumed_while_another_has_its_agent_gets_a_new_agent() {
    let in_process = |pid: u32| json!({"claude_pid": pid});
    let mut story = Story::new();
    story.alive = vec![8, 9];
    story.tell(start("startup").with(in_process(7)));
    story.tell(end("other").with(in_process(7)));
    let first = story.tell(start("startup").of("s2").with(in_process(8))).agent_id;
    let outcome = story.tell(start("resume").with(in_process(9))).clone();
    assert!(outcome.is_new_agent, "the seat is another's now");
    assert_ne!(outcome.agent_id, first);
    assert_eq!(outcome.touched.len(), 2, "both agents changed");
    assert_eq!(story.world.agent_of_session("s2").unwrap().sessions, ["s2"]);
    let back = story.tell(prompt("go").with(in_process(9))).clone();
    assert_eq!((back.agent_id, back.method), (outcome.agent_id, Method::SessionId));
}

#[test]
fn a_client_that_resumes_another_agents_session_leaves_its_own() {
    let in_process = |pid: u32| json!({"claude_pid": pid});
    let mut story = Story::new();
    story.alive = vec![7, 8];
    story.tell(start("startup").with(in_process(7)));
    story.tell(start("startup").of("s2").with(in_process(8)));
    story.tell(end("prompt_input_exit").of("s2").with(in_process(8)));
    story.tell(end("resume").with(in_process(7)));
    assert_eq!(story.view().ended_at, None);
    let outcome = story.tell(start("resume").of("s2").with(in_process(7))).clone();
    let (first, second) = (story.view(), story.world.agent_of_session("s2").unwrap().view(story.now, None));
    assert_eq!((first.end_reason.as_deref(), second.ended_at), (Some("resume"), None));
    assert_eq!(outcome.touched, [second.id.number, first.id.number]);
    story.tell(start("resume").with(in_process(7)));
    assert_eq!(story.view().ended_at, None);
    assert!(story.world.agent_of_session("s2").unwrap().ended_at.is_some());
}

#[test]
fn the_stand_in_of_a_process_is_no_session_of_the_agent_once_the_real_one_is_known() {
    let pid = json!({"claude_pid": 7});
    let mut story = Story::new();
    story.alive = vec![7];
    let found = tell(observed::CLIENT_STATUS, json!({"status": "waiting"}));
    story.tell(found.of("pid-7-7").with(pid.clone()));
    let seat = |story: &Story| story.world.agents().next().unwrap().view(story.now, None).sessions;
    assert_eq!(seat(&story), ["pid-7-7"], "nothing better is known yet");
    story.tell(start("startup").with(pid));
    assert_eq!((story.world.agents().count(), seat(&story)), (1, vec!["s1".to_owned()]));
}

#[test]
fn a_session_that_returns_to_its_free_agent_is_current_again() {
    let story = Story::of([start("startup"), start("startup").of("s2"), prompt("back")]);
    let view = story.view();
    assert_eq!((story.world.agents().count(), view.session_id.as_str()), (1, "s1"));
    assert_eq!(view.sessions, ["s2", "s1"]);
    assert_eq!(story.look(), "processing working Thinking");
}

#[test]
fn the_place_of_an_agent_is_remembered() {
    let story = Story::of([
        start("startup").with(json!({"tmux_session": "one", "tmux_pane": "%1", "session_role": "reviewer", "session_mode": "focus"})),
        prompt("W").with(json!({"tmux_session": "two", "tmux_pane": "%2", "cwd": "/srv/app/.worktrees/x"})),
        pre("Bash", "t1").inside("a1").with(json!({"cwd": "/tmp/elsewhere"})),
    ]);
    let view = story.view();
    assert_eq!(view.tmux_session.as_deref(), Some("one"), "the first");
    assert_eq!(view.tmux_pane.as_deref(), Some("%2"), "the last");
    assert_eq!((view.role.as_deref(), view.mode.as_deref()), (Some("reviewer"), Some("focus")));
    assert_eq!(view.cwd.as_deref(), Some("/srv/app/.worktrees/x"), "a subagent's directory is its own");
    assert_eq!(story.world.agents().count(), 1, "entering a worktree keeps the agent");
}

#[test]
fn a_directory_that_did_not_answer_keeps_what_is_known_of_it_and_is_corrected_later() {
    let dead = |tell: Tell| tell.with(json!({"cwd": "/srv/app/deep", "dead_mount": true}));
    let mut story = Story::of([dead(start("startup"))]);
    let view = story.view();
    assert_eq!(
        (view.cwd.as_deref(), view.project.as_deref()),
        (Some("/srv/app/deep"), Some("deep")),
        "a guess"
    );
    let found = |story: &Story| story.world.agents().next().unwrap().place.root.clone();
    story.tell(prompt("W").with(json!({"cwd": "/srv/app/deep", "root": "/srv/app"})));
    assert_eq!(found(&story).as_deref(), Some("/srv/app"), "corrected by the next event that knows");
    story.tell(dead(pre("Bash", "t1")));
    assert_eq!((found(&story).as_deref(), story.view().project.as_deref()), (Some("/srv/app"), Some("app")));
    assert_eq!(story.world.agents().count(), 1);
}

#[test]
fn after_a_restart_the_first_contact_is_from_the_store() {
    use headspace_core::engine;
    use headspace_core::engine::World;
    use headspace_core::model::{Event, Facts, Source};
    use headspace_core::stamp::Stamp;
    let story = Story::of([prompt("W")]);
    let mut world = World::load(story.world.agents().cloned(), story.world.counters());
    let facts = Facts { first_since_start: true, ..Facts::default() };
    let event = Event {
        id: 9,
        name: "Stop".into(),
        session_id: "s1".into(),
        at: Stamp(i64::MAX),
        received_at: Stamp(i64::MAX),
        source: Source::Hook,
        body: json!({}),
        facts,
        agent_hint: None,
    };
    assert_eq!(engine::apply(&mut world, &event).method, Method::DbSessionId);
    let next = Event { facts: Facts::default(), id: 10, ..event };
    assert_eq!(engine::apply(&mut world, &next).method, Method::SessionId);
}

#[test]
fn a_replay_gives_a_new_agent_the_id_it_had() {
    use headspace_core::engine;
    use headspace_core::model::{Event, Facts, Source};
    let mut story = Story::of([prompt("W")]);
    let event = Event {
        id: 2,
        name: "SessionStart".into(),
        session_id: "s9".into(),
        at: story.now,
        received_at: story.now,
        source: Source::Hook,
        body: json!({"cwd": "/srv/other"}),
        facts: Facts::default(),
        agent_hint: Some(41),
    };
    assert_eq!(engine::apply(&mut story.world, &event).agent_id, Some(41));
    assert_eq!(story.world.counters().agent, 41);
}

#[test]
fn an_agent_with_many_sessions_stays_small_and_survives_a_restart() {
    use headspace_core::engine::{Agent, World};
    let mut story = Story::new();
    let names: Vec<&'static str> = (0..300).map(|n| &*format!("run-{n}").leak()).collect();
    for name in &names {
        for tell in [start("startup"), prompt("nightly"), stop("Fine."), end("other")] {
            story.tell(tell.of(name).with(json!({"entrypoint": "sdk-cli"})));
        }
    }
    assert_eq!(story.world.agents().count(), 1, "one seat, one agent");
    let agent = story.world.agents().next().unwrap();
    let text = serde_json::to_string(agent).unwrap();
    assert!(agent.sessions.len() <= 50 && text.len() < 12_000, "{} bytes", text.len());
    assert_eq!(agent.sessions.last().map(String::as_str), names.last().copied());
    let read: Agent = serde_json::from_str(&text).unwrap();
    let again = World::load([read], story.world.counters());
    for name in &names {
        let known = |world: &World| world.agent_of_session(name).map(|agent| agent.id);
        assert_eq!(known(&story.world), known(&again), "{name}");
    }
}

#[test]
fn a_session_with_many_subagents_lists_the_working_and_the_last_ended_ones() {
    let mut story = Story::of([prompt("W"), tell("SubagentStart", json!({})).inside("first")]);
    for n in 0..100 {
        let child = format!("a{n}");
        story.tell(pre("Bash", "t").inside(&child));
        story.tell(tell("SubagentStop", json!({})).inside(&child));
    }
    let listed: Vec<String> = story.view().subagents.iter().map(|child| child.agent_id.clone()).collect();
    assert_eq!(listed.len(), 33);
    assert!(
        listed.contains(&"first".into()) && listed.contains(&"a99".into()) && !listed.contains(&"a3".into())
    );
}
