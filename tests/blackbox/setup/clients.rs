//! Coding agents other than Claude Code: installed, heard, told apart.

use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_test_support::{Home, Installation, each_row, run, skip, wait_for};
use serde_json::{Value, json};
use std::path::Path;

/// Every client whose file install writes: its name, a file that makes it be found, and the file it gets.
const CLIENTS: [(&str, &str, &str); 5] = [
    ("codex", ".codex/config.toml", ".codex/hooks.json"),
    ("copilot", ".copilot/config.json", ".copilot/hooks/headspace.json"),
    ("qwen", ".qwen/.keep", ".qwen/settings.json"),
    ("gemini", ".gemini/.keep", ".gemini/settings.json"),
    ("opencode", ".config/opencode/opencode.json", ".config/opencode/plugins/headspace.js"),
];

fn read(home: &Home, file: &str) -> Option<String> {
    std::fs::read_to_string(home.at(file)).ok()
}

#[test]
fn install_takes_every_client_that_is_there_and_uninstall_gives_everything_back() {
    let home = Home::new();
    for (_, marker, _) in CLIENTS {
        home.write(marker, "");
    }
    home.write(".gemini/settings.json", "{\n  // mine\n  \"ui\": {\"theme\": \"x\"}\n}\n");
    let before = read(&home, ".gemini/settings.json");
    home.ok(&["install"]);
    each_row(
        CLIENTS,
        |(name, ..)| (*name).to_owned(),
        |(name, _, file)| {
            let text = read(&home, file).unwrap_or_default();
            assert!(text.contains(name) && text.contains("notify"), "{text}");
        },
    );
    assert!(read(&home, ".gemini/settings.json").is_some_and(|text| text.contains("// mine")));
    home.ok(&["install"]);
    home.ok(&["uninstall"]);
    assert_eq!(read(&home, ".gemini/settings.json"), before);
    each_row(
        CLIENTS,
        |(name, ..)| (*name).to_owned(),
        |(name, _, file)| {
            assert!(name == "gemini" || !home.at(file).exists(), "{file} is still there");
        },
    );
}

#[test]
fn a_file_that_cannot_be_changed_does_not_keep_the_others() {
    let home = Home::new();
    home.write(".claude/settings.json", "{}\n");
    home.write(".gemini/settings.json", "{}\n");
    home.write(".codex/hooks.json", "{}\n");
    home.ok(&["install"]);
    home.write(".codex/hooks.json", "[]\n");
    for command in ["install", "uninstall"] {
        let refused = home.run(&[command]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(1) && said.contains(".codex/hooks.json:1:1"), "{said}");
    }
    for (file, text) in
        [(".claude/settings.json", "{}\n"), (".gemini/settings.json", "{}\n"), (".codex/hooks.json", "[]\n")]
    {
        assert_eq!(read(&home, file).as_deref(), Some(text), "{file}");
    }
}

#[test]
fn one_client_can_be_named_and_the_rest_is_left_alone() {
    let home = Home::new();
    for (_, marker, _) in CLIENTS {
        home.write(marker, "");
    }
    home.ok(&["install", "--client", "codex"]);
    let there: Vec<&str> =
        CLIENTS.iter().filter(|(_, _, file)| home.at(file).exists()).map(|(name, ..)| *name).collect();
    assert_eq!(there, ["codex"]);
    assert!(!home.at(".claude/settings.json").exists());
    let listed = home.json(&["install", "--list"]);
    let state = |name: &str| {
        let clients = listed["clients"].as_array().unwrap();
        clients.iter().find(|client| client["name"] == name).map(|client| client["installed"].clone())
    };
    assert_eq!((state("codex"), state("gemini")), (Some(json!(true)), Some(json!(false))));
}

#[test]
fn dry_run_shows_every_file_and_changes_none() {
    let home = Home::new();
    for (_, marker, _) in CLIENTS {
        home.write(marker, "");
    }
    let shown = home.ok(&["install", "--dry-run"]);
    each_row(
        CLIENTS,
        |(name, ..)| (*name).to_owned(),
        |(_, _, file)| {
            assert!(shown.contains(file), "{file} is not in\n{shown}");
            assert!(!home.at(file).exists());
        },
    );
}

