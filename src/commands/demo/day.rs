//! The made-up day: the personas, what they have done, and what they do next.

use Act::*;

/// One Claude Code session in one checkout.
pub struct Persona {
    pub key: &'static str,
    pub title: &'static str,
    pub project: &'static str,
    /// Its checkout; if the name differs from the project's, it is a worktree.
    pub dir: &'static str,
    pub branch: &'static str,
    pub pane: &'static str,
    pub model: &'static str,
    /// How full its context is at the end of the day, and what it has cost by then.
    pub percent: u8,
    pub cost: f64,
    pub headless: bool,
}

/// What a persona does. Tool calls are given as (name, input, seconds).
pub enum Act {
    Start,
    Prompt(&'static str),
    Call(&'static str, &'static str, f64),
    Failed(&'static str, &'static str, f64, &'static str),
    /// A call that is still running; `Answer` ends it.
    Begin(&'static str, &'static str),
    /// A call that needs permission; `Answer` gives it.
    Ask(&'static str, &'static str),
    Question(&'static str, &'static [&'static str]),
    Answer,
    Stop(&'static str),
    /// The turn ends, a shell command keeps running in the background.
    StopBehind(&'static str, &'static str),
    Fail(&'static str, &'static str),
    /// Subagents: id and type, then as above.
    Helper(&'static str, &'static str),
    HelperCall(&'static str, &'static str, &'static str, &'static str, f64),
    HelperBegin(&'static str, &'static str, &'static str, &'static str),
    HelperDone(&'static str, &'static str, &'static str),
    /// Context and cost, as a share of what they are at the end of the day.
    Figures(f64),
    Seen,
    End,
}

const OPUS: &str = "claude-opus-5-5";
const SONNET: &str = "claude-sonnet-5-5";

#[rustfmt::skip]
pub const CAST: &[Persona] = &[
    Persona { key: "login", title: "Fix the flaky login test", project: "storefront", dir: "storefront", branch: "fix/login-flake", pane: "%901", model: OPUS, percent: 62, cost: 2.41, headless: false },
    Persona { key: "invoices", title: "Invoices, second version", project: "ledger", dir: "ledger", branch: "feat/invoices-v2", pane: "%902", model: OPUS, percent: 38, cost: 1.07, headless: false },
    Persona { key: "import", title: "Nightly import", project: "ledger", dir: "ledger-import", branch: "fix/import-retries", pane: "%903", model: SONNET, percent: 93, cost: 4.80, headless: false },
    Persona { key: "search", title: "Search relevance", project: "storefront", dir: "storefront-search", branch: "exp/bm25", pane: "%904", model: OPUS, percent: 47, cost: 1.66, headless: false },
    Persona { key: "relay", title: "Move the relay to HTTP/2", project: "relay", dir: "relay", branch: "feat/http2", pane: "%905", model: OPUS, percent: 71, cost: 3.20, headless: false },
    Persona { key: "docs", title: "Docs site", project: "handbook", dir: "handbook", branch: "main", pane: "%906", model: SONNET, percent: 24, cost: 0.52, headless: false },
    Persona { key: "settings", title: "Refactor the settings page", project: "storefront", dir: "storefront-settings", branch: "refactor/settings", pane: "%907", model: OPUS, percent: 55, cost: 1.94, headless: false },
    Persona { key: "infra", title: "Terraform drift", project: "infra", dir: "infra", branch: "main", pane: "%908", model: SONNET, percent: 18, cost: 0.31, headless: false },
    Persona { key: "notes", title: "Release notes for 4.2", project: "handbook", dir: "handbook-release", branch: "release/4.2", pane: "%909", model: SONNET, percent: 33, cost: 0.44, headless: false },
    Persona { key: "lint", title: "Lint the relay", project: "relay", dir: "relay-lint", branch: "main", pane: "", model: SONNET, percent: 9, cost: 0.06, headless: true },
    Persona { key: "spike", title: "Spike: WebAuthn", project: "storefront", dir: "storefront-webauthn", branch: "spike/webauthn", pane: "%911", model: OPUS, percent: 40, cost: 0.98, headless: false },
    Persona { key: "audit", title: "Audit the dependencies", project: "relay", dir: "relay-audit", branch: "chore/audit", pane: "%912", model: SONNET, percent: 29, cost: 0.37, headless: false },
];

/// What the client says a command is for.
pub const DESCRIPTIONS: &[(&str, &str)] = &[
    ("npm test -- --runInBand auth/login.spec.ts", "Run the login test alone, in one process"),
    ("psql ledger_dev -f migrations/0042_invoices_v2.sql", "Apply the migration to the development database"),
];

/// The edits: a file, what was there, what is there now.
pub const EDITS: &[(&str, &str, &str)] = &[
    (
        "auth/session.ts",
        "  const sid = newSessionId();\n  store.write(sid, user);\n  reply.setCookie('sid', sid);\n",
        "  const sid = newSessionId();\n  await store.write(sid, user);\n  reply.setCookie('sid', sid);\n",
    ),
    (
        "jobs/import.py",
        "    page = fetch(url, timeout=5)\n",
        "    for attempt in range(4):\n        try:\n            page = fetch(url, timeout=5)\n            break\n        \
         except Timeout:\n            sleep(2 ** attempt)\n",
    ),
    (
        "app/settings/page.tsx",
        "  const [name, setName] = useState(user.name);\n  const [mail, setMail] = useState(user.mail);\n",
        "  const form = useSettingsForm(user);\n",
    ),
    (
        "search/rank.ts",
        "  return bm25(query, doc.title + ' ' + doc.body);\n",
        "  return 2 * bm25(query, doc.title) + bm25(query, doc.body);\n",
    ),
    (
        "src/listener.rs",
        "    let server = http1::Builder::new();\n",
        "    let mut server = auto::Builder::new(TokioExecutor::new());\n    server.http2().max_concurrent_streams(250);\n",
    ),
    (
        "src/stream.rs",
        "    body.read_to_end(&mut buffer).await?;\n",
        "    timeout(STALLED_AFTER, body.read_to_end(&mut buffer)).await??;\n",
    ),
    (
        "migrations/0042_invoices_v2.sql",
        "",
        "begin;\nalter table invoices add column version int not null default 1;\ncreate table invoice_lines_v2 (like invoice_lines);\n\
         commit;\n",
    ),
];

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;

/// What has happened so far: (seconds ago, act).
#[rustfmt::skip]
pub const PAST: &[(&str, &[(u64, Act)])] = &[
    ("login", &[
        (14 * MINUTE, Start),
        (13 * MINUTE, Prompt("The login test fails about one time in ten on CI. Find out why, fix it, and tell me what it was.")),
        (770, Call("Bash", "gh run list --workflow ci --limit 30 --json conclusion,headSha", 2.1)),
        (760, Call("Read", "auth/login.spec.ts", 0.02)),
        (748, Call("Grep", "sessionCookie", 0.34)),
        (730, Call("Agent", "Find every place that sets the session cookie", 0.04)),
        (729, Helper("a41c9e07b2", "Explore")),
        (720, HelperCall("a41c9e07b2", "Explore", "Grep", "Set-Cookie", 0.41)),
        (700, Call("Read", "auth/session.ts", 0.02)),
        (690, HelperCall("a41c9e07b2", "Explore", "Read", "auth/cookies.ts", 0.02)),
        (655, Call("Agent", "Run the test thirty times and keep the traces", 0.04)),
        (654, Helper("a7d0f35c18", "test-runner")),
        (640, HelperCall("a7d0f35c18", "test-runner", "Bash", "npx playwright test auth/login --repeat-each=30 --trace on", 48.7)),
        (560, HelperDone("a41c9e07b2", "Explore", "The cookie is set in two places: auth/session.ts:48 and the middleware. Only the first one awaits the write.")),
        (540, HelperBegin("a7d0f35c18", "test-runner", "Bash", "npx playwright show-trace --summary traces/*.zip")),
        (420, Failed("Bash", "npx playwright test auth/login --repeat-each=20", 31.5, "Exit code 1\n2 of 20 failed: expected cookie `sid`, found none")),
        (330, Call("Edit", "auth/session.ts", 0.21)),
        (300, Figures(1.0)),
        (194, Ask("Bash", "npm test -- --runInBand auth/login.spec.ts")),
    ]),
    ("invoices", &[
        (50 * MINUTE, Start),
        (49 * MINUTE, Prompt("Write the migration from invoices v1 to v2. Old invoices must keep their totals to the cent.")),
        (48 * MINUTE, Call("Read", "db/schema/invoices.sql", 0.02)),
        (46 * MINUTE, Call("Bash", "psql ledger_dev -c 'select count(*) from invoices'", 0.8)),
        (40 * MINUTE, Ask("Bash", "psql ledger_dev -f migrations/0042_invoices_v2.sql")),
        (37 * MINUTE, Answer),
        (20 * MINUTE, Call("Write", "migrations/0042_invoices_v2.sql", 0.11)),
        (5 * MINUTE, Call("Bash", "pytest tests/migrations -q", 22.4)),
        (130, Figures(1.0)),
        (52, Question("How should v2 round a line of half a cent?", &["Half up, as the old code did", "Half to even", "Keep three decimals and round the sum"])),
    ]),
    ("import", &[
        (95 * MINUTE, Start),
        (94 * MINUTE, Prompt("The nightly import gives up after the first timeout. Make it retry, and add a test with a slow server.")),
        (90 * MINUTE, Call("Read", "jobs/import.py", 0.02)),
        (80 * MINUTE, Call("Edit", "jobs/import.py", 0.17)),
        (60 * MINUTE, Call("Bash", "pytest tests/jobs -q", 64.0)),
        (20 * MINUTE, Figures(1.0)),
        (11 * MINUTE, Fail("rate_limit", "API Error: 429 rate limited. Try again in 12 minutes.")),
    ]),
    ("search", &[
        (70 * MINUTE, Start),
        (69 * MINUTE, Prompt("Try BM25 with field boosts for product search and compare it with what we have.")),
        (66 * MINUTE, Call("Read", "search/rank.ts", 0.02)),
        (60 * MINUTE, Call("Bash", "node bench/relevance.mjs --baseline", 38.0)),
        (42 * MINUTE, Stop("The baseline finds the right product first in 61 % of the queries. BM25 without boosts gets 66 %.")),
        (5 * MINUTE, Prompt("Good. Now boost the title, and sweep the weights.")),
        (280, Call("Edit", "search/rank.ts", 0.19)),
        (240, Call("Bash", "node bench/relevance.mjs --k1 1.2 --b 0.75", 36.1)),
        (100, Figures(0.8)),
        (31, Call("Agent", "Find who reads the weights", 0.04)),
        (30, Helper("ab1093ce44", "Explore")),
        (24, HelperBegin("ab1093ce44", "Explore", "Grep", "fieldWeights")),
        (9, Begin("Bash", "node bench/relevance.mjs --sweep title=1..4")),
    ]),
    ("relay", &[
        (3 * HOUR, Start),
        (172 * MINUTE, Prompt("Move the relay to HTTP/2. Keep the old port working.")),
        (160 * MINUTE, Call("Bash", "cargo add h2 hyper --features http2", 6.2)),
        (140 * MINUTE, Call("Edit", "src/listener.rs", 0.2)),
        (120 * MINUTE, Ask("Bash", "cargo publish --dry-run")),
        (112 * MINUTE, Answer),
        (70 * MINUTE, Stop("HTTP/2 works on the new port; the old one answers HTTP/1.1 as before. Next is flow control.")),
        (22 * MINUTE, Prompt("Do the flow control, with a test that stalls one stream and expects the others to go on.")),
        (20 * MINUTE, Call("Read", "src/stream.rs", 0.02)),
        (12 * MINUTE, Call("Edit", "src/stream.rs", 0.23)),
        (8 * MINUTE, Figures(0.95)),
        (75, Begin("Bash", "cargo nextest run --workspace")),
    ]),
    ("docs", &[
        (40 * MINUTE, Start),
        (38 * MINUTE, Prompt("Rebuild the docs site with the new theme and keep it rebuilding while I write.")),
        (30 * MINUTE, Call("Edit", "site/config.toml", 0.1)),
        (8 * MINUTE, StopBehind("The new theme is in. The site rebuilds on every save, in the background.", "npm run docs -- --watch")),
        (7 * MINUTE, Seen),
    ]),
    ("settings", &[
        (2 * HOUR, Start),
        (118 * MINUTE, Prompt("Split the settings page: one file per section, the form state in one place.")),
        (100 * MINUTE, Call("Read", "app/settings/page.tsx", 0.02)),
        (60 * MINUTE, Call("Edit", "app/settings/page.tsx", 0.3)),
        (20 * MINUTE, Call("Bash", "npm run test -- settings", 14.2)),
        (6 * MINUTE, Stop("The settings page is now four files and one form state. All 48 tests pass; the bundle is 3 KB smaller.")),
    ]),
    ("infra", &[
        (4 * HOUR, Start),
        (235 * MINUTE, Prompt("What has drifted since Friday?")),
        (230 * MINUTE, Call("Bash", "terraform plan -detailed-exitcode", 41.0)),
        (2 * HOUR, Stop("Two security groups drifted; both are the rules added by hand last week. Nothing was changed.")),
        (7100, Seen),
    ]),
    ("notes", &[
        (12 * HOUR, Start),
        (43_000, Prompt("Draft the release notes for 4.2 from the merged pull requests.")),
        (42_000, Call("Bash", "gh pr list --state merged --search milestone:4.2", 3.0)),
        (11 * HOUR, Stop("The draft is in RELEASES.md: 14 changes, two of them breaking, both with a way to migrate.")),
        (39_000, Seen),
    ]),
    ("lint", &[
        (100, Start),
        (98, Prompt("Lint the diff against main and list what a reviewer would say.")),
        (90, Call("Bash", "git diff main --stat", 0.2)),
        (40, Call("Bash", "cargo clippy --all-targets", 19.0)),
    ]),
    ("spike", &[
        (7 * HOUR, Start),
        (24_900, Prompt("How much work would passkeys be here? A spike, no production code.")),
        (24_000, Call("WebFetch", "https://www.w3.org/TR/webauthn-3/", 2.4)),
        (6 * HOUR, Stop("About three days: one for registration, one for login, one for recovery. The notes are in SPIKE.md.")),
        (21_000, End),
    ]),
    ("audit", &[
        (6 * HOUR, Start),
        (21_400, Prompt("Which dependencies have known advisories?")),
        (21_000, Call("Bash", "cargo audit", 7.5)),
        (20_000, Stop("One: an old version of a time zone crate, used only in tests.")),
        (19_000, End),
    ]),
];

/// The errands of the days before: (persona, hours before the demo's time of day).
pub const ERRANDS: &[(&str, u64)] = &[("infra", 1), ("audit", 2), ("notes", 3), ("spike", 5), ("docs", 6)];

/// One errand: (seconds after its start, whether it also waits for the human, act).
#[rustfmt::skip]
pub const ERRAND: &[(u64, bool, Act)] = &[
    (0, false, Start),
    (20, false, Prompt("Look into what came up since yesterday, and fix what is small.")),
    (60, false, Call("Bash", "git log --since yesterday --stat", 0.4)),
    (200, false, Ask("Bash", "git pull --rebase && npm ci")),
    (200, true, Answer),
    (420, true, Call("Edit", "src/main.ts", 0.2)),
    (600, true, Stop("Two small fixes, both with a test.")),
    (900, true, End),
];

/// What happens next, in rounds: (seconds after the start of the round, persona, act).
#[rustfmt::skip]
pub const NEXT: &[(f64, &str, Act)] = &[
    (4.0, "lint", Call("Grep", "unwrap\\(\\)", 0.3)),
    (6.0, "search", Answer),
    (7.5, "search", Call("Read", "bench/results.json", 0.02)),
    (9.0, "lint", Stop("Nothing a reviewer would stop; two names could be clearer.")),
    (10.0, "search", Begin("Edit", "search/weights.ts")),
    (12.0, "search", Answer),
    (14.0, "search", Begin("Bash", "node bench/relevance.mjs --title 2.5 --body 1.0")),
    (17.0, "relay", Answer),
    (19.0, "relay", Begin("Edit", "tests/stalled_stream.rs")),
    (21.0, "relay", Answer),
    (23.0, "search", Answer),
    (24.0, "relay", Ask("Bash", "cargo update -p h2 --precise 0.4.13")),
    (27.0, "search", Stop("With the title boosted 2.5 times, the right product comes first in 74 % of the queries (61 % before). The weights are in search/weights.ts.")),
    (31.0, "login", Answer),
    (33.0, "login", Begin("Bash", "npx playwright test auth/login --repeat-each=50")),
    (38.0, "relay", Answer),
    (40.0, "relay", Begin("Bash", "cargo nextest run stalled")),
    (44.0, "login", Answer),
    (46.0, "login", Stop("It was a race: the middleware set the cookie without waiting for the write. It waits now; 50 of 50 runs pass.")),
    (50.0, "invoices", Answer),
    (52.0, "invoices", Begin("Edit", "migrations/0042_invoices_v2.sql")),
    (56.0, "search", Prompt("Write that up for the team, with the table.")),
    (58.0, "search", Begin("Write", "docs/search-relevance.md")),
    (61.0, "search", Answer),
    (63.0, "relay", Answer),
    (64.0, "relay", Begin("Bash", "cargo bench --bench throughput")),
    (67.0, "invoices", Answer),
    (69.0, "invoices", Question("Should the old column stay for one release?", &["Yes, read-only", "No, drop it now"])),
    (73.0, "login", Prompt("Great. Look for the same race elsewhere.")),
    (75.0, "login", Begin("Grep", "cookies\\.set\\(")),
    (78.0, "login", Answer),
    (80.0, "login", Ask("Bash", "npm run test:all")),
    (84.0, "search", Begin("Bash", "node bench/relevance.mjs --sweep title=1..4")),
    (86.0, "lint", Prompt("Once more, for the last commit only.")),
];
