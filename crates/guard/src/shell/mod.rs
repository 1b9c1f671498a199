//! From shell text to a tree of commands. Pure: no variable is looked up and no file is touched.
//!
//! The parser never fails. What it cannot read it records as a [`Problem`] and reads on, so that the dangerous half of
//! a broken line is still seen; the evaluator treats any problem as "ask".

pub mod characters;
mod compound;
mod escapes;
mod heredoc;
mod operators;
mod parameters;
mod parser;
mod words;

pub(crate) use crate::shell::escapes::escape;
pub use crate::shell::parser::{Parsed, read};

use std::cell::OnceCell;
use std::rc::Rc;

/// A list of commands: between `(` and `)`, in a file, after `-c`.
#[derive(Debug, Default, Clone)]
pub struct Script {
    pub items: Vec<Item>,
}

/// One `a && b || c`, and how it ends.
#[derive(Debug, Clone)]
pub struct Item {
    pub first: Pipeline,
    pub rest: Vec<(Link, Pipeline)>,
    pub background: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    And,
    Or,
}

#[derive(Debug, Default, Clone)]
pub struct Pipeline {
    pub stages: Vec<Command>,
}

#[derive(Debug, Clone)]
pub enum Command {
    Simple(Simple),
    Compound(Box<Compound>, Vec<Redirect>),
    /// The body is shared because every call evaluates it.
    Function(String, Rc<Command>),
}

#[derive(Debug, Clone)]
pub enum Compound {
    Group(Script),
    Subshell(Script),
    /// `if`/`elif` arms as (condition, body), and the `else`.
    If(Vec<(Script, Script)>, Option<Script>),
    /// `while`, or `until`, which runs as long as its condition does not hold.
    Loop {
        until: bool,
        condition: Script,
        body: Script,
    },
    /// `for` and `select`; without words it runs over the arguments.
    For(String, Option<Vec<Word>>, Script),
    /// `for ((…))`; endless if the middle clause is empty.
    CountingFor {
        clauses: Word,
        endless: bool,
        body: Script,
    },
    Case(Word, Vec<(Vec<Word>, Script)>),
    /// `[[ … ]]`
    Test(Vec<Word>),
    /// `(( … ))`, and its text without the brackets
    Arithmetic(Word, String),
}

#[derive(Debug, Default, Clone)]
pub struct Simple {
    pub assigns: Vec<Assign>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

#[derive(Debug, Clone)]
pub struct Assign {
    pub name: String,
    pub index: Option<Word>,
    pub append: bool,
    pub value: Assigned,
}

#[derive(Debug, Clone)]
pub enum Assigned {
    One(Word),
    Array(Vec<Word>),
}

#[derive(Debug, Clone)]
pub struct Redirect {
    /// `2` in `2> file`; `None` for the operator's own.
    pub fd: Option<u32>,
    pub op: RedirectOp,
    pub target: RedirectTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectOp {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`
    Write,
    /// `>>`, `&>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<&` and `>&` with a number or `-`: no file is touched.
    Duplicate,
    /// `<<`, `<<-`, `<<<`
    Text,
}

#[derive(Debug, Clone)]
pub enum RedirectTarget {
    Word(Word),
    /// Filled at the end of the line; empty if the text ends before that.
    Heredoc(Rc<OnceCell<Word>>),
}

#[derive(Debug, Default, Clone)]
pub struct Word {
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub enum Part {
    /// Not quoted: braces, globs and a leading tilde have their meaning.
    Bare(String),
    /// `'…'`, `$'…'`, `\x`
    Quoted(String),
    /// `"…"`
    Double(Vec<Part>),
    Parameter(Box<Parameter>),
    /// `$(…)` and backticks.
    Command(Rc<Script>),
    /// `$((…))`; the parts matter only for the commands in them.
    Arithmetic(Vec<Part>),
    /// `<(…)` (`true`) and `>(…)` (`false`)
    Process(bool, Rc<Script>),
    /// Unknown text, which got here when a value became code (`sh -c "$x"`).
    Hole(char),
}

/// `$x`, `${x…}`
#[derive(Debug, Clone)]
pub struct Parameter {
    pub name: String,
    /// `[…]`; `@` and `*` mean all of the array.
    pub index: Option<Word>,
    /// `${#x}`
    pub length: bool,
    /// `${!x}`
    pub indirect: bool,
    pub change: Change,
}

/// What follows the name in `${name…}`.
#[derive(Debug, Clone)]
pub enum Change {
    None,
    /// `-`, `=`; with the colon an empty value counts as unset.
    Default {
        colon: bool,
        assign: bool,
        word: Word,
    },
    /// `+`
    Alternative {
        colon: bool,
        word: Word,
    },
    /// `?`
    Required,
    /// `#`, `##`
    Prefix {
        longest: bool,
        pattern: Word,
    },
    /// `%`, `%%`
    Suffix {
        longest: bool,
        pattern: Word,
    },
    /// `/`, `//`, `/#`, `/%`
    Replace {
        how: char,
        pattern: Word,
        with: Word,
    },
    /// `:from:length`
    Slice(Word),
    /// `^ ^^ , ,,`
    Case(String),
    /// `@Q` and everything else: the value is unknown, and its words may run commands.
    Other(Word),
}

/// Why a text could not be read exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    OpenQuote,
    OpenExpansion,
    OpenHeredoc,
    OpenBlock(&'static str),
    Unexpected(String),
    TooDeep,
    /// An invisible or misleading character.
    Character(char),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::OpenQuote => f.write_str("a quote is not closed"),
            Problem::OpenExpansion => f.write_str("an expansion is not closed"),
            Problem::OpenHeredoc => f.write_str("a heredoc has no end"),
            Problem::OpenBlock(word) => write!(f, "`{word}` is missing"),
            Problem::Unexpected(text) => write!(f, "unexpected `{text}`"),
            Problem::TooDeep => f.write_str("the nesting is too deep"),
            Problem::Character(c) => write!(f, "the character U+{:04X} hides or misleads", u32::from(*c)),
        }
    }
}

impl Word {
    /// The text, if nothing in it needs to be expanded.
    pub(crate) fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Bare(s) | Part::Quoted(s) => text.push_str(s),
                Part::Double(inner) => text.push_str(&Word { parts: inner.clone() }.literal()?),
                _ => return None,
            }
        }
        Some(text)
    }

    pub(crate) fn has_quotes(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Quoted(_) | Part::Double(_)))
    }
}
