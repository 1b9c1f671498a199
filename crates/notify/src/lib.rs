//! The hook command: stdin ▶ local decisions ▶ POST ▶ spool.
//!
//! Claude Code runs it on every event, so it must never be noticed: it exits 0, prints nothing unless it has something to
//! say, ends within two seconds whatever happens, and costs about as much as starting a process. Hence no argument parser,
//! no threads, and neither store nor server in the manifest.
//!
//! `stdin` reads the payload, `caller` finds out which client and process called, `decide` judges and answers locally (the
//! guard, [`context`] files), `envelope` adds what identifies the session, `post` sends it; what is not acknowledged goes
//! to platform's spool. [`wait`] is the second hook, which holds a permission until it is answered. Begin with [`main`].

pub mod alarm;
pub mod caller;
pub mod context;
pub mod debug_log;
pub mod decide;
pub mod envelope;
pub mod guard_form;
pub mod post;
pub mod scan;
pub mod stdin;
pub mod wait;

use crate::caller::Caller;
use crate::stdin::{Input, Payload};
use headspace_core::json::repair::repaired;
use headspace_core::mask;
use headspace_core::model::event_names;
use headspace_core::model::observed;
use headspace_guard::Verdict;
use headspace_platform::config::{self, Config, Durability};
use headspace_platform::spool::Spool;
use headspace_platform::spool::delivery::Delivery;
use headspace_shortcut::handed_over::{self, Sent};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

/// Reading and posting end here; the time until [`HARD_DEADLINE`] is for the spool.
const SOFT_DEADLINE: Duration = Duration::from_millis(1500);

/// The process ends here, done or not.
const HARD_DEADLINE: Duration = Duration::from_millis(1900);

/// The same two deadlines for reporting a verdict of the guard: the client already has its answer and waits only for this
/// process to end. The spool takes a millisecond; it gets a second because the machine may be busy.
const VERDICT_SOFT: Duration = Duration::from_millis(250);
const VERDICT_HARD: Duration = Duration::from_millis(1250);

/// What became of a posted event.
#[derive(Debug)]
enum Outcome {
    /// Committed, with what the server wants printed, if anything.
    Acked(Option<Value>),
    /// Our server will never accept this event, so it is not spooled either.
    Refused(String),
    /// Everything else, including an answer that is not our server's: the event goes to the spool.
    Away(String),
}

/// `headspace notify [--client NAME] [EVENT]`. Continues where the shortcut stopped, if it began.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let begun = handed_over::take();
    let (delivery, elapsed) = match &begun {
        Some(begun) => (Delivery::of(begun.sent_at, begun.random), begun.elapsed()),
        None => (Delivery::now(), Duration::ZERO),
    };
    alarm::arm(left(SOFT_DEADLINE, elapsed), Some(left(HARD_DEADLINE, elapsed)));
    exit_zero(|| {
        if let Some(begun) = &begun {
            begun.let_signals_through();
        }
        let (input, sent) = begun.map_or((&[][..], None), |begun| (begun.input, begun.sent));
        match Input::read_after(input) {
            Input::Object(payload) => {
                let (client, event) = caller::arguments(arguments);
                deliver(client.as_deref(), event, &payload, &delivery, sent)
            }
            Input::Cut(bytes) => {
                debug_log::note(format_args!("payload not complete after {} bytes: dropped", bytes.len()))
            }
            Input::Garbage(_) => debug_log::note("no JSON object on standard input: nothing to deliver"),
        }
    })
}

/// How much of `deadline` is left: at least a millisecond, because zero would switch the alarm off.
fn left(deadline: Duration, elapsed: Duration) -> Duration {
    deadline.saturating_sub(elapsed).max(Duration::from_millis(1))
}

/// `headspace` without a command: a hook payload on standard input is delivered (clients before 2.1.139 run the bare
/// path, because they do not know `args`), a person gets the `help`. An incomplete payload exits 0 as well: exit code 2
/// would block the client's tool call.
pub fn without_command(help: fn() -> String) -> ExitCode {
    let delivery = Delivery::now();
    if !std::io::stdin().is_terminal() {
        alarm::exit_quietly_whatever_happens();
        alarm::arm(SOFT_DEADLINE, Some(HARD_DEADLINE));
        match Input::read_after(&[]) {
            Input::Object(payload)
                if payload.has_text("hook_event_name") && payload.has_text("session_id") =>
            {
                return exit_zero(|| deliver(None, None, &payload, &delivery, None));
            }
            Input::Cut(_) => return ExitCode::SUCCESS,
            _ => alarm::disarm(),
        }
    }
    let _ = write!(std::io::stderr(), "{}", help());
    ExitCode::from(2)
}

