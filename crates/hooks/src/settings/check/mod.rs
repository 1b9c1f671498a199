//! From the text of a settings file to its [`HookConfiguration`], with every problem found on the way.
//!
//! The rules are the client's own: what it rejects, what it drops, what it reads but never acts on.

mod spelling;

pub use crate::settings::check::spelling::nearest;

use crate::client_settings::entry::Role;
use crate::dialect::{Dialect, EventRule, MatcherUse, Matching};
use crate::json_spans;
use crate::json_spans::{JsonDocument, JsonKind, SpannedValue, SyntaxFault};
use crate::matching::condition;
use crate::matching::matcher;
use crate::settings::check::spelling::named_within;
use crate::settings::{
    Action, HookCommand, HookConfiguration, HookEntry, HookEventConfig, HttpRequest, Problem, Severity,
};

/// A timeout of this many seconds was most likely meant as milliseconds.
const LOOKS_LIKE_MILLISECONDS: f64 = 1000.0;

/// Events outside a conversation: there is no model to ask.
const EVENTS_OUTSIDE_TURNS: [&str; 11] = [
    "SessionStart",
    "SessionEnd",
    "Setup",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "WorktreeCreate",
    "WorktreeRemove",
    "MessageDisplay",
];

/// What became of a settings file.
#[derive(Debug, Default)]
pub struct CheckedSettings {
    pub configuration: HookConfiguration,
    pub problems: Vec<Problem>,
    /// The client ignores this file completely.
    pub out_of_effect: bool,
}

impl CheckedSettings {
    pub fn is_valid(&self) -> bool {
        !self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// A file that could not even be read as text.
    pub fn unreadable(message: String, position: json_spans::Position) -> CheckedSettings {
        let problem =
            Problem { position, path: String::new(), severity: Severity::Error, message, fix: None };
        CheckedSettings { problems: vec![problem], out_of_effect: true, ..CheckedSettings::default() }
    }
}

/// Reads the text of a settings file.
pub fn read(dialect: &'static Dialect, text: &str) -> CheckedSettings {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return blank(dialect);
    }
    let doc = match JsonDocument::parse(text) {
        Ok(doc) => doc,
        Err(error) => return not_json(dialect, text, &error),
    };
    let mut reader = Checker { dialect, reading: CheckedSettings::default() };
    for value in doc.duplicates() {
        let key = value.key().unwrap_or_default();
        let message = format!("duplicate key {key:?}: only this last one counts, the earlier one is ignored");
        reader.report_at(value.key_position(), value.path(), Severity::Warning, message, None);
    }
    reader.top(doc.root());
    let mut reading = reader.reading;
    if reading.out_of_effect {
        reading.configuration = HookConfiguration::default();
    }
    reading.problems.sort_by_key(|problem| problem.position);
    reading
}

fn blank(dialect: &Dialect) -> CheckedSettings {
    let mut reading = CheckedSettings::default();
    if dialect.blank_file_warning {
        reading.problems.push(Problem {
            position: json_spans::Position { line: 1, column: 1 },
            path: String::new(),
            severity: Severity::Warning,
            message: "the file is empty".into(),
            fix: Some("{}".into()),
        });
    }
    reading
}

fn not_json(dialect: &Dialect, text: &str, error: &json_spans::SyntaxError) -> CheckedSettings {
    let client = dialect.client;
    let message = format!("not valid JSON: {error}; {client} ignores the whole file");
    let mut reading = CheckedSettings::unreadable(message, json_spans::position(text, error.at));
    reading.problems[0].fix = match error.fault {
        SyntaxFault::Comment => Some("remove the comment".into()),
        SyntaxFault::TrailingComma => Some("remove the comma".into()),
        _ => None,
    };
    reading
}

struct Checker {
    dialect: &'static Dialect,
    reading: CheckedSettings,
}

