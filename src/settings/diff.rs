//! A unified diff of two texts, as `patch` reads it.

use std::fmt::Write;

const CONTEXT: usize = 3;

/// More edits than this are shown as one block: the search takes time and room in their square.
const MOST_EDITS: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Same,
    Gone,
    New,
}

/// The diff from `old` to `new`, each with the name to show for it; empty if they are equal.
pub fn unified(old: (&str, &str), new: (&str, &str)) -> String {
    let (old_name, old) = old;
    let (new_name, new) = new;
    if old == new {
        return String::new();
    }
    let a: Vec<&str> = old.split_inclusive('\n').collect();
    let b: Vec<&str> = new.split_inclusive('\n').collect();
    let script = script(&a, &b);
    let mut out = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in hunks(&script) {
        write_hunk(&mut out, &script, hunk, &a, &b);
    }
    out
}

/// The shortest way from `a` to `b`, line by line.
fn script(a: &[&str], b: &[&str]) -> Vec<Edit> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    let mut script = vec![Edit::Same; head];
    script.extend(
        shortest(a, b).unwrap_or_else(|| [vec![Edit::Gone; a.len()], vec![Edit::New; b.len()]].concat()),
    );
    script.extend(vec![Edit::Same; tail]);
    script
}

/// Myers' greedy search: `reach[d]` holds the furthest line of `a` on each diagonal after `d` edits.
fn shortest(a: &[&str], b: &[&str]) -> Option<Vec<Edit>> {
    let most = (a.len() + b.len()).min(MOST_EDITS);
    let at = |diagonal: isize| usize::try_from(diagonal + most as isize + 1).unwrap_or(0);
    let mut furthest = vec![0usize; 2 * most + 3];
    let mut reach = Vec::new();
    for edits in 0..=most as isize {
        reach.push(furthest.clone());
        for diagonal in (-edits..=edits).step_by(2) {
            let down = diagonal == -edits
                || (diagonal != edits && furthest[at(diagonal - 1)] < furthest[at(diagonal + 1)]);
            let mut x = if down { furthest[at(diagonal + 1)] } else { furthest[at(diagonal - 1)] + 1 };
            let mut y = usize::try_from(x as isize - diagonal).unwrap_or(0);
            while x < a.len() && y < b.len() && a[x] == b[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[at(diagonal)] = x;
            if x >= a.len() && y >= b.len() {
                return Some(walk_back(&reach, &at, a.len(), b.len()));
            }
        }
    }
    None
}

fn walk_back(reach: &[Vec<usize>], at: &dyn Fn(isize) -> usize, a: usize, b: usize) -> Vec<Edit> {
    let mut back = Vec::new();
    let (mut x, mut y) = (a as isize, b as isize);
    for (edits, furthest) in reach.iter().enumerate().rev() {
        let (edits, diagonal) = (edits as isize, x - y);
        let down = diagonal == -edits
            || (diagonal != edits && furthest[at(diagonal - 1)] < furthest[at(diagonal + 1)]);
        let from = if down { diagonal + 1 } else { diagonal - 1 };
        let from_x = furthest[at(from)] as isize;
        let from_y = from_x - from;
        while x > from_x.max(0) && y > from_y.max(0) {
            back.push(Edit::Same);
            (x, y) = (x - 1, y - 1);
        }
        if edits > 0 {
            back.push(if down { Edit::New } else { Edit::Gone });
            (x, y) = (from_x, from_y);
        }
    }
    back.reverse();
    back
}

/// The stretches of the script that hold changes, with their context.
fn hunks(script: &[Edit]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, edit) in script.iter().enumerate() {
        if *edit == Edit::Same {
            continue;
        }
        let range = i.saturating_sub(CONTEXT)..(i + CONTEXT + 1).min(script.len());
        match hunks.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = range.end,
            None => hunks.push(range),
        }
    }
    hunks
}

fn write_hunk(out: &mut String, script: &[Edit], hunk: std::ops::Range<usize>, a: &[&str], b: &[&str]) {
    let lines = |edits: &[Edit], other: Edit| edits.iter().filter(|edit| **edit != other).count();
    let (mut x, mut y) = (lines(&script[..hunk.start], Edit::New), lines(&script[..hunk.start], Edit::Gone));
    let (old, new) = (lines(&script[hunk.clone()], Edit::New), lines(&script[hunk.clone()], Edit::Gone));
    // An empty side is named by the line before it.
    let _ = writeln!(out, "@@ -{} +{} @@", span(x, old), span(y, new));
    for edit in &script[hunk] {
        let (sign, line) = match edit {
            Edit::Same => (' ', a[x]),
            Edit::Gone => ('-', a[x]),
            Edit::New => ('+', b[y]),
        };
        x += usize::from(*edit != Edit::New);
        y += usize::from(*edit != Edit::Gone);
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn span(start: usize, count: usize) -> String {
    match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        let expected = "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
        assert_eq!(unified(("a", old), ("b", new)), expected);
        assert_eq!(unified(("a", old), ("b", old)), "");
    }

    #[test]
    fn a_new_file_and_a_missing_last_line_break_are_told() {
        assert_eq!(unified(("/dev/null", ""), ("b", "x\n")), "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+x\n");
        let expected = "--- a\n+++ b\n@@ -1 +1 @@\n-{}\n\\ No newline at end of file\n+{}\n";
        assert_eq!(unified(("a", "{}"), ("b", "{}\n")), expected);
    }

    proptest::proptest! {
        #[test]
        fn the_script_leads_from_one_to_the_other(
            a in proptest::collection::vec("[ab]", 0..12),
            b in proptest::collection::vec("[ab]", 0..12),
        ) {
            let a: Vec<&str> = a.iter().map(String::as_str).collect();
            let b: Vec<&str> = b.iter().map(String::as_str).collect();
            let (mut x, mut out) = (0, Vec::new());
            for edit in script(&a, &b) {
                match edit {
                    Edit::Same => { proptest::prop_assert_eq!(a[x], b[out.len()]); out.push(a[x]); x += 1; }
                    Edit::Gone => x += 1,
                    Edit::New => out.push(b[out.len()]),
                }
            }
            proptest::prop_assert_eq!((x, out), (a.len(), b));
        }
    }
}
