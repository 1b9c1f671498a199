//! When to alert the user: once per cause, only when it matters, with the reason. Pure: agents and the time come in.

use headspace_core::model::{AgentId, AgentState, AgentView, Group, MachineName};
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers;
use headspace_platform::clock::local_time;
use headspace_platform::config::Notifications;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// A question that closes by itself within this time (answered by a hook, or a plan mode that opens) never alerts.
const RING_AFTER: Duration = Duration::from_secs(1);

/// An agent that continues within this time was not done: a user's hook said "keep going", a queued prompt began, or the
/// result of a background agent came as the next prompt.
const GOES_ON_WITHIN: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    Attention,
    Error,
    Finished,
    /// A page or a terminal may answer from now on.
    Unlocked,
}

impl Cause {
    pub const fn word(self) -> &'static str {
        match self {
            Cause::Attention => "attention",
            Cause::Error => "error",
            Cause::Finished => "finished",
            Cause::Unlocked => "unlocked",
        }
    }
}

/// The subject of a notification; the screen shows at most one per subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlertKey {
    pub agent_id: AgentId,
    pub cause: Cause,
    /// The open question.
    pub ask: Option<i64>,
}

/// One notification to the user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alert {
    pub cause: Cause,
    pub agent_id: AgentId,
    pub name: String,
    pub project: Option<String>,
    /// The machine whose board it is from, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineName>,
    pub host: Option<String>,
    /// The question, the error, or how long the work took and how it ended.
    pub text: String,
    pub timestamp: Stamp,
    /// The open question it is about.
    #[serde(rename = "interaction_id")]
    pub ask: Option<i64>,
    /// The agent's card on the dashboard.
    pub url: Option<String>,
}

impl Alert {
    pub fn key(&self) -> AlertKey {
        AlertKey { agent_id: self.agent_id, cause: self.cause, ask: self.ask }
    }

    /// An alert about no agent in particular.
    pub(super) fn unlocked(text: String, timestamp: Stamp) -> Alert {
        Alert {
            cause: Cause::Unlocked,
            agent_id: AgentId::from(0),
            name: "headspace".into(),
            project: None,
            machine: None,
            host: None,
            ask: None,
            url: None,
            text,
            timestamp,
        }
    }

    /// "api · fix-auth needs you", "api · fix-auth on devbox needs you"
    pub fn title(&self) -> String {
        let who = match &self.project {
            Some(project) if *project != self.name => format!("{project} · {}", self.name),
            _ => self.name.clone(),
        };
        let what = match self.cause {
            Cause::Attention => "needs you",
            Cause::Error => "failed",
            Cause::Finished => "is done",
            Cause::Unlocked => "can be answered from elsewhere",
        };
        match &self.machine {
            Some(machine) => format!("{who} on {machine} {what}"),
            None => format!("{who} {what}"),
        }
    }
}

/// The alerts that were sent, and those that may be due soon.
#[derive(Debug)]
pub struct AlertRules {
    rules: Notifications,
    /// Only agents that may still cause an alert, or must not cause one again.
    agents: HashMap<AgentId, AgentAlerts>,
    /// Alerts whose cause is over.
    withdrawn: Vec<AlertKey>,
}

#[derive(Debug, Default)]
struct AgentAlerts {
    latest: Option<Arc<AgentView>>,
    /// Open questions that were alerted.
    alerted: HashSet<i64>,
    /// Open questions that were not, and since when each is known.
    waiting: HashMap<i64, Stamp>,
    /// The error that was alerted.
    failed: Option<String>,
    /// Since when the agent has been busy, including its background work.
    busy_since: Option<Stamp>,
    /// When it looked done; it alerts unless the agent continues.
    done_at: Option<Stamp>,
    /// It was alerted as done, and the user has not looked since.
    done_alerted: bool,
}

impl AgentAlerts {
    /// Updates whether the agent works, is done, or has nothing to report.
    fn work(&mut self, agent: &AgentView, now: Stamp) {
        let works = matches!(agent.group, Group::Working | Group::Background);
        if works || agent.state != AgentState::Idle || !agent.background.is_empty() {
            let started = agent.current_command.as_ref().map_or(now, |command| command.started_at);
            self.busy_since.get_or_insert(started);
            self.done_at = None;
        } else if agent.unseen && agent.error.is_none() && agent.ended_at.is_none() {
            if self.busy_since.is_some() {
                self.done_at.get_or_insert(now);
            }
        } else {
            (self.busy_since, self.done_at) = (None, None);
        }
    }

    /// How long the work took, once it is certainly over.
    fn finished(&mut self, now: Stamp) -> Option<Duration> {
        let done = self.done_at.take_if(|done| now.since(*done) >= GOES_ON_WITHIN)?;
        Some(done.since(self.busy_since.take()?))
    }
}

impl AlertRules {
    /// `existing` is what the user was already told: none of it alerts again after a restart.
    pub fn new(rules: Notifications, existing: impl IntoIterator<Item = Arc<AgentView>>) -> AlertRules {
        let mut watch = AlertRules { rules, agents: HashMap::new(), withdrawn: Vec::new() };
        existing.into_iter().for_each(|agent| watch.note_known(agent));
        watch
    }

