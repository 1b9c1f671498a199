//! An agent on one line: what every list of agents shows of it. Computed here and nowhere else, so that the dashboard,
//! `status`, `top` and the status lines never disagree about order, words or ages.

use crate::model::{AgentId, AgentView, Group, MachineName, Status, hints};
use crate::stamp::Stamp;
use crate::text::numbers::duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Characters of a line that any surface has room for.
const MAX_LINE_CHARS: usize = 240;

/// A person wants it stopped, and its next tool call is denied.
pub const STOP_REQUESTED: &str = "Stop requested";

words! {
    /// What the age of a row counts: how long the agent has waited for you, worked, been quiet or been gone, or for how long
    /// nothing has come from its machine.
    AgeKind {
        Waiting = "waiting", Working = "working", Quiet = "quiet", Ended = "ended", NotHeard = "not_heard",
    }
}
words! {
    /// Why a list folds an agent away: it has ended, or it is a headless run (`claude -p`) that does not need you.
    Fold { Ended = "ended", Headless = "headless" }
}

impl AgeKind {
    /// "waiting 3 m", "for 12 s", "2 h ago", "ended 5 d ago", "not heard since 4 m".
    pub fn phrase(self, age: Duration) -> String {
        let age = duration(age);
        match self {
            AgeKind::Waiting => format!("waiting {age}"),
            AgeKind::Working => format!("for {age}"),
            AgeKind::Quiet => format!("{age} ago"),
            AgeKind::Ended => format!("ended {age} ago"),
            AgeKind::NotHeard => format!("not heard since {age}"),
        }
    }
}

/// The words of an agent's row, and its place among the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// "api · fix-auth": the project, and what distinguishes this agent from its neighbors there. For another machine's
    /// agent, the machine comes first: "devbox: api · fix-auth".
    pub title: String,
    /// What a person reads about its group: "needs you", "working?" for one that has been silent for hours, "ended".
    pub label: String,
    /// The ask, the error, what it does, what it was told, what it said last: one line. Empty if nothing is known.
    pub about: String,
    /// What a person has asked of it and it has not done yet: "Stop requested · 2 prompts wait".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// What the row's age counts from. An age itself would be old when it arrives.
    pub since: Stamp,
    pub age_kind: AgeKind,
    /// Rows are sorted by this text.
    pub order: String,
    /// Folded away at the foot of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Fold>,
}

impl Default for Summary {
    fn default() -> Summary {
        Summary {
            title: String::new(),
            label: String::new(),
            about: String::new(),
            pending: None,
            since: Stamp::default(),
            age_kind: AgeKind::Quiet,
            order: String::new(),
            fold: None,
        }
    }
}

/// An agent in a list. Small, because the lists are read often: a status line asks every few seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub id: AgentId,
    pub name: String,
    /// Which coding agent it is, if not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The machine it is on, if that is another one, and what that machine calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Since when that machine has not been heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_heard_since: Option<Stamp>,
    pub group: Group,
    #[serde(flatten)]
    pub summary: Summary,
    /// Seconds since [`Summary::since`] when the row was made.
    pub age: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub stale: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub headless: bool,
    /// Percent of the context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<f64>,
    /// Dollars, where the client says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<SubRow>,
}

/// A subagent at work, under its agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubRow {
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub asks: bool,
}

impl Row {
    /// What it is about, or the word of its group where nothing is known.
    pub fn words(&self) -> &str {
        if self.summary.about.is_empty() { &self.summary.label } else { &self.summary.about }
    }

    /// "waiting 3 m".
    pub fn age_phrase(&self) -> String {
        self.summary.age_kind.phrase(Duration::from_secs(self.age))
    }
}

impl AgentView {
    pub fn row(&self, now: Stamp) -> Row {
        let summary = self.summarize();
        let at_work = self.subagents.iter().filter(|subagent| subagent.ended_at.is_none());
        Row {
            id: self.id,
            name: self.name.clone(),
            client: Some(self.client.clone()).filter(|name| name != hints::DEFAULT_CLIENT),
            project: self.project.clone(),
            machine: self.machine,
            host: self.host.clone().filter(|_| self.machine.is_some()),
            not_heard_since: self.not_heard_since,
            group: self.group,
            age: now.since(summary.since).as_secs(),
            summary,
            ended: self.ended_at.is_some(),
            stale: self.stale,
            headless: self.headless,
            context: self.context.as_ref().map(|context| context.percent),
            cost: self.cost_usd,
            subagents: at_work
                .map(|subagent| SubRow {
                    kind: subagent.agent_type.clone(),
                    about: subagent.status_detail.as_deref().map(bounded).unwrap_or_default(),
                    asks: subagent.status == Status::Attention,
                })
                .collect(),
        }
    }

