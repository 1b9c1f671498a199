//! SQL, read far enough to distinguish statements that destroy data from those that only look at it: the words of each
//! statement, without comments and quoted text.

use crate::rules;
use crate::rules::Rule;
use crate::rules::names;

/// The worst thing that a text of SQL does.
pub(crate) fn judge(text: &str) -> Option<&'static Rule> {
    if text.len() > MAX_SQL_BYTES || !mentions_a_change(text) {
        return None;
    }
    let statements = statements(text, 0);
    let rolled_back = statements.last().is_some_and(|last| starts(last, &["ROLLBACK"]))
        && !statements.iter().any(|statement| starts(statement, &["COMMIT"]));
    let mut temporary: Vec<&str> = Vec::new();
    let mut worst = None;
    for statement in &statements {
        if let ["CREATE", "TEMP" | "TEMPORARY", "TABLE", name @ ..] = words(statement).as_slice() {
            temporary.extend(name.iter().find(|word| !matches!(**word, "IF" | "NOT" | "EXISTS")));
        }
        match judge_statement(statement, &temporary) {
            // In MySQL a dropped table is gone whatever follows; deleted rows come back with a rollback everywhere.
            Some(rule) if std::ptr::eq(rule, &rules::DATABASE_ROWS) && rolled_back => {}
            Some(rule) if std::ptr::eq(rule, &rules::DATABASE_DROP) => return Some(rule),
            Some(rule) => worst = Some(rule),
            None => {}
        }
    }
    worst
}

/// Longer texts are dumps; nobody types them.
const MAX_SQL_BYTES: usize = 1 << 20;

/// Most texts are harmless and contain none of these words.
fn mentions_a_change(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["drop", "truncate", "delete", "update"].iter().any(|word| lower.contains(word))
}

type SqlWords = Vec<String>;

fn words(statement: &SqlWords) -> Vec<&str> {
    statement.iter().map(String::as_str).collect()
}

fn starts(statement: &SqlWords, with: &[&str]) -> bool {
    statement.len() >= with.len() && statement.iter().zip(with).all(|(word, wanted)| word == wanted)
}

fn judge_statement(statement: &SqlWords, temporary: &[&str]) -> Option<&'static Rule> {
    let all = words(statement);
    let mut words = all.as_slice();
    while let ["(" | "BEGIN" | "AS", rest @ ..] = words {
        words = rest;
    }
    if let ["EXPLAIN", rest @ ..] = words {
        let runs = rest.iter().take(4).any(|word| matches!(*word, "ANALYZE" | "ANALYSE"));
        if !runs {
            return None;
        }
        words = rest.iter().position(|word| is_verb(word)).map_or(&[], |at| &rest[at..]);
    }
    if let ["WITH", rest @ ..] = words {
        let changes = |at: &usize| match rest[*at] {
            "DELETE" => rest.get(at + 1) == Some(&"FROM"),
            "UPDATE" => rest.get(at.wrapping_sub(1)) != Some(&"FOR"),
            _ => false,
        };
        words = (0..rest.len()).find(changes).map_or(&[], |at| &rest[at..]);
    }
    match words {
        ["DROP", "TEMPORARY" | "TEMP" | "PREPARE", ..] => None,
        ["DROP", "TABLE", name @ ..] => {
            let mut names = name.iter().filter(|word| !matches!(**word, "IF" | "EXISTS" | "," | "CASCADE"));
            let only_temporary = names.clone().count() > 0 && names.all(|name| temporary.contains(name));
            (!only_temporary).then_some(&rules::DATABASE_DROP)
        }
        // `drop` alone is a word of the shell or of a script, not SQL.
        ["DROP", _, ..] | ["TRUNCATE", _, ..] => Some(&rules::DATABASE_DROP),
        ["ALTER", ..] => {
            let drops = words
                .windows(2)
                .any(|pair| pair[0] == "DROP" && !names::DROPPED_WITHOUT_LOSS.contains(&pair[1]));
            // ClickHouse: `ALTER TABLE t DELETE WHERE …`
            let changes = words.iter().position(|word| matches!(*word, "DELETE" | "UPDATE"));
            let rows = changes.filter(|_| words.contains(&"WHERE")).and_then(|at| unfiltered(&words[at..]));
            if words.get(1) != Some(&"TABLE") {
                None
            } else if drops {
                Some(&rules::DATABASE_DROP)
            } else {
                rows
            }
        }
        ["DELETE", rest @ ..] if rest.first() == Some(&"FROM") || rest.len() > 1 => unfiltered(rest),
        ["UPDATE", rest @ ..] if rest.contains(&"SET") => unfiltered(rest),
        _ => None,
    }
}

