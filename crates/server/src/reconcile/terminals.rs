//! Sessions whose hooks are run by one process for many sessions, so that neither its environment nor its end says anything
//! about a single one. If only one terminal can have started a session, they belong together; in case of doubt nothing is
//! reported, and a jump is refused.

use crate::reconcile::WatchTarget;
use crate::reconcile::watcher::Report;
use headspace_clients::client::codex::{self, Terminal};
use headspace_core::model::{Source, observed};
use headspace_core::stamp::Stamp;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// The clocks of a process's start and a session's creation may differ by this much.
const CLOCKS_DIFFER_BY: Duration = Duration::from_secs(1);

/// What is known about such sessions between looks.
#[derive(Debug, Default)]
pub(super) struct SharedTerminals {
    /// Sessions that once could have belonged to several terminals. When all but one of those are gone, the session's own
    /// terminal may be among them, so the last one is not taken for it.
    doubtful: HashSet<String>,
}

/// A session whose process is unknown.
#[derive(Clone, Copy, Debug)]
struct LostSession<'a> {
    id: &'a str,
    place: &'a Path,
    /// When it was made, unless it was taken up again later: then by any terminal.
    born: Option<Stamp>,
}

impl SharedTerminals {
    /// The terminals found for sessions whose process is unknown. Looks at processes only if there is such a session.
    pub(super) fn find(&mut self, targets: &[WatchTarget], now: Stamp) -> Vec<Report> {
        let lost: Vec<LostSession> = targets.iter().filter_map(lost).collect();
        self.doubtful.retain(|id| lost.iter().any(|session| session.id == id));
        if lost.is_empty() {
            return Vec::new();
        }
        let taken: HashSet<u32> = targets.iter().filter_map(|target| Some(target.client?.pid)).collect();
        let (taken, free): (Vec<Terminal>, Vec<Terminal>) =
            codex::terminals().into_iter().partition(|terminal| taken.contains(&terminal.process.pid));
        let mut reports = Vec::new();
        for (session, terminal) in self.pairs(&lost, &free) {
            reports.push(report(observed::PROCESS_FOUND, session, now, shown_in(terminal)));
        }
        for session in self.orphans(&lost, &taken, &free) {
            reports.push(report(observed::PROCESS_GONE, session, now, json!({})));
        }
        reports
    }

    /// The sessions and terminals that can only belong to each other.
    fn pairs<'a>(
        &mut self,
        lost: &[LostSession<'a>],
        free: &'a [Terminal],
    ) -> Vec<(LostSession<'a>, &'a Terminal)> {
        let mut pairs = Vec::new();
        for session in lost {
            let candidates: Vec<&Terminal> =
                free.iter().filter(|terminal| can_show(terminal, session)).collect();
            match candidates.as_slice() {
                [only] if names(only, session) => pairs.push((*session, *only)),
                [only] if !self.doubtful.contains(session.id) => {
                    match lost.iter().filter(|rival| can_show(only, rival)).count() {
                        1 => pairs.push((*session, *only)),
                        _ => drop(self.doubtful.insert(session.id.to_owned())),
                    }
                }
                [_, _, ..] => drop(self.doubtful.insert(session.id.to_owned())),
                _ => {}
            }
        }
        pairs
    }

    /// Sessions that were of one of several terminals, none of which is left.
    fn orphans<'a>(
        &self,
        lost: &[LostSession<'a>],
        taken: &[Terminal],
        free: &[Terminal],
    ) -> Vec<LostSession<'a>> {
        let is_orphan = |session: &&LostSession| {
            self.doubtful.contains(session.id)
                && !taken.iter().chain(free).any(|terminal| terminal.cwd == session.place)
        };
        lost.iter().filter(is_orphan).copied().collect()
    }
}

fn lost(target: &WatchTarget) -> Option<LostSession<'_>> {
    let place = target.shared_in.as_deref().filter(|_| target.client.is_none())?;
    let born = codex::born(&target.session_id).filter(|_| !target.resumed);
    Some(LostSession { id: &target.session_id, place, born })
}

/// Whether the terminal's command line names the session.
fn names(terminal: &Terminal, session: &LostSession) -> bool {
    terminal.resumes.as_deref() == Some(session.id)
}

