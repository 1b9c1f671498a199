//! Tools that are not the shell, and payloads of every shape.

use super::*;

fn tool(name: &str, input: Value) -> Verdict {
    judge(&json!({"tool_name": name, "tool_input": input, "cwd": "/home/dev/proj"}), &place())
}

fn rows(rows: &[(&str, &str, Value)]) {
    for (expected, name, input) in rows {
        let verdict = tool(name, input.clone());
        assert!(
            expected.split('|').any(|expected| expected == verdict.decision.as_str()),
            "{name} {input}: {verdict:?}, expected {expected}"
        );
    }
}

#[test]
fn file_tools_write() {
    let write = |path: &str| json!({"file_path": path, "content": "sudo rm -rf /"});
    rows(&[
        ("deny", "Write", write("/home/dev/proj/.env")),
        ("deny", "Write", write(".env.production.local")),
        ("allow", "Write", write("/home/dev/proj/.env.example")),
        ("allow", "Write", write("/home/dev/proj/.Env.Production.Template")),
        ("deny", "Write", write("/home/dev/proj/.ENV")),
        ("deny", "Write", write("/home/dev/proj/a/../../.bashrc")),
        ("deny", "Write", write("~/.bashrc")),
        ("deny", "Write", write("src/../.git/config")),
        ("deny", "Write", write("/home/dev/proj/.Git/hooks/pre-commit")),
        ("deny", "Write", write("/home/dev/proj/cfg")),
        ("deny", "Write", write("/home/dev/proj/link-to-etc/hosts")),
        ("deny", "Write", write("/home/dev/proj/deep/a/link2/x")),
        ("deny", "Write", write("//etc//passwd")),
        ("deny", "Write", write("/proc/self/root/etc/passwd")),
        ("deny", "Write", write("C:\\Users\\dev\\.ssh\\id_rsa")),
        ("deny", "Write", write("C:\\Windows\\System32\\drivers\\etc\\hosts")),
        ("deny", "Write", write("/mnt/c/Windows/System32/x")),
        ("deny", "Edit", json!({"file_path": "/etc/hosts", "old_string": "a", "new_string": "b"})),
        ("deny", "MultiEdit", json!({"file_path": "/home/dev/.zshrc", "edits": []})),
        ("deny", "NotebookEdit", json!({"notebook_path": "/home/dev/.ssh/x.ipynb", "new_source": "x"})),
        ("allow", "NotebookEdit", json!({"notebook_path": "notebooks/a.ipynb", "new_source": "!rm -rf /"})),
        ("ask", "Write", write("/home/dev/proj/package-lock.json")),
        ("allow", "Write", write("/home/dev/proj/src/secrets.rs")),
        ("allow", "Write", write("/home/dev/proj/vendor-link/x.c")),
        ("allow", "Write", write("/home/dev/notes.md")),
        ("allow", "Write", write("/home/dev/proj/docs/日本語.md")),
        ("deny", "Write", write("/home/dev/.config/headspace/config.jsonc")),
        ("deny", "Write", write("/home/dev/proj/.claude/settings.local.json")),
        ("allow", "Write", write("/home/dev/proj/.claude/agents/x.md")),
        ("ask", "Write", write("/home/dev/proj/a\u{200b}b")),
        ("ask", "Write", write("/home/dev/proj\u{2215}x")),
        ("ask", "Edit", json!({})),
        ("ask", "Write", json!({"file_path": 7})),
        ("ask", "Write", json!(null)),
        ("ask", "Write", json!([])),
    ]);
}

