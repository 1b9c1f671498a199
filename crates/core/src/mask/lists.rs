//! Secrets that only the words before them tell: lists of users with their passwords, recovery codes, the literals of a
//! Kubernetes secret, Capistrano's settings.

use crate::mask::Secret;
use crate::mask::assign::{ValueAt, value_from};
use crate::mask::bytes::{is_blank, is_name_byte, line_end, next_line, run_up_to, starts_with_ignore_case};
use crate::mask::judge::{Style, is_secret};
use crate::mask::names::{Kind, kind_of};
use std::collections::VecDeque;
use std::ops::Range;

const LONGEST_LINE: usize = 512;
const MOST_LINES: usize = 64;
/// Between the words and the list: `list: |`, a blank line, a remark.
const MOST_BEFORE: usize = 2;

/// The lists, each by the words before it and what one of its lines has.
const LISTS: &[(&str, Line)] = &[
    ("chpasswd", Line::Colon),
    ("userlist.txt", Line::Quoted),
    ("recovery codes", Line::Codes),
    ("backup codes", Line::Codes),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// `user:SECRET`
    Colon,
    /// `"user" "SECRET"`
    Quoted,
    /// One or more codes, all made alike.
    Codes,
}

/// The secrets on the lines below the words at `at`.
pub fn below(bytes: &[u8], at: usize) -> VecDeque<Secret> {
    let row = LISTS.iter().find(|(words, _)| starts_with_ignore_case(&bytes[at..], words));
    let Some((_, kind)) = row else { return VecDeque::new() };
    let (mut found, mut before, mut shape) = (Vec::new(), 0, None);
    let mut end = line_end(bytes, at, LONGEST_LINE);
    // `chpasswd:` in a file of cloud-init, `chpasswd <<EOF`
    let rest = bytes[at..end].get("chpasswd".len()..).unwrap_or_default();
    let fed = rest.trim_ascii() == b":" || memchr::memmem::find(rest, b"<<").is_some();
    if *kind == Line::Colon && !fed {
        return VecDeque::new();
    }
    for _ in 0..MOST_LINES {
        let line = next_line(bytes, end);
        if line == end {
            break;
        }
        end = line_end(bytes, line, LONGEST_LINE);
        let start = line + run_up_to(bytes, line, 32, is_blank);
        let dash = if bytes[start..].starts_with(b"- ") { 2 } else { 0 };
        let secrets = match kind {
            Line::Colon => of_user(bytes, start + dash..end),
            Line::Quoted => of_quoted_user(bytes, start..end),
            Line::Codes => codes(bytes, start + dash..end, &mut shape),
        };
        match secrets {
            Some(more) => found.extend(more),
            None if found.is_empty() && before < MOST_BEFORE && may_precede(*kind, &bytes[start..end]) => {
                before += 1;
            }
            None => break,
        }
    }
    // One code alone may be any word.
    let secret = |span: Range<usize>| Secret::new("password", span);
    let enough = *kind != Line::Codes || found.len() >= 2;
    found.into_iter().filter(|_| enough).filter_map(secret).collect()
}

/// Whether such a line may be between the words and the list.
fn may_precede(kind: Line, line: &[u8]) -> bool {
    kind != Line::Colon || line.starts_with(b"list:") || line.starts_with(b"expire:")
}

/// `root:SECRET`; nothing if there is only a mask, or what a program is to make up.
fn of_user(bytes: &[u8], line: Range<usize>) -> Option<Vec<Range<usize>>> {
    let text = &bytes[line.clone()];
    let name = run_up_to(text, 0, 40, |byte| is_name_byte(byte) || byte == b'.');
    let rest = text.get(name..)?.strip_prefix(b":").filter(|rest| name > 0 && !rest.is_empty())?;
    let length = run_up_to(rest, 0, 128, |byte| byte > b' ' && byte < 0x7f && byte != b'"');
    let start = line.start + name + 1;
    let value = ValueAt { span: start..start + length, quoted: true };
    let alone = length == rest.len() || rest[length] == b'"';
    let told = alone && is_secret(Kind::Password, Style::Env, &value.judged(bytes));
    alone.then(|| told.then_some(value.span).into_iter().collect())
}

fn of_quoted_user(bytes: &[u8], line: Range<usize>) -> Option<Vec<Range<usize>>> {
    let user = value_from(bytes, line.start).filter(|user| user.quoted)?;
    let slashes = run_up_to(bytes, user.span.end, 8, |byte| byte == b'\\');
    let after = user.span.end + slashes + 1;
    let apart = bytes.get(after).copied().is_some_and(is_blank);
    let value = value_from(bytes, after).filter(|value| apart && value.quoted)?;
    let told = is_secret(Kind::Password, Style::Data, &value.judged(bytes));
    Some(told.then_some(value.span).into_iter().collect())
}

