//! Special cases, one row each.

use crate::story::*;
use headspace_core::model::{Group, Status};
use headspace_test_support::each_row;
use serde_json::{Value, json};
use std::time::Duration;

fn tasks(list: Value) -> Tell {
    stop("Started.").with(json!({"background_tasks": list}))
}

/// The rule, the events, and how the agent looks then.
fn rows() -> Vec<(&'static str, Vec<Tell>, &'static str)> {
    let turn = || vec![start("startup"), prompt("W")];
    let after = |tells: Vec<Tell>| turn().into_iter().chain(tells).collect::<Vec<_>>();
    let bash = "awaiting_input attention Allow Bash: npm test";
    let sub = || json!([{"id": "a1", "type": "subagent", "status": "running"}]);
    let mate = |name: &str| tell(name, json!({"agent_id": "abob-1f", "agent_type": "bob"}));
    let team = || json!([{"id": "t1", "type": "teammate", "status": "running"}]);
    vec![
        (
            "idle_prompt proves that a Stop was missed",
            after(vec![pre("Bash", "t1"), notice("idle_prompt")]),
            "idle idle",
        ),
        (
            "… a question the last Stop asked stays open",
            after(vec![stop("Which port?"), notice("idle_prompt")]),
            "awaiting_input attention Which port?",
        ),
        (
            "… live background work keeps working",
            after(vec![tasks(sub()), notice("idle_prompt")]),
            "idle working 1 background task",
        ),
        ("a soft close asks nothing", after(vec![stop("It is in place now. Anything else?")]), "idle idle"),
        (
            "permission_prompt belongs to the newest open call",
            after(vec![
                pre("Read", "t1"),
                pre("Bash", "t2"),
                notice("permission_prompt"),
                post("Read", "t1"),
            ]),
            bash,
        ),
        (
            "… whose Post event closes it",
            after(vec![
                pre("Read", "t1"),
                pre("Bash", "t2"),
                notice("permission_prompt"),
                post("Bash", "t2"),
            ]),
            "processing working Read: /srv/a.rs",
        ),
        (
            "… with none open, any later tool event does",
            after(vec![notice("permission_prompt"), pre("Read", "t1")]),
            "processing working Read: /srv/a.rs",
        ),
        (
            "PreToolUse of another tool while a question is open: stays awaiting",
            after(vec![pre("Bash", "t1"), asks("Bash"), pre("Read", "t2")]),
            bash,
        ),
        (
            "PostToolUseFailure with is_interrupt: the turn is over",
            after(vec![
                pre("Bash", "t1"),
                tell(
                    "PostToolUseFailure",
                    json!({"tool_name": "Bash", "tool_use_id": "t1", "is_interrupt": true}),
                ),
            ]),
            "idle idle interrupted",
        ),
        (
            "after SessionEnd only a start or a prompt revives",
            after(vec![end("other"), pre("Bash", "t1"), stop("Late.")]),
            "idle idle",
        ),
        ("… a prompt does", after(vec![end("other"), prompt("again")]), "processing working Thinking"),
        ("… an older prompt does not", after(vec![end("other"), prompt("old").ago(2)]), "idle idle"),
        (
            "a subagent's question raises the parent's status only",
            after(vec![asks("Bash").inside("a1")]),
            "processing attention Allow Bash: npm test",
        ),
        (
            "Stop closes the main thread's questions, not a subagent's",
            after(vec![asks("Bash").inside("a1"), tasks(sub())]),
            "idle attention Allow Bash: npm test",
        ),
        (
            "a prompt closes the main thread's questions, not a subagent's",
            after(vec![asks("Bash").inside("a1"), prompt("go on")]),
            "processing attention Allow Bash: npm test",
        ),
        (
            "a subagent's are closed by its own events",
            after(vec![asks("Bash").inside("a1"), post("Bash", "t1").inside("a1")]),
            "processing working Thinking",
        ),
        (
            "… by SubagentStop",
            after(vec![asks("Bash").inside("a1"), tell("SubagentStop", json!({})).inside("a1")]),
            "processing working Thinking",
        ),
        ("… by SessionEnd", after(vec![asks("Bash").inside("a1"), end("other")]), "idle idle"),
        (
            "a task notification closes none",
            after(vec![stop("Which port?"), prompt("<task-notification>")]),
            "awaiting_input attention Which port?",
        ),
        (
            "open unless one is open looks at the whole agent",
            after(vec![asks("Bash").inside("a1"), notice("permission_prompt")]),
            "processing attention Allow Bash: npm test",
        ),
        (
            "a child never wakes an idle parent",
            after(vec![tasks(sub()), pre("Read", "t1").inside("a1")]),
            "idle working 1 background task",
        ),
        (
            "a child's Stop never wakes an idle parent",
            after(vec![stop("Ok."), tell("SubagentStop", json!({})).inside("a1")]),
            "idle idle",
        ),
        (
            "SubagentStop with an empty type is a compaction",
            vec![start("startup"), tell("SubagentStop", json!({"agent_id": "ac", "agent_type": ""}))],
            "idle idle",
        ),
        (
            "the detail is the newest call still open",
            after(vec![pre("Read", "t1"), pre("Bash", "t2"), post("Bash", "t2")]),
            "processing working Read: /srv/a.rs",
        ),
        (
            "Compacting outlives SubagentStop, SessionStart compact, InstructionsLoaded",
            vec![
                tell("PreCompact", json!({})),
                tell("SubagentStop", json!({"agent_id": "ac", "agent_type": ""})),
                start("compact"),
                tell("InstructionsLoaded", json!({})),
            ],
            "idle working Compacting",
        ),
        (
            "… and ends with any other main-thread event",
            vec![tell("PreCompact", json!({})), tell("CwdChanged", json!({}))],
            "idle idle",
        ),
        (
            "SubagentStop takes its task off the list",
            after(vec![tasks(sub()), tell("SubagentStop", json!({})).inside("a1")]),
            "idle idle",
        ),
        (
            "a teammate task is live while its subagent works",
            after(vec![mate("SubagentStart"), tasks(team())]),
            "idle working 1 background task",
        ),
        (
            "… and only then",
            after(vec![mate("SubagentStart"), tasks(team()), mate("SubagentStop"), mate("TeammateIdle")]),
            "idle idle",
        ),
        (
            "a child absent from background_tasks is gone",
            after(vec![tell("SubagentStart", json!({})).inside("a1"), stop("Done here.")]),
            "idle idle",
        ),
        (
            "a finished task is not live",
            after(vec![tasks(json!([{"id": "b1", "type": "shell", "status": "completed"}]))]),
            "idle idle",
        ),
        (
            "an event older than the state changes history only",
            after(vec![stop("Fine."), pre("Bash", "t1").ago(1)]),
            "idle idle",
        ),
        (
            "a late start does not make idle",
            vec![prompt("W"), start("startup").ago(5)],
            "processing working Thinking",
        ),
        (
            "a late notification asks nothing any more",
            after(vec![pre("Bash", "t1"), post("Bash", "t1"), notice("permission_prompt").ago(1)]),
            "processing working Thinking",
        ),
        (
            "a late PreToolUse of a call that is still running counts",
            after(vec![pre("Read", "t2"), pre("Bash", "t1").ago(1), post("Read", "t2")]),
            "processing working Bash: npm test",
        ),
        (
            "… of one that ended does not",
            after(vec![pre("Bash", "t1"), post("Bash", "t1"), pre("Bash", "t1").ago(1)]),
            "processing working Thinking",
        ),
        (
            "a late request for a call that is still running asks",
            after(vec![pre("Bash", "t1"), pre("Read", "t2"), post("Read", "t2"), asks("Bash").ago(2)]),
            bash,
        ),
        (
            "… of one that ended does not",
            after(vec![pre("Bash", "t1"), post("Bash", "t1"), asks("Bash").ago(1)]),
            "processing working Thinking",
        ),
        (
            "the same request again is the same question",
            after(vec![pre("Bash", "t1"), asks("Bash"), asks("Bash"), post("Bash", "t1")]),
            "processing working Thinking",
        ),
    ]
}

