//! Tables as programs print them: a column below a heading like `password`.
//!
//! ```text
//!  id | name | password          name,password
//! ----+------+----------         me,hunter2
//!   1 | me   | hunter2
//! ```

use crate::mask::Secret;
use crate::mask::bytes::{is_blank, run_up_to, starts_with_ignore_case};
use crate::mask::judge::{Judged, Style, is_secret};
use crate::mask::names::{Kind, kind_of};
use std::collections::VecDeque;
use std::ops::Range;

/// A table has at least this many bytes.
const SHORTEST: usize = 24;
const LONGEST_LINE: usize = 1024;
const WIDEST_GAP: usize = 64;
const LONGEST_INSERT: usize = 256 << 10;
const MOST_COLUMNS: usize = 128;
/// Fields of JSON that may be such a file.
const MOST_FIELDS: usize = 32;
/// What tables are drawn with besides ASCII: `│` between cells, `─` below the heading.
const BAR: &[u8] = "│".as_bytes();
const RULE: &[u8] = "──".as_bytes();

/// The secrets in the columns of all tables in `bytes`, in order.
pub fn secrets(bytes: &[u8]) -> VecDeque<Secret> {
    let mut found = VecDeque::new();
    if bytes.len() < SHORTEST {
        return found;
    }
    let newline: &[u8] = if memchr::memchr(b'\n', bytes).is_some() {
        b"\n"
    } else if memchr::memchr_iter(b'\\', bytes).any(|at| bytes.get(at + 1) == Some(&b'n')) {
        b"\\n"
    } else {
        return found;
    };
    let text = Text { bytes, newline };
    text.comma_separated(0, &mut found);
    // The output of a program in JSON.
    if newline.len() > 1 && bytes[0] == b'{' {
        for colon in memchr::memmem::find_iter(bytes, b"\":\"").take(MOST_FIELDS) {
            text.comma_separated(colon + 3, &mut found);
        }
    }
    text.keys_of_azure(&mut found);
    let mut from = 0;
    let mut rules = [Rule::of(b"--"), Rule::of(RULE)];
    while let Some(rule) = rules.iter_mut().filter_map(|rule| rule.next(bytes, from)).min() {
        let line = text.line_at(rule);
        from = line.end;
        if line.start > 0 && is_ruler(&bytes[line.clone()]) {
            from = text.drawn(line, &mut found).max(from);
        }
    }
    // Most texts have no table.
    if !found.is_empty() {
        found.make_contiguous().sort_by_key(|secret| secret.span.start);
    }
    found
}

/// A text and how its lines end: as they do, or as JSON writes it.
struct Text<'a> {
    bytes: &'a [u8],
    newline: &'static [u8],
}

/// How far it is from the end of a cell to the text of the next one, in a table drawn with bars.
pub fn to_next_cell(rest: &[u8]) -> Option<usize> {
    let gap = run_up_to(rest, 0, WIDEST_GAP, is_blank);
    let bar = [&b"|"[..], BAR].into_iter().find(|bar| rest[gap..].starts_with(bar))?;
    let after = gap + bar.len();
    let blanks = run_up_to(rest, after, 4, is_blank);
    (gap > 0 && blanks > 0).then_some(after + blanks)
}

/// Finds dashes of one kind. Each byte is read once: a text may have many of the other kind.
struct Rule {
    sign: &'static [u8],
    found: Option<usize>,
    searched: bool,
}

impl Rule {
    fn of(sign: &'static [u8]) -> Rule {
        Rule { sign, found: None, searched: false }
    }

    /// The first at or after `from`, which never decreases.
    fn next(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        if !self.searched || self.found.is_some_and(|found| found < from) {
            self.searched = true;
            self.found = memchr::memmem::find(bytes.get(from..)?, self.sign).map(|at| from + at);
        }
        self.found
    }
}

