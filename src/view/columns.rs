//! Text in terminal columns: a CJK character or an emoji takes two, a combining mark none.

use headspace_core::text::{one_line, strip_control};
use std::io::IsTerminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of the terminal; `None` if standard output is not one.
pub fn terminal_columns() -> Option<usize> {
    columns_of(&std::io::stdout())
}

/// Lines of the terminal; `None` if standard output is not one.
pub fn terminal_lines() -> Option<usize> {
    let (_, lines) = std::io::stdout().is_terminal().then(ratatui::crossterm::terminal::size)?.ok()?;
    Some(usize::from(lines)).filter(|lines| *lines > 0)
}

/// Columns of the terminal that errors go to; `None` if standard error is not one.
pub fn error_columns() -> Option<usize> {
    columns_of(&std::io::stderr())
}

fn columns_of(stream: &impl IsTerminal) -> Option<usize> {
    let terminal = stream.is_terminal().then(ratatui::crossterm::terminal::size);
    let columns = terminal.and_then(Result::ok).map(|(columns, _)| usize::from(columns));
    columns.filter(|columns| *columns > 0)
}

/// Columns that `text` takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` on one line of at most `columns`; a cut is shown by an ellipsis.
pub fn fit(text: &str, columns: usize) -> String {
    // A character takes a column or more, or adds to one that does: there are never more characters than this.
    let line = one_line(text, columns.saturating_mul(4).saturating_add(4));
    if width(&line) <= columns {
        return line;
    }
    let end = end_within(&line, columns.saturating_sub(1));
    if columns == 0 { String::new() } else { format!("{}…", line[..end].trim_end()) }
}

/// As [`fit`], cut in the middle: of a path, the beginning and the end say most.
pub fn fit_middle(text: &str, columns: usize) -> String {
    let line = strip_control(text);
    if width(&line) <= columns || columns < 5 {
        return fit(&line, columns);
    }
    let head = end_within(&line, (columns - 1) / 3);
    let tail = columns - 1 - width(&line[..head]);
    let mut room = tail;
    let fits = |(at, letter): &(usize, char)| {
        let left = room.checked_sub(width(&line[*at..at + letter.len_utf8()]));
        room = left.unwrap_or(0);
        left.is_some()
    };
    let start = line.char_indices().rev().take_while(fits).last().map_or(line.len(), |(at, _)| at);
    format!("{}…{}", &line[..head], &line[start..])
}

/// As [`fit`], filled with blanks to exactly `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    text + &" ".repeat(blanks)
}

/// As [`pad`], with the blanks in front.
pub fn pad_left(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    " ".repeat(columns.saturating_sub(width(&text))) + &text
}

/// Parts with a separator between them, on as many lines as it takes; a part that is too long for a line is cut.
pub fn join_wrapped(parts: &[String], separator: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width(line) + width(separator) + width(part) <= columns => {
                line.push_str(separator);
                line.push_str(part);
            }
            _ => lines.push(fit(part, columns)),
        }
    }
    lines
}

/// `text` broken at blanks into lines of at most `columns`; its own line breaks stay, a word that is too long is broken.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = strip_control(line);
        let mut rest = line.trim_end();
        while width(rest) > columns {
            // A character wider than the line takes one by itself.
            let end = match end_within(rest, columns) {
                0 => rest.chars().next().map_or(rest.len(), char::len_utf8),
                end => end,
            };
            let at_blank = rest[..end].rfind(' ').filter(|at| !rest[..*at].trim().is_empty());
            let end = if rest[end..].starts_with(' ') { end } else { at_blank.unwrap_or(end) };
            lines.push(rest[..end].trim_end().to_owned());
            rest = rest[end..].trim_start();
        }
        lines.push(rest.to_owned());
    }
    lines
}

/// `text` broken at blanks into lines of at most `columns`, the second and further ones behind `indent` blanks. `taken`
/// columns of the first line belong to what stands before the text. A word that is too long, such as a path that somebody
/// may copy, stays whole. `None`: not on a terminal, one line.
pub fn hanging(text: &str, taken: usize, indent: usize, columns: Option<usize>) -> String {
    let text = strip_control(text);
    let Some(columns) = columns else { return text };
    let (mut out, mut at) = (String::new(), taken);
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 && at + 1 + width(word) <= columns {
            out.push(' ');
            at += 1;
        } else if number > 0 {
            out.push_str(&format!("\n{}", " ".repeat(indent)));
            at = indent;
        }
        out.push_str(word);
        at += width(word);
    }
    out
}

