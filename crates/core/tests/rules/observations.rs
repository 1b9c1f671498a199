//! What no hook reports: transcripts, processes, the status line, what a person does.

use crate::story::*;
use headspace_test_support::each_row;
use serde_json::{Value, json};

fn rows() -> Vec<(&'static str, Vec<Tell>, &'static str)> {
    let turn = || vec![start("startup"), prompt("W")];
    let after = |tells: Vec<Tell>| turn().into_iter().chain(tells).collect::<Vec<_>>();
    let line = |name: &str, body: Value| tell(name, body);
    let interrupted = || line("TranscriptInterrupted", json!({"uuid": "i"}));
    let refused = |id: &str| line("TranscriptRefused", json!({"tool_use_id": id, "uuid": id}));
    let result = |id: &str| line("TranscriptToolResult", json!({"tool_use_id": id, "uuid": id}));
    let over = |text: &str| line("TranscriptTurnEnd", json!({"text": text, "uuid": "e"}));
    let found = || line("SessionFound", json!({}));
    let typed = || line("TranscriptPrompt", json!({"text": "W", "uuid": "p"}));
    let call = || {
        line(
            "TranscriptToolUse",
            json!({"tool_use_id": "t1", "tool_name": "Bash", "tool_input": {"command": "make"}}),
        )
    };
    vec![
        ("Esc: idle, interrupted", after(vec![pre("Bash", "t1"), interrupted()]), "idle idle interrupted"),
        (
            "an old interrupt line does not stop a new turn",
            after(vec![interrupted().ago(2)]),
            "processing working Thinking",
        ),
        ("an interrupt line while idle is not news", after(vec![stop("Fine."), interrupted()]), "idle idle"),
        ("a prompt clears it", after(vec![interrupted(), prompt("X")]), "processing working Thinking"),
        (
            "a refusal closes the question",
            after(vec![pre("Bash", "t1"), asks("Bash"), refused("t1")]),
            "processing working Thinking",
        ),
        (
            "… also of a request whose call was not seen",
            after(vec![asks("Bash"), refused("t1")]),
            "processing working Thinking",
        ),
        (
            "a refusal and its interrupt: idle",
            after(vec![pre("Bash", "t1"), asks("Bash"), refused("t1"), interrupted()]),
            "idle idle interrupted",
        ),
        (
            "a prompt after a refusal is a command",
            after(vec![pre("Bash", "t1"), asks("Bash"), refused("t1"), interrupted(), prompt("X")]),
            "processing working Thinking",
        ),
        (
            "a refusal inside a subagent closes its question",
            after(vec![
                pre("Bash", "t1").inside("a1"),
                asks("Bash").inside("a1"),
                refused("t1").with(json!({"agent_id": "a1"})),
            ]),
            "processing working Thinking",
        ),
        (
            "a result closes the question whatever the hooks said",
            after(vec![pre("Bash", "t1"), asks("Bash"), result("t1")]),
            "processing working Thinking",
        ),
        (
            "a result of another call does not",
            after(vec![pre("Bash", "t1"), asks("Bash"), result("t2")]),
            "awaiting_input attention Allow Bash: npm test",
        ),
        ("a missed Stop", after(vec![over("Fine.")]), "idle idle"),
        ("a missed Stop that asks", after(vec![over("Which?")]), "awaiting_input attention Which?"),
        (
            "a turn's end that is old ends nothing",
            after(vec![over("Fine.").ago(2)]),
            "processing working Thinking",
        ),
        (
            "a question of Stop is not closed by its own turn's end",
            after(vec![stop("Which?"), over("Which?")]),
            "awaiting_input attention Which?",
        ),
        (
            "text is not a sign of work for a session with hooks",
            after(vec![
                stop("Fine."),
                line("TranscriptText", json!({"text": "More.", "stop_reason": "tool_use"})),
            ]),
            "idle idle",
        ),
        ("a found session", vec![found()], "idle idle"),
        ("… with a prompt works", vec![found(), typed()], "processing working Thinking"),
        ("… in a tool", vec![found(), typed(), call()], "processing working Bash: make"),
        ("… and ends its turn", vec![found(), typed(), call(), result("t1"), over("Fine.")], "idle idle"),
        (
            "StatusLine is data only",
            after(vec![stop("Fine."), tell("StatusLine", json!({"model": {"id": "m"}}))]),
            "idle idle",
        ),
        (
            "StatusLine clears no attention",
            after(vec![asks("Bash"), tell("StatusLine", json!({}))]),
            "awaiting_input attention Allow Bash: npm test",
        ),
        (
            "a guard's verdict is for the timeline",
            after(vec![tell("GuardVerdict", json!({"verdict": "deny"}))]),
            "processing working Thinking",
        ),
    ]
}

