//! The files an agent edited, with the number of added and removed lines and the diffs, from its events. Pure: events in,
//! changes out. What a shell command did to files is not in any event, so it is not here. Begin with [`Collector`].

mod call;
mod patch;

use crate::changes::call::{Edited, edits};
use crate::model::observed;
use crate::stamp::Stamp;
use crate::wire::StoredEvent;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};

/// The events that say what was changed.
pub const EVENT_NAMES: [&str; 3] = ["PostToolUse", observed::TOOL_USE, observed::TOOL_RESULT];
/// Bytes of diffs in one answer: the newest are kept, counts are always whole.
const MAX_DIFF_BYTES: usize = 1 << 20;
/// Calls whose result is awaited at the same time; no session has more.
const MAX_OPEN_CALLS: usize = 256;

/// `GET /api/agents/ID/changes`: the file that was edited last comes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    pub files: Vec<FileChange>,
    pub added: u64,
    pub removed: u64,
    /// Whether all of the agent's stored events were looked at, not only the newest.
    pub complete: bool,
}

/// What an agent did to one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the project if the file is in it.
    pub path: String,
    pub full_path: String,
    pub added: u64,
    pub removed: u64,
    /// Its first known edit made it.
    #[serde(default)]
    pub created: bool,
    /// Its last known edit removed it.
    #[serde(default)]
    pub deleted: bool,
    /// Oldest first.
    pub edits: Vec<FileEdit>,
}

/// One call that changed a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileEdit {
    pub event_id: i64,
    pub at: Stamp,
    pub tool: String,
    /// The subagent that did it; `None` for the main thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    pub added: u64,
    pub removed: u64,
    /// The hunks of a unified diff. A hunk whose place in the file is not known begins with `@@ … @@`. Empty: left out
    /// because there are too many newer ones, see `cut`.
    pub diff: String,
    /// Text is missing: the event was stored shortened, or the diff is too long. Then there were at least as many lines as
    /// the counts say.
    #[serde(default)]
    pub cut: bool,
}

impl FileChange {
    /// All edits as one text for `less` or a bug report: each edit's diff under the file's name.
    pub fn unified(&self) -> String {
        let old = if self.created { "/dev/null".to_owned() } else { format!("a/{}", self.path) };
        let new = if self.deleted { "/dev/null".to_owned() } else { format!("b/{}", self.path) };
        let mut text = format!("--- {old}\n+++ {new}\n");
        self.edits.iter().for_each(|edit| text.push_str(&edit.diff));
        text
    }

    /// Whether some of its text is missing.
    pub fn cut(&self) -> bool {
        self.edits.iter().any(|edit| edit.cut)
    }

    /// "+12 −3", "+400 −0 or more".
    pub fn counts(&self) -> String {
        let more = if self.cut() { " or more" } else { "" };
        format!("+{} −{}{more}", self.added, self.removed)
    }
}

/// Whether an event with this stored body can say something about files. Reading JSON costs more than this look, and most
/// events are about something else.
pub fn may_concern(name: &str, body: &str) -> bool {
    name == observed::TOOL_RESULT || call::SIGNS.iter().any(|sign| body.contains(sign))
}

/// Collects changes from events, oldest first.
pub struct Collector {
    root: Option<String>,
    files: Vec<FileChange>,
    by_path: HashMap<String, usize>,
    /// Calls that the transcript reported, until their result is known.
    open: VecDeque<(String, Vec<Edited>)>,
    /// Calls that were counted: a hook and the transcript may report the same one.
    counted: HashSet<String>,
    /// Edits with a diff, oldest first: file, edit, bytes.
    diffs: VecDeque<(usize, usize, usize)>,
    diff_bytes: usize,
}

impl Collector {
    /// `root`: the project's directory, which paths are shown relative to.
    pub fn new(root: Option<&str>) -> Collector {
        Collector {
            root: root.map(|root| root.trim_end_matches('/').to_owned()).filter(|root| !root.is_empty()),
            files: Vec::new(),
            by_path: HashMap::new(),
            open: VecDeque::new(),
            counted: HashSet::new(),
            diffs: VecDeque::new(),
            diff_bytes: 0,
        }
    }

    pub fn take(&mut self, event: &StoredEvent) {
        if event.duplicate {
            return;
        }
        let call_id = event.body.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
        let result = match event.name.as_str() {
            "PostToolUse" => edits(&event.body),
            observed::TOOL_USE => {
                let found = edits(&event.body);
                if !found.is_empty() && !call_id.is_empty() {
                    self.open.push_back((call_id.to_owned(), found));
                    self.open.drain(..self.open.len().saturating_sub(MAX_OPEN_CALLS));
                }
                return;
            }
            observed::TOOL_RESULT => {
                let Some(at) = self.open.iter().position(|(id, _)| id == call_id) else { return };
                let Some((_, found)) = self.open.remove(at) else { return };
                if event.body.get("is_error").and_then(Value::as_bool) == Some(true) {
                    return;
                }
                found
            }
            _ => return,
        };
        if result.is_empty() || !call_id.is_empty() && !self.counted.insert(call_id.to_owned()) {
            return;
        }
        result.into_iter().for_each(|edited| self.add(event, edited));
    }

    fn add(&mut self, event: &StoredEvent, edited: Edited) {
        let cwd = event.body.get("cwd").and_then(Value::as_str);
        let full_path = absolute(&edited.path, cwd.or(self.root.as_deref()));
        let path = relative(&full_path, self.root.as_deref()).to_owned();
        let at = *self.by_path.entry(full_path.clone()).or_insert_with(|| {
            self.files.push(FileChange { path, full_path, created: edited.created, ..FileChange::default() });
            self.files.len() - 1
        });
        let subagent = event.body.get("agent_id").and_then(Value::as_str).map(str::to_owned);
        let file = &mut self.files[at];
        file.added += edited.added;
        file.removed += edited.removed;
        file.deleted = edited.deleted;
        self.diffs.push_back((at, file.edits.len(), edited.diff.len()));
        self.diff_bytes += edited.diff.len();
        file.edits.push(FileEdit {
            event_id: event.id,
            at: event.at,
            tool: edited.tool,
            subagent,
            added: edited.added,
            removed: edited.removed,
            diff: edited.diff,
            cut: edited.cut,
        });
        while self.diff_bytes > MAX_DIFF_BYTES
            && let Some((file, edit, bytes)) = self.diffs.pop_front()
        {
            self.diff_bytes -= bytes;
            let edit = &mut self.files[file].edits[edit];
            edit.cut |= bytes > 0;
            edit.diff = String::new();
        }
    }

    /// `complete`: there were no older events.
    pub fn finish(mut self, complete: bool) -> Changes {
        let last = |file: &FileChange| file.edits.last().map(|edit| (edit.at, edit.event_id));
        self.files.sort_by_key(|file| std::cmp::Reverse(last(file)));
        let (added, removed) = self
            .files
            .iter()
            .fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
        Changes { files: self.files, added, removed, complete }
    }
}

fn absolute(path: &str, cwd: Option<&str>) -> String {
    match cwd {
        Some(cwd) if !path.starts_with('/') => {
            format!("{}/{}", cwd.trim_end_matches('/'), path.trim_start_matches("./"))
        }
        _ => path.to_owned(),
    }
}

/// `path` as people of the project name it: relative to `root` if it is inside.
pub fn relative<'a>(path: &'a str, root: Option<&str>) -> &'a str {
    let inside = root.and_then(|root| path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/'));
    inside.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests;
