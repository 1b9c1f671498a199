//! What foreign text may do to a terminal: nothing.

/// `text` with everything a terminal could obey made visible or dropped: control characters (C0, DEL, C1),
/// and the invisible ones that reorder or hide text. Line breaks and tabs become a blank.
pub fn plain(text: &str) -> String {
    text.chars().filter_map(plain_char).collect()
}

/// As [`plain`], on one line of at most `width` characters; a cut is shown by an ellipsis.
pub fn gist(text: &str, width: usize) -> String {
    let mut line = String::new();
    let mut words = text.split_whitespace().map(plain).filter(|word| !word.is_empty());
    if let Some(first) = words.next() {
        line.push_str(&first);
    }
    for word in words {
        if line.chars().count() > width {
            break;
        }
        line.push(' ');
        line.push_str(&word);
    }
    if line.chars().count() > width {
        line = line.chars().take(width.saturating_sub(1)).collect();
        line.push('…');
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
    }
}