#[test]
fn observations_supply_what_hooks_do_not_report() {
    looks_as_each_row_says(rows());
}

#[test]
fn an_error_seen_in_the_transcript_is_an_error() {
    let story = Story::of([
        prompt("W"),
        tell("TranscriptTurnEnd", json!({"text": "API Error", "error": "server_error"})),
    ]);
    assert_eq!(story.view().error.as_deref(), Some("server_error"));
}

#[test]
fn a_subagent_that_was_stopped_no_longer_works_and_its_parent_continues() {
    let inside = |name: &str, uuid: &str| tell(name, json!({"uuid": uuid})).inside("a1");
    let mut story = Story::of([
        prompt("W"),
        tell("SubagentStart", json!({})).inside("a1"),
        pre("Bash", "t1").inside("a1"),
        asks("Bash").inside("a1"),
    ]);
    assert!(story.look().contains("attention"), "{}", story.look());
    story.tell(inside("TranscriptInterrupted", "u1"));
    story.tell(inside("TranscriptTurnEnd", "u1"));
    assert_eq!(story.look(), "processing working Thinking");
    assert!(story.view().subagents.iter().all(|child| child.ended_at.is_some()));
    story.tell(tell("Interrupt", json!({})));
    assert_eq!(story.look(), "idle idle interrupted");
}

#[test]
fn an_ended_process_ends_only_its_own_agent() {
    let gone = |pid: u32| tell("ProcessGone", json!({"claude_pid": pid}));
    let mut story = Story::of([prompt("W").with(json!({"claude_pid": 7})), gone(8)]);
    assert_eq!(story.view().ended_at, None);
    story.tell(gone(7));
    let view = story.view();
    assert_eq!((view.end_reason.as_deref(), story.look().as_str()), (Some("process_gone"), "idle idle"));
    assert_eq!(story.commands(), ["complete"]);
}

#[test]
fn observations_about_an_unknown_session_do_not_make_an_agent() {
    each_row(
        [
            "Seen",
            "Renamed",
            "ProcessGone",
            "TranscriptText",
            "TranscriptInterrupted",
            "GuardVerdict",
            "ContextWarned",
        ],
        |name| name.to_string(),
        |name| {
            let mut story = Story::new();
            let outcome = story.tell(tell(name, json!({"text": "x"}))).clone();
            assert_eq!((outcome.agent_id, story.world.agents().count()), (None, 0), "{name}");
        },
    );
}

#[test]
fn the_status_line_updates_its_figures_and_keeps_the_others() {
    let full = json!({
        "model": {"id": "claude-opus-4-5", "display_name": "Opus"},
        "cost": {"total_cost_usd": 1.25},
        "context_window": {"context_window_size": 200000, "current_usage": {"input_tokens": 1000, "output_tokens": 500, "cache_creation_input_tokens": 2000, "cache_read_input_tokens": 40000}},
        "rate_limits": {"five_hour": {"used_percentage": 12}},
        "pr": {"number": 4},
        "session_name": "the big one",
    });
    let story = Story::of([
        start("startup"),
        tell("StatusLine", full),
        tell("StatusLine", json!({"model": {"id": "claude-opus-4-5"}, "context_window": {}})),
    ]);
    let view = story.view();
    let context = view.context.unwrap();
    assert_eq!((context.used_tokens, context.window, context.percent), (43_000, 200_000, 21.5));
    assert_eq!((view.cost_usd, view.pr.unwrap()["number"].as_u64()), (Some(1.25), Some(4)));
    assert_eq!((view.name.as_str(), view.model.as_deref()), ("the big one", Some("claude-opus-4-5")));
}

