//! An answer to an open question, given from anywhere: its steps, its choices, and what an ask takes.

use crate::answering;
use crate::model::{Interaction, InteractionKind};
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};

words! {
    /// How far an answer has come: open, claimed by one surface, delivered by `headspace wait`, then confirmed by the client
    /// or lost to the terminal. Or the terminal was first, or the `wait` that held the question is gone.
    AnswerState {
        Open = "open", Claimed = "claimed", Delivered = "delivered", Confirmed = "confirmed",
        LostToTerminal = "lost_to_terminal", AnsweredInTerminal = "answered_in_terminal",
        RefusedInTerminal = "refused_in_terminal", Withdrawn = "withdrawn",
    }
}
words! {
    /// What a person can answer. There is no "always", no edited input and no change of mode.
    Choice {
        Allow = "allow", Deny = "deny", Stop = "stop", Answers = "answers", Approve = "approve",
        KeepPlanning = "keep_planning",
    }
}
words! {
    /// Where an answer came from.
    Surface { Web = "web", Top = "top", Cli = "cli", Ntfy = "ntfy", Terminal = "terminal" }
}

impl Surface {
    /// Where an answer came from, in a sentence: "answered from …".
    pub const fn place(self) -> &'static str {
        match self {
            Surface::Web => "the dashboard",
            Surface::Top => "`top`",
            Surface::Cli => "the command line",
            Surface::Ntfy => "a notification",
            Surface::Terminal => "its own terminal",
        }
    }
}

impl Choice {
    /// The tool call runs.
    pub const fn is_yes(self) -> bool {
        matches!(self, Choice::Allow | Choice::Answers | Choice::Approve)
    }
}

impl AnswerState {
    /// Whether no other step can follow.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            AnswerState::LostToTerminal | AnswerState::AnsweredInTerminal | AnswerState::RefusedInTerminal
        )
    }
}

/// The last step of an answer, as the engine remembers it with the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerStep {
    pub state: AnswerState,
    /// SHA-256 of what `headspace wait` read, in hex.
    pub digest: String,
    pub at: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Surface>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// The guard would stop this call: to allow it, this word must be typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
}

/// A closed question that was answered through headspace, or that a `headspace wait` had held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastAsk {
    pub id: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    pub step: AnswerStep,
    /// The step that a later event has shown and that is not recorded yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<AnswerState>,
}

/// How a question can be answered from here, as every surface shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnswerView {
    /// A `headspace wait` holds the question, or has its answer.
    Held {
        can: Vec<Choice>,
        digest: String,
        state: AnswerState,
        by: Option<Surface>,
        at: Option<Stamp>,
        /// To allow it, this word must be typed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confirm: Option<String>,
        /// Why fewer choices are offered than usual.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Open asks that have the same one are exactly alike, and a person may answer them together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alike: Option<String>,
    },
    /// It can be answered only in its terminal.
    Elsewhere {
        #[serde(default)]
        can: Vec<Choice>,
        #[serde(default)]
        why: String,
    },
}

impl Default for AnswerView {
    fn default() -> AnswerView {
        AnswerView::terminal("answer in its terminal")
    }
}

impl AnswerView {
    pub fn terminal(why: impl Into<String>) -> AnswerView {
        AnswerView::Elsewhere { can: Vec::new(), why: why.into() }
    }

    pub fn can(&self) -> &[Choice] {
        match self {
            AnswerView::Held { can, .. } | AnswerView::Elsewhere { can, .. } => can,
        }
    }

    pub fn digest(&self) -> Option<&str> {
        match self {
            AnswerView::Held { digest, .. } => Some(digest),
            AnswerView::Elsewhere { .. } => None,
        }
    }

    pub fn confirm(&self) -> Option<&str> {
        match self {
            AnswerView::Held { confirm, .. } => confirm.as_deref(),
            AnswerView::Elsewhere { .. } => None,
        }
    }

    /// The key of asks that are exactly alike; `None` if this one is like no other.
    pub fn alike(&self) -> Option<&str> {
        match self {
            AnswerView::Held { alike, .. } => alike.as_deref(),
            AnswerView::Elsewhere { .. } => None,
        }
    }

    /// Who has answered already, and when.
    pub fn answered(&self) -> Option<(Surface, Stamp)> {
        match self {
            AnswerView::Held { state, by, at, .. } if *state != AnswerState::Open => (*by).zip(*at),
            _ => None,
        }
    }

    pub fn why(&self) -> Option<&str> {
        match self {
            AnswerView::Held { why, .. } => why.as_deref(),
            AnswerView::Elsewhere { why, .. } => Some(why),
        }
    }
}

impl Interaction {
    /// The choices this ask takes on any surface, and why they are fewer than its kind has.
    pub fn choices(&self) -> (Vec<Choice>, Option<&'static str>) {
        use Choice::{Allow, Answers, Approve, Deny, KeepPlanning, Stop};
        if let Some(why) = self.not_shown_as_asked() {
            return (vec![Deny, Stop], Some(why));
        }
        match (self.kind, self.tool_name.as_deref()) {
            (InteractionKind::Permission, Some(_)) => (vec![Allow, Deny, Stop], None),
            (InteractionKind::Question, Some("AskUserQuestion")) => match self.has_clear_questions() {
                true => (vec![Answers, Deny, Stop], None),
                false => {
                    (vec![Deny, Stop], Some("its questions cannot be told apart: answer in its terminal"))
                }
            },
            (InteractionKind::Plan, Some("ExitPlanMode")) => (vec![Approve, KeepPlanning, Deny, Stop], None),
            _ => (vec![Deny, Stop], Some("answer in its terminal")),
        }
    }

    /// How it can be answered from here. `otherwise`: the reason to show if no `headspace wait` ever held it.
    pub fn answer_view(&self, otherwise: &str) -> AnswerView {
        let Some(step) = &self.answer else {
            return AnswerView::terminal(match (&self.subagent, self.kind) {
                (Some(_), _) => "a subagent asks: its dialog is in the terminal only",
                (None, InteractionKind::McpInput) => "an MCP server asks: answer in the terminal",
                (None, InteractionKind::Reply) => "it waits for your next prompt",
                (None, InteractionKind::Dialog) => "no hook described this dialog: answer in the terminal",
                _ => otherwise,
            });
        };
        let held = |can: Vec<Choice>, why: Option<&str>| AnswerView::Held {
            alike: answering::alike_key(self, &can, step.confirm.as_deref()),
            can,
            digest: step.digest.clone(),
            state: step.state,
            by: step.by,
            at: Some(step.at),
            confirm: step.confirm.clone(),
            why: why.map(String::from),
        };
        match step.state {
            AnswerState::Open => {
                let (can, why) = self.choices();
                held(can, why)
            }
            AnswerState::Withdrawn => AnswerView::terminal(
                "withdrawn: headspace no longer waits for this answer; answer in the terminal",
            ),
            _ => held(Vec::new(), Some("answered already")),
        }
    }
}
