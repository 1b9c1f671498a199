//! The request of a plain event: what `notify` would send, byte for byte.
//!
//! | part | |
//! |---|---|
//! | head | as the server's thread recognizes it (`hook_request` in platform) |
//! | the client's object | as it was read, without its last brace |
//! | fields | what `notify` adds (`envelope` in notify), and the brace |

use crate::bytes::{Places, Text, find, number, same};
use crate::variables::{PLAIN, TERMINAL, Variables};

/// What the server's thread answers itself; longer requests go the ordinary way.
pub const MAX_BODY: usize = 60 << 10;
/// No event has a longer name.
const MAX_NAME: usize = 64;

/// What is known besides the payload.
#[derive(Debug)]
pub struct Facts<'a> {
    pub variables: &'a Variables<'a>,
    pub host: &'a [u8],
    pub host_id: &'a [u8],
    /// The client's process, and when it started.
    pub process: Option<(u64, Option<u64>)>,
    /// Nanoseconds since 1970.
    pub sent_at: i64,
    pub random: u64,
}

/// The content of a JSON string that has no escapes and is not empty.
pub fn plain_text(value: &[u8]) -> Option<&[u8]> {
    match value {
        [b'"', inside @ .., b'"'] if !inside.is_empty() && !inside.contains(&b'\\') => Some(inside),
        _ => None,
    }
}

/// `PreToolUse` ▶ `pre-tool-use`.
pub fn slug(text: &mut Text<'_>, name: &[u8]) -> Option<()> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || name.len() > MAX_NAME || !name.iter().all(plain) {
        return None;
    }
    for (at, byte) in name.iter().enumerate() {
        if byte.is_ascii_uppercase() && at > 0 {
            text.put(b"-")?;
        }
        text.put(&[byte.to_ascii_lowercase()])?;
    }
    Some(())
}

/// The head of the request for a body of this length.
pub fn head(text: &mut Text<'_>, name: &[u8], body: usize) -> Option<()> {
    if body > MAX_BODY {
        return None;
    }
    text.put(b"POST /hook/")?;
    slug(text, name)?;
    text.put(b" HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ")?;
    text.decimal(body as u64)?;
    text.put(b"\r\nconnection: close\r\n\r\n")
}

/// Writes the fields that are added to the payload, and its closing brace. A field that the payload has is not added.
pub fn fields(text: &mut Text<'_>, payload: &[u8], places: &Places, facts: &Facts<'_>) -> Option<()> {
    let has = |name: &[u8]| places.get(payload, name).is_some();
    let mut first = places.members().next().is_none();
    // Begins a field, unless the payload has it.
    let mut begin = |text: &mut Text<'_>, name: &[u8]| -> Option<bool> {
        if has(name) || same(name, b"host_id") && has(b"host") {
            return Some(false);
        }
        text.put(if first { b"" } else { b"," })?;
        first = false;
        text.put_all(&[b"\"", name, b"\":"])?;
        Some(true)
    };
    let variables = facts.variables;
    for (name, variable) in &PLAIN {
        if let Some(value) = variables.get(variable)
            && begin(text, name.as_bytes())?
        {
            quoted(text, value)?;
        }
    }
    let session = variables.get("CLAUDE_HEADSPACE_SESSION_ID").or_else(|| variables.get("CLAUDE_SESSION_ID"));
    if let Some(session) = session
        && begin(text, b"headspace_session_id")?
    {
        quoted(text, session)?;
    }
    if let Some((pid, start)) = facts.process {
        if begin(text, b"claude_pid")? {
            text.decimal(pid)?;
        }
        if let Some(start) = start
            && begin(text, b"claude_pid_start")?
        {
            text.decimal(start)?;
        }
    }
    if TERMINAL.iter().any(|(_, variable)| variables.get(variable).is_some()) && begin(text, b"terminal")? {
        terminal(text, variables)?;
    }
    if begin(text, b"host")? {
        quoted(text, facts.host)?;
    }
    if begin(text, b"host_id")? {
        quoted(text, facts.host_id)?;
    }
    if begin(text, b"sent_at")? {
        text.put(b"\"")?;
        stamp(text, facts.sent_at)?;
        text.put(b"\"")?;
    }
    if begin(text, b"delivery_id")? {
        text.put(b"\"")?;
        text.padded(facts.sent_at.max(0).cast_unsigned(), 16, 16)?;
        text.padded(facts.random, 16, 16)?;
        text.put(b"\"")?;
    }
    text.put(b"}")
}

fn terminal(text: &mut Text<'_>, variables: &Variables<'_>) -> Option<()> {
    let mut before: &[u8] = b"{";
    for (name, variable) in &TERMINAL {
        let Some(value) = variables.get(variable) else { continue };
        text.put_all(&[before, b"\"", name.as_bytes(), b"\":"])?;
        before = b",";
        match *name {
            "ghostty" => text.put(b"true")?,
            "tmux_socket" => quoted(text, value.split(|byte| *byte == b',').next()?)?,
            _ => quoted(text, value)?,
        }
    }
    text.put(b"}")
}

