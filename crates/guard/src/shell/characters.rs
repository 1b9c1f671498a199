//! Characters that make a text look different from what it is. Other scripts and emoji are welcome; not welcome is what
//! is invisible, what moves text around, and what only looks like a slash or a blank.

/// The plane that stands for "unknown text" and "active glob" inside values; nobody types it.
pub(crate) const RESERVED: char = '\u{100000}';

/// A quick check that saves most texts the slow one.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t'))
}

/// The first misleading character in `text`. Inside quotes, blanks and slashes of other scripts are fine: they are part
/// of a text, not of a command.
pub(crate) fn misleading(text: &str, before: Option<char>, quoted: bool) -> Option<char> {
    let mut previous = before;
    for c in text.chars() {
        let after_script = previous.is_some_and(|p| !p.is_ascii());
        let bad = is_control(c)
            || is_invisible(c)
            || (is_joiner(c) && !after_script)
            || (!quoted && (is_slash(c) || (is_blank(c) && !after_script)));
        if bad {
            return Some(c);
        }
        previous = Some(c);
    }
    None
}

pub fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Never visible, whatever is next to it.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}'
        | '\u{200B}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{E0001}')
}

/// Invisible, but normal in emoji, Persian, Hindi or Hebrew: suspicious only after a plain letter.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}'..='\u{200F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0020}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Looks like `/` but is not.
pub(crate) fn is_slash(c: char) -> bool {
    matches!(c, '\u{2044}' | '\u{2215}' | '\u{29F8}' | '\u{2571}' | '\u{FF0F}' | '\u{1735}')
}

/// Looks like a blank, but the shell treats it as a letter.
fn is_blank(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_found_and_other_scripts_are_not() {
        for (text, quoted, bad) in [
            ("r\u{200b}m", false, true),
            ("r\u{200b}m", true, true),
            ("a\u{202e}b", true, true),
            ("x\u{7}", true, true),
            ("rm\u{a0}-rf", false, true),
            ("Prix\u{a0}: 5 €", true, false),
            ("\u{2215}usr", false, true),
            ("追加／削除", true, false),
            ("👩\u{200d}💻 ok ❤\u{fe0f}", false, false),
            ("r\u{200d}m", false, true),
            ("こんにちは\u{3000}世界 émigré Ω", false, false),
            ("شرکت\u{200c}ها", false, false),
        ] {
            assert_eq!(misleading(text, None, quoted).is_some(), bad, "{text:?}");
        }
    }
}
