//! Answers from `top`, sent by a thread of their own, because an answer may take a moment. While `top` runs, its terminal
//! holds a key, so that `headspace wait` waits for its answers.

use crate::commands::top::decide::{Decision, Pending};
use crate::commands::top::feed::News;
use crate::view::answering::{self, Answering, KeyState, Said};
use crate::view::client::Client;
use crate::view::person;
use headspace_core::model::{Choice, Surface as Where};
use headspace_core::text::one_line;
use headspace_core::wire::AnswerStatus;
use headspace_platform::config::Config;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

enum Task {
    Decide(Box<Decision>),
    Lock,
}

/// Where decisions go.
pub struct Surface {
    tasks: std::cell::RefCell<Option<Sender<Task>>>,
    left: Receiver<()>,
}

/// How often a terminal without a key asks for one: answering may have been switched on, or the server restarted.
const UNLOCK_EVERY: Duration = Duration::from_secs(3);
/// How long `top` waits to return its key when it quits; a key that is not returned expires.
const LEAVES_WITHIN: Duration = Duration::from_secs(1);

impl Surface {
    pub fn start(config: &Config, news: &Sender<News>) -> Surface {
        let (tasks, todo) = channel();
        let (leaves, left) = channel();
        let (config, news) = (config.clone(), news.clone());
        std::thread::spawn(move || {
            if let Ok(client) = Client::new(&config) {
                work(&client, &todo, &news);
            }
            let _ = leaves.send(());
        });
        Surface { tasks: std::cell::RefCell::new(Some(tasks)), left }
    }

    fn send(&self, task: Task) {
        if let Some(tasks) = &*self.tasks.borrow() {
            let _ = tasks.send(task);
        }
    }

    pub fn decide(&self, decision: Decision) {
        self.send(Task::Decide(Box::new(decision)));
    }

    pub fn lock(&self) {
        self.send(Task::Lock);
    }

    /// Returns the key.
    pub fn leave(&self) {
        self.tasks.borrow_mut().take();
        let _ = self.left.recv_timeout(LEAVES_WITHIN);
    }
}

fn work(client: &Client, todo: &Receiver<Task>, news: &Sender<News>) {
    let mut answerer = Answerer { client, key: None, locked: false, told: None };
    let say = |message: &str| news.send(News::Said(one_line(message, 300)));
    loop {
        let told = answerer.renew_key().map(|message| say(&message));
        let done = match todo.recv_timeout(UNLOCK_EVERY) {
            Ok(task) => Some(say(&answerer.perform(task))),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        // Sending fails when `top` has ended.
        if told.into_iter().chain(done).any(|sent| sent.is_err()) {
            return;
        }
    }
}

/// What the thread works with: the server, and this terminal's key.
struct Answerer<'c> {
    client: &'c Client,
    key: Option<Answering<'c>>,
    /// The keys were withdrawn, so this terminal asks for no other one.
    locked: bool,
    /// The keys that this terminal knows about; `None` before it asked.
    told: Option<HashSet<u64>>,
}

impl<'c> Answerer<'c> {
    /// Checks the key, and asks for one if this terminal has none. Returns what to tell the person.
    fn renew_key(&mut self) -> Option<String> {
        let status = answering::status_for(self.client, self.key.as_ref());
        let mut message = status.as_ref().ok().and_then(|status| self.tell_new(status));
        let state = match (&self.key, &status) {
            (Some(key), Ok(status)) => key.state(status),
            // The server was restarted: nothing was locked, and it gives a new key.
            (_, Err(_)) => KeyState::ServerIsAnother,
            (None, Ok(_)) => KeyState::Counts,
        };
        match state {
            KeyState::Counts => {}
            KeyState::Ended => {
                (self.key, self.locked) = (None, true);
                message = Some("locked from elsewhere: start `top` again to answer from here".to_owned());
            }
            KeyState::ServerIsAnother => self.key = None,
        }
        let may_ask = self.key.is_none() && !self.locked;
        // Being a person at this terminal is what unlocks it; the server checks the process again.
        if may_ask && status.is_ok_and(|status| status.on) && person::require("answer").is_ok() {
            self.key = Answering::open(self.client, Where::Top).ok();
        }
        message
    }

    /// The newest key that somebody else got since the last look: a person notices one they did not make.
    fn tell_new(&mut self, status: &AnswerStatus) -> Option<String> {
        let now = status.keys.iter().map(|key| key.id).collect();
        let before = self.told.replace(now)?;
        let new = status.keys.iter().rfind(|key| !key.mine && !before.contains(&key.id))?;
        Some(format!("{}; L locks all", answering::who(new)))
    }

    /// Does what the person decided, and says how it went.
    fn perform(&mut self, task: Task) -> String {
        match task {
            Task::Lock => self.lock(),
            Task::Decide(decision) => match *decision {
                Decision::Answer { asks, choice, message, answers, confirm } => {
                    answer(self.key.as_ref(), &asks, choice, &Said { message, answers, confirm })
                }
                Decision::Reply { agent_id, text, confirm } => {
                    let body = json!({"text": text, "confirm": confirm});
                    told("reply", self.client.post(&format!("/api/agents/{agent_id}/reply"), &body))
                }
                Decision::Stop { agent_id } => {
                    told("stop", self.client.post(&format!("/api/agents/{agent_id}/stop"), &json!({})))
                }
            },
        }
    }

    fn lock(&mut self) -> String {
        (self.key, self.locked) = (None, true);
        match answering::lock_all(self.client) {
            Ok(()) => {
                "locked: nothing can be answered until `headspace answer unlock`, or until `top` is started again"
                    .to_owned()
            }
            Err(error) => format!("could not lock: {error:#}"),
        }
    }
}

fn answer(key: Option<&Answering>, asks: &[Pending], choice: Choice, said: &Said) -> String {
    let Some(key) = key else {
        let why = person::require("answer").err();
        return why.map_or_else(
            || "could not answer: this terminal is not unlocked".to_owned(),
            |why| format!("{why:#}"),
        );
    };
    let (mut done, mut failed) = (0, None);
    for pending in asks {
        match key.answer(&pending.ask, choice, said) {
            Ok(()) => done += 1,
            Err(error) => failed = Some(format!("could not answer {}: {error:#}", pending.title)),
        }
    }
    match (failed, done) {
        (Some(why), 0) => why,
        (Some(why), done) => format!("{choice}: {done} answered; {why}"),
        (None, 1) => format!("{choice}: {}", asks.first().map_or("", |pending| &pending.title)),
        (None, done) => format!("{choice}: {done} asks"),
    }
}

/// What the server did with a reply or a stop.
fn told(what: &str, result: anyhow::Result<Value>) -> String {
    match result {
        Ok(value) => {
            let word =
                |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().replace('_', " ");
            let why = Some(word("why"))
                .filter(|why| !why.is_empty())
                .map_or(String::new(), |why| format!(" ({why})"));
            format!("{what}: {}{why}", word("state"))
        }
        Err(error) => format!("could not {what}: {error:#}"),
    }
}
