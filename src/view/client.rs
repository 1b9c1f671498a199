//! How the command line asks the server, and what it reads from the store when no server runs.

use anyhow::{Result, anyhow, bail};
use headspace_core::model;
use headspace_core::model::{AgentView, Row};
use headspace_core::stamp::Stamp;
use headspace_core::wire::{AgentsPage, BoardPage, HookStatus};
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::net::address::Url;
use headspace_platform::net::http_client;
use headspace_store::replay;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// A server that runs accepts a connection within this time.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// The slowest answer, one that counts a million events, comes within this time.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A server to talk to.
pub struct Client {
    pub url: String,
    agent: ureq::Agent,
    token: Option<String>,
}

/// Everything a view needs, from the server or, without one, from the store.
pub struct Overview {
    pub agents: Vec<AgentView>,
    /// `None`: the server does not run, and this is what was stored last.
    pub receiver: Option<HookStatus>,
    pub url: String,
}

/// The agents in a list, and where that comes from.
pub struct AgentList {
    pub rows: Vec<Row>,
    pub about: Origin,
}

/// Where the data of a view comes from.
pub struct Origin {
    /// `None`: the server does not run, and this is what was stored last.
    pub receiver: Option<HookStatus>,
    pub url: String,
    /// Without a server: when an agent was last active.
    pub last_active: Option<Stamp>,
}

impl Client {
    /// Fails only if the server's address cannot be one: that is a mistake in a setting, not a server that is down.
    pub fn new(config: &Config) -> Result<Client> {
        let url = config.server_url();
        let address = Url::parse(&url).map_err(|why| {
            let setting = match config::env(config::var::URL) {
                Some(_) => config::var::URL.to_owned(),
                None => format!("`url` in {}", config::config_file().display()),
            };
            anyhow!("{why}: {setting} is {url:?}, and should be like \"http://127.0.0.1:5055\"")
        })?;
        let url = format!("http://{}{}", address.authority, address.prefix);
        let agent = http_client::server_agent(&url, CONNECT_WITHIN, ANSWER_WITHIN);
        let token = config.token_for(&url).map(str::to_owned).or_else(config::token);
        Ok(Client { url, agent, token })
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let request = self.signed(self.agent.get(format!("{}{path}", self.url)));
        self.answer(request.call()?)
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T> {
        let request = self.signed(self.agent.post(format!("{}{path}", self.url)));
        self.answer(request.content_type("application/json").send(serde_json::to_vec(body)?)?)
    }

    fn signed<Body>(&self, request: ureq::RequestBuilder<Body>) -> ureq::RequestBuilder<Body> {
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// The event stream, to be read line by line until it ends.
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
        let answer: AgentsPage = self.get(if all { "/api/agents?all=1" } else { "/api/agents" })?;
        Ok(answer.agents)
    }

    pub fn hook_status(&self) -> Result<HookStatus> {
        self.get("/hook/status")
    }
}

/// The agents now: from the server, else from the store.
pub fn overview(config: &Config, all: bool) -> Result<Overview> {
    let client = Client::new(config)?;
    if let (Ok(agents), Ok(receiver)) = (client.agents(all), client.hook_status()) {
        return Ok(Overview { agents, receiver: Some(receiver), url: client.url });
    }
    Ok(Overview { agents: stored_agents(config, all)?, receiver: None, url: client.url })
}

/// The agents as rows: a small request, for what is asked often.
pub fn agent_list(config: &Config, all: bool) -> Result<AgentList> {
    let client = Client::new(config)?;
    let asked = client.get::<BoardPage>(if all { "/api/board?all=1" } else { "/api/board" });
    if let Ok(BoardPage { receiver, rows, .. }) = asked {
        let about = Origin { receiver: Some(receiver), url: client.url, last_active: None };
        return Ok(AgentList { rows, about });
    }
    // No server, or one from before this route.
    let Overview { agents, receiver, url } = overview(config, all)?;
    let last_active = agents.iter().map(|agent| agent.last_active_at).max();
    let rows = model::rows(&agents, Stamp::now());
    Ok(AgentList { rows, about: Origin { receiver, url, last_active } })
}

/// What the store has when no server runs. Without a store there is no agent.
pub fn stored_agents(config: &Config, all: bool) -> Result<Vec<AgentView>> {
    let now = Stamp::now();
    let agents = replay::agents(&config::database())?;
    let views = agents.iter().map(|agent| agent.view(now, config.context.window));
    Ok(views.filter(|agent| all || agent.ended_at.is_none()).collect())
}

/// Finds the agent that `word` names: by id, or by the beginning of its name, project or session id.
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
