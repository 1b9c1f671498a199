//! News for `top`: changes from the stream, previews and keys, all through one channel.

use crate::view::archive::Archive;
use crate::view::client::{Client, stored_agents};
use anyhow::Result;
use headspace_core::model::AgentView;
use headspace_core::wire::{AgentChanged, HookStatus, StoredEvent, StoredTurn};
use headspace_platform::config::Config;
use headspace_store::queries::EventQuery;
use ratatui::crossterm::event::Event;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

pub enum News {
    /// The whole list: at the start, and after every reconnection.
    Agents(Vec<AgentView>),
    Agent(Box<AgentView>),
    Receiver(Box<HookStatus>),
    Preview {
        agent_id: i64,
        turns: Vec<StoredTurn>,
        events: Vec<StoredEvent>,
    },
    /// The server does not answer; what is shown may be old.
    Away {
        /// What the store has, the first time.
        stored: Vec<AgentView>,
    },
    Input(Event),
}

enum Request {
    Seen(i64),
    Preview(i64),
}

/// Turns and events of a preview: more than anybody scrolls back.
const PREVIEW_TURNS: usize = 100;
const PREVIEW_EVENTS: usize = 300;

pub struct Feed {
    news: Sender<News>,
    requests: Sender<Request>,
}

impl Feed {
    pub fn start(config: &Config) -> Result<(Feed, Receiver<News>)> {
        let (news, receiver) = channel();
        let (requests, todo) = channel();
        let (own, stream, settings) = (news.clone(), Client::new(config)?, config.clone());
        std::thread::spawn(move || follow(&stream, &settings, &own));
        let (own, settings) = (news.clone(), config.clone());
        std::thread::spawn(move || serve_requests(&settings, &todo, &own));
        Ok((Feed { news, requests }, receiver))
    }

    pub fn keyboard(&self) -> Sender<News> {
        self.news.clone()
    }

    pub fn seen(&self, id: i64) {
        let _ = self.requests.send(Request::Seen(id));
    }

    pub fn preview(&self, id: i64) {
        let _ = self.requests.send(Request::Preview(id));
    }
}

/// Follows the stream forever. It is opened before the list is read, so that no change is missed in between.
fn follow(client: &Client, config: &Config, news: &Sender<News>) {
    let mut first = true;
    loop {
        let stream =
            client.stream("/api/events/stream?types=agent_updated,agent_created,session_ended,hook_status");
        if let (Ok(stream), Ok(agents)) = (stream, client.agents(true)) {
            first = false;
            if news.send(News::Agents(agents)).is_err() {
                return;
            }
            if let Ok(receiver) = client.hook_status() {
                let _ = news.send(News::Receiver(Box::new(receiver)));
            }
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { break };
                let Some(data) = line.strip_prefix("data:") else { continue };
                let one =
                    serde_json::from_str(data).map(|agent| News::Agent(Box::new(agent))).or_else(|_| {
                        serde_json::from_str(data).map(|receiver| News::Receiver(Box::new(receiver)))
                    });
                if let Ok(one) = one
                    && news.send(one).is_err()
                {
                    return;
                }
            }
        }
        let stored = if first { stored_agents(config, true).unwrap_or_default() } else { Vec::new() };
        first = false;
        if news.send(News::Away { stored }).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn serve_requests(config: &Config, todo: &Receiver<Request>, news: &Sender<News>) {
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
                if let Ok(client) = Client::new(config) {
                    let _ = client.post::<AgentChanged>(&format!("/api/agents/{id}/seen"), &json!({}));
                }
            }
            Request::Preview(id) => {
                let Ok(archive) = Archive::open(config) else { continue };
                let query = EventQuery { agent: Some(id), ..EventQuery::default() };
                let events = archive.newest_events(&query, PREVIEW_EVENTS);
                let _ = news.send(News::Preview {
                    agent_id: id,
                    turns: archive.turns(id, PREVIEW_TURNS).unwrap_or_default(),
                    events: events.map(|page| page.events).unwrap_or_default(),
                });
            }
        }
    }
}
