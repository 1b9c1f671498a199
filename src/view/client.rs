//! The command line's client of the server, and what is read from the store when no server runs.

use crate::view::{board, card};
use anyhow::{Context, Result, anyhow, bail};
use headspace_core::json::serialize::to_text;
use headspace_core::model;
use headspace_core::model::{AgentView, Row, Surface};
use headspace_core::stamp::Stamp;
use headspace_core::text::{numbers, one_line};
use headspace_core::wire::{AgentsPage, BoardPage, HookStatus, SpentStats};
use headspace_fleet::link::file::{self, Membership};
use headspace_fleet::link::http::{HubClient, HubUrl};
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::net::address::Url;
use headspace_platform::net::http_client;
use headspace_platform::usage::Usage;
use headspace_store::read::stats;
use headspace_store::replay;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// A server that runs accepts a connection within this time.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// The slowest answer, one that counts a million events, comes within this time.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Why there is no hub to ask, and what to do.
pub const NOT_JOINED: &str = "could not find a hub: this machine has not joined one; `headspace hub join LINK` does, with the link from an invitation";

/// A server to talk to.
pub struct Client {
    pub url: String,
    way: Way,
}

/// How it is reached.
enum Way {
    /// The user's own server.
    Own { agent: ureq::Agent, token: Option<String> },
    /// The hub this machine has joined.
    Hub { membership: Box<Membership> },
}

/// Everything a view needs, from the server or, without one, from the store.
pub struct Overview {
    pub agents: Vec<AgentView>,
    /// `None`: the server is not running, and this is what was stored last.
    pub receiver: Option<HookStatus>,
    pub url: String,
}

/// The agents in a list, and where that comes from.
pub struct AgentList {
    pub rows: Vec<Row>,
    pub about: ListOrigin,
}

/// Where the data of a view comes from.
pub struct ListOrigin {
    /// `None`: the server is not running, and this is what was stored last.
    pub receiver: Option<HookStatus>,
    pub url: String,
    /// It is the team's hub, not this machine's server.
    pub hub: bool,
    /// Without a server: when an agent was last active.
    pub last_active: Option<Stamp>,
    /// `None`: not requested, or not known.
    pub spent_today: Option<SpentStats>,
}

