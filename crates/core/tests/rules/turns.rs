//! Turns: everything that was said, once, with its own time.

use crate::story::*;
use headspace_core::model::{Change, TimestampSource};
use headspace_test_support::each_row;
use serde_json::json;

fn line(text: &str, uuid: &str, stop_reason: &str) -> Tell {
    tell(
        "TranscriptText",
        json!({"text": text, "uuid": uuid, "message_id": uuid, "stop_reason": stop_reason}),
    )
}

fn bare_stop() -> Tell {
    tell("Stop", json!({}))
}

#[test]
fn turns_hold_what_was_said() {
    let turn_end = |text: &str| tell("TranscriptTurnEnd", json!({"text": text, "uuid": "e"}));
    let typed = |text: &str| tell("TranscriptPrompt", json!({"text": text, "uuid": text}));
    let fatal =
        tell("StopFailure", json!({"error": "server_error", "last_assistant_message": "API Error: 529"}));
    let chosen =
        post("AskUserQuestion", "t1").with(json!({"tool_response": {"answers": {"Which one?": "B"}}}));
    let rows: Vec<(&str, Vec<Tell>, Vec<&str>)> = vec![
        (
            "prompt and answer",
            vec![prompt("W"), stop("The cache is gone.")],
            vec!["user:command W", "agent:completion The cache is gone."],
        ),
        (
            "a prompt while awaiting is an answer",
            vec![prompt("W"), stop("Which?"), prompt("this")],
            vec!["user:command W", "agent:question Which?", "user:answer this"],
        ),
        (
            "a task notification is nobody's turn",
            vec![prompt("W"), prompt("<task-notification>x")],
            vec!["user:command W"],
        ),
        (
            "a dialog is a question, a choice its answer",
            vec![prompt("W"), pre("AskUserQuestion", "t1"), asks("AskUserQuestion"), chosen],
            vec!["user:command W", "agent:question Which one? (A, B)", "user:answer B"],
        ),
        (
            "a permission is a question, its grant no turn",
            vec![prompt("W"), pre("Bash", "t1"), asks("Bash"), post("Bash", "t1")],
            vec!["user:command W", "agent:question Allow Bash: npm test"],
        ),
        (
            "a plan is asked in full",
            vec![prompt("W"), pre("ExitPlanMode", "t1")],
            vec!["user:command W", "agent:question # Split it\n1. now"],
        ),
        (
            "tools say nothing",
            vec![prompt("W"), pre("Bash", "t1"), post("Bash", "t1")],
            vec!["user:command W"],
        ),
        (
            "an error with text is a turn",
            vec![prompt("W"), fatal],
            vec!["user:command W", "agent:end_of_task API Error: 529"],
        ),
        (
            "a child's words are not the agent's",
            vec![prompt("W"), tell("SubagentStop", json!({"last_assistant_message": "Which?"})).inside("a1")],
            vec!["user:command W"],
        ),
        (
            "a late prompt is kept",
            vec![stop("Fine."), prompt("W").ago(5)],
            vec!["user:command W", "agent:completion Fine."],
        ),
        (
            "a late Stop is kept",
            vec![prompt("W"), prompt("X"), stop("Fine.").ago(1)],
            vec!["user:command W", "agent:completion Fine.", "user:command X"],
        ),
        (
            "text before a tool is progress",
            vec![prompt("W"), line("Let me see.", "1", "tool_use"), stop("Seen.")],
            vec!["user:command W", "agent:progress Let me see.", "agent:completion Seen."],
        ),
        (
            "the final text comes once: transcript first",
            vec![prompt("W"), line("Fine.", "1", "end_turn"), stop("Fine.\n")],
            vec!["user:command W", "agent:completion Fine.\n"],
        ),
        (
            "… hook first",
            vec![prompt("W"), stop("Fine."), line("Fine.", "1", "end_turn")],
            vec!["user:command W", "agent:completion Fine."],
        ),
        (
            "… even if it looked like progress",
            vec![prompt("W"), line("Fine.", "1", "tool_use"), stop("Fine.")],
            vec!["user:command W", "agent:completion Fine."],
        ),
        (
            "… a question too",
            vec![prompt("W"), stop("Which?"), line("Which?", "1", "end_turn")],
            vec!["user:command W", "agent:question Which?"],
        ),
        (
            "equal answers of two turns are two",
            vec![
                prompt("W"),
                stop("Fine."),
                prompt("X"),
                stop("Fine."),
                line("Fine.", "1", "end_turn").ago(2),
                line("Fine.", "2", "end_turn"),
            ],
            vec!["user:command W", "agent:completion Fine.", "user:command X", "agent:completion Fine."],
        ),
        (
            "an entry counts once",
            vec![prompt("W"), line("Hm.", "1", "tool_use"), line("Hm.", "1", "tool_use")],
            vec!["user:command W", "agent:progress Hm."],
        ),
        (
            "a Stop without text takes the transcript's last",
            vec![prompt("W"), line("Fine.", "1", "end_turn"), bare_stop()],
            vec!["user:command W", "agent:completion Fine."],
        ),
        (
            "… several blocks of one message",
            vec![
                prompt("W"),
                line("One.", "1", "end_turn").with(json!({"message_id": "m"})),
                line("Two.", "2", "end_turn").with(json!({"message_id": "m"})),
                bare_stop(),
            ],
            vec!["user:command W", "agent:completion One.\n\nTwo."],
        ),
        (
            "… only what follows the last tool result",
            vec![
                prompt("W"),
                line("Am I right?", "1", "tool_use"),
                tell("TranscriptToolResult", json!({"tool_use_id": "t"})),
                line("Fine.", "2", "end_turn"),
                bare_stop(),
            ],
            vec!["user:command W", "agent:progress Am I right?", "agent:completion Fine."],
        ),
        (
            "… even if it is written after the Stop",
            vec![prompt("W"), bare_stop(), line("Fine.", "1", "end_turn")],
            vec!["user:command W", "agent:completion Fine."],
        ),
        (
            "… and stamped seconds before it",
            vec![
                prompt("W"),
                pre("Bash", "t"),
                post("Bash", "t"),
                bare_stop(),
                line("Fine.", "1", "end_turn").ago(3),
            ],
            vec!["user:command W", "agent:completion Fine."],
        ),
        (
            "… but not what the turn before it said",
            vec![prompt("W"), stop("Fine."), prompt("X"), bare_stop(), line("Late.", "1", "end_turn").ago(2)],
            vec!["user:command W", "agent:completion Fine.", "agent:progress Late.", "user:command X"],
        ),
        ("a Stop without any text is not a turn", vec![prompt("W"), bare_stop()], vec!["user:command W"]),
        (
            "a missed Stop, from the transcript",
            vec![prompt("W"), turn_end("Fine.")],
            vec!["user:command W", "agent:completion Fine."],
        ),
        (
            "… whose hook comes after all",
            vec![prompt("W"), turn_end("Fine."), stop("Fine.")],
            vec!["user:command W", "agent:completion Fine."],
        ),
        ("a prompt that no hook reported", vec![start("startup"), typed("W")], vec!["user:command W"]),
        (
            "… whose hook comes after all",
            vec![start("startup"), typed("W"), prompt("W")],
            vec!["user:command W"],
        ),
        ("… or came before", vec![prompt("W"), typed("W")], vec!["user:command W"]),
        (
            "the same prompt twice is two, each reported twice",
            vec![prompt("W"), typed("W"), prompt("W"), typed("W ")],
            vec!["user:command W", "user:command W"],
        ),
        (
            "texts in the place of a prompt that nobody typed",
            vec![
                start("startup"),
                typed("<local-command-stdout>"),
                typed("Another Claude session sent a message: x"),
            ],
            vec![],
        ),
        (
            "a fork's copy of older words was said elsewhere",
            vec![start("fork"), line("Old.", "1", "end_turn").ago(9), typed("old").ago(9)],
            vec![],
        ),
    ];
    each_row(
        rows,
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            assert_eq!(Story::of(tells).turns(), wanted, "{rule}");
        },
    );
}

