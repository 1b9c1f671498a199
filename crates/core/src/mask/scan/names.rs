//! What stands beside a name: `name = value`, `name: value`, `name value`.

use crate::mask::assign::{self, Found, NameAt, name_before, value_from};
use crate::mask::bytes::{is_blank, is_quote, line_end, next_line, run_up_to};
use crate::mask::judge::{Style, is_secret};
use crate::mask::names::{Kind, kind_of};
use crate::mask::recognize::{indented_end, is_about_a_kubernetes_secret, jwk_value, kubernetes_value};
use crate::mask::scan::{LONGEST_LINE, Scan, Stretch};
use crate::mask::{Secret, address, table};

impl Scan<'_> {
    pub(super) fn at_separator(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        if let Some(stretch) = &self.stretch {
            if at >= stretch.span().end {
                self.stretch = None;
            } else if at >= stretch.span().start {
                let found = match stretch {
                    Stretch::Cookies(list) if bytes[at] == b'=' => assign::cookie(bytes, at, list),
                    Stretch::Kubernetes(data) if bytes[at] == b':' => kubernetes_value(bytes, at, data),
                    Stretch::Jwk(_) if bytes[at] == b':' => jwk_value(bytes, at),
                    _ => None,
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        let next = bytes[at + 1];
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let separator = match bytes[at] {
            b'=' if next == b'=' => return self.compared(at),
            b'=' if next == b'~' || b"=!<>+*/%^~|&-".contains(&before) => return None,
            b'=' if next == b'>' => at..at + 2,
            b':' if next == b':' || before == b':' || next == b'=' => return None,
            b':' => {
                if let Some(secret) = address::password(bytes, at)
                    .or_else(|| address::oracle(bytes, at))
                    .or_else(|| address::pgpass(bytes, at))
                    .or_else(|| assign::below(bytes, at))
                {
                    return Some(secret);
                }
                if bytes[at + 1..].starts_with(b"//") {
                    return None;
                }
                at..at + 1
            }
            b'%' => {
                if let Some(secret) = address::encoded(bytes, at) {
                    return Some(secret);
                }
                if !matches!(bytes.get(at + 2), Some(b'D' | b'd' | b'A' | b'a')) {
                    return None;
                }
                at..at + 3
            }
            // `"name", "value"`
            b'"' | b'\'' => {
                let start = at + 2 + run_up_to(bytes, at + 2, 16, is_blank);
                let quote = start + run_up_to(bytes, start, 4, |byte| byte == b'\\');
                if !bytes.get(quote).copied().is_some_and(is_quote) {
                    return None;
                }
                at + 1..at + 2
            }
            _ => at..at + 1,
        };
        if self.stretch.is_none() && (self.opens_kubernetes_data(at) || self.opens_jwk(at)) {
            return None;
        }
        match assign::assigned(bytes, separator)? {
            Found::Secret(secret) => Some(secret),
            Found::Cookies(span) => {
                self.stretch.get_or_insert(Stretch::Cookies(span));
                None
            }
        }
    }

    /// `password == "SECRET"`, at the first sign.
    fn compared(&self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let after = at + 2 + run_up_to(bytes, at + 2, 1, |byte| byte == b'=');
        let name = name_before(bytes, at)?;
        let value = value_from(bytes, after).filter(|value| value.quoted)?;
        let judged = value.judged(bytes);
        let likely = kind_of(&bytes[name.span]) == Some(Kind::Password)
            && judged.bytes.iter().any(u8::is_ascii_digit)
            && !judged.bytes.contains(&b' ')
            && is_secret(Kind::Password, Style::Line, &judged);
        if likely { Secret::new("secret", value.span) } else { None }
    }

    /// `data:` in a text about a Kubernetes secret.
    fn opens_kubernetes_data(&mut self, at: usize) -> bool {
        let bytes = self.bytes;
        if bytes[at] != b':' {
            return false;
        }
        let Some(name) = name_before(bytes, at) else { return false };
        let text = &bytes[name.span];
        if text != b"data" && text != b"stringData" {
            return false;
        }
        let known = match self.kubernetes {
            Some(known) => known,
            None => *self.kubernetes.insert(is_about_a_kubernetes_secret(bytes)),
        };
        if !known {
            return false;
        }
        let after = at + 1 + run_up_to(bytes, at + 1, 16, |byte| is_blank(byte) || byte == b'\n');
        let end = match bytes.get(after) {
            Some(b'{') => after + run_up_to(bytes, after, 64 << 10, |byte| byte != b'}'),
            _ => indented_end(bytes, line_end(bytes, at, LONGEST_LINE)),
        };
        self.stretch = Some(Stretch::Kubernetes(at + 1..end));
        true
    }

    /// `"kty":`, the first field of a key in JSON.
    fn opens_jwk(&mut self, at: usize) -> bool {
        let bytes = self.bytes;
        let named = |name: NameAt| name.quoted && &bytes[name.span] == b"kty";
        if bytes[at] != b':' || !name_before(bytes, at).is_some_and(named) {
            return false;
        }
        let length = run_up_to(bytes, at, 8 << 10, |byte| byte != b'}');
        self.stretch = Some(Stretch::Jwk(at + 1..at + length));
        true
    }

    /// The last two letters of a name are at `at`, and a blank or `>` follows.
    pub(super) fn at_name_end(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let after = at + 2;
        let name = name_before(bytes, after)?;
        let text = &bytes[name.span.clone()];
        let kind = kind_of(text).or_else(|| {
            text.eq_ignore_ascii_case(b"key").then(|| assign::two_words(bytes, name.span.start)).flatten()
        })?;
        if matches!(kind, Kind::Authorization | Kind::Cookie) {
            return None;
        }
        // `<property name="password">` ends with a quote, as it is or as JSON writes it.
        let quote = run_up_to(bytes, after, 8, |byte| matches!(byte, b'\\' | b'"'));
        if quote > 0 && bytes.get(after + quote) != Some(&b'>') {
            return None;
        }
        let after = after + quote;
        if bytes[after] == b'>' {
            let lead = &bytes[name.span.start.saturating_sub(96)..name.span.start];
            let tag = memchr::memrchr2(b'<', b'>', lead).map_or(&[][..], |at| &lead[at..]);
            let named = [&b"name="[..], b"key="].iter().any(|word| memchr::memmem::find(tag, word).is_some());
            let opened = if quote > 0 { tag.starts_with(b"<") && named } else { tag == b"<" };
            let length = run_up_to(bytes, after + 1, 512, |byte| byte != b'<' && byte != b'\n');
            let closed = bytes[after + 1 + length..].starts_with(b"</");
            let value = assign::ValueAt { span: after + 1..after + 1 + length, quoted: true };
            return if opened && closed && is_secret(kind, Style::Data, &value.judged(bytes)) {
                Secret::new("secret", value.span)
            } else {
                None
            };
        }
        // `| NAME | value |`, `the password is value`, and how MySQL says it.
        const BETWEEN: [&[u8]; 3] = [b" is generated for root@localhost: ", b" is ", b" is: "];
        let words = BETWEEN.into_iter().find(|words| bytes[after..].starts_with(words)).map(<[u8]>::len);
        let words = words.or_else(|| told(&bytes[after..]));
        let between = words.or_else(|| table::to_next_cell(&bytes[after..]));
        let style = if between.is_some() { Style::Beside } else { self.beside(&name, after)? };
        let after = after + between.unwrap_or(0);
        match assign::found(bytes, kind, style, &name, after)? {
            Found::Secret(secret) => Some(secret),
            Found::Cookies(_) => None,
        }
    }

    /// How significant `name value` is, by its surroundings.
    pub(super) fn beside(&self, name: &NameAt, after: usize) -> Option<Style> {
        let bytes = self.bytes;
        let value = value_from(bytes, after)?;
        if matches!(bytes[value.span.start.min(bytes.len() - 1)], b'-' | b'=' | b':') && !value.quoted {
            return None;
        }
        let option = bytes[name.span.start] == b'-';
        let sql = value.quoted && bytes[value.span.start - 1] == b'\'';
        // A .netrc: `login me password …`
        let from = name.span.start.saturating_sub(96);
        let lead = &bytes[from..name.span.start];
        let mut words = lead.split(u8::is_ascii_whitespace).rev();
        let apart = words.next() == Some(b"");
        let netrc = apart && words.filter(|word| !word.is_empty()).nth(1) == Some(b"login");
        // A line of settings: `requirepass …`
        let slashes = run_up_to(bytes, value.span.end, 8, |byte| byte == b'\\');
        let end = value.span.end + if value.quoted { slashes + 1 } else { 0 };
        let ended = end >= bytes.len() || next_line(bytes, end) > end;
        let telling = value.quoted || bytes[value.span.clone()].iter().any(u8::is_ascii_digit);
        let setting = ended && telling && assign::owns_line(bytes, name.span.start);
        let password = || kind_of(&bytes[name.span.clone()]) == Some(Kind::Password);
        Some(match () {
            () if option || sql || netrc => Style::Env,
            () if setting && password() => Style::Line,
            () => Style::Beside,
        })
    }
}

/// ` for staging is `: how far the value is from a name that people talk about.
fn told(rest: &[u8]) -> Option<usize> {
    let talks = [&b" for "[..], b" of ", b" on ", b" to "].iter().any(|word| rest.starts_with(word));
    let words =
        run_up_to(rest, 0, 48, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_'));
    talks.then(|| memchr::memmem::find(&rest[..words], b" is "))?.map(|at| at + 4)
}