/// The lengths of a code's groups, each zero if there is none.
type Shape = [usize; 4];

/// `apkog-wptxk kxizc-ieufj`, `1. 9f3c-77ab`: the codes of a line, if all are made like `shape`, the first one.
fn codes(bytes: &[u8], line: Range<usize>, shape: &mut Option<Shape>) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = line.start;
    while at < line.end {
        at += run_up_to(&bytes[..line.end], at, 32, is_blank);
        let length = run_up_to(&bytes[..line.end], at, 40, |byte| {
            byte > b' ' && !matches!(byte, b'"' | b'\\' | b'|' | b'<')
        });
        if length == 0 {
            break;
        }
        let word = &bytes[at..at + length];
        // `1.`, `2)`
        let number = length <= 3 && word[..length - 1].iter().all(u8::is_ascii_digit);
        if !(number && at == line.start) {
            code(word).filter(|this| *shape.get_or_insert(*this) == *this)?;
            found.push(at..at + length);
        }
        at += length;
    }
    (!found.is_empty()).then_some(found)
}

/// Two groups or more of the same length, or one with digits.
fn code(word: &[u8]) -> Option<Shape> {
    let mut shape = [0; 4];
    let mut groups = 0;
    for group in word.split(|byte| *byte == b'-') {
        *shape.get_mut(groups)? = group.len();
        groups += 1;
        if !(4..=16).contains(&group.len()) || !group.iter().all(u8::is_ascii_alphanumeric) {
            return None;
        }
    }
    let digits = word.iter().any(u8::is_ascii_digit);
    let same = shape[..groups].iter().all(|length| *length == shape[0]);
    let letters = word.iter().any(u8::is_ascii_uppercase) && word.iter().any(u8::is_ascii_lowercase);
    (same && if groups == 1 { digits && word.len() >= 8 } else { digits || !letters }).then_some(shape)
}

/// The values of `--from-literal=name=SECRET`, after `create secret generic` at `at`.
pub fn literals(bytes: &[u8], at: usize) -> VecDeque<Secret> {
    const WORDS: &str = "create secret generic ";
    const OPTION: &[u8] = b"--from-literal";
    const PUBLIC: &[&str] = &["user", "username", "host", "hostname", "url", "email", "login", "database"];
    let mut found = VecDeque::new();
    if !bytes[at..].starts_with(WORDS.as_bytes()) {
        return found;
    }
    let limit = &bytes[..bytes.len().min(at + 4096)];
    let mut from = at + WORDS.len();
    while let Some(option) = memchr::memmem::find(&limit[from..], OPTION).map(|found| from + found) {
        let lead = &limit[from..option];
        // Another command, unless the line goes on below.
        let ends = |at: usize| {
            let end = matches!(lead[at], b'\n' | b';' | b'|' | b'&');
            end && !(lead[at] == b'\n' && lead[..at].ends_with(b"\\"))
        };
        if (0..lead.len()).any(ends) {
            break;
        }
        from = option + OPTION.len();
        let start = from + run_up_to(limit, from, 4, |byte| matches!(byte, b' ' | b'=' | b'\'' | b'"'));
        let name = run_up_to(limit, start, 80, |byte| is_name_byte(byte) || byte == b'.');
        if limit.get(start + name) != Some(&b'=') {
            continue;
        }
        let Some(value) = value_from(limit, start + name + 1) else { break };
        let name = &limit[start..start + name];
        let public = PUBLIC.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        let kind = kind_of(name).unwrap_or(Kind::Password);
        let style = if kind_of(name).is_some() { Style::Env } else { Style::Beside };
        let telling = !matches!(kind, Kind::Authorization | Kind::Cookie | Kind::Seed);
        // `db-7f9c4d.acme.internal:5432`
        let host = style == Style::Beside && limit[value.span.clone()].contains(&b'.');
        if telling && !public && !host && is_secret(kind, style, &value.judged(limit)) {
            found.extend(Secret::new("secret", value.whole(bytes)));
        }
    }
    found
}

/// `set :rollbar_token, 'SECRET'`, a setting of Capistrano and Sinatra, at `set`.
pub fn set(bytes: &[u8], at: usize) -> Option<Secret> {
    let start = at + bytes[at..].starts_with(b"set :").then_some("set :".len())?;
    let end = start + run_up_to(bytes, start, 80, is_name_byte);
    let kind = kind_of(&bytes[start..end]).filter(|_| bytes.get(end) == Some(&b','))?;
    let value = value_from(bytes, end + 1).filter(|value| value.quoted)?;
    let telling = matches!(kind, Kind::Password | Kind::Secret | Kind::Key | Kind::QuietKey);
    let likely = telling && is_secret(kind, Style::Data, &value.judged(bytes));
    if likely { Secret::new("secret", value.span) } else { None }
}

