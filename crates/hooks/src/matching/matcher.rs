//! Whether a matcher matches: one function per dialect, and what can be said about a matcher beforehand.

use super::pattern::{Fault, GaveUp, Pattern};
use crate::dialect::{EventRule, Matching};
use crate::tools;
use headspace_core::text::glob;
use headspace_core::text::glob::GlobPart;

/// Whether hooks of a group with this matcher run for `value`, the event's match value.
///
/// No matcher matches all; so does a payload without the match value, since there is nothing to compare.
pub fn matches(matching: Matching, rule: &EventRule, matcher: Option<&str>, value: Option<&str>) -> bool {
    let (Some(matcher), Some(value)) = (matcher, value) else { return true };
    match matching {
        Matching::NamesOrRegex => names_or_regex(rule, matcher, value),
        Matching::Globs => globs(matcher, value),
    }
}

/// Claude Code: absent, empty and `*` match all; a matcher that has only name characters is a list of exact names; any
/// other is a JavaScript regular expression that need not match the whole value. One that is invalid matches nothing; nor
/// does one that backtracks without end, with which the client would hang.
fn names_or_regex(rule: &EventRule, matcher: &str, value: &str) -> bool {
    if matcher.is_empty() || matcher == "*" {
        return true;
    }
    if let Some(names) = exact_names(rule, matcher) {
        let is_same_tool = |name| rule.is_tool_event() && tools::current(name) == tools::current(value);
        return names.iter().any(|name| *name == value || is_same_tool(name));
    }
    regex(rule, matcher).is_ok_and(|regex| finds(rule, &regex, value) == Ok(true))
}

/// Whether a regular expression matches the value, or another name that the same tool has or had.
pub fn finds(rule: &EventRule, regex: &Pattern, value: &str) -> Result<bool, GaveUp> {
    let mut names = vec![value];
    if rule.is_tool_event() {
        let now = tools::current(value);
        names.push(now);
        for former in tools::former(now) {
            names.push(former);
        }
    }
    for name in names {
        if regex.find(name)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The names of a matcher that has only name characters.
pub fn exact_names<'m>(rule: &EventRule, matcher: &'m str) -> Option<Vec<&'m str>> {
    let extra = if rule.narrow_names { "_|" } else { "_|, -" };
    if matcher.is_empty() || !matcher.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c)) {
        return None;
    }
    let separators: &[char] = if rule.narrow_names { &['|'] } else { &['|', ','] };
    Some(matcher.split(separators).map(str::trim).filter(|name| !name.is_empty()).collect())
}

/// The regular expression as `new RegExp(matcher)` compiles it.
pub fn regex(rule: &EventRule, matcher: &str) -> Result<Pattern, Fault> {
    if rule.match_field == Some("to_model") {
        return Pattern::new(&without_window(matcher));
    }
    Pattern::new(matcher)
}

/// The client removes the window size from a model matcher: `opus[1m]` means `opus`, not a character class.
fn without_window(matcher: &str) -> String {
    let mut out = String::new();
    let mut rest = matcher;
    while let Some(at) = rest.find('[') {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let window = tail.len() >= 4
            && matches!(tail.as_bytes()[1], b'1' | b'2')
            && tail.as_bytes()[2].eq_ignore_ascii_case(&b'm')
            && tail.as_bytes()[3] == b']';
        let after = if window { tail[4..].trim_start() } else { "" };
        if window && (after.is_empty() || after.starts_with(['|', ','])) {
            rest = &tail[4..];
        } else {
            out.push('[');
            rest = &tail[1..];
        }
    }
    out.push_str(rest);
    if out.trim().is_empty() { matcher.to_owned() } else { out }
}

/// Wave: parts between `|` are trimmed (a single name is not) and compared without case, otherwise as a glob.
fn globs(matcher: &str, value: &str) -> bool {
    matcher.is_empty() || parts(matcher).any(|part| part_matches(part, value))
}

fn part_matches(part: &str, value: &str) -> bool {
    part.to_lowercase() == value.to_lowercase()
        || pieces(&part.to_lowercase()).is_some_and(|pieces| glob::fits(&pieces, &value.to_lowercase()))
}

fn parts(matcher: &str) -> impl Iterator<Item = &str> {
    let several = matcher.contains('|');
    matcher.split('|').map(move |part| if several { part.trim() } else { part })
}

