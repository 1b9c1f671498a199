//! `headspace hooks`, through the binary: each test has its own home and project.

use headspace_test_support::{Home, binary, each_row, listen, wait_until};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// What a command must not wait for lasts longer than this.
const NOT_HELD_UP: Duration = Duration::from_secs(20);

/// A home, and a project outside of it that has a blank in its name.
struct World {
    home: Home,
    project: PathBuf,
    _projects: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let projects = tempfile::tempdir().unwrap();
        let project = projects.path().canonicalize().unwrap().join("my project");
        std::fs::create_dir_all(&project).unwrap();
        let mut home = Home::new();
        // Some hooks of these tests are Python programs, wherever Python is installed.
        home.set("PATH", std::env::var_os("PATH").unwrap());
        home.set("OUT", home.at("out"));
        home.unset("CLAUDE_HEADSPACE_URL");
        home.run_in(project.clone());
        World { home, project, _projects: projects }
    }

    fn with(settings: Value) -> World {
        let world = World::new();
        world.put(&world.project.join(".claude/settings.json"), &settings.to_string());
        world
    }

    /// A world with these hooks under one event.
    fn hooks(event: &str, hooks: Value) -> World {
        World::with(json!({"hooks": {event: [{"hooks": hooks}]}}))
    }

    /// Writes a file of the project.
    fn put(&self, path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        self.home.command(&[&["hooks"], args].concat())
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn text(&self, args: &[&str]) -> String {
        String::from_utf8(self.run(args).stdout).unwrap()
    }

    fn out(&self) -> String {
        std::fs::read_to_string(self.home.at("out")).unwrap_or_default()
    }
}

#[test]
fn a_hook_that_times_out_is_killed_with_its_whole_process_group() {
    let command = "sleep 60 & echo $! > \"$OUT\"; trap '' TERM; echo partial; wait; wait";
    let world =
        World::hooks("UserPromptSubmit", json!([{"type": "command", "command": command, "timeout": 3}]));
    let begin = Instant::now();
    let answer = world.json(&["run", "UserPromptSubmit"]);
    assert!(begin.elapsed() < NOT_HELD_UP, "{:?}", begin.elapsed());
    let result = &answer["results"][0];
    assert_eq!(
        (&result["timed_out"], &result["success"], &result["exit_code"]),
        (&json!(true), &json!(false), &Value::Null)
    );
    assert_eq!(answer["context"], Value::Null, "what it printed is not used");
    let sleeper = world.out().trim().to_owned();
    assert!(!sleeper.is_empty(), "there was time to start a grandchild");
    wait_until("the grandchild is gone", || {
        !Path::new("/proc").join(&sleeper).exists() || is_zombie(&sleeper)
    });
}

fn is_zombie(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z'))
}

#[test]
fn a_background_child_that_holds_the_pipe_does_not_hold_the_answer() {
    let world = World::hooks("Stop", json!([{"type": "command", "command": "sleep 30 & echo started"}]));
    let begin = Instant::now();
    let answer = world.json(&["run", "Stop"]);
    assert!(begin.elapsed() < NOT_HELD_UP, "{:?}", begin.elapsed());
    let result = &answer["results"][0];
    assert_eq!(
        (&result["success"], &result["stdout"], &result["error"]),
        (&json!(true), &json!("started\n"), &Value::Null)
    );
}

#[test]
fn a_background_child_that_keeps_writing_does_not_hold_the_answer() {
    let world = World::hooks("Stop", json!([{"type": "command", "command": "yes & echo $! > \"$OUT\""}]));
    let begin = Instant::now();
    let answer = world.json(&["run", "Stop"]);
    assert!(begin.elapsed() < NOT_HELD_UP, "{:?}", begin.elapsed());
    assert_eq!(answer["results"][0]["success"], json!(true));
    let writer = world.out().trim().to_owned();
    wait_until("yes dies of its closed pipe", || {
        !Path::new("/proc").join(&writer).exists() || is_zombie(&writer)
    });
}

