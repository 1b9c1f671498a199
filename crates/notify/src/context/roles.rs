//! Roles: a file per role whose front matter names more context files.

use crate::context::files::{Asker, ContextRoots, Refusal};
use std::path::{Path, PathBuf};

/// What a role's file says.
pub struct Role {
    /// With links resolved.
    pub file: PathBuf,
    /// None without a front matter.
    pub auto_include: Vec<String>,
    /// Who asks for these files: a role file of the project is the project's.
    pub asker: Asker,
}

/// The role of this name, if it has a file.
pub fn find(roots: &ContextRoots, roles_dir: &str, role: &str) -> Result<Role, Refusal> {
    let plain = !role.is_empty()
        && role.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' '))
        && !role.starts_with('.');
    if !plain {
        return Err(Refusal::Silent);
    }
    let dir = roots.absolute(roles_dir);
    let candidates = [dir.join(format!("{role}.md")), dir.join(role).join("role.md")];
    let [first, second] = candidates.map(|path| read_role(roots, &path));
    match first {
        Err(Refusal::Silent) => second,
        first => first,
    }
}

/// A role file has to be where context files may be, and of a size that people write.
fn read_role(roots: &ContextRoots, path: &Path) -> Result<Role, Refusal> {
    let file = roots.confined(path, Asker::User)?;
    let of_project = roots.is_in_project(path) || roots.is_in_project(&file);
    let asker = if of_project { Asker::Project } else { Asker::User };
    let text = text_of(&file).ok_or(Refusal::Silent)?;
    Ok(Role { file, auto_include: entries(&text), asker })
}

fn text_of(file: &Path) -> Option<String> {
    if file.metadata().ok()?.len() > 1 << 20 {
        return None;
    }
    Some(String::from_utf8_lossy(&headspace_platform::files::read(file).ok()?).into_owned())
}

/// `auto_include` of a front matter: a list, an inline list, or one path.
fn entries(text: &str) -> Vec<String> {
    let Some(front) = front_matter(text) else { return Vec::new() };
    let mut lines = front.into_iter();
    let Some(first) = lines.by_ref().find_map(|line| line.strip_prefix("auto_include:")) else {
        return Vec::new();
    };
    let first = without_comment(first).trim();
    if first.starts_with('[') {
        // An inline list may span several lines.
        let mut list = first.to_owned();
        while !list.ends_with(']') {
            let Some(line) = lines.next() else { return Vec::new() };
            list.push_str(without_comment(line).trim());
        }
        return split_inline(&list[1..list.len() - 1]);
    }
    if !first.is_empty() {
        return vec![unquoted(first)];
    }
    lines
        .map(|line| without_comment(line).trim())
        .take_while(|line| line.is_empty() || line.starts_with('-'))
        .filter_map(|line| Some(unquoted(line.strip_prefix('-')?.trim())))
        .filter(|entry| !entry.is_empty())
        .collect()
}

/// The lines between the first line `---` and the next one; `None` if one of them is missing.
fn front_matter(text: &str) -> Option<Vec<&str>> {
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().map(str::trim_end);
    if lines.next()? != "---" {
        return None;
    }
    let mut front = Vec::new();
    for line in lines {
        if line == "---" {
            return Some(front);
        }
        front.push(line);
    }
    None
}

/// As in YAML: `#` starts a comment at the beginning and behind a blank, outside of quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut previous) = (None, ' ');
    for (at, c) in line.char_indices() {
        match quote {
            None if c == '#' && previous.is_whitespace() => return &line[..at],
            // An apostrophe inside a word is not a quote.
            None if matches!(c, '"' | '\'') && !previous.is_alphanumeric() => quote = Some(c),
            Some(q) if c == q => quote = None,
            _ => {}
        }
        previous = c;
    }
    line
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = ['"', '\''].iter().find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q));
    inner.unwrap_or(text).to_owned()
}

fn split_inline(list: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in list.chars() {
        match quote {
            None if c == ',' => parts.push(String::new()),
            None if c == '"' || c == '\'' => quote = Some(c),
            Some(q) if c == q => quote = None,
            _ => {
                if let Some(last) = parts.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_auto_include_is_read() {
        for (text, expected) in [
            ("---\nauto_include:\n  - a.md\n  - \"b c.md\"\n---\n", vec!["a.md", "b c.md"]),
            ("---\nname: x\nauto_include: [a.md, 'b,c.md']\n---\n", vec!["a.md", "b,c.md"]),
            ("---\nauto_include: a.md # the one\n---\n", vec!["a.md"]),
            ("\u{feff}---\r\nauto_include:\r\n- a.md\r\nother: 1\r\n- b.md\r\n---\r\n", vec!["a.md"]),
            ("---\nauto_include: [\"a.md\", 'b.md'] # both\n---\n", vec!["a.md", "b.md"]),
            ("---\nauto_include: [\n  a.md, # one\n  \"b.md\",\n]\nname: x\n---\n", vec!["a.md", "b.md"]),
            ("---\nauto_include: [a.md\n---\n", vec![]),
            (
                "---\nauto_include:\n# first\n  - \"a.md\" # one\n  # second\n  - dev's #1.md\n---\n",
                vec!["a.md", "dev's"],
            ),
            ("---\nauto_include: 'a #1.md'\n---\n", vec!["a #1.md"]),
            ("---\nauto_include:\n---\n", vec![]),
            ("---\nauto_include:\n  - a.md\n", vec![]),
            ("# Role\nauto_include:\n  - a.md\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(entries(text), expected, "{text:?}");
        }
    }
}
