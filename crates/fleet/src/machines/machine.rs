//! One machine from the user's configuration, checked: its name, and the commands that reach it.

use crate::machines::name;
use headspace_core::model::MachineName;
use headspace_platform::config::OtherMachine;

/// A machine that can have a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    pub name: MachineName,
    pub way: Way,
    /// Its agents also alert here.
    pub alerts: bool,
}

/// How a machine is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    Ssh {
        destination: String,
        /// The headspace program, as that machine finds it.
        program: String,
    },
    /// Any command that prints a relay's lines.
    Command(Vec<String>),
}

/// The options of ssh besides the destination: never ask for a password, because no one would see it; notice a dead
/// connection; and forward nothing, because this line needs nothing.
const SSH_OPTIONS: [&str; 8] = [
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ClearAllForwardings=yes",
];

impl Machine {
    /// The error says why the entry cannot be used, for its author.
    pub fn of(entry: &OtherMachine) -> Result<Machine, String> {
        let way = match (&entry.ssh, &entry.command) {
            (Some(destination), None) => {
                if !name::is_ssh_destination(destination) {
                    return Err(format!(
                        "{destination:?} is not a host that ssh takes: write it like devbox or me@devbox"
                    ));
                }
                let program = entry.program.clone().unwrap_or_else(|| "headspace".to_owned());
                if !is_program(&program) {
                    return Err(format!(
                        "{program:?} is not the path of a program: write it like ~/.cargo/bin/headspace"
                    ));
                }
                Way::Ssh { destination: destination.clone(), program }
            }
            (None, Some(command)) => {
                if command.first().is_none_or(|program| program.is_empty()) {
                    return Err("its command is empty: name the program that prints the relay's lines".into());
                }
                Way::Command(command.clone())
            }
            (Some(_), Some(_)) => return Err("it has both `ssh` and `command`: leave one".into()),
            (None, None) => return Err("it has neither `ssh` nor `command`".into()),
        };
        let given = match (&entry.name, &way) {
            (Some(name), _) => MachineName::new(name).ok_or_else(|| {
                format!(
                    "{name:?} cannot be a name: letters, digits, dots, dashes and underscores, at most {}",
                    MachineName::LONGEST
                )
            })?,
            (None, Way::Ssh { destination, .. }) => name::from_destination(destination)
                .ok_or_else(|| format!("{destination:?} needs a `name` beside it"))?,
            (None, Way::Command(_)) => return Err("a command needs a `name` beside it".into()),
        };
        Ok(Machine { name: given, way, alerts: entry.alerts.unwrap_or(true) })
    }

    /// The command that keeps its line: a program and its arguments.
    pub fn relay(&self) -> Vec<String> {
        match &self.way {
            Way::Ssh { destination, program } => {
                let mut words = vec!["ssh".to_owned(), "-T".into()];
                words.extend(SSH_OPTIONS.map(str::to_owned));
                words.extend(["--".into(), destination.clone(), program.clone(), "relay".into()]);
                words
            }
            Way::Command(command) => command.clone(),
        }
    }