/// Whether the terminal can be the one in which the session is shown: a session is made by a terminal that runs.
fn can_show(terminal: &Terminal, session: &LostSession) -> bool {
    if terminal.resumes.is_some() {
        return names(terminal, session);
    }
    let is_older = match (terminal.since, session.born) {
        (Some(since), Some(born)) => since <= born.plus(CLOCKS_DIFFER_BY),
        _ => true,
    };
    terminal.cwd == session.place && is_older
}

fn shown_in(terminal: &Terminal) -> Value {
    json!({
        "claude_pid": terminal.process.pid, "claude_pid_start": terminal.process.start,
        "tmux_pane": terminal.pane,
        "terminal": terminal.socket.as_ref().map(|socket| json!({"tmux_socket": socket})),
    })
}

fn report(name: &'static str, session: LostSession, at: Stamp, body: Value) -> Report {
    Report { name, session_id: session.id.to_owned(), at, source: Source::Process, body, tail: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::model::Process;

    fn terminal(pid: u32, cwd: &str, since: i64) -> Terminal {
        Terminal {
            process: Process { pid, start: 1 },
            cwd: cwd.into(),
            since: Some(seconds(since)),
            resumes: None,
            pane: None,
            socket: None,
        }
    }

    fn session<'a>(id: &'a str, place: &'a str, born: i64) -> LostSession<'a> {
        LostSession { id, place: Path::new(place), born: Some(seconds(born)) }
    }

    fn seconds(seconds: i64) -> Stamp {
        Stamp(seconds * 1_000_000_000)
    }

    fn found(known: &mut SharedTerminals, lost: &[LostSession], free: &[Terminal]) -> Vec<(String, u32)> {
        known.pairs(lost, free).into_iter().map(|(one, shown)| (one.id.into(), shown.process.pid)).collect()
    }

    #[test]
    fn a_session_and_a_terminal_belong_together_only_if_each_is_alone() {
        let free = [terminal(1, "/a", 0), terminal(2, "/b", 0), terminal(3, "/b", 0), terminal(4, "/c", 0)];
        let lost = [
            session("alone", "/a", 10),
            session("two terminals", "/b", 10),
            session("two sessions", "/c", 10),
            session("its rival", "/c", 10),
            session("no terminal", "/d", 10),
        ];
        assert_eq!(found(&mut SharedTerminals::default(), &lost, &free), [("alone".to_owned(), 1)]);
    }

    #[test]
    fn a_terminal_that_is_younger_than_a_session_did_not_make_it() {
        let (first, second) = (session("first", "/a", 2), session("second", "/a", 62));
        let (older, younger) = (terminal(1, "/a", 0), terminal(2, "/a", 60));
        let mut known = SharedTerminals::default();
        let both = [older.clone(), younger.clone()];
        assert_eq!(found(&mut known, &[first], &both), [("first".to_owned(), 1)]);
        assert_eq!(found(&mut known, &[first], std::slice::from_ref(&younger)), [], "its terminal is gone");
        assert_eq!(found(&mut known, &[second], &both), [], "either may have made it");
        assert_eq!(found(&mut known, &[second], &[older]), [], "and its own may have gone first");
        let resumed = LostSession { born: None, ..first };
        assert_eq!(found(&mut known, &[resumed], &[younger]), [("first".to_owned(), 2)]);
    }

    #[test]
    fn a_terminal_that_names_its_session_shows_that_one_and_no_other() {
        let named = Terminal { resumes: Some("one".into()), ..terminal(1, "/elsewhere", 90) };
        let plain = terminal(2, "/a", 0);
        let lost = [session("one", "/a", 10), session("two", "/a", 10)];
        let mut known = SharedTerminals::default();
        assert_eq!(found(&mut known, &lost[1..], &[named.clone(), plain]), [("two".to_owned(), 2)]);
        assert_eq!(found(&mut known, &lost[..1], &[named]), [("one".to_owned(), 1)]);
    }

    #[test]
    fn a_session_ends_with_the_last_terminal_it_could_be_shown_in() {
        let lost = [session("one", "/a", 10)];
        let mut known = SharedTerminals::default();
        let gone = |known: &SharedTerminals, free: &[Terminal]| known.orphans(&lost, &[], free).len();
        assert_eq!(gone(&known, &[]), 0, "perhaps it never had one");
        assert_eq!(found(&mut known, &lost, &[terminal(1, "/a", 0), terminal(2, "/a", 0)]), []);
        assert_eq!(gone(&known, &[terminal(2, "/a", 0)]), 0);
        assert_eq!(gone(&known, &[terminal(3, "/b", 0)]), 1);
    }
}
