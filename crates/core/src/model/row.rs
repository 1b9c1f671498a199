//! An agent on one line: exactly what every list of agents shows.

use crate::model::{AgentView, Group, Status, hints};
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};

/// No display has room for more characters on one line.
const MAX_LINE_CHARS: usize = 240;

/// An agent in a list. Small, because the lists are read often: a status line asks every few seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub id: i64,
    pub name: String,
    /// Which coding agent it is, if not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub group: Group,
    /// The question, the error, the current work or the instruction: one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Seconds it has been waiting, working, or quiet: the time that matters in its group.
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
    /// "api · fix-auth": the project, and what distinguishes this agent from others there.
    pub fn title(&self) -> String {
        match &self.project {
            Some(project) if *project != self.name => format!("{project} · {}", self.name),
            _ => self.name.clone(),
        }
    }
}

impl AgentView {
    pub fn row(&self, now: Stamp) -> Row {
        let at_work = self.subagents.iter().filter(|subagent| subagent.ended_at.is_none());
        Row {
            id: self.id,
            name: self.name.clone(),
            client: Some(self.client.clone()).filter(|name| name != hints::DEFAULT_CLIENT),
            project: self.project.clone(),
            group: self.group,
            about: self.about().map(|about| self.doubted(bounded(about))).unwrap_or_default(),
            age: now.since(self.since()).as_secs(),
            ended: self.ended_at.is_some(),
            stale: self.stale,
            headless: self.headless,
            context: self.context.as_ref().map(|context| context.percent),
            subagents: at_work
                .map(|subagent| SubRow {
                    kind: subagent.agent_type.clone(),
                    about: subagent.status_detail.as_deref().map(bounded).unwrap_or_default(),
                    asks: subagent.status == Status::Attention,
                })
                .collect(),
        }
    }

    /// With a word about it where it may be over.
    fn doubted(&self, about: String) -> String {
        if self.unconfirmed { format!("{about} (unconfirmed)") } else { about }
    }

    /// What it is about, in one line.
    pub fn about(&self) -> Option<&str> {
        let instruction = || self.current_command.as_ref().and_then(|command| command.instruction.as_deref());
        let detail = self.status_detail.as_deref();
        match self.group {
            Group::Error => self.error.as_deref().or(detail),
            Group::NeedsYou | Group::Working | Group::Background => detail.or_else(instruction),
            Group::Done | Group::Idle => detail.or(self.last_said.as_deref()),
        }
    }

    /// Since when it has been waiting, working, or quiet.
    fn since(&self) -> Stamp {
        match self.group {
            Group::NeedsYou => self.waiting_since.unwrap_or(self.last_active_at),
            Group::Working => self.current_command.as_ref().map_or(self.last_active_at, |c| c.started_at),
            _ => self.last_active_at,
        }
    }
}

/// The agents as rows, in the order of every list.
pub fn rows(mut agents: Vec<AgentView>, now: Stamp) -> Vec<Row> {
    agents.sort_by_cached_key(AgentView::rank);
    agents.iter().map(|agent| agent.row(now)).collect()
}

fn bounded(text: &str) -> String {
    let end = text.char_indices().nth(MAX_LINE_CHARS).map_or(text.len(), |(at, _)| at);
    text[..end].to_owned()
}

fn is_false(value: &bool) -> bool {
    !value
}
