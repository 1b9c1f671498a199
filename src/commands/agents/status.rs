//! `headspace status`: one screen, attention first, a line per agent.

use crate::view::board;
use crate::view::board::{Board, Include};
use crate::view::client;
use crate::view::client::{AgentList, ListOrigin, Overview};
use crate::view::columns::{fit, join_wrapped, pad, pad_left, terminal_columns, terminal_lines, width, wrap};
use crate::view::style::Style;
use anyhow::Result;
use headspace_core::model;
use headspace_core::model::{AgentView, Group, Row, SubRow};
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_core::text::numbers::{counted, duration, short, thousands};
use headspace_core::text::one_line;
use headspace_core::wire::{HookStatus, SpentStats};
use headspace_platform::clock::{WallClock, local_clock};
use headspace_platform::config::Config;
use headspace_platform::control;
use headspace_platform::net::local;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Show every agent, the ones that need you first
///
/// If the server is not running, the agents are shown as they were stored last.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace status\n  headspace status --short        # !2 *4 +1\n  headspace status --exit-code    # 10 if an agent needs you\n\ntmux.conf:\n  set -g status-right '#(headspace status --tmux)'"
)]
pub struct StatusArgs {
    /// Print everything as JSON (`version` changes when the meaning of a field does)
    #[arg(long, group = "form")]
    json: bool,
    /// Print the counts only, for prompts and bars: !2 *4 +1
    #[arg(long, group = "form")]
    short: bool,
    /// Like --short, in tmux colors
    #[arg(long, group = "form")]
    tmux: bool,
    /// Print one line of JSON for a custom waybar module
    #[arg(long, group = "form")]
    waybar: bool,
    /// Also show ended agents and headless runs (`claude -p`)
    #[arg(long, short)]
    all: bool,
    /// Only agents of this client (claude, codex, …)
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Show the team's board, from the hub this machine has joined
    #[arg(long)]
    hub: bool,
    /// Refresh every second until interrupted
    #[arg(long, short)]
    watch: bool,
    /// Exit with 10 if an agent needs you
    #[arg(long)]
    exit_code: bool,
}

impl StatusArgs {
    /// Whether the list with its footer is printed, not a form for programs and bars.
    fn is_screen(&self) -> bool {
        !(self.json || self.short || self.tmux || self.waybar)
    }

    fn include(&self) -> Include {
        Include { ended: self.all, headless: self.all }
    }
}

/// The exit code of `--exit-code` when an agent waits for you.
const NEEDS_YOU: u8 = 10;

pub fn run(args: &StatusArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    if args.watch && args.is_screen() && std::io::stdout().is_terminal() {
        return watch_screen(args, &config);
    }
    loop {
        let (text, board) = look(args, &config, None)?;
        let mut out = std::io::stdout().lock();
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() || !args.watch {
            return Ok(exit_code(args, &board));
        }
        drop(out);
        std::thread::sleep(REFRESH_EVERY);
    }
}

const REFRESH_EVERY: Duration = Duration::from_secs(1);
/// How soon `--watch` ends after Ctrl-C.
const ENDS_WITHIN: Duration = Duration::from_millis(50);

/// What is printed, and the board it shows. With `height`, no more agents than fit.
fn look(args: &StatusArgs, config: &Config, height: Option<usize>) -> Result<(String, Board)> {
    match (args.json, args.hub) {
        (true, true) => hub_as_json(args),
        (true, false) => as_json(args, config),
        (false, _) => for_people(args, config, height),
    }
}

fn exit_code(args: &StatusArgs, board: &Board) -> ExitCode {
    let waits = args.exit_code && board.count(Group::NeedsYou) > 0;
    if waits { ExitCode::from(NEEDS_YOU) } else { ExitCode::SUCCESS }
}

/// Redraws in place on the terminal's other screen, so that nothing is added to what can be scrolled back to. The first
/// screen comes back at the end, however it ends.
fn watch_screen(args: &StatusArgs, config: &Config) -> Result<ExitCode> {
    control::note_termination();
    let mut out = std::io::stdout();
    write!(out, "\x1b[?1049h\x1b[?25l")?;
    let result = redraw(args, config, &mut out);
    let _ = write!(out, "\x1b[?25h\x1b[?1049l").and_then(|()| out.flush());
    result
}