fn is_verb(word: &str) -> bool {
    matches!(word, "DELETE" | "UPDATE" | "DROP" | "TRUNCATE" | "WITH" | "SELECT" | "INSERT")
}

/// Nothing narrows it down: there is no WHERE, or one that is always true.
fn unfiltered(words: &[&str]) -> Option<&'static Rule> {
    let Some(at) = words.iter().rposition(|word| *word == "WHERE") else {
        return Some(&rules::DATABASE_ROWS);
    };
    let end =
        words.iter().position(|word| *word == "RETURNING").filter(|end| *end > at).unwrap_or(words.len());
    let condition = &words[at + 1..end];
    let always = match condition {
        ["TRUE" | "1"] => true,
        [left, "=", right] => left == right && left.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    };
    always.then_some(&rules::DATABASE_ROWS)
}

/// The statements of a text, each as its words in upper case; quoted text becomes `'`, quoted names are kept.
fn statements(text: &str, depth: usize) -> Vec<SqlWords> {
    let mut all = vec![SqlWords::new()];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            // MySQL runs what is in `/*! … */`.
            '/' if rest.starts_with("/*!") => {
                3 + rest[3..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 3)
            }
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '*' if rest.starts_with("*/") => 2,
            '\'' => {
                let length = quoted(rest, '\'');
                // `EXECUTE 'DROP …'`, `EXECUTE format('DROP …')`
                let executed = all.last().is_some_and(|words| {
                    words.iter().rev().take(3).any(|word| word == "EXECUTE") && depth < MAX_SQL_DEPTH
                });
                if executed {
                    inner(&mut all, rest[1..length].trim_end_matches('\''), depth);
                } else {
                    push(&mut all, "'".into());
                }
                length
            }
            '"' | '`' | '[' => {
                let length = quoted(rest, if c == '[' { ']' } else { c });
                let name = rest[1..length].trim_end_matches(['"', '`', ']']);
                push(&mut all, name.to_uppercase());
                length
            }
            '$' => match dollar_quoted(rest) {
                Some((length, body)) => {
                    // `DO $$ … $$` runs at once; a function's body does not.
                    if depth < MAX_SQL_DEPTH && all.last().is_some_and(|words| starts(words, &["DO"])) {
                        inner(&mut all, body, depth);
                    } else {
                        push(&mut all, "'".into());
                    }
                    length
                }
                None => 1,
            },
            // `\dt`, `.tables`: commands of psql and sqlite3 themselves, to the end of the line.
            '\\' | '.' if all.last().is_some_and(Vec::is_empty) => rest.find('\n').unwrap_or(rest.len()),
            ';' => {
                all.push(SqlWords::new());
                1
            }
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                push(&mut all, rest[..end].to_uppercase());
                end
            }
            c if c.is_whitespace() => c.len_utf8(),
            c => {
                push(&mut all, c.to_string());
                c.len_utf8()
            }
        };
        rest = &rest[length.max(c.len_utf8())..];
    }
    all.retain(|statement| !statement.is_empty());
    all
}

/// Statements within statements are followed this deep.
const MAX_SQL_DEPTH: usize = 3;

/// Adds the statements of a text that another statement runs.
fn inner(all: &mut Vec<SqlWords>, text: &str, depth: usize) {
    all.extend(statements(text, depth + 1));
    all.push(SqlWords::new());
}

fn push(all: &mut [SqlWords], word: String) {
    if let Some(last) = all.last_mut() {
        last.push(word);
    }
}

