//! Database clients: where their command lines hold statements, and the escapes that lead to a shell.

use crate::eval::Evaluator;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags, deactivate, has_hole};
use crate::paths::Zone;
use crate::programs::{Call, Spec};
use crate::rules;
use crate::rules::pattern::CommandWords;
use crate::sql;

struct DatabaseClient {
    names: &'static [&'static str],
    /// One of these words must be present; empty means none is needed.
    verbs: &'static [&'static str],
    /// Options whose value is a statement.
    text: &'static [&'static str],
    /// Options with a value.
    short: &'static str,
    long: &'static [&'static str],
    /// After this many operands, every further operand is a statement; 0 means that none is.
    after: usize,
    /// Options with which nothing happens.
    dry: &'static [&'static str],
}

const DEFAULT: DatabaseClient =
    DatabaseClient { names: &[], verbs: &[], text: &[], short: "", long: &[], after: 0, dry: &[] };

include!(concat!(env!("OUT_DIR"), "/guard/sql.rs"));

/// Options that name a file with statements.
const FILE_OPTIONS: &[&str] = &["f", "file", "filename", "queries-file", "i", "input-file"];

pub(super) fn client(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let Some(client) = SQL.iter().find(|client| client.names.contains(&call.name)) else {
        return Stream::None;
    };
    escapes(eval, state, call);
    let options = call.options(Spec { short: client.short, long: client.long, stops: false });
    let asked = client.verbs.is_empty() || options.operands.iter().any(|word| client.verbs.contains(word));
    if !asked || options.has(client.dry) || in_scratch(eval, state, call, &options.operands) {
        return crate::programs::printing::completion_printer(eval, state, call);
    }
    // A file that the line itself wrote: `cat > x.sql <<E …; psql -f x.sql`
    let files: Vec<Stream> =
        options.values(FILE_OPTIONS).filter_map(|file| eval.content_to_run(state, file)).collect();
    let mut texts: Vec<&str> = options.values(client.text).collect();
    texts.extend(files.iter().filter_map(Stream::known_text));
    if client.after > 0 {
        texts.extend(options.operands.iter().skip(client.after));
    }
    if let Stream::Text(text, _) = call.stdin {
        texts.push(text);
    }
    if let Some(rule) = sql::judge(&deactivate(&texts.join(";\n"))) {
        call.report(eval, state, rule);
    }
    Stream::Data(Tags::NONE)
}

/// `fly postgres connect`, `manage.py dbshell`: SQL on standard input or among the words.
pub(super) fn prompt(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    let rows = rules::about(rules::PROMPTS, call.name, |row| row.0);
    if rows.is_empty() {
        return;
    }
    let words = CommandWords::read(call.name, call.args());
    if words.helps || !rows.iter().any(|(_, pattern, _)| words.fit(pattern)) {
        return;
    }
    let piped = match call.stdin {
        Stream::Text(text, _) => text.as_str(),
        _ => "",
    };
    let given =
        call.args().iter().flat_map(|arg| [arg.as_str(), arg.split_once('=').map_or("", |(_, value)| value)]);
    let found = given.chain([piped]).find_map(|text| match text.lines().any(flushes) {
        true => Some(&rules::DATABASE_DROP),
        false => sql::judge(&deactivate(text)),
    });
    if let Some(rule) = found {
        call.report(eval, state, rule);
    }
}

/// A database in memory or in a temp directory is disposable.
fn in_scratch(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>, operands: &[&str]) -> bool {
    if !matches!(call.name, "sqlite3" | "duckdb" | "litecli") {
        return false;
    }
    match operands.first() {
        None | Some(&"" | &":memory:") => true,
        Some(file) => match eval.resolve(state, file) {
            ResolvedPath::Known(path) => eval.locations.zone(&eval.locations.real(&path, true)) == Zone::Temp,
            _ => false,
        },
    }
}

/// `sqlite3 x '.shell …'`, `psql -c '\\! …'`: escapes that lead to a shell.
fn escapes(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    let stdin = match call.stdin {
        Stream::Text(text, _) => text.as_str(),
        _ => "",
    };
    for line in call.args().iter().map(String::as_str).chain([stdin]).flat_map(str::lines) {
        let command = match call.name {
            "sqlite3" => {
                line.trim_start().strip_prefix(".shell ").or(line.trim_start().strip_prefix(".system "))
            }
            _ => line.split_once("\\!").map(|(_, command)| command),
        };
        if let Some(command) = command {
            eval.text(&mut state.clone(), command, &Stream::None, false);
        }
    }
}

/// `pg_dump --clean app | psql other`: the printed text drops every table before it makes it again.
pub(super) fn dump(_: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "dfhjnptEFILNPSTUZ", ..Spec::default() });
    match options.has(&["c", "clean"]) {
        true => Stream::text("DROP TABLE every_table;\n"),
        false => Stream::Data(Tags::NONE),
    }
}

/// `mongosh --eval '…'`, or a script on standard input.
pub(super) fn mongo(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options =
        call.options(Spec { short: "up", long: &["eval", "host", "port", "username"], stops: false });
    let mut texts: Vec<&str> = options.values(&["eval"]).collect();
    if let Stream::Text(text, _) = call.stdin {
        texts.push(text);
    }
    if let Some(rule) = sql::judge_mongo(&texts.join(";")) {
        call.report(eval, state, rule);
    }
    Stream::Data(Tags::NONE)
}

/// `redis-cli`: commands on standard input, and keys from a listing.
pub(super) fn redis(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "hpanusri", long: &["user", "pass", "pattern"], stops: false });
    let from_pipe = matches!(call.stdin, Stream::Text(text, _) if text.lines().any(flushes));
    let verb = options.operands.first().map(|verb| verb.to_lowercase()).unwrap_or_default();
    let found_keys = matches!(verb.as_str(), "del" | "unlink")
        && options.operands[1..].iter().any(|key| key.chars().count() == 1 && has_hole(key));
    if from_pipe || found_keys {
        call.report(eval, state, &rules::DATABASE_DROP);
    }
    Stream::Data(Tags::NONE)
}

/// A command of Redis that empties it.
fn flushes(line: &str) -> bool {
    let verb = line.split_whitespace().next().unwrap_or("").to_lowercase();
    matches!(verb.as_str(), "flushall" | "flushdb")
}
