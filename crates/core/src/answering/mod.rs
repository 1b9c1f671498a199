//! The path of an answer: the digest it is bound to, what a person may send, and what `headspace wait` prints. Pure.
//!
//! The digest is computed twice, by the server for the card and by `wait` from what it read itself. `wait` prints nothing
//! unless the answer names both the digest and its own random id, so after a mix-up the terminal's dialog simply stays.

pub mod proposal;

use crate::model::{Choice, Interaction, questions};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The members that a person sees on the card; the answer counts only if none of them differs.
const COVERED: [&str; 5] = ["session_id", "cwd", "permission_mode", "tool_name", "tool_input"];
/// No person types a longer message.
const MAX_MESSAGE: usize = 16 << 10;

/// SHA-256 over the covered members of a PermissionRequest, in lower-case hex. The order of keys does not matter.
pub fn digest(payload: &Value) -> String {
    hashed(COVERED.map(|name| (name, payload.get(name).unwrap_or(&Value::Null))))
}

/// The same for all asks that a person may answer with one word: the same tool with the same input, and the same choices under
/// the same condition. Long enough that no agent can make up an ask that looks like another's.
pub fn alike_key(asked: &Interaction, can: &[Choice], confirm: Option<&str>) -> Option<String> {
    let input = asked.input().filter(|_| !can.is_empty())?;
    let [kind, tool, can, confirm] = [json!(asked.kind), json!(asked.tool_name), json!(can), json!(confirm)];
    let key =
        hashed([("kind", &kind), ("tool", &tool), ("can", &can), ("confirm", &confirm), ("input", input)]);
    Some(key[..32].to_owned())
}

/// SHA-256 over these members, in lower-case hex.
fn hashed<const N: usize>(members: [(&str, &Value); N]) -> String {
    let mut text = String::new();
    for (name, value) in members {
        text.push_str(name);
        text.push(':');
        canonical(value, &mut text);
        text.push('\n');
    }
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            text.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(&fields[key], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                canonical(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// A person's answer, checked against the ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub choice: Choice,
    pub message: Option<String>,
    /// Each question with its answer, in the order of the questions.
    pub answers: Vec<(String, String)>,
}

/// Reads the body of an answer to `asked`. Anything but a complete answer to exactly this ask is an error, explained in
/// words.
pub fn read_answer(asked: &Interaction, body: &Value) -> Result<Decided, String> {
    let step = asked.answer.as_ref().ok_or("headspace does not wait for an answer to this ask")?;
    let Value::Object(body) = body else { return Err("the body is not an object".into()) };
    const KNOWN: [&str; 5] = ["digest", "choice", "message", "answers", "confirm"];
    if let Some(other) = body.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!("an answer has no member {:?}", crate::text::one_line(other, 40)));
    }
    if body.get("digest").and_then(Value::as_str) != Some(step.digest.as_str()) {
        return Err("the digest is not that of this ask: look at it again".into());
    }
    let choice = body.get("choice").and_then(Value::as_str).and_then(Choice::from_word);
    let choice = choice.filter(|choice| asked.choices().0.contains(choice));
    let choice = choice.ok_or("this ask does not take that choice")?;
    if choice.is_yes()
        && let Some(word) = &step.confirm
        && body.get("confirm").and_then(Value::as_str) != Some(word)
    {
        return Err(format!(
            "the guard would stop this: to allow it, type `{word}` (`confirm` in the request)"
        ));
    }
    if body.get("confirm").is_some_and(|confirm| !confirm.is_string()) {
        return Err("`confirm` is not a text".into());
    }
    let message = match body.get("message") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.len() <= MAX_MESSAGE => Some(text.clone()),
        Some(_) => return Err("the message is not a text of at most 16 KiB".into()),
    };
    let message = message.filter(|text| !text.is_empty());
    if choice.is_yes() && message.is_some() {
        return Err("a message goes only with a refusal: the client ignores it otherwise".into());
    }
    let answers = match (choice, body.get("answers")) {
        (Choice::Answers, Some(given)) => answers(asked, given)?,
        (Choice::Answers, None) => return Err("the answers are missing".into()),
        (_, None | Some(Value::Null)) => Vec::new(),
        (_, Some(_)) => return Err("this choice takes no answers".into()),
    };
    Ok(Decided { choice, message, answers })
}

