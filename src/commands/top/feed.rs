//! The input of `top`: changes from the stream, previews and keys, all through one channel.

use crate::commands::top::surface::Surface;
use crate::view::archive::Archive;
use crate::view::card::GuardWords;
use crate::view::client::{Client, stored_agents};
use crate::view::guard_word;
use anyhow::Result;
use headspace_core::changes::Changes;
use headspace_core::model::{AgentId, AgentView};
use headspace_core::wire::{AgentChanged, HookStatus, StoredEvent, StoredTurn};
use headspace_platform::config::Config;
use headspace_store::read::queries::EventQuery;
use ratatui::crossterm::event::Event;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

pub enum News {
    /// The whole list: at the start, and after every reconnection.
    Agents(Vec<AgentView>),
    Agent(Box<AgentView>),
    /// An agent of another machine is gone from the board.
    Removed(AgentId),
    Receiver(Box<HookStatus>),
    Preview {
        agent_id: AgentId,
        preview: Box<Preview>,
    },
    /// The server does not answer; what is shown may be old.
    Away {
        /// The stored agents, sent with the first failure.
        stored: Vec<AgentView>,
    },
    /// The result of a decision.
    Said(String),
    Input(Event),
}

/// The history of the selected agent, as far as the preview needs it.
#[derive(Default)]
pub struct Preview {
    pub turns: Vec<StoredTurn>,
    pub events: Vec<StoredEvent>,
    pub changes: Changes,
    pub guard: GuardWords,
}

/// The data of an `agent_removed` event.
#[derive(serde::Deserialize)]
struct Removed {
    id: AgentId,
}

enum Request {
    Seen(AgentId),
    Preview(Box<AgentView>),
}

/// How many turns and events a preview has: more than a person scrolls back.
const PREVIEW_TURNS: usize = 100;
const PREVIEW_EVENTS: usize = 300;

pub struct Feed {
    news: Sender<News>,
    requests: Sender<Request>,
    /// What this terminal decides.
    pub surface: Surface,
}

impl Feed {
    pub fn start(config: &Config, hub: bool) -> Result<(Feed, Receiver<News>)> {
        let (news, receiver) = channel();
        let (requests, todo) = channel();
        let (own, stream, settings) = (news.clone(), Client::of(config, hub)?, config.clone());
        std::thread::spawn(move || follow(&stream, (!hub).then_some(&settings), &own));
        let (own, settings) = (news.clone(), config.clone());
        std::thread::spawn(move || serve_requests(&settings, hub, &todo, &own));
        let surface = Surface::start(config, &news);
        Ok((Feed { news, requests, surface }, receiver))
    }

    pub fn keyboard(&self) -> Sender<News> {
        self.news.clone()
    }

    pub fn seen(&self, id: AgentId) {
        let _ = self.requests.send(Request::Seen(id));
    }

    pub fn preview(&self, agent: Box<AgentView>) {
        let _ = self.requests.send(Request::Preview(agent));
    }
}

/// Follows the stream forever. It is opened before the list is read, so that no change is missed in between.
fn follow(client: &Client, config: Option<&Config>, news: &Sender<News>) {
    let mut first = true;
    loop {
        let stream = client.stream(
            "/api/events/stream?types=agent_updated,agent_created,agent_removed,session_ended,hook_status",
        );
        if let (Ok(stream), Ok(agents)) = (stream, client.agents(true)) {
            first = false;
            if news.send(News::Agents(agents)).is_err() {
                return;
            }
            if let Ok(receiver) = client.hook_status() {
                let _ = news.send(News::Receiver(Box::new(receiver)));
            }
            let mut kind = String::new();
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { break };
                if let Some(name) = line.strip_prefix("event:") {
                    name.trim().clone_into(&mut kind);
                }
                let Some(data) = line.strip_prefix("data:") else { continue };
                let removed = |data: &str| {
                    Some(News::Removed(serde_json::from_slice::<Removed>(data.as_bytes()).ok()?.id))
                };
                let one = match kind.as_str() {
                    "agent_removed" => removed(data),
                    "hook_status" => serde_json::from_slice(data.as_bytes())
                        .ok()
                        .map(|receiver| News::Receiver(Box::new(receiver))),
                    _ => client.streamed_agent(data).map(|agent| News::Agent(Box::new(agent))),
                };
                if let Some(one) = one
                    && news.send(one).is_err()
                {
                    return;
                }
            }
        }
        let own = config.filter(|_| first).map(|config| stored_agents(config, true).unwrap_or_default());
        let stored = own.unwrap_or_default();
        first = false;
        if news.send(News::Away { stored }).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn serve_requests(config: &Config, hub: bool, todo: &Receiver<Request>, news: &Sender<News>) {
    while let Ok(mut request) = todo.recv() {
        // Holding a cursor key passes many agents; only the last one needs a preview.
        while let Request::Preview(_) = request {
            match todo.try_recv() {
                Ok(newer) => request = newer,
                Err(_) => break,
            }
        }
        match request {
            Request::Seen(id) => {
                if let Ok(client) = Client::of(config, hub) {
                    let _ = client.post::<AgentChanged>(&format!("/api/agents/{id}/seen"), &json!({}));
                }
            }
            Request::Preview(agent) => {
                let opened = if hub {
                    Client::hub().map(|client| Archive::Server(Box::new(client)))
                } else {
                    Archive::open(config)
                };
                let Ok(archive) = opened else { continue };
                let events = archive.newest_events(Some(agent.id), &EventQuery::default(), PREVIEW_EVENTS);
                let preview = Box::new(Preview {
                    turns: archive.turns(agent.id, PREVIEW_TURNS).unwrap_or_default(),
                    events: events.map(|page| page.events).unwrap_or_default(),
                    changes: archive.changes(&agent).unwrap_or_default(),
                    guard: guard_word::words(config, &agent),
                });
                let _ = news.send(News::Preview { agent_id: agent.id, preview });
            }
        }
    }
}
