//! Tables of commands and what the policy says about them. Lines are `verdict command`; `⏎` stands for a line end,
//! `#` starts a group. The disk is made up.

use crate::environment::fake::FakeFileSystem;
use crate::*;
use std::time::Duration;

const DISK: &str = "
    /home/dev/.bashrc /home/dev/.zshrc /home/dev/.profile /home/dev/.netrc /home/dev/.npmrc
    /home/dev/.ssh/config /home/dev/.ssh/id_ed25519 /home/dev/.ssh/id_ed25519.pub /home/dev/.ssh/id_rsa
    /home/dev/.ssh/authorized_keys /home/dev/.aws/credentials /home/dev/.kube/config
    /home/dev/.claude/settings.json /home/dev/.gnupg/secring.gpg /home/dev/notes.md /home/dev/.bash_history
    /home/dev/other/file.txt /home/dev/other/lib/a.c /home/dev/other-repo/.git/HEAD /home/dev/other-repo/a
    /home/dev/proj-backup/a /home/dev/proj-wt/.git /home/dev/Downloads/x
    /home/dev/proj/.git/HEAD /home/dev/proj/.git/config /home/dev/proj/.git/hooks/x /home/dev/proj/.git/refs/heads/main
    /home/dev/proj/.env /home/dev/proj/.env.example /home/dev/proj/.envrc /home/dev/proj/.envrc.md
    /home/dev/proj/README.md /home/dev/proj/Makefile /home/dev/proj/package.json /home/dev/proj/package-lock.json
    /home/dev/proj/src/main.rs /home/dev/proj/src/a.rs /home/dev/proj/src/environment.ts
    /home/dev/proj/src/secrets.rs /home/dev/proj/src/generated/a.ts /home/dev/proj/build/out.o /home/dev/proj/dist/x /home/dev/proj/sub/.git/HEAD
    /home/dev/proj/sub/x /home/dev/proj/docs/a.md /home/dev/proj/config/app.toml /home/dev/proj/certs/server.key
    /home/dev/proj/.claude/settings.json /home/dev/proj/notebooks/a.ipynb /home/dev/proj/deep/a/b
    /home/dev/proj/script.sh
    /home/dev/proj/link-to-etc->/etc /home/dev/proj/cfg->../.ssh/config /home/dev/proj/vendor-link->../other
    /home/dev/proj/deep/a/link2->../../../.ssh /home/dev/proj/link-to-build->build /home/dev/proj/dangling->nowhere
    /bin/rm /bin/rmdir /bin/ls /usr/bin/env /usr/local/x /etc/passwd /etc/nginx/nginx.conf /tmp/x
";

/// The made-up disk, with the files that the guard reads.
fn disk() -> FakeFileSystem {
    let mut disk = FakeFileSystem::new(DISK);
    disk.texts
        .insert("/home/dev/proj-wt/.git".into(), "gitdir: /home/dev/proj/.git/worktrees/proj-wt\n".into());
    disk
}

pub(crate) fn environment() -> GuardEnvironment {
    GuardEnvironment {
        home: "/home/dev".into(),
        user: Some("dev".into()),
        project: Some("/home/dev/proj".into()),
        cwd: "/home/dev/proj".into(),
        tmpdir: None,
        session_mode: None,
        claude_dir: "/home/dev/.claude".into(),
        config_file: "/home/dev/.config/headspace/config.jsonc".into(),
        config: Default::default(),
        files: Box::new(disk()),
        time_limit: Duration::from_secs(20),
        early_answer: None,
    }
}

pub(crate) fn bash(command: &str) -> Verdict {
    judge(
        &json!({"tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/home/dev/proj"}),
        &environment(),
    )
}

/// Runs a table and reports all rows that differ at once.
fn table(text: &str, judge: impl Fn(&str) -> Verdict) {
    let mut wrong = Vec::new();
    let mut group = "";
    let mut count = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            group = title;
            continue;
        }
        let (expected, command) = line.split_once(' ').unwrap();
        let verdict = judge(&command.replace('⏎', "\n"));
        count += 1;
        if !expected.split('|').any(|expected| expected == verdict.decision.as_str()) {
            let rule = verdict.rule.unwrap_or_default();
            wrong.push(format!(
                "[{group}] {command}\n    {} {rule}, expected {expected}",
                verdict.decision.as_str()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn deleting() {
    table(include_str!("tables/deleting.txt"), bash);
}

#[test]
fn wrapped_commands_and_flow() {
    table(include_str!("tables/flow.txt"), bash);
}

#[test]
fn network_disks_and_processes() {
    table(include_str!("tables/machine.txt"), bash);
}

#[test]
fn protected_files() {
    table(include_str!("tables/files.txt"), bash);
}

#[test]
fn git_commands() {
    table(include_str!("tables/git.txt"), bash);
}

#[test]
fn tricks_do_not_help() {
    table(include_str!("tables/tricks.txt"), bash);
}

#[test]
fn every_point_of_the_policy() {
    table(include_str!("tables/policy.txt"), bash);
}

#[test]
fn developers_are_left_alone() {
    table(include_str!("tables/developers.txt"), bash);
}

#[test]
fn everyday_commands_pass() {
    table(include_str!("tables/everyday.txt"), bash);
}

#[test]
fn interpreters() {
    table(include_str!("tables/code.txt"), bash);
}

#[test]
fn other_machines_and_what_is_sent_there() {
    table(include_str!("tables/elsewhere.txt"), bash);
}

#[test]
fn packs() {
    table(include_str!("tables/packs.txt"), bash);
}

#[test]
fn what_agents_run() {
    table(include_str!("tables/agents.txt"), bash);
}

#[test]
fn project_scripts_are_read() {
    table(include_str!("tables/scripted.txt"), |command| {
        let mut environment = environment();
        let mut disk = disk();
        for part in include_str!("tables/scripts.txt").split("==> ").skip(1) {
            let (name, text) = part.split_once(" <==\n").unwrap();
            disk.texts.insert(format!("/home/dev/{name}"), text.to_owned());
        }
        environment.files = Box::new(disk);
        judge(
            &json!({"tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/home/dev/proj"}),
            &environment,
        )
    });
}

#[test]
fn powershell_commands() {
    table(include_str!("tables/powershell.txt"), |command| {
        judge(&json!({"tool_name": "PowerShell", "tool_input": {"command": command}}), &environment())
    });
}

mod settings;
mod stress;
mod tools;
mod unseen;
