//! A cmdlet's parameters: `-Name value`, switches, and positional words.

use crate::eval::value::activate;
use crate::powershell::reader::{PowerShellWord, slashes};
use crate::rules::names::POWERSHELL_SWITCHES;

/// Parameters and positional words.
pub(super) struct Parameters {
    pub named: Vec<(String, Option<String>)>,
    pub positional: Vec<String>,
    pub redirects: Vec<String>,
}

impl Parameters {
    pub(super) fn read(words: &[PowerShellWord]) -> Parameters {
        let mut parameters = Parameters { named: Vec::new(), positional: Vec::new(), redirects: Vec::new() };
        let mut at = 0;
        while at < words.len() {
            let word = &words[at];
            at += 1;
            let text = if word.quoted { word.text.clone() } else { activate(&word.text) };
            if !word.quoted && word.text == ">" {
                if let Some(target) = words.get(at) {
                    parameters.redirects.push(slashes(&target.text));
                    at += 1;
                }
            } else if !word.quoted && word.text.len() > 1 && word.text.starts_with('-') {
                let name = word.text[1..].to_lowercase();
                let (name, mut value) = match name.split_once(':') {
                    Some((name, value)) => (name.to_owned(), Some(slashes(value))),
                    None => (name, None),
                };
                // `rm -rf x` is wrong here, but its meaning is clear.
                let unix = name.len() > 1 && name.chars().all(|c| matches!(c, 'r' | 'f' | 'v' | 'i'));
                let switch = name != "verb"
                    && (unix || POWERSHELL_SWITCHES.iter().any(|switch| switch.starts_with(&name)));
                if value.is_none()
                    && !switch
                    && let Some(next) =
                        words.get(at).filter(|next| next.quoted || !next.text.starts_with('-'))
                {
                    let next_text = if next.quoted { next.text.clone() } else { activate(&next.text) };
                    value = Some(slashes(&next_text));
                    at += 1;
                }
                parameters.named.push((name, value));
            } else if !word.quoted && word.text.starts_with('/') && matches!(word.text.len(), 2 | 3) {
                // `del /s /q`
                parameters.named.push((word.text[1..].to_lowercase(), None));
            } else {
                parameters.positional.push(slashes(&text));
            }
        }
        parameters
    }

    pub(super) fn has(&self, full: &str) -> bool {
        self.named.iter().any(|(name, _)| !name.is_empty() && full.starts_with(name.as_str()))
    }

    pub(super) fn value(&self, full: &str, shortest: usize) -> Option<&str> {
        self.named
            .iter()
            .find(|(name, _)| name.len() >= shortest && full.starts_with(name.as_str()))
            .and_then(|(_, value)| value.as_deref())
    }

    /// The files a cmdlet works on.
    pub(super) fn paths(&self) -> Vec<String> {
        let named = ["path", "literalpath", "filepath"].iter().filter_map(|name| self.value(name, 1));
        let named: Vec<String> = named.map(str::to_owned).collect();
        if named.is_empty() { self.positional.clone() } else { named }
    }
}
