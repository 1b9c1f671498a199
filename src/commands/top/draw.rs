//! Draws `top`.

use crate::commands::top::app::{KEYS, Page, TopState};
use crate::commands::top::decide;
use crate::view::board;
use crate::view::card::{Card, CardLine, Tone};
use crate::view::columns::{fit, fit_middle, pad, width, wrap};
use crate::view::timeline;
use crate::view::timeline::CallState;
use headspace_core::model::{AgentId, AgentView, Choice, Group, Row};
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers::duration;
use headspace_platform::clock::WallClock;
use headspace_platform::clock::local_clock;
use headspace_platform::config;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

/// At this width and above, the preview is beside the list, otherwise below it.
const WIDE: u16 = 100;
/// At this height and above, there is room for a preview below the list.
const TALL: u16 = 16;

pub fn screen(frame: &mut Frame, app: &mut TopState) {
    let now = Stamp::now();
    let (foot_lines, foot_style) = footer(frame.area(), app, now);
    let foot_height = Constraint::Length(foot_lines.len() as u16);
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), foot_height]).areas(frame.area());
    header(frame, head, app);
    app.drawn.preview = Rect::default();
    if app.zoom && app.selected_agent().is_some() {
        preview(frame, body, app, now, Borders::TOP);
    } else if body.width >= WIDE {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(48), Constraint::Percentage(52)]).areas(body);
        list(frame, left, app, now);
        preview(frame, right, app, now, Borders::LEFT);
    } else if body.height >= TALL {
        let [top, bottom] =
            Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(body);
        list(frame, top, app, now);
        preview(frame, bottom, app, now, Borders::TOP);
    } else {
        list(frame, body, app, now);
    }
    let foot_lines: Vec<Line> = foot_lines.iter().map(|line| Line::raw(format!(" {line}"))).collect();
    frame.render_widget(Paragraph::new(foot_lines).style(foot_style), foot);
    if app.help {
        help(frame, app);
    }
}

/// Colors of the 256 that are legible on dark and on light. The first sixteen depend on the user's theme and may not be.
fn color(group: Group) -> Style {
    if config::env("NO_COLOR").is_some() {
        let bold = if group == Group::NeedsYou { Modifier::BOLD } else { Modifier::empty() };
        return Style::new().add_modifier(bold);
    }
    Style::new().fg(Color::Indexed(match group {
        Group::NeedsYou => 214,
        Group::Error => 203,
        Group::Working => 33,
        Group::Background => 135,
        Group::Done => 35,
        Group::Idle => 245,
    }))
}

