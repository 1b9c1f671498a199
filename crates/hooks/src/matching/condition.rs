//! A hook's `if`: a permission rule such as `Bash(git *)` that the tool call must meet.

use crate::tools;
use headspace_core::text::glob::{GlobPart, fits};
use serde_json::Value;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

/// Whether a hook with this `if` runs for the call. A permission rule must never allow too much; an `if`, however, lets
/// the hook run when the client cannot decide: a command too complicated to take apart is one to look at.
pub fn holds(rule: &str, tool: &str, input: &Value, cwd: &Path) -> bool {
    let (name, pattern) = parse(rule);
    if tools::current(name) != tools::current(tool) {
        return false;
    }
    let Some(pattern) = pattern else { return true };
    let field = |name: &str| input.get(name).and_then(Value::as_str);
    match tools::current(tool) {
        "Bash" | "PowerShell" | "Monitor" => {
            field("command").is_some_and(|command| command_meets(pattern, command))
        }
        "Read" | "Write" | "Edit" | "MultiEdit" => {
            field("file_path").is_some_and(|path| path_meets(pattern, path, cwd))
        }
        "NotebookEdit" | "NotebookRead" => {
            field("notebook_path").is_some_and(|path| path_meets(pattern, path, cwd))
        }
        "Glob" | "Grep" => field("pattern").is_some_and(|text| wildcard(pattern, text)),
        _ => false,
    }
}

/// Splits `Bash(git *)` into `Bash` and `git *`. An empty pattern and `*` count as none.
pub fn parse(rule: &str) -> (&str, Option<&str>) {
    let rule = rule.trim();
    match rule.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') && !name.is_empty() => {
            let pattern = &rest[..rest.len() - 1];
            (name.trim(), Some(pattern).filter(|pattern| !pattern.is_empty() && *pattern != "*"))
        }
        _ => (rule, None),
    }
}

/// The pattern may match any of the line's simple commands.
fn command_meets(pattern: &str, line: &str) -> bool {
    let Some(commands) = simple_commands(line) else { return true };
    commands.iter().any(|command| {
        let bare = command.strip_prefix("xargs ").unwrap_or(command);
        [command.as_str(), bare].iter().any(|command| match pattern.strip_suffix(":*") {
            Some(prefix) => {
                *command == prefix || command.strip_prefix(prefix).is_some_and(|r| r.starts_with(' '))
            }
            None => wildcard(pattern, command),
        })
    })
}

/// The commands of a line without quotes and leading assignments, words joined by one blank; `None` if the line has
/// expansions, substitutions or other things whose meaning only a shell can tell.
fn simple_commands(line: &str) -> Option<Vec<String>> {
    const KEYWORDS: [&str; 8] = ["if", "for", "while", "until", "case", "function", "select", "[["];
    let commands = CommandReader::new(line).read()?;
    let first_word = |command: &String| command.split(' ').next().unwrap_or_default().to_owned();
    let is_compound = commands.iter().any(|command| KEYWORDS.contains(&first_word(command).as_str()));
    (!is_compound && !commands.is_empty()).then_some(commands)
}

/// Splits a line into commands and words. Its methods return `None` where only a shell knows what is meant.
struct CommandReader<'l> {
    chars: Peekable<Chars<'l>>,
    commands: Vec<String>,
    /// The words of the current command.
    words: Vec<String>,
    /// The current word; `None` between two words, because `''` is a word, too.
    word: Option<String>,
    /// The next word is the file of a redirection.
    redirects: bool,
}

