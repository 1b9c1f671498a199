//! `headspace status`: one screen, attention first, a line per agent.

use crate::view::board;
use crate::view::board::{Board, Include};
use crate::view::client;
use crate::view::client::{Origin, Overview};
use crate::view::style::Style;
use anyhow::Result;
use headspace_core::model;
use headspace_core::model::{AgentView, Group, Row};
use headspace_core::numbers::{counted, thousands};
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_core::text::one_line;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use headspace_platform::net::local;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Show every agent, the ones that need you first
///
/// If the server does not run, the agents are shown as they were stored last.
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
    /// Print one line of JSON for a custom module of waybar
    #[arg(long, group = "form")]
    waybar: bool,
    /// Also show ended agents and headless runs (`claude -p`)
    #[arg(long, short)]
    all: bool,
    /// Only agents of this client (claude, codex, …)
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Refresh every second until interrupted
    #[arg(long, short)]
    watch: bool,
    /// Exit with 10 if an agent needs you
    #[arg(long)]
    exit_code: bool,
}

/// The exit code of `--exit-code` when an agent waits for you.
const NEEDS_YOU: u8 = 10;

pub fn run(args: &StatusArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    loop {
        let show = Include { ended: args.all, headless: args.all };
        let (text, board) = if args.json {
            let mut overview = client::overview(&config, true)?;
            overview.agents.retain(|agent| args.client.as_ref().is_none_or(|name| agent.client == *name));
            let text = as_json(&overview);
            (text, Board::new(model::rows(&overview.agents, Stamp::now()), show))
        } else {
            let list = client::agent_list(&config, args.all)?;
            let (about, mut rows) = (list.about, list.rows);
            board::keep_client(&mut rows, args.client.as_deref());
            let board = Board::new(rows, show);
            (render(args, &about, &board), board)
        };
        let mut out = std::io::stdout().lock();
        if args.watch && std::io::stdout().is_terminal() {
            // Home, then clear to the end: an empty screen would flicker.
            write!(out, "\x1b[H\x1b[J")?;
        }
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() || !args.watch {
            let waits = args.exit_code && board.count(Group::NeedsYou) > 0;
            return Ok(if waits { ExitCode::from(NEEDS_YOU) } else { ExitCode::SUCCESS });
        }
        drop(out);
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn as_json(overview: &Overview) -> String {
    let mut agents: Vec<&AgentView> = overview.agents.iter().collect();
    agents.sort_by_cached_key(|agent| agent.order());
    let value = json!({
        "version": 1, "server_running": overview.receiver.is_some(), "url": overview.url,
        "receiver": overview.receiver, "agents": agents,
    });
    format!("{}\n", text::json(&value, true))
}

fn render(args: &StatusArgs, origin: &Origin, board: &Board) -> String {
    if args.short {
        return format!("{}\n", board.short());
    }
    if args.tmux {
        return format!("{}\n", tmux_line(board));
    }
    if args.waybar {
        return format!("{}\n", waybar(board));
    }
    screen(origin, board, Style::for_stdout(), Stamp::now())
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
            format!("{} {}: {}", row.group.glyph(), one_line(&row.name, 40), one_line(&row.summary.about, 80))
        })
        .collect();
    let class = Group::ALL.iter().find(|group| board.count(**group) > 0).map_or("idle", |group| group.word());
    // Waybar reads a tooltip as Pango markup: an ask that contains `&&` would leave it empty.
    json!({"text": board.short(), "tooltip": text::markup(&lines.join("\n")), "class": class}).to_string()
}

