//! Which machine an event comes from, and what can be known about another one.

use crate::story::*;
use headspace_core::model::{Confidence, Status};
use headspace_core::stamp::Stamp;
use headspace_test_support::each_row;
use serde_json::{Value, json};
use std::time::Duration;

/// The machine of the server; see [`Story`].
fn here() -> Value {
    json!({"host": "a", "host_id": "id-a", "claude_pid": 7})
}

/// A container with the same name.
fn container(id: &str) -> Value {
    json!({"host": "a", "host_id": id, "claude_pid": 7})
}

fn agents(story: &Story) -> usize {
    story.world.agents().filter(|agent| agent.ended_at.is_none()).count()
}

#[test]
fn containers_with_the_same_name_do_not_share_pids_panes_or_directories() {
    let pane = |fields: Value| {
        let mut fields = fields;
        fields["tmux_pane"] = json!("%1");
        fields
    };
    each_row(
        [
            ("the same machine", here(), here(), 1),
            ("a container beside us", here(), container("id-b"), 2),
            ("two containers", container("id-b"), container("id-c"), 2),
            ("one container", container("id-b"), container("id-b"), 1),
            ("… with panes", pane(container("id-b")), pane(container("id-c")), 2),
            (
                "… one with a hook from before the ids",
                container("id-b"),
                json!({"host": "a", "claude_pid": 7}),
                2,
            ),
            (
                "a machine that was renamed",
                here(),
                json!({"host": "z", "host_id": "id-a", "claude_pid": 7}),
                1,
            ),
            (
                "other names and no ids",
                json!({"host": "b", "claude_pid": 7}),
                json!({"host": "c", "claude_pid": 7}),
                2,
            ),
            (
                "one other name and no ids",
                json!({"host": "b", "claude_pid": 7}),
                json!({"host": "b", "claude_pid": 7}),
                1,
            ),
            ("a name and nothing", here(), json!({"claude_pid": 7}), 1),
            ("nothing and a container", json!({"claude_pid": 7}), container("id-b"), 2),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, first, second, wanted)| {
            let mut story = Story::new();
            story.alive = vec![7];
            story.tell(start("startup").with(first.clone()));
            story.tell(prompt("W").with(first));
            story.tell(start("startup").of("s2").with(second));
            assert_eq!(agents(&story), wanted, "{rule}");
            // A session in another pane continues its own agent.
            let look = if wanted == 2 { "processing working Thinking" } else { "idle idle" };
            assert_eq!(story.look(), look, "{rule}");
        },
    );
}

