//! The next prompt for an agent, typed into its own pane; and the stop of a turn. Begin with [`Replies::send`] and
//! [`stop::stop`].
//!
//! A busy agent's prompt waits here until the agent is idle. The queue is this process's memory: a text that a person
//! sent hours ago to a server that has since been restarted must not suddenly be typed. What was waiting is recorded as
//! dropped at the next start.

pub mod routes;
pub mod stop;
pub mod typing;

use crate::app_state::AppState;
use crate::ledger::{AnswerPath, Ledger, NewEvent};
use crate::reply::typing::Typed;
use headspace_core::engine::Agent;
use headspace_core::model::{AgentView, ReplyState, Source, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::terminal::tmux::{self, Refusal};
use headspace_platform::{config, files, process};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A client reports a prompt within this time after Enter.
const PROMPT_REPORTED_WITHIN: Duration = Duration::from_secs(3);
/// How often waiting prompts are tried.
const TRY_PROMPTS_EVERY: Duration = Duration::from_millis(500);
/// After a refusal (a draft, a dialog) the same agent is left alone for this long.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(3);
/// An agent that has just become idle may still be drawing its screen, or about to continue by itself.
const IDLE_FOR: Duration = Duration::from_millis(700);
/// A pane is known to be an agent's at most this long after its first event.
const PUBLISH_PANES_EVERY: Duration = Duration::from_secs(2);
/// Prompts that may wait for one agent.
pub const MAX_QUEUED: usize = 20;

/// The outcome of a prompt.
#[derive(Debug)]
pub struct Reply {
    pub id: String,
    pub state: ReplyState,
    pub why: Option<String>,
}

#[derive(Debug, Default)]
pub struct Replies {
    state: Mutex<WaitingPrompts>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WaitingPrompts {
    queues: HashMap<i64, PromptQueue>,
    /// Agents whose pane is being typed into.
    typing: HashSet<i64>,
    /// Prompts whose report is awaited.
    expected: Vec<Expected>,
}

#[derive(Debug, Default)]
struct PromptQueue {
    prompts: VecDeque<Prompt>,
    not_before: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Prompt {
    id: String,
    text: String,
    by: String,
    why: Option<String>,
}

#[derive(Debug)]
struct Expected {
    id: String,
    session_id: String,
    text: String,
    reported: bool,
}

/// The exclusive right to type into an agent's pane, until it is dropped.
struct Turn<'a>(&'a Replies, i64);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().typing.remove(&self.1);
        self.0.changed.notify_all();
    }
}

impl Replies {
    fn lock(&self) -> MutexGuard<'_, WaitingPrompts> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Types the prompt now if the agent is idle, or keeps it until then. Blocks for some seconds.
    pub fn send(&self, ledger: &Ledger, agent: &Agent, text: &str, by: &str) -> Result<Reply, Refusal> {
        let view = ledger.view(agent, Stamp::now());
        typing::can_type(&view)?;
        let id = format!("{:08x}", process::random() as u32);
        let prompt = Prompt { id, text: typing::pasteable(text), by: by.to_owned(), why: None };
        let waits = self.lock().queues.get(&agent.id).is_some_and(|queue| !queue.prompts.is_empty());
        if agent.takes_prompt() && !waits {
            let Some(_turn) = self.turn(agent.id) else {
                return Err("another prompt is being typed there right now; try again".into());
            };
            return self.type_now(ledger, &view, &prompt);
        }
        {
            let mut state = self.lock();
            let queue = state.queues.entry(agent.id).or_default();
            if queue.prompts.len() >= MAX_QUEUED {
                return Err(format!("{MAX_QUEUED} prompts wait there already"));
            }
            queue.prompts.push_back(prompt.clone());
        }
        record(ledger, &view.session_id, &prompt, ReplyState::Queued, None);
        self.changed.notify_all();
        Ok(Reply { id: prompt.id, state: ReplyState::Queued, why: None })
    }