/// Writes a text as a JSON string. `None`: it has something to escape, or is not UTF-8.
fn quoted(text: &mut Text<'_>, value: &[u8]) -> Option<()> {
    let plain = |byte: &u8| *byte >= b' ' && !matches!(byte, b'"' | b'\\');
    if !value.iter().all(plain) || !value.is_ascii() && core::str::from_utf8(value).is_err() {
        return None;
    }
    text.put_all(&[b"\"", value, b"\""])
}

/// `2026-11-16T10:02:11.123456789Z`, as `Stamp` in core writes it.
pub fn stamp(text: &mut Text<'_>, nanoseconds: i64) -> Option<()> {
    const SECOND: i64 = 1_000_000_000;
    let (seconds, nanos) = (nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The civil calendar in eras of 400 years, counted from 1 March of year 0.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let mut part = |number: i64, digits: usize, after: &[u8]| {
        text.padded(number.cast_unsigned(), digits, 10)?;
        text.put(after)
    };
    part(year, 4, b"-")?;
    part(month, 2, b"-")?;
    part(day, 2, b"T")?;
    part(second / 3600, 2, b":")?;
    part(second / 60 % 60, 2, b":")?;
    part(second % 60, 2, b".")?;
    part(nanos, 9, b"Z")
}

/// When a process started, from its line in `/proc`: the twentieth field after its name, which may itself contain blanks
/// and brackets. `None` for one that has ended.
pub fn start_time(stat: &[u8]) -> Option<u64> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = stat.get(after_name..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let state = fields.next()?;
    let start = number(fields.nth(18)?)?;
    (!matches!(state, b"Z" | b"X")).then_some(start)
}

/// Whether an event is still plain with this configuration: it names no server and switches nothing on, such as the guard.
/// Words that only look like that cost nothing but the short way.
pub fn is_plain_configuration(text: &[u8], event: &[u8]) -> bool {
    let has = |word: &[u8]| find(text, word).is_some();
    // The configuration also says what a session is given at its start.
    !same(event, b"SessionStart")
        && !same(event, b"session-start")
        && !text.contains(&b'\\')
        && !has(b"\"url\"")
        && !has(b"\"enabled\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Text<'_>) -> Option<()>) -> Option<String> {
        let mut room = [0; 512];
        let mut text = Text::new(&mut room);
        write(&mut text)?;
        Some(String::from_utf8(text.into_bytes().to_vec()).unwrap())
    }

    #[test]
    fn names_become_slugs_and_odd_ones_are_not_plain() {
        for (name, expected) in [
            ("PreToolUse", Some("pre-tool-use")),
            ("Stop", Some("stop")),
            ("post-tool-use", Some("post-tool-use")),
            ("MCPCall2", Some("m-c-p-call2")),
            ("", None),
            ("A b", None),
            ("Ä", None),
        ] {
            let slug = written(|text| slug(text, name.as_bytes()));
            assert_eq!(slug.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_process_that_ended_has_no_start() {
        let line = "7 (a) b) (c) S 3 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 4242 0 0";
        assert_eq!(start_time(line.as_bytes()), Some(4242));
        assert_eq!(start_time(line.replace(" S ", " Z ").as_bytes()), None);
        assert_eq!(start_time(b"nonsense"), None);
    }

    #[test]
    fn a_configuration_that_asks_for_more_is_not_plain() {
        for (text, event, expected) in [
            ("", "PreToolUse", true),
            ("{\"port\": 5056, \"notifications\": {}}", "PreToolUse", true),
            ("{\"dashboard_url\": \"x\"}", "Stop", true),
            ("{\"guard\": {\"enabled\": true}}", "PreToolUse", false),
            ("{\"u\\u0072l\": \"http://x\"}", "Stop", false),
            ("{\"url\": \"http://x\"}", "Stop", false),
            ("{}", "SessionStart", false),
        ] {
            assert_eq!(is_plain_configuration(text.as_bytes(), event.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_with_all_their_digits() {
        assert_eq!(written(|text| text.decimal(0)).as_deref(), Some("0"));
        assert_eq!(written(|text| text.decimal(1204)).as_deref(), Some("1204"));
        assert_eq!(written(|text| text.padded(0xbeef, 8, 16)).as_deref(), Some("0000beef"));
        let stamps = [
            (1_795_000_000_123_456_789, "2026-11-18T11:06:40.123456789Z"),
            (0, "1970-01-01T00:00:00.000000000Z"),
        ];
        for (nanoseconds, expected) in stamps {
            assert_eq!(written(|text| stamp(text, nanoseconds)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let mut room = [0; 3];
        let mut text = Text::new(&mut room);
        assert_eq!(text.put(b"abcd"), None);
        assert_eq!(text.put(b"abc"), Some(()));
        assert_eq!(text.put(b"d"), None);
        assert_eq!(text.into_bytes(), b"abc");
    }
}
