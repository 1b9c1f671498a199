//! Deciding in `top`: the questions to the person before an answer, a reply or a stop is sent. Pure: keys in, a decision
//! out.
//!
//! No single key sends anything. A person answers exactly the ask that is on the screen: if it changes, the dialog ends.

use crate::view::answering::are_alike;
use crate::view::client::answered_already;
use headspace_core::model::{AgentId, AgentView, Choice, InteractionKind, InteractionView};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use ratatui::crossterm::event::KeyCode;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Deciding keys do nothing for this long after an ask appeared or changed, because they were meant for the one before.
pub const INERT_FOR: Duration = Duration::from_millis(700);

/// An open ask and whose it is.
#[derive(Clone, Debug)]
pub struct Pending {
    pub title: String,
    pub cwd: String,
    pub ask: InteractionView,
}

impl Pending {
    fn new(agent: &AgentView, ask: &InteractionView) -> Pending {
        Pending {
            title: one_line(&agent.title(), 60),
            cwd: agent.cwd.clone().unwrap_or_default(),
            ask: ask.clone(),
        }
    }
}

/// A decision, ready to be sent.
#[derive(Clone, Debug)]
pub enum Decision {
    Answer {
        asks: Vec<Pending>,
        choice: Choice,
        message: Option<String>,
        answers: Option<Value>,
        confirm: Option<String>,
    },
    Reply {
        agent_id: AgentId,
        text: String,
        confirm: bool,
    },
    Stop {
        agent_id: AgentId,
    },
}

/// The question to the person.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// Yes or no.
    Sure,
    /// Type the number of identical asks, to answer all of them.
    All,
    /// Type the word that the guard wants.
    Confirm(String),
    /// A message to send with the refusal.
    Message,
    /// The answer to the question with this number.
    Question(usize),
    /// The next prompt.
    Prompt,
    /// Yes or no: the text is more than a prompt to the client.
    Special,
    /// Yes or no: stop the agent.
    Stop,
}

/// A decision that is being made, question by question.
#[derive(Clone, Debug)]
pub struct Dialog {
    step: Step,
    choice: Choice,
    pub agent_id: AgentId,
    /// What the agent is called, for prompts about no ask.
    title: String,
    /// The ask, followed by the asks that are identical to it.
    pub asks: Vec<Pending>,
    together: bool,
    pub input: String,
    message: Option<String>,
    answers: Map<String, Value>,
}

/// What a key led to.
pub enum Outcome {
    Open,
    Canceled,
    Decided(Decision),
    /// The dialog stays open and shows this message.
    Refused(String),
}

/// The ask of an agent that can be answered from here.
pub fn answerable(agent: &AgentView) -> Option<&InteractionView> {
    agent.interactions.iter().find(|ask| !ask.answer.can().is_empty())
}

/// The open asks of all agents that are exactly like `ask`.
fn alike(agents: &[&AgentView], ask: &InteractionView) -> Vec<Pending> {
    let of = |agent: &&AgentView| -> Vec<Pending> {
        let alike = agent.interactions.iter().filter(|other| are_alike(ask, other));
        alike.map(|other| Pending::new(agent, other)).collect()
    };
    agents.iter().flat_map(of).collect()
}

impl Dialog {
    /// Begins to allow (`a`) or deny (`d`) the ask of `agent`; the error says why that is not possible.
    pub fn answer(agent: &AgentView, agents: &[&AgentView], yes: bool) -> Result<Dialog, String> {
        let Some(ask) = answerable(agent) else {
            let why = agent.interactions.first().and_then(|ask| ask.answer.why());
            return Err(why.unwrap_or("it asks nothing").to_owned());
        };
        let can = |choice: Choice| ask.answer.can().contains(&choice).then_some(choice);
        let choice = match (yes, ask.kind) {
            (true, _) => can(Choice::Allow).or(can(Choice::Approve)).or(can(Choice::Answers)),
            (false, InteractionKind::Plan) => can(Choice::KeepPlanning).or(can(Choice::Deny)),
            (false, _) => can(Choice::Deny),
        };
        let Some(choice) = choice else {
            return Err(ask.answer.why().unwrap_or("this ask takes another answer").to_owned());
        };
        let mut asks = vec![Pending::new(agent, ask)];
        asks.extend(alike(agents, ask));
        let step = match choice {
            Choice::Answers => Step::Question(0),
            Choice::Deny | Choice::KeepPlanning => Step::Message,
            _ => Step::Sure,
        };
        Ok(Dialog { asks, ..Dialog::begin(step, choice, agent) })
    }

