//! Finds the end of the first JSON object in bytes that arrive piece by piece, and where its members are.
//!
//! `notify` must stop reading when the payload is complete, because standard input may never be closed, and
//! must pass the client's bytes on unchanged. So it neither waits for the end nor parses into values: this is a
//! strict reader of JSON's grammar that only remembers positions. It accepts exactly what `serde_json` accepts
//! when it skips a value (bytes that are not UTF-8 and lone surrogates inside strings included), without recursion,
//! and skips a byte order mark in front. The caller provides the memory.

use core::ops::Range;

/// Where a member of the outermost object is. `key` is without its quotes, `value` as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub key: Range<usize>,
    pub value: Range<usize>,
}

/// What is known after the bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    /// The object is complete; it ends before this position.
    Done(usize),
    /// No byte that could follow makes this a JSON object.
    Bad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Value,
    FirstValue,
    FirstKey,
    Key,
    Colon,
    Comma,
    Text { key: bool },
    Escape { key: bool },
    Hex { key: bool, left: u8 },
    Literal { rest: &'static [u8] },
    Number(Number),
    Done,
    Bad,
}

/// Which part of a number was read last. A number may end after the last four of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Dot,
    E,
    Sign,
    Zero,
    Int,
    Fraction,
    Exponent,
}

/// Some shells write it in front of what they pipe (Windows PowerShell does).
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Where positions are kept: in lists that grow, or in fixed arrays as long as there is no allocator.
pub trait Memory {
    /// How many brackets are open around the reader.
    fn depth(&self) -> usize;
    /// The innermost open bracket: `{` or `[`.
    fn innermost(&self) -> Option<u8>;
    /// `false`: there is no room for more.
    fn open(&mut self, bracket: u8) -> bool;
    fn close(&mut self);
    /// A member of the outermost object, in the order of the text. `false`: there is no room for more.
    fn member(&mut self, member: Member) -> bool;
}

/// Resumable: pass the whole buffer each time, and it continues where it stopped.
#[derive(Debug)]
pub struct Scanner<M> {
    at: usize,
    start: usize,
    state: State,
    key: Range<usize>,
    value_start: usize,
    memory: M,
}

impl<M: Memory> Scanner<M> {
    pub fn with(memory: M) -> Scanner<M> {
        Scanner { at: 0, start: 0, state: State::Start, key: 0..0, value_start: 0, memory }
    }

    /// The position of the object's `{`.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Whether an object is open: something that may become a payload has begun.
    pub fn begun(&self) -> bool {
        self.memory.depth() > 0
    }

    /// What was remembered.
    pub fn into_memory(self) -> M {
        self.memory
    }

    /// Reads on in `buffer`, which starts with the bytes already seen.
    pub fn feed(&mut self, buffer: &[u8]) -> Progress {
        while let Some(&byte) = buffer.get(self.at) {
            if let State::Text { key } = self.state {
                self.text(buffer, key);
                continue;
            }
            let (next, consumed) = self.step(byte);
            self.state = next;
            self.at += usize::from(consumed);
            match next {
                State::Done => return Progress::Done(self.at),
                State::Bad => return Progress::Bad,
                _ => {}
            }
        }
        match self.state {
            State::Done => Progress::Done(self.at),
            State::Bad => Progress::Bad,
            _ => Progress::More,
        }
    }

    /// Inside of a string: nearly all bytes of a payload, so this loop is kept small.
    fn text(&mut self, buffer: &[u8], key: bool) {
        let rest = &buffer[self.at..];
        let special = |b: u8| (b == b'"') | (b == b'\\') | (b < 0x20);
        // Sixteen at a time without a branch for each: the compiler turns this into vector code.
        let plain =
            rest.chunks_exact(16).take_while(|chunk| !chunk.iter().fold(false, |any, &b| any | special(b)));
        let from = plain.count() * 16;
        let Some(stop) = rest[from..].iter().position(|&b| special(b)).map(|at| from + at) else {
            self.at = buffer.len();
            return;
        };
        self.at += stop + 1;
        self.state = match rest[stop] {
            b'"' => self.text_ended(key),
            b'\\' => State::Escape { key },
            _ => State::Bad,
        };
    }

