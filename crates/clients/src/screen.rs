//! What the screen of a Claude Code pane says about its input box: empty, a draft, or no box at all because a dialog, a
//! menu or something else is open. A text that is typed at a dialog approves it, so whatever is not certainly the box
//! counts as not the box.
//!
//! The screen is other people's text: the model can write lines that look like a box. The cursor cannot be painted,
//! so only the lines around it count.

/// A pane as `tmux capture-pane -p -e` and its cursor give it.
#[derive(Clone, Copy, Debug)]
pub struct Screen<'a> {
    /// With the escape sequences of colors and styles.
    pub text: &'a str,
    /// Column and row, from zero.
    pub cursor: (usize, usize),
}

/// What the cursor is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The input box and what is typed there, line by line; nothing for an empty one.
    InputBox(String),
    /// The input box takes a shell command: what is typed of it.
    ShellMode(String),
    /// Something that takes keys: a permission, a question, a menu.
    Dialog,
    /// None of them.
    Unknown,
}

/// What the client writes before the first line of its box.
const PROMPT: char = '❯';
/// The columns of that sign and the blank after it; further lines are indented as far.
const INDENT: usize = 2;
/// A line of this many is a border; shorter ones are part of a text.
const MIN_BORDER: usize = 10;
/// What the client writes below a dialog or a menu.
const DIALOG_HINTS: [&str; 8] = [
    "Esc to cancel",
    "Esc to clear",
    "Enter to select",
    "Enter to confirm",
    "Enter to continue",
    "Enter to use",
    "Enter to set",
    "Would you like to proceed",
];

/// One character on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    letter: char,
    dim: bool,
    inverse: bool,
}

pub fn read(screen: Screen) -> Seen {
    let lines = cells(screen.text);
    let (column, row) = screen.cursor;
    let boxed = around(&lines, row);
    let below = boxed.as_ref().map_or(0, |rows| rows.end);
    // The conversation above may speak of dialogs, or show them.
    let hinted = lines[below.min(lines.len())..].iter().any(|line| {
        let text: String = line.iter().map(|cell| cell.letter).collect();
        DIALOG_HINTS.iter().any(|hint| text.contains(hint))
    });
    let Some(rows) = boxed.filter(|_| !hinted) else {
        return if hinted { Seen::Dialog } else { Seen::Unknown };
    };
    let first = &lines[rows.start];
    let shell = match first.first().map(|cell| cell.letter) {
        Some(PROMPT) if is_blank(first.get(1)) && column >= INDENT => false,
        Some('!') if is_blank(first.get(1)) && column >= INDENT => true,
        _ => return Seen::Unknown,
    };
    let further = &lines[rows.start + 1..rows.end];
    if further.iter().any(|line| !line.iter().take(INDENT).all(|cell| cell.letter == ' ')) {
        return Seen::Unknown;
    }
    let typed: Vec<String> =
        lines[rows].iter().map(|line| typed(line.get(INDENT..).unwrap_or(&[]))).collect();
    let typed = typed.join("\n").trim_end().to_owned();
    if shell { Seen::ShellMode(typed) } else { Seen::InputBox(typed) }
}

/// The rows between the border above the cursor and the one below it.
fn around(lines: &[Vec<Cell>], row: usize) -> Option<std::ops::Range<usize>> {
    let upper = lines.get(..row)?.iter().rposition(|line| is_border(line))?;
    let lower = row + lines.get(row..)?.iter().position(|line| is_border(line))?;
    (lower > row).then_some(upper + 1..lower)
}

/// A line of `─`; the upper one may carry the session's title near its right end.
fn is_border(line: &[Cell]) -> bool {
    let end = line.iter().rposition(|cell| cell.letter != ' ').map_or(0, |last| last + 1);
    let leading = line[..end].iter().take_while(|cell| cell.letter == '─').count();
    leading >= MIN_BORDER && line[end - 1].letter == '─'
}

