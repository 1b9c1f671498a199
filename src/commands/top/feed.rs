//! News for `top`: changes from the stream, previews and keys, all through one channel.

use crate::view::client::Client;
use headspace_core::model::AgentView;
use headspace_core::wire::{AgentChanged, EventsPage, HookStatus, StoredEvent, StoredTurn, TurnsPage};
use headspace_platform::config::Config;
use ratatui::crossterm::event::Event;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

pub enum News {
    /// The whole list: at the start, and after every reconnection.
    Agents(Vec<AgentView>),
    Agent(Box<AgentView>),
    Receiver(HookStatus),
    Preview {
        agent_id: i64,
        turns: Vec<StoredTurn>,
        events: Vec<StoredEvent>,
    },
    /// The server does not answer; what is shown may be old.
    Away,
    Input(Event),
}

enum Request {
    Seen(i64),
    Preview(i64),
}

pub struct Feed {
    news: Sender<News>,
    requests: Sender<Request>,
}

impl Feed {
    pub fn start(config: &Config) -> (Feed, Receiver<News>) {
        let (news, receiver) = channel();
        let (requests, todo) = channel();
        let (own, stream) = (news.clone(), Client::new(config));
        std::thread::spawn(move || follow(&stream, &own));
        let (own, client) = (news.clone(), Client::new(config));
        std::thread::spawn(move || serve_requests(&client, &todo, &own));
        (Feed { news, requests }, receiver)
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
fn follow(client: &Client, news: &Sender<News>) {
    loop {
        let stream =
            client.stream("/api/events/stream?types=agent_updated,agent_created,session_ended,hook_status");
        if let (Ok(stream), Ok(agents)) = (stream, client.agents(true)) {
            if news.send(News::Agents(agents)).is_err() {
                return;
            }
            if let Ok(receiver) = client.hook_status() {
                let _ = news.send(News::Receiver(receiver));
            }
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { break };
                let Some(data) = line.strip_prefix("data:") else { continue };
                let one = serde_json::from_str(data)
                    .map(|agent| News::Agent(Box::new(agent)))
                    .or_else(|_| serde_json::from_str(data).map(News::Receiver));
                if let Ok(one) = one
                    && news.send(one).is_err()
                {
                    return;
                }
            }
        }
        if news.send(News::Away).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn serve_requests(client: &Client, todo: &Receiver<Request>, news: &Sender<News>) {
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
                let _ = client.post::<AgentChanged>(&format!("/api/agents/{id}/seen"), &json!({}));
            }
            Request::Preview(id) => {
                let turns = client.get::<TurnsPage>(&format!("/api/agents/{id}/turns?limit=100"));
                let events = client.get::<EventsPage>(&format!("/api/agents/{id}/events?limit=100"));
                let _ = news.send(News::Preview {
                    agent_id: id,
                    turns: turns.map(|page| page.turns).unwrap_or_default(),
                    events: events.map(|page| page.events).unwrap_or_default(),
                });
            }
        }
    }
}
