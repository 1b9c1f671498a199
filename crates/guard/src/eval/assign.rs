//! Assignments, and the variables whose values have an effect by themselves.

use crate::eval::Evaluator;
use crate::eval::shell_state::{ShellState, Var};
use crate::eval::value::{Stream, has_special};
use crate::rules;
use crate::rules::names;
use crate::shell::{Assign, Assigned};

impl Evaluator<'_> {
    pub(crate) fn assign(&mut self, state: &mut ShellState, assign: &Assign) {
        match &assign.value {
            Assigned::Array(words) => {
                let mut items = Vec::new();
                if assign.append
                    && let Some(Var::Array(old)) = state.vars.get(&assign.name)
                {
                    items.clone_from(old);
                }
                items.extend(self.all_fields(state, words));
                state.put(&assign.name, Var::Array(items));
            }
            Assigned::One(word) => {
                let mut value = self.single(state, word, false);
                if let Some(index) = &assign.index {
                    self.assign_element(state, assign, index, value);
                    return;
                }
                if assign.append {
                    match state.vars.get(&assign.name).cloned() {
                        Some(Var::Scalar(old)) => {
                            value = self.choose(&old).unwrap_or_default() + &value;
                        }
                        Some(Var::Array(mut items)) => {
                            items.push(value);
                            state.put(&assign.name, Var::Array(items));
                            return;
                        }
                        None => {}
                    }
                }
                self.set_variable(state, &assign.name, value);
            }
        }
    }

    fn assign_element(
        &mut self,
        state: &mut ShellState,
        assign: &Assign,
        index: &crate::shell::Word,
        value: String,
    ) {
        let at = self.single(state, index, false).parse::<usize>().ok();
        let mut items = match state.vars.get(&assign.name) {
            Some(Var::Array(items)) => items.clone(),
            _ => Vec::new(),
        };
        match at {
            Some(at) if at < items.len() => items[at] = value,
            // The key is a name, or leaves a gap: the position is lost, the value is not.
            _ => items.push(value),
        }
        state.put(&assign.name, Var::Array(items));
    }

    /// Sets a variable; checks those that turn the history off or hold commands.
    pub(crate) fn set_variable(&mut self, state: &mut ShellState, name: &str, value: String) {
        self.check_variable(state, name, &value);
        state.set(name, value);
    }

    pub(crate) fn check_variable(&mut self, state: &mut ShellState, name: &str, value: &str) {
        let switches_history_off = match name {
            "HISTFILE" => value.is_empty() || value == "/dev/null",
            "HISTSIZE" | "HISTFILESIZE" | "SAVEHIST" => value == "0",
            "HISTIGNORE" => value == "*",
            _ => false,
        };
        if switches_history_off {
            self.report(&state.machine, &rules::HISTORY, format!("{name}={value}"));
        }
        if name.starts_with("GIT_CONFIG_KEY") && value.eq_ignore_ascii_case("core.hooksPath") {
            self.report(&state.machine, &rules::GIT_HOOKS_PATH, format!("{name}={value}"));
        }
        // A shell runs this file first when it starts.
        if name == "BASH_ENV"
            && let Stream::Text(text, _) = self.read(state, value)
        {
            self.text(&mut state.clone(), &text, &Stream::None, false);
        }
        if names::COMMAND_VARIABLES.contains(&name) && !value.is_empty() && !has_special(value) {
            let mut inner = state.clone();
            // `LESSOPEN="|-gzip -cd %s"`
            let command = value.trim_start_matches(['|', '-', ' ']);
            self.text(&mut inner, command, &Stream::None, false);
        }
    }
}
