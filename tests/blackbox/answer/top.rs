//! Answering on a terminal, in a real tmux, with a real `headspace wait` at the other end.

use super::{ALLOW, Desk, Waiter, below_an_agent};
use headspace_test_support::{Tmux, binary, wait_for, wait_until};
use serde_json::json;
use std::time::{Duration, Instant};

/// A terminal that runs a command of headspace's.
struct Screen {
    tmux: Tmux,
    pane: String,
}

impl Screen {
    fn of(desk: &Desk, args: &str) -> Option<Screen> {
        let tmux = Tmux::new(&desk.headspace, "answer.sock")?;
        let command = format!(
            "env -i HOME={} PATH={} TERM=xterm-256color LANG=C.UTF-8 {} {args}; exec sleep 600",
            desk.headspace.path().display(),
            desk.headspace.search_path(),
            binary()
        );
        let pane =
            tmux.run(&["new-session", "-d", "-x", "140", "-y", "40", "-P", "-F", "#{pane_id}", &command]);
        Some(Screen { tmux, pane })
    }

    fn shows(&self, what: &str) -> String {
        wait_for(&format!("{what} on the screen"), || {
            Some(self.tmux.screen(&self.pane)).filter(|screen| screen.contains(what))
        })
    }

    fn types(&self, keys: &[&str]) {
        self.tmux.run(&[&["send-keys", "-t", &self.pane], keys].concat());
    }

