//! The state of `top` and the meaning of its keys. Pure: news in, effects out.

use crate::commands::top::decide::{Decision, Dialog, Inert, Outcome};
use crate::commands::top::feed::{News, Preview};
use crate::view::board::{Board, Include};
use headspace_core::model;
use headspace_core::model::{AgentId, AgentView, Group};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use headspace_core::wire::HookStatus;
use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use ratatui::layout::{Position, Rect};
use std::collections::BTreeMap;
use std::time::Instant;

pub enum Effect {
    Quit,
    Jump(Box<AgentView>),
    Seen(AgentId),
    Preview(Box<AgentView>),
    OpenDashboard,
    /// Send what the person decided.
    Decide(Box<Decision>),
    /// Withdraw every key, so that no terminal or dashboard can answer.
    LockAnswering,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAction {
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    ScrollDown,
    ScrollUp,
    Enter,
    Jump,
    Allow,
    Deny,
    Reply,
    Stop,
    Lock,
    Next,
    Seen,
    Events,
    Changes,
    Open,
    Filter,
    Sort,
    All,
    Help,
    Back,
    Quit,
}

/// The table of keys: the key codes, how the help shows them, the action, the help text. A key without a text shares the
/// help line of the key before it.
pub const KEYS: &[(&[KeyCode], &str, KeyAction, &str)] = &[
    (&[KeyCode::Char('j'), KeyCode::Down], "j ↓", KeyAction::Down, "next, previous agent"),
    (&[KeyCode::Char('k'), KeyCode::Up], "k ↑", KeyAction::Up, ""),
    (&[KeyCode::PageDown, KeyCode::Char(' ')], "PgDn", KeyAction::PageDown, "a page down, up in the list"),
    (&[KeyCode::PageUp, KeyCode::Char('b')], "PgUp", KeyAction::PageUp, ""),
    (&[KeyCode::Char('g'), KeyCode::Home], "g", KeyAction::First, "first, last agent"),
    (&[KeyCode::Char('G'), KeyCode::End], "G", KeyAction::Last, ""),
    (&[KeyCode::Char('J'), KeyCode::Right], "J →", KeyAction::ScrollDown, "scroll the preview down, up"),
    (&[KeyCode::Char('K'), KeyCode::Left], "K ←", KeyAction::ScrollUp, ""),
    (
        &[KeyCode::Enter],
        "Enter",
        KeyAction::Enter,
        "show its whole ask; again, or without an ask: jump to its terminal",
    ),
    (&[KeyCode::Char('a')], "a", KeyAction::Allow, "allow, approve or answer what it asks"),
    (&[KeyCode::Char('d')], "d", KeyAction::Deny, "deny it, with a message"),
    (&[KeyCode::Char('r')], "r", KeyAction::Reply, "send its next prompt"),
    (&[KeyCode::Char('x')], "x", KeyAction::Stop, "stop what it is doing"),
    (&[KeyCode::Char('m')], "m", KeyAction::Jump, "move to its terminal pane"),
    (&[KeyCode::Char('L')], "L", KeyAction::Lock, "lock: withdraw all keys, so that nothing can be answered"),
    (
        &[KeyCode::Char('n')],
        "n",
        KeyAction::Next,
        "jump to the agent that has waited longest, then to the next",
    ),
    (&[KeyCode::Char('s')], "s", KeyAction::Seen, "mark as seen"),
    (&[KeyCode::Char('e')], "e", KeyAction::Events, "its events, or its card again"),
    (&[KeyCode::Char('c')], "c", KeyAction::Changes, "the diffs of its changes, or its card again"),
    (&[KeyCode::Char('o')], "o", KeyAction::Open, "open the dashboard"),
    (&[KeyCode::Char('/')], "/", KeyAction::Filter, "filter by name, client, project, branch or text"),
    (&[KeyCode::Char('t')], "t", KeyAction::Sort, "sort by attention or by project"),
    (&[KeyCode::Char('A')], "A", KeyAction::All, "ended and headless agents too"),
    (&[KeyCode::Char('?')], "?", KeyAction::Help, "this help"),
    (&[KeyCode::Esc], "Esc", KeyAction::Back, "close the ask or the help, clear the filter"),
    (&[KeyCode::Char('q')], "q", KeyAction::Quit, "quit"),
];

impl KeyAction {
    /// A team's board is only read: what acts on an agent is done on the agent's own machine.
    pub const fn works_on_a_hub(self) -> bool {
        use KeyAction::{Allow, Changes, Deny, Jump, Lock, Open, Reply, Stop};
        !matches!(self, Allow | Deny | Reply | Stop | Jump | Lock | Changes | Open)
    }
}

#[derive(Default)]
pub struct TopState {
    /// The board is a team's, on a hub.
    pub hub: bool,
    agents: BTreeMap<AgentId, AgentView>,
    /// An id, not a row: the selection follows the agent when the order changes.
    pub selected: Option<AgentId>,
    pub filter: String,
    pub typing: bool,
    pub help: bool,
    /// The first visible line of the help.
    pub help_from: usize,
    pub show_all: bool,
    pub by_project: bool,
    pub page: Page,
    pub away: bool,
    pub receiver: Option<HookStatus>,
    pub preview: Preview,
    /// The decision that is being made.
    pub dialog: Option<Dialog>,
    /// The preview fills the screen.
    pub zoom: bool,
    /// How long the current ask has been on the screen.
    inert: Inert,
    /// When the news being handled arrived; `None` before the first.
    pub clock: Option<Instant>,
    /// The same time on the wall clock, to compare with times in events.
    pub wall_clock: Option<Stamp>,
    /// The agent whose preview was requested last; `None` if that preview is out of date.
    preview_of: Option<AgentId>,
    /// The agent whose preview is shown.
    shown: Option<AgentId>,
    /// The agent that `n` jumped to last.
    last_next: Option<AgentId>,
    pub message: Option<String>,
    /// What the screen looked like when it was last drawn.
    pub drawn: Drawn,
    /// The first visible line of the preview; `None`: the ask if there is one, else the newest line.
    pub preview_from: Option<usize>,
}

/// The page of an agent that the preview shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// The ask, the facts, the conversation.
    #[default]
    Card,
    Events,
    Changes,
}

