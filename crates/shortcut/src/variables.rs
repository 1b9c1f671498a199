//! The environment as the kernel laid it out, read once, for the names that matter to a hook.

use crate::bytes::same;

/// Fields of an event, and the variable each comes from. The same as `notify`'s, in the same order; a test compares them.
pub const PLAIN: [(&str, &str); 5] = [
    ("tmux_session", "CLAUDE_HEADSPACE_TMUX_SESSION"),
    ("tmux_pane", "TMUX_PANE"),
    ("entrypoint", "CLAUDE_CODE_ENTRYPOINT"),
    ("session_role", "CLAUDE_SESSION_ROLE"),
    ("session_mode", "CLAUDE_SESSION_MODE"),
];

/// Fields that identify the terminal's window.
pub const TERMINAL: [(&str, &str); 7] = [
    ("kitty_window_id", "KITTY_WINDOW_ID"),
    ("kitty_listen_on", "KITTY_LISTEN_ON"),
    ("wezterm_pane", "WEZTERM_PANE"),
    ("iterm_session_id", "ITERM_SESSION_ID"),
    ("term_program", "TERM_PROGRAM"),
    ("ghostty", "GHOSTTY_RESOURCES_DIR"),
    ("tmux_socket", "TMUX"),
];

/// Variables that make a hook more than plain: a server that was named, a rehearsal, a debug log, a client other than
/// Claude.
pub const NOT_PLAIN: [&str; 7] = [
    "CLAUDE_HEADSPACE_URL",
    "HEADSPACE_REHEARSAL",
    "HEADSPACE_DEBUG",
    "QWEN_CODE_SESSION_ID",
    "COPILOT_CLI",
    "CURSOR_VERSION",
    "GEMINI_SESSION_ID",
];

/// The other variables that are read.
const OTHERS: [&str; 6] = [
    "CLAUDE_HEADSPACE_SESSION_ID",
    "CLAUDE_SESSION_ID",
    "CLAUDE_PID",
    "HOME",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
];

const COUNT: usize = PLAIN.len() + TERMINAL.len() + NOT_PLAIN.len() + OTHERS.len();

const NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut at = 0;
    while at < PLAIN.len() {
        names[at] = PLAIN[at].1;
        at += 1;
    }
    while at < PLAIN.len() + TERMINAL.len() {
        names[at] = TERMINAL[at - PLAIN.len()].1;
        at += 1;
    }
    while at < PLAIN.len() + TERMINAL.len() + NOT_PLAIN.len() {
        names[at] = NOT_PLAIN[at - PLAIN.len() - TERMINAL.len()];
        at += 1;
    }
    while at < COUNT {
        names[at] = OTHERS[at - PLAIN.len() - TERMINAL.len() - NOT_PLAIN.len()];
        at += 1;
    }
    names
};

/// The first letters of all names, a bit for each: most variables need no second look.
const LETTERS: u32 = {
    let (mut letters, mut at) = (0, 0);
    while at < COUNT {
        letters |= 1 << (NAMES[at].as_bytes()[0] & 31);
        at += 1;
    }
    letters
};

/// The values; one that is empty counts as not set, here as everywhere in headspace.
#[derive(Debug)]
pub struct Variables<'a>([Option<&'a [u8]>; COUNT]);

impl<'a> Variables<'a> {
    pub const NONE: Variables<'a> = Variables([None; COUNT]);

    /// # Safety
    /// `environment` is a list of texts that end with a zero each, and itself ends with a null pointer; all of it lives
    /// for `'a`.
    pub unsafe fn read(&mut self, mut environment: *const *const u8) {
        // SAFETY: up to the null pointer and up to each text's zero, as promised.
        unsafe {
            while !(*environment).is_null() {
                let text = *environment;
                environment = environment.add(1);
                if LETTERS & (1 << (*text & 31)) == 0 {
                    continue;
                }
                for (at, name) in NAMES.iter().enumerate() {
                    // The first of doubled variables counts, as in the C library.
                    if let Some(place) = self.0.get_mut(at).filter(|place| place.is_none()) {
                        *place = value_of(text, name);
                    }
                }
            }
        }
    }

    /// The value of a variable, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        let at = NAMES.iter().position(|known| same(known.as_bytes(), name.as_bytes()))?;
        self.0.get(at).copied().flatten().filter(|value| !value.is_empty())
    }

    pub fn are_plain(&self) -> bool {
        NOT_PLAIN.iter().all(|name| self.get(name).is_none())
    }
}

/// # Safety
/// `text` ends with a zero and lives for `'a`.
unsafe fn value_of<'a>(text: *const u8, name: &str) -> Option<&'a [u8]> {
    // SAFETY: a byte that differs ends the comparison, so nothing behind the zero is read.
    unsafe {
        for (at, byte) in name.bytes().enumerate() {
            if *text.add(at) != byte {
                return None;
            }
        }
        let value = text.add(name.len());
        (*value == b'=').then(|| text_at(value.add(1)))
    }
}

/// # Safety
/// `start` is a text that ends with a zero and lives for `'a`.
pub unsafe fn text_at<'a>(start: *const u8) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: up to the zero, as promised.
    unsafe {
        // Volatile, or the compiler would call the C library's `strlen`.
        while start.add(length).read_volatile() != 0 {
            length += 1;
        }
        core::slice::from_raw_parts(start, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn variables_are_found_by_their_whole_names_and_the_first_counts() {
        let given = [
            "TMUX_PANE=%3",
            "TMUX=/tmp/s,1,0",
            "TMUX=no",
            "HOMEX=no",
            "HOME",
            "XDG_STATE_HOME=",
            "CLAUDE_PID=7=8",
        ];
        let texts: Vec<CString> = given.iter().map(|text| CString::new(*text).unwrap()).collect();
        let mut list: Vec<*const u8> = texts.iter().map(|text| text.as_ptr().cast()).collect();
        list.push(std::ptr::null());
        let mut variables = Variables::NONE;
        // SAFETY: the texts end with zeros, the list with a null pointer, and both outlive the variables.
        unsafe { variables.read(list.as_ptr()) };
        for (name, expected) in [
            ("TMUX_PANE", Some("%3")),
            ("TMUX", Some("/tmp/s,1,0")),
            ("HOME", None),
            ("XDG_STATE_HOME", None),
            ("CLAUDE_PID", Some("7=8")),
            ("COPILOT_CLI", None),
        ] {
            assert_eq!(variables.get(name), expected.map(str::as_bytes), "{name}");
        }
        assert!(variables.are_plain());
    }
}
