//! `headspace open --phone`: the way of a phone to the dashboard, and back out.

use headspace_test_support::{Installation, Tmux, binary, wait_for, wait_until};
use serde_json::json;

#[test]
fn a_phone_gets_in_with_the_code_once_and_out_again() {
    let board = Installation::new(json!({"paranoid": false}));
    let Some(tmux) = Tmux::new(&board, "tmux.sock") else { return };
    let run = |args: &str| {
        let command = format!(
            "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} {args}; exec sleep 600",
            board.path().display(),
            board.search_path(),
            binary()
        );
        tmux.run(&["new-session", "-d", "-x", "100", "-y", "60", "-P", "-F", "#{pane_id}", &command])
    };
    let port = board.port();
    let pane = run("open --phone --address https://board.example");
    let before = std::fs::read_to_string(board.config_file()).unwrap();
    let screen =
        wait_for("the question", || Some(tmux.screen(&pane)).filter(|screen| screen.contains("[y/N]")));
    assert!(
        screen.contains("dashboard_url") && screen.contains(&format!("http://127.0.0.1:{port}")),
        "{screen}"
    );
    assert_eq!(std::fs::read_to_string(board.config_file()).unwrap(), before, "nothing without a yes");
    tmux.run(&["send-keys", "-t", &pane, "y", "Enter"]);
    let screen = wait_for("the code", || Some(tmux.screen(&pane)).filter(|screen| screen.contains("--off")));
    assert!(screen.contains('█') && screen.contains('▄'), "{screen}");
    let link =
        screen.lines().find_map(|line| line.strip_prefix("https://board.example")).unwrap().trim().to_owned();
    assert!(link.starts_with("/login?code="), "{link}");

    // What comes through the tunnel is not this user, though the tunnel runs as this user.
    let server = board.server();
    let through = |path: &str, more: &[(&str, &str)]| {
        let headers: Vec<(&str, &str)> =
            [("Host", "board.example")].into_iter().chain(more.iter().copied()).collect();
        server.request("GET", path, &headers, None)
    };
    assert_eq!(through("/api/agents", &[]).status, 403);
    let local = [("Host", "127.0.0.1"), ("X-Forwarded-For", "203.0.113.9")];
    assert_eq!(server.request("GET", "/api/agents", &local, None).status, 403);
    let login = through(&link, &[]);
    assert_eq!((login.status, login.header("location")), (303, Some("/")));
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(through("/api/agents", &[("Cookie", &cookie)]).status, 200);
    assert_eq!(through(&link, &[]).status, 403, "the code works once");

    let pane = run("open --phone --off");
    wait_until("the question", || tmux.screen(&pane).contains("[y/N]"));
    tmux.run(&["send-keys", "-t", &pane, "y", "Enter"]);
    wait_until("the configuration as it was", || {
        !std::fs::read_to_string(board.config_file()).unwrap().contains("dashboard_url")
    });
    wait_until("the server without the name", || {
        // It restarts: for a moment nobody listens.
        let headers = [("Host", "board.example"), ("Cookie", &cookie)];
        let response = server.try_request("GET", "/api/agents", &headers);
        response.is_some_and(|response| response.status == 403)
    });
    board.ok(&["down"]);
}

#[test]
fn only_a_person_opens_the_dashboard_to_the_network() {
    let board = Installation::new(json!({}));
    let out = board.run(&["open", "--phone"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1));
    assert!(said.contains("could not open the dashboard to your phone: only a person"), "{said}");
    let card = board.run(&["open", "nobody"]);
    assert_eq!(card.status.code(), Some(1));
}
