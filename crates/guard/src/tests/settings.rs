//! What users and projects set: rules of their own, protected paths, profiles, verdicts.

use crate::tests::*;

/// Judges a command, or a tool's input as JSON, under the user's and the project's settings.
fn under(user: &str, project: &str, call: &str) -> Verdict {
    let mut environment = environment();
    environment.config = serde_json::from_str(user).unwrap();
    let mut disk = disk();
    disk.texts.insert("/home/dev/proj/.headspace.jsonc".into(), project.into());
    disk.clean = Some(true);
    environment.files = Box::new(disk);
    let payload = match call.split_once(' ') {
        Some((
            tool @ ("Write" | "Edit" | "mcp__fs__delete_file" | "mcp__fs__move_file" | "mcp__x__y"),
            input,
        )) => {
            json!({"tool_name": tool, "tool_input": serde_json::from_str::<Value>(input).unwrap()})
        }
        _ => json!({"tool_name": "Bash", "tool_input": {"command": call}, "cwd": "/home/dev/proj"}),
    };
    judge(&payload, &environment)
}

#[test]
fn users_write_rules_of_their_own() {
    let own = r#"{"ask": ["terraform apply *", "make deploy", "mcp__x__*"], "deny": ["npm publish", "git push -f|--force", "kubectl --context=prod"],
        "allow": ["kubectl delete pod test-*", "docker compose down -v", "pkill -f vite"]}"#;
    for (expected, command) in [
        ("ask", "terraform apply"),
        ("ask", "terraform apply -auto-approve"),
        ("ask", "terraform -chdir=infra apply tfplan"),
        ("ask", "cd infra && TF_LOG=1 terraform apply"),
        ("ask", "/usr/local/bin/terraform apply"),
        ("ask", "bash -c 'terraform apply'"),
        ("allow", "terraform plan"),
        ("ask", "make deploy"),
        ("ask", "make deploy ENV=prod"),
        ("allow", "make deploy-docs"),
        ("allow", "echo make deploy"),
        ("deny", "npm publish"),
        ("deny", "npm run build && npm publish --access public"),
        ("deny", "ssh ci npm publish"),
        ("deny", "kubectl --context prod get pods"),
        ("allow", "kubectl --context dev get pods"),
        ("allow", "kubectl delete pod test-1"),
        ("ask", "kubectl delete pod api-1"),
        ("ask", "kubectl delete pod test-1 -n prod"),
        ("allow", "docker compose down -v"),
        ("ask", "docker compose -p x down -v"),
        ("allow", "pkill -f vite"),
        ("deny", "pkill -f vite; pkill node"),
        ("deny", "pkill -f vite > ~/.bashrc"),
        ("ask", "mcp__x__y {}"),
    ] {
        let verdict = under(own, "", command);
        assert_eq!(verdict.decision.as_str(), expected, "{command}: {verdict:?}");
    }
    let verdict = under(own, "", "npm publish");
    assert_eq!(
        (verdict.rule.as_deref(), verdict.pattern.as_deref()),
        (Some("custom.deny"), Some("npm publish"))
    );
    assert!(verdict.reason.unwrap().contains("\"deny\": […]"));
}