fn redraw(args: &StatusArgs, config: &Config, out: &mut impl Write) -> Result<ExitCode> {
    loop {
        let height = terminal_lines();
        let (text, board) = look(args, config, height)?;
        let lines: Vec<&str> = text.lines().take(height.unwrap_or(usize::MAX)).collect();
        // Over what is there, without a line break at the end: an empty screen would flicker, a full one would scroll.
        write!(out, "\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n"))?;
        out.flush()?;
        let next = Instant::now() + REFRESH_EVERY;
        while Instant::now() < next {
            if control::is_terminated() {
                return Ok(exit_code(args, &board));
            }
            std::thread::sleep(ENDS_WITHIN);
        }
    }
}

fn hub_as_json(args: &StatusArgs) -> Result<(String, Board)> {
    let (mut agents, receiver, url) = client::hub_overview()?;
    board::check_client(args.client.as_deref(), agents.iter().filter_map(|agent| agent["client"].as_str()))?;
    agents.retain(|agent| args.client.as_ref().is_none_or(|name| agent["client"] == **name));
    let rows = client::hub_list(true)?.rows;
    let value = json!({
        "version": 1, "server_running": true, "url": url, "receiver": receiver, "agents": agents,
    });
    Ok((format!("{}\n", text::json(&value, true)), Board::new(rows, args.include())))
}

fn as_json(args: &StatusArgs, config: &Config) -> Result<(String, Board)> {
    let Overview { mut agents, receiver, url } = client::overview(config, true)?;
    board::check_client(args.client.as_deref(), agents.iter().map(|agent| agent.client.as_str()))?;
    agents.retain(|agent| args.client.as_ref().is_none_or(|name| agent.client == *name));
    agents.sort_by_cached_key(AgentView::order);
    let board = Board::new(model::rows(&agents, Stamp::now()), args.include());
    let value = json!({
        "version": 1, "server_running": receiver.is_some(), "url": url, "receiver": receiver, "agents": agents,
    });
    Ok((format!("{}\n", text::json(&value, true)), board))
}

/// The screen, or one of the short forms.
fn for_people(args: &StatusArgs, config: &Config, height: Option<usize>) -> Result<(String, Board)> {
    let list = |all: bool, spent: bool| match args.hub {
        true => client::hub_list(all),
        false => client::agent_list(config, all, spent),
    };
    let AgentList { mut rows, about } = list(args.all, args.is_screen())?;
    let name = args.client.as_deref();
    if board::check_client(name, rows.iter().map(board::client_of)).is_err() {
        // Its agents may all have ended.
        board::check_client(name, list(true, false)?.rows.iter().map(board::client_of))?;
    }
    board::keep_client(&mut rows, args.client.as_deref());
    let board = Board::new(rows, args.include());
    Ok((render(args, &about, &board, height), board))
}

fn render(args: &StatusArgs, origin: &ListOrigin, board: &Board, height: Option<usize>) -> String {
    if args.short {
        return format!("{}\n", board.short());
    }
    if args.tmux {
        return format!("{}\n", tmux_line(board));
    }
    if args.waybar {
        return format!("{}\n", waybar(board));
    }
    let footer = footer(origin, board, Stamp::now());
    screen(&list(origin, board, args.client.as_deref()), &footer, height)
}

fn tmux_line(board: &Board) -> String {
    let parts: Vec<String> = Group::ALL
        .iter()
        .map(|group| (*group, board.count(*group)))
        .filter(|(group, count)| *count > 0 && *group != Group::Idle)
        .map(|(group, count)| Style::Tmux.group(group, &format!("{}{count}", group.glyph())))
        .collect();
    if parts.is_empty() { Style::Tmux.group(Group::Idle, &board.short()) } else { parts.join(" ") }
}

fn waybar(board: &Board) -> String {
    let lines: Vec<String> = board
        .rows
        .iter()
        .map(|row| {
            format!(
                "{} {}: {}",
                row.group.glyph(),
                one_line(&row.summary.title, 60),
                one_line(row.words(), 80)
            )
        })
        .collect();
    let class = Group::ALL.iter().find(|group| board.count(**group) > 0).map_or("idle", |group| group.word());
    // Waybar reads a tooltip as Pango markup: an ask that contains `&&` would leave it empty.
    json!({"text": board.short(), "tooltip": text::markup(&lines.join("\n")), "class": class}).to_string()
}

