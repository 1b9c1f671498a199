//! `headspace events`: the raw events, stored ones and new ones.

use crate::view::archive::Archive;
use crate::view::board;
use crate::view::client;
use crate::view::columns::{fit, pad, terminal_columns, width};
use crate::view::style::Style;
use crate::view::timeline::event_gist;
use anyhow::Result;
use headspace_core::model::event_names::name_of;
use headspace_core::model::{AgentId, AgentView, MachineName, event_names, hints};
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_core::text::numbers::duration;
use headspace_core::wire::StoredEvent;
use headspace_hooks::settings::check::nearest;
use headspace_platform::clock::WallClock;
use headspace_platform::clock::local_clock;
use headspace_platform::config::Config;
use headspace_platform::usage::Usage;
use headspace_store::read::queries::EventQuery;
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Show or follow the events, like journalctl
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace events api --follow\n  headspace events --type PermissionRequest --since 2h\n  headspace events --grep 'cargo test' --json"
)]
pub struct EventsArgs {
    /// Keep printing events as they arrive
    #[arg(long, short)]
    follow: bool,
    /// Only this agent: id, name as `status` shows it, or the beginning of a name, project or session id
    agent: Option<String>,
    /// The same, as an option
    #[arg(long = "agent", value_name = "AGENT", conflicts_with = "agent")]
    only_agent: Option<String>,
    /// Only events of these types: PreToolUse, or pre-tool-use; several with commas
    #[arg(long = "type", value_name = "EVENT")]
    kind: Option<String>,
    /// Only events of this client (claude, codex, …)
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
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

impl EventsArgs {
    /// Whether events are left out on purpose.
    fn narrows(&self) -> bool {
        let words = [&self.agent, &self.only_agent, &self.kind, &self.client, &self.grep];
        self.since.is_some() || words.into_iter().any(Option::is_some)
    }
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

/// How long to wait before the next look for new events.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

pub fn run(args: &EventsArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let mut archive = Archive::open(&config)?;
    let agents = archive.agents()?;
    let agent = args.agent.as_deref().or(args.only_agent.as_deref());
    let agent = agent.map(|word| client::find(&agents, word)).transpose()?.map(|agent| agent.id);
    let clients = agents.iter().map(|agent| agent.client.as_str());
    board::check_client(args.client.as_deref(), clients)?;
    let query = query(args, &archive)?;
    let machine = agent.and_then(|agent| agent.machine);
    let oldest = args.since.map(|span| Stamp::now().minus(span));
    let mut printer = Printer::new(&agents, machine);
    archive.note_if_stored();
    // `--follow` continues after the newest event, so it must be known even if it is not shown.
    let mut events = archive.newest_events(agent, &query, args.lines.max(1))?.events;
    let (mut last_id, mut shown) = (0, 0);
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
            shown += 1;
            let text = if args.json { text::json(&json!(event), false) } else { printer.line(event) };
            // A closed pipe (`| head`) ends it quietly.
            if writeln!(std::io::stdout(), "{text}").is_err() {
                return Ok(ExitCode::SUCCESS);
            }
        }
        if !args.follow {
            if shown == 0 && args.lines > 0 {
                eprintln!(
                    "headspace: note: {}",
                    if args.narrows() { "no event matches" } else { "no event yet" }
                );
            }
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(FOLLOW_EVERY);
        // While the server is down, this waits: its events come later, and none is left out.
        if let Archive::Store(_) = archive
            && let Ok(server @ Archive::Server(_)) = Archive::open(&config)
        {
            archive = server;
        }
        let after = EventQuery { after: Some(last_id), limit: 1000, ..query.clone() };
        events = archive.events(agent, &after).map(|page| page.events).unwrap_or_default();
        let unknown =
            |event: &StoredEvent| printer.agent_of(event).is_some_and(|id| !printer.titles.contains_key(&id));
        if events.iter().any(unknown)
            && let Ok(agents) = archive.agents()
        {
            printer = Printer::new(&agents, machine);
        }
    }
}

fn query(args: &EventsArgs, archive: &Archive) -> Result<EventQuery> {
    let names = match &args.kind {
        Some(kind) => kind.split(',').map(|name| known_name(name, archive)).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    let (text, client) = (args.grep.clone(), args.client.clone());
    Ok(EventQuery { names, text, client, ..EventQuery::default() })
}

/// The event type that `word` means: `PreToolUse` or `pre-tool-use`. A name that is neither known nor stored is an error.
fn known_name(word: &str, archive: &Archive) -> Result<String> {
    let name =
        if word.starts_with(|c: char| c.is_ascii_uppercase()) { word.to_owned() } else { name_of(word) };
    let stored = archive.event_names().unwrap_or_default();
    let mut known: Vec<&str> = event_names::known().collect();
    known.extend(stored.iter().map(String::as_str));
    if known.contains(&name.as_str()) {
        return Ok(name);
    }
    known.sort_unstable();
    known.dedup();
    let advice = match nearest(&name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("known are {}", known.join(", ")),
    };
    Err(Usage(format!("could not filter by type {word:?}: there is no such event; {advice}")).into())
}

/// Prints events, with the agents by their titles.
struct Printer {
    style: Style,
    titles: HashMap<AgentId, String>,
    /// Whose events these are, if not this machine's.
    machine: Option<MachineName>,
    title_columns: usize,
    name_columns: usize,
    columns: usize,
}

/// Columns of an event's name: the longest known one fits, longer ones are cut.
const NAME_COLUMNS: usize = 20;
const TITLE_COLUMNS: usize = 26;
/// Columns of the time, with and without "12 s ago".
const TIME_COLUMNS: [usize; 2] = [18, 8];
/// On a narrower terminal, "12 s ago" is left out.
const AGO_FROM: usize = 70;
/// Columns of a line that is not on a terminal: a search in the output should find more than fits a screen.
const WITHOUT_TERMINAL: usize = 220;

impl Printer {
    fn new(agents: &[AgentView], machine: Option<MachineName>) -> Printer {
        // The client's glyph, unless it is the usual client.
        let glyph = |agent: &AgentView| match agent.client.as_str() {
            hints::DEFAULT_CLIENT => String::new(),
            name => format!("{} ", headspace_clients::named(name).map_or('?', |row| row.glyph)),
        };
        let title = |agent: &AgentView| (agent.id, glyph(agent) + &agent.title());
        let titles: HashMap<AgentId, String> = agents.iter().map(title).collect();
        let columns = terminal_columns().unwrap_or(WITHOUT_TERMINAL);
        let most = TITLE_COLUMNS.min(columns / 4);
        let title_columns = titles.values().map(|title| width(title)).max().unwrap_or(0).min(most);
        let time = TIME_COLUMNS[usize::from(columns < AGO_FROM)];
        let name_columns = NAME_COLUMNS.min(columns.saturating_sub(time + 2 + title_columns + 2));
        Printer { style: Style::for_stdout(), titles, machine, title_columns, name_columns, columns }
    }

    fn agent_of(&self, event: &StoredEvent) -> Option<AgentId> {
        event.agent_id.map(|number| AgentId { machine: self.machine, number })
    }

    /// `10:02:11  12 s ago  api · fix-auth  PreToolUse  Bash: npm test`
    fn line(&self, event: &StoredEvent) -> String {
        let clock = local_clock(event.at);
        let ago = format!("{} ago", duration(Stamp::now().since(event.at)));
        let title =
            self.agent_of(event).map(|id| self.titles.get(&id).cloned().unwrap_or_else(|| format!("#{id}")));
        let when = if self.columns < AGO_FROM { clock } else { format!("{clock} {ago:>9}") };
        let what = format!(
            "{}  {}",
            pad(&title.unwrap_or_default(), self.title_columns),
            pad(&event.name, self.name_columns),
        );
        let room = self.columns.saturating_sub(width(&when) + 2 + width(&what) + 1);
        let line = format!("{}  {what} {}", self.style.dim(&when), fit(&event_gist(&event.body), room));
        line.trim_end().to_owned()
    }
}
