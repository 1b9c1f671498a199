//! The rules as data: a stable id, the decision in each profile, and the wording. They are in `rules/*.toml`, together
//! with examples that a test runs; the build turns them into the tables below (`build/tables.rs` gives the reason).

#[cfg(test)]
mod examples;
pub mod pattern;

use crate::{Decision, Verdict};
use headspace_platform::config;
use std::collections::BTreeMap;

/// One row of the table that `headspace guard rules` prints.
#[derive(Debug)]
pub struct Rule {
    /// Stable: it appears in people's configurations.
    pub id: &'static str,
    pub decision: Decision,
    pub balanced: Decision,
    pub quiet: Decision,
    /// Completes "this command …".
    pub what: &'static str,
    /// What to do instead.
    pub instead: &'static str,
    /// The file it is in, and the line.
    pub pack: &'static str,
    pub line: usize,
    /// `NAME=value`: the rule does not apply with this in the command's environment.
    pub unless_env: &'static [&'static str],
}

impl Rule {
    /// It is about something outside the machine that the command runs on.
    pub(crate) fn reaches_out(&self) -> bool {
        matches!(self.pack, "cloud" | "database" | "publish") || self.id.starts_with("custom.")
    }
}

include!(concat!(env!("OUT_DIR"), "/guard/rules.rs"));
include!(concat!(env!("OUT_DIR"), "/guard/secrets.rs"));
include!(concat!(env!("OUT_DIR"), "/guard/prompts.rs"));

/// Lists of names that the code asks about, from `rules/names.toml`.
pub(crate) mod names {
    include!(concat!(env!("OUT_DIR"), "/guard/names.rs"));
}

/// The rows about `program` in a sorted table.
pub fn about<T>(table: &'static [T], program: &str, name: fn(&T) -> &'static str) -> &'static [T] {
    let start = table.partition_point(|row| name(row) < program);
    let length = table[start..].iter().take_while(|row| name(row) == program).count();
    &table[start..start + length]
}

pub fn by_id(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// How strict the guard is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Only what cannot be undone.
    Quiet,
    /// Asks where developers often mean it.
    Balanced,
    #[default]
    Strict,
}

pub const PROFILES: [(&str, Profile, &str); 3] = [
    ("strict", Profile::Strict, "stops what may harm, and asks about what is doubtful"),
    ("balanced", Profile::Balanced, "asks where developers often mean it: pkill -f vite, touch .env.local"),
    ("quiet", Profile::Quiet, "only what cannot be undone"),
];

impl Profile {
    pub fn by_name(name: &str) -> Option<Profile> {
        PROFILES.iter().find(|(known, ..)| *known == name).map(|(_, profile, _)| *profile)
    }

    pub fn name(self) -> &'static str {
        PROFILES.iter().find(|(_, profile, _)| *profile == self).map_or("strict", |(name, ..)| name)
    }
}

/// What a rule can be set to; `on` means what the profile says.
pub(crate) const SETTINGS: [&str; 5] = ["on", "off", "allow", "ask", "deny"];

fn setting(word: &str) -> Option<Decision> {
    match word {
        "off" | "allow" => Some(Decision::Allow),
        "ask" => Some(Decision::Ask),
        "deny" => Some(Decision::Deny),
        // "on", and whatever a future version may add.
        _ => None,
    }
}

/// The rules as the user configured them for one project: rule id (or the part before the dot) and decision.
#[derive(Debug, Default)]
pub struct Policy {
    pub profile: Profile,
    rules: BTreeMap<String, Option<Decision>>,
    /// What the project itself demands: it can only tighten.
    tighter: BTreeMap<String, Decision>,
    pub protected_paths: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    pub allow: Vec<String>,
}

