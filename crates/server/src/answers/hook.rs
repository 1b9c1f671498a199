//! Which process may wait for an answer: only a `headspace wait` that was started by the client whose dialog it is about.
//! Another program could show people an ask that no client makes, or take an answer that is meant for another dialog.
//!
//! A refused process gets no answer, and the terminal's dialog stays. Code that wants to look like a hook can: a command of
//! an agent can replace itself by `headspace wait`. The answer it gets has no effect.

use crate::http::auth::policy::Connection;
use headspace_clients::lineage;
use headspace_core::model::Process;
use headspace_hooks::client_settings::entry::{Call, Role};
use headspace_hooks::client_settings::locate::{self, Client, Scope};
use headspace_hooks::client_settings::merge;
use headspace_platform::net::peer_uid;
use headspace_platform::{files, process};
use std::path::Path;

/// How many ancestors of a process are looked at.
const MAX_GENERATIONS: usize = 64;

/// The ancestors of the waiting process, nearest first; `None` if the system does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage(Option<Vec<Process>>);

/// How a lineage relates to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Ours,
    /// The hook of another process that has the same session open.
    Anothers,
    Refused(&'static str),
}

/// Looks at the other end of a connection that wants to wait. Reads /proc: not for the server's runtime.
pub fn judge(connection: &Connection) -> Result<Lineage, String> {
    let pid = match connection {
        Connection::Socket { pid } => *pid,
        Connection::Port { peer, .. } if !peer.ip().to_canonical().is_loopback() => {
            return Err("only a hook of this machine may wait".into());
        }
        Connection::Port { peer, local, .. } => {
            peer_uid::holders(*peer, *local).and_then(|holders| match holders.pids.as_slice() {
                [pid] => Some(*pid),
                _ => None,
            })
        }
    };
    let Some(pid) = pid else {
        return if cfg!(target_os = "linux") {
            Err("the process that asks cannot be seen".into())
        } else {
            Ok(Lineage(None))
        };
    };
    if !is_wait(pid) {
        return Err("only `headspace wait` may wait for an answer".into());
    }
    Ok(Lineage(Some(starters(pid))))
}

/// Whether this process is a `headspace wait` that is ours.
fn is_wait(pid: u32) -> bool {
    let words = process::command_line(pid);
    let unknown = cfg!(not(target_os = "linux"));
    words.get(1).map(String::as_str) == Some("wait")
        && process::executable(pid).map_or(unknown, |exe| is_ours(pid, &exe))
}

/// This program, the one that replaced it on disk, or the one that the settings name.
fn is_ours(pid: u32, exe: &Path) -> bool {
    process::is_same_program(pid)
        || process::executable(std::process::id()).is_some_and(|own| own == exe)
        || is_in_settings(exe)
}

fn is_in_settings(exe: &Path) -> bool {
    let targets = locate::targets(Client::Claude, Scope::User, &[]).unwrap_or_default();
    let same = |call: &Call| {
        call.program()
            .and_then(|program| Path::new(&program).canonicalize().ok())
            .is_some_and(|path| path == exe)
    };
    targets.iter().any(|target| {
        let text = files::read_text(&target.path).unwrap_or_default();
        merge::find(&text, exe.to_str())
            .is_ok_and(|found| found.iter().any(|entry| entry.role == Role::Wait && same(&entry.call)))
    })
}

/// The processes above `pid`. A shell that does nothing but run our entry, as old clients start it, is left out.
fn starters(pid: u32) -> Vec<Process> {
    let mut found = Vec::new();
    let mut next = process::parent_of(pid);
    while let Some(one) = next.filter(|_| found.len() < MAX_GENERATIONS) {
        if !(found.is_empty() && is_shell_of_entry(&process::command_line(one)))
            && let Some(start) = process::start_time(one)
        {
            found.push(Process { pid: one, start });
        }
        next = process::parent_of(one).filter(|parent| *parent != one);
    }
    found
}

fn is_shell_of_entry(words: &[String]) -> bool {
    let [_, option, line] = words else { return false };
    let call = Call::Shell(line.clone()).words().unwrap_or_default();
    option == "-c"
        && matches!(call.as_slice(), [program, wait] if wait == "wait" && program.ends_with("headspace"))
}