#[test]
fn output_is_cut_at_a_mebibyte_and_unread_input_is_no_failure() {
    let command = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 2000000 /dev/zero | tr '\\0' y >&2";
    let world = World::hooks("PreToolUse", json!([{"type": "command", "command": command}]));
    let payload = json!({"tool_name": "Write", "tool_input": {"content": "z".repeat(3_000_000)}}).to_string();
    world.put(&world.home.at("payload.json"), &payload);
    let input = world.home.at("payload.json");
    let answer = world.json(&["run", "PreToolUse", "--input", input.to_str().unwrap()]);
    let result = &answer["results"][0];
    assert_eq!(result["stdout"].as_str().unwrap().len(), 1 << 20);
    assert_eq!(result["stderr"].as_str().unwrap().len(), 1 << 20);
    assert_eq!((&result["truncated"], &result["success"]), (&json!(true), &json!(true)));
}

#[test]
fn killed_hooks_and_failed_starts_do_not_block() {
    let world = World::hooks(
        "PreToolUse",
        json!([
            {"type": "command", "command": "kill -TERM $$"},
            {"type": "command", "command": "kill -PIPE $$"},
            {"type": "command", "command": "/no/such/program", "args": ["x"]},
            {"type": "command", "command": "exit 3"},
            {"type": "agent", "prompt": "is it fine?"},
        ]),
    );
    let answer = world.json(&["run", "PreToolUse", "--tool", "Bash"]);
    let results = answer["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["success"] == json!(false)), "{results:?}");
    assert_eq!(results[0]["signal"], json!(15));
    assert_eq!(results[1]["signal"], json!(13), "a hook gets the default SIGPIPE");
    assert!(results[2]["error"].as_str().unwrap().contains("could not start"));
    assert_eq!((&results[3]["exit_code"], &results[3]["error"]), (&json!(3), &Value::Null));
    assert!(results[4]["error"].as_str().unwrap().contains("cannot be run here"));
    assert_eq!(answer["blocked"], json!(false));
}

#[test]
fn on_failure_block_turns_every_failure_into_a_block() {
    let failing = [
        json!({"type": "command", "command": "exit 1", "onFailure": "block"}),
        json!({"type": "command", "command": "kill -9 $$", "onFailure": "block"}),
        json!({"type": "command", "command": "/no/such/program", "args": [], "onFailure": "block"}),
        json!({"type": "command", "command": "echo '{'", "onFailure": "block"}),
        json!({"type": "http", "url": "http://127.0.0.1:1/", "onFailure": "block", "timeout": 2}),
    ];
    each_row(
        failing,
        |hook| hook.to_string(),
        |hook| {
            let answer =
                World::hooks("PreToolUse", json!([hook])).json(&["run", "PreToolUse", "--tool", "Bash"]);
            assert_eq!(answer["blocked"], json!(true), "{hook}: {answer}");
            let hook = json!([hook]);
            let answer = World::hooks("Stop", hook.clone()).json(&["run", "Stop"]);
            assert_eq!(answer["blocked"], json!(false), "the client ignores it on Stop: {hook}");
        },
    );
}

#[test]
fn an_async_hook_reads_its_payload_and_outlives_the_caller() {
    let hooks = json!([
        {"type": "command", "command": "sleep 0.3; cat > \"$OUT\"", "async": true},
        {"type": "command", "command": "true"},
    ]);
    let world = World::hooks("PreToolUse", hooks);
    let payload = json!({"tool_name": "Write", "tool_input": {"content": "z".repeat(200_000)}}).to_string();
    world.put(&world.home.at("payload.json"), &payload);
    let input = world.home.at("payload.json");
    let answer = world.json(&["run", "PreToolUse", "--input", input.to_str().unwrap()]);
    assert_eq!(answer["matched"].as_array().unwrap().len(), 2);
    assert_eq!(answer["results"].as_array().unwrap().len(), 1, "it is not waited for");
    wait_until("the payload is read", || world.out().len() > 200_000 && world.out().ends_with("}\n"));
}

#[test]
fn the_payload_is_a_sample_that_input_and_set_replace() {
    let world = World::hooks("PreToolUse", json!([{"type": "command", "command": "cat > \"$OUT\""}]));
    world.json(&[
        "run",
        "PreToolUse",
        "--tool",
        "Bash",
        "--set",
        "tool_input.command=git push",
        "--set",
        "n=1",
    ]);
    let payload: Value = serde_json::from_str(&world.out()).unwrap();
    assert_eq!(payload["tool_input"]["command"], json!("git push"));
    assert_eq!((&payload["n"], &payload["permission_mode"]), (&json!(1), &json!("default")));
    assert_eq!(payload["cwd"], json!(world.project));
    assert_eq!(world.out().lines().count(), 1, "one line, as the client sends it");

    let recorded = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "session_id": "s"});
    world.put(&world.home.at("recorded.json"), &format!("{recorded:#}"));
    let input = world.home.at("recorded.json");
    world.json(&["run", "PreToolUse", "--input", input.to_str().unwrap()]);
    let payload: Value = serde_json::from_str(&world.out()).unwrap();
    assert!(payload.get("tool_input").is_none(), "a recorded payload is taken as it is: {payload}");
}

