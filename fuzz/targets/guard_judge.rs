//! `cargo +nightly fuzz run guard_judge`: whatever the command, the guard answers, an answer that is not "allow" has a
//! rule and a reason the client takes, and what stands behind `;`, or in the project's own settings, cannot make the
//! answer milder. The same text is also every script of the project, and SQL.

use headspace_guard::{Decision, FileSystem, GuardEnvironment, Verdict, judge};
use headspace_platform::config::Guard;
use serde_json::json;
use std::time::Duration;

/// Next to no disk: every file that can be read holds the same text.
struct OneText(String);

impl FileSystem for OneText {
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
    fn read(&self, _: &str) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.clone())
    }
    fn is_clean(&self, _: &str) -> Option<bool> {
        None
    }
}

fn verdict(tool: &str, command: &str, files: &str) -> Verdict {
    let environment = GuardEnvironment {
        home: "/home/dev".into(),
        user: Some("dev".into()),
        project: Some("/home/dev/proj".into()),
        cwd: "/home/dev/proj".into(),
        tmpdir: None,
        session_mode: None,
        claude_dir: "/home/dev/.claude".into(),
        config_file: "/home/dev/.config/headspace/config.jsonc".into(),
        config: Guard::default(),
        files: Box::new(OneText(files.to_owned())),
        time_limit: Duration::from_secs(5),
        worst_so_far: Default::default(),
    };
    judge(
        &json!({"tool_name": tool, "tool_input": {"command": command}, "cwd": "/home/dev/proj"}),
        &environment,
    )
}

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for tool in ["Bash", "PowerShell"] {
        let verdict = verdict(tool, text, "");
        if verdict.decision != Decision::Allow {
            assert!(verdict.rule.is_some());
            let reason = verdict.reason.expect("a reason");
            assert!(reason.chars().count() <= 2000 && !reason.chars().any(char::is_control));
        }
    }
    assert_eq!(verdict("Bash", &format!("rm -rf /usr/local; {text}"), "").decision, Decision::Deny);
    assert_eq!(verdict("Bash", "rm -rf /usr/local", text).decision, Decision::Deny);
    for runs in ["./x.sh a b", "make all clean", "npm run build"] {
        verdict("Bash", runs, text);
    }
    verdict("Bash", &format!("psql -c '{}'", text.replace('\'', "''")), "");
}