impl Checker {
    fn top(&mut self, root: SpannedValue<'_>) {
        if root.kind() != JsonKind::Object {
            let client = self.dialect.client;
            let message = format!(
                "the top of the file must be an object, not {}; {client} ignores the whole file",
                root.kind()
            );
            self.report(root, Severity::Error, message, Some("{\"hooks\": {…}}".into()));
            self.reading.out_of_effect = true;
            return;
        }
        for (name, shape) in self.dialect.top {
            if let Some((value, fault)) = root.get(name).and_then(|value| Some((value, shape.fault(value)?)))
            {
                let message = format!("`{name}` {fault}; {} ignores the whole file", self.dialect.client);
                self.report(value, Severity::Error, message, None);
                self.reading.out_of_effect = true;
            }
        }
        if self.dialect.has_policies {
            self.policies(root);
        }
        self.reading.configuration.env = root
            .get("env")
            .into_iter()
            .flat_map(SpannedValue::members)
            .filter_map(|(name, value)| Some((name.to_owned(), variable(value)?)))
            .collect();
        let Some(hooks) = root.get("hooks") else { return };
        if hooks.kind() != JsonKind::Object {
            let message = format!(
                "`hooks` must be an object of events, not {}: there are no hooks in this file",
                hooks.kind()
            );
            self.report(hooks, Severity::Error, message, Some("{\"Stop\": [{\"hooks\": […]}]}".into()));
            return;
        }
        for (name, groups) in hooks.members() {
            match self.dialect.event(name) {
                Some(rule) => self.event(rule, groups),
                None => self.unknown_event(name, groups),
            }
        }
    }

    fn policies(&mut self, root: SpannedValue<'_>) {
        let configuration = &mut self.reading.configuration;
        configuration.managed_only =
            root.get("allowManagedHooksOnly").and_then(SpannedValue::flag) == Some(true);
        configuration.plugins = root
            .get("enabledPlugins")
            .into_iter()
            .flat_map(SpannedValue::members)
            .filter_map(|(id, value)| Some((id.to_owned(), value.flag()?)))
            .collect();
        let disable = root.get("disableAllHooks");
        configuration.disable_all = disable.and_then(SpannedValue::flag) == Some(true);
        if let (true, Some(value)) = (configuration.disable_all, disable) {
            let message = "disableAllHooks: no hooks run, including those in other files, and no status line";
            self.report(value, Severity::Warning, message.into(), Some("false, or remove it".into()));
        }
    }

    fn unknown_event(&mut self, name: &str, groups: SpannedValue<'_>) {
        let names = self.dialect.events.iter().map(|rule| rule.name);
        let fix = nearest(name, names.clone()).or_else(|| named_within(name, names)).map(str::to_owned);
        let client = self.dialect.client;
        let meant = fix.as_deref().map_or_else(String::new, |fix| format!("; did you mean {fix}?"));
        let (severity, message) = if self.dialect.strict {
            (Severity::Error, format!("{name:?} is not an event of {client}: it is ignored{meant}"))
        } else {
            (Severity::Warning, format!("unknown event {name:?}: {client} ignores it{meant}"))
        };
        self.report(groups, severity, message, fix);
    }

    fn event(&mut self, rule: &'static EventRule, groups: SpannedValue<'_>) {
        if groups.kind() != JsonKind::List {
            let message =
                format!("`{}` must be an array (a list of groups), not {}", rule.name, groups.kind());
            self.bad(rule, groups, message, Some("[{\"hooks\": […]}]".into()));
            return;
        }
        for (index, group) in groups.items().enumerate() {
            self.group(rule, index, group);
        }
    }

    fn group(&mut self, rule: &'static EventRule, index: usize, group: SpannedValue<'_>) {
        if group.kind() != JsonKind::Object {
            let message = format!("a group must be an object with `hooks`, not {}", group.kind());
            let fix = group.text().map(|command| {
                format!("{{\"hooks\": [{{\"type\": \"command\", \"command\": {command:?}}}]}}")
            });
            self.bad(rule, group, message, fix);
            return;
        }
        let matcher_is_usable = self.matcher(rule, group);
        let Some(hooks) = group.get("hooks") else {
            let unwrapped = group.get("type").is_some() || group.get("command").is_some();
            let message = if unwrapped {
                "this is a hook without its group: a group object with `hooks` must be around it"
            } else {
                "the group has no `hooks`, the list of what to run"
            };
            let fix = unwrapped.then(|| format!("{{\"hooks\": [{}]}}", one_line(group.source())));
            self.bad(rule, group, message.into(), fix);
            return;
        };
        if hooks.kind() != JsonKind::List {
            let message = format!("`hooks` of a group must be an array (a list), not {}", hooks.kind());
            let fix = (hooks.kind() == JsonKind::Object).then(|| format!("[{}]", one_line(hooks.source())));
            self.bad(rule, hooks, message, fix);
            return;
        }
        if self.dialect.filled_groups && hooks.items().next().is_none() {
            self.bad(rule, hooks, "`hooks` must not be empty: at least one hook".into(), None);
            return;
        }
        let matcher = group.get("matcher").and_then(SpannedValue::text).filter(|_| matcher_is_usable);
        let entries: Vec<HookEntry> =
            hooks.items().filter_map(|hook| self.entry(rule, hook, matcher)).collect();
        if matcher_is_usable {
            let matcher = matcher.map(str::to_owned);
            self.reading.configuration.groups.push(HookEventConfig {
                event: rule.name,
                index,
                matcher,
                hooks: entries,
            });
        }
    }