    pub fn reply(agent: &AgentView) -> Dialog {
        Dialog::begin(Step::Prompt, Choice::Allow, agent)
    }

    pub fn stop(agent: &AgentView) -> Dialog {
        let ask = answerable(agent).filter(|ask| ask.answer.can().contains(&Choice::Stop));
        let asks = ask.map(|ask| Pending::new(agent, ask)).into_iter().collect();
        Dialog { asks, ..Dialog::begin(Step::Stop, Choice::Stop, agent) }
    }

    fn begin(step: Step, choice: Choice, agent: &AgentView) -> Dialog {
        Dialog {
            step,
            choice,
            agent_id: agent.id,
            title: one_line(&agent.title(), 40),
            asks: Vec::new(),
            together: false,
            input: String::new(),
            message: None,
            answers: Map::new(),
        }
    }

    /// Whether the ask is still exactly the one that was shown.
    pub fn still_stands(&self, agent: Option<&AgentView>) -> bool {
        let Some(pending) = self.asks.first() else { return agent.is_some() };
        let now = agent.and_then(|agent| agent.interactions.iter().find(|ask| ask.id == pending.ask.id));
        now.is_some_and(|now| now.answer == pending.ask.answer && now.input == pending.ask.input)
    }

    /// Why the dialog ended before a decision.
    pub fn why_over(&self, agent: Option<&AgentView>, now: Option<Stamp>) -> String {
        let Some(pending) = self.asks.first() else { return "this agent is gone".into() };
        let open = agent.and_then(|agent| agent.interactions.iter().find(|ask| ask.id == pending.ask.id));
        match open.map(|ask| (ask.answer.answered(), ask.answer.why())) {
            None => "it does not ask this any more: it was answered elsewhere, or is over".into(),
            Some((Some((by, at)), _)) => answered_already(by, at, now.unwrap_or(at)),
            Some((None, Some(why))) if open.is_some_and(|ask| ask.answer.can().is_empty()) => {
                one_line(why, 200)
            }
            Some(_) => "what it asked has changed: look again".into(),
        }
    }

    /// Whether the identical asks should be listed.
    pub fn lists_all(&self) -> bool {
        self.step == Step::All
    }

    /// The line at the bottom of the screen.
    pub fn prompt(&self) -> String {
        let typed = format!("{}▏", self.input);
        let ask = self.asks.first();
        match &self.step {
            Step::Sure => {
                let what = if self.choice == Choice::Approve {
                    "approve the plan (mode afterwards: default)"
                } else {
                    "allow once"
                };
                match self.asks.len() {
                    0 | 1 => format!("{what}? y yes · n no"),
                    count => format!("{what}? y yes · n no · A all {count} that are alike"),
                }
            }
            Step::All => {
                let what = match self.choice {
                    Choice::Deny => "deny",
                    Choice::KeepPlanning => "send back",
                    Choice::Approve => "approve",
                    _ => "allow",
                };
                format!("type {} to {what} all of them, Enter: {typed}", self.asks.len())
            }
            Step::Confirm(word) => {
                format!("the guard would stop this: type {} to allow it, Enter: {typed}", one_line(word, 40))
            }
            Step::Message => {
                let all = match self.asks.len() {
                    0 | 1 => String::new(),
                    count => format!(", Tab all {count} that are alike"),
                };
                let what = if self.choice == Choice::KeepPlanning {
                    "keep planning, remark"
                } else {
                    "deny, message"
                };
                format!("{what} (Enter sends{all}, Esc cancels): {typed}")
            }
            Step::Question(at) => {
                let question = ask.and_then(|pending| pending.ask.questions.get(*at));
                let many = question.is_some_and(|question| question.multi_select);
                let how = if many { "numbers or your own words" } else { "number or your own words" };
                let words = question.map_or(String::new(), |question| one_line(&question.question, 60));
                format!("{words} {how}, Enter: {typed}")
            }
            Step::Prompt => format!("next prompt for {} (Enter sends, Esc cancels): {typed}", self.title),
            Step::Special => {
                let title = &self.title;
                format!(
                    "it begins with ! / # or @ and is more than a prompt. Send it to {title}? y yes · n no"
                )
            }
            Step::Stop => format!("stop what {} is doing? y yes · n no", self.title),
        }
    }

