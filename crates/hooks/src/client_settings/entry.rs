//! What headspace's own entries look like, how they are told apart from everyone else's, and how they are written.
//!
//! An entry is ours by its structure: the program's file name and its arguments. A foreign command that merely contains
//! our name stays foreign.

use crate::client_settings::document::member;
use jsonc_parser::ast::{Object, Value};
use std::path::Path;

/// The script for clients and configurations that need one.
pub const NOTIFY_SCRIPT: &str = "notify-headspace.sh";

/// How many seconds the client waits for us at most. SessionEnd hooks share 1.5 s unless an entry sets a timeout.
const ENTRY_TIMEOUT_SECONDS: u64 = 5;

/// Which of headspace's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reports the event.
    Notify,
    /// Judges tool calls.
    Guard,
    /// Holds a permission until it is answered from anywhere.
    Wait,
}

impl Role {
    fn args(self) -> &'static [&'static str] {
        match self {
            Role::Notify => &["notify"],
            Role::Guard => &["guard", "hook"],
            Role::Wait => &["wait"],
        }
    }
}

/// How the client starts a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Directly, with arguments: no shell to start, nothing to quote.
    Exec { program: String, args: Vec<String> },
    /// One line for `/bin/sh -c`: all that Wave and old clients understand.
    Shell(String),
}

impl Call {
    pub fn exec(program: &str, role: Role) -> Call {
        Call::Exec {
            program: program.to_owned(),
            args: role.args().iter().map(|a| (*a).to_owned()).collect(),
        }
    }

    pub fn shell(words: &[&str]) -> Call {
        Call::Shell(words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "))
    }

    /// The exec form, unless the client does not have one (`shell`). A path that a shell would split is also written as
    /// a quoted line: clients that ignore `args` would run it unquoted through a shell.
    pub fn for_role(program: &str, role: Role, shell: bool) -> Call {
        if shell || quote(program) != program {
            return Call::shell(&[&[program], role.args()].concat());
        }
        Call::exec(program, role)
    }

    /// Program and arguments as they will arrive; `None` for a line that only a shell understands.
    pub fn words(&self) -> Option<Vec<String>> {
        match self {
            Call::Exec { program, args } => {
                Some(std::iter::once(program.clone()).chain(args.iter().cloned()).collect())
            }
            Call::Shell(line) => split(line),
        }
    }

    /// The program that this starts in the end, as it is written.
    pub fn program(&self) -> Option<String> {
        self.started()?.into_iter().next()
    }

    /// Program and arguments as they are written: a variable keeps its name, and what only starts the program is left out.
    fn started(&self) -> Option<Vec<String>> {
        let mut words = match self {
            Call::Exec { .. } => self.words()?,
            Call::Shell(line) => words_of(line, Variables::AsWritten)?,
        };
        let starts = |word: &&String| STARTERS.contains(&file_name(word));
        let before = words.iter().take_while(starts).count();
        Some(words.split_off(before))
    }
}

/// Words before a program that do nothing but start it.
const STARTERS: [&str; 7] = ["exec", "env", "sh", "bash", "dash", "zsh", "ksh"];

/// For people: as one would type it.
impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Call::Exec { program, args } => {
                f.write_str(&quote(program))?;
                args.iter().try_for_each(|arg| write!(f, " {}", quote(arg)))
            }
            Call::Shell(line) => f.write_str(line),
        }
    }
}

/// One of headspace's hook entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub call: Call,
    /// `continue` or `block`; the recorder never sets it.
    pub on_failure: Option<String>,
    /// How long the client waits for it, in the client's own unit; `None`: as Claude is told.
    pub timeout: Option<u64>,
}

/// How many seconds the client lets a permission wait for an answer from elsewhere: half a day.
const WAIT_TIMEOUT_SECONDS: u64 = 43_200;

impl Entry {
    /// The entry that waits for answers.
    pub fn wait(call: Call) -> Entry {
        Entry { timeout: Some(WAIT_TIMEOUT_SECONDS), ..Entry::new(call) }
    }

    pub fn new(call: Call) -> Entry {
        Entry { call, on_failure: None, timeout: None }
    }

    /// The entry as JSON on one line.
    pub(crate) fn render(&self, spacing: Spacing) -> String {
        let mut members = vec![("type", "\"command\"".to_owned())];
        match &self.call {
            Call::Exec { program, args } => {
                members.push(("command", json_string(program)));
                members.push(("args", spacing.array(args.iter().map(|arg| json_string(arg)))));
            }
            Call::Shell(line) => members.push(("command", json_string(line))),
        }
        members.push(("timeout", self.timeout.unwrap_or(ENTRY_TIMEOUT_SECONDS).to_string()));
        if let Some(on_failure) = &self.on_failure {
            members.push(("onFailure", json_string(on_failure)));
        }
        spacing.object(members)
    }
}