/// Reads `* ? [..] [!..]`; a bracket that is never closed stands for itself.
fn pieces(pattern: &str) -> Option<Vec<GlobPart>> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut pieces = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        match chars[i] {
            '*' => {
                if pieces.last() != Some(&GlobPart::Many) {
                    pieces.push(GlobPart::Many);
                }
                i += 1;
            }
            '?' => {
                pieces.push(GlobPart::One);
                i += 1;
            }
            '[' => match class(&chars[i + 1..]) {
                Some((piece, length)) => {
                    pieces.push(piece);
                    i += length + 1;
                }
                None => {
                    pieces.push(GlobPart::Literal('['));
                    i += 1;
                }
            },
            '\\' if i + 1 < chars.len() => {
                pieces.push(GlobPart::Literal(chars[i + 1]));
                i += 2;
            }
            c => {
                pieces.push(GlobPart::Literal(c));
                i += 1;
            }
        }
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// The class after `[`, and how many characters it takes up, `]` included.
fn class(chars: &[char]) -> Option<(GlobPart, usize)> {
    let negated = matches!(chars.first(), Some('!' | '^'));
    let first = usize::from(negated);
    let mut ranges = Vec::new();
    let mut i = first;
    loop {
        let c = *chars.get(i)?;
        if c == ']' && i > first {
            return Some((GlobPart::Class { negated, ranges }, i + 1));
        }
        match (chars.get(i + 1), chars.get(i + 2)) {
            (Some('-'), Some(&end)) if end != ']' => {
                ranges.push((c, end));
                i += 3;
            }
            _ => {
                ranges.push((c, c));
                i += 1;
            }
        }
    }
}

/// Why a Wave matcher is not valid.
pub fn glob_fault(matcher: &str) -> Option<String> {
    if let Some(c) = matcher.chars().find(|c| ";&$(){}<>`".contains(*c)) {
        return Some(format!("must not contain {c:?} (it is not a regular expression)"));
    }
    let empty = !matcher.is_empty() && matcher.contains('|') && parts(matcher).any(str::is_empty);
    empty.then(|| "has an empty part".to_owned())
}

/// Whether this Wave matcher can match no tool name: names are letters, digits, `_` and `-`.
pub fn glob_is_dead(matcher: &str) -> bool {
    !matcher.is_empty() && parts(matcher).all(part_is_dead)
}

fn part_is_dead(part: &str) -> bool {
    let name_character = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let Some(pieces) = pieces(part) else { return true };
    pieces.iter().any(|piece| match piece {
        GlobPart::Many | GlobPart::One => false,
        GlobPart::Literal(c) => !name_character(*c),
        GlobPart::Class { .. } => !(0..128u8).map(char::from).any(|c| name_character(c) && piece.takes(c)),
    })
}

/// What a Claude Code matcher of an event with a match value will never match, and what to write instead.
pub fn never_matches(rule: &EventRule, matcher: &str) -> Vec<(String, Option<String>)> {
    if matcher.is_empty() || matcher == "*" {
        return Vec::new();
    }
    let Some(names) = exact_names(rule, matcher) else {
        return match regex(rule, matcher) {
            // The client may well match one that is too long for us.
            Ok(_) | Err(Fault::TooLong) => Vec::new(),
            Err(fault) => vec![(format!("it is not a valid JavaScript regular expression ({fault})"), None)],
        };
    };
    if names.is_empty() {
        return vec![("it names nothing".to_owned(), Some("*".to_owned()))];
    }
    if !rule.is_tool_event() {
        return Vec::new();
    }
    names.iter().filter_map(|name| name_never_matches(name)).collect()
}