    pub fn key(&mut self, code: KeyCode) -> Outcome {
        if code == KeyCode::Esc {
            return Outcome::Canceled;
        }
        match &self.step {
            Step::Sure | Step::Special | Step::Stop => match code {
                KeyCode::Char('y') => self.yes(),
                KeyCode::Char('A') if self.step == Step::Sure && self.asks.len() > 1 => self.go_to(Step::All),
                KeyCode::Char('n') => Outcome::Canceled,
                _ => Outcome::Open,
            },
            _ => match code {
                KeyCode::Enter => self.entered(),
                // The message is kept and sent to all of them.
                KeyCode::Tab if self.step == Step::Message && self.asks.len() > 1 => {
                    self.message = Some(self.input.trim().to_owned()).filter(|text| !text.is_empty());
                    self.go_to(Step::All)
                }
                KeyCode::Backspace => {
                    self.input.pop();
                    Outcome::Open
                }
                KeyCode::Char(c) if !c.is_control() => {
                    self.input.push(c);
                    Outcome::Open
                }
                _ => Outcome::Open,
            },
        }
    }

    fn go_to(&mut self, step: Step) -> Outcome {
        self.step = step;
        self.input.clear();
        Outcome::Open
    }

    fn yes(&mut self) -> Outcome {
        match self.step {
            Step::Stop if self.asks.is_empty() => {
                Outcome::Decided(Decision::Stop { agent_id: self.agent_id })
            }
            Step::Special => {
                let text = self.message.take().unwrap_or_default();
                Outcome::Decided(Decision::Reply { agent_id: self.agent_id, text, confirm: true })
            }
            _ => self.confirmed(),
        }
    }

    /// If the guard would stop an allowed command, its word must be typed first; anything else is decided.
    fn confirmed(&mut self) -> Outcome {
        let asks = if self.together { &self.asks[..] } else { &self.asks[..1] };
        let word = asks.iter().find_map(|pending| pending.ask.answer.confirm()).map(str::to_owned);
        match word.filter(|_| self.choice.is_yes()) {
            Some(word) => self.go_to(Step::Confirm(word)),
            None => self.decided(None),
        }
    }

    fn decided(&mut self, confirm: Option<String>) -> Outcome {
        let mut asks = std::mem::take(&mut self.asks);
        if !self.together {
            asks.truncate(1);
        }
        let answers = Some(Value::Object(std::mem::take(&mut self.answers)));
        Outcome::Decided(Decision::Answer {
            asks,
            choice: self.choice,
            message: self.message.take(),
            answers: answers.filter(|_| self.choice == Choice::Answers),
            confirm,
        })
    }

    fn entered(&mut self) -> Outcome {
        let input = self.input.trim().to_owned();
        match self.step.clone() {
            Step::All if input == self.asks.len().to_string() => {
                self.together = true;
                self.confirmed()
            }
            Step::All => Outcome::Refused("that is not their number; Esc cancels".to_owned()),
            Step::Confirm(word) if input == word => self.decided(Some(input)),
            Step::Confirm(_) => Outcome::Refused("that is not the word; Esc cancels".to_owned()),
            Step::Message => {
                self.message = Some(input).filter(|text| !text.is_empty());
                self.decided(None)
            }
            Step::Question(at) => self.answered(at, &input),
            Step::Prompt if input.is_empty() => {
                Outcome::Refused("the prompt is empty; Esc cancels".to_owned())
            }
            Step::Prompt if input.starts_with(['!', '/', '#', '@']) => {
                self.message = Some(input);
                self.go_to(Step::Special)
            }
            Step::Prompt => {
                Outcome::Decided(Decision::Reply { agent_id: self.agent_id, text: input, confirm: false })
            }
            Step::Sure | Step::Special | Step::Stop => Outcome::Open,
        }
    }

