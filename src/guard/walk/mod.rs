//! Walks the tree of a shell text as the shell would, but only in thought: variables that the line itself sets
//! are followed, directories are tracked, what flows through pipes is known by its origin, and every simple
//! command that would run is shown to the rules of its program.
//!
//! Branches are all taken, loops run once with all their values, and what two branches leave behind is kept
//! side by side. What cannot be known stays a hole with an origin (see [`value`]).

mod assign;
mod braces;
pub mod env;
mod expand;
pub mod pattern;
mod redirect;
pub mod touch;
pub mod value;

use super::Decision;
use super::paths::Ground;
use super::place::Place;
use super::programs;
use super::rules::{self, Choices, Rule};
use super::shell::{self, Command, Compound, Item, Link, Part, Pipeline, Problem, Script, Simple, Word};
use env::{Env, MOST_VALUES, Var, World};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Instant;
use value::{Origins, Stream, Tags};

/// What a rule said, and about what.
#[derive(Debug, Clone)]
pub struct Finding {
    pub rule: &'static Rule,
    pub decision: Decision,
    pub subject: String,
}

/// One command that would run, for `guard explain`.
#[derive(Debug, Clone)]
pub struct Step {
    pub depth: usize,
    pub command: String,
    pub cwd: String,
}

/// More commands inside one another than this (`env env env …`) are not looked into.
const MOST_NESTED: usize = 100;

/// More commands than this are not walked; a line that long in thought is a question for the user.
const MOST_STEPS: usize = 300_000;

pub struct Walk<'a> {
    pub ground: Ground<'a>,
    pub choices: Choices,
    pub origins: Origins,
    /// What the line itself puts into files, by canonical path.
    pub made: HashMap<String, Stream>,
    /// Directories that downloaded archives and repositories are unpacked to.
    pub unpacked: Vec<String>,
    pub unattended: bool,
    pub worst: Option<Finding>,
    pub trace: Option<Vec<Step>>,
    /// Nesting went beyond what the stack at hand allows.
    pub too_deep: bool,
    deadline: Instant,
    steps: usize,
    pub stopped: bool,
    pub depth: usize,
    max_depth: usize,
    /// Which of several possible values is looked at, and how many the command at hand has met.
    pick: usize,
    alternatives: usize,
    /// Functions and aliases being run, with how many processes were started around them.
    callers: Vec<(String, usize)>,
    called: HashSet<String>,
    background: usize,
    temp_names: usize,
    nested: usize,
    /// `>(…)` of the command at hand, run once it is known what flows into them.
    sinks: Vec<(Rc<Script>, Env)>,
}

