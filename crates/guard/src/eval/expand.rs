//! Words ▶ fields: tilde, braces, parameters, command substitution, splitting.

use crate::eval::env::{Env, Var};
use crate::eval::slices::{items_from, slice};
use crate::eval::value;
use crate::eval::value::{Origin, Stream, Tags, activate};
use crate::eval::{Walk, braces, pattern};
use crate::shell::{Change, Parameter, Part, Script, Word};
use std::rc::Rc;

/// The fields of one word while they grow.
#[derive(Default)]
struct Fields {
    done: Vec<String>,
    current: String,
    /// A quote makes a field even if nothing is in it.
    open: bool,
}

impl Fields {
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

/// What a parameter stands for: one value, or all of an array.
enum Values {
    One(String),
    All(Vec<String>),
}

impl Walk<'_> {
    /// The fields that a word of a command expands to.
    pub fn fields(&mut self, env: &mut Env, word: &Word) -> Vec<String> {
        if let [Part::Bare(text)] = word.parts.as_slice()
            && !text.bytes().any(|b| matches!(b, b'*' | b'?' | b'[' | b'{' | b'~'))
        {
            return vec![text.clone()];
        }
        match braces::expand(word) {
            None => self.fields_of_one(env, word),
            Some(Ok(words)) => words.iter().flat_map(|word| self.fields_of_one(env, word)).collect(),
            Some(Err(())) => vec![self.origins.hole("{…}", Tags::NONE).to_string()],
        }
    }