#[test]
fn the_hook_sees_the_project_the_settings_env_and_a_file_for_exports() {
    let command = "echo export A=1 >> \"$CLAUDE_ENV_FILE\" && printf '%s|%s|%s' \"$CLAUDE_PROJECT_DIR\" \"$PWD\" \"$MINE\" > \"$OUT\"";
    let world = World::with(json!({
        "env": {"MINE": "from settings"},
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]},
    }));
    std::fs::create_dir(world.project.join("sub")).unwrap();
    world.json(&["run", "SessionStart", "--set", "cwd=sub"]);
    let project = world.project.display();
    assert_eq!(world.out(), format!("{project}|{project}/sub|from settings"));
}

#[test]
fn times_are_measured_over_many_runs() {
    let world = World::hooks("Stop", json!([{"type": "command", "command": "echo x >> \"$OUT\""}]));
    let answer = world.json(&["run", "Stop", "--time", "5"]);
    assert_eq!(world.out().lines().count(), 5);
    let timing = &answer["timing"][0];
    assert_eq!(timing["runs"], json!(5));
    assert!(timing["p50_ms"].as_f64().unwrap() > 0.0);
    assert!(timing["p95_ms"].as_f64() >= timing["p50_ms"].as_f64());
    assert!(world.text(&["run", "Stop", "--time", "2"]).contains("2 runs: p50"));
}

#[test]
fn the_text_says_what_the_client_would_conclude() {
    let world = World::with(json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [
            {"type": "command", "command": "echo no force pushes >&2; exit 2"},
            {"type": "command", "command": "echo '{\"decision\": 5}'"},
            {"type": "command", "command": "sleep 0", "if": "Bash(git *)"},
        ]},
        {"matcher": "Write", "hooks": [{"type": "command", "command": "true"}]},
    ]}}));
    let text = world.text(&["run", "PreToolUse", "--tool", "Bash"]);
    for words in [
        "=> blocked by hook 1: no force pushes",
        "exit code 2",
        "the JSON it printed was refused: `decision` must be",
        "the matcher does not match \"Bash\"",
        "the call does not meet `if` \"Bash(git *)\"",
    ] {
        assert!(text.contains(words), "{words:?} is missing in\n{text}");
    }
    let world = World::hooks("SessionStart", json!([{"type": "command", "command": "echo read the docs"}]));
    let text = world.text(&["run", "SessionStart"]);
    assert!(text.contains("context for the model from hook 1: read the docs"), "{text}");
    let text = World::new().text(&["run", "Stop"]);
    assert!(text.contains("no hook runs"), "{text}");
}

#[test]
fn control_characters_from_hooks_never_reach_the_terminal() {
    let command = "printf '\\033[31mred\\007'; printf '\\033]0;x\\007' >&2; exit 2";
    let world = World::hooks("Stop", json!([{"type": "command", "command": command}]));
    world.put(&world.home.at(".claude/settings.json"), "{\"hooks\": {\"\u{1b}[31mStop\": []}}");
    for args in [&["run", "Stop"][..], &["list"], &["validate"]] {
        let text = world.text(args);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{args:?}: {text:?}");
    }
}

