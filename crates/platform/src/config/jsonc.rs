//! JSON as people write it, with comments and trailing commas.

/// Strict JSON: comments and trailing commas are overwritten with blanks, so that every position an error names is the
/// position in the user's file.
pub fn strict_json(text: &str) -> String {
    let mut out: Vec<u8> = text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes().to_vec();
    let mut comma: Option<usize> = None;
    let mut i = 0;
    while i < out.len() {
        match out[i] {
            b'"' => {
                comma = None;
                i += 1;
                while i < out.len() && out[i] != b'"' {
                    i += if out[i] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if out.get(i + 1) == Some(&b'/') => {
                while i < out.len() && out[i] != b'\n' {
                    out[i] = b' ';
                    i += 1;
                }
                continue;
            }
            b'/' if out.get(i + 1) == Some(&b'*') => {
                let end = memchr::memmem::find(&out[i + 2..], b"*/").map_or(out.len(), |at| i + 4 + at);
                for byte in &mut out[i..end] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
                i = end;
                continue;
            }
            b',' => comma = Some(i),
            b'}' | b']' => {
                if let Some(at) = comma.take() {
                    out[at] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        i += 1;
    }
    // Only whole characters outside of strings were blanked, so this is still UTF-8.
    String::from_utf8(out).unwrap_or_default()
}