impl<'a> Walk<'a> {
    pub fn new(place: &'a Place, payload_cwd: Option<&str>, started: Instant, max_depth: usize) -> Walk<'a> {
        let ground = Ground::new(place, payload_cwd);
        let choices = Choices::of(&place.config, &ground.projects, &ground.real_home);
        let unattended = place.session_mode.as_deref().is_some_and(|mode| mode != "interactive");
        Walk {
            ground,
            choices,
            origins: Origins::default(),
            made: HashMap::new(),
            unpacked: Vec::new(),
            unattended,
            worst: None,
            trace: None,
            too_deep: false,
            deadline: started + place.patience,
            steps: 0,
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
        }
    }

    /// The environment a line starts in.
    pub fn env(&self) -> Env {
        Env::new(self.ground.cwd.clone())
    }

    /// A rule speaks. On another machine nothing is forbidden, but everything is asked; in a container only
    /// what reaches this machine counts, and that is reported as if it happened here.
    pub fn found(&mut self, world: &World, rule: &'static Rule, subject: impl Into<String>) {
        let (rule, decision) = match world {
            World::Here => (rule, self.choices.decision(rule)),
            World::Remote => {
                let own = self.choices.decision(rule);
                let remote = self.choices.decision(&rules::REMOTE);
                (if own == Decision::Deny { &rules::REMOTE } else { rule }, own.min(remote))
            }
            World::Container(_) => return,
        };
        let worse = self.worst.as_ref().is_none_or(|worst| decision > worst.decision);
        if decision > Decision::Allow && worse {
            self.worst = Some(Finding { rule, decision, subject: self.origins.show(&subject.into()) });
        }
    }

    /// Reads and walks a text as its own top-level command: the whole line, `sh -c`, `eval`.
    pub fn text(&mut self, env: &mut Env, text: &str, stdin: &Stream, want: bool) -> Stream {
        if self.depth >= self.max_depth {
            return self.give_up(env);
        }
        if !self.stop_if(Instant::now() >= self.deadline) {
            return Stream::Data(Tags::NONE);
        }
        let parsed = shell::read(text, self.max_depth - self.depth);
        for problem in &parsed.problems {
            self.too_deep |= *problem == Problem::TooDeep;
            let rule = match problem {
                Problem::Character(_) => &rules::HIDDEN,
                _ => &rules::UNREADABLE,
            };
            self.found(&env.world.clone(), rule, format!("{} ({problem})", gist(text)));
        }
        self.depth += 1;
        let out = self.script(env, &parsed.script, stdin, want);
        self.depth -= 1;
        out
    }

    /// The whole line: what was set as a trap runs at the end, and functions nobody called are looked at.
    pub fn line(&mut self, text: &str) {
        let mut env = self.env();
        self.text(&mut env, text, &Stream::None, false);
        self.run_traps(&mut env);
        self.uncalled_functions(&mut env);
    }

    /// Nobody called them here, so what they ask of unknown arguments does not count; what is forbidden does.
    fn uncalled_functions(&mut self, env: &mut Env) {
        let functions = env.functions.clone();
        for (name, body) in functions.iter() {
            if self.called.contains(name) {
                continue;
            }
            let before = self.worst.clone();
            let unknown = self.origins.hole("$1", Tags::NOT_EMPTY).to_string();
            self.function(env, name, body, &[unknown], &Stream::None, false);
            if self.worst.as_ref().is_none_or(|finding| finding.decision != Decision::Deny) {
                self.worst = before;
            }
        }
    }

    /// Text that a shell of its own runs, with these arguments.
    pub fn process(&mut self, env: &Env, text: &str, args: &[String], stdin: &Stream, want: bool) -> Stream {
        let mut inner = env.clone();
        inner.traps.clear();
        inner.args = Rc::new(args.to_vec());
        let out = self.text(&mut inner, text, stdin, want);
        self.run_traps(&mut inner);
        out
    }

    fn give_up(&mut self, env: &Env) -> Stream {
        self.too_deep = true;
        self.found(&env.world, &rules::UNREADABLE, "a nesting this deep");
        Stream::Data(Tags::NONE)
    }

    fn run_traps(&mut self, env: &mut Env) {
        for trap in std::mem::take(&mut env.traps) {
            self.text(env, &trap, &Stream::None, false);
        }
    }

    /// Counts the work and looks at the clock now and then.
    fn tick(&mut self) -> bool {
        self.steps += 1;
        let late = self.steps % 32 == 0 && Instant::now() >= self.deadline;
        self.stop_if(self.steps > MOST_STEPS || late)
    }

    fn stop_if(&mut self, over: bool) -> bool {
        if over && !self.stopped {
            self.stopped = true;
            self.found(&World::Here, &rules::DEADLINE, "");
        }
        !self.stopped
    }

    pub fn script(&mut self, env: &mut Env, script: &Script, stdin: &Stream, want: bool) -> Stream {
        let mut out = Stream::None;
        for item in &script.items {
            if !self.tick() {
                break;
            }
            let next = self.item(env, item, stdin, want);
            if want {
                out = out.then(next);
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
                out = out.then(next);
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
        if pipeline.stages.iter().filter(|stage| starts_with_parameter(stage, "0")).count() > 1 {
            self.found(&env.world, &rules::BOMB, "$0 | $0");
        }
        let mut stream = stdin.clone();
        let last = pipeline.stages.len().saturating_sub(1);
        for (at, stage) in pipeline.stages.iter().enumerate() {
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

    fn command(&mut self, env: &mut Env, command: &Command, stdin: &Stream, want: bool) -> Stream {
        if self.depth >= self.max_depth {
            return self.give_up(env);
        }
        self.depth += 1;
        let out = match command {
            Command::Simple(simple) => self.simple(env, simple, stdin, want),
            Command::Compound(kind, redirects) => {
                let (input, outputs) = self.redirects(env, redirects, stdin);
                let out = self.compound(env, kind, &input, want || !outputs.is_empty());
                self.sinks(&input.then(out.clone()));
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
            Compound::Loop(condition, body) => {
                self.look_for_endless_start(env, condition, body);
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
            Compound::CountingFor(word, body) => {
                self.single(env, word, false);
                for part in &word.parts {
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
                        out = out.then(self.script(&mut inner, body, stdin, want));
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
            out = out.then(self.script(&mut inner, body, stdin, want));
            ends.push(inner);
        }
        if let Some(body) = otherwise {
            out = out.then(self.script(env, body, stdin, want));
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
            self.found(&env.world, &rules::UNREADABLE, text);
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

    /// A simple command, once for each of the values that its variables may have.
    fn simple(&mut self, env: &mut Env, simple: &Simple, stdin: &Stream, want: bool) -> Stream {
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
                    out = out.then(next);
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
        let mut argv: Vec<String> = Vec::new();
        for word in &simple.words {
            let fields = self.fields(env, word);
            argv.extend(fields);
        }
        let held = if argv.is_empty() { None } else { Some(env.vars.clone()) };
        for assign in &simple.assigns {
            self.assign(env, assign);
        }
        let declares = simple.words.first().is_some() && !simple.assigns.is_empty() && {
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
            self.sinks(&input.then(out.clone()));
        }
        self.outputs(env, outputs, out, empties)
    }

    fn sinks(&mut self, stream: &Stream) {
        for (script, env) in std::mem::take(&mut self.sinks) {
            self.subshell(&env, &script, stream, false);
        }
    }

    /// Shows a command, with all its words known as far as they can be, to the rules.
    pub fn call(&mut self, env: &mut Env, argv: &[String], stdin: &Stream, want: bool) -> Stream {
        if argv.is_empty() || !self.tick() {
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
        if !self.choices.allowed_commands.is_empty() && self.choices.allows(argv) {
            return Stream::Data(Tags::NONE);
        }
        if self.nested >= MOST_NESTED {
            self.found(&env.world, &rules::UNREADABLE, "commands inside commands without end");
            return Stream::Data(Tags::NONE);
        }
        self.depth += 1;
        self.nested += 1;
        let out = self.dispatch(env, argv, stdin, want);
        self.nested -= 1;
        self.depth -= 1;
        out
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

    fn function(
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

    /// `f(){ f|f& };f`: a pipeline in which a function calls itself more than once.
    fn look_for_bomb(&mut self, env: &Env, name: &str, body: &Command) {
        let mut found = false;
        each_pipeline(body, 0, &mut |pipeline| {
            let own = pipeline.stages.iter().filter(|stage| first_word(stage) == Some(name)).count();
            found |= own > 1;
        });
        if found {
            self.found(&env.world, &rules::BOMB, format!("{name}(){{ {name}|{name}& }}"));
        }
    }

    /// `while true; do x & done`: new processes without end and without a pause.
    fn look_for_endless_start(&mut self, env: &Env, condition: &Script, body: &Script) {
        let endless = match condition.items.as_slice() {
            [item] if item.rest.is_empty() => match item.first.stages.as_slice() {
                [stage] => matches!(first_word(stage), Some("true" | ":")),
                _ => false,
            },
            _ => false,
        };
        let starts = body.items.iter().any(|item| item.background);
        let pauses = body.items.iter().any(|item| {
            std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)).any(
                |pipeline| {
                    pipeline.stages.iter().any(|stage| {
                        !item.background
                            && !matches!(first_word(stage), Some("echo" | "printf" | ":" | "true" | "let"))
                    })
                },
            )
        });
        if endless && starts && !pauses {
            self.found(&env.world, &rules::BOMB, "while true; do … & done");
        }
    }

    /// A fresh name such as `mktemp` would give.
    pub fn temp_name(&mut self) -> String {
        self.temp_names += 1;
        format!("tmp.headspace{}", self.temp_names)
    }
}

/// The first word of a simple command, if it is plain text.
fn first_word(command: &Command) -> Option<&str> {
    let Command::Simple(simple) = command else { return None };
    match simple.words.first()?.parts.as_slice() {
        [Part::Bare(text) | Part::Quoted(text)] => Some(text),
        _ => None,
    }
}

fn starts_with_parameter(command: &Command, name: &str) -> bool {
    let Command::Simple(Simple { words, .. }) = command else { return false };
    words.first().is_some_and(|word: &Word| {
        word.parts.iter().any(|part| matches!(part, Part::Parameter(parameter) if parameter.name == name))
    })
}

/// Shows every pipeline in a command to `look`, not deeper than a fork bomb would be.
fn each_pipeline<'c>(command: &'c Command, depth: usize, look: &mut impl FnMut(&'c Pipeline)) {
    if depth > 8 {
        return;
    }
    let Command::Compound(kind, _) = command else { return };
    let scripts: Vec<&Script> = match kind.as_ref() {
        Compound::Group(script)
        | Compound::Subshell(script)
        | Compound::For(_, _, script)
        | Compound::CountingFor(_, script) => vec![script],
        Compound::Loop(condition, body) => vec![condition, body],
        Compound::If(arms, otherwise) => {
            arms.iter().flat_map(|(condition, body)| [condition, body]).chain(otherwise.as_ref()).collect()
        }
        Compound::Case(_, arms) => arms.iter().map(|(_, body)| body).collect(),
        Compound::Test(_) | Compound::Arithmetic(..) => Vec::new(),
    };
    for item in scripts.into_iter().flat_map(|script| &script.items) {
        for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)) {
            look(pipeline);
            for stage in &pipeline.stages {
                each_pipeline(stage, depth + 1, look);
            }
        }
    }
}

/// A word as the shell would take it literally; holes and globs stay what they are.
pub fn quote(word: &str) -> String {
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

fn gist(text: &str) -> String {
    crate::terminal::gist(text, 120)
}
