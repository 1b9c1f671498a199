//! tmux: switching to an agent's pane, looking at it, and typing into it. Fails closed: a pane is neither focused nor typed
//! into unless it provably runs the agent's own process. What may be typed when is for the caller to decide.

use crate::command::output_within;
use crate::{config, process};
use headspace_core::model::{AgentView, Process};
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

/// tmux answers within milliseconds, unless its server hangs; then nobody may hang with it.
const TMUX_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Why nothing was done with a terminal, for the user who asked.
pub type Refusal = String;

/// A pane that was proven to run the agent.
#[derive(Debug)]
pub struct Pane {
    socket: Option<String>,
    id: String,
    session: String,
    /// The process the pane was opened for, and the agent's, which is the same or below it.
    owner: u32,
    client: Process,
}

/// Finds the agent's pane and proves that its client process, the same one that sent the events, runs in it.
pub fn locate(agent: &AgentView) -> Result<Pane, Refusal> {
    // Its pane and its process may have the numbers of one of ours.
    if let Some(machine) = &agent.machine {
        return Err(format!("it runs on {machine}"));
    }
    let pane = agent.tmux_pane.as_deref().ok_or("its hooks did not report a tmux pane")?;
    if !is_pane(pane) {
        return Err(format!("{pane:?} is not a tmux pane"));
    }
    let (Some(pid), Some(start)) = (agent.claude_pid, agent.claude_pid_start) else {
        return Err(format!("could not prove that pane {pane} is its own: its process is not known"));
    };
    if !process::lives(Process { pid, start }) {
        return Err(format!("its process {pid} is gone, so pane {pane} may belong to another process"));
    }
    let socket =
        agent.terminal.as_ref().and_then(|terminal| terminal["tmux_socket"].as_str()).map(str::to_owned);
    let format = "#{pane_id}\t#{pane_pid}\t#{session_name}";
    let answer = tmux(socket.as_deref(), &["display-message", "-p", "-t", pane, format])
        .map_err(|why| format!("tmux does not know pane {pane}: {why}"))?;
    let fields: Vec<&str> = answer.trim_end_matches('\n').splitn(3, '\t').collect();
    let [id, pane_pid, session] = fields[..] else {
        return Err(format!("tmux does not know pane {pane}"));
    };
    let owner = pane_pid.parse().map_err(|_| format!("tmux does not know pane {pane}"))?;
    // For a pane that is gone, some versions answer with the current one.
    if id != pane || !process::descends(pid, owner) {
        return Err(format!("pane {pane} runs something else now"));
    }
    let client = Process { pid, start };
    Ok(Pane { socket, id: id.to_owned(), session: session.to_owned(), owner, client })
}

/// Shows the agent's pane: selects it in its session, and moves a terminal there only if none shows that session.
pub fn jump(agent: &AgentView) -> Result<(), Refusal> {
    let pane = locate(agent)?;
    let run = |args: &[&str]| tmux(pane.socket.as_deref(), args);
    run(&["select-window", "-t", &pane.id])?;
    run(&["select-pane", "-t", &pane.id])?;
    let clients = run(&["list-clients", "-F", "#{client_name}\t#{session_name}"])?;
    let clients: Vec<(&str, &str)> = clients.lines().filter_map(|line| line.split_once('\t')).collect();
    // The terminal this command runs in is the one the user looks at.
    let own =
        config::env(config::var::TMUX).and_then(|_| run(&["display-message", "-p", "#{client_name}"]).ok());
    let own = own.as_deref().map(str::trim).filter(|name| clients.iter().any(|(client, _)| client == name));
    let shown =
        |name: &str| clients.iter().any(|(client, session)| *client == name && *session == pane.session);
    let client = match own {
        Some(own) if shown(own) => return Ok(()),
        Some(own) => own,
        None if clients.iter().any(|(_, session)| *session == pane.session) => return Ok(()),
        None => match clients.as_slice() {
            [] => {
                return Err(format!(
                    "no terminal shows tmux; `tmux attach -t {}` does, and the pane is selected",
                    quoted(&pane.session)
                ));
            }
            [(only, _)] => only,
            _ => {
                return Err(format!(
                    "several terminals show tmux; `tmux attach -t {}` shows this one",
                    quoted(&pane.session)
                ));
            }
        },
    };
    run(&["switch-client", "-c", client, "-t", &pane.id]).map(drop)
}

/// Shows the agent's pane in this terminal, by attaching to its session; returns when the user has left it.
pub fn attach(agent: &AgentView) -> Result<(), Refusal> {
    if agent.ended_at.is_some() {
        return Err("it has ended".into());
    }
    let pane = locate(agent)?;
    let socket = pane.socket.as_deref();
    tmux(socket, &["select-window", "-t", &pane.id])?;
    tmux(socket, &["select-pane", "-t", &pane.id])?;
    let mut command = Command::new("tmux");
    if let Some(socket) = socket {
        command.args(["-S", socket]);
    }
    // A pane names its session, whatever that is called.
    let status = command.args(["attach-session", "-t", &pane.id]).status();
    match status.map_err(|error| format!("could not run tmux: {error}"))? {
        status if status.success() => Ok(()),
        _ => Err("tmux could not show it here".into()),
    }
}

/// What a pane shows.
#[derive(Debug, PartialEq)]
pub struct Screen {
    pub pane: String,
    /// The process the pane was opened for.
    pub pid: u32,
    pub text: String,
}

/// Precedes each screen in the output of one tmux call; no program writes it to a screen.
const SCREEN_MARK: char = '\u{1e}';