    /// Marks everything about the agent as known, so that it will not alert.
    pub fn note_known(&mut self, agent: Arc<AgentView>) {
        let watched = self.agents.entry(agent.id).or_default();
        watched.alerted = agent.interactions.iter().map(|open| open.id).collect();
        watched.failed = error_key(&agent);
        watched.work(&agent, agent.last_active_at);
        watched.done_at = None;
        watched.latest = Some(agent);
    }

    pub fn forget(&mut self, agent_id: AgentId) {
        self.agents.remove(&agent_id);
    }

    /// Alerts whose cause was answered, seen or is over: to be withdrawn.
    pub fn withdrawn(&mut self) -> Vec<AlertKey> {
        std::mem::take(&mut self.withdrawn)
    }

    /// Takes the current view of an agent; returns what alerts at once, the rest is due later.
    pub fn observe(&mut self, agent: Arc<AgentView>, now: Stamp) -> Vec<Alert> {
        let watched = self.agents.entry(agent.id).or_default();
        let open: HashSet<i64> = agent.interactions.iter().map(|open| open.id).collect();
        let key = |cause, ask| AlertKey { agent_id: agent.id, cause, ask };
        let answered = watched.alerted.extract_if(|id| !open.contains(id));
        self.withdrawn.extend(answered.map(|id| key(Cause::Attention, Some(id))));
        if watched.done_alerted && !agent.unseen {
            watched.done_alerted = false;
            self.withdrawn.push(key(Cause::Finished, None));
        }
        watched.waiting.retain(|id, _| open.contains(id));
        for id in open {
            if !watched.alerted.contains(&id) {
                watched.waiting.entry(id).or_insert(now);
            }
        }
        let error = error_key(&agent);
        let fails = error.is_some() && watched.failed != error;
        // An error that disappears for a moment and returns is still the same one.
        watched.failed = error.or(watched.failed.take());
        watched.work(&agent, now);
        watched.latest = Some(Arc::clone(&agent));
        // An ended agent asks nothing. Only the error it ended with could alert again.
        if agent.ended_at.is_some()
            && agent.error.is_none()
            && watched.busy_since.is_none()
            && !watched.done_alerted
        {
            self.agents.remove(&agent.id);
        }
        let mut alerts = Vec::new();
        if fails && self.rules.on_error {
            let text = agent.error.clone().unwrap_or_default();
            alerts.extend(self.alert(&agent, (Cause::Error, None), text, now));
        }
        alerts
    }

    /// Alerts for the questions that stayed open long enough, and for the agents that stayed done.
    pub fn due(&mut self, now: Stamp) -> Vec<Alert> {
        let mut asked = Vec::new();
        let mut done = Vec::new();
        for watched in self.agents.values_mut() {
            if let Some(worked) = watched.finished(now)
                && let Some(agent) = &watched.latest
                && worked.as_secs_f64() >= self.rules.finished_after
            {
                watched.done_alerted = true;
                let words = agent.last_words.as_ref().map_or(String::new(), |words| format!(": {words}"));
                done.push((Arc::clone(agent), format!("after {}{words}", numbers::duration(worked))));
            }
            let AgentAlerts { latest: Some(agent), alerted, waiting, .. } = watched else { continue };
            waiting.retain(|id, since| {
                let ready = now.since(*since) >= RING_AFTER;
                if ready {
                    alerted.insert(*id);
                    let open = agent.interactions.iter().find(|open| open.id == *id);
                    asked.extend(open.map(|open| (*id, Arc::clone(agent), open.ask.clone())));
                }
                !ready
            });
        }
        let asked = asked.into_iter().filter(|_| self.rules.on_attention);
        let asked = asked.map(|(id, agent, text)| ((Cause::Attention, Some(id)), agent, text));
        let done = done.into_iter().filter(|_| self.rules.on_finished);
        let done = done.map(|(agent, text)| ((Cause::Finished, None), agent, text));
        let due = asked.chain(done);
        due.filter_map(|(about, agent, text)| self.alert(&agent, about, text, now)).collect()
    }

    /// How long until the next alert may be due.
    pub fn next_due(&self, now: Stamp) -> Option<Duration> {
        let all = || self.agents.values();
        let asked = all().flat_map(|watched| watched.waiting.values()).map(|since| since.plus(RING_AFTER));
        let done = all().filter_map(|watched| watched.done_at).map(|done| done.plus(GOES_ON_WITHIN));
        asked.chain(done).min().map(|due| due.since(now))
    }

    fn alert(
        &self,
        agent: &AgentView,
        (cause, ask): (Cause, Option<i64>),
        text: String,
        now: Stamp,
    ) -> Option<Alert> {
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
            machine: agent.machine,
            host: agent.host.clone(),
            text,
            timestamp: now,
            ask,
            url: None,
        })
    }
}

