//! Facts about a payload that asks something, taken here because this is the last place that sees it before secrets are
//! masked and long texts cut.

use headspace_core::answering::proposal;
use headspace_core::mask;
use headspace_core::mask::paranoid::forget_texts;
use headspace_core::model::{AskFacts, Machine};
use headspace_core::text::cut;
use headspace_core::text::deceptive;
use headspace_core::text::diff;
use headspace_platform::file_look::FileLooks;
use headspace_platform::{files, machine};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// A longer file is not read: a person would not read the difference either.
const MAX_FILE: u64 = 1 << 20;
/// A longer difference is not kept.
const MAX_DIFF: usize = 64 << 10;

/// A file that does not answer within this time is not compared: the thread that serves all hooks waits for it.
const LOOK_WITHIN: Duration = Duration::from_millis(100);

/// Brings a body into the form in which it is stored: secrets masked, long texts cut, and with `paranoid` no texts at all.
/// What is asked stays whole as far as it can be shown. Returns the facts about the ask, added to `known` ones.
pub fn store_form(
    event: &str,
    body: &mut Value,
    paranoid: bool,
    known: Option<AskFacts>,
) -> Option<AskFacts> {
    let mut facts = known.or_else(|| facts_of(event, body, paranoid));
    if paranoid {
        forget_texts(body);
    }
    let mut asked = facts.as_ref().and_then(|_| body.get_mut("tool_input").map(Value::take));
    // Before it is masked: that takes as long as there is input.
    if let (Some(input), Some(facts)) = (&mut asked, &mut facts) {
        facts.cut |= cut::asked_values(input);
    }
    mask::value(body);
    cut::stored(body);
    if let (Some(mut input), Some(facts)) = (asked, &mut facts) {
        facts.masked |= mask::value(&mut input);
        facts.cut |= cut::asked(&mut input);
        body["tool_input"] = input;
    }
    facts
}

/// What to remember about a payload that asks the user something; `None` if it does not.
pub fn facts_of(event: &str, body: &Value, paranoid: bool) -> Option<AskFacts> {
    let tool = body.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    let asks = match event {
        "PermissionRequest" => true,
        "PreToolUse" => matches!(tool, "AskUserQuestion" | "ExitPlanMode" | "EnterPlanMode"),
        _ => false,
    };
    let input = body.get("tool_input").filter(|_| asks)?;
    Some(AskFacts {
        // A text that is not stored cannot be shown either.
        masked: paranoid,
        cut: false,
        deceptive: deceptive::any(input),
        // Of a call that is not shown whole, the difference is not the whole one either.
        diff: if paranoid || !is_here(body) || cut::asks_too_much(input) || is_long(input) {
            None
        } else {
            difference(tool, input, FileLooks::of_process(), file_at)
        },
    })
}

/// Whether the call's own text is longer than a file that is read for the difference.
fn is_long(input: &Value) -> bool {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    ["content", "old_string", "new_string"].iter().any(|key| text(key).len() as u64 > MAX_FILE)
}

/// Whether the payload comes from this machine. Another machine's files may have the same names and other contents.
fn is_here(body: &Value) -> bool {
    static HERE: OnceLock<Machine> = OnceLock::new();
    Machine::of(body).is(HERE.get_or_init(machine::this))
}

/// What a call would change in its file. Secrets are masked: the file may have some that the call does not.
fn difference(tool: &str, input: &Value, looks: &FileLooks, look: Look) -> Option<String> {
    let path = proposal::file_of(tool, input)?;
    let named = Path::new(path).to_owned();
    let (file, is_new) = looks.at_file(Path::new(path), LOOK_WITHIN, move || look(&named))?;
    let (before, after) = proposal::change(tool, input, file.as_deref())?;
    let old_name = if is_new { "/dev/null" } else { path };
    let hunks = diff::hunks(&before, &after);
    let diff = format!(
        "--- {old_name}
+++ {path}
{hunks}"
    );
    let diff = mask::text(&diff).into_owned();
    Some(diff).filter(|diff| !hunks.is_empty() && diff.len() <= MAX_DIFF)
}

