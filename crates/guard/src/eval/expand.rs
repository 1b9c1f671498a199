//! From words to fields: tilde, braces, parameters, command substitution, splitting.

use crate::eval::shell_state::{ShellState, Var};
use crate::eval::value::{Origin, Stream, Tags, activate};
use crate::eval::{Evaluator, braces};
use crate::shell::{Part, Script, Word};
use std::rc::Rc;

/// The fields of one word while they are being built.
#[derive(Default)]
struct FieldBuilder {
    done: Vec<String>,
    current: String,
    /// Quotes make a field even if they are empty.
    open: bool,
}

impl FieldBuilder {
    fn push(&mut self, text: &str) {
        self.current.push_str(text);
        self.open = true;
    }

    fn cut(&mut self) {
        if self.open {
            self.done.push(std::mem::take(&mut self.current));
            self.open = false;
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.cut();
        self.done
    }
}

/// The value of a parameter: one value, or all of an array.
pub(super) enum Expansion {
    One(String),
    All(Vec<String>),
}

impl Evaluator<'_> {
    /// The fields that a word of a command expands to.
    pub(crate) fn fields(&mut self, state: &mut ShellState, word: &Word) -> Vec<String> {
        if let [Part::Bare(text)] = word.parts.as_slice()
            && !text.bytes().any(|b| matches!(b, b'*' | b'?' | b'[' | b'{' | b'~'))
        {
            return vec![text.clone()];
        }
        match braces::expand(word) {
            None => self.fields_of_one(state, word),
            Some(Ok(words)) => words.iter().flat_map(|word| self.fields_of_one(state, word)).collect(),
            Some(Err(())) => vec![self.origins.hole("{…}", Tags::NONE).to_string()],
        }
    }

    /// The fields for every possible value of the variables in `words`.
    pub(crate) fn all_fields(&mut self, state: &mut ShellState, words: &[Word]) -> Vec<String> {
        let outer = (self.pick, self.alternatives);
        let mut fields = Vec::new();
        for word in words {
            let mut pick = 0;
            loop {
                self.pick = pick;
                self.alternatives = 1;
                for field in self.fields(state, word) {
                    // To avoid quadratic work, long lists are not checked for duplicates.
                    if fields.len() > 64 || !fields.contains(&field) {
                        fields.push(field);
                    }
                }
                pick += 1;
                if pick >= self.alternatives {
                    break;
                }
            }
        }
        (self.pick, self.alternatives) = outer;
        fields
    }

    fn fields_of_one(&mut self, state: &mut ShellState, word: &Word) -> Vec<String> {
        let mut fields = FieldBuilder::default();
        for (at, part) in word.parts.iter().enumerate() {
            if self.stopped {
                break;
            }
            match part {
                Part::Bare(text) => {
                    let whole = word.parts.len() == 1;
                    let text = match assigned_tilde(text) {
                        _ if at > 0 => text.clone(),
                        Some(tilde) => text[..tilde].to_owned() + &self.tilde(state, &text[tilde..], whole),
                        None => self.tilde(state, text, whole),
                    };
                    fields.push(&activate(&text));
                }
                Part::Quoted(text) => fields.push(text),
                Part::Double(parts) => {
                    fields.open = true;
                    for part in parts {
                        match self.part(state, part, true) {
                            Expansion::One(text) => {
                                fields.push(&text);
                                if is_made(part) && !self.may_grow(fields.current.len()) {
                                    return Vec::new();
                                }
                            }
                            Expansion::All(items) => {
                                if items.is_empty() && parts.len() == 1 {
                                    fields.open = false;
                                }
                                for (i, item) in items.iter().enumerate() {
                                    if i > 0 {
                                        fields.cut();
                                    }
                                    fields.push(item);
                                }
                            }
                        }
                    }
                }
                part => {
                    let values = match self.part(state, part, false) {
                        Expansion::One(text) => vec![text],
                        Expansion::All(items) => items,
                    };
                    let splits = matches!(part, Part::Parameter(_) | Part::Command(_));
                    for (i, text) in values.iter().enumerate() {
                        if i > 0 {
                            fields.cut();
                        }
                        if splits {
                            self.push_split(state, &mut fields, text);
                        } else {
                            fields.push(text);
                        }
                        if !self.may_grow(fields.current.len()) {
                            return Vec::new();
                        }
                    }
                }
            }
        }
        fields.finish()
    }

    /// The single text a word stands for where the shell does not split: assignments, redirections, here-strings.
    pub(crate) fn single(&mut self, state: &mut ShellState, word: &Word, globs: bool) -> String {
        let mut text = String::new();
        for (at, part) in word.parts.iter().enumerate() {
            match part {
                Part::Bare(bare) => {
                    let bare =
                        if at == 0 { self.tilde(state, bare, word.parts.len() == 1) } else { bare.clone() };
                    text.push_str(&if globs { activate(&bare) } else { bare });
                }
                Part::Quoted(quoted) => text.push_str(quoted),
                Part::Double(parts) => {
                    for part in parts {
                        text.push_str(&self.joined(state, part, true));
                        if is_made(part) && !self.may_grow(text.len()) {
                            return String::new();
                        }
                    }
                }
                part => {
                    text.push_str(&self.joined(state, part, false));
                    if is_made(part) && !self.may_grow(text.len()) {
                        return String::new();
                    }
                }
            }
        }
        text
    }

