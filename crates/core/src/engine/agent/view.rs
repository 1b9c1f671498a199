//! The agent as a person sees it. Reads an agent and the time, changes nothing.

use crate::engine::agent::{Agent, Phase};
use crate::engine::context::window;
use crate::engine::subagents;
use crate::model::*;
use crate::stamp::Stamp;
use std::time::Duration;

/// After this long without activity an agent is shown dimmed. It is not a state.
const STALE_AFTER: Duration = Duration::from_secs(8 * 60 * 60);
/// A headless run cannot be answered, and the client denies at once. Only a request that stays open this long is a
/// question.
const HEADLESS_ASKS_AFTER: Duration = Duration::from_secs(1);
/// Between the end of a background agent and the prompt that reports it (0.2 to 1.2 s measured) the agent is not done.
const REPORT_FOLLOWS_WITHIN: Duration = Duration::from_secs(3);
/// A working agent on another machine that is silent for this long may be gone; its process cannot be checked.
const UNHEARD_AFTER: Duration = Duration::from_secs(5 * 60);
/// After this long, a question of a client that does not report answers may have been answered.
const QUESTION_UNCONFIRMED_AFTER: Duration = Duration::from_secs(8);
/// After this long, the work of a client that reports neither Esc nor errors may be over.
const WORK_UNCONFIRMED_AFTER: Duration = Duration::from_secs(30);
/// Why a dialog cannot be answered from here, where only its agent is known.
const UNKNOWN_WAITER: &str = "headspace does not hold this dialog: answer in the terminal";
/// Branches that every checkout has; they say nothing about an agent.
const COMMON_BRANCHES: &[&str] = &["main", "master", "trunk", "develop", "HEAD"];

impl Agent {
    /// How full the context window is. Its size follows from the model only for Claude; another client must report it, or
    /// nothing is shown.
    fn context(&self, configured: Option<u64>) -> Option<ContextUse> {
        match self.place.client_name {
            None => window::context(&self.metrics, configured),
            Some(_) => {
                window::context(&self.metrics, self.metrics.window).filter(|_| self.metrics.window.is_some())
            }
        }
    }

    /// The agent as a person sees it at `now` (staleness and the wait for headless runs depend on the time), with the
    /// configured context window, if there is one.
    pub fn view(&self, now: Stamp, window: Option<u64>) -> AgentView {
        let (status, detail) = self.status(now);
        let place = &self.place;
        let mut view = AgentView {
            id: self.id.into(),
            session_id: self.session_id.clone(),
            sessions: self.known_sessions(),
            client: place.client_name.clone().unwrap_or_else(|| hints::DEFAULT_CLIENT.to_owned()),
            name: self.name(),
            project: place.project.clone(),
            project_path: place.root.clone(),
            cwd: place.cwd.clone(),
            branch: place.branch.clone(),
            state: self.state,
            status,
            status_detail: detail,
            group: self.group(status),
            error: self.error.clone(),
            unseen: self.unseen,
            stale: self.is_stale(now),
            headless: place.headless,
            started_at: self.started_at,
            last_active_at: self.last_active_at,
            waiting_since: self.open_questions(now).map(|one| one.opened_at).min(),
            ended_at: self.ended_at,
            end_reason: self.end_reason.clone(),
            tmux_session: place.tmux_session.clone(),
            tmux_pane: place.tmux_pane.clone(),
            terminal: place.terminal.clone(),
            claude_pid: place.claude_pid,
            claude_pid_start: place.claude_pid_start,
            host: place.host.clone(),
            elsewhere: place.elsewhere,
            machine: None,
            not_heard_since: None,
            resume: None,
            role: place.role.clone(),
            mode: place.mode.clone(),
            model: self.metrics.model.clone(),
            permission_mode: place.permission_mode.clone(),
            context: self.context(window),
            cost_usd: self.metrics.cost_usd,
            lines: self.metrics.lines,
            limits_at: self.metrics.limits_at,
            rate_limits: self.metrics.rate_limits.clone(),
            pr: self.metrics.pr.clone(),
            worktree: self.metrics.worktree.clone(),
            background: self.background.clone(),
            more_background: self.more_background.total(),
            crons: self.crons.clone(),
            interactions: self.interactions.iter().map(|one| one.view(UNKNOWN_WAITER)).collect(),
            subagents: self.children.iter().map(|child| self.child(child.subagent.clone(), now)).collect(),
            current_command: self.command.as_ref().map(|command| CurrentCommand {
                id: command.id,
                state: command.state,
                instruction: command.instruction.clone(),
                started_at: command.started_at,
            }),
            replies: self.replies.clone(),
            stop_requested: self.stop_requested,
            turn_count: self.turn_count,
            last_said: self.last_said.clone(),
            last_words: self.last_words.clone(),
            transcript_path: place.transcript_path.clone(),
            client_status: self.client,
            source: self.source,
            source_at: self.source_at,
            confidence: if self.silent_for(now).is_some() || self.is_unconfirmed(now) {
                Confidence::Low
            } else {
                self.confidence
            },
            unconfirmed: self.is_unconfirmed(now),
            summary: Summary::default(),
        };
        view.summary = view.summarize();
        view
    }

