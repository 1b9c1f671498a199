//! The lines to the other machines, a finding each.

use crate::commands::doctor::{CheckInput, Finding};
use crate::commands::machines::{described, statuses};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use headspace_core::wire::{LineState, MachineStatus};
use headspace_platform::clock::WallClock;

pub fn machines(input: &CheckInput) -> Vec<Finding> {
    let Ok(config) = &input.config else { return Vec::new() };
    let (machines, running) = statuses(config);
    machines.iter().map(|machine| finding(machine, running, Stamp::now())).collect()
}

fn finding(machine: &MachineStatus, running: bool, now: Stamp) -> Finding {
    let name = one_line(&machine.name, 60);
    let said = format!("{name}: {}", described(machine, running, now));
    let whole = machine.left_out + machine.not_understood == 0;
    match machine.state {
        LineState::Unusable => Finding::fail(
            said,
            format!("correct \"machines\" in the configuration, or `headspace machines remove {name}`"),
        ),
        _ if !running => Finding::warn(said, "headspace up"),
        LineState::Up if whole => Finding::ok(said),
        LineState::Up => Finding::warn(said, "bring headspace to the same version on both machines"),
        LineState::Connecting => Finding::ok(said),
        LineState::Cut => {
            let fix = match (&machine.ssh, &machine.runs) {
                (Some(host), _) => format!("see that `ssh -o BatchMode=yes {host} headspace status` works"),
                (None, Some(runs)) => format!("see what `{}` prints", one_line(runs, 160)),
                (None, None) => "see `headspace machines list`".to_owned(),
            };
            Finding::warn(said, fix)
        }
    }
}
