//! The screens of `status`, `top`, `events` and `show`, in terminals of every size.

use headspace_test_support::{Home, Installation, Tmux, binary, on_terminal_of, wait_for};
use serde_json::json;

use std::path::Path;
use std::process::Command;
use unicode_width::UnicodeWidthStr;

const WIDTHS: [u16; 6] = [40, 60, 80, 100, 120, 200];

/// What `command` shows on a terminal with so many columns, line by line, without colors.
fn on_terminal(mut command: Command, columns: u16) -> Vec<String> {
    command.env("TERM", "xterm-256color");
    let (shown, code) = on_terminal_of(columns, command, "");
    assert_eq!(code, Some(0), "{shown}");
    let shown = shown.replace('\r', "");
    assert!(shown.contains('\x1b'), "a terminal gets colors: {shown:?}");
    shown.lines().map(without_colors).collect()
}

fn without_colors(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}

fn asks(board: &Installation, session: &str, cwd: &Path, command: &str) {
    let fields = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    board.send("PermissionRequest", session, cwd, fields);
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_has_no_room_is_one_line_of_error() {
    let home = Home::new();
    for args in [&["doctor"][..], &["install", "--list"], &["install", "--tmux"], &["guard", "rules"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let out = home.command(args).stdout(full).output().unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{args:?}: {told}");
        let in_a_line = told.starts_with("headspace: could not print: ") && told.lines().count() == 1;
        assert!(in_a_line, "{args:?}: {told}");
    }
}

/// Agents with long names, in scripts whose characters take two columns, with a subagent and a nearly full context.
fn crowd() -> Installation {
    let board = Installation::new(json!({}));
    let long = board.project("a-project-with-a-rather-long-name", "fix/the-branch-name-is-long-too");
    asks(&board, "s-long", &long, &"cargo test --workspace --all-targets -- --nocapture ".repeat(5));
    let wide = board.project("登录服务", "修复-登录-测试");
    asks(&board, "s-wide", &wide, "echo 修复登录测试修复登录测试修复登录测试修复登录测试 🚀🚀🚀 finished");
    let busy = board.project("busy", "main");
    board.send("UserPromptSubmit", "s-busy", &busy, json!({"prompt": "🎉 celebrate ".repeat(20)}));
    board.send(
        "SubagentStart",
        "s-busy",
        &busy,
        json!({"agent_id": "a1", "agent_type": "a-subagent-with-a-long-type-name"}),
    );
    board
}

#[test]
fn no_line_of_status_is_wider_than_the_terminal() {
    let board = crowd();
    for columns in WIDTHS {
        let lines = on_terminal(board.command(&["status"]), columns);
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
    let board = crowd();
    let first = |columns: u16| on_terminal(board.command(&["status"]), columns).remove(0);
    assert!(
        first(200).contains("a-project-with-a-rather-long-name · fix/the-branch-name-is"),
        "{}",
        first(200)
    );
    assert!(first(120).contains("a-project-with-a-rather-long-name"), "{}", first(120));
    assert!(first(80).contains("a-project-with-a-rather-lon…  Allow Bash: cargo test"), "{}", first(80));
    assert!(first(60).contains("a-project-with-a-rather-lon…  Allow Bash: ca…"), "{}", first(60));
    let narrow = first(44);
    assert!(narrow.contains("a-project-…  ") || narrow.contains("  Allow Bash:…"), "{narrow}");
    // The name takes the columns of an ask that would say nothing.
    assert!(first(32).starts_with("! a-project-with") && !first(32).contains("Allow"), "{}", first(32));
}

#[test]
fn an_empty_board_fits_too() {
    let board = Installation::new(json!({}));
    for columns in WIDTHS {
        let lines = on_terminal(board.command(&["status"]), columns);
        assert!(lines.iter().all(|line| line.width() <= usize::from(columns)), "{columns}: {lines:?}");
    }
}

fn said(out: &std::process::Output) -> String {
    String::from_utf8([&out.stdout[..], &out.stderr[..]].concat()).unwrap()
}

#[test]
fn events_name_the_agent_and_take_it_as_an_argument() {
    let board = crowd();
    let all = board.ok(&["events"]);
    assert!(all.contains("busy") && all.contains("登录服务") && !all.contains('#'), "{all}");
    let busy = board.ok(&["events", "busy"]);
    assert!(busy.lines().count() >= 2 && busy.lines().all(|line| line.contains("busy")), "{busy}");
    assert_eq!(busy.lines().count(), board.ok(&["events", "--agent", "busy"]).lines().count());
    for columns in WIDTHS {
        for line in on_terminal(board.command(&["events"]), columns) {
            let room = usize::from(columns).max(60);
            assert!(line.width() <= room, "{columns}: {line}");
        }
    }
}

#[test]
fn an_empty_name_is_nobodys() {
    let board = Installation::new(json!({}));
    board.send("UserPromptSubmit", "s-only", &board.project("only", "main"), json!({"prompt": "x"}));
    assert!(board.ok(&["explain", "onl"]).contains("only"));
    for name in ["", " "] {
        let out = board.run(&["explain", name]);
        assert!(
            out.status.code() == Some(2) && said(&out).contains("could not find an agent"),
            "{}",
            said(&out)
        );
    }
}

#[test]
fn a_terminal_without_colors_gets_none() {
    let board = crowd();
    let mut command = board.command(&["status"]);
    command.env("TERM", "dumb");
    let (shown, code) = on_terminal_of(80, command, "");
    assert!(code == Some(0) && shown.contains("busy") && !shown.contains('\x1b'), "{shown:?}");
}

#[test]
fn an_unknown_type_of_event_is_an_error_with_the_likely_one() {
    let board = crowd();
    let out = board.run(&["events", "--type", "PermissonRequest"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("did you mean PermissionRequest?"), "{}", said(&out));
    let one_spelling = board.ok(&["events", "--type", "permission-request"]);
    assert!(
        one_spelling.lines().count() == 2 && one_spelling.contains("PermissionRequest"),
        "{one_spelling}"
    );
    // A name that the client invented yesterday is known once it was stored.
    board.send("BrandNewEvent", "s-busy", &board.home.path().join("busy"), json!({}));
    assert_eq!(board.ok(&["events", "--type", "BrandNewEvent"]).lines().count(), 1);
}

#[test]
fn events_and_explain_read_the_store_when_the_server_is_down() {
    let mut board = crowd();
    let live = [board.ok(&["events", "--json"]), board.ok(&["explain", "busy", "--json"])];
    board.stop();
    assert_eq!(board.ok(&["events", "--json"]), live[0]);
    let explained = board.ok(&["explain", "busy"]);
    assert!(explained.contains("working since") && explained.contains("▶"), "{explained}");
    assert!(board.ok(&["events", "busy", "--type", "SubagentStart"]).contains("SubagentStart"));
    assert_eq!(board.ok(&["events", "--grep", "celebrate"]).lines().count(), 1);
}

#[test]
fn a_malformed_address_is_not_a_server_that_is_down() {
    let board = crowd();
    for (address, why) in [
        ("http://", "could not read"),
        ("nonsense", "could not read"),
        ("https://127.0.0.1", "only http"),
        ("http://h:x", "port"),
    ] {
        for args in
            [&["status"][..], &["status", "--short"], &["events"], &["next"], &["explain", "busy"], &["open"]]
        {
            let out = board.command(args).env("CLAUDE_HEADSPACE_URL", address).output().unwrap();
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
    let board = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let lost = board.project("lost", "main");
    asks(&board, "s-lost", &lost, "make");
    let near = board.project("near", "main");
    let pane = tmux.run(&["new-session", "-d", "-s", "work", "-P", "-F", "#{pane_id}", "exec sleep 600"]);
    let pid = tmux.run(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    tmux.run(&["new-window", "-t", "work", "exec sleep 600"]);
    let socket = tmux.variable();
    let env = [("TMUX_PANE", pane.as_str()), ("TMUX", socket.as_str()), ("CLAUDE_PID", pid.as_str())];
    let fields = json!({"tool_name": "Bash", "tool_input": {"command": "make"}});
    board.send_with("PermissionRequest", "s-near", &near, fields, &env);
    let out = board.run(&["next"]);
    // No terminal shows this tmux, so it says how; but the pane behind the one that is out of reach is selected.
    assert!(said(&out).contains("tmux attach -t 'work'"), "{}", said(&out));
    assert!(said(&out).contains("headspace: passed over lost: "), "{}", said(&out));
    assert_eq!(tmux.run(&["display-message", "-p", "-t", "work", "#{pane_id}"]), pane);
    tmux.run(&["kill-server"]);
    let out = board.run(&["next"]);
    assert_eq!(out.status.code(), Some(1));
    let said = said(&out);
    assert!(
        said.contains("could not jump to lost:") && said.contains("could not jump to near either:"),
        "{said}"
    );
}

/// `headspace top` in a pane of this size.
fn top(board: &Home, tmux: &Tmux, columns: u16, rows: u16) -> String {
    let command = format!(
        "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} top",
        board.path().display(),
        board.search_path(),
        binary()
    );
    let (columns, rows) = (columns.to_string(), rows.to_string());
    tmux.run(&["new-session", "-d", "-x", &columns, "-y", &rows, "-P", "-F", "#{pane_id}", &command])
}

/// The screen of the pane, once it is as it should be.
fn shows(tmux: &Tmux, pane: &str, what: &str, fits: impl Fn(&str) -> bool) -> String {
    wait_for(what, || Some(tmux.screen(pane)).filter(|screen| fits(screen)))
}

#[test]
fn top_fits_eighty_columns_with_all_counts_and_the_position() {
    let board = crowd();
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let pane = top(&board, &tmux, 80, 24);
    let screen = shows(&tmux, &pane, "the list", |screen| screen.contains("Allow Bash"));
    let header = screen.lines().next().unwrap();
    assert!(header.contains("! 2 needs you  * 1 working") && header.trim_end().ends_with("1/3"), "{screen}");
    assert!(screen.lines().all(|line| line.width() <= 80), "{screen}");
    tmux.run(&["send-keys", "-t", &pane, "G"]);
    shows(&tmux, &pane, "the last agent", |screen| screen.lines().next().unwrap().contains("3/3"));
}

/// Lines of the footer end at blanks, so they hold less than their columns.
#[test]
fn top_shows_the_end_of_what_is_typed() {
    let board = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let dir = board.project("talk", "main");
    board.send("UserPromptSubmit", "s", &dir, json!({"prompt": "x"}));
    let pane = top(&board, &tmux, 40, 24);
    shows(&tmux, &pane, "the agent", |screen| screen.contains("1 working"));
    // What has only just appeared takes no key.
    let opened = |screen: &str| {
        let opened = screen.contains("next prompt for");
        if !opened {
            tmux.run(&["send-keys", "-t", &pane, "r"]);
        }
        opened
    };
    shows(&tmux, &pane, "the dialog", opened);
    tmux.run(&["send-keys", "-t", &pane, "-l", &"abcdefghijklmnopqrst ".repeat(11)]);
    tmux.run(&["send-keys", "-t", &pane, "-l", "THEEND"]);
    shows(&tmux, &pane, "the end", |screen| screen.contains("THEEND"));
}

#[test]
fn the_preview_of_top_shows_the_newest_and_scrolls_back() {
    let board = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let dir = board.project("talk", "main");
    for turn in 1..=12 {
        let long = format!("answer number {turn} {}", "and so on ".repeat(20));
        board.send("UserPromptSubmit", "s", &dir, json!({"prompt": format!("question number {turn}")}));
        board.send("Stop", "s", &dir, json!({"last_assistant_message": long}));
    }
    let pane = top(&board, &tmux, 80, 24);
    let newest = |screen: &str| screen.contains("answer number 12") && screen.contains("▲");
    let screen = shows(&tmux, &pane, "the newest turn", newest);
    assert!(!screen.contains("question number 1\n") && !screen.contains("▼"), "{screen}");
    for _ in 0..40 {
        tmux.run(&["send-keys", "-t", &pane, "K"]);
    }
    shows(&tmux, &pane, "the beginning", |screen| screen.contains("state idle") && screen.contains("▼"));
}

#[test]
fn the_events_of_a_call_are_one_line_in_top() {
    let board = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let dir = board.project("calls", "main");
    board.send("UserPromptSubmit", "s", &dir, json!({"prompt": "go"}));
    let call = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make all"}, "duration_ms": 2400});
    board.send("PreToolUse", "s", &dir, call.clone());
    board.send("PostToolUse", "s", &dir, call);
    let pane = top(&board, &tmux, 80, 24);
    shows(&tmux, &pane, "the agent", |screen| screen.contains("calls"));
    tmux.run(&["send-keys", "-t", &pane, "e"]);
    let screen = shows(&tmux, &pane, "the call", |screen| screen.contains("Bash make all"));
    let line = screen.lines().find(|line| line.contains("Bash make all")).unwrap();
    assert!(line.contains("2 s ok") && !screen.contains("PostToolUse"), "{screen}");
}

#[test]
fn top_started_without_a_server_shows_what_is_stored() {
    let mut board = crowd();
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    board.stop();
    let pane = top(&board, &tmux, 80, 24);
    // A screen is captured while it is being drawn, too.
    let whole = |screen: &str| screen.contains("Allow Bash") && screen.contains("server away");
    let screen = shows(&tmux, &pane, "the stored agents", whole);
    assert!(!screen.contains("No agent yet"), "{screen}");
    board.start();
    shows(&tmux, &pane, "the server", |screen| !screen.contains("server away"));
}

/// A headspace command in a pane of this size.
fn in_pane(board: &Home, tmux: &Tmux, args: &str, columns: u16, rows: u16) -> String {
    let command = format!(
        "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} {args}; exec sleep 600",
        board.path().display(),
        board.search_path(),
        binary()
    );
    let (columns, rows) = (columns.to_string(), rows.to_string());
    tmux.run(&["new-session", "-d", "-x", &columns, "-y", &rows, "-P", "-F", "#{pane_id}", &command])
}

#[test]
fn a_watched_board_keeps_its_first_agents_and_leaves_nothing_behind() {
    let board = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    for number in 1..=12 {
        let dir = board.project(&format!("p{number}"), "main");
        board.send("UserPromptSubmit", &format!("s{number}"), &dir, json!({"prompt": "go"}));
    }
    asks(&board, "s7", &board.project("p7", "main"), "npm test");
    let pane = in_pane(&board, &tmux, "status --watch", 80, 10);
    let screen = shows(&tmux, &pane, "a board that fits", |screen| screen.contains(" more\n"));
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines[0].starts_with("! p7") && lines[0].contains("Allow Bash: npm test"), "{screen}");
    let counted = lines.iter().find_map(|line| line.strip_prefix('+')?.strip_suffix(" more")?.parse().ok());
    let shown = lines.iter().filter(|line| line.starts_with(['!', '*'])).count();
    assert_eq!(shown + counted.unwrap_or(0), 12, "{screen}");
    asks(&board, "s9", &board.project("p9", "main"), "npm publish");
    shows(&tmux, &pane, "the next look", |screen| screen.contains("npm publish"));
    let history = || tmux.run(&["display-message", "-p", "-t", &pane, "#{history_size} #{alternate_on}"]);
    assert_eq!(history(), "0 1");
    tmux.run(&["send-keys", "-t", &pane, "C-c"]);
    wait_for("the first screen", || Some(history()).filter(|history| history == "0 0"));
    let all = board.ok(&["status"]);
    assert_eq!(all.lines().filter(|line| line.starts_with(['!', '*'])).count(), 12, "{all}");
}

#[test]
fn the_help_of_top_has_its_border_over_wide_characters() {
    let board = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    for (number, name) in ["機能ログイン", "a機能ログイン"].iter().enumerate() {
        let dir = board.project(name, "main");
        asks(&board, &format!("s{number}"), &dir, &"機能ログイン".repeat(9));
    }
    let pane = top(&board, &tmux, 99, 30);
    shows(&tmux, &pane, "the list", |screen| screen.contains("Allow Bash"));
    tmux.run(&["send-keys", "-t", &pane, "?"]);
    let screen =
        shows(&tmux, &pane, "the help", |screen| screen.contains(" keys ") && screen.contains("quit"));
    let help: Vec<&str> = screen
        .lines()
        .skip_while(|line| !line.contains("┌ keys"))
        .take_while(|line| !line.contains('└'))
        .collect();
    assert!(help.len() > 10 && help[1..].iter().all(|line| line.matches('│').count() >= 2), "{screen}");
}

#[test]
fn top_says_the_link_where_there_is_no_browser_and_names_the_agent_it_would_stop() {
    let board = crowd();
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let pane = top(&board, &tmux, 80, 24);
    shows(&tmux, &pane, "the list", |screen| screen.contains("Allow Bash"));
    tmux.run(&["send-keys", "-t", &pane, "o"]);
    let words = |screen: &str| screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let link = |screen: &str| words(screen).contains("no browser here; open http");
    shows(&tmux, &pane, "the link", |screen| link(screen) && screen.contains("/login?code="));
    tmux.run(&["send-keys", "-t", &pane, "G"]);
    shows(&tmux, &pane, "the last agent", |screen| screen.lines().next().unwrap().contains("3/3"));
    // Deciding keys do nothing right after an agent appears.
    wait_for("the question", || {
        tmux.run(&["send-keys", "-t", &pane, "x"]);
        Some(tmux.screen(&pane)).filter(|screen| words(screen).contains("stop what busy · "))
    });
    tmux.run(&["send-keys", "-t", &pane, "n", "r"]);
    shows(&tmux, &pane, "the prompt", |screen| words(screen).contains("next prompt for busy · "));
}
