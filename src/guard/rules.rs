//! The rules as data: a stable name, what the guard says in which profile, and the words for it. They stand in
//! `rules/*.toml`, with examples that a test runs; the build turns them into the tables below (`rules/generate.rs` has
//! the reason).

pub mod pattern;
#[cfg(test)]
mod examples;

use super::{Decision, Verdict};
use crate::config;
use std::collections::BTreeMap;

/// One row of the table that `headspace guard rules` prints.
#[derive(Debug)]
pub struct Rule {
    /// Stable: it stands in people's configurations.
    pub id: &'static str,
    pub decision: Decision,
    pub balanced: Decision,
    pub quiet: Decision,
    /// Completes "this command …".
    pub what: &'static str,
    /// What to do instead.
    pub instead: &'static str,
    /// The file it stands in, and the line there.
    pub pack: &'static str,
    pub line: usize,
    /// `NAME=value`: a command with this in its environment is not meant.
    pub unless_env: &'static [&'static str],
}

impl Rule {
    /// What it is about is not on the machine that the command runs on.
    pub fn reaches_out(&self) -> bool {
        matches!(self.pack, "cloud" | "database" | "publish")
    }
}

include!(concat!(env!("OUT_DIR"), "/guard/rules.rs"));
include!(concat!(env!("OUT_DIR"), "/guard/secrets.rs"));

/// The rows of a sorted table that are about `program`.
pub fn about<T>(table: &'static [T], program: &str, name: fn(&T) -> &'static str) -> &'static [T] {
    let start = table.partition_point(|row| name(row) < program);
    let length = table[start..].iter().take_while(|row| name(row) == program).count();
    &table[start..start + length]
}

pub fn by_id(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
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
    Verdict { decision, rule: Some(rule.id.to_owned()), reason: Some(reason), pattern: None }
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