    pub fn summarize(&self) -> Summary {
        let (since, age_kind) = self.age();
        Summary {
            title: self.title(),
            label: match self.group.label() {
                _ if self.ended_at.is_some() => "ended".to_owned(),
                label if self.stale || self.unconfirmed || self.not_heard_since.is_some() => {
                    format!("{label}?")
                }
                label => label.to_owned(),
            },
            about: self.about(),
            pending: self.pending(),
            since,
            age_kind,
            order: self.order(),
            fold: self.fold(),
        }
    }

    /// "api · fix-auth": the project, and what distinguishes this agent from its neighbors there. The machine comes first,
    /// because a narrow column cuts the end.
    pub fn title(&self) -> String {
        let title = match &self.project {
            Some(project) if *project != self.name => format!("{project} · {}", self.name),
            _ => self.name.clone(),
        };
        match &self.machine {
            Some(machine) => format!("{machine}: {title}"),
            None => title,
        }
    }

    /// What it is about, in one line.
    pub fn about(&self) -> String {
        if self.ended_at.is_some() {
            let reason = self.end_reason.as_deref().map(in_words);
            return reason.map_or("ended".to_owned(), |reason| format!("ended: {reason}"));
        }
        let instruction = || self.current_command.as_ref().and_then(|command| command.instruction.as_deref());
        let detail = self.status_detail.as_deref();
        let text = match self.group {
            Group::Error => return self.error.as_deref().or(detail).map(in_words).unwrap_or_default(),
            Group::NeedsYou | Group::Working | Group::Background => detail.or_else(instruction),
            Group::Done | Group::Idle => detail.or(self.last_said.as_deref()),
        };
        let about = text.map(bounded).unwrap_or_default();
        // The detail of a working agent has it already.
        match self.stop_requested {
            Some(_) if about.is_empty() => STOP_REQUESTED.to_owned(),
            Some(_) if !about.starts_with(STOP_REQUESTED) => format!("{STOP_REQUESTED} · {about}"),
            _ => about,
        }
    }

    /// What a person has asked of it and it has not done yet, for every surface that shows more than a line.
    pub fn pending(&self) -> Option<String> {
        if self.ended_at.is_some() {
            return None;
        }
        let stop = self.stop_requested.map(|_| STOP_REQUESTED.to_owned());
        let waiting = match self.replies.len() {
            0 => None,
            1 => Some("1 prompt waits".to_owned()),
            n => Some(format!("{n} prompts wait")),
        };
        let parts: Vec<String> = stop.into_iter().chain(waiting).collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    /// Since when it has been quiet. One whose turn is over: since then, because its status line goes on being drawn, which is
    /// a sign of life but not news.
    fn quiet_since(&self) -> Stamp {
        match self.group {
            Group::Error | Group::Done | Group::Idle => self.source_at,
            Group::NeedsYou | Group::Working | Group::Background => self.last_active_at,
        }
    }

    /// Since when it waits, works, has been quiet, is gone, or could not be heard.
    fn age(&self) -> (Stamp, AgeKind) {
        if let (None, Some(since)) = (self.ended_at, self.not_heard_since) {
            return (since, AgeKind::NotHeard);
        }
        match (self.ended_at, self.group, &self.current_command) {
            (Some(ended), ..) => (ended, AgeKind::Ended),
            (_, Group::NeedsYou, _) => (self.waiting_since.unwrap_or(self.last_active_at), AgeKind::Waiting),
            (_, Group::Working, Some(command)) if !self.stale => (command.started_at, AgeKind::Working),
            _ => (self.quiet_since(), AgeKind::Quiet),
        }
    }

    /// Its place in every list. Agents that need a person come first, the one that has waited longest at the top; the others
    /// follow by group. Working agents are sorted by when their commands began, because a list sorted by activity would
    /// never stand still; quiet ones by when they finished, the latest first; ended ones come last.
    ///
    /// It is a text because the page sorts too, and its numbers do not hold nanoseconds.
    pub fn order(&self) -> String {
        let within = match self.group {
            Group::NeedsYou => self.waiting_since.unwrap_or(self.last_active_at).0,
            Group::Working | Group::Background => {
                self.current_command.as_ref().map_or(self.started_at, |command| command.started_at).0
            }
            Group::Error | Group::Done | Group::Idle => self.quiet_since().0.saturating_neg(),
        };
        let ended = u8::from(self.ended_at.is_some());
        // With the sign bit flipped, negative numbers come before the others as text, too.
        let machine = self.machine.map_or(String::new(), |machine| machine.to_string());
        format!(
            "{ended}{}{:016x}{:016x}{machine}",
            self.group as u8,
            (within as u64) ^ (1 << 63),
            self.id.number
        )
    }

    fn fold(&self) -> Option<Fold> {
        let folded = self.headless && self.group > Group::Error;
        self.ended_at.map(|_| Fold::Ended).or(folded.then_some(Fold::Headless))
    }
}

/// The agents as rows, in the order of every list.
pub fn rows<'a>(agents: impl IntoIterator<Item = &'a AgentView>, now: Stamp) -> Vec<Row> {
    let mut rows: Vec<Row> = agents.into_iter().map(|agent| agent.row(now)).collect();
    rows.sort_by(|a, b| a.summary.order.cmp(&b.summary.order));
    rows
}