    /// Whether the group can be used with the matcher it has, or with none.
    fn matcher(&mut self, rule: &'static EventRule, group: SpannedValue<'_>) -> bool {
        let Some(value) = group.get("matcher") else {
            if rule.matcher == MatcherUse::Required {
                let message = format!("`matcher` is required on {}", rule.name);
                self.bad(rule, group, message, Some("\"matcher\": \"*\"".into()));
                return false;
            }
            return true;
        };
        if rule.matcher == MatcherUse::Forbidden {
            let message = format!("{} has no `matcher`: it is not about a tool", rule.name);
            self.bad(rule, value, message, Some("remove the matcher".into()));
            return false;
        }
        let Some(text) = value.text() else {
            let message = format!("`matcher` must be a text, not {}", value.kind());
            let texts: Option<Vec<&str>> = value.items().map(SpannedValue::text).collect();
            let fix = texts.filter(|texts| !texts.is_empty()).map(|texts| format!("{:?}", texts.join("|")));
            self.bad(rule, value, message, fix);
            return false;
        };
        match self.dialect.matching {
            Matching::Globs => self.glob(rule, value, text),
            Matching::NamesOrRegex => {
                self.names_or_regex(rule, value, text);
                true
            }
        }
    }

    fn glob(&mut self, rule: &'static EventRule, value: SpannedValue<'_>, text: &str) -> bool {
        if let Some(fault) = matcher::glob_fault(text) {
            self.bad(rule, value, format!("`matcher` {fault}"), None);
            return false;
        }
        if matcher::glob_is_dead(text) {
            let message = format!(
                "this matcher can never match a tool: {} compares names and globs (* ? [..]), split at |",
                self.dialect.client
            );
            self.report(value, Severity::Warning, message, None);
        }
        true
    }

    fn names_or_regex(&mut self, rule: &'static EventRule, value: SpannedValue<'_>, text: &str) {
        if rule.matcher == MatcherUse::Ignored {
            if !text.is_empty() && text != "*" {
                let message =
                    format!("the matcher is ignored: {} has no match value, the hooks always run", rule.name);
                self.report(value, Severity::Warning, message, Some("remove the matcher".into()));
            }
            return;
        }
        for (why, fix) in matcher::never_matches(rule, text) {
            self.report(value, Severity::Warning, format!("this will never match: {why}"), fix);
        }
    }

    fn entry(
        &mut self,
        rule: &'static EventRule,
        hook: SpannedValue<'_>,
        matcher: Option<&str>,
    ) -> Option<HookEntry> {
        if hook.kind() != JsonKind::Object {
            let message = format!("a hook must be an object, not {}", hook.kind());
            let fix = hook.text().map(|text| format!("{{\"type\": \"command\", \"command\": {text:?}}}"));
            self.bad(rule, hook, message, fix);
            return None;
        }
        let (kind, mut usable) = self.kind(rule, hook);
        for field in self.dialect.fields_of(kind) {
            let fault = match hook.get(field.name) {
                Some(value) => {
                    field.shape.fault(value).map(|fault| (value, format!("`{}` {fault}", field.name)))
                }
                None if field.required => Some((hook, format!("`{}` is missing", field.name))),
                None => None,
            };
            if let Some((value, message)) = fault {
                self.bad(rule, value, message, None);
                usable = false;
            }
        }
        let entry = usable.then(|| entry_of(kind?, hook)).flatten()?;
        self.never_as_meant(rule, hook, matcher, &entry);
        Some(entry)
    }

