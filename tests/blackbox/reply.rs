//! Replies and stops: typing into a stand-in for the client in a real tmux, by a person on a terminal.

use headspace_test_support::{Home, Installation, Tmux, binary, on_terminal, skip, wait_for, wait_until};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// An agent in a tmux pane that behaves like Claude Code's screen.
struct Desk {
    /// Before the home: it ends by its socket, which is there.
    tmux: Tmux,
    home: Installation,
    pane: String,
    folder: PathBuf,
}

impl Desk {
    fn new() -> Option<Desk> {
        let home = Installation::new(json!({"reconcile": {"polling_interval_with_hooks": 0.3}}));
        let tmux = Tmux::new(&home, "tmux.sock")?;
        if Command::new("python3").arg("--version").output().is_err() {
            skip("python3 is not installed");
            return None;
        }
        let folder = home.project("api", "main");
        let mut desk = Desk { tmux, home, pane: String::new(), folder };
        desk.show("box");
        desk.pane = desk.start("s1");
        Some(desk)
    }

    /// Starts the stand-in in a new window and waits until it is on the board.
    fn start(&self, session: &str) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stand_in_client.py");
        let variables: Vec<String> = self
            .home
            .command(&[])
            .get_envs()
            .filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, value?.to_str()?)))
            .collect();
        let mut words = vec!["new-session", "-d", "-x", "100", "-y", "30", "-P", "-F", "#{pane_id}"];
        for variable in &variables {
            words.extend(["-e", variable]);
        }
        let folder = self.folder.to_str().unwrap();
        let command = format!("exec python3 {script} {} {folder} {session}", binary());
        words.push(&command);
        let pane = self.tmux.run(&words);
        wait_until("the stand-in", || self.tmux.screen(&pane).contains("manual mode on"));
        wait_until("its agent", || self.agents().iter().any(|agent| agent["session_id"] == session));
        pane
    }

    /// Changes what the stand-in shows, and waits until it does: what is typed then meets this screen and not the last one.
    fn show(&self, mode: &str) {
        std::fs::write(self.folder.join("mode.new"), mode).unwrap();
        std::fs::rename(self.folder.join("mode.new"), self.folder.join("mode")).unwrap();
        if !self.pane.is_empty() {
            wait_until(mode, || {
                std::fs::read_to_string(self.folder.join("shown")).is_ok_and(|shown| shown == mode)
            });
        }
    }

    fn shows(&self, words: &str) {
        wait_until(words, || self.tmux.screen(&self.pane).contains(words));
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn agents(&self) -> Vec<Value> {
        self.home.server().get("/api/agents")["agents"].as_array().cloned().unwrap_or_default()
    }

    fn agent(&self) -> Value {
        self.agents().into_iter().find(|agent| agent["session_id"] == "s1").expect("the agent")
    }

    fn event(&self, name: &str, fields: Value) {
        let env = [("TMUX_PANE", self.pane.as_str())];
        let mut fields = fields;
        fields["transcript_path"] = json!(self.folder.join("transcript.jsonl"));
        self.home.send_with(name, "s1", &self.folder, fields, &env);
    }

    /// A person at a terminal.
    fn person(&self, args: &[&str], input: &str) -> (String, Option<i32>) {
        on_terminal(self.home.command(args), input)
    }
}

#[test]
fn a_prompt_reaches_an_idle_agent_word_for_word() {
    let Some(desk) = Desk::new() else { return };
    let text = "Now: the 'tests'\nwith $HOME, \\n and \u{1f680}";
    let (shown, code) = desk.person(&["reply", "api", text], "");
    assert!(code == Some(0) && shown.contains("sent to"), "{shown}\n{}", desk.tmux.screen(&desk.pane));
    assert!(desk.log().contains(&format!("PROMPT {}", python(text))), "{}", desk.log());
    wait_until("an empty box", || !desk.tmux.screen(&desk.pane).contains("Now: the"));
    let long = (0..40).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
    desk.event("Stop", json!({"last_assistant_message": "Done."}));
    let (shown, code) = desk.person(&["reply", "api", &long], "");
    assert!(code == Some(0) && shown.contains("sent to"), "{shown}");
    assert!(desk.log().contains(&python(&long)), "{}", desk.log());
    let steps = desk.home.ok(&["events", "--type", "Reply", "--json"]);
    assert!(steps.contains("sent"), "{steps}");
}

/// As Python's `json.dumps` writes it.
fn python(text: &str) -> String {
    let mut out = String::new();
    for unit in serde_json::to_string(text).unwrap().encode_utf16() {
        match u8::try_from(unit) {
            Ok(letter) if letter.is_ascii() => out.push(char::from(letter)),
            _ => out.push_str(&format!("\\u{unit:04x}")),
        }
    }
    out
}

