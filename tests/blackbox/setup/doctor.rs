//! "I installed it and nothing shows up": what the doctor says, and what it fixes.

use headspace_test_support::{Home, Installation, Process, binary, copy_program, each_row, wait_for};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The level and message of each finding of one check.
fn findings(home: &Home, check: &str) -> Vec<(String, String)> {
    let out = home.command(&["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let all = report["checks"].as_array().unwrap();
    all.iter().filter(|f| f["check"] == check).map(|f| (text(f, "level"), text(f, "message"))).collect()
}

fn first(home: &Home, check: &str) -> (String, String) {
    findings(home, check).into_iter().next().unwrap()
}

#[test]
fn an_empty_home_fails_and_fix_repairs_it() {
    let home = Installation::without_server(json!({}));
    let out = home.run(&["doctor"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text.contains("FAIL hooks")
            && text.contains("▸ headspace install")
            && text.contains("▸ headspace up"),
        "{text}"
    );
    let mended = String::from_utf8(home.run(&["doctor", "--fix"]).stdout).unwrap();
    assert!(mended.contains("fixed:"), "{mended}");
    assert_eq!(first(&home, "hooks").0, "ok");
    assert_eq!(first(&home, "test event").0, "ok");
}

#[test]
fn fix_repairs_the_directory_that_was_named() {
    let home = Installation::without_server(json!({}));
    home.ok(&["install"]);
    let work = home.at("work claude");
    std::fs::create_dir(&work).unwrap();
    let dir = work.to_str().unwrap();
    let text = String::from_utf8(home.run(&["doctor", "--config-dir", dir]).stdout).unwrap();
    assert!(text.contains(&format!("▸ headspace install --config-dir '{dir}'")), "{text}");
    let text = String::from_utf8(home.run(&["doctor", "--config-dir", dir, "--fix"]).stdout).unwrap();
    assert!(text.contains("fixed:"), "{text}");
    assert!(std::fs::read_to_string(work.join("settings.json")).unwrap().contains("notify"), "{text}");
    let missing = home.at("nowhere");
    let text = home.run(&["doctor", "--config-dir", missing.to_str().unwrap(), "--fix"]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("could not be fixed by --fix") && !missing.exists(), "{text}");
}

#[test]
fn a_program_under_another_name_knows_its_own_hooks() {
    let home = Installation::without_server(json!({}));
    let program = home.at("hs-dev");
    copy_program(binary(), &program);
    assert!(home.command_of(&program, &["install"]).output().unwrap().status.success());
    let out = home.command_of(&program, &["doctor"]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("ok   hooks") && text.contains("ok   test event"), "{text}");
}

#[test]
fn a_healthy_home_passes_every_check() {
    let home = Installation::new(json!({}));
    home.ok(&["install"]);
    home.send("Stop", "s1", Path::new("/tmp"), json!({}));
    each_row(
        ["settings", "hooks", "disabled", "test event", "server", "files", "spool", "database", "events"],
        |check| check.to_string(),
        |check| {
            assert_eq!(first(&home, check).0, "ok", "{check}: {:?}", findings(&home, check));
        },
    );
    assert!(first(&home, "events").1.contains("last Stop"), "{:?}", findings(&home, "events"));
}

#[test]
fn whatever_keeps_hooks_from_running_is_named_with_its_file() {
    let home = Installation::new(json!({}));
    home.ok(&["install"]);
    let settings = home.at(".claude/settings.json");
    let good = std::fs::read_to_string(&settings).unwrap();

    std::fs::write(&settings, good.replacen('{', "{ // mine\n", 1)).unwrap();
    let (level, message) = first(&home, "settings");
    assert!(level == "fail" && message.contains("settings.json:1:3"), "{message}");

    std::fs::write(&settings, good.replacen('{', "{ \"disableAllHooks\": true,", 1)).unwrap();
    let (level, message) = first(&home, "disabled");
    assert!(level == "fail" && message.contains("disableAllHooks in"), "{message}");

    let moved = good.replace(binary(), "/nowhere/headspace");
    std::fs::write(&settings, moved).unwrap();
    assert!(first(&home, "hooks").1.contains("/nowhere/headspace"), "{:?}", findings(&home, "hooks"));
    assert_eq!(first(&home, "test event").0, "fail");
}

#[test]
fn a_stopped_server_and_files_that_others_can_read_are_found() {
    let mut home = Installation::new(json!({}));
    home.ok(&["install"]);
    home.stop();
    home.send("Stop", "s1", Path::new("/tmp"), json!({}));
    assert_eq!(first(&home, "server").0, "fail");
    assert!(
        first(&home, "spool").1.contains("waiting for the server: 1 event"),
        "{:?}",
        findings(&home, "spool")
    );
    let token = home.at(".local/state/headspace/token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(first(&home, "files").1.contains("can be read by others"), "{:?}", findings(&home, "files"));
    home.run(&["doctor", "--fix"]);
    assert_eq!(token.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_broken_configuration_is_named_by_line_and_column() {
    let home = Installation::without_server(json!({}));
    let path = home.at(".config/headspace/config.jsonc");
    std::fs::write(&path, "{\n  // the port\n  \"port\": \"x\"\n}").unwrap();
    let (level, message) = first(&home, "configuration");
    assert!(
        level == "fail" && message.contains("config.jsonc:3:13: `port` has to be a whole number"),
        "{message}"
    );
}

#[test]
fn an_https_address_fails_with_the_reason_and_the_fix() {
    let home = Installation::new(json!({}));
    let mut doctor = home.command(&["doctor", "--json"]);
    doctor.env("CLAUDE_HEADSPACE_URL", "https://box.lan:5055");
    let report: Value = serde_json::from_slice(&doctor.output().unwrap().stdout).unwrap();
    let server = report["checks"].as_array().unwrap().iter().find(|f| f["check"] == "server").unwrap();
    assert_eq!(server["level"], "fail");
    let (message, fix) = (server["message"].as_str().unwrap(), server["fix"].as_str().unwrap());
    assert!(message.contains("https") && message.contains("spool"), "{message}");
    assert!(fix.contains("CLAUDE_HEADSPACE_URL") && fix.contains("http://"), "{fix}");
}

/// A client without hooks does not report, whatever one says to it.
#[test]
fn a_silent_client_without_hooks_needs_an_install() {
    let home = Installation::new(json!({}));
    let client = Process::named("claude", home.path());
    let fix = |home: &Home| {
        wait_for("the silent client", || {
            let out = home.command(&["doctor", "--json"]).output().unwrap();
            let report: Value = serde_json::from_slice(&out.stdout).unwrap();
            let all = report["checks"].as_array().unwrap().clone();
            let found = all.into_iter().find(|f| f["check"] == "coverage")?;
            let silent = found["message"].as_str()?.contains(&format!("pid {}", client.id()));
            silent.then(|| found["fix"].as_str().unwrap_or_default().to_owned())
        })
    };
    assert!(fix(&home).contains("headspace install"), "{}", fix(&home));
    home.ok(&["install"]);
    assert!(fix(&home).contains("type something into it"), "{}", fix(&home));
}

#[test]
fn a_mistyped_setting_is_named() {
    let home = Installation::without_server(json!({"prot": 6000, "reconcile": {"polling_intervall": 2}}));
    let said: Vec<String> =
        findings(&home, "configuration").into_iter().map(|(_, message)| message).collect();
    assert!(said[0].contains("`prot`; did you mean `port`?"), "{said:?}");
    assert!(said[1].contains("`reconcile.polling_intervall`"), "{said:?}");
}

#[test]
fn another_clients_file_that_cannot_be_read_is_named_by_line_and_column() {
    let home = Installation::without_server(json!({}));
    home.ok(&["install"]);
    home.write(".codex/hooks.json", "{\n  \"hooks\": {},,\n}");
    let (level, message) = first(&home, "clients");
    assert!(level == "fail" && message.contains("~/.codex/hooks.json:2:"), "{message}");
}

/// Entries that a person wrote, or an older version: the home directory has several names.
#[test]
fn a_program_below_the_home_directory_is_found_under_each_of_its_names() {
    let home = Installation::without_server(json!({}));
    copy_program(binary(), home.at("bin/headspace"));
    home.ok(&["install"]);
    let installed = std::fs::read_to_string(home.at(".claude/settings.json")).unwrap();
    let call = format!("\"command\": \"{}\", \"args\": [\"notify\"]", binary());
    assert!(installed.contains(&call), "{installed}");
    for program in ["~/bin/headspace", "$HOME/bin/headspace", "exec ${HOME}/bin/headspace"] {
        let by_name = installed.replace(&call, &format!("\"command\": \"{program} notify\""));
        std::fs::write(home.at(".claude/settings.json"), by_name).unwrap();
        assert_eq!(first(&home, "hooks").0, "ok", "{program}");
        std::fs::rename(home.at("bin"), home.at("gone")).unwrap();
        let (level, message) = first(&home, "hooks");
        assert!(level == "fail" && message.contains("bin/headspace"), "{program}: {message}");
        std::fs::rename(home.at("gone"), home.at("bin")).unwrap();
    }
}

#[test]
fn what_a_person_does_is_not_counted_as_an_event() {
    let home = Installation::new(json!({}));
    let dir = home.project("api", "main");
    home.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "x"}));
    home.ok(&["rename", "1", "mine"]);
    let events = first(&home, "events").1;
    assert!(events.starts_with("last UserPromptSubmit"), "{events}");
}
