//! When to ring: once per cause, only when it matters, with the reason. The rules are pure ([`Watch`]); one
//! thread applies them to every change and hands what is due to the channels.

use crate::clock::{Stamp, local_time};
use crate::config::{Config, Notifications};
use crate::model::{AgentState, AgentView};
use crate::{desktop, webhook};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// What closes itself within this time (a hook's own answer, a plan mode that opens) never rings.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    Attention,
    Error,
    Finished,
}

/// One ring of the bell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alert {
    pub cause: Cause,
    pub agent_id: i64,
    pub name: String,
    pub project: Option<String>,
    pub host: Option<String>,
    /// The ask, the error, or how long the work took.
    pub text: String,
    pub timestamp: Stamp,
}

impl Alert {
    /// "api · fix-auth needs you"
    pub fn title(&self) -> String {
        let who = match &self.project {
            Some(project) if *project != self.name => format!("{project} · {}", self.name),
            _ => self.name.clone(),
        };
        let what = match self.cause {
            Cause::Attention => "needs you",
            Cause::Error => "failed",
            Cause::Finished => "is done",
        };
        format!("{who} {what}")
    }
}

/// What has rung, and what is about to.
#[derive(Debug)]
pub struct Watch {
    rules: Notifications,
    known: HashSet<(i64, Cause, String)>,
    waiting: HashMap<(i64, String), Stamp>,
    latest: HashMap<i64, Arc<AgentView>>,
    /// Since when an agent has been busy, its background work included.
    busy_since: HashMap<i64, Stamp>,
}

impl Watch {
    /// `now_there` is what people have been told already: nothing of it rings again after a restart.
    pub fn new(rules: Notifications, now_there: impl IntoIterator<Item = Arc<AgentView>>) -> Watch {
        let mut watch = Watch {
            rules,
            known: HashSet::new(),
            waiting: HashMap::new(),
            latest: HashMap::new(),
            busy_since: HashMap::new(),
        };
        for agent in now_there {
            for interaction in &agent.interactions {
                watch.known.insert((agent.id, Cause::Attention, interaction.id.to_string()));
            }
            if let Some(key) = error_key(&agent) {
                watch.known.insert((agent.id, Cause::Error, key));
            }
            watch.finished(&agent, agent.last_active_at);
            watch.latest.insert(agent.id, agent);
        }
        watch
    }

    /// Takes in how an agent looks now; what rings at once comes back, what needs patience is due later.
    pub fn observe(&mut self, agent: Arc<AgentView>, now: Stamp) -> Vec<Alert> {
        let mut alerts = Vec::new();
        self.waiting.retain(|(id, key), _| {
            *id != agent.id || agent.interactions.iter().any(|open| open.id.to_string() == *key)
        });
        for interaction in &agent.interactions {
            let key = interaction.id.to_string();
            if !self.known.contains(&(agent.id, Cause::Attention, key.clone())) {
                self.waiting.entry((agent.id, key)).or_insert(now);
            }
        }
        if let Some(key) = error_key(&agent)
            && self.known.insert((agent.id, Cause::Error, key))
            && self.rules.on_error
        {
            alerts.extend(self.alert(&agent, Cause::Error, agent.error.clone().unwrap_or_default(), now));
        }
        if let Some(worked) = self.finished(&agent, now)
            && self.rules.on_finished
            && worked.as_secs_f64() >= self.rules.finished_after
        {
            let text = format!("after {}", crate::view::board::duration(worked));
            alerts.extend(self.alert(&agent, Cause::Finished, text, now));
        }
        self.latest.insert(agent.id, agent);
        alerts
    }

    /// The questions that stayed open long enough.
    pub fn due(&mut self, now: Stamp) -> Vec<Alert> {
        let ready: Vec<(i64, String)> = self
            .waiting
            .iter()
            .filter(|(_, since)| now.since(**since) >= PATIENCE)
            .map(|(key, _)| key.clone())
            .collect();
        let mut alerts = Vec::new();
        for (id, key) in ready {
            self.waiting.remove(&(id, key.clone()));
            self.known.insert((id, Cause::Attention, key.clone()));
            let Some(agent) = self.latest.get(&id).cloned() else { continue };
            let Some(open) = agent.interactions.iter().find(|open| open.id.to_string() == key) else {
                continue;
            };
            if self.rules.on_attention {
                alerts.extend(self.alert(&agent, Cause::Attention, open.text.clone(), now));
            }
        }
        alerts
    }