/// One failure of one command alerts once.
fn error_key(agent: &AgentView) -> Option<String> {
    agent.error.as_ref().map(|error| format!("{error} {}", agent.source_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::model::{CommandState, CurrentCommand, Status};

    fn at(seconds: f64) -> Stamp {
        Stamp(1_000_000_000_000_000_000 + (seconds * 1e9) as i64)
    }

    /// An agent that asks the questions in `asks` and has worked on a command since `since`, or has nothing to do.
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
            .map(|id| {
                serde_json::from_value(serde_json::json!({
                    "id": id, "kind": "permission", "text": "all of it", "ask": format!("ask {id}"), "opened_at": stamp,
                }))
                .unwrap()
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

    fn watch() -> AlertRules {
        AlertRules::new(Notifications::default(), [])
    }

    #[test]
    fn a_question_alerts_once_after_a_second() {
        let mut watch = watch();
        assert!(watch.observe(working(&[7]), at(10.0)).is_empty());
        assert!(watch.due(at(10.9)).is_empty());
        let alerted = watch.due(at(11.0));
        assert_eq!(
            (alerted.len(), alerted[0].cause, alerted[0].text.as_str()),
            (1, Cause::Attention, "ask 7")
        );
        watch.observe(working(&[7]), at(12.0));
        assert!(watch.due(at(20.0)).is_empty());
        watch.observe(working(&[7, 8]), at(21.0));
        assert_eq!(watch.due(at(23.0)).len(), 1);
    }

    #[test]
    fn a_question_that_closes_by_itself_does_not_alert() {
        let mut watch = watch();
        watch.observe(working(&[7]), at(0.0));
        watch.observe(working(&[]), at(0.5));
        assert!(watch.due(at(5.0)).is_empty());
    }

    #[test]
    fn done_alerts_only_after_long_work_and_when_the_background_is_done_too() {
        let mut watch = watch();
        watch.observe(working(&[]), at(0.0));
        watch.observe(done(|_| ()), at(20.0));
        assert!(watch.due(at(25.0)).is_empty());
        watch.observe(working(&[]), at(30.0));
        assert!(
            watch.observe(done(|agent| agent.background = vec![serde_json::json!({})]), at(40.0)).is_empty()
        );
        watch.observe(done(|_| ()), at(90.0));
        assert!(watch.due(at(91.0)).is_empty());
        let alerted = watch.due(at(92.0));
        assert_eq!((alerted.len(), alerted[0].cause), (1, Cause::Finished));
        watch.observe(done(|_| ()), at(93.0));
        assert!(watch.due(at(99.0)).is_empty());
    }

    #[test]
    fn an_agent_that_continues_at_once_was_not_done() {
        let mut watch = watch();
        watch.observe(working(&[]), at(0.0));
        watch.observe(done(|_| ()), at(40.0));
        watch.observe(working(&[]), at(40.6));
        assert!(watch.due(at(50.0)).is_empty());
        watch.observe(done(|_| ()), at(60.0));
        assert_eq!(watch.due(at(62.0))[0].text, "after 1 m");
    }

    #[test]
    fn an_error_alerts_once() {
        let mut watch = watch();
        watch.observe(working(&[]), at(0.0));
        let failed = || done(|agent| agent.error = Some("rate_limit".into()));
        assert_eq!(watch.observe(failed(), at(1.0))[0].cause, Cause::Error);
        assert!(watch.observe(failed(), at(2.0)).is_empty());
    }

    #[test]
    fn after_a_long_day_only_what_may_still_alert_is_kept() {
        let mut watch = watch();
        let named = |id: i64, view: &AgentView| Arc::new(AgentView { id: id.into(), ..view.clone() });
        for id in 0..1000 {
            for ask in 0..10 {
                watch.observe(named(id, &working(&[id * 10 + ask])), at(1.0));
                watch.due(at(3.0));
            }
            let watched = &watch.agents[&id.into()];
            assert!(watched.alerted.len() + watched.waiting.len() <= 1, "{watched:?}");
            watch.observe(named(id, &done(|agent| agent.ended_at = Some(at(4.0)))), at(4.0));
        }
        assert_eq!(watch.agents.len(), 0);
        let failed = done(|agent| {
            agent.ended_at = Some(at(4.0));
            agent.error = Some("rate_limit".into());
        });
        assert_eq!(watch.observe(Arc::clone(&failed), at(4.0)).len(), 1);
        assert!(watch.observe(failed, at(5.0)).is_empty());
        watch.forget(1.into());
        assert_eq!(watch.agents.len(), 0);
    }

    #[test]
    fn nothing_alerts_again_after_a_restart_nor_when_switched_off_or_muted() {
        let mut restarted = AlertRules::new(Notifications::default(), [working(&[7])]);
        restarted.observe(working(&[7]), at(1.0));
        assert!(restarted.due(at(9.0)).is_empty());
        for rules in [
            Notifications { enabled: false, ..Notifications::default() },
            Notifications { on_attention: false, ..Notifications::default() },
            Notifications { mute_projects: vec!["api".into()], ..Notifications::default() },
            Notifications {
                quiet_hours: Some(headspace_platform::config::QuietHours { from: 0, to: 1440 }),
                ..Notifications::default()
            },
        ] {
            let mut watch = AlertRules::new(rules, []);
            watch.observe(working(&[7]), at(1.0));
            assert!(watch.due(at(9.0)).is_empty());
        }
    }
}
