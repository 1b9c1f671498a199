use super::*;

/// The match and the groups as text; `None` for a group that took no part.
fn found(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
    let regex = Pattern::new(pattern).unwrap_or_else(|fault| panic!("{pattern:?}: {fault}"));
    let units: Vec<u16> = text.encode_utf16().collect();
    let captures = regex.find(text).unwrap_or_else(|_| panic!("{pattern:?} gave up on {text:?}"))?;
    let text = |range: Range<usize>| String::from_utf16_lossy(&units[range]);
    Some(captures.into_iter().map(|range| range.map(text)).collect())
}

/// Rows of a pattern, a text, and the match with its groups, joined by commas; `-` for a group that took no part, and
/// `!` for no match.
fn check(rows: &[(&str, &str, &str)]) {
    for (pattern, text, expected) in rows {
        let shown = found(pattern, text).map_or("!".to_owned(), |groups| {
            groups.into_iter().map(|group| group.unwrap_or("-".into())).collect::<Vec<_>>().join(",")
        });
        assert_eq!(shown, *expected, "{pattern:?} in {text:?}");
    }
}

#[test]
fn alternatives_are_tried_from_the_left() {
    check(&[("a|ab", "ab", "a"), ("b|ab", "ab", "ab"), ("x|", "ab", ""), ("", "ab", ""), ("x|y", "ab", "!")]);
}

#[test]
fn quantifiers_take_as_much_or_as_little_as_they_can() {
    check(&[
        ("a*", "aaab", "aaa"),
        ("a*?b", "aaab", "aaab"),
        ("a+?", "aaab", "a"),
        ("a??b", "ab", "ab"),
        ("a{2}", "aaab", "aa"),
        ("a{2,}", "aaab", "aaa"),
        ("a{1,2}?", "aaab", "a"),
        ("a{0}b", "aaab", "b"),
        ("a{4}", "aaab", "!"),
        ("(?:ab){2}c", "ababc", "ababc"),
        ("a{99999999999999999999}", "a", "!"),
    ]);
}

#[test]
fn braces_that_are_no_quantifier_stand_for_themselves() {
    check(&[
        ("a{", "a{", "a{"),
        ("a{,2}", "a{,2}", "a{,2}"),
        ("a{1", "a{1", "a{1"),
        ("{a}", "{a}", "{a}"),
        ("}]", "}]", "}]"),
        ("a{ 1}", "a{ 1}", "a{ 1}"),
    ]);
}

#[test]
fn every_round_of_a_repeat_empties_its_groups() {
    check(&[
        ("(?:(a)|(b))*", "ab", "ab,-,b"),
        ("(z)((a+)?(b+)?(c))*", "zaacbbbcac", "zaacbbbcac,z,ac,a,-,c"),
        ("(?:(a)|b\\1)+", "aba", "aba,a"),
        ("(?:(?=(a))a|b)*", "ab", "ab,-"),
    ]);
}

#[test]
fn a_round_that_matches_nothing_ends_the_repeat() {
    check(&[
        ("(a*)*", "b", ",-"),
        ("(a*)*", "aab", "aa,aa"),
        ("(a*){2}", "b", ","),
        ("(?:a?)*?b", "aab", "aab"),
        ("(?:)*x", "x", "x"),
        ("(|a)+", "aa", "aa,a"),
        ("(?:a|()){3,5}", "aa", "aa,"),
    ]);
}

#[test]
fn backreferences_repeat_what_a_group_matched() {
    check(&[
        ("(a|b)\\1", "abb", "bb,b"),
        ("\\1(a)", "aa", "a,a"),
        ("(a\\1)", "aa", "a,a"),
        ("(?:(a)|b)\\1c", "bc", "bc,-"),
        ("(?<n>a.)\\k<n>", "abab", "abab,ab"),
        ("\\k<n>(?<n>a)", "aa", "a,a"),
        ("(?:(?<n>a)|(?<n>b))\\k<n>", "abb", "bb,-,b"),
        ("(?<$_é\\u0031>a)\\k<$_é\\u{31}>", "aa", "aa,a"),
        ("\\k<n>", "k<n>", "k<n>"),
    ]);
}