impl<'l> CommandReader<'l> {
    fn new(line: &'l str) -> CommandReader<'l> {
        CommandReader {
            chars: line.chars().peekable(),
            commands: Vec::new(),
            words: Vec::new(),
            word: None,
            redirects: false,
        }
    }

    fn read(mut self) -> Option<Vec<String>> {
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '\\' => match self.chars.next()? {
                    '\n' => {}
                    c => self.push(c),
                },
                '$' | '`' | '(' | ')' | '{' | '}' => return None,
                '>' | '<' => self.redirection()?,
                ';' | '&' | '|' | '\n' => self.end_command(),
                ' ' | '\t' => self.end_word(),
                '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                c => self.push(c),
            }
        }
        self.end_command();
        Some(self.commands)
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn single_quoted(&mut self) -> Option<()> {
        let text = self.word.get_or_insert_default();
        loop {
            match self.chars.next()? {
                '\'' => return Some(()),
                c => text.push(c),
            }
        }
    }

    fn double_quoted(&mut self) -> Option<()> {
        let text = self.word.get_or_insert_default();
        loop {
            match self.chars.next()? {
                '"' => return Some(()),
                '\\' => match self.chars.next()? {
                    c @ ('"' | '\\' | '$' | '`') => text.push(c),
                    c => text.extend(['\\', c]),
                },
                '$' | '`' => return None,
                c => text.push(c),
            }
        }
    }

    /// After the first `>` or `<`. A here-document is not read.
    fn redirection(&mut self) -> Option<()> {
        // `2>` and `&>`: the number belongs to the redirection.
        if self.word.as_deref().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        while let Some(c) = self.chars.next_if(|c| matches!(c, '>' | '<' | '&' | '|')) {
            if c == '<' {
                return None;
            }
        }
        self.redirects = true;
        Some(())
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            // The file of a redirection is not a word of the command.
            if !std::mem::take(&mut self.redirects) {
                self.words.push(word);
            }
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        push_command(&mut self.commands, std::mem::take(&mut self.words));
    }
}

fn push_command(commands: &mut Vec<String>, words: Vec<String>) {
    let is_assignment = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let words: Vec<String> = words.into_iter().skip_while(is_assignment).collect();
    if !words.is_empty() {
        commands.push(words.join(" "));
    }
}

/// `*` is any text, `\*` a star; a single ` *` at the end also matches nothing.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (squeeze(pattern.trim()), squeeze(text));
    let mut pieces = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        pieces.push(match c {
            '*' => GlobPart::Many,
            '\\' => GlobPart::Literal(chars.next_if(|c| matches!(c, '*' | '\\')).unwrap_or('\\')),
            c => GlobPart::Literal(c),
        });
    }
    let only_star = pieces.iter().filter(|piece| **piece == GlobPart::Many).count() == 1;
    let before_it = pieces.strip_suffix(&[GlobPart::Literal(' '), GlobPart::Many]);
    before_it.is_some_and(|pieces| only_star && fits(pieces, &text)) || fits(&pieces, &text)
}

fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let blank = matches!(c, ' ' | '\t');
        if !(blank && out.ends_with(' ')) {
            out.push(if blank { ' ' } else { c });
        }
    }
    out
}

/// Like a line in .gitignore: `//` starts at the root, `~/` at home, `/` at the working directory; a pattern with a
/// slash inside starts at the working directory, and one without a slash matches at any depth.
fn path_meets(pattern: &str, path: &str, cwd: &Path) -> bool {
    let path = cwd.join(path);
    let home = headspace_platform::config::home();
    let (root, pattern): (&Path, &str) = if let Some(rest) = pattern.strip_prefix("//") {
        (Path::new("/"), rest)
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        (&home, rest)
    } else {
        (cwd, pattern.strip_prefix("./").unwrap_or(pattern))
    };
    let Ok(relative) = path.strip_prefix(root) else { return false };
    let names: Vec<&str> = relative.iter().filter_map(|name| name.to_str()).collect();
    let anchored = pattern.trim_end_matches('/').contains('/') || root != cwd;
    let wanted: Vec<&str> = pattern.trim_matches('/').split('/').collect();
    let starts = if anchored { 0..1 } else { 0..names.len() };
    // A matching directory includes everything below it.
    starts.into_iter().any(|from| (from..=names.len()).any(|to| segments(&wanted, &names[from..to])))
}