    /// The fields for every possible value of the variables in `words`.
    pub fn all_fields(&mut self, env: &mut Env, words: &[Word]) -> Vec<String> {
        let outer = (self.pick, self.alternatives);
        let mut fields = Vec::new();
        for word in words {
            let mut pick = 0;
            loop {
                self.pick = pick;
                self.alternatives = 1;
                for field in self.fields(env, word) {
                    // Against quadratic work, only neighbours are compared once there are many.
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

    fn fields_of_one(&mut self, env: &mut Env, word: &Word) -> Vec<String> {
        let mut fields = Fields::default();
        for (at, part) in word.parts.iter().enumerate() {
            if self.stopped {
                break;
            }
            match part {
                Part::Bare(text) => {
                    let whole = word.parts.len() == 1;
                    let text = match assigned_tilde(text) {
                        _ if at > 0 => text.clone(),
                        Some(tilde) => text[..tilde].to_owned() + &self.tilde(env, &text[tilde..], whole),
                        None => self.tilde(env, text, whole),
                    };
                    fields.push(&activate(&text));
                }
                Part::Quoted(text) => fields.push(text),
                Part::Double(parts) => {
                    fields.open = true;
                    for part in parts {
                        match self.part(env, part, true) {
                            Values::One(text) => {
                                fields.push(&text);
                                if is_made(part) && !self.may_grow(fields.current.len()) {
                                    return Vec::new();
                                }
                            }
                            Values::All(items) => {
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
                    let values = match self.part(env, part, false) {
                        Values::One(text) => vec![text],
                        Values::All(items) => items,
                    };
                    let splits = matches!(part, Part::Parameter(_) | Part::Command(_));
                    for (i, text) in values.iter().enumerate() {
                        if i > 0 {
                            fields.cut();
                        }
                        if splits {
                            self.push_split(env, &mut fields, text);
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

    /// The one text a word stands for where the shell does not split: assignments, redirections, here-strings.
    pub fn single(&mut self, env: &mut Env, word: &Word, globs: bool) -> String {
        let mut text = String::new();
        for (at, part) in word.parts.iter().enumerate() {
            match part {
                Part::Bare(bare) => {
                    let bare =
                        if at == 0 { self.tilde(env, bare, word.parts.len() == 1) } else { bare.clone() };
                    text.push_str(&if globs { activate(&bare) } else { bare });
                }
                Part::Quoted(quoted) => text.push_str(quoted),
                Part::Double(parts) => {
                    for part in parts {
                        text.push_str(&self.joined(env, part, true));
                        if is_made(part) && !self.may_grow(text.len()) {
                            return String::new();
                        }
                    }
                }
                part => {
                    text.push_str(&self.joined(env, part, false));
                    if is_made(part) && !self.may_grow(text.len()) {
                        return String::new();
                    }
                }
            }
        }
        text
    }

    fn joined(&mut self, env: &mut Env, part: &Part, quoted: bool) -> String {
        match self.part(env, part, quoted) {
            Values::One(text) => text,
            Values::All(items) => items.join(" "),
        }
    }

    fn part(&mut self, env: &mut Env, part: &Part, quoted: bool) -> Values {
        Values::One(match part {
            Part::Bare(text) | Part::Quoted(text) => text.clone(),
            Part::Double(parts) => parts.iter().map(|part| self.joined(env, part, true)).collect(),
            Part::Parameter(parameter) => return self.parameter(env, parameter, quoted),
            Part::Command(script) => self.substitute(env, script),
            Part::Arithmetic(parts) => {
                for part in parts {
                    self.part(env, part, true);
                }
                self.origins.hole("$((…))", Tags::TOKEN).to_string()
            }
            Part::Process(true, script) => {
                let stream = self.subshell(env, script, &Stream::None, true);
                let tags = stream.tags().only(Tags::FLOWING);
                let origin = Origin { name: "<(…)".into(), tags, stream: Some(stream) };
                self.origins.push(origin).to_string()
            }
            Part::Process(false, script) => {
                self.sinks.push((script.clone(), env.clone()));
                "/dev/fd/63".to_owned()
            }
            Part::Hole(c) => c.to_string(),
        })
    }

    /// What `$(…)` is replaced by.
    fn substitute(&mut self, env: &mut Env, script: &Rc<Script>) -> String {
        let sinks = std::mem::take(&mut self.sinks);
        let stdin = self.stdin.clone();
        let out = self.subshell(env, script, &stdin, true);
        self.sinks = sinks;
        match out {
            Stream::None => String::new(),
            Stream::Text(text, _) => text.trim_end_matches('\n').to_owned(),
            Stream::Data(tags) => self.origins.hole("$(…)", tags).to_string(),
        }
    }

    /// Splits an unquoted value at the separators; globs in it become active.
    fn push_split(&mut self, env: &Env, fields: &mut Fields, text: &str) {
        let separators = match env.vars.get("IFS") {
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
    fn tilde(&mut self, env: &Env, text: &str, whole: bool) -> String {
        let Some(rest) = text.strip_prefix('~') else { return text.to_owned() };
        let name_end = rest.find('/').unwrap_or(rest.len());
        // `~"$user"`: a name that goes on in another part is no plain tilde.
        if name_end == rest.len() && !whole {
            return text.to_owned();
        }
        let (name, path) = rest.split_at(name_end);
        let home = match name {
            "" => match env.vars.get("HOME") {
                Some(Var::Scalar(values)) if values.len() == 1 => values[0].clone(),
                _ => self.ground.home.clone(),
            },
            "+" => self.current_dir(env),
            "-" => self.dir_of(&env.old_cwd),
            name => self.home_of(name),
        };
        format!("{home}{path}")
    }

    fn home_of(&self, name: &str) -> String {
        let own = self.ground.user.as_deref() == Some(name);
        if own || self.ground.home.ends_with(&format!("/{name}")) {
            self.ground.home.clone()
        } else if name == "root" {
            "/root".to_owned()
        } else {
            format!("/home/{name}")
        }
    }

    /// `$PWD`
    pub fn current_dir(&mut self, env: &Env) -> String {
        self.dir_of(&env.cwd)
    }

    fn dir_of(&mut self, dirs: &[Option<String>]) -> String {
        match self.choose(dirs) {
            Some(Some(dir)) if dir.is_empty() => "/".to_owned(),
            Some(Some(dir)) => dir,
            _ => self.origins.hole("$PWD", Tags::NOT_EMPTY).to_string(),
        }
    }

    /// One of several possible values, and a note that there are several.
    pub fn choose<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        self.alternatives = self.alternatives.max(values.len());
        if values.is_empty() { None } else { Some(values[self.pick % values.len()].clone()) }
    }

    fn parameter(&mut self, env: &mut Env, parameter: &Parameter, quoted: bool) -> Values {
        let mut name = parameter.name.clone();
        // Whatever comes of the index, what stands in it runs.
        if let Some(index) = parameter.index.as_ref().filter(|index| index.literal().is_none()) {
            self.single(env, index, false);
        }
        let found = if parameter.indirect {
            match self.value_of(env, &name, None) {
                Some(Values::One(target)) if !value::has_special(&target) => {
                    name = target;
                    self.value_of(env, &name, parameter.index.as_ref())
                }
                _ => None,
            }
        } else {
            self.value_of(env, &name, parameter.index.as_ref())
        };
        if parameter.length {
            return Values::One(self.origins.hole(format!("${{#{name}}}"), Tags::TOKEN).to_string());
        }
        let shown = format!("${name}");
        match found {
            Some(Values::All(items)) => {
                let changed: Vec<String> = match &parameter.change {
                    // `"${words[@]:1}"` and `"${@:2}"` take some of the items, not some of their letters.
                    Change::Slice(word) => {
                        let numbers = self.single(env, word, false);
                        // The arguments count from 1.
                        let first = usize::from(matches!(parameter.name.as_str(), "@" | "*"));
                        items_from(items, first, &numbers)
                    }
                    _ => {
                        items.into_iter().map(|item| self.change(env, &name, Some(item), parameter)).collect()
                    }
                };
                // `"$*"` is one word.
                if quoted && (parameter.name == "*" || index_is(parameter.index.as_ref(), "*")) {
                    return Values::One(changed.join(" "));
                }
                Values::All(changed)
            }
            Some(Values::One(text)) => Values::One(self.change(env, &name, Some(text), parameter)),
            None => {
                let text = match &parameter.change {
                    Change::None | Change::Case(_) => self.origins.hole(shown, Tags::NONE).to_string(),
                    _ => self.change(env, &name, None, parameter),
                };
                Values::One(text)
            }
        }
    }

    /// The value of a variable as far as it is known; `None` if the line never set it.
    fn value_of(&mut self, env: &mut Env, name: &str, index: Option<&Word>) -> Option<Values> {
        if let Some(var) = env.vars.get(name).cloned() {
            return Some(match var {
                Var::Scalar(values) => Values::One(self.choose(&values)?),
                Var::Array(items) => match index {
                    None => Values::One(items.first().cloned().unwrap_or_default()),
                    Some(_) if index_is(index, "@") || index_is(index, "*") => Values::All(items),
                    Some(word) => {
                        let key = self.single(env, word, false);
                        match key.parse::<i64>() {
                            Ok(at) if at >= 0 => {
                                Values::One(items.get(at as usize).cloned().unwrap_or_default())
                            }
                            Ok(at) => {
                                let from_end = items.len().checked_sub(at.unsigned_abs() as usize);
                                Values::One(
                                    from_end.and_then(|at| items.get(at)).cloned().unwrap_or_default(),
                                )
                            }
                            Err(_) => Values::One(self.choose(&items)?),
                        }
                    }
                },
            });
        }
        self.special(env, name)
    }

    /// What every shell knows without being told.
    fn special(&mut self, env: &Env, name: &str) -> Option<Values> {
        let text = match name {
            "HOME" => self.ground.home.clone(),
            "PWD" => self.current_dir(env),
            "OLDPWD" => self.dir_of(&env.old_cwd),
            "TMPDIR" => self.ground.tmpdir.clone(),
            "USER" | "LOGNAME" => self.ground.user.clone()?,
            "HISTFILE" => format!("{}/.bash_history", self.ground.home),
            "IFS" => " \t\n".to_owned(),
            "SHELL" | "BASH" => "/bin/bash".to_owned(),
            "0" => "bash".to_owned(),
            "_" => env.last_word.clone(),
            "CLAUDE_PROJECT_DIR" => self.ground.projects.last()?.clone(),
            "@" | "*" => return Some(Values::All(env.args.as_ref().clone())),
            "#" | "?" | "-" | "UID" | "EUID" | "RANDOM" | "SRANDOM" | "SECONDS" | "LINENO" | "HOSTNAME"
            | "HOSTTYPE" | "OSTYPE" | "EPOCHSECONDS" | "EPOCHREALTIME" | "SHLVL" => {
                self.origins.hole(format!("${name}"), Tags::TOKEN).to_string()
            }
            "$" | "!" | "BASHPID" | "PPID" => {
                self.origins.hole(format!("${name}"), Tags::TOKEN.and(Tags::OWN_PID)).to_string()
            }
            digits => {
                let at: usize = digits.parse().ok()?;
                env.args.get(at.checked_sub(1)?).cloned().unwrap_or_default()
            }
        };
        Some(Values::One(text))
    }

    fn change(&mut self, env: &mut Env, name: &str, value: Option<String>, parameter: &Parameter) -> String {
        let unknown = |walk: &mut Self, tags| walk.origins.hole(format!("${name}"), tags).to_string();
        match &parameter.change {
            Change::None => value.unwrap_or_default(),
            Change::Default { colon, assign, word } => match value {
                Some(text) if !(*colon && text.is_empty()) => text,
                known => {
                    let default = self.single(env, word, false);
                    // `${X:-build}` is never empty; `${X-build}` may be.
                    let full = *colon && !default.is_empty();
                    let tags = if full { Tags::HAS_DEFAULT.and(Tags::NOT_EMPTY) } else { Tags::HAS_DEFAULT };
                    let both = [default.clone(), unknown(self, tags)];
                    let chosen = match known {
                        Some(_) => default,
                        None => self.choose(&both).unwrap_or(default),
                    };
                    if *assign {
                        env.set(name, chosen.clone());
                    }
                    chosen
                }
            },
            Change::Alternative { colon, word } => match value {
                Some(text) if *colon && text.is_empty() => String::new(),
                Some(_) => self.single(env, word, false),
                None => {
                    let alternative = self.single(env, word, false);
                    self.choose(&[alternative, String::new()]).unwrap_or_default()
                }
            },
            Change::Required => {
                value.filter(|text| !text.is_empty()).unwrap_or_else(|| unknown(self, Tags::NOT_EMPTY))
            }
            Change::Prefix { longest, pattern } => {
                let pattern = self.single(env, pattern, true);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                pattern::strip(&value, &pattern, false, *longest).to_owned()
            }
            Change::Suffix { longest, pattern } => {
                let pattern = self.single(env, pattern, true);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                pattern::strip(&value, &pattern, true, *longest).to_owned()
            }
            Change::Replace { how, pattern, with } => {
                let pattern = self.single(env, pattern, true);
                let with = self.single(env, with, false);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                if value::has_special(&pattern) || value::has_hole(&value) || pattern.is_empty() {
                    let tags = self.origins.tags(&value);
                    return if value::has_glob(&pattern) { unknown(self, tags) } else { value };
                }
                let most = value.len() + value.matches(&pattern).count().saturating_mul(with.len());
                if !self.may_grow(most) {
                    return String::new();
                }
                match how {
                    '/' => value.replace(&pattern, &with),
                    '#' => value.strip_prefix(&pattern).map_or(value.clone(), |rest| with + rest),
                    '%' => value.strip_suffix(&pattern).map_or(value.clone(), |rest| rest.to_owned() + &with),
                    _ => value.replacen(&pattern, &with, 1),
                }
            }
            Change::Slice(word) => {
                let numbers = self.single(env, word, false);
                let Some(value) = value else { return unknown(self, Tags::NONE) };
                slice(&value, &numbers).unwrap_or_else(|| {
                    let tags = self.origins.tags(&value);
                    unknown(self, tags)
                })
            }
            Change::Case(how) => {
                let value = value.unwrap_or_default();
                match how.as_str() {
                    "^^" => value.to_uppercase(),
                    ",," => value.to_lowercase(),
                    first => {
                        let mut chars = value.chars();
                        let head = chars.next().map(|c| {
                            if first == "^" {
                                c.to_uppercase().to_string()
                            } else {
                                c.to_lowercase().to_string()
                            }
                        });
                        head.unwrap_or_default() + chars.as_str()
                    }
                }
            }
            Change::Other(word) => {
                self.single(env, word, false);
                match value {
                    // `@Q` and `@E` change the looks, not the text.
                    Some(value) => value,
                    None => unknown(self, Tags::NONE),
                }
            }
        }
    }
}

/// Whether expansion makes this part, which can make it longer than what was written.
fn is_made(part: &Part) -> bool {
    matches!(part, Part::Parameter(_) | Part::Command(_))
}

fn index_is(index: Option<&Word>, text: &str) -> bool {
    index.and_then(Word::literal).as_deref() == Some(text)
}

/// Where the tilde stands in `of=~/x`: bash expands it in every word that looks like an assignment.
fn assigned_tilde(text: &str) -> Option<usize> {
    let (name, value) = text.split_once('=')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && value.starts_with('~')).then_some(name.len() + 1)
}