/// What a person typed in this line. The client's own hints are dim, with the cursor on their first letter.
fn typed(line: &[Cell]) -> String {
    let hint = line.first().is_some_and(|cell| cell.inverse) && line.get(1).is_some_and(|cell| cell.dim);
    let letters = line.iter().skip(usize::from(hint)).filter(|cell| !cell.dim);
    let text: String = letters.map(|cell| cell.letter).collect();
    text.replace('\u{a0}', " ").trim_end().to_owned()
}

fn is_blank(cell: Option<&Cell>) -> bool {
    cell.is_none_or(|cell| matches!(cell.letter, ' ' | '\u{a0}'))
}

/// The characters of each line with their style, which a line takes over from the one before.
fn cells(text: &str) -> Vec<Vec<Cell>> {
    let (mut dim, mut inverse) = (false, false);
    let line = |line: &str| {
        let mut row = Vec::new();
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            if let Some(sequence) = rest.strip_prefix("\x1b[") {
                let end = sequence.find(|c: char| ('@'..='~').contains(&c)).unwrap_or(sequence.len());
                if sequence[end..].starts_with('m') {
                    style(&sequence[..end], &mut dim, &mut inverse);
                }
                rest = sequence.get(end + 1..).unwrap_or_default();
            } else if let Some(command) = rest.strip_prefix("\x1b]") {
                // A link, for one: its text follows.
                let bell = command.find('\x07').map(|at| at + 1);
                let string_end = command.find("\x1b\\").map(|at| at + 2);
                let end = [bell, string_end].into_iter().flatten().min().unwrap_or(command.len());
                rest = &command[end..];
            } else {
                rest = &rest[letter.len_utf8()..];
                if !letter.is_control() {
                    row.push(Cell { letter, dim, inverse });
                }
            }
        }
        row
    };
    text.lines().map(line).collect()
}

/// `0;2` and similar. The numbers of a color are not styles.
fn style(parameters: &str, dim: &mut bool, inverse: &mut bool) {
    let mut numbers = parameters.split(';');
    while let Some(number) = numbers.next() {
        match number {
            "" | "0" => (*dim, *inverse) = (false, false),
            "2" => *dim = true,
            "22" => *dim = false,
            "7" => *inverse = true,
            "27" => *inverse = false,
            "38" | "48" | "58" => match numbers.next() {
                Some("5") => drop(numbers.next()),
                Some("2") => drop(numbers.nth(2)),
                _ => {}
            },
            _ => {}
        }
    }
}

/// Whether a box with this in it holds exactly `text`, as far as a box can show: it breaks lines where it likes, shows the
/// end of what is too long, and a stand-in for what is very long.
pub fn holds(typed: &str, text: &str) -> bool {
    let solid = |text: &str| -> String { text.chars().filter(|letter| !letter.is_whitespace()).collect() };
    let (typed, text) = (typed.trim(), text.trim());
    if let Some(about) = typed.strip_prefix("[Pasted text #").and_then(|rest| rest.strip_suffix(']')) {
        let breaks = text.matches('\n').count();
        let said = about.split_once(" +").and_then(|(_, lines)| lines.strip_suffix(" lines")?.parse().ok());
        let number = about.split(' ').next().unwrap_or_default();
        return !number.is_empty()
            && number.bytes().all(|digit| digit.is_ascii_digit())
            && said.unwrap_or(0) == breaks
            && (breaks > 0 || text.chars().count() > MIN_STAND_IN);
    }
    let (typed, text) = (solid(typed), solid(text));
    !typed.is_empty()
        && text.ends_with(&typed)
        && typed.chars().count() >= text.chars().count().min(ENOUGH_OF_END)
}

