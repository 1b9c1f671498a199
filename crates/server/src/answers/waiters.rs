//! The waiters: one `headspace wait` for each dialog of a main thread, and the one claim each of them takes.

use crate::answers::hook::Lineage;
use headspace_core::answering::{self, Decided};
use headspace_core::model::{Process, Surface};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use hyper::body::{Body, Bytes, Frame};
use serde_json::Value;
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// How many dialogs can wait; no person has more terminals.
pub const MAX_WAITERS: usize = 512;

/// The first line of `headspace wait`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hello {
    pub id: String,
    pub digest: String,
    pub session_id: String,
    pub tool_name: String,
    /// The word to type before the call can be allowed, if the guard would stop it.
    pub confirm: Option<String>,
    pub client: Option<Process>,
    /// The processes that started it, as the system reports them.
    pub lineage: Lineage,
    /// Finds the question: a hash of the input in the form in which it is stored.
    pub key: u64,
}

impl Hello {
    /// Reads the line. The digest is computed again, because the card must not show another one. `None`: not ours.
    pub fn read(line: &[u8], lineage: Lineage, paranoid: bool) -> Option<Hello> {
        let mut body: Value = serde_json::from_slice(line).ok()?;
        let text = |body: &Value, key: &str| body.get(key).and_then(Value::as_str).map(String::from);
        let number = |key: &str| body.get(key).and_then(Value::as_u64);
        let client =
            number("claude_pid").and_then(|pid| u32::try_from(pid).ok()).zip(number("claude_pid_start"));
        let digest = answering::digest(&body);
        if text(&body, "digest")? != digest {
            return None;
        }
        let (id, session_id, tool_name) =
            (text(&body, "id")?, text(&body, "session_id")?, text(&body, "tool_name")?);
        let confirm = text(&body, "confirm").filter(|word| !word.is_empty());
        if id.len() > 64 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        super::ask::store_form("PermissionRequest", &mut body, paranoid, Some(Default::default()));
        let key = headspace_core::engine::hash::input(body.get("tool_input")?);
        let client = client.map(|(pid, start)| Process { pid, start });
        Some(Hello { id, digest, session_id, tool_name, confirm, client, lineage, key })
    }
}

/// One waiting process.
#[derive(Debug)]
pub struct Waiter {
    pub hello: Hello,
    /// The question it waits for, once its event is here: the agent and the interaction.
    pub bound: Option<(i64, i64)>,
    pub claim: Option<Claim>,
    /// `None`: it was dismissed.
    lines: Option<mpsc::Sender<Bytes>>,
}

/// An answer on its way: who gave it, and when.
#[derive(Clone, Debug)]
pub struct Claim {
    pub decided: Decided,
    pub by: Surface,
    pub at: Stamp,
}

#[derive(Debug, Default)]
pub struct Waiters {
    all: HashMap<u64, Waiter>,
    next: u64,
}

impl Waiters {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a waiter; returns its number and the receiver of its answer.
    pub fn add(&mut self, hello: Hello) -> (u64, HeldBody) {
        let (sender, receiver) = mpsc::channel(2);
        self.next += 1;
        self.all.insert(self.next, Waiter { hello, bound: None, claim: None, lines: Some(sender) });
        (self.next, HeldBody { first: None, lines: receiver })
    }

    pub fn get(&self, number: u64) -> Option<&Waiter> {
        self.all.get(&number)
    }

    pub fn remove(&mut self, number: u64) -> Option<Waiter> {
        self.all.remove(&number)
    }

    pub fn bind(&mut self, number: u64, agent: i64, interaction: i64) -> bool {
        if self.of(interaction).is_some() {
            return false;
        }
        let Some(waiter) = self.all.get_mut(&number).filter(|waiter| waiter.bound.is_none()) else {
            return false;
        };
        waiter.bound = Some((agent, interaction));
        true
    }

    pub fn unbind(&mut self, number: u64) {
        if let Some(waiter) = self.all.get_mut(&number) {
            waiter.bound = None;
        }
    }

    /// The waiter that holds this question.
    pub fn of(&self, interaction: i64) -> Option<(u64, &Waiter)> {
        let waits = |waiter: &Waiter| waiter.bound.is_some_and(|(_, bound)| bound == interaction);
        self.all.iter().find(|(_, waiter)| waits(waiter)).map(|(number, waiter)| (*number, waiter))
    }

    /// The waiters whose question's event has not arrived yet.
    pub fn unbound(&self) -> Vec<(u64, Hello)> {
        let waiting = self.all.iter().filter(|(_, waiter)| waiter.bound.is_none() && waiter.lines.is_some());
        waiting.map(|(number, waiter)| (*number, waiter.hello.clone())).collect()
    }

