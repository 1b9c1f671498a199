//! Answers from anywhere. The path of an ask: [`ask`] notes what it looked like; `headspace wait` connects and is held
//! ([`waiters`]); a person with a key ([`keys`], [`peer`]) claims it once; `wait` prints the decision; and the client's own
//! events show whether it counted. Each step is an event; [`AppState::follow_answers`] records the steps that other events
//! show.
//!
//! If anything goes wrong, the terminal's dialog decides: a `wait` that gets no answer, or whose connection ends, prints
//! nothing.

pub mod ask;
pub mod buttons;
pub mod hook;
pub mod keys;
pub mod peer;
pub mod waiters;

use crate::app_state::AppState;
use crate::blocking_pool;
use crate::http::sse::Message;
use crate::ledger::{NewEvent, Unavailable};
use buttons::Buttons;
use headspace_core::engine::Agent;
use headspace_core::model::{AgentId, AnswerState, Interaction, Process, Source, observed};
use headspace_core::stamp::Stamp;
use headspace_core::wire::AnswerStatus;
use headspace_platform::clock::WallClock;
use headspace_platform::config::{self, Config};
use headspace_platform::log;
use hook::{Fit, Lineage};
use keys::{AnswerKeys, Key};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use waiters::Waiters;

/// How often the server looks whether answering was switched on or off.
const LOOK_FOR_SWITCH_EVERY: Duration = Duration::from_millis(500);

/// Whether asks can be answered. The card of an ask that is not held says why it cannot.
#[derive(Debug, Default)]
pub struct Readiness(AtomicU8);

impl Readiness {
    const OFF: u8 = 0;
    const LOCKED: u8 = 1;
    const UNLOCKED: u8 = 2;

    fn set(&self, value: u8) -> bool {
        self.0.swap(value, Ordering::Relaxed) != value
    }

    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed) != Readiness::OFF
    }

    /// Why the ask is not held.
    pub fn why(&self) -> &'static str {
        match self.0.load(Ordering::Relaxed) {
            Readiness::OFF => "answering from here is off (`headspace answer on`): answer in the terminal",
            Readiness::LOCKED => {
                "nothing was unlocked when this was asked: answer in its terminal. To answer the next ones, open \
                 `headspace top` or type the code of `headspace answer unlock` into the dashboard"
            }
            _ => {
                "no hook waits for this answer: nothing was unlocked when it was asked, or another client asks; \
                 answer in its terminal"
            }
        }
    }
}

#[derive(Debug)]
pub struct Answers {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    keys: AnswerKeys,
    waiters: Waiters,
    buttons: Buttons,
}

impl Answers {
    pub fn new(config: &Config) -> Answers {
        let state = State {
            keys: AnswerKeys::new(&config.answer),
            waiters: Waiters::default(),
            buttons: Buttons::default(),
        };
        Answers { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the user has switched answering on.
    pub fn is_on(&self) -> bool {
        config::answering_file().exists()
    }

    /// Works on the keys.
    pub fn with_keys<T>(&self, work: impl FnOnce(&mut AnswerKeys, Instant) -> T) -> T {
        work(&mut self.lock().keys, Instant::now())
    }

    /// Works on the waiters.
    pub fn with_waiters<T>(&self, work: impl FnOnce(&mut Waiters) -> T) -> T {
        work(&mut self.lock().waiters)
    }

    /// Works on the buttons of notifications.
    pub fn with_buttons<T>(&self, work: impl FnOnce(&mut Buttons, Instant) -> T) -> T {
        work(&mut self.lock().buttons, Instant::now())
    }

    /// Withdraws every key and every button.
    pub fn end_all_keys(&self) {
        let mut state = self.lock();
        state.keys.end_all();
        state.buttons.end_all();
    }

    /// Whether a page or terminal may answer.
    pub fn is_unlocked(&self) -> bool {
        self.is_on() && self.lock().keys.open(Instant::now()).next().is_some()
    }

    pub fn key(&self, secret: &str) -> Option<Key> {
        self.with_keys(|keys, now| keys.find(secret, now).cloned())
    }

    pub fn status(&self, own: Option<&Key>) -> AnswerStatus {
        let (state, now, own) = (self.lock(), Instant::now(), own.map(|key| key.id));
        let keys = state.keys.shown(own, now);
        AnswerStatus {
            on: self.is_on(),
            unlocked: state.keys.open(now).next().is_some(),
            mine: own.is_some(),
            waiting: state.waiters.len(),
            keys,
        }
    }
}

impl AppState {
    /// The processes of all known agents.
    pub fn agent_processes(&self) -> Vec<Process> {
        self.ledger.agents(0).iter().filter_map(|agent| agent.place.process()).collect()
    }

    /// Follows what is committed, and the user's switch, until the server ends.
    pub async fn follow_answers(self: Arc<Self>) {
        let (sender, mut touched) = mpsc::unbounded_channel();
        if !self.ledger.report_touched(sender) {
            return;
        }
        self.refresh_readiness();
        self.withdraw_all().await;
        let mut look = tokio::time::interval(LOOK_FOR_SWITCH_EVERY);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                agents = touched.recv() => {
                    let Some(agents) = agents else { return };
                    for id in agents {
                        self.update_asks(id).await;
                    }
                }
                _ = look.tick() => self.refresh_readiness(),
            }
        }
    }

