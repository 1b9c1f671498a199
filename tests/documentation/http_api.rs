//! The examples in docs/http-api.md are run against a real server, in their order, and every route is on the page.
//!
//! An example is a `sh` block with one curl command; a comment at its end gives the status if that is not 200. The block
//! after it says what comes back: `json` the whole answer, `text` lines that are in it. `"…"` stands for any value, for
//! more elements in a list, and as a key for more fields; a time stands for any time.

use crate::home::Home;
use crate::{blocks, files, read, root, words};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PAGE: &str = "docs/http-api.md";
const ANY: &str = "…";
/// How long an answer may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// Every (method, path) of the router, as its source has it.
fn routes() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for path in files(&root().join("crates/server/src/http"), ".rs") {
        let source = std::fs::read_to_string(path).unwrap();
        for route in source.split(".route(").skip(1) {
            let mut texts = route.split('"');
            let path = texts.nth(1).unwrap().to_owned();
            // Up to the next route: `get(…).post(…)`.
            let handlers = route.split("\n        .").next().unwrap();
            for (method, call) in [("GET", "get("), ("POST", "post("), ("PUT", "put("), ("DELETE", "delete(")]
            {
                let called = handlers.match_indices(call);
                let is_call =
                    |at: usize| !handlers[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if called.into_iter().any(|(at, _)| is_call(at)) {
                    found.insert((method.to_owned(), path.clone()));
                }
            }
        }
    }
    found
}

/// The routes that have a heading: ``## `GET /health` ``
fn headings(page: &str) -> BTreeSet<(String, String)> {
    let heading = |line: &str| {
        let (method, path) = line.strip_prefix("### `")?.strip_suffix('`')?.split_once(' ')?;
        Some((method.to_owned(), path.to_owned()))
    };
    page.lines().filter_map(heading).collect()
}

#[derive(Debug)]
struct Example {
    line: usize,
    method: String,
    path: String,
    headers: Vec<String>,
    body: Option<String>,
    status: u16,
}

/// A curl command, as far as the page uses it.
fn example(line: usize, block: &str) -> Example {
    let status = block.rsplit_once("# ").map_or("200", |(_, status)| status.trim());
    let mut example = Example {
        line,
        method: "GET".into(),
        path: String::new(),
        headers: Vec::new(),
        body: None,
        status: status.parse().unwrap_or_else(|_| panic!("{PAGE}:{line}: {status} is not a status")),
    };
    let mut words = words(block).into_iter();
    assert_eq!(words.next().as_deref(), Some("curl"), "{PAGE}:{line}");
    let mut explicit = None;
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_else(|| panic!("{PAGE}:{line}: {word} without a value"));
        match word.as_str() {
            "-s" | "-sN" => {}
            "-X" => explicit = Some(next()),
            "-H" => example.headers.push(next()),
            "-d" => example.body = Some(next()),
            url => {
                let path = url.strip_prefix("localhost:5055");
                example.path = path.unwrap_or_else(|| panic!("{PAGE}:{line}: what is {url}?")).to_owned();
            }
        }
    }
    example.method = explicit.unwrap_or_else(|| if example.body.is_some() { "POST" } else { "GET" }.into());
    example
}

/// Whether a request goes where a route leads: `/api/agents/1` to `/api/agents/{id}`.
fn leads(route: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap();
    let (mut parts, mut given) = (route.split('/'), path.split('/'));
    loop {
        match (parts.next(), given.next()) {
            (None, None) => return true,
            (Some(part), Some(_)) if part.starts_with("{*") => return true,
            (Some(part), Some(given)) if part.starts_with('{') || part == given => {}
            _ => return false,
        }
    }
}

/// The status and the body. A stream is read until `enough`.
fn ask(port: u16, example: &Example, enough: impl Fn(&str) -> bool) -> (u16, String) {
    let body = example.body.as_deref().unwrap_or_default();
    let mut request = format!("{} {} HTTP/1.1\r\nHost: localhost:{port}\r\n", example.method, example.path);
    for header in &example.headers {
        request += &format!("{header}\r\n");
    }
    request += &format!("Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(ANSWERS_WITHIN)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    let deadline = Instant::now() + ANSWERS_WITHIN;
    loop {
        let length = stream.read(&mut piece).unwrap_or(0);
        answer.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&answer);
        if length == 0 || (text.contains("text/event-stream") && enough(&text)) || Instant::now() > deadline {
            let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
            return (status.unwrap_or_else(|| panic!("{example:?}: {head}")), body.to_owned());
        }
    }
}

fn is_time(text: &str) -> bool {
    let shape = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>();
    shape.starts_with("0000-00-00T00:00:00") && shape.ends_with('Z')
}