    fn kind<'v>(&mut self, rule: &'static EventRule, hook: SpannedValue<'v>) -> (Option<&'v str>, bool) {
        let types = self.dialect.types;
        // Where there is one type, the other fields can only be meant for that one.
        let meant = if let [only] = types { Some(*only) } else { None };
        let wanted = || types.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let Some(value) = hook.get("type") else {
            let message = format!("`type` is missing: one of {}", wanted());
            self.bad(rule, hook, message, Some("\"type\": \"command\"".into()));
            return (meant, false);
        };
        match value.text() {
            Some(kind) if types.contains(&kind) => (Some(kind), true),
            text => {
                let message = format!("`type` must be one of {}", wanted());
                let fix =
                    text.and_then(|text| nearest(text, types.iter().copied())).map(|t| format!("{t:?}"));
                self.bad(rule, value, message, fix);
                (meant, false)
            }
        }
    }

    /// An `if` that is not closed, or that the matcher of its own group rules out.
    fn condition(&mut self, rule: &'static EventRule, value: SpannedValue<'_>, matcher: Option<&str>) {
        let Some(text) = value.text().map(str::trim) else { return };
        let open = text.matches('(').count();
        if open != text.matches(')').count() || open > 0 && !text.ends_with(')') {
            let message = format!("`if` is not closed: {text:?} names no tool, so the hook will never run");
            let fix = text.contains('(').then(|| format!("{:?}", format!("{})", text.trim_end_matches(')'))));
            self.report(value, Severity::Warning, message, fix);
            return;
        }
        let (tool, _) = condition::parse(text);
        let excluded = matcher.is_some_and(|matcher| {
            !tool.contains('*') && !matcher::matches(self.dialect.matching, rule, Some(matcher), Some(tool))
        });
        if excluded {
            let matcher = matcher.unwrap_or_default();
            let message =
                format!("matcher {matcher:?} and `if` {text:?} exclude each other: the hook will never run");
            self.report(value, Severity::Warning, message, None);
        }
    }

    /// Types and urls that the client accepts but does not run, or runs without what they need.
    fn client_types(&mut self, rule: &'static EventRule, hook: SpannedValue<'_>) {
        let Some(kind) = hook.get("type") else { return };
        match kind.text() {
            Some("agent") if rule.name == "PermissionRequest" => {
                let message = "agent hooks are not run on PermissionRequest".to_owned();
                self.report(kind, Severity::Warning, message, Some("\"command\"".into()));
            }
            Some(name @ ("prompt" | "agent")) if EVENTS_OUTSIDE_TURNS.contains(&rule.name) => {
                let message =
                    format!("{name} hooks are not run on {}: there is no conversation then", rule.name);
                self.report(kind, Severity::Warning, message, Some("\"command\"".into()));
            }
            Some("http") => self.request(hook),
            _ => {}
        }
    }

    fn request(&mut self, hook: SpannedValue<'_>) {
        if let Some(url) = hook.get("url")
            && let Some(scheme) = url.text().and_then(|text| text.split(':').next())
            && !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
        {
            let message = format!("{scheme}: is not a scheme that http hooks are sent to: it will never run");
            self.report(url, Severity::Warning, message, Some("\"http://…\" or \"https://…\"".into()));
        }
        let allowed: Vec<&str> = hook
            .get("allowedEnvVars")
            .into_iter()
            .flat_map(SpannedValue::items)
            .filter_map(SpannedValue::text)
            .collect();
        for (name, header) in hook.get("headers").into_iter().flat_map(SpannedValue::members) {
            for variable in variables_in(header.text().unwrap_or_default()) {
                if !allowed.contains(&variable) {
                    let message = format!(
                        "${variable} in the header {name:?} is not in allowedEnvVars: it becomes empty"
                    );
                    let fix = format!("\"allowedEnvVars\": [\"{variable}\"]");
                    self.report(header, Severity::Warning, message, Some(fix));
                }
            }
        }
    }

    /// Entries that the client accepts and then treats differently from what their author expects.
    fn never_as_meant(
        &mut self,
        rule: &'static EventRule,
        hook: SpannedValue<'_>,
        matcher: Option<&str>,
        entry: &HookEntry,
    ) {
        if self.dialect.strict {
            return;
        }
        let condition = hook.get("if").filter(|condition| condition.text() != Some(""));
        if let (Some(condition), false) = (condition, rule.conditional) {
            let message =
                format!("a hook with `if` will never run on {}: `if` is for tool events", rule.name);
            self.report(condition, Severity::Warning, message, Some("take `if` out".into()));
        }
        if let (Some(kind), false) = (hook.get("type").filter(|kind| kind.text() == Some("http")), rule.http)
        {
            let message = format!("http hooks are not run on {}", rule.name);
            self.report(kind, Severity::Warning, message, Some("\"command\", with curl".into()));
        }
        if let (Some(condition), true) = (condition, rule.conditional) {
            self.condition(rule, condition, matcher);
        }
        self.client_types(rule, hook);
        // Ours waits for a person, and means its hours.
        let waits = entry.role(None) == Some(Role::Wait);
        if let Some(timeout) = hook.get("timeout").filter(|_| !waits)
            && let Some(seconds) = timeout.number().filter(|number| *number >= LOOKS_LIKE_MILLISECONDS)
        {
            let message = format!("timeout is in seconds: this is {}", in_words(seconds));
            let fix = (seconds % 1000.0 == 0.0).then(|| format!("{}", seconds / 1000.0));
            self.report(timeout, Severity::Warning, message, fix);
        }
    }

    /// A problem that costs the entry, or the whole file if the event guards something.
    fn bad(&mut self, rule: &EventRule, value: SpannedValue<'_>, message: String, fix: Option<String>) {
        let client = self.dialect.client;
        let (severity, message) = if self.dialect.strict {
            (Severity::Error, format!("{message}; {client} ignores it"))
        } else if rule.guards {
            self.reading.out_of_effect = true;
            let why = format!("because {} hooks may guard the user", rule.name);
            (Severity::Error, format!("{message}; {client} ignores the whole file, {why}"))
        } else {
            (Severity::Warning, format!("{message}; {client} drops this entry"))
        };
        self.report(value, severity, message, fix);
    }

    fn report(&mut self, value: SpannedValue<'_>, severity: Severity, message: String, fix: Option<String>) {
        self.report_at(value.position(), value.path(), severity, message, fix);
    }

    fn report_at(
        &mut self,
        position: json_spans::Position,
        path: String,
        severity: Severity,
        message: String,
        fix: Option<String>,
    ) {
        self.reading.problems.push(Problem { position, path, severity, message, fix });
    }
}