    /// After a restart no `wait` is held, so answers that were open before are withdrawn.
    async fn withdraw_all(&self) {
        let agents = self.ledger.agents(usize::MAX);
        for agent in agents {
            for open in agent.interactions.iter().filter(|open| is_held(open)) {
                let _ = self.record_step(&agent, open, AnswerState::Withdrawn, json!({})).await;
            }
            self.record_due(&agent).await;
        }
    }

    /// Something about this agent was committed, so questions may have come or gone.
    pub async fn update_asks(&self, agent_id: i64) {
        let Some(agent) = self.ledger.agent(agent_id) else { return };
        for (number, hello) in self.answers.with_waiters(|waiters| waiters.unbound()) {
            let here = agent.session_id == hello.session_id
                && (hello.client.is_none()
                    || agent.place.process().is_none()
                    || agent.place.process() == hello.client);
            let asked = agent.interactions.iter().find(|open| {
                open.subagent.is_none()
                    && open.answer.is_none()
                    && open.tool_name.as_deref() == Some(hello.tool_name.as_str())
                    && open.asked.as_ref().is_some_and(|asked| asked.key == hello.key)
            });
            let Some(asked) = asked.filter(|_| here) else { continue };
            match self.fit(&agent, &hello.lineage).await {
                Fit::Ours => {}
                Fit::Anothers => continue,
                Fit::Refused(why) => {
                    log::line(&format!("refused a `headspace wait`: {why}"));
                    self.answers.with_waiters(|waiters| waiters.dismiss(number));
                    continue;
                }
            }
            if !self.answers.with_waiters(|waiters| waiters.bind(number, agent.id, asked.id)) {
                continue;
            }
            let more = json!({"digest": hello.digest, "confirm": hello.confirm});
            if self.record_step(&agent, asked, AnswerState::Open, more).await.is_err() {
                self.answers.with_waiters(|waiters| waiters.unbind(number));
            }
        }
        self.dismiss_answered(agent_id);
        if let Some(agent) = self.ledger.agent(agent_id) {
            self.record_due(&agent).await;
        }
    }

    /// Whether the client of `agent` started the hook with this lineage.
    async fn fit(&self, agent: &Agent, lineage: &Lineage) -> Fit {
        let (seat, agents) = (agent.place.process(), self.agent_processes());
        let same_session = |other: &Arc<Agent>| other.session_id == agent.session_id;
        let seats: Vec<Process> = self
            .ledger
            .agents(0)
            .iter()
            .filter(|other| same_session(other))
            .filter_map(|other| other.place.process())
            .collect();
        let lineage = lineage.clone();
        let judged = blocking_pool::run(move || lineage.fits(seat, &seats, &agents, hook::is_client)).await;
        judged.unwrap_or(Fit::Refused("it could not be judged"))
    }

    /// Dismisses the waiters whose question was closed by something else.
    fn dismiss_answered(&self, agent_id: i64) {
        let Some(agent) = self.ledger.agent(agent_id) else { return };
        self.answers.with_waiters(|waiters| {
            for (number, interaction) in waiters.of_agent(agent_id) {
                if !agent.interactions.iter().any(|open| open.id == interaction) {
                    waiters.dismiss(number);
                }
            }
        });
    }

    /// Records what events have shown about answers. An answer on its way is left until its waiter has reported.
    async fn record_due(&self, agent: &Agent) {
        for past in agent.past_asks.iter().filter(|past| past.due.is_some()) {
            let on_its_way = self
                .answers
                .with_waiters(|waiters| waiters.of(past.id).is_some_and(|(_, one)| one.claim.is_some()));
            if let Some(due) = past.due.filter(|_| !on_its_way) {
                let body = json!({"digest": past.step.digest, "choice": past.step.choice});
                let _ = self.record(agent, past.id, past.tool_name.as_deref(), due, body).await;
            }
        }
    }

    /// The waiter with this number is gone. If there is no answer yet, the terminal must give it.
    pub async fn waiter_left(&self, number: u64) {
        let Some(waiter) = self.answers.with_waiters(|waiters| waiters.remove(number)) else { return };
        self.publish_answering();
        let Some((agent_id, interaction)) = waiter.bound else { return };
        let Some(agent) = self.ledger.agent(agent_id) else { return };
        match agent.interactions.iter().find(|open| open.id == interaction && is_held(open)) {
            Some(open) => drop(self.record_step(&agent, open, AnswerState::Withdrawn, json!({})).await),
            None => self.record_due(&agent).await,
        }
    }

