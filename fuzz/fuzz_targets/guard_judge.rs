//! `cargo +nightly fuzz run guard_judge`: whatever the command, the guard answers, an answer that is no "allow" has a
//! rule and a reason the client takes, and what stands behind `;` cannot make the answer milder.
#![no_main]

use claude_headspace::config::Guard;
use claude_headspace::guard::{Decision, Files, Place, Verdict, judge};
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use std::time::Duration;

/// No disk at all: every run sees the same.
struct Nothing;

impl Files for Nothing {
    fn link(&self, _: &str) -> Option<String> {
        None
    }
    fn exists(&self, path: &str) -> bool {
        path == "/home/dev/proj/.git"
    }
    fn is_dir(&self, _: &str) -> bool {
        false
    }
    fn names(&self, _: &str) -> Vec<String> {
        vec![".env".into(), "src".into()]
    }
}

fn verdict(tool: &str, command: &str) -> Verdict {
    let place = Place {
        home: "/home/dev".into(),
        user: Some("dev".into()),
        project: Some("/home/dev/proj".into()),
        cwd: "/home/dev/proj".into(),
        tmpdir: None,
        session_mode: None,
        claude_dir: "/home/dev/.claude".into(),
        config_file: "/home/dev/.config/headspace/config.jsonc".into(),
        config: Guard::default(),
        files: Box::new(Nothing),
        patience: Duration::from_secs(5),
    };
    judge(&json!({"tool_name": tool, "tool_input": {"command": command}, "cwd": "/home/dev/proj"}), &place)
}

fuzz_target!(|text: &str| {
    for tool in ["Bash", "PowerShell"] {
        let verdict = verdict(tool, text);
        if verdict.decision != Decision::Allow {
            assert!(verdict.rule.is_some());
            let reason = verdict.reason.expect("a reason");
            assert!(reason.chars().count() <= 2000 && !reason.chars().any(char::is_control));
        }
    }
    assert_eq!(verdict("Bash", &format!("rm -rf /usr/local; {text}")).decision, Decision::Deny);
});