#[test]
fn nothing_is_typed_where_it_could_do_harm() {
    let Some(desk) = Desk::new() else { return };
    let refuses = |why: &str| {
        let (shown, code) = desk.person(&["reply", "api", "go on"], "");
        assert!(code == Some(1) && shown.contains(why), "{why}: {shown}");
        assert!(!desk.log().contains("PROMPT") && !desk.log().contains("APPROVED"), "{why}: {}", desk.log());
        assert!(!desk.log().contains("SWALLOWED"), "{why}: {}", desk.log());
    };
    // The dialog has no hook behind it: only the screen tells.
    desk.show("dialog");
    desk.shows("Do you want to proceed");
    refuses("a dialog or menu is open");
    desk.show("menu");
    desk.shows("Select model");
    refuses("does not show an empty input box");
    desk.show("draft half a thought");
    desk.shows("half a thought");
    refuses("half-typed there (\"half a thought\")");
    desk.show("clear");
    wait_until("an empty box", || !desk.tmux.screen(&desk.pane).contains("half"));
    desk.tmux.run(&["copy-mode", "-t", &desk.pane]);
    refuses("copy mode");
    desk.tmux.run(&["send-keys", "-t", &desk.pane, "-X", "cancel"]);
    desk.tmux.run(&["respawn-pane", "-k", "-t", &desk.pane, "exec sleep 1000"]);
    refuses("");
}

#[test]
fn what_the_client_does_not_take_stays_in_the_box_and_is_said() {
    let Some(desk) = Desk::new() else { return };
    desk.show("deaf");
    let (shown, code) = desk.person(&["reply", "api", "go on"], "");
    assert!(code == Some(1) && shown.contains("in the box") | shown.contains("box, not sent"), "{shown}");
    assert!(desk.tmux.screen(&desk.pane).contains("go on"));
    assert_eq!(desk.log().matches("DEAF").count(), 1, "{}", desk.log());
}

#[test]
fn a_busy_agents_prompt_waits_and_can_be_taken_back() {
    let Some(mut desk) = Desk::new() else { return };
    let working = |desk: &Desk| {
        desk.event("UserPromptSubmit", json!({"prompt": "work"}));
        desk.show("busy");
    };
    working(&desk);
    let (shown, code) = desk.person(&["reply", "api", "first"], "");
    assert!(code == Some(0) && shown.contains("queued"), "{shown}");
    let (shown, _) = desk.person(&["reply", "api", "second"], "");
    assert!(shown.contains("queued"), "{shown}");
    let waiting = desk.agent()["replies"].clone();
    assert_eq!(waiting.as_array().map(Vec::len), Some(2), "{waiting}");
    assert_eq!(waiting[0]["text"], "first");
    let second = waiting[1]["id"].as_str().unwrap();
    let (shown, _) = desk.person(&["reply", "api", "--list"], "");
    assert!(shown.contains("first") && shown.contains(second), "{shown}");
    let (shown, code) = desk.person(&["reply", "api", "--cancel", second], "");
    assert_eq!(code, Some(0), "{shown}");
    assert!(!desk.log().contains("PROMPT"), "{}", desk.log());

    desk.show("box");
    desk.event("Stop", json!({"last_assistant_message": "Done."}));
    wait_until("the first prompt", || desk.log().contains("PROMPT \"first\""));
    wait_until("an empty queue", || desk.agent()["replies"].as_array().is_none_or(Vec::is_empty));
    assert!(!desk.log().contains("second"), "{}", desk.log());

    // What waits is the server's memory: after a restart it is gone, and that is recorded.
    working(&desk);
    let (shown, _) = desk.person(&["reply", "api", "never"], "");
    assert!(shown.contains("queued"), "{shown}");
    desk.home.stop();
    desk.home.start();
    wait_until("an empty queue", || desk.agent()["replies"].as_array().is_none_or(Vec::is_empty));
    desk.show("box");
    desk.event("Stop", json!({"last_assistant_message": "Done."}));
    let steps = wait_for("the record", || {
        let steps = desk.home.ok(&["events", "--type", "Reply", "--json"]);
        steps.contains("the server was restarted").then_some(steps)
    });
    assert!(steps.contains("dropped") && steps.contains("canceled"), "{steps}");
    assert!(!desk.log().contains("never"), "{}", desk.log());
}

