//! Characters that nobody sees and that change what others look like: the one table. `web/lib/format.js` has the same ranges.

/// What an invisible character does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes the direction of writing, or how letters are joined and digits drawn.
    Turns,
    /// Takes no room: what a model reads there, no person sees.
    Hides,
    /// Ends a line, for some programs only.
    Breaks,
    /// Joins letters or emoji, or keeps them apart: scripts need it.
    Joins,
}

use Effect::{Breaks, Hides, Joins, Turns};

const TABLE: &[(char, char, Effect)] = &[
    ('\u{ad}', '\u{ad}', Hides),
    ('\u{61c}', '\u{61c}', Turns),
    ('\u{180e}', '\u{180e}', Hides),
    ('\u{200b}', '\u{200b}', Hides),
    ('\u{200c}', '\u{200d}', Joins),
    ('\u{200e}', '\u{200f}', Turns),
    ('\u{2028}', '\u{2029}', Breaks),
    ('\u{202a}', '\u{202e}', Turns),
    ('\u{2060}', '\u{2065}', Hides),
    ('\u{2066}', '\u{206f}', Turns),
    ('\u{feff}', '\u{feff}', Hides),
    ('\u{fff9}', '\u{fffb}', Hides),
    // Tags: a copy of ASCII. The flag of England loses its own and is a black flag.
    ('\u{e0000}', '\u{e007f}', Hides),
];

/// `None`: it is seen, or it is a control character.
pub fn effect(c: char) -> Option<Effect> {
    // Nearly every character comes before all of them.
    if c < '\u{ad}' {
        return None;
    }
    TABLE.iter().find(|(from, to, _)| (*from..=*to).contains(&c)).map(|(.., effect)| *effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The characters of a class such as `/[\u00ad\u200b-\u200f]/gu`.
    fn class(source: &str, name: &str) -> Vec<(u32, u32)> {
        let start = format!("const {name} = /[");
        let line = source.lines().find_map(|line| line.strip_prefix(&start)).expect(name);
        let body = line.split(']').next().unwrap().replace("\\u", " ").replace(['{', '}'], "");
        let range = |part: &str| {
            let hex = |text: &str| u32::from_str_radix(text, 16).unwrap();
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            (hex(from), hex(to))
        };
        body.replace("- ", "-").split_whitespace().map(range).collect()
    }

    #[test]
    fn the_page_has_the_same_table() {
        let source = include_str!("../../../../web/lib/format.js");
        let (hidden, breaks) = (class(source, "HIDDEN"), class(source, "BREAKS"));
        let has = |class: &[(u32, u32)], c: char| {
            class.iter().any(|(from, to)| (*from..=*to).contains(&u32::from(c)))
        };
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let effect = effect(c);
            let c1 = ('\u{80}'..='\u{9f}').contains(&c);
            assert_eq!(has(&breaks, c), effect == Some(Breaks), "{:x}", u32::from(c));
            assert_eq!(
                has(&hidden, c),
                c1 || effect.is_some_and(|effect| effect != Breaks),
                "{:x}",
                u32::from(c)
            );
        }
    }

    #[test]
    fn letters_and_emoji_are_seen() {
        for c in "aß漢عहि\u{301}\u{fe0f}\u{1f3fd}\u{1f3f4}\u{1f1e9}".chars() {
            assert_eq!(effect(c), None, "{c:?}");
        }
    }
}
