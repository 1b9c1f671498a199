use crate::reconcile::watcher::*;
use std::io::Write;

const WORKING: AgentNow = AgentNow { idle: false, asks: false, answered: false };
const ASKING: AgentNow = AgentNow { idle: false, asks: true, answered: false };
const IDLE: AgentNow = AgentNow { idle: true, asks: false, answered: false };

/// A transcript on disk, a watcher for it, and a clock that moves only when told to.
struct Scene {
    _dir: tempfile::TempDir,
    path: PathBuf,
    watch: TranscriptWatcher,
    now: Stamp,
    lines: u32,
}

impl Scene {
    fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let now = Stamp::parse("2026-11-16T10:00:00Z").unwrap();
        Scene { _dir: dir, watch: TranscriptWatcher::new("s", path.clone(), now), path, now, lines: 0 }
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now.plus(Duration::from_millis(millis));
    }

    /// Appends a line a millisecond later; it gets the uuid `u1`, `u2`, ….
    fn write(&mut self, kind: &str, rest: Value) {
        self.pass(1);
        self.lines += 1;
        let mut line = json!({"type": kind, "uuid": format!("u{}", self.lines), "timestamp": self.now,
            "isSidechain": false, "sessionId": "s", "cwd": "/p", "gitBranch": "main", "entrypoint": "cli"});
        for (key, value) in rest.as_object().unwrap() {
            line[key] = value.clone();
        }
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&self.path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn prompt(&mut self, text: &str) {
        let prompt_id = format!("p-{text}");
        self.write("user", json!({"message": {"content": text}, "promptId": prompt_id}));
    }

    fn said(&mut self, text: &str, stop_reason: &str) {
        let content = json!([{"type": "text", "text": text}]);
        self.write("assistant", json!({"message": {"content": content, "stop_reason": stop_reason}}));
    }

    fn call(&mut self, id: &str) {
        let content = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}]);
        self.write("assistant", json!({"message": {"content": content, "stop_reason": "tool_use"}}));
    }

    fn result(&mut self, id: &str, refused: bool) {
        let content =
            json!([{"type": "tool_result", "tool_use_id": id, "content": "x", "is_error": refused}]);
        let denial = refused.then_some("user-rejected");
        self.write("user", json!({"message": {"content": content}, "toolDenialKind": denial}));
    }

    fn interrupted(&mut self) {
        let content = json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]);
        self.write("user", json!({"message": {"content": content}}));
    }

    fn turn_end(&mut self) {
        self.write("system", json!({"subtype": "turn_duration"}));
    }

    fn used(&mut self, tokens: u64) {
        let message = json!({"content": [], "model": "m", "usage": {"input_tokens": tokens}});
        self.write("assistant", json!({"message": message}));
    }

    fn hook(&mut self, name: &str, body: Value) {
        self.pass(1);
        self.watch.heard(HookSignal::new(name, "s", self.now, &body));
    }

    fn reports(&mut self, agent: AgentNow) -> Vec<Report> {
        while self.watch.read(self.now) {}
        self.watch.settle(self.now, agent)
    }

    /// What is reported now: names, and the text if there is one.
    fn reported(&mut self, agent: AgentNow) -> Vec<String> {
        self.reports(agent).iter().map(brief).collect()
    }
}

fn brief(report: &Report) -> String {
    let name = report.name.trim_start_matches("Transcript");
    match report.body["text"].as_str() {
        Some(text) => format!("{name} {text}"),
        None => name.to_owned(),
    }
}

#[test]
fn a_text_between_tools_is_reported_at_once_with_its_own_time() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({"prompt": "go"}));
    scene.prompt("go");
    scene.said("Looking first.", "tool_use");
    let at = scene.now;
    scene.call("t1");
    scene.pass(50);
    let reports = scene.reports(WORKING);
    assert_eq!(reports.iter().map(brief).collect::<Vec<_>>(), ["Text Looking first."]);
    assert_eq!((reports[0].at, &reports[0].body["uuid"]), (at, &json!("u2")));
    assert_eq!(scene.reported(WORKING), [""; 0]);
}

