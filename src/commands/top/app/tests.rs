use super::*;
use serde_json::json;

fn agent(id: i64, group: &str, name: &str) -> AgentView {
    let stamp = headspace_core::stamp::Stamp(id);
    serde_json::from_value(json!({
        "id": id, "session_id": format!("s{id}"), "sessions": [], "name": name, "state": "idle", "status": "idle",
        "group": group, "unseen": false, "stale": false, "headless": false, "started_at": stamp,
        "last_active_at": stamp, "background": [], "interactions": [], "subagents": [], "turn_count": 0,
        "source": "hook", "source_at": stamp, "confidence": "high",
    }))
    .unwrap()
}

fn press(app: &mut TopState, code: KeyCode) -> Vec<Effect> {
    app.take(News::Input(Event::Key(KeyEvent::from(code))))
}

#[test]
fn the_selection_follows_the_agent_not_the_row() {
    let mut app = TopState::new(false);
    app.take(News::Agents(vec![agent(1, "idle", "one"), agent(2, "idle", "two")]));
    app.selected = Some(1.into());
    app.take(News::Agent(Box::new(agent(2, "needs_you", "two"))));
    assert_eq!(app.order().rows[0].id, 2);
    assert_eq!(app.selected, Some(1.into()));
}

#[test]
fn a_filter_narrows_the_list_and_escape_clears_it() {
    let mut app = TopState::new(false);
    app.take(News::Agents(vec![agent(1, "idle", "one"), agent(2, "idle", "two")]));
    for key in [KeyCode::Char('/'), KeyCode::Char('t'), KeyCode::Char('w'), KeyCode::Enter] {
        press(&mut app, key);
    }
    assert_eq!((app.order().rows.len(), app.selected), (1, Some(2.into())));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.order().rows.len(), 2);
}

#[test]
fn n_cycles_through_the_waiting_agents_and_says_when_there_is_none() {
    let mut app = TopState::new(false);
    app.take(News::Agents(vec![agent(1, "idle", "one"), agent(2, "needs_you", "two")]));
    app.selected = Some(1.into());
    let effects = press(&mut app, KeyCode::Char('n'));
    assert!(matches!(&effects[0], Effect::Jump(agent) if agent.id == 2));
    let third = agent(3, "needs_you", "three");
    app.take(News::Agents(vec![agent(1, "idle", "one"), agent(2, "needs_you", "two"), third]));
    for expected in [3, 2, 3] {
        let effects = press(&mut app, KeyCode::Char('n'));
        assert!(matches!(&effects[0], Effect::Jump(agent) if agent.id == expected), "{expected}");
    }
    app.take(News::Agents(vec![agent(1, "idle", "one")]));
    press(&mut app, KeyCode::Char('n'));
    assert_eq!(app.message.as_deref(), Some("no agent needs you"));
}

#[test]
fn keys_move_the_help_while_it_covers_the_board() {
    let mut app = TopState::new(false);
    app.take(News::Agents((1..=3).map(|id| agent(id, "needs_you", "one")).collect()));
    let selected = app.selected;
    press(&mut app, KeyCode::Char('?'));
    app.drawn.help_page = 4;
    for (key, expected) in [('j', 1), (' ', 5), ('k', 4), ('b', 0), ('k', 0), ('j', 1), ('g', 0)] {
        press(&mut app, KeyCode::Char(key));
        assert_eq!(app.help_from, expected, "{key}");
    }
    for key in ['n', 'a', 'x', 'o', '/'] {
        assert!(press(&mut app, KeyCode::Char(key)).is_empty(), "{key}");
    }
    assert_eq!((app.selected, app.typing, app.help), (selected, false, true));
    press(&mut app, KeyCode::Esc);
    assert!(!app.help);
}

#[test]
fn pages_and_the_preview_scroll_within_their_bounds() {
    let mut app = TopState::new(false);
    app.take(News::Agents((1..=60).map(|id| agent(id, "idle", "one")).collect()));
    app.drawn.page = 10;
    assert_eq!(app.position(), "1/60");
    press(&mut app, KeyCode::PageDown);
    assert_eq!(app.position(), "11/60");
    press(&mut app, KeyCode::PageUp);
    press(&mut app, KeyCode::PageUp);
    assert_eq!(app.position(), "1/60");
    app.drawn.preview_most = 4;
    press(&mut app, KeyCode::Char('J'));
    press(&mut app, KeyCode::Char('J'));
    assert_eq!(app.preview_from, Some(4));
    press(&mut app, KeyCode::Char('j'));
    assert_eq!(app.preview_from, None, "another agent's preview begins where it matters");
}

#[test]
fn without_a_server_the_stored_agents_are_shown() {
    let mut app = TopState::new(false);
    app.take(News::Away { stored: vec![agent(1, "idle", "one")] });
    assert_eq!((app.away, app.order().rows.len()), (true, 1));
    app.take(News::Agents(vec![agent(1, "idle", "one"), agent(2, "idle", "two")]));
    app.take(News::Away { stored: Vec::new() });
    assert_eq!((app.away, app.order().rows.len()), (true, 2));
}

#[test]
fn every_key_has_one_meaning() {
    let codes: Vec<_> = KEYS.iter().flat_map(|(codes, ..)| codes.iter()).collect();
    for code in &codes {
        assert_eq!(codes.iter().filter(|other| other == &code).count(), 1, "{code:?}");
    }
}
