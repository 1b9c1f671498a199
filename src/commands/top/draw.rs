//! How `top` looks.

use crate::commands::top::app::{KEYS, TopState};
use crate::view::board;
use headspace_core::model::{Actor, AgentView, Group, Row};
use headspace_core::numbers::thousands;
use headspace_core::stamp::Stamp;
use headspace_core::text::{one_line, strip_control};
use headspace_platform::clock::WallClock;
use headspace_platform::clock::local_clock;
use headspace_platform::config;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

/// Below this width there is no room for a preview beside the list.
const WIDE: u16 = 100;

pub fn screen(frame: &mut Frame, app: &mut TopState) {
    let now = Stamp::now();
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    header(frame, head, app);
    if body.width >= WIDE {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(48), Constraint::Percentage(52)]).areas(body);
        list(frame, left, app, now);
        preview(frame, right, app, now);
    } else if body.height >= 16 {
        let [top, bottom] =
            Layout::vertical([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(body);
        list(frame, top, app, now);
        preview(frame, bottom, app, now);
    } else {
        list(frame, body, app, now);
    }
    footer(frame, foot, app, now);
    if app.help {
        help(frame);
    }
}

fn color(group: Group) -> Style {
    if config::env("NO_COLOR").is_some() {
        let bold = if group == Group::NeedsYou { Modifier::BOLD } else { Modifier::empty() };
        return Style::new().add_modifier(bold);
    }
    Style::new().fg(match group {
        Group::NeedsYou => Color::Indexed(214),
        Group::Error => Color::Red,
        Group::Working => Color::Blue,
        Group::Background => Color::Magenta,
        Group::Done => Color::Green,
        Group::Idle => Color::DarkGray,
    })
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn header(frame: &mut Frame, area: Rect, app: &TopState) {
    let mut spans = vec![Span::styled(" headspace  ", Style::new().add_modifier(Modifier::BOLD))];
    for (group, count) in app.counts() {
        spans.push(Span::styled(format!("{} {count} {}  ", group.glyph(), group.label()), color(group)));
    }
    if app.typing || !app.filter.is_empty() {
        let cursor = if app.typing { "▏" } else { "" };
        spans.push(Span::raw(format!(" /{}{cursor}", strip_control(&app.filter))));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Two lines per agent: who it is, and what it is about.
fn list(frame: &mut Frame, area: Rect, app: &mut TopState, now: Stamp) {
    let board = app.board(now);
    let mut lines: Vec<(Option<i64>, Line)> = Vec::new();
    for row in &board.rows {
        let selected = Some(row.id) == app.selected;
        for line in lines_of(row, selected, usize::from(area.width)) {
            lines.push((Some(row.id), line));
        }
    }
    if lines.is_empty() {
        let text = if app.filter.is_empty() {
            "No agent yet. Start `claude` anywhere."
        } else {
            "Nothing matches the filter."
        };
        lines.push((None, Line::styled(format!("  {text}"), dim())));
    }
    let height = usize::from(area.height);
    let last_selected = lines.iter().rposition(|(id, _)| id.is_some() && *id == app.selected).unwrap_or(0);
    let skip = (last_selected + 1).saturating_sub(height);
    app.rows = lines
        .iter()
        .skip(skip)
        .take(height)
        .zip(area.y..)
        .filter_map(|((id, _), row)| Some((row, (*id)?)))
        .collect();
    let shown: Vec<Line> = lines.into_iter().skip(skip).take(height).map(|(_, line)| line).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

fn lines_of(row: &Row, selected: bool, width: usize) -> Vec<Line<'static>> {
    let base = if selected { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
    let mark = if row.stale || row.ended { color(Group::Idle) } else { color(row.group) };
    let context = row.context.map_or(String::new(), |percent| format!("  {percent:.0} %"));
    let tail = format!("{}{context} ", row.age_phrase());
    let room = width.saturating_sub(tail.chars().count() + 4);
    let title = one_line(&board::titled(row), room);
    let gap = " ".repeat(room.saturating_sub(title.chars().count()));
    let mut lines = vec![
        Line::from(vec![
            Span::styled(format!(" {} ", row.group.glyph()), mark.add_modifier(Modifier::BOLD)),
            Span::styled(title, Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(gap),
            Span::styled(tail, if row.group == Group::NeedsYou { mark } else { dim() }),
        ])
        .style(base),
    ];
    let about = one_line(&row.summary.about, width.saturating_sub(4));
    let about = if about.is_empty() { row.summary.label.clone() } else { about };
    let about_style = if row.group == Group::NeedsYou { mark } else { dim() };
    lines.push(Line::from(vec![Span::raw("   "), Span::styled(about, about_style)]).style(base));
    for subagent in &row.subagents {
        let style = if subagent.asks { color(Group::NeedsYou) } else { dim() };
        let about = one_line(&subagent.about, width.saturating_sub(32));
        let text = format!("   └ {} {about}", one_line(&subagent.kind, 24));
        lines.push(Line::styled(text, style).style(base));
    }
    lines
}

fn preview(frame: &mut Frame, area: Rect, app: &TopState, now: Stamp) {
    let block = Block::new()
        .borders(if area.width >= WIDE / 2 && area.x > 0 { Borders::LEFT } else { Borders::TOP })
        .border_style(dim());
    let Some(agent) = app.selected_agent() else {
        frame.render_widget(block, area);
        return;
    };
    let mut text = Text::default();
    for open in &agent.interactions {
        text.push_line(Line::styled(
            format!("! {}", one_line(&open.text, 400)),
            color(Group::NeedsYou).add_modifier(Modifier::BOLD),
        ));
        for option in &open.options {
            text.push_line(Line::raw(format!("    {}", one_line(option, 200))));
        }
    }
    for (label, value) in facts(agent, now) {
        text.push_line(Line::from(vec![
            Span::styled(format!("{label:>9} "), dim()),
            Span::raw(strip_control(&value)),
        ]));
    }
    text.push_line(Line::raw(""));
    if app.show_events {
        for event in &app.events {
            let name = one_line(&event.name, 24);
            let tool = one_line(event.body["tool_name"].as_str().unwrap_or(""), 30);
            text.push_line(Line::raw(format!("{}  {name:<20} {tool}", local_clock(event.at))));
        }
    } else {
        let height = usize::from(area.height);
        for turn in app.turns.iter().rev().take(height).collect::<Vec<_>>().into_iter().rev() {
            let (who, style) = if turn.actor == Actor::User {
                ("you", Style::new().add_modifier(Modifier::BOLD))
            } else {
                ("agent", Style::new())
            };
            text.push_line(Line::from(vec![
                Span::styled(format!("{} {who:>5} ", local_clock(turn.timestamp)), dim()),
                Span::styled(one_line(&turn.text, 300), style),
            ]));
        }
    }
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }).block(block), area);
}

fn facts(agent: &AgentView, now: Stamp) -> Vec<(&'static str, String)> {
    let context = agent
        .context
        .as_ref()
        .map(|context| format!("{:.0} % of {}", context.percent, thousands(context.window)));
    let provenance = format!(
        "{} · {} · {} ago",
        agent.state,
        agent.source,
        headspace_core::numbers::duration(now.since(agent.source_at))
    );
    [
        ("state", Some(provenance)),
        (
            "asked",
            agent
                .current_command
                .as_ref()
                .and_then(|command| command.instruction.clone())
                .map(|text| one_line(&text, 200)),
        ),
        ("in", agent.cwd.clone()),
        ("branch", agent.branch.clone()),
        ("model", agent.model.clone()),
        ("context", context),
        ("cost", agent.cost_usd.map(|cost| format!("${cost:.2}"))),
        ("tmux", agent.tmux_pane.clone()),
        ("resume", headspace_clients::named(&agent.client).map(|row| row.resume_command(&agent.session_id))),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some((label, value?)))
    .collect()
}

fn footer(frame: &mut Frame, area: Rect, app: &TopState, now: Stamp) {
    let line = if let Some(message) = &app.message {
        Line::styled(format!(" {}", strip_control(message)), color(Group::Error))
    } else if app.away {
        Line::styled(
            " server away, showing what was last known; `headspace up` starts it",
            color(Group::Error),
        )
    } else {
        let last = app.receiver.as_ref().and_then(|receiver| receiver.last_event_at);
        let last = last.map_or(String::new(), |at| {
            format!(" · last event {} ago", headspace_core::numbers::duration(now.since(at)))
        });
        Line::styled(format!(" Enter jump · n next · / filter · ? help · q quit{last}"), dim())
    };
    frame.render_widget(line, area);
}

fn help(frame: &mut Frame) {
    let lines: Vec<Line> =
        KEYS.iter().map(|(_, key, _, what)| Line::raw(format!(" {key:<6} {what} "))).collect();
    let area = frame.area();
    let (width, height) = (62.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" keys ")), place);
}