#[test]
fn esc_is_reported_at_once_and_the_line_that_ends_the_turn_adds_nothing() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({"prompt": "go"}));
    scene.prompt("go");
    scene.call("t1");
    scene.result("t1", true);
    scene.interrupted();
    scene.turn_end();
    assert_eq!(scene.reported(ASKING), ["Refused", "Interrupted"]);
    scene.pass(3000);
    assert_eq!(scene.reported(WORKING), [""; 0]);
    assert!(!scene.watch.waits());
}

#[test]
fn what_was_said_before_esc_is_kept() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.said("word word", "end_turn");
    scene.interrupted();
    assert_eq!(scene.reported(WORKING), ["Text word word", "Interrupted"]);
}

#[test]
fn the_end_of_a_turn_waits_two_seconds_for_its_hook() {
    for with_line in [true, false] {
        let mut scene = Scene::new();
        scene.hook("UserPromptSubmit", json!({}));
        scene.said("All done.", "end_turn");
        if with_line {
            scene.turn_end();
        }
        assert_eq!(scene.reported(WORKING), [""; 0]);
        scene.pass(1900);
        assert_eq!(scene.reported(WORKING), [""; 0]);
        scene.pass(100);
        assert_eq!(scene.reported(WORKING), ["TurnEnd All done."]);
        assert_eq!(scene.reported(WORKING), [""; 0]);
    }
}

#[test]
fn a_turn_that_a_hook_ended_is_not_ended_again() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.hook("Stop", json!({"last_assistant_message": "All done."}));
    scene.pass(100);
    scene.said("All done.", "end_turn");
    scene.turn_end();
    assert_eq!(scene.reported(IDLE), [""; 0]);
    scene.pass(3000);
    assert_eq!(scene.reported(IDLE), [""; 0]);
    // Nor if a question keeps the agent waiting.
    scene.said("Shall I?", "end_turn");
    scene.hook("Stop", json!({"last_assistant_message": "Shall I?"}));
    assert_eq!(scene.reported(ASKING), [""; 0]);
    scene.pass(3000);
    assert_eq!(scene.reported(ASKING), [""; 0]);
}

#[test]
fn a_stop_without_text_gets_it_from_the_transcript() {
    let mut early = Scene::new();
    early.hook("UserPromptSubmit", json!({}));
    early.said("Done.", "end_turn");
    early.watch.read(early.now);
    assert_eq!(
        early.watch.settle_for_stop(early.now, WORKING).iter().map(brief).collect::<Vec<_>>(),
        ["Text Done."]
    );
    early.watch.heard(HookSignal::new("Stop", "s", early.now, &json!({})));
    early.turn_end();
    early.pass(3000);
    assert_eq!(early.reported(IDLE), [""; 0]);

    let mut late = Scene::new();
    late.hook("UserPromptSubmit", json!({}));
    late.hook("Stop", json!({}));
    late.said("Done.", "end_turn");
    assert_eq!(late.reported(IDLE), ["Text Done."]);
    late.pass(3000);
    assert_eq!(late.reported(IDLE), [""; 0]);

    // However late, in all its lines, whatever else is said meanwhile; and nothing more is expected afterwards.
    let mut later = Scene::new();
    later.hook("UserPromptSubmit", json!({}));
    later.hook("Stop", json!({}));
    later.hook("Notification", json!({}));
    later.pass(9000);
    assert!(later.watch.expects_text(later.now));
    for text in ["Done.", "Shall I push it?"] {
        let message =
            json!({"id": "m", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"});
        later.write("assistant", json!({ "message": message }));
    }
    assert_eq!(later.reported(IDLE), ["Text Done.\nShall I push it?"]);
    assert!(!later.watch.expects_text(later.now) && !early.watch.expects_text(early.now));
}

#[test]
fn the_end_of_a_session_does_not_wait_for_hooks() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.said("Done.", "end_turn");
    assert_eq!(scene.reported(WORKING), [""; 0]);
    let reported = scene.watch.settle_for_end(scene.now, WORKING);
    assert_eq!(reported.iter().map(brief).collect::<Vec<_>>(), ["TurnEnd Done."]);

    // A Stop reported it.
    let mut stopped = Scene::new();
    stopped.hook("UserPromptSubmit", json!({}));
    stopped.said("Done.", "end_turn");
    stopped.hook("Stop", json!({"last_assistant_message": "Done."}));
    stopped.watch.read(stopped.now);
    assert!(stopped.watch.settle_for_end(stopped.now, IDLE).is_empty());

    // The end of a session is not the end of a turn: nobody reported what is written afterwards.
    let mut late = Scene::new();
    late.hook("UserPromptSubmit", json!({}));
    late.hook("SessionEnd", json!({}));
    late.said("Done.", "end_turn");
    assert_eq!(late.reported(IDLE), [""; 0]);
    late.pass(3000);
    assert_eq!(late.reported(IDLE), ["TurnEnd Done."]);
}

#[test]
fn a_text_that_was_not_the_last_is_reported_as_a_text_in_between() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.said("I think that is all.", "end_turn");
    scene.pass(500);
    assert_eq!(scene.reported(WORKING), [""; 0]);
    scene.call("t1");
    assert_eq!(scene.reported(WORKING), ["Text I think that is all."]);
}