#[test]
fn a_project_can_only_tighten_the_rules() {
    let project = r#"{ // ours
        "guard": {"deny": ["make deploy"], "ask": ["npm run migrate"], "protected_paths": ["src/"], "profile": "quiet",
            "allow": ["sudo *"], "rules": {"privilege": "off", "git.no-verify": "deny"}}, }"#;
    for (user, expected, command) in [
        ("{}", "deny", "make deploy"),
        ("{}", "ask", "npm run migrate"),
        ("{}", "deny", "sudo id"),
        ("{}", "deny", "pkill node"),
        ("{}", "deny", "git commit --no-verify -m x"),
        ("{}", "deny", "echo x > src/main.rs"),
        (r#"{"allow": ["make deploy"]}"#, "deny", "make deploy"),
        (r#"{"rules": {"git.no-verify": "off"}}"#, "deny", "git commit -n -m x"),
        (r#"{"profile": "quiet"}"#, "allow", "pkill node"),
        ("{}", "deny", "echo '{}' > .headspace.jsonc"),
        ("{}", "deny", "rm .headspace.jsonc"),
        ("{}", "deny", r#"Write {"file_path": "/home/dev/proj/.headspace.jsonc"}"#),
    ] {
        let verdict = under(user, project, command);
        assert_eq!(verdict.decision.as_str(), expected, "{user} {command}: {verdict:?}");
    }
    for broken in ["{", "[]", "7", r#"{"guard": 7}"#, ""] {
        assert_eq!(under("{}", broken, "ls").decision, Decision::Allow, "{broken}");
        assert_eq!(under("{}", broken, "sudo ls").decision, Decision::Deny, "{broken}");
    }
}

#[test]
fn protected_paths_cover_the_directory_and_everything_below() {
    let own =
        r#"{"protected_paths": ["src/", "docs/a.md", "*.snap", "~/notes.md", "config/**", "migrations"]}"#;
    for (expected, call) in [
        ("deny", "echo x > src/main.rs"),
        ("deny", "echo x > src/new/deep.rs"),
        ("deny", "rm src/a.rs"),
        ("deny", "rm -rf src"),
        ("deny", "rm -rf ./src/"),
        ("deny", "rm -rf src/*"),
        ("deny", "cd src && rm a.rs"),
        ("deny", "mv src/a.rs /tmp/"),
        ("deny", "mv src lib"),
        ("deny", "mv build/out.o src/"),
        ("deny", "cp README.md src/"),
        ("deny", "sed -i s/a/b/ src/main.rs"),
        ("deny", "git checkout -- src/main.rs"),
        ("deny", "git rm -f src/a.rs"),
        ("deny", "git mv build/out.o src/x"),
        ("deny", "find src -name '*.rs' -delete"),
        ("deny", "find . -delete"),
        ("deny", "mkdir src/new"),
        ("deny", "touch src/x"),
        ("deny", "tee src/x < README.md"),
        ("deny", "python3 -c \"open('src/main.rs','w').write('x')\""),
        ("deny", "python3 -c \"import os; os.remove('src/a.rs')\""),
        ("deny", "truncate -s 0 src/main.rs"),
        ("deny", "ln -sf /tmp/x src/main.rs"),
        ("deny", "tar xf x.tar -C src"),
        ("deny", "rsync -a --delete build/ src/"),
        ("deny", "rm docs/a.md"),
        ("deny", "rm -rf docs"),
        ("deny", "rm x/y/z.snap"),
        ("deny", "echo x > z.snap"),
        ("deny", "echo x > ~/notes.md"),
        ("deny", "rm config/app.toml"),
        ("deny", "echo x > db/migrations/001.sql"),
        ("deny", "rm -rf $PWD/src/$X"),
        ("deny", r#"Write {"file_path": "/home/dev/proj/src/main.rs"}"#),
        ("deny", r#"Edit {"file_path": "src/a.rs"}"#),
        ("deny", r#"mcp__fs__delete_file {"path": "/home/dev/proj/src/a.rs"}"#),
        ("deny", r#"mcp__fs__move_file {"source": "/home/dev/proj/src/a.rs", "destination": "/tmp/a"}"#),
        (
            "deny",
            r#"mcp__fs__move_file {"source": "/home/dev/proj/build/out.o", "destination": "/home/dev/proj/src/a"}"#,
        ),
        ("allow", "cat src/main.rs"),
        ("allow", "grep -rn x src/"),
        ("allow", "cp src/main.rs build/"),
        ("allow", "echo x > docs/b.md"),
        ("allow", "rm -rf build"),
        ("allow", "echo x > srcs/main.rs"),
        ("allow", "find . -name '*.o' -delete"),
        ("allow", "git status && git diff src/"),
        ("allow", "mkdir -p build/new"),
        ("allow", r#"Write {"file_path": "/home/dev/proj/README.md"}"#),
    ] {
        let verdict = under(own, "", call);
        assert_eq!(verdict.decision.as_str(), expected, "{call}: {verdict:?}");
    }
}

#[test]
fn profiles_decide_how_strict_the_guard_is() {
    for (command, strict, balanced, quiet) in [
        ("pkill -f vite", "deny", "ask", "allow"),
        ("touch .env.local", "deny", "ask", "ask"),
        ("mv ~/Downloads/x docs/", "deny", "ask", "allow"),
        ("rm -rf ../proj-wt", "deny", "ask", "ask"),
        ("git reset --hard", "deny", "ask", "allow"),
        ("rm -rf /", "deny", "deny", "deny"),
        ("rm -rf ~/other", "deny", "deny", "deny"),
        ("mv ~/.ssh docs/", "deny", "deny", "deny"),
        ("git push --force", "deny", "deny", "deny"),
        ("cat .env", "ask", "ask", "allow"),
        ("terraform destroy", "ask", "ask", "ask"),
        ("git commit --no-verify -m x", "ask", "ask", "allow"),
        ("npm publish", "ask", "ask", "ask"),
        ("ls", "allow", "allow", "allow"),
    ] {
        for (profile, expected) in [("strict", strict), ("balanced", balanced), ("quiet", quiet)] {
            let verdict = under(&format!(r#"{{"profile": "{profile}"}}"#), "", command);
            assert_eq!(verdict.decision.as_str(), expected, "{profile} {command}: {verdict:?}");
        }
    }
}

#[test]
fn the_user_can_change_every_rule() {
    let with = |config: &str, command: &str| {
        let mut environment = environment();
        environment.config = serde_json::from_str(config).unwrap();
        judge(&json!({"tool_name": "Bash", "tool_input": {"command": command}}), &environment).decision
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
fn reasons_name_the_rule_and_how_to_change_it() {
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