#[test]
fn every_special_case_looks_as_its_row_says() {
    looks_as_each_row_says(rows());
}

#[test]
fn the_same_event_twice_counts_once() {
    let mail = |text: &str, id: Option<&str>, pid: u32| {
        prompt(text).with(json!({"prompt_id": id, "claude_pid": pid, "tmux_pane": format!("%{pid}")}))
    };
    let stamped = |stamp: &str| prompt("a").with(json!({"sent_at": stamp}));
    let dated = |time: serde_json::Value| prompt("a").with(json!({"timestamp": time}));
    each_row(
        [
            ("equal payload and prompt id", vec![mail("a", Some("p1"), 7), mail("a", Some("p1"), 7)], 1),
            (
                "another prompt id is another prompt",
                vec![mail("a", Some("p1"), 7), mail("a", Some("p2"), 7)],
                2,
            ),
            (
                "more than two seconds apart",
                vec![
                    mail("a", Some("p1"), 7),
                    tell("CwdChanged", json!({})),
                    tell("ConfigChange", json!({})),
                    mail("a", Some("p1"), 7),
                ],
                2,
            ),
            ("without a prompt id two are two", vec![prompt("a"), prompt("a")], 2),
            ("the very same stamp", vec![stamped("x"), stamped("x").same_time()], 1),
            ("another stamp", vec![stamped("x"), stamped("x")], 2),
            ("the client's own time is the same", vec![dated(json!("12:00")), dated(json!("12:00"))], 1),
            ("the same as a number", vec![dated(json!(1794)), dated(json!(1794))], 1),
            ("another time of the client's", vec![dated(json!("12:00")), dated(json!("12:01"))], 2),
            ("null is not a time", vec![dated(json!(null)), dated(json!(null))], 2),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            assert_eq!(Story::of(tells).turns().len(), wanted, "{rule}");
        },
    );
}