/// Each agent with its subagents under it, or why there is none; no line is wider than the terminal.
fn list(origin: &ListOrigin, board: &Board, client: Option<&str>) -> Vec<Vec<String>> {
    let (width, style) = (terminal_columns().unwrap_or(WITHOUT_TERMINAL), Style::for_stdout());
    let columns = Columns::of(&board.rows, width);
    let subagent = |subagent: &SubRow| {
        let text = format!("└ {} {}", fit(&subagent.kind, 20), subagent.about);
        style.dim(&format!("    {}", fit(&text, width.saturating_sub(4))))
    };
    let agent = |row: &Row| -> Vec<String> {
        std::iter::once(columns.line(row, style)).chain(row.subagents.iter().map(subagent)).collect()
    };
    if !board.rows.is_empty() {
        return board.rows.iter().map(agent).collect();
    }
    if origin.hub {
        return vec![wrap("No agent of the team is running.", width)];
    }
    let program = client.and_then(headspace_clients::named).map_or("claude", |row| row.program);
    let text = match &origin.receiver {
        None => format!(
            "No agent yet. `headspace up` installs the hooks and starts the server; every `{program}` session shows up here then."
        ),
        Some(receiver) => {
            let none = if receiver.events_received > 0 { "No agent is running." } else { "No agent yet." };
            format!("{none} Start `{program}` anywhere: it shows up here with its first event.")
        }
    };
    vec![wrap(&text, width), wrap("Nothing shows up? `headspace doctor` says why.", width)]
}

/// The list and the footer. With `height`, the agents at the end of the list give way, and its last line says how many.
fn screen(list: &[Vec<String>], footer: &[String], height: Option<usize>) -> String {
    let (width, style) = (terminal_columns().unwrap_or(WITHOUT_TERMINAL), Style::for_stdout());
    let footer = join_wrapped(footer, " · ", width);
    let room = height.map_or(usize::MAX, |height| height.saturating_sub(footer.len()));
    let mut lines = first_lines(list, room.max(LIST_AT_LEAST));
    lines.extend(footer.iter().map(|line| style.dim(line)));
    lines.join("\n") + "\n"
}

/// On a terminal that is lower, the footer is cut.
const LIST_AT_LEAST: usize = 3;

/// As many agents as fit, and a last line with the number of the others.
fn first_lines(list: &[Vec<String>], room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if list.iter().map(Vec::len).sum::<usize>() <= room {
        return list.concat();
    }
    for (shown, agent) in list.iter().enumerate() {
        // The last line is for the number.
        let free = room.saturating_sub(lines.len() + 1);
        if free == 0 {
            lines.push(format!("+{} more", list.len() - shown));
            return lines;
        }
        lines.extend(agent.iter().take(free).cloned());
    }
    lines.push("…".to_owned());
    lines
}

/// The width of each column: name, ask, age, context. When space is short, the ask shrinks first, then the name; the age
/// never does.
struct Columns {
    name: usize,
    ask: usize,
    age: usize,
    context: usize,
}

/// The width of a list that is not printed on a terminal.
const WITHOUT_TERMINAL: usize = 100;
/// Blanks between two columns.
const COLUMN_GAP: usize = 2;
/// The glyph and the blank after it.
const GLYPH: usize = 2;
/// On a terminal of eighty columns; a wider one gives the name a third.
const NAME_AT_MOST: usize = 28;
const NAME_AT_LEAST: usize = 8;
/// An ask in fewer columns would say nothing; it is left out instead.
const ASK_AT_LEAST: usize = 12;
/// On a narrower terminal the context is left out.
const CONTEXT_FROM: usize = 60;

impl Columns {
    fn of(rows: &[Row], total: usize) -> Columns {
        let widest =
            |text: &dyn Fn(&Row) -> String| rows.iter().map(|row| width(&text(row))).max().unwrap_or(0);
        let age = widest(&Row::age_phrase);
        let context = if total < CONTEXT_FROM { 0 } else { widest(&context_words) };
        let taken = |column: usize| if column > 0 { COLUMN_GAP + column } else { 0 };
        let room = total.saturating_sub(GLYPH + taken(age) + taken(context));
        let name = widest(&board::titled).clamp(NAME_AT_LEAST, NAME_AT_MOST.max(total / 3));
        let beside_ask = room.saturating_sub(COLUMN_GAP + ASK_AT_LEAST);
        let (name, ask) = if beside_ask < NAME_AT_LEAST {
            (room, 0)
        } else {
            let name = name.min(beside_ask);
            (name, room - COLUMN_GAP - name)
        };
        Columns { name, ask, age, context }
    }

