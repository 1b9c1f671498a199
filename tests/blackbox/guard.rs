//! The guard through the binary: what it reads, prints and exits with.

use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home/proj/.git")).unwrap();
        Home { dir }
    }

    fn home(&self) -> std::path::PathBuf {
        self.dir.path().join("home")
    }

    fn configure(&self, text: &str) {
        let dir = self.home().join(".config/headspace");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.jsonc"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let home = self.home();
        let mut command = Command::new(env!("CARGO_BIN_EXE_headspace"));
        command
            .args(args)
            .env_clear()
            .env("HOME", &home)
            .env("USER", "dev")
            .env("CLAUDE_PROJECT_DIR", home.join("proj"))
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            // Nobody listens there: verdicts have nowhere to go.
            .env("CLAUDE_HEADSPACE_URL", "http://127.0.0.1:9")
            .current_dir(home.join("proj"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str], stdin: &[u8]) -> Output {
        let mut child = self.command(args).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let _ = pipe.write_all(stdin);
        drop(pipe);
        child.wait_with_output().unwrap()
    }

    fn payload(&self, command: &str) -> Vec<u8> {
        payload(&self.home().join("proj"), command)
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
    let home = Home::new();
    for (stdin, verdict) in [
        (home.payload("rm -rf /usr/local"), "deny"),
        (home.payload("echo hi"), "allow"),
        (home.payload("echo \"open"), "ask"),
        (b"not json".to_vec(), "ask"),
        (Vec::new(), "ask"),
        (vec![0xff, 0xfe], "ask"),
        (b"[".repeat(100_000), "ask"),
        (br#"{"tool_name":"Bash"}"#.to_vec(), "ask"),
    ] {
        let answer = answer(&home.run(&["guard", "check"], &stdin));
        assert_eq!(answer["verdict"], verdict, "{}", String::from_utf8_lossy(&stdin[..stdin.len().min(80)]));
        let silent = verdict == "allow";
        assert_eq!(answer["rule"].is_null(), silent);
        assert_eq!(answer["reason"].is_null(), silent);
    }
}

#[test]
fn hook_prints_a_decision_or_nothing() {
    let home = Home::new();
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
fn a_broken_configuration_leaves_the_rules_on() {
    let home = Home::new();
    home.configure("{ this is no JSON");
    let denied = answer(&home.run(&["guard", "hook"], &home.payload("sudo id")));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn the_configuration_changes_what_rules_say() {
    let home = Home::new();
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
    let home = Home::new();
    let output = home.run(&["guard", "explain", "--", "x=/usr; cd / && sh -c \"rm -rf $x/local\""], b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in ["cd /", "rm -rf /usr/local", "verdict:  deny", "delete.outside", "reason:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = answer(&home.run(&["guard", "explain", "--json", "--", "ls | wc -l"], b""));
    assert_eq!(json["verdict"], "allow");
    assert_eq!(json["commands"].as_array().unwrap().len(), 2);
    let wrong = home.run(&["guard", "explain"], b"");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn foreign_text_has_no_power_over_the_terminal() {
    let home = Home::new();
    let output = home.run(&["guard", "explain", "--", "echo \u{1b}[2J\u{7}; sudo \u{1b}]0;x"], b"");
    assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&7), "{output:?}");
}

#[test]
fn a_pipe_that_never_closes_is_answered_in_time() {
    let home = Home::new();
    let started = Instant::now();
    let mut child = home.command(&["guard", "hook"]).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"tool_name\":").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(answer(&output)["hookSpecificOutput"]["permissionDecision"], "ask");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[cfg(unix)]
#[test]
fn links_on_the_disk_are_followed() {
    let home = Home::new();
    let proj = home.home().join("proj");
    std::fs::create_dir_all(home.home().join("other/lib")).unwrap();
    std::fs::create_dir_all(proj.join("build")).unwrap();
    std::os::unix::fs::symlink("../other", proj.join("out")).unwrap();
    std::os::unix::fs::symlink("build", proj.join("inside")).unwrap();
    let verdict =
        |command: &str| answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"].clone();
    // The whole home lies in a temp directory, where deleting is allowed: writing shows where a link leads.
    std::fs::create_dir_all(home.home().join(".ssh")).unwrap();
    std::os::unix::fs::symlink("../.ssh/config", proj.join("cfg")).unwrap();
    assert_eq!(verdict("cat .ssh-notes"), "allow");
    assert_eq!(verdict("cat cfg"), "ask");
    assert_eq!(verdict("rm -rf inside/x"), "allow");
    assert_eq!(verdict("rm -rf ."), "deny");
    assert_eq!(verdict("rm -rf *"), "ask");
}

/// Texts that double a value, nest calls deeper than any stack, name paths longer than any disk takes.
#[test]
fn no_payload_brings_the_guard_down() {
    let home = Home::new();
    let nested = format!("{}1{}", "os.path.join(".repeat(30_000), ")".repeat(30_000));
    for command in [
        format!("a=x;{}rm -rf $a", "a=$a$a;".repeat(60)),
        format!("x=a;{}rm -rf $x", "x=${x//a/aaaaaaaaaa};".repeat(12)),
        format!("python3 -c 'os.remove({nested})'"),
        format!("perl -e '{}'", "unlink a ".repeat(30_000)),
        format!("find {} -delete", (0..20_000).map(|n| format!("/d{n} -name n{n}")).collect::<String>()),
        (0..20_000).map(|n| format!("x{n}=1")).collect::<Vec<_>>().join(" || ") + "; rm -rf /usr",
    ] {
        let started = Instant::now();
        let output = home.run(&["guard", "hook"], &home.payload(&command));
        let decision = &answer(&output)["hookSpecificOutput"]["permissionDecision"];
        assert!(decision == "ask" || decision == "deny", "{}… {output:?}", &command[..30]);
        assert!(started.elapsed() < Duration::from_secs(10), "{}…", &command[..30]);
    }
    for command in [format!("rm -rf {}", "a/".repeat(200_000)), format!("ls {}", "x ".repeat(100_000))] {
        assert!(home.run(&["guard", "hook"], &home.payload(&command)).status.success());
    }
}

#[test]
fn the_text_of_a_file_is_nobodys_business() {
    let home = Home::new();
    let payload = json!({"tool_name": "Write", "cwd": home.home().join("proj"), "tool_input": {
        "file_path": home.home().join("proj/notes.md"), "content": "sudo rm -rf /\n\"x\"\n".repeat(200_000)}});
    let output = home.run(&["guard", "check"], &serde_json::to_vec(&payload).unwrap());
    assert_eq!(answer(&output)["verdict"], "allow");
}

/// A mistake in the file is told with the next verdict, and costs neither the rules nor the user's choices.
#[test]
fn a_mistake_in_the_configuration_is_told() {
    let home = Home::new();
    home.configure(r#"{"port": "x", "guard": {"enabled": true, "rules": {"git.discard": "off"}}}"#);
    let output = home.run(&["guard", "hook"], &home.payload("rm -rf /usr"));
    let output = answer(&output);
    assert_eq!(output["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(output["systemMessage"].as_str().unwrap().contains("config.jsonc"));
    assert!(home.run(&["guard", "hook"], &home.payload("git reset --hard")).stdout.is_empty());
    let by_notify = home.run(&["notify"], &home.payload("rm -rf /usr"));
    assert_eq!(answer(&by_notify)["hookSpecificOutput"]["permissionDecision"], "deny");
}

/// The client waits for the hook's end: a server that accepts and never answers must not make it long.
#[test]
fn a_hung_server_does_not_hold_the_verdict_up() {
    let home = Home::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let mut child = home.command(&["guard", "hook"]).env("CLAUDE_HEADSPACE_URL", url).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&home.payload("sudo id")).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(answer(&output)["hookSpecificOutput"]["permissionDecision"], "deny");
    let spool = std::fs::read_dir(home.home().join(".local/state/headspace/spool")).unwrap();
    assert!(spool.flatten().any(|entry| entry.path().extension().is_some_and(|kind| kind == "event")));
}

#[test]
fn packs_and_scripts_are_judged_through_the_binary() {
    let home = Home::new();
    let project = home.home().join("proj");
    std::fs::write(project.join("wipe.sh"), "#!/bin/sh\nrm -rf /usr/local\n").unwrap();
    std::fs::write(project.join("package.json"), r#"{"scripts": {"nuke": "rm -rf /usr/local", "b": "tsc"}}"#)
        .unwrap();
    std::fs::write(project.join("Makefile"), "all:\n\techo\ndown:\n\tdocker compose down -v\n").unwrap();
    for (command, verdict) in [
        ("terraform destroy -auto-approve", "ask"),
        ("terraform plan -destroy", "allow"),
        ("psql -c 'DROP TABLE x'", "ask"),
        ("./wipe.sh", "deny"),
        ("npm run nuke", "deny"),
        ("npm run b", "allow"),
        ("make", "allow"),
        ("make down", "ask"),
    ] {
        assert_eq!(
            answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"],
            verdict,
            "{command}"
        );
    }
    // Longer than anybody reads, and no file at all: what it was before scripts were read.
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
fn a_project_may_only_tighten() {
    let home = Home::new();
    let file = home.home().join("proj/.headspace.jsonc");
    std::fs::write(
        file,
        r#"{ // ours
            "guard": {"deny": ["make deploy"], "allow": ["sudo id"], "rules": {"privilege": "off"}, "protected_paths": ["gen/"]} }"#,
    )
    .unwrap();
    for (command, verdict, rule) in [
        ("make deploy", "deny", "custom.deny"),
        ("sudo id", "deny", "privilege"),
        ("rm gen/a", "deny", "write.protected"),
        ("echo '{}' > .headspace.jsonc", "deny", "write.agent-settings"),
    ] {
        let answer = answer(&home.run(&["guard", "check"], &home.payload(command)));
        assert_eq!((&answer["verdict"], &answer["rule"]), (&json!(verdict), &json!(rule)), "{command}");
    }
}

#[test]
fn the_clean_tree_counts_in_the_balanced_profile() {
    let home = Home::new();
    home.configure(r#"{"guard": {"profile": "balanced"}}"#);
    let project = home.home().join("proj");
    let git = |args: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
            .args(args)
            .current_dir(&project)
            .env("HOME", home.home())
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
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&home.payload("git reset --hard")).unwrap();
        answer(&child.wait_with_output().unwrap())["verdict"].clone()
    };
    assert_eq!(verdict(), "ask");
    std::fs::write(project.join("a"), "2").unwrap();
    assert_eq!(verdict(), "deny");
}

#[test]
fn typos_in_the_settings_are_errors_with_the_likely_word() {
    let home = Home::new();
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
fn other_events_get_their_own_form_or_nothing() {
    let home = Home::new();
    let event = |name: &str, command: &str| {
        let payload = json!({"session_id": "s1", "hook_event_name": name, "cwd": home.home().join("proj"),
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
    for (name, command) in [
        ("PermissionRequest", "terraform destroy"),
        ("PermissionRequest", "ls"),
        ("PostToolUse", "sudo id"),
        ("UserPromptSubmit", "sudo id"),
        ("Stop", "sudo id"),
    ] {
        let silent = event(name, command);
        assert!(silent.status.success() && silent.stdout.is_empty(), "{name} {command}: {silent:?}");
    }
}

#[test]
fn the_guard_fails_as_configured() {
    let home = Home::new();
    assert_eq!(answer(&home.run(&["guard", "check"], b"garbage"))["verdict"], "ask");
    home.configure(r#"{"guard": {"on_failure": "block"}}"#);
    assert_eq!(answer(&home.run(&["guard", "check"], b"garbage"))["verdict"], "deny");
    assert!(
        String::from_utf8_lossy(&home.run(&["guard", "rules"], b"").stdout).contains("on_failure: block")
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_configuration_does_not_hang() {
    let home = Home::new();
    let dir = home.home().join(".config/headspace");
    std::fs::create_dir_all(&dir).unwrap();
    for pipe in
        [dir.join("config.jsonc"), home.home().join("proj/.headspace.jsonc"), home.home().join("proj/x.sh")]
    {
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
    let home = Home::new();
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
fn a_reason_offers_what_is_not_set_yet() {
    let home = Home::new();
    let reason = |command: &str| {
        answer(&home.run(&["guard", "check"], &home.payload(command)))["reason"].as_str().unwrap().to_owned()
    };
    assert!(reason("sudo id").contains(r#""ask" or "off""#));
    assert!(reason("npm publish").contains(r#""deny" or "off""#));
}

/// Runs a command on a terminal of its own, types `input`, and gives what it showed.
#[cfg(unix)]
fn on_terminal(mut command: Command, input: &str) -> (String, Option<i32>) {
    use std::io::Read;
    use std::os::fd::{FromRawFd, OwnedFd};
    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: both point at integers for the length of the call; the rest may be null.
    let made = unsafe {
        libc::openpty(
            &mut ours,
            &mut theirs,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    assert_eq!(made, 0);
    // SAFETY: both were just made and belong to nobody else.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut terminal = std::fs::File::from(ours);
    terminal.write_all(input.as_bytes()).unwrap();
    let mut shown = Vec::new();
    // The last one to leave makes reading fail on Linux.
    let _ = terminal.read_to_end(&mut shown);
    (String::from_utf8_lossy(&shown).into_owned(), child.wait().unwrap().code())
}

#[cfg(unix)]
#[test]
fn a_person_allows_with_one_key_and_an_agent_never() {
    let home = Home::new();
    let verdict =
        |command: &str| answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"].clone();
    let hook = |command: &str| home.run(&["guard", "hook"], &home.payload(command)).stdout.is_empty();
    let allow = |args: &[&str]| home.command(&[&["guard", "allow"], args].concat());
    home.configure("{\n  // mine\n  \"guard\": {\n    \"rules\": {\"git\": \"ask\"}\n  }\n}\n");
    let config = home.home().join(".config/headspace/config.jsonc");

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
    let elsewhere = home.home().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join(".git")).unwrap();
    let mut there = home.command(&["guard", "check"]);
    there.env_remove("CLAUDE_PROJECT_DIR").current_dir(&elsewhere);
    let mut child = there.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&payload(&elsewhere, "git push --force")).unwrap();
    assert_eq!(answer(&child.wait_with_output().unwrap())["verdict"], "ask");
    assert_eq!(on_terminal(allow(&["*"]), "").1, Some(2));
}

#[cfg(unix)]
#[test]
fn install_asks_how_much_the_guard_minds_on_a_terminal_only() {
    let home = Home::new();
    let config = home.home().join(".config/headspace/config.jsonc");
    let silent = home.run(&["install", "--guard"], b"2\n");
    assert!(silent.status.success(), "{silent:?}");
    assert!(!config.exists());
    let (shown, code) = on_terminal(home.command(&["install", "--guard"]), "2\n");
    assert!(code == Some(0) && shown.contains("How much shall the guard mind?"), "{shown}");
    assert!(std::fs::read_to_string(&config).unwrap().contains("\"profile\": \"balanced\""));
    assert_eq!(answer(&home.run(&["guard", "check"], &home.payload("pkill -f vite")))["verdict"], "ask");
    let (again, _) = on_terminal(home.command(&["install", "--guard"]), "");
    assert!(!again.contains("How much shall"), "{again}");
}
