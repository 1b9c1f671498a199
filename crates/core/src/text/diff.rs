//! A unified diff of two texts.

use similar::{Algorithm, TextDiff};

/// With more lines than this on a side, no diff is computed: the time grows with the product of the two.
const MAX_COMPARED_LINES: usize = 2_000;
/// The head of a hunk whose place in the file is not known.
const SOMEWHERE: &str = "@@ … @@";

/// The hunks that turn `old` into `new`, with three lines around each. Empty if they are equal.
pub fn hunks(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    if old.lines().count() > MAX_COMPARED_LINES || new.lines().count() > MAX_COMPARED_LINES {
        let head = format!("@@ -1,{} +1,{} @@\n", old.lines().count(), new.lines().count());
        return head + &signed('-', old) + &signed('+', new);
    }
    let mut settings = TextDiff::configure();
    let diff = settings.algorithm(Algorithm::Myers).diff_lines(old, new);
    diff.unified_diff().context_radius(3).to_string()
}

/// The same for a part of a file: its line numbers are not known, unless it is the whole of a new file.
pub fn fragment(old: &str, new: &str, whole: bool) -> String {
    let hunks = hunks(old, new);
    if whole {
        return hunks;
    }
    let lines = hunks.lines().map(|line| if line.starts_with("@@ ") { SOMEWHERE } else { line });
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn signed(sign: char, text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        out.push(sign);
        out.push_str(line);
        out.push('\n');
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(
            hunks(old, &old.replace('5', "five")),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(fragment("two", "TWO\n", false).lines().next(), Some("@@ … @@"));
        assert_eq!(hunks("", "x\n"), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(hunks(old, old), "");
    }

    #[test]
    fn texts_that_are_too_long_to_compare_are_replaced_as_a_whole() {
        let old = "a\n".repeat(MAX_COMPARED_LINES + 1);
        let diff = hunks(&old, "b\n");
        assert!(diff.starts_with("@@ -1,2001 +1,1 @@\n-a\n") && diff.ends_with("-a\n+b\n"), "{}", diff.len());
    }
}
