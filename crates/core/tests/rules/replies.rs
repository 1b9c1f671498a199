//! Prompts that wait, and stops: what a person wants from an agent is part of its state until its turn is over.

use crate::story::*;
use headspace_core::model::observed;
use serde_json::json;

fn reply(id: &str, state: &str, why: Option<&str>) -> Tell {
    tell(
        observed::REPLY,
        json!({"reply_id": id, "state": state, "by": "cli", "text": format!("say {id}"), "why": why}),
    )
}

fn stop_request(state: &str) -> Tell {
    tell(observed::STOP_REQUEST, json!({"state": state, "by": "cli"}))
}

#[test]
fn a_prompt_waits_until_it_is_reported_as_sent_or_dropped() {
    let mut story = Story::new();
    for one in [prompt("W"), reply("a", "queued", None), reply("b", "queued", None)] {
        story.tell(one);
    }
    let waiting = |story: &Story| -> Vec<(String, Option<String>)> {
        story.agent().replies.iter().map(|reply| (reply.id.clone(), reply.why.clone())).collect()
    };
    assert_eq!(waiting(&story), [("a".into(), None), ("b".into(), None)]);
    story.tell(reply("a", "queued", Some("a draft")));
    assert_eq!(waiting(&story)[0].1.as_deref(), Some("a draft"));
    story.tell(reply("a", "sent", None));
    story.tell(reply("unknown", "canceled", None));
    assert_eq!(waiting(&story), [("b".into(), None)]);
    story.tell(reply("b", "dropped", None));
    assert!(waiting(&story).is_empty());
}

#[test]
fn a_stop_lasts_as_long_as_the_turn() {
    let mut story = Story::new();
    story.tell(prompt("W"));
    story.tell(pre("Bash", "t1"));
    story.tell(stop_request("requested"));
    assert_eq!(story.look(), "processing working Stop requested · Bash: npm test");
    story.tell(stop("Done."));
    assert!(story.agent().stop_requested.is_none());
    story.tell(stop_request("requested"));
    assert!(story.agent().stop_requested.is_none(), "there is nothing to stop");
}

#[test]
fn a_requested_stop_is_said_while_the_agent_asks() {
    let mut story = Story::new();
    for one in [prompt("W"), pre("Bash", "t1"), asks("Bash"), stop_request("requested")] {
        story.tell(one);
    }
    let row = story.agent().view(story.now, None).summary;
    assert_eq!(
        (row.about.as_str(), row.pending.as_deref()),
        ("Stop requested · Allow Bash: npm test", Some("Stop requested"))
    );
    story.tell(stop("Done."));
    assert_eq!(story.agent().view(story.now, None).summary.pending, None);
}

#[test]
fn a_prompt_is_taken_when_the_turn_is_over_and_nothing_is_asked() {
    for (tells, takes) in [
        (vec![start("startup")], true),
        (vec![prompt("W")], false),
        (vec![prompt("W"), pre("Bash", "t1")], false),
        (vec![prompt("W"), pre("Bash", "t1"), asks("Bash")], false),
        (vec![prompt("W"), stop("Done.")], true),
        (vec![prompt("W"), stop("Which port?")], true),
        (vec![start("startup"), tell("PreCompact", json!({}))], false),
    ] {
        let mut story = Story::new();
        for one in tells {
            story.tell(one);
        }
        assert_eq!(story.agent().takes_prompt(), takes, "{}", story.look());
    }
}