/// Exactly the questions that were asked, each with a label, labels where several may be chosen, or a text.
fn answers(asked: &Interaction, given: &Value) -> Result<Vec<(String, String)>, String> {
    let input = asked.asked.as_ref().map(|asked| &asked.input).unwrap_or(&Value::Null);
    let questions = questions(input);
    let Value::Object(given) = given else { return Err("the answers are not an object".into()) };
    if given.len() != questions.len() {
        return Err("there is not one answer for each question".into());
    }
    questions
        .iter()
        .map(|question| {
            let unfit = |why: &str| format!("{:?}: {why}", crate::text::one_line(&question.question, 80));
            let given = given.get(&question.question).ok_or_else(|| unfit("not answered"))?;
            let is_label = |text: &str| question.options.iter().any(|option| option.label == text);
            let said = match given {
                Value::String(label) if is_label(label) => label.clone(),
                Value::Array(labels) if question.multi_select => {
                    chosen(labels, |label| question.options.iter().position(|option| option.label == label))
                        .map(|order| {
                            order
                                .into_iter()
                                .map(|at| question.options[at].label.as_str())
                                .collect::<Vec<_>>()
                                .join(", ")
                        })
                        .ok_or_else(|| unfit("not some of its labels, each once"))?
                }
                Value::Object(free) if free.len() == 1 => free
                    .get("text")
                    .and_then(Value::as_str)
                    .filter(|text| !text.trim().is_empty() && text.len() <= MAX_MESSAGE)
                    .map(String::from)
                    .ok_or_else(|| unfit("not a text"))?,
                _ => return Err(unfit("not one of its labels")),
            };
            Ok((question.question.clone(), said))
        })
        .collect()
}

/// The indexes of the labels among the options, in the order of the options. `None` if one is unknown or repeated.
fn chosen(labels: &[Value], place: impl Fn(&str) -> Option<usize>) -> Option<Vec<usize>> {
    let mut places = labels.iter().map(|label| place(label.as_str()?)).collect::<Option<Vec<_>>>()?;
    places.sort_unstable();
    let count = places.len();
    places.dedup();
    (count > 0 && places.len() == count).then_some(places)
}

impl Decided {
    /// The text of the user's turn: the answers to the questions.
    pub fn said(&self) -> String {
        self.answers.iter().map(|(_, said)| said.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// The line that goes to `headspace wait`.
    pub fn line(&self, id: &str, digest: &str) -> String {
        let mut line = json!({"id": id, "digest": digest, "choice": self.choice});
        if let Some(message) = &self.message {
            line["message"] = message.as_str().into();
        }
        if !self.answers.is_empty() {
            let answers: Map<String, Value> = self
                .answers
                .iter()
                .map(|(question, said)| (question.clone(), said.as_str().into()))
                .collect();
            line["answers"] = Value::Object(answers);
        }
        line.to_string()
    }
}

/// What `headspace wait` prints for a line from the server; `None` for anything but an answer to exactly what it read.
/// `input` is the tool's input byte for byte, because repeating it must not change it.
pub fn decision(line: &[u8], id: &str, digest: &str, tool: &str, input: &RawValue) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    if text("id") != Some(id) || text("digest") != Some(digest) {
        return None;
    }
    let message = line.get("message").map(|message| message.as_str().filter(|text| !text.is_empty()));
    // A message that is there and is not a text: not ours.
    let message = match message {
        Some(None) => return None,
        Some(message) => message,
        None => None,
    };
    let told = message.map_or(String::new(), |text| format!(",\"message\":{}", Value::from(text)));
    let decided = match (text("choice").and_then(Choice::from_word)?, tool) {
        (Choice::Answers, "AskUserQuestion") => {
            let answers = line.get("answers")?.as_object().filter(|answers| !answers.is_empty())?;
            if !answers.values().all(Value::is_string) {
                return None;
            }
            format!("{{\"behavior\":\"allow\",\"updatedInput\":{}}}", with_answers(input.get(), answers)?)
        }
        (Choice::Approve, "ExitPlanMode") => {
            format!("{{\"behavior\":\"allow\",\"updatedInput\":{}}}", input.get())
        }
        (Choice::Allow, tool) if !matches!(tool, "AskUserQuestion" | "ExitPlanMode") => {
            "{\"behavior\":\"allow\"}".to_owned()
        }
        (Choice::Deny, _) => format!("{{\"behavior\":\"deny\"{told}}}"),
        (Choice::KeepPlanning, "ExitPlanMode") => format!("{{\"behavior\":\"deny\"{told}}}"),
        (Choice::Stop, _) => format!("{{\"behavior\":\"deny\"{told},\"interrupt\":true}}"),
        _ => return None,
    };
    Some(format!(
        "{{\"hookSpecificOutput\":{{\"hookEventName\":\"PermissionRequest\",\"decision\":{decided}}}}}"
    ))
}

/// The input plus the answers. They are appended as text, so that numbers and repeated keys stay as they were.
fn with_answers(input: &str, answers: &Map<String, Value>) -> Option<String> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(input) else { return None };
    let answers = Value::Object(answers.clone());
    if fields.contains_key("answers") {
        fields.insert("answers".into(), answers);
        return Some(Value::Object(fields).to_string());
    }
    let open = input.trim_end().strip_suffix('}')?;
    let comma = if fields.is_empty() { "" } else { "," };
    Some(format!("{open}{comma}\"answers\":{answers}}}"))
}

#[cfg(test)]
mod tests;