impl Lineage {
    /// Whether this is the hook of the agent in `seat`. `seats`: the processes that have its session open; `agents`: all
    /// that are known to be agents. `is_client` tells whether a process is plainly a client, which starts its hooks itself.
    pub fn fits(
        &self,
        seat: Option<Process>,
        seats: &[Process],
        agents: &[Process],
        is_client: impl Fn(Process) -> bool,
    ) -> Fit {
        let Some(starters) = &self.0 else { return Fit::Ours };
        let nearest = starters.first();
        if seat.is_some() && nearest == seat.as_ref() {
            return Fit::Ours;
        }
        if nearest.is_some_and(|nearest| seats.contains(nearest)) {
            return Fit::Anothers;
        }
        if starters.iter().any(|one| agents.contains(one)) {
            return Fit::Refused("an agent started it, not its client");
        }
        if seat.is_some_and(is_client) {
            return Fit::Refused("another program started it, not its client");
        }
        Fit::Ours
    }
}

/// Whether this process still runs, and is a coding agent by its name. Reads /proc.
pub fn is_client(process: Process) -> bool {
    process::lives(process) && lineage::named_agent(process.pid).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pid: u32) -> Process {
        Process { pid, start: u64::from(pid) * 10 }
    }

    #[test]
    fn only_the_client_itself_starts_its_hook() {
        let (client, other, shell, stranger) = (at(1), at(2), at(3), at(4));
        let (seats, agents) = ([client, at(5)], [client, other, at(5)]);
        for (what, starters, seat, named, expected) in [
            ("its client", vec![client, shell], Some(client), true, "ours"),
            ("its client, inside another agent's terminal", vec![client, other], Some(client), true, "ours"),
            ("a command of its own agent", vec![shell, client], Some(client), true, "refused"),
            ("another agent", vec![other], Some(client), true, "refused"),
            ("a command of another agent", vec![shell, other], Some(client), false, "refused"),
            ("a program that hides whose it is", vec![stranger], Some(client), true, "refused"),
            ("nobody, after it cut itself loose", vec![], Some(client), true, "refused"),
            ("the other process of the session", vec![at(5)], Some(client), true, "another's"),
            ("somebody, where the client is not plainly one", vec![stranger], Some(client), false, "ours"),
            ("somebody, where the client is not known", vec![stranger], None, true, "ours"),
            ("an agent, where the client is not known", vec![shell, other], None, true, "refused"),
        ] {
            let fit = Lineage(Some(starters)).fits(seat, &seats, &agents, |_| named);
            let word = match fit {
                Fit::Ours => "ours",
                Fit::Anothers => "another's",
                Fit::Refused(_) => "refused",
            };
            assert_eq!(word, expected, "{what}");
        }
        assert_eq!(Lineage(None).fits(Some(client), &seats, &agents, |_| true), Fit::Ours, "who knows");
    }

    #[test]
    fn a_shell_counts_as_the_client_only_if_it_runs_nothing_but_the_entry() {
        for (words, expected) in [
            (&["sh", "-c", "/usr/bin/headspace wait"][..], true),
            (&["/bin/sh", "-c", "'/opt/my tools/headspace' wait"], true),
            (&["bash", "-c", "/usr/bin/headspace wait < ask.json"], false),
            (&["bash", "-c", "true && /usr/bin/headspace wait"], false),
            (&["bash", "-c", "/tmp/other wait"], false),
            (&["bash", "script.sh"], false),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(is_shell_of_entry(&words), expected, "{words:?}");
        }
    }

    #[test]
    fn a_process_that_is_not_headspace_wait_may_not_wait() {
        assert!(judge(&Connection::Socket { pid: Some(std::process::id()) }).is_err());
        assert!(judge(&Connection::Socket { pid: Some(u32::MAX - 1) }).is_err());
        let far = "192.0.2.7:4000".parse().unwrap();
        assert!(judge(&Connection::port(far, "192.0.2.8:5055".parse().unwrap())).is_err());
    }
}
