//! The two hook dialects as tables: what they read, when, and what they do with it.
//!
//! `claude` is Claude Code 2.1; `wave` is the Wave agent, whose configuration looks the same and means something else
//! in a dozen places. Code that differs between them asks a column here.

use crate::settings::schema::Shape;
use headspace_core::model::event_names;

/// A family of hook configurations.
#[derive(Debug)]
pub struct Dialect {
    pub name: &'static str,
    /// The name of the client in messages.
    pub client: &'static str,
    /// The directory of `settings.json` below the home and the project directory.
    pub directory: &'static str,
    pub events: &'static [EventRule],
    pub types: &'static [&'static str],
    pub(crate) fields: &'static [HookField],
    /// Settings next to `hooks` whose wrong type makes the client drop the whole file.
    pub(crate) top: &'static [(&'static str, Shape)],
    pub matching: Matching,
    /// A problem in an entry is always an error; otherwise the event decides between error and warning.
    pub strict: bool,
    /// Groups need at least one hook.
    pub filled_groups: bool,
    /// A file with only blanks causes a warning.
    pub blank_file_warning: bool,
    /// Hooks start together; otherwise they run one after another.
    pub together: bool,
    /// Identical hooks of one event run once.
    pub doubles_run_once: bool,
    /// JSON on standard output is obeyed.
    pub reads_json: bool,
    /// The hook's working directory is the payload's `cwd`; otherwise the project.
    pub follows_cwd: bool,
    pub project_variable: &'static str,
    /// Managed settings, plugins and `disableAllHooks` exist.
    pub has_policies: bool,
    pub default_timeout: f64,
}

/// How a matcher is compared with the match value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// Exact names, or a JavaScript regular expression.
    NamesOrRegex,
    /// Names compared without case, or globs, separated by `|`.
    Globs,
}

/// How an event treats its hooks.
#[derive(Clone, Copy, Debug)]
pub struct EventRule {
    pub name: &'static str,
    /// The payload field a matcher is compared with.
    pub match_field: Option<&'static str>,
    pub(crate) matcher: MatcherUse,
    /// Only letters, digits, `_` and `|` make exact names; a `,`, `-` or blank already makes a regular expression.
    pub narrow_names: bool,
    /// One bad entry disables the whole file.
    pub guards: bool,
    /// A hook's `if` is evaluated; at other events such a hook never runs.
    pub conditional: bool,
    /// Hooks of type http are run.
    pub http: bool,
    pub(crate) exit_2: Exit2,
    /// `"decision": "block"` is obeyed.
    pub decision: bool,
    /// `"onFailure": "block"` is obeyed.
    pub on_failure: bool,
    /// Standard output that is not JSON goes to the model.
    pub plain_context: bool,
    /// Seconds, where it differs from the dialect's default.
    pub timeout: Option<f64>,
    /// Hooks get `CLAUDE_ENV_FILE`.
    pub env_file: bool,
    /// The hook does the work itself and must print the path it created.
    pub needs_path: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatcherUse {
    Optional,
    /// Read, but without effect.
    Ignored,
    Required,
    Forbidden,
}

/// What exit code 2 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit2 {
    Blocks,
    TellsModel,
    Nothing,
}

/// A field of a hook entry.
#[derive(Debug)]
pub(crate) struct HookField {
    pub name: &'static str,
    pub shape: Shape,
    /// The hook types it belongs to; empty means all.
    pub types: &'static [&'static str],
    pub required: bool,
}

impl EventRule {
    /// From the client's table of events; the methods below add what is special.
    const fn of(index: usize) -> EventRule {
        let spec = &event_names::EVENTS[index];
        EventRule {
            name: spec.name,
            match_field: spec.match_field,
            matcher: if spec.match_field.is_some() { MatcherUse::Optional } else { MatcherUse::Ignored },
            narrow_names: false,
            guards: false,
            conditional: false,
            http: true,
            exit_2: if spec.exit_2_blocks { Exit2::Blocks } else { Exit2::Nothing },
            decision: spec.exit_2_blocks,
            on_failure: spec.exit_2_blocks,
            plain_context: false,
            timeout: None,
            env_file: false,
            needs_path: false,
        }
    }

    /// Looks up the client's `name` among its events, at compile time.
    const fn named(name: &str) -> EventRule {
        let mut index = 0;
        while index < event_names::EVENTS.len() {
            if same(event_names::EVENTS[index].name, name) {
                return EventRule::of(index);
            }
            index += 1;
        }
        panic!("no such event")
    }

    const fn guards(mut self) -> EventRule {
        self.guards = true;
        self
    }

    const fn conditional(mut self) -> EventRule {
        self.conditional = true;
        self
    }

    const fn narrow_names(mut self) -> EventRule {
        self.narrow_names = true;
        self
    }

    const fn no_http(mut self) -> EventRule {
        self.http = false;
        self
    }

