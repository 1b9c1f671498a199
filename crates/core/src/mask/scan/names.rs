//! What stands beside a name: `name = value`, `name: value`, `name value`.

use crate::mask::assign::{self, Found, NameAt, ValueAt, name_before, value_from};
use crate::mask::bytes::{
    is_blank, is_name_byte, is_quote, line_end, next_line, run_up_to, starts_with_ignore_case,
};
use crate::mask::judge::{Style, is_resource, is_secret};
use crate::mask::names::{Kind, kind_of};
use crate::mask::recognize::{indented_end, is_about_a_kubernetes_secret, jwk_value, kubernetes_value};
use crate::mask::scan::{LONGEST_LINE, Scan, Stretch};
use crate::mask::{Secret, address, table, tell};

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
            b':' if next == b':' && bytes.get(at + 2) == Some(&b':') => {
                let hex =
                    bytes[..at].iter().rev().take(33).take_while(|byte| byte.is_ascii_hexdigit()).count();
                let hash = hex == 32 && bytes[..at - 32].ends_with(b":");
                return if hash { Secret::new("password-hash", at - 32..at) } else { None };
            }
            b':' if next == b':' || before == b':' || next == b'=' => return None,
            b':' => {
                let secret = match next {
                    b'/' | b'\\' => address::password(bytes, at),
                    b'5' | b'*' => address::pgpass(bytes, at),
                    _ => None,
                };
                let oracle = || (before == b'n').then(|| address::oracle(bytes, at))?;
                let below = || matches!(next, b'\n' | b'\r' | b'\\').then(|| assign::below(bytes, at))?;
                if let Some(secret) = secret.or_else(oracle).or_else(below) {
                    return Some(secret);
                }
                if next == b'/' && bytes.get(at + 2) == Some(&b'/') {
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
            // `ENV.fetch("NAME") { "value" }`
            b'"' | b'\'' if next != b',' => {
                let name = name_before(bytes, at)?;
                let end = at + 1 + run_up_to(bytes, at + 1, 3, |byte| matches!(byte, b')' | b']'));
                let kind = kind_of(&bytes[name.span])?;
                return self.fallback(end, kind);
            }
            // `"name", "value"`
            b'"' | b'\'' => {
                if let Some(secret) = self.looked_up(at) {
                    return Some(secret);
                }
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

    /// `getenv("NAME", "value")`, `config("NAME", cast=str, default="value")`, at the first closing quote.
    fn looked_up(&self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let name = name_before(bytes, at)?;
        let kind = kind_of(&bytes[name.span.clone()])?;
        if let Some(value) = self.default_after(at + 2) {
            return if is_secret(kind, Style::Env, &value.judged(bytes)) {
                Secret::new("secret", value.span)
            } else {
                None
            };
        }
        // `SetDefault("db.password", "value")`
        let lead = &bytes[name.span.start.saturating_sub(64)..name.span.start];
        let more =
            lead.iter().rev().take_while(|byte| is_name_byte(**byte) || matches!(byte, b'.' | b'#')).count();
        let lead = &lead[..lead.len() - more];
        let call = lead.strip_suffix(b"\"").or_else(|| lead.strip_suffix(b"'"))?;
        let call = call.strip_suffix(b"\\").unwrap_or(call).strip_suffix(b"(")?;
        const CALLS: &[&str] = &[
            "env", "get", "fetch", "config", "property", "default", "lookup", "variable", "setting",
            "orelse", "fill", "type",
        ];
        let ends = |word: &&str| {
            call.len() >= word.len() && call[call.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
        };
        let word = CALLS.iter().find(|word| ends(word))?;
        let value = value_from(bytes, at + 2).filter(|value| value.quoted)?;
        let judged = value.judged(bytes);
        // Of a form or a translation, the second one may be any word.
        let odd = *word != "get" || judged.bytes.iter().any(u8::is_ascii_digit);
        let likely = odd && !judged.bytes.contains(&b' ') && is_secret(kind, Style::Env, &judged);
        if likely { Secret::new("secret", value.span) } else { None }
    }

    /// `cast=str, default="value"`: the value of the argument of that name.
    fn default_after(&self, from: usize) -> Option<ValueAt> {
        let bytes = self.bytes;
        let rest = &bytes[from..from + run_up_to(bytes, from, 64, |byte| !matches!(byte, b'\n' | b')'))];
        let word =
            ["default=", "default_value=", "fallback=", "default: ", "default = "].into_iter().find_map(
                |word| memchr::memmem::find(rest, word.as_bytes()).map(|found| from + found + word.len()),
            )?;
        value_from(bytes, word).filter(|value| value.quoted && !bytes[value.span.clone()].contains(&b' '))
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
        match bytes[after] {
            b'.' => return aligned(bytes, after, kind),
            b'?' => return tell::answered(bytes, name.span.start, after, kind),
            _ => {}
        }
        if let Some(secret) = tell::answered(bytes, name.span.start, after, kind) {
            return Some(secret);
        }
        if bytes[..name.span.start].ends_with(b"<") {
            return element(bytes, after, kind);
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
        if let Some(secret) = self.fallback(after, kind) {
            return Some(secret);
        }
        if let Some(secret) = self.told(&name, after, kind) {
            return Some(secret);
        }
        let after = after + qualifier(&bytes[after..]);
        // `| NAME | value |`
        let between = table::to_next_cell(&bytes[after..]);
        let style = if between.is_some() { Style::Beside } else { self.beside(&name, after)? };
        let after = after + between.unwrap_or(0);
        match assign::found(bytes, kind, style, &name, after)? {
            Found::Secret(secret) => Some(secret),
            Found::Cookies(_) => None,
        }
    }

    /// A name that people use begins at `at`, and its value may follow.
    pub(super) fn at_spoken_name(&mut self, at: usize) -> Option<Secret> {
        let words = run_up_to(self.bytes, at, 16, |byte| byte.is_ascii_alphabetic() || byte == b' ');
        let name = self.bytes[at..at + words].trim_ascii_end();
        let name = ["mot de passe", "passwort", "kennwort", "passphrase", "mdp", "senha", "clave"]
            .into_iter()
            .find(|known| starts_with_ignore_case(name, known))?;
        let end = at + name.len();
        let apart = |byte: u8| is_blank(byte) || byte == b'?';
        self.bytes.get(end).copied().is_some_and(apart).then(|| self.at_name_end(end - 2))?
    }

    /// The name ends before `after`: `is X`, `(it's "X")`.
    fn told(&self, name: &NameAt, after: usize, kind: Kind) -> Option<Secret> {
        let bytes = self.bytes;
        let rest = &bytes[after..];
        // `I set SITE_PASSWORD to X`
        let set = || tell::is_set(bytes, name.span.start);
        let start = after + tell::between(rest, matches!(rest, [b' ', b't' | b'a' | 0xc3, ..]) && set())?;
        let value = value_from(bytes, start)?;
        if value.span.is_empty() || !is_secret(kind, Style::Told, &value.judged(bytes)) {
            return None;
        }
        // A remark has nothing but the value.
        let closes = || {
            let end = value.span.end
                + run_up_to(bytes, value.span.end, 4, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`'));
            matches!(bytes.get(end), Some(b')' | b',')) && (value.quoted || value.span.len() >= 8)
        };
        let remark = bytes[after..start].contains(&b'(');
        // `pass -> fail`
        let result =
            || bytes[after..start].contains(&b'>') && bytes[name.span.clone()].eq_ignore_ascii_case(b"pass");
        if remark && (kind != Kind::Password || !closes()) || result() {
            return None;
        }
        Secret::new("secret", tell::trimmed(bytes, &value))
    }

    /// ` || "X"`, `") ?: "X"`, `') { "X" }`: what counts if nothing is set by the name that ends before `after`.
    pub(super) fn fallback(&self, after: usize, kind: Kind) -> Option<Secret> {
        const WORDS: &[&str] = &[
            " || ",
            " ?? ",
            " or ",
            " ?: ",
            " { ",
            "{",
            ".unwrap_or(",
            ".unwrap_or_else(|_| ",
            ".unwrap_or_else(|_| String::from(",
            ".unwrap_or_else(||",
            ".unwrap_or_else(|| ",
            ".getOrElse(",
            ".orElse(",
            " | default(",
            " | default ",
            "|default(",
            ".fill(",
            ".type(",
            ".sendKeys(",
            ".send_keys(",
            ".setValue(",
            " default ",
        ];
        let bytes = self.bytes;
        let rest = &bytes[after..];
        let word =
            WORDS.iter().filter(|word| rest.starts_with(word.as_bytes())).max_by_key(|word| word.len())?;
        let value = value_from(bytes, after + word.len()).filter(|value| value.quoted)?;
        let judged = value.judged(bytes);
        let likely = !judged.bytes.contains(&b' ') && is_secret(kind, Style::Env, &judged);
        if likely { Secret::new("secret", value.span) } else { None }
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
        let mut words = words.filter(|word| !word.is_empty());
        let netrc = apart
            && match words.nth(1) {
                Some(b"account") => words.nth(1) == Some(b"login"),
                word => word == Some(b"login"),
            };
        // A line of settings: `requirepass …`
        let slashes = run_up_to(bytes, value.span.end, 8, |byte| byte == b'\\');
        let end = value.span.end + if value.quoted { slashes + 1 } else { 0 };
        let ended = end >= bytes.len() || next_line(bytes, end) > end || bytes[end] == b'"';
        let text = &bytes[value.span.clone()];
        let telling = (value.quoted || text.iter().any(u8::is_ascii_digit)) && !is_resource(text);
        let defined = value.quoted && bytes[..name.span.start].trim_ascii_end().ends_with(b"#define");
        let setting = defined || ended && telling && assign::owns_line(bytes, name.span.start);
        let password = || kind_of(&bytes[name.span.clone()]) == Some(Kind::Password);
        Some(match () {
            () if option || sql || netrc => Style::Env,
            () if setting && password() => Style::Line,
            () if password() && tell::announced(bytes, name.span.start) => Style::Told,
            () => Style::Beside,
        })
    }
}

/// `password........"X"`, `secret......: X`: a list of settings that dots align. They begin at `from`.
fn aligned(bytes: &[u8], from: usize, kind: Kind) -> Option<Secret> {
    let dots = run_up_to(bytes, from, 128, |byte| byte == b'.');
    let end = from + dots;
    let blanks = run_up_to(bytes, end, 4, is_blank);
    let colon = matches!(bytes.get(end + blanks), Some(b':' | b'='));
    let value = value_from(bytes, if colon { end + blanks + 1 } else { end })?;
    // `Checking the password.... done`
    let style = if colon || value.quoted { Style::Line } else { Style::Beside };
    let blank = bytes[value.span.clone()].contains(&b' ');
    if dots >= 4 && !blank && is_secret(kind, style, &value.judged(bytes)) {
        Secret::new("secret", value.whole(bytes))
    } else {
        None
    }
}

/// `<Pass>X</Pass>`, `<Pass encoding="base64">X</Pass>`: the text of the element whose name ends before `after`.
fn element(bytes: &[u8], after: usize, kind: Kind) -> Option<Secret> {
    let attributes = run_up_to(bytes, after, 128, |byte| !matches!(byte, b'<' | b'>' | b'\n'));
    let start = after + attributes + 1;
    if bytes.get(start - 1) != Some(&b'>') || bytes[after..start - 1].ends_with(b"/") {
        return None;
    }
    let length = run_up_to(bytes, start, 512, |byte| byte != b'<' && byte != b'\n');
    let closed = bytes[start + length..].starts_with(b"</");
    let value = ValueAt { span: start..start + length, quoted: true };
    let likely = closed && is_secret(kind, Style::Data, &value.judged(bytes));
    if likely { Secret::new("secret", value.span) } else { None }
}

/// ` 7`, ` ascii-text`: how network devices say in what form a secret follows.
fn qualifier(rest: &[u8]) -> usize {
    const WORDS: &[&[u8]] = &[
        b" 0 ",
        b" 5 ",
        b" 7 ",
        b" 8 ",
        b" 9 ",
        b" ENC ",
        b" ascii-text ",
        b" hexadecimal ",
        b" ascii 0 ",
        b" local ",
        b" remote ",
    ];
    WORDS.iter().find(|word| rest.starts_with(word)).map_or(0, |word| word.len() - 1)
}
