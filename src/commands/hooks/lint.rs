//! Hints about entries that the client accepts but that probably do not do what their author wants.

use headspace_hooks::dialect::{Dialect, EventRule};
use headspace_hooks::json_spans::Position;
use headspace_hooks::matching::matcher;
use headspace_hooks::matching::pattern::{Fault, GaveUp, Pattern};
use headspace_hooks::matching::values;
use headspace_hooks::running::http;
use headspace_hooks::settings::sources::{FoundHook, Sources};
use headspace_hooks::settings::{Action, HookCommand, Problem, Severity};
use headspace_hooks::shell_words;
use headspace_hooks::shell_words::ShellWord;
use headspace_hooks::tools;
use headspace_platform::config;
use std::path::{Path, PathBuf};

/// What to say about an event whatever the hook is.
const EVENT_HINTS: &[(&str, &str)] = &[
    (
        "WorktreeCreate",
        "this hook replaces `git worktree add`: if it prints no path, no worktree can be created",
    ),
    ("MessageDisplay", "this runs for every piece of text that is shown: it costs time every time"),
];

/// Shell builtins: nothing to look up.
const BUILTINS: &[&str] = &[
    ".", ":", "!", "[", "[[", "{", "(", "alias", "bg", "break", "case", "cd", "continue", "echo", "eval",
    "exit", "export", "false", "fg", "for", "function", "getopts", "hash", "if", "jobs", "kill", "let",
    "local", "printf", "pwd", "read", "readonly", "return", "select", "set", "shift", "source", "test",
    "time", "times", "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
];

/// Programs that run the program named after them.
const LAUNCHERS: &[&str] = &["exec", "command", "nohup", "env"];

/// Programs whose first argument is a script.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "fish", "python", "python3", "node", "bun", "deno", "ruby", "perl", "pwsh",
];

/// Checks every usable hook.
pub fn hints(sources: &Sources) -> Vec<(PathBuf, Problem)> {
    let mut hints = Vec::new();
    let mut seen_groups: Vec<*const headspace_hooks::settings::HookEventConfig> = Vec::new();
    for found in sources.hooks() {
        let Some(rule) = sources.dialect.event(found.group.event) else { continue };
        let mut adviser =
            Adviser { dialect: sources.dialect, project: &sources.project, found, notes: Vec::new() };
        adviser.entry(rule);
        // Once per group, not per hook in it.
        let group: *const _ = found.group;
        if !seen_groups.contains(&group) {
            seen_groups.push(group);
            adviser.matcher(rule);
        }
        hints.extend(adviser.notes.into_iter().map(|hint| (found.source.path.clone(), hint)));
    }
    hints
}

struct Adviser<'s> {
    dialect: &'static Dialect,
    project: &'s Path,
    found: FoundHook<'s>,
    notes: Vec<Problem>,
}