#[test]
fn a_status_line_without_usage_clears_the_usage_unless_the_conversation_was_resumed() {
    let used = |tokens: u64| {
        let usage = json!({"input_tokens": tokens});
        tell("StatusLine", json!({"context_window": {"current_usage": usage}}))
    };
    let unused = |percent: Value| {
        let window = json!({"current_usage": null, "used_percentage": percent});
        tell("StatusLine", json!({ "context_window": window }))
    };
    let measured = |tokens: u64| tell("TranscriptUsage", json!({"used_tokens": tokens}));
    each_row(
        [
            ("nothing used", vec![used(5000), unused(Value::Null)], None),
            ("as a number", vec![used(5000), unused(json!(0))], None),
            ("a percentage is a figure", vec![used(5000), unused(json!(10))], Some(20_000)),
            (
                "what the transcript measured, too",
                vec![start("startup"), measured(5000), unused(json!(0))],
                None,
            ),
            ("a line that does not mention it", vec![used(5000), tell("StatusLine", json!({}))], Some(5000)),
            ("after clear", vec![used(5000), start("clear").of("s2"), unused(json!(0)).of("s2")], None),
            ("resumed", vec![start("resume"), measured(5000), unused(Value::Null)], Some(5000)),
            ("… and measured since", vec![start("resume"), used(5000), unused(Value::Null)], None),
            (
                "the line of a session that was left",
                vec![used(5000), start("clear").of("s2"), used(6000), measured(6000)],
                None,
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            let story = Story::of(tells);
            assert_eq!(story.world.agents().count(), 1, "{rule}");
            let view = story.world.agents().next().unwrap().view(story.now, None);
            assert_eq!(view.context.map(|context| context.used_tokens), wanted, "{rule}");
        },
    );
}

#[test]
fn names_are_what_a_person_would_say() {
    let titled = tell("StatusLine", json!({"session_name": "title"}));
    let renamed = |name: &str| tell("Renamed", json!({"name": name}));
    each_row(
        [
            ("the directory, for lack of better", vec![start("startup")], "app"),
            (
                "the first words of the first prompt",
                vec![prompt("fix the parser"), prompt("and more")],
                "fix the parser",
            ),
            ("the title", vec![prompt("fix"), titled.clone()], "title"),
            ("a given name wins", vec![prompt("fix"), renamed("mine"), titled.clone()], "mine"),
            (
                "an empty one gives it back",
                vec![prompt("fix"), renamed("mine"), titled.clone(), renamed("")],
                "title",
            ),
            (
                "a new session has its own title",
                vec![titled, start("startup").of("s2"), prompt("next").of("s2")],
                "next",
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            let story = Story::of(tells);
            assert_eq!(story.world.agents().next().unwrap().view(story.now, None).name, wanted, "{rule}");
        },
    );
}

#[test]
fn a_warning_is_remembered_until_the_window_is_new() {
    let warned = tell("ContextWarned", json!({"level": 80}));
    each_row(
        [
            ("remembered", vec![start("startup"), warned.clone()], Some(80)),
            ("compact starts again", vec![start("startup"), warned.clone(), start("compact")], None),
            ("clear starts again", vec![start("startup"), warned.clone(), start("clear").of("s2")], None),
            ("resume does not", vec![start("startup"), warned, start("resume")], Some(80)),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            let story = Story::of(tells);
            assert_eq!(story.world.agents().next().unwrap().metrics.warned, wanted, "{rule}");
        },
    );
}
