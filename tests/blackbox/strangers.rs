//! Other users, FIFOs, limits: what must not hang the program, nor get anything from it. Through the binary.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BIN: &str = env!("CARGO_BIN_EXE_headspace");
const EVENT: &[u8] = br#"{"session_id":"s1","hook_event_name":"Stop","cwd":"/tmp"}"#;

/// A user with a home and a state directory, and no server.
struct User(tempfile::TempDir);

impl User {
    fn new() -> User {
        let user = User(tempfile::tempdir().unwrap());
        fs::create_dir_all(user.state()).unwrap();
        fs::set_permissions(user.state(), fs::Permissions::from_mode(0o700)).unwrap();
        user
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn state(&self) -> PathBuf {
        self.at(".local/state/headspace")
    }

    /// With a limit on the time, so that what hangs fails.
    fn command(&self, limit: &str, args: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        let line = format!("{limit} exec \"$0\" \"$@\"");
        command
            .args(["--signal=KILL", "20", "/bin/sh", "-c", &line, BIN])
            .args(args)
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", "/usr/bin:/bin")
            // Nobody listens there.
            .env("CLAUDE_HEADSPACE_URL", "http://127.0.0.1:9")
            .current_dir(self.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command("", args).stdin(Stdio::null()).output().unwrap()
    }

    fn notify(&self, limit: &str, event: &[u8]) -> Output {
        let mut child = self.command(limit, &["notify"]).stdin(Stdio::piped()).spawn().unwrap();
        // It may leave before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(event);
        child.wait_with_output().unwrap()
    }

    fn spooled(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.state().join("spool")) else { return 0 };
        entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "event")).count()
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

fn is_root() -> bool {
    // SAFETY: it only asks, and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("skipped: only root can make files of another user");
    }
    root
}

fn give_away(path: &Path) {
    std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
}

#[test]
fn install_and_uninstall_refuse_what_is_not_a_regular_file() {
    let user = User::new();
    let settings = user.at(".claude/settings.json");
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
    for (kind, make) in kinds {
        clear();
        make(&settings);
        for args in [&["install"][..], &["install", "--dry-run"], &["uninstall"]] {
            is_refused(&user.run(args), &["settings.json", kind, "not a regular file"]);
        }
        assert!(settings.symlink_metadata().is_ok(), "{kind} is left alone");
    }
}

#[test]
fn a_config_directory_that_is_not_there_is_a_slip_of_the_fingers() {
    let user = User::new();
    fs::create_dir(user.at("claude-work")).unwrap();
    for command in ["install", "uninstall"] {
        is_refused(
            &user.run(&[command, "--config-dir", "claud-work"]),
            &["claud-work", "did you mean", "claude-work"],
        );
        is_refused(
            &user.run(&[command, "--config-dir", "nothing/like/it"]),
            &["nothing/like/it", "--create"],
        );
    }
    assert!(!user.at("claud-work").exists() && !user.at("nothing").exists());
    fs::write(user.at("a-file"), "x").unwrap();
    is_refused(&user.run(&["install", "--config-dir", "a-file"]), &["a-file", "not a directory"]);
    let made = user.run(&["install", "--config-dir", "new/one", "--create"]);
    assert!(made.status.success(), "{made:?}");
    assert!(user.at("new/one/settings.json").is_file());
}

#[test]
fn a_fifo_hangs_nobody() {
    let user = User::new();
    fifo(&user.at(".config/headspace/config.jsonc"));
    is_silent(&user.notify("", EVENT));
    assert_eq!(user.spooled(), 1);
    is_refused(&user.run(&["status"]), &["config.jsonc", "a FIFO"]);
    fs::remove_file(user.at(".config/headspace/config.jsonc")).unwrap();

    fs::remove_file(user.state().join("spool/.meter")).unwrap();
    fifo(&user.state().join("spool/.meter"));
    is_silent(&user.notify("", EVENT));
    assert_eq!(user.spooled(), 2);
    assert!(user.state().join("spool/.meter").is_file(), "made anew");

    fifo(&user.state().join("token"));
    is_silent(&user.notify("", EVENT));
    is_refused(&user.run(&["status"]), &["token", "a FIFO", "remove it"]);
    is_refused(&user.run(&["serve", "--port", "0"]), &["token", "a FIFO"]);
}