/// The secrets in `(name, password) VALUES ('me', 'SECRET'), …`, with `VALUES` at `at`, and where the list ends.
pub fn inserted(bytes: &[u8], at: usize) -> (VecDeque<Secret>, usize) {
    let mut found = VecDeque::new();
    if !starts_with_ignore_case(&bytes[at..], "values") {
        return (found, at);
    }
    let lead = &bytes[at.saturating_sub(LONGEST_LINE)..at];
    let list =
        lead.trim_ascii_end().strip_suffix(b")").and_then(|lead| lead.rsplit(|byte| *byte == b'(').next());
    let Some(list) = list else { return (found, at) };
    let wanted = named(list.split(|byte| *byte == b','));
    if wanted.is_empty() {
        return (found, at);
    }
    let limit = &bytes[..bytes.len().min(at + LONGEST_INSERT)];
    let mut at = at + "VALUES".len();
    loop {
        at += run_up_to(limit, at, WIDEST_GAP, |byte| byte.is_ascii_whitespace() || byte == b',');
        if limit.get(at) != Some(&b'(') {
            return (found, at);
        }
        let (cells, end) = tuple(limit, at + 1);
        take(bytes, &cells, &wanted, &mut found);
        at = end;
    }
}

/// The values up to the closing bracket, and where it ends. Of what is not a string, only the place counts.
fn tuple(bytes: &[u8], mut at: usize) -> (Vec<Range<usize>>, usize) {
    let mut cells = Vec::new();
    loop {
        at += run_up_to(bytes, at, WIDEST_GAP, |byte| byte.is_ascii_whitespace());
        if bytes.get(at) == Some(&b'\'') {
            let length = run_up_to(bytes, at + 1, LONGEST_LINE, |byte| byte != b'\'');
            cells.push(at + 1..at + 1 + length);
            at += length + 2;
        } else {
            cells.push(at..at);
        }
        let mut depth = 0;
        at += run_up_to(bytes, at, LONGEST_LINE, |byte| match byte {
            b'(' => {
                depth += 1;
                true
            }
            b')' if depth > 0 => {
                depth -= 1;
                true
            }
            b',' | b')' => depth > 0,
            _ => true,
        });
        match bytes.get(at) {
            Some(b',') if cells.len() < MOST_COLUMNS => at += 1,
            Some(_) => return (cells, at + 1),
            None => return (cells, bytes.len()),
        }
    }
}

/// The line below a heading: dashes, and what separates columns.
fn is_ruler(line: &[u8]) -> bool {
    let sign =
        |byte: &u8| matches!(byte, b'-' | b'+' | b'|' | b'=' | b':' | b' ' | b'\r' | 0xe2 | 0x80..=0xbf);
    let separator = |byte: &u8| matches!(byte, b'+' | b'|' | b' ' | 0xe2);
    line.len() <= LONGEST_LINE && line.iter().all(sign) && line.trim_ascii().iter().any(separator)
}

/// How the cells of a line are separated.
enum Cells<'a> {
    /// By bars.
    Bars(&'a [u8]),
    /// They begin and end where the dashes of the ruler do.
    Ruled(Vec<Range<usize>>),
}

impl Cells<'_> {
    fn of(&self, bytes: &[u8], line: Range<usize>) -> Vec<Range<usize>> {
        let text = &bytes[line.clone()];
        match self {
            Cells::Bars(bar) => {
                let mut cells = Vec::new();
                let mut start = 0;
                for at in memchr::memmem::find_iter(text, bar) {
                    cells.push(trimmed(bytes, line.start + start..line.start + at));
                    start = at + bar.len();
                }
                cells.push(trimmed(bytes, line.start + start..line.end));
                cells
            }
            Cells::Ruled(columns) => columns
                .iter()
                .map(|column| {
                    let end = column.end.min(text.len());
                    trimmed(bytes, line.start + column.start.min(end)..line.start + end)
                })
                .collect(),
        }
    }
}

