//! Which client runs this hook, and where that client runs. Claude says both in its environment; another client is named by
//! a flag on the command, and found as the process above the hook.

use crate::envelope::{self, Fields, quoted};
use crate::stdin::Payload;
use headspace_clients::{GuardForm, Row, named, recognize};
use headspace_core::model::hints;
use headspace_platform::process;
use headspace_platform::process::decimal;
use headspace_platform::spool::delivery::Delivery;

/// The client that runs the hook; `None` is Claude, which needs no translation.
#[derive(Debug)]
pub struct Caller(Option<Other>);

#[derive(Debug)]
struct Other {
    name: String,
    row: Option<&'static Row>,
}

/// No client has a longer name than this.
const MAX_NAME: usize = 32;

/// Variables that a client inherits if Claude started it, and that therefore say nothing about it.
const INHERITED: [&str; 3] = ["claude_pid", "claude_pid_start", "entrypoint"];

/// Variables that mean nothing in a process that serves many sessions.
const OF_ANOTHER_TERMINAL: [&str; 3] = ["tmux_pane", "tmux_session", "terminal"];

/// Shells that run a hook, and how many may be between it and its client.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "busybox"];
const MAX_SHELLS: usize = 4;

/// Where a payload keeps its session's id, if not under that name.
const OTHER_SESSION_KEY: &str = "sessionId";

impl recognize::Payload for Payload {
    fn text(&self, field: &str) -> Option<String> {
        Payload::text(self, field)
    }
}

impl Caller {
    /// Found by the flag; without one by the environment, unless the payload contradicts it.
    pub fn of(flag: Option<&str>, payload: &Payload) -> Caller {
        let flag = flag.map(str::trim).filter(|name| is_name(name));
        let name = match flag {
            Some(name) => Some(name.to_ascii_lowercase()),
            None => recognize::foreign(payload).map(str::to_owned),
        };
        let name = name.filter(|name| name != hints::DEFAULT_CLIENT);
        Caller(name.map(|name| Other { row: named(&name), name }))
    }

    /// Whether the payload names its session.
    pub fn has_session(&self, payload: &Payload) -> bool {
        payload.has_text("session_id") || self.0.is_some() && payload.has_text(OTHER_SESSION_KEY)
    }

    /// What is added to the payload.
    pub fn fields(&self, payload: &Payload, delivery: &Delivery) -> Fields {
        let mut fields = envelope::fields(delivery);
        if let Some(other) = &self.0 {
            other.replace(payload, &mut fields);
        }
        fields
    }

    pub fn is_claude(&self) -> bool {
        self.0.is_none()
    }

    /// The tool call in the form the guard reads, if the client obeys the guard.
    pub fn guarded(&self, payload: &Payload) -> Option<Vec<u8>> {
        let Some(other) = &self.0 else { return Some(payload.object().to_vec()) };
        let honors = other.row.is_some_and(|row| row.guard != GuardForm::None);
        honors.then(|| headspace_clients::guard::payload(payload.object()))
    }