/// The style of secondary text.
fn faint() -> Style {
    color(Group::Idle)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// The counts, with their words if they fit; at the right, which agent is selected.
fn header(frame: &mut Frame, area: Rect, app: &TopState) {
    let position = format!(" {} ", app.position());
    let filter = if app.typing || !app.filter.is_empty() {
        let cursor = if app.typing { "▏" } else { "" };
        let room = usize::from(area.width).saturating_sub(width(&position) + 3);
        format!(" /{}{cursor}", fit_middle(&app.filter, room))
    } else {
        String::new()
    };
    let room = usize::from(area.width).saturating_sub(width(&position) + width(&filter));
    let counts = |words: bool| -> Vec<Span> {
        let title = if words { " headspace  " } else { " " };
        let one = |(group, count): (Group, usize)| match words {
            true => Span::styled(format!("{} {count} {}  ", group.glyph(), group.label()), color(group)),
            false => Span::styled(format!("{}{count} ", group.glyph()), color(group)),
        };
        std::iter::once(Span::styled(title, bold())).chain(app.counts().into_iter().map(one)).collect()
    };
    let columns = |spans: &[Span]| spans.iter().map(|span| width(&span.content)).sum::<usize>();
    let long = counts(true);
    let mut spans = if columns(&long) <= room { long } else { counts(false) };
    spans.push(Span::raw(filter));
    let gap = usize::from(area.width).saturating_sub(columns(&spans) + width(&position));
    spans.push(Span::raw(" ".repeat(gap)));
    spans.push(Span::styled(position, faint()));
    frame.render_widget(Line::from(spans), area);
}

/// Two lines per agent: its name, and what it does or asks.
fn list(frame: &mut Frame, area: Rect, app: &mut TopState, now: Stamp) {
    let board = app.board(now);
    let mut lines: Vec<(Option<AgentId>, Line)> = Vec::new();
    for row in &board.rows {
        let selected = Some(row.id) == app.selected;
        for line in lines_of(row, selected, usize::from(area.width)) {
            lines.push((Some(row.id), line));
        }
    }
    if lines.is_empty() {
        let text = match (app.filter.is_empty(), app.away) {
            (false, _) => "Nothing matches the filter.",
            (true, true) => "The server is not running, and no agent is stored: `headspace up` starts it.",
            (true, false) => "No agent yet. Start `claude` anywhere.",
        };
        let text = wrap(text, usize::from(area.width).saturating_sub(4));
        lines.extend(text.iter().map(|line| (None, Line::styled(format!("  {line}"), faint()))));
    }
    let height = usize::from(area.height);
    let last_selected = lines.iter().rposition(|(id, _)| id.is_some() && *id == app.selected).unwrap_or(0);
    let skip = (last_selected + 1).saturating_sub(height);
    app.drawn.page = (height / 2).max(1);
    app.drawn.rows = lines
        .iter()
        .skip(skip)
        .take(height)
        .zip(area.y..)
        .filter_map(|((id, _), row)| Some((row, (*id)?)))
        .collect();
    let shown: Vec<Line> = lines.into_iter().skip(skip).take(height).map(|(_, line)| line).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

fn lines_of(row: &Row, selected: bool, columns: usize) -> Vec<Line<'static>> {
    let base = if selected { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
    let mark = if row.stale || row.ended { faint() } else { color(row.group) };
    let context = row.context.map_or(String::new(), |percent| format!("  {percent:.0} %"));
    let tail = format!(" {}{context} ", row.age_phrase());
    let room = columns.saturating_sub(width(&tail) + 3);
    let mut lines = vec![
        Line::from(vec![
            Span::styled(format!(" {} ", row.group.glyph()), mark.add_modifier(Modifier::BOLD)),
            Span::styled(pad(&board::titled(row), room), bold()),
            Span::styled(tail, if row.group == Group::NeedsYou { mark } else { faint() }),
        ])
        .style(base),
    ];
    let about_style = if row.group == Group::NeedsYou { mark } else { faint() };
    let about = pad(row.words(), columns.saturating_sub(4));
    lines.push(Line::from(vec![Span::raw("   "), Span::styled(about, about_style)]).style(base));
    for subagent in &row.subagents {
        let style = if subagent.asks { color(Group::NeedsYou) } else { faint() };
        let text = format!("└ {} {}", fit(&subagent.kind, 24), subagent.about);
        lines.push(Line::styled(format!("   {}", fit(&text, columns.saturating_sub(4))), style).style(base));
    }
    lines
}

/// The visible part of the selected agent's page: where it was scrolled to, else its ask, else what was said last.
fn preview(frame: &mut Frame, area: Rect, app: &mut TopState, now: Stamp, side: Borders) {
    app.drawn.preview = area;
    let Some(agent) = app.selected_agent() else {
        frame.render_widget(Block::new().borders(side).border_style(faint()), area);
        return;
    };
    let inner = Block::new().borders(side).inner(area);
    let lines = page_of(agent, app, now, usize::from(inner.width).saturating_sub(1));
    let height = usize::from(inner.height);
    let most = lines.len().saturating_sub(height);
    // Show the ask first; without one, what was said last. Changes are read from the top.
    let natural = match app.page {
        Page::Card if !agent.interactions.is_empty() => 0,
        Page::Changes => 0,
        _ => most,
    };
    let from = app.preview_from.unwrap_or(natural).min(most);
    let above = (from > 0).then(|| format!("▲{from}"));
    let below = (from < most).then(|| format!("▼{}", most - from));
    let hint: Vec<String> = above.into_iter().chain(below).collect();
    let what = match app.page {
        Page::Card => "card",
        Page::Events => "events",
        Page::Changes => "changes",
    };
    let title = Line::styled(format!(" {what} {} ", hint.join(" ")), faint()).right_aligned();
    let mut block = Block::new().borders(side).border_style(faint());
    if side == Borders::TOP {
        block = block.title(title);
    }
    (app.drawn.preview_from, app.drawn.preview_most) = (from, most);
    let shown: Vec<Line> = lines.into_iter().skip(from).take(height).collect();
    frame.render_widget(Paragraph::new(shown).block(block), area);
}

/// The lines of an agent's page: its card, its events or its changes, the newest last.
fn page_of(agent: &AgentView, app: &TopState, now: Stamp, columns: usize) -> Vec<Line<'static>> {
    let mut card = Card::new(columns);
    if let Some(dialog) = app.dialog.as_ref().filter(|dialog| dialog.lists_all()) {
        card.prose(&format!("{} asks are exactly alike:", dialog.asks.len()), Tone::Bold, 0);
        for pending in &dialog.asks {
            card.prose(&format!("{} · in {}", pending.title, pending.cwd), Tone::Plain, 2);
        }
        card.blank();
    }
    match app.page {
        Page::Card => {
            if app.zoom {
                let row = agent.row(now);
                card.prose(&format!("{} · {}", board::titled(&row), row.age_phrase()), Tone::Bold, 0);
            }
            card.asks(agent, &app.preview.guard);
            card.facts(agent, now);
            card.blank();
            card.changed_files(&app.preview.changes);
            card.blank();
            card.conversation(&app.preview.turns);
            card.blank();
            card.doing(agent, &app.preview.events);
        }
        Page::Changes => {
            card.changed_files(&app.preview.changes);
            let left_out = card.diffs(&app.preview.changes, MAX_DIFF_LINES);
            if left_out > 0 {
                card.prose(&format!("… {left_out} more lines"), Tone::Faint, 2);
            }
            if app.preview.changes.files.is_empty() {
                card.prose("It has changed no file with its editing tools.", Tone::Faint, 0);
            }
        }
        Page::Events => return event_lines(app, columns),
    }
    let line = |line: CardLine| {
        Line::from(vec![Span::styled(line.label, faint()), Span::styled(line.text, tone(line.tone))])
    };
    card.lines.into_iter().map(line).collect()
}

/// More lines than a person scrolls through.
const MAX_DIFF_LINES: usize = 5_000;

fn tone(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Bold => bold(),
        Tone::Ask => color(Group::NeedsYou).add_modifier(Modifier::BOLD),
        Tone::Error | Tone::Removed => color(Group::Error),
        Tone::Faint => faint(),
        Tone::Added => color(Group::Done),
        Tone::Hunk => color(Group::Working),
    }
}

