//! The hook's short way, before the C library has started: it sends what the ordinary way sends, and leaves to it whatever
//! is not plain, without doing anything twice.

use headspace_test_support::{Home, each_row, run, skip, wait_until};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

const STORED: &str = r#"{"status":"ok","event_id":7,"agent_id":1}"#;

/// A set variable that turns nothing on, and so makes a hook go the ordinary way.
const ORDINARY_WAY: (&str, &str) = ("HEADSPACE_DEBUG", "0");

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A home with a server's socket in it. What each connection sends is told, and answered by `reply`.
struct StandIn {
    home: Home,
    requests: Receiver<String>,
}

impl StandIn {
    fn new(reply: impl Fn(UnixStream) + Send + 'static) -> StandIn {
        let mut home = Home::new();
        home.unset("CLAUDE_HEADSPACE_URL");
        std::fs::create_dir_all(home.state()).unwrap();
        std::fs::set_permissions(home.state(), std::fs::Permissions::from_mode(0o700)).unwrap();
        home.write(home.state().join("host_id"), "00112233445566778899aabbccddeeff\n");
        let listener = UnixListener::bind(home.state().join("headspace.sock")).unwrap();
        let (told, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                if told.send(request(&mut stream)).is_err() {
                    return;
                }
                reply(stream);
            }
        });
        StandIn { home, requests }
    }

    fn hook(&self, variables: &[(&str, &str)]) -> Command {
        let mut hook = self.home.command(&["notify"]);
        hook.envs(variables.iter().copied());
        hook
    }

    fn only_request(&self) -> String {
        let request = self.requests.recv().unwrap();
        assert!(self.requests.try_recv().is_err(), "it was sent twice");
        request
    }
}

/// One whole request.
fn request(stream: &mut UnixStream) -> String {
    let (mut bytes, mut piece) = (Vec::new(), [0; 65536]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Some((_, length)) = head.split_once("content-length: ")
            && body.len() >= length.lines().next().unwrap().parse().unwrap()
        {
            return text;
        }
        match stream.read(&mut piece).unwrap() {
            0 => return text,
            length => bytes.extend_from_slice(&piece[..length]),
        }
    }
}

/// Without what differs from call to call.
fn comparable(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut body = body.to_owned();
    for name in ["\"sent_at\":\"", "\"delivery_id\":\""] {
        let from = body.find(name).unwrap_or_else(|| panic!("no {name} in {body}")) + name.len();
        let length = body[from..].find('"').unwrap();
        assert!(length == 30 || length == 32, "{body}");
        body.replace_range(from..from + length, "…");
    }
    format!("{head}\n{body}")
}

fn plain() -> String {
    json!({"session_id": "s", "hook_event_name": "PreToolUse", "cwd": "/p", "tool_input": {"command": "ls"}})
        .to_string()
}

struct Case {
    name: &'static str,
    variables: &'static [(&'static str, &'static str)],
    configuration: &'static str,
    payload: String,
    /// Whether the short way is enough.
    short: bool,
}