fn trimmed(bytes: &[u8], span: Range<usize>) -> Range<usize> {
    let text = &bytes[span.clone()];
    let lead = text.len() - text.trim_ascii_start().len();
    span.start + lead..span.start + lead + text.trim_ascii().len()
}

impl Text<'_> {
    fn line_at(&self, at: usize) -> Range<usize> {
        let start = memchr::memmem::rfind(&self.bytes[..at], self.newline);
        start.map_or(0, |start| start + self.newline.len())..self.line_end(at)
    }

    fn line_end(&self, at: usize) -> usize {
        memchr::memmem::find(&self.bytes[at..], self.newline).map_or(self.bytes.len(), |length| at + length)
    }

    /// The line after the one that ends at `end`, if there is one.
    fn line_after(&self, end: usize) -> Option<Range<usize>> {
        let start = end + self.newline.len();
        (start <= self.bytes.len()).then(|| start..self.line_end(start))
    }

    /// The secrets of a table with this ruler; returns where it ends.
    fn drawn(&self, ruler: Range<usize>, found: &mut VecDeque<Secret>) -> usize {
        let bytes = self.bytes;
        let heading = self.line_at(ruler.start - self.newline.len());
        let text = &bytes[heading.clone()];
        let cells = if memchr::memmem::find(text, BAR).is_some() {
            Cells::Bars(BAR)
        } else if text.contains(&b'|') {
            Cells::Bars(b"|")
        } else {
            Cells::Ruled(ruled(&bytes[ruler.clone()]))
        };
        let wanted = named(cells.of(bytes, heading.clone()).into_iter().map(|cell| &bytes[cell]));
        let mut end = ruler.end;
        if heading.len() > LONGEST_LINE || is_ruler(text) || wanted.is_empty() {
            return end;
        }
        while let Some(line) = self.line_after(end) {
            let text = &bytes[line.clone()];
            let goes_on = match cells {
                Cells::Bars(bar) => memchr::memmem::find(text, bar).is_some() || is_ruler(text),
                Cells::Ruled(_) => !text.trim_ascii().is_empty(),
            };
            if !goes_on || text.len() > LONGEST_LINE {
                break;
            }
            end = line.end;
            take(bytes, &cells.of(bytes, line), &wanted, found);
        }
        end
    }

    /// `KeyName  Permissions  Value`, as Azure's client lists the keys of an account; without its ruler, which some leave out.
    fn keys_of_azure(&self, found: &mut VecDeque<Secret>) {
        let bytes = self.bytes;
        let Some(at) = memchr::memmem::find(bytes, b"KeyName ") else { return };
        let mut heading = self.line_at(at);
        // The beginning of a field in JSON.
        heading.start += memchr::memrchr(b'"', &bytes[heading.start..at]).map_or(0, |quote| quote + 1);
        let text = &bytes[heading.clone()];
        let Some(value) = text.trim_ascii_end().strip_suffix(b" Value").map(|lead| lead.len() + 1) else {
            return;
        };
        let mut end = heading.end;
        while let Some(line) = self.line_after(end) {
            end = line.end;
            let cell = trimmed(bytes, (line.start + value).min(line.end)..line.end);
            if line.len() > LONGEST_LINE || cell.is_empty() {
                return;
            }
            take(bytes, &[cell], &[(0, Kind::Key)], found);
        }
    }

    /// A file that begins at `from` and whose first line names its columns.
    fn comma_separated(&self, from: usize, found: &mut VecDeque<Secret>) {
        let bytes = self.bytes;
        let name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b'"');
        let first = from + run_up_to(bytes, from, LONGEST_LINE, name);
        let Some(&comma) = bytes.get(first).filter(|byte| matches!(byte, b',' | b';' | b'\t')) else {
            return;
        };
        let heading = from + run_up_to(bytes, from, LONGEST_LINE, |byte| name(byte) || byte == comma);
        if !matches!(bytes.get(heading), Some(b'\n' | b'\r' | b'\\')) {
            return;
        }
        let columns = fields(bytes, from..heading, comma);
        let wanted = named(columns.iter().map(|cell| &bytes[cell.clone()]));
        if wanted.is_empty() {
            return;
        }
        let mut end = self.line_end(heading);
        while let Some(line) = self.line_after(end) {
            end = line.end;
            let cells = fields(bytes, line, comma);
            if cells.len() < columns.len() {
                return;
            }
            take(bytes, &cells, &wanted, found);
        }
    }
}

