//! The link to a team's hub, if this machine has joined one.

use crate::commands::doctor::{CheckInput, Finding};
use crate::commands::hub::machine::LinkReport;
use headspace_core::text::numbers::duration;
use headspace_core::text::one_line;
use std::time::Duration;

/// The hub corrects ages by the clock's error; a larger error would cause other problems on the machine, too.
const CLOCK_MAY_BE_OFF: Duration = Duration::from_secs(60);

pub fn hub(_: &CheckInput) -> Vec<Finding> {
    match LinkReport::read() {
        Ok(None) => Vec::new(),
        Ok(Some(report)) => findings(&report),
        Err(error) => {
            vec![Finding::fail(
                format!("{error:#}"),
                "ask for an invitation and run `headspace hub join LINK`, or `headspace hub leave`",
            )]
        }
    }
}

fn findings(report: &LinkReport) -> Vec<Finding> {
    let who = report.who();
    let mut found = vec![match (&report.link.error, report.server_runs) {
        (_, false) => {
            Finding::warn(format!("{who}: the server is not running, so nothing is sent"), "headspace up")
        }
        (None, true) => Finding::ok(format!("{who}; {}", report.progress())),
        (Some(why), true) => {
            // What the hub says about a machine that it will not take as it is.
            let again =
                ["revoked", "copied", "joined no", "who is there"].iter().any(|word| why.contains(word));
            let fix = match again {
                true => "ask for an invitation and run `headspace hub join LINK` here".to_owned(),
                false => {
                    format!("see that {}/health answers; what is not sent waits here", report.membership.url)
                }
            };
            Finding::warn(format!("{who}: {}", one_line(why, 200)), fix)
        }
    }];
    let off = Duration::from_secs(report.link.clock_off_s.unsigned_abs());
    if off > CLOCK_MAY_BE_OFF {
        let way = if report.link.clock_off_s > 0 { "behind" } else { "ahead of" };
        found.push(Finding::warn(
            format!("the clock of this machine is {} {way} the hub's", duration(off)),
            "set the clock (NTP); ages on the team's board are corrected until then",
        ));
    }
    found
}
