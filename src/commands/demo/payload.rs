//! Acts ▶ the hook events that Claude Code would send for them.

use crate::commands::demo::day;
use crate::commands::demo::day::{Act, DESCRIPTIONS, EDITS, Persona};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use headspace_core::fnv::{START, fnv1a};
use headspace_core::json::serialize::to_text;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::net::http_client;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Plays the day: remembers the open call of each persona, and delivers the events.
pub struct Player {
    url: String,
    root: PathBuf,
    http: ureq::Agent,
    calls: u32,
    prompts: u32,
    open: HashMap<&'static str, OpenCall>,
}

/// The call a persona waits for an answer to.
struct OpenCall {
    tool: &'static str,
    input: Value,
    id: String,
    at: Stamp,
    /// It waits for a person, not for the end of the tool.
    asked: bool,
}

/// How long the demo's server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a call takes once it is allowed.
const ALLOWED_CALL_TAKES: Duration = Duration::from_millis(1840);

/// One event: its slug, its time, and the fields beside the common ones.
type DemoEvent = (&'static str, Stamp, Value);

impl Player {
    pub fn new(url: String, root: &Path) -> Player {
        let http = http_client::agent(ANSWER_WITHIN, ANSWER_WITHIN);
        Player { url, root: root.to_owned(), http, calls: 0, prompts: 0, open: HashMap::new() }
    }

    /// Everything before now, in the order it happened.
    pub fn play_past(&mut self, now: Stamp) -> Result<()> {
        let mut past: Vec<(u64, &'static str, &'static Act)> = Vec::new();
        for (persona, acts) in day::PAST {
            past.extend(acts.iter().map(|(ago, act)| (*ago, *persona, act)));
        }
        for (index, (persona, hour)) in day::ERRANDS.iter().enumerate() {
            for day_before in 1..=6 {
                // A little different each day, but the same in every demo.
                let start = day_before * 86_400 + hour * 3600 + (index as u64 * 37 + day_before * 911) % 1800;
                let patience = 60 + (index as u64 * 131 + day_before * 197) % 420;
                past.extend(day::ERRAND.iter().map(|(after, waits, act)| {
                    (start - after - if *waits { patience } else { 0 }, *persona, act)
                }));
            }
        }
        past.sort_by_key(|(ago, ..)| std::cmp::Reverse(*ago));
        for (ago, persona, act) in past {
            self.play(persona, act, now.minus(Duration::from_secs(ago)))?;
        }
        Ok(())
    }

    /// One act of one persona, which begins at `at`.
    pub fn play(&mut self, key: &str, act: &'static Act, at: Stamp) -> Result<()> {
        let Some(persona) = day::CAST.iter().find(|persona| persona.key == key) else { return Ok(()) };
        for (slug, at, special) in self.lines(persona, act, at) {
            self.deliver(persona, slug, at, special)?;
        }
        Ok(())
    }

    fn lines(&mut self, persona: &'static Persona, act: &'static Act, at: Stamp) -> Vec<DemoEvent> {
        match act {
            Act::Start => vec![
                (
                    "session-start",
                    at,
                    json!({"source": "startup", "model": persona.model, "session_title": persona.title}),
                ),
                ("status-line", at, status_line(persona, 0.02)),
            ],
            Act::Prompt(prompt) => {
                self.prompts += 1;
                self.open.remove(persona.key);
                vec![("user-prompt-submit", at, json!({"prompt": prompt, "session_title": persona.title}))]
            }
            Act::Call(tool, what, seconds) => self.whole_call(tool, what, at, *seconds, None, None),
            Act::Failed(tool, what, seconds, error) => {
                self.whole_call(tool, what, at, *seconds, Some(error), None)
            }
            Act::Begin(tool, what) => {
                let (begin, open) = self.begin(tool, input(tool, what), at, None);
                self.open.insert(persona.key, open);
                vec![begin]
            }
            Act::Ask(tool, what) => self.asks(persona, tool, input(tool, what), at),
            Act::Question(question, options) => {
                self.asks(persona, "AskUserQuestion", choice(question, options), at)
            }
            Act::Answer => {
                self.open.remove(persona.key).map(|open| end(&open, at, None)).into_iter().collect()
            }
            Act::Stop(text) => {
                vec![("stop", at, stop(text, json!([]))), ("status-line", at, status_line(persona, 1.0))]
            }
            Act::StopBehind(text, command) => {
                let task = json!({"id": "b7c1e02a4", "type": "shell", "status": "running", "command": command, "description": command});
                vec![("stop", at, stop(text, json!([task]))), ("status-line", at, status_line(persona, 1.0))]
            }
            Act::Fail(error, text) => {
                vec![("stop-failure", at, json!({"error": error, "last_assistant_message": text}))]
            }
            Act::Helper(id, kind) => {
                vec![("subagent-start", at, json!({"agent_id": id, "agent_type": kind}))]
            }
            Act::HelperCall(id, kind, tool, what, seconds) => {
                self.whole_call(tool, what, at, *seconds, None, Some((id, kind)))
            }
            Act::HelperBegin(id, kind, tool, what) => {
                vec![self.begin(tool, input(tool, what), at, Some((id, kind))).0]
            }
            Act::HelperDone(id, kind, text) => {
                let mut special = stop(text, json!([]));
                special["agent_id"] = json!(id);
                special["agent_type"] = json!(kind);
                vec![("subagent-stop", at, special)]
            }
            Act::Figures(share) => vec![("status-line", at, status_line(persona, *share))],
            Act::Seen => vec![("seen", at, Value::Null)],
            Act::End => vec![("session-end", at, json!({"reason": "prompt_input_exit"}))],
        }
    }

    fn begin(&mut self, tool: &'static str, input: Value, at: Stamp, by: By) -> (DemoEvent, OpenCall) {
        self.calls += 1;
        let id = format!("toolu_demo_{:016x}", u64::from(self.calls) * 0x9e37_79b9);
        let special = by_helper(json!({"tool_name": tool, "tool_input": input, "tool_use_id": id}), by);
        (("pre-tool-use", at, special), OpenCall { tool, input, id, at, asked: false })
    }

    fn whole_call(
        &mut self,
        tool: &'static str,
        what: &str,
        at: Stamp,
        seconds: f64,
        error: Option<&str>,
        by: By,
    ) -> Vec<DemoEvent> {
        let (begin, open) = self.begin(tool, input(tool, what), at, by);
        let (slug, at, special) = end(&open, at.plus(Duration::from_secs_f64(seconds)), error);
        vec![begin, (slug, at, by_helper(special, by))]
    }

    /// A call that needs a person. As in the real client, the request follows at once and has no id.
    fn asks(
        &mut self,
        persona: &'static Persona,
        tool: &'static str,
        input: Value,
        at: Stamp,
    ) -> Vec<DemoEvent> {
        let (begin, open) = self.begin(tool, input.clone(), at, None);
        self.open.insert(persona.key, OpenCall { asked: true, ..open });
        vec![begin, ("permission-request", at, json!({"tool_name": tool, "tool_input": input}))]
    }

    fn deliver(&self, persona: &Persona, slug: &str, at: Stamp, special: Value) -> Result<()> {
        let session = persona.session();
        if slug == "seen" {
            return self.look_at(&session);
        }
        let cwd = self.root.join("src").join(persona.dir);
        let mut body = Map::new();
        let name = headspace_core::model::event_names::name_of(slug);
        let common = json!({
            "session_id": session,
            "transcript_path": self.root.join("claude/projects").join(persona.dir).join(format!("{session}.jsonl")),
            "cwd": cwd,
            "prompt_id": format!("{:08x}-0000-4000-8000-{:012x}", self.prompts, self.prompts),
            "permission_mode": "default",
            "hook_event_name": name,
            "entrypoint": if persona.headless { "sdk-cli" } else { "cli" },
            "tmux_session": "demo",
            "tmux_pane": persona.pane,
            "sent_at": at,
            "delivery_id": format!("{:016x}{:016x}", at.0, headspace_platform::process::random()),
        });
        for fields in [common, special] {
            if let Value::Object(fields) = fields {
                body.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
            }
        }
        self.post(&format!("/hook/{slug}"), &Value::Object(body))?;
        Ok(())
    }

    /// As if a person had opened the agent in the dashboard.
    fn look_at(&self, session: &str) -> Result<()> {
        let mut answer = self.http.get(format!("{}/api/agents?all=1", self.url)).call()?;
        let agents: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
        let agents = agents["agents"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(agent) = agents.iter().find(|agent| agent["session_id"] == *session) {
            self.post(&format!("/api/agents/{}/seen", agent["id"]), &json!({}))?;
        }
        Ok(())
    }

    fn post(&self, path: &str, body: &Value) -> Result<()> {
        let request = self.http.post(format!("{}{path}", self.url)).content_type("application/json");
        let answer = request
            .send(to_text(body)?)
            .with_context(|| format!("could not send {path} to the demo's server"))?;
        let status = answer.status();
        ensure!(status.is_success(), "could not send {path} to the demo's server: it answered {status}");
        Ok(())
    }
}

/// The subagent that acts, if it is not the main thread: id and type.
type By<'a> = Option<(&'a &'static str, &'a &'static str)>;

fn by_helper(mut special: Value, by: By) -> Value {
    if let Some((id, kind)) = by {
        special["agent_id"] = json!(id);
        special["agent_type"] = json!(kind);
    }
    special
}

/// The tool's input, with the field names of the tool.
fn input(tool: &str, what: &str) -> Value {
    match tool {
        "Bash" => match DESCRIPTIONS.iter().find(|(command, _)| *command == what) {
            Some((_, description)) => json!({"command": what, "description": description}),
            None => json!({"command": what}),
        },
        "Edit" | "Write" if edit(what).is_some() => {
            let (old, new) = edit(what).unwrap_or_default();
            match tool {
                "Edit" => json!({"file_path": what, "old_string": old, "new_string": new}),
                _ => json!({"file_path": what, "content": new}),
            }
        }
        "Grep" | "Glob" => json!({"pattern": what}),
        "Agent" => json!({"description": what, "prompt": what, "subagent_type": "general-purpose"}),
        "WebFetch" => json!({"url": what}),
        "ExitPlanMode" => json!({"plan": what, "planFilePath": "plans/demo.md"}),
        _ => json!({"file_path": what}),
    }
}

/// What the edit of a file replaces, and by what.
fn edit(file: &str) -> Option<(&'static str, &'static str)> {
    EDITS.iter().find(|(name, ..)| *name == file).map(|(_, old, new)| (*old, *new))
}

fn choice(question: &str, options: &[&str]) -> Value {
    let options: Vec<Value> =
        options.iter().map(|label| json!({"label": label, "description": ""})).collect();
    json!({"questions": [{"question": question, "header": "Choice", "options": options, "multiSelect": false}]})
}

fn end(open: &OpenCall, at: Stamp, error: Option<&str>) -> DemoEvent {
    // The client does not count the time a person took to say yes.
    let took = if open.asked { ALLOWED_CALL_TAKES } else { at.since(open.at) };
    let mut special = json!({
        "tool_name": open.tool,
        "tool_input": open.input,
        "tool_use_id": open.id,
        "duration_ms": took.as_millis() as u64,
    });
    match error {
        Some(error) => {
            special["error"] = json!(error);
            special["is_interrupt"] = json!(false);
            ("post-tool-use-failure", at, special)
        }
        None => {
            special["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
            ("post-tool-use", at, special)
        }
    }
}

fn stop(text: &str, background: Value) -> Value {
    json!({"stop_hook_active": false, "last_assistant_message": text, "background_tasks": background, "session_crons": []})
}

/// What the client passes to its status line; `share` of what the persona ends the day with.
fn status_line(persona: &Persona, share: f64) -> Value {
    let tokens = (200_000.0 * f64::from(persona.percent) / 100.0 * share) as u64;
    json!({
        "model": {"id": persona.model, "display_name": persona.model},
        "cost": {"total_cost_usd": (persona.cost * share * 100.0).round() / 100.0,
            "total_lines_added": (persona.cost * share * 40.0) as u64, "total_lines_removed": (persona.cost * share * 13.0) as u64},
        "rate_limits": {"five_hour": {"used_percentage": 38, "resets_at": in_hours(2)}, "seven_day": {"used_percentage": 61, "resets_at": in_hours(70)}},
        "context_window": {"context_window_size": 200_000, "current_usage": {
            "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": tokens,
        }},
    })
}

/// Seconds since 1970, so many hours from now.
fn in_hours(hours: i64) -> i64 {
    Stamp::now().0 / 1_000_000_000 + hours * 3600
}

impl Persona {
    /// A session id that is the same in every demo and has the client's format.
    fn session(&self) -> String {
        let sum = fnv1a(START, self.key.as_bytes());
        format!("{:08x}-{:04x}-4d3a-9e0b-{:012x}", sum >> 32, sum >> 16 & 0xffff, sum & 0xffff_ffff_ffff)
    }

    /// Makes its directory, with just enough of git for a project and a branch.
    pub fn settle(&self, root: &Path) -> Result<()> {
        let src = root.join("src");
        let checkout = src.join(self.dir);
        let main = src.join(self.project);
        fs::create_dir_all(&checkout)?;
        fs::create_dir_all(main.join(".git"))?;
        let head = format!("ref: refs/heads/{}\n", self.branch);
        if self.dir == self.project {
            fs::write(main.join(".git/HEAD"), head)?;
            return Ok(());
        }
        let linked = main.join(".git/worktrees").join(self.dir);
        fs::create_dir_all(&linked)?;
        fs::write(linked.join("commondir"), "../..\n")?;
        fs::write(linked.join("HEAD"), head)?;
        fs::write(checkout.join(".git"), format!("gitdir: {}\n", linked.display()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_act_names_a_persona_and_no_two_personas_share_a_directory() {
        let keys: HashSet<_> = day::CAST.iter().map(|persona| persona.key).collect();
        let dirs: HashSet<_> = day::CAST.iter().map(|persona| persona.dir).collect();
        let sessions: HashSet<_> = day::CAST.iter().map(Persona::session).collect();
        assert_eq!(
            (keys.len(), dirs.len(), sessions.len()),
            (day::CAST.len(), day::CAST.len(), day::CAST.len())
        );
        let acting = day::PAST.iter().map(|(key, _)| key).chain(day::NEXT.iter().map(|(_, key, _)| key));
        for key in acting.chain(day::ERRANDS.iter().map(|(key, _)| key)) {
            assert!(keys.contains(key), "{key}");
        }
    }

    #[test]
    fn the_day_runs_forward() {
        for (persona, acts) in day::PAST {
            assert!(acts.is_sorted_by_key(|(ago, _)| std::cmp::Reverse(*ago)), "{persona}");
        }
        assert!(day::NEXT.is_sorted_by(|(a, ..), (b, ..)| a <= b));
    }
}
