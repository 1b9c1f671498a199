//! What a user must see, according to the cases.

use crate::case::Expected;
use crate::player::Player;
use headspace_core::model::AgentView;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Which agent has which of the case's names.
pub type Labels = BTreeMap<String, i64>;

pub fn problems(player: &Player, expected: &Expected, labels: &mut Labels) -> Vec<String> {
    let views: Vec<AgentView> = player.world.agents().map(|agent| agent.view(player.now, None)).collect();
    let mut bad = Vec::new();
    let live = views.iter().filter(|view| view.ended_at.is_none()).count();
    for (what, got) in [("all", views.len()), ("live", live)] {
        if expected.count.get(what).is_some_and(|wanted| *wanted != got) {
            bad.push(format!("{got} agents ({what}), expected {}", expected.count[what]));
        }
    }
    for wanted in &expected.agents {
        let label = wanted["is"].as_str().unwrap();
        let session = wanted.get("session_id").and_then(Value::as_str);
        let found = views.iter().find(|view| match labels.get(label) {
            Some(id) => view.id == *id,
            None => Some(view.session_id.as_str()) == session && !labels.values().any(|id| view.id == *id),
        });
        let Some(view) = found else {
            bad.push(format!("no agent {label} for session {session:?}"));
            continue;
        };
        let object = serde_json::to_value(view).unwrap();
        let mine: Vec<String> = wanted
            .iter()
            .filter(|(key, _)| *key != "is")
            .filter_map(|(key, value)| field(key, value, &object))
            .collect();
        if mine.is_empty() {
            labels.insert(label.to_string(), view.id.number);
        }
        bad.extend(mine.into_iter().map(|message| format!("{label}: {message}")));
    }
    bad
}

fn field(key: &str, wanted: &Value, agent: &Value) -> Option<String> {
    let subagents = agent["subagents"].as_array().unwrap();
    match key {
        "active_subagents" => {
            let mut active: Vec<&str> = subagents
                .iter()
                .filter(|child| child["status"] != "idle")
                .filter_map(|child| child["agent_id"].as_str())
                .collect();
            active.sort_unstable();
            (Value::from(active.clone()) != *wanted)
                .then(|| format!("at work are {active:?}, expected {wanted}"))
        }
        "no_subagent" => {
            subagents.iter().any(|child| child["agent_id"] == *wanted).then(|| format!("{wanted} is listed"))
        }
        "subagents" => wanted.as_array().unwrap().iter().find_map(|want: &Value| {
            let Some(child) = subagents.iter().find(|child| child["agent_id"] == want["agent_id"]) else {
                return Some(format!("{} is not listed", want["agent_id"]));
            };
            want.as_object().unwrap().iter().find_map(|(key, value)| plain(key, value, child))
        }),
        "current_command" => {
            let got = agent["current_command"]["instruction"].as_str();
            let line = wanted["instruction"].as_str().unwrap().trim().lines().next().unwrap_or_default();
            (!got.is_some_and(|got| got.contains(line)))
                .then(|| format!("instruction is {got:?}, expected {line:?}"))
        }
        _ => plain(key, wanted, agent),
    }
}

fn plain(key: &str, wanted: &Value, object: &Value) -> Option<String> {
    let got = object.get(key)?;
    let text = got.as_str();
    let ok = match wanted.as_object().and_then(|map: &Map<String, Value>| map.iter().next()) {
        Some((what, value)) => match what.as_str() {
            "null" => got.is_null() == value.as_bool().unwrap(),
            "len" => got.as_array().map(Vec::len) == value.as_u64().map(|n| n as usize),
            "re" => text.is_some_and(|text| matches(value.as_str().unwrap(), text)),
            "not_re" => text.is_none_or(|text| !matches(value.as_str().unwrap(), text)),
            other => panic!("unknown matcher {other}"),
        },
        None => got == wanted,
    };
    (!ok).then(|| format!("{key} is {got}, expected {wanted}"))
}

pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, flags) = match pattern.strip_prefix("(?i)") {
        Some(rest) => (rest, "i"),
        None => (pattern, ""),
    };
    regress::Regex::with_flags(pattern, flags).unwrap().find(text).is_some()
}

/// The first turn that differs, in order; progress and answers given in a dialog may come between.
pub fn wrong_turn(player: &Player, agent_id: i64, wanted: &[Value]) -> Option<String> {
    let fits = |turn: &headspace_core::model::Turn, want: &Value| {
        let part = |i: usize| want[i].as_str().unwrap();
        let text = turn.text.trim();
        turn.actor.word() == part(0)
            && (part(1) == "*" || part(1).split('|').any(|intent| intent == turn.intent.word()))
            && match part(2).strip_prefix('=') {
                Some(exact) => exact.trim() == text,
                None => matches(part(2), text),
            }
    };
    let optional = |want: &Value| want.as_array().unwrap().len() > 3;
    let mut next = 0;
    for turn in player.turns(agent_id) {
        let at = (next..wanted.len())
            .take_while(|j| *j == next || (next..*j).all(|k| optional(&wanted[k])))
            .find(|j| fits(&turn, &wanted[*j]));
        match at {
            Some(j) => next = j + 1,
            None if turn.intent.word() == "progress" || turn.intent.word() == "answer" => {}
            None => {
                return Some(format!(
                    "{}:{} {:?} where {:?} was expected",
                    turn.actor,
                    turn.intent,
                    turn.text.chars().take(60).collect::<String>(),
                    wanted.get(next)
                ));
            }
        }
    }
    wanted[next..].iter().find(|want| !optional(want)).map(|want| format!("{want} is missing"))
}
