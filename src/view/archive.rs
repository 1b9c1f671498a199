//! What was stored: agents, events, turns and steps. It is read from the server if one answers, else from the store itself,
//! so that the history can be read without a server.

use crate::view::client::{Client, stored_agents};
use anyhow::{Context, Result, bail};
use headspace_core::changes::Changes;
use headspace_core::model::{AgentId, AgentView};
use headspace_core::wire::{
    EventNames, EventsPage, StoredTransition, StoredTurn, TransitionsPage, TurnsPage,
};
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_store as store;
use headspace_store::read::file_changes;
use headspace_store::read::queries;
use headspace_store::read::queries::{EventQuery, FoundEvents, Page};
use rusqlite::Connection;
use std::io::IsTerminal;

/// Where the history is read from.
pub enum Archive {
    Server(Box<Client>),
    Store(Box<StoreReader>),
}

/// The store without a server.
pub struct StoreReader {
    db: Connection,
    config: Config,
}

impl Archive {
    /// The server, if it answers; else the store, if there is one.
    pub fn open(config: &Config) -> Result<Archive> {
        let client = Client::new(config)?;
        let path = config::database();
        match client.hook_status() {
            Ok(_) => Ok(Archive::Server(Box::new(client))),
            Err(error) if !path.exists() => {
                bail!("{error:#}; there is no history in {} either", path.display())
            }
            Err(_) => {
                let db = store::open_to_read(&path)?;
                Ok(Archive::Store(Box::new(StoreReader { db, config: config.clone() })))
            }
        }
    }

    /// Says on a terminal that the answer may be old.
    pub fn note_if_stored(&self) {
        if matches!(self, Archive::Store(_)) && std::io::stderr().is_terminal() {
            eprintln!("headspace: note: the server is not running; this is what was stored last");
        }
    }

    /// All agents, ended ones too.
    pub fn agents(&self) -> Result<Vec<AgentView>> {
        match self {
            Archive::Server(client) => client.agents(true),
            Archive::Store(reader) => stored_agents(&reader.config, true),
        }
    }

    /// One page of the events that match, of one agent or of all, oldest first.
    pub fn events(&self, agent: Option<AgentId>, query: &EventQuery) -> Result<EventsPage> {
        match self {
            Archive::Server(client) => client.get(&events_path(agent, query)),
            Archive::Store(reader) => {
                let query = EventQuery { agent: agent.map(own_number).transpose()?, ..query.clone() };
                let agents = queries::agents(&reader.db)?;
                let clients = agents.iter().map(|agent| (agent.id, agent.place.client_name.as_deref()));
                let query = query.of_client(clients);
                let mut found = queries::events(&reader.db, &query)?;
                found
                    .name_clients(|id| agents.iter().find(|agent| agent.id == id)?.place.client_name.clone());
                let FoundEvents { events, looked_to, next } = found;
                Ok(EventsPage { events, looked_to, next })
            }
        }
    }

    /// The newest events that match, oldest first, at most `count`. One request searches one part of the store.
    pub fn newest_events(
        &self,
        agent: Option<AgentId>,
        query: &EventQuery,
        count: usize,
    ) -> Result<EventsPage> {
        let mut found = EventsPage::default();
        let mut query = query.clone();
        loop {
            query.limit = (count - found.events.len()).min(EVENTS_PER_REQUEST);
            let mut page = self.events(agent, &query)?;
            page.events.append(&mut found.events);
            found = page;
            match found.next {
                Some(next) if found.events.len() < count => query.before = Some(next),
                _ => return Ok(found),
            }
        }
    }

    /// The names of all events that are stored.
    pub fn event_names(&self) -> Result<Vec<String>> {
        match self {
            Archive::Server(client) => Ok(client.get::<EventNames>("/api/events/names")?.names),
            Archive::Store(reader) => queries::event_names(&reader.db),
        }
    }

    /// The last steps of an agent's state, oldest first.
    pub fn transitions(&self, agent: AgentId, limit: usize) -> Result<Vec<StoredTransition>> {
        match self {
            Archive::Server(client) => {
                let path = format!("/api/agents/{agent}/transitions?limit={limit}");
                Ok(client.get::<TransitionsPage>(&path)?.transitions)
            }
            Archive::Store(reader) => Ok(queries::transitions(&reader.db, newest_rows(agent, limit)?)?.rows),
        }
    }

    /// What was said last, oldest first.
    pub fn turns(&self, agent: AgentId, limit: usize) -> Result<Vec<StoredTurn>> {
        match self {
            Archive::Server(client) => {
                Ok(client.get::<TurnsPage>(&format!("/api/agents/{agent}/turns?limit={limit}"))?.turns)
            }
            Archive::Store(reader) => Ok(queries::turns(&reader.db, newest_rows(agent, limit)?)?.rows),
        }
    }

    /// The files an agent edited.
    pub fn changes(&self, agent: &AgentView) -> Result<Changes> {
        match self {
            Archive::Server(client) => client.get(&format!("/api/agents/{}/changes", agent.id)),
            Archive::Store(reader) => {
                file_changes::of_agent(&reader.db, own_number(agent.id)?, agent.project_path.as_deref())
            }
        }
    }

    /// The server, for requests that the store cannot answer.
    pub fn server(&self) -> Result<&Client> {
        match self {
            Archive::Server(client) => Ok(client),
            Archive::Store(_) => bail!("could not reach the server: `headspace up` starts it"),
        }
    }
}

/// As many events as the server gives at once.
const EVENTS_PER_REQUEST: usize = 1000;

fn newest_rows(agent: AgentId, limit: usize) -> Result<Page> {
    Ok(Page { agent: own_number(agent)?, before: None, through: None, after: None, limit })
}

/// The store has this machine's agents only.
fn own_number(agent: AgentId) -> Result<i64> {
    agent.own().with_context(|| format!("could not read about {agent}: the history is on its machine"))
}

fn events_path(agent: Option<AgentId>, query: &EventQuery) -> String {
    let numbers = [("after", query.after), ("before", query.before)];
    let names = (!query.names.is_empty()).then(|| query.names.join(","));
    let mut path = match agent {
        Some(agent) => format!("/api/agents/{agent}/events?limit={}", query.limit),
        None => format!("/api/events?limit={}", query.limit),
    };
    for (name, number) in numbers {
        path += &number.map_or(String::new(), |number| format!("&{name}={number}"));
    }
    for (name, text) in
        [("type", names.as_ref()), ("q", query.text.as_ref()), ("client", query.client.as_ref())]
    {
        path += &text.map_or(String::new(), |text| format!("&{name}={}", percent_encoded(text)));
    }
    path
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

/// Opens the archive and finds the agent that `word` names.
pub fn find_agent(config: &Config, word: &str) -> Result<(Archive, AgentView)> {
    let archive = Archive::open(config)?;
    let agents = archive.agents().context("could not read the agents")?;
    let agent = crate::view::client::find(&agents, word)?.clone();
    Ok((archive, agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_asked_of_the_server_with_all_its_conditions() {
        let query = EventQuery {
            before: Some(9),
            names: vec!["Stop".into(), "A b".into()],
            text: Some("cargo & test".into()),
            limit: 50,
            ..EventQuery::default()
        };
        let rest = "?limit=50&before=9&type=Stop%2CA%20b&q=cargo%20%26%20test";
        assert_eq!(events_path(None, &query), format!("/api/events{rest}"));
        assert_eq!(events_path(Some(3.into()), &query), format!("/api/agents/3/events{rest}"));
        let far = "devbox/3".parse().ok();
        assert_eq!(events_path(far, &query), format!("/api/agents/devbox/3/events{rest}"));
    }
}