#[test]
fn an_answer_in_several_lines_is_one() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    for text in ["One.", "Two."] {
        let content = json!([{"type": "text", "text": text}]);
        let message = json!({"id": "m1", "content": content, "stop_reason": "end_turn"});
        scene.write("assistant", json!({"message": message}));
    }
    scene.reported(WORKING);
    scene.pass(3000);
    assert_eq!(scene.reported(WORKING), ["TurnEnd One.\nTwo."]);
}

#[test]
fn an_api_error_ends_the_turn_with_its_error_word() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    let message = json!({"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]});
    scene.write("assistant", json!({"message": message, "isApiErrorMessage": true, "error": "server_error"}));
    scene.reported(WORKING);
    scene.pass(2000);
    let reports = scene.reports(WORKING);
    assert_eq!((reports[0].name, &reports[0].body["error"]), (observed::TURN_END, &json!("server_error")));
}

#[test]
fn a_prompt_that_a_hook_reported_is_not_reported_again() {
    let mut before = Scene::new();
    before.hook("UserPromptSubmit", json!({"prompt_id": "p-go"}));
    before.prompt("go");
    before.pass(5000);
    assert_eq!(before.reported(WORKING), [""; 0]);

    let mut after = Scene::new();
    after.prompt("go");
    after.said("Hm.", "tool_use");
    assert_eq!(after.reported(IDLE), [""; 0]);
    after.pass(200);
    after.hook("UserPromptSubmit", json!({"prompt": "go"}));
    assert_eq!(after.reported(WORKING), ["Text Hm."]);

    let mut slow_hook = Scene::new();
    slow_hook.hook("UserPromptSubmit", json!({"prompt_id": "p-go"}));
    slow_hook.pass(20_000);
    slow_hook.prompt("go");
    slow_hook.pass(5000);
    assert_eq!(slow_hook.reported(WORKING), [""; 0]);
}

#[test]
fn when_hooks_are_silent_the_transcript_reports_everything() {
    let mut scene = Scene::new();
    scene.hook("Stop", json!({"last_assistant_message": "x"}));
    scene.pass(60_000);
    scene.prompt("next");
    scene.call("t1");
    assert_eq!(scene.reported(IDLE), [""; 0]);
    scene.pass(2000);
    assert_eq!(scene.reported(IDLE), ["Prompt next", "ToolUse"]);
    scene.result("t1", false);
    scene.said("Done.", "end_turn");
    scene.turn_end();
    assert_eq!(scene.reported(WORKING), ["ToolResult", "TurnEnd Done."]);
    scene.hook("UserPromptSubmit", json!({}));
    scene.call("t2");
    assert_eq!(scene.reported(WORKING), [""; 0]);
}

#[test]
fn results_are_reported_while_a_question_is_open() {
    let mut scene = Scene::new();
    scene.hook("PreToolUse", json!({}));
    scene.call("t1");
    scene.result("t1", false);
    let reports = scene.reports(ASKING);
    assert_eq!(reports[0].name, observed::TOOL_RESULT);
    assert_eq!(
        (&reports[0].body["tool_use_id"], &reports[0].body["tool_name"]),
        (&json!("t1"), &json!("Bash"))
    );
}

#[test]
fn a_small_change_of_the_context_is_reported_between_turns() {
    let mut scene = Scene::new();
    scene.used(50_000);
    assert_eq!(scene.reports(WORKING)[0].body["used_tokens"], 50_000);
    scene.used(50_400);
    assert_eq!(scene.reports(WORKING), []);
    scene.watch.between_turns();
    assert_eq!(scene.reports(WORKING)[0].body["used_tokens"], 50_400);
}

#[test]
fn lines_before_the_first_contact_only_give_the_size_of_the_context() {
    let mut scene = Scene::new();
    scene.prompt("old");
    scene.said("Old words.", "tool_use");
    scene.used(50_000);
    scene.interrupted();
    scene.pass(1);
    scene.watch = TranscriptWatcher::new("s", scene.path.clone(), scene.now);
    scene.said("New words.", "tool_use");
    let reports = scene.reports(WORKING);
    assert_eq!(reports.iter().map(brief).collect::<Vec<_>>(), ["Text New words.", "Usage"]);
    assert_eq!(reports[1].body["used_tokens"], 50_000);
}

#[test]
fn a_line_in_the_same_millisecond_is_newer() {
    let mut scene = Scene::new();
    scene.said("Now.", "tool_use");
    scene.watch =
        TranscriptWatcher::new("s", scene.path.clone(), scene.now.plus(Duration::from_nanos(999_999)));
    assert_eq!(scene.reported(WORKING), ["Text Now."]);
}

#[test]
fn the_end_of_a_long_file_is_enough() {
    let mut scene = Scene::new();
    for _ in 0..40 {
        scene.used(7);
        scene.write("attachment", json!({"x": "y".repeat(100_000)}));
    }
    scene.used(70_000);
    scene.pass(1);
    scene.watch = TranscriptWatcher::new("s", scene.path.clone(), scene.now);
    scene.said("New.", "tool_use");
    assert_eq!(scene.reported(WORKING), ["Text New.", "Usage"]);
    assert!(scene.watch.tail.mark().offset > 4_000_000);
}

#[test]
fn after_a_restart_reading_continues_and_nothing_held_back_is_lost() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.said("On the way.", "tool_use");
    scene.said("Done.", "end_turn");
    let reports = scene.reports(WORKING);
    assert_eq!(reports.iter().map(brief).collect::<Vec<_>>(), ["Text On the way."]);
    let mark = reports[0].tail.clone().unwrap();
    scene.watch = TranscriptWatcher::resume("s", mark, scene.now);
    // The text comes twice, with the same uuid; its answer, still held back when we stopped, is not lost.
    assert_eq!(scene.reported(WORKING), ["Text On the way."]);
    scene.pass(2000);
    let reports = scene.reports(WORKING);
    assert_eq!(reports.iter().map(brief).collect::<Vec<_>>(), ["TurnEnd Done."]);
    scene.watch = TranscriptWatcher::resume("s", reports[0].tail.clone().unwrap(), scene.now);
    scene.pass(5000);
    assert_eq!(scene.reported(WORKING), [""; 0]);
}

