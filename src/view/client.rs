//! How the command line asks the server, and what it knows when there is none.

use anyhow::{Result, anyhow, bail};
use headspace_core::model;
use headspace_core::model::{AgentView, Row};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::net::http_client;
use headspace_store::replay;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// No server that runs takes longer to accept.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// The longest answer of the server, a million events to count included.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

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
    /// Whether our hooks are in the settings; `None` until the server has looked.
    #[serde(default)]
    pub hooks: Option<String>,
    /// They are not, and none come from anywhere else.
    #[serde(default)]
    pub hooks_missing: bool,
}

/// Everything a view needs, from the server or, without one, from the store.
pub struct Overview {
    pub agents: Vec<AgentView>,
    /// `None`: the server does not run, and this is the last it knew.
    pub receiver: Option<Receiver>,
    pub url: String,
}

/// The agents in a list, and where that comes from.
pub struct AgentList {
    pub rows: Vec<Row>,
    pub about: Origin,
}

/// Who told, and how it is.
pub struct Origin {
    /// `None`: the server does not run, and this is the last it knew.
    pub receiver: Option<Receiver>,
    pub url: String,
    /// Without a server: when the last agent was heard of.
    pub last_active: Option<Stamp>,
}

/// `GET /api/board`
#[derive(Deserialize)]
struct BoardAnswer {
    receiver: Receiver,
    rows: Vec<Row>,
}

/// `GET /api/agents`
#[derive(Deserialize)]
struct AgentsAnswer {
    agents: Vec<AgentView>,
}

impl Client {
    pub fn new(config: &Config) -> Client {
        let agent = http_client::agent(CONNECT_WITHIN, ANSWER_WITHIN);
        Client { url: config.server_url(), agent, token: config::token() }
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let request = self.signed(self.agent.get(format!("{}{path}", self.url)));
        self.answer(request.call()?)
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.signed(self.agent.post(format!("{}{path}", self.url)));
        self.answer(request.content_type("application/json").send(serde_json::to_vec(body)?)?)
    }

    fn signed<Body>(&self, request: ureq::RequestBuilder<Body>) -> ureq::RequestBuilder<Body> {
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// The event stream, to be read line by line for as long as it lasts.
    pub fn stream(&self, path: &str) -> Result<impl std::io::Read + use<>> {
        let request = self.signed(self.agent.get(format!("{}{path}", self.url)));
        let response = request.config().timeout_global(None).build().call()?;
        if !response.status().is_success() {
            bail!("the server answered {}", response.status());
        }
        Ok(response.into_body().into_reader())
    }

    fn answer<T: DeserializeOwned>(&self, mut response: ureq::http::Response<ureq::Body>) -> Result<T> {
        let status = response.status();
        let text = response.body_mut().with_config().limit(256 << 20).read_to_vec()?;
        let foreign = |_| anyhow!("{} is not a headspace server (it answered {status})", self.url);
        if status.is_success() {
            return serde_json::from_slice(&text).map_err(foreign);
        }
        let value: Value = serde_json::from_slice(&text).map_err(foreign)?;
        bail!("{}", value["message"].as_str().unwrap_or("the server refused"));
    }

    pub fn agents(&self, all: bool) -> Result<Vec<AgentView>> {
        let answer: AgentsAnswer = self.get(if all { "/api/agents?all=1" } else { "/api/agents" })?;
        Ok(answer.agents)
    }

    pub fn receiver(&self) -> Result<Receiver> {
        self.get("/hook/status")
    }
}

/// The agents now: from the server, else from the store.
pub fn overview(config: &Config, all: bool) -> Result<Overview> {
    let client = Client::new(config);
    if let (Ok(agents), Ok(receiver)) = (client.agents(all), client.receiver()) {
        return Ok(Overview { agents, receiver: Some(receiver), url: client.url });
    }
    Ok(Overview { agents: offline(config, all)?, receiver: None, url: client.url })
}

/// The agents as a list: a small question, for what is asked often.
pub fn agent_list(config: &Config, all: bool) -> Result<AgentList> {
    let client = Client::new(config);
    let asked = client.get::<BoardAnswer>(if all { "/api/board?all=1" } else { "/api/board" });
    if let Ok(BoardAnswer { receiver, rows }) = asked {
        let about = Origin { receiver: Some(receiver), url: client.url, last_active: None };
        return Ok(AgentList { rows, about });
    }
    // Nobody there, or a server from before this question.
    let Overview { agents, receiver, url } = overview(config, all)?;
    let last_active = agents.iter().map(|agent| agent.last_active_at).max();
    let rows = model::rows(agents, Stamp::now());
    Ok(AgentList { rows, about: Origin { receiver, url, last_active } })
}

/// What the store knows without a server. No store yet: nobody was ever seen.
fn offline(config: &Config, all: bool) -> Result<Vec<AgentView>> {
    let now = Stamp::now();
    let agents = replay::agents(&config::database())?;
    let views = agents.iter().map(|agent| agent.view(now, config.context.window));
    Ok(views.filter(|agent| all || agent.ended_at.is_none()).collect())
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
