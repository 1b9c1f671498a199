//! What the server does for the engine: it looks up directories and reads transcript lines.

use crate::case::Case;
use headspace_core::model::{Facts, Source, observed};
use headspace_core::stamp::Stamp;
use serde_json::{Value, json};

const HOME: &str = "/home/user/";

/// The git facts of a directory, from the files the case lists.
pub fn facts(case: &Case, cwd: Option<&str>) -> Facts {
    let Some(cwd) = cwd else { return Facts::default() };
    let file = |path: &str| case.files.get(path.strip_prefix(HOME)?)?.as_deref();
    let mut dir = cwd;
    loop {
        if let Some(head) = file(&format!("{dir}/.git/HEAD")) {
            return found(dir, dir, head);
        }
        if let Some(link) = file(&format!("{dir}/.git")).and_then(|text| text.strip_prefix("gitdir: ")) {
            let git = link.trim();
            let head = file(&format!("{git}/HEAD")).unwrap_or_default();
            let main = git.split("/.git/").next().unwrap_or(dir);
            return found(dir, main, head);
        }
        match dir.rsplit_once('/') {
            Some((up, _)) if !up.is_empty() => dir = up,
            _ => return Facts { root: Some(cwd.to_string()), ..Facts::default() },
        }
    }
}

fn found(root: &str, main: &str, head: &str) -> Facts {
    Facts {
        root: Some(root.to_string()),
        project: main.rsplit('/').next().map(String::from),
        branch: head.trim().strip_prefix("ref: refs/heads/").map(String::from),
        ..Facts::default()
    }
}

pub struct Observation {
    pub name: &'static str,
    pub source: Source,
    pub at: Option<Stamp>,
    pub body: Value,
}

/// The observations in a line of a main transcript.
pub fn observations(line: &Value) -> Vec<Observation> {
    let text = |field: &str| line.get(field).and_then(Value::as_str).unwrap_or_default();
    let flag = |field: &str| line.get(field) == Some(&Value::Bool(true));
    if flag("isSidechain") {
        return Vec::new();
    }
    let at = Stamp::parse(text("timestamp"));
    let tell = |name: &'static str, mut body: Value| {
        body["uuid"] = line["uuid"].clone();
        body["timestamp"] = line["timestamp"].clone();
        Observation { name, source: Source::Transcript, at, body }
    };
    let message = &line["message"];
    let blocks = message["content"].as_array().cloned().unwrap_or_default();
    let mut seen = Vec::new();
    match (text("type"), text("subtype")) {
        ("assistant", _) if !flag("isApiErrorMessage") && message["model"] != "<synthetic>" => {
            for block in blocks.iter().filter(|block| block["type"] == "text") {
                seen.push(tell(
                    observed::TEXT,
                    json!({"text": block["text"], "message_id": message["id"], "stop_reason": message["stop_reason"]}),
                ));
            }
            let tokens = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
                .iter()
                .filter_map(|field| message["usage"][field].as_u64())
                .sum::<u64>();
            seen.push(tell(observed::USAGE, json!({"used_tokens": tokens, "model": message["model"]})));
        }
        ("user", _) if !flag("isMeta") && !flag("isCompactSummary") => {
            if let Some(prompt) = message["content"].as_str() {
                seen.push(tell(observed::PROMPT, json!({"text": prompt})));
            }
            for block in &blocks {
                let interrupt =
                    block["text"].as_str().is_some_and(|t| t.starts_with("[Request interrupted by user"));
                if interrupt {
                    seen.push(tell(observed::INTERRUPTED, json!({})));
                } else if block["type"] == "tool_result" {
                    let refused = text("toolDenialKind") == "user-rejected";
                    let name = if refused { observed::REFUSED } else { observed::TOOL_RESULT };
                    seen.push(tell(name, json!({"tool_use_id": block["tool_use_id"]})));
                }
            }
        }
        ("system", "turn_duration") => seen.push(tell(observed::TURN_END, json!({}))),
        ("system", "compact_boundary") => seen.push(tell(
            observed::USAGE,
            json!({"used_tokens": line["compactMetadata"]["postTokens"], "compacted": true}),
        )),
        _ => {}
    }
    seen
}