    /// `headspace wait` reports what it did, or what was done to it.
    pub async fn waiter_reports(&self, number: u64, state: AnswerState) {
        let Some((bound, claim)) = self
            .answers
            .with_waiters(|waiters| waiters.get(number).map(|waiter| (waiter.bound, waiter.claim.clone())))
        else {
            return;
        };
        let Some((agent_id, interaction)) = bound else { return };
        let Some(agent) = self.ledger.agent(agent_id) else { return };
        let tool = agent
            .interactions
            .iter()
            .find(|open| open.id == interaction)
            .and_then(|open| open.tool_name.clone());
        let past = agent.past_asks.iter().find(|past| past.id == interaction);
        let tool = tool.or_else(|| past.and_then(|past| past.tool_name.clone()));
        let digest =
            self.answers.with_waiters(|waiters| waiters.get(number).map(|one| one.hello.digest.clone()));
        let mut body = json!({"digest": digest});
        match (state, &claim) {
            (AnswerState::Delivered, Some(claim)) => {
                body["choice"] = json!(claim.decided.choice);
                body["by"] = json!(claim.by);
                body["message"] = json!(claim.decided.message);
                body["answers"] = json!(Some(claim.decided.said()).filter(|said| !said.is_empty()));
            }
            // It had no answer that it could have delivered.
            (AnswerState::Delivered, None) => return,
            (AnswerState::RefusedInTerminal, _) => body["by"] = json!("terminal"),
            _ => return,
        }
        let _ = self.record(&agent, interaction, tool.as_deref(), state, body).await;
    }

    pub async fn record_step(
        &self,
        agent: &Agent,
        open: &Interaction,
        state: AnswerState,
        mut more: Value,
    ) -> Result<(), Unavailable> {
        if let (Some(step), None) = (&open.answer, more.get("digest")) {
            more["digest"] = step.digest.as_str().into();
        }
        self.record(agent, open.id, open.tool_name.as_deref(), state, more).await
    }

    /// Submits one step as an event. The same step twice counts once.
    async fn record(
        &self,
        agent: &Agent,
        interaction: i64,
        tool: Option<&str>,
        state: AnswerState,
        more: Value,
    ) -> Result<(), Unavailable> {
        let mut body: Map<String, Value> = Map::new();
        body.insert("interaction_id".into(), interaction.into());
        body.insert("state".into(), state.word().into());
        body.insert("tool_name".into(), json!(tool));
        if let Value::Object(more) = more {
            body.extend(more);
        }
        if let Some(process) = agent.place.process() {
            body.insert("claude_pid".into(), process.pid.into());
            body.insert("claude_pid_start".into(), process.start.into());
        }
        body.retain(|_, value| !value.is_null());
        let body = Value::Object(body);
        let mut event =
            NewEvent::observed(observed::ANSWER, &agent.session_id, Stamp::now(), Source::Answer, body);
        event.delivery_id = Some(format!("answer/{interaction}/{state}"));
        self.ledger.submit_one(event).answer().await.map(drop)
    }

    /// Decides whether asks can be answered. When that changes, every card changes.
    pub fn refresh_readiness(&self) {
        let status = self.answers.status(None);
        let readiness = match (status.on, status.unlocked) {
            (false, _) => Readiness::OFF,
            (true, false) => Readiness::LOCKED,
            (true, true) => Readiness::UNLOCKED,
        };
        if readiness == Readiness::OFF && status.waiting > 0 {
            self.answers.with_waiters(|waiters| waiters.dismiss_all());
        }
        if readiness == Readiness::OFF && status.unlocked {
            self.answers.end_all_keys();
        }
        if self.ledger.readiness().set(readiness) {
            self.publish_answering();
            self.publish_cards();
        }
    }

    /// Tells every surface which pages and terminals may answer.
    pub fn publish_answering(&self) {
        let hub = self.ledger.hub();
        if !hub.is_empty() {
            hub.publish(vec![Message::new(None, "answer", None, &self.answers.status(None))]);
        }
    }

    fn publish_cards(&self) {
        let hub = self.ledger.hub();
        if hub.is_empty() {
            return;
        }
        let now = Stamp::now();
        let agents = self.ledger.agents(0);
        let asking = agents.iter().filter(|agent| !agent.interactions.is_empty());
        let message = |agent: &Arc<Agent>| {
            let view = self.ledger.view(agent, now);
            Message::new(None, "agent_updated", Some(AgentId::from(agent.id)), &view)
        };
        hub.publish(asking.map(message).collect());
    }
}

fn is_held(open: &Interaction) -> bool {
    open.answer.as_ref().is_some_and(|step| matches!(step.state, AnswerState::Open | AnswerState::Claimed))
}
