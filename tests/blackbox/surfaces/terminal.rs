//! What people see and do in the terminal, through the binary and a real tmux.

use headspace_test_support::{Home, Installation, Process, Tmux, binary, each_row, wait_for, wait_until};
use serde_json::{Value, json};
use std::path::Path;

/// What runs in a pane if only the pane matters.
const SLEEP: &str = "exec sleep 600";

fn prompt(home: &Home, session: &str, cwd: &Path, text: &str) {
    home.send("UserPromptSubmit", session, cwd, json!({"prompt": text}));
}

fn asks(home: &Home, session: &str, cwd: &Path, command: &str, env: &[(&str, &str)]) {
    let more = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    home.send_with("PermissionRequest", session, cwd, more, env);
}

/// One agent that asks, one that works, one that is done.
fn populated() -> Installation {
    let home = Installation::new(json!({}));
    let (api, web, docs) =
        (home.project("api", "fix-auth"), home.project("web", "main"), home.project("docs", "main"));
    prompt(&home, "s-docs", &docs, "summarize the changes");
    home.send("Stop", "s-docs", &docs, json!({"last_assistant_message": "All summarized."}));
    prompt(&home, "s-web", &web, "redesign the landing page");
    home.send(
        "PreToolUse",
        "s-web",
        &web,
        json!({"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": "App.tsx"}}),
    );
    prompt(&home, "s-api", &api, "fix the login tests");
    asks(&home, "s-api", &api, "npm test", &[]);
    home
}

#[test]
fn status_shows_the_question_first_in_every_format() {
    let home = populated();
    let screen = home.ok(&["status"]);
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines[0].starts_with("! api") && lines[0].contains("Allow Bash: npm test"), "{screen}");
    assert!(lines[1].starts_with("* web") && lines[1].contains("Edit: App.tsx"), "{screen}");
    assert!(lines[2].starts_with("+ docs"), "{screen}");
    assert!(screen.contains("hooks active"), "{screen}");
    assert!(!screen.contains('\x1b'), "colors without a terminal: {screen}");
    assert_eq!(home.ok(&["status", "--short"]), "!1 *1 +1\n");
    assert!(home.ok(&["status", "--tmux"]).starts_with("#[fg=colour214,bold]!1#[default] "));
    asks(&home, "s-api", &home.project("api", "fix-auth"), "a && b <c", &[]);
    let waybar: Value = serde_json::from_str(&home.ok(&["status", "--waybar"])).unwrap();
    assert_eq!((&waybar["text"], &waybar["class"]), (&json!("!1 *1 +1"), &json!("needs_you")));
    let tooltip = waybar["tooltip"].as_str().unwrap();
    assert!(tooltip.contains("Allow Bash: a &amp;&amp; b &lt;c"), "waybar reads markup: {tooltip}");
    let all: Value = serde_json::from_str(&home.ok(&["status", "--json"])).unwrap();
    assert_eq!(
        (&all["version"], &all["agents"][0]["status_detail"]),
        (&json!(1), &json!("Allow Bash: a && b <c"))
    );
    assert_eq!(home.run(&["status", "--exit-code"]).status.code(), Some(10));
}

#[test]
fn status_shows_the_last_known_state_without_a_server() {
    let mut home = populated();
    home.stop();
    let screen = home.ok(&["status"]);
    assert!(
        screen.contains("Allow Bash: npm test") && screen.contains("server not running, last known"),
        "{screen}"
    );
    assert_eq!(home.ok(&["status", "--short"]), "!1 *1 +1\n");
}

#[test]
fn foreign_text_cannot_control_the_terminal() {
    let home = Installation::new(json!({}));
    let dir = home.project("evil\u{1b}[2J", "main");
    asks(&home, "s1", &dir, "echo \u{1b}]0;owned\u{7} \u{202e}txt \u{9b}31m", &[]);
    each_row(
        [
            &["status"][..],
            &["status", "--json"],
            &["events"],
            &["events", "--json"],
            &["next", "--print"],
            &["explain", "1"],
            &["explain", "1", "--json"],
        ],
        |args| format!("{args:?}"),
        |args| {
            let out = home.run(args);
            let text = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
            assert!(
                !text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
                "{args:?}: {text:?}"
            );
        },
    );
}