    fn text_ended(&mut self, key: bool) -> State {
        if key {
            if self.memory.depth() == 1 {
                self.key.end = self.at - 1;
            }
            State::Colon
        } else {
            self.value_ended(self.at)
        }
    }

    /// A value ended before `end`. If it belongs to the outermost object, its member is complete.
    fn value_ended(&mut self, end: usize) -> State {
        let member = || Member { key: self.key.clone(), value: self.value_start..end };
        if self.memory.depth() == 1 && !self.memory.member(member()) {
            return State::Bad;
        }
        State::Comma
    }

    /// One byte outside of a string's plain text: the next state, and whether the byte was used up.
    fn step(&mut self, byte: u8) -> (State, bool) {
        if let State::Number(number) = self.state {
            return self.number(number, byte);
        }
        let blank = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let next = match (self.state, byte) {
            (
                State::Start
                | State::Value
                | State::FirstValue
                | State::FirstKey
                | State::Key
                | State::Colon
                | State::Comma,
                _,
            ) if blank => self.state,
            (State::Start, b'{') => {
                self.start = self.at;
                self.opened(byte)
            }
            (State::Start, _) if BYTE_ORDER_MARK.get(self.at) == Some(&byte) => State::Start,
            (State::FirstKey, b'}') | (State::FirstValue, b']') => self.close(byte),
            (State::FirstKey | State::Key, b'"') => {
                if self.memory.depth() == 1 {
                    self.key.start = self.at + 1;
                }
                State::Text { key: true }
            }
            (State::Colon, b':') => State::Value,
            (State::Value | State::FirstValue, _) => self.value(byte),
            (State::Comma, b',') if self.memory.innermost() == Some(b'{') => State::Key,
            (State::Comma, b',') => State::Value,
            (State::Comma, b'}' | b']') => self.close(byte),
            (State::Escape { key }, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                State::Text { key }
            }
            (State::Escape { key }, b'u') => State::Hex { key, left: 4 },
            (State::Hex { key, left: 1 }, _) if byte.is_ascii_hexdigit() => State::Text { key },
            (State::Hex { key, left }, _) if byte.is_ascii_hexdigit() => State::Hex { key, left: left - 1 },
            (State::Literal { rest: [last] }, _) if byte == *last => self.value_ended(self.at + 1),
            (State::Literal { rest: [first, rest @ ..] }, _) if byte == *first => State::Literal { rest },
            _ => State::Bad,
        };
        (next, true)
    }

    fn value(&mut self, byte: u8) -> State {
        if self.memory.depth() == 1 {
            self.value_start = self.at;
        }
        match byte {
            b'"' => State::Text { key: false },
            b'{' | b'[' => self.opened(byte),
            b't' => State::Literal { rest: b"rue" },
            b'f' => State::Literal { rest: b"alse" },
            b'n' => State::Literal { rest: b"ull" },
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Int),
            _ => State::Bad,
        }
    }

    fn close(&mut self, byte: u8) -> State {
        let opener = if byte == b'}' { b'{' } else { b'[' };
        if self.memory.innermost() != Some(opener) {
            return State::Bad;
        }
        self.memory.close();
        if self.memory.depth() == 0 { State::Done } else { self.value_ended(self.at + 1) }
    }

    fn opened(&mut self, byte: u8) -> State {
        match (self.memory.open(byte), byte) {
            (false, _) => State::Bad,
            (true, b'{') => State::FirstKey,
            (true, _) => State::FirstValue,
        }
    }

    fn number(&mut self, number: Number, byte: u8) -> (State, bool) {
        use Number::*;
        let next = match (number, byte) {
            (Minus, b'0') => Zero,
            (Minus, b'1'..=b'9') | (Int, b'0'..=b'9') => Int,
            (Zero | Int, b'.') => Dot,
            (Dot | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Int | Fraction, b'e' | b'E') => E,
            (E, b'+' | b'-') => Sign,
            (E | Sign | Exponent, b'0'..=b'9') => Exponent,
            // `01` is not a number; any other byte ends this one and is read again as what follows it.
            (Zero, b'0'..=b'9') | (Minus | Dot | E | Sign, _) => return (State::Bad, true),
            _ => return (self.value_ended(self.at), false),
        };
        (State::Number(next), true)
    }
}