impl Policy {
    /// The general settings, then those of every configured directory that contains one of `projects`.
    pub fn of(guard: &config::Guard, projects: &[String], home: &str) -> Policy {
        let mut policy = Policy::default();
        policy.take(guard);
        for (dir, settings) in &guard.projects {
            let dir = dir.strip_prefix("~/").map_or_else(|| dir.clone(), |rest| format!("{home}/{rest}"));
            let dir = dir.trim_end_matches('/');
            let holds = |project: &String| {
                project.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if projects.iter().any(holds) {
                policy.take(settings);
            }
        }
        policy
    }

    fn take(&mut self, guard: &config::Guard) {
        if let Some(profile) = guard.profile.as_deref().and_then(Profile::by_name) {
            self.profile = profile;
        }
        for (id, choice) in &guard.rules {
            self.rules.insert(id.trim_end_matches(".*").to_owned(), setting(choice));
        }
        self.protected_paths.extend(guard.protected_paths.iter().cloned());
        self.ask.extend(guard.ask.iter().cloned());
        self.deny.extend(guard.deny.iter().cloned());
        self.allow.extend(guard.allow.iter().chain(&guard.allowed_commands).cloned());
    }

    /// Applies the settings in the project, which an agent could have written: they can only tighten.
    pub fn tighten(&mut self, guard: &config::Guard) {
        if let Some(profile) = guard.profile.as_deref().and_then(Profile::by_name) {
            self.profile = self.profile.max(profile);
        }
        for (id, choice) in &guard.rules {
            if let Some(decision) = setting(choice) {
                self.tighter.insert(id.trim_end_matches(".*").to_owned(), decision);
            }
        }
        self.protected_paths.extend(guard.protected_paths.iter().cloned());
        self.ask.extend(guard.ask.iter().cloned());
        self.deny.extend(guard.deny.iter().cloned());
    }

    pub fn decision(&self, rule: &Rule) -> Decision {
        let group = rule.id.split('.').next().unwrap_or(rule.id);
        let choice = self.rules.get(rule.id).or_else(|| self.rules.get(group)).copied().flatten();
        let own = choice.unwrap_or(match self.profile {
            Profile::Strict => rule.decision,
            Profile::Balanced => rule.balanced,
            Profile::Quiet => rule.quiet,
        });
        let tighter = self.tighter.get(rule.id).or_else(|| self.tighter.get(group)).copied();
        tighter.map_or(own, |tighter| own.max(tighter))
    }

    /// Whether the user has allowed exactly this command; a final `*` stands for any further words.
    pub fn allows(&self, words: &[String]) -> bool {
        self.allow.iter().any(|allowed| pattern::is_exactly(allowed, words))
    }
}

/// What is wrong with the guard's settings: unknown ids, values and patterns.
pub fn problems(guard: &config::Guard) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(profile) = guard.profile.as_deref().filter(|name| Profile::by_name(name).is_none()) {
        let names: Vec<&str> = PROFILES.iter().map(|(name, ..)| *name).collect();
        found.push(format!("guard.profile is {profile:?}{}", instead(profile, &names)));
    }
    for (id, choice) in &guard.rules {
        let plain = id.trim_end_matches(".*");
        let groups = RULES.iter().map(|rule| rule.id.split('.').next().unwrap_or(rule.id));
        let mut known: Vec<&str> = RULES.iter().map(|rule| rule.id).chain(groups).collect();
        known.dedup();
        if !known.contains(&plain) {
            found.push(format!("guard.rules has no rule {id:?}{}", instead(plain, &known)));
        }
        if !SETTINGS.contains(&choice.as_str()) {
            found.push(format!("guard.rules[{id:?}] is {choice:?}{}", instead(choice, &SETTINGS)));
        }
    }
    for (key, patterns) in [("ask", &guard.ask), ("deny", &guard.deny), ("allow", &guard.allow)] {
        for text in patterns {
            let words = pattern::split(text);
            let program = words.first().map_or("", |word| word.as_ref());
            if program.trim_matches('*').is_empty() || program.starts_with(['-', '!']) {
                found.push(format!(
                    "guard.{key} has {text:?}, which names no program; write it like \"terraform apply *\""
                ));
            }
        }
    }
    if let Some(other) = guard.on_failure.as_deref().filter(|value| !matches!(*value, "continue" | "block")) {
        found.push(format!("guard.on_failure is {other:?}{}", instead(other, &["continue", "block"])));
    }
    for (dir, settings) in &guard.projects {
        found.extend(problems(settings).into_iter().map(|problem| format!("{problem} (for {dir})")));
    }
    found
}

/// The most likely word, or all possible ones.
fn instead(word: &str, known: &[&str]) -> String {
    match likely(word, known) {
        Some(known) => format!("; did you mean {known:?}?"),
        _ if known.len() < 8 => format!("; it can be {}", known.join(", ")),
        _ => "; `headspace guard rules` lists them".to_owned(),
    }
}

/// The known word that was probably meant.
pub fn likely<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let near = known.iter().map(|known| (distance(word, known), *known)).min();
    near.filter(|(distance, _)| *distance <= 2 + word.len() / 8).map(|(_, known)| known)
}

/// How many letters must be added, removed, changed or swapped.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The client accepts 2000 characters; commands in a reason are cut much earlier.
const MAX_SUBJECT_CHARS: usize = 200;

