//! The buttons of an ntfy notification. The app on the phone sends a button's request to this server, so the server must be
//! reachable from there (`dashboard_url`).
//!
//! *Deny* is always offered: a stranger who reads the topic could at most deny. *Allow* is offered only if the user asked for
//! it, and if the ntfy server currently refuses the topic both to strangers and to the configured token, which every program
//! of this user can read.

use crate::alerts::webhook::run_curl;
use crate::alerts::{Alert, Cause};
use crate::answers::buttons::ButtonMaker;
use headspace_platform::config::Webhook;

/// What a notification has besides its text.
#[derive(Debug, Default, PartialEq)]
pub struct Actions {
    pub header: Option<String>,
    /// Replaces the text: everything that *Allow* would let run.
    pub whole: Option<String>,
}

pub fn actions(
    client: &ureq::Agent,
    hook: &Webhook,
    maker: &ButtonMaker,
    dashboard: &str,
    alert: &Alert,
) -> Actions {
    let (Some(ask), Some(agent), Cause::Attention) = (alert.ask, alert.agent_id.own(), alert.cause) else {
        return Actions::default();
    };
    let may_allow = hook.allow && only_its_owner_reads(client, hook);
    let offer = maker.offer(agent, ask, hook.host(), may_allow);
    let button = |label: &str, secret: &str| {
        format!(
            "http, {label}, {dashboard}/api/answer/button, method=POST, headers.Content-Type=application/json, \
             body={{\"press\":\"{secret}\"}}, clear=true"
        )
    };
    let allow = offer.allow.as_ref().map(|(secret, _)| button("Allow once", secret));
    let deny = offer.deny.as_ref().map(|secret| button("Deny", secret));
    let all: Vec<String> = allow.into_iter().chain(deny).collect();
    Actions {
        header: Some(all.join("; ")).filter(|header| !header.is_empty()),
        whole: offer.allow.map(|(_, whole)| whole),
    }
}

/// Whether the ntfy server refuses the topic to a stranger and to the configured token. Anything but a clear refusal counts
/// as readable.
fn only_its_owner_reads(client: &ureq::Agent, hook: &Webhook) -> bool {
    let Some(token) = &hook.token else { return false };
    let refused = |token: Option<&str>| {
        let is_refusal = read_status(client, hook, token).is_some_and(|status| matches!(status, 401 | 403));
        if !is_refusal {
            let who = if token.is_some() { "the token in the configuration" } else { "everybody" };
            eprintln!(
                "headspace: no Allow in the notification: {who} may read the topic at {}, or it does not say",
                hook.host()
            );
        }
        is_refusal
    };
    refused(None) && refused(Some(token))
}

/// The status with which the server answers a reader.
fn read_status(client: &ureq::Agent, hook: &Webhook, token: Option<&str>) -> Option<u16> {
    let (scheme, rest) = hook.url.split_once("://")?;
    // A password in the address is one that every program of this user can read, like the token.
    let rest = rest.split_once('@').filter(|(user, _)| !user.contains('/')).map_or(rest, |(_, rest)| rest);
    let address = rest.split(['?', '#']).next()?.trim_end_matches('/');
    let url = format!("{scheme}://{address}/json?poll=1");
    let authorization = token.map(|token| ("Authorization", format!("Bearer {token}")));
    if scheme == "https" {
        let options = ["--output", "/dev/null", "--write-out", "%{http_code}"];
        return run_curl(&url, authorization.as_slice(), &options, "").ok()?.trim().parse().ok();
    }
    let mut get = client.get(&url).config().http_status_as_error(false).build();
    if let Some((name, value)) = &authorization {
        get = get.header(*name, value);
    }
    get.call().ok().map(|response| response.status().as_u16())
}
