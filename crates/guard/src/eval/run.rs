//! Lists, pipelines, branches and loops: every way a line can go, one after another.

use crate::eval::shell_state::{MAX_POSSIBLE_VALUES, ShellState, Var};
use crate::eval::value;
use crate::eval::value::{Stream, Tags};
use crate::eval::{Evaluator, fork_bomb, glob};
use crate::shell::{Command, Compound, Item, Link, Part, Pipeline, Script};
use crate::{Decision, rules};
use std::rc::Rc;

impl Evaluator<'_> {
    pub(crate) fn script(
        &mut self,
        state: &mut ShellState,
        script: &Script,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        let mut out = Stream::None;
        for item in &script.items {
            if !self.tick() {
                break;
            }
            let next = self.item(state, item, stdin, output_used);
            if output_used {
                out = self.origins.join(out, next);
            }
        }
        out
    }

    /// Runs a script as a separate process: what it sets is forgotten, and its traps run at its end.
    pub(crate) fn subshell(
        &mut self,
        state: &ShellState,
        script: &Script,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        let mut inner = state.clone();
        inner.traps.clear();
        let out = self.script(&mut inner, script, stdin, output_used);
        self.run_traps(&mut inner);
        out
    }

    fn item(&mut self, state: &mut ShellState, item: &Item, stdin: &Stream, output_used: bool) -> Stream {
        if item.background {
            let mut inner = state.clone();
            self.background += 1;
            let out = self.chain(&mut inner, item, stdin, output_used);
            self.background -= 1;
            return out;
        }
        self.chain(state, item, stdin, output_used)
    }

    fn chain(&mut self, state: &mut ShellState, item: &Item, stdin: &Stream, output_used: bool) -> Stream {
        let mut out = self.pipeline(state, &item.first, stdin, output_used);
        let after_first = (!item.rest.is_empty()).then(|| state.vars.clone());
        for (link, pipeline) in &item.rest {
            // An alternative copies and compares all known variables.
            if !self.tick() || *link == Link::Or && !self.spend(state.vars.len()) {
                break;
            }
            let next = match link {
                Link::And => self.pipeline(state, pipeline, stdin, output_used),
                Link::Or => {
                    let mut other = state.clone();
                    let next = self.pipeline(&mut other, pipeline, stdin, output_used);
                    state.merge(other);
                    next
                }
            };
            if output_used {
                out = self.origins.join(out, next);
            }
        }
        // `test && x=…`: both values remain possible.
        if let Some(vars) = after_first
            && !Rc::ptr_eq(&vars, &state.vars)
        {
            let mut before = state.clone();
            before.vars = vars;
            before.ended = false;
            state.merge(before);
        }
        out
    }

    fn pipeline(
        &mut self,
        state: &mut ShellState,
        pipeline: &Pipeline,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        if let [stage] = pipeline.stages.as_slice() {
            return self.command(state, stage, stdin, output_used);
        }
        if pipeline.stages.iter().filter(|stage| fork_bomb::starts_with_parameter(stage, "0")).count() > 1 {
            self.report(&state.machine, &rules::BOMB, "$0 | $0");
        }
        let mut stream = stdin.clone();
        let last = pipeline.stages.len().saturating_sub(1);
        for (at, stage) in pipeline.stages.iter().enumerate() {
            if !self.tick() {
                break;
            }
            let mut inner = state.clone();
            inner.traps.clear();
            stream = self.command(&mut inner, stage, &stream, at < last || output_used);
            self.run_traps(&mut inner);
            if at < last && matches!(stream, Stream::None) {
                // It prints something unknown.
                stream = Stream::Data(Tags::NONE);
            }
        }
        stream
    }

    pub(crate) fn command(
        &mut self,
        state: &mut ShellState,
        command: &Command,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        if self.depth >= self.max_depth {
            return self.give_up(state);
        }
        self.depth += 1;
        let out = match command {
            Command::Simple(simple) => self.simple(state, simple, stdin, output_used),
            Command::Compound(kind, redirects) => {
                let (input, outputs) = self.redirects(state, redirects, stdin);
                let out = self.compound(state, kind, &input, output_used || !outputs.is_empty());
                let stream = self.origins.join(input, out.clone());
                self.sinks(&stream);
                self.outputs(state, outputs, out, false)
            }
            Command::Function(name, body) => {
                self.check_fork_bomb(state, name, body);
                Rc::make_mut(&mut state.functions).insert(name.clone(), body.clone());
                Stream::None
            }
        };
        self.depth -= 1;
        out
    }

    fn compound(
        &mut self,
        state: &mut ShellState,
        kind: &Compound,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        match kind {
            Compound::Group(script) => self.script(state, script, stdin, output_used),
            Compound::Subshell(script) => self.subshell(state, script, stdin, output_used),
            Compound::If(arms, otherwise) => {
                self.branches(state, arms, otherwise.as_ref(), stdin, output_used)
            }
            Compound::Loop { until, condition, body } => {
                let forever: &[&str] = if *until { &["false"] } else { &["true", ":"] };
                if fork_bomb::is_only(condition, forever) {
                    self.check_endless_start(state, body);
                }
                self.script(state, condition, stdin, false);
                self.body(state, body, stdin, output_used)
            }
            Compound::For(name, words, body) => {
                let values = match words {
                    Some(words) => self.all_fields(state, words),
                    None => state.args.as_ref().clone(),
                };
                // With an empty list the body does not run.
                if values.is_empty() && words.as_ref().is_none_or(|words| words.is_empty()) {
                    return Stream::None;
                }
                self.set_values(state, name, values);
                self.body(state, body, stdin, output_used)
            }
            Compound::CountingFor { clauses, endless, body } => {
                self.single(state, clauses, false);
                if *endless {
                    self.check_endless_start(state, body);
                }
                for part in &clauses.parts {
                    if let Part::Parameter(parameter) = part {
                        let token = self.origins.hole(format!("${}", parameter.name), Tags::TOKEN);
                        state.set(&parameter.name, token.to_string());
                    }
                }
                self.body(state, body, stdin, output_used)
            }
            Compound::Case(subject, arms) => {
                let subject = self.single(state, subject, false);
                let before = state.clone();
                let mut out = Stream::None;
                for (patterns, body) in arms {
                    let mut inner = before.clone();
                    let patterns: Vec<String> =
                        patterns.iter().map(|pattern| self.single(&mut inner, pattern, true)).collect();
                    // Arms that a known subject cannot reach are skipped.
                    let reachable = value::has_special(&subject)
                        || patterns.iter().any(|pattern| glob::matches(pattern, &subject));
                    if reachable {
                        let next = self.script(&mut inner, body, stdin, output_used);
                        out = self.origins.join(out, next);
                        state.merge(inner);
                    }
                }
                out
            }
            Compound::Test(words) => {
                for word in words {
                    self.single(state, word, false);
                }
                Stream::None
            }
            Compound::Arithmetic(word, text) => {
                self.single(state, word, false);
                self.check_arithmetic(state, text);
                Stream::None
            }
        }
    }

    fn branches(
        &mut self,
        state: &mut ShellState,
        arms: &[(Script, Script)],
        otherwise: Option<&Script>,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        let mut out = Stream::None;
        let mut ends: Vec<ShellState> = Vec::new();
        for (condition, body) in arms {
            self.script(state, condition, stdin, false);
            let mut inner = state.clone();
            let next = self.script(&mut inner, body, stdin, output_used);
            out = self.origins.join(out, next);
            ends.push(inner);
        }
        if let Some(body) = otherwise {
            let next = self.script(state, body, stdin, output_used);
            out = self.origins.join(out, next);
        }
        for end in ends {
            state.merge(end);
        }
        out
    }

    /// `((rm -rf /usr))` is arithmetic to the shell and a trap for everyone else: asked if it would be forbidden as a
    /// command.
    fn check_arithmetic(&mut self, state: &ShellState, text: &str) {
        if !text.contains(' ') {
            return;
        }
        let before = self.worst.take();
        self.process(state, text, &[], &Stream::None, false);
        let inner = std::mem::replace(&mut self.worst, before);
        if inner.is_some_and(|finding| finding.decision == Decision::Deny) {
            self.report(&state.machine, &rules::SHELL_UNREADABLE, text);
        }
    }

    /// A loop's body may or may not run.
    fn body(&mut self, state: &mut ShellState, body: &Script, stdin: &Stream, output_used: bool) -> Stream {
        let mut inner = state.clone();
        let out = self.script(&mut inner, body, stdin, output_used);
        inner.ended = false;
        state.merge(inner);
        out
    }

    /// A variable that takes one of many values.
    pub(crate) fn set_values(&mut self, state: &mut ShellState, name: &str, mut values: Vec<String>) {
        if values.len() > MAX_POSSIBLE_VALUES {
            values.truncate(MAX_POSSIBLE_VALUES);
            values.push(self.origins.hole(format!("${name}"), Tags::NONE).to_string());
        }
        if values.is_empty() {
            values.push(self.origins.hole(format!("${name}"), Tags::NONE).to_string());
        }
        state.put(name, Var::Scalar(values));
    }
}
