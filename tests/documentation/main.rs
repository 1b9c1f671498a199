//! What the documentation claims is true: invariants, settings, routes, commands, links.
#![allow(clippy::unwrap_used)]

mod architecture;
mod configuration;
mod home;
mod http_api;
mod pages;

use std::path::{Path, PathBuf};

/// The repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file below `path` (or `path` itself) whose name ends so, build output left out.
fn files(path: &Path, ending: &str) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Compares a generated part of a page, between two marks, with what it should be; or writes it, if
/// `HEADSPACE_WRITE_DOCS` is set.
fn generated(path: &str, mark: &str, fresh: &str) {
    let text = read(path);
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (head, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{path} has no {begin}"));
    let (committed, tail) = rest.split_once(&end).unwrap_or_else(|| panic!("{path} has no {end}"));
    if std::env::var_os("HEADSPACE_WRITE_DOCS").is_some() {
        return std::fs::write(root().join(path), format!("{head}{begin}{fresh}{end}{tail}")).unwrap();
    }
    assert!(
        committed == fresh,
        "{path} is not current. Run: HEADSPACE_WRITE_DOCS=1 cargo test --test documentation\n{fresh}"
    );
}

/// The fenced code blocks of a page, with their language and the line they begin at.
fn blocks(text: &str) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language.to_owned(), number + 1, String::new())),
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some((_, _, body)), None) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a code block does not end");
    found
}

/// The words between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// A command line as a shell would split it; quotes and comments are all that our examples use.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.replace("\\\n", " ").chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