#[test]
fn lookarounds_match_without_taking() {
    check(&[
        ("a(?=b)", "aab", "a"),
        ("a(?!b)", "abac", "a"),
        ("^(?!Read$).*", "Read", "!"),
        ("^(?!Read$).*", "Reads", "Reads"),
        ("(?=(a+))a*b\\1", "baaabac", "aba,a"),
        ("(?!(a))b\\1", "b", "b,-"),
        ("(?=a)*b", "b", "b"),
        ("(?=(a)){0}b", "b", "b,-"),
        ("(?<=\\$)\\d+", "$12", "12"),
        ("(?<!\\$)\\b\\d+", "$12 34", "34"),
        ("(?<!a(?!b))c", "abcac", "c"),
    ]);
}

#[test]
fn lookbehinds_are_read_from_right_to_left() {
    check(&[
        ("(?<=(\\d+)(\\d+))$", "1053", ",1,053"),
        ("(?<=(a|ab)(b?))c", "abc", "c,a,b"),
        ("(?<=\\1(a))b", "aab", "b,a"),
        ("(?<=(a)\\1)b", "aab", "b,a"),
        ("(?<=([abc]+?)([abc]*))$", "abc", ",a,bc"),
        ("(?<=^ab)c", "abc", "c"),
    ]);
}

#[test]
fn classes_and_their_escapes() {
    check(&[
        ("[a-c]+", "xabcd", "abc"),
        ("[^a-c]+", "abxyc", "xy"),
        ("[]", "a", "!"),
        ("[^]", "\n", "\n"),
        ("[a-]+", "-a", "-a"),
        ("[\\w-a]+", "-b", "-b"),
        ("[a-\\d]+", "-1a", "-1a"),
        ("[--0]+", "-./0", "-./0"),
        ("[\\]\\-[]+", "[-]", "[-]"),
        ("[\\b]", "\u{8}", "\u{8}"),
        ("[\\B\\8]+", "B8", "B8"),
        ("[\\1\\c_]+", "\u{1}\u{1f}", "\u{1}\u{1f}"),
        ("[\\c]+", "c\\", "c\\"),
        ("\\d\\D", "12a", "2a"),
        ("\\w+\\W", "é_aé", "_aé"),
        ("\\s+\\S", " \u{a0}\u{2028}\u{feff}a", " \u{a0}\u{2028}\u{feff}a"),
        ("[^\\W_]+", "_aB1", "aB1"),
        (".+", "\na\u{2028}", "a"),
    ]);
}

#[test]
fn escapes_and_what_is_none() {
    check(&[
        ("\\t\\n\\v\\f\\r", "\t\n\u{b}\u{c}\r", "\t\n\u{b}\u{c}\r"),
        ("\\cj", "\n", "\n"),
        ("\\c1", "\\c1", "\\c1"),
        ("\\x41\\x4", "Ax4", "Ax4"),
        ("\\u0041\\u00", "Au00", "Au00"),
        ("\\u{3}", "uuu", "uuu"),
        ("\\0", "\0", "\0"),
        ("\\101\\60", "A0", "A0"),
        ("\\400", " 0", " 0"),
        ("\\8\\9", "89", "89"),
        ("(a)\\2", "a\u{2}", "a\u{2},a"),
        ("\\p{L}", "p{L}", "p{L}"),
        ("\\.\\/\\e\\a", "./ea", "./ea"),
    ]);
}

#[test]
fn anchors_and_word_edges() {
    check(&[
        ("^b", "ab", "!"),
        ("a$", "a\n", "!"),
        ("\\bb", "ab b", "b"),
        ("\\Bb", "b ab", "b"),
        ("^$", "", ""),
        ("(?m:^b$)", "a\nb\nc", "b"),
    ]);
}

#[test]
fn modifiers_hold_for_their_group() {
    check(&[
        ("(?i:b)a", "BABa", "Ba"),
        ("(?i:[a-z]+)", "éBaB", "BaB"),
        ("(?i:[µ])", "Μ", "Μ"),
        ("(?i:é)", "É", "É"),
        ("(?i:ſ|ß)", "S", "!"),
        ("(?i:[^b])", "B", "!"),
        ("(?i:(a)\\1)", "aA", "aA,a"),
        ("(?i:a(?-i:b))", "AB", "!"),
        ("(?s:.).", "\na", "\na"),
        ("(?im-s:^a)", "\nA", "A"),
    ]);
}

#[test]
fn a_character_beyond_the_first_plane_is_two_units() {
    assert_eq!(Pattern::new("^..$").unwrap().find("😀"), Ok(Some(vec![Some(0..2)])));
    assert_eq!(Pattern::new("^.$").unwrap().find("😀"), Ok(None));
    assert_eq!(Pattern::new("[😀]").unwrap().find("a😀"), Ok(Some(vec![Some(1..2)])));
    assert_eq!(Pattern::new("\\ud83d").unwrap().find("😀"), Ok(Some(vec![Some(0..1)])));
    assert_eq!(Pattern::new("😀").unwrap().find("a😀"), Ok(Some(vec![Some(1..3)])));
}

