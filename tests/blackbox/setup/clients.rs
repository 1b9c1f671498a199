//! Coding agents other than Claude Code: installed, heard, told apart.

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
    assert_eq!((waits("codex"), waits("nobody")), ("*1\n".to_owned(), "-0\n".to_owned()));
    let events = |client: &str| home.ok(&["events", "--client", client]).lines().count();
    assert_eq!((events("codex"), events("claude"), events("nobody")), (1, 1, 0));
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
    let home = Home::new();
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

#[test]
fn doctor_says_that_codex_has_to_be_told_to_trust() {
    let home = Home::new();
    home.write(".codex/config.toml", "model = \"m\"\n");
    home.ok(&["install", "--client", "codex"]);
    let told = |home: &Home| String::from_utf8(home.run(&["doctor"]).stdout).unwrap();
    assert!(told(&home).contains("not yet trusted"), "{}", told(&home));
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
    assert!(!told(&home).contains("not yet trusted"), "{}", told(&home));
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
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let later = i64::try_from(now).unwrap() - recorded + 3000;
    for table in ["message", "part", "event"] {
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut select = client.prepare(&format!("SELECT id, data FROM {table}")).unwrap();
        let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.extend(found.map(Result::unwrap));
        for (id, data) in rows {
            let mut moved = String::new();
            for piece in data.split_inclusive(|sign: char| !sign.is_ascii_digit()) {
                let digits = piece.trim_end_matches(|sign: char| !sign.is_ascii_digit());
                let is_time = digits.len() == 13 && digits.starts_with("1794");
                let time = digits.parse::<i64>().map(|time| (time + later).to_string());
                moved += &if is_time { piece.replace(digits, &time.unwrap()) } else { piece.to_owned() };
            }
            client.execute(&format!("UPDATE {table} SET data = ?2 WHERE id = ?1"), [id, moved]).unwrap();
        }
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
