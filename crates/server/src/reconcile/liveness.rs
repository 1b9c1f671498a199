//! Detects clients that ended without a hook: killed, crashed, or lost with their terminal.

use headspace_core::model::Process;
use headspace_core::stamp::Stamp;
use headspace_platform::process;
use std::collections::HashMap;
use std::time::Duration;

/// A client that ends properly reports it a moment before or after it is gone: give that event time to arrive.
const CERTAIN_AFTER: Duration = Duration::from_millis(300);
/// A pid can belong to another process by now. A close check costs more than checking whether the pid exists, so quiet
/// agents are checked closely only this often.
const LOOK_CLOSELY_EVERY: Duration = Duration::from_secs(30);

/// A client as its hooks described it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientProcess {
    pub pid: u32,
    /// When it started, if its hooks knew.
    pub start: Option<u64>,
}

impl From<Process> for ClientProcess {
    fn from(process: Process) -> ClientProcess {
        ClientProcess { pid: process.pid, start: Some(process.start) }
    }
}

/// What is known about clients between calls.
#[derive(Debug, Default)]
pub struct Liveness {
    known: HashMap<ClientProcess, LastSeen>,
}

#[derive(Debug, Default)]
struct LastSeen {
    close_look: Option<Stamp>,
    gone: Option<Stamp>,
    reported: bool,
    /// The round in which it was last checked.
    round: u64,
}

impl Liveness {
    /// Whether the client is gone; true only once. `busy` agents are always checked closely.
    pub fn has_gone(&mut self, client: ClientProcess, busy: bool, now: Stamp, round: u64) -> bool {
        let seen = self.known.entry(client).or_default();
        seen.round = round;
        let close = busy
            || seen.gone.is_some()
            || seen.close_look.is_none_or(|at| now.since(at) >= LOOK_CLOSELY_EVERY);
        let lives = if close { lives(client) } else { process::exists(client.pid) };
        if close {
            seen.close_look = Some(now);
        }
        if lives {
            (seen.gone, seen.reported) = (None, false);
            return false;
        }
        let gone = *seen.gone.get_or_insert(now);
        let certain = now.since(gone) >= CERTAIN_AFTER && !seen.reported;
        seen.reported |= certain;
        certain
    }

    /// Whether some client looks gone, but it is too early to say so.
    pub fn uncertain(&self) -> bool {
        self.known.values().any(|seen| seen.gone.is_some() && !seen.reported)
    }

    /// Forgets clients that were not checked in this round.
    pub fn forget_others(&mut self, round: u64) {
        self.known.retain(|_, seen| seen.round == round);
    }
}

/// Whether this same client is still running.
pub fn lives(client: ClientProcess) -> bool {
    match client.start {
        Some(start) => process::lives(Process { pid: client.pid, start }),
        None => process::exists(client.pid),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use headspace_platform::clock::WallClock;
    use headspace_platform::process::start_time as started;
    use std::process::{Child, Command};

    fn client() -> (Child, ClientProcess) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let client = ClientProcess { pid: child.id(), start: started(child.id()) };
        assert!(client.start.is_some());
        (child, client)
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_killed_client_is_reported_gone_once_after_a_second() {
        for start_known in [true, false] {
            let (child, mut client) = client();
            client.start = client.start.filter(|_| start_known);
            let mut liveness = Liveness::default();
            let now = Stamp::now();
            assert!(!liveness.has_gone(client, false, now, 1));
            end(child);
            assert!(!liveness.has_gone(client, false, now.plus(SECOND), 2));
            assert!(liveness.uncertain());
            assert!(liveness.has_gone(client, false, now.plus(2 * SECOND), 3));
            assert!(!liveness.has_gone(client, false, now.plus(3 * SECOND), 4));
            assert!(!liveness.uncertain());
        }
    }

    #[test]
    fn a_zombie_client_is_gone() {
        let (mut child, client) = client();
        child.kill().unwrap();
        let mut liveness = Liveness::default();
        let mut now = Stamp::now();
        // The signal takes a moment to arrive.
        while !liveness.has_gone(client, true, now, 1) {
            now = now.plus(SECOND);
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn another_process_under_the_same_pid_is_not_the_client() {
        let (child, mut client) = client();
        client.start = client.start.map(|start| start + 1);
        let mut liveness = Liveness::default();
        let now = Stamp::now();
        assert!(!liveness.has_gone(client, true, now, 1));
        assert!(liveness.has_gone(client, true, now.plus(SECOND), 2));
        end(child);
    }

    #[test]
    fn an_impossible_pid_does_not_exist() {
        for pid in [0, u32::MAX, u32::MAX - 1] {
            assert!(!process::exists(pid), "{pid}");
        }
    }
}