/// `rate_limit` ▶ `rate limit`
fn in_words(text: &str) -> String {
    bounded(text).replace('_', " ")
}

/// The beginning, on one line.
fn bounded(text: &str) -> String {
    let end = text.char_indices().nth(MAX_LINE_CHARS).map_or(text.len(), |(at, _)| at);
    let cut = if end < text.len() { "…" } else { "" };
    text[..end].split_whitespace().collect::<Vec<_>>().join(" ") + cut
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::QueuedReply;
    use serde_json::json;

    fn agent(change: impl FnOnce(&mut AgentView)) -> AgentView {
        let stamp = Stamp(5_000);
        let mut view = serde_json::from_value(json!({
            "id": 1, "session_id": "s", "sessions": [], "name": "fix-auth", "project": "api", "state": "idle",
            "status": "idle", "group": "idle", "unseen": false, "stale": false, "headless": false,
            "started_at": stamp, "last_active_at": stamp, "background": [], "interactions": [], "subagents": [],
            "turn_count": 0, "source": "hook", "source_at": stamp, "confidence": "high", "cwd": "/p/api",
        }))
        .unwrap();
        change(&mut view);
        view
    }

    #[test]
    fn rows_are_sorted_by_need_then_by_waiting_time() {
        let waits = |id: i64, since: i64| {
            agent(|a| (a.id, a.group, a.waiting_since) = (id.into(), Group::NeedsYou, Some(Stamp(since))))
        };
        let quiet = |id: i64, active: i64| {
            agent(|a| (a.id, a.group, a.source_at) = (id.into(), Group::Idle, Stamp(active)))
        };
        let ended = agent(|a| (a.id, a.group, a.ended_at) = (9.into(), Group::NeedsYou, Some(Stamp(1))));
        let error = agent(|a| (a.id, a.group) = (7.into(), Group::Error));
        let list = [quiet(1, 10), ended, waits(3, 200), quiet(2, 90), waits(4, -100), error];
        let order: Vec<i64> = rows(&list, Stamp(0)).iter().map(|row| row.id.number).collect();
        assert_eq!(order, [4, 3, 7, 2, 1, 9]);
    }

    #[test]
    fn a_row_says_what_matters_in_its_group() {
        let cases: [(AgentView, &str, &str, AgeKind, Option<Fold>); 6] = [
            (agent(|_| ()), "idle", "", AgeKind::Quiet, None),
            (agent(|a| a.last_said = Some("All\n done".into())), "idle", "All done", AgeKind::Quiet, None),
            (
                agent(|a| (a.group, a.error) = (Group::Error, Some("rate_limit".into()))),
                "error",
                "rate limit",
                AgeKind::Quiet,
                None,
            ),
            (
                agent(|a| (a.group, a.status_detail) = (Group::NeedsYou, Some("Allow Bash: ls".into()))),
                "needs you",
                "Allow Bash: ls",
                AgeKind::Waiting,
                None,
            ),
            (
                agent(|a| (a.stale, a.headless) = (true, true)),
                "idle?",
                "",
                AgeKind::Quiet,
                Some(Fold::Headless),
            ),
            (
                agent(|a| (a.ended_at, a.end_reason) = (Some(Stamp(7)), Some("prompt_input_exit".into()))),
                "ended",
                "ended: prompt input exit",
                AgeKind::Ended,
                Some(Fold::Ended),
            ),
        ];
        for (agent, label, about, age_kind, fold) in cases {
            let row = agent.summarize();
            assert_eq!((row.label.as_str(), row.about.as_str()), (label, about));
            assert_eq!(
                (row.age_kind, row.fold, row.title.as_str()),
                (age_kind, fold, "api · fix-auth"),
                "{label}"
            );
        }
    }

    #[test]
    fn what_a_person_wants_of_it_is_said_whatever_it_does() {
        let wants = |detail: &str, group: Group| {
            agent(|a| {
                (a.group, a.status_detail, a.stop_requested) = (group, Some(detail.into()), Some(Stamp(1)))
            })
        };
        let asks = wants("Allow Bash: ls", Group::NeedsYou).summarize();
        assert_eq!(
            (asks.about.as_str(), asks.pending.as_deref()),
            ("Stop requested · Allow Bash: ls", Some("Stop requested"))
        );
        assert_eq!(wants("Stop requested · Thinking", Group::Working).about(), "Stop requested · Thinking");
        let reply = |id: &str| QueuedReply {
            id: id.into(),
            text: "go".into(),
            by: "cli".into(),
            queued_at: Stamp(1),
            why: None,
        };
        let mut waits = wants("Thinking", Group::Working);
        waits.replies = vec![reply("a")];
        assert_eq!(waits.pending().as_deref(), Some("Stop requested · 1 prompt waits"));
        (waits.stop_requested, waits.replies) = (None, vec![reply("a"), reply("b")]);
        assert_eq!(waits.pending().as_deref(), Some("2 prompts wait"));
        waits.ended_at = Some(Stamp(2));
        assert_eq!(waits.pending(), None);
    }

    #[test]
    fn a_finished_agent_is_as_old_as_its_end_not_as_its_last_status_line() {
        let minutes = |minutes: i64| Stamp(minutes * 60_000_000_000);
        let done =
            agent(|a| (a.group, a.source_at, a.last_active_at) = (Group::Done, minutes(2), minutes(20)));
        assert_eq!(done.row(minutes(20)).age_phrase(), "18 m ago");
        let newer =
            agent(|a| (a.group, a.source_at, a.last_active_at) = (Group::Done, minutes(3), minutes(3)));
        assert!(newer.order() < done.order(), "a status line moves no row");
    }

    #[test]
    fn an_agent_of_another_machine_carries_its_name_and_a_cut_line_changes_only_the_age() {
        let devbox = MachineName::new("devbox");
        let far = |cut: Option<Stamp>| {
            agent(|a| {
                (a.id, a.machine) = (AgentId { machine: devbox, number: 1 }, devbox);
                (a.group, a.waiting_since) = (Group::NeedsYou, Some(Stamp(5_000)));
                (a.host, a.not_heard_since) = (Some("box".into()), cut);
            })
        };
        let minutes = |minutes: i64| Stamp(minutes * 60_000_000_000);
        let heard = far(None).row(minutes(4));
        assert_eq!(
            (heard.summary.title.as_str(), heard.host.as_deref(), heard.age_phrase().as_str()),
            ("devbox: api · fix-auth", Some("box"), "waiting 3 m")
        );
        let cut = far(Some(minutes(1))).row(minutes(5));
        assert_eq!(
            (cut.age_phrase().as_str(), cut.summary.label.as_str()),
            ("not heard since 4 m", "needs you?")
        );
        assert_eq!((cut.group, &cut.summary.order), (heard.group, &heard.summary.order));
        // The same number and the same times here and there: still two rows, each with its own place.
        let here = agent(|a| (a.group, a.waiting_since) = (Group::NeedsYou, Some(Stamp(5_000))));
        assert_ne!(here.order(), heard.summary.order);
    }

    #[test]
    fn a_long_line_is_cut_visibly_and_a_row_survives_the_wire() {
        let long = agent(|a| a.last_said = Some("word ".repeat(100)));
        assert!(
            long.about().ends_with('…') && long.about().chars().count() <= MAX_LINE_CHARS + 1,
            "{}",
            long.about()
        );
        let row = long.row(Stamp(9_000_000_000));
        assert_eq!(serde_json::from_value::<Row>(json!(row)).unwrap(), row);
        assert_eq!(json!(row)["about"], long.about().as_str());
        assert_eq!(row.age_phrase(), "8 s ago");
    }
}
