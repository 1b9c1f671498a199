//! Cursor's command line: not on npm, and not tried. It runs Claude's hooks if its user has turned that on, so its events
//! must be told apart from Claude's. No hooks are installed for Cursor itself.

use crate::table::{Environment, GuardForm, Home, Registration, Row};

pub(crate) const ROW: Row = Row {
    name: "cursor",
    title: "Cursor",
    glyph: '◮',
    tried: "not tried",
    home: Home { variable: None, folder: ".cursor" },
    program: "cursor-agent",
    print_words: &["-p", "--print"],
    is_shared: |_| false,
    reads_comments: false,
    registration: Registration::None,
    environment: Environment::Has("CURSOR_VERSION"),
    translate: |_, _| {},
    transcript: None,
    resume: "cursor-agent --resume={session}",
    guard: GuardForm::None,
    takes_context: false,
    after_install: "",
    is_silent: false,
};
