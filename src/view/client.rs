//! How the command line asks the server, and what it knows when there is none.

use crate::clock::Stamp;
use crate::config::{self, Config};
use crate::model::AgentView;
use crate::server::replay;
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// A server to talk to.
pub struct Client {
    pub url: String,
    agent: ureq::Agent,
    token: Option<String>,
}

/// `GET /hook/status`, as far as people are shown it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receiver {
    pub enabled: bool,
    pub mode: String,
    pub last_event_at: Option<Stamp>,
    pub last_event_type: Option<String>,
    pub events_received: u64,
    #[serde(default)]
    pub spool_pending: u64,
    #[serde(default)]
    pub dropped: u64,
}

/// Everything a view needs, from the server or, without one, from the store.
pub struct Picture {
    pub agents: Vec<AgentView>,
    /// `None`: the server does not run, and this is the last it knew.
    pub receiver: Option<Receiver>,
    pub url: String,
}

impl Client {
    pub fn new(config: &Config) -> Client {
        let agent = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(1)))
            .timeout_global(Some(Duration::from_secs(10)))
            .build()
            .into();
        Client { url: config.server_url(), agent, token: config::token() }
    }

    pub fn get(&self, path: &str) -> Result<Value> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        self.answer(request.call()?)
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let mut request = self.agent.post(format!("{}{path}", self.url)).content_type("application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        self.answer(request.send(serde_json::to_vec(body)?)?)
    }

    /// The event stream, to be read line by line for as long as it lasts.
    pub fn stream(&self, path: &str) -> Result<impl std::io::Read + use<>> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let response = request.config().timeout_global(None).build().call()?;
        if !response.status().is_success() {
            bail!("the server answered {}", response.status());
        }
        Ok(response.into_body().into_reader())
    }

    fn answer(&self, mut response: ureq::http::Response<ureq::Body>) -> Result<Value> {
        let status = response.status();
        let text = response.body_mut().with_config().limit(256 << 20).read_to_string()?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|_| anyhow!("{} is not a headspace server (it answered {status})", self.url))?;
        if !status.is_success() {
            bail!("{}", value["message"].as_str().unwrap_or("the server refused"));
        }
        Ok(value)
    }

    pub fn agents(&self, all: bool) -> Result<Vec<AgentView>> {
        let mut answer = self.get(if all { "/api/agents?all=1" } else { "/api/agents" })?;
        serde_json::from_value(answer["agents"].take()).context("could not read the server's list of agents")
    }

    pub fn receiver(&self) -> Result<Receiver> {
        Ok(serde_json::from_value(self.get("/hook/status")?)?)
    }
}

/// The agents now: from the server, else from the store.
pub fn picture(config: &Config, all: bool) -> Result<Picture> {
    let client = Client::new(config);
    if let (Ok(agents), Ok(receiver)) = (client.agents(all), client.receiver()) {
        return Ok(Picture { agents, receiver: Some(receiver), url: client.url });
    }
    Ok(Picture { agents: offline(all)?, receiver: None, url: client.url })
}

/// What the store knows without a server. No store yet: nobody was ever seen.
fn offline(all: bool) -> Result<Vec<AgentView>> {
    let now = Stamp::now();
    let agents = replay::agents(&config::database())?;
    Ok(agents.iter().map(|agent| agent.view(now)).filter(|agent| all || agent.ended_at.is_none()).collect())
}

/// Finds the one agent that `word` means: its id, or the beginning of its name, project or session id.
pub fn find<'a>(agents: &'a [AgentView], word: &str) -> Result<&'a AgentView> {
    if let Some(agent) = agents.iter().find(|agent| agent.id.to_string() == word || agent.session_id == word)
    {
        return Ok(agent);
    }
    let word = word.to_lowercase();
    let names =
        |agent: &AgentView| [Some(agent.name.clone()), agent.project.clone(), Some(agent.session_id.clone())];
    let by = |test: &dyn Fn(&str) -> bool| -> Vec<&'a AgentView> {
        agents
            .iter()
            .filter(|a| names(a).into_iter().flatten().any(|name| test(&name.to_lowercase())))
            .collect()
    };
    let mut hits = by(&|name| name == word);
    if hits.is_empty() {
        hits = by(&|name| name.starts_with(&word));
    }
    match hits.as_slice() {
        [agent] => Ok(agent),
        [] => bail!("could not find an agent called {word:?}: `headspace status` lists them"),
        several => {
            let list: Vec<String> = several.iter().map(|a| format!("{} ({})", a.id, a.name)).collect();
            bail!("{word:?} could be {} of them: {}; name one by its id", several.len(), list.join(", "))
        }
    }
}
