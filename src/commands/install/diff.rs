//! A unified diff of two texts, as `patch` reads it.

use similar::{Algorithm, TextDiff};
use std::time::Duration;

/// How long the shortest diff is searched for; after that, a longer one will do.
const SHORTEST_WITHIN: Duration = Duration::from_secs(1);

/// The diff from `old` to `new`, each with the name to show for it; empty if they are equal.
pub fn unified(old: (&str, &str), new: (&str, &str)) -> String {
    let mut settings = TextDiff::configure();
    let diff = settings.algorithm(Algorithm::Myers).timeout(SHORTEST_WITHIN).diff_lines(old.1, new.1);
    diff.unified_diff().context_radius(3).header(old.0, new.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        let expected = "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
        assert_eq!(unified(("a", old), ("b", new)), expected);
        assert_eq!(unified(("a", old), ("b", old)), "");
    }

    #[test]
    fn a_new_file_and_a_missing_last_line_break_are_marked() {
        assert_eq!(unified(("/dev/null", ""), ("b", "x\n")), "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+x\n");
        let expected = "--- a\n+++ b\n@@ -1 +1 @@\n-{}\n\\ No newline at end of file\n+{}\n";
        assert_eq!(unified(("a", "{}"), ("b", "{}\n")), expected);
    }

    #[test]
    fn only_line_feeds_end_lines() {
        assert!(unified(("a", "x\r\ny\r\n"), ("b", "x\r\nz\r\n")).contains("-y\r\n+z\r\n"));
    }
}
