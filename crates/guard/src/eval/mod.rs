//! Evaluates a shell text without running it: it follows the variables that the line itself sets, tracks directories,
//! knows where the data in a pipe comes from, and shows every simple command that would run to the rules of its
//! program.
//!
//! All branches are taken, loops run once with all their values, and the results of two branches are kept side by side.
//! What cannot be known stays a hole with an origin (see [`value`]).

mod assign;
mod braces;
mod expand;
pub(crate) mod file_effects;
mod fork_bomb;
pub(crate) mod glob;
mod parameter;
mod redirect;
pub(crate) mod resolve;
mod run;
pub(crate) mod shell_state;
mod simple;
pub(crate) mod value;

use crate::deadline::Budget;
use crate::environment::GuardEnvironment;
use crate::eval::shell_state::{Machine, ShellState};
use crate::eval::value::{Origins, Stream, Tags};
use crate::paths::Locations;
use crate::rules;
use crate::rules::{Policy, Rule};
use crate::shell;
use crate::shell::{Problem, Script};
use crate::{Decision, Verdict};
use headspace_platform::watchdog::early_answer;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What a rule said, and about what.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub rule: &'static Rule,
    pub decision: Decision,
    pub subject: String,
    /// The pattern that matched, if the rule has any.
    pub pattern: Option<String>,
}

impl Finding {
    pub(crate) fn verdict(&self, environment: &GuardEnvironment) -> Verdict {
        let mut verdict = rules::verdict(
            self.rule,
            self.decision,
            &self.subject,
            &environment.config_file.to_string_lossy(),
        );
        verdict.pattern.clone_from(&self.pattern);
        verdict
    }
}

/// One command that would run, for `guard explain`.
#[derive(Debug, Clone)]
pub struct Step {
    pub depth: usize,
    pub command: String,
    pub cwd: String,
}

/// The settings file that a project may carry.
pub const PROJECT_FILE: &str = ".headspace.jsonc";

/// Commands nested deeper than this (`env env env …`) are not followed.
const MAX_NESTED_COMMANDS: usize = 100;

/// A line that would run more commands than this becomes a question to the user.
const MAX_COMMANDS: usize = 300_000;

/// The least that a command costs, in units of [`Evaluator::spend`].
const WORK_PER_COMMAND: usize = 64;
/// How much work may happen between two looks at the clock: well under a millisecond.
const WORK_BETWEEN_CLOCK_CHECKS: usize = 4096;
/// No expansion may grow a value beyond this; `a=$a$a` would have no end.
pub(crate) const MAX_VALUE_BYTES: usize = 1 << 20;

pub(crate) struct Evaluator<'a> {
    environment: &'a GuardEnvironment,
    pub locations: Locations<'a>,
    pub policy: Policy,
    pub origins: Origins,
    /// What the line itself writes into files, by canonical path.
    pub written_files: HashMap<String, Stream>,
    /// Directories that downloaded archives and repositories are unpacked to.
    pub unpacked: Vec<String>,
    /// What the search at hand leaves out.
    pub left_out: Vec<String>,
    /// The project script that is being read, and whether it sources others.
    pub script: Option<String>,
    pub sources_more: bool,
    /// Another part of the line reads the output of the command at hand.
    output_used: bool,
    /// The machine the line runs on.
    pub machine: Machine,
    /// The hosts to which tokens printed by the line may go; none if it also prints another kind of secret.
    pub token_hosts: Vec<&'static str>,
    pub any_host: bool,
    /// The descriptor that `exec 3<>/dev/tcp/…` has connected.
    pub connection: Option<u32>,
    pub unattended: bool,
    pub worst: Option<Finding>,
    pub trace: Option<Vec<Step>>,
    /// The nesting went beyond what this stack allows.
    pub too_deep: bool,
    budget: Budget,
    steps: usize,
    /// Work since the last look at the clock.
    spent: usize,
    pub stopped: bool,
    pub depth: usize,
    max_depth: usize,
    /// Which of several possible values is being tried, and how many the command at hand has.
    pick: usize,
    alternatives: usize,
    /// Functions and aliases being run, each with the number of processes started around it.
    callers: Vec<(String, usize)>,
    called: HashSet<String>,
    background: usize,
    temp_names: usize,
    nested: usize,
    /// The `>(…)` of the command at hand; they run once their input is known.
    sinks: Vec<(Rc<Script>, ShellState)>,
    /// The standard input of the command at hand, and so of every `$(…)` in its words.
    stdin: Stream,
}