    /// Whether the shown state may be over, because the client would not have reported its end.
    fn is_unconfirmed(&self, now: Stamp) -> bool {
        self.unconfirmed_at().is_some_and(|at| now >= at)
    }

    /// When silence turns the shown state into a guess; `None` if the client would have reported a change.
    fn unconfirmed_at(&self) -> Option<Stamp> {
        if !self.place.silent_client || self.ended_at.is_some() {
            return None;
        }
        match (self.interactions.is_empty(), self.state) {
            (false, _) => Some(self.last_active_at.plus(QUESTION_UNCONFIRMED_AFTER)),
            (true, AgentState::Idle) => None,
            (true, _) => Some(self.last_active_at.plus(WORK_UNCONFIRMED_AFTER)),
        }
    }

    /// Whether a prompt that is typed now begins a turn: the last one is over, and nothing else is asked.
    pub fn takes_prompt(&self) -> bool {
        let asks_only_for_reply = self.interactions.iter().all(|one| one.kind == InteractionKind::Reply);
        let over = match self.state {
            AgentState::Idle => true,
            AgentState::AwaitingInput => !self.interactions.is_empty(),
            AgentState::Commanded | AgentState::Processing => false,
        };
        self.ended_at.is_none() && self.phase.is_none() && over && asks_only_for_reply
    }

    pub fn is_stale(&self, now: Stamp) -> bool {
        self.ended_at.is_none() && now.since(self.last_active_at) >= STALE_AFTER
    }

    /// Status and detail alone: what most readers need, and what decides whether something changed.
    pub fn status(&self, now: Stamp) -> (Status, Option<String>) {
        match self.silent_for(now) {
            Some(silence) => (Status::Idle, Some(format!("not heard since {}", rough_duration(silence)))),
            None => self.reported_status(now),
        }
    }

    /// How long it has been silent, if that is too long to assume that it still works. A process on this machine is
    /// checked; one on another machine may be gone or cut off.
    fn silent_for(&self, now: Stamp) -> Option<Duration> {
        let silence = now.since(self.last_active_at);
        let unheard = self.place.elsewhere && silence >= UNHEARD_AFTER;
        (unheard && self.reported_status(now).0 == Status::Working).then_some(silence)
    }

    /// The status according to its events.
    fn reported_status(&self, now: Stamp) -> (Status, Option<String>) {
        if self.ended_at.is_some() {
            return (Status::Idle, None);
        }
        if let Some(one) = self.open_questions(now).last() {
            return (Status::Attention, Some(one.text.clone()));
        }
        if let Some(phase) = self.phase {
            let word = match phase {
                Phase::Setup => "Setup",
                Phase::Compacting => "Compacting",
            };
            return (Status::Working, Some(word.to_string()));
        }
        if self.state != AgentState::Idle {
            let call = self.calls.iter().filter(|call| call.subagent.is_none()).max_by_key(|call| call.at);
            let doing = call.map_or("Thinking", |call| call.detail.as_str());
            let detail = match self.stop_requested {
                Some(_) => format!("{STOP_REQUESTED} · {doing}"),
                None => doing.to_owned(),
            };
            return (Status::Working, Some(detail));
        }
        match self.live_tasks().max(usize::from(self.reports_soon(now))) {
            0 => (Status::Idle, self.interrupted.then(|| "interrupted".to_string())),
            1 => (Status::Working, Some("1 background task".to_string())),
            n => (Status::Working, Some(format!("{n} background tasks"))),
        }
    }

    /// When the view will change by time alone: when the next question of a headless run starts to count, or at the next
    /// minute of silence of an agent on another machine.
    pub fn wakes_at(&self, now: Stamp) -> Option<Stamp> {
        if self.ended_at.is_some() {
            return None;
        }
        let waiting = self.interactions.iter().filter(|_| self.place.headless);
        let questions = waiting.map(|one| one.opened_at.plus(HEADLESS_ASKS_AFTER));
        let report = self.report_due.map(|due| due.plus(REPORT_FOLLOWS_WITHIN));
        let works = self.place.elsewhere && self.reported_status(now).0 == Status::Working;
        let unheard = works.then(|| {
            let minutes = now.since(self.last_active_at).as_secs() / 60 + 1;
            self.last_active_at.plus(UNHEARD_AFTER.max(Duration::from_secs(minutes * 60)))
        });
        let unconfirmed = self.unconfirmed_at();
        questions.chain(report).chain(unheard).chain(unconfirmed).filter(|at| *at > now).min()
    }