/// A file's text, and whether there is no such file.
type Look = fn(&Path) -> (Option<String>, bool);

fn file_at(path: &Path) -> (Option<String>, bool) {
    let text = text_of(path);
    let is_new = text.is_none() && !path.exists();
    (text, is_new)
}

/// A regular file's text; opening a pipe or a device could make the server wait.
fn text_of(path: &Path) -> Option<String> {
    if !path.is_absolute() {
        return None;
    }
    let file = files::open_regular(path, OpenOptions::new().read(true)).ok()?;
    if file.metadata().ok()?.len() > MAX_FILE {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_edit_is_shown_against_the_file_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.py");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        let body = json!({"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": "two", "new_string": "2"}});
        let diff = facts_of("PermissionRequest", &body, false).unwrap().diff.unwrap();
        assert!(diff.contains("\n one\n-two\n+2\n three\n"), "{diff}");
        let fresh = dir.path().join("new.txt");
        let body = json!({"tool_name": "Write", "tool_input": {"file_path": fresh, "content": "x\n"}});
        let diff = facts_of("PermissionRequest", &body, false).unwrap().diff.unwrap();
        assert!(diff.starts_with("--- /dev/null\n") && diff.ends_with("+x\n"), "{diff}");
        assert!(facts_of("PermissionRequest", &body, true).unwrap().diff.is_none(), "paranoid");
        let far = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "x\n"}, "host": "elsewhere"});
        assert!(facts_of("PermissionRequest", &far, false).unwrap().diff.is_none(), "another machine's file");
    }

    #[test]
    fn a_file_that_does_not_answer_is_asked_about_without_its_difference() {
        use std::time::Instant;
        let hangs: Look = |_| {
            std::thread::sleep(Duration::from_secs(3600));
            (None, true)
        };
        let looks = FileLooks::distrustful();
        let input = json!({"file_path": "/net/dead/a.py", "content": "x\n"});
        let started = Instant::now();
        for _ in 0..100 {
            assert_eq!(difference("Write", &input, &looks, hangs), None);
        }
        // The first waits. Far less than a hundred waits, on however busy a machine.
        assert!(started.elapsed() < LOOK_WITHIN * 50, "{:?}", started.elapsed());
        let input = json!({"file_path": "/definitely/not/here.py", "content": "x\n"});
        // A busy machine may be late for it once or twice.
        let started = Instant::now();
        while difference("Write", &input, &looks, file_at).is_none() {
            assert!(started.elapsed() < Duration::from_secs(60), "another directory answers");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn only_asking_payloads_have_facts() {
        let body = json!({"tool_name": "Bash", "tool_input": {"command": "a\u{202e}b"}});
        assert!(facts_of("PermissionRequest", &body, false).unwrap().deceptive);
        assert_eq!(facts_of("PreToolUse", &body, false), None);
        assert_eq!(facts_of("PostToolUse", &body, false), None);
        let question = json!({"tool_name": "AskUserQuestion", "tool_input": {}});
        assert!(facts_of("PreToolUse", &question, false).is_some());
    }

    #[test]
    fn of_an_ask_that_is_too_much_a_part_is_kept_without_a_difference() {
        let edits = vec![json!({"old_string": "a", "new_string": "b"}); 30_000];
        let mut body =
            json!({"tool_name": "MultiEdit", "tool_input": {"file_path": "/tmp/x", "edits": edits}});
        let facts = store_form("PermissionRequest", &mut body, false, None).unwrap();
        assert!(facts.cut && facts.diff.is_none());
        assert!(body.to_string().len() < 100_000, "{}", body.to_string().len());
    }

    #[test]
    fn devices_and_directories_are_not_read() {
        for path in ["/dev/zero", "/tmp", "relative", "/nowhere/at/all"] {
            assert_eq!(text_of(Path::new(path)), None, "{path}");
        }
    }
}