fn cases() -> Vec<Case> {
    let case = |name, variables, configuration, payload: String, short| Case {
        name,
        variables,
        configuration,
        payload,
        short,
    };
    let own = std::process::id();
    let with_pid: &'static [(&str, &str)] = Box::leak(Box::new([("CLAUDE_PID", &*own.to_string().leak())]));
    vec![
        case("plain", &[], "", plain(), true),
        case("blanks around it", &[], "", format!(" \n{}\n\n", plain()), true),
        case("a client's process", with_pid, "", plain(), true),
        case("a process that is gone", &[("CLAUDE_PID", "4194304")], "", plain(), true),
        case("no number", &[("CLAUDE_PID", "+7")], "", plain(), false),
        case(
            "everything a terminal says",
            &[
                ("TMUX", "/tmp/tmux-1000/default,1,0"),
                ("TMUX_PANE", "%3"),
                ("KITTY_WINDOW_ID", "1"),
                ("KITTY_LISTEN_ON", "unix:/k"),
                ("WEZTERM_PANE", "2"),
                ("ITERM_SESSION_ID", "w0t0p0:A"),
                ("TERM_PROGRAM", "x"),
                ("GHOSTTY_RESOURCES_DIR", "/usr/share/ghostty"),
                ("CLAUDE_HEADSPACE_TMUX_SESSION", "größer"),
                ("CLAUDE_CODE_ENTRYPOINT", "cli"),
                ("CLAUDE_SESSION_ROLE", "dev"),
                ("CLAUDE_SESSION_MODE", "interactive"),
                ("CLAUDE_HEADSPACE_SESSION_ID", "mine"),
                ("CLAUDE_SESSION_ID", "theirs"),
            ],
            "",
            plain(),
            true,
        ),
        case("only the client's id", &[("CLAUDE_SESSION_ID", "theirs")], "", plain(), true),
        case("empty variables", &[("TMUX", ""), ("CLAUDE_PID", ""), ("CLAUDE_HEADSPACE_URL", "")], "", plain(), true),
        case("a quote in a variable", &[("TMUX_PANE", "a\"b\\c")], "", plain(), false),
        case("a control character", &[("TMUX_PANE", "a\tb")], "", plain(), false),
        case("a harmless configuration", &[], "{\"port\": 5056 /* x */}", plain(), true),
        case("an empty configuration", &[], "", plain(), true),
        case("a guard that is off", &[], "{\"guard\": {\"enabled\": false}}", plain(), false),
        case("a configuration that is none", &[], "{", plain(), true),
        case("another client's variable", &[("COPILOT_CLI", "1")], "", plain(), false),
        case(
            "the payload's own words",
            &[("TMUX_PANE", "%3")],
            "",
            json!({"session_id": "s", "hook_event_name": "Stop", "host": "far", "tmux_pane": null, "claude_pid": 3})
                .to_string(),
            true,
        ),
        case("an escaped key", &[], "", plain().replace("session_id", "session\\u005fid"), false),
        case("a doubled key", &[], "", plain().replace("\"cwd\"", "\"session_id\":\"a\",\"cwd\""), true),
        case("an event of the future", &[], "", plain().replace("PreToolUse", "SomeThingNew2"), true),
        case("a slug", &[], "", plain().replace("PreToolUse", "pre-tool-use"), true),
        case("an odd name", &[], "", plain().replace("PreToolUse", "A b/ü"), false),
        case("a session's start", &[], "{\"port\": 5056}", plain().replace("PreToolUse", "SessionStart"), false),
        case("a session's start without a configuration", &[], "", plain().replace("PreToolUse", "SessionStart"), true),
        case("many members", &[], "", {
            let mut many = json!({"session_id": "s", "hook_event_name": "Stop"});
            (0..60).for_each(|n| many[format!("m{n}")] = json!(n));
            many.to_string()
        }, false),
        case("depth", &[], "", plain().replace("\"ls\"", &format!("{}1{}", "[".repeat(90), "]".repeat(90))), false),
        case("a large payload", &[], "", plain().replace("ls", &"x".repeat(70_000)), false),
        case("bytes that are no text", &[], "", plain().replace("ls", "\\ud800"), true),
    ]
}

#[test]
fn both_ways_send_the_same() {
    each_row(
        cases(),
        |case| case.name.to_owned(),
        |case| {
            let stand_in = StandIn::new(|mut stream| {
                let _ = stream.write_all(answer("200 OK", STORED).as_bytes());
            });
            if !case.configuration.is_empty() {
                stand_in.home.configure(case.configuration);
            }
            let [short, ordinary] = [None, Some(ORDINARY_WAY)].map(|way| {
                let mut hook = stand_in.hook(case.variables);
                hook.envs(way);
                let said = run(hook, &case.payload);
                assert_eq!(said.status.code(), Some(0), "{said:?}");
                assert!(said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
                comparable(&stand_in.only_request())
            });
            assert_eq!(short, ordinary);
            assert!(stand_in.home.spooled().is_empty());
        },
    );
}

#[test]
fn the_short_way_is_taken_by_what_is_plain() {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        return skip("there is no short way on this system");
    }
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        return skip("no strace, to see which way a hook takes");
    }
    each_row(
        cases(),
        |case| case.name.to_owned(),
        |case| {
            let stand_in = StandIn::new(|mut stream| {
                let _ = stream.write_all(answer("200 OK", STORED).as_bytes());
            });
            if !case.configuration.is_empty() {
                stand_in.home.configure(case.configuration);
            }
            let calls = stand_in.home.at("calls");
            let arguments = ["-o", calls.to_str().unwrap(), headspace_test_support::binary(), "notify"];
            let mut hook = stand_in.home.command_of("strace", &arguments);
            hook.envs(case.variables.iter().copied());
            let said = run(hook, &case.payload);
            assert_eq!(said.status.code(), Some(0), "{said:?}");
            let calls = std::fs::read_to_string(calls).unwrap();
            assert!(calls.contains("execve"), "{calls}");
            assert!(!calls.contains("--- SIGSEGV"), "{calls}");
            // Without it there is no C library.
            assert_eq!(!calls.contains("arch_prctl"), case.short, "{calls}");
        },
    );
}

