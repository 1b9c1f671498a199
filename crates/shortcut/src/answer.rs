//! Reads the server's answer. Only a plain acknowledgment is understood here: an answer with something for the client is
//! for `notify`.

use crate::bytes::{Places, find, number, same, starts_with};
use crate::scan::{Progress, Scanner};

/// What an answer is so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The event is stored, and there is nothing to say.
    Stored,
    /// More of it may come.
    Part,
    /// Everything else: for `notify` to judge.
    Other,
}

pub fn read(bytes: &[u8], places: &mut Places) -> Answer {
    const START: &[u8] = b"HTTP/1.1 200 OK\r\n";
    if !starts_with(bytes, START) {
        return if starts_with(START, bytes) { Answer::Part } else { Answer::Other };
    }
    let Some(end) = find(bytes, b"\r\n\r\n") else { return Answer::Part };
    let (head, body) = (bytes.get(..end + 2).unwrap_or_default(), bytes.get(end + 4..).unwrap_or_default());
    let Some(length) = length(head) else { return Answer::Other };
    match body.get(..length) {
        None => Answer::Part,
        Some(body) if is_stored(body, places) => Answer::Stored,
        Some(_) => Answer::Other,
    }
}

/// The length of the body according to the head; `None` if the head has none, or says that the body comes in chunks.
fn length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let rest = head.get(find(head, NAME)? + NAME.len()..)?;
    let digits = rest.get(..find(rest, b"\r\n")?)?;
    find(head, b"transfer-encoding").is_none().then(|| number(digits))?.map(|length| length as usize)
}

fn is_stored(body: &[u8], places: &mut Places) -> bool {
    places.forget();
    let mut scanner = Scanner::with(&mut *places);
    if !matches!(scanner.feed(body), Progress::Done(_)) || places.has_escaped_key(body) {
        return false;
    }
    let get = |name: &[u8]| places.get(body, name);
    get(b"status").is_some_and(|status| same(status, b"\"ok\""))
        && get(b"event_id").is_some_and(|id| !same(id, b"null"))
        && get(b"hook_output").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_acknowledgment_ends_the_short_way() {
        let ok = |body: &str| {
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        let stored = ok(r#"{"status":"ok","event_id":7,"agent_id":null}"#);
        for end in 0..stored.len() {
            assert_eq!(
                read(&stored.as_bytes()[..end], &mut Places::NONE.clone()),
                Answer::Part,
                "{}",
                &stored[..end]
            );
        }
        for (answer, expected) in [
            (stored.clone(), Answer::Stored),
            (ok(r#"{"status":"ok","event_id":7,"hook_output":{}}"#), Answer::Other),
            (ok(r#"{"status":"ok","event_id":7,"hook\u005foutput":{}}"#), Answer::Other),
            (ok(r#"{"status":"ok","event_id":null}"#), Answer::Other),
            (ok(r#"{"status":"ok"}"#), Answer::Other),
            (ok(r#"{"status":"error","event_id":7}"#), Answer::Other),
            (ok("<html>"), Answer::Other),
            (ok(""), Answer::Other),
            (stored.replace("200 OK", "503 Service Unavailable"), Answer::Other),
            (stored.replace("content-length", "x-length"), Answer::Other),
            (stored.replace("content-type: application/json", "transfer-encoding: chunked"), Answer::Other),
            ("SSH-2.0\r\n".into(), Answer::Other),
        ] {
            assert_eq!(read(answer.as_bytes(), &mut Places::NONE.clone()), expected, "{answer}");
        }
    }
}