impl Adviser<'_> {
    fn say(&mut self, position: Position, field: &str, message: String, fix: Option<String>) {
        let entry = &self.found.entry.path;
        let path = if field.is_empty() { entry.clone() } else { format!("{entry}.{field}") };
        self.notes.push(Problem { position, path, severity: Severity::Hint, message, fix });
    }

    fn command_says(&mut self, message: String, fix: Option<String>) {
        self.say(self.found.entry.what_position, "command", message, fix);
    }

    fn entry(&mut self, rule: &EventRule) {
        let entry = self.found.entry;
        match &entry.action {
            Action::Command(command) if command.args.is_some() => self.exec_form(command),
            Action::Command(command) => self.shell_form(&command.command),
            Action::Http(request) => {
                if let Some(why) = http::refused(&request.url) {
                    self.say(entry.what_position, "url", why, None);
                }
                if entry.timeout.is_none() {
                    let default = rule.timeout.unwrap_or(self.dialect.default_timeout);
                    let message =
                        format!("without `timeout` a server that hangs costs {default} s on every event");
                    self.say(entry.position, "", message, Some("\"timeout\": 2".into()));
                }
            }
            Action::ClientOnly { .. } => {}
        }
        if self.dialect.has_policies {
            self.client_quirks(rule);
        }
    }

    fn client_quirks(&mut self, rule: &EventRule) {
        let entry = self.found.entry;
        if let Some((_, message)) = EVENT_HINTS.iter().find(|(name, _)| *name == rule.name) {
            self.say(entry.position, "", (*message).to_owned(), None);
        }
        if rule.name == "SessionEnd" {
            match entry.timeout {
                None => {
                    let message =
                        "without `timeout` all SessionEnd hooks together have 1.5 s, then they are ended";
                    self.say(entry.position, "", message.into(), Some("\"timeout\": 10".into()));
                }
                Some(seconds) if seconds > 60.0 => {
                    let message = format!("SessionEnd hooks get 60 s at most, not {seconds}");
                    self.say(entry.position, "timeout", message, Some("60".into()));
                }
                Some(_) => {}
            }
        }
        if entry.blocks_on_failure && (!rule.on_failure || entry.detached) {
            let what = if entry.detached { "async hooks" } else { rule.name };
            self.say(entry.position, "onFailure", format!("onFailure has no effect on {what}"), None);
        }
        if entry.once {
            let message = "`once` is not honored in settings files: the hook runs every time";
            self.say(entry.position, "once", message.into(), None);
        }
    }

    fn matcher(&mut self, rule: &'static EventRule) {
        let Some(text) = self.found.group.matcher.as_deref().filter(|text| !text.is_empty() && *text != "*")
        else {
            return;
        };
        let Some(known) = values::of(rule.name, rule.is_tool_event()).filter(|_| self.dialect.has_policies)
        else {
            return;
        };
        let message = match matcher::exact_names(rule, text) {
            Some(names) => {
                let is_strange = |name: &&&str| {
                    let tool = rule.is_tool_event();
                    !known.contains(name)
                        && !(tool && (tools::is_known(name) || name.starts_with("mcp__")))
                        && !(tool && tools::differs_by_case(name).is_some())
                };
                let strange: Vec<&str> = names.iter().filter(is_strange).copied().collect();
                (!strange.is_empty())
                    .then(|| format!("no {} known by the name {}", self.kind(rule), strange.join(", ")))
            }
            None => match matcher::regex(rule, text) {
                Err(Fault::Syntax { .. }) => None,
                Err(fault) => Some(format!("headspace does not try this regular expression: {fault}")),
                Ok(regex) => match finds_any(rule, &regex, known) {
                    Err(GaveUp) => {
                        Some("this regular expression takes far too long on ordinary names".to_owned())
                    }
                    Ok(false) if !text.contains("mcp") => {
                        Some(format!("this regular expression matches no known {}", self.kind(rule)))
                    }
                    Ok(_) => None,
                },
            },
        };
        if let Some(message) = message {
            self.say(self.found.entry.position, "", format!("matcher {text:?}: {message}"), None);
        }
    }

    fn kind(&self, rule: &EventRule) -> &'static str {
        if rule.is_tool_event() { "tool" } else { "value of this event" }
    }

    fn exec_form(&mut self, command: &HookCommand) {
        let project = self.project.to_string_lossy();
        let filled = command.command.replace("${CLAUDE_PROJECT_DIR}", &project);
        if filled.contains('$') {
            let message = "with `args` there is no shell: only ${CLAUDE_PROJECT_DIR} is filled in here";
            self.command_says(message.into(), None);
            return;
        }
        if filled.starts_with('~') {
            self.command_says("with `args` there is no shell: ~ is not your home here".into(), None);
            return;
        }
        self.program(&filled, &[]);
        let strange = command.args.iter().flatten().find(|arg| {
            let rest = arg.replace("${CLAUDE_PROJECT_DIR}", "").replace("${CLAUDE_PLUGIN_ROOT}", "");
            rest.contains("$(") || rest.contains("${") || rest.starts_with("$") || rest.starts_with("~/")
        });
        if let Some(arg) = strange {
            let message = format!("with `args` there is no shell: {arg:?} is passed as it is");
            self.say(self.found.entry.position, "args", message, None);
        }
    }

    fn shell_form(&mut self, command: &str) {
        if command.trim().is_empty() {
            self.command_says("the command is empty: the shell does nothing".into(), None);
            return;
        }
        let known = self.variables();
        let words = shell_words::first_command(command, &known);
        let unquoted = words.iter().find_map(|word| word.unquoted_variable.as_deref());
        if let Some(name) = unquoted {
            let now = if self.project.to_string_lossy().contains(' ') { ", as this one has" } else { "" };
            let message =
                format!("${name} needs quotes around it: without them, a path with blanks is split{now}");
            self.command_says(message, Some(format!("\"${name}\"/…")));
        }
        let mut rest = words.as_slice();
        while let [first, tail @ ..] = rest
            && (first.is_assignment() || (LAUNCHERS.contains(&first.text.as_str()) && !tail.is_empty()))
        {
            rest = tail;
        }
        let [program, args @ ..] = rest else { return };
        if program.opaque || program.text.starts_with('-') || BUILTINS.contains(&program.text.as_str()) {
            return;
        }
        self.program(&program.text, args);
        let name = program.text.rsplit('/').next().unwrap_or_default();
        if let ([script, ..], true) = (args, INTERPRETERS.contains(&name)) {
            let is_path = script.text.contains('/') || script.text.contains('.');
            if is_path && !script.opaque && !script.text.starts_with('-') {
                self.file(&script.text, &args[1..], false);
            }
        }
    }

    /// Variables whose value is known here.
    fn variables(&self) -> Vec<(String, PathBuf)> {
        let mut known = vec![
            (self.dialect.project_variable.to_owned(), self.project.to_path_buf()),
            ("HOME".to_owned(), config::home()),
        ];
        known.extend(
            self.found.source.plugin_root.clone().map(|root| ("CLAUDE_PLUGIN_ROOT".to_owned(), root)),
        );
        known
    }

    fn program(&mut self, program: &str, args: &[ShellWord]) {
        if program.contains('/') {
            self.file(program, args, true);
        } else if !on_path(program) {
            self.command_says(format!("{program:?} is not found on the PATH"), None);
        }
    }

    /// A path that is run or read.
    fn file(&mut self, path: &str, following: &[ShellWord], is_program: bool) {
        let path_given = Path::new(path);
        if path_given.is_relative() && self.dialect.follows_cwd {
            let message = format!("{path:?} is relative to the session's directory, which can change");
            let inside = path.trim_start_matches("./");
            self.command_says(message, Some(format!("\"$CLAUDE_PROJECT_DIR\"/{inside}")));
        }
        let absolute = self.project.join(path_given);
        if let Some(whole) = with_blanks(&absolute, following) {
            let message = "this path has blanks and needs quotes around it".to_owned();
            self.command_says(message, Some(format!("\"{}\"", whole.display())));
        } else if absolute.is_dir() {
            self.command_says(format!("{path:?} is a directory"), None);
        } else if !absolute.exists() {
            self.command_says(format!("{path:?} does not exist"), None);
        } else if is_program && !headspace_platform::process::is_program(&absolute) {
            let fix = format!("chmod +x {}", absolute.display());
            self.command_says(format!("{path:?} is not executable"), Some(fix));
        }
    }
}

/// Whether the expression matches one of the values.
fn finds_any(rule: &EventRule, regex: &Pattern, known: &[&str]) -> Result<bool, GaveUp> {
    for value in known {
        if matcher::finds(rule, regex, value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The path, if it exists only together with the words after it.
fn with_blanks(path: &Path, following: &[ShellWord]) -> Option<PathBuf> {
    if path.is_file() {
        return None;
    }
    let mut whole = path.as_os_str().to_owned();
    following.iter().take(8).find_map(|word| {
        whole.push(" ");
        whole.push(&word.text);
        Some(PathBuf::from(&whole)).filter(|path| path.is_file())
    })
}

fn on_path(program: &str) -> bool {
    let Some(path) = config::env_path("PATH") else { return true };
    std::env::split_paths(&path).any(|dir| {
        let candidate = dir.join(program);
        headspace_platform::process::is_program(&candidate)
            || cfg!(windows) && dir.join(format!("{program}.exe")).is_file()
    })
}
