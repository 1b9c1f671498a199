//! The pattern language of the rule files and of the user's own `ask`, `deny` and `allow`.
//!
//! ```text
//! terraform|tofu destroy              the program, then its subcommands in this order; more words may follow
//! docker volume rm|remove             one of several words
//! aws * delete-*                      `*` alone is one word, inside a word any letters
//! gcloud ** delete                    `**` is any number of words
//! docker compose down -v|--volumes    an option that must be given, anywhere, also in a cluster
//! gh api -X=DELETE|--method=DELETE    an option with its value
//! npm publish !--dry-run !--help      what must not be there
//! ```
//!
//! Options that a pattern does not name may appear anywhere. Whether the word after an option is its value or the next
//! word of the command depends on the program: the grammars know the common ones, and for the others both readings
//! count. Case matters only in options.

use crate::eval::value;
use std::borrow::Cow;

/// What is known about a program's options.
#[derive(Debug)]
pub(crate) struct OptionGrammar {
    name: &'static str,
    /// Options whose value is the next word.
    values: &'static [&'static str],
    /// Options that take no value.
    flags: &'static [&'static str],
    /// One dash starts a whole word, as in `terraform -auto-approve`: there are no clusters.
    words: bool,
}

include!(concat!(env!("OUT_DIR"), "/guard/grammars.rs"));

const DEFAULT: OptionGrammar = OptionGrammar { name: "", values: &[], flags: &[], words: false };

fn grammar(program: &str) -> &'static OptionGrammar {
    let found = GRAMMARS.binary_search_by(|grammar| grammar.name.cmp(program));
    found.map_or(&DEFAULT, |at| &GRAMMARS[at])
}

#[derive(Debug)]
struct Operand<'a> {
    text: Cow<'a, str>,
    /// May be the value of the option before it.
    optional: bool,
    after_dashes: bool,
}

#[derive(Debug)]
struct GivenOption<'a> {
    /// Including its dashes.
    name: &'a str,
    value: Option<&'a str>,
    /// `--name=value`: there is no doubt that the value belongs to it.
    attached: bool,
}

/// A command's words, sorted for matching.
#[derive(Debug)]
pub(crate) struct CommandWords<'a> {
    operands: Vec<Operand<'a>>,
    options: Vec<GivenOption<'a>>,
    clusters: bool,
    /// It only asks for the program's help or version.
    pub helps: bool,
}

