//! Coverage: Claude Code processes that run, against agents that report.

use crate::commands::doctor::{CheckInput, Finding, checks};
use crate::commands::install::short;
use headspace_clients as clients;
use headspace_clients::Client;
use std::collections::HashSet;

/// Silent processes that are listed.
const LISTED: usize = 5;

/// Five live, four reporting: which one does not report, and the likely reason.
pub fn coverage(input: &CheckInput) -> Vec<Finding> {
    let live = clients::running();
    let Some(agents) = checks::agents(input) else { return Vec::new() };
    // Only hooks name the host: an agent found on disk may never report. Pids of another machine mean nothing here.
    let told = agents.iter().filter(|agent| agent.host.is_some() && !agent.elsewhere);
    let reporting: HashSet<u32> = told.filter_map(|agent| agent.claude_pid).collect();
    let silent: Vec<&Client> = live.iter().filter(|client| !reporting.contains(&client.pid)).collect();
    let counts = format!("{} live, {} reporting", live.len(), live.len() - silent.len());
    if silent.is_empty() {
        return vec![Finding::ok(counts)];
    }
    let place = |client: &Client| client.cwd.as_ref().map_or("?".into(), |dir| short(dir));
    let mut list: Vec<String> =
        silent.iter().take(LISTED).map(|client| format!("pid {} in {}", client.pid, place(client))).collect();
    if let more @ 1.. = silent.len().saturating_sub(LISTED) {
        list.push(format!("and {more} more"));
    }
    // Without hooks it never reports, whatever is typed into it.
    let fix = if checks::is_installed(input) {
        "type something into it: it reports with its next event (unless it runs with --bare, in a folder that is not \
         trusted, or with another CLAUDE_CONFIG_DIR, which `--config-dir` checks)"
    } else {
        "run `headspace install`: no settings looked at call headspace, so it has nothing to report with"
    };
    vec![Finding::warn(format!("{counts}; silent: {}", list.join(", ")), fix)]
}
