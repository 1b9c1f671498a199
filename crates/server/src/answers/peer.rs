//! Who is at the other end: a coding agent, or what one started, may neither unlock nor answer, whatever it carries.
//!
//! A connection through the server's socket names its process; for one through the port the system's tables do. Both look
//! at the process that holds the connection now. Code that wants to hide can: it runs as the same user.

use crate::http::auth::policy::Connection;
use headspace_clients::lineage;
use headspace_core::model::Process;
use headspace_platform::net::peer_uid;
use headspace_platform::process;

/// A process that may act for a person, with its terminal if it has one. `None` for somebody on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub terminal: Option<String>,
    pub is_here: bool,
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
    match connection {
        Connection::Socket { pid } => {
            let pid = pid.filter(|pid| process::exists(*pid)).ok_or("whoever asks is gone")?;
            refuse(pid)?;
            Ok(Person { terminal: process::terminal_of(pid), is_here: true })
        }
        Connection::Port { peer, .. } if !peer.ip().to_canonical().is_loopback() => {
            Ok(Person { terminal: None, is_here: false })
        }
        Connection::Port { peer, local, .. } => {
            let Some(holders) = peer_uid::holders(*peer, *local) else {
                return if cfg!(target_os = "linux") {
                    Err("whoever asks cannot be seen".into())
                } else {
                    Ok(Person { terminal: None, is_here: true })
                };
            };
            // A browser's sandbox hides what it holds; then none of the hidden may be an agent's.
            let suspects = if holders.pids.is_empty() { &holders.hidden } else { &holders.pids };
            if suspects.is_empty() {
                return Err("whoever asks is gone".into());
            }
            suspects.iter().try_for_each(|pid| refuse(*pid))?;
            let terminal = holders.pids.iter().find_map(|pid| process::terminal_of(*pid));
            Ok(Person { terminal, is_here: true })
        }
    }
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

    #[test]
    fn whoever_is_gone_may_nothing() {
        assert!(judge(&Connection::Socket { pid: None }, &[]).is_err());
        assert!(judge(&Connection::Socket { pid: Some(u32::MAX - 1) }, &[]).is_err());
    }
}
