//! "I installed it and nothing shows": what the doctor says, and what it mends.

use crate::stage::Stage;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What the doctor says to one check: level and message of each finding.
fn findings(stage: &Stage, check: &str) -> Vec<(String, String)> {
    let out = stage.headspace(&["doctor", "--json"]).current_dir(stage.home.path()).output().unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let all = report["checks"].as_array().unwrap();
    all.iter().filter(|f| f["check"] == check).map(|f| (text(f, "level"), text(f, "message"))).collect()
}

fn first(stage: &Stage, check: &str) -> (String, String) {
    findings(stage, check).into_iter().next().unwrap()
}

#[test]
fn a_bare_home_fails_with_the_fix_and_fix_mends_it() {
    let stage = Stage::bare(json!({}));
    let out = stage.run(&["doctor"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text.contains("FAIL hooks")
            && text.contains("▸ headspace install")
            && text.contains("▸ headspace up"),
        "{text}"
    );
    let mended = String::from_utf8(stage.run(&["doctor", "--fix"]).stdout).unwrap();
    assert!(mended.contains("mended:"), "{mended}");
    assert_eq!(first(&stage, "hooks").0, "ok");
    assert_eq!(first(&stage, "test event").0, "ok");
}

#[test]
fn a_healthy_home_is_told_so() {
    let stage = Stage::new(json!({}));
    stage.says(&["install"]);
    stage.event("Stop", "s1", Path::new("/tmp"), json!({}));
    for check in
        ["settings", "hooks", "disabled", "test event", "server", "files", "spool", "database", "events"]
    {
        assert_eq!(first(&stage, check).0, "ok", "{check}: {:?}", findings(&stage, check));
    }
    assert!(first(&stage, "events").1.contains("last Stop"), "{:?}", findings(&stage, "events"));
}

#[test]
fn what_keeps_hooks_from_running_is_named_with_its_place() {
    let stage = Stage::new(json!({}));
    stage.says(&["install"]);
    let settings = stage.home.path().join(".claude/settings.json");
    let good = std::fs::read_to_string(&settings).unwrap();

    std::fs::write(&settings, good.replacen('{', "{ // mine\n", 1)).unwrap();
    let (level, message) = first(&stage, "settings");
    assert!(level == "fail" && message.contains("settings.json:1:3"), "{message}");

    std::fs::write(&settings, good.replacen('{', "{ \"disableAllHooks\": true,", 1)).unwrap();
    let (level, message) = first(&stage, "disabled");
    assert!(level == "fail" && message.contains("disableAllHooks in"), "{message}");

    let moved = good.replace(env!("CARGO_BIN_EXE_headspace"), "/nowhere/headspace");
    std::fs::write(&settings, moved).unwrap();
    assert!(first(&stage, "hooks").1.contains("/nowhere/headspace"), "{:?}", findings(&stage, "hooks"));
    assert_eq!(first(&stage, "test event").0, "fail");
}

#[test]
fn a_stopped_server_and_open_files_are_found() {
    let mut stage = Stage::new(json!({}));
    stage.says(&["install"]);
    stage.stop();
    stage.event("Stop", "s1", Path::new("/tmp"), json!({}));
    assert_eq!(first(&stage, "server").0, "fail");
    assert!(
        first(&stage, "spool").1.contains("waiting for the server: 1 event"),
        "{:?}",
        findings(&stage, "spool")
    );
    let token = stage.home.path().join(".local/state/headspace/token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(first(&stage, "files").1.contains("can be read by others"), "{:?}", findings(&stage, "files"));
    stage.run(&["doctor", "--fix"]);
    assert_eq!(token.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_broken_configuration_is_named_by_line_and_column() {
    let stage = Stage::bare(json!({}));
    let path = stage.home.path().join(".config/headspace/config.jsonc");
    std::fs::write(&path, "{\n  // the port\n  \"port\": \"x\"\n}").unwrap();
    let (level, message) = first(&stage, "configuration");
    assert!(level == "fail" && message.contains("line 3 column 13"), "{message}");
}

#[test]
fn an_address_that_hooks_cannot_speak_to_is_said_plainly() {
    let stage = Stage::new(json!({}));
    let mut doctor = stage.headspace(&["doctor", "--json"]);
    doctor.env("CLAUDE_HEADSPACE_URL", "https://box.lan:5055").current_dir(stage.home.path());
    let report: Value = serde_json::from_slice(&doctor.output().unwrap().stdout).unwrap();
    let server = report["checks"].as_array().unwrap().iter().find(|f| f["check"] == "server").unwrap();
    assert_eq!(server["level"], "fail");
    let (message, fix) = (server["message"].as_str().unwrap(), server["fix"].as_str().unwrap());
    assert!(message.contains("https") && message.contains("spool"), "{message}");
    assert!(fix.contains("CLAUDE_HEADSPACE_URL") && fix.contains("http://"), "{fix}");
}

/// A client that nobody gave hooks will not report, whatever is said to it.
#[test]
fn a_silent_client_without_hooks_needs_an_install() {
    let stage = Stage::new(json!({}));
    let mut client = std::process::Command::new("bash")
        .args(["-c", "exec -a claude sleep 60"])
        .current_dir(stage.home.path())
        .spawn()
        .unwrap();
    let fix = |stage: &Stage| {
        crate::stage::wait_for("the silent client", || {
            let out = stage.headspace(&["doctor", "--json"]).current_dir(stage.home.path()).output().unwrap();
            let report: Value = serde_json::from_slice(&out.stdout).unwrap();
            let all = report["checks"].as_array().unwrap().clone();
            let found = all.into_iter().find(|f| f["check"] == "coverage")?;
            let silent = found["message"].as_str()?.contains(&format!("pid {}", client.id()));
            silent.then(|| found["fix"].as_str().unwrap_or_default().to_owned())
        })
    };
    assert!(fix(&stage).contains("headspace install"), "{}", fix(&stage));
    stage.says(&["install"]);
    assert!(fix(&stage).contains("say something to it"), "{}", fix(&stage));
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn a_mistyped_setting_is_named_and_a_click_is_no_event() {
    let mut stage = Stage::bare(json!({"prot": 6000, "reconcile": {"polling_intervall": 2}}));
    let said: Vec<String> =
        findings(&stage, "configuration").into_iter().map(|(_, message)| message).collect();
    assert!(said[0].contains("`prot`") && said[1].contains("`reconcile.polling_intervall`"), "{said:?}");
    stage.start();
    let dir = stage.project("api", "main");
    stage.event("UserPromptSubmit", "s1", &dir, json!({"prompt": "x"}));
    stage.says(&["rename", "1", "mine"]);
    let events = first(&stage, "events").1;
    assert!(events.starts_with("last UserPromptSubmit"), "{events}");
}