    /// The command that shows an agent of that machine in a terminal. Only the agent's number is sent: the machine
    /// itself verifies which pane that is, so no name or text of an agent becomes part of a command.
    pub fn attach(&self, number: i64) -> Result<Vec<String>, String> {
        match &self.way {
            Way::Ssh { destination, program } => {
                Ok(["ssh", "-t", "--", destination, program, "jump", "--attach"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain([number.to_string()])
                    .collect())
            }
            Way::Command(_) => Err(format!(
                "{} is reached by a command of yours, not by ssh: run `headspace jump {number}` there",
                self.name
            )),
        }
    }

    /// The command that resumes a session there, for a person to copy. `None` if a part has an unexpected form.
    pub fn resume(&self, directory: Option<&str>, command: &str) -> Option<String> {
        let Way::Ssh { destination, .. } = &self.way else { return None };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" =._:/-".contains(&byte);
        if !command.bytes().all(plain) {
            return None;
        }
        let there = match directory {
            Some(directory) if directory.chars().any(char::is_control) => return None,
            Some(directory) => format!("cd -- {} && {command}", quoted(directory)),
            None => command.to_owned(),
        };
        Some(format!("ssh -t {destination} {}", quoted(&there)))
    }
}

/// All usable machines of a configuration, and what is wrong with the others.
pub fn all(entries: &[OtherMachine]) -> (Vec<Machine>, Vec<(String, String)>) {
    let (mut machines, mut wrong): (Vec<Machine>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for entry in entries {
        let called = || {
            let called = entry.name.clone().or_else(|| entry.ssh.clone()).unwrap_or_else(|| "?".into());
            headspace_core::text::one_line(&called, 80)
        };
        match Machine::of(entry) {
            Ok(machine) if machines.iter().any(|other| other.name == machine.name) => {
                wrong.push((
                    called(),
                    "there is another machine of this name: give it a `name` of its own".into(),
                ));
            }
            Ok(_) if machines.len() >= MOST_MACHINES => {
                wrong.push((
                    called(),
                    format!("more than {MOST_MACHINES} machines are not kept: a hub is made for that"),
                ));
            }
            Ok(machine) => machines.push(machine),
            Err(why) => wrong.push((called(), why)),
        }
    }
    (machines, wrong)
}

/// Each machine costs a process and three threads.
const MOST_MACHINES: usize = 64;

/// The remote shell sees it: a path without characters that a shell interprets. A leading `~` is intended.
fn is_program(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+');
    let rest = path.strip_prefix("~/").unwrap_or(path);
    !rest.is_empty() && !rest.starts_with('-') && rest.len() < 1024 && rest.bytes().all(plain)
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh(destination: &str) -> OtherMachine {
        OtherMachine { ssh: Some(destination.into()), ..OtherMachine::default() }
    }

    #[test]
    fn a_machine_is_a_host_for_ssh_or_a_command_with_a_name() {
        let devbox = Machine::of(&ssh("me@devbox")).unwrap();
        assert_eq!(devbox.name.as_str(), "devbox");
        let relay = devbox.relay();
        assert_eq!(relay[relay.len() - 4..], ["--", "me@devbox", "headspace", "relay"]);
        let command = OtherMachine {
            name: Some("box".into()),
            command: Some(vec!["docker".into(), "exec".into()]),
            ..OtherMachine::default()
        };
        assert_eq!(Machine::of(&command).unwrap().relay(), ["docker", "exec"]);
        for wrong in [
            OtherMachine::default(),
            ssh("-oProxyCommand=x"),
            ssh("::1"),
            OtherMachine { ssh: Some("a".into()), ..command.clone() },
            OtherMachine { name: None, ..command.clone() },
            OtherMachine { name: Some("a/b".into()), ..command.clone() },
            OtherMachine { command: Some(vec![]), ..command.clone() },
            OtherMachine { program: Some("x; y".into()), ..ssh("a") },
            OtherMachine { program: Some("-x".into()), ..ssh("a") },
        ] {
            assert!(Machine::of(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn two_of_one_name_are_one_and_a_word_about_the_other() {
        let (machines, wrong) = all(&[ssh("devbox"), ssh("other@devbox"), ssh("b")]);
        assert_eq!((machines.len(), wrong.len(), wrong[0].0.as_str()), (2, 1, "other@devbox"));
    }

    #[test]
    fn only_a_number_travels_when_an_agent_is_shown() {
        let devbox =
            Machine::of(&OtherMachine { program: Some("~/bin/headspace".into()), ..ssh("me@devbox") })
                .unwrap();
        assert_eq!(
            devbox.attach(7).unwrap(),
            ["ssh", "-t", "--", "me@devbox", "~/bin/headspace", "jump", "--attach", "7"]
        );
    }

    #[test]
    fn what_is_copied_to_resume_is_quoted_for_both_shells() {
        let devbox = Machine::of(&ssh("devbox")).unwrap();
        assert_eq!(
            devbox.resume(Some("/srv/it's"), "claude --resume 1-a").unwrap(),
            r"ssh -t devbox 'cd -- '\''/srv/it'\''\'\'''\''s'\'' && claude --resume 1-a'"
        );
        assert_eq!(devbox.resume(None, "claude --resume $(x)"), None);
        assert_eq!(devbox.resume(Some("/a\nb"), "claude"), None);
    }
}
