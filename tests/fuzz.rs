//! The fuzz targets on stable, for a few seconds: each target runs on its seeds and on random changes of them. The real
//! thing, with coverage, needs a nightly compiler: `cargo +nightly fuzz run NAME`, or `tests/fuzz SECONDS` for all.

use std::fs;
use std::path::Path;

#[path = "../fuzz/targets/mod.rs"]
mod targets;

/// A small random number generator that gives the same inputs in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Characters with a meaning in one of the languages.
const SIGNS: &[u8] = b"'\"`$(){}[]\\\n;|,:/*";

/// The files in a directory of this repository; none if it does not exist.
fn files(dir: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a seed")).collect()
}

/// The commands in the guard's tables.
fn commands() -> Vec<Vec<u8>> {
    let tables =
        files("crates/guard/src/tests/tables").into_iter().filter_map(|text| String::from_utf8(text).ok());
    let lines: Vec<String> =
        tables.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let rows =
        lines.iter().filter(|line| ["allow ", "ask ", "deny "].iter().any(|word| line.starts_with(word)));
    rows.filter_map(|line| Some(line.split_once(' ')?.1.replace('⏎', "\n").into_bytes())).collect()
}

/// Real payloads, one per line, each after a letter.
fn bodies() -> Vec<Vec<u8>> {
    files("tests/fixtures/payloads")
        .into_iter()
        .enumerate()
        .map(|(at, text)| {
            let line = String::from_utf8_lossy(&text).replace('\n', " ");
            [&[b'0' + (at % 40) as u8], line.as_bytes()].concat()
        })
        .collect()
}

/// Runs a target on what once broke it (`fuzz/seeds/NAME`), on `seeds`, and on `rounds` random changes of both.
fn exercise(name: &str, target: fn(&[u8]), seeds: &[Vec<u8>], rounds: usize) {
    let known = files(&format!("fuzz/seeds/{name}"));
    let seeds: Vec<&[u8]> = known.iter().chain(seeds).map(Vec::as_slice).collect();
    assert!(!seeds.is_empty(), "{name} has no seeds");
    for seed in &seeds {
        target(seed);
    }
    let mut dice = Dice(seeds.len() as u64);
    // `HEADSPACE_FUZZ_TIMES=100 cargo test --test fuzz batches`: one of them, for longer.
    let times = std::env::var("HEADSPACE_FUZZ_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    for _ in 0..rounds * times {
        let mut data = seeds[dice.roll(seeds.len())].to_vec();
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(data.len() + 1);
            match dice.roll(5) {
                0 => data.truncate(at),
                1 => data.insert(at, dice.roll(256) as u8),
                2 => data.insert(at, SIGNS[dice.roll(SIGNS.len())]),
                3 => {
                    let other = seeds[dice.roll(seeds.len())];
                    let from = dice.roll(other.len() + 1);
                    data.splice(at..at, other[from..].iter().copied());
                }
                _ => {
                    let end = (at + dice.roll(8)).min(data.len());
                    data.drain(at..end);
                }
            }
        }
        target(&data);
    }
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

const SETTINGS: &[&str] = &[
    "{}",
    r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x","timeout":5}]}]}}"#,
    r#"{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Stop":[{"hooks":[]}]}}"#,
    "{\n  // kept\n  \"model\": \"x\",\n}",
    r#"{"statusLine":{"type":"command","command":"x"}}"#,
];

#[test]
fn answers_are_read_or_refused_and_only_decisions_printed() {
    let digest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    let served = |line: String| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        format!("{head}{:x}\r\n{line}\n\r\n0\r\n\r\n", line.len() + 1)
    };
    let answers = r#"{"Q?": "A", "R?": ["D", "C"]}"#;
    let seeds: Vec<String> = ["allow", "deny", "stop", "approve", "keep_planning", "answers"]
        .iter()
        .map(|choice| {
            let more = if *choice == "answers" { format!(", \"answers\": {answers}") } else { String::new() };
            let posted = format!("{{\"digest\": \"{digest}\", \"choice\": \"{choice}\"{more}}}");
            let line = format!(
                "{{\"id\": \"ab\", \"digest\": \"{digest}\", \"choice\": \"{choice}\", \"message\": \"no\"}}"
            );
            format!("{posted}\n{}", served(line))
        })
        .collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    exercise("answer", targets::core::answer::run, &texts(&seeds), 8000);
}

