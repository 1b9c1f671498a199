//! Glob patterns as values hold them: active `*`, `?` and `[…]`; everything else stands for itself.

use crate::eval::value::{DEEP, OPEN, QUERY, STAR, is_hole};

/// Whether `name` (one path component, or any string) matches `pattern`. A hole matches anything. Backtracks to the
/// last star instead of recursing, so no pattern is slow.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some(&(STAR | DEEP)) => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(c) if is_hole(*c) => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(&c) if n < name.len() => {
                let (fits, next) = match c {
                    QUERY => (true, p + 1),
                    OPEN => in_class(&pattern, p, name[n]),
                    c => (c == name[n], p + 1),
                };
                if fits {
                    p = next;
                    n += 1;
                    continue;
                }
            }
            None if n == name.len() => return true,
            _ => {}
        }
        match star {
            Some((at, from)) if from < name.len() => {
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            }
            _ => return false,
        }
    }
}

/// As in the shell, a leading dot must be written out.
pub(crate) fn matches_visible(pattern: &str, name: &str) -> bool {
    (!name.starts_with('.') || pattern.starts_with('.')) && matches(pattern, name)
}

fn in_class(pattern: &[char], open: usize, c: char) -> (bool, usize) {
    let mut at = open + 1;
    let negated = matches!(pattern.get(at), Some('!' | '^'));
    at += usize::from(negated);
    let first = at;
    let mut found = false;
    while let Some(&low) = pattern.get(at) {
        if low == ']' && at > first {
            return (found != negated, at + 1);
        }
        // `[[:alpha:]]` and similar classes match generously.
        if (low == '[' || low == OPEN) && pattern.get(at + 1) == Some(&':') {
            found = true;
            while at < pattern.len() && pattern[at] != ']' {
                at += 1;
            }
            at += 1;
            continue;
        }
        if pattern.get(at + 1) == Some(&'-') && pattern.get(at + 2).is_some_and(|high| *high != ']') {
            found |= low <= c && c <= pattern[at + 2];
            at += 3;
        } else {
            found |= low == c;
            at += 1;
        }
    }
    // The bracket is not closed, so it stands for itself.
    (c == '[', open + 1)
}

/// Whether nothing in `pattern` narrows it down: `*`, `**`, `?*`, `[!.]*`.
pub(crate) fn matches_everything(pattern: &str) -> bool {
    let mut chars = pattern.chars().peekable();
    let mut star = false;
    while let Some(c) = chars.next() {
        match c {
            STAR | DEEP => star = true,
            QUERY => {}
            OPEN => {
                // A class that excludes a few names still matches nearly everything.
                if !matches!(chars.peek(), Some('!' | '^')) {
                    return false;
                }
                for c in chars.by_ref() {
                    if c == ']' {
                        break;
                    }
                }
            }
            _ => return false,
        }
    }
    star
}

/// `${value#pattern}` and `${value%pattern}`.
pub(crate) fn strip<'v>(value: &'v str, pattern: &str, from_end: bool, longest: bool) -> &'v str {
    let mut cuts: Vec<usize> = value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    // No everyday line has a pattern and a value this long; leaving the value whole is safe.
    if cuts.len() > 2000 {
        return value;
    }
    if from_end != longest {
        cuts.reverse();
    }
    let cut =
        cuts.into_iter().find(|at| matches(pattern, if from_end { &value[*at..] } else { &value[..*at] }));
    match cut {
        Some(at) if from_end => &value[..at],
        Some(at) => &value[at..],
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::value::activate;

    #[test]
    fn patterns_match_as_in_the_shell() {
        for (pattern, name, expected) in [
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rc", false),
            ("a*b*c", "aXbXbXc", true),
            ("?", "é", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            (".g*", ".git", true),
            ("*", "", true),
            ("a", "", false),
            ("[", "[", true),
        ] {
            assert_eq!(matches(&activate(pattern), name), expected, "{pattern} {name}");
        }
        assert!(!matches_visible(&activate("*"), ".git"));
        assert!(matches_visible(&activate(".*"), ".git"));
    }

    #[test]
    fn patterns_that_match_everything_are_recognized() {
        for (pattern, expected) in
            [("*", true), ("**", true), ("?*", true), ("[!.]*", true), ("*.o", false), ("[a-z]*", false)]
        {
            assert_eq!(matches_everything(&activate(pattern)), expected, "{pattern}");
        }
    }

    #[test]
    fn prefixes_and_suffixes_are_stripped() {
        let value = "/usr/local/bin";
        assert_eq!(strip(value, &activate("/*"), true, false), "/usr/local");
        assert_eq!(strip(value, &activate("/*"), true, true), "");
        assert_eq!(strip(value, &activate("*/"), false, true), "bin");
        assert_eq!(strip(value, &activate("*/"), false, false), "usr/local/bin");
        assert_eq!(strip("a.txt", ".txt", true, false), "a");
    }
}
