//! What the client would conclude from the hooks of an event.

pub mod output;

use crate::dialect::{Dialect, EventRule, Exit2};
use crate::outcome::output::{HookOutput, Permission};
use crate::running::HookExecutionResult;
use crate::settings::HookEntry;

/// Where version 2.1.325 of the client was observed to differ from its own rules. Users are told; nobody should rely on
/// it.
const SEEN_OBEYED: &str =
    "Claude Code 2.1.325 was seen to obey this JSON anyway: exit 0 with it, or 2 without";
const SEEN_AS_TEXT: &str = "Claude Code 2.1.325 was seen to treat such output as plain text";
const SEEN_CALLED: &str = "Claude Code 2.1.325 was seen to stop only after this call: deny it to prevent it";

/// The conclusion for the whole event.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The client would not continue as planned.
    pub blocked: bool,
    /// Why, from the first hook that said so.
    pub reason: Option<String>,
    /// What the model would receive, joined in order.
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

/// Draws the conclusion. The hooks' output is read here, so that rejected JSON becomes the `error` of its result.
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
    let mut effect = failure(rule, entry, &why);
    let prints_json = || matches!(output::read(rule, &result.stdout), HookOutput::Json(_));
    if dialect.reads_json && result.exit_code.is_some_and(|code| code != 0) && prints_json() {
        effect.notes.push(SEEN_OBEYED.into());
    }
    effect
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
    let note = if block.is_some() { "a failure that blocks" } else { "a failure that does not block" };
    Effect { block, notes: vec![note.into()], ..Effect::default() }
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
            let note = format!("failed without blocking: exit code 2 has no effect on {}", rule.name);
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
        HookOutput::Nothing => plain(rule, ""),
        HookOutput::Text(text) => plain(rule, &text),
        HookOutput::Rejected(why) => {
            result.error = Some(why.clone());
            // The command still exited with 0; an http hook has nothing but its body.
            if result.status.is_some() {
                result.success = false;
            }
            let mut effect = failure(rule, entry, &why);
            effect.notes.push(why);
            if output::is_broken(&result.stdout) {
                effect.notes.push(SEEN_AS_TEXT.into());
            }
            effect
        }
        HookOutput::Json(mut answer) => {
            if answer.stop.is_some() && answer.block.is_none() && rule.name == "PreToolUse" {
                answer.also.push(SEEN_CALLED.into());
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{CLAUDE, WAVE};
    use crate::json_spans::Position;
    use crate::settings::{Action, HookCommand};

    fn entry(blocks_on_failure: bool) -> HookEntry {
        let position = Position { line: 1, column: 1 };
        HookEntry {
            action: Action::Command(HookCommand { command: "x".into(), args: None, shell: None }),
            condition: None,
            timeout: None,
            blocks_on_failure,
            detached: false,
            once: false,
            position,
            what_position: position,
            path: String::new(),
        }
    }

    fn ended(code: i32, stdout: &str, stderr: &str) -> HookExecutionResult {
        HookExecutionResult {
            success: code == 0,
            exit_code: Some(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
            ..HookExecutionResult::default()
        }
    }

    fn verdict(dialect: &Dialect, event: &str, mut results: Vec<HookExecutionResult>) -> Verdict {
        let entry = entry(false);
        let mut ran: Vec<_> = results.iter_mut().map(|result| (&entry, result)).collect();
        conclude(dialect, dialect.event(event).unwrap(), &mut ran)
    }

    #[test]
    fn exit_2_blocks_informs_or_does_nothing_depending_on_the_event() {
        let no = || vec![ended(2, "", " no \n")];
        let blocked = verdict(&CLAUDE, "PreToolUse", no());
        assert_eq!((blocked.blocked, blocked.reason.as_deref()), (true, Some("no")));
        let told = verdict(&CLAUDE, "PostToolUse", no());
        assert_eq!((told.blocked, told.context.as_deref()), (false, Some("no")));
        let nothing = verdict(&CLAUDE, "SessionStart", no());
        assert_eq!((nothing.blocked, nothing.context), (false, None));
        assert!(!verdict(&CLAUDE, "PermissionRequest", no()).blocked);
        assert!(verdict(&WAVE, "Stop", no()).blocked);
        assert!(!verdict(&WAVE, "PostToolUse", no()).blocked);
        assert!(verdict(&WAVE, "Stop", vec![ended(2, "", "")]).reason.is_some());
    }

    #[test]
    fn the_first_reason_counts_and_contexts_are_joined_in_order() {
        let two = verdict(&CLAUDE, "Stop", vec![ended(0, "", ""), ended(2, "", "one"), ended(2, "", "two")]);
        assert_eq!(two.reason.as_deref(), Some("one"));
        let json = r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"J"}}"#;
        let joined = verdict(&CLAUDE, "SessionStart", vec![ended(0, json, ""), ended(0, "plain\n", "")]);
        assert_eq!(joined.context.as_deref(), Some("J\nplain"));
    }

    #[test]
    fn the_strongest_permission_counts() {
        let says = |word: &str| {
            let json = format!(
                r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{word}"}}}}"#
            );
            ended(0, &json, "")
        };
        let all =
            verdict(&CLAUDE, "PreToolUse", vec![says("allow"), says("deny"), says("ask"), says("defer")]);
        assert_eq!((all.permission, all.blocked), (Some(Permission::Deny), true));
        let asked = verdict(&CLAUDE, "PreToolUse", vec![says("allow"), says("ask")]);
        assert_eq!((asked.permission, asked.blocked), (Some(Permission::Ask), false));
    }

    #[test]
    fn json_of_a_hook_that_failed_or_is_broken_changes_nothing() {
        let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#;
        assert!(!verdict(&CLAUDE, "PreToolUse", vec![ended(1, deny, "")]).blocked);
        let mut broken = ended(0, "{oops", "");
        let entry = entry(false);
        let rule = CLAUDE.event("SessionStart").unwrap();
        let verdict = conclude(&CLAUDE, rule, &mut [(&entry, &mut broken)]);
        assert_eq!((verdict.blocked, verdict.context), (false, None));
        assert!(broken.error.is_some() && broken.success, "it did end with 0");
    }

    #[test]
    fn a_failure_blocks_only_where_the_entry_and_the_event_say_so() {
        let careful = entry(true);
        for (event, code, blocked) in [
            ("PreToolUse", 1, true),
            ("PermissionRequest", 127, true),
            ("Stop", 1, false),
            ("PreToolUse", 0, false),
        ] {
            let mut result = ended(code, "", "");
            let verdict = conclude(&CLAUDE, CLAUDE.event(event).unwrap(), &mut [(&careful, &mut result)]);
            assert_eq!(verdict.blocked, blocked, "{event} {code}");
        }
    }

    #[test]
    fn a_worktree_hook_must_print_a_path() {
        for (stdout, blocked) in [("", true), ("/tmp/w\n", false)] {
            assert_eq!(verdict(&CLAUDE, "WorktreeCreate", vec![ended(0, stdout, "")]).blocked, blocked);
        }
    }
}
