//! Sessions whose hooks are run by a process that serves many: neither its environment nor its end says anything about one
//! of them. Where exactly one such session and one terminal of that client are in a directory, they belong together; where
//! there is a doubt nothing is said, and a jump refuses.

use crate::reconcile::WatchTarget;
use crate::reconcile::watcher::Report;
use headspace_clients::codex;
use headspace_clients::codex::Terminal;
use headspace_core::model::{Source, observed};
use headspace_core::stamp::Stamp;
use serde_json::json;
use std::collections::HashSet;
use std::path::Path;

/// What was found about the sessions that nobody knows a process of. Looks at processes only if there is one.
pub(super) fn find(targets: &[WatchTarget], now: Stamp) -> Vec<Report> {
    let lost = |target: &&WatchTarget| target.client.is_none() && target.shared_in.is_some();
    if !targets.iter().any(|target| lost(&target)) {
        return Vec::new();
    }
    let taken: HashSet<u32> = targets.iter().filter_map(|target| Some(target.client?.pid)).collect();
    let mut free = codex::terminals();
    free.retain(|terminal| !taken.contains(&terminal.process.pid));
    let sessions: Vec<(&str, &Path)> = targets
        .iter()
        .filter(lost)
        .filter_map(|target| Some((target.session_id.as_str(), target.shared_in.as_deref()?)))
        .collect();
    pairs(&sessions, &free)
        .into_iter()
        .map(|(session_id, terminal)| Report {
            name: observed::PROCESS_FOUND,
            session_id: session_id.to_owned(),
            at: now,
            source: Source::Process,
            body: json!({
                "claude_pid": terminal.process.pid, "claude_pid_start": terminal.process.start,
                "tmux_pane": terminal.pane,
                "terminal": terminal.socket.as_ref().map(|socket| json!({"tmux_socket": socket})),
            }),
            tail: None,
        })
        .collect()
}

/// The sessions and terminals that are alone in their directory.
fn pairs<'a>(sessions: &[(&'a str, &Path)], free: &'a [Terminal]) -> Vec<(&'a str, &'a Terminal)> {
    let alone = |(session, place): &(&'a str, &Path)| {
        let rivals = sessions.iter().filter(|(_, other)| other == place).count();
        let mut here = free.iter().filter(|terminal| terminal.cwd == *place);
        let only = here.next().filter(|_| rivals == 1 && here.next().is_none())?;
        Some((*session, only))
    };
    sessions.iter().filter_map(alone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::model::Process;

    #[test]
    fn a_session_and_a_terminal_belong_together_only_if_each_is_alone() {
        let terminal = |pid, cwd: &str| Terminal {
            process: Process { pid, start: 1 },
            cwd: cwd.into(),
            pane: None,
            socket: None,
        };
        let free = [terminal(1, "/a"), terminal(2, "/b"), terminal(3, "/b"), terminal(4, "/c")];
        let sessions: Vec<(&str, &Path)> = vec![
            ("alone", Path::new("/a")),
            ("two terminals", Path::new("/b")),
            ("two sessions", Path::new("/c")),
            ("its rival", Path::new("/c")),
            ("no terminal", Path::new("/d")),
        ];
        let found: Vec<(&str, u32)> =
            pairs(&sessions, &free).into_iter().map(|(session, one)| (session, one.process.pid)).collect();
        assert_eq!(found, [("alone", 1)]);
    }
}