#[test]
fn wrong_usage_and_failure_have_different_exit_codes() {
    let world = World::new();
    each_row(
        [
            (&["run", "Stopp"][..], 2),
            (&["run", "PreToolUse"], 2),
            (&["run", "PreToolUse", "--tool", ""], 2),
            (&["run", "Stop", "--set", "novalue"], 2),
            (&["run", "Stop", "--dialect", "other"], 2),
            (&["run", "Stop", "--project", "nowhere"], 2),
            (&["run", "SessionStart", "--dialect", "wave"], 2),
            (&["run", "Stop", "--input", "nowhere.json"], 1),
            (&["capture", "x", "--event", "Nope"], 2),
        ],
        |(args, ..)| format!("{args:?}"),
        |(args, code)| {
            let output = world.run(args);
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
            assert!(output.stdout.is_empty(), "{args:?}");
        },
    );
    let stderr = String::from_utf8(world.run(&["run", "stop"]).stderr).unwrap();
    assert!(stderr.contains("did you mean Stop?"), "{stderr}");
}

#[test]
fn the_list_marks_duplicates_our_hooks_and_disabled_ones() {
    let notify = json!({"type": "command", "command": "\"/opt/my tools/headspace\" notify", "timeout": 5});
    let same = json!({"type": "command", "command": "same"});
    let world = World::with(json!({"hooks": {"Stop": [{"hooks": [notify, same]}]}}));
    world.put(
        &world.home.at(".claude/settings.json"),
        &json!({"hooks": {"Stop": [{"hooks": [same]}], "SessionEnd": [{"hooks": [same]}]}}).to_string(),
    );
    let hooks = world.json(&["list"])["hooks"].as_array().unwrap().clone();
    let column = |name: &str| hooks.iter().map(|hook| hook[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("scope"), ["user", "user", "project", "project"]);
    assert_eq!(column("ours"), [false, false, true, false]);
    assert_eq!(column("timeout"), [json!(600.0), json!(1.5), json!(5.0), json!(600.0)]);
    assert_eq!(column("disabled"), [Value::Null, Value::Null, Value::Null, Value::Null]);
    let doubles = column("double_of");
    let user_settings = world.home.at(".claude/settings.json");
    assert_eq!(doubles[3], format!("{}:1", user_settings.display()));
    assert_eq!(doubles[0..3], [Value::Null, Value::Null, Value::Null]);

    let local = world.project.join(".claude/settings.local.json");
    world.put(&local, "{\"disableAllHooks\": true}");
    for hook in world.json(&["list"])["hooks"].as_array().unwrap() {
        assert!(hook["disabled"].as_str().unwrap().starts_with("disableAllHooks in "), "{hook}");
    }
    assert!(world.text(&["list"]).contains("off: disableAllHooks"));
}

#[test]
fn enabled_plugins_are_listed_and_run() {
    let world = World::new();
    let root = world.home.at("plugins/cache/a");
    let hooks = json!({"hooks": {"Stop": [{"hooks": [
        {"type": "command", "command": "printf %s \"$CLAUDE_PLUGIN_ROOT\" > \"$OUT\""},
    ]}]}});
    world.put(&root.join("hooks/hooks.json"), &hooks.to_string());
    let registry = json!({"version": 2, "plugins": {"a@market": [{"installPath": root}]}});
    world.put(&world.home.at(".claude/plugins/installed_plugins.json"), &registry.to_string());
    assert_eq!(world.json(&["list"])["hooks"], json!([]), "not enabled");
    world.put(
        &world.home.at(".claude/settings.json"),
        &json!({"enabledPlugins": {"a@market": true}}).to_string(),
    );
    assert_eq!(world.json(&["list"])["hooks"][0]["scope"], json!("plugin a@market"));
    world.json(&["run", "Stop"]);
    assert_eq!(world.out(), root.to_str().unwrap());
}

#[test]
fn a_file_that_is_user_and_project_settings_is_read_once() {
    let world = World::new();
    let hook =
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo x >> \"$OUT\""}]}]}});
    world.put(&world.home.at(".claude/settings.json"), &hook.to_string());
    let home = world.home.path().to_str().unwrap().to_owned();
    let answer = world.json(&["validate", "--project", &home]);
    assert_eq!((&answer["hooks"], answer["files"].as_array().unwrap().len()), (&json!(1), 3));
    assert_eq!(world.json(&["list", "--project", &home])["hooks"].as_array().unwrap().len(), 1);
}

