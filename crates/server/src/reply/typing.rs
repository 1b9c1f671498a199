//! Typing into an agent's own pane, step by step: the pane is proven, the input box is empty, the text is pasted and seen
//! there, then Enter. Between two looks the pane may change, so paste and Enter are given to tmux with a condition: same
//! process, no copy mode, the cursor where it was. A dialog moves the cursor.

use headspace_clients::screen::{self, Screen, Seen};
use headspace_core::model::AgentView;
use headspace_core::text::one_line;
use headspace_platform::terminal::tmux::{self, Look, Pane, Refusal};
use std::time::{Duration, Instant};

/// A pasted text is shown within this time, even on a busy machine.
const TEXT_SHOWN_WITHIN: Duration = Duration::from_secs(3);
const LOOK_AT_SCREEN_EVERY: Duration = Duration::from_millis(40);

/// How far a text came.
#[derive(Debug)]
pub enum Typed {
    /// Enter was pressed with exactly this text in the box.
    Entered(Pane),
    /// The text was pasted, and Enter not pressed: why.
    InBox(String),
}

/// Only Claude Code's screen is known here. Codex reports the pane in which its daemon was first started.
pub fn can_type(agent: &AgentView) -> Result<(), Refusal> {
    if agent.ended_at.is_some() {
        return Err("it has ended".into());
    }
    if agent.elsewhere {
        return Err("it runs on another machine".into());
    }
    if agent.headless {
        return Err("it runs without a terminal, so nothing can be typed there".into());
    }
    if agent.client != headspace_core::model::hints::DEFAULT_CLIENT {
        return Err("only Claude Code's screen can be read so far".into());
    }
    if agent.tmux_pane.is_none() {
        return Err("it does not run in tmux, and no other terminal can be read".into());
    }
    Ok(())
}

/// Puts `text` into the agent's input box and presses Enter. Blocks for up to a few seconds.
pub fn enter(agent: &AgentView, text: &str) -> Result<Typed, Refusal> {
    can_type(agent)?;
    let pane = tmux::locate(agent)?;
    let before = pane.look()?;
    must_be_empty(&before)?;
    if !pane.paste(&pasteable(text), &before)? {
        return Err("its screen changed at that very moment; try again".into());
    }
    let until = Instant::now() + TEXT_SHOWN_WITHIN;
    loop {
        let look = pane.look()?;
        if holds(&look, text) {
            return match pane.press("Enter", &look)? {
                true => Ok(Typed::Entered(pane)),
                false => Ok(Typed::InBox("its screen changed before Enter".into())),
            };
        }
        if Instant::now() >= until {
            return Ok(Typed::InBox("the text was not seen in the box as it was sent".into()));
        }
        std::thread::sleep(LOOK_AT_SCREEN_EVERY);
    }
}

/// Whether the box still holds the text.
pub fn still_holds(pane: &Pane, text: &str) -> bool {
    pane.look().is_ok_and(|look| holds(&look, text))
}

/// Presses Esc, where that interrupts: at the input box or at a dialog.
pub fn escape(agent: &AgentView) -> Result<(), Refusal> {
    can_type(agent)?;
    let pane = tmux::locate(agent)?;
    let look = pane.look()?;
    not_in_copy_mode(&look)?;
    match read(&look) {
        Seen::InputBox(_) => {}
        // Esc refuses what it asks, and the turn with it; without a question of the agent's it is only a menu.
        Seen::Dialog if !agent.interactions.is_empty() => {}
        Seen::Dialog | Seen::ShellMode(_) | Seen::Unknown => {
            return Err("its screen shows something that Esc would only close".into());
        }
    }
    match pane.press("Escape", &look)? {
        true => Ok(()),
        false => Err("its screen changed at that very moment".into()),
    }
}

fn read(look: &Look) -> Seen {
    screen::read(Screen { text: &look.text, cursor: look.cursor })
}

fn not_in_copy_mode(look: &Look) -> Result<(), Refusal> {
    match look.in_mode {
        true => Err("its pane is in copy mode (q leaves it)".into()),
        false => Ok(()),
    }
}

fn must_be_empty(look: &Look) -> Result<(), Refusal> {
    not_in_copy_mode(look)?;
    match read(look) {
        Seen::InputBox(draft) if draft.is_empty() => Ok(()),
        Seen::InputBox(draft) | Seen::ShellMode(draft) => {
            Err(format!("something is half-typed there ({:?})", one_line(&draft, 40)))
        }
        Seen::Dialog => Err("a dialog or menu is open there: answer or close it first".into()),
        Seen::Unknown => Err("its screen does not show an empty input box".into()),
    }
}

fn holds(look: &Look, text: &str) -> bool {
    let text = pasteable(text);
    match read(look) {
        Seen::InputBox(typed) => screen::holds(&typed, &text),
        // The first character turned the box into a shell's, and is not shown in it.
        Seen::ShellMode(typed) => {
            text.trim_start().strip_prefix('!').is_some_and(|rest| screen::holds(&typed, rest))
        }
        Seen::Dialog | Seen::Unknown => false,
    }
}

/// Text that cannot end the bracketed paste or press keys.
pub fn pasteable(text: &str) -> String {
    // The client makes blanks of tabs, and would report another text than was sent.
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_text_cannot_break_out_of_the_paste() {
        assert_eq!(pasteable("a\x1b[201~\rb\nc\u{9b}d\n\n"), "a[201~b\nc\u{64}");
        assert_eq!(pasteable("a\r\n\tb"), "a\n    b");
    }
}
