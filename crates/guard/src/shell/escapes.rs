//! Backslashes: `$'…'`, `echo -e`, `printf`.

use crate::shell::parser::Parser;
use crate::shell::*;

impl Parser<'_> {
    /// After `$'`.
    pub(super) fn ansi_c(&mut self) -> Part {
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let rest = &self.bytes[self.at..];
            let Some(step) = memchr::memchr2(b'\'', b'\\', rest) else {
                bytes.extend_from_slice(rest);
                self.at = self.bytes.len();
                self.problem(Problem::OpenQuote);
                break;
            };
            bytes.extend_from_slice(&rest[..step]);
            self.at += step + 1;
            if self.bytes[self.at - 1] == b'\'' {
                break;
            }
            self.at += escape(&self.bytes[self.at..], &mut bytes, false);
            while !self.text.is_char_boundary(self.at) {
                bytes.push(self.bytes[self.at]);
                self.at += 1;
            }
        }
        // The shell's strings end at the first NUL.
        if let Some(end) = memchr::memchr(0, &bytes) {
            bytes.truncate(end);
        }
        Part::Quoted(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Decodes what follows a backslash in `$'…'`, or in `echo -e` and `printf` (where octal numbers start with a zero).
/// Returns how many bytes were consumed.
pub(crate) fn escape(rest: &[u8], out: &mut Vec<u8>, in_echo: bool) -> usize {
    let Some(&first) = rest.first() else {
        out.push(b'\\');
        return 0;
    };
    let number = |digits: &[u8], radix: u32, most: usize| {
        let length = digits.iter().take(most).take_while(|b| char::from(**b).is_digit(radix)).count();
        let value = std::str::from_utf8(&digits[..length])
            .ok()
            .and_then(|text| u32::from_str_radix(text, radix).ok())
            .unwrap_or(0);
        (value, length)
    };
    let simple = match first {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'e' | b'E' => 27,
        b'f' => 12,
        b'v' => 11,
        b'\\' | b'\'' | b'"' | b'?' => first,
        b'x' => {
            let (value, length) = number(&rest[1..], 16, 2);
            if length > 0 {
                out.push(value as u8);
                return 1 + length;
            }
            out.extend_from_slice(b"\\x");
            return 1;
        }
        b'u' | b'U' => {
            let (value, length) = number(&rest[1..], 16, if first == b'u' { 4 } else { 8 });
            let c = char::from_u32(value).filter(|_| length > 0).unwrap_or('\u{FFFD}');
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return 1 + length;
        }
        b'0'..=b'7' => {
            let most = if in_echo && first == b'0' { 4 } else { 3 };
            let (value, length) = number(rest, 8, most);
            out.push(value as u8);
            return length.max(1);
        }
        b'c' if rest.len() > 1 && !in_echo => {
            out.push(rest[1] & 0x1f);
            return 2;
        }
        _ => {
            out.extend_from_slice(&[b'\\', first]);
            return 1;
        }
    };
    out.push(simple);
    1
}
