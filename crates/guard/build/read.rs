//! Reads the rule files: the part of TOML they use, strictly. Comments, `[[tables]]` and `key = value`; a value is a
//! text ("…" or '…'), a list of texts over any number of lines, a whole number, true or false.
//!
//! Shared by the build script, which turns the files into tables, and by the tests, which run their examples.

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
    Number(usize),
    Flag(bool),
}

impl Value {
    pub fn texts(&self) -> &[String] {
        match self {
            Value::Text(text) => std::slice::from_ref(text),
            Value::List(texts) => texts,
            _ => &[],
        }
    }
}

/// One `[[kind]]` and the entries below it; the first table has no kind.
#[derive(Debug, Default)]
pub struct Table {
    pub kind: String,
    pub line: usize,
    pub entries: Vec<(String, Value)>,
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub fn texts(&self, key: &str) -> &[String] {
        self.get(key).map_or(&[], Value::texts)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// All tables of a file; an error names the line.
pub fn read(text: &str) -> Result<Vec<Table>, String> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut tables = vec![Table::default()];
    loop {
        reader.skip();
        if reader.rest.is_empty() {
            return Ok(tables);
        }
        if let Some(rest) = reader.rest.strip_prefix("[[") {
            let kind = rest.split("]]").next().unwrap_or("").to_owned();
            reader.rest = &rest[kind.len()..];
            tables.push(Table { kind, line: reader.line, entries: Vec::new() });
            reader.expect("]]")?;
            continue;
        }
        let key = reader.key()?;
        reader.blanks();
        reader.expect("=")?;
        reader.blanks();
        let value = reader.value()?;
        let entries = &mut tables.last_mut().ok_or("no table")?.entries;
        if entries.iter().any(|(known, _)| *known == key) {
            return reader.fail(&format!("duplicate key {key}"));
        }
        entries.push((key, value));
    }
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
}

impl Reader<'_> {
    fn fail<T>(&self, why: &str) -> Result<T, String> {
        Err(format!("line {}: {why}", self.line))
    }

    fn take(&mut self, count: usize) {
        let (taken, rest) = self.rest.split_at(count);
        self.line += taken.matches('\n').count();
        self.rest = rest;
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Blanks, line ends and comments.
    fn skip(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if !self.rest.starts_with('#') {
                return;
            }
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    fn expect(&mut self, what: &str) -> Result<(), String> {
        if !self.rest.starts_with(what) {
            return self.fail(&format!("{what} is missing"));
        }
        self.take(what.len());
        Ok(())
    }

    fn key(&mut self) -> Result<String, String> {
        if self.rest.starts_with('"') {
            return self.text();
        }
        let bare = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
        let end = self.rest.find(bare).unwrap_or(self.rest.len());
        if end == 0 {
            return self.fail("no key");
        }
        let key = self.rest[..end].to_owned();
        self.take(end);
        Ok(key)
    }

    fn value(&mut self) -> Result<Value, String> {
        let first = self.rest.chars().next().unwrap_or(' ');
        if first == '"' || first == '\'' {
            return Ok(Value::Text(self.text()?));
        }
        if first == '[' {
            return self.list();
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        self.take(end);
        match word.as_str() {
            "true" => Ok(Value::Flag(true)),
            "false" => Ok(Value::Flag(false)),
            word => word.parse().map(Value::Number).or_else(|_| self.fail("no value")),
        }
    }

    fn list(&mut self) -> Result<Value, String> {
        self.take(1);
        let mut texts = Vec::new();
        loop {
            self.skip();
            if self.rest.starts_with(']') {
                self.take(1);
                return Ok(Value::List(texts));
            }
            texts.push(self.text()?);
            self.skip();
            if !self.rest.starts_with(']') {
                self.expect(",")?;
            }
        }
    }

    fn text(&mut self) -> Result<String, String> {
        let Some(quote @ ('"' | '\'')) = self.rest.chars().next() else { return self.fail("no text") };
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' => break,
                c if c == quote => {
                    self.take(at + 1);
                    return Ok(text);
                }
                '\\' if quote == '"' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    _ => return self.fail("an unknown escape"),
                },
                c => text.push(c),
            }
        }
        self.fail("a text that does not end")
    }
}
