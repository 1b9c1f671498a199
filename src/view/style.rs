//! Colors on a terminal that has them, unless `NO_COLOR` is set. Nothing is said by color alone.

use crate::view::card::{CardLine, Tone};
use headspace_core::model::Group;
use headspace_platform::config;
use std::io::IsTerminal;

/// How text is colored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Ansi,
    /// `#[fg=…]`, for the tmux status line.
    Tmux,
}

impl Style {
    /// Colors if standard output is a terminal that has them and `NO_COLOR` is not set.
    pub fn for_stdout() -> Style {
        let dumb = config::env("TERM").is_some_and(|term| term == "dumb");
        let wanted = std::io::stdout().is_terminal() && !dumb && config::env("NO_COLOR").is_none();
        if wanted { Style::Ansi } else { Style::Plain }
    }

    pub fn group(self, group: Group, text: &str) -> String {
        let (ansi, tmux) = colors(group);
        self.apply(text, ansi, tmux)
    }

    pub fn dim(self, text: &str) -> String {
        self.apply(text, "38;5;245", "fg=colour245")
    }

    pub fn bold(self, text: &str) -> String {
        self.apply(text, "1", "bold")
    }

    /// A line of a card.
    pub fn card_line(self, line: &CardLine) -> String {
        let text = match line.tone {
            _ if line.text.is_empty() => String::new(),
            Tone::Plain => line.text.clone(),
            Tone::Bold => self.bold(&line.text),
            Tone::Ask => self.group(Group::NeedsYou, &line.text),
            Tone::Error | Tone::Removed => self.group(Group::Error, &line.text),
            Tone::Faint => self.dim(&line.text),
            Tone::Added => self.group(Group::Done, &line.text),
            Tone::Hunk => self.group(Group::Working, &line.text),
        };
        if line.label.is_empty() { text } else { self.dim(&line.label) + &text }
    }

    fn apply(self, text: &str, ansi: &str, tmux: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Ansi => format!("\x1b[{ansi}m{text}\x1b[0m"),
            // A `#` would begin one of tmux's own formats.
            Style::Tmux => format!("#[{tmux}]{}#[default]", text.replace('#', "##")),
        }
    }
}

/// Amber is reserved for "needs you". Of the 256 colors, those that can be read on dark and on light; the first sixteen are
/// the user's own, and their blue and gray often cannot.
const fn colors(group: Group) -> (&'static str, &'static str) {
    match group {
        Group::NeedsYou => ("1;38;5;214", "fg=colour214,bold"),
        Group::Error => ("38;5;203", "fg=colour203"),
        Group::Working => ("38;5;33", "fg=colour33"),
        Group::Background => ("38;5;135", "fg=colour135"),
        Group::Done => ("38;5;35", "fg=colour35"),
        Group::Idle => ("38;5;245", "fg=colour245"),
    }
}