#[test]
fn events_without_a_server_say_what_to_do() {
    let out = Installation::without_server(json!({})).run(&["events"]);
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(text.starts_with("headspace: could not reach the server at http://"), "{text}");
    assert!(
        text.contains(": `headspace up` starts it; there is no history in ") && !text.contains("os error"),
        "{text}"
    );
}

#[test]
fn explain_names_the_event_behind_the_state() {
    let home = populated();
    let text = home.ok(&["explain", "api"]);
    assert!(
        text.contains("needs you since")
            && text.contains("Allow Bash: npm test (hook, high), not closed since"),
        "{text}"
    );
    assert!(text.contains("processing ▶ awaiting_input"), "{text}");
}

#[test]
fn events_can_be_searched() {
    let home = populated();
    let text = home.ok(&["events", "--type", "PermissionRequest"]);
    assert!(text.lines().count() == 1 && text.contains("Bash: npm test"), "{text}");
    let lines = home.ok(&["events", "--agent", "web", "--json"]);
    assert!(
        lines.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["session_id"] == "s-web"),
        "{lines}"
    );
    assert_eq!(home.ok(&["events", "-n", "0"]), "");
}

#[test]
fn an_agent_can_be_renamed() {
    let home = populated();
    home.ok(&["rename", "web", "Landing page"]);
    assert!(home.ok(&["status"]).contains("Landing page"));
}

/// A terminal that shows a session of `inner`: a pane of another tmux.
fn attached(home: &Home, inner: &Tmux, session: &str) -> Tmux {
    let outer = Tmux::new(home, "outer.sock").unwrap();
    let attach = format!("env -u TMUX tmux -S {} attach -t {session}", inner.socket().display());
    outer.run(&["new-session", "-d", "-s", "outer", "-x", "80", "-y", "12", &attach]);
    outer
}

/// A stand-in for the client in a pane: something that sleeps, with a known pid and start time.
struct Pane {
    id: String,
    pid: String,
}

fn pane(tmux: &Tmux, args: &[&str], command: &str) -> Pane {
    let id = tmux.run(&[args, &["-P", "-F", "#{pane_id}", command]].concat());
    let pid = tmux.run(&["display-message", "-p", "-t", &id, "#{pane_pid}"]);
    Pane { id, pid }
}

fn asks_in(home: &Home, tmux: &Tmux, pane: &Pane, session: &str, cwd: &Path) {
    let socket = tmux.variable();
    let env = [("TMUX_PANE", pane.id.as_str()), ("TMUX", socket.as_str()), ("CLAUDE_PID", pane.pid.as_str())];
    asks(home, session, cwd, "npm test", &env);
}

fn active_pane(tmux: &Tmux, session: &str) -> String {
    tmux.run(&["display-message", "-p", "-t", session, "#{pane_id}"])
}