impl<'a> CommandWords<'a> {
    pub(crate) fn read(program: &str, args: &'a [String]) -> CommandWords<'a> {
        let grammar = grammar(program);
        let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        let helps = args[..end].iter().any(|arg| arg == "--help" || arg == "-help")
            || args[..end].last().is_some_and(|arg| arg == "-h")
            || args.iter().find(|arg| !arg.starts_with('-')).is_some_and(|verb| verb == "help")
            || matches!(args, [only] if only == "--version" || only == "-V");
        let mut words =
            CommandWords { operands: Vec::new(), options: Vec::new(), clusters: !grammar.words, helps };
        let mut at = 0;
        let mut optional = false;
        while at < args.len() {
            let arg = args[at].as_str();
            at += 1;
            let is_option = at <= end && arg.len() > 1 && arg.starts_with('-');
            if at - 1 == end {
                continue;
            }
            if !is_option {
                let text = plain(arg);
                // `cargo +nightly build`
                optional |= words.operands.is_empty() && arg.starts_with('+');
                words.operands.push(Operand { text, optional, after_dashes: at > end });
                optional = false;
                continue;
            }
            optional = false;
            if let Some((name, value)) = arg.split_once('=') {
                words.options.push(GivenOption { name, value: Some(value), attached: true });
                continue;
            }
            let next = args[..end].get(at).map(String::as_str);
            if words.clusters && !arg.starts_with("--") && arg.len() > 2 {
                at += usize::from(words.cluster(arg, next, grammar));
                continue;
            }
            let takes = grammar.values.contains(&arg);
            let value = next.filter(|next| takes || !next.starts_with('-') || next.len() == 1);
            words.options.push(GivenOption { name: arg, value, attached: false });
            at += usize::from(takes);
            optional = !takes && !grammar.flags.contains(&arg);
        }
        words
    }

    /// `-rf`, `-XDELETE`; `true` if the next word is the value of its last letter.
    fn cluster(&mut self, arg: &'a str, next: Option<&'a str>, grammar: &OptionGrammar) -> bool {
        self.options.push(GivenOption { name: arg, value: None, attached: false });
        for (at, c) in arg.char_indices().skip(1) {
            let letter = format!("-{c}");
            if let Some(name) = grammar.values.iter().find(|name| **name == letter) {
                let rest = &arg[at + c.len_utf8()..];
                let value = if rest.is_empty() { next } else { Some(rest) };
                self.options.push(GivenOption { name, value, attached: !rest.is_empty() });
                return rest.is_empty();
            }
        }
        false
    }

    /// Whether the words match `pattern`. The pattern's first word, the program, is not compared.
    pub(crate) fn fit(&self, pattern: &str) -> bool {
        let words = split(pattern);
        let (marks, operands): (Vec<&Cow<'_, str>>, Vec<&Cow<'_, str>>) = words
            .iter()
            .skip(1)
            .partition(|word| word.starts_with('!') || word.len() > 1 && word.starts_with('-'));
        // Few commands have the subcommands of a pattern: those are compared first.
        in_order(&operands, &self.operands)
            && marks.iter().all(|word| match word.strip_prefix('!') {
                Some(absent) if absent.starts_with('-') => !self.has(absent),
                Some(absent) => !self.operands.iter().any(|operand| any_matches(absent, &operand.text)),
                None => self.has(word),
            })
    }

    /// Whether one of `-f|--force|--method=DELETE` is given.
    fn has(&self, names: &str) -> bool {
        names.split('|').any(|wanted| {
            let (name, value) = wanted.split_once('=').map_or((wanted, None), |(n, v)| (n, Some(v)));
            self.options.iter().any(|given| self.is(given, name, value))
        })
    }

    fn is(&self, given: &GivenOption<'_>, name: &str, value: Option<&str>) -> bool {
        let long = name.starts_with("--");
        // A long name may be abbreviated to three letters or more.
        let same = given.name == name
            || long && given.name.len() >= 5 && name.starts_with(given.name)
            // Where one dash starts a word, two dashes do as well.
            || !self.clusters && given.name.trim_start_matches('-') == name.trim_start_matches('-');
        let value_fits = |text: Option<&str>| match value {
            Some(wanted) => text.is_some_and(|text| any_matches(wanted, text)),
            // `--dry-run=none`, `--force=false`
            None => !(given.attached && text.is_some_and(is_off)),
        };
        if same {
            return value_fits(given.value);
        }
        let single = !long && name.len() == 2;
        if !single || !self.clusters || given.name.starts_with("--") {
            return false;
        }
        match (given.name.strip_prefix(name), value) {
            (Some(rest), Some(wanted)) => any_matches(wanted, rest),
            _ => value.is_none() && given.name.len() > 2 && given.name[1..].contains(&name[1..]),
        }
    }
}

fn is_off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "none" | "no" | "off" | "0")
}

/// Active globs become plain letters again.
fn plain(word: &str) -> Cow<'_, str> {
    if value::has_glob(word) { Cow::Owned(value::deactivate(word)) } else { Cow::Borrowed(word) }
}

fn in_order(wanted: &[&Cow<'_, str>], operands: &[Operand<'_>]) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return true };
    if *first == "*" && rest.is_empty() {
        return true;
    }
    if *first == "**" {
        let reach = operands.iter().position(|operand| operand.after_dashes).unwrap_or(operands.len());
        return (0..=reach).any(|skip| in_order(rest, &operands[skip..reach]));
    }
    let Some((operand, others)) = operands.split_first() else { return false };
    any_matches(first, &operand.text) && in_order(rest, others)
        || operand.optional && in_order(wanted, others)
}

/// Whether `text` is one of `a|b*|c`, ignoring case.
fn any_matches(wanted: &str, text: &str) -> bool {
    wanted.split('|').any(|wanted| matches_ignoring_case(wanted.as_bytes(), text.as_bytes()))
}

fn matches_ignoring_case(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(c) if c.eq_ignore_ascii_case(&text[t]) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    p = after;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// A pattern's words; quotes keep blanks together.
pub fn split(pattern: &str) -> Vec<Cow<'_, str>> {
    if !pattern.contains(['"', '\'']) {
        return pattern.split_whitespace().map(Cow::Borrowed).collect();
    }
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in pattern.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take().map(Cow::Owned)),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(Cow::Owned));
    words
}

/// Whether `name` is one of the programs a pattern is about.
pub fn names(pattern: &str, name: &str) -> bool {
    split(pattern).first().is_some_and(|programs| any_matches(programs, name))
}

