//! What people see and do in the terminal, through the binary and a real tmux.

use crate::stage::{Stage, wait_for};
use serde_json::{Value, json};
use std::path::Path;

fn prompt(stage: &Stage, session: &str, cwd: &Path, text: &str) {
    stage.event("UserPromptSubmit", session, cwd, json!({"prompt": text}));
}

fn asks(stage: &Stage, session: &str, cwd: &Path, command: &str, env: &[(&str, &str)]) {
    let more = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    stage.event_with("PermissionRequest", session, cwd, more, env);
}

/// One agent of each kind that matters: asks, works, is done.
fn populated() -> Stage {
    let stage = Stage::new(json!({}));
    let (api, web, docs) =
        (stage.project("api", "fix-auth"), stage.project("web", "main"), stage.project("docs", "main"));
    prompt(&stage, "s-docs", &docs, "summarise the changes");
    stage.event("Stop", "s-docs", &docs, json!({"last_assistant_message": "All summarised."}));
    prompt(&stage, "s-web", &web, "redesign the landing page");
    stage.event(
        "PreToolUse",
        "s-web",
        &web,
        json!({"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": "App.tsx"}}),
    );
    prompt(&stage, "s-api", &api, "fix the login tests");
    asks(&stage, "s-api", &api, "npm test", &[]);
    stage
}

#[test]
fn status_shows_the_ask_first_in_every_form() {
    let stage = populated();
    let screen = stage.says(&["status"]);
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines[0].starts_with("! api") && lines[0].contains("Allow Bash: npm test"), "{screen}");
    assert!(lines[1].starts_with("* web") && lines[1].contains("Edit: App.tsx"), "{screen}");
    assert!(lines[2].starts_with("+ docs"), "{screen}");
    assert!(screen.contains("hooks active"), "{screen}");
    assert!(!screen.contains('\x1b'), "colours without a terminal: {screen}");
    assert_eq!(stage.says(&["status", "--short"]), "!1 *1 +1\n");
    assert!(stage.says(&["status", "--tmux"]).starts_with("#[fg=colour214,bold]!1#[default] "));
    asks(&stage, "s-api", &stage.project("api", "fix-auth"), "a && b <c", &[]);
    let waybar: Value = serde_json::from_str(&stage.says(&["status", "--waybar"])).unwrap();
    assert_eq!((&waybar["text"], &waybar["class"]), (&json!("!1 *1 +1"), &json!("needs_you")));
    let tooltip = waybar["tooltip"].as_str().unwrap();
    assert!(tooltip.contains("Allow Bash: a &amp;&amp; b &lt;c"), "waybar reads markup: {tooltip}");
    let all: Value = serde_json::from_str(&stage.says(&["status", "--json"])).unwrap();
    assert_eq!(
        (&all["version"], &all["agents"][0]["status_detail"]),
        (&json!(1), &json!("Allow Bash: a && b <c"))
    );
    assert_eq!(stage.run(&["status", "--exit-code"]).status.code(), Some(10));
}

#[test]
fn status_knows_the_last_picture_without_a_server() {
    let mut stage = populated();
    stage.stop();
    let screen = stage.says(&["status"]);
    assert!(
        screen.contains("Allow Bash: npm test") && screen.contains("server not running, last known"),
        "{screen}"
    );
    assert_eq!(stage.says(&["status", "--short"]), "!1 *1 +1\n");
}

#[test]
fn foreign_text_cannot_drive_the_terminal() {
    let stage = Stage::new(json!({}));
    let dir = stage.project("evil\u{1b}[2J", "main");
    asks(&stage, "s1", &dir, "echo \u{1b}]0;owned\u{7} \u{202e}txt \u{9b}31m", &[]);
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["events"],
        &["events", "--json"],
        &["next", "--print"],
        &["explain", "1"],
        &["explain", "1", "--json"],
    ] {
        let out = stage.run(args);
        let text = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
            "{args:?}: {text:?}"
        );
    }
}

#[test]
fn events_without_a_server_say_what_to_do() {
    let out = Stage::bare(json!({})).run(&["events"]);
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(text.starts_with("headspace: could not reach the server: `headspace up` starts it"), "{text}");
}

#[test]
fn explain_names_the_event_that_said_so() {
    let stage = populated();
    let text = stage.says(&["explain", "api"]);
    assert!(
        text.contains("attention since")
            && text.contains("Allow Bash: npm test (hook, high), not closed since"),
        "{text}"
    );
    assert!(text.contains("processing ▶ awaiting_input"), "{text}");
}

