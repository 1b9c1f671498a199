//! Which agent an event belongs to: six strategies, the first that finds one wins. Reads the world, changes nothing.

use crate::engine::agent::{Agent, AgentPlace};
use crate::engine::{World, observations};
use crate::model::*;

type SlotTest<'a> = &'a dyn Fn(&Agent) -> bool;

/// The agent the event belongs to, if one is known, and how it was found.
pub(super) fn find(world: &World, event: &Event) -> (Option<i64>, Method) {
    if let Some(agent) = holder(world, event) {
        let method = if event.facts.first_since_start { Method::DbSessionId } else { Method::SessionId };
        return (Some(agent.id), method);
    }
    let origin = EventOrigin::of(event);
    let strategies: [(Method, SlotTest); 3] = [
        (Method::HeadspaceSessionId, &|agent| by_launcher(agent, &origin)),
        (Method::TmuxPane, &|agent| by_process_or_pane(agent, &origin, event)),
        (Method::WorkingDirectory, &|agent| by_directory(agent, &origin, event)),
    ];
    // The newest match of each strategy. All agents are scanned only once: with ten thousand, fetching them takes the time.
    let mut newest: [Option<&Agent>; 3] = [None; 3];
    let mut in_directory = 0;
    for agent in world.agents.values() {
        if !agent.place.shares_processes_with(&origin.place)
            || agent.place.client_name != origin.place.client_name
            || is_others(agent, origin.place.process(), event)
        {
            continue;
        }
        in_directory += usize::from(origin.place.shared_process && by_directory(agent, &origin, event));
        let age = |agent: &Agent| (agent.last_active_at, agent.id);
        for (best, (_, fits)) in newest.iter_mut().zip(&strategies) {
            if best.is_none_or(|best| age(agent) > age(best)) && fits(agent) {
                *best = Some(agent);
            }
        }
    }
    // A process that serves many sessions does not say which of several seats in one place this is.
    if in_directory > 1 {
        newest[2] = None;
    }
    let found =
        newest.iter().zip(&strategies).find_map(|(best, (method, _))| Some((best.as_ref()?.id, *method)));
    found.map_or((None, Method::Created), |(id, method)| (Some(id), method))
}

/// The agent that has this session, and that the event is about. Several processes may run one session; then the
/// event belongs to the process it names, and a line of their shared transcript to the best match.
fn holder<'a>(world: &'a World, event: &Event) -> Option<&'a Agent> {
    let ours = process_of(event);
    let mut holders = world.holders(&event.session_id).filter(|agent| !is_taken(agent, event));
    let first = holders.next()?;
    let Some(second) = holders.next() else {
        return Some(first).filter(|agent| !is_others(agent, ours, event));
    };
    let all: Vec<&Agent> = [first, second].into_iter().chain(holders).collect();
    let newest = |fits: &dyn Fn(&Agent) -> bool| {
        let rank = |agent: &&&Agent| {
            (agent.session_id == event.session_id, agent.ended_at.is_none(), agent.last_active_at, agent.id)
        };
        all.iter().filter(|agent| fits(agent)).max_by_key(rank).copied()
    };
    if ours.is_some() {
        return newest(&|agent| agent.place.process() == ours)
            .or_else(|| newest(&|agent| !is_others(agent, ours, event)));
    }
    let call = event.text("tool_use_id");
    newest(&|agent| call.is_some() && knows_call(agent, call))
        .or_else(|| newest(&|agent| agent.ended_at.is_none() && agent.command.is_some()))
        .or_else(|| newest(&|_| true))
}

fn knows_call(agent: &Agent, id: Option<&str>) -> bool {
    agent.calls.iter().any(|call| call.tool_use_id.as_deref() == id)
        || agent.interactions.iter().any(|one| one.tool_use_id.as_deref() == id)
}

/// Whether another living process has this session in this agent.
fn is_others(agent: &Agent, ours: Option<Process>, event: &Event) -> bool {
    match (agent.place.process(), ours) {
        (Some(theirs), Some(ours)) => {
            theirs != ours
                && agent.ended_at.is_none()
                && agent.session_id == event.session_id
                && lives(theirs, event)
        }
        _ => false,
    }
}

fn process_of(event: &Event) -> Option<Process> {
    let number = |field: &str| event.body.get(field).and_then(serde_json::Value::as_u64);
    let pid = u32::try_from(number("claude_pid")?).ok()?;
    Some(Process { pid, start: number("claude_pid_start")? })
}

pub(super) fn is_same_process(agent: &Agent, event: &Event) -> bool {
    let number = |field: &str| event.body.get(field).and_then(serde_json::Value::as_u64);
    let pid = number("claude_pid");
    pid.is_some()
        && pid == agent.place.claude_pid.map(u64::from)
        && number("claude_pid_start") == agent.place.claude_pid_start
}