fn name_never_matches(name: &str) -> Option<(String, Option<String>)> {
    if tools::is_known(name) {
        return None;
    }
    if let Some(tool) = tools::differs_by_case(name) {
        return Some((format!("the tool is called {tool}, and case matters"), Some(tool.to_owned())));
    }
    let server = name.strip_prefix("mcp__")?;
    (!server.contains("__")).then(|| {
        (
            format!("{name:?} is compared as a whole name, and no tool has that name"),
            Some(format!("{name}__.*")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{CLAUDE, WAVE};

    fn claude(event: &str, matcher: &str, value: &str) -> bool {
        matches(CLAUDE.matching, CLAUDE.event(event).unwrap(), Some(matcher), Some(value))
    }

    fn wave(matcher: &str, value: &str) -> bool {
        matches(WAVE.matching, WAVE.event("PreToolUse").unwrap(), Some(matcher), Some(value))
    }

    #[test]
    fn claude_matchers_are_names_or_javascript_regular_expressions() {
        let table = [
            ("", "Bash", true),
            ("*", "mcp__x__y", true),
            ("Bash", "Bash", true),
            ("bash", "Bash", false),
            ("Bas", "Bash", false),
            (" Bash ", "Bash", true),
            ("Bash, Write", "Write", true),
            ("Bash | Write", "Bash", true),
            ("Bash|", "Bash", true),
            ("Bash Write", "Bash", false),
            ("|", "Bash", false),
            ("Ba.*", "Bash", true),
            ("Edi.", "MultiEdit", true),
            ("^Bash$", "BashOutput", false),
            ("^(?!Read$).*", "Read", false),
            ("^(?!Read$).*", "Write", true),
            ("(?<=B)ash", "Bash", true),
            ("(?<n>Ba)sh", "Bash", true),
            ("(?i:bash)", "Bash", true),
            ("(?i)bash", "Bash", false),
            ("(?P<n>Bash)", "Bash", false),
            ("Bas++h", "Bash", false),
            ("[", "Bash", false),
            ("[Bash", "Bash", false),
            ("B(", "Bash", false),
            ("Bash(*)", "Bash", false),
            ("Bash(ls *)", "Bash", false),
            ("**", "Bash", false),
            ("\\w+__\\w+__create$", "mcp__memory__create", true),
            ("mcp__memory", "mcp__memory__create", false),
            ("mcp__memory__.*", "mcp__memory__create", true),
            ("mcp__my-server__run", "mcp__my-server__run", true),
            ("Task", "Agent", true),
            ("Task", "Task", true),
            ("Agent", "Task", true),
            ("^Task$", "Agent", true),
            ("KillBash", "TaskStop", true),
            ("KillShell|Foo", "TaskStop", true),
            ("Bash{2", "Bash{2", true),
            ("Bash|日本", "日本", true),
            ("日本", "x日本x", true),
            ("^(\\w+)+!$", "mcp__a_long_name_that_nothing_matches", false),
        ];
        for (matcher, tool, expected) in table {
            assert_eq!(claude("PreToolUse", matcher, tool), expected, "{matcher:?} against {tool}");
        }
    }

    #[test]
    fn narrow_events_turn_a_comma_or_a_dash_into_a_regular_expression() {
        assert!(!claude("StopFailure", "rate_limit,overloaded", "overloaded"));
        assert!(claude("StopFailure", "rate_limit|overloaded", "overloaded"));
        assert!(claude("FileChanged", ".envrc", "xenvrc"));
        assert!(claude("FileChanged", "a-b", "xa-by"));
        assert!(!claude("Notification", "a-b", "xa-by"));
        assert!(!claude("SessionStart", "Task", "Agent"), "old names are names of tools only");
    }

    #[test]
    fn the_window_size_of_a_model_is_not_a_character_class() {
        assert!(claude("PreModelSwitch", "claude-opus-5[1m]", "claude-opus-5"));
        assert!(claude("PostModelSwitch", "claude-opus.*", "claude-opus-5-5"));
        assert_eq!(without_window("a[1m] | b[2M]|c[12]"), "a | b|c[12]");
    }

    #[test]
    fn wave_matchers_are_names_without_case_or_globs() {
        let table = [
            ("", "Bash", true),
            ("bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Edit | Write", "Write", true),
            (" Edit ", "Edit", false),
            ("Edit,Write", "Edit", false),
            ("*", "mcp__x__y", true),
            ("**", "Read", true),
            (".*", "Bash", false),
            ("/^Edit/", "Edit", false),
            ("!Bash", "Edit", false),
            ("mcp__memory__*", "mcp__memory__create", true),
            ("MCP__*", "mcp__memory__create", true),
            ("mcp__memory__.*", "mcp__memory__create", false),
            ("[!B]*", "Edit", true),
            ("[!B]*", "Bash", false),
            ("[EW]*", "Write", true),
            ("[a-e]*", "Edit", true),
            ("[a-e]*", "Write", false),
            ("?dit", "Edit", true),
            ("?dit", "MultiEdit", false),
            ("*Edit", "MultiEdit", true),
            ("Read|*Edit", "MultiEdit", true),
            ("E*t*t", "Edit", false),
            ("M*t*t", "MultiEdit", true),
            ("[Edit", "Edit", false),
        ];
        for (matcher, tool, expected) in table {
            assert_eq!(wave(matcher, tool), expected, "{matcher:?} against {tool}");
        }
    }

    #[test]
    fn invalid_and_dead_wave_matchers_are_detected() {
        for bad in
            ["^(Edit|Write)$", "Edit|", "|", "Edit| |Write", "{Edit,Write}", "a;b", "`x`", "a&b", "a<b"]
        {
            assert!(glob_fault(bad).is_some(), "{bad}");
        }
        for fine in ["", "*", "Edit|Write", "[!B]*", ".*", "/^Edit/", " Edit "] {
            assert_eq!(glob_fault(fine), None, "{fine}");
        }
        for dead in [".*", "mcp__memory__.*", "/^Edit/", "Edit,Write", " Edit ", "!Bash", "[.]x", "a b"] {
            assert!(glob_is_dead(dead), "{dead}");
        }
        for alive in ["", "*", "**", "Edit", "Edit|.*", "[!B]*", "?dit", "mcp__my-server__*"] {
            assert!(!glob_is_dead(alive), "{alive}");
        }
    }

    #[test]
    fn matchers_that_never_match_are_reported_with_a_fix() {
        let rule = CLAUDE.event("PreToolUse").unwrap();
        let fix = |matcher: &str| never_matches(rule, matcher).first().and_then(|(_, fix)| fix.clone());
        assert_eq!(fix("bash").as_deref(), Some("Bash"));
        assert_eq!(fix("Bash|mcp__memory").as_deref(), Some("mcp__memory__.*"));
        let (why, _) = never_matches(rule, "Bash[").remove(0);
        assert_eq!(
            why,
            "it is not a valid JavaScript regular expression (this class is never closed, at character 5)"
        );
        assert!(never_matches(rule, &".".repeat(1 << 16)).is_empty());
        for fine in ["Bash", "Task", "mcp__a__b", "^(?!Read$).*", "MyTool", "*", ""] {
            assert!(never_matches(rule, fine).is_empty(), "{fine}");
        }
        assert!(never_matches(CLAUDE.event("SessionStart").unwrap(), "bash").is_empty());
    }
}