#[test]
fn batches_are_read_or_refused() {
    let seeds = texts(&[
        r#"{"epoch":"00000000-0000-4000-8000-000000000000","from":1,"to":2,"sent_at":"2026-11-17T10:00:00Z","level":"full","events":[{"pos":1,"agent_id":1,"session_id":"s","name":"Stop","at":"2026-11-17T10:00:00Z","source":"hook","flags":8,"body":{"a":"\\u0000"}}],"agents":[{"id":1,"status":"idle","last_active_at":"2026-11-17T10:00:00Z","share":"full","turns":[{"id":1,"timestamp":"2026-11-17T10:00:00Z"}]}],"gap":{"from":1,"to":1},"gone":[3],"check":{"pos":0,"hash":"x"},"link":"x"}"#,
        r#"{"epoch":"00000000-0000-4000-8000-000000000000","from":7,"to":6,"level":"states"}"#,
    ]);
    exercise("batch", targets::fleet::batch::run, &seeds, 4000);
}

#[test]
fn bodies_are_recorded_or_refused() {
    exercise("body", targets::server::body::run, &bodies(), 1500);
}

#[test]
fn what_is_left_of_a_database_is_read_to_its_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("events.db");
    let db = headspace_store::open(&path).expect("a database");
    for n in 0..40 {
        let body = serde_json::json!({"text": "word ".repeat(n % 5 * 300)}).to_string();
        let insert = "INSERT INTO events(name, session_id, at, received_at, source, body) VALUES ('Stop', 's', 1, 2, 'hook', ?1)";
        db.execute(insert, [body]).expect("an event");
    }
    let log = fs::read(dir.path().join("events.db-wal")).expect("a log");
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    let file = fs::read(&path).expect("a file");
    let both = [&file[..4096], b"\n-wal\n", &log].concat();
    exercise("carve", targets::store::carve::run, &[file, both], 300);
}