/// Posts something that is only worth knowing while it is new: it is not spooled, and nothing is printed.
pub fn report(slug: &str, payload: &Payload, delivery: &Delivery) {
    if !payload.has_text("session_id") {
        return debug_log::note("no session_id: nothing to report");
    }
    let body = envelope::splice(payload, &envelope::fields(delivery));
    match send(Config::load_if_any().ok().flatten().as_ref(), slug, &body) {
        Outcome::Acked(_) => debug_log::note(format_args!("{slug} reported")),
        Outcome::Refused(why) | Outcome::Away(why) => {
            debug_log::note(format_args!("{slug} not reported: {why}"))
        }
    }
}

/// Delivers the guard's verdict on a tool call, after it was printed.
pub fn verdict(client: Option<&str>, payload: &[u8], verdict: &Verdict) -> ExitCode {
    alarm::arm(VERDICT_SOFT, Some(VERDICT_HARD));
    exit_zero(|| {
        deliver_verdict(Config::load_if_any().unwrap_or_default().as_ref(), client, payload, verdict)
    })
}

/// Prints nothing: the client has its answer.
fn deliver_verdict(config: Option<&Config>, client: Option<&str>, payload: &[u8], verdict: &Verdict) {
    let delivery = Delivery::now();
    let Some(Input::Object(report)) = decide::report(payload, verdict).map(Payload::parse) else { return };
    let caller = Caller::of(client, &report);
    if !caller.has_session(&report) {
        return;
    }
    let slug = event_names::slug_of(observed::GUARD);
    let body = envelope::splice(&report, &caller.fields(&report, &delivery));
    if let Outcome::Away(why) = send(config, &slug, &body) {
        keep(config, &delivery, &slug, &body, &why);
    }
}

/// Does the `work` and exits 0. A panic is only a line in the debug log.
fn exit_zero(work: impl FnOnce()) -> ExitCode {
    alarm::exit_quietly_whatever_happens();
    std::panic::set_hook(Box::new(|panic| debug_log::note(panic)));
    let _ = catch_unwind(AssertUnwindSafe(work));
    // Nothing is left to clean up: what was printed ended with a line break, so it was flushed.
    #[cfg(unix)]
    // SAFETY: ends the process; only the client waits for it.
    unsafe {
        libc::_exit(0)
    };
    #[cfg(not(unix))]
    ExitCode::SUCCESS
}

/// Judges, posts and spools one event. `sent`: the shortcut has already sent it.
fn deliver(
    client: Option<&str>,
    event: Option<String>,
    payload: &Payload,
    delivery: &Delivery,
    sent: Option<Sent>,
) {
    let Some(name) = event.or_else(|| payload.text("hook_event_name")) else {
        return debug_log::note("no event name: nothing to deliver");
    };
    let caller = Caller::of(client, payload);
    if !caller.has_session(payload) {
        return debug_log::note("no session_id: nothing to deliver");
    }
    // The argument may be a slug or a name.
    let slug = event_names::slug_of(&name);
    if !event_names::fits(&slug) {
        return debug_log::note("the event's name is too long: nothing to deliver");
    }
    let name = event_names::by_slug(&slug).map_or(name.as_str(), |spec| spec.name);
    let config = Config::load_if_any().unwrap_or_else(|error| {
        debug_log::note(format_args!("{error:#}"));
        Some(Config::load_for_guard().0)
    });

    // Without a configuration the guard is off.
    let verdict = config.as_ref().and_then(|config| decide::verdict(name, &caller, payload, config));
    let (form, _) = guard_form::rendered(caller.guard_form());
    print(verdict.as_ref().and_then(form).as_ref());
    let body = envelope::splice(payload, &caller.fields(payload, delivery));
    let outcome = match sent {
        Some(sent) => judge_posted(|| post::answer_to(sent)),
        None => send(config.as_ref(), &slug, &body),
    };
    let theirs = match outcome {
        Outcome::Acked(output) => {
            debug_log::note(format_args!("{name} delivered"));
            output
        }
        Outcome::Refused(why) => {
            debug_log::note(format_args!("{name} refused: {why}: dropped"));
            None
        }
        Outcome::Away(why) => {
            keep(config.as_ref(), delivery, &slug, &body, &why);
            None
        }
    };
    if let Some(verdict) = verdict {
        deliver_verdict(config.as_ref(), client, payload.object(), &verdict);
    } else if caller.is_claude() {
        let ours = config.and_then(|config| decide::words(name, payload, &config));
        print(decide::combine(name, ours, theirs).as_ref());
    }
}

fn send(config: Option<&Config>, slug: &str, body: &[u8]) -> Outcome {
    if config::env(config::var::REHEARSAL).is_some() {
        return Outcome::Refused("`hooks run` only rehearses".into());
    }
    judge_posted(|| post::post(config, slug, body))
}

