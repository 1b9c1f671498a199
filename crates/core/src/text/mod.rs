//! Text: makes what comes from outside harmless before it reaches a terminal or markup, and brings it into the form in which
//! it is shown or stored.

pub mod cut;
pub mod deceptive;
pub mod diff;
pub mod excerpt;
pub mod glob;
pub mod invisible;
pub mod numbers;

use invisible::Effect;
use std::borrow::Cow;

/// `text` without anything a terminal would interpret: control characters (C0, DEL, C1) and invisible characters
/// ([`invisible`]) are dropped. Line breaks and tabs become a blank.
pub fn strip_control(text: &str) -> String {
    text.chars().filter_map(plain_char).collect()
}

/// Like [`strip_control`], but keeps line feeds and tabs: for texts of several lines.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    let kept = |c: char| matches!(c, '\n' | '\t') || plain_char(c) == Some(c);
    let plain = |c: char| match invisible::effect(c) {
        Some(Effect::Breaks) => Some('\n'),
        _ => kept(c).then_some(c),
    };
    if text.chars().all(kept) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().filter_map(plain).collect())
    }
}

/// Like [`strip_control`], on one line of at most `width` characters; an ellipsis marks a cut.
pub fn one_line(text: &str, width: usize) -> String {
    let mut line = String::with_capacity(text.len().min(4 * width) + 4);
    // Where to cut if the line turns out to be too long.
    let (mut count, mut cut) = (0, 0);
    for word in text.split_whitespace() {
        let mut gap = count > 0;
        // Nearly every word is plain and fits: it is copied whole.
        if count + word.len() + 2 < width && word.bytes().all(|byte| byte.is_ascii_graphic()) {
            if gap {
                line.push(' ');
            }
            line.push_str(word);
            count += usize::from(gap) + word.len();
            continue;
        }
        for c in word.chars().filter_map(plain_char) {
            for c in std::mem::take(&mut gap).then_some(' ').into_iter().chain([c]) {
                if count == width {
                    line.truncate(cut);
                    line.push('…');
                    return line;
                }
                line.push(c);
                count += 1;
                if count + 1 == width {
                    cut = line.len();
                }
            }
        }
    }
    line
}

/// The last sentence of a message, on one line of at most `width` characters: how it ended. Code blocks and the marks of lists,
/// headings and emphasis do not count.
pub fn last_sentence(text: &str, width: usize) -> String {
    let mut in_code = false;
    let prose = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !fence && !in_code && line.chars().any(char::is_alphanumeric)
    });
    let last = prose.last().unwrap_or_default().replace("**", "");
    let line = one_line(last.trim_start_matches(['#', '-', '*', '>', ' ']), text.len());
    let mut ends = line.char_indices().filter(|(at, c)| {
        let after = &line[at + c.len_utf8()..];
        match c {
            '.' | '!' | '?' => after.starts_with(' ') && !after.trim().is_empty(),
            '。' | '！' | '？' => !after.trim().is_empty(),
            _ => false,
        }
    });
    let begin = ends.next_back().map_or(0, |(at, c)| at + c.len_utf8());
    one_line(&line[begin..], width)
}

/// Markdown as words for one line: without the marks of emphasis, code, headings and lists, which mean nothing there. Names
/// with underscores and lone stars stay what they are.
pub fn without_marks(text: &str) -> String {
    let bare = |line: &str| {
        let line = line.trim_start().trim_start_matches('#').trim_start();
        let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
        line.strip_prefix("> ").unwrap_or(line).replace("**", "").replace('`', "")
    };
    text.lines().filter(|line| !line.trim_start().starts_with("```")).map(bare).collect::<Vec<_>>().join("\n")
}

/// JSON for a terminal: the same value, with everything a terminal would interpret escaped. JSON writers escape only
/// the C0 control characters.
pub fn json(value: &serde_json::Value, pretty: bool) -> String {
    let text = if pretty { format!("{value:#}") } else { value.to_string() };
    let harmless = |c: char| c == '\n' || plain_char(c) == Some(c);
    if text.chars().all(harmless) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len() + 16), |mut out, c| {
        if harmless(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
        out
    })
}

