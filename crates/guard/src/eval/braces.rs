//! Brace expansion: `{a,b}`, `{1..3}`, nested. It comes before all other expansions, so it works on the parts of a
//! word: an unquoted letter, or any other part as a whole.

use crate::shell::{Part, Word};

/// Beyond this many words the word is left as it is, and what it names is unknown.
const MAX_BRACE_WORDS: usize = 2000;

#[derive(Clone)]
enum Unit<'w> {
    Letter(char),
    Part(&'w Part),
}

/// All words that `word` stands for; `None` if there is nothing to expand, an error if there are too many.
pub(super) fn expand(word: &Word) -> Option<Result<Vec<Word>, ()>> {
    let has_braces = word.parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{')));
    if !has_braces {
        return None;
    }
    let mut units = Vec::new();
    for part in &word.parts {
        match part {
            Part::Bare(text) => units.extend(text.chars().map(Unit::Letter)),
            other => units.push(Unit::Part(other)),
        }
    }
    let closes = matching(&units);
    let mut budget = MAX_BRACE_WORDS * 8;
    let expanded = alternatives(&units, 0, units.len(), &closes, &mut budget, 0);
    Some(match expanded {
        Some(lists) if lists.len() <= MAX_BRACE_WORDS => Ok(lists.into_iter().map(to_word).collect()),
        _ => Err(()),
    })
}

/// For each `{` the index of its `}`, found in one pass.
fn matching(units: &[Unit<'_>]) -> Vec<usize> {
    let mut closes = vec![usize::MAX; units.len()];
    let mut open = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        match unit {
            Unit::Letter('{') => open.push(at),
            Unit::Letter('}') => {
                if let Some(start) = open.pop() {
                    closes[start] = at;
                }
            }
            _ => {}
        }
    }
    closes
}

/// All the ways to read `units[from..to]`; `None` when there are too many.
fn alternatives<'w>(
    units: &[Unit<'w>],
    from: usize,
    to: usize,
    closes: &[usize],
    budget: &mut usize,
    depth: usize,
) -> Option<Vec<Vec<Unit<'w>>>> {
    if depth > 50 {
        return None;
    }
    let mut lists: Vec<Vec<Unit<'w>>> = vec![Vec::new()];
    let mut at = from;
    while at < to {
        let close = closes[at];
        let choice = if matches!(units[at], Unit::Letter('{')) && close < to {
            policy(units, at + 1, close, closes, budget, depth)?
        } else {
            None
        };
        match choice {
            Some(options) => {
                let mut next = Vec::new();
                for list in &lists {
                    for option in &options {
                        *budget = budget.checked_sub(1)?;
                        let mut joined = list.clone();
                        joined.extend(option.iter().cloned());
                        next.push(joined);
                    }
                }
                lists = next;
                at = close + 1;
            }
            None => {
                for list in &mut lists {
                    list.push(units[at].clone());
                }
                at += 1;
            }
        }
    }
    Some(lists)
}

/// What is between the braces, as a list of choices; `Some(None)` if it is not a brace expansion.
#[allow(clippy::type_complexity)]
fn policy<'w>(
    units: &[Unit<'w>],
    from: usize,
    to: usize,
    closes: &[usize],
    budget: &mut usize,
    depth: usize,
) -> Option<Option<Vec<Vec<Unit<'w>>>>> {
    let mut cuts = vec![from];
    let mut at = from;
    while at < to {
        match units[at] {
            Unit::Letter('{') if closes[at] < to => at = closes[at],
            Unit::Letter(',') => cuts.push(at + 1),
            _ => {}
        }
        at += 1;
    }
    if cuts.len() == 1 {
        return Some(
            sequence(units, from, to, budget)?.map(|items| {
                items.into_iter().map(|text| text.chars().map(Unit::Letter).collect()).collect()
            }),
        );
    }
    let mut options = Vec::new();
    for (i, start) in cuts.iter().enumerate() {
        let end = cuts.get(i + 1).map_or(to, |next| next - 1);
        options.extend(alternatives(units, *start, end, closes, budget, depth + 1)?);
    }
    Some(Some(options))
}

/// `1..5`, `a..e`, `01..10..2`
fn sequence(units: &[Unit<'_>], from: usize, to: usize, budget: &mut usize) -> Option<Option<Vec<String>>> {
    let mut text = String::new();
    for unit in &units[from..to] {
        match unit {
            Unit::Letter(c) if text.len() < 64 => text.push(*c),
            _ => return Some(None),
        }
    }
    let mut ends = text.split("..");
    let (Some(first), Some(last), step) = (ends.next(), ends.next(), ends.next()) else { return Some(None) };
    let step = step.and_then(|step| step.parse::<i64>().ok()).unwrap_or(1).unsigned_abs().max(1);
    let (low, high, letters) = match (first.parse::<i64>(), last.parse::<i64>()) {
        (Ok(a), Ok(b)) => (a, b, false),
        _ => match (first.as_bytes(), last.as_bytes()) {
            ([a], [b]) if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
                (i64::from(*a), i64::from(*b), true)
            }
            _ => return Some(None),
        },
    };
    let count = low.abs_diff(high) / step + 1;
    if count > MAX_BRACE_WORDS as u64 {
        return None;
    }
    *budget = budget.checked_sub(count as usize)?;
    let width = if first.starts_with('0') || last.starts_with('0') { first.len().max(last.len()) } else { 0 };
    let items = (0..count).map(|i| {
        let offset = (i * step) as i64;
        let number = if low <= high { low + offset } else { low - offset };
        if letters { char::from(number as u8).to_string() } else { format!("{number:0width$}") }
    });
    Some(Some(items.collect()))
}

fn to_word(units: Vec<Unit<'_>>) -> Word {
    let mut parts: Vec<Part> = Vec::new();
    for unit in units {
        match (parts.last_mut(), unit) {
            (Some(Part::Bare(text)), Unit::Letter(c)) => text.push(c),
            (_, Unit::Letter(c)) => parts.push(Part::Bare(c.to_string())),
            (_, Unit::Part(part)) => parts.push(part.clone()),
        }
    }
    Word { parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        match expand(&Word { parts: vec![Part::Bare(text.to_owned())] }) {
            None => vec![text.to_owned()],
            Some(Ok(words)) => words.iter().map(|word| word.literal().unwrap()).collect(),
            Some(Err(())) => vec!["too many".into()],
        }
    }

    #[test]
    fn braces_expand_as_in_the_shell() {
        for (text, expected) in [
            ("a{b,c}d", "abd acd"),
            ("{rm,-rf,/usr}", "rm -rf /usr"),
            ("/{usr,{etc,opt}/x}", "/usr /etc/x /opt/x"),
            ("{1..3}", "1 2 3"),
            ("{c..a}", "c b a"),
            ("{08..10}", "08 09 10"),
            ("{}", "{}"),
            ("{a}", "{a}"),
            ("a{,b}", "a ab"),
            ("{a,b", "{a,b"),
            ("{1..999999999}", "too many"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
        assert_eq!(words(&"{a,b}".repeat(40)), ["too many"]);
        words(&"{".repeat(20_000));
        words(&("{a,".repeat(5000) + &"}".repeat(5000)));
    }
}