#[cfg(test)]
mod tests {
    use crate::mask::text;

    /// Each secret is between `«` and `»`.
    const MASKED: &[&str] = &[
        "chpasswd:\n  list: |\n    ops:«KHnGohD7VCMT1Q»\n    web:RANDOM\n    db:«Sommer-24-Rot»\n  expire: false",
        "chpasswd:\n  list:\n    - root:«KHnGohD7VCMT1Q»",
        "chpasswd <<EOF\nroot:«KHnGohD7VCMT1Q»\nEOF",
        "cat /etc/pgbouncer/userlist.txt\n\"app\" \"«EjVOFjTwrvQlYC7pqp»\"\n\"stats\" \"«regenbogen12»\"",
        "Your recovery codes:\n«apkog-wptxk»\n«kxizc-ieufj»\nStore them in a safe place.",
        "Backup codes (each works once):\n\n1. «3f9c77ab»\n2. «81d07e5b»",
        "Save your recovery codes:\n- «9f3c-77ab» «81d0-7e5b»\n- «4b2e-90cd» «6a1f-33e8»",
        "kubectl create secret generic x --from-literal=user=me17 --from-literal=hmac=«44e3d3febeb44ba45de547336dbcdb56»",
        "kubectl create secret generic x \\\n  --from-literal='pin=«x7Kq2Lm9Rt6V»' \\\n  --from-literal=salt='«b7Kq2Lm9Rt6V»'",
        "set :rollbar_token, '«47010a9168743b007dcc148d4bee3ed9»'",
        "set :password, \"«regenbogen12»\"",
        "kubectl create secret generic x --from-literal=hmac=«x7Kq2Lm9Rt6Vw8Ky1A2B3C4D5E6F7G8H9x7Kq2Lm9Rt6Vw8Ky1A2B3C4D5E6F7G8H9x7Kq2Lm9Rt6Vw8Ky1A2B3C4D5E6F7G8H9zz»",
    ];

    const KEPT: &[&str] = &[
        "chpasswd:\n  expire: false\n  users:\n    - name: ops",
        "run chpasswd << file1\nThen look:\nsee:also12",
        "chpasswd: line 1: missing new password\nhost: x\ntarget:all12",
        "chpasswd: (user root) pam_chauthtok() failed\nerror:xYz12!",
        "kubectl create secret generic x --from-literal=region=eu-central-1a --from-literal=at=db-7f9c4d.acme.internal:5432",
        "recovery codes\nuser_id2\ncode_id2",
        "usage: chpasswd [options]\n  -e, --encrypted\nsee:also12",
        "ubuntu's chpasswd reads user:password\nfrom its input",
        "chpasswd:\n  list: |\n    ops:RANDOM\n    web:R",
        "auth_file = /etc/pgbouncer/userlist.txt\nadmin_users = ops12",
        "userlist.txt\n\"app\" \"\"",
        "Your recovery codes are shown once.\nStore them in a safe place, such as a vault7.",
        "recovery codes:\nsettings-security\naccount-page",
        "recovery codes:\nvalid2026\nRead this first.",
        "fn backup codes(\n    first: u8,\n    other: u8,\n",
        "kubectl create secret generic x --from-literal=username=shop_app17 --from-literal=email=ops@acme.example",
        "kubectl create secret generic x --from-literal=db=$DB --from-literal=mode=production-eu-1",
        "kubectl create secret generic x --from-file=k.pem; kubectl create configmap y --from-literal=rev=a7Bq9Zx2Lm4R",
        "kubectl create configmap y --from-literal=rev=a7Bq9Zx2Lm4R",
        "set :deploy_key, ENV['DEPLOY_KEY']",
        "set :keep_releases, 5\nset :branch, 'a7Bq9Zx2Lm4Rt6Vw8'",
        "set :ssh_key, '~/.ssh/id_ed25519'",
        "set :password, ask('password', nil)",
    ];

    #[test]
    fn what_the_words_before_it_tell_is_masked_and_its_lookalikes_are_kept() {
        for row in MASKED {
            let plain = row.replace(['«', '»'], "");
            let nested = serde_json::json!({ "stdout": plain }).to_string();
            for text_of in [plain, nested] {
                let masked = text(&text_of).into_owned();
                for secret in row.split('«').skip(1).filter_map(|part| Some(part.split_once('»')?.0)) {
                    assert!(!masked.contains(secret), "{secret} in {masked}");
                }
                assert_eq!(text(&masked), masked.as_str(), "masking twice is masking once");
            }
        }
        for row in KEPT {
            let nested = serde_json::json!({ "stdout": row }).to_string();
            assert_eq!(text(row), *row);
            assert_eq!(text(&nested), nested.as_str());
        }
    }
}
