//! A disk that is full or read-only, on a file system of its own: nothing is lost, and the board is shown.

use headspace_platform::clock::WallClock;
use headspace_test_support::{Home, Server, each_row, event, is_root, skip, wait_until};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A small file system at a home's state directory.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// `None` where no file system can be mounted; then the test has said so.
    fn at(path: PathBuf, size: &str) -> Option<SmallDisk> {
        std::fs::create_dir_all(&path).unwrap();
        let options = format!("size={size},mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "headspace-test"]).arg(&path);
        let mounted = is_root() && mount.output().is_ok_and(|output| output.status.success());
        if !mounted {
            skip("only root can mount a small file system, and not everywhere");
        }
        mounted.then_some(SmallDisk { path })
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let path = self.path.join("filler");
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    fn make_room(&self) {
        std::fs::remove_file(self.path.join("filler")).unwrap();
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let done = Command::new("mount").args(["-o", &options]).arg(&self.path).status().unwrap();
        assert!(done.success(), "{options}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// A home whose state is on a small disk, and whose user has a directory in memory.
fn home_on_a_small_disk(size: &str) -> Option<(Home, SmallDisk)> {
    let mut home = Home::with_xdg_directories();
    home.configure(json!({"notifications": {"desktop": false}}));
    let runtime = home.at("run");
    std::fs::create_dir(&runtime).unwrap();
    set_mode(&runtime, 0o700);
    home.set("XDG_RUNTIME_DIR", runtime);
    let disk = SmallDisk::at(home.at("state"), size)?;
    Some((home, disk))
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The hook says nothing and exits 0, whatever becomes of the event.
fn notify(home: &Home, text: &str) {
    let event =
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/p", "prompt": text});
    let said = home.run_with(&["notify"], event.to_string());
    assert_eq!(said.status.code(), Some(0));
    assert!(said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
}

/// Files below `dir` whose name ends like this.
fn files_below(dir: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files_below(&path, end) } else { vec![path] })
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    found.sort();
    found
}

fn kept_in_memory(home: &Home) -> usize {
    files_below(&home.at("run"), ".event").len()
}

fn receiver(server: &Server) -> Value {
    server.get("/hook/status")
}

/// The prompts in the order in which they were stored.
fn stored(home: &Home) -> Vec<String> {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let mut query = db
        .prepare("SELECT coalesce(json_extract(body, '$.prompt'), '') FROM events WHERE source = 'hook' ORDER BY id")
        .unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_first_start_on_a_disk_that_takes_nothing_shows_an_empty_board_and_goes_on_when_it_can() {
    each_row(
        ["full", "read-only"],
        |how| (*how).to_owned(),
        |how| {
            let Some((mut home, disk)) = home_on_a_small_disk("16m") else { return };
            if how == "full" {
                disk.fill()
            } else {
                disk.remount("ro")
            }
            notify(&home, "before the server");
            assert_eq!(kept_in_memory(&home), 1, "{how}");
            let server = home.serve();
            assert!(server.log().contains("there is no database yet"), "{}", server.log());
            // On a read-only disk there can be no socket.
            home.set("CLAUDE_HEADSPACE_URL", server.url());
            assert_eq!(server.get("/api/agents")["agents"], json!([]));
            assert_eq!(server.get("/api/events")["events"], json!([]));
            assert_eq!(server.post("/hook/stop", &event("s", json!({}))).status, 503);
            notify(&home, "with the server");
            assert_eq!(kept_in_memory(&home), 2, "{how}");
            let said = receiver(&server);
            assert_eq!(said["spool_pending"], 2, "{said}");
            assert!(said["store_trouble"].as_str().unwrap().contains("full or read-only"), "{said}");
            let status = home.ok(&["status"]);
            assert!(status.contains("cannot be stored") && status.contains("2 spooled"), "{status}");
            assert!(!home.database().exists(), "half a database");
            if how == "full" {
                disk.make_room()
            } else {
                disk.remount("rw")
            }
            wait_until("everything to be stored", || receiver(&server)["spool_pending"] == 0);
            let said = receiver(&server);
            assert_eq!((&said["store_trouble"], &said["events_received"]), (&Value::Null, &json!(2)));
            assert_eq!(server.get("/api/agents")["agents"][0]["session_id"], "s");
            wait_until("the token to be written", || home.state().join("token").exists());
            notify(&home, "after that");
            server.stop();
            assert_eq!(stored(&home), ["before the server", "with the server", "after that"]);
        },
    );
}

#[test]
fn hooks_on_a_full_disk_keep_their_events_and_each_arrives_once_and_in_order() {
    let Some((home, disk)) = home_on_a_small_disk("16m") else { return };
    let server = home.serve();
    notify(&home, "stored");
    server.stop();
    notify(&home, "on the disk");
    disk.fill();
    notify(&home, "in memory");
    notify(&home, "in memory, too");
    assert_eq!((home.spooled().len(), kept_in_memory(&home)), (1, 2));
    disk.make_room();
    notify(&home, "on the disk again");
    assert_eq!((home.spooled().len(), kept_in_memory(&home)), (2, 2), "memory is for a full disk only");
    for path in files_below(&home.at("run"), "") {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
        for above in path.ancestors().skip(1).take_while(|above| *above != home.path()) {
            assert_eq!(above.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", above.display());
        }
    }
    let doctor = String::from_utf8(home.run(&["doctor"]).stdout).unwrap();
    let doctor = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doctor.contains("waiting for the server: 2 events in ~/run/headspace/spool/"), "{doctor}");
    assert!(doctor.contains("the disk took none"), "{doctor}");
    disk.fill();
    let server = home.serve();
    assert_eq!(receiver(&server)["spool_pending"], 4);
    assert_eq!(server.get("/api/agents")["agents"][0]["session_id"], "s", "what is stored is shown");
    // What starting has freed.
    disk.fill();
    notify(&home, "refused");
    assert_eq!(kept_in_memory(&home), 3);
    disk.make_room();
    wait_until("everything to be stored", || receiver(&server)["spool_pending"] == 0);
    server.stop();
    assert_eq!(kept_in_memory(&home), 0);
    let expected = ["stored", "on the disk", "in memory", "in memory, too", "on the disk again", "refused"];
    assert_eq!(stored(&home), expected);
}

/// Nothing is written where another user may read it or have put something in the way.
#[test]
fn a_directory_in_memory_that_others_may_have_made_is_not_used() {
    type Plant = fn(&Home);
    let plants: [(&str, Plant, &str); 4] = [
        ("others may write there", |home| set_mode(&home.at("run"), 0o777), "can change it"),
        (
            "another user's",
            |home| chown(home.at("run"), Some(headspace_test_support::NOBODY), None).unwrap(),
            // Somebody else's login is not for this user to mend.
            "",
        ),
        (
            "a link",
            |home| {
                std::fs::create_dir(home.at("elsewhere")).unwrap();
                symlink(home.at("elsewhere"), home.at("run/headspace")).unwrap();
            },
            "not a directory",
        ),
        (
            "another user's, further down",
            |home| {
                std::fs::create_dir_all(home.at("run/headspace/spool")).unwrap();
                chown(home.at("run/headspace/spool"), Some(headspace_test_support::NOBODY), None).unwrap();
            },
            "belongs to another user",
        ),
    ];
    each_row(
        plants,
        |(name, ..)| (*name).to_owned(),
        |(name, plant, said)| {
            let Some((home, disk)) = home_on_a_small_disk("1m") else { return };
            plant(&home);
            disk.fill();
            notify(&home, "nowhere to go");
            assert_eq!(files_below(&home.at("run"), ""), Vec::<PathBuf>::new(), "{name}");
            assert_eq!(files_below(&home.at("elsewhere"), ""), Vec::<PathBuf>::new(), "{name}");
            let doctor = String::from_utf8(home.run(&["doctor"]).stdout).unwrap();
            let doctor = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(doctor.contains(said), "{name}: {doctor}");
            assert_eq!(doctor.contains("hooks keep nothing there"), !said.is_empty(), "{name}: {doctor}");
        },
    );
}

/// Two installations of one user share the directory in memory, but not their events.
#[test]
fn events_in_memory_come_back_to_the_state_directory_they_belong_to() {
    let Some((mut home, disk)) = home_on_a_small_disk("16m") else { return };
    disk.fill();
    notify(&home, "ours");
    let mut other = Home::with_xdg_directories();
    other.set("XDG_RUNTIME_DIR", home.at("run"));
    let server = other.serve();
    assert_eq!(receiver(&server)["spool_pending"], 0);
    server.stop();
    assert_eq!(kept_in_memory(&home), 1);
    // However the state directory is spelled.
    disk.make_room();
    symlink(home.at("state"), home.at("link")).unwrap();
    home.set("XDG_STATE_HOME", home.at("link"));
    let server = home.serve();
    wait_until("it to be stored", || receiver(&server)["events_received"] == 1);
}

/// The disk becomes full under a running server: it says so, and also when there is room again, without an event that shows
/// it.
#[test]
fn a_server_whose_disk_was_full_says_when_there_is_room_again() {
    let Some((home, disk)) = home_on_a_small_disk("16m") else { return };
    let server = home.serve();
    disk.fill();
    let refused = (0..2000).any(|_| {
        let body = event("s", json!({"prompt": "x".repeat(100_000)}));
        server.post("/hook/user-prompt-submit", &body).status == 503
    });
    assert!(refused, "{}", server.log());
    assert!(receiver(&server)["store_trouble"].is_string());
    assert!(home.ok(&["status"]).contains("cannot be stored"));
    disk.make_room();
    wait_until("the end of the trouble", || receiver(&server)["store_trouble"].is_null());
    assert!(!home.ok(&["status"]).contains("cannot be stored"));
    server.hook("stop", event("s", json!({"last_assistant_message": "Done."})));
}

/// Somebody empties the log to make room: what had been copied into the database stays on the board.
#[test]
fn a_log_that_is_emptied_on_a_full_disk_takes_nothing_else_with_it() {
    let Some((home, disk)) = home_on_a_small_disk("40m") else { return };
    let server = home.serve();
    for round in 0..100 {
        server.hook("user-prompt-submit", event("s", json!({"prompt": format!("{round}")})));
    }
    let db = rusqlite::Connection::open(home.database()).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(db);
    server.hook("stop", event("s", json!({"last_assistant_message": "Done."})));
    disk.fill();
    let log = home.database().with_extension("db-wal");
    std::fs::File::options().write(true).open(log).unwrap().set_len(0).unwrap();
    disk.fill();
    let refused = server.post("/hook/stop", &event("s", json!({"last_assistant_message": "Done."})));
    assert_eq!(refused.status, 503, "{}", refused.text());
    disk.make_room();
    wait_until("the end of the trouble", || receiver(&server)["store_trouble"].is_null());
    server.hook("stop", event("s", json!({"last_assistant_message": "Done."})));
    let prompts = stored(&home).iter().filter(|prompt| !prompt.is_empty()).count();
    assert_eq!(prompts, 100, "{}", server.log());
    assert_eq!(files_below(&home.at("state"), ".copy"), Vec::<PathBuf>::new());
}

/// What a transcript says is read once: it must not be forgotten because it could not be stored.
#[test]
fn a_session_that_was_found_while_the_disk_was_full_is_shown_when_there_is_room() {
    let Some((home, disk)) = home_on_a_small_disk("16m") else { return };
    let line = json!({"type": "user", "uuid": "u1", "isSidechain": false, "cwd": home.at("project"),
        "timestamp": headspace_core::stamp::Stamp::now(), "entrypoint": "cli", "message": {"content": "look around"}});
    home.write(".claude/projects/-project/found.jsonl", format!("{line}\n"));
    disk.fill();
    let server = home.serve();
    // Longer than what else keeps it from being stored may last: it is the time itself that has to pass.
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(server.get("/api/agents")["agents"], json!([]));
    disk.make_room();
    wait_until("the session", || server.get("/api/agents")["agents"][0]["session_id"] == "found");
    server.stop();
}

/// A server that can write nothing ends in order, too.
#[test]
fn a_hook_that_finds_room_nowhere_is_silent_and_a_server_can_be_stopped() {
    let Some((mut home, disk)) = home_on_a_small_disk("1m") else { return };
    disk.fill();
    home.unset("XDG_RUNTIME_DIR");
    let full = home.at("full");
    let Some(second) = SmallDisk::at(full.clone(), "64k") else { return };
    second.fill();
    home.set("XDG_RUNTIME_DIR", &full);
    notify(&home, "lost");
    assert_eq!(files_below(&full, ".event"), Vec::<PathBuf>::new());
    assert_eq!(files_below(&full, ".tmp"), Vec::<PathBuf>::new(), "nothing half is left");
    home.serve().stop();
}