    /// When the next question's patience ends.
    pub fn next_due(&self, now: Stamp) -> Option<Duration> {
        self.waiting.values().min().map(|since| since.plus(PATIENCE).since(now))
    }

    /// How long the work took that has just ended; `None` while it goes on, or if nobody has to be told.
    fn finished(&mut self, agent: &AgentView, now: Stamp) -> Option<Duration> {
        if agent.state != AgentState::Idle || !agent.background.is_empty() {
            let started = agent.current_command.as_ref().map_or(now, |command| command.started_at);
            self.busy_since.entry(agent.id).or_insert(started);
            return None;
        }
        let since = self.busy_since.remove(&agent.id)?;
        (agent.unseen && agent.error.is_none() && agent.ended_at.is_none()).then(|| now.since(since))
    }

    fn alert(&self, agent: &AgentView, cause: Cause, text: String, now: Stamp) -> Option<Alert> {
        let (hour, minute, _) = local_time(now);
        let quiet = self
            .rules
            .quiet_hours
            .is_some_and(|hours| hours.contains(u16::from(hour) * 60 + u16::from(minute)));
        let muted =
            self.rules.mute_projects.iter().any(|muted| {
                agent.project.as_ref() == Some(muted) || agent.project_path.as_ref() == Some(muted)
            });
        (self.rules.enabled && !quiet && !muted).then(|| Alert {
            cause,
            agent_id: agent.id,
            name: agent.name.clone(),
            project: agent.project.clone(),
            host: agent.host.clone(),
            text,
            timestamp: now,
        })
    }
}

/// One failure of one command rings once.
fn error_key(agent: &AgentView) -> Option<String> {
    agent.error.as_ref().map(|error| format!("{error} {}", agent.source_at))
}

