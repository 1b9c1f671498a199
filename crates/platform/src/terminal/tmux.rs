//! tmux: switching to an agent's pane, and typing into it. Fails closed: a pane is neither focused nor typed into
//! unless it provably runs the agent's own process.

use crate::{config, process};
use headspace_core::model::{AgentView, Process};
use std::io::Write;
use std::process::{Command, Stdio};

/// Why a jump or a wake-up was not done, for the user who asked.
pub type Refusal = String;

/// A pane that was proven to run the agent.
#[derive(Debug)]
pub struct Pane {
    socket: Option<String>,
    id: String,
    session: String,
    /// Something is typed at the prompt, or the pane shows its history.
    in_mode: bool,
}

/// Finds the agent's pane and proves that its client process, the same one that sent the events, runs in it.
pub fn locate(agent: &AgentView) -> Result<Pane, Refusal> {
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
    let format = "#{pane_id}\t#{pane_pid}\t#{pane_in_mode}\t#{session_name}";
    let answer = tmux(socket.as_deref(), &["display-message", "-p", "-t", pane, format])
        .map_err(|why| format!("tmux does not know pane {pane}: {why}"))?;
    let fields: Vec<&str> = answer.trim_end_matches('\n').splitn(4, '\t').collect();
    let [id, pane_pid, in_mode, session] = fields[..] else {
        return Err(format!("tmux does not know pane {pane}"));
    };
    let owner = pane_pid.parse().map_err(|_| format!("tmux does not know pane {pane}"))?;
    // For a pane that is gone, some versions answer with the current one.
    if id != pane || !process::descends(pid, owner) {
        return Err(format!("pane {pane} runs something else now"));
    }
    Ok(Pane { socket, id: id.to_owned(), session: session.to_owned(), in_mode: in_mode == "1" })
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

fn is_pane(pane: &str) -> bool {
    pane.strip_prefix('%')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Types `text` into the agent's pane as one paste, then Enter.
pub fn type_into(agent: &AgentView, text: &str, force: bool) -> Result<(), Refusal> {
    let pane = locate(agent)?;
    if !force {
        if pane.in_mode {
            return Err("its pane is in copy mode; --force types anyway".into());
        }
        let screen = tmux(pane.socket.as_deref(), &["capture-pane", "-p", "-t", &pane.id])?;
        if let Some(draft) = draft(&screen) {
            return Err(format!(
                "something is half-typed there ({:?}); --force types anyway",
                headspace_core::text::one_line(draft, 40)
            ));
        }
    }
    let buffer = format!("headspace-{}", std::process::id());
    let socket = pane.socket.as_deref();
    feed(socket, &["load-buffer", "-b", &buffer, "-"], &paste_safe(text))?;
    // -p asks for a bracketed paste: line breaks in the text do not send it early; -d drops the buffer.
    tmux(socket, &["paste-buffer", "-p", "-d", "-b", &buffer, "-t", &pane.id])?;
    std::thread::sleep(std::time::Duration::from_millis(150));
    tmux(socket, &["send-keys", "-t", &pane.id, "Enter"]).map(drop)
}

/// What is typed at the client's prompt: the text after the last `>` or `❯` at a line's start. Its own hints do not count.
fn draft(screen: &str) -> Option<&str> {
    let line = screen
        .lines()
        .rev()
        .map(|line| line.trim_matches(|c: char| c.is_whitespace() || c == '│'))
        .find(|line| line.starts_with('❯') || line.starts_with("> ") || *line == ">")?;
    let typed =
        line.trim_start_matches(['❯', '>']).trim_matches(|c: char| c.is_whitespace() || c == '\u{a0}');
    (!typed.is_empty() && !typed.starts_with("Try \"")).then_some(typed)
}

/// Text that cannot end the bracketed paste or press keys.
fn paste_safe(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn quoted(name: &str) -> String {
    format!("'{}'", headspace_core::text::strip_control(name).replace('\'', "'\\''"))
}

fn tmux(socket: Option<&str>, args: &[&str]) -> Result<String, Refusal> {
    feed(socket, args, "")
}

fn feed(socket: Option<&str>, args: &[&str], input: &str) -> Result<String, Refusal> {
    let mut command = Command::new("tmux");
    if let Some(socket) = socket {
        command.args(["-S", socket]);
    }
    let mut child = command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not run tmux: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    let out = child.wait_with_output().map_err(|error| format!("could not run tmux: {error}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(headspace_core::text::one_line(&String::from_utf8_lossy(&out.stderr), 200))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_the_text_after_the_prompt() {
        for (screen, expected) in [
            ("answer\n│ > fix the │\n? for shortcuts", Some("fix the")),
            ("❯ half typed\n", Some("half typed")),
            ("❯ \n", None),
            ("│ >  │", None),
            ("> Try \"fix lint errors\"\n", None),
            ("no prompt at all\n", None),
        ] {
            assert_eq!(draft(screen), expected, "{screen:?}");
        }
    }

    #[test]
    fn pasted_text_cannot_break_out_of_the_paste() {
        assert_eq!(paste_safe("a\x1b[201~\rb\nc"), "a[201~b\nc");
    }
}
