//! What the guard would say about an open ask. The person who decides should see it whether the guard is on or not.

use crate::view::card::GuardWords;
use headspace_core::model::{AgentView, InteractionKind};
use headspace_guard::{Decision, GuardEnvironment, judge};
use headspace_platform::config::Config;
use serde_json::json;
use std::path::PathBuf;

/// What the guard says about each open permission request of an agent; nothing if it has no objection.
pub fn words(config: &Config, agent: &AgentView) -> GuardWords {
    let asked = agent.interactions.iter().filter(|open| open.kind == InteractionKind::Permission);
    asked
        .filter_map(|open| {
            let payload =
                json!({"tool_name": open.tool_name, "tool_input": open.input.as_ref()?, "cwd": agent.cwd});
            let mut environment = GuardEnvironment::here(config);
            if let Some(cwd) = &agent.cwd {
                environment.cwd = PathBuf::from(cwd);
            }
            environment.project = agent.project_path.as_ref().map(PathBuf::from).or(environment.project);
            let verdict = judge(&payload, &environment);
            let word = match verdict.decision {
                Decision::Allow => return None,
                Decision::Ask => "would ask",
                Decision::Deny => "would deny",
            };
            let rule = verdict.rule.map_or(String::new(), |rule| format!(" ({rule})"));
            Some((open.id, format!("{word}: {}{rule}", verdict.finding.unwrap_or_default())))
        })
        .collect()
}
