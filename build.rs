//! Tells `headspace --version` which commit it was built from. The date is the commit's, not the
//! build's: the same source gives the same binary.
//!
//! Only a release names its commit. For a build of every day it would mean that each commit compiles everything again.

use std::path::Path;
use std::process::Command;

fn main() {
    // Without any such line, cargo would look at every file of the package; with one that names nothing, it would run
    // this at every build.
    println!("cargo:rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let described = match release.then(commit).flatten() {
        Some(commit) => format!("{version} ({commit})"),
        // Built from a package, where the version alone names the source; or not for release.
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=HEADSPACE_VERSION={described}");
    // Where the hook begins: before the C library.
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if [target("OS"), target("ENV"), target("ARCH")] == ["linux", "gnu", "x86_64"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--entry=headspace_entry");
    }
}

/// Short id and date of the commit that is checked out here.
fn commit() -> Option<String> {
    // A package unpacked somewhere inside another repository is not of that one's commit.
    if !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    // Git knows where they are: in a linked worktree `.git` is a file. The log of HEAD grows with every commit.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["log", "-1", "--format=%h %cs"]).filter(|commit| !commit.is_empty())
}

fn git(args: &[&str]) -> Option<String> {
    let out = Command::new("git").args(args).output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_owned())
}