/// Where the answer differs from what the page says, if it does.
fn difference(page: &Value, answer: &Value, place: &str) -> Option<String> {
    let differs = || Some(format!("{place}: {answer} instead of {page}"));
    match (page, answer) {
        (Value::String(any), _) if any == ANY => None,
        (Value::String(page), Value::String(answer)) if is_time(page) && is_time(answer) => None,
        (Value::String(page), Value::String(answer)) if page.ends_with(ANY) => {
            if answer.starts_with(page.trim_end_matches(ANY)) { None } else { differs() }
        }
        (Value::Object(page), Value::Object(answer)) => {
            let more = page.contains_key(ANY);
            if let Some(unknown) = answer.keys().find(|key| !more && !page.contains_key(*key)) {
                return Some(format!("{place}: the page does not have `{unknown}`"));
            }
            page.iter().filter(|(key, _)| *key != ANY).find_map(|(key, value)| match answer.get(key) {
                Some(found) => difference(value, found, &format!("{place}.{key}")),
                None => Some(format!("{place}: the answer does not have `{key}`")),
            })
        }
        (Value::Array(page), Value::Array(answer)) => {
            let more = page.last().is_some_and(|last| last == ANY);
            let named = page.len() - usize::from(more);
            if answer.len() < named || (answer.len() > named && !more) {
                return Some(format!("{place}: {} elements instead of {named}", answer.len()));
            }
            let pairs = page[..named].iter().zip(answer).enumerate();
            pairs
                .into_iter()
                .find_map(|(i, (page, answer))| difference(page, answer, &format!("{place}[{i}]")))
        }
        (page, answer) if page == answer => None,
        _ => differs(),
    }
}

#[test]
fn every_route_is_on_the_page_and_every_example_runs() {
    let page = read(PAGE);
    let (routes, headings) = (routes(), headings(&page));
    assert!(routes.len() > 20, "{routes:?}");
    let missing: Vec<_> = routes.difference(&headings).collect();
    assert!(missing.is_empty(), "{PAGE} has no heading for {missing:?}");
    let gone: Vec<_> = headings.difference(&routes).collect();
    assert!(gone.is_empty(), "there is no route {gone:?}");

    let home = Home::new();
    let server = home.serve();
    let blocks = blocks(&page);
    let mut shown = BTreeSet::new();
    let mut wrong = Vec::new();
    for (i, (language, line, block)) in blocks.iter().enumerate() {
        if language != "sh" {
            continue;
        }
        let example = example(*line, block);
        // The most particular route comes first: `/hook/status` before `/hook/{slug}`.
        let route = routes
            .iter()
            .filter(|(method, path)| *method == example.method && leads(path, &example.path))
            .min_by_key(|(_, path)| path.matches('{').count());
        shown.extend(route.cloned());
        let expected = blocks.get(i + 1).filter(|(language, ..)| language != "sh");
        let lines = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.trim_end_matches(ANY).to_owned()).collect()
        };
        let wanted = expected.filter(|(language, ..)| language == "text").map(|(_, _, text)| lines(text));
        let all_there = |text: &str| wanted.iter().flatten().all(|line| text.contains(line.as_str()));
        let (status, body) = ask(server.port, &example, all_there);
        let place = format!("{PAGE}:{}", example.line);
        if status != example.status {
            wrong.push(format!("{place}: status {status} instead of {}: {body}", example.status));
            continue;
        }
        let Some((language, line, text)) = expected else { continue };
        match language.as_str() {
            "json" => {
                let documented: Value =
                    serde_json::from_str(text).unwrap_or_else(|error| panic!("{PAGE}:{line}: {error}"));
                let answer = serde_json::from_str(&body).unwrap_or(Value::String(body));
                wrong.extend(difference(&documented, &answer, &place));
            }
            "text" => {
                let missing = || format!("{place}: not all of {wanted:?} in {body}");
                wrong.extend((!all_there(&body)).then(missing));
            }
            language => panic!("{PAGE}:{line}: what is a block of {language:?}?"),
        }
    }
    let silent: Vec<_> = routes.difference(&shown).collect();
    assert!(silent.is_empty(), "{PAGE} has no example for {silent:?}");
    assert!(wrong.is_empty(), "{} examples differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The comparison finds what differs.
#[test]
fn an_answer_that_differs_from_the_page_is_found() {
    let page = json!({"a": 1, "at": "2026-01-31T09:30:00.5Z", "list": [{"b": "x…"}, "…"], "any": "…"});
    let same = json!({"a": 1, "at": "2027-01-31T09:30:00Z", "list": [{"b": "xyz"}, 2, 3], "any": null});
    assert_eq!(difference(&page, &same, "page"), None);
    for (field, value) in [
        ("a", json!(2)),
        ("a", json!(null)),
        ("at", json!("soon")),
        ("list", json!([])),
        ("list", json!([{"b": "yx"}])),
        ("list", json!([{"b": "x", "c": 1}])),
        ("new", json!(1)),
    ] {
        let mut other = same.clone();
        other[field] = value;
        assert!(difference(&page, &other, "page").is_some(), "{other}");
    }
    let mut less = same.clone();
    less.as_object_mut().unwrap().remove("any");
    assert!(difference(&page, &less, "page").is_some());
    assert_eq!(difference(&json!({"a": 1, "…": "…"}), &same, "page"), None);
}
