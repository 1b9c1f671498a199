//! Other users, FIFOs and limits must not hang the program, and must not get anything from it.

use headspace_test_support::{Home, NOBODY, binary, each_row, is_root, run, skip};
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