#[test]
fn file_tools_read() {
    rows(&[
        ("ask", "Read", json!({"file_path": "/home/dev/proj/.env"})),
        ("allow", "Read", json!({"file_path": "/home/dev/proj/.env.example"})),
        ("deny", "Read", json!({"file_path": "/home/dev/.ssh/id_ed25519"})),
        ("allow", "Read", json!({"file_path": "/home/dev/.ssh/id_ed25519.pub"})),
        ("deny", "Read", json!({"file_path": "/etc/shadow"})),
        ("ask", "Read", json!({"file_path": "/home/dev/.aws/credentials"})),
        ("ask", "Read", json!({"file_path": "/home/dev/proj/cfg"})),
        ("allow", "Read", json!({"file_path": "/home/dev/proj/src/secrets.rs"})),
        ("allow", "Read", json!({"file_path": "/home/dev/.bashrc"})),
        ("allow", "Read", json!({"file_path": "/home/dev/proj/.claude/settings.json"})),
        ("ask", "Read", json!({})),
        ("ask", "Grep", json!({"pattern": ".", "path": "/home/dev/.ssh"})),
        ("ask", "Grep", json!({"pattern": ".", "path": "/home/dev/proj/.env"})),
        ("ask", "Grep", json!({"pattern": ".", "glob": ".env*"})),
        ("ask", "Grep", json!({"pattern": ".", "glob": "**/.env"})),
        ("ask", "Grep", json!({"pattern": ".", "glob": "{.env,*.md}"})),
        ("allow", "Grep", json!({"pattern": ".", "glob": ".env.example"})),
        ("allow", "Grep", json!({"pattern": "API_KEY|sudo|rm -rf", "glob": "*.ts"})),
        ("allow", "Grep", json!({"pattern": "rm -rf /"})),
        ("allow", "Glob", json!({"pattern": "**/.env*"})),
        ("allow", "LS", json!({"path": "/home/dev/.ssh"})),
    ]);
}

#[test]
fn other_tools_go_by_their_shape() {
    rows(&[
        ("deny", "mcp__shell__exec", json!({"cmd": "rm -rf /"})),
        ("deny", "mcp__terminal__run", json!({"script": "rm -rf /usr/local"})),
        ("deny", "mcp__x__y", json!({"command": "sudo id"})),
        ("allow", "mcp__x__y", json!({"command": "ls"})),
        ("allow", "mcp__x__y", json!({"command": "view"})),
        ("ask|deny", "mcp__shell__exec", json!({"command": ["rm", "-rf", "/"]})),
        ("ask", "mcp__shell__exec", json!({"command": {"a": 1}})),
        ("allow", "mcp__search__query", json!({"query": "how does sudo rm -rf / work"})),
        ("allow", "WebFetch", json!({"url": "https://x/rm-rf", "prompt": "what is sudo"})),
        ("allow", "Task", json!({"prompt": "run sudo rm -rf /", "description": "x"})),
        ("allow", "TodoWrite", json!({"todos": [{"content": "rm -rf /"}]})),
        ("allow", "TodoWrite", json!(null)),
        ("deny", "mcp__filesystem__write_file", json!({"path": "/home/dev/proj/.env", "content": "x"})),
        ("deny", "mcp__filesystem__edit_file", json!({"path": "/etc/hosts", "edits": []})),
        ("allow", "mcp__filesystem__write_file", json!({"path": "/home/dev/proj/a.txt", "content": ".env"})),
        ("ask", "mcp__filesystem__read_text_file", json!({"path": "/home/dev/proj/.env"})),
        ("ask", "mcp__filesystem__read_multiple_files", json!({"paths": ["a", "/home/dev/proj/.env"]})),
        ("allow", "mcp__filesystem__list_directory", json!({"path": "/home/dev/.ssh"})),
        ("deny", "mcp__filesystem__delete_file", json!({"path": "/home/dev/notes.md"})),
        (
            "deny",
            "mcp__filesystem__move_file",
            json!({"source": "/home/dev/notes.md", "destination": "/tmp/x"}),
        ),
        ("deny", "str_replace_based_edit_tool", json!({"command": "create", "path": "/home/dev/proj/.env"})),
        ("ask", "str_replace_based_edit_tool", json!({"command": "view", "path": "/home/dev/proj/.env"})),
        ("allow", "mcp__browser__evaluate", json!({"script": "() => { return document.title; }"})),
        ("deny", "mcp__ide__executeCode", json!({"code": "import os\nos.system('rm -rf /usr')"})),
        ("allow", "mcp__ide__executeCode", json!({"code": "print('rm -rf /usr')"})),
        ("allow", "mcp__db__query", json!({"sql": "drop table x"})),
    ]);
}