#[test]
fn without_room_or_memory_the_hook_is_a_silent_success() {
    let user = User::new();
    is_silent(&user.notify("ulimit -f 0;", EVENT));
    let big = [br#"{"session_id":"s1","hook_event_name":"Stop","x":""#.as_slice(), &[b'x'; 12 << 20], b"\"}"]
        .concat();
    let mut limited = 0;
    for kilobytes in (4..=64).step_by(4).map(|megabytes| megabytes << 10) {
        let output = user.notify(&format!("ulimit -v {kilobytes};"), &big);
        // The shell itself may not have enough to start anything.
        if output.status.code() == Some(0) {
            limited += 1;
            is_silent(&output);
        } else {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(kilobytes <= 16 << 10 && !said.contains("memory allocation"), "{kilobytes}: {output:?}");
        }
    }
    assert!(limited > 5);
}

#[test]
fn a_state_others_can_change_is_refused_with_the_fix() {
    let user = User::new();
    for (mode, refused) in [(0o777, true), (0o720, true), (0o702, true), (0o755, false), (0o700, false)] {
        fs::set_permissions(user.state(), fs::Permissions::from_mode(mode)).unwrap();
        for command in ["status", "open", "events", "rebuild"] {
            let output = user.run(&[command]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(said.contains("could not trust"), refused, "{mode:o} {command}: {said}");
            if refused {
                is_refused(&output, &["chmod 700"]);
            }
        }
        let before = user.spooled();
        is_silent(&user.notify("", EVENT));
        assert_eq!(user.spooled() - before, usize::from(!refused), "{mode:o}");
    }
    let token = user.state().join("token");
    fs::write(&token, "planted\n").unwrap();
    for mode in [0o644, 0o640, 0o606] {
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
        is_refused(&user.run(&["status"]), &["token", "chmod 600"]);
        is_refused(&user.run(&["serve", "--port", "0"]), &["token", "chmod 600"]);
    }
}

#[test]
fn a_state_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let user = User::new();
    give_away(&user.state());
    is_refused(&user.run(&["status"]), &["headspace", "another user", "chown"]);
    is_refused(&user.run(&["serve", "--port", "0"]), &["another user"]);
    is_silent(&user.notify("", EVENT));
    assert_eq!(user.spooled(), 0, "nothing is left where somebody else can read it");

    let user = User::new();
    let token = user.state().join("token");
    fs::write(&token, "planted\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    give_away(&token);
    is_refused(&user.run(&["status"]), &["token", "another user"]);
    is_silent(&user.notify("", EVENT));
    let doctor = user.run(&["doctor"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("another user"), "{doctor:?}");
}

/// What a project brings along may name files of the project only, and nobody's secrets.
#[test]
fn a_project_loads_nothing_outside_of_it() {
    let user = User::new();
    let write = |path: &str, text: &str| {
        let path = user.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(user.at(to), user.at(from)).unwrap();
    fs::create_dir_all(user.at("p/.git")).unwrap();
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
        let project = user.at("p").display().to_string();
        let output = user.run(&["context", "show", "--project", &project, "--role", role]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let expect = |text: &str, there: &[&str], gone: &[&str]| {
        there.iter().for_each(|word| assert!(text.contains(word), "no {word} in {text}"));
        gone.iter().for_each(|word| assert!(!text.contains(word), "{word} in {text}"));
    };
    let text = show(r#"{"context": {"roles_dir": "roles"}}"#, "dev");
    expect(&text, &["INSIDE", "HOSTILE"], &["OTHER", "KEY", "MINE", "DOTENV", "\x1b", "\u{9b}", "\u{202e}"]);
    // The user's own role and configuration may name what is theirs, but no secrets, and no link of the project leads out.
    let text = show(r#"{"context": {"roles_dir": "~/own/roles"}}"#, "me");
    expect(&text, &["MINE"], &["KEY"]);
    let text =
        show(r#"{"context": {"files": ["~/notes/mine.md", "docs/*.md", ".env", "~/.ssh/id_ed25519"]}}"#, "");
    expect(&text, &["MINE", "INSIDE"], &["OTHER", "KEY", "DOTENV"]);
}
