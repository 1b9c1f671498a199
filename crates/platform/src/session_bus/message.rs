//! Messages of the D-Bus protocol, as far as notifications need them: what is sent is built here, what is received is read
//! here. Bytes from the bus are foreign: every length is checked, nothing is allocated because a message says so.

use std::fmt;

/// A notification's signals and replies are a few hundred bytes. The bus itself allows 128 MiB.
pub const MAX_MESSAGE: usize = 256 * 1024;

const FIXED_HEADER: usize = 16;
const CALL: u8 = 1;

const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Call,
    Return,
    Error,
    Signal,
    /// A kind that a later protocol has.
    Other,
}

/// A received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: Kind,
    pub interface: String,
    pub member: String,
    pub error_name: String,
    /// The call that it answers.
    pub reply_serial: Option<u32>,
    signature: String,
    body: Vec<u8>,
    big_endian: bool,
}

/// What the bus sent is not D-Bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a D-Bus message: {}", self.0)
    }
}

impl Message {
    /// The first message in `bytes` and its length; `None` while it is not whole.
    pub fn read(bytes: &[u8]) -> Result<Option<(Message, usize)>, Malformed> {
        let Some(fixed) = bytes.get(..FIXED_HEADER) else { return Ok(None) };
        let big_endian = match fixed[0] {
            b'l' => false,
            b'B' => true,
            _ => return Err(Malformed("neither byte order")),
        };
        let mut head = Reader { bytes: fixed, at: 4, big_endian };
        let (body_length, _serial, fields_length) = (head.u32()?, head.u32()?, head.u32()?);
        let fields_end = FIXED_HEADER.saturating_add(fields_length as usize);
        let body_start = fields_end.saturating_add(7) & !7;
        let end = body_start.saturating_add(body_length as usize);
        if end > MAX_MESSAGE {
            return Err(Malformed("too long"));
        }
        let Some(whole) = bytes.get(..end) else { return Ok(None) };
        let kind = match fixed[1] {
            CALL => Kind::Call,
            2 => Kind::Return,
            3 => Kind::Error,
            4 => Kind::Signal,
            _ => Kind::Other,
        };
        let mut message = Message {
            kind,
            interface: String::new(),
            member: String::new(),
            error_name: String::new(),
            reply_serial: None,
            signature: String::new(),
            body: whole[body_start..].to_vec(),
            big_endian,
        };
        let mut fields = Reader { bytes: &whole[..fields_end], at: FIXED_HEADER, big_endian };
        while fields.at < fields_end {
            fields.align(8)?;
            let code = fields.byte()?;
            match fields.signature()? {
                "s" | "o" => {
                    let text = fields.string()?.to_owned();
                    match code {
                        INTERFACE => message.interface = text,
                        MEMBER => message.member = text,
                        ERROR_NAME => message.error_name = text,
                        _ => {}
                    }
                }
                "g" => {
                    let text = fields.signature()?.to_owned();
                    if code == SIGNATURE {
                        message.signature = text;
                    }
                }
                "u" => {
                    let number = fields.u32()?;
                    if code == REPLY_SERIAL {
                        message.reply_serial = Some(number);
                    }
                }
                _ => return Err(Malformed("a header field of an unknown type")),
            }
        }
        Ok(Some((message, end)))
    }

    fn body(&self) -> Reader<'_> {
        Reader { bytes: &self.body, at: 0, big_endian: self.big_endian }
    }

    /// The first number of the body.
    pub fn number(&self) -> Option<u32> {
        self.signature.starts_with('u').then(|| self.body().u32().ok()).flatten()
    }

    /// The text of the body: its first value, or the second after a number.
    pub fn text(&self) -> Option<String> {
        let mut body = self.body();
        if self.signature.starts_with("us") {
            body.u32().ok()?;
        } else if !self.signature.starts_with('s') {
            return None;
        }
        body.string().ok().map(str::to_owned)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    big_endian: bool,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(length).ok_or(Malformed("too long"))?;
        let taken = self.bytes.get(self.at..end).ok_or(Malformed("a value beyond its end"))?;
        self.at = end;
        Ok(taken)
    }

    fn align(&mut self, to: usize) -> Result<(), Malformed> {
        self.take(self.at.next_multiple_of(to) - self.at).map(|_| ())
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.align(4)?;
        let mut four = [0; 4];
        four.copy_from_slice(self.take(4)?);
        Ok(if self.big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    }

    fn string(&mut self) -> Result<&'a str, Malformed> {
        let length = self.u32()? as usize;
        let text = self.take(length)?;
        self.take(1)?;
        std::str::from_utf8(text).map_err(|_| Malformed("a text that is not UTF-8"))
    }

    fn signature(&mut self) -> Result<&'a str, Malformed> {
        let length = self.byte()? as usize;
        let text = self.take(length)?;
        self.take(1)?;
        std::str::from_utf8(text).map_err(|_| Malformed("a signature that is not text"))
    }
}

/// The values of a call, in the order of its signature.
#[derive(Debug, Default)]
pub struct Body {
    signature: String,
    bytes: Vec<u8>,
}

/// A value of a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    Byte(u8),
    Text(String),
}

impl Body {
    pub fn u32(mut self, number: u32) -> Body {
        self.signature.push('u');
        put_u32(&mut self.bytes, number);
        self
    }

    pub fn i32(mut self, number: i32) -> Body {
        self.signature.push('i');
        put_u32(&mut self.bytes, number.cast_unsigned());
        self
    }

    pub fn text(mut self, text: &str) -> Body {
        self.signature.push('s');
        put_string(&mut self.bytes, text);
        self
    }