#[test]
fn a_status_line_of_a_new_session_in_the_same_pane_or_process_does_not_make_a_second_agent() {
    let line = |fields: Value| {
        tell("StatusLine", json!({"context_window": {"current_usage": {"input_tokens": 9}}}))
            .of("s2")
            .with(fields)
    };
    let (pane, pid) = (json!({"tmux_pane": "%1"}), json!({"claude_pid": 7}));
    let hooked = json!({"host": "a", "host_id": "id-a", "tmux_pane": "%1", "claude_pid": 7});
    each_row(
        [
            ("the pane", hooked.clone(), pane.clone()),
            ("the process", hooked.clone(), pid.clone()),
            ("both, of a named machine", pane, hooked.clone()),
            ("the process, of a named machine", pid, json!({"host": "a", "claude_pid": 7})),
            ("by its name alone", hooked.clone(), json!({"host": "a", "tmux_pane": "%1"})),
            (
                "from another directory",
                hooked.clone(),
                json!({"tmux_pane": "%1", "claude_pid": 7, "cwd": "/srv/b"}),
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, hooks, fields)| {
            for mid_turn in [false, true] {
                let mut story = Story::of([start("startup").with(hooks.clone())]);
                story.alive = vec![7];
                if mid_turn {
                    story.tell(prompt("W").with(hooks.clone()));
                }
                story.tell(line(fields.clone()));
                assert_eq!(story.world.agents().count(), 1, "{rule}");
                // Nor do the hooks of that session afterwards.
                story.tell(start("clear").of("s2").with(hooks.clone()));
                assert_eq!(story.world.agents().count(), 1, "{rule}, then SessionStart");
                let agent = story.world.agent_of_session("s2").unwrap();
                assert_eq!((agent.session_id.as_str(), agent.ended_at), ("s2", None), "{rule}");
            }
        },
    );
}

#[test]
fn a_silent_agent_on_another_machine_is_not_believed_to_work_forever() {
    let there = container("id-b");
    let after =
        |story: &Story, minutes: f64| -> Stamp { story.now.plus(Duration::from_secs_f64(minutes * 60.0)) };
    let seen = |story: &Story, minutes: f64| {
        let view = story.agent().view(after(story, minutes), None);
        let detail = view.status_detail.unwrap_or_default();
        (format!("{} {} {detail}", view.state, view.status), view.confidence)
    };
    let background = json!({"background_tasks": [{"id": "b1", "type": "shell", "status": "running"}]});
    type Case = (&'static str, Vec<Tell>, f64, &'static str, Confidence);
    let cases: Vec<Case> = vec![
        ("a moment", vec![prompt("W")], 4.9, "processing working Thinking", Confidence::High),
        ("five minutes", vec![prompt("W")], 5.0, "processing idle not heard since 5 m", Confidence::Low),
        ("two hours", vec![prompt("W")], 125.0, "processing idle not heard since 2 h", Confidence::Low),
        (
            "three days",
            vec![prompt("W")],
            3.0 * 1440.0,
            "processing idle not heard since 3 d",
            Confidence::Low,
        ),
        (
            "in a tool",
            vec![prompt("W"), pre("Bash", "t")],
            6.0,
            "processing idle not heard since 6 m",
            Confidence::Low,
        ),
        (
            "in the background",
            vec![prompt("W"), stop("Fine.").with(background)],
            6.0,
            "idle idle not heard since 6 m",
            Confidence::Low,
        ),
        ("nothing to do", vec![prompt("W"), stop("Fine.")], 60.0, "idle idle ", Confidence::High),
        (
            "a question waits as long as it takes",
            vec![prompt("W"), asks("Bash")],
            60.0,
            "awaiting_input attention Allow Bash: npm test",
            Confidence::High,
        ),
        ("over", vec![prompt("W"), end("other")], 60.0, "idle idle ", Confidence::High),
    ];
    each_row(
        cases,
        |(rule, ..)| rule.to_string(),
        |(rule, tells, minutes, wanted, confidence)| {
            let story = Story::of(tells.iter().map(|tell| tell.clone().with(there.clone())));
            assert_eq!(seen(&story, minutes), (wanted.into(), confidence), "{rule}");
            // A process on this machine can be checked.
            let ours = Story::of(tells.into_iter().map(|tell| tell.with(here())));
            assert!(!seen(&ours, minutes).0.contains("not heard"), "{rule}");
        },
    );
    // Its next event brings it back, which is a change.
    let mut story = Story::of([prompt("W").with(there.clone())]);
    story.now = after(&story, 30.0);
    let outcome = story.tell(pre("Bash", "t").with(there)).clone();
    assert_eq!(story.look(), "processing working Bash: npm test");
    let news = outcome.changes.iter().any(|change| {
        matches!(change, headspace_core::model::Change::StateChanged(now) if now.status == Status::Working)
    });
    assert!(news, "{outcome:?}");
}

#[test]
fn an_agent_on_another_machine_says_when_to_look_again() {
    let story = Story::of([prompt("W").with(container("id-b"))]);
    let wakes = |seconds: u64| {
        let now = story.now.plus(Duration::from_secs(seconds));
        story.agent().wakes_at(now).map(|at| at.since(story.now).as_secs())
    };
    assert_eq!(
        [wakes(0), wakes(299), wakes(300), wakes(359), wakes(3600)].map(Option::unwrap),
        [300, 300, 360, 360, 3660]
    );
    let ours = Story::of([prompt("W").with(here())]);
    assert_eq!(ours.agent().wakes_at(ours.now), None);
    let idle = Story::of([prompt("W").with(container("id-b")), stop("Fine.").with(container("id-b"))]);
    assert_eq!(idle.agent().wakes_at(idle.now), None);
}