#[test]
fn a_bad_file_is_refused_and_left_as_it_is() {
    let home = Home::new();
    home.write(".qwen/settings.json", "{\"hooks\": {");
    home.write(".codex/config.toml", "");
    let refused = home.run(&["install", "--client", "qwen"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(read(&home, ".qwen/settings.json").as_deref(), Some("{\"hooks\": {"));
    // Nobody asked for Qwen by name: the others get their hooks, and the exit code says that something was wrong.
    let all = home.run(&["install"]);
    assert_eq!(all.status.code(), Some(1));
    assert!(home.at(".codex/hooks.json").exists() && home.at(".claude/settings.json").exists());
}

#[test]
fn a_bad_file_of_claudes_does_not_keep_the_others_from_their_hooks() {
    let home = Home::new();
    home.write(".claude/settings.json", "{\"hooks\": {");
    home.write(".codex/config.toml", "");
    let all = home.run(&["install"]);
    assert_eq!(all.status.code(), Some(1));
    let told = String::from_utf8(all.stderr).unwrap();
    assert!(told.starts_with("headspace: could not change") && told.lines().count() == 1, "{told}");
    assert_eq!(read(&home, ".claude/settings.json").as_deref(), Some("{\"hooks\": {"));
    assert!(read(&home, ".codex/hooks.json").is_some_and(|text| text.contains("notify")));
}

/// What a file of the user's can look like; none of its bytes may be lost.
const USERS_FILES: [(&str, &str); 11] = [
    ("empty", ""),
    ("blank", "  \n\n"),
    ("an object", "{}"),
    ("on one line", r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine","timeout":3}]}]}}"#),
    ("other keys", "{\n  \"ui\": {\"theme\": \"x\"},\n  \"hooks\": {}\n}\n"),
    ("empty lists", r#"{"hooks":{"Stop":[],"BeforeTool":[],"SessionStart":[]}}"#),
    ("tabs", "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": []}\n\t\t]\n\t}\n}"),
    (
        "CRLF",
        "{\r\n  \"hooks\": {\r\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]\r\n  }\r\n}\r\n",
    ),
    ("a BOM", "\u{feff}{\"a\": 1}\n"),
    ("a BOM and CRLF", "\u{feff}{\r\n  \"a\": 1\r\n}\r\n"),
    ("comments", "{\n  // mine\n  \"hooks\": { /* x */ \"Stop\": [ {\"hooks\": [ ],}, ], },\n}\n"),
];

/// Not a settings file, whatever it is.
const BAD_FILES: [(&str, &[u8]); 8] = [
    ("cut off", br#"{"hooks": {"#),
    ("a list", b"[]"),
    ("hooks that are a list", br#"{"hooks": []}"#),
    ("an event that is none", br#"{"hooks": {"Stop": {}, "BeforeTool": {}}}"#),
    ("a key twice", br#"{"hooks": {}, "hooks": {}}"#),
    ("not UTF-8", b"{\"a\": \"\xff\xfe\"}"),
    ("words", b"hello"),
    ("zeros", b"\0\0\0"),
];

/// The clients whose file is the user's; the others get a file of our own.
const SHARED_FILES: [(&str, &str); 3] =
    [("codex", ".codex/hooks.json"), ("qwen", ".qwen/settings.json"), ("gemini", ".gemini/settings.json")];

#[test]
fn every_clients_file_gets_its_bytes_back() {
    let rows = SHARED_FILES.iter().flat_map(|client| USERS_FILES.iter().map(move |users| (*client, *users)));
    each_row(
        rows.collect::<Vec<_>>(),
        |((client, _), (what, _))| format!("{client}: {what}"),
        |((client, file), (_, text))| {
            for linked in [false, true] {
                let home = Home::new();
                // Some people keep such files elsewhere and link to them.
                let place = if linked { "dotfiles/it.json" } else { file };
                home.write(place, text);
                if linked {
                    std::fs::create_dir_all(home.at(file).parent().unwrap()).unwrap();
                    std::os::unix::fs::symlink(home.at(place), home.at(file)).unwrap();
                }
                home.ok(&["install", "--client", client]);
                let installed = read(&home, file).unwrap();
                assert!(installed.contains("notify --client"), "{installed}");
                home.ok(&["install", "--client", client]);
                assert_eq!(read(&home, file).unwrap(), installed, "the second time changes nothing");
                home.ok(&["uninstall", "--client", client]);
                assert_eq!(read(&home, file).as_deref(), Some(text));
                assert_eq!(home.at(file).is_symlink(), linked);
            }
        },
    );
}

#[test]
fn a_file_that_is_none_is_refused_and_untouched_for_every_client() {
    let shared = SHARED_FILES.iter().flat_map(|client| BAD_FILES.iter().map(move |bad| (*client, *bad)));
    // A file of our name that somebody else wrote is theirs.
    let own = [CLIENTS[1], CLIENTS[4]].into_iter().flat_map(|(client, _, file)| {
        let theirs: [(&str, &[u8]); 3] = [
            ("nothing", b""),
            ("another plugin", b"export const Mine = 1\n"),
            ("an object", b"{\"version\": 1}"),
        ];
        theirs.map(|one| ((client, file), one))
    });
    each_row(
        shared.chain(own).collect::<Vec<_>>(),
        |((client, _), (what, _))| format!("{client}: {what}"),
        |((client, file), (_, bytes))| {
            let home = Home::new();
            home.write(file, "");
            std::fs::write(home.at(file), bytes).unwrap();
            let refused = home.run(&["install", "--client", client]);
            assert_eq!(refused.status.code(), Some(1), "{refused:?}");
            let said = String::from_utf8_lossy(&refused.stderr);
            assert!(said.contains("could not ") && said.contains(file), "{said}");
            assert_eq!(std::fs::read(home.at(file)).unwrap(), *bytes);
            home.run(&["uninstall", "--client", client]);
            assert_eq!(std::fs::read(home.at(file)).unwrap(), *bytes, "after uninstall");
        },
    );
}

#[test]
fn a_slip_in_a_clients_name_is_told_the_name() {
    let home = Home::new();
    each_row(
        [
            ("codx", "codex"),
            ("copilt", "copilot"),
            ("qwen-code", "qwen"),
            ("gemin", "gemini"),
            ("open-code", "opencode"),
        ],
        |(slip, _)| (*slip).to_owned(),
        |(slip, meant)| {
            for command in ["install", "uninstall"] {
                let refused = home.run(&[command, "--client", slip]);
                assert_eq!(refused.status.code(), Some(2));
                let said = String::from_utf8_lossy(&refused.stderr);
                assert!(said.contains(&format!("'{meant}'")), "{said}");
            }
        },
    );
}

fn agents(home: &Installation) -> Vec<Value> {
    home.json(&["status"])["agents"].as_array().unwrap().clone()
}

fn tell(home: &Installation, client: &str, payload: &Value) {
    let out = home.run_with(&["notify", "--client", client], payload.to_string());
    assert!(out.status.success() && out.stdout.is_empty(), "{out:?}");
}

#[test]
fn a_client_is_what_its_flag_says_and_is_shown_and_filtered_by() {
    let home = Installation::new(json!({}));
    let say = |client: &str, session: &str| {
        tell(
            &home,
            client,
            &json!({"session_id": session, "cwd": "/tmp", "hook_event_name": "UserPromptSubmit", "prompt": "go"}),
        );
    };
    say("codex", "c1");
    say("zebra", "z1");
    home.send("UserPromptSubmit", "s1", Path::new("/tmp"), json!({"prompt": "go"}));
    let mut clients: Vec<String> =
        agents(&home).iter().map(|agent| agent["client"].as_str().unwrap().to_owned()).collect();
    clients.sort();
    assert_eq!(clients, ["claude", "codex", "zebra"]);
    let shown = home.ok(&["status", "--client", "codex"]);
    assert!(shown.contains("⬡ codex") && !shown.contains("zebra"), "{shown}");
    let waits = |client: &str| home.ok(&["status", "--client", client, "--short"]);
    assert_eq!((waits("codex"), waits("gemini")), ("*1\n".to_owned(), "-0\n".to_owned()));
    tell(
        &home,
        "zebra",
        &json!({"session_id": "z1", "cwd": "/tmp", "hook_event_name": "SessionEnd", "reason": "other"}),
    );
    assert_eq!(waits("zebra"), "-0\n", "a client of one's own is known by its agents, ended ones too");
    let events = |client: &str| home.ok(&["events", "--client", client]).lines().count();
    assert_eq!((events("codex"), events("claude"), events("zebra")), (1, 1, 2));
    assert!(home.ok(&["events", "--client", "codex"]).contains("⬡ "));
}

#[test]
fn the_environment_tells_a_foreign_caller_of_claudes_hook_unless_the_payload_knows_better() {
    let home = Installation::new(json!({}));
    let payload = |session: &str, transcript: Value| {
        json!({"session_id": session, "cwd": "/tmp", "hook_event_name": "SessionStart", "source": "new",
               "transcript_path": transcript})
    };
    let claudes = home.at(".claude/projects/-tmp/s2.jsonl");
    for (session, transcript) in [("s1", Value::Null), ("s2", json!(claudes))] {
        let mut command = home.command(&["notify"]);
        command.env("COPILOT_CLI", "1");
        assert!(run(command, payload(session, transcript).to_string()).status.success());
    }
    let agents = agents(&home);
    let client = |session: &str| {
        let agent = agents.iter().find(|agent| agent["session_id"] == session).unwrap();
        agent["client"].as_str().unwrap().to_owned()
    };
    assert_eq!((client("s1").as_str(), client("s2").as_str()), ("copilot", "claude"));
}

#[test]
fn a_failed_turn_of_codex_is_found_in_its_rollout() {
    let home = Installation::new(json!({}));
    let rollout = home.at(".codex/sessions/2026/11/16/rollout-2026-11-16T14-58-12-c1.jsonl");
    let base = json!({"session_id": "c1", "cwd": "/tmp", "transcript_path": rollout, "turn_id": "t1"});
    let mut prompt = base.clone();
    (prompt["hook_event_name"], prompt["prompt"]) = (json!("UserPromptSubmit"), json!("go"));
    home.write(&rollout, "");
    tell(&home, "codex", &prompt);
    let ended = format!(
        "{{\"timestamp\":\"{}\",\"ordinal\":9,\"type\":\"event_msg\",\"payload\":{{\"type\":\"task_complete\",\
         \"turn_id\":\"t1\",\"last_agent_message\":null,\"error\":{{\"message\":\"high demand\"}}}}}}\n",
        agents(&home)[0]["last_active_at"].as_str().unwrap(),
    );
    home.write(&rollout, ended);
    wait_for("the error", || (agents(&home)[0]["error"] == "high demand").then_some(()));
    assert_eq!(agents(&home)[0]["status"], "idle");
}

#[test]
fn the_guard_answers_each_client_in_its_form() {
    let mut home = Home::new();
    // A busy machine may be too slow for the guard's time limit.
    home.set("HEADSPACE_GUARD_UNHURRIED", "1");
    let payload = |tool: &str| {
        json!({"session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse", "tool_name": tool,
               "tool_input": {"command": "rm -rf /"}})
        .to_string()
    };
    let said = |client: &str, tool: &str| -> Value {
        let out = home.run_with(&["guard", "hook", "--client", client], payload(tool));
        serde_json::from_slice(&out.stdout).unwrap_or(Value::Null)
    };
    assert_eq!(said("codex", "Bash")["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(said("qwen", "run_shell_command")["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(said("copilot", "Bash")["permissionDecision"], "deny");
    assert_eq!(said("gemini", "run_shell_command"), Value::Null, "it honors no decision");
}

/// Codex edits files by patches, as a tool of their own or as a command.
#[test]
fn the_guard_judges_a_patch_by_the_files_it_names() {
    let mut home = Home::new();
    // A busy machine may be too slow for the guard's time limit.
    home.set("HEADSPACE_GUARD_UNHURRIED", "1");
    each_row(
        [
            ("src/new.txt", Value::Null),
            ("notes.md\n*** Delete File: old.md", Value::Null),
            // Not below the test's own home, which is a temporary directory.
            ("/home/dev/.ssh/authorized_keys", json!("deny")),
            ("src/new.txt\n+x\n*** Update File: /etc/hosts", json!("deny")),
        ],
        |(files, _)| (*files).to_owned(),
        |(files, expected)| {
            let patch = format!("*** Begin Patch\n*** Add File: {files}\n+hello\n*** End Patch\n");
            for (tool, command) in
                [("apply_patch", patch.clone()), ("Bash", format!("apply_patch <<'EOF'\n{patch}EOF\n"))]
            {
                let payload = json!({"session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse",
                                     "tool_name": tool, "tool_input": {"command": command}});
                let out = home.run_with(&["guard", "hook", "--client", "codex"], payload.to_string());
                let said: Value = serde_json::from_slice(&out.stdout).unwrap_or(Value::Null);
                assert_eq!(said["hookSpecificOutput"]["permissionDecision"], expected, "{tool}: {said}");
            }
        },
    );
}

#[test]
fn doctor_says_that_codex_has_to_be_told_to_trust() {
    let home = Home::new();
    home.write(".codex/config.toml", "model = \"m\"\n");
    home.ok(&["install", "--client", "codex"]);
    let told = |home: &Home| String::from_utf8(home.run(&["doctor"]).stdout).unwrap();
    assert!(told(&home).contains("not trusted yet"), "{}", told(&home));
    let hooks: Value = serde_json::from_str(&read(&home, ".codex/hooks.json").unwrap()).unwrap();
    let file = home.at(".codex/hooks.json");
    let consent: String = hooks["hooks"]
        .as_object()
        .unwrap()
        .keys()
        .map(|event| {
            let mut name = String::new();
            for (i, letter) in event.chars().enumerate() {
                if letter.is_ascii_uppercase() && i > 0 {
                    name.push('_');
                }
                name.push(letter.to_ascii_lowercase());
            }
            format!("[hooks.state.\"{}:{name}:0:0\"]\ntrusted_hash = \"sha256:0\"\n", file.display())
        })
        .collect();
    home.write(".codex/config.toml", consent);
    assert!(!told(&home).contains("not trusted yet"), "{}", told(&home));
}

#[test]
fn hooks_validate_knows_the_units_and_keys_of_another_client() {
    let home = Home::new();
    home.write(
        ".gemini/settings.json",
        "{\n  // mine\n  \"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\", \"timeout\": 10}]}]}\n}\n",
    );
    let told = home.json(&["hooks", "validate", "--client", "gemini"]);
    assert_eq!((&told["hooks"], &told["problems"][0]["level"]), (&json!(1), &json!("warning")), "{told}");
    assert_eq!(told["problems"][0]["line"], 3);
    home.write(".codex/hooks.json", "{\"hooks\": {}, \"model\": 1}");
    assert_eq!(home.run(&["hooks", "validate", "--client", "codex"]).status.code(), Some(1));
    home.write(".codex/hooks.json", "{}");
    home.ok(&["install", "--client", "codex"]);
    assert_eq!(home.run(&["hooks", "validate", "--client", "codex"]).status.code(), Some(0));
    assert!(home.ok(&["hooks", "list", "--client", "codex"]).contains("Interrupt"));
}

/// Codex says nothing about a question of its plan mode but that the tool begins, and in the other modes it fails at once.
#[test]
fn a_question_of_codex_waits_until_its_rollout_or_its_hook_ends_it() {
    let home = Installation::new(json!({}));
    const ROLLOUT: &str = ".codex/sessions/rollout-2026-11-17T20-57-12-c1.jsonl";
    let rollout = home.write(ROLLOUT, "");
    let say = |event: &str, fields: Value| {
        let mut body =
            json!({"session_id": "c1", "cwd": "/tmp", "hook_event_name": event, "transcript_path": rollout});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        tell(&home, "codex", &body);
    };
    let status = || agents(&home)[0]["status"].clone();
    let begin = |id: &str| {
        let input =
            json!({"questions": [{"id": "q", "question": "Which one?", "options": [{"label": "A"}]}]});
        say("PreToolUse", json!({"tool_name": "request_user_input", "tool_use_id": id, "tool_input": input}));
    };
    let ask = |id: &str| {
        begin(id);
        assert_eq!(
            (status(), &agents(&home)[0]["interactions"][0]["text"]),
            (json!("attention"), &json!("Which one?\n- A"))
        );
    };
    say("UserPromptSubmit", json!({"prompt": "plan it"}));
    begin("call_0");
    assert_eq!(status(), "working", "no dialog without plan mode");
    let plan = r#"{"ordinal":5,"type":"turn_context","payload":{"collaboration_mode":{"mode":"plan","settings":{}}}}"#;
    home.write(ROLLOUT, format!("{plan}\n"));
    ask("call_1");
    say(
        "PostToolUse",
        json!({"tool_name": "request_user_input", "tool_use_id": "call_1", "tool_response": "{}"}),
    );
    assert_eq!(status(), "working");
    ask("call_2");
    home.write(
        ROLLOUT,
        format!(
            "{plan}\n{}\n",
            json!({"timestamp": agents(&home)[0]["last_active_at"], "ordinal": 9, "type": "response_item",
                   "payload": {"type": "function_call_output", "call_id": "call_2", "output": "unavailable"}})
        ),
    );
    wait_for("the question to be gone", || (status() == "working").then_some(()));
}

/// A plugin is a program; an old one, or one of somebody else's, is told from ours.
/// Copilot refuses a question in a form that it does not show: then there is nothing to answer.
#[test]
fn a_question_that_copilot_could_not_show_waits_for_nobody() {
    let home = Installation::new(json!({}));
    let input = json!({"question": "Which?", "choices": ["A", "B"]});
    let say = |event: &str, more: Value| {
        let mut payload = json!({"session_id": "c1", "cwd": "/tmp", "hook_event_name": event});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tell(&home, "copilot", &payload);
    };
    say("UserPromptSubmit", json!({"prompt": "go"}));
    say("PreToolUse", json!({"tool_name": "AskUserQuestion", "tool_input": input}));
    assert_eq!(agents(&home)[0]["status"], "attention");
    say(
        "PostToolUseFailure",
        json!({"tool_name": "AskUserQuestion", "tool_input": input, "error": "another form"}),
    );
    let agent = &agents(&home)[0];
    assert_eq!((&agent["status"], &agent["interactions"]), (&json!("working"), &json!([])));
}

/// On Esc before the first word, Copilot rewrites its file without the prompt and says nothing else.
#[test]
fn a_prompt_that_copilot_takes_back_ends_the_turn() {
    const SESSION: &str = "fe7679b5-0000-4000-8000-000000000000";
    let home = Installation::new(json!({}));
    let file = format!(".copilot/session-state/{SESSION}/events.jsonl");
    let now = || Stamp::now().to_string();
    let line = |kind: &str, data: Value| {
        format!("{}\n", json!({"type": kind, "data": data, "id": kind, "timestamp": now()}))
    };
    let start = line("session.start", json!({"sessionId": SESSION}));
    home.write(&file, &start);
    tell(
        &home,
        "copilot",
        &json!({"session_id": SESSION, "cwd": "/tmp", "hook_event_name": "UserPromptSubmit", "prompt": "go"}),
    );
    home.write(&file, format!("{start}{}", line("user.message", json!({"content": "go"}))));
    assert_eq!(agents(&home)[0]["status"], "working");
    let taken_back =
        json!({"promptCacheBreakState": [{"conversation": "main", "pendingRewriteSources": ["rewind"]}]});
    home.write("rewound", format!("{start}{}", line("session.usage_checkpoint", taken_back)));
    std::fs::rename(home.at("rewound"), home.at(&file)).unwrap();
    let agent =
        wait_for("the end of the turn", || agents(&home).into_iter().find(|one| one["status"] == "idle"));
    assert_eq!((&agent["status_detail"], &agent["error"]), (&json!("interrupted"), &Value::Null));
}

#[test]
fn hooks_and_doctor_know_what_the_plugin_does_and_whether_it_is_current() {
    let home = Home::new();
    home.write(".config/opencode/opencode.json", "{}");
    home.ok(&["install", "--client", "opencode"]);
    assert!(home.ok(&["hooks", "list", "--client", "opencode"]).contains("PermissionAsked"));
    assert_eq!(home.json(&["hooks", "validate", "--client", "opencode"])["problems"], json!([]));
    let file = ".config/opencode/plugins/headspace.js";
    let plugin = read(&home, file).unwrap();
    let doctor = || String::from_utf8(home.run(&["doctor"]).stdout).unwrap();
    assert!(doctor().contains("no event yet"), "{}", doctor());
    home.write(file, plugin.replace("MOST_AT_ONCE = 16", "MOST_AT_ONCE = 1"));
    assert!(doctor().contains("not the plugin of this version"), "{}", doctor());
    home.ok(&["install", "--client", "opencode"]);
    assert_eq!(read(&home, file), Some(plugin));
}

/// Installs the plugin and runs `script` in node, with the plugin's hooks as `hooks`; `false` without node.
fn with_plugin(home: &Home, script: &str) -> bool {
    if run(home.command_of("node", &["--version"]), "").status.code() != Some(0) {
        skip("node is not there to load the plugin");
        return false;
    }
    home.write(".config/opencode/opencode.json", "{}");
    home.ok(&["install", "--client", "opencode"]);
    std::fs::copy(home.at(".config/opencode/plugins/headspace.js"), home.at("plugin.mjs")).unwrap();
    let load = r#"import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { Headspace } from "./plugin.mjs"
const hooks = await Headspace({ directory: "/tmp" })
const bus = (type, properties) => hooks.event({ event: { type, properties } })
const begin = (id) => bus("session.created", { info: { id } })
const pause = () => new Promise((done) => setTimeout(done, 20))
"#;
    home.write("play.mjs", format!("{load}{script}"));
    let out = run(home.command_of("node", &[home.at("play.mjs").to_str().unwrap()]), "");
    assert!(out.stdout.is_empty() && out.stderr.is_empty(), "{out:?}");
    true
}

/// A home with a directory for temporary files of its own, and what the plugin has in there.
fn with_temporary_files() -> (Home, impl Fn(&Home) -> usize) {
    let mut home = Home::with_port(json!({}));
    std::fs::create_dir(home.at("tmp")).unwrap();
    home.set("TMPDIR", home.at("tmp"));
    (home, |home| std::fs::read_dir(home.at("tmp")).unwrap().count())
}

/// Recorded events, and a process that ends at once.
#[test]
fn the_plugin_loses_nothing_when_its_process_ends_at_once() {
    let home = Installation::new(json!({}));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients/opencode");
    let script = format!(
        r#"const read = (name) => JSON.parse(readFileSync("{}/" + name + ".json", "utf8"))
for (const name of ["event_session.created.p_bash", "chat.message.p_bash", "tool.execute.before.p_bash", "tool.execute.after.p_bash", "event_session.idle.p_bash"]) {{
  const {{ hook_event_name: kind, input, output }} = read(name)
  if (kind.startsWith("event:")) await bus(kind.slice(6), input)
  else await hooks[kind](input, output)
  await new Promise((done) => setTimeout(done, 150))
}}
process.kill(process.pid, "SIGKILL")
"#,
        fixtures.display(),
    );
    if !with_plugin(&home, &script) {
        return;
    }
    let all = || home.json(&["status", "--all"])["agents"].as_array().unwrap().clone();
    wait_for("the end of the turn", || {
        all().first().is_some_and(|agent| agent["unseen"] == true).then_some(())
    });
    let agents = all();
    assert_eq!((agents.len(), &agents[0]["client"]), (1, &json!("opencode")));
}

/// A burst without a server, and a process that is killed right after it.
#[test]
fn the_plugin_keeps_a_burst_whatever_becomes_of_its_process() {
    const EVENTS: usize = 200;
    let (home, left) = with_temporary_files();
    let script = format!(
        r#"for (let one = 0; one < {EVENTS}; one++) await begin("s" + one)
process.kill(process.pid, "SIGKILL")
"#
    );
    if !with_plugin(&home, &script) {
        return;
    }
    wait_for("all of them in the spool", || (home.spooled().len() >= EVENTS).then_some(()));
    wait_for("nothing left behind", || (left(&home) == 0).then_some(()));
    let sessions: std::collections::HashSet<String> =
        home.spooled().iter().map(|(_, body)| body["session_id"].to_string()).collect();
    assert_eq!((home.spooled().len(), sessions.len()), (EVENTS, EVENTS), "each of them once");
}

/// No place for a file, and bus events of shapes nobody has seen: opencode must not notice.
#[test]
fn the_plugin_is_silent_whatever_goes_wrong() {
    let (mut home, _) = with_temporary_files();
    home.write("no-directory", "");
    home.set("TMPDIR", home.at("no-directory"));
    let script = r#"for (const type of ["session.created", "session.idle", "session.status", "session.error", "session.updated", "session.deleted",
    "message.updated", "permission.asked", "permission.replied", "question.asked", "session.compacted", "of.tomorrow"]) {
  for (const properties of [undefined, null, 7, "x", [], {}, { info: null }, { info: { id: 7 } }, { sessionID: null },
      { sessionID: "s", status: null, error: 7, info: { id: "s", title: 7, role: "assistant", sessionID: "s", tokens: 7 } }]) {
    await bus(type, properties)
  }
}
await hooks.event(undefined)
for (const name of Object.keys(hooks)) for (const input of [undefined, null, {}, { sessionID: {} }, { sessionID: "s" }]) {
  await hooks[name](input)
  await hooks[name](input, { parts: 7, args: 7n, message: null, text: 7 })
}
"#;
    with_plugin(&home, script);
}

/// opencode tries a failed request again and again; Esc in between ends the turn without an error.
#[test]
fn esc_between_two_attempts_of_opencode_is_an_interrupt() {
    let home = Installation::new(json!({}));
    let script = r#"await begin("s1")
await hooks["chat.message"]({ sessionID: "s1" }, { parts: [{ type: "text", text: "go" }] })
await bus("message.updated", { info: { role: "assistant", sessionID: "s1" } })
await bus("session.status", { sessionID: "s1", status: { type: "retry", attempt: 1, message: "boom" } })
await bus("session.status", { sessionID: "s1", status: { type: "idle" } })
await bus("session.idle", { sessionID: "s1" })
"#;
    if !with_plugin(&home, script) {
        return;
    }
    let all = || home.json(&["status", "--all"])["agents"].as_array().unwrap().clone();
    let heard = || home.ok(&["events", "--client", "opencode"]);
    let events = wait_for("the interrupt", || Some(heard()).filter(|events| events.contains("Interrupt")));
    assert!(!events.contains("Stop"), "{events}");
    assert_eq!((all().len(), &all()[0]["error"]), (1, &Value::Null));
}

/// The program is away when the events come, as in an upgrade, and comes back or not.
#[test]
fn the_plugin_waits_for_its_program_and_cleans_up_if_it_is_gone_for_good() {
    let (home, left) = with_temporary_files();
    let away = r#"import { renameSync } from "node:fs"
const [program] = JSON.parse(readFileSync("./plugin.mjs", "utf8").match(/^const COMMAND = (.*)$/m)[1])
const kept = () => readdirSync("tmp").length
"#;
    // The command of the installed plugin is the test's own program: it is renamed in a copy.
    let copy = home.at("bin/headspace");
    std::fs::create_dir_all(home.at("bin")).unwrap();
    std::fs::copy(headspace_test_support::binary(), &copy).unwrap();
    let hide = format!(
        r#"const source = readFileSync("./plugin.mjs", "utf8").replaceAll(program, {copy:?})
writeFileSync("./moved.mjs", source)
renameSync({copy:?}, {copy:?} + ".away")
const moved = await (await import("./moved.mjs")).Headspace({{ directory: "/tmp" }})
for (let one = 0; one < 20; one++) await moved.event({{ event: {{ type: "session.created", properties: {{ info: {{ id: "s" + one }} }} }} }})
while (!kept()) await pause()
"#
    );
    if !with_plugin(&home, &format!("{away}{hide}")) {
        return;
    }
    assert_eq!((left(&home), home.spooled().len()), (0, 0), "gone for good");
    std::fs::rename(home.at("bin/headspace.away"), &copy).unwrap();
    let back = format!("renameSync({copy:?} + \".away\", {copy:?})\nwhile (kept()) await pause()\n");
    with_plugin(&home, &format!("{away}{hide}{back}"));
    wait_for("all of them in the spool", || (home.spooled().len() == 20).then_some(()));
}

/// Moves every time in a table's data that is within a day of `around`, in milliseconds.
fn move_times(client: &rusqlite::Connection, table: &str, around: i64, by: i64) {
    let mut select = client.prepare(&format!("SELECT id, data FROM {table}")).unwrap();
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<(String, String)> = found.map(Result::unwrap).collect();
    for (id, data) in rows {
        let mut moved = String::new();
        for piece in data.split_inclusive(|sign: char| !sign.is_ascii_digit()) {
            let digits = piece.trim_end_matches(|sign: char| !sign.is_ascii_digit());
            let time = digits.parse::<i64>().ok().filter(|time| (time - around).abs() < 86_400_000);
            moved += &time.map_or(piece.to_owned(), |time| piece.replace(digits, &(time + by).to_string()));
        }
        client.execute(&format!("UPDATE {table} SET data = ?2 WHERE id = ?1"), [id, moved]).unwrap();
    }
}

/// The plugin passed on a prompt and nothing after it; the rest is in opencode's database.
#[test]
fn what_the_plugin_missed_is_found_in_opencodes_database() {
    const SESSION: &str = "ses_e14dfe84effehr9Fz5NfJH8Z0r";
    let home = Installation::new(json!({}));
    let path = home.write(".local/share/opencode/opencode.db", "");
    let client = rusqlite::Connection::open(&path).unwrap();
    client.execute_batch(include_str!("../../fixtures/clients/opencode/opencode.sql")).unwrap();
    // Recorded long ago: an answer that comes now is of now.
    let recorded: i64 = client
        .query_row("SELECT max(time_updated) FROM message WHERE session_id = ?1", [SESSION], |row| row.get(0))
        .unwrap();
    let now = || Stamp::now().0 / 1_000_000;
    for table in ["message", "part", "event"] {
        move_times(&client, table, recorded, now() - recorded);
    }
    // The last turn begins; what follows its prompt is written later.
    let prompt_at = 20;
    client
        .execute_batch(&format!(
            "CREATE TABLE later AS SELECT * FROM event WHERE aggregate_id = '{SESSION}' AND seq > {prompt_at};
             DELETE FROM event WHERE aggregate_id = '{SESSION}' AND seq > {prompt_at}"
        ))
        .unwrap();
    tell(
        &home,
        "opencode",
        &json!({"hook_event_name": "ChatMessage", "session_id": SESSION, "cwd": "/tmp", "entrypoint": "cli",
                "transcript_path": path, "prompt": "SCENARIO:ok", "prompt_id": "msg_1eb2095af001qUvBxpIEVOz40V"}),
    );
    assert_eq!(agents(&home)[0]["status"], "working");
    // Whatever the machine was busy with until now: it is newer than the prompt. What seems to come from the future is of now.
    move_times(&client, "later", now(), 3_600_000);
    client.execute_batch("INSERT INTO event SELECT * FROM later").unwrap();
    let agent =
        wait_for("the end of the turn", || agents(&home).into_iter().find(|one| one["status"] == "idle"));
    assert_eq!(
        (&agent["name"], &agent["last_said"], &agent["error"]),
        (&json!("I list."), &json!("All fine."), &Value::Null)
    );
    let agent = wait_for("its tokens", || agents(&home).into_iter().find(|one| one["model"] == "fake-model"));
    assert_eq!(agent["source"], "transcript");
}
