//! The model of a hook configuration: what one settings file says.

pub mod check;
mod plugins;
pub(crate) mod schema;
pub mod sources;

use crate::client_settings::entry::{Call, Role, role_of};
use crate::json_spans::Position;
use std::fmt;

/// What one file says about hooks. It contains only usable entries; what is wrong with the others is in the list of
/// problems.
#[derive(Clone, Debug, Default)]
pub struct HookConfiguration {
    pub groups: Vec<HookEventConfig>,
    /// `disableAllHooks: true`
    pub disable_all: bool,
    /// `allowManagedHooksOnly: true`, which counts in managed settings only
    pub managed_only: bool,
    /// `env`: variables the file sets
    pub env: Vec<(String, String)>,
    /// `enabledPlugins`: plugin id ▶ on or off
    pub plugins: Vec<(String, bool)>,
}

/// A group: the hooks that share a matcher.
#[derive(Clone, Debug)]
pub struct HookEventConfig {
    pub event: &'static str,
    /// The index of the group in the event's list, from 0, unusable groups included.
    pub index: usize,
    pub matcher: Option<String>,
    pub hooks: Vec<HookEntry>,
}

/// One hook.
#[derive(Clone, Debug)]
pub struct HookEntry {
    pub action: Action,
    /// `if`: a permission rule the tool call must meet
    pub condition: Option<String>,
    /// Seconds
    pub timeout: Option<f64>,
    /// `onFailure: "block"`
    pub blocks_on_failure: bool,
    /// `async`: started and not waited for
    pub detached: bool,
    /// `once`, which the client ignores in settings files
    pub once: bool,
    pub position: Position,
    /// Where the command or the url is written.
    pub what_position: Position,
    pub path: String,
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Command(HookCommand),
    Http(HttpRequest),
    /// Types that only the client itself can run: the type, and what identifies the entry.
    ClientOnly {
        kind: String,
        what: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct HookCommand {
    pub command: String,
    /// With arguments, the program is started directly, without a shell.
    pub args: Option<Vec<String>>,
    pub shell: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub allowed_env_vars: Vec<String>,
}

impl HookCommand {
    pub fn shell(&self) -> &str {
        self.shell.as_deref().unwrap_or("bash")
    }
}

impl HookEntry {
    pub fn kind(&self) -> &str {
        match &self.action {
            Action::Command(_) => "command",
            Action::Http(_) => "http",
            Action::ClientOnly { kind, .. } => kind,
        }
    }

    /// The command, the url, or whatever else identifies the entry to a person.
    pub fn what(&self) -> &str {
        match &self.action {
            Action::Command(command) => &command.command,
            Action::Http(request) => &request.url,
            Action::ClientOnly { what, .. } => what,
        }
    }

    /// What a command starts, as a person would type it; otherwise what identifies the entry.
    pub fn started(&self) -> String {
        match &self.action {
            Action::Command(HookCommand { command, args: Some(args), .. }) => {
                [std::slice::from_ref(command), args].concat().join(" ")
            }
            _ => self.what().to_owned(),
        }
    }

    /// The part of headspace that the entry starts, if any; `program` as for [`role_of`].
    pub fn role(&self, program: Option<&str>) -> Option<Role> {
        let Action::Command(command) = &self.action else { return None };
        let call = match &command.args {
            Some(args) => Call::Exec { program: command.command.clone(), args: args.clone() },
            None => Call::Shell(command.command.clone()),
        };
        role_of(&call, program)
    }

    /// Whether the client treats both as one hook and runs it once: timeout, matcher and `async` do not matter.
    pub fn is_double_of(&self, other: &HookEntry) -> bool {
        let same_action = match (&self.action, &other.action) {
            (Action::Http(ours), Action::Http(theirs)) => ours.url == theirs.url,
            (Action::Command(ours), Action::Command(theirs)) => {
                ours.command == theirs.command && ours.args == theirs.args && ours.shell() == theirs.shell()
            }
            (ours, theirs) => ours == theirs,
        };
        same_action && self.condition == other.condition
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    /// Worth a look, but the client does what is written.
    Hint,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "hint",
        })
    }
}

/// Something wrong with a settings file.
#[derive(Clone, Debug)]
pub struct Problem {
    pub position: Position,
    /// `hooks.PreToolUse[0].hooks[1].timeout`; for a missing field, the object that lacks it
    pub path: String,
    pub severity: Severity,
    pub message: String,
    /// What to write instead.
    pub fix: Option<String>,
}