#[test]
fn what_javascript_refuses_is_refused_with_reason_and_place() {
    let table = [
        ("(", "this group is never closed", 1),
        ("a(b(c)", "this group is never closed", 2),
        ("日本)", "this closes no group", 3),
        ("😀)", "this closes no group", 2),
        ("[a", "this class is never closed", 1),
        ("[a\\]", "this class is never closed", 1),
        ("a|*", "there is nothing to repeat before this", 3),
        ("a**", "there is nothing to repeat before this", 3),
        ("a+?+", "there is nothing to repeat before this", 4),
        ("{1}", "there is nothing to repeat before this", 1),
        ("a{1}{2}", "there is nothing to repeat before this", 5),
        ("^*", "there is nothing to repeat before this", 2),
        ("\\b+", "there is nothing to repeat before this", 3),
        ("(?<=a)*", "there is nothing to repeat before this", 7),
        ("a{2,1}", "the numbers in these braces are out of order", 2),
        ("[z-a]", "this range is out of order", 2),
        ("[\\d-a-\\x00]", "", 0),
        ("[b-a-\\d]", "this range is out of order", 2),
        ("a\\", "nothing follows this \\", 2),
        ("[\\", "nothing follows this \\", 2),
        ("(?i)a", "JavaScript has no group that begins like this", 1),
        ("(?P<n>a)", "JavaScript has no group that begins like this", 1),
        ("(?", "JavaScript has no group that begins like this", 1),
        ("(?-:a)", "JavaScript has no group that begins like this", 1),
        ("(?i-i:a)", "this group names a flag twice", 1),
        ("(?<>a)", "this is not a group name", 4),
        ("(?<1>a)", "this is not a group name", 4),
        ("(?<a b>a)", "this is not a group name", 4),
        ("(?<n", "this is not a group name", 4),
        ("(?<n>a)(?<n>b)", "another group has the name \"n\" too", 8),
        ("(?<n>a|(?<n>b))", "another group has the name \"n\" too", 8),
        ("(?<n>a)\\k<m>", "no group has the name \"m\"", 8),
        ("(?<n>a)\\k", "a group name in <> must follow \\k", 8),
        ("(?<n>a)[\\k]", "a group name in <> must follow \\k", 9),
    ];
    for (pattern, why, character) in table {
        let fault = Pattern::new(pattern).err();
        let expected = (character > 0).then(|| Fault::Syntax { why: why.to_owned(), character });
        assert_eq!(fault, expected, "{pattern:?}");
    }
    assert_eq!(Pattern::new("a(").unwrap_err().to_string(), "this group is never closed, at character 2");
}

#[test]
fn a_search_without_end_is_given_up() {
    let text = "a".repeat(40);
    for endless in ["^(a+)+$", "(?=(a*)*b)", "(?:){4000000000}x"] {
        assert_eq!(Pattern::new(endless).unwrap().find(&format!("{text}!")), Err(GaveUp), "{endless}");
    }
}

#[test]
fn long_and_deep_patterns_cost_neither_the_stack_nor_much_time() {
    let half = MAX_PATTERN_UNITS / 2;
    let nested = format!("{}{}", "(".repeat(half), ")".repeat(half));
    let captures = Pattern::new(&nested).unwrap().find("a").unwrap().unwrap();
    assert_eq!(captures.len(), half + 1);
    let lookbehinds = format!("{}{}", "(?<!".repeat(half / 4), ")".repeat(half / 4));
    assert!(Pattern::new(&lookbehinds).is_ok());
    assert!(Pattern::new(&"(".repeat(MAX_PATTERN_UNITS)).is_err_and(|fault| fault != Fault::TooLong));
    assert!(Pattern::new(&"|".repeat(MAX_PATTERN_UNITS)).is_ok());
    assert_eq!(Pattern::new(&"|".repeat(MAX_PATTERN_UNITS + 1)).unwrap_err(), Fault::TooLong);
    // Every round empties thousands of groups.
    let wide = format!("(?:{}|a)*b", "()".repeat(half - 8));
    assert_eq!(Pattern::new(&wide).unwrap().find(&"a".repeat(9000)), Err(GaveUp));
}