/// One line per event; the events of a tool call are one line, with how long it took and how it ended.
fn event_lines(app: &TopState, columns: usize) -> Vec<Line<'static>> {
    let rows = timeline::rows(&app.preview.events);
    rows.iter()
        .map(|row| {
            let took = row.took.map_or(String::new(), |took| match took.as_millis() {
                ms @ 0..1000 => format!("{ms} ms"),
                _ => duration(took),
            });
            let state = row.state.map_or("", CallState::word);
            let end = format!(" {took:>6} {state:<8}");
            let indent = if row.subagent.is_some() { "└ " } else { "" };
            let start = format!("{} {indent}", local_clock(row.at));
            let room = columns.saturating_sub(width(&start) + width(&end));
            let end_style = match row.state {
                Some(CallState::AsksYou) => color(Group::NeedsYou),
                Some(CallState::Failed | CallState::Interrupted) => color(Group::Error),
                Some(CallState::Running) => color(Group::Working),
                _ => faint(),
            };
            Line::from(vec![
                Span::styled(start, faint()),
                Span::raw(pad(&format!("{} {}", row.title, row.text), room)),
                Span::styled(end, end_style),
            ])
        })
        .collect()
}

/// Lines of the footer: a message says at its end what to do, and a person sees the end of what they type.
const FOOTER_LINES: usize = 4;

