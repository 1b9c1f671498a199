//! What the guard's targets share: a machine with next to no disk, and the question.

use headspace_guard::{Decision, FileSystem, GuardEnvironment, Verdict, judge};
use headspace_platform::config::Guard;
use serde_json::{Value, json};
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

/// Judges `input` for `tool`, where every file holds `files` and the user has these settings. An answer that is not
/// "allow" has a rule and a reason the client takes, and no answer is late.
pub fn answer(tool: &str, input: Value, files: &str, config: Guard) -> Decision {
    let environment = GuardEnvironment {
        home: "/home/dev".into(),
        user: Some("dev".into()),
        project: Some("/home/dev/proj".into()),
        cwd: "/home/dev/proj".into(),
        tmpdir: None,
        session_mode: None,
        claude_dir: "/home/dev/.claude".into(),
        config_file: "/home/dev/.config/headspace/config.jsonc".into(),
        config,
        files: Box::new(OneText(files.to_owned())),
        time_limit: Duration::from_secs(5),
        early_answer: None,
    };
    let payload = json!({"tool_name": tool, "tool_input": input, "cwd": "/home/dev/proj"});
    let Verdict { decision, rule, reason, .. } = judge(&payload, &environment);
    if decision != Decision::Allow {
        assert!(rule.is_some_and(|rule| rule != "guard.deadline"));
        let reason = reason.expect("a reason");
        assert!(reason.chars().count() <= 2000 && !reason.chars().any(char::is_control));
    }
    decision
}

/// The answer to a command, without settings.
pub fn command(tool: &str, command: &str, files: &str) -> Decision {
    answer(tool, json!({"command": command}), files, Guard::default())
}