#[test]
fn messages_need_somebody_who_watches() {
    for (mode, expected, name, input) in [
        (Some("background"), "deny", "mcp__life__messages", json!({"operation": "recent"})),
        (Some("interactive"), "allow", "mcp__life__messages", json!({"operation": "recent"})),
        (None, "allow", "mcp__life__messages", json!({"operation": "recent"})),
        (Some("interactive"), "ask", "mcp__apple__mail", json!({"operation": "send", "to": "a@b.c"})),
        (None, "ask", "mcp__apple__mail", json!({"operation": "send", "to": "a@b.c"})),
        (Some("background"), "deny", "mcp__life__email", json!({"operation": "send"})),
        (Some("interactive"), "ask", "mcp__slack__chat_postMessage", json!({"text": "x"})),
        (Some("interactive"), "ask", "mcp__slack__post_message", json!({})),
        (Some("interactive"), "ask", "mcp__gmail__reply_to_email", json!({})),
        (Some("interactive"), "ask", "mcp__x__sms", json!({"action": "schedule_send"})),
        (Some("interactive"), "allow", "mcp__gmail__search_emails", json!({"query": "send"})),
        (Some("interactive"), "allow", "mcp__slack__conversations_history", json!({})),
        (Some("interactive"), "allow", "mcp__mailer__list_templates", json!({})),
        (Some("background"), "allow", "mcp__search__query", json!({"query": "send mail to slack"})),
        (Some("background"), "allow", "mcp__linear__list_teams", json!({})),
        (Some("background"), "allow", "Bash", json!({"command": "echo send mail"})),
        (Some("background"), "allow", "SendMessage", json!({"to": "x"})),
        (
            Some("background"),
            "deny",
            "Bash",
            json!({"command": "osascript -e 'tell application \"Mail\" to send m'"}),
        ),
        (Some("background"), "deny", "Bash", json!({"command": "echo hi | mail -s x a@b.c"})),
    ] {
        let mut place = place();
        place.session_mode = mode.map(str::to_owned);
        let verdict = judge(&json!({"tool_name": name, "tool_input": input}), &place);
        assert_eq!(verdict.decision.as_str(), expected, "{name} {input} {mode:?}");
    }
}

#[test]
fn payloads_of_no_known_shape_are_asked() {
    for payload in [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({"tool_name": 7}),
        json!({"tool_name": "", "tool_input": {}}),
        json!({"tool_name": "Bash"}),
        json!({"tool_name": "Bash", "tool_input": {}}),
        json!({"tool_name": "Bash", "tool_input": {"command": 7}}),
        json!({"tool_name": "Bash", "tool_input": {"command": ["rm", "-rf", "/"]}}),
        json!({"tool_name": "Bash", "tool_input": "ls"}),
    ] {
        assert_eq!(judge(&payload, &place()).decision, Decision::Ask, "{payload}");
    }
}

#[test]
fn the_project_is_the_repository_around_the_directory() {
    let at = |cwd: &str, command: &str| {
        judge(&json!({"tool_name": "Bash", "tool_input": {"command": command}, "cwd": cwd}), &place())
            .decision
    };
    assert_eq!(at("/home/dev/proj/src", "rm -rf ../build"), Decision::Allow);
    assert_eq!(at("/home/dev/proj/src", "rm -rf *"), Decision::Allow);
    assert_eq!(at("/home/dev/proj/src", "rm -rf ../*"), Decision::Ask);
    assert_eq!(at("/home/dev/proj/src", "rm -rf .."), Decision::Deny);
    assert_eq!(at("/home/dev/other-repo", "rm -rf a"), Decision::Allow);
    assert_eq!(at("/home/dev/other-repo", "rm -rf ../notes.md"), Decision::Deny);
    assert_eq!(at("/home/dev/proj/sub", "rm -rf ."), Decision::Deny);
    assert_eq!(at("/home/dev", "rm -rf other"), Decision::Deny);
    assert_eq!(at("/", "rm -rf usr"), Decision::Deny);
}