/// Escapes `text` for HTML, XML, Pango or Slack markup.
pub fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn plain_char(c: char) -> Option<char> {
    match c {
        '\n' | '\r' | '\t' => Some(' '),
        c if c.is_control() => None,
        c => match invisible::effect(c) {
            Some(Effect::Breaks) => Some(' '),
            Some(_) => None,
            None => Some(c),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_harmless() {
        assert_eq!(strip_control("a\x1b[31mb\x07\u{9b}c\u{202e}d"), "a[31mbcd");
        assert_eq!(strip_control("one\ntwo"), "one two");
    }

    #[test]
    fn what_nobody_sees_is_in_no_text() {
        for c in
            ["\u{61c}", "\u{e0041}", "\u{206a}", "\u{180e}", "\u{ad}", "\u{fff9}", "\u{202e}", "\u{200b}"]
        {
            let text = format!("a{c}b");
            assert_eq!((strip_control(&text), one_line(&text, 9)), ("ab".into(), "ab".into()), "{c:?}");
            assert_eq!(plain_lines(&text), "ab", "{c:?}");
            let shown = json(&text.clone().into(), false);
            assert!(shown.is_ascii() && serde_json::from_str::<String>(&shown).unwrap() == text, "{shown}");
        }
        for c in ["\u{2028}", "\u{2029}"] {
            assert_eq!(strip_control(&format!("a{c}b")), "a b", "{c:?}");
            assert_eq!(plain_lines(&format!("a{c}b")), "a\nb", "{c:?}");
        }
        let england = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        assert_eq!(plain_lines(&format!("{england} \u{2764}\u{fe0f}")), "\u{1f3f4} \u{2764}\u{fe0f}");
    }

    #[test]
    fn json_stays_the_same_value_without_control_characters() {
        let value = serde_json::json!({"na\u{9b}me": ["a\u{1b}b\u{9b}31m\u{202e}", "ä\n\t\u{7f}"]});
        for pretty in [true, false] {
            let text = json(&value, pretty);
            assert!(!text.contains(|c: char| c != '\n' && plain_char(c) != Some(c)), "{text:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn the_last_sentence_is_found() {
        for (text, expected) in [
            ("I fixed it. All 12 tests pass.", "All 12 tests pass."),
            ("Done", "Done"),
            ("Done! Version 1.2 is out.\n\n```sh\nrm x. y\n```\n", "Version 1.2 is out."),
            ("## Result\n- **Login** works. It is fast", "It is fast"),
            ("修复了登录。测试通过。", "测试通过。"),
            ("\u{1b}[2JHi.\n---", "[2JHi."),
            ("```\nonly code\n```", ""),
            ("", ""),
        ] {
            assert_eq!(last_sentence(text, 80), expected, "{text:?}");
        }
        assert_eq!(last_sentence("One two three", 8), "One two…");
    }

    #[test]
    fn markdown_becomes_plain_words() {
        for (text, expected) in [
            ("**Split** the `parser`", "Split the parser"),
            ("## Done\n\n- **50** of 50\n- snake_case * 2", "Done\n\n50 of 50\nsnake_case * 2"),
            ("```sh\nls\n```\n> quoted", "ls\nquoted"),
            ("**", ""),
        ] {
            assert_eq!(without_marks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_becomes_one_line_with_an_ellipsis() {
        assert_eq!(one_line("  npm\n  test ", 20), "npm test");
        assert_eq!(one_line("\u{202e} a \u{200b} b\u{7}", 20), "a b");
        for (width, expected) in
            [(0, "…"), (1, "…"), (2, "ä…"), (3, "äb…"), (4, "äb …"), (5, "äb c…"), (6, "äb c d")]
        {
            assert_eq!(one_line(" äb  c d", width), expected, "{width}");
            assert_eq!(one_line(" ab  c d", width), expected.replace('ä', "a"), "{width}");
        }
    }
}
