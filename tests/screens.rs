//! The screens of `status`, `top`, `events` and `show`, in terminals of every size.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod stage;

use serde_json::json;
use stage::{Stage, wait_for};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use unicode_width::UnicodeWidthStr;

const WIDTHS: [u16; 6] = [40, 60, 80, 100, 120, 200];

/// What `command` shows on a terminal with so many columns, line by line, without colors.
fn on_terminal(mut command: Command, columns: u16) -> Vec<String> {
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: both numbers are written by the call; no name and no settings are asked for.
    let failed = unsafe {
        libc::openpty(
            &mut ours,
            &mut theirs,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            (&raw const size).cast_mut(),
        )
    };
    assert_eq!(failed, 0, "no terminal: {}", std::io::Error::last_os_error());
    // SAFETY: the call has just opened both, and nobody else owns them.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let child = command
        .env("TERM", "xterm-256color")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn();
    // It holds the other side of the terminal, which would keep it open.
    drop(command);
    let mut shown = Vec::new();
    // On Linux, reading fails when the last one has closed the other side.
    let _ = File::from(ours).read_to_end(&mut shown);
    assert!(child.unwrap().wait().unwrap().success());
    let shown = String::from_utf8(shown).unwrap().replace('\r', "");
    assert!(shown.contains('\x1b'), "a terminal gets colors: {shown:?}");
    shown.lines().map(without_colors).collect()
}

fn without_colors(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}

fn asks(stage: &Stage, session: &str, cwd: &Path, command: &str) {
    let fields = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    stage.event("PermissionRequest", session, cwd, fields);
}

/// Agents with long names, in scripts whose characters take two columns, with a subagent and a nearly full context.
fn crowd() -> Stage {
    let stage = Stage::new(json!({}));
    let long = stage.project("a-project-with-a-rather-long-name", "fix/the-branch-name-is-long-too");
    asks(&stage, "s-long", &long, &"cargo test --workspace --all-targets -- --nocapture ".repeat(5));
    let wide = stage.project("登录服务", "修复-登录-测试");
    asks(&stage, "s-wide", &wide, "echo 修复登录测试修复登录测试修复登录测试修复登录测试 🚀🚀🚀 finished");
    let busy = stage.project("busy", "main");
    stage.event("UserPromptSubmit", "s-busy", &busy, json!({"prompt": "🎉 celebrate ".repeat(20)}));
    stage.event(
        "SubagentStart",
        "s-busy",
        &busy,
        json!({"agent_id": "a1", "agent_type": "a-subagent-with-a-long-type-name"}),
    );
    stage
}

#[test]
fn no_line_of_status_is_wider_than_the_terminal() {
    let stage = crowd();
    for columns in WIDTHS {
        let lines = on_terminal(stage.headspace(&["status"]), columns);
        let screen = lines.join("\n");
        for line in &lines {
            assert!(line.width() <= usize::from(columns), "{columns}: {} columns\n{screen}", line.width());
        }
        let rows: Vec<&String> = lines.iter().filter(|line| line.starts_with(['!', '*'])).collect();
        assert_eq!(rows.len(), 3, "{columns}: one line per agent\n{screen}");
        for row in rows {
            let age = row.contains(" waiting ") || row.contains(" for ");
            assert!(age && row.trim_end().ends_with([' ', 's', 'm']), "{columns}: the age stays\n{screen}");
        }
    }
}

#[test]
fn the_ask_gives_way_first_then_the_name() {
    let stage = crowd();
    let first = |columns: u16| on_terminal(stage.headspace(&["status"]), columns).remove(0);
    assert!(
        first(120).contains("a-project-with-a-rather-lon…") && first(120).contains("Allow Bash: cargo test")
    );
    assert!(first(60).contains("a-project-with-a-rather-lon…  Allow Bash: ca…"), "{}", first(60));
    let narrow = first(44);
    assert!(narrow.contains("a-project-…  ") || narrow.contains("  Allow Bash:…"), "{narrow}");
    // The name takes the columns of an ask that would say nothing.
    assert!(first(32).starts_with("! a-project-with") && !first(32).contains("Allow"), "{}", first(32));
}

#[test]
fn an_empty_board_fits_too() {
    let stage = Stage::new(json!({}));
    for columns in WIDTHS {
        let lines = on_terminal(stage.headspace(&["status"]), columns);
        assert!(lines.iter().all(|line| line.width() <= usize::from(columns)), "{columns}: {lines:?}");
    }
}