#[test]
fn next_selects_the_longest_waiting_pane_and_jump_the_named_one() {
    let home = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    let dirs = [home.project("one", "main"), home.project("two", "main")];
    let first = pane(&tmux, &["new-session", "-d", "-s", "work"], SLEEP);
    let second = pane(&tmux, &["new-window", "-d", "-t", "work"], SLEEP);
    tmux.run(&["new-window", "-t", "work", SLEEP]);
    asks_in(&home, &tmux, &first, "s1", &dirs[0]);
    asks_in(&home, &tmux, &second, "s2", &dirs[1]);
    // No terminal shows this tmux, so the pane is selected and the error says how to get there.
    let out = home.run(&["next"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("tmux attach -t 'work'"), "{out:?}");
    assert_eq!(active_pane(&tmux, "work"), first.id);
    home.run(&["jump", "two"]);
    assert_eq!(active_pane(&tmux, "work"), second.id);
}

#[test]
fn a_jump_moves_a_terminal_that_shows_another_session() {
    let home = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    let dir = home.project("one", "main");
    tmux.run(&["new-session", "-d", "-s", "elsewhere", SLEEP]);
    let client = pane(&tmux, &["new-session", "-d", "-s", "work"], SLEEP);
    asks_in(&home, &tmux, &client, "s1", &dir);
    let terminal = attached(&home, &tmux, "elsewhere");
    wait_until("the terminal", || tmux.run(&["list-clients", "-F", "#{session_name}"]) == "elsewhere");
    let out = home.run(&["next"]);
    let shown = tmux.run(&["list-clients", "-F", "#{session_name}"]);
    drop(terminal);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(shown, "work");
}

#[test]
fn a_reused_pane_is_never_focused() {
    let home = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    let dir = home.project("one", "main");
    let gone = pane(&tmux, &["new-session", "-d", "-s", "work"], SLEEP);
    tmux.run(&["new-window", "-t", "work", SLEEP]);
    let before = active_pane(&tmux, "work");
    asks_in(&home, &tmux, &gone, "s1", &dir);
    // The pane now runs another process.
    tmux.run(&["respawn-pane", "-k", "-t", &gone.id, SLEEP]);
    let out = home.run(&["jump", "one"]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(active_pane(&tmux, "work"), before, "{out:?}");
}

#[test]
fn a_vanished_pane_is_never_focused() {
    let home = Installation::new(json!({}));
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    let dir = home.project("one", "main");
    let mut gone = pane(&tmux, &["new-session", "-d", "-s", "work"], SLEEP);
    tmux.run(&["new-window", "-t", "work", SLEEP]);
    let before = active_pane(&tmux, "work");
    // The client outlives its pane: the server would soon notice that it is gone, and end the agent.
    let client = Process::idle();
    gone.pid = client.id().to_string();
    asks_in(&home, &tmux, &gone, "s1", &dir);
    tmux.run(&["kill-pane", "-t", &gone.id]);
    let out = home.run(&["jump", "one"]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(active_pane(&tmux, "work"), before);
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(said.contains("Allow Bash: npm test") && said.contains(&gone.id), "{said}");
}

fn top(home: &Home, tmux: &Tmux, width: &str, height: &str) -> String {
    let command = format!(
        "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} top",
        home.path().display(),
        home.search_path(),
        binary()
    );
    tmux.run(&["new-session", "-d", "-x", width, "-y", height, "-P", "-F", "#{pane_id}", &command])
}

fn shows(tmux: &Tmux, pane: &str, what: &str) -> String {
    wait_for(what, || Some(tmux.screen(pane)).filter(|screen| screen.contains(what)))
}

#[test]
fn top_shows_and_filters_the_list_and_survives_a_restart() {
    let mut home = populated();
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    let pane = top(&home, &tmux, "120", "30");
    let screen = shows(&tmux, &pane, "Allow Bash: npm test");
    assert!(screen.lines().nth(1).unwrap().contains("! api · fix-auth"), "{screen}");
    shows(&tmux, &pane, "fix the login tests");
    tmux.run(&["send-keys", "-t", &pane, "?"]);
    shows(&tmux, &pane, "move to its terminal pane");
    tmux.run(&["send-keys", "-t", &pane, "Escape"]);
    tmux.run(&["send-keys", "-t", &pane, "/land"]);
    tmux.run(&["send-keys", "-t", &pane, "Enter"]);
    wait_for("the filter", || {
        Some(tmux.screen(&pane)).filter(|s| !s.contains("docs ·") && s.contains("redesign"))
    });
    tmux.run(&["send-keys", "-t", &pane, "Escape"]);
    home.stop();
    shows(&tmux, &pane, "server away");
    home.start();
    let web = home.at("web");
    home.send("Stop", "s-web", &web, json!({"last_assistant_message": "The page is redesigned."}));
    wait_for("the end of the turn", || {
        Some(tmux.screen(&pane)).filter(|s| !s.contains("server away") && s.contains("+ web"))
    });
    tmux.run(&["send-keys", "-t", &pane, "q"]);
    wait_until("its end", || !tmux.command(&["has-session"]).output().unwrap().status.success());
}

#[test]
fn top_fits_a_small_terminal_and_restores_the_screen_when_killed() {
    let home = populated();
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    let command = format!(
        "sh -c 'echo before; env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} top; echo after; exec cat'",
        home.path().display(),
        home.search_path(),
        binary()
    );
    let pane = tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", "-P", "-F", "#{pane_id}", &command]);
    let screen = shows(&tmux, &pane, "Allow Bash: npm test");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let shell = tmux.run(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    let child = std::process::Command::new("pgrep").args(["-P", &shell]).output().unwrap();
    let child: i32 = String::from_utf8(child.stdout).unwrap().trim().parse().unwrap();
    // SAFETY: a child of our own tmux pane, found a moment ago.
    unsafe { libc::kill(child, libc::SIGTERM) };
    let screen = shows(&tmux, &pane, "after");
    assert!(screen.contains("before") && !screen.contains("Allow Bash"), "{screen}");
}

#[test]
fn the_tmux_line_follows_the_agents() {
    let home = populated();
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    tmux.run(&["new-session", "-d", "-s", "work", SLEEP]);
    let line = format!("#(HOME={} {} status --tmux)", home.path().display(), binary());
    tmux.run(&["set-option", "-g", "status-right", &line]);
    tmux.run(&["set-option", "-g", "status-interval", "1"]);
    let terminal = attached(&home, &tmux, "work");
    wait_until("the line", || terminal.screen("outer").contains("!1 *1 +1"));
}

#[test]
fn the_address_shown_is_where_the_server_listens_not_the_configured_port() {
    let mut home = Home::with_xdg_directories();
    let server = home.serve();
    let url = server.url();
    assert_ne!(server.port, 5055, "the server chose another port than the default");

    let screen = home.ok(&["status"]);
    assert!(screen.trim_end().ends_with(&url), "{screen}");
    assert_eq!(home.json(&["status"])["url"], url);
    let link = home.ok(&["open", "--print"]);
    assert!(link.starts_with(&format!("{url}/login?code=")), "{link}");
    let findings = home.run(&["doctor"]);
    let findings = String::from_utf8_lossy(&findings.stdout);
    assert!(findings.contains(&format!("on {url} (pid {})", server.pid())), "{findings}");

    let named = format!("http://localhost:{}", server.port);
    home.set("CLAUDE_HEADSPACE_URL", &named);
    assert_eq!(home.json(&["status"])["url"], named, "an address that was named is shown as named");
}

#[test]
fn an_agent_is_named_as_status_prints_it() {
    let home = populated();
    for name in ["api · fix-auth", "api/fix-auth", "API · FIX", "api · fix-a…"] {
        for command in ["show", "explain", "export", "events"] {
            let text = home.ok(&[command, name]);
            assert!(text.contains("npm test"), "{command} {name}: {text}");
        }
    }
    let refused = |args: &[&str]| {
        let out = home.run(args);
        assert_ne!(out.status.code(), Some(0), "{args:?}");
        String::from_utf8(out.stderr).unwrap()
    };
    assert!(refused(&["show", "Nobody Here"]).contains("could not find an agent called \"Nobody Here\":"));
    prompt(&home, "s-api-2", &home.project("api", "fix-logout"), "log out everywhere");
    let several = refused(&["show", "api"]);
    let in_order = "could not tell which agent \"api\" is: api · fix-auth (3), api · fix-logout (4); ";
    assert!(several.contains(in_order), "{several}");
    home.send("SessionEnd", "s-docs", &home.project("docs", "main"), json!({"reason": "other"}));
    let ended = refused(&["jump", "docs"]);
    assert!(
        ended.contains("could not jump to docs · ")
            && ended.contains(": it has ended; `claude --resume s-docs`"),
        "{ended}"
    );
}

#[test]
fn what_matches_nothing_or_is_not_known_is_said() {
    let home = populated();
    each_row(
        [
            (&["events", "--grep", "zzz"][..], 0, "note: no event matches"),
            (&["events", "--client", "foo"], 2, "there is no such client; known are claude, "),
            (&["status", "--client", "foo"], 2, "there is no such client; known are claude, "),
            (&["status", "--client", "foo", "--json"], 2, "there is no such client; known are claude, "),
            (&["context", "show", "--role", "foo"], 2, "could not use the role \"foo\": there are no roles"),
            (&["rename", "…", "x"], 2, "could not find an agent without a name"),
            (&["prune", "--days", "x"], 2, "it has to be a whole number"),
        ],
        |(args, ..)| format!("{args:?}"),
        |(args, code, expected)| {
            let out = home.run(args);
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.code() == Some(code) && said.contains(expected), "{args:?}: {out:?}");
        },
    );
    assert!(home.ok(&["rename", "web", "  "]).contains("is now named automatically"));
}