#[test]
fn a_rewritten_file_repeats_nothing() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.said("One.", "tool_use");
    assert_eq!(scene.reported(WORKING), ["Text One."]);
    let old = std::fs::read_to_string(&scene.path).unwrap();
    std::fs::write(&scene.path, format!("{{\"type\":\"mode\"}}\n{old}")).unwrap();
    assert_eq!(scene.reported(WORKING), [""; 0]);
    scene.said("Two.", "tool_use");
    assert_eq!(scene.reported(WORKING), ["Text Two."]);
}

#[test]
fn a_small_change_of_the_context_waits_for_the_end_of_the_turn() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.used(10_000);
    assert_eq!(scene.reported(WORKING), ["Usage"]);
    scene.used(10_900);
    assert_eq!(scene.reported(WORKING), [""; 0]);
    scene.used(11_000);
    assert_eq!(scene.reported(WORKING), ["Usage"]);
    scene.used(11_010);
    scene.hook("Stop", json!({"last_assistant_message": "x"}));
    assert_eq!(scene.reported(IDLE), ["Usage"]);
    let compact = json!({"subtype": "compact_boundary", "compactMetadata": {"postTokens": 10_500}});
    scene.write("system", compact);
    let reports = scene.reports(IDLE);
    assert_eq!(
        (&reports[0].body["used_tokens"], &reports[0].body["compacted"]),
        (&json!(10_500), &json!(true))
    );
}

