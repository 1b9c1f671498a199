//! Options and operands, as getopt and its many cousins would read them.

/// A command's arguments, sorted into options and operands.
#[derive(Debug, Default)]
pub(crate) struct Options<'c> {
    pub operands: Vec<&'c str>,
    given: Vec<(&'c str, Option<&'c str>)>,
    /// Where the operands start, if options end at the first of them.
    pub rest: usize,
}

/// Which options take a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spec<'s> {
    /// Letters: `-o file`, `-ofile`.
    pub short: &'s str,
    /// `--output file`; `--output=file` needs no entry. Also single-dash words, as in `find` and `java`.
    pub long: &'s [&'s str],
    /// Options end at the first operand, because a command follows.
    pub stops: bool,
}

impl<'c> Options<'c> {
    pub(crate) fn read(args: &'c [String], spec: Spec<'_>) -> Options<'c> {
        let mut options = Options::default();
        let mut at = 0;
        while at < args.len() {
            let arg = args[at].as_str();
            at += 1;
            if arg == "--" {
                options.rest = at;
                options.operands.extend(args[at..].iter().map(String::as_str));
                return options;
            }
            if let Some(long) = arg.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None if spec.long.contains(&long) => {
                        at += 1;
                        (long, args.get(at - 1).map(String::as_str))
                    }
                    None => (long, None),
                };
                options.given.push((name, value));
            } else if arg.len() > 1 && arg.starts_with('-') {
                at += options.cluster(&arg[1..], args.get(at).map(String::as_str), spec);
            } else if spec.stops {
                options.rest = at - 1;
                options.operands.extend(args[at - 1..].iter().map(String::as_str));
                return options;
            } else {
                options.operands.push(arg);
            }
        }
        options.rest = args.len();
        options
    }

    /// `-rfv`, `-ofile`; returns how many further arguments were consumed.
    fn cluster(&mut self, letters: &'c str, next: Option<&'c str>, spec: Spec<'_>) -> usize {
        if spec.long.contains(&letters) {
            self.given.push((letters, next));
            return 1;
        }
        for (at, c) in letters.char_indices() {
            let letter = &letters[at..at + c.len_utf8()];
            if spec.short.contains(c) {
                let rest = &letters[at + c.len_utf8()..];
                let value = if rest.is_empty() { next } else { Some(rest.trim_start_matches('=')) };
                self.given.push((letter, value));
                return usize::from(rest.is_empty());
            }
            self.given.push((letter, None));
        }
        0
    }

    /// Whether an option was given, by its letter or an abbreviation of its long name.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.find(names).is_some()
    }

    pub(crate) fn value(&self, names: &[&str]) -> Option<&'c str> {
        self.find(names)?.1
    }

    pub(crate) fn values<'o>(&'o self, names: &'o [&str]) -> impl Iterator<Item = &'c str> + 'o {
        self.given
            .iter()
            .filter(move |(given, _)| names.iter().any(|name| same(name, given)))
            .filter_map(|g| g.1)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'c str> + '_ {
        self.given.iter().map(|(name, _)| *name)
    }

    fn find(&self, names: &[&str]) -> Option<&(&'c str, Option<&'c str>)> {
        self.given.iter().find(|(given, _)| names.iter().any(|name| same(name, given)))
    }
}

/// A long name may be abbreviated to three letters or more.
fn same(name: &str, given: &str) -> bool {
    name == given || (name.len() > 1 && given.len() >= 3 && name.starts_with(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_distinguished_from_operands() {
        let args: Vec<String> =
            ["-rf", "a", "--out", "x", "-ofile", "--mode=7", "b", "--", "-c"].map(String::from).to_vec();
        let options = Options::read(&args, Spec { short: "o", long: &["out"], stops: false });
        assert_eq!(options.operands, ["a", "b", "-c"]);
        assert!(options.has(&["r"]) && options.has(&["f", "force"]) && !options.has(&["c"]));
        assert_eq!((options.value(&["out"]), options.value(&["o"])), (Some("x"), Some("file")));
        assert_eq!(options.value(&["mode"]), Some("7"));
        let stopped = Options::read(&args, Spec { stops: true, ..Spec::default() });
        assert_eq!((stopped.rest, stopped.operands.len()), (1, 8));
    }
}
