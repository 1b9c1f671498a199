//! Values: text as the shell would pass it on, parts of which may be unknown.
//!
//! A value is a `String`. Two kinds of characters in it are not text: active globs (a `*` that was not quoted) and
//! holes, each the number of an [`Origin`] that says where the unknown text comes from. They are in a private plane of
//! Unicode that the guard rejects in its input, so values can be joined, cut, split and even parsed as code again with
//! plain string functions.

/// An unquoted `*`, `?`, `[`.
pub(crate) const STAR: char = '\u{100000}';
pub(crate) const QUERY: char = '\u{100001}';
pub(crate) const OPEN: char = '\u{100002}';
/// "Any path below": what `find` puts between its starting point and a name.
pub(crate) const DEEP: char = '\u{100003}';
const FIRST_HOLE: u32 = 0x10_0100;
const MAX_HOLES: usize = 60_000;
/// The first hole: a value with too many possibilities to follow.
pub(crate) const ANYTHING: char = '\u{100100}';

/// What is known about unknown text.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tags(u16);

impl Tags {
    pub(crate) const NONE: Tags = Tags(0);
    /// Came over the network.
    pub(crate) const DOWNLOAD: Tags = Tags(1);
    /// Was decoded: base64, `\x72`.
    pub(crate) const DECODED: Tags = Tags(1 << 1);
    /// Holds the content of a secret file.
    pub(crate) const SECRET: Tags = Tags(1 << 2);
    /// Process numbers found by a pattern.
    pub(crate) const FOUND_PIDS: Tags = Tags(1 << 3);
    /// A process number that this line or a pid file provides.
    pub(crate) const OWN_PID: Tags = Tags(1 << 4);
    /// Not empty and without slashes: a number, a date, a hash.
    pub(crate) const TOKEN: Tags = Tags(1 << 5);
    /// File names from a listing.
    pub(crate) const FILES: Tags = Tags(1 << 6);
    /// Settings that a known tool prints for `eval`.
    pub(crate) const TRUSTED: Tags = Tags(1 << 7);
    /// Cannot be empty (`${x:?}`).
    pub(crate) const NOT_EMPTY: Tags = Tags(1 << 8);
    /// The same word has a default that is judged as well.
    pub(crate) const HAS_DEFAULT: Tags = Tags(1 << 9);
    /// The content of a file on this machine, as it is.
    pub(crate) const LOCAL_FILE: Tags = Tags(1 << 10);

    /// The tags that a filter passes on from its input.
    pub(crate) const FLOWING: Tags = Tags(1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);

    pub(crate) fn has(self, other: Tags) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn and(self, other: Tags) -> Tags {
        Tags(self.0 | other.0)
    }

    pub(crate) fn only(self, other: Tags) -> Tags {
        Tags(self.0 & other.0)
    }

    /// For two texts joined into one: what either carries is passed on; what makes a text harmless must hold for both.
    pub(crate) fn mixed(self, other: Tags) -> Tags {
        self.and(other).only(Tags::FLOWING).and(self.only(other))
    }
}

/// What goes through a pipe, out of a file or into a variable.
#[derive(Clone, Debug, Default)]
pub(crate) enum Stream {
    /// Nothing: the terminal, or a command whose output does not matter.
    #[default]
    None,
    /// Known text (a value), perhaps decoded on the way.
    Text(String, Tags),
    /// Unknown text.
    Data(Tags),
}

impl Stream {
    pub(crate) fn text(text: impl Into<String>) -> Stream {
        Stream::Text(text.into(), Tags::NONE)
    }

    pub(crate) fn tags(&self) -> Tags {
        match self {
            Stream::None => Tags::NONE,
            Stream::Text(_, tags) | Stream::Data(tags) => *tags,
        }
    }

    /// The text, if it is known.
    pub(crate) fn known_text(&self) -> Option<&str> {
        match self {
            Stream::Text(text, _) => Some(text),
            Stream::None | Stream::Data(_) => None,
        }
    }
}

/// Where a hole comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// As the user would write it: `$BUILD_DIR`, `$(cat list)`.
    pub name: String,
    pub tags: Tags,
    /// What `<(…)` gives to its reader.
    pub stream: Option<Stream>,
}

/// All holes of one judgment.
#[derive(Debug)]
pub(crate) struct Origins(Vec<Origin>);

