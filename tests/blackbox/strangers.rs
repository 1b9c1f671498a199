//! Other users, FIFOs and limits must not hang the program, and must not get anything from it.

use headspace_test_support::{Home, NOBODY, binary, each_row, is_root, run, skip, wait_until};
use serde_json::json;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const EVENT: &[u8] = br#"{"session_id":"s1","hook_event_name":"Stop","cwd":"/tmp"}"#;

/// A home with a state directory and no server, where a command that hangs is killed.
struct Watched(Home);

impl Watched {
    fn new() -> Watched {
        let home = Home::new();
        fs::create_dir_all(home.state()).unwrap();
        fs::set_permissions(home.state(), fs::Permissions::from_mode(0o700)).unwrap();
        Watched(home)
    }

    /// Runs `headspace` behind a line of shell that sets limits.
    fn limited(&self, limits: &str, args: &[&str]) -> Command {
        let line = format!("{limits} exec \"$0\" \"$@\"");
        let kill_if_hung = ["--signal=KILL", "20", "/bin/sh", "-c", &line, binary()];
        self.command_of("timeout", &[&kill_if_hung, args].concat())
    }

    fn run(&self, args: &[&str]) -> Output {
        self.limited("", args).output().unwrap()
    }

    fn notify(&self, limits: &str, event: &[u8]) -> Output {
        run(self.limited(limits, &["notify"]), event)
    }

    fn doctor(&self) -> String {
        String::from_utf8(self.run(&["doctor"]).stdout).unwrap()
    }

    fn spooled(&self) -> usize {
        self.0.spooled().len()
    }
}