#[test]
fn events_can_be_searched_and_names_given() {
    let stage = populated();
    let text = stage.says(&["events", "--type", "PermissionRequest"]);
    assert!(text.lines().count() == 1 && text.contains("Bash: npm test"), "{text}");
    let lines = stage.says(&["events", "--agent", "web", "--json"]);
    assert!(
        lines.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["session_id"] == "s-web"),
        "{lines}"
    );
    assert_eq!(stage.says(&["events", "-n", "0"]), "");
    stage.says(&["rename", "web", "Landing page"]);
    assert!(stage.says(&["status"]).contains("Landing page"));
}

/// A terminal that shows a session of the stage's tmux: a pane of another tmux.
struct Terminal(String);

impl Terminal {
    fn attached(stage: &Stage, session: &str) -> Terminal {
        let terminal = Terminal(stage.home.path().join("outer.sock").display().to_string());
        let inner = stage.home.path().join("tmux.sock");
        terminal.tmux(&[
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "12",
            &format!("env -u TMUX tmux -S {} attach -t {session}", inner.display()),
        ]);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = std::process::Command::new("tmux");
        let out = command
            .args(["-S", &self.0, "-f", "/dev/null"])
            .args(args)
            .env("TERM", "xterm-256color")
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// A stand-in for the client in a pane: something that sleeps, with a known pid and start time.
struct Seat {
    pane: String,
    pid: String,
}

fn seat(stage: &mut Stage, args: &[&str]) -> Seat {
    let pane = stage.tmux(&[args, &["-P", "-F", "#{pane_id}", "exec sleep 600"]].concat());
    let pid = stage.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    Seat { pane, pid }
}

fn asks_in(stage: &Stage, seat: &Seat, session: &str, cwd: &Path) {
    let socket = stage.socket();
    let env =
        [("TMUX_PANE", seat.pane.as_str()), ("TMUX", socket.as_str()), ("CLAUDE_PID", seat.pid.as_str())];
    asks(stage, session, cwd, "npm test", &env);
}

fn active_pane(stage: &mut Stage, session: &str) -> String {
    stage.tmux(&["display-message", "-p", "-t", session, "#{pane_id}"])
}

#[test]
fn next_selects_the_pane_that_waited_longest_and_jump_the_named_one() {
    let mut stage = Stage::new(json!({}));
    let dirs = [stage.project("one", "main"), stage.project("two", "main")];
    let first = seat(&mut stage, &["new-session", "-d", "-s", "work"]);
    let second = seat(&mut stage, &["new-window", "-d", "-t", "work"]);
    stage.tmux(&["new-window", "-t", "work", "exec sleep 600"]);
    asks_in(&stage, &first, "s1", &dirs[0]);
    asks_in(&stage, &second, "s2", &dirs[1]);
    // No terminal shows this tmux: the pane is selected, and the way to it said.
    let out = stage.run(&["next"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("tmux attach -t 'work'"), "{out:?}");
    assert_eq!(active_pane(&mut stage, "work"), first.pane);
    stage.run(&["jump", "two"]);
    assert_eq!(active_pane(&mut stage, "work"), second.pane);
}

#[test]
fn a_jump_moves_a_terminal_that_shows_another_session() {
    let mut stage = Stage::new(json!({}));
    let dir = stage.project("one", "main");
    stage.tmux(&["new-session", "-d", "-s", "elsewhere", "exec sleep 600"]);
    let seat = seat(&mut stage, &["new-session", "-d", "-s", "work"]);
    asks_in(&stage, &seat, "s1", &dir);
    let terminal = Terminal::attached(&stage, "elsewhere");
    wait_for("the terminal", || {
        (stage.tmux(&["list-clients", "-F", "#{session_name}"]) == "elsewhere").then_some(())
    });
    let out = stage.run(&["next"]);
    let shown = stage.tmux(&["list-clients", "-F", "#{session_name}"]);
    drop(terminal);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(shown, "work");
}

#[test]
fn a_vanished_or_reused_pane_is_never_focused() {
    let mut stage = Stage::new(json!({}));
    let dir = stage.project("one", "main");
    let gone = seat(&mut stage, &["new-session", "-d", "-s", "work"]);
    stage.tmux(&["new-window", "-t", "work", "exec sleep 600"]);
    let before = active_pane(&mut stage, "work");
    asks_in(&stage, &gone, "s1", &dir);
    // The pane lives on with another process in it.
    stage.tmux(&["respawn-pane", "-k", "-t", &gone.pane, "exec sleep 600"]);
    let out = stage.run(&["jump", "one"]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(active_pane(&mut stage, "work"), before, "{out:?}");
    stage.tmux(&["kill-pane", "-t", &gone.pane]);
    let out = stage.run(&["jump", "one"]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(active_pane(&mut stage, "work"), before);
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(said.contains("Allow Bash: npm test") && said.contains(&gone.pane), "{said}");
}

#[test]
fn wake_types_into_the_agents_own_pane_and_nowhere_else() {
    let mut stage = Stage::new(json!({}));
    let dir = stage.project("one", "main");
    let pane = stage.tmux(&["new-session", "-d", "-s", "work", "-P", "-F", "#{pane_id}", "exec cat"]);
    let pid = stage.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    let seat = Seat { pane: pane.clone(), pid };
    asks_in(&stage, &seat, "s1", &dir);
    stage.says(&["wake", "one", "the tests are green"]);
    wait_for("the text", || {
        // Typed, and echoed by the cat behind it: Enter was pressed.
        (stage.tmux(&["capture-pane", "-p", "-t", &pane]).matches("the tests are green").count() == 2)
            .then_some(())
    });
    stage.tmux(&["send-keys", "-t", &pane, "> half typed"]);
    wait_for("the draft", || {
        stage.tmux(&["capture-pane", "-p", "-t", &pane]).contains("> half typed").then_some(())
    });
    let out = stage.run(&["wake", "one", "hello"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("half-typed"), "{out:?}");
}

/// `headspace top` in a pane of the given size, and what it shows.
fn top(stage: &mut Stage, width: &str, height: &str) -> String {
    let command = format!(
        "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} top",
        stage.home.path().display(),
        stage.path(),
        env!("CARGO_BIN_EXE_headspace")
    );
    stage.tmux(&["new-session", "-d", "-x", width, "-y", height, "-P", "-F", "#{pane_id}", &command])
}

fn shows(stage: &mut Stage, pane: &str, what: &str) -> String {
    wait_for(what, || {
        Some(stage.tmux(&["capture-pane", "-p", "-t", pane])).filter(|screen| screen.contains(what))
    })
}

#[test]
fn top_shows_the_list_filters_and_survives_a_restart() {
    let mut stage = populated();
    let pane = top(&mut stage, "120", "30");
    let screen = shows(&mut stage, &pane, "Allow Bash: npm test");
    assert!(screen.lines().nth(1).unwrap().contains("! api · fix-auth"), "{screen}");
    shows(&mut stage, &pane, "fix the login tests");
    stage.tmux(&["send-keys", "-t", &pane, "?"]);
    shows(&mut stage, &pane, "jump to its terminal pane");
    stage.tmux(&["send-keys", "-t", &pane, "Escape"]);
    stage.tmux(&["send-keys", "-t", &pane, "/land"]);
    stage.tmux(&["send-keys", "-t", &pane, "Enter"]);
    wait_for("the filter", || {
        Some(stage.tmux(&["capture-pane", "-p", "-t", &pane]))
            .filter(|s| !s.contains("docs ·") && s.contains("redesign"))
    });
    stage.tmux(&["send-keys", "-t", &pane, "Escape"]);
    stage.stop();
    shows(&mut stage, &pane, "server away");
    stage.start();
    let web = stage.home.path().join("web");
    stage.event("Stop", "s-web", &web, json!({"last_assistant_message": "The page is redesigned."}));
    wait_for("the end of the turn", || {
        Some(stage.tmux(&["capture-pane", "-p", "-t", &pane]))
            .filter(|s| !s.contains("server away") && s.contains("+ web"))
    });
    stage.tmux(&["send-keys", "-t", &pane, "q"]);
    wait_for("its end", || stage.run(&["status", "--short"]).status.success().then_some(()));
}

#[test]
fn top_fits_a_small_terminal_and_gives_the_screen_back_when_killed() {
    let mut stage = populated();
    let command = format!(
        "sh -c 'echo before; env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} top; echo after; exec cat'",
        stage.home.path().display(),
        stage.path(),
        env!("CARGO_BIN_EXE_headspace")
    );
    let pane = stage.tmux(&["new-session", "-d", "-x", "80", "-y", "24", "-P", "-F", "#{pane_id}", &command]);
    let screen = shows(&mut stage, &pane, "Allow Bash: npm test");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let shell = stage.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    let child = std::process::Command::new("pgrep").args(["-P", &shell]).output().unwrap();
    let child: i32 = String::from_utf8(child.stdout).unwrap().trim().parse().unwrap();
    // SAFETY: a child of our own tmux pane, found a moment ago.
    unsafe { libc::kill(child, libc::SIGTERM) };
    let screen = shows(&mut stage, &pane, "after");
    assert!(screen.contains("before") && !screen.contains("Allow Bash"), "{screen}");
}

#[test]
fn the_tmux_line_follows_the_agents() {
    let mut stage = populated();
    stage.tmux(&["new-session", "-d", "-s", "work", "exec sleep 600"]);
    let line =
        format!("#(HOME={} {} status --tmux)", stage.home.path().display(), env!("CARGO_BIN_EXE_headspace"));
    stage.tmux(&["set-option", "-g", "status-right", &line]);
    stage.tmux(&["set-option", "-g", "status-interval", "1"]);
    let terminal = Terminal::attached(&stage, "work");
    wait_for("the line", || terminal.screen().contains("!1 *1 +1").then_some(()));
}