    const fn exit_2(mut self, effect: Exit2) -> EventRule {
        self.exit_2 = effect;
        self
    }

    const fn decision(mut self) -> EventRule {
        self.decision = true;
        self
    }

    const fn on_failure(mut self, obeyed: bool) -> EventRule {
        self.on_failure = obeyed;
        self
    }

    const fn plain_context(mut self) -> EventRule {
        self.plain_context = true;
        self
    }

    const fn timeout(mut self, seconds: f64) -> EventRule {
        self.timeout = Some(seconds);
        self
    }

    const fn env_file(mut self) -> EventRule {
        self.env_file = true;
        self
    }

    const fn needs_path(mut self) -> EventRule {
        self.needs_path = true;
        self
    }

    const fn matcher(mut self, usage: MatcherUse) -> EventRule {
        self.matcher = usage;
        self
    }

    /// The event is about one tool call.
    pub fn is_tool_event(&self) -> bool {
        self.match_field == Some("tool_name")
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

const fn rule(name: &str) -> EventRule {
    EventRule::named(name)
}

/// In the client's own order.
const CLAUDE_EVENTS: [EventRule; 33] = [
    rule("PreToolUse").guards().conditional(),
    rule("PostToolUse").conditional().exit_2(Exit2::TellsModel).decision(),
    rule("PostToolUseFailure").conditional().exit_2(Exit2::TellsModel),
    rule("PostToolBatch"),
    rule("Notification"),
    rule("UserPromptSubmit").plain_context().timeout(30.0),
    rule("UserPromptExpansion").plain_context(),
    rule("SessionStart").plain_context().no_http().env_file(),
    rule("SessionEnd").timeout(1.5),
    rule("Stop").on_failure(false),
    rule("StopFailure").narrow_names(),
    rule("SubagentStart"),
    rule("SubagentStop").on_failure(false),
    rule("PreCompact"),
    rule("PostCompact"),
    rule("PreModelSwitch").timeout(30.0),
    rule("PostModelSwitch").plain_context().timeout(30.0),
    rule("PermissionRequest").guards().conditional().on_failure(true),
    rule("PermissionDenied").conditional(),
    rule("Setup").plain_context().no_http().env_file(),
    rule("TeammateIdle").on_failure(false),
    rule("TaskCreated"),
    rule("TaskCompleted").on_failure(false),
    rule("Elicitation"),
    rule("ElicitationResult").exit_2(Exit2::Blocks),
    rule("ConfigChange"),
    rule("WorktreeCreate").exit_2(Exit2::Blocks).needs_path(),
    rule("WorktreeRemove"),
    rule("InstructionsLoaded"),
    rule("CwdChanged").env_file(),
    rule("FileChanged").narrow_names().env_file(),
    rule("DirectoryAdded"),
    rule("MessageDisplay"),
];

const WAVE_EVENTS: [EventRule; 4] = [
    rule("PreToolUse").matcher(MatcherUse::Required),
    rule("PostToolUse").matcher(MatcherUse::Required).exit_2(Exit2::TellsModel),
    rule("UserPromptSubmit").matcher(MatcherUse::Forbidden).plain_context(),
    rule("Stop").matcher(MatcherUse::Forbidden),
];

const fn field(name: &'static str, shape: Shape, types: &'static [&'static str]) -> HookField {
    HookField { name, shape, types, required: false }
}

const fn needed(name: &'static str, shape: Shape, types: &'static [&'static str]) -> HookField {
    HookField { name, shape, types, required: true }
}

const ALL: &[&str] = &[];
const COMMAND: &[&str] = &["command"];
const HTTP: &[&str] = &["http"];

/// The client's own schema of entries. It accepts and ignores other fields.
const CLAUDE_FIELDS: [HookField; 21] = [
    needed("command", Shape::Text, COMMAND),
    needed("url", Shape::Url, HTTP),
    needed("server", Shape::Text, &["mcp_tool"]),
    needed("tool", Shape::Text, &["mcp_tool"]),
    needed("prompt", Shape::Text, &["prompt", "agent"]),
    field("args", Shape::Texts, COMMAND),
    field("shell", Shape::OneOf(&["bash", "powershell"]), COMMAND),
    field("async", Shape::Flag, COMMAND),
    field("asyncRewake", Shape::Flag, COMMAND),
    field("rewakeMessage", Shape::FilledText, COMMAND),
    field("rewakeSummary", Shape::FilledText, COMMAND),
    field("onFailure", Shape::OneOf(&["continue", "block"]), &["command", "http"]),
    field("headers", Shape::TextMap, HTTP),
    field("allowedEnvVars", Shape::Texts, HTTP),
    field("input", Shape::Object, &["mcp_tool"]),
    field("model", Shape::Text, &["prompt", "agent"]),
    field("continueOnBlock", Shape::Flag, &["prompt"]),
    field("timeout", Shape::Positive, ALL),
    field("if", Shape::Text, ALL),
    field("statusMessage", Shape::Text, ALL),
    field("once", Shape::Flag, ALL),
];

/// A wrong type in any setting it knows makes the client drop the file, including its hooks: observed with a dozen of
/// them. These are the ones people write by hand.
const CLAUDE_TOP: &[(&str, Shape)] = &[
    ("agent", Shape::Text),
    ("allowManagedHooksOnly", Shape::Flag),
    ("allowedHttpHookUrls", Shape::List),
    ("alwaysThinkingEnabled", Shape::Flag),
    ("autoMemoryEnabled", Shape::Flag),
    ("availableModels", Shape::List),
    ("cleanupPeriodDays", Shape::Number),
    ("companyAnnouncements", Shape::List),
    ("disableAllHooks", Shape::Flag),
    ("disabledMcpjsonServers", Shape::List),
    ("enableAllProjectMcpServers", Shape::Flag),
    ("enabledMcpjsonServers", Shape::List),
    ("enabledPlugins", Shape::Object),
    ("env", Shape::Object),
    ("fastMode", Shape::Flag),
    ("httpHookAllowedEnvVars", Shape::List),
    ("includeCoAuthoredBy", Shape::Flag),
    ("includeGitInstructions", Shape::Flag),
    ("language", Shape::Text),
    ("model", Shape::Text),
    ("otelHeadersHelper", Shape::Text),
    ("outputStyle", Shape::Text),
    ("permissions", Shape::Object),
    ("plansDirectory", Shape::Text),
    ("pluginConfigs", Shape::Object),
    ("prefersReducedMotion", Shape::Flag),
    ("respondToBashCommands", Shape::Flag),
    ("skipWebFetchPreflight", Shape::Flag),
    ("spinnerTipsEnabled", Shape::Flag),
    ("statusLine", Shape::Object),
];

const WAVE_FIELDS: [HookField; 3] = [
    needed("command", Shape::FilledText, COMMAND),
    field("timeout", Shape::FromZero, ALL),
    field("async", Shape::Flag, ALL),
];

pub static CLAUDE: Dialect = Dialect {
    name: "claude",
    client: "Claude Code",
    directory: ".claude",
    events: &CLAUDE_EVENTS,
    types: &["command", "http", "mcp_tool", "prompt", "agent"],
    fields: &CLAUDE_FIELDS,
    top: CLAUDE_TOP,
    matching: Matching::NamesOrRegex,
    strict: false,
    filled_groups: false,
    blank_file_warning: false,
    together: true,
    doubles_run_once: true,
    reads_json: true,
    follows_cwd: true,
    project_variable: "CLAUDE_PROJECT_DIR",
    has_policies: true,
    default_timeout: 600.0,
};

pub static WAVE: Dialect = Dialect {
    name: "wave",
    client: "Wave",
    directory: ".wave",
    events: &WAVE_EVENTS,
    types: &["command"],
    fields: &WAVE_FIELDS,
    top: &[],
    matching: Matching::Globs,
    strict: true,
    filled_groups: true,
    blank_file_warning: true,
    together: false,
    doubles_run_once: false,
    reads_json: false,
    follows_cwd: false,
    project_variable: "WAVE_PROJECT_DIR",
    has_policies: false,
    default_timeout: 600.0,
};

impl Dialect {
    /// Names are case sensitive.
    pub fn event(&self, name: &str) -> Option<&'static EventRule> {
        self.events.iter().find(|rule| rule.name == name)
    }

    /// The fields that an entry of this type may have; for an unknown type, those that all types share.
    pub(crate) fn fields_of<'a>(&'a self, kind: Option<&'a str>) -> impl Iterator<Item = &'a HookField> {
        self.fields.iter().filter(move |field| {
            field.types.is_empty() || kind.is_some_and(|kind| field.types.contains(&kind))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claude_table_has_every_event_of_the_client_in_its_order() {
        for (rule, spec) in CLAUDE.events.iter().zip(&event_names::EVENTS) {
            assert_eq!(rule.name, spec.name);
        }
    }

    #[test]
    fn exit_2_blocks_where_the_client_can_still_stop() {
        let blocking: Vec<_> =
            CLAUDE.events.iter().filter(|rule| rule.exit_2 == Exit2::Blocks).map(|rule| rule.name).collect();
        assert_eq!(
            blocking,
            [
                "PreToolUse",
                "PostToolBatch",
                "UserPromptSubmit",
                "UserPromptExpansion",
                "Stop",
                "SubagentStop",
                "PreCompact",
                "PreModelSwitch",
                "TeammateIdle",
                "TaskCreated",
                "TaskCompleted",
                "Elicitation",
                "ElicitationResult",
                "ConfigChange",
                "WorktreeCreate"
            ]
        );
    }
}
