//! Tells `headspace --version` which commit it is of, and turns the guard's rule files into tables. The date is the
//! commit's, not the build's: the same source gives the same binary.

#[path = "src/guard/rules/generate.rs"]
mod guard_rules;

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=src/guard/rules");
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    if let Err(error) = guard_rules::generate(Path::new("src/guard/rules"), &Path::new(&out).join("guard")) {
        panic!("the guard's rules: {error}");
    }
    println!("cargo:rerun-if-changed=.git/HEAD");
    println!("cargo:rerun-if-changed=.git/refs/heads");
    println!("cargo:rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let version = env!("CARGO_PKG_VERSION");
    let described = match git(&["log", "-1", "--format=%h %cs"]) {
        Some(commit) => format!("{version} ({commit})"),
        // Built from a package, where the version alone names the source.
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=HEADSPACE_VERSION={described}");
}

fn git(args: &[&str]) -> Option<String> {
    let out = Command::new("git").args(args).output().ok().filter(|out| out.status.success())?;
    let text = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
