//! Where a value leads: to one path, to what a glob matches, or to a path that is only partly known.

use crate::eval::shell_state::ShellState;
use crate::eval::value::{Tags, is_hole};
use crate::eval::{Evaluator, glob, value};
use crate::paths;

/// Where a value leads, as far as it is known.
pub(crate) enum ResolvedPath {
    /// An absolute path, perhaps with globs.
    Known(String),
    /// `$X/rest`
    UnknownStart(String),
    /// `/known/$X/rest`: the directory before the hole, and the whole path.
    UnknownPart(String, String),
    /// Relative to an unknown directory.
    NoDirectory(String),
}

/// If a glob has more matches than this, they are not looked at one by one.
const MAX_GLOB_MATCHES: usize = 500;

impl Evaluator<'_> {
    pub(crate) fn resolve(&mut self, state: &ShellState, value: &str) -> ResolvedPath {
        self.spend(value.len() / 16 + 1);
        let value = self.known_tokens(value);
        let first = value.chars().next().unwrap_or('.');
        let path = if paths::is_windows(&value) {
            paths::slashed(&value)
        } else if first == '/' {
            value
        } else if is_hole(first) {
            return ResolvedPath::UnknownStart(value);
        } else {
            match self.choose(&state.cwd.clone()).flatten() {
                Some(dir) => format!("{dir}/{value}"),
                None => return ResolvedPath::NoDirectory(value),
            }
        };
        match path.find(is_hole) {
            Some(hole) => {
                let dir = path[..hole].rfind('/').unwrap_or(0);
                ResolvedPath::UnknownPart(path[..dir].to_owned(), path)
            }
            None => ResolvedPath::Known(path),
        }
    }

    /// Numbers, dates and hashes cannot lead elsewhere: each becomes one letter of the name.
    fn known_tokens(&self, value: &str) -> String {
        if !value::has_special(value) {
            return value.to_owned();
        }
        value
            .chars()
            .map(|c| match self.origins.get(c) {
                Some(origin) if origin.tags.has(Tags::TOKEN) => '0',
                _ => c,
            })
            .collect()
    }

    /// The canonical directory before the first glob, and the components from there on, with `..` resolved.
    pub(super) fn split_glob(&self, path: &str) -> (String, Vec<String>) {
        let parts: Vec<&str> = paths::split(path).collect();
        let first = parts.iter().position(|part| value::has_special(part)).unwrap_or(parts.len());
        let mut dir = self.locations.real(&format!("/{}", parts[..first].join("/")), true);
        let mut patterns: Vec<String> = Vec::new();
        for part in &parts[first..] {
            if *part != ".." {
                patterns.push((*part).to_owned());
            } else if patterns.pop().is_none() {
                dir.truncate(paths::parent(&dir).len());
            }
        }
        if !patterns.iter().any(|part| value::has_special(part)) {
            dir = format!("{dir}/{}", patterns.join("/"));
            patterns.clear();
        }
        (dir, patterns)
    }

    /// The canonical directory before a path's globs; the whole path if it has none.
    pub(crate) fn before_glob(&self, path: &str) -> (String, Vec<String>) {
        if value::has_glob(path) {
            self.split_glob(path)
        } else {
            (self.locations.real(path, true), Vec::new())
        }
    }

    /// What a path with globs matches on disk now.
    pub(crate) fn glob_path(&self, path: &str) -> Vec<String> {
        let (dir, patterns) = self.split_glob(path);
        self.glob(&dir, &patterns)
    }

    /// What `dir/pattern/…` matches on disk now.
    pub(super) fn glob(&self, dir: &str, patterns: &[String]) -> Vec<String> {
        let mut found = vec![dir.to_owned()];
        for (at, part) in patterns.iter().enumerate() {
            let mut next = Vec::new();
            for base in &found {
                if !value::has_special(part) {
                    next.push(format!("{base}/{part}"));
                    continue;
                }
                if part.contains(value::DEEP) || next.len() >= MAX_GLOB_MATCHES {
                    return Vec::new();
                }
                let dir = if base.is_empty() { "/" } else { base };
                for name in self.locations.files.names(dir) {
                    if glob::matches_visible(part, &name) {
                        next.push(format!("{base}/{name}"));
                    }
                }
            }
            if at > 0 || next.len() < MAX_GLOB_MATCHES {
                next.truncate(MAX_GLOB_MATCHES);
            }
            found = next;
        }
        found.retain(|path| self.locations.files.exists(&self.locations.real(path, false)));
        found
    }

    /// All paths that a value may mean, to be judged by name: as written, and what its globs match.
    pub(super) fn candidates(&mut self, state: &ShellState, value: &str) -> Vec<String> {
        match self.resolve(state, value) {
            ResolvedPath::Known(path) if value::has_glob(&path) => {
                let (dir, patterns) = self.split_glob(&path);
                let mut found = self.glob(&dir, &patterns);
                found.push(format!("{dir}/{}", patterns.join("/")));
                found
            }
            ResolvedPath::Known(path)
            | ResolvedPath::UnknownPart(_, path)
            | ResolvedPath::UnknownStart(path) => vec![path],
            ResolvedPath::NoDirectory(path) => {
                vec![format!("{}/{path}", self.origins.hole("$PWD", Tags::NOT_EMPTY))]
            }
        }
    }
}
