//! Sets of UTF-16 units: `[a-z]`, `\d`, `.`; and which units are the same if case is ignored.

use std::sync::OnceLock;

pub(crate) type Span = (u16, u16);

const DIGITS: &[Span] = &[(0x30, 0x39)];
const WORD: &[Span] = &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
const BLANKS: &[Span] = &[
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
];
const LINE_ENDS: &[Span] = &[(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)];

/// A set of units.
#[derive(Debug)]
pub(crate) struct Set {
    /// In order, without overlaps.
    spans: Vec<Span>,
    negated: bool,
    ignore_case: bool,
}

impl Set {
    pub(crate) fn new(mut spans: Vec<Span>, negated: bool, ignore_case: bool) -> Self {
        spans.sort_unstable();
        spans.dedup_by(|next, last| {
            let joined = next.0 <= last.1;
            if joined {
                last.1 = last.1.max(next.1);
            }
            joined
        });
        Self { spans, negated, ignore_case }
    }

    /// What `.` matches.
    pub(crate) fn any(line_ends_too: bool) -> Self {
        let but = if line_ends_too { &[] } else { LINE_ENDS };
        Self::new(but.to_vec(), true, false)
    }

    pub(crate) fn has(&self, unit: u16) -> bool {
        let listed = |unit: u16| {
            let after = self.spans.partition_point(|span| span.0 <= unit);
            after > 0 && unit <= self.spans[after - 1].1
        };
        let found = if self.ignore_case { same_but_case(unit).any(listed) } else { listed(unit) };
        found != self.negated
    }
}

/// What `\d`, `\w` or `\s` stands for, and `\D`, `\W`, `\S`.
pub(crate) fn named(letter: u16) -> Option<Vec<Span>> {
    let letter = u8::try_from(letter).ok()?;
    let spans = match letter.to_ascii_lowercase() {
        b'd' => DIGITS,
        b'w' => WORD,
        b's' => BLANKS,
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { all_but(spans) } else { spans.to_vec() })
}

fn all_but(spans: &[Span]) -> Vec<Span> {
    let mut rest = Vec::new();
    let mut from = 0;
    for (first, last) in spans {
        if *first > from {
            rest.push((from, first - 1));
        }
        from = last + 1;
    }
    rest.push((from, u16::MAX));
    rest
}

pub(crate) fn is_word(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(crate) fn is_line_end(unit: u16) -> bool {
    LINE_ENDS.iter().any(|(first, last)| (*first..=*last).contains(&unit))
}

/// The form in which units are compared if case is ignored: the capital, if that is a single unit. What is not ASCII
/// never becomes ASCII: `ſ` is not `S`.
pub(crate) fn folded(unit: u16) -> u16 {
    let Some(c) = char::from_u32(unit.into()) else { return unit };
    let mut upper = c.to_uppercase();
    match (upper.next().and_then(|c| u16::try_from(u32::from(c)).ok()), upper.next()) {
        (Some(capital), None) if capital >= 128 || unit < 128 => capital,
        _ => unit,
    }
}

/// Every unit that differs from this one at most by case.
fn same_but_case(unit: u16) -> impl Iterator<Item = u16> {
    static SMALL: OnceLock<Vec<Span>> = OnceLock::new();
    let small = SMALL.get_or_init(|| {
        let mut pairs: Vec<Span> = (0..=u16::MAX).map(|unit| (folded(unit), unit)).collect();
        pairs.retain(|(capital, unit)| capital != unit);
        pairs.sort_unstable();
        pairs
    });
    let capital = folded(unit);
    let from = small.partition_point(|pair| pair.0 < capital);
    let others = small[from..].iter().take_while(move |pair| pair.0 == capital).map(|pair| pair.1);
    std::iter::once(capital).chain(others)
}
