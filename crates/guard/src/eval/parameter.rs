//! Parameters: `$x`, `${x:-default}`, `${x%suffix}`, `${words[@]:1}`, and what every shell sets by itself.

use crate::eval::expand::Expansion;
use crate::eval::shell_state::{ShellState, Var};
use crate::eval::value;
use crate::eval::value::Tags;
use crate::eval::{Evaluator, glob};
use crate::shell::{Change, Parameter, Word};

impl Evaluator<'_> {
    pub(super) fn parameter(
        &mut self,
        state: &mut ShellState,
        parameter: &Parameter,
        quoted: bool,
    ) -> Expansion {
        let mut name = parameter.name.clone();
        // Commands inside the index run, whatever the index is.
        if let Some(index) = parameter.index.as_ref().filter(|index| index.literal().is_none()) {
            self.single(state, index, false);
        }
        let found = if parameter.indirect {
            match self.value_of(state, &name, None) {
                Some(Expansion::One(target)) if !value::has_special(&target) => {
                    name = target;
                    self.value_of(state, &name, parameter.index.as_ref())
                }
                _ => None,
            }
        } else {
            self.value_of(state, &name, parameter.index.as_ref())
        };
        if parameter.length {
            return Expansion::One(self.origins.hole(format!("${{#{name}}}"), Tags::TOKEN).to_string());
        }
        let shown = format!("${name}");
        match found {
            Some(Expansion::All(items)) => {
                let changed: Vec<String> = match &parameter.change {
                    // `"${words[@]:1}"` and `"${@:2}"` select items, not letters.
                    Change::Slice(word) => {
                        let numbers = self.single(state, word, false);
                        // Arguments are counted from 1.
                        let first = usize::from(matches!(parameter.name.as_str(), "@" | "*"));
                        items_from(items, first, &numbers)
                    }
                    _ => items
                        .into_iter()
                        .map(|item| self.change(state, &name, Some(item), parameter))
                        .collect(),
                };
                // `"$*"` is one word.
                if quoted && (parameter.name == "*" || index_is(parameter.index.as_ref(), "*")) {
                    return Expansion::One(changed.join(" "));
                }
                Expansion::All(changed)
            }
            Some(Expansion::One(text)) => Expansion::One(self.change(state, &name, Some(text), parameter)),
            None => {
                let text = match &parameter.change {
                    Change::None | Change::Case(_) => self.origins.hole(shown, Tags::NONE).to_string(),
                    _ => self.change(state, &name, None, parameter),
                };
                Expansion::One(text)
            }
        }
    }

    /// The value of a variable as far as it is known; `None` if the line has not set it.
    fn value_of(&mut self, state: &mut ShellState, name: &str, index: Option<&Word>) -> Option<Expansion> {
        if let Some(var) = state.vars.get(name).cloned() {
            return Some(match var {
                Var::Scalar(values) => Expansion::One(self.choose(&values)?),
                Var::Array(items) => match index {
                    None => Expansion::One(items.first().cloned().unwrap_or_default()),
                    Some(_) if index_is(index, "@") || index_is(index, "*") => Expansion::All(items),
                    Some(word) => {
                        let key = self.single(state, word, false);
                        match key.parse::<i64>() {
                            Ok(at) if at >= 0 => {
                                Expansion::One(items.get(at as usize).cloned().unwrap_or_default())
                            }
                            Ok(at) => {
                                let from_end = items.len().checked_sub(at.unsigned_abs() as usize);
                                Expansion::One(
                                    from_end.and_then(|at| items.get(at)).cloned().unwrap_or_default(),
                                )
                            }
                            Err(_) => Expansion::One(self.choose(&items)?),
                        }
                    }
                },
            });
        }
        self.special(state, name)
    }

    /// Parameters that every shell sets by itself.
    fn special(&mut self, state: &ShellState, name: &str) -> Option<Expansion> {
        let text = match name {
            "HOME" => self.locations.home.clone(),
            "PWD" => self.current_dir(state),
            "OLDPWD" => self.dir_of(&state.old_cwd),
            "TMPDIR" => self.locations.tmpdir.clone(),
            "USER" | "LOGNAME" => self.locations.user.clone()?,
            "HISTFILE" => format!("{}/.bash_history", self.locations.home),
            "IFS" => " \t\n".to_owned(),
            "SHELL" | "BASH" => "/bin/bash".to_owned(),
            "0" => "bash".to_owned(),
            "_" => state.last_word.clone(),
            "CLAUDE_PROJECT_DIR" => self.locations.projects.last()?.clone(),
            "@" | "*" => return Some(Expansion::All(state.args.as_ref().clone())),
            "#" | "?" | "-" | "UID" | "EUID" | "RANDOM" | "SRANDOM" | "SECONDS" | "LINENO" | "HOSTNAME"
            | "HOSTTYPE" | "OSTYPE" | "EPOCHSECONDS" | "EPOCHREALTIME" | "SHLVL" => {
                self.origins.hole(format!("${name}"), Tags::TOKEN).to_string()
            }
            "$" | "!" | "BASHPID" | "PPID" => {
                self.origins.hole(format!("${name}"), Tags::TOKEN.and(Tags::OWN_PID)).to_string()
            }
            digits => {
                let at: usize = digits.parse().ok()?;
                state.args.get(at.checked_sub(1)?).cloned().unwrap_or_default()
            }
        };
        Some(Expansion::One(text))
    }

    fn change(
        &mut self,
        state: &mut ShellState,
        name: &str,
        value: Option<String>,
        parameter: &Parameter,
    ) -> String {
        let unknown = |eval: &mut Self, tags| eval.origins.hole(format!("${name}"), tags).to_string();
        match &parameter.change {
            Change::None => value.unwrap_or_default(),
            Change::Default { colon, assign, word } => match value {
                Some(text) if !(*colon && text.is_empty()) => text,
                known => {
                    let default = self.single(state, word, false);
                    // `${X:-build}` is never empty; `${X-build}` may be.
                    let full = *colon && !default.is_empty();
                    let tags = if full { Tags::HAS_DEFAULT.and(Tags::NOT_EMPTY) } else { Tags::HAS_DEFAULT };
                    let both = [default.clone(), unknown(self, tags)];
                    let chosen = match known {
                        Some(_) => default,
                        None => self.choose(&both).unwrap_or(default),
                    };
                    if *assign {
                        state.set(name, chosen.clone());
                    }
                    chosen
                }
            },
            Change::Alternative { colon, word } => match value {
                Some(text) if *colon && text.is_empty() => String::new(),
                Some(_) => self.single(state, word, false),
                None => {
                    let alternative = self.single(state, word, false);
                    self.choose(&[alternative, String::new()]).unwrap_or_default()
                }
            },
            Change::Required => {
                value.filter(|text| !text.is_empty()).unwrap_or_else(|| unknown(self, Tags::NOT_EMPTY))
            }
            Change::Prefix { longest, pattern } => {
                let pattern = self.single(state, pattern, true);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                glob::strip(&value, &pattern, false, *longest).to_owned()
            }
            Change::Suffix { longest, pattern } => {
                let pattern = self.single(state, pattern, true);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                glob::strip(&value, &pattern, true, *longest).to_owned()
            }
            Change::Replace { how, pattern, with } => {
                let pattern = self.single(state, pattern, true);
                let with = self.single(state, with, false);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                if value::has_special(&pattern) || value::has_hole(&value) || pattern.is_empty() {
                    let tags = self.origins.tags(&value);
                    return if value::has_glob(&pattern) { unknown(self, tags) } else { value };
                }
                let most = value.len() + value.matches(&pattern).count().saturating_mul(with.len());
                if !self.may_grow(most) {
                    return String::new();
                }
                match how {
                    '/' => value.replace(&pattern, &with),
                    '#' => value.strip_prefix(&pattern).map_or(value.clone(), |rest| with + rest),
                    '%' => value.strip_suffix(&pattern).map_or(value.clone(), |rest| rest.to_owned() + &with),
                    _ => value.replacen(&pattern, &with, 1),
                }
            }
            Change::Slice(word) => {
                let numbers = self.single(state, word, false);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                slice(&value, &numbers).unwrap_or_else(|| {
                    let tags = self.origins.tags(&value);
                    unknown(self, tags)
                })
            }
            Change::Case(how) => {
                let value = value.unwrap_or_default();
                match how.as_str() {
                    "^^" => value.to_uppercase(),
                    ",," => value.to_lowercase(),
                    first => {
                        let mut chars = value.chars();
                        let head = chars.next().map(|c| {
                            if first == "^" {
                                c.to_uppercase().to_string()
                            } else {
                                c.to_lowercase().to_string()
                            }
                        });
                        head.unwrap_or_default() + chars.as_str()
                    }
                }
            }
            Change::Other(word) => {
                self.single(state, word, false);
                match value {
                    // `@Q` and `@E` change the quoting, not the text.
                    Some(value) => value,
                    None => unknown(self, Tags::NONE),
                }
            }
        }
    }
}

