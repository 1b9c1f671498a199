//! The board of another machine, as its relay reports it. Pure: lines in, changes out.
//!
//! A relay may be broken or hostile. Whatever it sends, only agents of its own machine are shown, up to a number of
//! agents and bytes, and none of its words decides what is run here.

use crate::machines::machine::Machine;
use crate::machines::relay_line::{Beat, Introduction, PROTOCOL, RelayLine, WholeBoard};
use headspace_core::model::{AgentId, AgentView, AnswerView, MachineName};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The most agents shown for one machine, including ended ones.
pub const MOST_AGENTS: usize = 1000;
/// The most ended agents kept for one machine, for `status --all`: those that ended last.
const MOST_ENDED: usize = 100;
/// The most bytes that the agents of one machine may take, by the length of their lines.
pub const MOST_BYTES: usize = 16 << 20;
/// The most characters in a name, a branch or a host, which appear in lists.
const LONGEST_NAME: usize = 200;
/// The most sessions kept for one agent.
const MOST_SESSIONS: usize = 50;
/// Clocks that differ by less count as equal: the line itself takes time.
const CLOCKS_AGREE_WITHIN: Duration = Duration::from_secs(5);

/// What a line changed.
#[derive(Debug, Default)]
pub struct Changes {
    pub shown: Vec<Arc<AgentView>>,
    pub gone: Vec<AgentId>,
    /// The board is complete now: after a start, nothing on it is news.
    pub whole: bool,
}

#[derive(Debug)]
pub struct FarBoard {
    machine: MachineName,
    /// How the machine is reached, if known.
    reached: Option<Machine>,
    agents: BTreeMap<i64, Entry>,
    bytes: usize,
    /// Agents received since the introduction, until the board is complete.
    arriving: Option<BTreeMap<i64, Entry>>,
    introduction: Option<Introduction>,
    not_heard_since: Option<Stamp>,
    /// When it last sent something that made sense.
    heard_at: Option<Stamp>,
    /// How far that machine's clock is behind ours, in nanoseconds, if it needs correcting.
    behind: i64,
    /// Agents for which there was no room.
    pub left_out: u64,
    /// Lines that were not understood.
    pub rubbish: u64,
}

#[derive(Debug)]
struct Entry {
    view: Arc<AgentView>,
    bytes: usize,
}

/// Why a relay's lines are not accepted.
#[derive(Debug, PartialEq, Eq)]
pub struct NotTaken(pub String);

impl FarBoard {
    pub fn new(machine: MachineName) -> FarBoard {
        FarBoard {
            machine,
            reached: None,
            agents: BTreeMap::new(),
            bytes: 0,
            arriving: None,
            introduction: None,
            not_heard_since: None,
            heard_at: None,
            behind: 0,
            left_out: 0,
            rubbish: 0,
        }
    }

    /// The board of a machine that is reached this way.
    pub fn of(machine: &Machine) -> FarBoard {
        FarBoard { reached: Some(machine.clone()), ..FarBoard::new(machine.name) }
    }

    pub fn introduction(&self) -> Option<&Introduction> {
        self.introduction.as_ref()
    }

    /// The number of agents that have not ended.
    pub fn present(&self) -> usize {
        self.agents.values().filter(|entry| entry.view.ended_at.is_none()).count()
    }

    pub fn not_heard_since(&self) -> Option<Stamp> {
        self.not_heard_since
    }

    /// Whether the board is complete and its line is up.
    pub fn is_heard(&self) -> bool {
        self.introduction.is_some() && self.arriving.is_none()
    }

    /// All agents that are shown.
    pub fn ids(&self) -> Vec<AgentId> {
        self.agents.keys().map(|number| AgentId::on(self.machine, *number)).collect()
    }

    /// Handles a line. Answers are handled elsewhere and change nothing here.
    pub fn take(&mut self, line: RelayLine, bytes: usize, now: Stamp) -> Result<Changes, NotTaken> {
        let mut changes = Changes::default();
        if self.introduction.is_some() {
            self.heard_at = Some(now);
        }
        match line {
            RelayLine::Relay(introduction) => self.introduce(introduction, now)?,
            // Until it has introduced itself, nothing it sends counts.
            _ if self.introduction.is_none() => self.rubbish += 1,
            RelayLine::Agent(view) => {
                let Some(entry) = self.adopt(*view, bytes) else {
                    self.rubbish += 1;
                    return Ok(changes);
                };
                let number = entry.view.id.number;
                match &mut self.arriving {
                    Some(arriving) => {
                        if has_room(arriving, number, bytes) {
                            arriving.insert(number, entry);
                        } else {
                            self.left_out += 1;
                        }
                    }
                    None => self.update(number, entry, &mut changes),
                }
            }
            RelayLine::Board(WholeBoard { .. }) => self.become_whole(&mut changes),
            RelayLine::Gone(number) => {
                if self.remove(number) {
                    changes.gone.push(AgentId::on(self.machine, number));
                }
            }
            RelayLine::Beat(Beat { at }) => self.compare_clocks(at, now),
            RelayLine::Answer(_) => {}
        }
        Ok(changes)
    }