/// Columns: glyph, name, branch, what it is about, age, context.
fn screen(origin: &Origin, board: &Board, style: Style, now: Stamp) -> String {
    let mut out = String::new();
    let width = width();
    let name_width =
        board.rows.iter().map(|row| board::titled(row).chars().count()).max().unwrap_or(0).clamp(8, 28);
    for row in &board.rows {
        out.push_str(&line(row, name_width, width, style));
        for subagent in &row.subagents {
            let about = one_line(&subagent.about, width.saturating_sub(30));
            let text = format!("    └ {} {about}", one_line(&subagent.kind, 20));
            out.push_str(&style.dim(text.trim_end()));
            out.push('\n');
        }
    }
    if board.rows.is_empty() {
        let before = origin.receiver.as_ref().is_some_and(|receiver| receiver.events_received > 0);
        out.push_str(if before { "No agent is running." } else { "No agent yet." });
        out.push_str(" Start `claude` anywhere: it shows up here with its first event.\n");
        out.push_str("Nothing shows up? `headspace doctor` says why.\n");
    }
    out.push_str(&style.dim(&footer(origin, board, now)));
    out.push('\n');
    out
}

fn line(row: &Row, name_width: usize, width: usize, style: Style) -> String {
    let name = one_line(&board::titled(row), name_width);
    let age = row.age_phrase();
    let context = row.context.map_or(String::new(), |percent| format!("{percent:.0} %"));
    let room = width.saturating_sub(name_width + 2 + 2 + 14 + 7).max(20);
    let about = one_line(&row.summary.about, room);
    let word = if about.is_empty() { row.summary.label.clone() } else { about };
    let head = format!("{} {name:<name_width$}", row.group.glyph());
    let text = format!("{word:<room$}");
    let (head, text) = match row.group {
        _ if row.stale || row.ended => (style.dim(&head), style.dim(&text)),
        Group::NeedsYou => (style.group(row.group, &head), style.bold(&text)),
        group => (style.group(group, &head), text),
    };
    format!("{head}  {text}  {} {}\n", style.dim(&format!("{age:>13}")), style.dim(&format!("{context:>6}")))
}

fn footer(origin: &Origin, board: &Board, now: Stamp) -> String {
    let mut parts = Vec::new();
    match &origin.receiver {
        Some(receiver) => {
            if let Some(why) = &receiver.store_trouble {
                parts.push(format!("events cannot be stored ({}): hooks keep them", one_line(why, 100)));
            }
            parts.push(
                match (receiver.hooks.as_deref().filter(|_| receiver.hooks_missing), receiver.mode.as_str()) {
                    (Some("missing"), _) => "hooks missing: `headspace install` adds them",
                    (Some("switched_off"), _) => "hooks missing: settings.json switches all hooks off",
                    (Some("unreadable"), _) => {
                        "hooks missing: settings.json is not valid, see `headspace doctor`"
                    }
                    (_, "hooks_active") => "hooks active",
                    _ => "no hooks lately, polling",
                }
                .to_owned(),
            );
            if let Some(at) = receiver.last_event_at {
                let kind = receiver.last_event_type.as_deref().unwrap_or("event");
                parts.push(format!(
                    "last event {} ago ({})",
                    headspace_core::numbers::duration(now.since(at)),
                    one_line(kind, 30)
                ));
            }
            parts.push(counted(receiver.events_received, "event"));
            if receiver.spool_pending > 0 {
                parts.push(format!("{} spooled", thousands(receiver.spool_pending)));
            }
            parts.push(origin.url.clone());
        }
        None => {
            let known = origin.last_active.map_or(String::new(), |at| {
                format!(", last known {} ago", headspace_core::numbers::duration(now.since(at)))
            });
            parts.push(format!("server not running{known}"));
            parts.push(match local::stranger_at(&origin.url) {
                Some(stranger) => format!("{stranger}; `headspace doctor` says what to do"),
                None => "`headspace up` starts it".to_owned(),
            });
        }
    }
    if board.headless > 0 {
        parts.push(format!("{} headless folded", board.headless));
    }
    parts.join(" · ")
}

fn width() -> usize {
    terminal_width().unwrap_or(100).clamp(40, 240)
}

fn terminal_width() -> Option<usize> {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() {
        return None;
    }
    ratatui::crossterm::terminal::size()
        .ok()
        .map(|(columns, _)| usize::from(columns))
        .filter(|columns| *columns > 0)
}