/// Where things were drawn, so that clicks, the wheel and page keys know what they are about.
#[derive(Default)]
pub struct Drawn {
    /// Screen row ▶ agent.
    pub rows: Vec<(u16, AgentId)>,
    /// Agents on one page of the list.
    pub page: usize,
    /// Where the preview is.
    pub preview: Rect,
    /// The first visible line of the preview, and the largest value it can have.
    pub preview_from: usize,
    pub preview_most: usize,
    /// The visible lines of the help.
    pub help_page: usize,
}

/// Lines that one key or one turn of the wheel scrolls.
const SCROLL_LINES: isize = 3;

impl TopState {
    pub fn new(show_all: bool) -> TopState {
        TopState { show_all, ..TopState::default() }
    }

    /// The agents to show, in order.
    pub fn board(&self, now: Stamp) -> Board {
        let show = Include { ended: self.show_all, headless: self.show_all };
        let words = self.filter.to_lowercase();
        let matches = |agent: &&AgentView| {
            words.split_whitespace().all(|word| {
                [
                    Some(&agent.name),
                    Some(&agent.client),
                    agent.project.as_ref(),
                    agent.branch.as_ref(),
                    agent.status_detail.as_ref(),
                ]
                .into_iter()
                .flatten()
                .any(|text| text.to_lowercase().contains(word))
            })
        };
        let agents: Vec<AgentView> = self.agents.values().filter(matches).cloned().collect();
        let mut rows = model::rows(&agents, now);
        if self.by_project {
            rows.sort_by(|a, b| a.project.cmp(&b.project));
        }
        Board::new(rows, show)
    }

    /// Like [`TopState::board`], for callers that need no ages.
    fn order(&self) -> Board {
        self.board(Stamp(0))
    }

