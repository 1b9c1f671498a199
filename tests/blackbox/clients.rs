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

/// The installed plugin, loaded the way opencode loads it: recorded events, and a process that ends at once.
#[test]
fn the_plugin_loses_nothing_when_its_process_ends_at_once() {
    let home = Installation::new(json!({}));
    if run(home.command_of("node", &["--version"]), "").status.code() != Some(0) {
        return skip("node is not there to load the plugin");
    }
    home.write(".config/opencode/opencode.json", "{}");
    home.ok(&["install", "--client", "opencode"]);
    std::fs::copy(home.at(".config/opencode/plugins/headspace.js"), home.at("plugin.mjs")).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients/opencode");
    home.write(
        "play.mjs",
        format!(
            r#"import {{ readFileSync }} from "node:fs"
import {{ Headspace }} from "./plugin.mjs"
const hooks = await Headspace({{ directory: "/tmp" }})
const read = (name) => JSON.parse(readFileSync("{}/" + name + ".json", "utf8"))
for (const name of ["event_session.created.p_bash", "chat.message.p_bash", "tool.execute.before.p_bash", "tool.execute.after.p_bash", "event_session.idle.p_bash"]) {{
  const {{ hook_event_name: kind, input, output }} = read(name)
  if (kind.startsWith("event:")) await hooks.event({{ event: {{ type: kind.slice(6), properties: input }} }})
  else await hooks[kind](input, output)
  await new Promise((done) => setTimeout(done, 150))
}}
process.kill(process.pid, "SIGKILL")
"#,
            fixtures.display(),
        ),
    );
    let out = run(home.command_of("node", &[home.at("play.mjs").to_str().unwrap()]), "");
    assert!(out.stdout.is_empty() && out.stderr.is_empty(), "{out:?}");
    let all = || home.json(&["status", "--all"])["agents"].as_array().unwrap().clone();
    wait_for("the end of the turn", || {
        all().first().is_some_and(|agent| agent["unseen"] == true).then_some(())
    });
    let agents = all();
    assert_eq!((agents.len(), &agents[0]["client"]), (1, &json!("opencode")));
}
