//! Bounds for what a client lists about itself. Every change of an agent carries its whole document to every reader, so a
//! broken payload with a hundred thousand tasks must not become a part of it.

use super::subagents::{is_live_task, is_team_task, task_type};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Tasks and scheduled prompts that are kept; of the tasks beyond, only the number.
const MAX_LISTED: usize = 64;
/// No client writes longer fields or deeper objects there.
const MAX_CHARS: usize = 500;
const MAX_MEMBERS: usize = 32;
const MAX_DEPTH: usize = 4;

/// Tasks that run and are not listed one by one. Teammates do not count, as in the list: they count while they work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoreTasks {
    pub shells: usize,
    pub subagents: usize,
    pub others: usize,
}

impl MoreTasks {
    pub fn total(self) -> usize {
        self.shells + self.subagents + self.others
    }

    pub fn is_none(&self) -> bool {
        self.total() == 0
    }

    /// A task that is not listed has ended: one of these, and of which kind is known only for a subagent.
    pub(super) fn one_ended(&mut self, is_subagent: bool) {
        let kinds = [&mut self.subagents, &mut self.shells, &mut self.others];
        let mut kinds = kinds.into_iter().take(if is_subagent { 1 } else { 3 });
        if let Some(kind) = kinds.find(|kind| **kind > 0) {
            *kind -= 1;
        }
    }
}

/// The client's tasks within bounds. Those that run are kept before those that have ended.
pub(super) fn tasks(all: &[Value]) -> (Vec<Value>, MoreTasks) {
    let mut live = all.iter().filter(|task| is_live_task(task)).count().min(MAX_LISTED);
    let mut ended = MAX_LISTED - live;
    let (mut kept, mut more) = (Vec::new(), MoreTasks::default());
    for task in all {
        let is_live = is_live_task(task);
        let room = if is_live { &mut live } else { &mut ended };
        if *room > 0 {
            *room -= 1;
            kept.push(value(task));
        } else if is_live && !is_team_task(task) {
            match task_type(task) {
                Some("shell") => more.shells += 1,
                Some("subagent") => more.subagents += 1,
                _ => more.others += 1,
            }
        }
    }
    (kept, more)
}

pub(super) fn list(all: &[Value]) -> Vec<Value> {
    all.iter().take(MAX_LISTED).map(value).collect()
}

/// The value with its long texts cut, and without what is too much or too deep.
pub(super) fn value(value: &Value) -> Value {
    within(value, MAX_DEPTH)
}

/// A name or another short text.
pub(super) fn text(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn within(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(long) => Value::String(text(long)),
        Value::Array(_) | Value::Object(_) if depth == 0 => Value::Null,
        Value::Array(all) => all.iter().take(MAX_MEMBERS).map(|one| within(one, depth - 1)).collect(),
        Value::Object(all) => {
            let short = all.iter().filter(|(name, _)| name.len() <= MAX_CHARS);
            let members = short.take(MAX_MEMBERS).map(|(name, one)| (name.clone(), within(one, depth - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        _ => value.clone(),
    }
}