#[test]
fn headless_questions_wait_a_second_for_attention() {
    let mut story = Story::of([prompt("W").with(json!({"entrypoint": "sdk-cli"})), asks("Bash")]);
    assert_eq!(story.look(), "awaiting_input working Thinking");
    assert_eq!(story.agent().wakes_at(story.now), Some(story.now.plus(Duration::from_secs(1))));
    story.now = story.now.plus(Duration::from_secs(1));
    assert_eq!(story.look(), "awaiting_input attention Allow Bash: npm test");
    assert_eq!(story.agent().wakes_at(story.now), None);
}

#[test]
fn a_stale_agent_keeps_its_state_and_does_not_end() {
    let mut story = Story::of([prompt("W")]);
    assert!(!story.view().stale);
    story.now = story.now.plus(Duration::from_secs(8 * 3600));
    assert!(story.view().stale);
    assert_eq!(story.look(), "processing working Thinking");
    assert_eq!(story.view().ended_at, None);
}

#[test]
fn unseen_and_error_come_and_go() {
    let failed = tell("StopFailure", json!({"error": "rate_limit"}));
    each_row(
        [
            ("Stop sets unseen", vec![prompt("W"), stop("Fine.")], true, None, Group::Done),
            (
                "a prompt clears it",
                vec![prompt("W"), stop("Fine."), prompt("X")],
                false,
                None,
                Group::Working,
            ),
            (
                "a look clears it",
                vec![prompt("W"), stop("Fine."), tell("Seen", json!({}))],
                false,
                None,
                Group::Idle,
            ),
            ("a question is not finished", vec![prompt("W"), stop("Which?")], false, None, Group::NeedsYou),
            (
                "Stop with background work sets it",
                vec![prompt("W"), stop("Fine.").with(json!({"background_tasks": [{"id": "b"}]}))],
                true,
                None,
                Group::Background,
            ),
            (
                "StopFailure sets both",
                vec![prompt("W"), failed.clone()],
                true,
                Some("rate_limit"),
                Group::Error,
            ),
            (
                "a turn that ends without an answer failed",
                vec![prompt("W"), stop("").with(json!({"no_answer": true}))],
                true,
                Some("the request failed"),
                Group::Error,
            ),
            (
                "an error that is reported after the idle notice counts",
                vec![prompt("W"), notice("idle_prompt").with(json!({"idle_at_once": true})), failed.clone()],
                true,
                Some("rate_limit"),
                Group::Error,
            ),
            ("a prompt clears both", vec![prompt("W"), failed, prompt("X")], false, None, Group::Working),
            (
                "an interrupted turn was seen",
                vec![prompt("W"), tell("TranscriptInterrupted", json!({}))],
                false,
                None,
                Group::Idle,
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, unseen, error, group)| {
            let view = Story::of(tells).view();
            assert_eq!((view.unseen, view.error.as_deref(), view.group), (unseen, error, group), "{rule}");
        },
    );
}

#[test]
fn subagents_are_listed_with_what_they_do() {
    let story = Story::of([
        prompt("W"),
        tell("SubagentStart", json!({})).inside("a1"),
        pre("Bash", "t1").inside("a2"),
        asks("Read").inside("a3"),
        tell("SubagentStop", json!({})).inside("a1"),
    ]);
    let look: Vec<_> = story
        .view()
        .subagents
        .iter()
        .map(|s| (s.agent_id.clone(), s.status, s.status_detail.clone()))
        .collect();
    let some = |text: &str| Some(text.to_string());
    assert_eq!(
        look,
        [
            ("a1".to_string(), Status::Idle, None),
            ("a2".to_string(), Status::Working, some("Bash: npm test")),
            ("a3".to_string(), Status::Attention, some("Allow Read: /srv/a.rs")),
        ]
    );
}

#[test]
fn an_interrupted_turn_ends_its_foreground_subagents() {
    let launch = || [prompt("W"), pre("Agent", "t1"), tell("SubagentStart", json!({})).inside("a1")];
    let async_post = post("Agent", "t1").with(json!({"tool_response": {"isAsync": true, "agentId": "a1"}}));
    let interrupted = tell("TranscriptInterrupted", json!({}));
    let foreground = Story::of(launch().into_iter().chain([interrupted.clone()]));
    assert_eq!(foreground.look(), "idle idle interrupted");
    let background = Story::of(launch().into_iter().chain([async_post, interrupted]));
    assert_eq!(background.look(), "idle working 1 background task");
}

#[test]
fn what_a_client_lists_about_itself_is_bounded() {
    let many = |kind: &str, status: &str| {
        let task = |id| json!({"id": format!("{kind}{id}"), "type": kind, "status": status, "command": "x".repeat(9000)});
        (0..1000).map(task).collect::<Vec<_>>()
    };
    // Listed, beside them, and what the board says.
    for (what, list, listed, more, says) in [
        ("shells", many("shell", "running"), 64, 936, "idle working 1000 background tasks"),
        ("ended ones", many("shell", "completed"), 64, 0, "idle idle"),
        (
            "running ones are kept before ended ones",
            [many("shell", "completed"), many("shell", "running")[..3].to_vec()].concat(),
            64,
            0,
            "idle working 3 background tasks",
        ),
        (
            "as many as fit",
            many("shell", "running")[..64].to_vec(),
            64,
            0,
            "idle working 64 background tasks",
        ),
    ] {
        let story = Story::of([prompt("W"), tasks(json!(list))]);
        let view = story.view();
        assert_eq!((view.background.len(), view.more_background), (listed, more), "{what}");
        assert!(story.look().starts_with(says), "{what}: {}", story.look());
        let size = serde_json::to_string(&view).unwrap().len();
        assert!(size < 100_000, "{what}: {size} bytes");
    }
    // What is not listed ends like what is.
    let list = json!(many("subagent", "running"));
    let report = prompt("<task-notification><task-id>subagent900</task-id></task-notification>");
    let story = Story::of([prompt("W"), tasks(list.clone()), report]);
    assert_eq!(story.view().more_background, 935);
    let story = Story::of([prompt("W"), tasks(list), tasks(json!([]))]);
    assert_eq!((story.view().more_background, story.look().as_str()), (0, "idle idle"));
}

#[test]
fn the_limits_of_a_status_line_are_bounded() {
    let windows: serde_json::Map<String, serde_json::Value> = (0..10_000)
        .map(|n| (format!("w{n}"), json!({"used_percentage": 5, "note": "x".repeat(10_000)})))
        .collect();
    let mut nested = json!({"used_percentage": 5});
    for _ in 0..60 {
        nested = json!({ "deeper": nested });
    }
    for (what, limits) in [("wide", json!(windows)), ("deep", nested), ("long", json!("x".repeat(100_000)))] {
        let story = Story::of([prompt("W"), tell("StatusLine", json!({"rate_limits": limits}))]);
        let size = serde_json::to_string(&story.view().rate_limits).unwrap().len();
        assert!((2..40_000).contains(&size), "{what}: {size} bytes");
    }
    let usual = json!({"five_hour": {"used_percentage": 23.5, "resets_at": 1738425600}});
    let story = Story::of([prompt("W"), tell("StatusLine", json!({"rate_limits": usual}))]);
    assert_eq!(story.view().rate_limits, Some(usual));
}
