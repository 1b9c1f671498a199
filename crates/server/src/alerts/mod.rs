//! Alerts: one thread applies the [`rules`] to every change and passes what is due to the channels.

pub mod alert_feed;
pub mod desktop;
pub mod ntfy;
mod rules;
pub mod webhook;
mod webhook_format;

pub use crate::alerts::rules::{Alert, AlertKey, AlertRules, Cause};

use crate::answers::buttons::ButtonMaker;
use headspace_core::model::{AgentId, AgentView};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// What the alert thread receives.
#[derive(Clone, Debug)]
pub enum AlertChange {
    /// The current view of an agent.
    Agent(Arc<AgentView>),
    /// An agent as it was when this server first saw it: nothing about it is new.
    Known(Arc<AgentView>),
    /// The agent is gone: retention deleted it, or its machine was removed.
    Forgotten(AgentId),
    /// A page or terminal was unlocked for answering: this always alerts.
    Unlocked(String),
}

/// Watches the changes until the sender is gone. The channels have their own threads: a webhook that hangs delays
/// nothing else.
pub fn run(
    config: &Config,
    buttons: ButtonMaker,
    existing: Vec<Arc<AgentView>>,
    changes: &Receiver<AlertChange>,
) {
    let (channels, dashboard) = (channels(config, Some(buttons)), config.dashboard_url());
    let mut watch = AlertRules::new(config.notifications.clone(), existing);
    loop {
        let wait = watch.next_due(Stamp::now()).unwrap_or(Duration::from_secs(3600));
        let mut alerts = match changes.recv_timeout(wait) {
            Ok(AlertChange::Agent(agent)) => watch.observe(agent, Stamp::now()),
            Ok(AlertChange::Known(agent)) => {
                watch.note_known(agent);
                Vec::new()
            }
            Ok(AlertChange::Forgotten(id)) => {
                watch.forget(id);
                Vec::new()
            }
            Ok(AlertChange::Unlocked(text)) => vec![Alert::unlocked(text, Stamp::now())],
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        alerts.extend(watch.due(Stamp::now()));
        for key in watch.withdrawn() {
            channels.iter().for_each(|channel| channel.withdraw(&key));
        }
        for mut alert in alerts {
            alert.url = Some(card_url(&dashboard, alert.agent_id));
            channels.iter().for_each(|channel| channel.send(&alert));
        }
    }
}

/// Where the dashboard shows an agent.
pub fn card_url(dashboard: &str, agent_id: AgentId) -> String {
    format!("{dashboard}/#/agents/{agent_id}")
}

/// Something that delivers alerts to a person.
pub trait Channel: Send {
    fn name(&self) -> String;
    /// Passes the alert on without waiting for its delivery.
    fn send(&self, alert: &Alert);
    /// Withdraws an alert, if the channel can.
    fn withdraw(&self, _: &AlertKey) {}
    /// Delivers one alert now and returns the result, for `headspace notify-test`.
    fn try_now(&self, alert: &Alert) -> Result<(), String>;
}

/// The configured channels. `buttons` makes alerts answerable; only a running server has it.
pub fn channels(config: &Config, buttons: Option<ButtonMaker>) -> Vec<Box<dyn Channel>> {
    let mut channels: Vec<Box<dyn Channel>> = Vec::new();
    if config.notifications.desktop {
        channels.push(Box::new(desktop::Desktop::new(&config.notifications.sound)));
    }
    for hook in &config.webhooks {
        channels.push(Box::new(webhook::Outbox::open(hook.clone(), config.dashboard_url(), buttons.clone())));
    }
    channels
}
