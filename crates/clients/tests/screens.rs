//! Screens of the real client (2.1.325 in tmux, 150, 120, 100 and 60 columns), as `capture-pane -p -e` gave them; the first
//! line of a file has the cursor.

#![allow(clippy::unwrap_used)]

use headspace_clients::screen::{Screen, Seen, holds, read};

fn seen(name: &str) -> Seen {
    let path = format!("{}/tests/screens/{name}.screen", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (head, text) = file.split_once('\n').unwrap();
    let mut numbers = head.split(' ').skip(1).map(|number| number.parse().unwrap());
    read(Screen { text, cursor: (numbers.next().unwrap(), numbers.next().unwrap()) })
}

#[test]
fn every_recorded_screen_is_read_as_what_it_is() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/screens")).unwrap();
    let names: Vec<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".screen", ""))
        .collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let found = seen(&name);
        let fits = match name.split('_').next().unwrap() {
            "empty" | "hint" | "after" => found == Seen::InputBox(String::new()),
            "draft" => matches!(&found, Seen::InputBox(draft) if !draft.is_empty()),
            "shell" => found == Seen::ShellMode(String::new()),
            "dialog" | "menu" | "search" | "view" => matches!(found, Seen::Dialog | Seen::Unknown),
            other => panic!("{other}: what should it be?"),
        };
        assert!(fits, "{name}: {found:?}");
    }
}

#[test]
fn what_was_pasted_is_recognized() {
    let many: Vec<String> = (0..30).map(|number| format!("many lines {number}")).collect();
    for (name, text) in [
        ("draft", "half a draft".to_owned()),
        ("draft_three_lines", "line one\nline two 'q' $x\nline three".to_owned()),
        ("draft_thirty_lines", many.join("\n")),
        ("draft_long", "word ".repeat(300) + "END"),
    ] {
        let Seen::InputBox(typed) = seen(name) else { panic!("{name}") };
        assert!(holds(&typed, &text), "{name}: {typed:?}");
        assert!(!holds(&typed, "something else"), "{name}: {typed:?}");
    }
}