impl Client {
    /// Fails only if the server's address is not a URL, which is a mistake in a setting and not a server that is down.
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
        Ok(Client { url, way: Way::Own { agent, token } })
    }

    /// The hub this machine has joined, as if it were a server.
    pub fn hub() -> Result<Client> {
        let membership = file::read()?.context(NOT_JOINED)?;
        Ok(Client { url: membership.url.clone(), way: Way::Hub { membership: Box::new(membership) } })
    }

    /// The user's own server, or the hub.
    pub fn of(config: &Config, hub: bool) -> Result<Client> {
        if hub { Client::hub() } else { Client::new(config) }
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        match &self.way {
            Way::Hub { membership } => self.hub_answer(&hub_client(membership)?.request("GET", path, None)?),
            Way::Own { agent, token } => {
                let request = signed(agent.get(format!("{}{path}", self.url)), token);
                self.answer(request.call().map_err(|error| self.no_answer(&error))?)
            }
        }
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T> {
        let body = to_text(body)?;
        match &self.way {
            Way::Hub { membership } => {
                self.hub_answer(&hub_client(membership)?.request("POST", path, Some(body.as_bytes()))?)
            }
            Way::Own { agent, token } => {
                let request = signed(agent.post(format!("{}{path}", self.url)), token);
                let response = request.content_type("application/json").send(body);
                self.answer(response.map_err(|error| self.no_answer(&error))?)
            }
        }
    }

    /// A request that needs an answer key. The server checks its origin, as it does for a page.
    pub fn post_with_key(&self, path: &str, body: &Value, key: &str) -> Result<Value> {
        let Way::Own { agent, token } = &self.way else { bail!("a hub takes no answers") };
        let authority = Url::parse(&self.url).map(|url| url.authority.to_owned()).unwrap_or_default();
        let request = signed(agent.post(format!("{}{path}", self.url)), token)
            .header("Origin", format!("http://{authority}"))
            .header("Cookie", format!("headspace_answer={key}"));
        let response = request.content_type("application/json").send(to_text(body)?);
        let mut response = response.map_err(|error| self.no_answer(&error))?;
        if response.status().as_u16() == 204 {
            let _ = response.body_mut().read_to_vec();
            return Ok(Value::Null);
        }
        self.answer(response)
    }

    /// A GET request with an answer key.
    pub fn get_with_key<T: DeserializeOwned>(&self, path: &str, key: &str) -> Result<T> {
        let Way::Own { agent, token } = &self.way else { bail!("a hub takes no answers") };
        let request = signed(agent.get(format!("{}{path}", self.url)), token);
        let response = request.header("Cookie", format!("headspace_answer={key}")).call();
        self.answer(response.map_err(|error| self.no_answer(&error))?)
    }

    /// The event stream, to be read line by line until it ends.
    pub fn stream(&self, path: &str) -> Result<Box<dyn std::io::Read + Send>> {
        match &self.way {
            Way::Hub { membership } => Ok(Box::new(hub_client(membership)?.stream(path)?)),
            Way::Own { agent, token } => {
                let request = signed(agent.get(format!("{}{path}", self.url)), token);
                let response = request.config().timeout_global(None).build().call();
                let response = response.map_err(|error| self.no_answer(&error))?;
                if !response.status().is_success() {
                    bail!("the server answered {}", response.status());
                }
                Ok(Box::new(response.into_body().into_reader()))
            }
        }
    }

    /// A request that got no answer: why, and what to do about it.
    fn no_answer(&self, error: &ureq::Error) -> anyhow::Error {
        use std::io::ErrorKind::{ConnectionRefused, NotFound};
        let why = match error {
            ureq::Error::Io(error) if matches!(error.kind(), ConnectionRefused | NotFound) => String::new(),
            ureq::Error::Io(error) => format!(" ({error})"),
            error => format!(" ({error})"),
        };
        anyhow!("could not reach the server at {}{why}: `headspace up` starts it", self.url)
    }

    fn hub_answer<T: DeserializeOwned>(&self, answer: &headspace_fleet::link::http::HubAnswer) -> Result<T> {
        if answer.status != 200 {
            bail!("{}", answer.message());
        }
        serde_json::from_slice(&answer.body).map_err(|_| anyhow!("{} is not a hub of this version", self.url))
    }

    fn answer<T: DeserializeOwned>(&self, mut response: ureq::http::Response<ureq::Body>) -> Result<T> {
        let status = response.status();
        let text = response.body_mut().with_config().limit(256 << 20).read_to_vec()?;
        let foreign = |_| anyhow!("{} is not a headspace server (it answered {status})", self.url);
        if status.is_success() {
            return serde_json::from_slice(&text).map_err(foreign);
        }
        let value: Value = serde_json::from_slice(&text).map_err(foreign)?;
        if let Some(first) = who_was_first(&value, Stamp::now()) {
            bail!("{first}");
        }
        bail!("{}", value["message"].as_str().unwrap_or("the server refused"));
    }

    pub fn agents(&self, all: bool) -> Result<Vec<AgentView>> {
        let path = if all { "/api/agents?all=1" } else { "/api/agents" };
        if let Way::Hub { .. } = self.way {
            let documents = self.get::<Value>(path)?["agents"].take();
            let documents = documents.as_array().into_iter().flatten();
            return Ok(documents.filter_map(|document| team_agent(document.clone())).collect());
        }
        Ok(self.get::<AgentsPage>(path)?.agents)
    }

    /// An agent as the stream sends it.
    pub fn streamed_agent(&self, json: &str) -> Option<AgentView> {
        match self.way {
            Way::Own { .. } => serde_json::from_slice(json.as_bytes()).ok(),
            Way::Hub { .. } => team_agent(serde_json::from_slice(json.as_bytes()).ok()?),
        }
    }

    pub fn hook_status(&self) -> Result<HookStatus> {
        self.get("/hook/status")
    }

    /// Where a browser finds the server, which need not be the port in the configuration (`serve --port`).
    pub fn dashboard_url(&self) -> String {
        let said = self.hook_status().ok().and_then(|receiver| receiver.url);
        config::shown_url(&self.url, said.as_deref())
    }
}

/// "answered already from the dashboard, 3 s ago", if that is why the server refused.
fn who_was_first(refusal: &Value, now: Stamp) -> Option<String> {
    let by = Surface::from_word(refusal["by"].as_str()?)?;
    let at: Stamp = serde_json::from_value(refusal["at"].clone()).ok()?;
    Some(answered_already(by, at, now))
}

/// "answered already from the dashboard, 3 s ago"
pub fn answered_already(by: Surface, at: Stamp, now: Stamp) -> String {
    format!("answered already from {}, {} ago", by.place(), numbers::duration(now.since(at)))
}

fn signed<Body>(request: ureq::RequestBuilder<Body>, token: &Option<String>) -> ureq::RequestBuilder<Body> {
    match token {
        Some(token) => request.header("Authorization", format!("Bearer {token}")),
        None => request,
    }
}