#[test]
fn requests_on_the_socket_are_a_hooks_or_not() {
    let request = |slug: &str, body: &str| {
        let length = body.len();
        format!(
            "POST /hook/{slug} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    };
    let seeds = [
        request("stop", "{}"),
        request("pre-tool-use", r#"{"session_id":"s"}"#),
        "GET / HTTP/1.1\r\n\r\n".into(),
    ];
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    exercise("hook_request", targets::platform::hook_request::run, &texts(&seeds), 20_000);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn the_short_way_reads_what_the_ordinary_way_reads() {
    let answer = |body: &str| format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let seeds = [
        answer(r#"{"status":"ok","event_id":7,"agent_id":1,"is_new_agent":false}"#),
        answer(r#"{"status":"ok","event_id":7,"hook_output":{}}"#),
        r#"{"session_id":"s","hook_event_name":"Stop","a":[1,{"b":"\u00e4"}]}"#.into(),
        "7 (a) b) (c) S 3 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 4242 0 0".into(),
    ];
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    exercise("shortcut", targets::notify::shortcut::run, &texts(&seeds), 20_000);
}

#[test]
fn configurations_are_read_or_refused() {
    let seeds = texts(&[
        r#"{"port": 6000, "guard": {"enabled": true, "rules": {"kill": "off"}, "projects": {"~/p": {}}}}"#,
        "{ // c\n \"names\": [\"a//b\",], /* ü */ \"retention\": {\"days\": 3,},\n}",
        r#"{"notifications": {"quiet_hours": "22:00-07:30"}, "webhooks": [{"url": "http://x", "format": "ntfy"}]}"#,
        "\u{feff}{}",
    ]);
    exercise("config", targets::platform::config::run, &seeds, 20_000);
}

#[test]
fn excerpts_are_short_lines() {
    let seeds = texts(&[
        "login cookie\nFix the **flaky** login: the\u{1b}[31mcookie\u{202e} is set twice, ```\nand the İstanbul LOGIN too",
        "x\nx x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x",
        "ß ǅ\nstraße ß ǅ ǆ ﬁ",
    ]);
    exercise("excerpt", targets::core::excerpt::run, &seeds, 20_000);
}

#[test]
fn sessions_are_exported() {
    let seeds = texts(&[
        "# Head\n\n- `code` and ``more` ``\n\n```\nfence",
        "\u{1b}]0;title\u{7}\r\n\u{2028}a\u{85}b",
        r#"{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "echo `date`\n```"}, "duration_ms": 18446744073709551615}"#,
        r#"{"tool_name": ["x"], "tool_use_id": 7, "tool_input": null, "duration_ms": -1}"#,
    ]);
    exercise("export", targets::core::export::run, &seeds, 8000);
}

#[test]
#[cfg(unix)]
fn what_the_bus_sends_is_read_or_refused() {
    use headspace_platform::session_bus::message::{Body, Hint, Method};
    let method = Method { destination: "a.b", path: "/a", interface: "a.b", member: "ActionInvoked" };
    let bodies = [
        Body::default(),
        Body::default().u32(41).text("default"),
        Body::default().text("a").texts(&["b", "c"]).hints(&[("urgency", Hint::Byte(2))]).i32(-1),
    ];
    let mut seeds: Vec<Vec<u8>> = bodies.iter().map(|body| method.call(3, body)).collect();
    seeds.push(seeds.concat());
    exercise("session_bus", targets::platform::session_bus::run, &seeds, 40_000);
}

#[test]
fn commands_are_judged() {
    exercise("guard_judge", targets::guard::judge::run, &commands(), 600);
}

#[test]
fn other_languages_are_judged() {
    let mut seeds: Vec<Vec<u8>> = commands().into_iter().step_by(9).collect();
    seeds.extend(texts(&[
        "DELETE FROM users WHERE 1=1; UPDATE a SET b = 'it''s'; DROP TABLE IF EXISTS x CASCADE",
        "do $$ begin truncate users; end $$; /* a /* b */ */ select 1 -- c",
        "db.users.deleteMany({}); db.dropDatabase()",
        "import os, shutil; shutil.rmtree('/usr/' + 'local'); os.system(f'rm -rf {x}')",
        "Get-ChildItem -Recurse | Where-Object { $_.Name -like '*.log' } | Remove-Item -Force",
        r#"{"source": "a", "destination": "../../etc/x", "path": ["b"], "edits": [{"path": ".env"}]}"#,
    ]));
    exercise("guard_languages", targets::guard::languages::run, &seeds, 300);
}

#[test]
fn own_rules_only_tighten_unless_they_allow() {
    let patterns = [
        "terraform|tofu apply *",
        "git push -f|--force !--dry-run",
        "aws ** delete-*",
        "src/",
        "gh api -X=DELETE",
    ];
    let seeds: Vec<Vec<u8>> = commands()
        .into_iter()
        .step_by(9)
        .enumerate()
        .map(|(at, line)| [patterns[at % patterns.len()].as_bytes(), b"\n", &line].concat())
        .collect();
    exercise("guard_settings", targets::guard::settings::run, &seeds, 300);
}

#[test]
fn commands_are_read() {
    exercise("guard_shell", targets::guard::shell::run, &commands(), 4000);
}

/// The rows of the masking tests.
fn secrets() -> Vec<Vec<u8>> {
    let tables =
        files("crates/core/src/mask/tests").into_iter().filter_map(|text| String::from_utf8(text).ok());
    let lines: Vec<String> =
        tables.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let rows = lines.iter().filter_map(|line| Some(line.split_once(" | ")?.1));
    // Long enough for any key; and longer than any rule reads, in letters of several bytes.
    let noises = ["a7Bq9Zx2Lm4Rt6Vw8Ky1".repeat(4), "A1é→b2😀".repeat(30)];
    let filled = |row: &str, noise: &str| {
        row.replace(['«', '»'], "").replace("\\n", "\n").replace(['{', '}'], noise).into_bytes()
    };
    rows.enumerate().map(|(at, row)| filled(row, &noises[usize::from(at % 4 == 3)])).collect()
}

#[test]
fn masking_twice_changes_nothing() {
    exercise("mask", targets::core::mask::run, &secrets(), 4000);
}

#[test]
fn changes_are_worked_out_from_whatever_a_call_says() {
    let mut seeds = files("tests/fixtures/payloads");
    seeds.extend(texts(&[
        "*** Update File: a\n@@ x\n-a\n+b\n*** Add File: b\n+c\n*** Delete File: c\n*** End Patch",
    ]));
    exercise("changes", targets::core::changes::run, &seeds, 2000);
}

#[test]
fn matchers_match_or_do_not() {
    let seeds = texts(&[
        "0Bash\nBash",
        "1Edit|Write\nEdit",
        "2mcp__.*\nmcp__a__b",
        "3^(?!Bash)\nRead",
        "4*\nx",
        "5[a-z]{2,}\nab",
    ]);
    exercise("matcher", targets::hooks::matcher::run, &seeds, 4000);
}

#[test]
fn patterns_are_searched_for_or_refused() {
    let seeds = texts(&[
        "^(?!Read$).*\nReads",
        "(?<=(a|b)+?)\\1{2,}\naabb",
        "(?:(?<n>a)|(?<n>[^b-d\\W]))\\k<n>\nabb",
        "(?i-s:\\x41\\u0042\\cC\\07)*$\nAb",
        "(a*)*b\naaaaaaaa",
    ]);
    exercise("pattern", targets::hooks::pattern::run, &seeds, 4000);
}

#[test]
fn the_end_of_a_payload_is_where_json_ends() {
    exercise("payload", targets::notify::payload::run, &bodies(), 4000);
}

#[test]
fn screens_are_read() {
    let screens = files("crates/clients/tests/screens");
    let seeds: Vec<Vec<u8>> = screens
        .into_iter()
        .filter_map(|file| {
            let text = String::from_utf8(file).ok()?;
            let (head, rest) = text.split_once('\n')?;
            let cursor: Vec<u8> = head.split(' ').skip(1).filter_map(|number| number.parse().ok()).collect();
            Some([&cursor, rest.as_bytes()].concat())
        })
        .collect();
    exercise("screen", targets::clients::screen::run, &seeds, 4000);
}

#[test]
fn a_relay_stays_within_its_bounds() {
    let agent = r#"{"agent":{"id":1,"session_id":"s","sessions":[],"name":"n","state":"idle","status":"idle","group":"idle","unseen":false,"stale":false,"headless":false,"started_at":"2026-11-17T10:00:00Z","last_active_at":"2026-11-17T10:00:00Z","background":[],"interactions":[],"subagents":[],"turn_count":0,"source":"hook","source_at":"2026-11-17T10:00:00Z","confidence":"high"}}"#;
    let begin = r#"{"relay":{"protocol":1,"version":"1","host":"h","at":"2026-11-17T10:00:00Z"}}"#;
    let seeds = texts(&[
        &format!("{begin}\n{agent}\n{{\"board\":{{\"agents\":1}}}}\n{agent}\n{{\"gone\":1}}\n"),
        &format!(
            "{begin}\n{{\"board\":{{\"agents\":0}}}}\n{agent}\n{{\"beat\":{{\"at\":\"2026-11-17T10:00:00Z\"}}}}"
        ),
        r#"{"ask":1,"agent":3,"about":"events","before":2,"limit":9,"names":"Stop,PreToolUse"}"#,
        r#"{"answer":{"ask":1,"body":{"turns":[]}}}"#,
    ]);
    exercise("relay", targets::fleet::relay::run, &seeds, 4000);
}

#[test]
fn a_hub_s_answer_is_read_to_its_end_or_refused() {
    let seeds = texts(&[
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"pos\": 7}HTTP/1.1 204 No\r\n\r\n",
        "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n{\"message\": \"no\u{1b}[1m\"}\r\n2;x=y\r\nde\r\n0\r\n\r\n",
        "HTTP/1.0 416 Hole\r\nconnection: close\r\n\r\n{\"pos\": 3}",
    ]);
    exercise("hub_answer", targets::fleet::hub_answer::run, &seeds, 20_000);
}

#[test]
fn machines_are_reached_by_ssh_or_as_they_are_written() {
    let seeds = texts(&[
        r#"{"machines": [{"ssh": "me@devbox", "program": "~/bin/headspace"}, {"name": "box", "command": ["docker", "exec", "-i", "box"], "alerts": false}]}"#,
        r#"{"machines": [{"ssh": "ssh://me@[::1]:22", "name": "six"}, {"ssh": "-oProxyCommand=x"}, {"ssh": "a", "command": []}, {}]}"#,
        r#"{"paranoid": true, "hub": {"share": {"~/work/**": "asks", "/a/*b*/**/c": "full", "*": "none"}}}"#,
    ]);
    exercise("machines", targets::fleet::machines::run, &seeds, 20_000);
}

#[test]
fn a_hub_is_over_tls_or_on_this_machine() {
    let seeds = texts(&[
        r#"{"url": "https://hub.example.org/team", "edge": "7", "token": "00ff", "share": "asks", "share_max": "full", "ca": "/ca.pem"}"#,
        "https://hub.example.org:8443/team/#join=00ff",
        "http://[::1]:5056/#join=00ff",
        "http://localhost@192.0.2.1/#join=x",
        "http://127.1.2.3:5056",
    ]);
    exercise("membership", targets::fleet::membership::run, &seeds, 40_000);
}

#[test]
fn settings_are_read_with_line_and_column() {
    exercise("settings", targets::hooks::settings::run, &texts(SETTINGS), 4000);
}

#[test]
fn settings_are_restored_after_a_merge() {
    exercise("settings_merge", targets::hooks::settings_merge::run, &texts(SETTINGS), 1500);
}

#[test]
fn transcripts_are_read_line_by_line_once() {
    let mut seeds = files("tests/fixtures/transcripts");
    for client in ["codex", "copilot", "gemini", "qwen"] {
        seeds.extend(files(&format!("tests/fixtures/clients/{client}/transcripts")));
    }
    exercise("transcript", targets::clients::transcript::run, &seeds, 400);
}