    /// The line is cut: every agent stays as it was, and shows since when that is out of date. A machine whose line
    /// never came up has nothing to show.
    pub fn cut(&mut self) -> Changes {
        self.arriving = None;
        self.introduction = None;
        let mut changes = Changes::default();
        let Some(heard_at) = self.heard_at else { return changes };
        let since = *self.not_heard_since.get_or_insert(heard_at);
        for entry in self.agents.values_mut() {
            if entry.view.not_heard_since.is_none() {
                let mut view = AgentView::clone(&entry.view);
                view.not_heard_since = Some(since);
                view.summary = view.summarize();
                entry.view = Arc::new(view);
                changes.shown.push(Arc::clone(&entry.view));
            }
        }
        changes
    }

    fn introduce(&mut self, introduction: Introduction, now: Stamp) -> Result<(), NotTaken> {
        if introduction.protocol != PROTOCOL {
            let version = one_line(&introduction.version, 40);
            return Err(NotTaken(format!(
                "headspace {version} there speaks another version of the relay's language: bring both to the same version"
            )));
        }
        self.behind = 0;
        self.compare_clocks(introduction.at, now);
        self.arriving = Some(BTreeMap::new());
        (self.left_out, self.rubbish) = (0, 0);
        self.introduction = Some(introduction);
        Ok(())
    }

    fn compare_clocks(&mut self, theirs: Stamp, now: Stamp) {
        let behind = now.0.saturating_sub(theirs.0);
        let agree = Duration::from_nanos(behind.unsigned_abs()) < CLOCKS_AGREE_WITHIN;
        // Set once per connection: if the offset moved with every beat, all times would keep changing.
        if self.behind == 0 && !agree {
            self.behind = behind;
        }
    }

    fn become_whole(&mut self, changes: &mut Changes) {
        let Some(arrived) = self.arriving.take() else { return };
        let before = std::mem::replace(&mut self.agents, arrived);
        self.bytes = self.agents.values().map(|entry| entry.bytes).sum();
        self.not_heard_since = None;
        changes.whole = true;
        changes.gone = before
            .keys()
            .filter(|id| !self.agents.contains_key(id))
            .map(|id| AgentId::on(self.machine, *id))
            .collect();
        changes.shown = self.agents.values().map(|entry| Arc::clone(&entry.view)).collect();
    }

    fn update(&mut self, number: i64, entry: Entry, changes: &mut Changes) {
        let old = self.agents.get(&number).map_or(0, |entry| entry.bytes);
        let fits = self.bytes - old + entry.bytes <= MOST_BYTES;
        if !fits || (old == 0 && self.agents.len() >= MOST_AGENTS && !self.drop_an_ended_one(changes)) {
            self.left_out += 1;
            return;
        }
        self.bytes = self.bytes - old + entry.bytes;
        changes.shown.push(Arc::clone(&entry.view));
        let ended = entry.view.ended_at.is_some();
        self.agents.insert(number, entry);
        if ended && self.agents.len() - self.present() > MOST_ENDED {
            self.drop_an_ended_one(changes);
        }
    }

    /// Makes room by removing the agent that ended first.
    fn drop_an_ended_one(&mut self, changes: &mut Changes) -> bool {
        let ended = self.agents.iter().filter_map(|(number, entry)| Some((entry.view.ended_at?, *number)));
        let Some((_, number)) = ended.min() else { return false };
        changes.gone.push(AgentId::on(self.machine, number));
        self.remove(number)
    }

    fn remove(&mut self, number: i64) -> bool {
        let removed = self.agents.remove(&number);
        self.bytes -= removed.as_ref().map_or(0, |entry| entry.bytes);
        removed.is_some()
    }

