//! A session that is known only from its transcript.

use crate::reconcile::watcher::TranscriptWatcher;
use headspace_core::stamp::Stamp;
use headspace_core::transcript::{Entry, Seen};
use std::path::PathBuf;

/// What the end of a transcript says about a session that no hook reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEnd {
    pub cwd: String,
    pub branch: Option<String>,
    pub entrypoint: Option<String>,
    pub version: Option<String>,
    pub last_at: Stamp,
    /// In the middle of a turn.
    pub busy: bool,
}

impl TranscriptWatcher {
    /// A session that no hook reported. If it is still in a turn, its last prompt and everything after it are reported.
    pub fn find(session_id: &str, path: PathBuf, now: Stamp) -> Option<(TranscriptWatcher, SessionEnd)> {
        let mut watch = TranscriptWatcher::new(session_id, path, now);
        watch.hooks.silent = true;
        watch.fresh = false;
        let entries = watch.end_of_file(|entries| entries.iter().any(is_prompt));
        let entries: Vec<Entry> = entries.into_iter().filter(|entry| !entry.sidechain).collect();
        let last = entries.iter().rfind(|entry| entry.at.is_some() && entry.cwd.is_some())?;
        let finding = SessionEnd {
            cwd: last.cwd.clone()?,
            branch: last.branch.clone(),
            entrypoint: last.entrypoint.clone(),
            version: last.version.clone(),
            last_at: last.at?.min(now),
            busy: busy(&entries),
        };
        if finding.busy {
            let prompt = entries.iter().rfind(|entry| is_prompt(entry)).and_then(|entry| entry.at);
            watch.since = prompt.unwrap_or(finding.last_at);
        }
        for entry in entries {
            watch.take(entry, now);
        }
        Some((watch, finding))
    }
}

fn is_prompt(entry: &Entry) -> bool {
    !entry.sidechain && entry.seen.iter().any(|seen| matches!(seen, Seen::Prompt { .. }))
}

/// Whether the main thread's last action leaves its turn open.
fn busy(entries: &[Entry]) -> bool {
    let turn = |seen: &Seen| match seen {
        Seen::Prompt { .. } | Seen::ToolUse { .. } | Seen::ToolResult { .. } => Some(true),
        Seen::Text { stop_reason, .. } => Some(stop_reason.as_deref() != Some("end_turn")),
        Seen::Interrupted { .. } | Seen::ApiError { .. } | Seen::Failed { .. } | Seen::TurnEnd => Some(false),
        Seen::Allowed { .. } => Some(true),
        Seen::Compaction { .. }
        | Seen::Queued { .. }
        | Seen::Dequeued
        | Seen::Unqueued { .. }
        | Seen::Title(_)
        | Seen::Mode(_)
        | Seen::Decided { .. }
        | Seen::Usage(_) => None,
    };
    entries.iter().flat_map(|entry| &entry.seen).filter_map(turn).next_back().unwrap_or(false)
}