/// What a server may do to a hook, what the hook prints, and whether the event is kept.
type Weather = (&'static str, fn(UnixStream), &'static str, bool);

#[test]
fn what_the_short_way_began_the_ordinary_way_ends() {
    let weathers: [Weather; 6] = [
        (
            "an answer in two pieces",
            |mut stream| {
                let answer = answer("200 OK", STORED);
                let (one, two) = answer.split_at(60);
                stream.write_all(one.as_bytes()).unwrap();
                // So that the pieces come one by one, mostly; either way the hook takes both.
                std::thread::yield_now();
                stream.write_all(two.as_bytes()).unwrap();
            },
            "",
            false,
        ),
        (
            "words for the client",
            |mut stream| {
                let words = r#"{"status":"ok","event_id":7,"hook_output":{"systemMessage":"hello"}}"#;
                stream.write_all(answer("200 OK", words).as_bytes()).unwrap();
            },
            "{\"systemMessage\":\"hello\"}\n",
            false,
        ),
        (
            "an event that will never be taken",
            |mut stream| {
                let refused = r#"{"status":"error","message":"no"}"#;
                stream.write_all(answer("400 Bad Request", refused).as_bytes()).unwrap();
            },
            "",
            false,
        ),
        (
            "a disk that is full",
            |mut stream| stream.write_all(answer("503 Service Unavailable", "{}").as_bytes()).unwrap(),
            "",
            true,
        ),
        ("somebody else", |mut stream| stream.write_all(b"SSH-2.0-x\r\n").unwrap(), "", true),
        ("a server that dies", drop, "", true),
    ];
    each_row(
        weathers,
        |(name, ..)| (*name).to_owned(),
        |(_, reply, printed, kept)| {
            let stand_in = StandIn::new(reply);
            let said = run(stand_in.hook(&[]), plain());
            assert_eq!(said.status.code(), Some(0), "{said:?}");
            assert_eq!((String::from_utf8_lossy(&said.stdout), &*said.stderr), (printed.into(), &[][..]));
            let request = stand_in.only_request();
            let spooled = stand_in.home.spooled();
            assert_eq!(spooled.len(), usize::from(kept));
            if let Some((_, body)) = spooled.first() {
                let sent: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
                assert_eq!(*body, sent, "the same event, and so the same delivery");
            }
        },
    );
}

/// A server that takes the event and says nothing: the hook gives up by itself, and keeps the event. A request to end
/// meanwhile does not end it.
#[test]
fn a_server_that_says_nothing_and_a_request_to_end_lose_nothing() {
    let held = std::sync::Mutex::new(Vec::new());
    let stand_in = StandIn::new(move |stream| held.lock().unwrap().push(stream));
    let mut hook = stand_in.hook(&[]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Standard input stays open, and comes in two pieces.
    let mut input = hook.stdin.take().unwrap();
    let payload = plain();
    let (one, two) = payload.split_at(40);
    input.write_all(one.as_bytes()).unwrap();
    input.write_all(two.as_bytes()).unwrap();
    stand_in.requests.recv().unwrap();
    // SAFETY: a signal to a child of this test that has not been waited for.
    unsafe { libc::kill(hook.id().cast_signed(), libc::SIGTERM) };
    let code = hook.wait().unwrap().code();
    assert_eq!(code, Some(0));
    assert_eq!(stand_in.home.spooled().len(), 1);
    assert!(stand_in.requests.try_recv().is_err(), "it was sent twice");
}

#[test]
fn without_a_server_the_event_is_kept_once() {
    let mut home = Home::new();
    home.unset("CLAUDE_HEADSPACE_URL");
    home.configure(json!({"port": headspace_test_support::free_port()}));
    let said = run(home.command(&["notify"]), plain());
    assert_eq!(said.status.code(), Some(0));
    assert!(said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
    // The second time there is the machine's id.
    run(home.command(&["notify"]), plain());
    wait_until("both to be kept", || home.spooled().len() == 2);
    let garbage = run(home.command(&["notify"]), "no JSON");
    assert_eq!((garbage.status.code(), home.spooled().len()), (Some(0), 2));
}
