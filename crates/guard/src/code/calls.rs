//! Calls in a program: which function, on which object, with which plain arguments, and what the call does.

use crate::code::Language;
use crate::code::aliases;
use crate::code::functions;
use crate::code::functions::FunctionEffect;
use crate::code::functions::FunctionEffect::*;
use crate::code::functions::find;
use crate::code::tokens;
use crate::code::tokens::Token;
use crate::code::values::CodeScan;
use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags, deactivate};
use crate::programs::network::is_answer_route;
use crate::rules;
use crate::rules::names;
use crate::rules::names::{DECODING_CALLS, DROPPING_CALLS, NETWORK_CALLS, QUERY_CALLS, QUERY_OR_RUN_CALLS};
use crate::sql;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

pub(super) fn scan(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    language: Language,
    code: &str,
    subject: &str,
) {
    let mut tokens = tokens::read(code, language);
    aliases::undo(&mut tokens);
    let names = |wanted: &[&str]| {
        tokens.iter().any(|token| matches!(token, Token::Name(name) if wanted.contains(&name.as_str())))
    };
    let mut scan = CodeScan {
        tokens: &tokens,
        partner: tokens::brackets(&tokens),
        language,
        variables: HashMap::new(),
        alternatives: HashMap::new(),
        networks: names(NETWORK_CALLS) || tokens.iter().any(|token| matches!(token, Token::Text(text, _) if matches!(text.as_str(), "http" | "https" | "net" | "open-uri" | "net/http"))),
        depth: Cell::new(0),
    };
    let machine = state.machine.clone();
    if names(&["fork"]) && names(&["while", "loop", "for"]) && language != Language::JavaScript {
        eval.report(&machine, &rules::BOMB, subject);
    }
    if names(&["socket"]) && (names(&["dup2"]) || names(&["pty"])) {
        eval.report(&machine, &rules::NETWORK_SHELL, subject);
    }
    let connects =
        scan.networks || names(&["Socket", "TCPSocket", "UNIXSocket", "fsockopen", "file_get_contents"]);
    let answers = |token: &Token| matches!(token, Token::Text(text, _) if is_answer_route(text));
    if connects && tokens.iter().any(answers) {
        eval.report(&machine, &rules::ANSWER_AGENT, subject);
    }
    let mut reads_secret = false;
    scan.loops(eval, state);
    for (at, token) in tokens.iter().enumerate() {
        if !eval.spend(4) {
            break;
        }
        scan.assignment(eval, state, at);
        match token {
            Token::Command(text) => {
                let text = scan.with_gaps(eval, text);
                crate::programs::run_code_text(eval, state, &text, subject);
            }
            Token::Name(name) if name == "eval" && scan.networks && scan.is(at + 1, ')') => {
                eval.report(&machine, &rules::NETWORK_SHELL, subject);
            }
            Token::Name(name) => {
                scan.queries(eval, state, at, name, subject);
                let Some(&(_, does, owners, bare)) = find(name) else {
                    reads_secret |= scan.callback(eval, state, at, name, subject);
                    continue;
                };
                let Some(args) = scan.arguments(at) else { continue };
                let owner = scan.owner(at);
                let owned =
                    owner.as_ref().is_some_and(|owner| owners.contains(&owner.to_lowercase().as_str()));
                let on_self = matches!(does, WritesSelf | ReadsSelf);
                if !on_self && !owned && !(bare && (owner.is_none() || owners.is_empty())) {
                    // `Path("x").unlink()`, `Path("a").rename("b")`
                    if let (Some(receiver), true) = (scan.receiver(at), matches!(does, Deletes | Moves)) {
                        let path = scan.value(eval, state, receiver);
                        if scan.is_path_call(at) {
                            eval.delete(state, &path, subject);
                        }
                    }
                    continue;
                }
                reads_secret |= scan.act_on_all(eval, state, does, at, &args, subject);
            }
            _ => {}
        }
    }
    if reads_secret && scan.networks {
        eval.report(&machine, &rules::NETWORK_SECRET, subject);
    }
    if code.contains("ongo")
        && let Some(rule) = sql::judge_mongo(code)
    {
        eval.report(&machine, rule, subject);
    }
}
impl CodeScan<'_> {
    /// `cursor.execute("DROP …")`, `db.query('DELETE …')`: SQL that the program runs.
    fn queries(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        at: usize,
        name: &str,
        subject: &str,
    ) {
        if DROPPING_CALLS.contains(&name) && self.receiver(at).is_some() && self.arguments(at).is_some() {
            eval.report(&state.machine, &rules::DATABASE_DROP, subject);
        }
        let always = QUERY_CALLS.contains(&name);
        if !always && !QUERY_OR_RUN_CALLS.contains(&name) {
            return;
        }
        let owner = self.owner(at).map(|owner| owner.to_lowercase());
        let starts_programs = owner.as_ref().is_some_and(|owner| functions::SYSTEM.contains(&owner.as_str()));
        if starts_programs || !always && owner.is_none() && self.receiver(at).is_none() {
            return;
        }
        let Some(first) = self.arguments(at).and_then(|args| args.first().cloned()) else { return };
        // A database in memory is disposable.
        if self.tokens.iter().any(|token| matches!(token, Token::Text(text, _) if text == ":memory:")) {
            return;
        }
        let text = self.value(eval, state, first);
        if let Some(rule) = sql::judge(&deactivate(&text)) {
            eval.report(&state.machine, rule, subject);
        }
    }

    /// `array_map("unlink", …)`, `map(os.remove, …)`, `files.forEach(fs.unlinkSync)`: a function passed to another.
    fn callback(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        at: usize,
        name: &str,
        subject: &str,
    ) -> bool {
        if !names::CALLING_CALLS.contains(&name) {
            return false;
        }
        let Some(args) = self.arguments(at) else { return false };
        let named = |range: &Range<usize>| match self.tokens[range.start..range.end.min(self.tokens.len())] {
            [Token::Text(ref name, _) | Token::Name(ref name)] => find(name).copied(),
            [.., Token::Punct('.'), Token::Name(ref name)] => find(name).copied(),
            _ => None,
        };
        let Some((place, function)) = args.iter().enumerate().find_map(|(at, arg)| Some((at, named(arg)?)))
        else {
            return false;
        };
        let others: Vec<Range<usize>> =
            args.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, arg)| arg.clone()).collect();
        let values = if others.is_empty() { self.receiver(at).into_iter().collect() } else { others };
        self.act_on_all(eval, state, function.1, at, &values, subject)
    }

    /// Like [`CodeScan::act`], once for each value a loop variable may have.
    fn act_on_all(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        does: FunctionEffect,
        at: usize,
        args: &[Range<usize>],
        subject: &str,
    ) -> bool {
        let receiver = self.receiver(at);
        let name = args.iter().chain(receiver.as_ref()).flat_map(Clone::clone).find_map(|at| {
            self.name(at).filter(|name| self.alternatives.contains_key(*name)).map(str::to_owned)
        });
        let Some(name) = name else { return self.act(eval, state, does, at, args, subject) };
        let mut secret = false;
        for value in self.alternatives.get(&name).cloned().unwrap_or_default() {
            self.variables.insert(name.clone(), value);
            secret |= self.act(eval, state, does, at, args, subject);
        }
        self.variables.remove(&name);
        secret
    }

    /// Judges one call; `true` if it reads a secret.
    fn act(
        &mut self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        does: FunctionEffect,
        at: usize,
        args: &[Range<usize>],
        subject: &str,
    ) -> bool {
        let python_exec =
            self.language == Language::Python && self.name(at) == Some("exec") && self.owner(at).is_none();
        let does = if python_exec { Evaluates } else { does };
        let mut values = Vec::new();
        for range in args.iter().take(4) {
            values.push(self.value(eval, state, range.clone()));
        }
        let first = values.first().cloned().unwrap_or_default();
        let second = values.get(1).cloned().unwrap_or_default();
        match does {
            Runs | RunsNamed => self.runs(eval, state, does, args, &values, subject),
            Evaluates => self.evaluates(eval, state, args, subject),
            Deletes if first.is_empty() && self.receiver(at).is_some() => {
                let path =
                    self.receiver(at).map(|receiver| self.value(eval, state, receiver)).unwrap_or_default();
                eval.delete(state, &path, subject);
            }
            Deletes => {
                let lists = args.first().and_then(|range| self.list(eval, state, range));
                for path in lists.unwrap_or_else(|| vec![first]) {
                    eval.delete(state, &path, subject);
                }
            }
            Writes => eval.write(state, &first, WriteKind::Overwrite, subject),
            Reads => return self.reads(eval, state, &first),
            Opens => {
                let mode = args.iter().skip(1).any(|range| {
                    self.tokens[range.start..range.end.min(self.tokens.len())].iter().any(|token| {
                        matches!(token, Token::Text(mode, _) if mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+', '>']))
                    })
                });
                // Perl: `open(F, ">>", "file")`, `open(F, ">file")`, `open(F, "command|")`.
                if self.language == Language::Perl {
                    let path =
                        values.get(2).unwrap_or(&second).trim_start_matches(['>', '<', '+', ' ']).to_owned();
                    if second.contains('>') {
                        eval.write(state, &path, WriteKind::Overwrite, subject);
                        return false;
                    }
                    if let Some(command) = second.strip_suffix('|') {
                        eval.text(&mut state.clone(), command, &Stream::None, false);
                        return false;
                    }
                    return self.reads(eval, state, &path);
                }
                if mode {
                    eval.write(state, &first, WriteKind::Overwrite, subject);
                } else {
                    return self.reads(eval, state, &first);
                }
            }
            Copies => {
                let secret = self.reads(eval, state, &first);
                eval.write(state, &second, WriteKind::Overwrite, subject);
                return secret;
            }
            Moves => {
                eval.delete(state, &first, subject);
                eval.write(state, &second, WriteKind::Replace, subject);
            }
            Downloads => {
                eval.write(state, &second, WriteKind::Overwrite, subject);
                eval.remember(state, &second, Stream::Data(Tags::DOWNLOAD), false);
            }
            Links => eval.write(state, &second, WriteKind::Replace, subject),
            WritesSelf | ReadsSelf => {
                let Some(receiver) = self.receiver(at) else { return false };
                let path = self.value(eval, state, receiver);
                if does == ReadsSelf {
                    return self.reads(eval, state, &path);
                }
                eval.write(state, &path, WriteKind::Overwrite, subject);
            }
        }
        false
    }

    fn reads(&self, eval: &mut Evaluator<'_>, state: &ShellState, path: &str) -> bool {
        if path.is_empty() || path.starts_with("http://") || path.starts_with("https://") {
            return false;
        }
        eval.read(state, path).tags().has(Tags::SECRET)
    }

    fn runs(
        &self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        does: FunctionEffect,
        args: &[Range<usize>],
        values: &[String],
        subject: &str,
    ) {
        let machine = state.machine.clone();
        let Some(range) = args.first() else { return };
        if self.mentions(range, NETWORK_CALLS) {
            return eval.report(&machine, &rules::NETWORK_SHELL, subject);
        }
        if self.mentions(range, DECODING_CALLS) {
            return eval.report(&machine, &rules::NETWORK_DECODED, subject);
        }
        let mut argv: Vec<String> = Vec::new();
        let mut is_list = false;
        for range in args {
            match self.list(eval, state, range) {
                Some(words) => {
                    argv.extend(words);
                    is_list = true;
                    break;
                }
                None if argv.is_empty() => argv.push(self.value(eval, state, range.clone())),
                None => {
                    // Several texts are an argument list; `shell=True`, `{stdio: …}` and the like are not.
                    let options = self.is(range.start, '{') || self.is(range.start + 1, '=');
                    if options || self.language == Language::JavaScript {
                        break;
                    }
                    argv.push(self.value(eval, state, range.clone()));
                    is_list = true;
                }
            }
        }
        if does == RunsNamed && argv.len() > 1 {
            argv.remove(0);
        }
        if is_list && argv.len() > 1 {
            eval.call(&mut state.clone(), &argv, &Stream::None, false);
        } else if let Some(text) = argv.first().or(values.first()) {
            crate::programs::run_code_text(eval, state, text, subject);
        }
    }

    fn evaluates(
        &self,
        eval: &mut Evaluator<'_>,
        state: &mut ShellState,
        args: &[Range<usize>],
        subject: &str,
    ) {
        let machine = state.machine.clone();
        let Some(range) = args.last() else { return };
        let literal =
            matches!(&self.tokens[range.start..range.end.min(self.tokens.len())], [Token::Text(_, false)]);
        if literal {
            if eval.depth < 24 {
                let code = self.value(eval, state, range.clone());
                eval.depth += 1;
                scan(eval, state, self.language, &code, subject);
                eval.depth -= 1;
            }
            return;
        }
        let rule = if self.mentions(range, NETWORK_CALLS) || self.networks {
            &rules::NETWORK_SHELL
        } else if self.mentions(range, DECODING_CALLS) {
            &rules::NETWORK_DECODED
        } else {
            &rules::SHELL_UNKNOWN_COMMAND
        };
        eval.report(&machine, rule, subject);
    }
}