    /// The agent as it may be shown here, or `None` if it does not belong to that machine.
    fn adopt(&self, mut view: AgentView, bytes: usize) -> Option<Entry> {
        let number = view.id.own()?;
        if number < 1 || view.machine.is_some() {
            return None;
        }
        view.id = AgentId::on(self.machine, number);
        (view.machine, view.elsewhere, view.not_heard_since) = (Some(self.machine), true, None);
        let introduced = self.introduction.as_ref().and_then(|introduction| introduction.host.clone());
        view.host = view.host.or(introduced).or_else(|| Some(self.machine.to_string()));
        // Processes, windows and files of another machine may have the same names as ours, but they are not ours.
        (view.claude_pid, view.claude_pid_start, view.terminal, view.transcript_path) =
            (None, None, None, None);
        view.tmux_pane = view.tmux_pane.filter(|pane| is_pane(pane));
        for text in [&mut view.name, &mut view.client, &mut view.session_id] {
            bound(text);
        }
        let names = [
            &mut view.project,
            &mut view.branch,
            &mut view.host,
            &mut view.tmux_session,
            &mut view.role,
            &mut view.mode,
            &mut view.model,
            &mut view.permission_mode,
            &mut view.end_reason,
        ];
        names.into_iter().flatten().for_each(bound);
        view.sessions.truncate(MOST_SESSIONS);
        view.sessions.iter_mut().for_each(bound);
        // Its questions may have the same numbers as questions here, but a person there has to answer them.
        for open in &mut view.interactions {
            open.answer = AnswerView::terminal(format!("answer on {}", self.machine));
        }
        view.resume = self.reached.as_ref().and_then(|machine| {
            let command = headspace_clients::named(&view.client)?.resume_command(&view.session_id);
            machine.resume(view.cwd.as_deref(), &command)
        });
        self.correct_clock(&mut view);
        view.summary = view.summarize();
        Some(Entry { view: Arc::new(view), bytes })
    }

    /// Converts its times to our clock if the two differ: ages are counted from the time here.
    fn correct_clock(&self, view: &mut AgentView) {
        if self.behind == 0 {
            return;
        }
        let shift = |at: &mut Stamp| at.0 = at.0.saturating_add(self.behind);
        [&mut view.started_at, &mut view.last_active_at, &mut view.source_at].into_iter().for_each(shift);
        [&mut view.waiting_since, &mut view.ended_at].into_iter().flatten().for_each(shift);
        view.current_command.iter_mut().for_each(|command| shift(&mut command.started_at));
        view.interactions.iter_mut().for_each(|open| shift(&mut open.opened_at));
        for subagent in &mut view.subagents {
            shift(&mut subagent.started_at);
            subagent.ended_at.iter_mut().for_each(shift);
        }
    }
}

fn has_room(agents: &BTreeMap<i64, Entry>, number: i64, bytes: usize) -> bool {
    let known = agents.contains_key(&number);
    let taken: usize = agents.values().map(|entry| entry.bytes).sum();
    known || (agents.len() < MOST_AGENTS && taken + bytes <= MOST_BYTES)
}

fn bound(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(LONGEST_NAME) {
        text.truncate(end);
    }
}

