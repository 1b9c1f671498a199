//! What a shell knows at one point of a line: variables, functions, the directory. Cheap to copy, because every
//! subshell and every branch gets a copy.

use crate::eval::value::ANYTHING;
use crate::shell::Command;
use std::collections::HashMap;
use std::rc::Rc;

/// Beyond this many possible values, one more stands for "something else".
pub(crate) const MAX_POSSIBLE_VALUES: usize = 1024;
/// The same for values from branches, which multiply where those of a loop do not.
const MAX_BRANCH_VALUES: usize = 12;

/// A variable. A scalar may have several possible values: a loop's, or those of two branches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Var {
    Scalar(Vec<String>),
    Array(Vec<String>),
}

/// The machine that the commands run on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Machine {
    #[default]
    Local,
    /// Behind `ssh`.
    Remote,
    /// In a container or pod that keeps running: like [`Machine::Remote`], but its own files come and go.
    LiveContainer,
    /// In a container, with pairs (directory here, directory there) for what it shares with this machine.
    Container(Rc<Vec<(String, String)>>),
}

/// How "directory here" begins in [`Machine::Container`] if it is one of docker's volumes.
pub(crate) const VOLUME: &str = "volume:";

#[derive(Clone, Debug)]
pub(crate) struct ShellState {
    pub vars: Rc<HashMap<String, Var>>,
    pub functions: Rc<HashMap<String, Rc<Command>>>,
    pub aliases: Rc<HashMap<String, String>>,
    /// Possible working directories; `None` means unknown.
    pub cwd: Rc<Vec<Option<String>>>,
    pub old_cwd: Rc<Vec<Option<String>>>,
    pub dirs: Vec<Rc<Vec<Option<String>>>>,
    /// `$1` and so on.
    pub args: Rc<Vec<String>>,
    /// `$_`
    pub last_word: String,
    pub traps: Vec<String>,
    pub machine: Machine,
    /// The line ends here (`exit`, `return`).
    pub ended: bool,
}

impl ShellState {
    pub(crate) fn new(cwd: String) -> ShellState {
        ShellState {
            vars: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            cwd: Rc::new(vec![Some(cwd)]),
            old_cwd: Rc::new(vec![None]),
            dirs: Vec::new(),
            args: Rc::default(),
            last_word: String::new(),
            traps: Vec::new(),
            machine: Machine::Local,
            ended: false,
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.put(name, Var::Scalar(vec![value]));
    }

    pub(crate) fn put(&mut self, name: &str, var: Var) {
        Rc::make_mut(&mut self.vars).insert(name.to_owned(), var);
    }

    /// Whether a variable is known to have this value: `NAME=value`.
    pub(crate) fn holds(&self, setting: &str) -> bool {
        let Some((name, value)) = setting.split_once('=') else { return false };
        matches!(self.vars.get(name), Some(Var::Scalar(values)) if values.iter().all(|known| known == value))
    }

    pub(crate) fn unset(&mut self, name: &str) {
        if self.vars.contains_key(name) {
            Rc::make_mut(&mut self.vars).remove(name);
        }
    }

    /// Moves to one of `dirs`.
    pub(crate) fn go(&mut self, mut dirs: Vec<Option<String>>) {
        dirs.dedup();
        if dirs.len() > 8 {
            dirs.truncate(8);
            dirs.push(None);
        }
        self.old_cwd = std::mem::replace(&mut self.cwd, Rc::new(dirs));
    }

    /// Merges the outcome of another way the line could have gone: either may have happened.
    pub(crate) fn merge(&mut self, other: ShellState) {
        if other.ended {
            return;
        }
        if self.ended {
            *self = other;
            return;
        }
        if !Rc::ptr_eq(&self.vars, &other.vars) {
            let vars = Rc::make_mut(&mut self.vars);
            for (name, var) in other.vars.iter() {
                match vars.get_mut(name) {
                    None => {
                        vars.insert(name.clone(), var.clone());
                    }
                    Some(mine) if mine == var => {}
                    Some(Var::Scalar(mine)) => {
                        if let Var::Scalar(theirs) = var {
                            add_values(mine, theirs);
                        }
                    }
                    Some(Var::Array(mine)) => {
                        if let Var::Array(theirs) = var {
                            add_values(mine, theirs);
                        }
                    }
                }
            }
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            Rc::make_mut(&mut self.functions)
                .extend(other.functions.iter().map(|(n, f)| (n.clone(), f.clone())));
        }
        if !Rc::ptr_eq(&self.aliases, &other.aliases) {
            Rc::make_mut(&mut self.aliases).extend(other.aliases.iter().map(|(n, a)| (n.clone(), a.clone())));
        }
        if self.cwd != other.cwd {
            let mut dirs = self.cwd.as_ref().clone();
            dirs.extend(other.cwd.iter().filter(|dir| !self.cwd.contains(dir)).cloned());
            let old = self.old_cwd.clone();
            self.go(dirs);
            self.old_cwd = old;
        }
        for trap in other.traps {
            if !self.traps.contains(&trap) {
                self.traps.push(trap);
            }
        }
    }
}

fn add_values(mine: &mut Vec<String>, theirs: &[String]) {
    for value in theirs {
        if mine.contains(value) {
            continue;
        }
        if mine.len() >= MAX_BRANCH_VALUES {
            // Nothing is dropped silently: from here on the value may be anything.
            let anything = ANYTHING.to_string();
            if !mine.contains(&anything) {
                mine.push(anything);
            }
            return;
        }
        mine.push(value.clone());
    }
}
