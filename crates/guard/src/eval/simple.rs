//! Simple commands, functions and aliases: from words to the rules of a program.

use crate::eval::shell_state::{MAX_POSSIBLE_VALUES, ShellState};
use crate::eval::value::{Stream, Tags};
use crate::eval::{Evaluator, MAX_NESTED_COMMANDS, Step, quote};
use crate::programs;
use crate::rules;
use crate::rules::pattern;
use crate::rules::pattern::CommandWords;
use crate::shell::{Command, Simple};
use std::rc::Rc;

impl Evaluator<'_> {
    /// A simple command, once for each combination of values its variables may have.
    pub(crate) fn simple(
        &mut self,
        state: &mut ShellState,
        simple: &Simple,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        // An assignment copies all variables, because `before` keeps them.
        if !self.spend(state.vars.len() + simple.words.len() + simple.assigns.len()) {
            return Stream::None;
        }
        let before = state.clone();
        let outer = (self.pick, self.alternatives);
        let mut out = Stream::None;
        let mut pick = 0;
        loop {
            self.pick = pick;
            self.alternatives = 1;
            if pick == 0 {
                out = self.once(state, simple, stdin, output_used);
            } else {
                let mut other = before.clone();
                let next = self.once(&mut other, simple, stdin, output_used);
                state.merge(other);
                if output_used {
                    out = self.origins.join(out, next);
                }
            }
            pick += 1;
            if pick >= self.alternatives.min(MAX_POSSIBLE_VALUES + 1) || !self.tick() {
                break;
            }
        }
        (self.pick, self.alternatives) = outer;
        out
    }

    fn once(&mut self, state: &mut ShellState, simple: &Simple, stdin: &Stream, output_used: bool) -> Stream {
        let outer = std::mem::replace(&mut self.stdin, stdin.clone());
        let out = self.with_stdin(state, simple, stdin, output_used);
        self.stdin = outer;
        out
    }

    fn with_stdin(
        &mut self,
        state: &mut ShellState,
        simple: &Simple,
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        let mut argv: Vec<String> = Vec::new();
        for word in &simple.words {
            let fields = self.fields(state, word);
            if !self.spend(fields.len()) {
                return Stream::None;
            }
            argv.extend(fields);
        }
        let held = if argv.is_empty() { None } else { Some(state.vars.clone()) };
        for assign in &simple.assigns {
            if !self.spend(1) {
                return Stream::None;
            }
            self.assign(state, assign);
        }
        let declares = !simple.words.is_empty() && !simple.assigns.is_empty() && {
            matches!(
                argv.first().map(String::as_str),
                Some("declare" | "typeset" | "local" | "export" | "readonly")
            )
        };
        let (input, outputs) = self.redirects(state, &simple.redirects, stdin);
        let empties = argv.is_empty();
        let out = if empties {
            // `$(< file)`
            if simple.assigns.is_empty() && !simple.redirects.is_empty() {
                input.clone()
            } else {
                Stream::None
            }
        } else {
            self.check_reverse_shell(state, &argv, &outputs);
            let temporary = state.vars.clone();
            let out = self.call(state, &argv, &input, output_used || !outputs.is_empty());
            // `NAME=value command`: the value is gone afterwards, unless the command set variables itself.
            if let Some(held) = held
                && !simple.assigns.is_empty()
                && !declares
                && Rc::ptr_eq(&temporary, &state.vars)
            {
                state.vars = held;
            }
            if let Some(last) = argv.last() {
                state.last_word.clone_from(last);
            }
            out
        };
        if !self.sinks.is_empty() {
            let stream = self.origins.join(input.clone(), out.clone());
            self.sinks(&stream);
        }
        self.outputs(state, outputs, out, empties)
    }

    pub(crate) fn sinks(&mut self, stream: &Stream) {
        for (script, state) in std::mem::take(&mut self.sinks) {
            self.subshell(&state, &script, stream, false);
        }
    }

    /// Shows a command, with its words as far as they are known, to the rules.
    pub(crate) fn call(
        &mut self,
        state: &mut ShellState,
        argv: &[String],
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        if argv.is_empty() || !self.tick() || !self.spend(argv.len() * 4) {
            return Stream::None;
        }
        if self.depth >= self.max_depth {
            return self.give_up(state);
        }
        if let Some(trace) = &mut self.trace {
            let command = argv.iter().map(|word| self.origins.show(word)).collect::<Vec<_>>().join(" ");
            let cwd = state.cwd.first().cloned().flatten().unwrap_or_else(|| "?".into());
            trace.push(Step { depth: self.depth, command, cwd });
        }
        self.output_used = output_used;
        self.apply_user_rules(state, argv);
        if !self.policy.allow.is_empty() && self.policy.allows(argv) {
            return Stream::Data(Tags::NONE);
        }
        if self.nested >= MAX_NESTED_COMMANDS {
            self.report(&state.machine, &rules::SHELL_UNREADABLE, "endless commands inside commands");
            return Stream::Data(Tags::NONE);
        }
        self.depth += 1;
        self.nested += 1;
        let out = self.dispatch(state, argv, stdin, output_used);
        self.nested -= 1;
        self.depth -= 1;
        out
    }

    /// Applies what the user or the project wants denied or asked.
    pub(crate) fn apply_user_rules(&mut self, state: &ShellState, argv: &[String]) {
        if self.policy.deny.is_empty() && self.policy.ask.is_empty() {
            return;
        }
        let name = programs::name_of(&argv[0]);
        let words = CommandWords::read(&name, &argv[1..]);
        let fits =
            |own: &&String| (pattern::names(own, &name) || pattern::names(own, &argv[0])) && words.fit(own);
        let denied = self.policy.deny.iter().find(fits).cloned();
        let asked = self.policy.ask.iter().find(fits).cloned();
        for (own, rule) in [(denied, &rules::CUSTOM_DENY), (asked, &rules::CUSTOM_ASK)] {
            if let Some(own) = own {
                let show = argv.join(" ");
                self.report_match(&state.machine, rule, show, &own);
            }
        }
    }

    fn dispatch(
        &mut self,
        state: &mut ShellState,
        argv: &[String],
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        let name = argv[0].as_str();
        if let Some(text) = state.aliases.get(name).cloned()
            && !self.callers.iter().any(|(caller, _)| caller == name)
        {
            let mut line = text;
            for word in &argv[1..] {
                line.push(' ');
                line.push_str(&quote(word));
            }
            self.callers.push((name.to_owned(), self.background));
            let out = self.text(state, &line, stdin, output_used);
            self.callers.pop();
            return out;
        }
        if let Some(body) = state.functions.get(name).cloned() {
            return self.function(state, name, &body, &argv[1..], stdin, output_used);
        }
        programs::run(self, state, argv, stdin, output_used)
    }

    pub(crate) fn function(
        &mut self,
        state: &mut ShellState,
        name: &str,
        body: &Rc<Command>,
        args: &[String],
        stdin: &Stream,
        output_used: bool,
    ) -> Stream {
        if let Some((_, background)) = self.callers.iter().find(|(caller, _)| caller == name) {
            if self.background > *background {
                self.report(&state.machine, &rules::BOMB, name);
            }
            return Stream::Data(stdin.tags().only(Tags::FLOWING));
        }
        let outer = std::mem::replace(&mut state.args, Rc::new(args.to_vec()));
        self.called.insert(name.to_owned());
        self.callers.push((name.to_owned(), self.background));
        let out = self.command(state, body, stdin, output_used);
        self.callers.pop();
        state.args = outer;
        state.ended = false;
        out
    }
}