/// The length of a quoted text; a doubled quote stands for itself.
fn quoted(text: &str, close: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if close == '\'' => {
                chars.next();
            }
            c if c == close && chars.peek().is_some_and(|(_, next)| *next == close) => {
                chars.next();
            }
            c if c == close => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// `$$ … $$`, `$tag$ … $tag$`: its length, and what is in it.
fn dollar_quoted(text: &str) -> Option<(usize, &str)> {
    let tag = text[1..].find('$')? + 2;
    let name = &text[1..tag - 1];
    if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let end = text[tag..].find(&text[..tag])?;
    Some((tag + end + tag, &text[tag..tag + end]))
}

/// JavaScript for MongoDB: the calls that delete everything.
pub(crate) fn judge_mongo(text: &str) -> Option<&'static Rule> {
    let code: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let drops = names::MONGO_DROPS.iter().any(|call| code.contains(call));
    let all = names::MONGO_EVERYTHING;
    if drops {
        Some(&rules::DATABASE_DROP)
    } else {
        all.iter().any(|call| code.contains(call)).then_some(&rules::DATABASE_ROWS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_destroy_data_are_distinguished_from_those_that_look() {
        for (sql, expected) in [
            ("select 1", None),
            ("DROP TABLE a", Some("database.drop")),
            ("drop table if exists a cascade", Some("database.drop")),
            ("DROP TEMPORARY TABLE a", None),
            ("create temp table t (a int); drop table t", None),
            ("create temp table t (a int); drop table u", Some("database.drop")),
            ("create temporary table if not exists t (a int); drop table if exists t;", None),
            ("TRUNCATE a", Some("database.drop")),
            ("SELECT TRUNCATE(1.5, 0)", None),
            ("DELETE FROM a", Some("database.rows")),
            ("DELETE FROM a WHERE id IN (SELECT id FROM b)", None),
            ("DELETE FROM a WHERE 1 = 1 RETURNING id", Some("database.rows")),
            ("DELETE FROM a WHERE 1 = 2", None),
            ("update a set b = 1", Some("database.rows")),
            ("update a set b = 1 where c = 2", None),
            ("select 'drop table a; delete from b'", None),
            ("select $$drop table a$$", None),
            ("select $x$; drop table a $x$", None),
            ("do $$ begin execute 'drop table x'; end $$", Some("database.drop")),
            ("DO $x$ BEGIN DELETE FROM a; END $x$ LANGUAGE plpgsql", Some("database.rows")),
            ("do $$ begin execute format('DROP TABLE %I', 'x'); end $$", Some("database.drop")),
            ("do $$ begin raise notice 'drop table x'; end $$", None),
            ("create function f() returns void as $$ begin delete from a; end $$ language plpgsql", None),
            ("-- drop table a\nselect 1", None),
            ("/* drop table a */ select 1", None),
            ("/*!40000 DROP TABLE a */", Some("database.drop")),
            ("select 1 -- it's\n; drop table a", Some("database.drop")),
            ("select 'it''s'; drop table a", Some("database.drop")),
            ("create table x (d int references y on delete cascade)", None),
            ("insert into a values (1) on conflict do update set b = 1", None),
            ("alter table a drop column b", Some("database.drop")),
            ("alter table a drop b", Some("database.drop")),
            ("alter table a alter column b drop not null", None),
            ("alter table a drop constraint c", None),
            ("alter table a delete where 1", Some("database.rows")),
            ("alter table a delete where d < 3", None),
            ("alter table a add foreign key (b) references c on delete cascade", None),
            ("explain delete from a", None),
            ("explain analyze delete from a", Some("database.rows")),
            ("with x as (select 1) delete from a", Some("database.rows")),
            ("with x as (select 1) select * from a for update", None),
            ("begin; delete from a; rollback", None),
            ("begin; delete from a; commit; rollback", Some("database.rows")),
            ("grant delete on a to b", None),
            ("\\dt\nDROP TABLE a", Some("database.drop")),
            (".headers on\n.mode csv\nDROP TABLE a;", Some("database.drop")),
            (".drop x\nselect 1", None),
            ("select a\n.b from a", None),
            ("drop", None),
            ("delete", None),
            ("\"drop\" table", Some("database.drop")),
            ("'", None),
            ("$$", None),
        ] {
            assert_eq!(judge(sql).map(|rule| rule.id), expected, "{sql}");
        }
    }
}
