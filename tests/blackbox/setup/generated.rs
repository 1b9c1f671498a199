//! The completions and manual pages in the repository match the command tree, and the build script makes the right
//! version.

#[path = "../../../xtask/src/generate.rs"]
mod generate;

use headspace_test_support::{Installation, binary, each_row, skip};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Every file of `completions/` and `man/` below `root`, by name.
fn generated(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in ["completions", "man"] {
        for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
            let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            found.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn committed_completions_and_manual_pages_are_current() {
    let fresh = tempfile::tempdir().unwrap();
    generate::run(fresh.path()).unwrap();
    let (fresh, committed) = (generated(fresh.path()), generated(Path::new(env!("CARGO_MANIFEST_DIR"))));
    assert!(fresh.len() > 3 + 20, "{:?}", fresh.keys());
    let stale: Vec<&String> = fresh
        .keys()
        .chain(committed.keys())
        .filter(|name| fresh.get(*name) != committed.get(*name))
        .collect();
    assert!(stale.is_empty(), "not current: {stale:?}\nrun: cargo xtask generate .");
}

#[test]
fn completions_are_printed_for_each_shell() {
    each_row(
        [("bash", "complete -F"), ("zsh", "#compdef headspace"), ("fish", "complete -c headspace")],
        |(shell, ..)| shell.to_string(),
        |(shell, part)| {
            let output = Command::new(binary()).args(["completions", shell]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && text.contains(part), "{shell}");
        },
    );
    assert_eq!(Command::new(binary()).args(["completions", "tcsh"]).output().unwrap().status.code(), Some(2));
}

/// A real bash, with the script as a user has it.
#[test]
fn bash_completes_agents_and_types_of_events() {
    let board = Installation::new(json!({}));
    let dir = board.project("shop", "fix-login");
    let ask = json!({"tool_name": "Bash", "tool_input": {"command": "ls $(touch gone)"}});
    board.send("PermissionRequest", "s1", &dir, ask);
    board.send("RenamedByNobody", "s1", &dir, json!({}));
    std::fs::create_dir_all(board.at("bin")).unwrap();
    std::os::unix::fs::symlink(binary(), board.at("bin/headspace")).unwrap();
    board.write("headspace.bash", board.ok(&["completions", "bash"]));
    let completed = |words: &str| {
        let script = format!(
            "source $HOME/headspace.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); \
             _headspace_with_words headspace \"${{COMP_WORDS[COMP_CWORD]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let out = board.command_of("bash", &["-c", &script]).output().unwrap();
        String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed("headspace show fix"), ["fix-login"]);
    assert_eq!(completed("headspace events --type Perm"), ["PermissionDenied", "PermissionRequest"]);
    assert_eq!(completed("headspace events --type RenamedBy"), ["RenamedByNobody"]);
    assert!(completed("headspace sh").contains(&"show".to_owned()));
    assert!(!board.at("gone").exists() && !dir.join("gone").exists());
    let described = board.ok(&["complete", "agents"]);
    assert_eq!(described, "fix-login\t! shop · fix-login: Allow Bash: ls $(touch gone)\n");
}

#[test]
fn manual_pages_say_how_they_exit_and_where_things_are() {
    let man = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let pages: Vec<_> = std::fs::read_dir(man).unwrap().flatten().collect();
    each_row(
        pages,
        |page| page.file_name().into_string().unwrap(),
        |page| {
            let text = std::fs::read_to_string(page.path()).unwrap();
            for section in ["EXIT STATUS", "FILES", "ENVIRONMENT", "SEE ALSO"] {
                assert!(text.contains(&format!(".SH \"{section}\"")), "{section}");
            }
        },
    );
}

/// What the build script prints in this directory, or why it cannot be compiled.
fn build_script(dir: &Path, profile: &str) -> Result<Vec<String>, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = dir.join("build-script");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "-o"])
        .args([&program, &here.join("build.rs")])
        .env("CARGO_PKG_VERSION", "1.2.3")
        .output()
        .map_err(|error| format!("no rustc: {error}"))?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut run = Command::new(program);
    let told = run.current_dir(dir).env("PROFILE", profile).output().unwrap();
    assert!(told.status.success());
    Ok(String::from_utf8(told.stdout).unwrap().lines().map(str::to_owned).collect())
}

fn git(dir: &Path, args: &[&str]) -> bool {
    let identity = ["-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "commit.gpgsign=false"];
    let status = Command::new("git").current_dir(dir).args(identity).args(args).output();
    status.is_ok_and(|output| output.status.success())
}

/// Cargo rebuilds everything every time if a watched path does not exist.
#[test]
fn the_build_script_watches_only_existing_paths_and_only_in_a_release() {
    let home = tempfile::tempdir().unwrap();
    let (plain, main, linked) =
        (home.path().join("plain"), home.path().join("main"), home.path().join("linked"));
    for dir in [&plain, &main] {
        std::fs::create_dir(dir).unwrap();
        std::fs::write(dir.join("build.rs"), "").unwrap();
    }
    let made = git(&main, &["init", "-q"])
        && git(&main, &["add", "."])
        && git(&main, &["commit", "-qm", "first"])
        && git(&main, &["worktree", "add", "-q", "../linked"]);
    if !made {
        return skip("no git");
    }
    for (dir, profile, knows_commit) in [
        (&plain, "release", false),
        (&main, "debug", false),
        (&linked, "debug", false),
        (&main, "release", true),
        (&linked, "release", true),
    ] {
        let told = match build_script(dir, profile) {
            Ok(told) => told,
            Err(why) => return skip(&why),
        };
        let watched: Vec<_> =
            told.iter().filter_map(|line| line.strip_prefix("cargo:rerun-if-changed=")).collect();
        assert!(watched.iter().all(|path| dir.join(path).exists()), "{dir:?}: {watched:?}");
        assert_eq!(watched.len() > 2, knows_commit, "{dir:?} {profile}: {watched:?}");
        let version =
            told.iter().find_map(|line| line.strip_prefix("cargo:rustc-env=HEADSPACE_VERSION=")).unwrap();
        assert_eq!(version.starts_with("1.2.3 (") && version.ends_with(')'), knows_commit, "{version}");
        assert!(knows_commit || version == "1.2.3", "{version}");
    }
    let watched =
        |told: Vec<String>| told.into_iter().filter(|line| line.contains("logs/HEAD")).collect::<Vec<_>>();
    let log = watched(build_script(&linked, "release").unwrap());
    assert_eq!(log.len(), 1, "a commit is seen");
}