fn segments(wanted: &[&str], names: &[&str]) -> bool {
    match (wanted.split_first(), names.split_first()) {
        (None, _) => names.is_empty(),
        (Some((&"**", rest)), _) => {
            let enough = if rest.is_empty() { 1 } else { 0 };
            (enough..=names.len()).any(|skip| segments(rest, &names[skip..]))
        }
        (Some((want, rest)), Some((name, names))) => name_matches(want, name) && segments(rest, names),
        (Some(_), None) => false,
    }
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let piece = |c| if c == '*' { GlobPart::Many } else { GlobPart::Literal(c) };
    fits(&pattern.chars().map(piece).collect::<Vec<_>>(), name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bash_condition_looks_at_every_simple_command() {
        let table = [
            ("Bash", "ls", true),
            ("Bash(*)", "ls", true),
            ("Bash()", "ls", true),
            ("Bash(git *)", "git status", true),
            ("Bash(git *)", "git", true),
            ("Bash(git *)", "gitk", false),
            ("Bash(git *)", "ls", false),
            ("Bash(git *)", "cd x && git push", true),
            ("Bash(git *)", "echo 'git push'", false),
            ("Bash(git *)", "FOO=1 git push", true),
            ("Bash(git *)", "echo a; ls | git hash-object", true),
            ("Bash(git *)", "echo git", false),
            ("Bash(git status)", "git   status", true),
            ("Bash(git status)", "git status -s", false),
            ("Bash(git:*)", "git status", true),
            ("Bash(git:*)", "git", true),
            ("Bash(git:*)", "gitk", false),
            ("Bash(npm run test:*)", "npm run test unit", true),
            ("Bash(* --force)", "git push --force", true),
            ("Bash(rm *)", "ls > rm", false),
            ("Bash(rm *)", "find . | xargs rm -f", true),
            ("Bash(git *)", "echo $(git status)", true),
            ("Bash(git *)", "for i in a; do ls; done", true),
            ("Bash(git *)", "ls # git x", false),
            ("Bash(git *", "git status", false),
            ("Write", "ls", false),
        ];
        for (rule, command, expected) in table {
            let input = json!({ "command": command });
            assert_eq!(holds(rule, "Bash", &input, Path::new("/p")), expected, "{rule} for {command}");
        }
    }

    #[test]
    fn a_file_condition_reads_like_gitignore() {
        let table = [
            ("Write(*.md)", "/p/docs/a.md", true),
            ("Write(*.md)", "/p/a.mdx", false),
            ("Write(docs/**)", "/p/docs/x/a.md", true),
            ("Write(docs/**)", "/p/src/docs/a.md", false),
            ("Write(/docs/*.md)", "/p/docs/a.md", true),
            ("Write(//etc/**)", "/etc/hosts", true),
            ("Write(docs)", "/p/docs/a.md", true),
            ("Write(**/*.rs)", "/p/src/x/y.rs", true),
            ("Write(*.md)", "/q/a.md", false),
            ("Write(src/*.rs)", "src/a.rs", true),
            ("Edit(*.md)", "/p/a.md", false),
        ];
        for (rule, path, expected) in table {
            let input = json!({ "file_path": path });
            assert_eq!(holds(rule, "Write", &input, Path::new("/p")), expected, "{rule} for {path}");
        }
    }

    #[test]
    fn other_tools_are_matched_by_name() {
        let input = json!({});
        assert!(holds("Task", "Agent", &input, Path::new("/p")));
        assert!(holds("mcp__x__y", "mcp__x__y", &input, Path::new("/p")));
        assert!(!holds("WebFetch(domain:x)", "WebFetch", &input, Path::new("/p")));
        assert!(!holds("Bash(ls)", "Bash", &input, Path::new("/p")));
    }
}