/// The screens of these panes, from one call for all. Panes that are gone are missing.
pub fn screens(socket: Option<&str>, panes: &[&str]) -> Vec<Screen> {
    let format = format!("{SCREEN_MARK}#{{pane_id}} #{{pane_pid}}");
    let mut words = Vec::new();
    for pane in panes.iter().filter(|pane| is_pane(pane)) {
        if !words.is_empty() {
            words.push(";");
        }
        words.extend(["display-message", "-p", "-t", pane, &format, ";", "capture-pane", "-p", "-t", pane]);
    }
    if words.is_empty() {
        return Vec::new();
    }
    let printed = tmux(socket, &words).unwrap_or_default();
    printed.split(SCREEN_MARK).filter_map(screen).collect()
}

fn screen(printed: &str) -> Option<Screen> {
    let (head, text) = printed.split_once('\n')?;
    let (pane, pid) = head.split_once(' ')?;
    Some(Screen { pane: pane.to_owned(), pid: pid.parse().ok()?, text: text.to_owned() })
}

/// Whether this is the id of a pane: `%7`.
pub fn is_pane(pane: &str) -> bool {
    pane.strip_prefix('%')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A pane at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What it shows, with the escape sequences of colors and styles.
    pub text: String,
    /// Column and row, from zero.
    pub cursor: (usize, usize),
    /// It shows its history, or a menu of tmux: keys do not reach the program.
    pub in_mode: bool,
}

impl Pane {
    /// What the pane shows now. Its process is proven again: a pane can be given to another at any time.
    pub fn look(&self) -> Result<Look, Refusal> {
        if !process::lives(self.client) || !process::is_in_foreground(self.client.pid) {
            return Err(format!("pane {} runs something else now", self.id));
        }
        let format = "#{pane_id} #{pane_pid} #{pane_in_mode} #{cursor_x} #{cursor_y}";
        let printed = self.run(&[
            "display-message",
            "-p",
            "-t",
            &self.id,
            format,
            ";",
            "capture-pane",
            "-p",
            "-e",
            "-t",
            &self.id,
        ])?;
        let (head, text) = printed.split_once('\n').unwrap_or((&printed, ""));
        let fields: Vec<&str> = head.split(' ').collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<usize>().ok());
        match (fields.first(), number(1), fields.get(2), number(3), number(4)) {
            (Some(id), Some(owner), Some(mode), Some(x), Some(y))
                if *id == self.id && owner == self.owner as usize =>
            {
                Ok(Look { text: text.to_owned(), cursor: (x, y), in_mode: *mode != "0" })
            }
            _ => Err(format!("pane {} runs something else now", self.id)),
        }
    }

    /// Presses a key if nothing has moved since that look; whether it did.
    pub fn press(&self, key: &str, since: &Look) -> Result<bool, Refusal> {
        self.unless_moved(since, &format!("send-keys -t {} {key}", self.id))
    }

    /// Pastes `text` if nothing has moved since that look; whether it did. The text must not have control characters.
    pub fn paste(&self, text: &str, since: &Look) -> Result<bool, Refusal> {
        // No other process has this name, nor guesses it.
        let buffer = format!("headspace-{:016x}", process::random());
        feed(self.socket.as_deref(), &["load-buffer", "-b", &buffer, "-"], text)?;
        // -p asks for a bracketed paste and -r leaves line breaks as they are, so that none of them sends the text early.
        let paste = format!("paste-buffer -p -r -d -b {buffer} -t {}", self.id);
        let pasted = self.unless_moved(since, &paste);
        if !matches!(pasted, Ok(true)) {
            let _ = self.run(&["delete-buffer", "-b", &buffer]);
        }
        pasted
    }

    /// tmux itself compares and acts, with nothing in between: a dialog that opened since has taken the cursor elsewhere.
    fn unless_moved(&self, since: &Look, command: &str) -> Result<bool, Refusal> {
        let (x, y) = since.cursor;
        let same = [
            ("pane_pid", self.owner as usize),
            ("pane_in_mode", usize::from(since.in_mode)),
            ("cursor_x", x),
            ("cursor_y", y),
        ]
        .iter()
        .fold("1".to_owned(), |all, (name, value)| format!("#{{&&:#{{==:#{{{name}}},{value}}},{all}}}"));
        let command = format!("{command} ; display-message -p {DONE}");
        Ok(self.run(&["if-shell", "-F", "-t", &self.id, &same, &command])?.trim_end() == DONE)
    }

    fn run(&self, args: &[&str]) -> Result<String, Refusal> {
        tmux(self.socket.as_deref(), args)
    }
}

/// What tmux prints when it has acted.
const DONE: &str = "done";

fn quoted(name: &str) -> String {
    format!("'{}'", headspace_core::text::strip_control(name).replace('\'', "'\\''"))
}

fn tmux(socket: Option<&str>, args: &[&str]) -> Result<String, Refusal> {
    feed(socket, args, "")
}

fn feed(socket: Option<&str>, args: &[&str], input: &str) -> Result<String, Refusal> {
    let mut command = Command::new("tmux");
    // A service often has no language set; without this, tmux prints an underscore for every tab and letter it cannot name.
    command.arg("-u");
    if let Some(socket) = socket {
        command.args(["-S", socket]);
    }
    let out = output_within(command.args(args), input, TMUX_ANSWERS_WITHIN).map_err(|error| {
        match error.kind() {
            ErrorKind::TimedOut => format!("tmux did not answer within {} s", TMUX_ANSWERS_WITHIN.as_secs()),
            _ => format!("could not run tmux: {error}"),
        }
    })?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(headspace_core::text::one_line(&String::from_utf8_lossy(&out.stderr), 200))
}
