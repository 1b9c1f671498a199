//! The routes behind the pages: search, statistics, export, names of events, the guard's word, and pages for people.

use headspace_test_support::{Installation, each_row};
use serde_json::{Value, json};

/// Two projects: in one it was asked about a cookie and answered, in the other a permission is open.
fn board() -> Installation {
    let board = Installation::new(json!({}));
    let (api, web) = (board.project("api", "main"), board.project("web", "main"));
    board.send(
        "UserPromptSubmit",
        "s-api",
        &api,
        json!({"prompt": "Why does the <b>cookie</b> leak?\u{1b}[2J"}),
    );
    let call =
        json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "grep `cookie` src"}});
    board.send("PreToolUse", "s-api", &api, call.clone());
    board.send("PostToolUse", "s-api", &api, call);
    board.send("Stop", "s-api", &api, json!({"last_assistant_message": "The Cookie was set twice."}));
    board.send("UserPromptSubmit", "s-web", &web, json!({"prompt": "Bake a cookie banner"}));
    let push = json!({"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "git push --force origin main"}});
    board.send("PreToolUse", "s-web", &web, push.clone());
    board.send("PermissionRequest", "s-web", &web, push);
    board
}

fn id_of(board: &Installation, project: &str) -> Value {
    let agents = board.server().get("/api/agents")["agents"].as_array().unwrap().clone();
    agents.iter().find(|agent| agent["project"] == project).unwrap()["id"].clone()
}

/// The text of a hit, with the words in brackets.
fn marked(hit: &Value) -> String {
    let pieces = hit["excerpt"].as_array().unwrap().iter();
    pieces
        .map(|piece| match (piece["text"].as_str().unwrap(), piece["hit"] == true) {
            (text, true) => format!("[{text}]"),
            (text, false) => text.to_owned(),
        })
        .collect()
}

#[test]
fn conversations_are_found_by_their_words_and_narrowed() {
    let board = board();
    let found = |query: &str| -> Vec<String> {
        let page = board.server().get(&format!("/api/conversations?{query}"));
        page["hits"].as_array().unwrap().iter().map(marked).collect()
    };
    let (asked, said, other) =
        ("Why does the <b>[cookie]</b> leak?[2J", "The [Cookie] was set twice.", "Bake a [cookie] banner");
    assert_eq!(found("q=cookie"), [other, said, asked], "newest first");
    let begun = ["The [Cook]ie was set twice.", "Why does the <b>[cook]ie</b> leak?[2J"];
    assert_eq!(found("q=cook&project=api"), begun, "the beginning of a word");
    assert_eq!(found("q=cookie+banner"), ["Bake a [cookie] [banner]"]);
    assert_eq!(found(&format!("q=cookie&agent={}", id_of(&board, "web"))), [other]);
    assert_eq!(found("q=cookie&from=2099-01-01T00:00:00Z"), [""; 0]);
    assert_eq!(found("q=cookie&to=2000-01-01T00:00:00Z"), [""; 0]);
    assert_eq!(found("q=%22%3B+DROP+TABLE+turns%3B+--"), [""; 0]);
    assert_eq!(found("q=cookie").len(), 3, "and they are still there");

    // Page by page, each place once.
    let first = board.server().get("/api/conversations?q=cookie&limit=2");
    assert_eq!(first["hits"].as_array().unwrap().len(), 2);
    let rest = board.server().get(&format!("/api/conversations?q=cookie&limit=2&before={}", first["next"]));
    assert_eq!(rest["hits"].as_array().unwrap().iter().map(marked).collect::<Vec<_>>(), [asked]);
    assert_eq!(rest.get("next"), None);
}

#[test]
fn wrong_questions_are_refused_with_the_reason() {
    let board = board();
    let id = id_of(&board, "api");
    each_row(
        [
            ("/api/conversations".to_owned(), 400, "`q` is missing"),
            ("/api/conversations?q=%20".to_owned(), 400, "`q` is missing"),
            ("/api/conversations?q=x&from=yesterday".to_owned(), 400, "`from` is not a time"),
            ("/api/conversations?q=x&agent=me".to_owned(), 400, "`agent` is not a number"),
            (format!("/api/agents/{id}/export?format=pdf"), 400, "markdown or json"),
            (format!("/api/agents/{id}/export?session=../../etc"), 404, "no such session"),
            ("/api/agents/4711/export".to_owned(), 404, "no such agent"),
            ("/api/interactions/4711/guard".to_owned(), 404, ""),
            ("/api/interactions/x/guard".to_owned(), 404, ""),
            ("/assets/../Cargo.toml".to_owned(), 404, ""),
        ],
        |(path, ..)| path.clone(),
        |(path, status, why)| {
            let answer = board.server().request("GET", &path, &[], None);
            assert_eq!((answer.status, &answer.json()["status"]), (status, &json!("error")), "{path}");
            assert!(answer.json()["message"].as_str().unwrap().contains(why), "{path}: {}", answer.text());
        },
    );
}

#[test]
fn a_session_is_exported_for_reading_and_for_programs() {
    let board = board();
    let path = format!("/api/agents/{}/export", id_of(&board, "api"));
    let document = board.server().request("GET", &path, &[], None);
    let header = |name: &str| document.header(name).unwrap_or_default().to_owned();
    assert!(header("content-type").starts_with("text/markdown"), "{}", header("content-type"));
    assert_eq!(header("content-disposition"), "attachment; filename=\"headspace-api-s-api.md\"");
    let text = document.text();
    let places: Vec<usize> = [
        "## You",
        "\n\n> Why does the <b>cookie</b> leak?[2J",
        "`` Bash: grep `cookie` src `` (ok, ",
        "## Agent",
        "set twice.",
    ]
    .iter()
    .map(|part| text.find(part).unwrap_or_else(|| panic!("no {part}: {text}")))
    .collect();
    assert!(places.is_sorted(), "in reading order: {text}");
    assert!(!text.contains('\u{1b}'));

    let json = board.server().get(&format!("{path}?format=json"));
    assert_eq!((&json["session_id"], &json["complete"]), (&json!("s-api"), &json!(true)));
    let turns: Vec<&str> =
        json["turns"].as_array().unwrap().iter().map(|turn| turn["actor"].as_str().unwrap()).collect();
    assert_eq!(turns, ["user", "agent"]);
    assert!(json["events"].as_array().unwrap().len() >= 4);

    // The command writes the same.
    assert_eq!(board.ok(&["export", "api"]), text);
}

#[test]
fn statistics_know_the_day_the_waits_and_the_names() {
    let board = board();
    let stats = board.server().get("/api/stats");
    let today = stats["days"].as_array().unwrap().last().unwrap();
    assert!(today["events"].as_u64().unwrap() >= 7 && today["commands"] == 2, "{today}");
    assert!(today["waited_by_kind"]["permission"].is_number(), "{today}");
    let waits = stats["longest_waits"].as_array().unwrap();
    assert_eq!(
        (&waits[0]["text"], &waits[0]["closed_at"]),
        (&json!("Allow Bash: git push --force origin main"), &Value::Null)
    );
    assert_eq!(stats["hours"].as_array().unwrap().len(), 48);
    let names = board.server().get("/api/events/names");
    for name in ["PermissionRequest", "PostToolUse", "PreToolUse", "Stop", "UserPromptSubmit"] {
        assert!(names["names"].as_array().unwrap().contains(&json!(name)), "{names}");
    }
}

#[test]
fn the_guard_says_its_word_about_an_open_ask() {
    let board = board();
    let agents = board.server().get("/api/agents");
    let ask =
        agents["agents"].as_array().unwrap().iter().find_map(|agent| agent["interactions"].get(0)).unwrap();
    let word = board.server().get(&format!("/api/interactions/{}/guard", ask["id"]));
    assert!(matches!(word["verdict"].as_str(), Some("ask" | "deny")), "{word}");
    assert!(word["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{word}");
}

#[test]
fn a_name_of_ones_own_is_kept_and_can_be_taken_back() {
    let mut board = board();
    let id = id_of(&board, "api");
    let (name, before) =
        (format!("/api/agents/{id}/name"), board.server().get(&format!("/api/agents/{id}"))["name"].clone());
    let renamed = board.server().post(&name, &json!({"name": "The \u{1b}[31mcookie\nthing"})).json();
    let shown = renamed["agent"]["name"].as_str().unwrap().to_owned();
    assert!(shown.contains("cookie") && !shown.contains(['\u{1b}', '\n']), "{shown:?}");
    board.stop();
    board.start();
    assert_eq!(board.server().get(&format!("/api/agents/{id}"))["name"], shown, "after a restart");
    board.server().post(&name, &json!({"name": ""}));
    assert_eq!(board.server().get(&format!("/api/agents/{id}"))["name"], before);
}

#[test]
fn a_person_gets_a_page_and_a_program_gets_json() {
    let board = board();
    let browser = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    each_row(
        [("/nowhere", 404), ("/login", 400), ("/login?code=guess", 403), ("/api/agents/4711", 404)],
        |(path, _)| (*path).to_owned(),
        |(path, status)| {
            let page = board.server().request("GET", path, &browser, None);
            let kind = page.header("content-type").unwrap_or_default();
            assert_eq!((page.status, kind.starts_with("text/html")), (status, true), "{path}");
            assert!(page.text().contains("<h1>") && !page.text().contains("<script"), "{}", page.text());
            let json = board.server().request("GET", path, &[], None);
            assert_eq!((json.status, &json.json()["status"]), (status, &json!("error")), "{path}");
        },
    );
    // What a phone puts on its home screen.
    for (path, kind) in [
        ("/", "text/html"),
        ("/assets/manifest.webmanifest", "application/manifest+json"),
        ("/assets/icon-192.png", "image/png"),
        ("/service-worker.js", "text/javascript"),
        ("/assets/style.css", "text/css"),
    ] {
        let file = board.server().request("GET", path, &[], None);
        let said = file.header("content-type").unwrap_or_default();
        assert!(file.status == 200 && said.starts_with(kind), "{path}: {} {said}", file.status);
        let policy = file.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
    }
}