    pub fn texts(mut self, texts: &[&str]) -> Body {
        self.signature.push_str("as");
        put_array(&mut self.bytes, 4, |bytes| texts.iter().for_each(|text| put_string(bytes, text)));
        self
    }

    pub fn hints(mut self, hints: &[(&str, Hint)]) -> Body {
        self.signature.push_str("a{sv}");
        put_array(&mut self.bytes, 8, |bytes| {
            for (name, hint) in hints {
                pad(bytes, 8);
                put_string(bytes, name);
                match hint {
                    Hint::Byte(byte) => {
                        put_signature(bytes, "y");
                        bytes.push(*byte);
                    }
                    Hint::Text(text) => {
                        put_signature(bytes, "s");
                        put_string(bytes, text);
                    }
                }
            }
        });
        self
    }
}

/// A method of an object on the bus.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a> {
    pub destination: &'a str,
    pub path: &'a str,
    pub interface: &'a str,
    pub member: &'a str,
}

impl Method<'_> {
    /// The bytes of a call.
    pub fn call(&self, serial: u32, body: &Body) -> Vec<u8> {
        let mut bytes = vec![b'l', CALL, 0, 1];
        put_u32(&mut bytes, body.bytes.len() as u32);
        put_u32(&mut bytes, serial);
        put_array(&mut bytes, 8, |bytes| {
            for (code, kind, text) in [
                (PATH, "o", self.path),
                (INTERFACE, "s", self.interface),
                (MEMBER, "s", self.member),
                (DESTINATION, "s", self.destination),
            ] {
                pad(bytes, 8);
                bytes.push(code);
                put_signature(bytes, kind);
                put_string(bytes, text);
            }
            if !body.signature.is_empty() {
                pad(bytes, 8);
                bytes.push(SIGNATURE);
                put_signature(bytes, "g");
                put_signature(bytes, &body.signature);
            }
        });
        pad(&mut bytes, 8);
        bytes.extend_from_slice(&body.bytes);
        bytes
    }
}

fn pad(bytes: &mut Vec<u8>, to: usize) {
    bytes.resize(bytes.len().next_multiple_of(to), 0);
}

fn put_u32(bytes: &mut Vec<u8>, number: u32) {
    pad(bytes, 4);
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// A zero in it would end the connection.
fn put_string(bytes: &mut Vec<u8>, text: &str) {
    let text = text.replace('\0', "");
    put_u32(bytes, text.len() as u32);
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
}

fn put_signature(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(text.len() as u8);
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
}

/// The length of an array is that of its elements, without the padding before the first.
fn put_array(bytes: &mut Vec<u8>, align: usize, elements: impl FnOnce(&mut Vec<u8>)) {
    put_u32(bytes, 0);
    let length_at = bytes.len() - 4;
    pad(bytes, align);
    let start = bytes.len();
    elements(bytes);
    let length = (bytes.len() - start) as u32;
    bytes[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: Method<'_> = Method { destination: "a.b", path: "/a/b", interface: "a.b", member: "Do" };

    #[test]
    fn what_is_built_can_be_read() {
        let body = Body::default()
            .u32(7)
            .text("héllo\0")
            .texts(&["a", "", "ccc"])
            .hints(&[("urgency", Hint::Byte(2)), ("sound-name", Hint::Text("bell".into()))]);
        let bytes = METHOD.call(3, &body.i32(-1));
        let (message, length) = Message::read(&bytes).unwrap().unwrap();
        assert_eq!(length, bytes.len());
        assert_eq!(
            (message.kind, message.interface.as_str(), message.member.as_str(), message.signature.as_str()),
            (Kind::Call, "a.b", "Do", "usasa{sv}i")
        );
        assert_eq!((message.number(), message.text().as_deref()), (Some(7), Some("héllo")));
    }

    #[test]
    fn a_message_that_is_not_whole_is_waited_for_and_what_follows_is_left_alone() {
        let bytes = METHOD.call(1, &Body::default().text("x"));
        for end in 0..bytes.len() {
            assert_eq!(Message::read(&bytes[..end]), Ok(None), "{end}");
        }
        let two = [bytes.as_slice(), b"l\x02"].concat();
        assert_eq!(Message::read(&two).unwrap().unwrap().1, bytes.len());
    }

    #[test]
    fn an_answer_of_either_byte_order() {
        let answer = |order: u8, number: fn(u32) -> [u8; 4]| {
            let mut bytes = vec![order, 2, 1, 1];
            for part in [number(4), number(9), number(15), [5, 1, b'u', 0], number(3), [8, 1, b'g', 0]] {
                bytes.extend_from_slice(&part);
            }
            bytes.extend_from_slice(&[1, b'u', 0, 0]);
            bytes.extend_from_slice(&number(41));
            bytes
        };
        for bytes in [answer(b'l', u32::to_le_bytes), answer(b'B', u32::to_be_bytes)] {
            let (message, _) = Message::read(&bytes).unwrap().unwrap();
            assert_eq!(
                (message.kind, message.reply_serial, message.number()),
                (Kind::Return, Some(3), Some(41))
            );
        }
    }

    #[test]
    fn nothing_malformed_is_believed() {
        let mut huge = METHOD.call(1, &Body::default());
        huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Message::read(&huge), Err(Malformed("too long")));
        let mut beyond = METHOD.call(1, &Body::default());
        beyond[20..24].copy_from_slice(&1_000u32.to_le_bytes());
        assert_eq!(Message::read(&beyond), Err(Malformed("a value beyond its end")));
        assert!(Message::read(&[b'x'; 16]).is_err());
    }
}