fn is_pane(pane: &str) -> bool {
    pane.strip_prefix('%').is_some_and(|digits| {
        !digits.is_empty() && digits.len() < 10 && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::model::{Group, Status};
    use serde_json::{Value, json};

    const NOW: Stamp = Stamp(1_000_000_000_000_000_000);

    fn agent(number: i64) -> Value {
        json!({"agent": {
            "id": number, "session_id": format!("s{number}"), "sessions": [], "name": "fix", "project": "api",
            "state": "idle", "status": "attention", "group": "needs_you", "unseen": false, "stale": false, "headless": false,
            "started_at": NOW, "last_active_at": NOW, "waiting_since": NOW, "background": [], "interactions": [],
            "subagents": [], "turn_count": 0, "source": "hook", "source_at": NOW, "confidence": "high",
            "claude_pid": 1, "claude_pid_start": 1, "tmux_pane": "%1; rm -rf /", "terminal": {"tmux_socket": "/x"},
            "transcript_path": "/etc/passwd",
        }})
    }

    fn say(board: &mut FarBoard, line: &Value) -> Changes {
        let text = line.to_string();
        let read = RelayLine::read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
        board.take(read, text.len(), NOW).unwrap()
    }

    fn introduced(at: Stamp) -> FarBoard {
        let mut board = FarBoard::new(MachineName::new("devbox").unwrap());
        say(&mut board, &json!({"relay": {"protocol": 1, "version": "0.1.0", "host": "box", "at": at}}));
        board
    }

    fn whole(agents: impl IntoIterator<Item = i64>) -> FarBoard {
        let mut board = introduced(NOW);
        for number in agents {
            assert!(say(&mut board, &agent(number)).shown.is_empty());
        }
        say(&mut board, &json!({"board": {"agents": 1}}));
        board
    }

    #[test]
    fn a_board_stands_when_it_is_whole_and_follows_the_changes() {
        let mut board = introduced(NOW);
        assert!(say(&mut board, &agent(3)).shown.is_empty());
        let changes = say(&mut board, &json!({"board": {"agents": 1}}));
        let view = &changes.shown[0];
        assert_eq!((view.id.to_string().as_str(), view.host.as_deref()), ("devbox/3", Some("box")));
        assert!(changes.whole && view.elsewhere && view.summary.title == "devbox: api · fix");
        assert_eq!(board.present(), 1);
        assert_eq!(say(&mut board, &agent(4)).shown.len(), 1);
        assert_eq!(say(&mut board, &json!({"gone": 3})).gone, [AgentId::on(board.machine, 3)]);
        assert!(say(&mut board, &json!({"gone": 3})).gone.is_empty());
    }

    #[test]
    fn a_cut_line_changes_no_state_and_a_line_that_returns_replaces_the_board() {
        let mut board = whole([1, 2]);
        let cut = board.cut();
        assert_eq!(cut.shown.len(), 2);
        for view in &cut.shown {
            assert_eq!(view.not_heard_since, Some(NOW));
            assert_eq!((view.status, view.group, view.ended_at), (Status::Attention, Group::NeedsYou, None));
        }
        assert!(board.cut().shown.is_empty());
        assert_eq!(board.not_heard_since(), Some(NOW));
        say(&mut board, &json!({"relay": {"protocol": 1, "at": NOW}}));
        say(&mut board, &agent(2));
        // Not before it is complete: a line that is cut before that has reported nothing.
        assert_eq!(board.ids().len(), 2);
        let back = say(&mut board, &json!({"board": {"agents": 1}}));
        assert_eq!((back.gone.len(), back.shown.len(), back.shown[0].not_heard_since), (1, 1, None));
        assert!(board.is_heard() && board.not_heard_since().is_none());
    }

    #[test]
    fn a_relay_can_show_only_its_own_agents() {
        let mut board = whole([]);
        for (field, value) in
            [("id", json!("other/3")), ("id", json!(0)), ("id", json!(-1)), ("machine", json!("other"))]
        {
            let mut line = agent(1);
            line["agent"][field] = value;
            assert!(say(&mut board, &line).shown.is_empty(), "{field}");
        }
        assert_eq!((board.rubbish, board.present()), (4, 0));
        let mut unknown = FarBoard::new(MachineName::new("devbox").unwrap());
        assert!(say(&mut unknown, &agent(1)).shown.is_empty());
    }

    #[test]
    fn nothing_of_a_foreign_agent_points_at_something_here() {
        let mut board = whole([]);
        let view = say(&mut board, &agent(1)).shown.remove(0);
        assert_eq!((view.claude_pid, view.claude_pid_start, &view.tmux_pane), (None, None, &None));
        assert!(view.terminal.is_none() && view.transcript_path.is_none());
    }

    #[test]
    fn a_flood_of_agents_and_bytes_is_bounded() {
        let mut board = whole(1..=MOST_AGENTS as i64 + 50);
        assert_eq!((board.present(), board.left_out), (MOST_AGENTS, 50));
        assert!(say(&mut board, &agent(5000)).shown.is_empty());
        let mut fat = whole([]);
        let mut line = agent(1);
        line["agent"]["status_detail"] = json!("x".repeat(900 << 10));
        for number in 1..40 {
            line["agent"]["id"] = json!(number);
            say(&mut fat, &line);
        }
        assert!(fat.bytes <= MOST_BYTES && fat.present() < 20 && fat.left_out > 0);
        let mut named = agent(9);
        named["agent"]["name"] = json!("n".repeat(5000));
        assert_eq!(say(&mut whole([]), &named).shown[0].name.len(), LONGEST_NAME);
    }

    #[test]
    fn of_those_that_ended_only_the_last_stay() {
        let mut board = whole([]);
        for number in 1..=MOST_ENDED as i64 + 10 {
            let mut line = agent(number);
            line["agent"]["ended_at"] = json!(Stamp(NOW.0 + number));
            say(&mut board, &line);
        }
        assert_eq!((board.agents.len(), board.agents.keys().next()), (MOST_ENDED, Some(&11)));
    }

    #[test]
    fn ages_are_by_our_clock_when_theirs_is_wrong() {
        let hour = 3_600_000_000_000;
        let mut board = introduced(Stamp(NOW.0 - hour));
        say(&mut board, &json!({"board": {"agents": 0}}));
        let mut line = agent(1);
        line["agent"]["waiting_since"] = json!(Stamp(NOW.0 - hour));
        let view = say(&mut board, &line).shown.remove(0);
        assert_eq!(view.waiting_since, Some(NOW));
        let mut close = introduced(Stamp(NOW.0 - 1_000_000_000));
        say(&mut close, &json!({"board": {"agents": 0}}));
        assert_eq!(say(&mut close, &agent(1)).shown[0].waiting_since, Some(NOW));
    }

    #[test]
    fn another_protocol_is_refused_with_what_to_do() {
        let mut board = FarBoard::new(MachineName::new("devbox").unwrap());
        let line = json!({"relay": {"protocol": 2, "version": "9\u{1b}[2J", "at": NOW}}).to_string();
        let refused = board.take(RelayLine::read(line.as_bytes()).unwrap(), 1, NOW).unwrap_err();
        assert!(refused.0.contains("same version") && !refused.0.contains('\u{1b}'), "{refused:?}");
    }
}