    /// Takes the numbers of options, or a free text.
    fn answered(&mut self, at: usize, input: &str) -> Outcome {
        let Some(question) = self.asks.first().and_then(|pending| pending.ask.questions.get(at)) else {
            return Outcome::Canceled;
        };
        if input.is_empty() {
            return Outcome::Refused("the answer is empty; Esc cancels".to_owned());
        }
        let number = |word: &str| {
            word.parse::<usize>().ok().and_then(|number| question.options.get(number.checked_sub(1)?))
        };
        let words: Vec<&str> = input.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let chosen: Option<Vec<&str>> =
            words.iter().map(|word| number(word).map(|option| option.label.as_str())).collect();
        let all_numbers = words.iter().all(|word| word.chars().all(|c| c.is_ascii_digit()));
        let answer = match chosen {
            Some(labels) if question.multi_select => json!(labels),
            Some(labels) if labels.len() == 1 => json!(labels[0]),
            Some(_) => return Outcome::Refused("it takes one of them; Esc cancels".to_owned()),
            None if all_numbers && !question.options.is_empty() => {
                return Outcome::Refused(format!("its options are 1 to {}", question.options.len()));
            }
            None => json!({"text": input}),
        };
        let more = self.asks[0].ask.questions.len() > at + 1;
        let name = question.question.clone();
        self.answers.insert(name, answer);
        if more { self.go_to(Step::Question(at + 1)) } else { self.confirmed() }
    }
}

/// How long the current ask has been on the screen.
#[derive(Debug, Default)]
pub struct Inert {
    shown: Option<(AgentId, Option<i64>, Option<String>)>,
    since: Option<Instant>,
}

impl Inert {
    /// Notes what is shown now.
    pub fn look(&mut self, agent: Option<&AgentView>, now: Instant) {
        let shown = agent.map(|agent| {
            let ask = answerable(agent).or(agent.interactions.first());
            (agent.id, ask.map(|ask| ask.id), ask.and_then(|ask| ask.answer.digest()).map(str::to_owned))
        });
        if shown != self.shown {
            (self.shown, self.since) = (shown, Some(now));
        }
    }

    /// Whether a deciding key counts.
    pub fn is_over(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now.saturating_duration_since(since) >= INERT_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: i64, asks: Value) -> AgentView {
        let stamp = Stamp(id);
        serde_json::from_value(json!({
            "id": id, "session_id": format!("s{id}"), "sessions": [], "name": format!("n{id}"), "state": "idle", "status": "attention",
            "group": "needs_you", "unseen": false, "stale": false, "headless": false, "started_at": stamp, "last_active_at": stamp,
            "background": [], "interactions": asks, "subagents": [], "turn_count": 0, "source": "hook", "source_at": stamp,
            "confidence": "high", "cwd": "/p",
        }))
        .unwrap()
    }

    fn ask(id: i64, kind: &str, can: &[&str], command: &str, confirm: Option<&str>) -> Value {
        json!({"id": id, "kind": kind, "tool_name": "Bash", "text": command, "ask": command, "opened_at": Stamp(1), "input": {"command": command},
            "answer": {"can": can, "digest": format!("d{id}"), "state": "open", "by": null, "at": null, "confirm": confirm,
                "alike": format!("{kind} {command}")}})
    }

    fn press(dialog: &mut Dialog, keys: &str) -> Outcome {
        let mut outcome = Outcome::Open;
        for key in keys.chars() {
            outcome = dialog.key(if key == '⏎' { KeyCode::Enter } else { KeyCode::Char(key) });
        }
        outcome
    }

    fn decided(outcome: Outcome) -> (Vec<i64>, Choice, Option<String>, Option<Value>, Option<String>) {
        let Outcome::Decided(Decision::Answer { asks, choice, message, answers, confirm }) = outcome else {
            panic!("nothing was decided")
        };
        (asks.iter().map(|pending| pending.ask.id).collect(), choice, message, answers, confirm)
    }