impl Deref for Watched {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.0
    }
}

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn is_silent(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// Exit code 1, and an error in one line with these words.
fn is_refused(output: &Output, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said.starts_with("headspace: could not ") && said.lines().count() == 1, "{said}");
    for word in words {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
}

fn give_away(path: &Path) {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

#[test]
fn install_and_uninstall_refuse_what_is_not_a_regular_file() {
    let home = Watched::new();
    let settings = home.at(".claude/settings.json");
    let clear = || {
        let _ = fs::remove_file(&settings);
        let _ = fs::remove_dir(&settings);
    };
    type Make = fn(&Path);
    let kinds: [(&str, Make); 4] = [
        ("a FIFO", fifo),
        ("a directory", |path| fs::create_dir_all(path).unwrap()),
        ("a device", |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap()),
        ("a socket", |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap())),
    ];
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    each_row(
        kinds,
        |(kind, ..)| kind.to_string(),
        |(kind, make)| {
            clear();
            make(&settings);
            for args in [&["install"][..], &["install", "--dry-run"], &["uninstall"]] {
                is_refused(&home.run(args), &["settings.json", kind, "not a regular file"]);
            }
            assert!(settings.symlink_metadata().is_ok(), "{kind} is left alone");
        },
    );
}

#[test]
fn a_missing_config_directory_is_refused_with_a_suggestion() {
    let home = Watched::new();
    fs::create_dir(home.at("claude-work")).unwrap();
    for command in ["install", "uninstall"] {
        is_refused(
            &home.run(&[command, "--config-dir", "claud-work"]),
            &["claud-work", "did you mean", "claude-work"],
        );
        is_refused(
            &home.run(&[command, "--config-dir", "nothing/like/it"]),
            &["nothing/like/it", "--create"],
        );
    }
    assert!(!home.at("claud-work").exists() && !home.at("nothing").exists());
    fs::write(home.at("a-file"), "x").unwrap();
    is_refused(&home.run(&["install", "--config-dir", "a-file"]), &["a-file", "not a directory"]);
    let made = home.run(&["install", "--config-dir", "new/one", "--create"]);
    assert!(made.status.success(), "{made:?}");
    assert!(home.at("new/one/settings.json").is_file());
}

#[test]
fn a_fifo_hangs_no_command() {
    let home = Watched::new();
    fifo(&home.at(".config/headspace/config.jsonc"));
    is_silent(&home.notify("", EVENT));
    assert_eq!(home.spooled(), 1);
    is_refused(&home.run(&["status"]), &["config.jsonc", "a FIFO"]);
    fs::remove_file(home.at(".config/headspace/config.jsonc")).unwrap();

    fs::remove_file(home.state().join("spool/.meter")).unwrap();
    fifo(&home.state().join("spool/.meter"));
    is_silent(&home.notify("", EVENT));
    assert_eq!(home.spooled(), 2);
    assert!(home.state().join("spool/.meter").is_file(), "made again");

    fifo(&home.state().join("token"));
    is_silent(&home.notify("", EVENT));
    is_refused(&home.run(&["status"]), &["token", "a FIFO", "remove it"]);
    is_refused(&home.run(&["serve", "--port", "0"]), &["token", "a FIFO"]);
}

type Make = fn(&Path);

#[test]
fn a_fifo_in_the_place_of_the_database_is_refused_by_all_that_would_open_it() {
    each_row(
        ["headspace.db", "headspace.db-wal", "headspace.db-shm", "headspace.db-journal", "headspace.db.lock"],
        |name| name.to_string(),
        |name| {
            let home = Watched::new();
            home.serve().stop();
            let path = home.state().join(name);
            let _ = fs::remove_file(&path);
            fifo(&path);
            let words = [name, "a FIFO", "not a regular file", "move it away"];
            is_refused(&home.run(&["serve", "--port", "0"]), &words);
            is_silent(&home.notify("", EVENT));
            assert_eq!(home.spooled(), 1, "{name}");
            // Whoever only reads needs no lock.
            if !name.ends_with(".lock") {
                for args in [&["status"][..], &["status", "--short"], &["status", "--tmux"], &["events"]] {
                    is_refused(&home.run(args), &words);
                }
            }
            let doctor = home.doctor();
            assert!(doctor.contains("a FIFO") && doctor.contains(&format!("{name}.away")), "{doctor}");
            // The advice is right.
            fs::rename(&path, home.at("away")).unwrap();
            let _server = home.serve();
            wait_until("the event is taken from the spool", || home.spooled() == 0);
        },
    );
}

#[test]
fn a_machine_without_a_usable_id_goes_on_without_one() {
    let kinds: [(&str, Make, bool); 4] = [
        ("a FIFO", fifo, true),
        ("a link to a device", |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(), true),
        ("a directory", |path| fs::create_dir(path).unwrap(), false),
        ("half of one", |path| fs::write(path, "0123").unwrap(), true),
    ];
    each_row(
        kinds,
        |(kind, ..)| kind.to_string(),
        |(kind, make, is_repaired)| {
            let home = Watched::new();
            let id = home.state().join("host_id");
            make(&id);
            is_silent(&home.notify("", EVENT));
            let (_, body) = home.0.spooled().remove(0);
            assert!(body["host"].is_string() && body.get("host_id").is_none(), "{kind}: {body}");
            let doctor = home.doctor();
            assert_eq!(doctor.contains("host_id"), kind != "half of one", "{doctor}");
            let _server = home.serve();
            wait_until("the event is taken from the spool", || home.spooled() == 0);
            for args in [&["status"][..], &["events"], &["show", "1"], &["answer", "status"]] {
                assert!(home.run(args).status.success(), "{kind}: {args:?}");
            }
            assert_eq!(id.symlink_metadata().unwrap().is_file(), is_repaired, "{kind}");
            assert!(Path::new("/dev/zero").exists());
        },
    );
}

#[test]
fn nothing_is_read_from_or_made_in_a_state_directory_of_another_user() {
    if !is_root() {
        return skip("only root can make files of another user");
    }
    let home = Watched::new();
    give_away(home.state());
    is_silent(&home.notify("", EVENT));
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 0, "nothing is made");
    // It would wait for a writer that never comes.
    fifo(&home.state().join("host_id"));
    let permission = json!({"command": "rm -rf /usr", "until": u64::MAX >> 1});
    fs::write(home.state().join("guard-once.json"), permission.to_string()).unwrap();
    is_silent(&home.notify("", EVENT));
    let call = json!({"session_id": "s1", "hook_event_name": "PreToolUse", "cwd": "/tmp", "tool_name": "Bash",
                      "tool_input": {"command": "rm -rf /usr"}});
    let denied = run(home.limited("", &["guard", "hook"]), call.to_string());
    assert!(String::from_utf8_lossy(&denied.stdout).contains("\"deny\""), "{denied:?}");
    let entries = fs::read_dir(home.state()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["guard-once.json", "host_id"]);
}