impl<'a> Evaluator<'a> {
    /// The tmux panes in which agents are known to run.
    pub(crate) fn agent_panes(&self) -> crate::environment::AgentPanes {
        self.environment.files.agent_panes()
    }

    pub(crate) fn new(
        environment: &'a GuardEnvironment,
        payload_cwd: Option<&str>,
        max_depth: usize,
    ) -> Evaluator<'a> {
        let locations = Locations::new(environment, payload_cwd);
        let mut policy = Policy::of(&environment.config, &locations.projects, &locations.real_home);
        for project in &locations.projects {
            let own = environment.files.read(&format!("{project}/{PROJECT_FILE}"));
            if let Some(text) = own {
                policy.tighten(&headspace_platform::config::guard_of(&text));
            }
        }
        let unattended =
            environment.session_mode.as_deref().is_some_and(|mode| !mode.eq_ignore_ascii_case("interactive"));
        Evaluator {
            locations,
            policy,
            origins: Origins::default(),
            written_files: HashMap::new(),
            unpacked: Vec::new(),
            left_out: Vec::new(),
            script: None,
            sources_more: false,
            output_used: false,
            machine: Machine::Local,
            token_hosts: Vec::new(),
            any_host: false,
            connection: None,
            unattended,
            worst: None,
            trace: None,
            too_deep: false,
            // A little early, to leave time for the answer.
            budget: Budget::new(environment.time_limit * 4 / 5),
            environment,
            steps: 0,
            spent: 0,
            stopped: false,
            depth: 0,
            max_depth,
            pick: 0,
            alternatives: 1,
            callers: Vec::new(),
            called: HashSet::new(),
            background: 0,
            temp_names: 0,
            nested: 0,
            sinks: Vec::new(),
            stdin: Stream::None,
        }
    }

    /// The state a line starts in.
    pub(crate) fn initial_state(&self) -> ShellState {
        let mut state = ShellState::new(self.locations.cwd.clone());
        state.machine = self.machine.clone();
        state
    }

    /// Reports what a rule found. On another machine nothing is forbidden, but everything is asked; in a container only
    /// what reaches this machine counts, and that is reported as if it happened here.
    pub(crate) fn report(&mut self, machine: &Machine, rule: &'static Rule, subject: impl Into<String>) {
        self.record(machine, rule, subject.into(), None);
    }

    /// Like [`Evaluator::report`], with the pattern that matched.
    pub(crate) fn report_match(
        &mut self,
        machine: &Machine,
        rule: &'static Rule,
        subject: String,
        pattern: &str,
    ) {
        self.record(machine, rule, subject, Some(pattern));
    }

    fn record(&mut self, machine: &Machine, rule: &'static Rule, subject: String, pattern: Option<&str>) {
        if self.script.is_some() && self.is_everyday_in_scripts(rule) {
            return;
        }
        let (rule, decision) = match machine {
            // A cloud, a database or a registry is the same from everywhere.
            _ if rule.reaches_out() => (rule, self.policy.decision(rule)),
            Machine::Local => (rule, self.policy.decision(rule)),
            Machine::Remote | Machine::LiveContainer => {
                let own = self.policy.decision(rule);
                let remote = self.policy.decision(&rules::REMOTE_CHANGE);
                (if own == Decision::Deny { &rules::REMOTE_CHANGE } else { rule }, own.min(remote))
            }
            Machine::Container(_) => return,
        };
        let worse = self.worst.as_ref().is_none_or(|worst| decision > worst.decision);
        if decision > Decision::Allow && worse {
            let mut subject = self.origins.show(&subject);
            if let Some(script) = &self.script {
                subject = format!("{} ({script})", headspace_core::text::one_line(&subject, 120));
            }
            let finding = Finding { rule, decision, subject, pattern: pattern.map(str::to_owned) };
            if let Some(render) = self.environment.early_answer {
                early_answer::set(render(&finding.verdict(self.environment)).unwrap_or_default());
            }
            self.worst = Some(finding);
        }
    }

    /// What is merely unknown in a script, and what it reads for its own use, does not count: the script would not have
    /// been stopped unread.
    fn is_everyday_in_scripts(&self, rule: &'static Rule) -> bool {
        let unknown = [
            &rules::DELETE_UNKNOWN,
            &rules::KILL_UNKNOWN,
            &rules::SHELL_UNKNOWN_COMMAND,
            &rules::SHELL_UNREADABLE,
            &rules::SHELL_WRAPPED,
        ];
        unknown.iter().any(|known| std::ptr::eq(*known, rule))
            || std::ptr::eq(rule, &rules::DELETE_EMPTY_VARIABLE) && self.sources_more
            || std::ptr::eq(rule, &rules::READ_SECRET) && self.output_used
    }

    /// Parses and evaluates a text as a top-level command: the whole line, `sh -c`, `eval`.
    pub(crate) fn text(
        &mut self,
        state: &mut ShellState,
        text: &str,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        if self.depth >= self.max_depth {
            return self.give_up(state);
        }
        if !self.stop_if(self.budget.is_over()) {
            return Stream::Data(Tags::NONE);
        }
        let parsed = shell::read(text, self.max_depth - self.depth);
        for problem in &parsed.problems {
            self.too_deep |= *problem == Problem::TooDeep;
            let rule = match problem {
                Problem::Character(_) => &rules::SHELL_HIDDEN_CHARACTER,
                _ => &rules::SHELL_UNREADABLE,
            };
            self.report(&state.machine, rule, format!("{} ({problem})", one_line(text)));
        }
        self.depth += 1;
        let out = self.script(state, &parsed.script, stdin, output_used);
        self.depth -= 1;
        out
    }

    /// Judges the whole line: traps run at the end, and functions that were never called are looked at too.
    pub(crate) fn line(&mut self, text: &str) {
        let mut state = self.initial_state();
        self.text(&mut state, text, &Stream::None, false);
        self.run_traps(&mut state);
        self.uncalled_functions(&mut state);
    }

    /// Since these functions were not called here, questions about their unknown arguments do not count; what is
    /// forbidden does.
    fn uncalled_functions(&mut self, state: &mut ShellState) {
        let functions = state.functions.clone();
        for (name, body) in functions.iter() {
            if self.called.contains(name) {
                continue;
            }
            let before = self.worst.clone();
            let unknown = self.origins.hole("$1", Tags::NOT_EMPTY).to_string();
            self.function(state, name, body, &[unknown], &Stream::None, false);
            if self.worst.as_ref().is_none_or(|finding| finding.decision != Decision::Deny) {
                self.worst = before;
            }
        }
    }

    /// Text that runs in a new shell with these arguments.
    pub(crate) fn process(
        &mut self,
        state: &ShellState,
        text: &str,
        args: &[String],
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        let mut inner = state.clone();
        inner.traps.clear();
        inner.args = Rc::new(args.to_vec());
        let out = self.text(&mut inner, text, stdin, output_used);
        self.run_traps(&mut inner);
        out
    }

    fn give_up(&mut self, state: &ShellState) -> Stream {
        self.too_deep = true;
        self.report(&state.machine, &rules::SHELL_UNREADABLE, "nesting this deep");
        Stream::Data(Tags::NONE)
    }

    fn run_traps(&mut self, state: &mut ShellState) {
        for trap in std::mem::take(&mut state.traps) {
            self.text(state, &trap, &Stream::None, false);
        }
    }

    /// Counts one more command, file or path; `false` if the budget is used up.
    pub(crate) fn tick(&mut self) -> bool {
        self.steps += 1;
        self.stop_if(self.steps > MAX_COMMANDS);
        self.spend(WORK_PER_COMMAND)
    }

    /// Counts work by its size (a copied entry, a dozen characters) and looks at the clock now and then. Every loop
    /// over something long calls this, and stops when it returns `false`.
    pub(crate) fn spend(&mut self, work: usize) -> bool {
        self.spent = self.spent.saturating_add(work);
        if self.spent >= WORK_BETWEEN_CLOCK_CHECKS {
            self.spent = 0;
            self.stop_if(self.budget.is_over());
        }
        !self.stopped
    }

    /// Whether a value of this length may be built; if not, the judgment ends here.
    pub(crate) fn may_grow(&mut self, length: usize) -> bool {
        self.stop_if(length > MAX_VALUE_BYTES) && self.spend(length / 16)
    }

    fn stop_if(&mut self, over: bool) -> bool {
        if over && !self.stopped {
            self.stopped = true;
            self.report(&Machine::Local, &rules::GUARD_DEADLINE, "");
        }
        !self.stopped
    }

    /// A new name such as `mktemp` would return.
    pub(crate) fn temp_name(&mut self) -> String {
        self.temp_names += 1;
        format!("tmp.headspace{}", self.temp_names)
    }
}

/// Quotes a word so that the shell takes it literally; holes and globs are kept.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '_' | '-' | '/' | '.' | ',' | ':' | '=' | '+' | '@' | '%')
            || c >= value::STAR
    };
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn one_line(text: &str) -> String {
    headspace_core::text::one_line(text, 120)
}
