//! What foreign text may do to a terminal: nothing.

/// `text` with everything a terminal could obey made visible or dropped: control characters (C0, DEL, C1),
/// and the invisible ones that reorder or hide text. Line breaks and tabs become a blank.
pub fn plain(text: &str) -> String {
    text.chars().filter_map(plain_char).collect()
}

/// As [`plain`], on one line of at most `width` characters; a cut is shown by an ellipsis.
pub fn gist(text: &str, width: usize) -> String {
    let (mut line, mut length, mut blank) = (String::new(), 0, false);
    for c in text.chars() {
        if c.is_whitespace() {
            blank = length > 0;
            continue;
        }
        let Some(c) = plain_char(c) else { continue };
        if std::mem::take(&mut blank) {
            line.push(' ');
            length += 1;
        }
        line.push(c);
        length += 1;
        // What comes behind the cut need not be read.
        if length > width {
            let end = line.char_indices().nth(width.saturating_sub(1)).map_or(0, |(at, _)| at);
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

fn plain_char(c: char) -> Option<char> {
    match c {
        '\n' | '\r' | '\t' => Some(' '),
        c if c.is_control() => None,
        '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}' => None,
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_lose_their_teeth() {
        assert_eq!(plain("a\x1b[31mb\x07\u{9b}c\u{202e}d"), "a[31mbcd");
        assert_eq!(plain("one\ntwo"), "one two");
    }

    #[test]
    fn a_gist_is_one_line_and_says_when_it_is_cut() {
        assert_eq!(gist("  npm\n  test ", 20), "npm test");
        assert_eq!(gist("abcdef", 4), "abc…");
        assert_eq!(gist("abcd", 4), "abcd");
        assert_eq!(gist("ab\u{200b} \u{200b} cd ", 5), "ab cd");
        assert_eq!(gist("ab c d", 4), "ab …");
        assert_eq!(gist("ä", 0), "…");
    }
}
