//! The process at the other end of a connection: a coding agent, or a process that one started, may neither unlock nor
//! answer, whatever token or key it has.
//!
//! A connection through the server's socket names its process; for one through the port, the system's tables do. Both show
//! the process that holds the connection now. Code that wants to hide can, because it runs as the same user.

use crate::http::auth::policy::Connection;
use headspace_clients::lineage;
use headspace_core::model::Process;
use headspace_platform::net::peer_uid::{self, Holders};
use headspace_platform::process;

/// How often a connection is looked at again if its holders change meanwhile.
const LOOKS_AT_MOST: usize = 5;

/// A process that may act for a person, with its terminal if it has one. `None`: the person is on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub terminal: Option<Terminal>,
    pub is_here: bool,
}

/// A terminal that somebody uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// As people know it: `pts/3`.
    pub name: String,
    /// Who opened it. Names are given again, so a name alone is not a terminal. `None`: the system does not say.
    pub session: Option<Process>,
}

impl Terminal {
    fn of(pid: u32) -> Option<Terminal> {
        let name = process::terminal_of(pid)?;
        // The leader may be gone, and its session goes on.
        let leader = process::session_of(pid);
        let session = leader.map(|pid| Process { pid, start: process::start_time(pid).unwrap_or_default() });
        Some(Terminal { name, session })
    }
}

/// Judges the other end of a connection. `agents`: processes that are known to be agents. Reads /proc: not for the
/// server's runtime.
pub fn judge(connection: &Connection, agents: &[Process]) -> Result<Person, String> {
    let is_agent = |pid: u32| {
        agents.iter().any(|agent| agent.pid == pid && process::start_time(pid) == Some(agent.start))
    };
    let refuse = |pid: u32| match lineage::agent_behind(pid, is_agent) {
        Some(why) => Err(format!("only a person may do this, not a coding agent ({why})")),
        None => Ok(()),
    };
    if connection.is_of_another_user() {
        return Err("only the server's own user may do this".into());
    }
    match connection {
        Connection::Socket { pid } => {
            let pid = pid.filter(|pid| process::exists(*pid)).ok_or("the process that asks is gone")?;
            refuse(pid)?;
            Ok(Person { terminal: Terminal::of(pid), is_here: true })
        }
        Connection::Port { .. } if !connection.is_from_here() => {
            Ok(Person { terminal: None, is_here: false })
        }
        Connection::Port { peer, local, .. } => {
            if cfg!(not(target_os = "linux")) {
                return Ok(Person { terminal: None, is_here: true });
            }
            judge_holders(|| peer_uid::holders(*peer, *local), refuse)
        }
    }
}

/// Judges the processes that hold a connection on this machine. A program that starts another one shares all its
/// connections with it until the other one runs, so a refusal counts only if the refused process still holds the connection
/// afterwards.
fn judge_holders(
    look: impl Fn() -> Option<Holders>,
    refuse: impl Fn(u32) -> Result<(), String>,
) -> Result<Person, String> {
    let mut refusal = "the process that asks cannot be seen".to_owned();
    for _ in 0..LOOKS_AT_MOST {
        let holders = look().ok_or("the process that asks cannot be seen")?;
        // A browser's sandbox hides what it holds; then no hidden process may belong to an agent.
        let suspects = if holders.pids.is_empty() { &holders.hidden } else { &holders.pids };
        if suspects.is_empty() {
            return Err("the process that asks is gone".into());
        }
        let refused = suspects.iter().find_map(|pid| refuse(*pid).err().map(|why| (*pid, why)));
        let Some((pid, why)) = refused else {
            let terminal = holders.pids.iter().find_map(|pid| Terminal::of(*pid));
            return Ok(Person { terminal, is_here: true });
        };
        if look().is_some_and(|now| now.pids.contains(&pid) || now.hidden.contains(&pid)) {
            return Err(why);
        }
        refusal = why;
    }
    Err(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_known_agent_is_refused_through_every_door() {
        let own = std::process::id();
        let Some(start) = process::start_time(own) else { return };
        let agent = [Process { pid: own, start }];
        let socket = Connection::Socket { pid: Some(own) };
        assert!(judge(&socket, &agent).is_err());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let port = Connection::port(client.local_addr().unwrap(), listener.local_addr().unwrap());
        assert!(judge(&port, &agent).is_err());
        let another_start = [Process { pid: own, start: start + 1 }];
        assert_eq!(judge(&socket, &another_start).is_ok(), judge(&port, &another_start).is_ok());
    }

    /// A connection may come from any address of the machine: that of its network is no other machine's.
    #[tokio::test]
    async fn a_known_agent_is_refused_from_every_address_of_the_machine() {
        let own = std::process::id();
        let Some(start) = process::start_time(own) else { return };
        let agent = [Process { pid: own, start }];
        let network = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let sends = network.connect("192.0.2.1:9").is_ok();
        let Some(from) = network.local_addr().ok().filter(|_| sends) else { return };
        for to in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(to).unwrap();
            let port = listener.local_addr().unwrap().port();
            let client = tokio::net::TcpSocket::new_v4().unwrap();
            client.bind((from.ip(), 0).into()).unwrap();
            let _client = client.connect(([127, 0, 0, 1], port).into()).await.unwrap();
            let (server, peer) = listener.accept().unwrap();
            assert_eq!(peer.ip(), from.ip());
            assert!(judge(&Connection::port(peer, server.local_addr().unwrap()), &agent).is_err(), "{to}");
        }
    }

    #[test]
    fn a_process_that_is_gone_may_do_nothing() {
        assert!(judge(&Connection::Socket { pid: None }, &[]).is_err());
        assert!(judge(&Connection::Socket { pid: Some(u32::MAX - 1) }, &[]).is_err());
    }
    /// Each look takes the next of `seen`, and the last one again and again; process 7 is an agent's.
    fn judged(seen: &[(&[u32], &[u32])]) -> Result<Person, String> {
        let at = std::cell::Cell::new(0);
        let look = || {
            let (pids, hidden) = seen[at.get().min(seen.len() - 1)];
            at.set(at.get() + 1);
            Some(Holders { pids: pids.to_vec(), hidden: hidden.to_vec() })
        };
        judge_holders(look, |pid| if pid == 7 { Err("an agent".into()) } else { Ok(()) })
    }

    #[test]
    fn a_process_that_was_only_being_started_does_not_count() {
        let person = u32::MAX - 1;
        let lent: &[u32] = &[person, 7];
        assert!(judged(&[(lent, &[]), (&[person], &[])]).is_ok());
        assert_eq!(judged(&[(lent, &[])]).unwrap_err(), "an agent");
        assert_eq!(judged(&[(&[7], &[]), (&[], &[])]).unwrap_err(), "the process that asks is gone");
        assert_eq!(judged(&[(&[], &[person, 7])]).unwrap_err(), "an agent");
        // One that comes and goes is refused in the end.
        let flickering: Vec<(&[u32], &[u32])> =
            (0..20).map(|n| if n % 2 == 0 { (lent, &[][..]) } else { (&[][..], &[][..]) }).collect();
        assert_eq!(judged(&flickering).unwrap_err(), "an agent");
    }
}