    pub fn selected_agent(&self) -> Option<&AgentView> {
        self.agents.get(&self.selected?)
    }

    pub fn take(&mut self, news: News) -> Vec<Effect> {
        match news {
            News::Agents(agents) => {
                self.away = false;
                self.agents = agents.into_iter().map(|agent| (agent.id, agent)).collect();
            }
            News::Agent(agent) => {
                self.away = false;
                if self.preview_of == Some(agent.id) {
                    self.preview_of = None;
                }
                self.agents.insert(agent.id, *agent);
            }
            News::Removed(id) => drop(self.agents.remove(&id)),
            News::Receiver(receiver) => self.receiver = Some(*receiver),
            News::Preview { agent_id, preview } if Some(agent_id) == self.selected => self.preview = *preview,
            News::Preview { .. } => {}
            News::Said(text) => self.message = Some(text),
            News::Away { stored } => {
                self.away = true;
                // Agents already seen live are newer than the stored ones.
                if self.agents.is_empty() {
                    self.agents = stored.into_iter().map(|agent| (agent.id, agent)).collect();
                }
            }
            News::Input(Event::Key(key)) if key.kind != KeyEventKind::Release => return self.key(key),
            News::Input(Event::Mouse(mouse)) => match mouse.kind {
                MouseEventKind::ScrollDown => self.wheel(1, Position::new(mouse.column, mouse.row)),
                MouseEventKind::ScrollUp => self.wheel(-1, Position::new(mouse.column, mouse.row)),
                MouseEventKind::Down(MouseButton::Left) if self.dialog.is_none() && !self.help => {
                    let in_preview = self.drawn.preview.contains(Position::new(mouse.column, mouse.row));
                    let hit = self.drawn.rows.iter().find(|(row, _)| *row == mouse.row);
                    if let Some((_, id)) = hit.filter(|_| !in_preview) {
                        self.selected = Some(*id);
                    }
                }
                _ => {}
            },
            News::Input(_) => {}
        }
        self.settle()
    }

    /// Ends a decision whose ask has changed: it is no longer the ask the person looked at.
    fn look_again(&mut self) {
        let shown = self.selected_agent();
        let stands = |dialog: &Dialog| {
            shown.is_some_and(|agent| agent.id == dialog.agent_id) && dialog.still_stands(shown)
        };
        if let Some(dialog) = self.dialog.as_ref().filter(|dialog| !stands(dialog)) {
            self.message = Some(dialog.why_over(self.agents.get(&dialog.agent_id), self.wall_clock));
            self.dialog = None;
        }
    }

