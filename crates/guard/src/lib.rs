//! The guard: decisions on tool calls before they happen.
//!
//! [`judge`] takes a PreToolUse payload and a [`Place`] and returns a [`Verdict`]. "Allow" means no opinion: the
//! guard never widens what the client would permit. What cannot be read is asked, never silently allowed.
//!
//! `shell` reads text into a tree; `walk` goes through it as the shell would and shows every command to
//! `programs`, whose rules end in deleting, writing, reading or running (`walk::touch`); `paths` and `protected`
//! know places; `rules` holds the words. `tools` does the same for everything that is not a shell.

#![forbid(unsafe_code)]

pub mod code;
pub mod deadline;
pub mod environment;
pub mod eval;
pub mod once;
pub mod paths;
pub mod payload;
pub mod powershell;
pub mod programs;
pub mod protected;
pub mod rules;
pub mod shell;
pub mod sql;
pub mod tools;

pub use crate::environment::{Disk, Files, Place};
pub use crate::eval::{PROJECT_FILE, Step};

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

/// What the guard says to one tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// The id of the rule that spoke; never there for "allow".
    pub rule: Option<String>,
    pub reason: Option<String>,
    /// The pattern that fitted, if the rule has any.
    pub pattern: Option<String>,
    /// What the rule spoke about.
    pub subject: Option<String>,
}

impl Verdict {
    pub fn allow() -> Verdict {
        Verdict { decision: Decision::Allow, rule: None, reason: None, pattern: None, subject: None }
    }

    /// For input that is no payload at all.
    pub fn unreadable(place: &Place, why: &str) -> Verdict {
        rules::verdict(&rules::INPUT_SHAPE, place.failure(), why, &place.config_file.to_string_lossy())
    }
}

/// Nesting that the caller's stack can take; beyond it a thread with a stack of its own tries again.
const DEPTH_HERE: usize = 40;
const DEPTH_THREAD: usize = 2500;
const STACK: usize = 512 << 20;

/// Judges a PreToolUse payload. Pure, but for the looks at names and links that [`Place::files`] gives.
pub fn judge(payload: &Value, place: &Place) -> Verdict {
    judge_with_steps(payload, place, false).0
}

/// Judges a payload as it was read; whatever goes wrong on the way is a reason to ask.
pub fn judge_bytes(bytes: &[u8], place: &Place) -> Verdict {
    let Some(payload) = payload::read(bytes) else {
        return Verdict::unreadable(place, "input that is no JSON");
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(&payload, place)))
        .unwrap_or_else(|_| Verdict::unreadable(place, "input that the guard stumbled over"))
}

/// As [`judge`], with the commands that would run when `trace` is set.
pub fn judge_with_steps(payload: &Value, place: &Place, trace: bool) -> (Verdict, Vec<Step>) {
    let (first, steps, too_deep) = attempt(payload, place, DEPTH_HERE, trace);
    if !too_deep {
        return (first, steps);
    }
    let deep = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || {
                headspace_platform::watchdog::crash::prepare_thread();
                attempt(payload, place, DEPTH_THREAD, trace)
            })
            .ok()
            .and_then(|thread| thread.join().ok())
    });
    match deep {
        Some((verdict, steps, false)) => (verdict, steps),
        // Deeper than anyone writes: what is in there is read without its brackets, and is asked at least.
        _ => {
            let flat = tools::flattened(payload);
            let (verdict, steps, _) = attempt(&flat, place, DEPTH_HERE, trace);
            (if verdict.decision > first.decision { verdict } else { first }, steps)
        }
    }
}

fn attempt(payload: &Value, place: &Place, depth: usize, trace: bool) -> (Verdict, Vec<Step>, bool) {
    let cwd = payload.get("cwd").and_then(Value::as_str);
    let mut walk = eval::Walk::new(place, cwd, depth);
    walk.trace = trace.then(Vec::new);
    tools::judge(&mut walk, payload);
    let verdict = walk.worst.as_ref().map_or_else(Verdict::allow, |finding| finding.verdict(place));
    (verdict, walk.trace.take().unwrap_or_default(), walk.too_deep)
}

/// What a PermissionRequest hook prints: a refusal, or nothing. The question is put to the user already.
pub fn permission_output(verdict: &Verdict) -> Option<Value> {
    (verdict.decision == Decision::Deny).then(|| {
        json!({
            "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": {
                    "behavior": "deny",
                    "message": verdict.reason.as_deref().unwrap_or("headspace guard"),
                },
            }
        })
    })
}

/// What a PreToolUse hook prints: a decision, or nothing at all. Printing "allow" would override a permission
/// the user has not given.
pub fn hook_output(verdict: &Verdict) -> Option<Value> {
    if verdict.decision == Decision::Allow {
        return None;
    }
    Some(json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": verdict.decision.as_str(),
            "permissionDecisionReason": verdict.reason.as_deref().unwrap_or("headspace guard"),
        }
    }))
}

#[cfg(test)]
mod tests;
