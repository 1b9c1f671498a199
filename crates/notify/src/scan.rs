//! The reader of payloads, with memory that grows with them.

pub use headspace_shortcut::scan::{Member, Progress};
use headspace_shortcut::scan::{Memory, Scanner};

/// A reader that takes whatever comes.
pub type Reader = Scanner<Lists>;

/// On the heap, so that depth costs bytes and not the stack.
#[derive(Debug)]
pub struct Lists {
    open: Vec<u8>,
    /// The members of the outermost object, in the order of the text. A key that occurs twice is here twice.
    pub members: Vec<Member>,
}

impl Default for Lists {
    fn default() -> Lists {
        // Room for most payloads: a list that does not grow need not page in the code for growing.
        Lists { open: Vec::with_capacity(32), members: Vec::with_capacity(32) }
    }
}

impl Memory for Lists {
    fn depth(&self) -> usize {
        self.open.len()
    }

    fn innermost(&self) -> Option<u8> {
        self.open.last().copied()
    }

    fn open(&mut self, bracket: u8) -> bool {
        self.open.push(bracket);
        true
    }

    fn close(&mut self) {
        self.open.pop();
    }

    fn member(&mut self, member: Member) -> bool {
        self.members.push(member);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the bytes come from a pipe: `step` at a time.
    fn scan(bytes: &[u8], step: usize) -> (Progress, Scanner<Lists>) {
        let mut scanner = Scanner::with(Lists::default());
        let mut progress = Progress::More;
        for end in (0..bytes.len()).step_by(step).skip(1).chain([bytes.len()]) {
            progress = scanner.feed(&bytes[..end]);
            if progress != Progress::More {
                break;
            }
        }
        (progress, scanner)
    }

    #[test]
    fn the_end_is_found_however_the_bytes_arrive() {
        let text = br#" {"a":"}\"\u007d","b":[1,-0.5e+3,{"c":null}],"d":true} trailing {"#;
        let end = text.iter().rposition(|&b| b == b'}').unwrap() + 1;
        for step in 1..text.len() {
            let (progress, scanner) = scan(text, step);
            assert_eq!(progress, Progress::Done(end), "step {step}");
            assert_eq!(scanner.start(), 1);
            let members: Vec<_> = scanner
                .into_memory()
                .members
                .iter()
                .map(|m| (&text[m.key.clone()], &text[m.value.clone()]))
                .collect();
            let (a, b, d): (&[u8], &[u8], &[u8]) = (b"a", b"b", b"d");
            assert_eq!(
                members,
                [(a, &br#""}\"\u007d""#[..]), (b, &br#"[1,-0.5e+3,{"c":null}]"#[..]), (d, &b"true"[..])]
            );
        }
    }

    #[test]
    fn what_is_not_an_object_is_refused_at_once() {
        for bad in [
            "null",
            "not json",
            "[1]",
            "\"{}\"",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{\"a\":01}",
            "{\"a\":1 2}",
            "{\"a\":[1}",
            "{\"a\":+1}",
            "{\"a\":.5}",
            "{\"a\":1.}",
            "{\"a\":tru}",
            "{\"a\":\"\n\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\" 1}",
            "{\"a\":1;}",
            "]",
            "}",
        ] {
            assert_eq!(scan(bad.as_bytes(), 1).0, Progress::Bad, "{bad}");
        }
    }

    #[test]
    fn a_byte_order_mark_in_front_is_skipped() {
        let text = b"\xef\xbb\xbf {\"a\":1}";
        for step in 1..text.len() {
            let (progress, scanner) = scan(text, step);
            assert_eq!((progress, scanner.start()), (Progress::Done(text.len()), 4), "step {step}");
        }
        for bad in [&b" \xef\xbb\xbf{}"[..], b"{\xef\xbb\xbf\"a\":1}", b"\xef\xbb\xbf\xef\xbb\xbf{}"] {
            assert_eq!(scan(bad, 1).0, Progress::Bad, "{bad:?}");
        }
    }

    #[test]
    fn what_is_not_complete_wants_more() {
        let whole = br#"{"a":[1,{"b":"\u00e4\\"}],"c":-1.5e3}"#;
        for end in 0..whole.len() {
            assert_eq!(
                scan(&whole[..end], 1).0,
                Progress::More,
                "{}",
                String::from_utf8_lossy(&whole[..end])
            );
        }
    }

    #[test]
    fn depth_costs_no_stack_and_bytes_need_not_be_utf8() {
        let deep = [&b"{\"a\":"[..], &[b'['; 200_000], &[b']'; 200_000], b"}"].concat();
        assert_eq!(scan(&deep, 4096).0, Progress::Done(deep.len()));
        let foreign = b"{\"a\":\"\xff\xfe \\ud800\"}";
        assert_eq!(scan(foreign, 1).0, Progress::Done(foreign.len()));
    }
}
