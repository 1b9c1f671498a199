//! `headspace show`: the decision with all of its parts, in every size, with a server and without one.

use headspace_test_support::{Installation, Tmux, binary, on_terminal_of, wait_for};
use serde_json::{Value, json};
use std::path::Path;
use unicode_width::UnicodeWidthStr;

const SCRIPT: &str = "for f in src/*.rs; do\n    rustfmt \"$f\"\ndone && git push --force origin main";

fn asking() -> (Installation, std::path::PathBuf) {
    let board = Installation::new(json!({}));
    let dir = board.project("shop", "fix-login");
    board.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "Format it and publish"}));
    let input = json!({"command": SCRIPT, "description": "Format the sources and publish"});
    board.send("PermissionRequest", "s1", &dir, json!({"tool_name": "Bash", "tool_input": input}));
    (board, dir)
}

fn edit(board: &Installation, dir: &Path, session: &str) {
    let path = dir.join("src/login.rs").display().to_string();
    let patch = json!([{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-let a;", "+let b;", "+let c;"]}]);
    board.send(
        "PostToolUse",
        session,
        dir,
        json!({"tool_name": "Edit", "tool_use_id": "t9",
        "tool_input": {"file_path": path, "old_string": "let a;", "new_string": "let b;\nlet c;"},
        "tool_response": {"filePath": path, "structuredPatch": patch}}),
    );
}

fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn the_whole_ask_is_shown_in_every_width_and_from_the_store() {
    let (mut board, dir) = asking();
    for columns in [40, 60, 80, 100, 120, 200] {
        let mut command = board.command(&["show", "shop"]);
        command.env("TERM", "xterm-256color");
        let (shown, code) = on_terminal_of(columns, command, "");
        assert_eq!(code, Some(0), "{shown}");
        let shown = plain(&shown.replace('\r', ""));
        for line in shown.lines() {
            assert!(line.width() <= usize::from(columns), "{columns}: {line}");
        }
        assert!(shown.contains("! Allow Bash?") && shown.contains("\n  for f in src/*.rs; do\n"), "{shown}");
    }
    let live = board.ok(&["show", "shop"]);
    for part in [
        "! shop · ",
        "needs you · waiting",
        "\n  Format the sources and publish\n",
        "\n      rustfmt \"$f\"\n  done && git push --force origin main\n",
        "guard would ",
        "you\n  Format it and publish",
        &format!("in {}", dir.display()),
        "resume claude --resume s1",
    ] {
        assert!(live.contains(part), "{part}\n{live}");
    }
    board.stop();
    let stored = board.ok(&["show", "shop"]);
    assert!(stored.contains("\n      rustfmt \"$f\"\n") && stored.contains("guard would "), "{stored}");
    let value: Value = serde_json::from_str(&board.ok(&["show", "1", "--json"])).unwrap();
    assert_eq!(value["agent"]["interactions"][0]["text"], SCRIPT);
    assert_eq!(value["turns"][0]["text"], "Format it and publish");
    assert_eq!(value["changes"]["files"], json!([]));
    assert_eq!(board.run(&["show", "nobody"]).status.code(), Some(1));
}

#[test]
fn a_finished_agent_shows_what_came_out_and_its_diffs() {
    let board = Installation::new(json!({}));
    let dir = board.project("shop", "main");
    board.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "Split the variable"}));
    edit(&board, &dir, "s1");
    board.send(
        "Stop",
        "s1",
        &dir,
        json!({"last_assistant_message": "# Done\n- **Split** it.\n\n```rs\nlet b;\n```"}),
    );
    let shown = board.ok(&["show", "shop"]);
    for part in [
        "+ shop",
        "agent\n  Done\n  • Split it.\n",
        "\n    let b;\n",
        "1 file changed, +2 −1\n  src/login.rs  +2 −1\n",
        "  -let a;\n  +let b;\n  +let c;\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn questions_and_plans_are_shown_with_all_their_choices() {
    let board = Installation::new(json!({}));
    let dir = board.project("shop", "main");
    let questions = json!([
        {"question": "Which store?", "header": "Store", "multiSelect": false,
         "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}]},
        {"question": "Which checks?", "header": "Checks", "multiSelect": true, "options": [{"label": "Lint"}, {"label": "Test"}]}]);
    board.send(
        "PermissionRequest",
        "s1",
        &dir,
        json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": questions}}),
    );
    let shown = board.ok(&["show", "1"]);
    for part in [
        "1. [Store] Which store? (choose one)",
        "1 SQLite\n      one file",
        "2. [Checks] Which checks? (choose any)",
        "2 Test",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let plan = "# Plan\n\n1. Read\n2. Write\n\n```sh\nmake all\n```";
    board.send(
        "PermissionRequest",
        "s2",
        &board.project("api", "main"),
        json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": plan}}),
    );
    let shown = board.ok(&["show", "2"]);
    assert!(
        shown.contains("! Approve this plan?\n  Plan\n")
            && shown.contains("  2. Write\n")
            && shown.contains("    make all\n"),
        "{shown}"
    );
}

#[test]
fn hostile_text_reaches_no_terminal() {
    let board = Installation::new(json!({}));
    let dir = board.project("shop", "main");
    let evil = "echo \u{1b}]0;gone\u{7}\u{1b}[2J\u{202e}txt.exe\u{9b}31m 修复 🚀\r\nnext";
    board.send(
        "PermissionRequest",
        "s1",
        &dir,
        json!({"tool_name": "Bash", "tool_input": {"command": evil, "description": evil}}),
    );
    board.send("UserPromptSubmit", "s2", &dir, json!({"prompt": evil}));
    edit(&board, &dir, "s2");
    board.send("Stop", "s2", &dir, json!({"last_assistant_message": evil}));
    for args in [&["show", "1"][..], &["show", "2"], &["show", "1", "--json"], &["show", "2", "--diff"]] {
        let shown = board.ok(args);
        let bad =
            shown.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(bad, None, "{args:?} {shown:?}");
    }
}

#[test]
fn top_shows_the_same_card_and_the_changes() {
    let (board, dir) = asking();
    edit(&board, &dir, "s2");
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let command = format!(
        "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} top",
        board.path().display(),
        board.search_path(),
        binary()
    );
    let pane = tmux.run(&["new-session", "-d", "-x", "120", "-y", "40", "-P", "-F", "#{pane_id}", &command]);
    let shows = |what: &str, fits: &dyn Fn(&str) -> bool| {
        wait_for(what, || Some(tmux.screen(&pane)).filter(|screen| fits(screen)))
    };
    let screen =
        shows("the whole ask", &|screen| screen.contains("rustfmt \"$f\"") && screen.contains("guard would"));
    assert!(
        screen.contains("! Allow Bash?") && screen.contains("Format the sources and publish"),
        "{screen}"
    );
    assert!(screen.lines().all(|line| line.width() <= 120), "{screen}");
    tmux.run(&["send-keys", "-t", &pane, "j"]);
    shows("the files", &|screen| screen.contains("src/login.rs  +2 −1"));
    tmux.run(&["send-keys", "-t", &pane, "c"]);
    shows("the diff", &|screen| screen.contains("+let b;") && screen.contains("-let a;"));
}

#[test]
fn what_a_working_agent_does_is_shown_with_its_subagents() {
    let board = Installation::new(json!({}));
    let dir = board.project("core", "main");
    board.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "Make it faster"}));
    let input = json!({"command": "cargo build --release"});
    board.send(
        "PreToolUse",
        "s1",
        &dir,
        json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": input}),
    );
    board.send("SubagentStart", "s1", &dir, json!({"agent_id": "a1", "agent_type": "Explore"}));
    let shown = board.ok(&["show", "core"]);
    assert!(
        shown.contains("doing Bash: cargo build --release\n") && shown.contains("subagent Explore"),
        "{shown}"
    );
    let long = format!("cargo test {} -- --nocapture", "--features everything ".repeat(9).trim_end());
    let call = json!({"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": long}});
    board.send("PreToolUse", "s1", &dir, call.clone());
    let shown = board.ok(&["show", "core"]);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("doing Bash: {long}")), "{shown}");
    board.send("PostToolUse", "s1", &dir, call);
    board.send("SubagentStop", "s1", &dir, json!({"agent_id": "a1", "agent_type": "Explore"}));
    board.send("Stop", "s1", &dir, json!({"last_assistant_message": "It is faster."}));
    let shown = board.ok(&["show", "core"]);
    assert!(!shown.contains("doing ") && !shown.contains("Explore"), "{shown}");
}

#[test]
fn a_long_name_leaves_the_state_its_room() {
    let board = Installation::new(json!({}));
    let dir = board.project("longname", &format!("feature/{}", "a-very-long-branch-".repeat(8)));
    board.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    for columns in [40, 80, 120] {
        let mut command = board.command(&["show", "longname"]);
        command.env("TERM", "xterm-256color");
        let (shown, _) = on_terminal_of(columns, command, "");
        let first = plain(&shown.replace('\r', "")).lines().next().unwrap_or_default().to_owned();
        assert!(
            first.starts_with("* longname · ") && first.contains("…  working · for "),
            "{columns}: {first}"
        );
        assert!(first.width() <= usize::from(columns), "{columns}: {first}");
    }
}