#[test]
fn a_text_that_is_more_than_a_prompt_asks_first() {
    let Some(desk) = Desk::new() else { return };
    let (shown, code) = desk.person(&["reply", "api", "!touch x"], "n\n");
    assert!(code == Some(1) && shown.contains("shell command"), "{shown}");
    assert!(!desk.log().contains("PROMPT"), "{}", desk.log());
    let (shown, code) = desk.person(&["reply", "api", "/compact"], "y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(desk.log().contains("PROMPT \"/compact\""), "{}", desk.log());
}

#[test]
fn only_a_person_may_type_or_stop() {
    let Some(desk) = Desk::new() else { return };
    for args in [&["reply", "api", "hello"][..], &["wake", "api", "hello"], &["stop", "api"]] {
        let mut by_agent = desk.home.command(args);
        by_agent.env("CLAUDECODE", "1");
        let (shown, code) = on_terminal(by_agent, "");
        assert!(code == Some(1) && shown.contains("not a coding agent"), "{args:?}: {shown}");
    }
    // The token opens everything else to a page, but this one was not unlocked.
    let token = std::fs::read_to_string(desk.home.state().join("token")).unwrap();
    let id = desk.agent()["id"].clone();
    for (path, body) in
        [("reply", json!({"text": "hello"})), ("reply/cancel", json!({"reply_id": "x"})), ("stop", json!({}))]
    {
        let answer = desk.home.server().request(
            "POST",
            &format!("/api/agents/{id}/{path}"),
            &[
                ("content-type", "application/json"),
                ("origin", &desk.home.server().url()),
                ("authorization", &format!("Bearer {}", token.trim())),
            ],
            Some(body.to_string().as_bytes()),
        );
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
    assert!(!desk.log().contains("PROMPT"), "{}", desk.log());
}

#[test]
fn a_stop_is_esc_and_the_interrupt_is_seen() {
    let Some(desk) = Desk::new() else { return };
    let (shown, code) = desk.person(&["stop", "api"], "");
    assert!(code == Some(1) && shown.contains("not working"), "{shown}");
    desk.event("UserPromptSubmit", json!({"prompt": "work"}));
    desk.show("busy");
    wait_until("work", || desk.agent()["state"] == "processing");
    let (shown, code) = desk.person(&["stop", "api"], "");
    assert!(code == Some(0) && shown.contains("stopped"), "{shown}");
    assert_eq!(desk.agent()["state"], "idle");
    assert_eq!(desk.log().matches("ESC").count(), 1);
}

#[test]
fn where_esc_is_not_possible_the_next_tool_call_is_denied() {
    let Some(desk) = Desk::new() else { return };
    desk.event("UserPromptSubmit", json!({"prompt": "work"}));
    desk.show("menu");
    desk.shows("Select model");
    let (shown, code) = desk.person(&["stop", "api"], "");
    assert!(code == Some(0) && shown.contains("stop requested"), "{shown}");
    assert!(!desk.log().contains("ESC"), "{}", desk.log());
    let agent = desk.agent();
    assert!(agent["stop_requested"].is_string(), "{agent}");
    assert!(agent["status_detail"].as_str().unwrap().starts_with("Stop requested"), "{agent}");
    let asks = json!({"tool_name": "Bash", "tool_input": {"command": "make"}});
    desk.event("PermissionRequest", asks);
    assert_eq!(desk.agent()["summary"]["about"], "Stop requested · Allow Bash: make");
    for surface in [&["status"][..], &["show", "api"], &["explain", "api"]] {
        let shown = desk.home.ok(surface);
        assert!(shown.contains("Stop requested"), "{surface:?}: {shown}");
    }
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"});
    let printed = printed(&desk.home, &desk.folder, call);
    let decision: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        decision,
        json!({
            "continue": false, "stopReason": "Stopped from headspace",
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "The user stopped this agent from headspace",
            },
        })
    );
    desk.event("Stop", json!({"last_assistant_message": "Stopped."}));
    assert!(desk.agent()["stop_requested"].is_null());
    desk.event("UserPromptSubmit", json!({"prompt": "again"}));
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t2"});
    assert_eq!(self::printed(&desk.home, &desk.folder, call), "");
}

/// What the hook prints for a tool call.
fn printed(home: &Home, folder: &std::path::Path, mut call: Value) -> String {
    call["session_id"] = json!("s1");
    call["hook_event_name"] = json!("PreToolUse");
    call["cwd"] = json!(folder);
    let mut hook = home.command(&["notify"]);
    hook.env("CLAUDE_CODE_ENTRYPOINT", "cli");
    let out = headspace_test_support::run(hook, call.to_string());
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}