    fn line(&self, row: &Row, style: Style) -> String {
        let head = format!("{} {}", row.group.glyph(), pad(&board::titled(row), self.name));
        let ask = pad(row.words(), self.ask);
        let (head, ask) = match row.group {
            _ if row.stale || row.ended => (style.dim(&head), style.dim(&ask)),
            Group::NeedsYou => (style.group(row.group, &head), style.bold(&ask)),
            group => (style.group(group, &head), ask),
        };
        let gap = " ".repeat(COLUMN_GAP);
        let mut line = head;
        if self.ask > 0 {
            line += &format!("{gap}{ask}");
        }
        line += &format!("{gap}{}", style.dim(&pad_left(&row.age_phrase(), self.age)));
        if self.context > 0 {
            line += &format!("{gap}{}", style.dim(&pad_left(&context_words(row), self.context)));
        }
        line
    }
}

fn context_words(row: &Row) -> String {
    row.context.map_or(String::new(), |percent| format!("{percent:.0} %"))
}

/// "at 14:05", or "3 d from now" if it is more than twenty hours away.
fn reset_time(at: Stamp, now: Stamp) -> String {
    let ahead = at.since(now);
    if ahead > Duration::from_secs(20 * 3600) {
        return format!("{} from now", duration(ahead));
    }
    format!("at {}", local_clock(at).chars().take(5).collect::<String>())
}

/// "today $4.20, 1.2 M tokens", as far as it is known.
fn spent_words(spent: &SpentStats) -> Option<String> {
    let cost = (spent.cost_usd > 0.0).then(|| format!("${:.2}", spent.cost_usd));
    let tokens = (spent.tokens() > 0).then(|| format!("{} tokens", short(spent.tokens())));
    let known: Vec<String> = cost.into_iter().chain(tokens).collect();
    (!known.is_empty()).then(|| format!("today {}", known.join(", ")))
}

fn footer(origin: &ListOrigin, board: &Board, now: Stamp) -> Vec<String> {
    let mut parts = match &origin.receiver {
        // A hub does not count events; its health phrase says how many machines it has.
        Some(receiver) if origin.hub => vec![receiver.health.phrase(now)],
        Some(receiver) => receiver_parts(receiver, now),
        None => without_server(origin, now),
    };
    if origin.receiver.is_some() {
        parts.push(origin.url.clone());
    }
    parts.extend(origin.spent_today.as_ref().and_then(spent_words));
    if board.headless > 0 {
        parts.push(format!("{} headless folded", board.headless));
    }
    parts
}

/// "hooks active", "last event 2 s ago (Stop)", "18,204 events", "5 h limit 40 %, resets at 14:05"
fn receiver_parts(receiver: &HookStatus, now: Stamp) -> Vec<String> {
    let mut parts = vec![receiver.health.phrase(now)];
    if let Some(at) = receiver.last_event_at.filter(|_| receiver.health.since.is_none()) {
        let kind = receiver.last_event_type.as_deref().unwrap_or("event");
        parts.push(format!("last event {} ago ({})", duration(now.since(at)), one_line(kind, 30)));
    }
    parts.push(counted(receiver.events_received, "event"));
    if receiver.spool_pending > 0 {
        parts.push(format!("{} spooled", thousands(receiver.spool_pending)));
    }
    for limit in &receiver.limits {
        let reset = limit.resets_at.map_or(String::new(), |at| format!(", resets {}", reset_time(at, now)));
        parts.push(format!("{} limit {:.0} %{reset}", one_line(&limit.label, 20), limit.percent));
    }
    parts
}

fn without_server(origin: &ListOrigin, now: Stamp) -> Vec<String> {
    let known = origin.last_active.map(|at| format!(", last known {} ago", duration(now.since(at))));
    let advice = match local::stranger_at(&origin.url) {
        Some(stranger) => format!("{stranger}; `headspace doctor` says what to do"),
        None => "`headspace up` starts it".to_owned(),
    };
    vec![format!("server not running{}", known.unwrap_or_default()), advice]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_agents_stay_and_the_others_are_counted() {
        let list: Vec<Vec<String>> = [&["a", "a1", "a2"][..], &["b"], &["c"]]
            .iter()
            .map(|agent| agent.iter().map(|line| (*line).to_owned()).collect())
            .collect();
        for (room, expected) in [
            (9, "a a1 a2 b c"),
            (5, "a a1 a2 b c"),
            (4, "a a1 a2 +2 more"),
            (3, "a a1 +2 more"),
            (1, "+3 more"),
        ] {
            assert_eq!(first_lines(&list, room).join(" "), expected, "{room}");
        }
        assert_eq!(first_lines(&list[..1], 2).join(" "), "a …");
    }
}
