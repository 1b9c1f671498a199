//! `headspace events`: the raw events, stored ones and new ones.

use crate::view::client;
use crate::view::client::Client;
use crate::view::style::Style;
use anyhow::{Context, Result};
use headspace_core::numbers::duration;
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_core::text::one_line;
use headspace_core::wire::{EventsPage, StoredEvent};
use headspace_platform::clock::WallClock;
use headspace_platform::clock::local_clock;
use headspace_platform::config::Config;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Show or follow the events, like journalctl
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace events --follow --agent api\n  headspace events --type PermissionRequest --since 2h\n  headspace events --grep 'cargo test' --json"
)]
pub struct EventsArgs {
    /// Keep printing events as they come
    #[arg(long, short)]
    follow: bool,
    /// Only this agent (id, or the beginning of a name, project or session id)
    #[arg(long)]
    agent: Option<String>,
    /// Only events of this type
    #[arg(long = "type", value_name = "EVENT")]
    kind: Option<String>,
    /// Only events that contain these words
    #[arg(long, value_name = "WORDS")]
    grep: Option<String>,
    /// Only events of the last 90s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    since: Option<Duration>,
    /// Print at most this many stored events
    #[arg(long, short = 'n', default_value_t = 50)]
    lines: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

fn parse_span(text: &str) -> Result<Duration, String> {
    let unit = |c| match c {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3600),
        'd' => Some(86_400),
        _ => None,
    };
    let seconds = text
        .chars()
        .last()
        .and_then(unit)
        .zip(text.get(..text.len().saturating_sub(1)).and_then(|n| n.parse::<u64>().ok()));
    seconds
        .map(|(unit, n)| Duration::from_secs(n.saturating_mul(unit)))
        .ok_or_else(|| "write it like 90s, 10m, 2h or 1d".into())
}

/// As many as the server gives at once.
const EVENTS_PER_REQUEST: usize = 1000;

const AWAY: &str = "could not reach the server: `headspace up` starts it";

pub fn run(args: &EventsArgs) -> Result<ExitCode> {
    let client = Client::new(&Config::load()?);
    let query = query(args, &client)?;
    let oldest = args.since.map(|span| Stamp::now().minus(span));
    let style = Style::for_stdout();
    let mut last_id = 0;
    // The newest event must be known even if it is not shown: what follows comes after it.
    let mut events = newest(&client, &query, args.lines.max(1)).context(AWAY)?;
    events.sort_by_key(|event| event.id);
    if args.lines == 0 {
        last_id = events.iter().map(|event| event.id).max().unwrap_or(0);
        events.clear();
    }
    loop {
        for event in &events {
            last_id = last_id.max(event.id);
            if oldest.is_some_and(|oldest| event.at < oldest) {
                continue;
            }
            let text = if args.json { text::json(&json!(event), false) } else { line(event, style) };
            // A closed pipe (`| head`) ends it quietly.
            if writeln!(std::io::stdout(), "{text}").is_err() {
                return Ok(ExitCode::SUCCESS);
            }
        }
        if !args.follow {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_millis(300));
        // While the server restarts, this waits: its events come later, and none is left out.
        let page = client.get::<EventsPage>(&format!("/api/events?after={last_id}&limit=1000{query}"));
        events = page.map(|page| page.events).unwrap_or_default();
        events.sort_by_key(|event| event.id);
    }
}

/// The server searches one part of the store per request.
fn newest(client: &Client, query: &str, lines: usize) -> Result<Vec<StoredEvent>> {
    let mut events = Vec::new();
    let mut before = String::new();
    loop {
        let limit = (lines - events.len()).min(EVENTS_PER_REQUEST);
        let page: EventsPage = client.get(&format!("/api/events?limit={limit}{query}{before}"))?;
        let oldest = page.events.iter().map(|event| event.id).min();
        let full = page.events.len() == limit;
        events.extend(page.events);
        match page.looked_to.or(oldest.filter(|_| full)) {
            Some(id) if events.len() < lines => before = format!("&before={id}"),
            _ => return Ok(events),
        }
    }
}

fn query(args: &EventsArgs, client: &Client) -> Result<String> {
    let mut query = String::new();
    if let Some(word) = &args.agent {
        let agents = client.agents(true).context(AWAY)?;
        query.push_str(&format!("&agent={}", client::find(&agents, word)?.id));
    }
    for (name, value) in [("type", &args.kind), ("q", &args.grep)] {
        if let Some(value) = value {
            query.push_str(&format!("&{name}={}", percent_encoded(value)));
        }
    }
    Ok(query)
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

/// `10:02:11  12 s ago  api#3  PreToolUse  Bash: npm test`
fn line(event: &StoredEvent, style: Style) -> String {
    let clock = local_clock(event.at);
    let ago = format!("{} ago", duration(Stamp::now().since(event.at)));
    let agent = event.agent_id.map_or(String::new(), |id| format!("#{id}"));
    format!(
        "{} {:>9}  {agent:<5} {:<20} {}",
        style.dim(&clock),
        style.dim(&ago),
        one_line(&event.name, 20),
        one_line(&about(&event.body), 110)
    )
}

/// The field of a payload that says the most.
fn about(body: &Value) -> String {
    let tool = body["tool_name"].as_str().map(|tool| format!("{tool}: ")).unwrap_or_default();
    let input = &body["tool_input"];
    let said = ["command", "file_path", "pattern", "url", "description", "prompt"]
        .iter()
        .find_map(|field| input[*field].as_str());
    let own = ["prompt", "message", "last_assistant_message", "text", "error", "reason", "source", "trigger"]
        .iter()
        .find_map(|field| body[*field].as_str());
    format!("{tool}{}", said.or(own).unwrap_or(""))
}
