//! `headspace notify` under all conditions, against a fake server.

use headspace_test_support::{Home, NO_SERVER, Request, answer, each_row, listen, run, wait_for};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// On a busy machine a hook starts late, but what it could wait for here lasts forever.
const NOT_HELD_UP: Duration = Duration::from_secs(20);

const ACK: &str = r#"{"status":"ok","event_id":1,"agent_id":1}"#;

/// A command whose server is at `url`.
fn command(home: &Home, url: &str, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command
        .env("CLAUDE_HEADSPACE_URL", url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn notify(home: &Home, url: &str, input: impl AsRef<[u8]>) -> Output {
    run(command(home, url, &["notify"]), input)
}

fn silent_success(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// A server that takes a request and says nothing until the other side leaves.
fn hung(mut stream: TcpStream) {
    let _ = stream.read(&mut [0]);
}

const STOP: &str = "{\"session_id\":\"s1\",\"hook_event_name\":\"Stop\",\"x\":1.50}\n";

#[test]
fn an_event_is_posted_with_what_identifies_the_session() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    let token = home.write("state/headspace/token", "t0ken\n");
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = command(&home, &url, &["notify"]);
    let pid = std::process::id();
    command
        .env("CLAUDE_PID", pid.to_string())
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .env("CLAUDE_SESSION_ID", "launched")
        .env("CLAUDE_HEADSPACE_TMUX_SESSION", "")
        .env("TMUX", "/tmp/tmux-1/default,123,0")
        .env("TMUX_PANE", "%4")
        .env("KITTY_WINDOW_ID", "3")
        .env("GHOSTTY_RESOURCES_DIR", "/somewhere")
        .env("OTHER", "not-for-you");
    silent_success(&run(command, STOP));
    let request = requests.next();
    assert!(request.head.starts_with("POST /hook/stop HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("authorization"), Some("Bearer t0ken"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    let body = request.body;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let start = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19)?.parse::<u64>().ok());
    // Other systems have no such file to compare with.
    let start = start.or_else(|| headspace_platform::process::start_time(pid));
    let expected = json!({
        "session_id": "s1", "hook_event_name": "Stop", "x": 1.5, "claude_pid": pid, "claude_pid_start": start,
        "entrypoint": "cli", "headspace_session_id": "launched", "tmux_pane": "%4",
        "terminal": {"kitty_window_id": "3", "ghostty": true, "tmux_socket": "/tmp/tmux-1/default"},
        "host": body["host"], "host_id": body["host_id"], "sent_at": body["sent_at"], "delivery_id": body["delivery_id"],
    });
    assert_eq!(body, expected);
    assert!(["host", "host_id", "sent_at", "delivery_id"].iter().all(|name| body[name].is_string()));
    assert!(home.spooled().is_empty());
}

/// Machines can share a name, so each makes an id once and sends it with every event.
#[test]
fn the_machines_id_is_made_once_and_differs_between_machines() {
    use std::os::unix::fs::PermissionsExt;
    let (url, requests) = listen(answer("200 OK", ACK));
    let id_from = |home: &Home| {
        silent_success(&notify(home, &url, STOP));
        requests.next().body["host_id"].as_str().unwrap().to_owned()
    };
    let (home, other) = (Home::with_xdg_directories(), Home::with_xdg_directories());
    let id = id_from(&home);
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    assert_eq!(id_from(&home), id);
    assert_ne!(id_from(&other), id);
    let file = home.state().join("host_id");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), id);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(home.state()).unwrap().permissions().mode() & 0o777, 0o700);
    // An id that cannot be read does not lose the event.
    std::fs::write(&file, "").unwrap();
    silent_success(&notify(&home, &url, STOP));
    assert_eq!(requests.next().body["host_id"], Value::Null);
    std::fs::remove_file(&file).unwrap();
    assert_ne!(id_from(&home), id);
}

#[test]
fn an_event_that_was_not_acknowledged_is_in_the_spool() {
    let foreign = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>hello</html>";
    let endless = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"hook_output\":\"");
        while stream.write_all(&[b'x'; 65536]).is_ok() {}
    };
    let dripping = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{");
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let servers = [
        ("nobody", NO_SERVER.to_owned()),
        ("error", listen(answer("500 Internal Server Error", "{}")).0),
        (
            "stopping",
            listen(answer("503 Service Unavailable", r#"{"status":"error","message":"stopping"}"#)).0,
        ),
        ("not allowed", listen(answer("403 Forbidden", r#"{"status":"error","message":"no"}"#)).0),
        ("redirect", listen(answer("302 Found", ACK)).0),
        ("foreign 400", listen(answer("400 Bad Request", "<html>")).0),
        ("foreign 200", listen(move |mut stream| drop(stream.write_all(foreign.as_bytes()))).0),
        ("garbage", listen(|mut stream| drop(stream.write_all(&[0x80; 4096]))).0),
        ("hangs up", listen(drop).0),
        ("endless", listen(endless).0),
        ("dripping", listen(dripping).0),
        ("hung", listen(hung).0),
        ("no http", "https://127.0.0.1:1".to_owned()),
        ("nonsense", "what is this".to_owned()),
        ("unknown name", "http://no.such.host.invalid:1".to_owned()),
    ];
    // All at once, because each hook waits until its own limit.
    std::thread::scope(|scope| {
        let hook = |url| {
            scope.spawn(move || {
                let home = Home::with_xdg_directories();
                let start = Instant::now();
                let output = notify(&home, url, STOP);
                (output, start.elapsed(), home.spooled())
            })
        };
        let hooks: Vec<_> = servers.iter().map(|(server, url)| (server, hook(url))).collect();
        each_row(
            hooks,
            |(server, _)| server.to_string(),
            |(_, hook)| {
                let (output, took, spooled) = hook.join().unwrap();
                silent_success(&output);
                assert!(took < NOT_HELD_UP, "{took:?}");
                assert_eq!(spooled.len(), 1);
                assert_eq!(
                    (&spooled[0].0["slug"], &spooled[0].1["session_id"]),
                    (&json!("stop"), &json!("s1"))
                );
            },
        );
    });
}

#[test]
fn the_spool_holds_no_secrets() {
    let key = format!("{}_{}", "ghp", "aB3".repeat(12));
    let prompt = format!("push it\nwith {key}");
    let event =
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": prompt}).to_string();
    let home = Home::with_xdg_directories();
    silent_success(&notify(&home, NO_SERVER, &event));
    let (header, body) = home.spooled().remove(0);
    assert_eq!((&header["slug"], &body["session_id"]), (&json!("user-prompt-submit"), &json!("s1")));
    assert_eq!(body["prompt"], "push it\nwith [masked:github-token]");

    let paranoid = Home::with_xdg_directories();
    paranoid.configure(r#"{"paranoid": true}"#);
    silent_success(&notify(&paranoid, NO_SERVER, &event));
    let (_, body) = paranoid.spooled().remove(0);
    assert_eq!((&body["prompt"], &body["session_id"]), (&json!("[not stored]"), &json!("s1")));
}

#[test]
fn an_event_that_the_server_rejects_is_not_spooled() {
    each_row(
        ["400 Bad Request", "413 Payload Too Large"],
        |status| status.to_string(),
        |status| {
            let (home, (url, _requests)) = (
                Home::with_xdg_directories(),
                listen(answer(status, r#"{"status":"error","message":"no"}"#)),
            );
            silent_success(&notify(&home, &url, STOP));
            assert!(home.spooled().is_empty(), "{status}");
        },
    );
}

#[test]
fn garbage_is_neither_delivered_nor_kept() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    each_row(
        [
            "",
            "null",
            "not json{{{",
            "[]",
            "{\"session_id\":\"s\"",
            "{\"hook_event_name\":\"Stop\"}",
            "{\"session_id\":\"\",\"hook_event_name\":\"Stop\"}",
            "{\"session_id\":7,\"hook_event_name\":\"Stop\"}",
            "{\"session_id\":\"s\"}",
            "{\"session_id\":\"s\",\"hook_event_name\":\"\"}",
        ],
        |input| format!("{input:?}"),
        |input| {
            silent_success(&notify(&home, &url, input));
            silent_success(&notify(&home, NO_SERVER, input));
        },
    );
    assert!(requests.is_empty());
    assert!(home.spooled().is_empty());
}

#[test]
fn the_event_name_in_the_arguments_wins() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    each_row(
        [
            ("PostToolUse", "/hook/post-tool-use"),
            ("post-tool-use", "/hook/post-tool-use"),
            ("a b/../c", "/hook/a%20b%2F%2E%2E%2Fc"),
            ("", "/hook/stop"),
            ("--quiet", "/hook/stop"),
        ],
        |(argument, ..)| format!("{argument:?}"),
        |(argument, path)| {
            silent_success(&run(command(&home, &url, &["notify", argument]), STOP));
            let head = requests.next().head;
            assert_eq!(head.split(' ').nth(1), Some(path));
        },
    );
}

#[test]
fn help_is_printed_on_request() {
    each_row(
        [
            (&["notify", "--help"][..], "Usage: headspace notify [OPTIONS] [EVENT]"),
            (&["notify", "-h"], "Usage: headspace notify [OPTIONS] [EVENT]"),
            (&["help", "notify"], "Usage: headspace notify [OPTIONS] [EVENT]"),
            (&["help", "guard", "explain"], "Usage: headspace guard explain"),
            (&["help"], "Usage: headspace [COMMAND]"),
        ],
        |(words, ..)| format!("{words:?}"),
        |(words, usage)| {
            let output = run(command(&Home::with_xdg_directories(), NO_SERVER, words), "");
            assert!(output.status.success(), "{words:?}");
            assert!(String::from_utf8_lossy(&output.stdout).contains(usage), "{words:?}");
        },
    );
}

#[test]
fn stdin_that_never_closes_does_not_delay_the_event() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    let start = |input: &str| {
        let mut child = command(&home, &url, &["notify"]).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        (child, stdin)
    };
    let (whole, _open) = start(STOP);
    let (cut, _open_too) = start("{\"session_id\":\"s1\",\"hook_event_name\":");
    silent_success(&whole.wait_with_output().unwrap());
    assert_eq!(requests.next().body["session_id"], "s1");
    silent_success(&cut.wait_with_output().unwrap());
    assert!(home.spooled().is_empty());
}

#[test]
fn the_servers_output_is_printed_only_if_the_client_knows_it() {
    let context =
        |event: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "c"}});
    each_row(
        [
            (json!({"systemMessage": "Context at 80%"}), true),
            (context("Stop"), false),
            (context("SessionStart"), false),
            (json!({"decision": "block", "reason": "go on"}), false),
            (json!("text"), false),
            (Value::Null, false),
        ],
        |(output, _)| output.to_string(),
        |(output, printed)| {
            let body = json!({"status": "ok", "event_id": 1, "hook_output": output}).to_string();
            let (home, (url, _requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", &body)));
            let result = notify(&home, &url, STOP);
            assert_eq!(result.status.code(), Some(0));
            let said = serde_json::from_slice::<Value>(&result.stdout).ok();
            assert_eq!(said, printed.then_some(output));
        },
    );
}

#[test]
fn fields_that_the_payload_has_are_not_replaced() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    let input = r#"{"session_id":"s","hook_event_name":"Stop","host":"other","delivery_id":"d1","sent_at":"2026-01-01T00:00:00Z"}"#;
    silent_success(&notify(&home, &url, input));
    assert_eq!(requests.next().body, serde_json::from_str::<Value>(input).unwrap());
}

#[test]
fn two_hundred_hooks_at_once_spool_every_event_whole() {
    let (home, url) = (Home::with_xdg_directories(), NO_SERVER);
    let filler = "y".repeat(3000);
    let children: Vec<Child> = (0..200)
        .map(|n| {
            let mut child = command(&home, url, &["notify"]).spawn().unwrap();
            let input =
                format!(r#"{{"session_id":"s","hook_event_name":"Stop","n":{n},"filler":"{filler}"}}"#);
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            child
        })
        .collect();
    for child in children {
        silent_success(&child.wait_with_output().unwrap());
    }
    let spooled = home.spooled();
    let mut numbers: Vec<_> = spooled.iter().map(|(_, body)| body["n"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    assert!(spooled.iter().all(|(_, body)| body["filler"] == filler.as_str()));
    let stamps: Vec<_> = spooled.iter().map(|(_, body)| body["sent_at"].as_str().unwrap()).collect();
    assert!(stamps.is_sorted());
}

/// Runs `notify` against a hung server and sends it `signal` once the event has arrived there.
fn signalled(home: &Home, signal: i32) -> Output {
    let (url, requests) = listen(hung);
    let mut child = command(home, &url, &["notify"]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(STOP.as_bytes()).unwrap();
    requests.next();
    // SAFETY: our own child, not yet waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
    child.wait_with_output().unwrap()
}

#[test]
fn a_connection_that_is_never_accepted_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // SAFETY: an open descriptor. The queue is made as short as it can be, then filled: who comes now gets no answer.
    unsafe { libc::listen(listener.as_raw_fd(), 0) };
    let limit = Duration::from_millis(200);
    let waiting: Vec<_> = (0..8).map_while(|_| TcpStream::connect_timeout(&address, limit).ok()).collect();
    assert!(waiting.len() < 8);
    let home = Home::with_xdg_directories();
    silent_success(&notify(&home, &format!("http://{address}"), STOP));
    assert_eq!(home.spooled().len(), 1);
}

#[test]
fn a_hook_that_the_client_ends_does_not_lose_the_event() {
    each_row(
        [libc::SIGTERM, libc::SIGINT, libc::SIGHUP],
        |signal| format!("signal {signal}"),
        |signal| {
            let home = Home::with_xdg_directories();
            silent_success(&signalled(&home, signal));
            assert_eq!(home.spooled().len(), 1, "signal {signal}");
        },
    );
}

#[test]
fn a_crash_is_a_silent_success() {
    each_row(
        [libc::SIGSEGV, libc::SIGABRT],
        |signal| format!("signal {signal}"),
        |signal| {
            silent_success(&signalled(&Home::with_xdg_directories(), signal));
        },
    );
}

#[test]
fn the_time_limit_holds_if_the_parent_blocked_signals() {
    let (home, (url, _requests)) = (Home::with_xdg_directories(), listen(hung));
    let mut command = command(&home, &url, &["notify"]);
    let block = || {
        // SAFETY: only async-signal-safe calls between fork and exec.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { command.pre_exec(block) };
    silent_success(&run(command, STOP));
    assert_eq!(home.spooled().len(), 1);
}

#[test]
fn the_hook_survives_closed_descriptors() {
    let said = json!({"status": "ok", "event_id": 1, "hook_output": {"systemMessage": "hello"}}).to_string();
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", &said)));
    each_row(
        [&[0][..], &[1], &[2], &[1, 2], &[0, 1, 2]],
        |closed| format!("without {closed:?}"),
        |closed| {
            let mut command = command(&home, &url, &["notify"]);
            // SAFETY: close is async-signal-safe.
            unsafe {
                command.pre_exec(move || {
                    for &fd in closed {
                        libc::close(fd);
                    }
                    Ok(())
                });
            }
            assert_eq!(run(command, STOP).status.code(), Some(0), "{closed:?}");
            if !closed.contains(&0) {
                assert_eq!(requests.next().body["session_id"], "s1");
            }
        },
    );
}

#[test]
fn a_large_event_arrives_whole() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    let content = "line\\n".repeat(200_000);
    silent_success(&notify(
        &home,
        &url,
        format!(r#"{{"session_id":"s","hook_event_name":"Stop","c":"{content}"}}"#),
    ));
    assert_eq!(requests.next().body["c"].as_str().unwrap().len(), 1_000_000);
}

#[test]
fn the_debug_log_says_what_happened_without_secrets() {
    let (home, url) = (Home::with_xdg_directories(), NO_SERVER);
    silent_success(&notify(&home, url, STOP));
    assert!(!home.state().join("notify.log").exists());
    let mut command = command(&home, url, &["notify"]);
    command.env("HEADSPACE_DEBUG", "1").env("OTHER", "not-for-the-log");
    silent_success(&run(command, STOP));
    let log = std::fs::read_to_string(home.state().join("notify.log")).unwrap();
    assert!(log.contains("stop spooled: could not connect"), "{log}");
    assert!(!log.contains("not-for-the-log"));
}

#[test]
fn without_arguments_a_payload_is_delivered_and_anything_else_gets_the_help() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    silent_success(&run(command(&home, &url, &[]), STOP));
    assert_eq!(requests.next().body["session_id"], "s1");
    silent_success(&run(command(&home, &url, &[]), "{\"session_id\":\"s1\",\"hook_eve"));
    each_row(
        ["", "hello", "{}", "{\"session_id\":\"s\"}"],
        |input| format!("{input:?}"),
        |input| {
            let output = run(command(&home, &url, &[]), input);
            assert_eq!(output.status.code(), Some(2), "{input}");
            assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: headspace"), "{input}");
        },
    );
    assert!(requests.is_empty());
}

const STATUS: &str =
    r#"{"session_id":"s1","cwd":"/","model":{"id":"m","display_name":"Opus"},"cost":{"total_cost_usd":2}}"#;

#[test]
fn statusline_prints_the_users_own_line_and_reports_its_data() {
    let (home, (url, requests)) = (Home::with_xdg_directories(), listen(answer("200 OK", ACK)));
    each_row(
        [
            (&["statusline"][..], STATUS, "Opus · $2.00\n", 0),
            (&["statusline", "--", "cat; printf .; exit 3"], STATUS, &format!("{STATUS}."), 3),
            (&["statusline", "--", "printf", "%s|", "a b", "c"], STATUS, "a b|c|", 0),
            (&["statusline", "--", "true"], STATUS, "", 0),
            (&["statusline", "--", "kill -9 $$"], STATUS, "", 137),
        ],
        |(args, ..)| format!("{args:?}"),
        |(args, input, stdout, code)| {
            // The client draws it all the time, and what the server was late for is not sent again.
            let Request { head, body } = wait_for("the report", || {
                let output = run(command(&home, &url, args), input);
                assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{args:?}");
                assert_eq!(
                    (output.status.code(), output.stderr.as_slice()),
                    (Some(code), &b""[..]),
                    "{args:?}"
                );
                requests.next_within(Duration::from_secs(2))
            });
            assert!(head.starts_with("POST /hook/status-line HTTP/1.1\r\n"), "{head}");
            assert_eq!((&body["model"]["id"], body["delivery_id"].is_string()), (&json!("m"), true));
        },
    );
}

#[test]
fn statusline_works_without_a_server_and_with_invalid_input() {
    let home = Home::with_xdg_directories();
    each_row(
        [
            (NO_SERVER.to_owned(), STATUS, "", "Opus · $2.00\n"),
            (listen(hung).0, STATUS, "", "Opus · $2.00\n"),
            (NO_SERVER.to_owned(), "not json", "", ""),
            (NO_SERVER.to_owned(), "", "", ""),
            (NO_SERVER.to_owned(), "not json", "cat", "not json"),
            (NO_SERVER.to_owned(), "{\"cut", "cat", "{\"cut"),
        ],
        |(url, input, line, _)| format!("{url} {input:?} {line:?}"),
        |(url, input, line, stdout)| {
            let args: &[&str] = if line.is_empty() { &["statusline"] } else { &["statusline", "--", line] };
            let output = run(command(&home, &url, args), input);
            assert_eq!(output.status.code(), Some(0), "{input}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{input}");
        },
    );
    assert!(home.spooled().is_empty());
}