/// Turns an answer, an error or a panic into an outcome: if `post` panics, the event was not delivered and is spooled.
fn judge_posted(post: impl FnOnce() -> Result<post::Answer, String>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(post)) {
        Ok(Ok(answer)) => judge(answer),
        Ok(Err(why)) => Outcome::Away(why),
        Err(_) => Outcome::Away("could not post: see above".into()),
    }
}

/// Another program may listen on the port, so an answer counts, whether it is yes or no, only in our server's form.
fn judge(answer: post::Answer) -> Outcome {
    let code = answer.status;
    let Input::Object(body) = Payload::parse(answer.body) else {
        return Outcome::Away(format!("answer {code} is not our server's"));
    };
    let is = |key: &str, value: &[u8]| body.get(key).is_some_and(|written| written == value);
    match code {
        200..=299 if is("status", b"\"ok\"") && body.get("event_id").is_some_and(|id| id != b"null") => {
            Outcome::Acked(body.get("hook_output").and_then(|output| serde_json::from_slice(output).ok()))
        }
        400 | 413 if is("status", b"\"error\"") => {
            Outcome::Refused(body.text("message").unwrap_or_else(|| code.to_string()))
        }
        _ => Outcome::Away(format!("answer {code} is not an acknowledgment")),
    }
}

/// Puts an event that was not delivered into the spool.
fn keep(config: Option<&Config>, delivery: &Delivery, slug: &str, body: &[u8], why: &str) {
    // If other users can read or write there, losing the event is better: the session is found again by its transcript,
    // while a leaked text cannot be taken back. Commands that print say what is wrong. A token that cannot be trusted is not
    // used, but says nothing about the directory.
    if config::check_state_dir().is_err() {
        return;
    }
    let paranoid = config.is_some_and(|config| config.paranoid);
    let body = match catch_unwind(|| storable(body, paranoid)) {
        Ok(Some(body)) => body,
        Ok(None) => return debug_log::note(format_args!("{slug} lost: {why}; no server could read it")),
        // A bug in masking must not cost the event: only the user can read the file, and the server masks again.
        Err(_) => body.into(),
    };
    let durability = config.map_or(Durability::Crash, |config| config.durability);
    match Spool::open().append(delivery, slug, &body, durability) {
        Ok(path) => debug_log::note(format_args!("{slug} spooled: {why}; {}", path.display())),
        Err(error) => debug_log::note(format_args!("{slug} lost: {why}; {error:#}")),
    }
}

/// The body as the server would store it: without secrets, and with `paranoid` without any text that was said. Spooled
/// events may stay for weeks and be in every backup. `None`: the body cannot be parsed, so its texts cannot be removed.
fn storable(body: &[u8], paranoid: bool) -> Option<Cow<'_, [u8]>> {
    if !paranoid {
        return Some(mask::json::bytes(body));
    }
    let mut value: Value =
        serde_json::from_slice(body).or_else(|_| serde_json::from_str(&repaired(body))).ok()?;
    mask::paranoid::forget_texts(&mut value);
    mask::value(&mut value);
    serde_json::to_vec(&value).ok().map(Cow::Owned)
}

fn print(output: Option<&Value>) {
    let Some(output) = output else { return };
    // The client may have closed its end; the event is delivered all the same.
    let _ = writeln!(std::io::stdout().lock(), "{output}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_in_our_servers_form_counts() {
        let judged = |status, body: &str| match judge(post::Answer { status, body: body.into() }) {
            Outcome::Acked(Some(output)) if !output.is_null() => "says",
            Outcome::Acked(_) => "acked",
            Outcome::Refused(_) => "refused",
            Outcome::Away(_) => "away",
        };
        for (status, body, expected) in [
            (200, r#"{"status":"ok","event_id":7}"#, "acked"),
            (200, r#"{"event_id":"x","new":[1],"status":"ok","hook_output":{}}"#, "says"),
            (200, r#"{"status":"ok","event_id":7,"hook_output":null}"#, "acked"),
            (200, r#"{"status":"ok"}"#, "away"),
            (200, r#"{"status":"ok","event_id":null}"#, "away"),
            (200, r#"{"status":"error","event_id":7}"#, "away"),
            (200, "<html>", "away"),
            (204, "", "away"),
            (302, r#"{"status":"ok","event_id":7}"#, "away"),
            (400, r#"{"status":"error","message":"no session_id"}"#, "refused"),
            (413, r#"{"status":"error"}"#, "refused"),
            (400, "Bad Request", "away"),
            (403, r#"{"status":"error","message":"x"}"#, "away"),
            (500, r#"{"status":"error","message":"x"}"#, "away"),
            (503, r#"{"status":"error"}"#, "away"),
        ] {
            assert_eq!(judged(status, body), expected, "{status} {body}");
        }
    }
}
