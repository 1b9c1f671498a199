//! Simple commands, functions and aliases: from words to the rules of a program.

use crate::eval::env::{Env, MOST_VALUES};
use crate::eval::value::{Stream, Tags};
use crate::eval::{MOST_NESTED, Step, Walk, quote};
use crate::programs;
use crate::rules;
use crate::rules::pattern;
use crate::rules::pattern::Words;
use crate::shell::{Command, Simple};
use std::rc::Rc;

impl Walk<'_> {
    /// A simple command, once for each of the values that its variables may have.
    pub fn simple(&mut self, env: &mut Env, simple: &Simple, stdin: &Stream, want: bool) -> Stream {
        // An assignment copies all variables, because `before` keeps them.
        if !self.spend(env.vars.len() + simple.words.len() + simple.assigns.len()) {
            return Stream::None;
        }
        let before = env.clone();
        let outer = (self.pick, self.alternatives);
        let mut out = Stream::None;
        let mut pick = 0;
        loop {
            self.pick = pick;
            self.alternatives = 1;
            if pick == 0 {
                out = self.once(env, simple, stdin, want);
            } else {
                let mut other = before.clone();
                let next = self.once(&mut other, simple, stdin, want);
                env.merge(other);
                if want {
                    out = self.origins.join(out, next);
                }
            }
            pick += 1;
            if pick >= self.alternatives.min(MOST_VALUES + 1) || !self.tick() {
                break;
            }
        }
        (self.pick, self.alternatives) = outer;
        out
    }

    fn once(&mut self, env: &mut Env, simple: &Simple, stdin: &Stream, want: bool) -> Stream {
        let outer = std::mem::replace(&mut self.stdin, stdin.clone());
        let out = self.with_stdin(env, simple, stdin, want);
        self.stdin = outer;
        out
    }

    fn with_stdin(&mut self, env: &mut Env, simple: &Simple, stdin: &Stream, want: bool) -> Stream {
        let mut argv: Vec<String> = Vec::new();
        for word in &simple.words {
            let fields = self.fields(env, word);
            if !self.spend(fields.len()) {
                return Stream::None;
            }
            argv.extend(fields);
        }
        let held = if argv.is_empty() { None } else { Some(env.vars.clone()) };
        for assign in &simple.assigns {
            if !self.spend(1) {
                return Stream::None;
            }
            self.assign(env, assign);
        }
        let declares = !simple.words.is_empty() && !simple.assigns.is_empty() && {
            matches!(
                argv.first().map(String::as_str),
                Some("declare" | "typeset" | "local" | "export" | "readonly")
            )
        };
        let (input, outputs) = self.redirects(env, &simple.redirects, stdin);
        let empties = argv.is_empty();
        let out = if empties {
            // `$(< file)`
            if simple.assigns.is_empty() && !simple.redirects.is_empty() {
                input.clone()
            } else {
                Stream::None
            }
        } else {
            self.look_for_given_shell(env, &argv, &outputs);
            let temporary = env.vars.clone();
            let out = self.call(env, &argv, &input, want || !outputs.is_empty());
            // `NAME=value command`: the value is gone afterwards, unless the command set variables itself.
            if let Some(held) = held
                && !simple.assigns.is_empty()
                && !declares
                && Rc::ptr_eq(&temporary, &env.vars)
            {
                env.vars = held;
            }
            if let Some(last) = argv.last() {
                env.last_word.clone_from(last);
            }
            out
        };
        if !self.sinks.is_empty() {
            let stream = self.origins.join(input.clone(), out.clone());
            self.sinks(&stream);
        }
        self.outputs(env, outputs, out, empties)
    }

    pub fn sinks(&mut self, stream: &Stream) {
        for (script, env) in std::mem::take(&mut self.sinks) {
            self.subshell(&env, &script, stream, false);
        }
    }

    /// Shows a command, with all its words known as far as they can be, to the rules.
    pub fn call(&mut self, env: &mut Env, argv: &[String], stdin: &Stream, want: bool) -> Stream {
        if argv.is_empty() || !self.tick() || !self.spend(argv.len() * 4) {
            return Stream::None;
        }
        if self.depth >= self.max_depth {
            return self.give_up(env);
        }
        if let Some(trace) = &mut self.trace {
            let command = argv.iter().map(|word| self.origins.show(word)).collect::<Vec<_>>().join(" ");
            let cwd = env.cwd.first().cloned().flatten().unwrap_or_else(|| "?".into());
            trace.push(Step { depth: self.depth, command, cwd });
        }
        self.wanted = want;
        self.own_rules(env, argv);
        if !self.choices.allow.is_empty() && self.choices.allows(argv) {
            return Stream::Data(Tags::NONE);
        }
        if self.nested >= MOST_NESTED {
            self.found(&env.world, &rules::SHELL_UNREADABLE, "commands inside commands without end");
            return Stream::Data(Tags::NONE);
        }
        self.depth += 1;
        self.nested += 1;
        let out = self.dispatch(env, argv, stdin, want);
        self.nested -= 1;
        self.depth -= 1;
        out
    }

    /// What the user, or the project, wants denied or asked.
    pub fn own_rules(&mut self, env: &Env, argv: &[String]) {
        if self.choices.deny.is_empty() && self.choices.ask.is_empty() {
            return;
        }
        let name = programs::name_of(&argv[0]);
        let words = Words::read(&name, &argv[1..]);
        let fits =
            |own: &&String| (pattern::names(own, &name) || pattern::names(own, &argv[0])) && words.fit(own);
        let denied = self.choices.deny.iter().find(fits).cloned();
        let asked = self.choices.ask.iter().find(fits).cloned();
        for (own, rule) in [(denied, &rules::CUSTOM_DENY), (asked, &rules::CUSTOM_ASK)] {
            if let Some(own) = own {
                let show = argv.join(" ");
                self.found_by(&env.world.clone(), rule, show, &own);
            }
        }
    }

    fn dispatch(&mut self, env: &mut Env, argv: &[String], stdin: &Stream, want: bool) -> Stream {
        let name = argv[0].as_str();
        if let Some(text) = env.aliases.get(name).cloned()
            && !self.callers.iter().any(|(caller, _)| caller == name)
        {
            let mut line = text;
            for word in &argv[1..] {
                line.push(' ');
                line.push_str(&quote(word));
            }
            self.callers.push((name.to_owned(), self.background));
            let out = self.text(env, &line, stdin, want);
            self.callers.pop();
            return out;
        }
        if let Some(body) = env.functions.get(name).cloned() {
            return self.function(env, name, &body, &argv[1..], stdin, want);
        }
        programs::run(self, env, argv, stdin, want)
    }

    pub fn function(
        &mut self,
        env: &mut Env,
        name: &str,
        body: &Rc<Command>,
        args: &[String],
        stdin: &Stream,
        want: bool,
    ) -> Stream {
        if let Some((_, background)) = self.callers.iter().find(|(caller, _)| caller == name) {
            if self.background > *background {
                self.found(&env.world, &rules::BOMB, name);
            }
            return Stream::Data(stdin.tags().only(Tags::FLOWING));
        }
        let outer = std::mem::replace(&mut env.args, Rc::new(args.to_vec()));
        self.called.insert(name.to_owned());
        self.callers.push((name.to_owned(), self.background));
        let out = self.command(env, body, stdin, want);
        self.callers.pop();
        env.args = outer;
        env.left = false;
        out
    }
}