    /// Keeps the selection on an agent that exists, and requests its preview when the selection changed.
    fn settle(&mut self) -> Vec<Effect> {
        let board = self.order();
        if !board.rows.iter().any(|agent| Some(agent.id) == self.selected) {
            self.selected = board.rows.first().map(|agent| agent.id);
        }
        self.look_again();
        if let Some(now) = self.clock {
            let shown = self.selected.and_then(|id| self.agents.get(&id));
            self.inert.look(shown, now);
        }
        if self.selected == self.preview_of {
            return Vec::new();
        }
        if self.shown != self.selected {
            (self.preview_from, self.zoom) = (None, false);
            self.preview = Preview::default();
        }
        (self.preview_of, self.shown) = (self.selected, self.selected);
        self.selected_agent().cloned().map(Box::new).map(Effect::Preview).into_iter().collect()
    }

    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return vec![Effect::Quit];
        }
        if self.typing {
            match key.code {
                KeyCode::Enter => self.typing = false,
                KeyCode::Esc => (self.typing, self.filter) = (false, String::new()),
                KeyCode::Backspace => drop(self.filter.pop()),
                KeyCode::Char(c) => self.filter.push(c),
                _ => {}
            }
            return self.settle();
        }
        if let Some(mut dialog) = self.dialog.take() {
            let mut effects = match dialog.key(key.code) {
                Outcome::Open => {
                    self.dialog = Some(dialog);
                    Vec::new()
                }
                Outcome::Refused(why) => {
                    (self.dialog, self.message) = (Some(dialog), Some(why));
                    Vec::new()
                }
                Outcome::Canceled => Vec::new(),
                Outcome::Decided(decision) => vec![Effect::Decide(Box::new(decision))],
            };
            effects.extend(self.settle());
            return effects;
        }
        let Some((_, _, action, _)) = KEYS.iter().find(|(codes, ..)| codes.contains(&key.code)) else {
            return Vec::new();
        };
        if self.hub && !self.help && !action.works_on_a_hub() {
            self.message =
                Some("not from a team's board: do it on the machine that the agent runs on".into());
            return self.settle();
        }
        let mut effects = self.act(*action);
        effects.extend(self.settle());
        effects
    }

    fn act(&mut self, action: KeyAction) -> Vec<Effect> {
        if self.help {
            return self.act_on_help(action);
        }
        match action {
            KeyAction::Down => self.step(1),
            KeyAction::Up => self.step(-1),
            KeyAction::PageDown => self.step(self.drawn.page.max(1).cast_signed()),
            KeyAction::PageUp => self.step(-self.drawn.page.max(1).cast_signed()),
            KeyAction::ScrollDown => self.scroll(SCROLL_LINES),
            KeyAction::ScrollUp => self.scroll(-SCROLL_LINES),
            KeyAction::First => self.selected = self.order().rows.first().map(|agent| agent.id),
            KeyAction::Last => self.selected = self.order().rows.last().map(|agent| agent.id),
            KeyAction::Enter
                if !self.zoom
                    && self.selected_agent().is_some_and(|agent| !agent.interactions.is_empty()) =>
            {
                (self.zoom, self.page, self.preview_from) = (true, Page::Card, None);
            }
            KeyAction::Allow => self.begin(|agent, agents| Dialog::answer(agent, agents, true)),
            KeyAction::Deny => self.begin(|agent, agents| Dialog::answer(agent, agents, false)),
            KeyAction::Reply => self.begin(|agent, _| Ok(Dialog::reply(agent))),
            KeyAction::Stop => self.begin(|agent, _| Ok(Dialog::stop(agent))),
            KeyAction::Lock => return vec![Effect::LockAnswering],
            KeyAction::Enter if self.hub => {
                self.message = self.selected_agent().map(|agent| {
                    let host = agent.host.as_deref().unwrap_or("another machine");
                    format!("it runs on {}: its terminal is there", one_line(host, 60))
                });
            }
            KeyAction::Enter | KeyAction::Jump => {
                return self.selected_agent().cloned().map(Box::new).map(Effect::Jump).into_iter().collect();
            }
            KeyAction::Next => match self.next_waiting().and_then(|id| self.agents.get(&id)).cloned() {
                Some(agent) => {
                    (self.selected, self.last_next) = (Some(agent.id), Some(agent.id));
                    if self.hub {
                        return Vec::new();
                    }
                    return vec![Effect::Jump(Box::new(agent))];
                }
                None => self.message = Some("no agent needs you".into()),
            },
            KeyAction::Seen => return self.selected.map(Effect::Seen).into_iter().collect(),
            KeyAction::Events => self.turn_to(Page::Events),
            KeyAction::Changes => self.turn_to(Page::Changes),
            KeyAction::Open => return vec![Effect::OpenDashboard],
            KeyAction::Filter => self.typing = true,
            KeyAction::Sort => self.by_project = !self.by_project,
            KeyAction::All => self.show_all = !self.show_all,
            KeyAction::Help => (self.help, self.help_from) = (true, 0),
            KeyAction::Back if self.zoom => self.zoom = false,
            KeyAction::Back => self.filter.clear(),
            KeyAction::Quit => return vec![Effect::Quit],
        }
        Vec::new()
    }

    /// While the help covers the board, keys move the help: what they would do behind it, nobody sees.
    fn act_on_help(&mut self, action: KeyAction) -> Vec<Effect> {
        let page = self.drawn.help_page.max(1).cast_signed();
        match action {
            KeyAction::Quit => return vec![Effect::Quit],
            KeyAction::Help | KeyAction::Back => self.help = false,
            KeyAction::Down | KeyAction::ScrollDown => self.scroll_help(1),
            KeyAction::Up | KeyAction::ScrollUp => self.scroll_help(-1),
            KeyAction::PageDown => self.scroll_help(page),
            KeyAction::PageUp => self.scroll_help(-page),
            KeyAction::First => self.help_from = 0,
            KeyAction::Last => self.help_from = usize::MAX,
            _ => {}
        }
        Vec::new()
    }

    /// Where the help ends is known when it is drawn, and several keys may come before that.
    fn scroll_help(&mut self, by: isize) {
        self.help_from = self.help_from.saturating_add_signed(by);
    }

    /// Begins a decision about the selected agent, unless its ask has only just appeared.
    fn begin(&mut self, dialog: impl Fn(&AgentView, &[&AgentView]) -> Result<Dialog, String>) {
        let Some(agent) = self.selected_agent() else { return };
        if !self.clock.is_some_and(|now| self.inert.is_over(now)) {
            self.message = Some("this has only just appeared: look first".into());
            return;
        }
        let all: Vec<&AgentView> = self.agents.values().filter(|agent| agent.ended_at.is_none()).collect();
        match dialog(agent, &all) {
            Ok(dialog) => {
                // A person who decides must see the whole ask.
                let asks = !dialog.asks.is_empty();
                (self.dialog, self.zoom) = (Some(dialog), self.zoom || asks);
                if asks {
                    (self.page, self.preview_from) = (Page::Card, None);
                }
            }
            Err(why) => self.message = Some(format!("could not: {}", one_line(&why, 160))),
        }
    }

    /// Shows this page of the agent, or the card again.
    fn turn_to(&mut self, page: Page) {
        self.page = if self.page == page { Page::Card } else { page };
        self.preview_from = None;
    }

    /// The agent that has waited longest; pressed again, the next one, in a circle. Otherwise an agent that cannot be
    /// reached would block the way to the others.
    fn next_waiting(&self) -> Option<AgentId> {
        let waiting: Vec<AgentId> = self.order().waiting().map(|row| row.id).collect();
        let last = waiting.iter().position(|id| Some(*id) == self.last_next);
        waiting.get(last.map_or(0, |at| (at + 1) % waiting.len())).copied()
    }

    /// The wheel scrolls whatever is under the pointer.
    fn wheel(&mut self, by: isize, at: Position) {
        if self.help {
            self.scroll_help(by * SCROLL_LINES);
        } else if self.drawn.preview.contains(at) {
            self.scroll(by * SCROLL_LINES);
        } else {
            self.step(by);
        }
    }

    fn scroll(&mut self, by: isize) {
        let Drawn { preview_from, preview_most, .. } = self.drawn;
        let to = preview_from.saturating_add_signed(by).min(preview_most);
        self.drawn.preview_from = to;
        self.preview_from = Some(to);
    }

    /// "12/60": which one is selected, of how many.
    pub fn position(&self) -> String {
        let rows = self.order().rows;
        let at = rows.iter().position(|row| Some(row.id) == self.selected);
        at.map_or(String::new(), |at| format!("{}/{}", at + 1, rows.len()))
    }

    fn step(&mut self, by: isize) {
        let rows = self.order().rows;
        let at = rows.iter().position(|agent| Some(agent.id) == self.selected).unwrap_or(0);
        let to = at.saturating_add_signed(by).min(rows.len().saturating_sub(1));
        self.selected = rows.get(to).map(|agent| agent.id);
    }

    /// The groups that are not empty, for the header.
    pub fn counts(&self) -> Vec<(Group, usize)> {
        let board = self.order();
        Group::ALL.iter().map(|group| (*group, board.count(*group))).filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests;