/// The spacing between the parts of what we write on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    Spaced,
    Compact,
}

impl Spacing {
    pub(crate) fn colon(self) -> &'static str {
        if self == Spacing::Spaced { ": " } else { ":" }
    }

    pub(crate) fn comma(self) -> &'static str {
        if self == Spacing::Spaced { ", " } else { "," }
    }

    pub(crate) fn object(self, members: impl IntoIterator<Item = (&'static str, String)>) -> String {
        let members: Vec<_> =
            members.into_iter().map(|(name, value)| format!("\"{name}\"{}{value}", self.colon())).collect();
        let pad = if self == Spacing::Spaced { " " } else { "" };
        format!("{{{pad}{}{pad}}}", members.join(self.comma()))
    }

    pub(crate) fn array(self, elements: impl IntoIterator<Item = String>) -> String {
        format!("[{}]", elements.into_iter().collect::<Vec<_>>().join(self.comma()))
    }
}

/// What the client would start for this entry; `None` if the client would not accept it as a command.
pub(crate) fn call_of(entry: &Object<'_>) -> Option<Call> {
    if text_of(entry, "type")? != "command" {
        return None;
    }
    let command = text_of(entry, "command")?.to_owned();
    let Some(args) = member(entry, "args") else { return Some(Call::Shell(command)) };
    let Value::Array(args) = &args.value else { return None };
    let args: Option<Vec<String>> =
        args.elements.iter().map(|arg| arg.as_string_lit().map(|lit| lit.value.to_string())).collect();
    Some(Call::Exec { program: command, args: args? })
}

/// Whether `call` is one of ours, and which. `program` is where this headspace is, for installations under a file name
/// other than `headspace`.
pub fn role_of(call: &Call, program: Option<&str>) -> Option<Role> {
    let words = call.started()?;
    let (first, args) = words.split_first()?;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if file_name(first) == NOTIFY_SCRIPT {
        return Some(Role::Notify);
    }
    if !is_headspace(first, program) {
        return None;
    }
    match args[..] {
        ["notify"] | ["notify", _] | ["notify", "--client", _] | ["notify", "--client", _, _] => {
            Some(Role::Notify)
        }
        ["guard", "hook"] | ["guard", "hook", "--client", _] => Some(Role::Guard),
        ["wait"] => Some(Role::Wait),
        _ => None,
    }
}

/// A member whose value is a text.
pub(crate) fn text_of<'a>(object: &'a Object<'_>, name: &str) -> Option<&'a str> {
    member(object, name)?.value.as_string_lit().map(|lit| lit.value.as_ref())
}

pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(crate) fn is_headspace(path: &str, program: Option<&str>) -> bool {
    matches!(file_name(path), "headspace" | "headspace.exe") || Some(path) == program
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// `word` as a POSIX shell reads it back.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The words of a command line that needs no shell; `None` if it contains something only a shell can do, or a quote
/// that never ends.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    words_of(line, Variables::NeedAShell)
}

/// What a variable in a command line is to whoever reads its words.
#[derive(Clone, Copy, PartialEq)]
enum Variables {
    /// Something only a shell can fill in.
    NeedAShell,
    /// A part of the word, by its name.
    AsWritten,
}