/// The keys that work here, or what has just happened, on as many lines as it takes.
fn footer(area: Rect, app: &TopState, now: Stamp) -> (Vec<String>, Style) {
    let (text, style) = if let Some(message) = &app.message {
        (message.clone(), color(Group::Error))
    } else if let Some(dialog) = &app.dialog {
        (dialog.prompt(), color(Group::NeedsYou))
    } else if app.typing {
        ("type to filter · Enter keeps it · Esc clears it".to_owned(), faint())
    } else if app.help {
        ("Esc closes the help · j k scroll".to_owned(), faint())
    } else if app.away {
        let why = if app.hub {
            "hub away, showing what was last known; `headspace hub status` says why"
        } else {
            "server away, showing what was last known; `headspace up` starts it"
        };
        (why.to_owned(), color(Group::Error))
    } else {
        let last = app.receiver.as_ref().and_then(|receiver| receiver.last_event_at);
        let last = last.map_or(String::new(), |at| format!(" · last event {} ago", duration(now.since(at))));
        let page = |page: Page, word: &'static str| if app.page == page { "card" } else { word };
        let (events, changes) = (page(Page::Events, "events"), page(Page::Changes, "changes"));
        let room = usize::from(area.width).saturating_sub(2);
        let keys = keys_that_fit(
            &[
                "? help",
                answer_keys(app),
                match (asks(app) && !app.zoom, app.hub) {
                    (true, _) => "Enter whole ask",
                    (false, true) => "",
                    (false, false) => "Enter jump",
                },
                "n next",
                if app.hub { "" } else { "r reply" },
                &if app.hub { String::new() } else { format!("c {changes}") },
                &format!("e {events}"),
                "J K scroll",
                "/ filter",
                "q quit",
            ],
            room,
        );
        let fits = width(&keys) + width(&last) + 2 <= usize::from(area.width);
        (if fits { keys + &last } else { keys }, faint())
    };
    let columns = usize::from(area.width).saturating_sub(2);
    let most = FOOTER_LINES.min(usize::from(area.height) / 3).max(1);
    let mut lines = wrap(&text, columns);
    if lines.len() > most {
        // Cut in the middle: the beginning says what it is about, the end what to do, or what was typed last.
        lines = wrap(&fit_middle(&text, columns * most - most), columns);
        // Lines end at blanks, so there may still be too many.
        let first = usize::from(most > 1);
        lines.drain(first..first + lines.len().saturating_sub(most));
    }
    (lines, style)
}

fn asks(app: &TopState) -> bool {
    app.selected_agent().is_some_and(|agent| !agent.interactions.is_empty())
}

/// The keys that answer the selected agent's ask, if it takes an answer.
fn answer_keys(app: &TopState) -> &'static str {
    let Some(ask) = app.selected_agent().and_then(decide::answerable) else { return "" };
    let can = ask.answer.can();
    match (can.contains(&Choice::Allow), can.contains(&Choice::Approve), can.contains(&Choice::Answers)) {
        (true, ..) => "a allow · d deny",
        (_, true, _) => "a approve · d keep planning",
        (.., true) => "a answer · d deny",
        _ => "d deny",
    }
}

/// As many of the keys as fit, the first ones first.
fn keys_that_fit(keys: &[&str], columns: usize) -> String {
    let mut line = String::new();
    for key in keys.iter().filter(|key| !key.is_empty()) {
        let separator = if line.is_empty() { "" } else { " · " };
        if width(&line) + width(separator) + width(key) <= columns {
            line += &format!("{separator}{key}");
        }
    }
    line
}

