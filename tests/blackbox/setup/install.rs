//! `install` and `uninstall` as a user runs them.

use headspace_test_support::{Home, Tmux, binary, copy_program, each_row, skip, succeeded};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const PRETTY: &str = "{\n  \"model\": \"opus\",\n  \"env\": {\"FOO\": \"b\\u00e4r \\\"q\\\"\"},\n  \"statusLine\": {\"type\": \"command\", \"command\": \"~/bin/line.sh\"},\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"afplay Glass.aiff\"},\n          {\"type\": \"command\", \"command\": \"/opt/log-headspace.sh notify\", \"timeout\": 5}\n        ]\n      }\n    ]\n  },\n  \"includeCoAuthoredBy\": false\n}\n";

fn with_settings(text: &str) -> Home {
    let home = Home::new();
    home.write(".claude/settings.json", text);
    home
}

fn settings(home: &Home) -> PathBuf {
    home.at(".claude/settings.json")
}

fn backups(home: &Home) -> Vec<PathBuf> {
    let Ok(dir) = fs::read_dir(home.at(".local/state/headspace/backups")) else { return Vec::new() };
    let mut found: Vec<_> =
        dir.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "bak")).collect();
    found.sort();
    found
}

/// Every file below the home directory with its content.
fn everything(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(dir: &Path, out: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            match entry.file_type().unwrap().is_dir() {
                true => walk(&path, out),
                false => out.push((path.clone(), fs::read(&path).unwrap_or_default())),
            }
        }
    }
    let mut out = Vec::new();
    walk(home.path(), &mut out);
    out.sort();
    out
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The events with an entry that runs `words`, in the file's order.
fn events_of(text: &str, words: &[&str]) -> Vec<String> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    let mut events = Vec::new();
    for (event, groups) in value["hooks"].as_object().unwrap() {
        for entry in groups.as_array().unwrap().iter().flat_map(|g| g["hooks"].as_array().unwrap()) {
            let args = entry["args"].as_array().into_iter().flatten().map(|a| a.as_str().unwrap());
            let call: Vec<&str> = entry["command"].as_str().into_iter().chain(args).collect();
            if call == words {
                assert_eq!(entry["timeout"], 5, "{event}");
                assert_eq!(entry["type"], "command", "{event}");
                events.push(event.clone());
            }
        }
    }
    events
}

#[test]
fn uninstall_restores_every_byte_whatever_the_file_looked_like() {
    let shapes = [
        PRETTY.to_owned(),
        PRETTY.replace('\n', "\r\n"),
        PRETTY.replace("  ", "\t"),
        format!("\u{feff}{PRETTY}"),
        String::new(),
        " \n".into(),
        "{}".into(),
        "{ }\n".into(),
        "{\n\n}".into(),
        "{\"hooks\": {}}".into(),
        "{\"hooks\":{\"Stop\":[ ],\"PreToolUse\":[{}]}}".into(),
        "{\"model\":\"opus\"}".into(),
        "// mine\n{\n  /* a */ \"model\": \"opus\", // b\n  \"x\": [1,],\n}\n// end".into(),
    ];
    each_row(
        shapes,
        |before| format!("{before:?}"),
        |before| {
            let home = with_settings(&before);
            home.ok(&["install"]);
            let installed = read(&settings(&home));
            assert_ne!(installed, before);
            assert!(backups(&home).iter().any(|backup| read(backup) == before), "no backup of {before:?}");
            home.ok(&["install"]);
            assert_eq!(read(&settings(&home)), installed, "second install");
            home.ok(&["uninstall"]);
            assert_eq!(read(&settings(&home)), before);
            home.ok(&["uninstall"]);
            assert_eq!(read(&settings(&home)), before, "second uninstall");
        },
    );
}

#[test]
fn uninstall_leaves_no_directory_that_install_made() {
    let home = Home::new();
    home.ok(&["install"]);
    assert_eq!(events_of(&read(&settings(&home)), &[binary(), "notify"]).len(), 28);
    assert_eq!((mode(&settings(&home)), mode(&home.at(".claude"))), (0o600, 0o700));
    home.ok(&["uninstall"]);
    assert!(!home.at(".claude").exists());
}