fn words_of(line: &str, variables: Variables) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' if variables == Variables::AsWritten => word.extend(["$", variable(&mut chars)?]),
                        '$' | '`' => return None,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next().filter(|c| *c != '\n')?),
            '$' if variables == Variables::AsWritten => {
                word.get_or_insert_default().extend(["$", variable(&mut chars)?]);
            }
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '\n' | '*' | '?' | '[' | '#' => {
                return None;
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// `$NAME` or `${NAME}`, of which the `$` has been read; `None` for anything else that a `$` can begin.
fn variable<'l>(chars: &mut std::str::Chars<'l>) -> Option<&'l str> {
    let rest = chars.as_str();
    let in_braces = rest.strip_prefix('{');
    let name = in_braces.unwrap_or(rest);
    let name = &name[..name.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
    let after = &in_braces.unwrap_or(rest)[name.len()..];
    let after = if in_braces.is_some() { after.strip_prefix('}')? } else { after };
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    *chars = after.chars();
    Some(&rest[..rest.len() - after.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use Role::{Guard, Notify};

    fn role(json: &str) -> Option<Role> {
        let document = crate::client_settings::document::SettingsDocument::parse(json).unwrap();
        role_of(&call_of(&document.root?)?, Some("/opt/hs-dev"))
    }

    #[test]
    fn our_entries_are_recognized_by_program_and_arguments_not_by_substring() {
        let cases = [
            (r#"{"type":"command","command":"/a/headspace","args":["notify"],"timeout":5}"#, Some(Notify)),
            (r#"{"type":"command","command":"/a b/it's/headspace","args":["notify"]}"#, Some(Notify)),
            (r#"{"type":"command","command":"/a/headspace notify"}"#, Some(Notify)),
            (r#"{"type":"command","command":"'/a b/headspace' notify stop"}"#, Some(Notify)),
            (r#"{"type":"command","command":"\"/a b/headspace\" notify"}"#, Some(Notify)),
            (r#"{"type":"command","command":"~/.claude/hooks/notify-headspace.sh stop"}"#, Some(Notify)),
            (
                r#"{"type":"command","command":"/h/.claude/hooks/notify-headspace.sh","args":[]}"#,
                Some(Notify),
            ),
            (r#"{"type":"command","command":"/a/headspace","args":["guard","hook"]}"#, Some(Guard)),
            (r#"{"type":"command","command":"/opt/hs-dev","args":["notify"]}"#, Some(Notify)),
            (r#"{"type":"command","command":"bash ~/.claude/hooks/notify-headspace.sh stop"}"#, Some(Notify)),
            (r#"{"type":"command","command":"bash","args":["/h/notify-headspace.sh","stop"]}"#, Some(Notify)),
            (r#"{"type":"command","command":"$HOME/.claude/hooks/notify-headspace.sh stop"}"#, Some(Notify)),
            (r#"{"type":"command","command":"\"${HOME}/my bin/headspace\" notify"}"#, Some(Notify)),
            (r#"{"type":"command","command":"exec /usr/bin/env headspace notify"}"#, Some(Notify)),
            (r#"{"type":"command","command":"$(which headspace) notify"}"#, None),
            (r#"{"type":"command","command":"${X:-/a/headspace} notify"}"#, None),
            (r#"{"type":"command","command":"$headspace notify"}"#, None),
            (r#"{"type":"command","command":"bash -c '/a/headspace notify; other'"}"#, None),
            (r#"{"type":"command","command":"/opt/hs-prod","args":["notify"]}"#, None),
            (r#"{"type":"command","command":"/usr/local/bin/log-headspace-usage.sh notify-me"}"#, None),
            (r#"{"type":"command","command":"/a/headspace notify && rm x"}"#, None),
            (r#"{"type":"command","command":"/a/headspace notify | tee log"}"#, None),
            (r#"{"type":"command","command":"echo /a/headspace notify"}"#, None),
            (r#"{"type":"command","command":"/a/headspace-notify"}"#, None),
            (r#"{"type":"command","command":"/a/headspace","args":["doctor"]}"#, None),
            (r#"{"type":"command","command":"/a/headspace"}"#, None),
            (
                r#"{"type":"http","url":"http://x/headspace","command":"/a/headspace","args":["notify"]}"#,
                None,
            ),
            (r#"{"type":"command","command":"/a/headspace","args":"notify"}"#, None),
        ];
        for (json, expected) in cases {
            assert_eq!(role(json), expected, "{json}");
        }
    }

    #[test]
    fn quoting_round_trips() {
        for word in ["", "plain", "/a b/c", "it's", "a\"b$c`d\\e", "'", "ü|;&", "~/x", "*"] {
            assert_eq!(split(&format!("x {} y", quote(word))).unwrap(), ["x", word, "y"]);
        }
        assert_eq!(split("'never ends"), None);
    }

    #[test]
    fn an_entry_is_one_line_of_strict_json() {
        let entry = Entry::new(Call::exec("/a/headspace", Notify));
        let spaced = r#"{ "type": "command", "command": "/a/headspace", "args": ["notify"], "timeout": 5 }"#;
        assert_eq!(entry.render(Spacing::Spaced), spaced);
        let guard =
            Entry { on_failure: Some("block".into()), ..Entry::new(Call::exec("/a/headspace", Guard)) };
        let compact = r#"{"type":"command","command":"/a/headspace","args":["guard","hook"],"timeout":5,"onFailure":"block"}"#;
        assert_eq!(guard.render(Spacing::Compact), compact);
    }
}
