//! A machine's side of a hub: join, leave, the state of the link, and what is sent.

use crate::view::client;
use anyhow::{Context, Result, bail};
use headspace_core::json::serialize::to_text;
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_core::text::numbers::{counted, duration};
use headspace_core::text::one_line;
use headspace_fleet::level::Level;
use headspace_fleet::link::file::{self, LinkStatus, Membership};
use headspace_fleet::link::http::{HubClient, HubUrl, invitation};
use headspace_fleet::link::{outgoing, state};
use headspace_platform::clock::WallClock;
use headspace_platform::config::{self, Config};
use headspace_platform::net::http_client;
use headspace_store as store;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Events in a preview: the newest.
const PREVIEWED_EVENTS: i64 = 20;

/// Join a hub with the link from an invitation
///
/// A running server starts sending within two seconds; otherwise it does so when it is started. What leaves this machine is
/// decided here: `headspace hub preview` shows it, and `hub.share` in the configuration sets the level of single projects.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace hub join 'https://hub.example.org/#join=…'\n  headspace hub join 'https://hub.example.org/#join=…' --share asks\n  HEADSPACE_EDGE=ci-linux headspace hub join \"$INVITATION\"    # in a container"
)]
pub struct JoinArgs {
    /// The invitation's link
    url: String,
    /// How much to share: states (who works, who waits), asks (also what is asked), full (everything)
    #[arg(long, value_name = "LEVEL", default_value = "states", value_parser = ["none", "states", "asks", "full"])]
    share: String,
    /// A PEM file with the certificates to trust instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

pub fn join(args: &JoinArgs) -> Result<ExitCode> {
    let (url, code) = invitation(&args.url).context("could not join")?;
    let ca = args.ca.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let host = headspace_platform::process::host_name().unwrap_or_else(|| "machine".into());
    let body = json!({
        "code": code, "host": host, "name": config::env(config::var::EDGE), "version": env!("CARGO_PKG_VERSION"),
    });
    let mut hub = HubClient::new(url.clone(), None, ca.clone(), ANSWER_WITHIN);
    let answer =
        hub.request("POST", "/v1/join", Some(to_text(&body)?.as_bytes())).context("could not join")?;
    if answer.status != 200 {
        bail!("could not join: {}", answer.message());
    }
    let said = answer.json();
    let word = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
    let membership = Membership {
        url: url.to_string(),
        edge: word("edge"),
        token: word("token"),
        user: word("user"),
        team: word("team"),
        share: args.share.clone(),
        share_max: word("share_max"),
        ca,
    };
    if membership.check().is_err() {
        bail!("could not join: what answers at {url} is not a hub");
    }
    file::write(&membership)?;
    println!(
        "joined {url} as {} (machine {}), sharing {}",
        one_line(&membership.user, 60),
        membership.edge,
        args.share
    );
    println!(
        "`headspace hub preview` shows what leaves this machine; `headspace hub login` opens the board."
    );
    if http_client::health(&Config::load()?.server_url(), Duration::from_millis(500)).is_none() {
        println!("The server is not running yet: `headspace up` starts it.");
    }
    Ok(ExitCode::SUCCESS)
}

pub fn leave() -> Result<ExitCode> {
    let membership = file::read();
    if !file::remove()? {
        bail!("could not leave: this machine has not joined a hub");
    }
    if let Ok(Some(membership)) = membership {
        let told = client_of(&membership).and_then(|mut hub| {
            hub.request("POST", &format!("/v1/edges/{}/leave", membership.edge), Some(b"{}"))
        });
        match told {
            Ok(answer) if answer.status == 200 => println!("left {}", membership.url),
            Ok(answer) if matches!(answer.status, 401 | 403) => {
                println!("left {}, which no longer accepted this machine", membership.url);
            }
            _ => println!(
                "left {}; the hub could not be reached, so it shows this machine as not heard for a day",
                membership.url
            ),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn client_of(membership: &Membership) -> Result<HubClient> {
    let url = HubUrl::parse(&membership.url)?;
    Ok(HubClient::new(url, Some(membership.token.clone()), membership.ca.clone(), ANSWER_WITHIN))
}

fn joined() -> Result<Membership> {
    file::read()?.context(client::NOT_JOINED)
}

/// Show the state of the link to the hub
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace hub status --json")]
pub struct HubStatusArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The state of this machine's link.
pub struct LinkReport {
    pub membership: Membership,
    pub link: LinkStatus,
    /// Events that the hub does not have yet.
    pub lag: u64,
    pub server_runs: bool,
    /// The configuration has levels for some projects.
    pub by_project: bool,
}

impl LinkReport {
    /// `None`: this machine has not joined a hub.
    pub fn read() -> Result<Option<LinkReport>> {
        let Some(membership) = file::read()? else { return Ok(None) };
        let link = file::read_status().filter(|link| link.edge == membership.edge).unwrap_or_default();
        let newest =
            store::open_to_read(&config::database()).and_then(|db| store::read::queries::newest(&db));
        let lag = (newest.unwrap_or(link.pos) - link.pos).max(0).unsigned_abs();
        let config = Config::load()?;
        let server_runs = http_client::health(&config.server_url(), Duration::from_secs(1)).is_some();
        let by_project = !config.hub.share.is_empty();
        Ok(Some(LinkReport { membership, link, lag, server_runs, by_project }))
    }

    pub fn error(&self) -> Option<String> {
        let stopped = || "the server is not running: `headspace up` starts it".to_owned();
        self.link.error.clone().or_else(|| (!self.server_runs).then(stopped))
    }

    pub fn who(&self) -> String {
        let Membership { url, user, edge, share, .. } = &self.membership;
        let but =
            if self.by_project { " unless `hub.share` in the configuration says otherwise" } else { "" };
        format!("{url} as {} (machine {edge}), sharing {share}{but}", one_line(user, 60))
    }

    pub fn progress(&self) -> String {
        let heard = |at| format!("{} ago", duration(Stamp::now().since(at)));
        format!(
            "up to event {}, {} behind; last answer {}",
            self.link.pos,
            counted(self.lag, "event"),
            self.link.last_ok_at.map_or("never".into(), heard)
        )
    }
}

pub fn status(args: &HubStatusArgs) -> Result<ExitCode> {
    let report = LinkReport::read()?.context(client::NOT_JOINED)?;
    let error = report.error();
    if args.json {
        let LinkReport { membership, link, lag, .. } = &report;
        let value = json!({
            "url": membership.url, "edge": membership.edge, "user": membership.user, "team": membership.team,
            "share": membership.share, "pos": link.pos, "sent": link.sent, "lag_events": lag, "last_ok_at": link.last_ok_at,
            "error": error,
        });
        println!("{}", text::json(&value, true));
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}", report.who());
    println!("{}", report.progress());
    if let Some(error) = &error {
        println!("problem: {}", one_line(error, 300));
    }
    Ok(if error.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Show exactly what leaves this machine
///
/// Prints the documents and events as they are sent. On a machine that has not joined a hub, as they would be sent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  headspace hub preview\n  headspace hub preview --share full --json")]
pub struct PreviewArgs {
    /// Preview this level instead of the one the machine joined with (default: states)
    #[arg(long, value_name = "LEVEL", value_parser = ["none", "states", "asks", "full"])]
    share: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn preview(args: &PreviewArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let membership = file::read()?;
    let chosen = args.share.as_deref().and_then(Level::from_word);
    let share = chosen.or_else(|| membership.as_ref().map(Membership::share)).unwrap_or(Level::States);
    let most = membership.as_ref().map_or(Level::Full, Membership::share_max);
    let sharing = state::sharing(&config, share, most);
    let mut views = client::overview(&config, false)?.agents;
    // Agents of other machines are those machines' to share.
    views.retain(|view| view.machine.is_none());
    let mut documents: Vec<Value> =
        views.iter().filter_map(|view| outgoing::document(view, &sharing)).collect();
    documents.sort_unstable_by_key(|document| document["id"].as_i64());
    let events = events(&config, &sharing)?;
    let level = documents.iter().map(outgoing::level_of).chain(events.first().map(|_| Level::Full)).max();
    let level = level.unwrap_or(Level::None).word();
    if args.json {
        println!("{}", text::json(&json!({"level": level, "agents": documents, "events": events}), true));
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{}: {} of {} (highest level: {level})",
        membership.map_or("no hub joined; would be sent".into(), |joined| format!("sent to {}", joined.url)),
        documents.len(),
        counted(views.len() as u64, "agent"),
    );
    for document in &documents {
        for line in serde_json::to_string_pretty(document)?.lines() {
            println!("{}", text::strip_control(line));
        }
    }
    println!(
        "{}",
        match events.len() {
            0 => "no events".to_owned(),
            _ => format!("and every event of projects that share everything; the newest {}:", events.len()),
        }
    );
    for event in &events {
        println!("{}", text::strip_control(&event.to_string()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The newest events as they are posted.
fn events(config: &Config, sharing: &headspace_fleet::level::Sharing) -> Result<Vec<Value>> {
    if sharing.highest() < Level::Full {
        return Ok(Vec::new());
    }
    let Ok(db) = store::open_to_read(&config::database()) else { return Ok(Vec::new()) };
    let newest = store::read::queries::newest(&db)?;
    let found = store::read::log::range(
        &db,
        newest - PREVIEWED_EVENTS + 1,
        newest,
        PREVIEWED_EVENTS as usize,
        16 << 20,
    )?;
    let views = client::overview(config, true)?.agents;
    let share = |id: Option<i64>| {
        let view = views.iter().find(|view| Some(view.id.number) == id);
        view.map(|view| outgoing::AgentShare::of(view, sharing))
    };
    let known = found.iter().filter_map(|event| {
        let share = share(event.agent_id);
        if event.agent_id.is_some() && share.is_none() {
            return None;
        }
        outgoing::event(event, share.as_ref(), sharing)
    });
    Ok(known.collect())
}

/// Print a link that opens the team's board in a browser, once
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace hub login")]
pub struct LoginArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn login(args: &LoginArgs) -> Result<ExitCode> {
    let membership = joined()?;
    let answer =
        client_of(&membership)?.request("POST", "/v1/login", Some(b"{}")).context("could not log in")?;
    if answer.status != 200 {
        bail!("could not log in: {}", answer.message());
    }
    let said = answer.json();
    let path = said["path"].as_str().filter(|path| path.bytes().all(|byte| byte.is_ascii_graphic()));
    let path = path.context("could not log in: the hub gave no link")?;
    // Under the name by which this machine knows the hub.
    let url = format!("{}{path}", membership.url.trim_end_matches('/'));
    if args.json {
        println!("{}", text::json(&json!({"url": url}), true));
    } else {
        println!("{url}");
        println!("(it works once, within 5 minutes)");
    }
    Ok(ExitCode::SUCCESS)
}