/// A client's file may be a FIFO or a device, also behind links.
#[test]
fn no_settings_file_hangs_a_command() {
    // And whether our hooks would be there.
    let files = [
        (".claude/settings.json", true),
        (".claude.json", false),
        (".codex/hooks.json", true),
        (".codex/config.toml", false),
        (".qwen/settings.json", true),
        (".gemini/settings.json", true),
        (".copilot/hooks/headspace.json", true),
    ];
    each_row(
        files.into_iter().flat_map(|(file, is_hooks)| [(file, is_hooks, false), (file, is_hooks, true)]),
        |(file, _, is_device)| format!("{file}, a {}", if *is_device { "device" } else { "FIFO" }),
        |(file, is_hooks, is_device)| {
            let home = Watched::new();
            let path = home.at(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let end = if is_device { "/dev/zero".into() } else { home.at("pipe") };
            if !is_device {
                fifo(&end);
            }
            std::os::unix::fs::symlink(&end, home.at("link")).unwrap();
            std::os::unix::fs::symlink(home.at("link"), &path).unwrap();
            for args in [&["install", "--list"][..], &["install", "--dry-run"], &["install"]] {
                // Only a command that hangs is killed.
                assert!(home.run(args).status.code().is_some_and(|code| code < 2), "{args:?}");
            }
            let doctor = home.doctor();
            assert!(!is_hooks || doctor.contains("not a regular file"), "{doctor}");
            assert!(path.symlink_metadata().unwrap().is_symlink(), "it is left alone");
        },
    );
}

/// A token that cannot be trusted is not used. It says nothing about the spool beside it.
#[test]
fn an_event_beside_a_token_that_is_not_trusted_is_kept() {
    fn with_mode(path: &Path, mode: u32) {
        fs::write(path, "planted\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let kinds: [(&str, Make, &str); 6] = [
        ("644", |path| with_mode(path, 0o644), "chmod 600"),
        ("640", |path| with_mode(path, 0o640), "chmod 600"),
        ("604", |path| with_mode(path, 0o604), "chmod 600"),
        ("666", |path| with_mode(path, 0o666), "chmod 600"),
        ("a FIFO", fifo, "token.away"),
        ("a directory", |path| fs::create_dir(path).unwrap(), "token.away"),
    ];
    each_row(
        kinds,
        |(kind, ..)| kind.to_string(),
        |(_, make, fix)| {
            let home = Watched::new();
            make(&home.state().join("token"));
            is_silent(&home.notify("", EVENT));
            assert_eq!(home.spooled(), 1);
            let doctor = home.doctor();
            assert!(doctor.contains(fix), "{doctor}");
            assert_eq!(doctor.contains("chmod"), fix.contains("chmod"), "{doctor}");
        },
    );
}

#[test]
fn an_event_is_kept_in_memory_while_the_spool_is_not_a_directory() {
    let kinds: [(&str, Make); 3] = [
        ("a file", |path| fs::write(path, "x").unwrap()),
        ("a FIFO", fifo),
        ("a link to nothing", |path| std::os::unix::fs::symlink("/nothing/here", path).unwrap()),
    ];
    each_row(
        kinds,
        |(kind, _)| kind.to_string(),
        |(_, make)| {
            let mut home = Watched::new();
            let memory = home.at("run");
            fs::create_dir(&memory).unwrap();
            fs::set_permissions(&memory, fs::Permissions::from_mode(0o700)).unwrap();
            home.0.set("XDG_RUNTIME_DIR", memory);
            let spool = home.state().join("spool");
            make(&spool);
            is_silent(&home.notify("", EVENT));
            let doctor = home.doctor();
            assert!(doctor.contains("spool is not a directory") && doctor.contains("spool.away"), "{doctor}");
            let server = home.serve();
            wait_until("the event arrives", || server.get("/api/agents").to_string().contains("\"s1\""));
            assert!(spool.symlink_metadata().is_ok(), "it is left alone");
        },
    );
}

#[test]
fn a_token_that_nobody_could_send_is_refused_with_the_fix() {
    let home = Watched::new();
    let token = home.state().join("token");
    let contents: [(&str, &[u8]); 5] = [
        ("control characters", b"ab\x01c\n"),
        ("control characters", b"ab\ncd\n"),
        ("not UTF-8", b"\xff\xfe\n"),
        ("longer than", &[b'a'; 300]),
        ("longer than", b""),
    ];
    each_row(
        contents,
        |(why, content)| format!("{why}, {} bytes", content.len()),
        |(why, content)| {
            fs::write(&token, content).unwrap();
            if content.is_empty() {
                // Of holes, which take no room.
                fs::File::options().write(true).open(&token).unwrap().set_len(3 << 30).unwrap();
            }
            fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
            is_refused(&home.run(&["serve", "--port", "0"]), &["token", why, "remove it"]);
            assert!(token.is_file(), "what the user wrote is left alone");
        },
    );
    fs::remove_file(&token).unwrap();
    home.serve().stop();
    assert_eq!(fs::read_to_string(&token).unwrap().trim().len(), 64);
}

#[test]
fn the_status_line_outlives_a_limit_on_files() {
    let home = Watched::new();
    for args in [&["statusline"][..], &["statusline", "--", "cat > /dev/null; echo m"]] {
        let mut line = home.limited("ulimit -f 0;", args);
        // The note is what the limit forbids.
        line.env("HEADSPACE_DEBUG", "1");
        let output = run(line, r#"{"session_id":"s1","model":{"id":"m"}}"#);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"m\n"[..]), "{output:?}");
    }
}

#[test]
fn the_hook_is_silent_without_disk_space_or_memory() {
    let home = Watched::new();
    is_silent(&home.notify("ulimit -f 0;", EVENT));
    let big = [br#"{"session_id":"s1","hook_event_name":"Stop","x":""#.as_slice(), &[b'x'; 12 << 20], b"\"}"]
        .concat();
    let mut limited = 0;
    // A program that was built to be debugged is larger than what this test is about.
    let program = std::fs::metadata(binary()).unwrap().len() >> 10;
    let may_not_start = program.clamp(16 << 10, 48 << 10);
    each_row(
        (4..=64).step_by(4).map(|megabytes| megabytes << 10),
        |kilobytes| format!("{kilobytes} KiB"),
        |kilobytes| {
            let output = home.notify(&format!("ulimit -v {kilobytes};"), &big);
            // The shell itself may not have enough to start anything.
            if output.status.code() == Some(0) {
                limited += 1;
                is_silent(&output);
            } else {
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(
                    kilobytes <= may_not_start && !said.contains("memory allocation"),
                    "{kilobytes}: {output:?}"
                );
            }
        },
    );
    assert!(limited > 5);
}

#[test]
fn a_state_directory_that_others_can_change_is_refused_with_the_fix() {
    let home = Watched::new();
    each_row(
        [(0o777, true), (0o720, true), (0o702, true), (0o755, false), (0o700, false)],
        |(mode, _)| format!("mode {mode:o}"),
        |(mode, refused)| {
            fs::set_permissions(home.state(), fs::Permissions::from_mode(mode)).unwrap();
            for command in ["status", "open", "events", "rebuild"] {
                let output = home.run(&[command]);
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(said.contains("could not trust"), refused, "{mode:o} {command}: {said}");
                if refused {
                    is_refused(&output, &["chmod 700"]);
                }
            }
            let before = home.spooled();
            is_silent(&home.notify("", EVENT));
            assert_eq!(home.spooled() - before, usize::from(!refused), "{mode:o}");
        },
    );
    let token = home.state().join("token");
    fs::write(&token, "planted\n").unwrap();
    for mode in [0o644, 0o640, 0o606] {
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
        is_refused(&home.run(&["status"]), &["token", "chmod 600"]);
        is_refused(&home.run(&["serve", "--port", "0"]), &["token", "chmod 600"]);
    }
}

#[test]
fn a_state_directory_of_another_user_is_refused() {
    if !is_root() {
        return skip("only root can make files of another user");
    }
    let home = Watched::new();
    give_away(home.state());
    is_refused(&home.run(&["status"]), &["headspace", "another user", "chown"]);
    is_refused(&home.run(&["serve", "--port", "0"]), &["another user"]);
    is_silent(&home.notify("", EVENT));
    assert_eq!(home.spooled(), 0, "nothing is left where somebody else can read it");

    let home = Watched::new();
    let token = home.state().join("token");
    fs::write(&token, "planted\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    give_away(&token);
    is_refused(&home.run(&["status"]), &["token", "another user"]);
    is_silent(&home.notify("", EVENT));
    let doctor = home.run(&["doctor"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("another user"), "{doctor:?}");
}

/// A project's own role can include only files of the project, and no secrets.
#[test]
fn a_project_loads_nothing_outside_of_it() {
    let home = Watched::new();
    let write = |path: &str, text: &str| {
        let path = home.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(home.at(to), home.at(from)).unwrap();
    fs::create_dir_all(home.at("p/.git")).unwrap();
    write("notes/mine.md", "MINE");
    write("other/theirs.md", "OTHER");
    write(".ssh/id_ed25519", "KEY");
    write("p/docs/in.md", "INSIDE");
    write("p/.env", "DOTENV");
    write("p/.env.example", "TEMPLATE");
    write("p/docs/hostile.md", "HOSTILE\x1b[2J\u{9b}31m\u{202e}");
    link("other/theirs.md", "p/docs/link.md");
    link(".ssh/id_ed25519", "p/docs/key.md");
    link("other", "p/docs/dir");
    write(
        "p/roles/dev.md",
        "---\nauto_include:\n  - docs/in.md\n  - docs/link.md\n  - docs/key.md\n  - docs/dir/theirs.md\n  - ../other/theirs.md\n  \
         - ~/notes/mine.md\n  - ~/.ssh/id_ed25519\n  - .env\n  - docs/**\n---\n",
    );
    write("own/roles/me.md", "---\nauto_include:\n  - ~/notes/mine.md\n  - ~/.ssh/id_ed25519\n---\n");
    let show = |config: &str, role: &str| {
        write(".config/headspace/config.jsonc", config);
        let project = home.at("p").display().to_string();
        let output = home.run(&["context", "show", "--project", &project, "--role", role]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let expect = |text: &str, there: &[&str], gone: &[&str]| {
        there.iter().for_each(|word| assert!(text.contains(word), "no {word} in {text}"));
        gone.iter().for_each(|word| assert!(!text.contains(word), "{word} in {text}"));
    };
    let text = show(r#"{"context": {"roles_dir": "roles"}}"#, "dev");
    expect(&text, &["INSIDE", "HOSTILE"], &["OTHER", "KEY", "MINE", "DOTENV", "\x1b", "\u{9b}", "\u{202e}"]);
    // The user's own role and configuration can include the user's files, but no secrets. Links in the project do not
    // lead out of it.
    let text = show(r#"{"context": {"roles_dir": "~/own/roles"}}"#, "me");
    expect(&text, &["MINE"], &["KEY"]);
    let text =
        show(r#"{"context": {"files": ["~/notes/mine.md", "docs/*.md", ".env", "~/.ssh/id_ed25519"]}}"#, "");
    expect(&text, &["MINE", "INSIDE"], &["OTHER", "KEY", "DOTENV"]);
}