/// Watches the changes until the sender is gone. The channels have threads of their own: a webhook that
/// hangs delays nobody.
pub fn run(config: &Config, now_there: Vec<Arc<AgentView>>, changes: &Receiver<Arc<AgentView>>) {
    let channels = channels(config);
    let mut watch = Watch::new(config.notifications.clone(), now_there);
    loop {
        let patience = watch.next_due(Stamp::now()).unwrap_or(Duration::from_secs(3600));
        let mut alerts = match changes.recv_timeout(patience) {
            Ok(agent) => watch.observe(agent, Stamp::now()),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        alerts.extend(watch.due(Stamp::now()));
        for alert in alerts {
            for channel in &channels {
                channel.send(&alert);
            }
        }
    }
}

/// Something that carries alerts to a person.
pub trait Channel: Send {
    fn name(&self) -> String;
    /// Hands the alert over without waiting for its delivery.
    fn send(&self, alert: &Alert);
    /// Delivers one alert now and says how it went, for `headspace notify-test`.
    fn try_now(&self, alert: &Alert) -> Result<(), String>;
}

pub fn channels(config: &Config) -> Vec<Box<dyn Channel>> {
    let mut channels: Vec<Box<dyn Channel>> = Vec::new();
    if config.notifications.desktop {
        channels.push(Box::new(desktop::Desktop));
    }
    for hook in &config.webhooks {
        channels.push(Box::new(webhook::Outbox::open(hook.clone())));
    }
    channels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CommandState, CurrentCommand, Interaction, InteractionKind, Status};

    fn at(seconds: f64) -> Stamp {
        Stamp(1_000_000_000_000_000_000 + (seconds * 1e9) as i64)
    }

    /// An agent that asks what `asks` names, works on a command since `since`, or has nothing to do.
    fn agent(state: AgentState, since: Option<f64>, asks: &[i64]) -> AgentView {
        let stamp = at(0.0);
        let mut view: AgentView = serde_json::from_value(serde_json::json!({
            "id": 1, "session_id": "s", "sessions": ["s"], "name": "fix", "project": "api", "state": state,
            "status": Status::Idle, "group": "idle", "unseen": false, "stale": false, "headless": false,
            "started_at": stamp, "last_active_at": stamp, "background": [], "interactions": [], "subagents": [],
            "turn_count": 0, "source": "hook", "source_at": stamp, "confidence": "high",
        }))
        .unwrap();
        view.current_command = since.map(|since| CurrentCommand {
            id: 1,
            state: CommandState::Processing,
            instruction: None,
            started_at: at(since),
        });
        view.interactions = asks
            .iter()
            .map(|id| Interaction {
                id: *id,
                kind: InteractionKind::Permission,
                tool_use_id: None,
                tool_name: None,
                subagent: None,
                text: format!("ask {id}"),
                options: vec![],
                opened_at: stamp,
                closed_at: None,
                event_id: 1,
            })
            .collect();
        view
    }

    fn working(asks: &[i64]) -> Arc<AgentView> {
        Arc::new(agent(AgentState::Processing, Some(0.0), asks))
    }

    fn done(change: impl FnOnce(&mut AgentView)) -> Arc<AgentView> {
        let mut view = agent(AgentState::Idle, None, &[]);
        view.unseen = true;
        change(&mut view);
        Arc::new(view)
    }

    fn watch() -> Watch {
        Watch::new(Notifications::default(), [])
    }

    #[test]
    fn a_question_rings_once_after_a_second() {
        let mut watch = watch();
        assert!(watch.observe(working(&[7]), at(10.0)).is_empty());
        assert!(watch.due(at(10.9)).is_empty());
        let rung = watch.due(at(11.0));
        assert_eq!((rung.len(), rung[0].cause, rung[0].text.as_str()), (1, Cause::Attention, "ask 7"));
        watch.observe(working(&[7]), at(12.0));
        assert!(watch.due(at(20.0)).is_empty());
        watch.observe(working(&[7, 8]), at(21.0));
        assert_eq!(watch.due(at(23.0)).len(), 1);
    }

    #[test]
    fn a_question_that_closes_itself_is_quiet() {
        let mut watch = watch();
        watch.observe(working(&[7]), at(0.0));
        watch.observe(working(&[]), at(0.5));
        assert!(watch.due(at(5.0)).is_empty());
    }

    #[test]
    fn done_rings_only_after_long_work_and_when_the_background_is_done_too() {
        let mut watch = watch();
        watch.observe(working(&[]), at(0.0));
        assert!(watch.observe(done(|_| ()), at(20.0)).is_empty());
        watch.observe(working(&[]), at(30.0));
        assert!(
            watch.observe(done(|agent| agent.background = vec![serde_json::json!({})]), at(40.0)).is_empty()
        );
        let rung = watch.observe(done(|_| ()), at(90.0));
        assert_eq!((rung.len(), rung[0].cause), (1, Cause::Finished));
        assert!(watch.observe(done(|_| ()), at(91.0)).is_empty());
    }

    #[test]
    fn an_error_rings_once() {
        let mut watch = watch();
        watch.observe(working(&[]), at(0.0));
        let failed = || done(|agent| agent.error = Some("rate_limit".into()));
        assert_eq!(watch.observe(failed(), at(1.0))[0].cause, Cause::Error);
        assert!(watch.observe(failed(), at(2.0)).is_empty());
    }

    #[test]
    fn nothing_rings_again_after_a_restart_nor_when_switched_off_or_muted() {
        let mut restarted = Watch::new(Notifications::default(), [working(&[7])]);
        restarted.observe(working(&[7]), at(1.0));
        assert!(restarted.due(at(9.0)).is_empty());
        for rules in [
            Notifications { enabled: false, ..Notifications::default() },
            Notifications { on_attention: false, ..Notifications::default() },
            Notifications { mute_projects: vec!["api".into()], ..Notifications::default() },
            Notifications {
                quiet_hours: Some(crate::config::QuietHours { from: 0, to: 1440 }),
                ..Notifications::default()
            },
        ] {
            let mut watch = Watch::new(rules, []);
            watch.observe(working(&[7]), at(1.0));
            assert!(watch.due(at(9.0)).is_empty());
        }
    }
}
