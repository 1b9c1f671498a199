//! Colours, where they are wanted: on a terminal, and never with `NO_COLOR`. Never colour alone.

use headspace_core::model::Group;
use headspace_platform::config;
use std::io::IsTerminal;

/// How a piece of text is dressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Ansi,
    /// `#[fg=…]`, for the tmux status line.
    Tmux,
}

impl Style {
    /// Colours if standard output is a terminal and nobody objects.
    pub fn for_stdout() -> Style {
        let wanted = std::io::stdout().is_terminal() && config::env("NO_COLOR").is_none();
        if wanted { Style::Ansi } else { Style::Plain }
    }

    pub fn group(self, group: Group, text: &str) -> String {
        let (ansi, tmux) = colours(group);
        self.dress(text, ansi, tmux)
    }

    pub fn dim(self, text: &str) -> String {
        self.dress(text, "2", "fg=colour244")
    }

    pub fn bold(self, text: &str) -> String {
        self.dress(text, "1", "bold")
    }

    fn dress(self, text: &str, ansi: &str, tmux: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Ansi => format!("\x1b[{ansi}m{text}\x1b[0m"),
            // A `#` would start one of tmux's own formats.
            Style::Tmux => format!("#[{tmux}]{}#[default]", text.replace('#', "##")),
        }
    }
}

/// Amber belongs to "needs you" alone.
const fn colours(group: Group) -> (&'static str, &'static str) {
    match group {
        Group::NeedsYou => ("1;38;5;214", "fg=colour214,bold"),
        Group::Error => ("31", "fg=red"),
        Group::Working => ("34", "fg=blue"),
        Group::Background => ("35", "fg=magenta"),
        Group::Done => ("32", "fg=green"),
        Group::Idle => ("90", "fg=colour244"),
    }
}
