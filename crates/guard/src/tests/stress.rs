//! Texts that nobody writes: too long, too deep, broken, random. Nothing may crash, hang or slip through.

use crate::tests::*;
use headspace_platform::watchdog::cpu_time;

/// A small generator of our own: the same texts in every run.
struct Random(u64);

impl Random {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn unfinished_and_odd_texts_become_questions() {
    for text in [
        "echo $((",
        "echo \"open",
        "echo 'open",
        "echo $(ls",
        "echo `ls",
        "echo ${x",
        "echo $'x",
        "if true; then ls",
        "for x in a; do ls",
        "while true; do ls",
        "case x in a) ls",
        "{ ls",
        "(ls",
        "ls )",
        "ls }; }",
        "fi",
        "done",
        "ls &&",
        "ls |",
        "echo \\",
        "r\u{200b}m -rf /usr/local",
        "rm\u{a0}-rf /usr/local",
        "ls \u{202e}x",
        "echo \u{7}",
        "ls \u{1b}[2J",
        "echo a\rrm -rf /usr",
        "cat \u{2215}etc\u{2215}passwd",
        "ls \u{100105}",
        "[[ a == b",
        "a=(1 2",
        "f() {",
    ] {
        let verdict = bash(text);
        assert!(verdict.decision >= Decision::Ask, "{text:?} {verdict:?}");
    }
}

#[test]
fn dangerous_parts_of_a_broken_text_are_still_seen() {
    for text in ["rm -rf /usr; echo \"open", "sudo id; fi", "(rm -rf /usr", "rm -rf /usr/local # ' \" ("] {
        assert_eq!(bash(text).decision, Decision::Deny, "{text}");
    }
    assert_eq!(bash("echo ok\r\nrm -rf /usr/local\r\n").decision, Decision::Deny);
    assert_eq!(bash("echo ok\r\nls\r\n").decision, Decision::Allow);
}

#[test]
fn long_texts_are_judged_too() {
    let filler = "x".repeat(200_000);
    let words = "aaaaaaaaab ".repeat(30_000);
    for (text, expected) in [
        (format!("rm -rf /usr/local # {filler}"), Decision::Deny),
        (format!("echo {filler}; rm -rf /usr/local"), Decision::Deny),
        (format!("echo '{filler}' && sudo id"), Decision::Deny),
        (format!("cat > x <<'EOF'\n{words}\nEOF\nrm -rf /usr/local"), Decision::Deny),
        (format!("echo {filler}"), Decision::Allow),
        (format!("echo {words}"), Decision::Allow),
        (format!("git add {words}"), Decision::Allow),
        ("ls; ".repeat(5000) + "rm -rf /usr", Decision::Deny),
        ("true && ".repeat(5000) + "true", Decision::Allow),
        ("x=1 || ".repeat(3000) + "true", Decision::Allow),
        ("ls | ".repeat(3000) + "cat", Decision::Allow),
        ("a=b; ".repeat(5000) + "echo $a", Decision::Allow),
        ("echo $(date) ".repeat(2000), Decision::Allow),
        ("cat <<A\nx\nA\n".repeat(2000), Decision::Allow),
        (format!("echo {}", "\\\n".repeat(50_000)), Decision::Allow),
        (format!("rm -rf {}", "build/x ".repeat(3000)), Decision::Allow),
    ] {
        // Work, not the wall clock: the machine may be busy.
        let before = cpu_time();
        let verdict = bash(&text);
        assert_eq!(verdict.decision, expected, "{}…", &text[..40]);
        assert!((cpu_time() - before).as_secs() < 15, "{}…", &text[..40]);
    }
}

#[test]
fn deeply_nested_texts_are_judged_too() {
    let nest = |open: &str, inner: &str, close: &str, times: usize| {
        open.repeat(times) + inner + &close.repeat(times)
    };
    for times in [10, 1000, 20_000] {
        for (open, close) in [
            ("(", ")"),
            ("( ", " )"),
            ("{ ", "; }"),
            ("$(", ")"),
            ("echo $(", ")"),
            ("echo \"$(", ")\""),
            ("if true; then ", "; fi"),
            ("while false; do ", "; done"),
            ("! ", ""),
            ("env ", ""),
            ("[[ ", " ]]"),
            ("echo ${x:-$(", ")}"),
            ("<(", ")"),
            ("case x in *) ", ";; esac"),
            ("time ", ""),
        ] {
            let text = nest(open, "rm -rf /usr/local", close, times);
            let verdict = bash(&text);
            assert!(verdict.decision >= Decision::Ask, "{open} {times}: {verdict:?}");
        }
        for (open, close) in [("(", ")"), ("$((", "))"), ("{a,", "}"), ("`", "`"), ("[", "]"), ("\"", "\"")] {
            bash(&format!("echo {}", nest(open, "x", close, times)));
            bash(&open.repeat(times));
            bash(&close.repeat(times));
        }
    }
    assert_eq!(bash(&nest("( ", "rm -rf /usr/local", " )", 500)).decision, Decision::Deny);
    assert_eq!(bash(&nest("( ", "echo hi", " )", 500)).decision, Decision::Allow);
    assert_eq!(bash(&format!("echo '{}'", "(".repeat(10_000))).decision, Decision::Allow);
    let mut shells = "rm -rf /usr/local".to_owned();
    for _ in 0..12 {
        shells = format!("sh -c {}", crate::eval::quote(&shells));
    }
    assert_eq!(bash(&shells).decision, Decision::Deny);
}

#[test]
fn exploding_work_becomes_a_question() {
    for text in [
        "{a,b}".repeat(30),
        "f() { g; g; }; g() { h; h; }; ".to_owned()
            + &(0..40).map(|i| format!("x{i}() {{ x{}; x{}; }}; ", i + 1, i + 1)).collect::<String>()
            + "x0",
        "for a in {1..900}; do for b in {1..900}; do for c in {1..900}; do rm $a$b$c; done; done; done"
            .into(),
        "echo $((".repeat(300),
        "a='$a$a'; eval eval eval eval \"$a\"".into(),
    ] {
        // Work, not the wall clock: the machine may be busy.
        let before = cpu_time();
        bash(&text);
        assert!((cpu_time() - before).as_secs() < 30, "{}…", &text[..20]);
    }
}

#[test]
fn random_texts_do_no_harm() {
    const PIECES: [&str; 72] = [
        "rm",
        " -rf ",
        "/",
        "*",
        "?",
        "[a-z]",
        "~",
        "$",
        "$x",
        "${x",
        "${x:-",
        "}",
        "{",
        "(",
        ")",
        "((",
        "))",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "\n",
        ";",
        "&",
        "&&",
        "|",
        "||",
        "<",
        ">",
        ">>",
        "<<",
        "<<EOF\n",
        "EOF\n",
        "<<<",
        "<(",
        ">(",
        "#",
        "!",
        "=",
        "a=",
        "+=",
        ",",
        "..",
        " ",
        "\t",
        "if ",
        "then ",
        "fi",
        "for x in ",
        "do ",
        "done",
        "case x in ",
        "esac",
        ";;",
        "[[ ",
        " ]]",
        "f() ",
        "sudo",
        "git reset --hard",
        "xargs ",
        "find . ",
        "-exec ",
        "{} \\;",
        "sh -c ",
        "eval ",
        "env ",
        "é",
        "\u{200b}",
        "👩",
        "\u{100100}",
        "\r\n",
    ];
    let mut dice = Random(7);
    let rounds = if cfg!(debug_assertions) { 6000 } else { 60_000 };
    for _ in 0..rounds {
        let text: String = (0..dice.roll(30)).map(|_| PIECES[dice.roll(PIECES.len())]).collect();
        bash(&text);
        judge(&json!({"tool_name": "PowerShell", "tool_input": {"command": text}}), &environment());
    }
}

#[test]
fn mutations_of_real_commands_do_no_harm() {
    let lines: Vec<&str> = [
        include_str!("tables/flow.txt"),
        include_str!("tables/machine.txt"),
        include_str!("tables/code.txt"),
        include_str!("tables/files.txt"),
        include_str!("tables/powershell.txt"),
    ]
    .iter()
    .flat_map(|text| text.lines())
    .filter_map(|line| Some(line.split_once(' ')?.1))
    .collect();
    let mut dice = Random(11);
    let rounds = if cfg!(debug_assertions) { 3000 } else { 40_000 };
    for _ in 0..rounds {
        let mut chars: Vec<char> = lines[dice.roll(lines.len())].replace('⏎', "\n").chars().collect();
        for _ in 0..=dice.roll(4) {
            let at = dice.roll(chars.len() + 1);
            match dice.roll(4) {
                0 if at < chars.len() => {
                    chars.remove(at);
                }
                1 => {
                    let other: Vec<char> = lines[dice.roll(lines.len())].chars().collect();
                    let from = dice.roll(other.len() + 1);
                    chars.splice(at..at, other[from..].iter().copied());
                }
                2 => chars.insert(
                    at,
                    ['\'', '"', '`', '$', '(', ')', '{', '}', '\\', '\n', ';', '|'][dice.roll(12)],
                ),
                _ => chars.truncate(at),
            }
        }
        let text: String = chars.into_iter().collect();
        bash(&text);
        judge(&json!({"tool_name": "PowerShell", "tool_input": {"command": text}}), &environment());
    }
}

#[test]
fn texts_cut_off_inside_a_word_are_read_to_the_end() {
    for text in ["${", "$", "a ${", "\"${", "\"$", "${x", "$x = \"", "$x = '", "$x =", "`", ">", "&"] {
        judge(&json!({"tool_name": "PowerShell", "tool_input": {"command": text}}), &environment());
    }
    for code in ["qx", "qx{", "q", "%x", "%x(", "qx(a", "`", "f\\'", "r\"", "\\'\\'\\'", "$", "@"] {
        for program in ["perl -e", "ruby -e", "python3 -c", "node -e", "php -r"] {
            bash(&format!("{program} $'{code}'"));
        }
    }
}