#[test]
fn the_user_decides_what_the_rules_say() {
    let with = |config: &str, command: &str| {
        let mut place = place();
        place.config = serde_json::from_str(config).unwrap();
        judge(&json!({"tool_name": "Bash", "tool_input": {"command": command}}), &place).decision
    };
    assert_eq!(with(r#"{"rules": {"git.discard": "ask"}}"#, "git reset --hard"), Decision::Ask);
    assert_eq!(with(r#"{"rules": {"git": "off"}}"#, "git reset --hard"), Decision::Allow);
    assert_eq!(with(r#"{"rules": {"privilege": "off"}}"#, "sudo rm -rf /usr"), Decision::Allow);
    assert_eq!(
        with(r#"{"allowed_commands": ["pkill -f my-server"]}"#, "ls; pkill -f my-server"),
        Decision::Allow
    );
    assert_eq!(with(r#"{"allowed_commands": ["pkill -f my-server"]}"#, "pkill -f other"), Decision::Deny);
    assert_eq!(with(r#"{"protected_paths": ["docs/api"]}"#, "echo x > docs/api/index.md"), Decision::Deny);
    assert_eq!(
        with(r#"{"protected_paths": ["~/notes.md", "*.snap"]}"#, "echo x > ~/notes.md"),
        Decision::Deny
    );
    assert_eq!(with(r#"{"protected_paths": ["*.snap"]}"#, "echo x > a/b.snap"), Decision::Deny);
    assert_eq!(with(r#"{"protected_paths": ["*.snap"]}"#, "echo x > a/b.txt"), Decision::Allow);
    let project = r#"{"projects": {"~/proj": {"rules": {"kill.pattern": "ask"}}}}"#;
    assert_eq!(with(project, "pkill node"), Decision::Ask);
}

#[test]
fn reasons_name_the_rule_and_the_way_out() {
    let verdict = bash("rm -rf /usr/local");
    let reason = verdict.reason.unwrap();
    assert_eq!(verdict.rule.as_deref(), Some("delete.outside"));
    for part in ["rm -rf /usr/local", "delete.outside", "config.jsonc", "Work inside the project"] {
        assert!(reason.contains(part), "{reason}");
    }
    let output = hook_output(&bash("rm -rf /usr/local")).unwrap();
    assert_eq!(output["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(hook_output(&bash("ls")), None);
}

#[test]
fn fields_have_many_spellings() {
    rows(&[
        ("deny", "mcp__ide__edit", json!({"filePath": "/home/dev/proj/.env", "content": "x"})),
        ("deny", "mcp__fs__write_files", json!({"files": [{"path": "a"}, {"path": ".env", "content": "x"}]})),
        ("allow", "mcp__fs__write_files", json!({"files": [{"path": "src/a.rs", "content": "sudo id"}]})),
        ("deny", "mcp__shell__exec", json!({"command": "rm", "args": ["-rf", "/"]})),
        ("deny", "mcp__shell__exec", json!({"command": "sudo", "args": "id"})),
        ("allow", "mcp__shell__exec", json!({"command": "ls", "args": ["-la", "/"]})),
        ("deny", "mcp__shell__exec", json!({"commands": ["ls", "sudo id"]})),
        ("allow", "mcp__shell__exec", json!({"commands": ["ls", "git status"]})),
        ("deny", "mcp__terminal__run", json!({"commandLine": "sudo id"})),
        ("deny", "run_command", json!({"Command": "sudo id"})),
        ("allow", "mcp__docs__search", json!({"commands": ["sudo id"]})),
    ]);
}
