//! Fork bombs: functions and loops that keep starting copies of themselves.

use crate::eval::Evaluator;
use crate::eval::shell_state::ShellState;
use crate::rules;
use crate::shell::{Command, Compound, Part, Pipeline, Script, Simple, Word};

impl Evaluator<'_> {
    /// `f(){ f|f& };f`: a pipeline in which a function calls itself more than once.
    pub(crate) fn check_fork_bomb(&mut self, state: &ShellState, name: &str, body: &Command) {
        let mut found = false;
        each_pipeline(body, 0, &mut |pipeline| {
            let own = pipeline.stages.iter().filter(|stage| first_word(stage) == Some(name)).count();
            found |= own > 1;
        });
        if found {
            self.report(&state.machine, &rules::BOMB, format!("{name}(){{ {name}|{name}& }}"));
        }
    }

    /// The body of an endless loop such as `while true; do x & done`: new processes without a pause.
    pub(crate) fn check_endless_start(&mut self, state: &ShellState, body: &Script) {
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
        if starts && !pauses {
            self.report(&state.machine, &rules::BOMB, "while true; do … & done");
        }
    }
}

/// Whether the condition is just one of these words.
pub(super) fn is_only(condition: &Script, words: &[&str]) -> bool {
    match condition.items.as_slice() {
        [item] if item.rest.is_empty() => match item.first.stages.as_slice() {
            [stage] => first_word(stage).is_some_and(|word| words.contains(&word)),
            _ => false,
        },
        _ => false,
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

pub(super) fn starts_with_parameter(command: &Command, name: &str) -> bool {
    let Command::Simple(Simple { words, .. }) = command else { return false };
    words.first().is_some_and(|word: &Word| {
        word.parts.iter().any(|part| matches!(part, Part::Parameter(parameter) if parameter.name == name))
    })
}

/// Shows every pipeline in a command to `look`, no deeper than a fork bomb would be.
fn each_pipeline<'c>(command: &'c Command, depth: usize, look: &mut impl FnMut(&'c Pipeline)) {
    if depth > 8 {
        return;
    }
    let Command::Compound(kind, _) = command else { return };
    let scripts: Vec<&Script> = match kind.as_ref() {
        Compound::Group(script)
        | Compound::Subshell(script)
        | Compound::For(_, _, script)
        | Compound::CountingFor { body: script, .. } => vec![script],
        Compound::Loop { condition, body, .. } => vec![condition, body],
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
