//! Whatever arrives in whatever order, replaying the stored events gives the live projection.

use crate::case;
use crate::player::{Player, Reading};
use headspace_core::engine;
use headspace_core::engine::{Agent, World};
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use proptest::prelude::*;
use std::sync::LazyLock;

/// Every recording as a stream of events, hooks and observations, as a store would hold them.
static STREAMS: LazyLock<Vec<Vec<Event>>> = LazyLock::new(|| {
    let cases = case::all();
    let play = |case: &case::Case| {
        let mut player = Player::new(case, Reading::Eager);
        player.pause(None, false);
        for (i, step) in case.steps.iter().enumerate() {
            player.deliver(step);
            player.pause(Some(i), false);
        }
        player.stored.into_iter().map(|(event, _)| event).collect()
    };
    cases.iter().map(play).collect()
});

/// What may happen before an event arrives.
#[derive(Clone, Copy, Debug)]
struct Fate {
    /// Which stream the event is from.
    stream: usize,
    /// It was stamped this much earlier than recorded.
    late_ms: u32,
    /// It comes a second time.
    twice: bool,
    /// The server restarts first.
    restart: bool,
    /// Which of the processes the engine asks about live (a bit each).
    alive: u8,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let late = prop_oneof![8 => Just(0u32), 1 => 1u32..50, 1 => 50u32..20_000];
    let fate = (0usize..4, late, prop::bool::weighted(0.05), prop::bool::weighted(0.03), any::<u8>());
    let fate = fate.prop_map(|(stream, late_ms, twice, restart, alive)| Fate {
        stream,
        late_ms,
        twice,
        restart,
        alive,
    });
    prop::collection::vec(fate, 40..160)
}

fn restarted(world: &World) -> World {
    let agents: Vec<Agent> = world
        .agents()
        .map(|agent| {
            let text = serde_json::to_string(agent).unwrap();
            let read: Agent = serde_json::from_str(&text).unwrap();
            assert_eq!(&read, agent, "a document reads back what it wrote");
            assert!(text.len() < 40_000, "a document of {} bytes", text.len());
            read
        })
        .collect();
    World::load(agents, world.counters())
}

/// What must be true for every agent at any time.
fn sound(world: &World, now: Stamp) {
    for agent in world.agents() {
        let view = agent.view(now, None);
        let main = agent.interactions.iter().filter(|one| one.subagent.is_none()).count();
        assert_eq!(agent.command.is_none(), agent.state == AgentState::Idle, "a command gives the state");
        assert_eq!(
            main > 0,
            agent.state == AgentState::AwaitingInput,
            "awaiting means that something is asked"
        );
        assert!(agent.interactions.iter().all(|one| one.closed_at.is_none()));
        // A session that continued in another process has left the agent that ended.
        assert!(agent.sessions.contains(&agent.session_id) || agent.ended_at.is_some());
        assert_eq!(view.waiting_since.is_some(), view.status == Status::Attention);
        if agent.ended_at.is_some() {
            assert_eq!((view.state, view.status), (AgentState::Idle, Status::Idle), "the dead are quiet");
            assert!(agent.children.iter().all(|child| !child.at_work()));
        }
        for child in &agent.children {
            let asks = agent
                .interactions
                .iter()
                .any(|one| one.subagent.as_deref() == Some(&child.subagent.agent_id));
            assert_eq!(asks, child.subagent.status == Status::Attention, "a child that asks needs attention");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn replaying_the_stored_events_gives_the_live_projection(
        picked in prop::collection::vec(any::<prop::sample::Index>(), 4),
        fates in fates(),
    ) {
        let mut streams: Vec<_> = picked.iter().map(|index| STREAMS[index.index(STREAMS.len())].iter()).collect();
        let (mut world, mut stored, mut outcomes) = (World::default(), Vec::new(), Vec::new());
        let mut now = Stamp(0);
        let mut contacted = std::collections::BTreeSet::new();
        for fate in &fates {
            let Some(recorded) = streams[fate.stream].next() else { continue };
            if fate.restart {
                world = restarted(&world);
                contacted.clear();
            }
            for _ in 0..if fate.twice { 2 } else { 1 } {
                let mut event = recorded.clone();
                now = now.max(event.received_at);
                event.id = stored.len() as i64 + 1;
                event.received_at = now;
                event.at = event.at.minus(std::time::Duration::from_millis(fate.late_ms.into()));
                let asked = world.asks(&event).into_iter().enumerate();
                event.facts.alive =
                    asked.filter(|(i, _)| fate.alive >> (i % 8) & 1 == 1).map(|(_, process)| process).collect();
                event.facts.first_since_start = contacted.insert(event.session_id.clone());
                let outcome = engine::apply(&mut world, &event);
                sound(&world, now);
                event.agent_hint = outcome.agent_id.filter(|_| outcome.is_new_agent);
                outcomes.push(outcome);
                stored.push(event);
            }
        }
        let mut again = World::default();
        for (event, outcome) in stored.iter().zip(&outcomes) {
            prop_assert_eq!(&engine::apply(&mut again, event), outcome, "{} {}", event.id, &event.name);
        }
        prop_assert!(world.agents().eq(again.agents()));
        prop_assert_eq!(world.counters(), again.counters());
    }
}