/// An agent of the team as a terminal shows it: its project starts with user and machine, and it runs elsewhere.
fn team_agent(mut document: Value) -> Option<AgentView> {
    let word = |field: &str| document[field].as_str().unwrap_or_default().to_owned();
    let project = format!("{}@{} · {}", word("user"), word("host"), word("project"));
    let project = project.trim_end_matches(" · ");
    if word("name").is_empty() {
        document["name"] = project.into();
    }
    document["project"] = project.into();
    document["elsewhere"] = true.into();
    serde_json::from_value(document).ok()
}

fn hub_client(membership: &Membership) -> Result<HubClient> {
    let url = HubUrl::parse(&membership.url)?;
    Ok(HubClient::new(url, Some(membership.token.clone()), membership.ca.clone(), ANSWER_WITHIN))
}

/// The team's agents as the hub has them, every field it sent.
pub fn hub_overview() -> Result<(Vec<Value>, HookStatus, String)> {
    let client = Client::hub()?;
    let mut answer: Value = client.get("/api/agents?all=1").context("could not ask the hub")?;
    let Value::Array(agents) = answer["agents"].take() else {
        bail!("could not ask the hub: it sent no agents")
    };
    Ok((agents, client.hook_status()?, client.url))
}

/// The team's agents as rows.
pub fn hub_list(all: bool) -> Result<AgentList> {
    let client = Client::hub()?;
    let asked = client.get::<BoardPage>(if all { "/api/board?all=1" } else { "/api/board" });
    let BoardPage { receiver, rows, .. } = asked.context("could not ask the hub")?;
    let about = ListOrigin {
        receiver: Some(receiver),
        url: client.url,
        hub: true,
        last_active: None,
        spent_today: None,
    };
    Ok(AgentList { rows, about })
}

/// The agents now: from the server, else from the store.
pub fn overview(config: &Config, all: bool) -> Result<Overview> {
    let client = Client::new(config)?;
    if let (Ok(agents), Ok(receiver)) = (client.agents(all), client.hook_status()) {
        let url = config::shown_url(&client.url, receiver.url.as_deref());
        return Ok(Overview { agents, receiver: Some(receiver), url });
    }
    Ok(Overview { agents: stored_agents(config, all)?, receiver: None, url: client.url })
}

/// The agents as rows: a smaller answer, for requests that are made often.
pub fn agent_list(config: &Config, all: bool, spent: bool) -> Result<AgentList> {
    let client = Client::new(config)?;
    let path = format!("/api/board?all={}&spent={}", u8::from(all), u8::from(spent));
    if let Ok(BoardPage { receiver, rows, spent_today, .. }) = client.get::<BoardPage>(&path) {
        let url = config::shown_url(&client.url, receiver.url.as_deref());
        let about = ListOrigin { receiver: Some(receiver), url, hub: false, last_active: None, spent_today };
        return Ok(AgentList { rows, about });
    }
    // No server, or an older one without this route.
    let Overview { agents, receiver, url } = overview(config, all)?;
    let last_active = agents.iter().map(|agent| agent.last_active_at).max();
    let rows = model::rows(&agents, Stamp::now());
    let spent_today = spent.then(|| stored_spending().ok()).flatten();
    Ok(AgentList { rows, about: ListOrigin { receiver, url, hub: false, last_active, spent_today } })
}

/// What was spent today, as far as it was stored.
fn stored_spending() -> Result<SpentStats> {
    stats::today(&headspace_store::open_to_read(&config::database())?, Stamp::now())
}

/// The stored agents, for when no server runs; none if there is no store.
pub fn stored_agents(config: &Config, all: bool) -> Result<Vec<AgentView>> {
    let now = Stamp::now();
    let agents = replay::agents(&config::database())?;
    let views = agents.iter().map(|agent| agent.view(now, config.context.window));
    Ok(views.filter(|agent| all || agent.ended_at.is_none()).collect())
}

/// Finds the agent that `word` names: by id, by its name, project or title as a list shows it, by the beginning of one of
/// these, or, if nothing else matches, by the beginning of its session id. An empty word names nobody: it comes from a script
/// whose variable is empty, and every name begins with it.
pub fn find<'a>(agents: &'a [AgentView], word: &str) -> Result<&'a AgentView> {
    search(&agents.iter().collect::<Vec<_>>(), word)
}

/// The same for what only an agent that has not ended can do. `doing` completes "could not …": "reply to".
pub fn find_live<'a>(agents: &'a [AgentView], word: &str, doing: &str) -> Result<&'a AgentView> {
    let live: Vec<&AgentView> = agents.iter().filter(|agent| agent.ended_at.is_none()).collect();
    search(&live, word).map_err(|error| match find(agents, word) {
        Ok(ended) if ended.ended_at.is_some() => {
            let resume = card::resume_command(ended)
                .map_or(String::new(), |command| format!("; `{command}` resumes its session"));
            anyhow!("could not {doing} {}: it has ended{resume}", ended.title())
        }
        _ => error,
    })
}