    #[test]
    fn a_yes_is_asked_back_and_a_guarded_one_needs_its_word() {
        let plain = agent(1, json!([ask(7, "permission", &["allow", "deny", "stop"], "ls", None)]));
        let mut dialog = Dialog::answer(&plain, &[&plain], true).unwrap();
        assert!(matches!(press(&mut dialog, "x"), Outcome::Open));
        assert_eq!(decided(press(&mut dialog, "y")), (vec![7], Choice::Allow, None, None, None));
        let guarded = agent(1, json!([ask(7, "permission", &["allow", "deny"], "git push -f", Some("git"))]));
        let mut dialog = Dialog::answer(&guarded, &[&guarded], true).unwrap();
        assert!(matches!(press(&mut dialog, "y"), Outcome::Open));
        assert!(dialog.prompt().contains("type git"), "{}", dialog.prompt());
        assert!(matches!(press(&mut dialog, "gi⏎"), Outcome::Refused(_)));
        assert_eq!(decided(press(&mut dialog, "t⏎")).4.as_deref(), Some("git"));
        let only_no = agent(1, json!([ask(7, "permission", &["deny"], "ls", None)]));
        assert!(Dialog::answer(&only_no, &[&only_no], true).is_err());
        assert!(Dialog::answer(&agent(1, json!([])), &[], true).is_err());
    }

    #[test]
    fn a_no_takes_a_message_or_none() {
        let asks = agent(1, json!([ask(7, "permission", &["allow", "deny"], "ls", None)]));
        let no = || Dialog::answer(&asks, &[&asks], false).unwrap();
        assert_eq!(decided(press(&mut no(), "⏎")), (vec![7], Choice::Deny, None, None, None));
        assert_eq!(decided(press(&mut no(), "use y⏎")).2.as_deref(), Some("use y"));
        assert!(matches!(no().key(KeyCode::Esc), Outcome::Canceled));
        let plan = agent(1, json!([ask(7, "plan", &["approve", "keep_planning", "deny"], "x", None)]));
        assert_eq!(
            decided(press(&mut Dialog::answer(&plan, &[&plan], false).unwrap(), "more⏎")).1,
            Choice::KeepPlanning
        );
        assert_eq!(
            decided(press(&mut Dialog::answer(&plan, &[&plan], true).unwrap(), "y")).1,
            Choice::Approve
        );
    }

    #[test]
    fn asks_that_are_exactly_alike_are_answered_together_after_their_number_was_typed() {
        let of = |id: i64, command: &str| {
            agent(id, json!([ask(id * 10, "permission", &["allow", "deny"], command, None)]))
        };
        let all = [of(1, "ls"), of(2, "ls"), of(3, "ls -l"), of(4, "ls")];
        let all: Vec<&AgentView> = all.iter().collect();
        let mut dialog = Dialog::answer(all[0], &all, true).unwrap();
        press(&mut dialog, "A");
        assert!(dialog.lists_all() && dialog.asks.len() == 3);
        assert!(matches!(press(&mut dialog, "2⏎"), Outcome::Refused(_)));
        dialog.key(KeyCode::Backspace);
        assert_eq!(decided(press(&mut dialog, "3⏎")).0, [10, 20, 40]);
        let mut one = Dialog::answer(all[0], &all, true).unwrap();
        assert_eq!(decided(press(&mut one, "y")).0, [10]);
        // A no takes the same way, with its message.
        let mut no = Dialog::answer(all[0], &all, false).unwrap();
        assert!(no.prompt().contains("Tab all 3 that are alike"), "{}", no.prompt());
        press(&mut no, "later");
        no.key(KeyCode::Tab);
        assert!(no.lists_all() && no.prompt().starts_with("type 3 to deny all of them"), "{}", no.prompt());
        assert!(matches!(press(&mut no, "⏎"), Outcome::Refused(_)), "nothing was typed");
        let (ids, choice, message, ..) = decided(press(&mut no, "3⏎"));
        assert_eq!((ids, choice, message.as_deref()), (vec![10, 20, 40], Choice::Deny, Some("later")));
        let mut single = Dialog::answer(all[0], &all, false).unwrap();
        assert_eq!(decided(press(&mut single, "⏎")).0, [10]);
        let mut alone = Dialog::answer(all[2], &all, false).unwrap();
        assert!(!alone.prompt().contains("Tab"));
        assert!(matches!(alone.key(KeyCode::Tab), Outcome::Open) && !alone.lists_all());
    }