impl Default for Origins {
    fn default() -> Origins {
        Origins(vec![Origin { name: "…".into(), tags: Tags::NONE, stream: None }])
    }
}

impl Origins {
    pub(crate) fn hole(&mut self, name: impl Into<String>, tags: Tags) -> char {
        self.push(Origin { name: name.into(), tags, stream: None })
    }

    pub(crate) fn push(&mut self, origin: Origin) -> char {
        // When the plane is full, all further holes share the last one, which collects their tags.
        if self.0.len() >= MAX_HOLES {
            if let Some(last) = self.0.last_mut() {
                last.tags = last.tags.and(origin.tags).only(Tags::FLOWING);
            }
        } else {
            self.0.push(origin);
        }
        char::from_u32(FIRST_HOLE + self.0.len() as u32 - 1).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    pub(crate) fn get(&self, c: char) -> Option<&Origin> {
        self.0.get((c as u32).checked_sub(FIRST_HOLE)? as usize)
    }

    /// One stream after the other. Unknown text next to known text becomes a hole in it, so that neither hides the
    /// other.
    pub(crate) fn join(&mut self, first: Stream, next: Stream) -> Stream {
        match (first, next) {
            (Stream::None, other) | (other, Stream::None) => other,
            (Stream::Text(mut a, x), Stream::Text(b, y)) => {
                a.push_str(&b);
                Stream::Text(a, x.and(y))
            }
            (Stream::Data(x), Stream::Data(y)) => Stream::Data(x.mixed(y)),
            (Stream::Text(mut a, x), Stream::Data(y)) => {
                a.push(self.hole("…", y));
                a.push('\n');
                Stream::Text(a, x)
            }
            (Stream::Data(x), Stream::Text(b, y)) => {
                let mut text = String::from(self.hole("…", x));
                text.push('\n');
                text.push_str(&b);
                Stream::Text(text, y)
            }
        }
    }

    /// The tags of all holes in `value`.
    pub(crate) fn tags(&self, value: &str) -> Tags {
        if !has_special(value) {
            return Tags::NONE;
        }
        value.chars().filter_map(|c| self.get(c)).fold(Tags::NONE, |tags, origin| tags.and(origin.tags))
    }

    /// For people: globs as typed, holes by name.
    pub(crate) fn show(&self, value: &str) -> String {
        if !has_special(value) {
            return value.to_owned();
        }
        let mut text = String::new();
        for c in value.chars() {
            match c {
                STAR => text.push('*'),
                QUERY => text.push('?'),
                OPEN => text.push('['),
                DEEP => text.push_str("**"),
                c if is_hole(c) => text.push_str(self.get(c).map_or("…", |origin| &origin.name)),
                c => text.push(c),
            }
        }
        text
    }
}

/// Whether any character is a glob or a hole. All of them start with the byte F4 in UTF-8.
pub(crate) fn has_special(value: &str) -> bool {
    memchr::memchr(0xF4, value.as_bytes()).is_some()
}

pub(crate) fn is_hole(c: char) -> bool {
    c as u32 >= FIRST_HOLE
}

pub(crate) fn has_hole(value: &str) -> bool {
    has_special(value) && value.chars().any(is_hole)
}

pub(crate) fn is_glob(c: char) -> bool {
    matches!(c, STAR | QUERY | OPEN | DEEP)
}

pub(crate) fn has_glob(value: &str) -> bool {
    has_special(value) && value.chars().any(is_glob)
}

/// Unquoted text: its globs become active.
pub(crate) fn activate(text: &str) -> String {
    if !text.bytes().any(|b| matches!(b, b'*' | b'?' | b'[')) {
        return text.to_owned();
    }
    text.char_indices()
        .map(|(at, c)| match c {
            '*' => STAR,
            '?' => QUERY,
            '[' if text[at..].contains(']') => OPEN,
            c => c,
        })
        .collect()
}

/// Turns active globs back into plain letters, as in `"…"` or in code.
pub(crate) fn deactivate(value: &str) -> String {
    if !has_special(value) {
        return value.to_owned();
    }
    value
        .chars()
        .map(|c| match c {
            STAR | DEEP => '*',
            QUERY => '?',
            OPEN => '[',
            c => c,
        })
        .collect()
}