/// The table of keys, over the board. What does not fit is scrolled to.
fn help(frame: &mut Frame, app: &mut TopState) {
    let area = frame.area();
    let lines = help_lines(app.hub, usize::from(area.width).saturating_sub(2));
    let columns = lines.iter().map(|line| width(line)).max().unwrap_or(0) as u16 + 2;
    let (columns, height) = (columns.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let page = usize::from(height.saturating_sub(2));
    let most = lines.len().saturating_sub(page);
    (app.drawn.help_page, app.help_from) = (page, app.help_from.min(most));
    let below = most - app.help_from;
    let hint = if below > 0 { format!(" ▼{below} ") } else { String::new() };
    let shown: Vec<Line> = lines.into_iter().skip(app.help_from).take(page).map(Line::raw).collect();
    let place = Rect { x: (area.width - columns) / 2, y: (area.height - height) / 2, width: columns, height };
    // The right half of a wide character is under the border: the terminal would draw the character over it.
    for y in place.y..place.y + place.height {
        if let Some(left) = place.x.checked_sub(1).and_then(|x| frame.buffer_mut().cell_mut((x, y)))
            && width(left.symbol()) > 1
        {
            left.set_symbol(" ");
        }
    }
    frame.render_widget(Clear, place);
    let block = Block::bordered().title(" keys ").title_bottom(Line::raw(hint).right_aligned());
    frame.render_widget(Paragraph::new(shown).block(block), place);
}

/// The keys and what they do; a description that is too long continues below itself.
fn help_lines(hub: bool, columns: usize) -> Vec<String> {
    let mut rows: Vec<(String, &str)> = Vec::new();
    for (_, key, _, what) in KEYS.iter().filter(|(.., action, _)| !hub || action.works_on_a_hub()) {
        match rows.last_mut().filter(|_| what.is_empty()) {
            Some((keys, _)) => *keys += &format!(" {key}"),
            None => rows.push(((*key).to_owned(), what)),
        }
    }
    let widest = rows.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
    let room = columns.saturating_sub(widest + 3);
    let described = |(keys, what): &(String, &str)| -> Vec<String> {
        let described = wrap(what, room).into_iter().enumerate();
        described
            .map(|(at, line)| format!(" {} {line} ", pad(if at == 0 { keys } else { "" }, widest)))
            .collect()
    };
    rows.iter().flat_map(described).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::top::feed::News;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(app: &mut TopState, columns: u16, lines: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        terminal.draw(|frame| screen(frame, app)).unwrap();
        let buffer = terminal.backend().buffer();
        (0..lines)
            .map(|y| (0..columns).map(|x| buffer.cell((x, y)).map_or("", |cell| cell.symbol())).collect())
            .collect()
    }

    #[test]
    fn the_help_is_whole_in_every_size() {
        for (columns, lines) in [(40, 24), (40, 8), (80, 24), (80, 8), (120, 50)] {
            let mut app = TopState::new(false);
            app.help = true;
            let mut read = String::new();
            loop {
                let shown = drawn(&mut app, columns, lines);
                for line in shown.iter().filter(|line| line.contains('│')) {
                    let inside = line.split('│').nth(1).unwrap_or_default();
                    read += &format!(" {}", inside.trim());
                }
                if !shown.iter().any(|line| line.contains('▼')) {
                    break;
                }
                app.help_from += app.drawn.help_page;
            }
            let read = read.split_whitespace().collect::<Vec<_>>().join(" ");
            app.help_from = usize::MAX;
            assert!(drawn(&mut app, columns, lines).join("").contains("quit"));
            for word in ["jump to the agent that has waited", "withdraw all keys", "q quit"] {
                assert!(read.contains(word), "{columns}×{lines}: {word}\n{read}");
            }
        }
    }

    #[test]
    fn a_message_is_shown_to_its_end() {
        let why = "could not: this ask can be answered only in its own terminal, because answering is off; \
                   `headspace answer on` switches it on";
        for columns in [40, 80, 120] {
            let mut app = TopState::new(false);
            app.take(News::Said(why.into()));
            let shown = drawn(&mut app, columns, 24).join(" ");
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.ends_with("`headspace answer on` switches it on"), "{columns}: {shown}");
        }
    }
}
