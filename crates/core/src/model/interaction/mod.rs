//! An open question to the user: what the engine keeps, and what every surface shows.

use crate::model::{AnswerStep, AnswerView, InteractionKind};
use crate::stamp::Stamp;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An open question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    pub id: i64,
    pub kind: InteractionKind,
    pub tool_use_id: Option<String>,
    pub tool_name: Option<String>,
    /// The subagent that asks; `None` for the main thread.
    pub subagent: Option<String>,
    /// What is asked, on one line: "Allow Bash: npm test", the question's text.
    pub text: String,
    /// Choices offered, if the client named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    pub opened_at: Stamp,
    pub closed_at: Option<Stamp>,
    pub event_id: i64,
    /// The whole ask. Kept only while it is open, because it may be long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerStep>,
}

/// An ask in full.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// The tool's input, masked.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub input: Value,
    /// Finds the ask that belongs to a payload: a hash of the tool's input as it is stored.
    pub key: u64,
    /// The whole text, if no input contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "AskFacts::is_plain")]
    pub facts: AskFacts,
}

/// Facts about a payload that asks something, taken before secrets were masked and long texts cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskFacts {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// It contains characters that make a text look like another one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deceptive: bool,
    /// The difference between the file as it is and as it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl AskFacts {
    pub fn is_plain(&self) -> bool {
        *self == AskFacts::default()
    }
}

/// A question as `GET /api/agents` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InteractionView {
    pub id: i64,
    pub kind: InteractionKind,
    pub tool_use_id: Option<String>,
    pub tool_name: Option<String>,
    /// One line, with the tool's name.
    #[serde(default)]
    pub title: String,
    /// One line, as lists show it: "Allow Bash: npm test", the question's text.
    #[serde(default)]
    pub ask: String,
    /// All of it, with its line breaks: the command, the questions, the plan, the file.
    pub text: String,
    #[serde(default)]
    pub description: Option<String>,
    /// The tool's input as received, masked.
    #[serde(default)]
    pub input: Option<Value>,
    #[serde(default)]
    pub plan: Option<String>,
    /// Those of AskUserQuestion; empty for everything else.
    #[serde(default)]
    pub questions: Vec<Question>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Unified, for tools that change a file.
    #[serde(default)]
    pub diff: Option<String>,
    pub opened_at: Stamp,
    pub closed_at: Option<Stamp>,
    /// The subagent that asks; `None` for the main thread.
    pub subagent: Option<String>,
    #[serde(default)]
    pub answer: AnswerView,
}

/// A question of AskUserQuestion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    pub question: String,
    pub header: Option<String>,
    pub multi_select: bool,
    pub options: Vec<QuestionOption>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionOption {
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The questions of a tool's input; empty if it has none that make sense.
pub fn questions(input: &Value) -> Vec<Question> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(String::from);
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    list(input, "questions")
        .iter()
        .filter_map(|one| {
            Some(Question {
                question: text(one, "question")?,
                header: text(one, "header"),
                multi_select: one.get("multiSelect") == Some(&Value::Bool(true)),
                options: list(one, "options")
                    .iter()
                    .filter_map(|option| {
                        Some(QuestionOption {
                            label: text(option, "label")?,
                            description: text(option, "description"),
                        })
                    })
                    .collect(),
            })
        })
        .collect()
}

/// Tools for which one field of the input is the ask; for any other tool it is the whole input.
const TELLING_FIELDS: &[(&str, &str)] = &[
    ("Bash", "command"),
    ("bash", "command"),
    ("run_shell_command", "command"),
    ("PowerShell", "command"),
    ("ExitPlanMode", "plan"),
    ("Read", "file_path"),
    ("Write", "file_path"),
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("write_file", "file_path"),
    ("NotebookEdit", "notebook_path"),
    ("WebFetch", "url"),
    ("WebSearch", "query"),
];