/// Texts of one line up to this length are shown as they are.
const MIN_STAND_IN: usize = 500;
/// Letters at the end of a long text that prove that it arrived.
const ENOUGH_OF_END: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(cursor: (usize, usize), text: &str) -> Seen {
        read(Screen { text, cursor })
    }

    #[test]
    fn a_painted_box_is_no_box_without_the_cursor() {
        let rule = "─".repeat(40);
        let painted = format!("{rule}\n❯ \n{rule}\n");
        let empty = Seen::InputBox(String::new());
        let dialog = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel\n";
        for (name, cursor, text, expected) in [
            ("a box", (2, 1), painted.clone(), empty.clone()),
            ("painted above a dialog", (1, 4), format!("{painted}{dialog}"), Seen::Dialog),
            (
                "the cursor of the dialog is hidden in the painting",
                (2, 1),
                format!("{painted}{dialog}"),
                Seen::Dialog,
            ),
            ("a dialog without its hint", (1, 4), format!("{painted} Do you?\n ❯ 1. Yes\n"), Seen::Unknown),
            (
                "options between borders",
                (0, 1),
                format!("{rule}\n❯ 1. Yes\n  2. No\n{rule}\n"),
                Seen::Unknown,
            ),
            ("no border below", (2, 1), format!("{rule}\n❯ \n"), Seen::Unknown),
            ("no border above", (2, 0), format!("❯ \n{rule}\n"), Seen::Unknown),
            ("short lines", (2, 1), "───\n❯ \n───\n".into(), Seen::Unknown),
            ("another prompt", (2, 1), format!("{rule}\n> \n{rule}\n"), Seen::Unknown),
            ("text before the prompt", (2, 2), format!("{rule}\nAllow?\n❯ \n{rule}\n"), Seen::Unknown),
            (
                "a further line that is not indented",
                (2, 1),
                format!("{rule}\n❯ a\nb\n{rule}\n"),
                Seen::Unknown,
            ),
            ("shell mode", (2, 1), format!("{rule}\n! ls\n{rule}\n"), Seen::ShellMode("ls".into())),
            ("the cursor is on the border", (2, 0), painted.clone(), Seen::Unknown),
            ("the cursor is below the screen", (2, 99), painted, Seen::Unknown),
            ("nothing", (0, 0), String::new(), Seen::Unknown),
            (
                "a draft that speaks of dialogs",
                (2, 1),
                format!("{rule}\n❯ Esc to cancel\n{rule}\n"),
                Seen::InputBox("Esc to cancel".into()),
            ),
        ] {
            assert_eq!(seen(cursor, &text), expected, "{name}");
        }
    }

    #[test]
    fn styles_tell_hints_from_drafts() {
        let rule = "─".repeat(20);
        let with = |line: &str| seen((2, 1), &format!("{rule}\n❯ {line}\n{rule}\n"));
        let draft = |text: &str| Seen::InputBox(text.into());
        for (line, expected) in [
            ("\x1b[7mT\x1b[0;2mry \"fix lint errors\"\x1b[0m", draft("")),
            ("\x1b[2mTry this\x1b[22m", draft("")),
            ("\x1b[7mx\x1b[0m", draft("x")),
            ("\x1b[7mx\x1b[0m more", draft("x more")),
            ("\x1b[38;5;2mgreen\x1b[39m", draft("green")),
            ("\x1b[38;2;2;2;2mgray\x1b[39m", draft("gray")),
            ("fix\x1b[2m the tests\x1b[0m", draft("fix")),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", draft("link")),
            ("\x1b[", draft("")),
            ("\x1b]8;;never ends", draft("")),
        ] {
            assert_eq!(with(line), expected, "{line:?}");
        }
    }

    #[test]
    fn the_box_holds_the_text_or_it_does_not() {
        let long = "word ".repeat(300);
        let thirty = vec!["line"; 30].join("\n");
        for (typed, text, expected) in [
            ("fix it", "fix it", true),
            ("fix it\n", "fix it", true),
            ("fix\nit please", "fix it please", true),
            ("one\ntwo", "one\ntwo\n", true),
            ("half a draftfix it", "fix it", false),
            ("fix i", "fix it", false),
            ("it", "fix it", false),
            ("", "fix it", false),
            ("[Pasted text #1 +29 lines]", &thirty, true),
            ("[Pasted text #1 +28 lines]", &thirty, false),
            ("[Pasted text #12]", &long, true),
            ("[Pasted text #12]", "short", false),
            ("x[Pasted text #12]", &long, false),
            ("[Pasted text #1][Pasted text #2]", &long, false),
            (&long[long.len() - 100..], &long, true),
            (&long[long.len() - 20..], &long, false),
        ] {
            assert_eq!(holds(typed, text), expected, "{typed:?} {text:?}");
        }
    }
}
