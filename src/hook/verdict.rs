//! What the client would conclude from the hooks of an event.

use super::dialect::{Dialect, EventRule, Exit2};
use super::output::{self, Output, Permission};
use super::runner::HookExecutionResult;
use super::settings::HookEntry;

/// The end of the story, for the whole event.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The client would not go on as planned.
    pub blocked: bool,
    /// Why, from the first hook that said so.
    pub reason: Option<String>,
    /// What the model would get, joined in order.
    pub context: Option<String>,
    pub permission: Option<Permission>,
    /// One per hook, in order.
    pub effects: Vec<Effect>,
}

/// What one hook changed.
#[derive(Debug, Default)]
pub struct Effect {
    pub block: Option<String>,
    pub permission: Option<Permission>,
    pub context: Option<String>,
    /// In words, for people.
    pub notes: Vec<String>,
}

/// Draws the conclusion. What the hooks printed is looked at here, so that a refused JSON becomes the `error` of
/// its result.
pub fn conclude(
    dialect: &Dialect,
    rule: &EventRule,
    ran: &mut [(&HookEntry, &mut HookExecutionResult)],
) -> Verdict {
    let mut verdict = Verdict::default();
    for (entry, result) in ran {
        let effect = effect(dialect, rule, entry, result);
        if let Some(reason) = &effect.block {
            verdict.blocked = true;
            verdict.reason.get_or_insert_with(|| reason.clone());
        }
        verdict.permission = verdict.permission.max(effect.permission);
        if let Some(context) = &effect.context {
            match &mut verdict.context {
                Some(all) => {
                    all.push('\n');
                    all.push_str(context);
                }
                None => verdict.context = Some(context.clone()),
            }
        }
        verdict.effects.push(effect);
    }
    verdict
}

fn effect(
    dialect: &Dialect,
    rule: &EventRule,
    entry: &HookEntry,
    result: &mut HookExecutionResult,
) -> Effect {
    let ended_well = result.error.is_none() && (result.exit_code == Some(0) || result.status.is_some());
    if ended_well {
        return printed(dialect, rule, entry, result);
    }
    if result.exit_code == Some(2) && result.error.is_none() {
        return exit_2(rule, result);
    }
    let why = match (&result.error, result.exit_code) {
        (Some(error), _) => error.clone(),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "it did not end".into(),
    };
    failure(rule, entry, &why)
}

/// A failure changes nothing, unless the entry says that it must.
fn failure(rule: &EventRule, entry: &HookEntry, why: &str) -> Effect {
    let blocks = entry.blocks_on_failure && rule.on_failure && !entry.detached;
    let block = if blocks {
        Some(format!("the hook failed ({why}) and its onFailure is block"))
    } else if rule.needs_path {
        Some(format!("the hook failed ({why}), so there is no worktree"))
    } else {
        None
    };
    let note =
        if block.is_some() { format!("failed: {why}") } else { format!("failed, not blocking: {why}") };
    Effect { block, notes: vec![note], ..Effect::default() }
}

fn exit_2(rule: &EventRule, result: &HookExecutionResult) -> Effect {
    let said = result.stderr.trim();
    match rule.exit_2 {
        Exit2::Blocks => {
            let reason =
                if said.is_empty() { "blocked by a hook (exit code 2, no reason on stderr)" } else { said };
            Effect { block: Some(reason.to_owned()), ..Effect::default() }
        }
        Exit2::TellsModel => Effect {
            context: Some(said.to_owned()).filter(|text| !text.is_empty()),
            notes: vec![format!("exit code 2 cannot block {}: its stderr goes to the model", rule.name)],
            ..Effect::default()
        },
        Exit2::Nothing => {
            let note = format!("failed, not blocking: exit code 2 has no effect on {}", rule.name);
            Effect { notes: vec![note], ..Effect::default() }
        }
    }
}

fn printed(
    dialect: &Dialect,
    rule: &EventRule,
    entry: &HookEntry,
    result: &mut HookExecutionResult,
) -> Effect {
    if !dialect.reads_json {
        return plain(rule, result.stdout.trim());
    }
    match output::read(rule, &result.stdout) {
        Output::Nothing => plain(rule, ""),
        Output::Text(text) => plain(rule, &text),
        Output::Rejected(why) => {
            result.error = Some(why.clone());
            // A command has ended with 0 all the same; an http hook has nothing but its body.
            if result.status.is_some() {
                result.success = false;
            }
            failure(rule, entry, &why)
        }
        Output::Json(answer) => {
            let worktree_missing = rule.needs_path && answer.worktree.is_none();
            let block = answer.block.or(answer.stop).or_else(|| worktree_missing.then(no_path));
            Effect { block, permission: answer.permission, context: answer.context, notes: answer.also }
        }
    }
}

fn plain(rule: &EventRule, text: &str) -> Effect {
    let mut effect = Effect::default();
    if text.is_empty() {
        effect.block = rule.needs_path.then(no_path);
    } else if rule.plain_context {
        effect.context = Some(text.to_owned());
    } else if !rule.needs_path {
        effect.notes.push(match rule.name {
            "PreCompact" => "its stdout becomes instructions for the summary".into(),
            name => format!("its stdout is not used on {name}"),
        });
    }
    effect
}

fn no_path() -> String {
    "the hook printed no path, so there is no worktree".into()
}
