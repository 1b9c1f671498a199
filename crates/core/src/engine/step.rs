//! One event applied to one agent: the operations every effect is made of. Knows nothing about particular events.

use crate::engine::Counters;
use crate::engine::agent::detail;
use crate::engine::agent::{Agent, Call};
use crate::engine::state::validate_transition;
use crate::model::*;
use crate::stamp::Stamp;

/// How many commands, turns and entries an agent remembers, so that late events find theirs.
const MAX_REMEMBERED: usize = 16;
const MAX_INSTRUCTION: usize = 2000;

pub(super) struct Step<'a> {
    pub agent: &'a mut Agent,
    pub counters: &'a mut Counters,
    pub event: &'a Event,
    pub changes: Vec<Change>,
    /// The event may change the main thread's state: it belongs to the current session of a living agent and is not
    /// older than the state.
    pub fresh: bool,
    /// The event did report on the main thread's state, so the state is now based on it.
    pub marked: bool,
}

impl Step<'_> {
    /// How far this event's source is trusted.
    pub fn level(&self) -> Confidence {
        match self.event.source {
            Source::Hook | Source::Answer => Confidence::High,
            Source::Client | Source::Transcript | Source::Process => Confidence::Medium,
        }
    }

    /// Bases the state on this event.
    pub fn mark(&mut self) {
        self.marked = true;
        self.agent.state_at = self.agent.state_at.max(self.event.at);
    }

    /// One transition of the state machine. A valid one moves agent and command; an invalid one is only recorded.
    /// Progress while processing is not recorded: the event itself is in the timeline.
    pub fn advance(&mut self, actor: Actor, intent: Intent) {
        let from: CommandStateOrIdle = self.agent.state.into();
        let to = validate_transition(from, actor, intent);
        if to == Some(from) {
            return;
        }
        let inferred = self.agent.command.as_ref().is_some_and(|c| c.confidence == Confidence::Low);
        self.changes.push(Change::Transition(Transition {
            agent_id: self.agent.id,
            command_id: self.agent.command.as_ref().map(|command| command.id),
            from,
            to: to.unwrap_or(from),
            actor,
            intent,
            valid: to.is_some(),
            confidence: if inferred { Confidence::Low } else { self.level() },
            source: self.event.source,
            event_id: self.event.id,
            at: self.event.at,
            why: detail::why(self.event),
        }));
        let Some(to) = to else { return };
        self.agent.state = to.of_agent();
        if let (Some(command), Some(state)) = (self.agent.command.as_mut(), to.of_command()) {
            command.state = state;
            if state == CommandState::Complete {
                command.completed_at = Some(self.event.at);
            }
            let command = command.clone();
            self.emit_command(command);
        }
        if to == CommandStateOrIdle::Complete {
            self.agent.command = None;
            self.agent.boundary_at = self.agent.boundary_at.max(self.event.at);
        }
    }

    /// A command may change several times in one event; the store needs only its last version.
    fn emit_command(&mut self, command: Command) {
        self.changes.retain(|change| !matches!(change, Change::Command(old) if old.id == command.id));
        self.changes.push(Change::Command(command));
    }

    /// Starts a new command on an idle agent: commanded, not yet working.
    pub fn begin(&mut self, instruction: Option<&str>, confidence: Confidence) {
        let command = self.new_command(instruction, confidence);
        self.agent.command = Some(command);
        self.agent.turn_at = self.event.at;
        self.agent.boundary_at = self.agent.boundary_at.max(self.event.at);
        self.advance(Actor::User, Intent::Command);
    }

    /// A command that only history needs: it was over before its prompt arrived.
    pub fn past_command(&mut self, instruction: &str) -> i64 {
        let mut command = self.new_command(Some(instruction), self.level());
        command.state = CommandState::Complete;
        command.completed_at = Some(self.event.at);
        let id = command.id;
        self.emit_command(command);
        id
    }

    fn new_command(&mut self, instruction: Option<&str>, confidence: Confidence) -> Command {
        self.counters.command += 1;
        let id = self.counters.command;
        remember(&mut self.agent.memory.commands, (id, self.event.at.0));
        Command {
            id,
            agent_id: self.agent.id,
            session_id: self.event.session_id.clone(),
            state: CommandState::Commanded,
            instruction: instruction.and_then(first_part),
            started_at: self.event.at,
            completed_at: None,
            confidence,
        }
    }

    /// Work without a prompt: the command is inferred. For a session known only from its transcript that is not a guess.
    pub fn ensure_command(&mut self) {
        if self.agent.command.is_none() {
            let confidence =
                if self.event.source == Source::Hook { Confidence::Low } else { Confidence::Medium };
            self.begin(None, confidence);
        }
    }

    /// The main thread works, unless one of its own questions is still open.
    pub fn work(&mut self) {
        self.ensure_command();
        self.agent.interrupted = false;
        if self.agent.state == AgentState::AwaitingInput {
            self.settle();
        } else {
            self.advance(Actor::Agent, Intent::Progress);
        }
        self.mark();
    }

    /// After a question was closed: if none is left, the main thread continues.
    pub fn settle(&mut self) {
        let open = self.agent.interactions.iter().any(|one| one.subagent.is_none());
        if self.agent.state == AgentState::AwaitingInput && !open {
            self.advance(Actor::User, Intent::Answer);
        }
    }

    /// The main thread waits for the user. A second question while waiting changes nothing.
    pub fn wait(&mut self) {
        self.ensure_command();
        self.agent.interrupted = false;
        if self.agent.state != AgentState::AwaitingInput {
            self.advance(Actor::Agent, Intent::Question);
        }
        self.mark();
    }

    /// The main thread's turn is over: the command is complete, the main thread's calls and questions are closed.
    pub fn finish(&mut self, intent: Intent) {
        self.close_interactions(|one| one.subagent.is_none());
        self.agent.calls.retain(|call| call.subagent.is_some());
        self.agent.stop_requested = None;
        self.end_phase();
        if self.agent.command.is_some() {
            self.advance(Actor::Agent, intent);
        }
        self.agent.boundary_at = self.agent.boundary_at.max(self.event.at);
        self.mark();
    }

    /// Compaction and setup have their own time: they run beside a turn, and their events may overtake its end.
    pub fn end_phase(&mut self) {
        if self.event.at >= self.agent.phase_at {
            self.agent.phase = None;
            self.agent.phase_at = self.event.at;
        }
    }

    /// The user interrupted the turn. They are looking, so nothing is unseen.
    pub fn interrupt(&mut self) {
        self.close_foreground_children();
        self.flush_tail();
        self.finish(Intent::EndOfTask);
        self.agent.interrupted = true;
    }

    /// Closes everything the session has open.
    pub fn close_all(&mut self) {
        self.close_main_thread();
        self.close_interactions(|_| true);
        self.close_children(|_| true);
        self.agent.calls.clear();
        self.agent.background.clear();
        self.agent.more_background = Default::default();
        self.agent.report_due = None;
        self.agent.client = None;
    }

    /// The conversation is over, but not what it left running: `/clear` ends neither shells nor background agents.
    pub fn close_main_thread(&mut self) {
        self.flush_tail();
        self.finish(Intent::EndOfTask);
        self.agent.crons.clear();
        self.agent.interrupted = false;
    }

    pub fn end(&mut self, reason: &str) {
        self.close_all();
        self.agent.ended_at = Some(self.event.at);
        self.agent.end_reason = Some(reason.to_string());
        self.changes.push(Change::SessionEnded {
            agent_id: self.agent.id,
            session_id: self.agent.session_id.clone(),
            reason: reason.to_string(),
            at: self.event.at,
        });
    }

    pub fn revive(&mut self) {
        self.agent.ended_at = None;
        self.agent.end_reason = None;
    }

    /// The command that was open at `at`: late events belong to it.
    pub fn command_at(&self, at: Stamp) -> Option<i64> {
        let before = self.agent.memory.commands.iter().filter(|(_, began)| *began <= at.0);
        before.max_by_key(|(id, began)| (*began, *id)).map(|(id, _)| *id)
    }

    /// The newest matching open call of a thread.
    pub fn newest_call(&self, subagent: Option<&str>, fits: impl Fn(&Call) -> bool) -> Option<&Call> {
        self.agent
            .calls
            .iter()
            .filter(|call| call.subagent.as_deref() == subagent && fits(call))
            .max_by_key(|call| call.at)
    }
}

/// Gives the text to a command that was inferred without one. False if there is no such command.
pub(super) fn adopt(step: &mut Step, text: &str) -> bool {
    let Some(command) = step.agent.command.as_mut() else { return false };
    if command.instruction.is_some() || command.confidence == Confidence::High {
        return false;
    }
    command.instruction = first_part(text);
    let command = command.clone();
    step.changes.push(Change::Command(command));
    true
}

/// As much of a prompt as a command stores; its turn has all of it.
pub(super) fn first_part(text: &str) -> Option<String> {
    Some(text.chars().take(MAX_INSTRUCTION).collect()).filter(|part: &String| !part.trim().is_empty())
}

/// Adds to a bounded list, dropping the oldest.
pub(super) fn remember<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= MAX_REMEMBERED {
        list.remove(0);
    }
    list.push(item);
}