/// The columns of a ruler without signs between them; each goes on to the next one.
fn ruled(ruler: &[u8]) -> Vec<Range<usize>> {
    let begins = |at: &usize| ruler[*at] != b' ' && (*at == 0 || ruler[*at - 1] == b' ');
    let starts: Vec<usize> = (0..ruler.len()).filter(begins).collect();
    let ends = starts.iter().skip(1).copied().chain([LONGEST_LINE]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// The columns whose names say that they hold secrets.
fn named<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<(usize, Kind)> {
    let telling = |kind: &Kind| matches!(kind, Kind::Password | Kind::Secret | Kind::Key);
    let kind = |name: &[u8]| {
        let quote = |byte: &u8| matches!(byte, b'"' | b'`' | b'[' | b']' | b' ' | b'\n' | b'\t');
        let start = name.iter().position(|byte| !quote(byte))?;
        let name = &name[start..=name.iter().rposition(|byte| !quote(byte))?];
        // `Condition to pass` is not one.
        let short = name.iter().filter(|byte| **byte == b' ').count() <= 1;
        kind_of(name).filter(telling).filter(|_| short)
    };
    names.map(kind).enumerate().filter_map(|(column, kind)| Some((column, kind?))).collect()
}

fn take(bytes: &[u8], cells: &[Range<usize>], wanted: &[(usize, Kind)], found: &mut VecDeque<Secret>) {
    for (column, kind) in wanted {
        let Some(span) = cells.get(*column).filter(|span| !span.is_empty()) else { continue };
        let text = &bytes[span.clone()];
        let judged = Judged { bytes: text, quoted: true, next: b'\n' };
        let masked = memchr::memmem::find(text, b"[masked:").is_some();
        if !masked && text.is_ascii() && is_secret(*kind, Style::Data, &judged) {
            found.extend(Secret::new("secret", span.clone()));
        }
    }
}

/// The fields of a line, without the quotes around them.
fn fields(bytes: &[u8], line: Range<usize>, comma: u8) -> Vec<Range<usize>> {
    let mut fields = Vec::new();
    let mut at = line.start;
    loop {
        let rest = &bytes[at..line.end];
        let quoted = rest.starts_with(b"\"");
        let closes = |quote: &usize| rest.get(quote + 1).is_none_or(|next| *next == comma || *next == b'\r');
        let closing = || memchr::memchr_iter(b'"', rest).skip(1).find(closes);
        let start = usize::from(quoted);
        let end = if quoted { closing() } else { memchr::memchr(comma, rest) }.unwrap_or(rest.len());
        fields.push(trimmed(bytes, at + start..at + end.max(start)));
        match memchr::memchr(comma, &rest[end..]) {
            Some(next) => at += end + next + 1,
            None => return fields,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::mask::text;

    #[test]
    fn columns_named_like_secrets_are_masked_in_any_kind_of_table() {
        let postgres = " id | name | password   | api_token\n----+------+------------+-----------\n  1 | me   | sunshine88 | x7Kq29fLm2\n  2 | you  |            | y8Lr30gMn3\n(2 rows)\n";
        let mysql = "+----+------------+\n| id | password   |\n+----+------------+\n|  1 | sunshine88 |\n+----+------------+\n";
        let sqlite = "id  password    name\n--  ----------  ----\n1   sunshine88  me\n";
        let drawn = "┌──────┬────────────┐\n│ NAME │ PASSWORD   │\n├──────┼────────────┤\n│ me   │ sunshine88 │\n└──────┴────────────┘\n";
        let exported = "name,password,note\r\nme,sunshine88,basement\r\nyou,\"a,b\"\"c9\",attic\r\n";
        for (table, hidden, kept) in [
            (postgres, &["sunshine88", "x7Kq29fLm2", "y8Lr30gMn3"][..], &["| me ", "| you ", "(2 rows)"][..]),
            (mysql, &["sunshine88"], &["|  1 |"]),
            (sqlite, &["sunshine88"], &["1   [", "  me\n"]),
            (drawn, &["sunshine88"], &["│ me "]),
            (exported, &["sunshine88", "a,b", "c9"], &["me,", ",basement", ",attic"]),
        ] {
            let masked = text(table).into_owned();
            for secret in hidden {
                assert!(!masked.contains(secret), "{secret} in {masked}");
            }
            for word in kept {
                assert!(masked.contains(word), "{word:?} is missing in {masked}");
            }
            assert_eq!(text(&masked), masked.as_str(), "masking twice is masking once");
        }
    }

    #[test]
    fn the_keys_that_azure_lists_are_masked() {
        let key = "8w7zDhw9ditzLe6sSfmg03WgRGvL+2+pwptF80VdY0Y7tabkeh4t7LND+gmVRrBngaSobgnE/siTJ+3P5eKuFu==";
        let heading = "CreationTime  KeyName  Permissions  Value\n";
        let ruler = "------------  -------  -----------  -----\n";
        for ruler in ["", ruler] {
            let of =
                |value: &str| format!("{heading}{ruler}2024-11-02    key1     FULL         {value}\n\ndone");
            assert_eq!(text(&of(key)), of("[masked:secret]"));
            assert_eq!(text(&of("[masked:secret]")), of("[masked:secret]"));
            let nested = text(&format!("{{\"stdout\":\"{}\"}}", of(key).replace('\n', "\\n"))).into_owned();
            assert!(!nested.contains(key), "{nested}");
            assert_eq!(text(&of("production-eu-1")), of("production-eu-1"));
        }
        let other = format!("Name     Kind         Value\nkey1     FULL         {key}\n");
        assert_eq!(text(&other), other.as_str());
    }

    #[test]
    fn rows_that_are_inserted_are_masked_by_their_columns() {
        let rows = "INSERT INTO users (id, \"password\", role)\nVALUES (1, 'ranger742', 'admin'), (now(), 'sun, day9', 'user');";
        let masked = "INSERT INTO users (id, \"password\", role)\nVALUES (1, '[masked:secret]', 'admin'), (now(), '[masked:secret]', 'user');";
        assert_eq!(text(rows), masked);
        assert_eq!(text(masked), masked);
        for kept in [
            "INSERT INTO users (id, password) VALUES (?, ?)",
            "INSERT INTO t (id, name) VALUES (1, 'ranger742')",
            "VALUES ('ranger742')",
            "(password) VALUES (",
        ] {
            assert_eq!(text(kept), kept);
        }
    }

    #[test]
    fn a_long_table_is_masked_whole() {
        let rows: String = (0..20_000).map(|row| format!("me,hunter{row}x,some words\n")).collect();
        let masked = text(&format!("name,password,note\n{rows}")).into_owned();
        assert_eq!(masked.matches("[masked:secret],some words").count(), 20_000);
    }

    #[test]
    fn other_tables_are_kept() {
        for table in [
            "| Option     | Meaning          |\n|------------|------------------|\n| --password | the password x1  |\n",
            " column_name | data_type\n-------------+-----------\n password    | character varying(255)\n",
            "token,count\nthe,1200\nhouse,17\n",
            "SELECT id, password\nFROM users, tokens1\n",
            "password | yes\n---------+----\n(0 rows)\n",
            "user,password\n",
            "--\n--\n",
        ] {
            assert_eq!(text(table), table);
        }
    }
}
