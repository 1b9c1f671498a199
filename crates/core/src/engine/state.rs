//! The state machine of a command, as a table: (state, actor, intent) ▶ state, anything else is invalid.

use crate::model::{Actor, AgentState, CommandState, CommandStateOrIdle, Intent};

use Actor::{Agent, User};
use CommandStateOrIdle::{AwaitingInput, Commanded, Complete, Idle, Processing};
use Intent::{Answer, Command, Completion, EndOfTask, Progress, Question};

/// Every valid transition. `complete` has none: the agent is idle then, and the next prompt starts a new command.
pub const TRANSITIONS: &[(CommandStateOrIdle, Actor, Intent, CommandStateOrIdle)] = &[
    (Idle, User, Command, Commanded),
    (Commanded, Agent, Progress, Processing),
    (Commanded, Agent, Question, AwaitingInput),
    (Commanded, Agent, Completion, Complete),
    (Commanded, Agent, EndOfTask, Complete),
    (Processing, Agent, Progress, Processing),
    (Processing, Agent, Question, AwaitingInput),
    (Processing, Agent, Completion, Complete),
    (Processing, Agent, EndOfTask, Complete),
    (Processing, User, Answer, Processing),
    (AwaitingInput, User, Answer, Processing),
    (AwaitingInput, Agent, Completion, Complete),
    (AwaitingInput, Agent, EndOfTask, Complete),
];

/// The state after the transition; `None`: it is not valid, is recorded as invalid and changes nothing.
pub fn validate_transition(
    from: CommandStateOrIdle,
    actor: Actor,
    intent: Intent,
) -> Option<CommandStateOrIdle> {
    TRANSITIONS.iter().find(|row| (row.0, row.1, row.2) == (from, actor, intent)).map(|row| row.3)
}

impl From<AgentState> for CommandStateOrIdle {
    fn from(state: AgentState) -> Self {
        match state {
            AgentState::Idle => Idle,
            AgentState::Commanded => Commanded,
            AgentState::Processing => Processing,
            AgentState::AwaitingInput => AwaitingInput,
        }
    }
}

impl CommandStateOrIdle {
    /// The agent's state when its newest command is in this state.
    pub fn of_agent(self) -> AgentState {
        match self {
            Idle | Complete => AgentState::Idle,
            Commanded => AgentState::Commanded,
            Processing => AgentState::Processing,
            AwaitingInput => AgentState::AwaitingInput,
        }
    }

    /// The command's state; there is none for idle.
    pub fn of_command(self) -> Option<CommandState> {
        match self {
            Idle => None,
            Commanded => Some(CommandState::Commanded),
            Processing => Some(CommandState::Processing),
            AwaitingInput => Some(CommandState::AwaitingInput),
            Complete => Some(CommandState::Complete),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same table as text, row by row, to compare with.
    const CONTRACT: &str = "
        idle | user:command > commanded
        commanded | agent:progress > processing; agent:question > awaiting_input; agent:completion > complete; agent:end_of_task > complete
        processing | agent:progress > processing; agent:question > awaiting_input; agent:completion > complete; agent:end_of_task > complete; user:answer > processing
        awaiting_input | user:answer > processing; agent:completion > complete; agent:end_of_task > complete
        complete |";

    #[test]
    fn the_table_is_the_contract_and_everything_else_is_invalid() {
        let mut valid = 0;
        for from in CommandStateOrIdle::ALL {
            let line = CONTRACT
                .lines()
                .find_map(|line| line.trim().strip_prefix(from.word())?.trim().strip_prefix('|'))
                .unwrap();
            for actor in Actor::ALL {
                for intent in Intent::ALL {
                    let step = format!("{actor}:{intent} > ");
                    let wanted = line.split(';').find_map(|cell| cell.trim().strip_prefix(&step));
                    let got = validate_transition(*from, *actor, *intent);
                    assert_eq!(got.map(CommandStateOrIdle::word), wanted, "{from} {actor}:{intent}");
                    valid += usize::from(got.is_some());
                }
            }
        }
        assert_eq!(valid, TRANSITIONS.len());
    }
}