    /// Cancels a waiting prompt; `false` if there is none with this id.
    pub fn cancel(&self, ledger: &Ledger, agent: &Agent, id: &str) -> bool {
        let taken = {
            let mut state = self.lock();
            let queue = state.queues.get_mut(&agent.id);
            queue.and_then(|queue| {
                let place = queue.prompts.iter().position(|prompt| prompt.id == id)?;
                queue.prompts.remove(place)
            })
        };
        if let Some(prompt) = &taken {
            record(ledger, &agent.session_id, prompt, ReplyState::Canceled, None);
        }
        taken.is_some()
    }

    /// A client reports a prompt, word for word.
    pub fn prompted(&self, session_id: &str, prompt: &str) {
        let mut state = self.lock();
        if state.expected.is_empty() {
            return;
        }
        let text = typing::pasteable(prompt);
        let same = |one: &&mut Expected| {
            !one.reported && one.session_id == session_id && one.text.trim() == text.trim()
        };
        if let Some(one) = state.expected.iter_mut().find(same) {
            one.reported = true;
            self.changed.notify_all();
        }
    }

    fn turn(&self, agent_id: i64) -> Option<Turn<'_>> {
        self.lock().typing.insert(agent_id).then_some(Turn(self, agent_id))
    }

    fn type_now(&self, ledger: &Ledger, view: &AgentView, prompt: &Prompt) -> Result<Reply, Refusal> {
        self.lock().expected.push(Expected {
            id: prompt.id.clone(),
            session_id: view.session_id.clone(),
            text: prompt.text.clone(),
            reported: false,
        });
        let typed = typing::enter(view, &prompt.text);
        let within =
            if matches!(typed, Ok(Typed::Entered(_))) { PROMPT_REPORTED_WITHIN } else { Duration::ZERO };
        let reported = self.reported(&prompt.id, within);
        let (state, why) = match typed? {
            Typed::InBox(why) => (ReplyState::InBox, Some(why)),
            Typed::Entered(_) if reported => (ReplyState::Sent, None),
            Typed::Entered(pane) if typing::still_holds(&pane, &prompt.text) => {
                (ReplyState::InBox, Some("Enter had no effect".into()))
            }
            Typed::Entered(_) => {
                (ReplyState::Entered, Some("the client reported no prompt with this text".into()))
            }
        };
        record(ledger, &view.session_id, prompt, state, why.as_deref());
        Ok(Reply { id: prompt.id.clone(), state, why })
    }

    /// Waits until the client reports the prompt; `false` if it does not within this time.
    fn reported(&self, id: &str, within: Duration) -> bool {
        let until = Instant::now() + within;
        let mut state = self.lock();
        loop {
            let reported = state.expected.iter().any(|one| one.id == id && one.reported);
            let left = until.saturating_duration_since(Instant::now());
            if reported || left.is_zero() {
                state.expected.retain(|one| one.id != id);
                return reported;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sleeps until a prompt may wait for its agent.
    fn pause(&self) {
        let state = self.lock();
        let waiting = state.queues.values().any(|queue| !queue.prompts.is_empty());
        let pause = if waiting { TRY_PROMPTS_EVERY } else { PUBLISH_PANES_EVERY };
        drop(self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner));
    }

    /// Types what waits for agents that are idle by now.
    fn try_all(&self, ledger: &Ledger) {
        let now = Instant::now();
        let due: Vec<i64> = {
            let mut state = self.lock();
            state.queues.retain(|_, queue| !queue.prompts.is_empty());
            let is_due = |queue: &PromptQueue| queue.not_before.is_none_or(|time| now >= time);
            state.queues.iter().filter(|(_, queue)| is_due(queue)).map(|(id, _)| *id).collect()
        };
        for id in due {
            let agent = ledger.snapshot().agent(id);
            match agent {
                Some(agent) if agent.ended_at.is_none() => self.try_one(ledger, &agent),
                _ => self.drop_all(ledger, id, "the agent has ended"),
            }
        }
    }

    fn try_one(&self, ledger: &Ledger, agent: &Agent) {
        let now = Stamp::now();
        if !agent.takes_prompt() || now.since(agent.state_at) < IDLE_FOR {
            return;
        }
        let Some(_turn) = self.turn(agent.id) else { return };
        let take = |state: &mut WaitingPrompts| state.queues.get_mut(&agent.id)?.prompts.pop_front();
        let Some(mut prompt) = take(&mut self.lock()) else { return };
        let Err(why) = self.type_now(ledger, &ledger.view(agent, now), &prompt) else { return };
        // Logged once per reason; the prompt stays first in the queue.
        if prompt.why.as_deref() != Some(&why) {
            record(ledger, &agent.session_id, &prompt, ReplyState::Queued, Some(&why));
        }
        prompt.why = Some(why);
        let mut state = self.lock();
        let queue = state.queues.entry(agent.id).or_default();
        queue.prompts.push_front(prompt);
        queue.not_before = Some(Instant::now() + TRY_AGAIN_AFTER);
    }

    fn drop_all(&self, ledger: &Ledger, agent_id: i64, why: &str) {
        let Some(queue) = self.lock().queues.remove(&agent_id) else { return };
        let session = ledger.snapshot().agent(agent_id).map(|agent| agent.session_id.clone());
        for prompt in queue.prompts {
            record(ledger, session.as_deref().unwrap_or_default(), &prompt, ReplyState::Dropped, Some(why));
        }
    }
}

/// The thread that types what waits, and keeps the list of agents' panes for the guard.
pub fn run(app: &Weak<AppState>) {
    let mut panes = String::new();
    if let Some(app) = app.upgrade() {
        drop_from_before(&app.ledger);
    }
    loop {
        let Some(app) = app.upgrade() else { return };
        if app.ledger.is_closed() {
            return;
        }
        app.replies.try_all(&app.ledger);
        publish_panes(&app.ledger, &mut panes);
        let replies = Arc::clone(&app.replies);
        drop(app);
        replies.pause();
    }
}

/// Writes the list of agents' panes on this machine, for the guard, which must know them without a server. tmux does not
/// use a pane's number again, so an outdated list does no harm.
fn publish_panes(ledger: &Ledger, last: &mut String) {
    let agents = ledger.snapshot().agents(0);
    let here = agents.iter().filter(|agent| !agent.place.elsewhere);
    let panes: BTreeSet<&str> = here.filter_map(|agent| agent.place.tmux_pane.as_deref()).collect();
    let list: String =
        panes.iter().filter(|pane| tmux::is_pane(pane)).map(|pane| format!("{pane}\n")).collect();
    if list != *last && files::replace(&config::panes_file(), list.as_bytes()).is_ok() {
        *last = list;
    }
}

/// What waited when the server last ended was in its memory, and is gone.
fn drop_from_before(ledger: &Ledger) {
    let agents = ledger.snapshot().agents(0);
    for agent in agents {
        for reply in &agent.replies {
            let body = json!({
                "session_id": agent.session_id, "reply_id": reply.id, "state": ReplyState::Dropped, "by": reply.by,
                "why": "the server was restarted",
            });
            submit(ledger, observed::REPLY, &agent.session_id, body);
        }
    }
}

fn record(ledger: &Ledger, session_id: &str, prompt: &Prompt, state: ReplyState, why: Option<&str>) {
    let body = json!({
        "session_id": session_id, "reply_id": prompt.id, "state": state, "by": prompt.by, "text": prompt.text, "why": why,
    });
    submit(ledger, observed::REPLY, session_id, body);
}

/// Records what a person did, and waits until it is stored, so that the next request sees it.
fn submit(ledger: &Ledger, name: &str, session_id: &str, body: Value) {
    let event = NewEvent::observed(name, session_id, Stamp::now(), Source::Answer, body);
    for pending in ledger.submit(vec![event], AnswerPath::Direct) {
        if let Err(error) = pending.wait() {
            headspace_platform::log::line(&format!("could not record a reply: {error}"));
        }
    }
}
