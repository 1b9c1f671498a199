//! `headspace open` and `headspace demo`, through the binary. What the dashboard itself shows is tested in tests/browser.

use headspace_test_support::{Installation, wait_until};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn open_gives_the_browser_a_link_that_works_once() {
    let home = Installation::new(json!({}));
    let opened = home.at("opened");
    home.program("xdg-open", &format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display()));
    let out = home.command(&["open"]).env("DISPLAY", ":0").output().unwrap();
    assert!(out.status.success());
    let said = String::from_utf8(out.stdout).unwrap();
    assert_eq!(said, format!("opened http://127.0.0.1:{} in the browser\n", home.port()));
    // Everybody can read the arguments of a program, so they hold no code but the path of a private page.
    let page = std::fs::read_to_string(opened).unwrap();
    assert!(!page.contains("code="), "{page}");
    let path = std::path::PathBuf::from(page.strip_prefix("file://").expect("a file"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    let link = text.split("url=").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    assert!(link.starts_with(&format!("http://127.0.0.1:{}/login?code=", home.port())), "{link}");
    let visit =
        || ureq::get(&link).config().max_redirects(0).http_status_as_error(false).build().call().unwrap();
    let first = visit();
    assert_eq!(first.status(), 303);
    assert!(first.headers()["set-cookie"].to_str().unwrap().contains("HttpOnly; SameSite=Strict"));
    assert_eq!(visit().status(), 403);
}

#[test]
fn open_prints_the_link_if_no_browser_can_be_opened() {
    let home = Installation::new(json!({}));
    home.program("xdg-open", "#!/bin/sh\nexit 3\n");
    let without_display = home.ok(&["open"]);
    let out = home.command(&["open"]).env("DISPLAY", ":0").output().unwrap();
    for said in [without_display, home.ok(&["open", "--print"]), String::from_utf8(out.stdout).unwrap()] {
        assert!(said.contains("/login?code=") && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn open_without_a_server_says_how_to_start_one() {
    let home = Installation::without_server(json!({}));
    let out = home.run(&["open"]);
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        said.starts_with("headspace: could not open the dashboard") && said.contains("headspace up"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn demo_plays_its_day_and_leaves_nothing_behind() {
    let home = Installation::without_server(json!({}));
    let temp = home.at("tmp");
    std::fs::create_dir(&temp).unwrap();
    let mut demo =
        home.command(&["demo", "--no-open"]).env("TMPDIR", &temp).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(demo.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let ask = |path: &str| -> serde_json::Value {
        let mut answer = ureq::get(format!("{}{path}", url.trim())).call().unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    };
    let agents = ask("/api/agents?all=1");
    let groups: std::collections::BTreeSet<&str> =
        agents["agents"].as_array().unwrap().iter().map(|agent| agent["group"].as_str().unwrap()).collect();
    assert_eq!(groups.len(), 6, "every group is there: {groups:?}");
    assert!(ask("/api/stats")["days"].as_array().unwrap().len() >= 7, "and a week of days");
    let received = || ask("/hook/status")["events_received"].as_u64().unwrap();
    let before = received();
    wait_until("the day to go on", || received() > before);
    // SAFETY: the child was started here and not waited for yet, so its pid is still its own.
    unsafe { libc::kill(i32::try_from(demo.id()).unwrap(), libc::SIGTERM) };
    assert!(demo.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0, "its directory is gone");
    assert!(ureq::get(url.trim()).call().is_err(), "and its server");
    assert!(!home.at(".local").exists(), "and nothing else was touched");
}

#[test]
fn demo_says_that_the_port_is_taken() {
    let home = Installation::new(json!({}));
    let out = home.run(&["demo", "--no-open", "--port", &home.port().to_string()]);
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("could not start the demo's server") && said.contains("already"), "{said}");
}
