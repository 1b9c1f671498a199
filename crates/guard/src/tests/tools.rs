//! Tools other than the shell, and payloads of every shape.

use crate::tests::*;

fn tool(name: &str, input: Value) -> Verdict {
    judge(&json!({"tool_name": name, "tool_input": input, "cwd": "/home/dev/proj"}), &environment())
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
fn other_tools_are_judged_by_the_shape_of_their_input() {
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
        ("ask", "mcp__db__query", json!({"sql": "drop table x"})),
    ]);
}

#[test]
fn tools_that_execute_sql_or_run_elsewhere() {
    rows(&[
        ("ask", "mcp__postgres__query", json!({"sql": "DROP TABLE users"})),
        ("ask", "mcp__postgres__execute_sql", json!({"query": "TRUNCATE users"})),
        ("ask", "mcp__supabase__execute_sql", json!({"project_id": "x", "query": "delete from users"})),
        ("ask", "mcp__supabase__apply_migration", json!({"name": "x", "query": "drop table users"})),
        ("ask", "mcp__sqlite__write_query", json!({"query": "DELETE FROM t"})),
        ("ask", "mcp__mysql__run", json!({"statements": ["select 1", "drop database x"]})),
        ("ask", "mcp__x__run", json!({"sql": "drop database x"})),
        ("ask", "mcp__mongodb__drop-collection", json!({"database": "a", "collection": "b"})),
        ("ask", "mcp__mongodb__delete-many", json!({"collection": "b", "filter": {}})),
        ("ask", "mcp__redis__flushall", json!({})),
        ("allow", "mcp__postgres__query", json!({"sql": "SELECT * FROM users WHERE name = 'drop table x'"})),
        ("allow", "mcp__postgres__query", json!({"sql": "delete from users where id = 3"})),
        ("allow", "mcp__mongodb__find", json!({"collection": "b", "filter": {}})),
        ("allow", "mcp__mongodb__delete-many", json!({"collection": "b", "filter": {"a": 1}})),
        ("allow", "mcp__redis__get", json!({"key": "flushall"})),
        ("allow", "mcp__search__query", json!({"query": "drop table users"})),
        ("allow", "mcp__github__search_code", json!({"query": "DELETE FROM users"})),
        ("allow", "mcp__docs__query", json!({"query": "how to truncate a table; drop table x"})),
        ("ask", "mcp__ssh__exec", json!({"command": "rm -rf /srv/app"})),
        ("ask", "mcp__ssh__exec", json!({"command": "sudo systemctl restart x"})),
        ("allow", "mcp__ssh__exec", json!({"command": "uptime"})),
        ("ask", "mcp__docker__exec", json!({"container": "db", "command": "rm -rf /var/lib/x"})),
        ("ask", "mcp__kubernetes__exec_in_pod", json!({"command": "psql -c 'drop table x'"})),
        ("ask", "mcp__shell__run", json!({"command": "terraform destroy -auto-approve"})),
        ("ask", "run_terminal_cmd", json!({"command": "kubectl delete ns prod"})),
        ("deny", "Write", json!({"file_path": "..\\..\\.ssh\\config", "content": "x"})),
        ("deny", "Write", json!({"file_path": "..\\.ssh\\config", "content": "x"})),
        ("allow", "Write", json!({"file_path": "src\\main.rs", "content": "x"})),
        ("deny", "Edit", json!({"file_path": ".git\\hooks\\pre-commit"})),
        ("ask", "Read", json!({"file_path": "/proc/self/environ"})),
    ]);
}

#[test]
fn messages_are_denied_while_nobody_is_watching() {
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
        let mut environment = environment();
        environment.session_mode = mode.map(str::to_owned);
        let verdict = judge(&json!({"tool_name": name, "tool_input": input}), &environment);
        assert_eq!(verdict.decision.as_str(), expected, "{name} {input} {mode:?}");
    }
}

#[test]
fn payloads_of_unknown_shape_become_questions() {
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
        assert_eq!(judge(&payload, &environment()).decision, Decision::Ask, "{payload}");
    }
}