    /// The form in which the client reads a verdict.
    pub fn guard_form(&self) -> GuardForm {
        match &self.0 {
            None => GuardForm::Claude,
            Some(other) => other.row.map_or(GuardForm::None, |row| row.guard),
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(plain)
}

impl Other {
    fn replace(&self, payload: &Payload, fields: &mut Fields) {
        fields.retain(|(name, _)| !INHERITED.contains(name));
        fields.push((hints::CLIENT, quoted(&self.name)));
        if !payload.has_text("session_id")
            && let Some(id) = payload.get(OTHER_SESSION_KEY)
        {
            fields.push(("session_id", id.to_vec()));
        }
        // A plugin runs inside its client, and has said which process that is.
        if payload.get("claude_pid").is_some() {
            if payload.get(hints::SHARED_PROCESS).is_some() {
                fields.retain(|(name, _)| !OF_ANOTHER_TERMINAL.contains(name));
            }
            return;
        }
        let Some((pid, words)) = client_process() else { return };
        if self.row.is_some_and(|row| (row.is_shared)(&words)) {
            fields.retain(|(name, _)| !OF_ANOTHER_TERMINAL.contains(name));
            fields.push((hints::SHARED_PROCESS, b"true".to_vec()));
            return;
        }
        fields.push(("claude_pid", decimal(pid.into()).into_bytes()));
        fields
            .extend(process::start_time(pid).map(|start| ("claude_pid_start", decimal(start).into_bytes())));
        let prints = |word: &String| self.row.is_some_and(|row| row.print_words.contains(&word.as_str()));
        let entrypoint = if words.iter().skip(1).any(prints) { "print" } else { "cli" };
        fields.push(("entrypoint", quoted(entrypoint)));
    }
}

/// The client's process: the hook's parent, past shells that only run the hook, because they die with it.
fn client_process() -> Option<(u32, Vec<String>)> {
    let mut pid = process::parent()?;
    for _ in 0..MAX_SHELLS {
        let words = process::command_line(pid);
        if !runs_a_command(&words) {
            // The process that started the hook is gone, and init has adopted the hook.
            return (pid > 1).then_some((pid, words));
        }
        pid = process::parent_of(pid)?;
    }
    None
}

/// `sh -c …`, and `node --eval …`: Qwen Code lets such a process run a hook that may outlive it.
fn runs_a_command(words: &[String]) -> bool {
    let Some(program) = words.first() else { return false };
    let name = program.rsplit('/').next().unwrap_or(program).trim_start_matches('-');
    let option = |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let options = || words.iter().skip(1).take_while(|word| word.starts_with('-'));
    SHELLS.contains(&name) && words.iter().skip(1).take(3).any(|word| option(&word))
        || name == "node" && options().any(|word| matches!(word.as_str(), "-e" | "--eval"))
}

/// The arguments of `notify`: `[--client NAME] [EVENT]`, in any order. Anything else is ignored, so that no event is lost
/// because of it.
pub fn arguments(words: impl Iterator<Item = std::ffi::OsString>) -> (Option<String>, Option<String>) {
    let (mut client, mut event) = (None, None);
    let mut words = words.filter_map(|word| word.into_string().ok());
    while let Some(word) = words.next() {
        if word == "--client" {
            client = words.next();
        } else if let Some(name) = word.strip_prefix("--client=") {
            client = Some(name.to_owned());
        } else if event.is_none() && !word.is_empty() && !word.starts_with('-') {
            event = Some(word);
        }
    }
    (client, event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_command_are_read_in_any_order() {
        for (line, client, event) in [
            ("", None, None),
            ("Stop", None, Some("Stop")),
            ("--client codex", Some("codex"), None),
            ("--client=codex Stop", Some("codex"), Some("Stop")),
            ("Stop --client codex", Some("codex"), Some("Stop")),
            ("--client", None, None),
            ("--verbose Stop", None, Some("Stop")),
        ] {
            let words = line.split_whitespace().map(std::ffi::OsString::from);
            let (got_client, got_event) = arguments(words);
            assert_eq!((got_client.as_deref(), got_event.as_deref()), (client, event), "{line}");
        }
    }

    #[test]
    fn a_shell_that_runs_one_command_differs_from_one_that_is_typed_into() {
        for (line, expected) in [
            ("/bin/sh -c x", true),
            ("bash -lc x", true),
            ("dash -e -c x", true),
            ("/usr/bin/node --input-type=commonjs --eval x /tmp/in 10000", true),
            ("node /opt/qwen/cli.js --eval", false),
            ("node cli.js -e x", false),
            ("-zsh", false),
            ("bash --norc", false),
            ("codex -c model=x", false),
            ("", false),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(runs_a_command(&words), expected, "{line}");
        }
    }

    #[test]
    fn a_name_is_a_short_word() {
        for (name, expected) in
            [("codex", true), ("my-agent_2", true), ("", false), ("a b", false), ("<x>", false)]
        {
            assert_eq!(is_name(name), expected, "{name}");
        }
        assert!(!is_name(&"x".repeat(MAX_NAME + 1)));
    }
}
