//! The guard through the binary: what it reads, prints and exits with.

use headspace_test_support::{Home, NO_SERVER, each_row, on_terminal, run};
use serde_json::{Value, json};
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A home with a project, in which every command runs.
struct Project(Home);

impl Project {
    fn new() -> Project {
        let mut home = Home::with_xdg_directories();
        let project = home.at("proj");
        std::fs::create_dir_all(project.join(".git")).unwrap();
        home.set("USER", "dev");
        home.set("CLAUDE_PROJECT_DIR", &project);
        // Nobody listens there, so verdicts are not sent anywhere.
        home.set("CLAUDE_HEADSPACE_URL", NO_SERVER);
        home.unset("PATH");
        home.run_in(project);
        Project(home)
    }

    /// The same, for what the guard says and not how soon: a busy machine may be too slow for its time limit.
    fn unhurried() -> Project {
        let mut project = Project::new();
        project.0.set("HEADSPACE_GUARD_UNHURRIED", "1");
        project
    }

    fn project(&self) -> PathBuf {
        self.at("proj")
    }

    fn run(&self, args: &[&str], input: &[u8]) -> Output {
        run(self.command(args), input)
    }

    fn payload(&self, command: &str) -> Vec<u8> {
        payload(&self.project(), command)
    }
}

impl Deref for Project {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.0
    }
}

fn payload(cwd: &Path, command: &str) -> Vec<u8> {
    let payload = json!({
        "session_id": "s1", "hook_event_name": "PreToolUse", "cwd": cwd,
        "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1",
    });
    serde_json::to_vec(&payload).unwrap()
}

fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn check_answers_every_input() {
    let home = Project::new();
    each_row(
        [
            (home.payload("rm -rf /usr/local"), "deny"),
            (home.payload("echo hi"), "allow"),
            (home.payload("echo \"open"), "ask"),
            (b"not json".to_vec(), "ask"),
            (Vec::new(), "ask"),
            (vec![0xff, 0xfe], "ask"),
            (b"[".repeat(100_000), "ask"),
            (br#"{"tool_name":"Bash"}"#.to_vec(), "ask"),
        ],
        |(stdin, _)| String::from_utf8_lossy(&stdin[..stdin.len().min(80)]).into_owned(),
        |(stdin, verdict)| {
            let answer = answer(&home.run(&["guard", "check"], &stdin));
            assert_eq!(
                answer["verdict"],
                verdict,
                "{}",
                String::from_utf8_lossy(&stdin[..stdin.len().min(80)])
            );
            let silent = verdict == "allow";
            assert_eq!(answer["rule"].is_null(), silent);
            assert_eq!(answer["reason"].is_null(), silent);
        },
    );
}

#[test]
fn hook_prints_a_decision_or_nothing() {
    let home = Project::unhurried();
    let allowed = home.run(&["guard", "hook"], &home.payload("git status && cargo test"));
    assert!(
        allowed.status.success() && allowed.stdout.is_empty() && allowed.stderr.is_empty(),
        "{allowed:?}"
    );
    let denied = answer(&home.run(&["guard", "hook"], &home.payload("git reset --hard")));
    let output = &denied["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "deny");
    let reason = output["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("git.discard") && reason.contains("config.jsonc"), "{reason}");
    let asked = answer(&home.run(&["guard", "hook"], b"garbage"));
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask");
}

#[test]
fn rules_stay_on_if_the_configuration_is_broken() {
    let home = Project::unhurried();
    home.configure("{ this is no JSON");
    let denied = answer(&home.run(&["guard", "hook"], &home.payload("sudo id")));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn the_configuration_changes_what_rules_say() {
    let home = Project::new();
    home.configure(r#"{ "guard": { "rules": { "privilege": "ask", "git": "off" } } } // mine"#);
    let verdict =
        |command: &str| answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"].clone();
    assert_eq!(verdict("sudo id"), "ask");
    assert_eq!(verdict("git reset --hard"), "allow");
    assert_eq!(verdict("rm -rf /usr"), "deny");
    let rules = answer(&home.run(&["guard", "rules", "--json"], b""));
    let rule =
        |id: &str| rules["rules"].as_array().unwrap().iter().find(|rule| rule["id"] == id).unwrap().clone();
    assert_eq!(
        (rule("privilege")["default"].clone(), rule("privilege")["here"].clone()),
        (json!("deny"), json!("ask"))
    );
    assert_eq!(rule("git.discard")["here"], "off");
}

#[test]
fn explain_shows_the_commands_the_rule_and_the_reason() {
    let home = Project::new();
    let output = home.run(&["guard", "explain", "--", "x=/usr; cd / && sh -c \"rm -rf $x/local\""], b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in ["cd /", "rm -rf /usr/local", "verdict:  deny", "delete.outside", "reason:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = answer(&home.run(&["guard", "explain", "--json", "--", "ls | wc -l"], b""));
    assert_eq!(json["verdict"], "allow");
    assert_eq!(json["commands"].as_array().unwrap().len(), 2);
    // Behind a command that is one argument it is an option, behind several words it is one of them.
    let behind = answer(&home.run(&["guard", "explain", "sudo id", "--json"], b""));
    assert_eq!(behind["words"], "sudo id");
    let words = home.run(&["guard", "explain", "sudo", "npm", "ls", "--json"], b"");
    assert!(String::from_utf8_lossy(&words.stdout).contains("sudo npm ls --json"), "{words:?}");
    let wrong = home.run(&["guard", "explain"], b"");
    assert_eq!(wrong.status.code(), Some(2));
    // A text or words, with or without dashes before them.
    for words in [&["sudo id -u"][..], &["sudo", "id", "-u"], &["--", "sudo", "id", "-u"]] {
        let explained = home.run(&[&["guard", "explain", "--json"], words].concat(), b"");
        assert_eq!(answer(&explained)["words"], "sudo id -u");
    }
    let call = br#"{"file_path": "a.txt", "content": ""}"#;
    let tool = home.run(&["guard", "explain", "--tool", "Write", "--input", "-"], call);
    let text = String::from_utf8(tool.stdout).unwrap();
    assert!(text.starts_with("tool:     Write\nverdict:  allow"), "{text}");
}

#[test]
fn a_misspelled_setting_of_the_guard_is_reported_with_the_rules() {
    let home = Project::new();
    home.configure(r#"{ "guard": { "asks": ["npm publish"] } }"#);
    let rules = home.run(&["guard", "rules"], b"");
    let trouble = String::from_utf8(rules.stderr).unwrap();
    assert!(trouble.contains("unknown setting `guard.asks`; did you mean `guard.ask`?"), "{trouble}");
    assert_eq!(rules.status.code(), Some(1));
}

#[test]
fn foreign_text_cannot_control_the_terminal() {
    let home = Project::new();
    let output = home.run(&["guard", "explain", "--", "echo \u{1b}[2J\u{7}; sudo \u{1b}]0;x"], b"");
    assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&7), "{output:?}");
}

#[test]
fn a_pipe_that_never_closes_is_answered_in_time() {
    let home = Project::new();
    let started = Instant::now();
    let mut hook = home.command(&["guard", "hook"]);
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"tool_name\":").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(answer(&output)["hookSpecificOutput"]["permissionDecision"], "ask");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// Whoever keeps standard input open gets the same verdict at once.
#[test]
fn a_complete_call_is_judged_before_its_pipe_closes() {
    let home = Project::unhurried();
    for (command, expected) in [("git status", ""), ("git reset --hard", "\"deny\""), ("sudo id", "\"deny\"")]
    {
        let mut hook = home.command(&["guard", "hook"]);
        let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&home.payload(command)).unwrap();
        let output = child.wait_with_output().unwrap();
        drop(pipe);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{command}: {said}");
    }
}

#[test]
fn input_without_end_is_answered_in_bounded_memory() {
    let home = Project::unhurried();
    let object_without_end = r#"(printf '{"tool_name":"'; cat /dev/zero | tr '\0' x)"#;
    for input in ["cat /dev/zero", object_without_end] {
        // Far more than it may need, and less than it took.
        let line = format!("{input} | (ulimit -v 1000000; exec timeout 60 \"$0\" guard hook)");
        let mut shell = home.command_of("/bin/sh", &["-c", &line, headspace_test_support::binary()]);
        let output = shell.env("PATH", "/usr/bin:/bin").output().unwrap();
        assert_eq!(answer(&output)["hookSpecificOutput"]["permissionDecision"], "ask", "{input}: {output:?}");
    }
}

#[test]
fn symbolic_links_are_followed() {
    let home = Project::new();
    let proj = home.project();
    std::fs::create_dir_all(home.at("other/lib")).unwrap();
    std::fs::create_dir_all(proj.join("build")).unwrap();
    std::os::unix::fs::symlink("../other", proj.join("out")).unwrap();
    std::os::unix::fs::symlink("build", proj.join("inside")).unwrap();
    let verdict =
        |command: &str| answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"].clone();
    // The home is in a temporary directory, where deleting is allowed: reading shows where a link leads.
    std::fs::create_dir_all(home.at(".ssh")).unwrap();
    std::os::unix::fs::symlink("../.ssh/config", proj.join("cfg")).unwrap();
    assert_eq!(verdict("cat .ssh-notes"), "allow");
    assert_eq!(verdict("cat cfg"), "ask");
    assert_eq!(verdict("rm -rf inside/x"), "allow");
    assert_eq!(verdict("rm -rf ."), "deny");
    assert_eq!(verdict("rm -rf *"), "ask");
}

/// Values that double, calls nested deeper than any stack, paths longer than any disk allows.
#[test]
fn no_payload_crashes_the_guard() {
    let home = Project::new();
    let nested = format!("{}1{}", "os.path.join(".repeat(30_000), ")".repeat(30_000));
    each_row(
        [
            format!("a=x;{}rm -rf $a", "a=$a$a;".repeat(60)),
            format!("x=a;{}rm -rf $x", "x=${x//a/aaaaaaaaaa};".repeat(12)),
            format!("python3 -c 'os.remove({nested})'"),
            format!("perl -e '{}'", "unlink a ".repeat(30_000)),
            format!("find {} -delete", (0..20_000).map(|n| format!("/d{n} -name n{n}")).collect::<String>()),
            (0..20_000).map(|n| format!("x{n}=1")).collect::<Vec<_>>().join(" || ") + "; rm -rf /usr",
        ],
        |command| command.chars().take(40).collect(),
        |command| {
            let started = Instant::now();
            let output = home.run(&["guard", "hook"], &home.payload(&command));
            let decision = &answer(&output)["hookSpecificOutput"]["permissionDecision"];
            assert!(decision == "ask" || decision == "deny", "{}… {output:?}", &command[..30]);
            assert!(started.elapsed() < Duration::from_secs(10), "{}…", &command[..30]);
        },
    );
    for command in [format!("rm -rf {}", "a/".repeat(200_000)), format!("ls {}", "x ".repeat(100_000))] {
        assert!(home.run(&["guard", "hook"], &home.payload(&command)).status.success());
    }
}

#[test]
fn the_text_of_a_written_file_is_not_judged() {
    let home = Project::new();
    let payload = json!({"tool_name": "Write", "cwd": home.project(), "tool_input": {
        "file_path": home.at("proj/notes.md"), "content": "sudo rm -rf /\n\"x\"\n".repeat(200_000)}});
    let output = home.run(&["guard", "check"], &serde_json::to_vec(&payload).unwrap());
    assert_eq!(answer(&output)["verdict"], "allow");
}

/// The next verdict reports the mistake, and neither the rules nor the user's other settings are lost.
#[test]
fn a_mistake_in_the_configuration_is_reported_with_the_verdict() {
    let home = Project::unhurried();
    home.configure(r#"{"port": "x", "guard": {"enabled": true, "rules": {"git.discard": "off"}}}"#);
    let output = home.run(&["guard", "hook"], &home.payload("rm -rf /usr"));
    let output = answer(&output);
    assert_eq!(output["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(output["systemMessage"].as_str().unwrap().contains("config.jsonc"));
    assert!(home.run(&["guard", "hook"], &home.payload("git reset --hard")).stdout.is_empty());
    let by_notify = home.run(&["notify"], &home.payload("rm -rf /usr"));
    assert_eq!(answer(&by_notify)["hookSpecificOutput"]["permissionDecision"], "deny");
}

/// The client waits for the hook to end, so a server that never answers must not delay it.
#[test]
fn a_hung_server_does_not_delay_the_verdict() {
    let home = Project::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let mut hook = home.command(&["guard", "hook"]);
    hook.env("CLAUDE_HEADSPACE_URL", url);
    let output = run(hook, home.payload("sudo id"));
    assert_eq!(answer(&output)["hookSpecificOutput"]["permissionDecision"], "deny");
    let spool = std::fs::read_dir(home.state().join("spool")).unwrap();
    assert!(spool.flatten().any(|entry| entry.path().extension().is_some_and(|kind| kind == "event")));
}

#[test]
fn rule_packs_and_scripts_are_judged() {
    let home = Project::new();
    let project = home.project();
    std::fs::write(project.join("wipe.sh"), "#!/bin/sh\nrm -rf /usr/local\n").unwrap();
    std::fs::write(project.join("package.json"), r#"{"scripts": {"nuke": "rm -rf /usr/local", "b": "tsc"}}"#)
        .unwrap();
    std::fs::write(project.join("Makefile"), "all:\n\techo\ndown:\n\tdocker compose down -v\n").unwrap();
    each_row(
        [
            ("terraform destroy -auto-approve", "ask"),
            ("terraform plan -destroy", "allow"),
            ("psql -c 'DROP TABLE x'", "ask"),
            ("./wipe.sh", "deny"),
            ("npm run nuke", "deny"),
            ("npm run b", "allow"),
            ("make", "allow"),
            ("make down", "ask"),
        ],
        |(command, ..)| command.to_string(),
        |(command, verdict)| {
            assert_eq!(
                answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"],
                verdict,
                "{command}"
            );
        },
    );
    // A script that is too long or missing is not judged.
    std::fs::write(project.join("long.sh"), format!("#!/bin/sh\n{}\nrm -rf ~/x\n", "# x\n".repeat(20_000)))
        .unwrap();
    for command in ["./long.sh", "./missing.sh"] {
        assert_eq!(
            answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"],
            "allow",
            "{command}"
        );
    }
}

#[test]
fn a_project_can_only_tighten_the_rules() {
    let home = Project::new();
    let file = home.at("proj/.headspace.jsonc");
    std::fs::write(
        file,
        r#"{ // ours
            "guard": {"deny": ["make deploy"], "allow": ["sudo id"], "rules": {"privilege": "off"}, "protected_paths": ["gen/"]} }"#,
    )
    .unwrap();
    each_row(
        [
            ("make deploy", "deny", "custom.deny"),
            ("sudo id", "deny", "privilege"),
            ("rm gen/a", "deny", "write.protected"),
            ("echo '{}' > .headspace.jsonc", "deny", "write.agent-settings"),
        ],
        |(command, ..)| command.to_string(),
        |(command, verdict, rule)| {
            let answer = answer(&home.run(&["guard", "check"], &home.payload(command)));
            assert_eq!((&answer["verdict"], &answer["rule"]), (&json!(verdict), &json!(rule)), "{command}");
        },
    );
}

#[test]
fn the_balanced_profile_asks_if_the_work_tree_is_clean() {
    let home = Project::new();
    home.configure(r#"{"guard": {"profile": "balanced"}}"#);
    let project = home.project();
    let git = |args: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
            .args(args)
            .current_dir(&project)
            .env("HOME", home.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    std::fs::remove_dir_all(project.join(".git")).unwrap();
    git(&["init", "-q"]);
    std::fs::write(project.join("a"), "1").unwrap();
    git(&["add", "a"]);
    git(&["commit", "-qm", "x"]);
    let verdict = || {
        let mut command = home.command(&["guard", "check"]);
        command.env("PATH", std::env::var("PATH").unwrap());
        answer(&run(command, home.payload("git reset --hard")))["verdict"].clone()
    };
    assert_eq!(verdict(), "ask");
    std::fs::write(project.join("a"), "2").unwrap();
    assert_eq!(verdict(), "deny");
}

#[test]
fn typos_in_the_configuration_are_errors_with_a_suggestion() {
    let home = Project::new();
    home.configure("{\n  \"guard\": {\n    \"rules\": {\"git.discrad\": \"ask\"}\n  }\n}");
    let rules = home.run(&["guard", "rules"], b"");
    assert_eq!(rules.status.code(), Some(1));
    let told = String::from_utf8_lossy(&rules.stderr).into_owned();
    assert!(told.contains("did you mean \"git.discard\"?"), "{told}");
    let json = home.run(&["guard", "rules", "--json"], b"");
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["profile"], &json["on_failure"]), (&json!("strict"), &json!("continue")));
    assert_eq!(json["problems"].as_array().unwrap().len(), 1);
    let validate = home.run(&["hooks", "validate", "--json"], b"");
    assert_eq!(validate.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&validate.stdout).unwrap();
    let problem = &report["problems"][0];
    assert_eq!((&problem["line"], &problem["level"]), (&json!(3), &json!("error")), "{report}");
    assert!(problem["file"].as_str().unwrap().ends_with("config.jsonc"));
    let doctor = home.run(&["doctor", "--json"], b"");
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("git.discrad"));
}

#[test]
fn other_events_get_their_own_output_or_none() {
    let home = Project::unhurried();
    let event = |name: &str, command: &str| {
        let payload = json!({"session_id": "s1", "hook_event_name": name, "cwd": home.project(),
            "tool_name": "Bash", "tool_input": {"command": command}});
        home.run(&["guard", "hook"], &serde_json::to_vec(&payload).unwrap())
    };
    let refused = answer(&event("PermissionRequest", "sudo id"));
    let output = &refused["hookSpecificOutput"];
    assert_eq!(
        (&output["hookEventName"], &output["decision"]["behavior"]),
        (&json!("PermissionRequest"), &json!("deny"))
    );
    assert!(output["decision"]["message"].as_str().unwrap().contains("privilege"));
    each_row(
        [
            ("PermissionRequest", "terraform destroy"),
            ("PermissionRequest", "ls"),
            ("PostToolUse", "sudo id"),
            ("UserPromptSubmit", "sudo id"),
            ("Stop", "sudo id"),
        ],
        |(name, command)| format!("{name} {command}"),
        |(name, command)| {
            let silent = event(name, command);
            assert!(silent.status.success() && silent.stdout.is_empty(), "{name} {command}: {silent:?}");
        },
    );
}

#[test]
fn the_guard_fails_as_configured() {
    let home = Project::new();
    assert_eq!(answer(&home.run(&["guard", "check"], b"garbage"))["verdict"], "ask");
    home.configure(r#"{"guard": {"on_failure": "block"}}"#);
    assert_eq!(answer(&home.run(&["guard", "check"], b"garbage"))["verdict"], "deny");
    assert!(
        String::from_utf8_lossy(&home.run(&["guard", "rules"], b"").stdout).contains("on_failure: block")
    );
}

#[test]
fn a_pipe_in_place_of_the_configuration_does_not_hang_the_guard() {
    let home = Project::new();
    let dir = home.config_file().parent().unwrap().to_owned();
    std::fs::create_dir_all(&dir).unwrap();
    for pipe in [dir.join("config.jsonc"), home.at("proj/.headspace.jsonc"), home.at("proj/x.sh")] {
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    }
    let start = Instant::now();
    assert_eq!(answer(&home.run(&["guard", "check"], &home.payload("sudo id")))["verdict"], "deny");
    assert_eq!(answer(&home.run(&["guard", "check"], &home.payload("bash x.sh")))["verdict"], "allow");
    let denied = answer(&home.run(&["guard", "hook"], &home.payload("sudo id")));
    assert!(denied["systemMessage"].as_str().unwrap().contains("not a regular file"), "{denied}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn explain_takes_any_tool_and_names_the_source() {
    let home = Project::new();
    let explained = answer(&home.run(
        &["guard", "explain", "--json", "--tool", "Write", "--input", "-"],
        br#"{"file_path": "/etc/hosts", "content": "x"}"#,
    ));
    assert_eq!((&explained["verdict"], &explained["rule"]), (&json!("deny"), &json!("write.system")));
    let explained =
        answer(&home.run(&["guard", "explain", "--json", "--", "ls; terraform destroy -auto-approve"], b""));
    assert_eq!(explained["words"], "terraform destroy -auto-approve");
    assert!(explained["pattern"].as_str().unwrap().ends_with("destroy"));
    let source = explained["source"].as_str().unwrap();
    let (file, line) = source.split_once(".toml:").unwrap();
    let text =
        std::fs::read_to_string(format!("{}/crates/guard/{file}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let rule = text.lines().nth(line.parse::<usize>().unwrap()).unwrap();
    assert_eq!(rule, r#"id = "cloud.destroy""#);
    let shown = home.run(&["guard", "explain", "--", "pkill -f 'my app'"], b"");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains(r"headspace guard allow 'pkill -f '\''my app'\'''"), "{shown}");
}

#[test]
fn a_reason_offers_only_settings_that_differ() {
    let home = Project::new();
    let reason = |command: &str| {
        answer(&home.run(&["guard", "check"], &home.payload(command)))["reason"].as_str().unwrap().to_owned()
    };
    assert!(reason("sudo id").contains(r#""ask" or "off""#));
    assert!(reason("npm publish").contains(r#""deny" or "off""#));
}

#[test]
fn a_person_can_allow_a_command_and_an_agent_cannot() {
    let home = Project::unhurried();
    let verdict =
        |command: &str| answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"].clone();
    let hook = |command: &str| home.run(&["guard", "hook"], &home.payload(command)).stdout.is_empty();
    let allow = |args: &[&str]| home.command(&[&["guard", "allow"], args].concat());
    home.configure("{\n  // mine\n  \"guard\": {\n    \"rules\": {\"git\": \"ask\"}\n  }\n}\n");
    let config = home.config_file();

    let refused = home.run(&["guard", "allow", "pkill -f vite", "--user"], b"y\n");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("only a person at a terminal"));
    let mut by_agent = allow(&["pkill -f vite", "--user"]);
    by_agent.env("CLAUDECODE", "1");
    let (shown, code) = on_terminal(by_agent, "y\n");
    assert!(code == Some(1) && shown.contains("not a coding agent"), "{shown}");

    let (shown, code) = on_terminal(allow(&["pkill -f vite", "--user"]), "n\n");
    assert!(code == Some(1) && shown.contains("+") && shown.contains("pkill -f vite"), "{shown}");
    assert_eq!(verdict("pkill -f vite"), "deny");

    let (shown, code) = on_terminal(allow(&["pkill -f vite", "--user"]), "y\n");
    assert_eq!(code, Some(0), "{shown}");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(text.contains("// mine") && text.contains("\"allow\""), "{text}");
    assert_eq!(verdict("pkill -f vite"), "allow");
    assert_eq!(verdict("pkill -f node"), "deny");

    assert!(!hook("pkill -f node"));
    let (shown, code) = on_terminal(allow(&["pkill -f node", "--once"]), "y\n");
    assert!(code == Some(0) && shown.contains("Now: deny (kill.pattern)"), "{shown}");
    assert!(!hook("pkill -f other"));
    assert!(hook("pkill -f node"), "once");
    assert!(!hook("pkill -f node"), "and no more");

    let (shown, code) = on_terminal(allow(&["git push --force", "--project"]), "y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(verdict("git push --force"), "allow");
    let elsewhere = home.at("elsewhere");
    std::fs::create_dir_all(elsewhere.join(".git")).unwrap();
    let mut there = home.command(&["guard", "check"]);
    there.env_remove("CLAUDE_PROJECT_DIR").current_dir(&elsewhere);
    assert_eq!(answer(&run(there, payload(&elsewhere, "git push --force")))["verdict"], "ask");
    assert_eq!(on_terminal(allow(&["*"]), "").1, Some(2));
}

#[test]
fn install_asks_for_the_guards_profile_only_on_a_terminal() {
    let home = Project::new();
    let config = home.config_file();
    let silent = home.run(&["install", "--guard"], b"2\n");
    assert!(silent.status.success(), "{silent:?}");
    assert!(!config.exists());
    let (shown, code) = on_terminal(home.command(&["install", "--guard"]), "2\n");
    assert!(code == Some(0) && shown.contains("How strict should the guard be?"), "{shown}");
    assert!(std::fs::read_to_string(&config).unwrap().contains("\"profile\": \"balanced\""));
    assert_eq!(answer(&home.run(&["guard", "check"], &home.payload("pkill -f vite")))["verdict"], "ask");
    let (again, _) = on_terminal(home.command(&["install", "--guard"]), "");
    assert!(!again.contains("How strict"), "{again}");
}
