//! The completions and manual pages in the repository are what the command tree gives.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const BIN: &str = env!("CARGO_BIN_EXE_headspace");

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
    let made = Command::new(BIN).arg("generate").arg(fresh.path()).status().unwrap();
    assert!(made.success());
    let (fresh, committed) = (generated(fresh.path()), generated(Path::new(env!("CARGO_MANIFEST_DIR"))));
    assert!(fresh.len() > 3 + 20, "{:?}", fresh.keys());
    let stale: Vec<&String> = fresh
        .keys()
        .chain(committed.keys())
        .filter(|name| fresh.get(*name) != committed.get(*name))
        .collect();
    assert!(stale.is_empty(), "not current: {stale:?}\nrun: cargo run -- generate .");
}

#[test]
fn completions_are_printed_for_each_shell() {
    for (shell, part) in
        [("bash", "complete -F"), ("zsh", "#compdef headspace"), ("fish", "complete -c headspace")]
    {
        let output = Command::new(BIN).args(["completions", shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(part), "{shell}");
        assert!(!text.contains("generate"), "{shell} offers what is hidden");
    }
    assert_eq!(Command::new(BIN).args(["completions", "tcsh"]).output().unwrap().status.code(), Some(2));
}