#[test]
fn transcript_text_keeps_its_own_time() {
    let story = Story::of([prompt("W"), line("Let me see.", "u1", "tool_use")]);
    let turns: Vec<_> = story
        .outcomes
        .iter()
        .flat_map(|outcome| &outcome.changes)
        .filter_map(|change| match change {
            Change::Turn(turn) => Some((turn.timestamp_source, turn.uuid.clone(), turn.command_id)),
            _ => None,
        })
        .collect();
    assert_eq!(
        turns,
        [(TimestampSource::Server, None, Some(1)), (TimestampSource::Jsonl, Some("u1".into()), Some(1))]
    );
}

#[test]
fn commands_begin_and_end() {
    each_row(
        [
            ("a prompt begins one", vec![prompt("W")], vec!["processing"]),
            ("Stop completes it", vec![prompt("W"), stop("Fine.")], vec!["complete"]),
            (
                "a question keeps it open",
                vec![prompt("W"), stop("Which?"), prompt("this")],
                vec!["processing"],
            ),
            (
                "the next prompt completes the old one",
                vec![prompt("W"), prompt("X")],
                vec!["complete", "processing"],
            ),
            ("a stop while idle makes none", vec![start("startup"), stop("Fine.")], vec![]),
            ("a late prompt's is over", vec![stop("Fine."), prompt("W").ago(5)], vec!["complete"]),
            (
                "a late prompt gives an inferred one its words",
                vec![pre("Bash", "t1"), prompt("W").ago(1)],
                vec!["processing"],
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            assert_eq!(Story::of(tells).commands(), wanted, "{rule}");
        },
    );
    let adopted = Story::of([pre("Bash", "t1"), prompt("W").ago(1)]).view();
    assert_eq!(adopted.current_command.unwrap().instruction.as_deref(), Some("W"));
}

/// A busy machine starts the hook long after the client stamped the line, and writes the line even later.
#[test]
fn a_stop_whose_text_arrives_late_is_judged_by_the_text() {
    let asks = "awaiting_input attention Shall I push it?";
    let late = |text: &str, ago: u64| line(text, "1", "end_turn").ago(ago);
    each_row(
        [
            ("asks", vec![prompt("W"), bare_stop(), late("Shall I push it?", 0)], asks),
            ("… stamped before the Stop", vec![prompt("W"), bare_stop(), late("Shall I push it?", 1)], asks),
            (
                "… long before, after a tool",
                vec![
                    prompt("W"),
                    pre("Bash", "t"),
                    post("Bash", "t"),
                    bare_stop(),
                    late("Shall I push it?", 3),
                ],
                asks,
            ),
            ("ends", vec![prompt("W"), bare_stop(), late("Pushed.", 1)], "idle idle"),
            (
                "a prompt was faster",
                vec![prompt("W"), bare_stop(), prompt("Y"), late("Shall I push it?", 2)],
                "processing working Thinking",
            ),
            (
                "the session is over",
                vec![prompt("W"), bare_stop(), end("other"), late("Shall I push it?", 2)],
                "idle idle",
            ),
            (
                "answered",
                vec![prompt("W"), bare_stop(), late("Shall I push it?", 1), prompt("yes")],
                "processing working Thinking",
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            assert_eq!(Story::of(tells).look(), wanted, "{rule}");
        },
    );
}