#[test]
fn hints_name_commands_that_will_not_work_and_do_not_fail_the_check() {
    let world = World::new();
    world.put(&world.project.join("plain.sh"), "#!/bin/sh\n");
    world.put(&world.home.at("my tools/x.sh"), "#!/bin/sh\n");
    let home = world.home.path().display();
    let commands = [
        ("no-such-program-xyz --flag", "not found on the PATH"),
        ("/no/such/file.sh", "does not exist"),
        ("./plain.sh", "is relative to the session's directory"),
        ("\"$CLAUDE_PROJECT_DIR\"/plain.sh", "is not executable"),
        ("$CLAUDE_PROJECT_DIR/plain.sh", "needs quotes around it"),
        (&format!("{home}/my tools/x.sh"), "has blanks and needs quotes"),
        ("sh /no/script.sh", "does not exist"),
        ("FOO=1 exec no-such-program-xyz", "not found on the PATH"),
    ];
    each_row(
        commands,
        |(command, ..)| command.to_string(),
        |(command, words)| {
            let world_settings =
                json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
            world.put(&world.project.join(".claude/settings.json"), &world_settings.to_string());
            let output = world.run(&["validate", "--json"]);
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((output.status.code(), &answer["problems"]), (Some(0), &json!([])), "{command}");
            let said = answer["hints"].to_string();
            assert!(said.contains(words), "{command}: {said}");
        },
    );
    each_row(
        ["true", "echo x | cat", "sh -c 'x'", "$MY_HOOK x", "if true; then x; fi", "cat \"$FILE\""],
        |fine| fine.to_string(),
        |fine| {
            let settings = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": fine}]}]}});
            world.put(&world.project.join(".claude/settings.json"), &settings.to_string());
            assert_eq!(world.json(&["validate"])["hints"], json!([]), "{fine}");
        },
    );
}

#[test]
fn hints_know_the_quirks_of_the_client() {
    let world = World::with(json!({"hooks": {
        "SessionEnd": [{"hooks": [{"type": "command", "command": "true"}]}],
        "WorktreeCreate": [{"hooks": [{"type": "command", "command": "true", "once": true}]}],
        "SessionStart": [{"matcher": "startup|boot", "hooks": [{"type": "command", "command": "true"}]}],
        "PreToolUse": [
            {"matcher": "Exec", "hooks": [{"type": "command", "command": "true"}]},
            {"matcher": "^Foo", "hooks": [{"type": "http", "url": "http://10.0.0.1/"}]},
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "true", "onFailure": "block"}]}],
    }}));
    let text = world.text(&["validate"]);
    for words in [
        "1.5 s",
        "git worktree add",
        "`once` is not honored",
        "boot",
        "no tool known by the name Exec",
        "matches no known tool",
        "no private address",
        "a server that hangs",
        "onFailure has no effect on Stop",
        "0 errors, 0 warnings",
    ] {
        assert!(text.contains(words), "{words:?} is missing in\n{text}");
    }
}