/// The processes whose life decides: those of the agents this session could take over.
pub(super) fn asks(world: &World, event: &Event) -> Vec<Process> {
    let ours = process_of(event);
    let known: Vec<&Agent> = world.holders(&event.session_id).collect();
    let has_session = |agent: &&Agent| {
        agent.session_id == event.session_id
            && (ours.is_none() || agent.place.process().is_none_or(|theirs| Some(theirs) == ours))
    };
    if known.iter().any(has_session) {
        return Vec::new();
    }
    let origin = EventOrigin::of(event);
    let could_take = |agent: &Agent| {
        known.iter().any(|known| known.id == agent.id)
            || agent.place.tmux_pane.is_some() && agent.place.tmux_pane == origin.pane
            || event.facts.root.is_none()
            || agent.place.root == origin.root
    };
    let mut processes: Vec<Process> = world
        .agents
        .values()
        .filter(|agent| agent.ended_at.is_none() && could_take(agent))
        .filter(|agent| agent.place.shares_processes_with(&origin.place))
        .filter_map(|agent| agent.place.process())
        .collect();
    processes.sort_unstable_by_key(|process| (process.pid, process.start));
    processes.dedup();
    processes
}

/// The agents a client left by starting a session of another agent: `/resume` picks any session, and a process runs
/// one at a time.
pub(super) fn left_behind(world: &World, event: &Event, id: i64) -> Vec<i64> {
    if event.name != "SessionStart" || event.text("agent_id").is_some() {
        return Vec::new();
    }
    let origin = EventOrigin::of(event);
    let gone = |agent: &&Agent| {
        agent.id != id
            && agent.ended_at.is_none()
            && origin.process.is_some()
            && agent.place.process() == origin.process
            && agent.place.shares_processes_with(&origin.place)
            && event.at >= agent.state_at
    };
    world.agents().filter(gone).map(|agent| agent.id).collect()
}

/// What an event says about where it comes from.
struct EventOrigin {
    launcher: Option<String>,
    process: Option<Process>,
    pid: Option<u32>,
    pane: Option<String>,
    root: Option<String>,
    headless: bool,
    place: AgentPlace,
}

impl EventOrigin {
    fn of(event: &Event) -> EventOrigin {
        let mut place = AgentPlace::default();
        crate::engine::fields::take_place(&mut place, event);
        EventOrigin {
            process: place.process(),
            pid: place.claude_pid,
            launcher: place.headspace_session_id.clone().filter(|id| is_uuid(id)),
            pane: place.tmux_pane.clone(),
            root: place.root.clone(),
            headless: place.headless,
            place,
        }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A session that left its agent returns (resumed elsewhere, for example) while another session works there: it needs
/// its own agent.
fn is_taken(agent: &Agent, event: &Event) -> bool {
    if agent.session_id == event.session_id
        || agent.ended_at.is_some()
        || !matches!(event.name.as_str(), "SessionStart" | "UserPromptSubmit")
    {
        return false;
    }
    let origin = EventOrigin::of(event);
    match (agent.place.process(), origin.process) {
        (Some(theirs), Some(ours)) if theirs == ours && agent.place.shares_processes_with(&origin.place) => {
            false
        }
        (Some(theirs), _) => lives(theirs, event),
        (None, _) => agent.command.is_some(),
    }
}

/// A launcher gave this id, so it holds even in mid-turn. But a `claude -p` that a session starts inherits its
/// environment: the kind must be the same.
fn by_launcher(agent: &Agent, origin: &EventOrigin) -> bool {
    origin.launcher.is_some()
        && agent.place.headspace_session_id == origin.launcher
        && agent.place.headless == origin.headless
}

/// The same process, or the same pane unless another living process is in it (a suspended `claude`, or the one whose
/// tool started this one).
fn by_process_or_pane(agent: &Agent, origin: &EventOrigin, event: &Event) -> bool {
    if agent.ended_at.is_some() {
        return false;
    }
    // A missing start time on either side does not make it another process.
    let same_start = match (agent.place.claude_pid_start, origin.place.claude_pid_start) {
        (Some(theirs), Some(ours)) => theirs == ours,
        _ => true,
    };
    let same_process = origin.pid.is_some() && agent.place.claude_pid == origin.pid && same_start;
    let same_pane = origin.pane.is_some()
        && agent.place.tmux_pane == origin.pane
        && agent.place.headless == origin.headless
        && match (agent.place.process(), origin.process) {
            (Some(theirs), Some(ours)) if theirs != ours => {
                !lives(theirs, event) && agent.place.root == origin.root
            }
            _ => true,
        };
    same_process || same_pane
}

/// The same directory and kind, held by no living process, not in the middle of a turn, not in another known pane. And
/// a session older than the agent's last activity is not its successor: it is an old transcript that was found.
fn by_directory(agent: &Agent, origin: &EventOrigin, event: &Event) -> bool {
    let other_pane =
        origin.pane.is_some() && agent.place.tmux_pane.is_some() && agent.place.tmux_pane != origin.pane;
    let shared = origin.place.shared_process || agent.place.shared_process;
    let held = agent.ended_at.is_none()
        && match shared {
            // Every terminal has the same process behind it; only `/clear` continues where another session was.
            true => !(event.name == "SessionStart" && event.text("source") == Some("clear")),
            false => agent.place.process().is_some_and(|process| lives(process, event)),
        };
    origin.root.is_some()
        && agent.place.root == origin.root
        && agent.place.headless == origin.headless
        && agent.command.is_none()
        && event.at >= agent.state_at
        && !other_pane
        && !held
}

fn lives(process: Process, event: &Event) -> bool {
    event.facts.alive.contains(&process)
}

/// Whether this event, from a session that is not the current one, makes that session current again.
pub(super) fn returns(agent: &Agent, event: &Event) -> bool {
    event.at >= agent.state_at
        && !observations::is_observed(&event.name)
        && matches!(event.name.as_str(), "SessionStart" | "UserPromptSubmit")
}