#[test]
fn install_says_what_it_did() {
    let home = with_settings(PRETTY);
    let told = home.ok(&["install"]);
    for part in [
        "~/.claude/settings.json",
        ".bak",
        "28 added",
        "2 hooks of other tools",
        " notify\n",
        "delivered in ",
        "not running",
        "headspace uninstall",
    ] {
        assert!(told.contains(part), "{part:?} is missing:\n{told}");
    }
    let again = home.ok(&["install"]);
    assert!(again.contains("already installed, nothing changed") && !again.contains(".bak"), "{again}");
    let json = home.json(&["install"]);
    assert_eq!(
        (&json["files"][0]["changed"], &json["files"][0]["kept"]),
        (&Value::Bool(false), &Value::from(28))
    );
    assert_eq!(json["test"]["delivered"], true);
}

#[test]
fn the_test_event_leaves_nothing_behind() {
    let home = Home::new();
    home.ok(&["install"]);
    let left: Vec<_> =
        fs::read_dir(home.at(".local/state/headspace")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["backups"]);
}

#[test]
fn answering_goes_off_even_if_its_entry_cannot_be_removed_and_says_so() {
    let home = with_settings(PRETTY);
    home.ok(&["install"]);
    let installed = read(&settings(&home));
    home.ok(&["answer", "on"]);
    let on = read(&settings(&home));
    assert_ne!(on, installed);
    // Somebody is editing the file.
    fs::write(settings(&home), &on[..on.len() - 3]).unwrap();
    let refused = home.run(&["answer", "off"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("answering is off, but its hook entry is still there"), "{told}");
    assert!(home.ok(&["answer", "status"]).contains("answering is off"));
    fs::write(settings(&home), &on).unwrap();
    home.ok(&["answer", "off"]);
    assert_eq!(read(&settings(&home)), installed);
}

#[test]
fn a_moved_binary_is_updated_in_place_and_uninstall_restores_every_byte() {
    let home = with_settings(PRETTY);
    home.ok(&["install"]);
    let installed = read(&settings(&home));
    let moved = home.at("elsewhere/headspace");
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    copy_program(binary(), &moved);
    let told = succeeded(home.command_of(&moved, &["install"]).output().unwrap());
    assert!(told.contains("28 updated") && told.contains("delivered in "), "{told}");
    assert_eq!(read(&settings(&home)), installed.replace(binary(), moved.to_str().unwrap()));
    // A path that a shell would split is quoted.
    let odd = home.at("it's a dir/headspace");
    fs::create_dir_all(odd.parent().unwrap()).unwrap();
    fs::rename(&moved, &odd).unwrap();
    let told = succeeded(home.command_of(&odd, &["install"]).output().unwrap());
    assert!(told.contains("28 updated") && told.contains("delivered in "), "{told}");
    let line = format!("'{}' notify", odd.to_str().unwrap().replace('\'', "'\\''"));
    assert_eq!(events_of(&read(&settings(&home)), &[&line]).len(), 28);
    assert!(read(&home.at(".claude/hooks/notify-headspace.sh")).contains("it'\\''s a dir"));
    let moved = odd;
    succeeded(home.command_of(&moved, &["uninstall"]).output().unwrap());
    assert_eq!(read(&settings(&home)), PRETTY);
}

#[test]
fn edits_made_after_install_survive_uninstall() {
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n";
    let home = with_settings(before);
    home.ok(&["install"]);
    let edited = read(&settings(&home)).replace("\"opus\"", "\"haiku\", // mine");
    fs::write(settings(&home), &edited).unwrap();
    home.ok(&["install"]);
    assert_eq!(read(&settings(&home)), edited);
    let told = home.ok(&["uninstall"]);
    assert!(told.contains("everything else left as it is"), "{told}");
    assert_eq!(read(&settings(&home)), before.replace("\"opus\"", "\"haiku\", // mine"));
}

#[test]
fn the_first_and_the_last_ten_backups_are_kept() {
    let home = with_settings(PRETTY);
    home.ok(&["install"]);
    for round in 0..15 {
        let text = read(&settings(&home));
        // After an entry is removed, the next install writes again.
        let start = text.find("    \"Setup\"").unwrap_or_else(|| panic!("{text}"));
        let end = start + text[start..].find('\n').unwrap() + 1;
        let mut text = text;
        text.replace_range(start..end, "");
        fs::write(settings(&home), text.replace("\"opus\"", &format!("\"opus{round}\""))).unwrap();
        home.ok(&["install", "--events", "Setup,Stop"]);
        home.ok(&["install"]);
    }
    let backups = backups(&home);
    assert_eq!(backups.len(), 11, "{backups:?}");
    assert_eq!(read(&backups[0]), PRETTY);
    assert!(backups.iter().all(|backup| mode(backup) == 0o600));
    assert_eq!(mode(&home.at(".local/state/headspace")), 0o700);
}

#[test]
fn symbolic_links_and_modes_are_kept() {
    for relative in [false, true] {
        let home = Home::new();
        let real = home.write("dotfiles/claude/settings.json", PRETTY);
        fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
        fs::create_dir(home.at(".claude")).unwrap();
        let middle = home.at("dotfiles/link.json");
        symlink("claude/settings.json", &middle).unwrap();
        let to = if relative { PathBuf::from("../dotfiles/link.json") } else { middle.clone() };
        symlink(&to, settings(&home)).unwrap();
        let told = home.ok(&["install"]);
        assert!(told.contains("-> ~/dotfiles/claude/settings.json (link kept)"), "{told}");
        assert_eq!(fs::read_link(settings(&home)).unwrap(), to);
        assert!(middle.is_symlink() && !real.is_symlink());
        assert_eq!((mode(&real), events_of(&read(&real), &[binary(), "notify"]).len()), (0o640, 28));
        home.ok(&["uninstall"]);
        assert_eq!((read(&real), mode(&real)), (PRETTY.to_owned(), 0o640));
    }
    let home = Home::new();
    fs::create_dir_all(home.at(".claude")).unwrap();
    symlink("../later/settings.json", settings(&home)).unwrap();
    home.ok(&["install"]);
    assert!(settings(&home).is_symlink() && home.at("later/settings.json").is_file());
    home.ok(&["uninstall"]);
    assert!(settings(&home).is_symlink() && !home.at("later").exists());
}

#[test]
fn a_second_hard_link_gets_a_warning() {
    let home = with_settings(PRETTY);
    fs::hard_link(settings(&home), home.at("other.json")).unwrap();
    let output = home.run(&["install"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("second hard link"));
    assert_eq!(read(&home.at("other.json")), PRETTY);
}

#[test]
fn an_invalid_file_is_refused_in_one_line_with_line_and_column() {
    let cases: &[(&[u8], &str)] = &[
        (b"{\"model\": \"opus\",", ":1:18: not valid JSON"),
        (b"hello", ":1:1: not valid JSON"),
        (b"[]\n", ":1:1: the file must hold an object"),
        (b"null", ":1:1: the file must hold an object"),
        (b"{\"a\": 1,\n \"a\": 2}", ":2:2: the key \"a\" stands here twice"),
        (b"{\"hooks\": {\"Stop\": []}, \"hooks\": {}}", ":1:25: the key \"hooks\""),
        (b"{\"hooks\": 1}", ":1:11: \"hooks\" must be an object"),
        (
            b"{\"hooks\": {\n\t\"PermissionRequest\": {}}}",
            ":2:23: \"hooks.PermissionRequest\" must be an array",
        ),
        (b"{'a': 1}", ":1:2: not valid JSON"),
        (b"{a: 1}", ":1:2: not valid JSON"),
        (b"{\"a\": \"\x1b\"}", ":1:8: not valid JSON"),
        (b"{\n\"model\": \"\xff\xfe\"}", ":2:11: not UTF-8"),
    ];
    each_row(
        cases,
        |(bytes, _)| String::from_utf8_lossy(bytes).into_owned(),
        |(bytes, place)| {
            let home = Home::new();
            fs::create_dir(home.at(".claude")).unwrap();
            fs::write(settings(&home), bytes).unwrap();
            let before = everything(&home);
            for command in ["install", "uninstall"] {
                let output = home.run(&[command]);
                let told = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(1), "{told}");
                assert!(told.starts_with("headspace: could not ") && told.lines().count() == 1, "{told}");
                assert!(told.contains(place), "{place}: {told}");
                assert_eq!(everything(&home), before, "{command}");
            }
        },
    );
}

/// JSON has no way to write such a name; what is printed is as near as it gets.
#[test]
fn names_that_are_not_unicode_are_printed_as_json_too() {
    let home = Home::new();
    let project = home.at(OsStr::from_bytes(b"caf\xe9"));
    if fs::create_dir(&project).is_err() {
        return skip("this file system has no such names");
    }
    fs::create_dir(project.join(".claude")).unwrap();
    fs::create_dir(project.join(".git")).unwrap();
    fs::write(
        project.join(".claude/settings.json"),
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}, 5]}}"#,
    )
    .unwrap();
    fs::write(project.join("A.md"), "the first file").unwrap();
    home.write(".config/headspace/config.jsonc", r#"{"context": {"files": ["A.md"]}}"#);
    let commands: [&[&str]; 6] = [
        &["hooks", "validate"],
        &["hooks", "list"],
        &["hooks", "run", "Stop"],
        &["context", "show"],
        &["install", "--dry-run", "--scope", "project"],
        &["uninstall", "--scope", "project"],
    ];
    for args in commands {
        let out = home.command(args).arg("--json").current_dir(&project).output().unwrap();
        let told = String::from_utf8_lossy(&out.stdout);
        assert!(serde_json::from_str::<Value>(&told).is_ok(), "{args:?}: {out:?}");
        assert!(told.contains("caf\u{fffd}"), "{args:?}: {told}");
    }
}