    /// Goes to the next agent that asks, until it is the one that asks this.
    fn goes_to(&self, what: &str) {
        wait_until(&format!("{what} on the screen"), || {
            self.types(&["n"]);
            let pressed = Instant::now();
            while pressed.elapsed() < Duration::from_secs(3) {
                if self.tmux.screen(&self.pane).contains(what) {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            false
        });
    }

    /// Presses a key that begins a decision until `prompt` is there: it counts only after the ask has stood for a moment.
    fn presses(&self, key: &str, prompt: &str) {
        wait_until(&format!("the prompt {prompt}"), || {
            self.types(&[key]);
            let pressed = Instant::now();
            // One key may take a while to show; a second one would be typed into the prompt.
            while pressed.elapsed() < Duration::from_secs(3) {
                let screen = self.tmux.screen(&self.pane);
                if screen.contains(prompt) {
                    return true;
                }
                if screen.contains("only just appeared") {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            false
        });
        // On a busy machine the key may have been pressed twice, and the second is in the prompt.
        self.types(&["BSpace"; 8]);
    }
}

fn unlocked_by_top(desk: &Desk) {
    wait_until("`top` is unlocked by its terminal", || {
        desk.headspace.server().get("/api/answer")["keys"]
            .as_array()
            .is_some_and(|keys| keys.iter().any(|key| key["surface"] == "top"))
    });
}

fn held(desk: &Desk, session: &str, command: &str) -> Waiter {
    let waiter = desk.ask(session, command);
    desk.card(session);
    waiter
}

#[test]
fn top_allows_denies_with_a_message_and_answers_a_question() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::locked(json!({}));
    let Some(top) = Screen::of(&desk, "top") else { return };
    unlocked_by_top(&desk);

    let waiter = held(&desk, "first", "make one");
    top.shows("make one");
    top.presses("a", "allow once? y yes");
    top.types(&["y"]);
    assert_eq!(waiter.printed(), ALLOW);
    top.shows("allow: ");
    desk.send("PostToolUse", "first", json!({"tool_name": "Bash", "tool_use_id": "t-first"}));

    let waiter = held(&desk, "second", "make two");
    top.goes_to("make two");
    top.presses("d", "deny, message");
    top.types(&["-l", "use three"]);
    top.types(&["Enter"]);
    assert!(waiter.printed().contains("\"behavior\":\"deny\",\"message\":\"use three\""));

    let questions = json!({"questions": [{"question": "Which color?", "header": "Color", "multiSelect": false,
        "options": [{"label": "Red"}, {"label": "Blue"}]}]});
    let waiter = desk.ask_for("third", "AskUserQuestion", questions);
    desk.card("third");
    top.goes_to("Which color?");
    top.presses("a", "number or your own words");
    top.types(&["2", "Enter"]);
    assert!(waiter.printed().contains("\"answers\":{\"Which color?\":\"Blue\"}"));

    // All that are alike, after they were listed and their number was typed.
    let waiters: Vec<Waiter> =
        ["four", "five"].iter().map(|session| held(&desk, session, "npm test")).collect();
    top.goes_to("npm test");
    top.presses("a", "A all 2 that are alike");
    top.types(&["A"]);
    top.shows("type 2 to allow all of them");
    top.types(&["2", "Enter"]);
    for waiter in waiters {
        assert_eq!(waiter.printed(), ALLOW);
    }
    // A no to all of them, with a message.
    let waiters: Vec<Waiter> =
        ["six", "seven"].iter().map(|session| held(&desk, session, "npm publish")).collect();
    top.goes_to("npm publish");
    top.presses("d", "Tab all 2 that are alike");
    top.types(&["-l", "not today"]);
    top.types(&["Tab"]);
    top.shows("type 2 to deny all of them");
    top.types(&["2", "Enter"]);
    for waiter in waiters {
        assert!(waiter.printed().contains("\"behavior\":\"deny\",\"message\":\"not today\""));
    }
    let mut digests: Vec<String> =
        desk.headspace.server().get("/api/events?type=Answer&limit=1000")["events"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|step| step["body"]["state"] == "claimed")
            .map(|step| step["body"]["digest"].as_str().unwrap().to_owned())
            .collect();
    let all = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!((all, digests.len()), (7, 7), "each with its own digest");
}

#[test]
fn who_was_not_the_first_reads_who_was_and_when() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    // `top` has asked back, and the page answers meanwhile: the question is over.
    let Some(top) = Screen::of(&desk, "top") else { return };
    unlocked_by_top(&desk);
    let waiter = held(&desk, "race", "make");
    top.shows("make");
    top.presses("a", "allow once? y yes");
    assert_eq!(desk.answer(&desk.card("race"), "deny").status, 200);
    top.shows("answered already from the dashboard, ");
    top.types(&["y"]);
    assert!(waiter.printed().contains("deny"), "what was decided first");
    drop(top);
    // The guard wants a word for this one, so the command waits for a person while the page answers.
    let waiter = held(&desk, "typed", "git push --force origin main");
    let command = Screen::of(&desk, "answer typed allow").unwrap();
    command.shows("Type `git` to allow it");
    assert_eq!(desk.answer(&desk.card("typed"), "deny").status, 200);
    assert!(waiter.printed().contains("deny"));
    command.types(&["git", "Enter"]);
    let screen = command.shows("answered already from the dashboard, ");
    assert!(screen.contains(" ago"), "{screen}");
}

#[test]
fn top_gets_its_key_again_after_a_restart_and_stays_locked_after_a_lock() {
    if below_an_agent() {
        return;
    }
    let mut desk = Desk::locked(json!({}));
    let Some(top) = Screen::of(&desk, "top") else { return };
    unlocked_by_top(&desk);
    desk.headspace.stop();
    desk.headspace.start();
    unlocked_by_top(&desk);
    let waiter = held(&desk, "after", "make");
    top.shows("make");
    top.presses("a", "allow once? y yes");
    top.types(&["y"]);
    assert_eq!(waiter.printed(), ALLOW);
    // Somebody takes the keys back: that holds, though the person still sits here.
    desk.headspace.ok(&["answer", "lock"]);
    top.shows("locked from elsewhere");
    assert_eq!(desk.headspace.server().get("/api/answer")["unlocked"], false);
    // A key of `top` alone is noticed, too, while a page stays unlocked.
    drop(top);
    let top = Screen::of(&desk, "top").unwrap();
    unlocked_by_top(&desk);
    desk.unlock();
    top.shows("web was unlocked from pts/");
    let keys = desk.headspace.server().get("/api/answer")["keys"].as_array().unwrap().clone();
    let id = keys.iter().find(|key| key["surface"] == "top").unwrap()["id"].clone();
    assert_eq!(desk.browser("/api/answer/lock", &json!({"id": id}), "").status, 204);
    top.shows("locked from elsewhere");
}