    #[test]
    fn questions_take_numbers_or_words() {
        let mut asked = ask(7, "question", &["answers", "deny"], "x", None);
        asked["questions"] = json!([
            {"question": "Which?", "multi_select": false, "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "What?", "multi_select": true, "options": [{"label": "C"}, {"label": "D"}]}]);
        let asks = agent(1, json!([asked]));
        let mut dialog = Dialog::answer(&asks, &[&asks], true).unwrap();
        assert!(matches!(press(&mut dialog, "3⏎"), Outcome::Refused(_)));
        dialog.key(KeyCode::Backspace);
        assert!(matches!(press(&mut dialog, "2⏎"), Outcome::Open));
        assert_eq!(decided(press(&mut dialog, "1,2⏎")).3, Some(json!({"Which?": "B", "What?": ["C", "D"]})));
        let mut dialog = Dialog::answer(&asks, &[&asks], true).unwrap();
        press(&mut dialog, "neither⏎");
        assert_eq!(
            decided(press(&mut dialog, "1⏎")).3,
            Some(json!({"Which?": {"text": "neither"}, "What?": ["C"]}))
        );
    }

    #[test]
    fn a_prompt_that_is_more_than_a_prompt_is_asked_back() {
        let idle = agent(1, json!([]));
        let sent = |outcome| match outcome {
            Outcome::Decided(Decision::Reply { text, confirm, .. }) => (text, confirm),
            _ => panic!("nothing was sent"),
        };
        assert_eq!(sent(press(&mut Dialog::reply(&idle), "go on⏎")), ("go on".to_owned(), false));
        let mut dialog = Dialog::reply(&idle);
        assert!(dialog.prompt().starts_with("next prompt for n1 ("), "{}", dialog.prompt());
        assert_eq!(Dialog::stop(&idle).prompt(), "stop what n1 is doing? y yes · n no");
        assert!(matches!(press(&mut dialog, "!ls⏎"), Outcome::Open));
        assert_eq!(sent(press(&mut dialog, "y")), ("!ls".to_owned(), true));
        assert!(matches!(press(&mut Dialog::stop(&idle), "y"), Outcome::Decided(Decision::Stop { .. })));
    }

    #[test]
    fn what_changed_must_be_looked_at_again() {
        let first = agent(1, json!([ask(7, "permission", &["allow"], "ls", None)]));
        let dialog = Dialog::answer(&first, &[&first], true).unwrap();
        assert!(dialog.still_stands(Some(&first)));
        assert!(!dialog.still_stands(Some(&agent(1, json!([ask(7, "permission", &["allow"], "rm", None)])))));
        assert!(!dialog.still_stands(Some(&agent(1, json!([])))) && !dialog.still_stands(None));
        let mut claimed = ask(7, "permission", &[], "ls", None);
        claimed["answer"]["state"] = json!("claimed");
        claimed["answer"]["by"] = json!("web");
        claimed["answer"]["at"] = json!(Stamp(0));
        let now = Stamp(3_000_000_000);
        let over = |agent: &AgentView| dialog.why_over(Some(agent), Some(now));
        assert_eq!(over(&agent(1, json!([claimed]))), "answered already from the dashboard, 3 s ago");
        assert!(over(&agent(1, json!([]))).contains("any more"));
        assert!(
            over(&agent(1, json!([ask(7, "permission", &["allow"], "rm", None)]))).contains("look again")
        );
        let (start, mut inert) = (Instant::now(), Inert::default());
        inert.look(Some(&first), start);
        assert!(
            !inert.is_over(start + INERT_FOR - Duration::from_millis(1)) && inert.is_over(start + INERT_FOR)
        );
        inert.look(Some(&agent(1, json!([ask(8, "permission", &["allow"], "ls", None)]))), start + INERT_FOR);
        assert!(!inert.is_over(start + INERT_FOR));
    }
}
