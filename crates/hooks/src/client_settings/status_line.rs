//! The client has one slot for a status line: the user's command in it is wrapped, never replaced.

use crate::client_settings::document::{SettingsDocument, Splices, member};
use crate::client_settings::entry::{is_headspace, json_string, quote, split};
use crate::client_settings::layout::Layout;
use crate::client_settings::merge::{Desired, Merged, Plan};
use jsonc_parser::ast::ObjectProp;
use jsonc_parser::common::Ranged;

/// The status line as headspace wraps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusLine {
    /// The command the user had before; it runs through a shell.
    pub wrapped: Option<String>,
}

impl StatusLine {
    /// Reads a `statusLine` command; `None` if it is not ours.
    pub(super) fn of(line: &str, program: Option<&str>) -> Option<StatusLine> {
        let words = split(line)?;
        let (first, rest) = words.split_first()?;
        if !is_headspace(first, program) {
            return None;
        }
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        match rest[..] {
            ["statusline"] => Some(StatusLine { wrapped: None }),
            ["statusline", "--", command] => Some(StatusLine { wrapped: Some(command.to_owned()) }),
            _ => None,
        }
    }

    /// The user's command becomes one quoted word: its pipes and quotes are seen only by its own shell.
    pub(super) fn line(&self, program: &str) -> String {
        match &self.wrapped {
            None => format!("{} statusline", quote(program)),
            Some(command) => format!("{} statusline -- {}", quote(program), quote(command)),
        }
    }
}

/// The status line in the file if it is ours, with the range of its command.
pub(super) fn ours(property: &ObjectProp<'_>, plan: &Plan) -> Option<(StatusLine, std::ops::Range<usize>)> {
    let object = property.value.as_object()?;
    let command = member(object, "command")?;
    let line = StatusLine::of(&command.value.as_string_lit()?.value, plan.program.as_deref())?;
    Some((line, command.value.start()..command.value.end()))
}

/// Wraps, updates or unwraps the status line where it is; returns the member to add if there is none yet.
pub(super) fn put_in(
    document: &SettingsDocument<'_>,
    plan: &Plan,
    layout: &Layout,
    pristine: Option<&SettingsDocument<'_>>,
    splices: &mut Splices,
    merged: &mut Merged,
) -> Option<String> {
    let property = document.root.as_ref().and_then(|root| member(root, "statusLine"));
    let ours = property.and_then(|property| ours(property, plan));
    match (&plan.status_line, ours, property) {
        (Desired::Put(program) | Desired::Refresh(program), Some((line, range)), _) => {
            let want = json_string(&line.line(program));
            if want != document.text[range.clone()] {
                splices.replace(range, want);
                merged.status_line_changed = true;
            }
        }
        (Desired::Put(program), None, Some(property)) => {
            let command = property.value.as_object().and_then(|object| member(object, "command"));
            let Some((command, lit)) = command.and_then(|c| Some((c, c.value.as_string_lit()?))) else {
                let message = "\"statusLine\" has no command that could be wrapped; left as it is";
                merged.warnings.push(document.diagnostic(property.start(), message));
                return None;
            };
            let line = StatusLine { wrapped: Some(lit.value.to_string()) };
            splices.replace(command.value.start()..command.value.end(), json_string(&line.line(program)));
            merged.status_line_changed = true;
        }
        (Desired::Put(program), None, None) => {
            let command = json_string(&StatusLine { wrapped: None }.line(program));
            let value = layout.spacing.object([("type", "\"command\"".to_owned()), ("command", command)]);
            merged.status_line_changed = true;
            merged.status_line_new = true;
            return Some(layout.member("statusLine", &value));
        }
        (Desired::Remove, Some((StatusLine { wrapped: Some(command) }, range)), _) => {
            let before = pristine.and_then(|p| literal_of(p, &command));
            splices.replace(range, before.unwrap_or_else(|| json_string(&command)));
            merged.status_line_changed = true;
        }
        _ => {}
    }
    None
}

/// How the user had written `command`, including escapes.
fn literal_of(pristine: &SettingsDocument<'_>, command: &str) -> Option<String> {
    let object = member(pristine.root.as_ref()?, "statusLine")?.value.as_object()?;
    let value = &member(object, "command")?.value;
    let same = value.as_string_lit()?.value == command;
    same.then(|| pristine.text[value.start()..value.end()].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwrapping_a_status_line_restores_the_users_command() {
        for command in ["~/bin/line.sh", "jq -r '.model.id' | head -c 20", "echo \"it's $USER\""] {
            let line = StatusLine { wrapped: Some(command.into()) }.line("/my bin/headspace");
            assert_eq!(StatusLine::of(&line, None).unwrap().wrapped.as_deref(), Some(command), "{line}");
        }
        assert_eq!(StatusLine::of("/b/headspace statusline", None), Some(StatusLine { wrapped: None }));
        assert_eq!(StatusLine::of("headspace-line statusline", None), None);
    }
}