fn said(out: &std::process::Output) -> String {
    String::from_utf8([&out.stdout[..], &out.stderr[..]].concat()).unwrap()
}

#[test]
fn events_name_the_agent_and_take_it_as_an_argument() {
    let stage = crowd();
    let all = stage.says(&["events"]);
    assert!(all.contains("busy") && all.contains("登录服务") && !all.contains('#'), "{all}");
    let busy = stage.says(&["events", "busy"]);
    assert!(busy.lines().count() >= 2 && busy.lines().all(|line| line.contains("busy")), "{busy}");
    assert_eq!(busy.lines().count(), stage.says(&["events", "--agent", "busy"]).lines().count());
    for columns in WIDTHS {
        for line in on_terminal(stage.headspace(&["events"]), columns) {
            let room = usize::from(columns).max(60);
            assert!(line.width() <= room, "{columns}: {line}");
        }
    }
}

#[test]
fn an_unknown_type_of_event_is_an_error_with_the_likely_one() {
    let stage = crowd();
    let out = stage.run(&["events", "--type", "PermissonRequest"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("did you mean PermissionRequest?"), "{}", said(&out));
    let one_spelling = stage.says(&["events", "--type", "permission-request"]);
    assert!(
        one_spelling.lines().count() == 2 && one_spelling.contains("PermissionRequest"),
        "{one_spelling}"
    );
    // A name that the client invented yesterday is known once it was stored.
    stage.event("BrandNewEvent", "s-busy", &stage.home.path().join("busy"), json!({}));
    assert_eq!(stage.says(&["events", "--type", "BrandNewEvent"]).lines().count(), 1);
}

#[test]
fn events_and_explain_read_the_store_when_the_server_is_down() {
    let mut stage = crowd();
    let live = [stage.says(&["events", "--json"]), stage.says(&["explain", "busy", "--json"])];
    stage.stop();
    assert_eq!(stage.says(&["events", "--json"]), live[0]);
    let explained = stage.says(&["explain", "busy"]);
    assert!(explained.contains("working since") && explained.contains("▶"), "{explained}");
    assert!(stage.says(&["events", "busy", "--type", "SubagentStart"]).contains("SubagentStart"));
    assert_eq!(stage.says(&["events", "--grep", "celebrate"]).lines().count(), 1);
}

#[test]
fn a_malformed_address_is_not_a_server_that_is_down() {
    let stage = crowd();
    for (address, why) in
        [("http://", "could not read"), ("https://127.0.0.1", "only http"), ("http://h:x", "port")]
    {
        for args in
            [&["status"][..], &["status", "--short"], &["events"], &["next"], &["explain", "busy"], &["open"]]
        {
            let out = stage.headspace(args).env("CLAUDE_HEADSPACE_URL", address).output().unwrap();
            let said = said(&out);
            assert_eq!(out.status.code(), Some(1), "{args:?} {address}: {said}");
            assert!(
                said.contains("CLAUDE_HEADSPACE_URL") && said.contains(why),
                "{args:?} {address}: {said}"
            );
        }
    }
}

#[test]
fn next_passes_over_whom_it_cannot_reach_and_says_whom() {
    let mut stage = Stage::new(json!({}));
    let lost = stage.project("lost", "main");
    asks(&stage, "s-lost", &lost, "make");
    let near = stage.project("near", "main");
    let pane = stage.tmux(&["new-session", "-d", "-s", "work", "-P", "-F", "#{pane_id}", "exec sleep 600"]);
    let pid = stage.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    stage.tmux(&["new-window", "-t", "work", "exec sleep 600"]);
    let socket = stage.socket();
    let env = [("TMUX_PANE", pane.as_str()), ("TMUX", socket.as_str()), ("CLAUDE_PID", pid.as_str())];
    let fields = json!({"tool_name": "Bash", "tool_input": {"command": "make"}});
    stage.event_with("PermissionRequest", "s-near", &near, fields, &env);
    let out = stage.run(&["next"]);
    // No terminal shows this tmux, so it says how; but the pane behind the one that is out of reach is selected.
    assert!(said(&out).contains("tmux attach -t 'work'"), "{}", said(&out));
    assert!(said(&out).contains("headspace: passed over lost: "), "{}", said(&out));
    assert_eq!(stage.tmux(&["display-message", "-p", "-t", "work", "#{pane_id}"]), pane);
    stage.tmux(&["kill-server"]);
    let out = stage.run(&["next"]);
    assert_eq!(out.status.code(), Some(1));
    let said = said(&out);
    assert!(
        said.contains("could not jump to lost:") && said.contains("could not jump to near either:"),
        "{said}"
    );
}

/// `headspace top` in a pane of this size.
fn top(stage: &mut Stage, columns: u16, rows: u16) -> String {
    let command = format!(
        "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} top",
        stage.home.path().display(),
        stage.path(),
        env!("CARGO_BIN_EXE_headspace")
    );
    let (columns, rows) = (columns.to_string(), rows.to_string());
    stage.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, "-P", "-F", "#{pane_id}", &command])
}

