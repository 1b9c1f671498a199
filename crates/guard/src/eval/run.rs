//! Lists, pipelines, branches and loops: all ways a line can go, one after the other.

use crate::eval::env::{Env, MOST_VALUES, Var};
use crate::eval::value;
use crate::eval::value::{Stream, Tags};
use crate::eval::{Walk, fork_bomb, pattern};
use crate::shell::{Command, Compound, Item, Link, Part, Pipeline, Script};
use crate::{Decision, rules};
use std::rc::Rc;

impl Walk<'_> {
    pub fn script(&mut self, env: &mut Env, script: &Script, stdin: &Stream, want: bool) -> Stream {
        let mut out = Stream::None;
        for item in &script.items {
            if !self.tick() {
                break;
            }
            let next = self.item(env, item, stdin, want);
            if want {
                out = self.origins.join(out, next);
            }
        }
        out
    }

    /// A script in a process of its own: what it sets is forgotten, its traps run at its end.
    pub fn subshell(&mut self, env: &Env, script: &Script, stdin: &Stream, want: bool) -> Stream {
        let mut inner = env.clone();
        inner.traps.clear();
        let out = self.script(&mut inner, script, stdin, want);
        self.run_traps(&mut inner);
        out
    }

    fn item(&mut self, env: &mut Env, item: &Item, stdin: &Stream, want: bool) -> Stream {
        if item.background {
            let mut inner = env.clone();
            self.background += 1;
            let out = self.chain(&mut inner, item, stdin, want);
            self.background -= 1;
            return out;
        }
        self.chain(env, item, stdin, want)
    }

    fn chain(&mut self, env: &mut Env, item: &Item, stdin: &Stream, want: bool) -> Stream {
        let mut out = self.pipeline(env, &item.first, stdin, want);
        let after_first = (!item.rest.is_empty()).then(|| env.vars.clone());
        for (link, pipeline) in &item.rest {
            // An alternative copies and compares everything that is known.
            if !self.tick() || *link == Link::Or && !self.spend(env.vars.len()) {
                break;
            }
            let next = match link {
                Link::And => self.pipeline(env, pipeline, stdin, want),
                Link::Or => {
                    let mut other = env.clone();
                    let next = self.pipeline(&mut other, pipeline, stdin, want);
                    env.merge(other);
                    next
                }
            };
            if want {
                out = self.origins.join(out, next);
            }
        }
        // `test && x=…`: both values remain possible.
        if let Some(vars) = after_first
            && !Rc::ptr_eq(&vars, &env.vars)
        {
            let mut before = env.clone();
            before.vars = vars;
            before.left = false;
            env.merge(before);
        }
        out
    }

    fn pipeline(&mut self, env: &mut Env, pipeline: &Pipeline, stdin: &Stream, want: bool) -> Stream {
        if let [stage] = pipeline.stages.as_slice() {
            return self.command(env, stage, stdin, want);
        }
        if pipeline.stages.iter().filter(|stage| fork_bomb::starts_with_parameter(stage, "0")).count() > 1 {
            self.found(&env.world, &rules::BOMB, "$0 | $0");
        }
        let mut stream = stdin.clone();
        let last = pipeline.stages.len().saturating_sub(1);
        for (at, stage) in pipeline.stages.iter().enumerate() {
            if !self.tick() {
                break;
            }
            let mut inner = env.clone();
            inner.traps.clear();
            stream = self.command(&mut inner, stage, &stream, at < last || want);
            self.run_traps(&mut inner);
            if at < last && matches!(stream, Stream::None) {
                // It prints something, whatever it is.
                stream = Stream::Data(Tags::NONE);
            }
        }
        stream
    }

    pub fn command(&mut self, env: &mut Env, command: &Command, stdin: &Stream, want: bool) -> Stream {
        if self.depth >= self.max_depth {
            return self.give_up(env);
        }
        self.depth += 1;
        let out = match command {
            Command::Simple(simple) => self.simple(env, simple, stdin, want),
            Command::Compound(kind, redirects) => {
                let (input, outputs) = self.redirects(env, redirects, stdin);
                let out = self.compound(env, kind, &input, want || !outputs.is_empty());
                let stream = self.origins.join(input, out.clone());
                self.sinks(&stream);
                self.outputs(env, outputs, out, false)
            }
            Command::Function(name, body) => {
                self.look_for_bomb(env, name, body);
                Rc::make_mut(&mut env.functions).insert(name.clone(), body.clone());
                Stream::None
            }
        };
        self.depth -= 1;
        out
    }

    fn compound(&mut self, env: &mut Env, kind: &Compound, stdin: &Stream, want: bool) -> Stream {
        match kind {
            Compound::Group(script) => self.script(env, script, stdin, want),
            Compound::Subshell(script) => self.subshell(env, script, stdin, want),
            Compound::If(arms, otherwise) => self.branches(env, arms, otherwise.as_ref(), stdin, want),
            Compound::Loop { until, condition, body } => {
                let forever: &[&str] = if *until { &["false"] } else { &["true", ":"] };
                if fork_bomb::is_only(condition, forever) {
                    self.look_for_endless_start(env, body);
                }
                self.script(env, condition, stdin, false);
                self.body(env, body, stdin, want)
            }
            Compound::For(name, words, body) => {
                let values = match words {
                    Some(words) => self.all_fields(env, words),
                    None => env.args.as_ref().clone(),
                };
                // Over nothing, the body does not run.
                if values.is_empty() && words.as_ref().is_none_or(|words| words.is_empty()) {
                    return Stream::None;
                }
                self.set_values(env, name, values);
                self.body(env, body, stdin, want)
            }
            Compound::CountingFor { clauses, endless, body } => {
                self.single(env, clauses, false);
                if *endless {
                    self.look_for_endless_start(env, body);
                }
                for part in &clauses.parts {
                    if let Part::Parameter(parameter) = part {
                        let token = self.origins.hole(format!("${}", parameter.name), Tags::TOKEN);
                        env.set(&parameter.name, token.to_string());
                    }
                }
                self.body(env, body, stdin, want)
            }
            Compound::Case(subject, arms) => {
                let subject = self.single(env, subject, false);
                let before = env.clone();
                let mut out = Stream::None;
                for (patterns, body) in arms {
                    let mut inner = before.clone();
                    let patterns: Vec<String> =
                        patterns.iter().map(|pattern| self.single(&mut inner, pattern, true)).collect();
                    // Arms that a known subject cannot reach are not walked.
                    let reachable = value::has_special(&subject)
                        || patterns.iter().any(|pattern| pattern::matches(pattern, &subject));
                    if reachable {
                        let next = self.script(&mut inner, body, stdin, want);
                        out = self.origins.join(out, next);
                        env.merge(inner);
                    }
                }
                out
            }
            Compound::Test(words) => {
                for word in words {
                    self.single(env, word, false);
                }
                Stream::None
            }
            Compound::Arithmetic(word, text) => {
                self.single(env, word, false);
                self.doubtful(env, text);
                Stream::None
            }
        }
    }

    fn branches(
        &mut self,
        env: &mut Env,
        arms: &[(Script, Script)],
        otherwise: Option<&Script>,
        stdin: &Stream,
        want: bool,
    ) -> Stream {
        let mut out = Stream::None;
        let mut ends: Vec<Env> = Vec::new();
        for (condition, body) in arms {
            self.script(env, condition, stdin, false);
            let mut inner = env.clone();
            let next = self.script(&mut inner, body, stdin, want);
            out = self.origins.join(out, next);
            ends.push(inner);
        }
        if let Some(body) = otherwise {
            let next = self.script(env, body, stdin, want);
            out = self.origins.join(out, next);
        }
        for end in ends {
            env.merge(end);
        }
        out
    }

    /// `((rm -rf /usr))` is arithmetic to the shell, and a trap for everybody else: asked, if as a command it
    /// would be more than that.
    fn doubtful(&mut self, env: &Env, text: &str) {
        if !text.contains(' ') {
            return;
        }
        let before = self.worst.take();
        self.process(env, text, &[], &Stream::None, false);
        let inner = std::mem::replace(&mut self.worst, before);
        if inner.is_some_and(|finding| finding.decision == Decision::Deny) {
            self.found(&env.world, &rules::SHELL_UNREADABLE, text);
        }
    }

    /// A loop's body: it may run or not.
    fn body(&mut self, env: &mut Env, body: &Script, stdin: &Stream, want: bool) -> Stream {
        let mut inner = env.clone();
        let out = self.script(&mut inner, body, stdin, want);
        inner.left = false;
        env.merge(inner);
        out
    }

    /// A variable that takes one of many values.
    pub fn set_values(&mut self, env: &mut Env, name: &str, mut values: Vec<String>) {
        if values.len() > MOST_VALUES {
            values.truncate(MOST_VALUES);
            values.push(self.origins.hole(format!("${name}"), Tags::NONE).to_string());
        }
        if values.is_empty() {
            values.push(self.origins.hole(format!("${name}"), Tags::NONE).to_string());
        }
        env.put(name, Var::Scalar(values));
    }
}
