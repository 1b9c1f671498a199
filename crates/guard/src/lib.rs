//! The guard: decides about tool calls before they happen.
//!
//! [`judge`] takes a PreToolUse payload and a [`GuardEnvironment`] and returns a [`Verdict`]. "Allow" means no opinion:
//! the guard never permits more than the client would. What cannot be read becomes a question, never a silent "allow".
//!
//! `shell` parses text into a tree; `eval` evaluates the tree as the shell would and shows every command to `programs`,
//! whose rules end in deleting, writing, reading or running (`eval/file_effects.rs`). `paths` and `protected` know
//! which paths matter, `rules` holds the policy and its wording, and `tools` does the same for every tool that is not a
//! shell. `deadline` keeps the promise to answer in time.
//!
//! The guard knows nothing about hooks, the store or the server, runs no command but `git status`, and writes nothing.
//! Begin with [`judge`], then `tools`, then `eval`.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod allow_once;
mod code;
pub mod deadline;
mod environment;
mod eval;
mod paths;
pub mod payload;
mod powershell;
mod programs;
mod protected;
pub mod rules;
pub mod shell;
mod sql;
mod tools;

pub use crate::environment::{AgentPanes, FileSystem, GuardEnvironment};
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

/// The guard's answer to one tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// The id of the rule that decided; always `None` for "allow".
    pub rule: Option<String>,
    /// What was found and what to do instead, for a person who decides.
    pub finding: Option<String>,
    /// The same for the agent and its user: with the rule, and how the user can change it.
    pub reason: Option<String>,
    /// The pattern that matched, if the rule has any.
    pub pattern: Option<String>,
    /// What the rule is about: the command or path in question.
    pub subject: Option<String>,
}

impl Verdict {
    pub fn allow() -> Verdict {
        Verdict {
            decision: Decision::Allow,
            rule: None,
            finding: None,
            reason: None,
            pattern: None,
            subject: None,
        }
    }

    /// For input that is not a payload at all.
    pub fn unreadable(environment: &GuardEnvironment, why: &str) -> Verdict {
        rules::verdict(
            &rules::INPUT_SHAPE,
            environment.failure(),
            why,
            &environment.config_file.to_string_lossy(),
        )
    }
}

/// Nesting that the caller's stack can take; beyond it, a thread with a larger stack tries again.
const MAX_DEPTH_ON_CALLER_STACK: usize = 40;
const MAX_DEPTH_ON_LARGE_STACK: usize = 2500;
const LARGE_STACK_BYTES: usize = 512 << 20;

/// Judges a PreToolUse payload. Pure, except for what [`GuardEnvironment::files`] looks up.
pub fn judge(payload: &Value, environment: &GuardEnvironment) -> Verdict {
    judge_with_steps(payload, environment, false).0
}

/// Judges a payload given as bytes; anything that goes wrong is a reason to ask.
pub(crate) fn judge_bytes(bytes: &[u8], environment: &GuardEnvironment) -> Verdict {
    let Some(payload) = payload::read(bytes) else {
        return Verdict::unreadable(environment, "input that is not JSON");
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(&payload, environment)))
        .unwrap_or_else(|_| Verdict::unreadable(environment, "input that crashed the guard"))
}

/// Like [`judge`]; also returns the commands that would run if `trace` is set.
pub fn judge_with_steps(
    payload: &Value,
    environment: &GuardEnvironment,
    trace: bool,
) -> (Verdict, Vec<Step>) {
    let (first, steps, too_deep) = attempt(payload, environment, MAX_DEPTH_ON_CALLER_STACK, trace);
    if !too_deep {
        return (first, steps);
    }
    let deep = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(LARGE_STACK_BYTES)
            .spawn_scoped(scope, || {
                headspace_platform::watchdog::early_answer::prepare_thread();
                attempt(payload, environment, MAX_DEPTH_ON_LARGE_STACK, trace)
            })
            .ok()
            .and_then(|thread| thread.join().ok())
    });
    match deep {
        Some((verdict, steps, false)) => (verdict, steps),
        // Nested deeper than anyone writes: the text is read without its brackets, and the answer is "ask" at least.
        _ => {
            let flat = tools::flattened(payload);
            let (verdict, steps, _) = attempt(&flat, environment, MAX_DEPTH_ON_CALLER_STACK, trace);
            (if verdict.decision > first.decision { verdict } else { first }, steps)
        }
    }
}

fn attempt(
    payload: &Value,
    environment: &GuardEnvironment,
    depth: usize,
    trace: bool,
) -> (Verdict, Vec<Step>, bool) {
    let cwd = payload.get("cwd").and_then(Value::as_str);
    let mut eval = eval::Evaluator::new(environment, cwd, depth);
    eval.trace = trace.then(Vec::new);
    tools::judge(&mut eval, payload);
    let verdict = eval.worst.as_ref().map_or_else(Verdict::allow, |finding| finding.verdict(environment));
    (verdict, eval.trace.take().unwrap_or_default(), eval.too_deep)
}

/// What a PermissionRequest hook prints: a refusal, or nothing. The user is being asked already.
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

/// What a PreToolUse hook prints: a decision, or nothing at all. Printing "allow" would override a permission that the
/// user has not given.
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
