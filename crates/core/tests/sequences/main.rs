//! Recorded runs of the real client, played into the engine: what must a user see after each step?

#![allow(clippy::disallowed_methods, reason = "fixtures are files")]
#![allow(clippy::unwrap_used)]

mod case;
mod check;
mod client_status;
mod edge;
mod player;
mod replay;

use case::Case;
use player::{Player, Reading};
use serde_json::Value;

fn play(case: &Case, reading: Reading) -> Result<(), String> {
    let mut player = Player::new(case, reading);
    let mut labels = check::Labels::new();
    let mut check = |player: &Player, i: Option<usize>, moment: &str| {
        for expected in &case.expect {
            let when = match (expected.after.as_u64(), expected.within_s, expected.after_restart) {
                (None, ..) => "end",
                (_, _, true) => "restart",
                (_, Some(_), _) => "later",
                _ => "now",
            };
            if when != moment || (i.is_some() && expected.after.as_u64() != i.map(|i| i as u64)) {
                continue;
            }
            let bad = check::problems(player, expected, &mut labels);
            if !bad.is_empty() {
                let name = i.map_or("the end", |i| case.steps[i].body["hook_event_name"].as_str().unwrap());
                return Err(format!("{moment} after step {i:?} ({name}): {}", bad.join("; ")));
            }
        }
        Ok(())
    };
    player.pause(None, false);
    for (i, step) in case.steps.iter().enumerate() {
        player.deliver(step);
        check(&player, Some(i), "now")?;
        let waited_for = case
            .expect
            .iter()
            .any(|expected| expected.after.as_u64() == Some(i as u64) && expected.within_s.is_some());
        player.pause(Some(i), waited_for);
        check(&player, Some(i), "later")?;
        if case.steps.get(i + 1).is_some_and(|next| next.restart_before) {
            player.restart();
            check(&player, Some(i), "restart")?;
        }
    }
    player.pause(Some(case.steps.len() - 1), true);
    check(&player, None, "end")?;
    let single = case.turns.as_array().map(|turns| ("A".to_string(), Value::from(turns.clone())));
    let many =
        case.turns.as_object().into_iter().flatten().map(|(label, turns)| (label.clone(), turns.clone()));
    for (label, wanted) in single.into_iter().chain(many) {
        let Some(id) = labels.get(&label) else { continue };
        if let Some(bad) = check::wrong_turn(&player, *id, wanted.as_array().unwrap()) {
            return Err(format!("turns of {label}: {bad}"));
        }
    }
    Ok(())
}

fn play_all(reading: Reading) {
    let cases = case::all();
    assert!(cases.len() > 50, "the recordings are missing");
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| play(case, reading).err().map(|why| format!("{}: {why}", case.name)))
        .collect();
    assert!(failed.is_empty(), "{} of {} failed\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn recorded_sequences_with_a_reconciler_that_reads_at_once() {
    play_all(Reading::Eager);
}

#[test]
fn recorded_sequences_with_a_reconciler_that_lags() {
    play_all(Reading::Lazy);
}