/// The screen of the pane, once it is as it should be.
fn shows(stage: &mut Stage, pane: &str, what: &str, fits: impl Fn(&str) -> bool) -> String {
    wait_for(what, || Some(stage.tmux(&["capture-pane", "-p", "-t", pane])).filter(|screen| fits(screen)))
}

#[test]
fn top_fits_eighty_columns_with_all_counts_and_the_position() {
    let mut stage = crowd();
    let pane = top(&mut stage, 80, 24);
    let screen = shows(&mut stage, &pane, "the list", |screen| screen.contains("Allow Bash"));
    let header = screen.lines().next().unwrap();
    assert!(header.contains("! 2 needs you  * 1 working") && header.trim_end().ends_with("1/3"), "{screen}");
    assert!(screen.lines().all(|line| line.width() <= 80), "{screen}");
    stage.tmux(&["send-keys", "-t", &pane, "G"]);
    shows(&mut stage, &pane, "the last agent", |screen| screen.lines().next().unwrap().contains("3/3"));
}

#[test]
fn the_preview_of_top_shows_the_newest_and_scrolls_back() {
    let mut stage = Stage::new(json!({}));
    let dir = stage.project("talk", "main");
    for turn in 1..=12 {
        let long = format!("answer number {turn} {}", "and so on ".repeat(20));
        stage.event("UserPromptSubmit", "s", &dir, json!({"prompt": format!("question number {turn}")}));
        stage.event("Stop", "s", &dir, json!({"last_assistant_message": long}));
    }
    let pane = top(&mut stage, 80, 24);
    let newest = |screen: &str| screen.contains("answer number 12") && screen.contains("▲");
    let screen = shows(&mut stage, &pane, "the newest turn", newest);
    assert!(!screen.contains("question number 1\n") && !screen.contains("▼"), "{screen}");
    for _ in 0..40 {
        stage.tmux(&["send-keys", "-t", &pane, "K"]);
    }
    shows(&mut stage, &pane, "the beginning", |screen| screen.contains("state idle") && screen.contains("▼"));
}

#[test]
fn the_events_of_a_call_are_one_line_in_top() {
    let mut stage = Stage::new(json!({}));
    let dir = stage.project("calls", "main");
    stage.event("UserPromptSubmit", "s", &dir, json!({"prompt": "go"}));
    let call = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make all"}, "duration_ms": 2400});
    stage.event("PreToolUse", "s", &dir, call.clone());
    stage.event("PostToolUse", "s", &dir, call);
    let pane = top(&mut stage, 80, 24);
    shows(&mut stage, &pane, "the agent", |screen| screen.contains("calls"));
    stage.tmux(&["send-keys", "-t", &pane, "e"]);
    let screen = shows(&mut stage, &pane, "the call", |screen| screen.contains("Bash make all"));
    let line = screen.lines().find(|line| line.contains("Bash make all")).unwrap();
    assert!(line.contains("2 s ok") && !screen.contains("PostToolUse"), "{screen}");
}

#[test]
fn top_started_without_a_server_shows_what_is_stored() {
    let mut stage = crowd();
    stage.stop();
    let pane = top(&mut stage, 80, 24);
    let screen = shows(&mut stage, &pane, "the stored agents", |screen| screen.contains("Allow Bash"));
    assert!(screen.contains("server away") && !screen.contains("No agent yet"), "{screen}");
    stage.start();
    shows(&mut stage, &pane, "the server", |screen| !screen.contains("server away"));
}