    /// A background agent has just ended, and its result comes as the next prompt.
    fn reports_soon(&self, now: Stamp) -> bool {
        let busy = self.client.is_some_and(|client| client.status == ClientState::Busy);
        busy && self.report_due.is_some_and(|due| now < due.plus(REPORT_FOLLOWS_WITHIN))
    }

    /// Background work that keeps an idle main thread busy: the client's list, and children that are not on it.
    /// A teammate's task counts only while the teammate works: it stays listed when it is idle.
    pub fn live_tasks(&self) -> usize {
        let working: Vec<_> = self.children.iter().filter(|child| child.at_work()).collect();
        let mates = working.iter().filter(|child| child.is_teammate()).count();
        let tasks: Vec<_> = self.background.iter().filter(|task| subagents::is_live_task(task)).collect();
        let listed = |id: &str| tasks.iter().any(|task| subagents::task_id(task) == Some(id));
        let team = tasks.iter().filter(|task| subagents::is_team_task(task)).count();
        let unlisted =
            working.iter().filter(|child| !child.is_teammate() && !listed(&child.subagent.agent_id)).count();
        let known = (tasks.len() - team) + mates + unlisted + self.more_background.total();
        // The client says that it runs shells, though nothing reported which.
        let shells = self.client.is_some_and(|client| client.status == ClientState::Shell);
        known.max(usize::from(shells))
    }

    /// The questions that count at `now`.
    fn open_questions(&self, now: Stamp) -> impl Iterator<Item = &Interaction> {
        let headless = self.place.headless;
        let ended = self.ended_at.is_some();
        self.interactions
            .iter()
            .filter(move |one| !ended && (!headless || now >= one.opened_at.plus(HEADLESS_ASKS_AFTER)))
    }

    fn child(&self, mut subagent: Subagent, now: Stamp) -> Subagent {
        let asks =
            self.open_questions(now).any(|one| one.subagent.as_deref() == Some(subagent.agent_id.as_str()));
        if subagent.status == Status::Attention && !asks {
            subagent.status = Status::Working;
        }
        subagent
    }

    fn group(&self, status: Status) -> Group {
        let busy = self.state != AgentState::Idle || self.phase.is_some();
        match status {
            _ if self.ended_at.is_some() => Group::Idle,
            Status::Attention => Group::NeedsYou,
            Status::Working if busy => Group::Working,
            _ if self.error.is_some() => Group::Error,
            Status::Working => Group::Background,
            Status::Idle if self.unseen => Group::Done,
            Status::Idle => Group::Idle,
        }
    }

    /// Its sessions, without the stand-in its process had before its session was known.
    fn known_sessions(&self) -> Vec<String> {
        let known = |session: &&String| **session == self.session_id || !is_stand_in_session(session);
        self.sessions.iter().filter(known).cloned().collect()
    }

    /// A name that a person recognizes.
    fn name(&self) -> String {
        let branch = self.place.branch.as_deref().filter(|branch| !COMMON_BRANCHES.contains(branch));
        let directory = self.place.root.as_deref().or(self.place.cwd.as_deref()).map(|path| {
            let last = path.rsplit(['/', '\\']).find(|part| !part.is_empty());
            last.unwrap_or(path)
        });
        let names = [
            self.names.given.as_deref(),
            self.names.title.as_deref(),
            branch,
            self.names.prompt.as_deref(),
            directory,
            Some(self.session_id.as_str()),
        ];
        let name = names.into_iter().flatten().next().unwrap_or_default();
        match (&self.place.tmux_pane, self.place.claude_pid) {
            (Some(pane), _) if self.names.shared => format!("{name} ({pane})"),
            (None, Some(pid)) if self.names.shared => format!("{name} (pid {pid})"),
            _ => name.to_string(),
        }
    }
}

/// `6 m`, `3 h`, `2 d`.
fn rough_duration(time: Duration) -> String {
    match time.as_secs() / 60 {
        minutes @ 0..60 => format!("{minutes} m"),
        minutes @ 60..2880 => format!("{} h", minutes / 60),
        minutes => format!("{} d", minutes / 1440),
    }
}