#[test]
fn the_project_is_the_repository_around_the_directory() {
    let at = |cwd: &str, command: &str| {
        judge(&json!({"tool_name": "Bash", "tool_input": {"command": command}, "cwd": cwd}), &environment())
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

#[test]
fn tools_that_delete_what_others_depend_on() {
    rows(&[
        ("ask", "mcp__supabase__execute_sql", json!({"project_id": "x", "query": "truncate users"})),
        (
            "ask",
            "mcp__supabase__apply_migration",
            json!({"project_id": "x", "name": "drop", "query": "DROP TABLE users"}),
        ),
        ("ask", "mcp__neon__run_sql", json!({"params": {"sql": "DROP TABLE x"}})),
        (
            "ask",
            "mcp__neon__run_sql_transaction",
            json!({"params": {"sqlStatements": ["select 1", "drop table x"]}}),
        ),
        (
            "deny",
            "mcp__serena__create_text_file",
            json!({"relative_path": ".git/hooks/pre-commit", "content": "x"}),
        ),
        ("deny", "mcp__serena__execute_shell_command", json!({"command": "rm -rf ~"})),
        ("deny", "mcp__jetbrains__create_new_file_with_text", json!({"pathInProject": ".env", "text": "x"})),
        ("deny", "mcp__jetbrains__execute_terminal_command", json!({"command": "sudo ls"})),
        ("ask", "mcp__kubernetes__kubectl_delete", json!({"resourceType": "namespace", "name": "prod"})),
        ("ask", "mcp__kubernetes__exec_in_pod", json!({"command": ["rm", "-rf", "/data"], "name": "x"})),
        ("ask", "mcp__github__delete_repository", json!({"owner": "a", "repo": "b"})),
        ("ask", "mcp__docker__remove_volume", json!({"name": "pgdata"})),
        ("ask", "mcp__aws__call_aws", json!({"cli_command": "aws s3 rb s3://x --force"})),
        ("ask", "mcp__supabase__delete_branch", json!({"branch_id": "x"})),
        ("ask", "mcp__supabase__reset_branch", json!({"branch_id": "x"})),
        ("ask", "mcp__cloudflare__d1_database_delete", json!({"database_id": "x"})),
        ("ask", "mcp__cloudflare__r2_bucket_delete", json!({"name": "x"})),
        ("deny", "Write", json!({"file_path": "../../.ssh/config", "content": "x"})),
    ]);
}

#[test]
fn everyday_tools_of_mcp_servers_pass() {
    rows(&[
        ("allow", "mcp__postgres__query", json!({"sql": "SELECT * FROM users WHERE note = 'DROP TABLE x'"})),
        ("allow", "mcp__postgres__query", json!({"sql": "UPDATE users SET a=1 WHERE id=2"})),
        ("allow", "mcp__postgres__list_tables", json!({"schema": "public"})),
        ("allow", "mcp__supabase__execute_sql", json!({"query": "select count(*) from auth.users"})),
        (
            "allow",
            "mcp__supabase__apply_migration",
            json!({"name": "add", "query": "CREATE TABLE x (id int)"}),
        ),
        ("allow", "mcp__supabase__list_branches", json!({"project_id": "x"})),
        ("allow", "mcp__supabase__get_logs", json!({"service": "api"})),
        (
            "allow",
            "mcp__supabase__search_docs",
            json!({"graphql_query": "{ searchDocs(query: \"drop table\") { nodes { title } } }"}),
        ),
        ("allow", "mcp__neon__run_sql", json!({"params": {"sql": "select 1"}})),
        ("allow", "mcp__mongodb__find", json!({"database": "app", "collection": "x", "filter": {}})),
        ("allow", "mcp__mongodb__aggregate", json!({"database": "app", "pipeline": []})),
        ("allow", "mcp__redis__get", json!({"key": "x"})),
        ("allow", "mcp__shell__execute_command", json!({"command": "ls -la"})),
        ("allow", "mcp__desktop-commander__start_process", json!({"command": "npm test"})),
        ("allow", "mcp__desktop-commander__read_process_output", json!({"pid": 12})),
        (
            "allow",
            "mcp__filesystem__write_file",
            json!({"path": "/home/dev/proj/src/x.ts", "content": "rm -rf /"}),
        ),
        ("allow", "mcp__filesystem__read_file", json!({"path": "/home/dev/proj/README.md"})),
        ("allow", "mcp__filesystem__list_directory", json!({"path": "/home/dev/.ssh"})),
        ("allow", "mcp__filesystem__get_file_info", json!({"path": "/home/dev/proj/.env"})),
        (
            "allow",
            "mcp__filesystem__move_file",
            json!({"source": "/home/dev/proj/src/a.rs", "destination": "/home/dev/proj/src/b.rs"}),
        ),
        ("allow", "mcp__filesystem__search_files", json!({"path": "/home/dev/proj", "pattern": ".env"})),
        ("allow", "mcp__filesystem__create_directory", json!({"path": "/home/dev/proj/x"})),
        ("allow", "mcp__filesystem__delete_file", json!({"path": "/home/dev/proj/build/out.o"})),
        ("allow", "mcp__filesystem__directory_tree", json!({"path": "/home/dev/proj"})),
        ("allow", "mcp__serena__find_symbol", json!({"name_path": "rm", "relative_path": "src"})),
        ("allow", "mcp__serena__replace_symbol_body", json!({"relative_path": "src/a.rs", "body": "sudo"})),
        ("allow", "mcp__serena__write_memory", json!({"memory_name": "x", "content": "sudo rm -rf /"})),
        ("allow", "mcp__slack__list_channels", json!({})),
        ("allow", "mcp__slack__read_messages", json!({"channel": "c"})),
        ("allow", "mcp__gmail__search_emails", json!({"query": "x"})),
        ("allow", "mcp__imessage__messages", json!({"operation": "read"})),
        ("allow", "mcp__github__create_pull_request", json!({"title": "Delete repo", "body": "rm -rf /"})),
        (
            "allow",
            "mcp__github__get_file_contents",
            json!({"owner": "a", "repo": "b", "path": ".env.example"}),
        ),
        ("allow", "mcp__github__search_code", json!({"q": "sudo rm"})),
        ("allow", "mcp__github__add_issue_comment", json!({"issue_number": 1, "body": "DROP TABLE"})),
        ("allow", "mcp__github__list_commits", json!({"owner": "a", "repo": "b"})),
        ("allow", "mcp__github__create_branch", json!({"branch": "delete-x"})),
        (
            "allow",
            "mcp__github__push_files",
            json!({"branch": "x", "files": [{"path": "a.sh", "content": "rm -rf /"}], "message": "m"}),
        ),
        ("allow", "mcp__kubernetes__kubectl_get", json!({"resourceType": "pods"})),
        ("allow", "mcp__kubernetes__kubectl_logs", json!({"name": "delete-x"})),
        ("allow", "mcp__docker__list_volumes", json!({})),
        ("allow", "mcp__docker__list_containers", json!({"all": true})),
        ("allow", "mcp__aws__call_aws", json!({"cli_command": "aws s3 ls"})),
        ("allow", "mcp__playwright__browser_click", json!({"element": "Delete", "ref": "e1"})),
        ("allow", "mcp__playwright__browser_navigate", json!({"url": "http://localhost:3000/delete"})),
        ("allow", "mcp__playwright__browser_evaluate", json!({"function": "() => document.title"})),
        ("allow", "mcp__playwright__browser_type", json!({"element": "x", "text": "sudo rm -rf /"})),
        (
            "allow",
            "mcp__puppeteer__puppeteer_evaluate",
            json!({"script": "document.querySelector('a').remove()"}),
        ),
        ("allow", "mcp__chrome-devtools__evaluate_script", json!({"function": "() => localStorage.clear()"})),
        ("allow", "mcp__context7__get-library-docs", json!({"topic": "drop database"})),
        ("allow", "mcp__linear__create_issue", json!({"title": "DROP TABLE", "description": "sudo"})),
        ("allow", "mcp__linear__list_comments", json!({"issueId": "x"})),
        ("allow", "mcp__notion__search", json!({"query": "delete database"})),
        ("allow", "mcp__sentry__search_issues", json!({"query": "DROP"})),
        ("allow", "mcp__memory__delete_entities", json!({"entityNames": ["x"]})),
        ("allow", "mcp__memory__create_entities", json!({"entities": []})),
        ("allow", "mcp__sequential-thinking__sequentialthinking", json!({"thought": "rm -rf / then sudo"})),
        (
            "allow",
            "mcp__jupyter__execute_code",
            json!({"code": "import pandas as pd; df.drop(columns=['a'])"}),
        ),
        ("allow", "mcp__python__run_python", json!({"code": "print(1)"})),
        ("allow", "mcp__ide__getDiagnostics", json!({"uri": "file:///x"})),
        ("allow", "mcp__ide__executeCode", json!({"code": "df.head()"})),
        ("allow", "mcp__figma__get_code", json!({"nodeId": "1:2"})),
        ("allow", "mcp__time__get_current_time", json!({"timezone": "UTC"})),
        ("allow", "mcp__fetch__fetch", json!({"url": "https://x.example"})),
        ("allow", "mcp__brave__search", json!({"query": "git push --force"})),
        ("allow", "mcp__git__git_status", json!({"repo_path": "/home/dev/proj"})),
        ("allow", "mcp__git__git_commit", json!({"repo_path": "/home/dev/proj", "message": "reset --hard"})),
        (
            "allow",
            "mcp__elasticsearch__search",
            json!({"index": "x", "query_body": {"query": {"match_all": {}}}}),
        ),
        ("allow", "mcp__terraform__search_modules", json!({"query": "destroy"})),
    ]);
}
