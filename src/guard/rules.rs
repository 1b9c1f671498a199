//! The rules as data: a stable name, what the guard says by default, and the words for it.

use super::{Decision, Verdict};
use crate::config;
use std::collections::BTreeMap;

/// One row of the table that `headspace guard rules` prints.
#[derive(Debug)]
pub struct Rule {
    /// Stable: it stands in people's configurations.
    pub id: &'static str,
    pub decision: Decision,
    /// Completes "this command …".
    pub what: &'static str,
    /// What to do instead.
    pub instead: &'static str,
}

macro_rules! rules {
    ($($name:ident $id:literal $decision:ident $what:literal $instead:literal)*) => {
        $(pub static $name: Rule =
            Rule { id: $id, decision: Decision::$decision, what: $what, instead: $instead };)*
        /// All rules, in the order of the policy.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    DELETE_OUTSIDE "delete.outside" Deny
        "deletes, moves away or empties something outside the project and the temp directories"
        "Work inside the project or a temp directory, or let the user do it."
    DELETE_PROJECT "delete.project" Deny
        "deletes the project's own directory, a directory above it or a temp directory itself"
        "Name what is to go inside of it."
    DELETE_GIT "delete.git" Deny
        "deletes git's own data, and with it the history"
        "Leave .git alone; use git's commands."
    DELETE_GIT_LOCK "delete.git-lock" Ask
        "deletes a lock of git's"
        "Make sure that no git process is running."
    DELETE_EVERYTHING "delete.everything" Ask
        "deletes everything in the project's root"
        "Name the files and directories that are to go."
    DELETE_UNKNOWN "delete.unknown" Ask
        "deletes something that cannot be known beforehand"
        "Write the path out."
    DELETE_EMPTY_VARIABLE "delete.empty-variable" Deny
        "deletes from the file system's root if the variable is empty"
        "Write the path out, or use ${NAME:?} so that an empty value stops the command."
    DELETE_PROTECTED "delete.protected" Ask
        "deletes a file with secrets or settings, which git does not bring back"
        "Keep it, or move it to a temp directory."
    PERMISSIONS "permissions.system" Deny
        "changes the permissions or the owner of a whole system tree or home"
        "Name the files inside the project."
    REMOTE "remote.change" Ask
        "changes something on another machine"
        "Let the user confirm, or look first with a command that only reads."
    PRIVILEGE "privilege" Deny
        "runs as another user"
        "Do it without more rights, or ask the user to run it in their own terminal."
    KILL_PATTERN "kill.pattern" Deny
        "ends processes by a pattern, also those of other people's sessions"
        "End the one process you started, by its number."
    KILL_UNKNOWN "kill.unknown" Ask
        "ends a process whose number cannot be known beforehand"
        "Write the process number out."
    NETWORK_SHELL "network.shell" Deny
        "runs what comes over the network without anybody having read it"
        "Download it to a file, read it, and then ask to run it."
    NETWORK_DECODED "network.decoded" Deny
        "runs decoded or escaped text, which hides what it does"
        "Write the command out."
    NETWORK_RUN_FILE "network.run-file" Ask
        "runs a file that the same line downloads"
        "Download it first, read it, and run it in a second step."
    NETWORK_SECRET "network.secret" Deny
        "sends a secret over the network"
        "Let the user transfer secrets."
    DISK_WRITE "disk.write" Deny
        "writes to a device, below all file systems"
        "Write to an image file in the project."
    DISK_FORMAT "disk.format" Deny
        "formats, wipes or partitions a disk"
        "Let the user do it."
    DISK_IMAGE "disk.image" Ask
        "makes a file system in a file"
        "Make sure that the file is a disk image."
    BOMB "bomb" Deny
        "starts copies of itself without end"
        "Bound the number of processes."
    HISTORY "history" Deny
        "clears or switches off the shell's history"
        "Leave the history as it is."
    POWER "system.power" Ask
        "stops or restarts the machine"
        "Let the user do it."
    WRITE_ENV "write.env" Deny
        "writes to a file with environment secrets"
        "Write to .env.example and let the user fill in the values."
    WRITE_TEMPLATE "write.template" Ask
        "copies a template over a file with environment secrets"
        "Make sure that nothing in it is lost."
    WRITE_KEY "write.key" Deny
        "writes to a private key"
        "Let the user handle keys."
    WRITE_NEW_KEY "write.new-key" Ask
        "makes a key pair in a protected place"
        "Make it in a temp directory, or let the user do it."
    WRITE_CREDENTIALS "write.credentials" Deny
        "writes to a file with credentials"
        "Let the user handle credentials."
    WRITE_START "write.shell-start" Deny
        "writes to a file that runs at login or shell start"
        "Show the user the lines to add."
    WRITE_GIT "write.git" Deny
        "writes to git's configuration or hooks, which git runs"
        "Keep hooks in the project and let the user install them."
    WRITE_GIT_DATA "write.git-data" Ask
        "writes to git's own data"
        "Use git's commands."
    WRITE_AGENT "write.agent-settings" Deny
        "changes an agent's settings, where permissions and this guard are registered"
        "Tell the user what to change."
    WRITE_SYSTEM "write.system" Deny
        "writes to a system file"
        "Show the user what to change."
    WRITE_SYSTEM_TREE "write.system-tree" Ask
        "writes to a directory of the system"
        "Install below the home directory or the project."
    WRITE_LOCK "write.lock-file" Ask
        "changes a lock file by hand"
        "Let the package manager write it."
    WRITE_CUSTOM "write.protected" Deny
        "writes to a path that the user has protected"
        "Ask the user."
    READ_SECRET "read.secret" Ask
        "reads secrets into the conversation"
        "Read the template, or ask for the names only."
    READ_KEY "read.key" Deny
        "reads a private key or the password file"
        "Use the public key, or name the file to the program that needs it."
    GIT_DISCARD "git.discard" Deny
        "throws away uncommitted work for good"
        "Commit or stash first, or name one file."
    GIT_DISCARD_FILE "git.discard-file" Ask
        "throws away the uncommitted work on a file"
        "Commit or stash first."
    GIT_FORCE_PUSH "git.force-push" Deny
        "overwrites the remote's commits unseen"
        "Use --force-with-lease."
    GIT_DELETE_REF "git.delete-ref" Ask
        "deletes a branch, a stash or a reference"
        "Use branch -d, which keeps unmerged work."
    GIT_EXPIRE "git.expire" Deny
        "clears all stashes or git's own safety net"
        "Leave the reflog and the stashes; drop one stash by name."
    GIT_REWRITE "git.rewrite" Ask
        "rewrites or prunes the repository's history"
        "Make sure that a copy exists."
    GIT_NO_VERIFY "git.no-verify" Ask
        "skips the project's checks"
        "Let the hooks run and fix what they find."
    GIT_HOOKS "git.hooks-path" Deny
        "changes which programs git runs"
        "Let the user configure hooks."
    MESSAGE_UNATTENDED "message.unattended" Deny
        "uses a messaging tool while nobody watches"
        "Leave the message in a file and report it."
    MESSAGE_SEND "message.send" Ask
        "sends a message in the user's name"
        "Show the user the text first."
    UNREADABLE "shell.unreadable" Ask
        "cannot be read for certain"
        "Write it plainly, with all quotes and brackets closed."
    HIDDEN "shell.hidden-character" Ask
        "holds characters that hide or mislead"
        "Write it in plain characters."
    UNKNOWN_COMMAND "shell.unknown-command" Ask
        "runs a program or text that cannot be known beforehand"
        "Write the command out."
    WRAPPED "shell.wrapped" Ask
        "hands a dangerous command to a program the guard does not know"
        "Run the command itself."
    SHAPE "input.shape" Ask
        "has an input the guard does not understand"
        "Give the tool's input in its documented form."
    DEADLINE "guard.deadline" Ask
        "takes too long to judge"
        "Split it up."
}

/// The user's choices for one project: rule id (or the part before the dot) ▶ what to say.
#[derive(Debug, Default)]
pub struct Choices {
    rules: BTreeMap<String, Option<Decision>>,
    pub protected_paths: Vec<String>,
    pub allowed_commands: Vec<Vec<String>>,
}

impl Choices {
    /// The general settings, then those of every project that holds `project`.
    pub fn of(guard: &config::Guard, projects: &[String], home: &str) -> Choices {
        let mut choices = Choices::default();
        choices.take(guard);
        for (dir, settings) in &guard.projects {
            let dir = dir.strip_prefix("~/").map_or_else(|| dir.clone(), |rest| format!("{home}/{rest}"));
            let dir = dir.trim_end_matches('/');
            let holds = |project: &String| {
                project.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if projects.iter().any(holds) {
                choices.take(settings);
            }
        }
        choices
    }

    fn take(&mut self, guard: &config::Guard) {
        for (id, choice) in &guard.rules {
            let decision = match choice.as_str() {
                "off" | "allow" => Some(Decision::Allow),
                "ask" => Some(Decision::Ask),
                "deny" => Some(Decision::Deny),
                // "on", and whatever a future version may say: the table's own.
                _ => None,
            };
            self.rules.insert(id.trim_end_matches(".*").to_owned(), decision);
        }
        self.protected_paths.extend(guard.protected_paths.iter().cloned());
        for command in &guard.allowed_commands {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            if !words.is_empty() {
                self.allowed_commands.push(words);
            }
        }
    }

    pub fn decision(&self, rule: &Rule) -> Decision {
        let group = rule.id.split('.').next().unwrap_or(rule.id);
        let choice = self.rules.get(rule.id).or_else(|| self.rules.get(group)).copied().flatten();
        choice.unwrap_or(rule.decision)
    }

    /// Whether the user has allowed exactly this command; a final `*` stands for any further words.
    pub fn allows(&self, words: &[String]) -> bool {
        self.allowed_commands.iter().any(|allowed| match allowed.split_last() {
            Some((last, start)) if last == "*" => words.len() >= start.len() && words.starts_with(start),
            _ => words == allowed,
        })
    }
}

/// The client takes 2000 characters; commands in a reason are cut long before.
const LONGEST_SUBJECT: usize = 200;

/// The verdict's words: the rule, what to do instead, how to change it.
pub fn verdict(rule: &Rule, decision: Decision, subject: &str, config_file: &str) -> Verdict {
    let subject = crate::terminal::gist(subject, LONGEST_SUBJECT);
    let lead = if subject.is_empty() { "This call".to_owned() } else { format!("`{subject}`") };
    let config_file = crate::terminal::gist(config_file, 300);
    let reason = format!(
        "{lead} {}. {} (headspace guard, rule {id}; the user can change it with \"guard\": {{\"rules\": \
         {{\"{id}\": \"ask\" or \"off\"}}}} in {config_file})",
        rule.what,
        rule.instead,
        id = rule.id,
    );
    Verdict { decision, rule: Some(rule.id.to_owned()), reason: Some(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_reasons_fit() {
        let mut ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), RULES.len());
        for rule in RULES {
            let verdict = verdict(rule, rule.decision, &"x\n".repeat(4000), "/home/dev/.config/headspace");
            let reason = verdict.reason.unwrap();
            assert!(reason.chars().count() < 1000 && reason.contains(rule.id) && !reason.contains('\n'));
        }
    }

    #[test]
    fn choices_are_per_rule_group_and_project() {
        let guard: config::Guard = serde_json::from_str(
            r#"{"rules": {"git.discard": "ask", "kill": "off"}, "allowed_commands": ["sudo apt update", "make *"],
                "projects": {"~/proj": {"rules": {"git.discard": "off", "kill.*": "on"}}}}"#,
        )
        .unwrap();
        let outside = Choices::of(&guard, &["/home/dev/other".into()], "/home/dev");
        let inside = Choices::of(&guard, &["/home/dev/proj/sub".into()], "/home/dev");
        assert_eq!(outside.decision(&GIT_DISCARD), Decision::Ask);
        assert_eq!(outside.decision(&KILL_PATTERN), Decision::Allow);
        assert_eq!(inside.decision(&GIT_DISCARD), Decision::Allow);
        assert_eq!(inside.decision(&KILL_PATTERN), Decision::Deny);
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(outside.allows(&words("sudo apt update")) && outside.allows(&words("make a b")));
        assert!(!outside.allows(&words("sudo apt update x")) && !outside.allows(&words("sudo")));
    }
}