fn index_is(index: Option<&Word>, text: &str) -> bool {
    index.and_then(Word::literal).as_deref() == Some(text)
}

/// `${x:from}`, `${x:from:length}`; negative numbers count from the end.
fn slice(value: &str, numbers: &str) -> Option<String> {
    let mut numbers = numbers.splitn(2, ':').map(|number| number.trim().parse::<i64>().ok());
    let chars: Vec<char> = value.chars().collect();
    let length = chars.len() as i64;
    let from = numbers.next()??;
    let from = if from < 0 { (length + from).max(0) } else { from.min(length) };
    let to = match numbers.next() {
        None => length,
        Some(count) => {
            let count = count?;
            if count < 0 { length + count } else { from.saturating_add(count).min(length) }
        }
    };
    Some(chars.get(from as usize..to.max(from) as usize)?.iter().collect())
}

/// The items that `offset` or `offset:length` selects; all of them if the numbers are unknown.
fn items_from(items: Vec<String>, first: usize, numbers: &str) -> Vec<String> {
    let (offset, length) = match numbers.split_once(':') {
        Some((offset, length)) => (offset, Some(length)),
        None => (numbers, None),
    };
    let Ok(offset) = offset.trim().parse::<i64>() else { return items };
    let skip = if offset < 0 {
        items.len().saturating_sub(offset.unsigned_abs() as usize)
    } else {
        (offset as usize).saturating_sub(first)
    };
    let take = match length.map(|length| length.trim().parse::<usize>()) {
        None => usize::MAX,
        Some(Ok(length)) => length,
        Some(Err(_)) => return items,
    };
    items.into_iter().skip(skip).take(take).collect()
}