/// For patterns that loosen: every word must be there as written, in this order, and no others; only a final `*` stands
/// for any further words.
pub(crate) fn is_exactly(pattern: &str, argv: &[String]) -> bool {
    let words = split(pattern);
    let (words, open) = match words.split_last() {
        Some((last, start)) if last == "*" => (start, true),
        _ => (words.as_slice(), false),
    };
    let fits = words.len() <= argv.len() && (open || words.len() == argv.len());
    fits && !words.is_empty()
        && words.iter().zip(argv).all(|(wanted, word)| {
            // An unknown word is not the one that was allowed.
            !value::has_hole(word)
                && (plain(word) == *wanted || wanted.contains('*') && matches_exactly(wanted, &plain(word)))
        })
}

/// Like [`matches_ignoring_case`], but case matters.
fn matches_exactly(pattern: &str, text: &str) -> bool {
    let literal: Vec<&str> = pattern.split('*').collect();
    let mut rest = text;
    for (at, part) in literal.iter().enumerate() {
        let last = at + 1 == literal.len();
        rest = match (at, last) {
            (0, _) => match rest.strip_prefix(part) {
                Some(rest) => rest,
                None => return false,
            },
            (_, true) => return rest.ends_with(part),
            _ => match rest.find(part) {
                Some(found) => &rest[found + part.len()..],
                None => return false,
            },
        };
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, command: &str) -> bool {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        names(pattern, &argv[0]) && CommandWords::read(&argv[0], &argv[1..]).fit(pattern)
    }

    #[test]
    fn words_options_and_values() {
        for (pattern, command, expected) in [
            ("tool destroy", "tool destroy -y", true),
            ("tool destroy", "tool plan destroy", false),
            ("tool destroy", "tool --color never destroy", true),
            ("tool destroy", "tool --verbose destroy", true),
            ("tool destroy", "tool -- destroy", true),
            ("tool rm|remove", "tool remove x", true),
            ("tool rm|remove", "tool removed x", false),
            ("tool * delete-*", "tool ec2 delete-vpc --id x", true),
            ("tool * delete-*", "tool ec2 describe-vpcs", false),
            ("tool * delete-*", "tool delete-vpc", false),
            ("tool ** delete", "tool a b c delete x", true),
            ("tool ** delete", "tool delete", true),
            ("tool ** delete", "tool ssh -- delete", false),
            ("tool down -v|--volumes", "tool down --remove-orphans -v", true),
            ("tool down -v|--volumes", "tool down -tv", true),
            ("tool down -v|--volumes", "tool down --vol", true),
            ("tool down -v|--volumes", "tool down --verbose", false),
            ("tool down -v|--volumes", "tool -v down", true),
            ("tool api -X=DELETE|--method=DELETE", "tool api -X DELETE /x", true),
            ("tool api -X=DELETE|--method=DELETE", "tool api -XDELETE /x", true),
            ("tool api -X=DELETE|--method=DELETE", "tool api --method=delete /x", true),
            ("tool api -X=DELETE|--method=DELETE", "tool api -X GET /x", false),
            ("tool publish !--dry-run", "tool publish --dry-run", false),
            ("tool publish !--dry-run", "tool publish --dry-run=none", true),
            ("tool publish !--dry-run", "tool publish --dry-run=client", false),
            ("tool publish !help", "tool publish help", false),
            ("tool publish *", "tool publish", true),
            ("a|tool run", "tool RUN", true),
            ("tool run", "tools run", false),
            ("tool -c='drop *'", "tool -c drop", false),
        ] {
            assert_eq!(fits(pattern, command), expected, "{pattern}: {command}");
        }
    }

    #[test]
    fn allow_patterns_match_word_by_word() {
        for (pattern, command, expected) in [
            ("sudo apt update", "sudo apt update", true),
            ("sudo apt update", "sudo apt update x", false),
            ("sudo apt update", "sudo -E apt update", false),
            ("make *", "make a b", true),
            ("make *", "make", true),
            ("make *", "makes", false),
            ("kubectl delete pod test-*", "kubectl delete pod test-1", true),
            ("kubectl delete pod test-*", "kubectl delete pod Test-1", false),
            ("kubectl delete pod test-*", "kubectl delete pod prod", false),
            ("kubectl delete pod test-*", "kubectl delete pod test-1 -n prod", false),
            ("", "", false),
            ("*", "rm -rf x", false),
        ] {
            let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(is_exactly(pattern, &argv), expected, "{pattern}: {command}");
        }
    }
}