/// The wording of a verdict: what the rule says, what to do instead, how to change it.
pub fn verdict(rule: &Rule, decision: Decision, subject: &str, config_file: &str) -> Verdict {
    let subject = headspace_core::text::one_line(subject, MAX_SUBJECT_CHARS);
    let lead = if subject.is_empty() { "This call".to_owned() } else { format!("`{subject}`") };
    let config_file = headspace_core::text::one_line(config_file, 300);
    // What it could be set to, not what it is set to already.
    let other = if decision == Decision::Deny { "\"ask\" or \"off\"" } else { "\"deny\" or \"off\"" };
    let way = match rule.id.strip_prefix("custom.") {
        Some(list) => format!("their own \"guard\": {{\"{list}\": […]}} in {config_file} says so"),
        None => format!(
            "the user can change it with \"guard\": {{\"rules\": {{\"{}\": {other}}}}} in {config_file}",
            rule.id
        ),
    };
    let finding = format!("{lead} {}. {}", rule.what, rule.instead);
    let reason = format!("{finding} (headspace guard, rule {}; {way})", rule.id);
    Verdict {
        decision,
        rule: Some(rule.id.to_owned()),
        finding: Some(finding),
        reason: Some(reason),
        pattern: None,
        subject: Some(subject),
    }
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
    fn settings_apply_per_rule_group_and_project() {
        let guard: config::Guard = serde_json::from_str(
            r#"{"rules": {"git.discard": "ask", "kill": "off"}, "allowed_commands": ["sudo apt update", "make *"],
                "projects": {"~/proj": {"rules": {"git.discard": "off", "kill.*": "on"}}}}"#,
        )
        .unwrap();
        let outside = Policy::of(&guard, &["/home/dev/other".into()], "/home/dev");
        let inside = Policy::of(&guard, &["/home/dev/proj/sub".into()], "/home/dev");
        assert_eq!(outside.decision(&GIT_DISCARD), Decision::Ask);
        assert_eq!(outside.decision(&KILL_PATTERN), Decision::Allow);
        assert_eq!(inside.decision(&GIT_DISCARD), Decision::Allow);
        assert_eq!(inside.decision(&KILL_PATTERN), Decision::Deny);
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(outside.allows(&words("sudo apt update")) && outside.allows(&words("make a b")));
        assert!(!outside.allows(&words("sudo apt update x")) && !outside.allows(&words("sudo")));
    }

    #[test]
    fn a_project_only_tightens() {
        let parse = |text: &str| serde_json::from_str::<config::Guard>(text).unwrap();
        let user = parse(r#"{"profile": "balanced", "rules": {"git.no-verify": "off", "kill": "deny"}}"#);
        let mut policy = Policy::of(&user, &[], "/home/dev");
        assert_eq!(policy.decision(&WRITE_ENV), Decision::Ask);
        policy.tighten(&parse(
            r#"{"profile": "quiet", "allow": ["sudo *"], "rules": {"git.no-verify": "ask", "kill": "off",
                "git.discard": "off", "write.env": "deny"}, "deny": ["make deploy"]}"#,
        ));
        assert_eq!(policy.profile, Profile::Balanced);
        assert_eq!(policy.decision(&GIT_NO_VERIFY), Decision::Ask);
        assert_eq!(policy.decision(&KILL_PATTERN), Decision::Deny);
        assert_eq!(policy.decision(&GIT_DISCARD), Decision::Deny);
        assert_eq!(policy.decision(&WRITE_ENV), Decision::Deny);
        assert!(policy.allow.is_empty() && policy.deny == ["make deploy"]);
    }

    #[test]
    fn typos_are_reported_with_the_likely_word() {
        for (settings, told) in [
            (r#"{"rules": {"git.discrad": "ask"}}"#, Some("did you mean \"git.discard\"?")),
            (r#"{"rules": {"git.discard": "aks"}}"#, Some("did you mean \"ask\"?")),
            (r#"{"rules": {"gti": "ask"}}"#, Some("did you mean \"git\"?")),
            (r#"{"rules": {"something.else": "ask"}}"#, Some("`headspace guard rules` lists them")),
            (r#"{"rules": {"git": "off", "cloud.*": "deny", "write.env": "on"}}"#, None),
            (r#"{"profile": "balancd"}"#, Some("did you mean \"balanced\"?")),
            (r#"{"profile": "loud"}"#, Some("it can be strict, balanced, quiet")),
            (r#"{"on_failure": "blok"}"#, Some("did you mean \"block\"?")),
            (r#"{"deny": ["--force"]}"#, Some("names no program")),
            (r#"{"allow": ["*"]}"#, Some("names no program")),
            (r#"{"ask": ["terraform apply *"], "deny": ["npm publish"]}"#, None),
            (r#"{"projects": {"~/x": {"rules": {"kil": "off"}}}}"#, Some("(for ~/x)")),
        ] {
            let found = problems(&serde_json::from_str(settings).unwrap());
            match told {
                None => assert!(found.is_empty(), "{settings}: {found:?}"),
                Some(told) => assert!(found.iter().any(|line| line.contains(told)), "{settings}: {found:?}"),
            }
        }
    }
}
