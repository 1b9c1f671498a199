//! `top` as a surface that answers: a thread of its own, because an answer may take a moment. It is unlocked by its terminal
//! as long as it runs, so that `headspace wait` holds asks for it.

use crate::commands::top::decide::{Decision, Pending};
use crate::commands::top::feed::News;
use crate::view::answering::{self, Answering, KeyState, Said};
use crate::view::client::Client;
use crate::view::person;
use headspace_core::model::{Choice, Surface as Where};
use headspace_core::text::one_line;
use headspace_platform::config::Config;
use serde_json::{Value, json};
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

/// How often a surface that is not unlocked tries again: answering was switched on, or the server started again.
const UNLOCK_EVERY: Duration = Duration::from_secs(3);
/// A key is given back within this time, or ends with its hours.
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

    /// Gives the key back.
    pub fn leave(&self) {
        self.tasks.borrow_mut().take();
        let _ = self.left.recv_timeout(LEAVES_WITHIN);
    }
}

fn work(client: &Client, todo: &Receiver<Task>, news: &Sender<News>) {
    let mut key: Option<Answering> = None;
    let mut locked_here = false;
    loop {
        if let Some(state) = key.as_ref().map(Answering::state) {
            match state {
                Ok(KeyState::Counts) => {}
                Ok(KeyState::Ended) => {
                    // Somebody took it back: that holds, whoever it was.
                    (key, locked_here) = (None, true);
                    let _ = news.send(News::Said(
                        "locked from elsewhere: start `top` again to answer from here".to_owned(),
                    ));
                }
                // Nobody has locked anything: the person is still here.
                Ok(KeyState::ServerIsAnother) | Err(_) => key = None,
            }
        }
        // A person at this terminal is what unlocks it; the server looks at the process again.
        if key.is_none()
            && !locked_here
            && answering::status(client).is_ok_and(|status| status.on)
            && person::require("answer").is_ok()
        {
            key = Answering::open(client, Where::Top).ok();
        }
        let said = match todo.recv_timeout(UNLOCK_EVERY) {
            Ok(Task::Lock) => {
                (key, locked_here) = (None, true);
                match answering::lock_all(client) {
                    Ok(()) => {
                        "locked: nobody can answer until `headspace answer unlock`, or `top` is started again"
                            .to_owned()
                    }
                    Err(error) => format!("could not lock: {error:#}"),
                }
            }
            Ok(Task::Decide(decision)) => match *decision {
                Decision::Answer { asks, choice, message, answers, confirm } => {
                    let said = Said { message, answers, confirm };
                    answer(key.as_ref(), &asks, choice, &said)
                }
                Decision::Reply { agent_id, text, confirm } => {
                    let body = json!({"text": text, "confirm": confirm});
                    told("reply", client.post(&format!("/api/agents/{agent_id}/reply"), &body))
                }
                Decision::Stop { agent_id } => {
                    told("stop", client.post(&format!("/api/agents/{agent_id}/stop"), &json!({})))
                }
            },
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if news.send(News::Said(one_line(&said, 300))).is_err() {
            return;
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
