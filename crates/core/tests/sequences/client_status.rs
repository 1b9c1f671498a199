//! Runs of the real client with its status file: however late, repeated or incomplete the readings are, the
//! last word is the client's.

use headspace_core::engine;
use headspace_core::engine::World;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

/// A line of a recording: an event as it was stored, its time in milliseconds since the first.
#[derive(Deserialize)]
struct Line {
    at: i64,
    name: String,
    source: Source,
    session: String,
    body: Value,
}

pub static RECORDED: LazyLock<Vec<(String, Vec<Event>)>> = LazyLock::new(|| {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/client_status");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let events = text.lines().enumerate().map(|(i, line)| event(i, serde_json::from_str(line).unwrap()));
        (path.file_stem().unwrap().to_string_lossy().into_owned(), events.collect())
    };
    files.iter().filter(|path| path.extension().is_some_and(|kind| kind == "jsonl")).map(read).collect()
});

fn event(index: usize, line: Line) -> Event {
    let at = Stamp(1_800_000_000_000_000_000).plus(Duration::from_millis(line.at as u64));
    Event {
        id: index as i64 + 1,
        name: line.name,
        session_id: line.session,
        at,
        received_at: at,
        source: line.source,
        body: line.body,
        facts: Facts { root: Some("/project".into()), ..Facts::default() },
        agent_hint: None,
    }
}

fn is_status(event: &Event) -> bool {
    event.name == observed::CLIENT_STATUS
}

/// What happens to a reading of the client's file.
#[derive(Clone, Copy, Debug)]
struct Fate {
    late_ms: u64,
    missing: bool,
    twice: bool,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = (0u64..2000, prop::bool::weighted(0.15), prop::bool::weighted(0.15));
    prop::collection::vec(fate.prop_map(|(late_ms, missing, twice)| Fate { late_ms, missing, twice }), 90)
}

/// The events up to and including `last`, in the order they arrive.
fn arrivals(events: &[Event], last: usize, fates: &[Fate]) -> Vec<Event> {
    let mut line: Vec<(i64, Event)> = Vec::new();
    for (index, event) in events[..last].iter().enumerate() {
        let place = (index as i64) << 32;
        if !is_status(event) {
            line.push((place, event.clone()));
            continue;
        }
        let fate = fates[index % fates.len()];
        let until = event.at.plus(Duration::from_millis(fate.late_ms));
        let passed = events[index..last].iter().filter(|other| other.at <= until).count() as i64;
        for copy in 0..if fate.missing { 0 } else { 1 + i64::from(fate.twice) } {
            line.push((((index as i64 + passed) << 32) | (1 + copy), event.clone()));
        }
    }
    line.sort_by_key(|(place, _)| *place);
    line.push((i64::MAX, events[last].clone()));
    line.into_iter().map(|(_, event)| event).collect()
}

fn agree(name: &str, events: &[Event], fates: &[Fate]) -> Result<(), String> {
    for last in (0..events.len()).filter(|index| is_status(&events[*index])) {
        let said = &events[last];
        // A newer hook knows more than the file.
        if events[..last].iter().any(|event| event.at >= said.at) {
            continue;
        }
        let mut world = World::default();
        let mut gone: HashMap<u64, bool> = HashMap::new();
        for mut event in arrivals(events, last, fates) {
            let pid = event.body["claude_pid"].as_u64();
            if matches!(event.name.as_str(), "SessionEnd" | observed::PROCESS_GONE)
                && let Some(pid) = pid
            {
                gone.insert(pid, event.body["reason"] != "clear");
            }
            let asked = world.asks(&event);
            event.facts.alive = asked
                .into_iter()
                .filter(|process| !gone.get(&u64::from(process.pid)).copied().unwrap_or(false))
                .collect();
            engine::apply(&mut world, &event);
        }
        let pid = said.body["claude_pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let now = said.at.plus(Duration::from_millis(5));
        let Some(agent) = world.agents().find(|agent| agent.place.claude_pid == pid) else {
            return Err(format!("{name}, event {last}: nobody has process {pid:?}"));
        };
        if agent.session_id != said.session_id {
            continue;
        }
        let view = agent.view(now, None);
        let replies = view.interactions.iter().all(|one| one.kind == InteractionKind::Reply);
        let fits = match said.body["status"].as_str() {
            Some("busy" | "shell") => view.status == Status::Working,
            Some("waiting") => view.status == Status::Attention,
            Some("idle") => view.status == Status::Idle || (view.status == Status::Attention && replies),
            _ => true,
        };
        if !fits {
            let (status, detail) = (view.status, view.status_detail);
            return Err(format!("{name}, event {last} says {}: {status} {detail:?}", said.body["status"]));
        }
    }
    Ok(())
}

#[test]
fn the_client_has_the_last_word_when_its_file_is_read_in_time() {
    assert!(RECORDED.len() > 20, "the recordings are missing");
    let at_once = [Fate { late_ms: 0, missing: false, twice: false }];
    let wrong: Vec<String> =
        RECORDED.iter().filter_map(|(name, events)| agree(name, events, &at_once).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_client_has_the_last_word_however_its_file_was_read(
        picked in any::<prop::sample::Index>(),
        fates in fates(),
    ) {
        let (name, events) = &RECORDED[picked.index(RECORDED.len())];
        let agreed = agree(name, events, &fates);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}