/// How an agent can be spelled, in lower case: as its parts, and as the titles that `status` prints and people type.
fn spellings(agent: &AgentView) -> Vec<String> {
    let of_project =
        |sign: &str| agent.project.as_ref().map(|project| format!("{project}{sign}{}", agent.name));
    let titles = [Some(agent.title()), Some(board::with_client(agent)), of_project(" · "), of_project("/")];
    let parts = [Some(agent.name.clone()), agent.project.clone()];
    parts.into_iter().chain(titles).flatten().map(|text| text.to_lowercase()).collect()
}

/// Agents that are listed when a name fits several.
const CANDIDATES: usize = 10;

fn search<'a>(agents: &[&'a AgentView], word: &str) -> Result<&'a AgentView> {
    // A name that a narrow screen has cut ends with an ellipsis.
    let typed = word.trim().trim_end_matches('…').trim_end().to_lowercase();
    if typed.is_empty() {
        return Err(
            Usage("could not find an agent without a name: `headspace status` lists them".into()).into()
        );
    }
    let exact = agents.iter().find(|agent| agent.id.to_string() == word || agent.session_id == word);
    if let Some(agent) = exact {
        return Ok(agent);
    }
    let spelled = |test: &dyn Fn(&str) -> bool| -> Vec<&'a AgentView> {
        agents.iter().copied().filter(|agent| spellings(agent).iter().any(|name| test(name))).collect()
    };
    let tests: [&dyn Fn() -> Vec<&'a AgentView>; 3] =
        [&|| spelled(&|name| name == typed), &|| spelled(&|name| name.starts_with(&typed)), &|| {
            let by_session = |agent: &&AgentView| agent.session_id.to_lowercase().starts_with(&typed);
            agents.iter().copied().filter(by_session).collect()
        }];
    let mut hits = tests.iter().map(|test| test()).find(|hits| !hits.is_empty()).unwrap_or_default();
    hits.sort_by_cached_key(|agent| agent.order());
    match hits.as_slice() {
        [agent] => Ok(agent),
        [] => bail!("could not find an agent called {word:?}: `headspace status` lists them"),
        several => {
            let listed = several.iter().take(CANDIDATES);
            let mut list: Vec<String> =
                listed.map(|agent| format!("{} ({})", one_line(&agent.title(), 60), agent.id)).collect();
            if let more @ 1.. = several.len().saturating_sub(CANDIDATES) {
                list.push(format!("and {more} more"));
            }
            bail!(
                "could not tell which agent {word:?} is: {}; use its whole name, or the id in brackets",
                list.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agent(id: i64, project: &str, name: &str, session: &str) -> AgentView {
        let stamp = Stamp(id);
        serde_json::from_value(json!({
            "id": id, "session_id": session, "sessions": [], "name": name, "project": project, "state": "idle",
            "status": "idle", "group": if id == 9 { "needs_you" } else { "idle" }, "unseen": false, "stale": false,
            "headless": false, "started_at": stamp, "last_active_at": stamp, "background": [], "interactions": [],
            "subagents": [], "turn_count": 0, "source": "hook", "source_at": stamp, "confidence": "high",
            "ended_at": if id == 7 { Some(stamp) } else { None }, "client": if id == 6 { "codex" } else { "claude" },
        }))
        .unwrap()
    }

    #[test]
    fn an_agent_is_found_by_every_name_that_a_list_shows() {
        let agents = [
            agent(4, "data", "import", "aa"),
            agent(6, "docs", "outline", "bb"),
            agent(7, "core", "main", "cc"),
            agent(9, "機能", "ログイン", "d0"),
            agent(11, "api", "fix-auth", "ee"),
        ];
        for (word, expected) in [
            ("11", "11"),
            ("ee", "11"),
            ("api · fix-auth", "11"),
            ("API/Fix-Auth", "11"),
            ("api · fix-a…", "11"),
            ("⬡ codex · docs · outline", "6"),
            ("da", "4"),
            ("機能", "9"),
            ("d0", "9"),
            ("core", "7"),
            (
                "d",
                "could not tell which agent \"d\" is: docs · outline (6), data · import (4); use its whole name, or the id in brackets",
            ),
            ("Nobody", "could not find an agent called \"Nobody\": `headspace status` lists them"),
        ] {
            let found =
                find(&agents, word).map_or_else(|error| error.to_string(), |agent| agent.id.to_string());
            assert_eq!(found, expected, "{word}");
        }
        let ended = find_live(&agents, "core", "reply to").unwrap_err().to_string();
        assert_eq!(
            ended,
            "could not reply to core · main: it has ended; `claude --resume cc` resumes its session"
        );
        assert!(find_live(&agents, "nobody", "reply to").unwrap_err().to_string().contains("find an agent"));
    }
}
