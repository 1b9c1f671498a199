//! Which hooks run for an event, and why the others do not.

pub mod condition;
pub mod matcher;
pub mod pattern;
pub mod values;

use crate::dialect::{Dialect, EventRule};
use crate::payload::HookJsonInput;
use crate::settings::Action;
use crate::settings::sources::{FoundHook, Sources};
use std::path::Path;

/// The hooks of an event, split into those that run and those that do not.
#[derive(Debug, Default)]
pub struct Selection<'s> {
    pub matched: Vec<FoundHook<'s>>,
    pub skipped: Vec<(FoundHook<'s>, String)>,
}

/// Selects the hooks of `rule` for the payload.
pub fn select<'s>(
    sources: &'s Sources,
    rule: &EventRule,
    payload: &HookJsonInput,
    cwd: &Path,
) -> Selection<'s> {
    let value = match_value(rule, payload);
    let mut selection = Selection::default();
    for found in sources.hooks().filter(|found| found.group.event == rule.name) {
        let reason = sources
            .disabled(found.source)
            .or_else(|| why_not(sources.dialect, rule, &found, value.as_deref()))
            .or_else(|| unmet_condition(rule, &found, payload, cwd))
            .or_else(|| double(sources.dialect, &selection.matched, &found));
        match reason {
            None => selection.matched.push(found),
            Some(reason) => selection.skipped.push((found, reason)),
        }
    }
    selection
}

/// What a matcher is compared with: a payload field, or the last component of a path.
pub fn match_value(rule: &EventRule, payload: &HookJsonInput) -> Option<String> {
    let value = payload.text(rule.match_field?)?;
    if rule.match_field == Some("file_path") {
        return Some(value.rsplit(['/', '\\']).next().unwrap_or_default().to_owned());
    }
    Some(value)
}

fn why_not(
    dialect: &Dialect,
    rule: &EventRule,
    found: &FoundHook<'_>,
    value: Option<&str>,
) -> Option<String> {
    let matcher = found.group.matcher.as_deref();
    if !matcher::matches(dialect.matching, rule, matcher, value) {
        return Some(format!("the matcher does not match {:?}", value.unwrap_or_default()));
    }
    let is_http = matches!(found.entry.action, Action::Http(_));
    (is_http && !rule.http).then(|| format!("http hooks are not run on {}", rule.name))
}

fn unmet_condition(
    rule: &EventRule,
    found: &FoundHook<'_>,
    payload: &HookJsonInput,
    cwd: &Path,
) -> Option<String> {
    let condition = found.entry.condition.as_deref()?;
    if !rule.conditional {
        return Some(format!("a hook with `if` never runs on {}", rule.name));
    }
    let tool = payload.text("tool_name").unwrap_or_default();
    let input = payload.get("tool_input").unwrap_or_default();
    (!condition::holds(condition, &tool, &input, cwd))
        .then(|| format!("the call does not meet `if` {condition:?}"))
}

fn double(dialect: &Dialect, matched: &[FoundHook<'_>], found: &FoundHook<'_>) -> Option<String> {
    let first = matched.iter().find(|earlier| earlier.entry.is_double_of(found.entry))?;
    let position = first.entry.position;
    dialect
        .doubles_run_once
        .then(|| format!("runs once: same as {}:{}", first.source.path.display(), position.line))
}