#[test]
fn options_that_do_not_go_together_are_refused_in_one_line() {
    let home = Home::new();
    let before = everything(&home);
    let cases: [&[&str]; 7] = [
        &["--client", "codex", "--events", "Stop"],
        &["--client", "codex", "--scope", "project"],
        &["--client", "wave", "--guard"],
        &["--client", "wave", "--events", "SessionStart"],
        &["--scope", "project", "--config-dir", "/tmp"],
        &["--events", "WorktreeCreate"],
        &["--events", "Stpo"],
    ];
    for args in cases {
        let out = home.run(&[&["install"], args].concat());
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.starts_with("headspace: could not ") && told.lines().count() == 1, "{args:?}: {told}");
    }
    assert_eq!(everything(&home), before);
}

#[test]
fn a_read_only_file_is_left_alone() {
    let home = with_settings(PRETTY);
    fs::set_permissions(settings(&home), PermissionsExt::from_mode(0o444)).unwrap();
    let before = everything(&home);
    let output = home.run(&["install"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("settings.json: the file is read-only"));
    assert_eq!(everything(&home), before);
}

#[test]
fn a_file_the_client_ignores_is_merged_with_a_warning() {
    let home = with_settings("{\n  \"a\": 1, // note\n}\n");
    let output = home.run(&["install"]);
    let told = String::from_utf8(output.stderr.clone()).unwrap();
    succeeded(output);
    assert!(told.contains("settings.json:2:9: Claude Code ignores"), "{told}");
    assert!(read(&settings(&home)).contains("\"a\": 1, // note\n  \"hooks\""));
}

#[test]
fn a_dry_run_prints_a_patch_and_touches_nothing() {
    let home = with_settings(PRETTY);
    let before = everything(&home);
    let patch = home.ok(&["install", "--dry-run"]);
    assert_eq!(everything(&home), before);
    assert!(patch.starts_with("--- ") && patch.contains("\n+++ ") && patch.contains("\n@@ "), "{patch}");
    assert_eq!(home.json(&["install", "--dry-run"])["files"][0]["changes"], true);

    home.ok(&["install"]);
    let undo = home.ok(&["uninstall", "--dry-run"]);
    let signed = |text: &str, sign| -> Vec<String> {
        let wanted =
            |line: &&str| line.starts_with(sign) && !line.starts_with("--- ") && !line.starts_with("+++ ");
        text.lines().filter(wanted).map(|line| line[1..].to_owned()).collect()
    };
    assert_eq!(signed(&patch, '+'), signed(&undo, '-'));
    assert_eq!(signed(&patch, '-'), signed(&undo, '+'));
    assert!(home.ok(&["install", "--dry-run"]).contains("nothing to change"));
}

#[test]
fn scopes_and_directories_choose_the_file() {
    let home = Home::new();
    fs::create_dir_all(home.at("work/.git")).unwrap();
    fs::write(home.at("work/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::create_dir_all(home.at("work/src")).unwrap();
    for (scope, file) in [("project", "settings.json"), ("local", "settings.local.json")] {
        let mut command = home.command(&["install", "--scope", scope]);
        succeeded(command.current_dir(home.at("work/src")).output().unwrap());
        let file = home.at("work/.claude").join(file);
        assert_eq!(events_of(&read(&file), &[binary(), "notify"]).len(), 28);
    }
    assert!(!home.at(".claude").exists());

    home.ok(&["install", "--config-dir", "one", "--config-dir", "two/deep", "--create"]);
    assert!(
        home.at("one/settings.json").is_file() && home.at("two/deep/hooks/notify-headspace.sh").is_file()
    );

    let mut command = home.command(&["install"]);
    succeeded(command.env("CLAUDE_CONFIG_DIR", home.at("three")).output().unwrap());
    assert!(home.at("three/settings.json").is_file() && !settings(&home).exists());
    assert_eq!(home.run(&["install", "--scope", "local", "--config-dir", "x"]).status.code(), Some(2));
}

#[test]
fn either_all_of_several_files_are_changed_or_none() {
    let home = Home::new();
    home.write("one/settings.json", "{}");
    home.write("two/settings.json", "{\"hooks\": []}");
    let before = everything(&home);
    let output = home.run(&["install", "--config-dir", "one", "--config-dir", "two"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(everything(&home), before);
}

#[test]
fn only_the_chosen_events_are_installed() {
    let home = Home::new();
    home.ok(&["install", "--events", "Stop,permission-request"]);
    assert_eq!(events_of(&read(&settings(&home)), &[binary(), "notify"]), ["Stop", "PermissionRequest"]);
    for (name, words) in [("WorktreeCreate", "git"), ("Stopp", "no event")] {
        let output = home.run(&["install", "--events", name]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(words), "{told}");
    }
}

#[test]
fn the_script_delivers_events_and_is_silent_if_the_binary_is_gone() {
    let home = Home::new();
    let bin = home.at("my apps/headspace");
    fs::create_dir_all(bin.parent().unwrap()).unwrap();
    copy_program(binary(), &bin);
    let told = succeeded(home.command_of(&bin, &["install", "--script"]).output().unwrap());
    assert!(told.contains("delivered in "), "{told}");
    let script = home.at(".claude/hooks/notify-headspace.sh");
    assert_eq!(mode(&script), 0o755);
    assert_eq!(events_of(&read(&settings(&home)), &[script.to_str().unwrap()]).len(), 28);

    fs::remove_file(&bin).unwrap();
    let output = home.command_of(&script, &["stop"]).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    home.ok(&["uninstall"]);
    assert!(!home.at(".claude").exists());
}

#[test]
fn a_script_that_headspace_did_not_write_is_not_touched() {
    let home = Home::new();
    let script = home.write(".claude/hooks/notify-headspace.sh", "#!/bin/sh\nmine\n");
    let output = home.run(&["install"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not ours"));
    succeeded(output);
    assert_eq!(home.run(&["install", "--script"]).status.code(), Some(1));
    home.ok(&["uninstall"]);
    assert_eq!(read(&script), "#!/bin/sh\nmine\n");
}

#[test]
fn wave_gets_its_four_events_in_its_own_form() {
    let home = Home::new();
    let before = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]\n  }\n}\n";
    let file = home.write(".wave/settings.json", before);
    let told = home.ok(&["install", "--client", "wave"]);
    assert!(told.contains("delivered in ") && !home.at(".claude").exists(), "{told}");
    let value: Value = serde_json::from_str(&read(&file)).unwrap();
    let line = format!("{} notify", binary());
    assert_eq!(events_of(&read(&file), &[&line]), ["Stop", "PreToolUse", "PostToolUse", "UserPromptSubmit"]);
    assert_eq!(value["hooks"]["PreToolUse"][0]["matcher"], "*");
    assert!(value["hooks"]["Stop"][1].get("matcher").is_none());
    home.ok(&["uninstall", "--client", "wave"]);
    assert_eq!(read(&file), before);
    assert_eq!(home.run(&["install", "--client", "wave", "--guard"]).status.code(), Some(2));
}

#[test]
fn an_old_client_gets_only_the_events_it_knows() {
    let home = Home::new();
    home.program("claude", "#!/bin/sh\necho '2.0.50 (Claude Code)'\n");
    let told = home.ok(&["install", "--guard"]);
    assert!(told.contains("2.0.50"), "{told}");
    let text = read(&settings(&home));
    let events = events_of(&text, &[binary(), "notify"]);
    assert!(
        events.contains(&"PermissionRequest".to_owned()) && !events.contains(&"Setup".to_owned()),
        "{events:?}"
    );
    assert_eq!(events_of(&text, &[&format!("{} guard hook", binary())]), ["PreToolUse"]);
    home.program("claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n");
    home.ok(&["install"]);
    let text = read(&settings(&home));
    assert_eq!(events_of(&text, &[binary(), "notify"]).len(), 28);
    assert_eq!(events_of(&text, &[binary(), "guard", "hook"]), ["PreToolUse"]);
}

#[test]
fn a_client_that_hangs_does_not_hang_install() {
    let home = Home::new();
    home.program("claude", "#!/bin/sh\nexec sleep 60\n");
    let started = Instant::now();
    home.ok(&["install"]);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn guard_and_status_line_come_and_go() {
    let home = with_settings(PRETTY);
    home.write(".config/headspace/config.jsonc", "{\"guard\": {\"on_failure\": \"block\"}}");
    home.ok(&["install", "--guard", "--statusline"]);
    let text = read(&settings(&home));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["statusLine"]["command"], format!("{} statusline -- '~/bin/line.sh'", binary()));
    assert_eq!(value["hooks"]["PreToolUse"][1]["hooks"][0]["onFailure"], "block");
    assert_eq!(events_of(&text, &[binary(), "guard", "hook"]), ["PreToolUse"]);
    home.ok(&["install"]);
    assert_eq!(read(&settings(&home)), text, "a plain install keeps both");
    home.ok(&["uninstall", "--guard"]);
    let text = read(&settings(&home));
    assert!(!text.contains("\"guard\"") && text.contains("statusline --"));
    assert!(home.ok(&["uninstall"]).contains("everything else left as it is"));
    assert_eq!(read(&settings(&home)), PRETTY);
    home.ok(&["install", "--guard", "--statusline"]);
    assert!(home.ok(&["uninstall"]).contains("to the byte"));
    assert_eq!(read(&settings(&home)), PRETTY);
}

#[test]
fn concurrent_installs_have_the_result_of_one() {
    for _ in 0..5 {
        let home = with_settings(PRETTY);
        let children: Vec<_> = (0..4)
            .map(|_| {
                home.command(&["install"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children {
            succeeded(child.wait_with_output().unwrap());
        }
        assert_eq!(events_of(&read(&settings(&home)), &[binary(), "notify"]).len(), 28);
        home.ok(&["uninstall"]);
        assert_eq!(read(&settings(&home)), PRETTY);
    }
}

/// Whenever it is killed, the file is the old one or the new one, and the next install completes the work.
#[test]
fn a_killed_install_or_uninstall_leaves_a_whole_file() {
    let home = with_settings(PRETTY);
    let started = Instant::now();
    home.ok(&["install"]);
    let took = started.elapsed();
    let installed = read(&settings(&home));
    for (i, command) in (0u32..24).zip(["uninstall", "install"].into_iter().cycle()) {
        let mut child = home.command(&[command]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(took * i / 24);
        child.kill().unwrap();
        child.wait().unwrap();
        let now = read(&settings(&home));
        assert!(now == installed || now == PRETTY, "{now}");
    }
    home.ok(&["install"]);
    assert_eq!(read(&settings(&home)), installed);
    home.ok(&["uninstall"]);
    assert_eq!(read(&settings(&home)), PRETTY);
}

#[test]
fn tmux_accepts_the_printed_configuration() {
    let home = Home::new();
    let lines = home.ok(&["install", "--tmux"]);
    assert!(!home.at(".claude").exists() && lines.contains("status --tmux"));
    let conf = home.write("tmux.conf", &lines);
    let Some(tmux) = Tmux::new(&home, "tmux.sock") else { return };
    tmux.run(&["new-session", "-d", "sleep 60"]);
    let source = ["source-file", conf.to_str().unwrap(), ";", "show", "-g", "status-right", ";", "list-keys"];
    let shown = tmux.run(&source);
    assert!(shown.contains("status --tmux") && shown.contains("headspace next"), "{shown}");
}