impl Interaction {
    pub(crate) fn input(&self) -> Option<&Value> {
        self.asked.as_ref().map(|asked| &asked.input).filter(|input| !input.is_null())
    }

    fn facts(&self) -> Option<&AskFacts> {
        self.asked.as_ref().map(|asked| &asked.facts)
    }

    /// Why what a person sees is not exactly what was asked; `None` if it is.
    pub fn not_shown_as_asked(&self) -> Option<&'static str> {
        match self.facts() {
            None => Some("only its first line is known: answer in the terminal"),
            Some(facts) if facts.masked => Some("a secret is masked here: only the terminal shows all of it"),
            Some(facts) if facts.cut => Some("too long to be shown whole: only the terminal shows all of it"),
            Some(facts) if facts.deceptive => {
                Some("it has control or direction characters: it may not be what it looks like")
            }
            Some(_) => None,
        }
    }

    /// Whether no two questions have the same text, and no two options of a question the same label: then an answer is
    /// unambiguous.
    pub fn has_clear_questions(&self) -> bool {
        let Some(input) = self.input() else { return false };
        let questions = questions(input);
        let all = input.get("questions").and_then(Value::as_array).map_or(0, Vec::len);
        !questions.is_empty()
            && questions.len() == all
            && distinct(questions.iter().map(|one| one.question.as_str()))
            && questions.iter().all(|one| distinct(one.options.iter().map(|option| option.label.as_str())))
    }

    /// As every surface shows it. `otherwise`: the reason to show if no `headspace wait` ever held it.
    pub fn view(&self, otherwise: &str) -> InteractionView {
        let input = self.input();
        let field = |key: &str| input.and_then(|input| input.get(key)?.as_str()).map(String::from);
        let plan = self.kind == InteractionKind::Plan;
        InteractionView {
            id: self.id,
            kind: self.kind,
            tool_use_id: self.tool_use_id.clone(),
            tool_name: self.tool_name.clone(),
            title: self.title(),
            ask: self.text.clone(),
            text: self.whole_text(),
            description: field("description"),
            input: input.cloned(),
            plan: field("plan").filter(|_| plan),
            questions: input
                .filter(|_| self.kind == InteractionKind::Question)
                .map(questions)
                .unwrap_or_default(),
            options: self.options.clone(),
            diff: self.facts().and_then(|facts| facts.diff.clone()),
            opened_at: self.opened_at,
            closed_at: self.closed_at,
            subagent: self.subagent.clone(),
            answer: self.answer_view(otherwise),
        }
    }

    fn title(&self) -> String {
        let title = match self.tool_name.as_deref() {
            Some(tool) if !self.text.contains(tool) => format!("{tool}: {}", self.text),
            _ => self.text.clone(),
        };
        one_line(&title, 240)
    }

    fn whole_text(&self) -> String {
        let telling = self
            .tool_name
            .as_deref()
            .and_then(|tool| TELLING_FIELDS.iter().find(|(name, _)| *name == tool).map(|(_, field)| *field));
        let whole = match (self.kind, telling, self.input()) {
            (InteractionKind::Question, _, Some(input)) => Some(in_words(&questions(input))),
            (_, Some(field), Some(input)) => input.get(field).and_then(Value::as_str).map(String::from),
            (_, None, Some(input)) => serde_json::to_string_pretty(input).ok(),
            (.., None) => self.asked.as_ref().and_then(|asked| asked.text.clone()),
        };
        whole.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| self.text.clone())
    }
}

fn distinct<'a>(mut texts: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = std::collections::HashSet::new();
    texts.all(|text| seen.insert(text))
}

fn in_words(questions: &[Question]) -> String {
    let one = |question: &Question| {
        let options = question.options.iter().map(|option| match &option.description {
            Some(description) => format!("\n- {}: {description}", option.label),
            None => format!("\n- {}", option.label),
        });
        format!("{}{}", question.question, options.collect::<String>())
    };
    questions.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