#[test]
fn after_a_compaction_the_same_size_is_reported_again() {
    let mut scene = Scene::new();
    scene.hook("UserPromptSubmit", json!({}));
    scene.used(19_512);
    assert_eq!(scene.reported(WORKING), ["Usage"]);
    scene.hook("SessionStart", json!({"source": "compact"}));
    assert_eq!(scene.reported(WORKING), [""; 0]);
    scene.write("system", json!({"subtype": "compact_boundary", "compactMetadata": {"postTokens": 2_945}}));
    scene.used(19_512);
    assert_eq!(scene.reported(WORKING), ["Usage"]);
}

#[test]
fn sidechain_lines_do_not_belong_to_the_main_thread() {
    let mut scene = Scene::new();
    let message = json!({"content": [{"type": "text", "text": "sub"}], "usage": {"input_tokens": 5}});
    scene.write("assistant", json!({"isSidechain": true, "message": message}));
    assert_eq!(scene.reported(WORKING), [""; 0]);
}

#[test]
fn a_subagents_refusal_is_reported_with_its_id() {
    let mut scene = Scene::new();
    scene.watch = TranscriptWatcher::subagent("s", "a1", &scene.path, scene.now);
    scene.path = scene.path.with_extension("").join("subagents").join("agent-a1.jsonl");
    std::fs::create_dir_all(scene.path.parent().unwrap()).unwrap();
    let content = json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true}]);
    let line =
        json!({"isSidechain": true, "message": {"content": content}, "toolDenialKind": "user-rejected"});
    scene.write("user", line);
    let reports = scene.reports(ASKING);
    assert_eq!((reports[0].name, &reports[0].body["agent_id"]), (observed::REFUSED, &json!("a1")));
    assert_eq!(reports[0].tail, None);
}

#[test]
fn a_found_session_in_mid_turn_is_reported_from_its_prompt_on() {
    let mut scene = Scene::new();
    scene.prompt("first");
    scene.said("Done.", "end_turn");
    scene.turn_end();
    scene.prompt("second");
    scene.call("t1");
    let (watch, finding) = TranscriptWatcher::find("s", scene.path.clone(), scene.now).unwrap();
    assert!(finding.busy);
    assert_eq!((finding.cwd.as_str(), finding.last_at), ("/p", scene.now));
    scene.watch = watch;
    assert_eq!(scene.reported(IDLE), ["Prompt second", "ToolUse"]);
    scene.said("Over.", "end_turn");
    scene.turn_end();
    assert_eq!(scene.reported(WORKING), ["TurnEnd Over."]);
}

#[test]
fn a_found_idle_session_reports_nothing_about_its_past() {
    let mut scene = Scene::new();
    scene.prompt("first");
    scene.said("Done.", "end_turn");
    scene.turn_end();
    scene.pass(10);
    let (watch, finding) = TranscriptWatcher::find("s", scene.path.clone(), scene.now).unwrap();
    assert!(!finding.busy);
    scene.watch = watch;
    assert_eq!(scene.reported(IDLE), [""; 0]);
    scene.prompt("second");
    assert_eq!(scene.reported(IDLE), ["Prompt second"]);
}

#[test]
fn a_file_without_a_conversation_is_not_a_session() {
    let mut scene = Scene::new();
    scene.write("mode", json!({}));
    scene.write("user", json!({"isSidechain": true, "message": {"content": "sub"}}));
    assert!(TranscriptWatcher::find("s", scene.path.clone(), scene.now).is_none());
}
