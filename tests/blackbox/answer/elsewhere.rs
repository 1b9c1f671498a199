//! A card on a board that is not its machine's own: answers do not travel, and the card says where to answer. For a board that
//! follows other machines over a relay, see `machines`.

use super::{ALLOW, Desk, below_an_agent};
use crate::fleet::hub::Team;
use headspace_test_support::wait_for;
use serde_json::{Value, json};

#[test]
fn a_hub_shows_the_ask_and_where_to_answer_it_but_takes_no_answer() {
    if below_an_agent() {
        return;
    }
    let Some(team) = Team::start() else { return };
    let mut desk = Desk::locked(json!({}));
    desk.headspace.ok(&["hub", "join", &team.invite("ada", "full"), "--share", "full"]);
    desk.headspace.stop();
    desk.headspace.start();
    desk.unlock();
    let file = std::fs::read(desk.headspace.state().join("hub.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let token = file["token"].as_str().unwrap();
    let mut waiter = desk.ask("here", "make");
    let own = desk.card("here");
    let (host, there) = wait_for("the ask on the hub's board", || {
        let agents = team.get("/api/agents?all=1", token)["agents"].as_array().unwrap().clone();
        let agent = agents.into_iter().find(|agent| agent["session_id"] == "here")?;
        let ask = agent["interactions"].as_array()?.first()?.clone();
        Some((agent["host"].as_str()?.to_owned(), ask))
    });
    assert_eq!(there["text"], "make", "it was shared whole");
    assert_eq!(there["answer"], json!({"can": [], "why": format!("answer on {host}")}));
    let bearer = format!("Bearer {token}");
    let path = format!("/api/interactions/{}/answer", own["id"]);
    let body = json!({"digest": own["answer"]["digest"], "choice": "allow"}).to_string();
    let answered = team.hub.request("POST", &path, &[("Authorization", &bearer)], Some(body.as_bytes()));
    assert!(matches!(answered.status, 403..=405), "{} {}", answered.status, answered.text());
    assert!(waiter.runs());
    assert_eq!(desk.answer(&own, "allow").status, 200, "on its own machine it is answered");
    assert_eq!(waiter.printed(), ALLOW);
}