/// Lines of code: every blank is kept, a tab becomes four, and a line that is too long continues on the next.
pub fn wrap_code(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = strip_control(&line.replace('\t', "    "));
        let mut rest = line.trim_end();
        while width(rest) > columns {
            let end = end_within(rest, columns).max(rest.chars().next().map_or(0, char::len_utf8));
            lines.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        lines.push(rest.to_owned());
    }
    if text.ends_with('\n') {
        lines.pop();
    }
    lines
}

/// The byte length of the longest prefix of `text` that takes at most `columns`.
fn end_within(text: &str, columns: usize) -> usize {
    let (mut end, mut taken) = (0, 0);
    for (at, c) in text.char_indices() {
        // An emoji selector makes the character before it wider: its width is that of the pair.
        let after =
            if c == '\u{fe0f}' { width(&text[..at + c.len_utf8()]) } else { taken + c.width().unwrap_or(0) };
        if after > columns {
            break;
        }
        (end, taken) = (at + c.len_utf8(), after);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns_not_by_characters() {
        for (text, columns, expected) in [
            ("npm test", 8, "npm test"),
            ("npm  test", 7, "npm te…"),
            ("修复登录测试", 12, "修复登录测试"),
            ("修复登录测试", 11, "修复登录测…"),
            ("修复登录测试", 10, "修复登录…"),
            ("🚀🚀🚀", 5, "🚀🚀…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("\u{1b}[2Jx", 10, "[2Jx"),
        ] {
            let got = fit(text, columns);
            assert_eq!(got, expected, "{text} in {columns}");
            assert!(width(&got) <= columns);
            assert_eq!(width(&pad(text, columns)), columns.max(width(&got)), "{text} in {columns}");
        }
    }

    #[test]
    fn a_path_is_cut_in_the_middle() {
        assert_eq!(fit_middle("/srv/api/src/very/deep/login.rs", 19), "/srv/a…eep/login.rs");
        assert_eq!(fit_middle("/srv/api", 19), "/srv/api");
        for columns in 0..40 {
            assert!(
                width(&fit_middle("/家/プロジェクト/ソース/ログイン.rs", columns)) <= columns,
                "{columns}"
            );
        }
    }

    #[test]
    fn code_keeps_its_blanks() {
        assert_eq!(wrap_code("if x:\n\treturn  1\n", 40), ["if x:", "    return  1"]);
        assert_eq!(wrap_code("  abcdef", 4), ["  ab", "cdef"]);
        assert_eq!(wrap_code("修复", 2), ["修", "复"]);
        assert_eq!(wrap_code("a\u{1b}[2Jb", 9), ["a[2Jb"]);
    }

    #[test]
    fn further_lines_stand_below_the_first() {
        assert_eq!(hanging("one two three four five", 4, 2, Some(20)), "one two three\n  four five");
        assert_eq!(hanging("one two three four", 4, 4, Some(20)), "one two three\n    four");
        assert_eq!(hanging("one two three four", 4, 4, None), "one two three four");
        assert_eq!(
            hanging("see /a/very/long/path/of/somebody now", 4, 2, Some(14)),
            "see\n  /a/very/long/path/of/somebody\n  now"
        );
    }

    #[test]
    fn text_is_wrapped_at_blanks_and_long_words_are_broken() {
        assert_eq!(wrap("one two three\nfour", 8), ["one two", "three", "four"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("修复登录", 3), ["修", "复", "登", "录"]);
        assert_eq!(wrap("修", 1), ["修", ""]);
        let parts = ["hooks active".to_owned(), "3 events".to_owned(), "http://127.0.0.1:5055".to_owned()];
        assert_eq!(join_wrapped(&parts, " · ", 24), ["hooks active · 3 events", "http://127.0.0.1:5055"]);
    }
}