#[test]
fn problems_are_listed_with_file_line_column_path_and_fix() {
    let world = World::new();
    let text = "{\n  \"hooks\": {\n    \"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\", \"timeout\": \"5\"}]}]\n  }\n}\n";
    world.put(&world.home.at(".claude/settings.json"), text);
    world.put(&world.project.join(".claude/settings.json"), "{\"hooks\": {\"stop\": []}}");
    let output = world.run(&["validate"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("~/.claude/settings.json:3:81: error: hooks.PreToolUse[0].hooks[0].timeout: `timeout` must be a number above 0"), "{text}");
    assert!(text.contains("unknown event \"stop\"") && text.contains("write: Stop"), "{text}");
}

/// Answers every request with these bytes.
fn bytes(answer: &'static str) -> impl Fn(TcpStream) + Send + Sync + Clone + 'static {
    move |mut stream| drop(stream.write_all(answer.as_bytes()))
}

#[test]
fn an_http_hook_gets_the_payload_and_its_body_decides() {
    let body = "HTTP/1.1 200 OK\r\ncontent-length: 37\r\n\r\n{\"decision\":\"block\",\"reason\":\"later\"}";
    let (url, requests) = listen(bytes(body));
    let url = format!("{url}/hook");
    let world = World::hooks(
        "Stop",
        json!([{"type": "http", "url": url, "headers": {"X-Home": "${HOME}"}, "timeout": 5}]),
    );
    let answer = world.json(&["run", "Stop"]);
    assert_eq!((&answer["blocked"], &answer["reason"]), (&json!(true), &json!("later")), "{answer}");
    let request = requests.next();
    assert!(request.head.starts_with("POST /hook HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.body["hook_event_name"], "Stop");
    assert_eq!(request.header("x-home"), Some(""), "only allowed variables are sent: {}", request.head);
}

#[test]
fn redirects_and_text_are_failures_of_an_http_hook() {
    each_row(
        [
            ("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", "302"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "not JSON"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{x", "not valid JSON"),
        ],
        |(answer, ..)| format!("{answer:?}"),
        |(answer, words)| {
            let (url, requests) = listen(bytes(answer));
            let world = World::hooks("Stop", json!([{"type": "http", "url": url, "timeout": 5}]));
            let result = world.json(&["run", "Stop"])["results"][0].clone();
            requests.next();
            assert_eq!(result["success"], json!(false), "{answer}");
            assert!(result["error"].as_str().unwrap().contains(words), "{answer}: {result}");
        },
    );
}

#[test]
fn capture_records_a_session_of_the_given_client() {
    let world = World::new();
    let client = world.home.at("client.sh");
    // Reads the settings it is given and runs each hook as the client does.
    let script = r#"
import json, subprocess, sys
hooks = json.load(open(sys.argv[sys.argv.index("--settings") + 1]))["hooks"]
assert "WorktreeCreate" not in hooks
for event in ("SessionStart", "Stop"):
    hook = hooks[event][0]["hooks"][0]
    payload = json.dumps({"hook_event_name": event, "source": "startup", "password": "x"})
    done = subprocess.run([hook["command"], *hook["args"]], input=payload.encode(), stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, b"")
"#;
    world.put(&client, script);
    let dir = world.project.join("payloads");
    let output = world
        .command(&["capture", dir.to_str().unwrap(), "--", "python3", client.to_str().unwrap()])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && stderr.contains("2 payloads recorded"), "{stderr}");
    let input = dir.join("0001-SessionStart.startup.json");
    let answer = world.json(&["run", "SessionStart", "--input", input.to_str().unwrap()]);
    assert_eq!(answer["event"], json!("SessionStart"));
    let hint = world.text(&["capture", dir.to_str().unwrap()]);
    assert!(hint.contains("claude --settings '"), "{hint}");
}

#[test]
fn wave_hooks_run_in_order_with_their_own_environment() {
    let world = World::new();
    let command = "printf '%s|%s|%s|%s;' \"$MINE\" \"$HOOK_EVENT\" \"$HOOK_TOOL_NAME\" \"$WAVE_PROJECT_DIR\" >> \"$OUT\"";
    let settings = |mine: &str, matcher: &str| {
        json!({"env": {"MINE": mine}, "hooks": {"PreToolUse": [
            {"matcher": matcher, "hooks": [{"type": "command", "command": command}]},
        ]}})
        .to_string()
    };
    world.put(&world.home.at(".wave/settings.json"), &settings("user", "*"));
    world.put(&world.project.join(".wave/settings.json"), &settings("project", "bash|edit"));
    world.put(&world.project.join(".wave/settings.local.json"), &settings("local", "Write"));
    let answer = world.json(&["run", "PreToolUse", "--tool", "Bash", "--dialect", "wave"]);
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    let project = world.project.display();
    assert_eq!(world.out(), format!("user|PreToolUse|Bash|{project};project|PreToolUse|Bash|{project};"));
}

#[test]
fn running_our_own_hook_leaves_no_event_behind() {
    let notify = format!("CLAUDE_HEADSPACE_URL=http://127.0.0.1:1 '{}' notify", binary());
    let world = World::hooks("PreToolUse", json!([{"type": "command", "command": notify}]));
    let answer = world.json(&["run", "PreToolUse", "--tool", "Bash"]);
    assert_eq!(answer["results"][0]["exit_code"], 0, "{answer}");
    let spool = world.home.at(".local/state/headspace/spool");
    assert!(std::fs::read_dir(&spool).map_or(true, |mut files| files.next().is_none()), "spooled: {spool:?}");
}