/// The entry, from a value whose fields have been checked.
fn entry_of(kind: &str, hook: SpannedValue<'_>) -> Option<HookEntry> {
    let text = |name: &str| hook.get(name).and_then(SpannedValue::text).map(str::to_owned);
    let texts = |name: &str| {
        hook.get(name)
            .map(|list| list.items().filter_map(SpannedValue::text).map(str::to_owned).collect::<Vec<_>>())
    };
    let action = match kind {
        "command" => Action::Command(HookCommand {
            command: text("command")?,
            args: texts("args"),
            shell: text("shell"),
        }),
        "http" => Action::Http(HttpRequest {
            url: text("url")?,
            headers: hook
                .get("headers")
                .into_iter()
                .flat_map(SpannedValue::members)
                .filter_map(|(name, value)| Some((name.to_owned(), value.text()?.to_owned())))
                .collect(),
            allowed_env_vars: texts("allowedEnvVars").unwrap_or_default(),
        }),
        "mcp_tool" => Action::ClientOnly {
            kind: kind.to_owned(),
            what: format!("mcp__{}__{}", text("server")?, text("tool")?),
        },
        _ => Action::ClientOnly { kind: kind.to_owned(), what: text("prompt")? },
    };
    let flag = |name: &str| hook.get(name).and_then(SpannedValue::flag) == Some(true);
    Some(HookEntry {
        action,
        condition: text("if").filter(|rule| !rule.is_empty()),
        timeout: hook.get("timeout").and_then(SpannedValue::number).filter(|seconds| *seconds > 0.0),
        blocks_on_failure: text("onFailure").as_deref() == Some("block"),
        detached: flag("async") || flag("asyncRewake"),
        once: flag("once"),
        position: hook.position(),
        what_position: ["command", "url", "prompt", "tool"]
            .iter()
            .find_map(|name| hook.get(name))
            .map_or(hook.position(), SpannedValue::position),
        path: hook.path(),
    })
}

/// Numbers and flags are as good as text here.
fn variable(value: SpannedValue<'_>) -> Option<String> {
    match value.kind() {
        JsonKind::Text => value.text().map(str::to_owned),
        JsonKind::Number | JsonKind::Bool => Some(value.source().to_owned()),
        _ => None,
    }
}

fn in_words(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    if minutes < 120.0 { format!("{minutes:.0} minutes") } else { format!("{:.1} hours", minutes / 60.0) }
}

fn one_line(source: &str) -> String {
    source.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names of `$NAME` and `${NAME}` in a text.
fn variables_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = rest[at + 1..].strip_prefix('{').unwrap_or(&rest[at + 1..]);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 {
            found.push(&rest[..end]);
        }
        rest = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests;
