//! Reads the payload: up to the end of the first JSON object, the end of the input, or the soft deadline.

use crate::alarm;
use crate::scan::{Lists, Member, Progress, Reader};
use std::io::{ErrorKind, Read};
use std::mem::ManuallyDrop;
use std::ops::Range;

/// A larger input is not a hook's payload. What is read is kept in memory.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// The capacity of a pipe, unless it was enlarged.
const PIPE_BYTES: usize = 64 * 1024;

/// The client's object, byte for byte, and where its members are.
#[derive(Debug)]
pub struct Payload {
    bytes: Vec<u8>,
    object: Range<usize>,
    pub members: Vec<Member>,
}

/// What came on standard input.
#[derive(Debug)]
pub enum Input {
    Object(Payload),
    /// An object that began and was not complete when time or input ended.
    Cut(Vec<u8>),
    /// Not an object, or nothing at all; there may be more of it to read.
    Garbage(Vec<u8>),
}

impl Payload {
    /// The object as the client wrote it, without what surrounds it.
    pub fn object(&self) -> &[u8] {
        &self.bytes[self.object.clone()]
    }

    /// Everything that was read, which may be more than the object.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn at(&self, range: &Range<usize>) -> &[u8] {
        &self.bytes[range.clone()]
    }

    /// The value of a member, as written; if a key occurs twice, the last one counts, as with every JSON parser.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.members.iter().rev().find(|m| is_key(self.at(&m.key), key)).map(|m| self.at(&m.value))
    }

    /// A member that is a text and not empty. Bytes that are not UTF-8 are replaced.
    pub fn text(&self, key: &str) -> Option<String> {
        let value = self.get(key).filter(|value| value.len() > 2 && value[0] == b'"')?;
        let plain = &value[1..value.len() - 1];
        if plain.iter().all(|&b| b != b'\\' && b.is_ascii()) {
            return String::from_utf8(plain.to_vec()).ok();
        }
        let text: String = serde_json::from_str(&String::from_utf8_lossy(value)).ok()?;
        Some(text).filter(|text| !text.is_empty())
    }

    /// True for a member that is a text with something in it, readable or not.
    pub fn has_text(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.first() == Some(&b'"') && value.len() > 2)
    }

    /// Reads a payload that is already there as a whole.
    pub fn parse(bytes: Vec<u8>) -> Input {
        let mut scanner = Reader::with(Lists::default());
        let progress = scanner.feed(&bytes);
        Input::from_scan(bytes, scanner, progress)
    }
}

/// Keys may be written with escapes, which always makes them longer.
pub fn is_key(written: &[u8], key: &str) -> bool {
    if written.len() <= key.len() || !written.contains(&b'\\') {
        return written == key.as_bytes();
    }
    let quoted = [b"\"", written, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|text| text == key)
}

impl Input {
    fn from_scan(bytes: Vec<u8>, scanner: Reader, progress: Progress) -> Input {
        match progress {
            Progress::Done(end) => {
                let object = scanner.start()..end;
                Input::Object(Payload { bytes, object, members: scanner.into_memory().members })
            }
            Progress::More if scanner.begun() => Input::Cut(bytes),
            _ => Input::Garbage(bytes),
        }
    }

    /// Reads from standard input what comes after `begun`. The bytes read are in [`Payload::bytes`]; nothing is read beyond
    /// what the pipe held when the object was complete.
    pub fn read_after(begun: &[u8]) -> Input {
        Input::read_from(begun, &mut *standard_input())
    }

    fn read_from(begun: &[u8], source: &mut impl Read) -> Input {
        let mut scanner = Reader::with(Lists::default());
        // Most payloads fit the first page; a buffer that is not touched costs nothing.
        let mut bytes = Vec::with_capacity(begun.len().max(4096));
        bytes.extend_from_slice(begun);
        let mut progress = scanner.feed(&bytes);
        while progress == Progress::More && bytes.len() < MAX_PAYLOAD && !alarm::late() {
            match read_some(source, &mut bytes) {
                Ok(0) => break,
                Ok(_) => progress = scanner.feed(&bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        Input::from_scan(bytes, scanner, progress)
    }
}

/// Adds what one `read` gives, at most the spare room, which doubles when it is full. Reads into a buffer that the
/// allocator has zeroed: where size is optimized, `resize` writes its zeros one by one, a seventh of all the hook's
/// instructions.
fn read_some(source: &mut impl Read, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    if bytes.len() == bytes.capacity() {
        bytes.reserve(bytes.len().max(PIPE_BYTES));
    }
    let mut chunk = vec![0; (bytes.capacity() - bytes.len()).min(PIPE_BYTES)];
    let read = source.read(&mut chunk)?;
    bytes.extend_from_slice(&chunk[..read]);
    Ok(read)
}

/// Adds what else comes on standard input, until it ends, is too much, or time is up.
pub fn read_rest(mut bytes: Vec<u8>) -> Vec<u8> {
    let source = &mut *standard_input();
    while bytes.len() < MAX_PAYLOAD && !alarm::late() {
        match read_some(source, &mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    bytes
}

/// Standard input without the lock and the buffer of `std::io::stdin`; never closed by us.
#[cfg(unix)]
fn standard_input() -> ManuallyDrop<std::fs::File> {
    use std::os::fd::FromRawFd;
    // SAFETY: descriptor 0 is open (main makes sure of that), and ManuallyDrop keeps it open.
    ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(0) })
}

#[cfg(not(unix))]
fn standard_input() -> ManuallyDrop<std::io::Stdin> {
    ManuallyDrop::new(std::io::stdin())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Payload {
        match Payload::parse(text.as_bytes().to_vec()) {
            Input::Object(payload) => payload,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_of_doubled_keys_counts_and_escaped_keys_are_keys() {
        let payload = object(r#"{"session_id":"a","session\u005fid":"b","n":1,"e":""}"#);
        assert_eq!(payload.text("session_id").as_deref(), Some("b"));
        assert_eq!(payload.text("n"), None);
        assert!(!payload.has_text("e") && !payload.has_text("none") && payload.has_text("session_id"));
    }

    #[test]
    fn input_beyond_the_object_is_not_part_of_it() {
        let mut source: &[u8] = b" {\"a\":1}\n{\"b\":2}";
        let Input::Object(payload) = Input::read_from(&[], &mut source) else { panic!() };
        assert_eq!(payload.object(), b"{\"a\":1}");
    }

    #[test]
    fn a_payload_that_was_cut_is_not_garbage() {
        for (text, cut) in [("{\"a\":", true), ("", false), ("{]", false), ("nil", false), ("  ", false)] {
            match Input::read_from(&[], &mut text.as_bytes()) {
                Input::Cut(_) => assert!(cut, "{text}"),
                Input::Garbage(_) => assert!(!cut, "{text}"),
                Input::Object(_) => panic!("{text}"),
            }
        }
    }
}