    fn joined(&mut self, state: &mut ShellState, part: &Part, quoted: bool) -> String {
        match self.part(state, part, quoted) {
            Expansion::One(text) => text,
            Expansion::All(items) => items.join(" "),
        }
    }

    fn part(&mut self, state: &mut ShellState, part: &Part, quoted: bool) -> Expansion {
        Expansion::One(match part {
            Part::Bare(text) | Part::Quoted(text) => text.clone(),
            Part::Double(parts) => parts.iter().map(|part| self.joined(state, part, true)).collect(),
            Part::Parameter(parameter) => return self.parameter(state, parameter, quoted),
            Part::Command(script) => self.substitute(state, script),
            Part::Arithmetic(parts) => {
                for part in parts {
                    self.part(state, part, true);
                }
                self.origins.hole("$((…))", Tags::TOKEN).to_string()
            }
            Part::Process(true, script) => {
                let stream = self.subshell(state, script, &Stream::None, true);
                let tags = stream.tags().only(Tags::FLOWING);
                let origin = Origin { name: "<(…)".into(), tags, stream: Some(stream) };
                self.origins.push(origin).to_string()
            }
            Part::Process(false, script) => {
                self.sinks.push((script.clone(), state.clone()));
                "/dev/fd/63".to_owned()
            }
            Part::Hole(c) => c.to_string(),
        })
    }

    /// What `$(…)` is replaced by.
    fn substitute(&mut self, state: &mut ShellState, script: &Rc<Script>) -> String {
        let sinks = std::mem::take(&mut self.sinks);
        let stdin = self.stdin.clone();
        let out = self.subshell(state, script, &stdin, true);
        self.sinks = sinks;
        match out {
            Stream::None => String::new(),
            Stream::Text(text, _) => text.trim_end_matches('\n').to_owned(),
            Stream::Data(tags) => self.origins.hole("$(…)", tags).to_string(),
        }
    }

    /// Splits an unquoted value at the separators; its globs become active.
    fn push_split(&mut self, state: &ShellState, fields: &mut FieldBuilder, text: &str) {
        let separators = match state.vars.get("IFS") {
            Some(Var::Scalar(values)) => values.first().map_or(" \t\n", String::as_str),
            _ => " \t\n",
        };
        let mut rest = text;
        loop {
            let end = rest.find(|c| separators.contains(c)).unwrap_or(rest.len());
            if end > 0 {
                fields.push(&activate(&rest[..end]));
            }
            let Some(separator) = rest[end..].chars().next() else { return };
            if !self.spend(1) {
                return;
            }
            fields.cut();
            rest = &rest[end + separator.len_utf8()..];
        }
    }

    /// `~`, `~/x`, `~name/x`, `~+`, `~-`
    fn tilde(&mut self, state: &ShellState, text: &str, whole: bool) -> String {
        let Some(rest) = text.strip_prefix('~') else { return text.to_owned() };
        let name_end = rest.find('/').unwrap_or(rest.len());
        // `~"$user"`: a name that continues in another part is not a plain tilde.
        if name_end == rest.len() && !whole {
            return text.to_owned();
        }
        let (name, path) = rest.split_at(name_end);
        let home = match name {
            "" => match state.vars.get("HOME") {
                Some(Var::Scalar(values)) if values.len() == 1 => values[0].clone(),
                _ => self.locations.home.clone(),
            },
            "+" => self.current_dir(state),
            "-" => self.dir_of(&state.old_cwd),
            name => self.home_of(name),
        };
        format!("{home}{path}")
    }

    fn home_of(&self, name: &str) -> String {
        let own = self.locations.user.as_deref() == Some(name);
        if own || self.locations.home.ends_with(&format!("/{name}")) {
            self.locations.home.clone()
        } else if name == "root" {
            "/root".to_owned()
        } else {
            format!("/home/{name}")
        }
    }

    /// `$PWD`
    pub(crate) fn current_dir(&mut self, state: &ShellState) -> String {
        self.dir_of(&state.cwd)
    }

    pub(super) fn dir_of(&mut self, dirs: &[Option<String>]) -> String {
        match self.choose(dirs) {
            Some(Some(dir)) if dir.is_empty() => "/".to_owned(),
            Some(Some(dir)) => dir,
            _ => self.origins.hole("$PWD", Tags::NOT_EMPTY).to_string(),
        }
    }

    /// One of several possible values; also records that there are several.
    pub(crate) fn choose<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        self.alternatives = self.alternatives.max(values.len());
        if values.is_empty() { None } else { Some(values[self.pick % values.len()].clone()) }
    }
}

/// Whether this part comes from an expansion and so can be longer than what was written.
fn is_made(part: &Part) -> bool {
    matches!(part, Part::Parameter(_) | Part::Command(_))
}

/// Where the tilde is in `of=~/x`: bash expands it in every word that looks like an assignment.
fn assigned_tilde(text: &str) -> Option<usize> {
    let (name, value) = text.split_once('=')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && value.starts_with('~')).then_some(name.len() + 1)
}