    /// Those that wait for a question of this agent: their numbers and the questions.
    pub fn of_agent(&self, agent: i64) -> Vec<(u64, i64)> {
        let bound = |(number, waiter): (&u64, &Waiter)| {
            waiter.bound.filter(|(owner, _)| *owner == agent).map(|(_, interaction)| (*number, interaction))
        };
        self.all.iter().filter_map(bound).collect()
    }

    /// One claim each: the first counts.
    pub fn claim(&mut self, interaction: i64, claim: Claim) -> bool {
        let Some((number, _)) = self.of(interaction) else { return false };
        let Some(waiter) = self.all.get_mut(&number) else { return false };
        if waiter.claim.is_some() || waiter.lines.is_none() {
            return false;
        }
        waiter.claim = Some(claim);
        true
    }

    /// Undoes a claim that could not be recorded.
    pub fn unclaim(&mut self, interaction: i64) {
        let number = self.of(interaction).map(|(number, _)| number);
        if let Some(waiter) = number.and_then(|number| self.all.get_mut(&number)) {
            waiter.claim = None;
        }
    }

    /// Passes the answer to the waiter.
    pub fn deliver(&self, interaction: i64) {
        let Some((_, waiter)) = self.of(interaction) else { return };
        if let (Some(claim), Some(lines)) = (&waiter.claim, &waiter.lines) {
            let line = claim.decided.line(&waiter.hello.id, &waiter.hello.digest);
            // The channel is empty; if it is closed, the waiter's end is about to be reported.
            let _ = lines.try_send(Bytes::from(line + "\n"));
        }
    }

    /// Dismisses a waiter without an answer, unless one is on its way.
    pub fn dismiss(&mut self, number: u64) {
        if let Some(waiter) = self.all.get_mut(&number).filter(|waiter| waiter.claim.is_none()) {
            waiter.lines = None;
        }
    }

    pub fn dismiss_all(&mut self) {
        for waiter in self.all.values_mut() {
            waiter.lines = None;
        }
    }
}

/// The answer to a `wait` request: what is sent while it lasts.
#[derive(Debug)]
pub struct HeldBody {
    first: Option<Bytes>,
    lines: mpsc::Receiver<Bytes>,
}

impl HeldBody {
    /// What is sent at once.
    pub fn greeting(mut self, line: String) -> HeldBody {
        self.first = Some(Bytes::from(line));
        self
    }
}

impl Body for HeldBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        self.lines.poll_recv(cx).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}

pub fn claim(decided: Decided, by: Surface) -> Claim {
    Claim { decided, by, at: Stamp::now() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::model::Choice;
    use serde_json::json;

    fn hello() -> Vec<u8> {
        let mut body = json!({"id": "ab12", "session_id": "s", "cwd": "/p", "permission_mode": "default",
            "tool_name": "Bash", "tool_input": {"command": "ls"}, "claude_pid": 7, "claude_pid_start": 8});
        body["digest"] = answering::digest(&body).into();
        body.to_string().into_bytes()
    }

    fn deny() -> Claim {
        claim(Decided { choice: Choice::Deny, message: None, answers: Vec::new() }, Surface::Web)
    }

    #[test]
    fn a_hello_whose_digest_is_not_its_own_is_not_ours() {
        let good = Hello::read(&hello(), Lineage::default(), false).unwrap();
        assert_eq!((good.tool_name.as_str(), good.client), ("Bash", Some(Process { pid: 7, start: 8 })));
        let changed = String::from_utf8(hello()).unwrap().replace("\"ls\"", "\"rm\"");
        assert_eq!(Hello::read(changed.as_bytes(), Lineage::default(), false), None);
        for bad in ["", "{}", "[]", "{\"id\":\"x\"}"] {
            assert_eq!(Hello::read(bad.as_bytes(), Lineage::default(), false), None, "{bad}");
        }
    }

    #[test]
    fn one_question_has_one_waiter_and_one_claim() {
        let mut waiters = Waiters::default();
        let (first, mut body) = waiters.add(Hello::read(&hello(), Lineage::default(), false).unwrap());
        let (second, _kept) = waiters.add(Hello::read(&hello(), Lineage::default(), false).unwrap());
        assert!(waiters.bind(first, 1, 10));
        assert!(!waiters.bind(second, 1, 10), "another has it");
        assert!(waiters.claim(10, deny()));
        assert!(!waiters.claim(10, deny()), "answered already");
        assert!(!waiters.claim(11, deny()), "no waiter holds it");
        waiters.dismiss(first);
        waiters.deliver(10);
        let line = body.lines.try_recv().unwrap();
        assert!(
            String::from_utf8_lossy(&line).contains("\"choice\":\"deny\""),
            "an answer on its way is not stopped"
        );
        waiters.dismiss(second);
        assert!(waiters.bind(second, 1, 11) && !waiters.claim(11, deny()), "it was sent home");
    }
}
