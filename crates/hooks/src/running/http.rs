//! One http hook: a POST of the payload, whose response body counts like standard output.

use crate::running::HookExecutionResult;
use crate::settings::HttpRequest;
use headspace_platform::config;
use headspace_platform::net::http_client;
use std::io::Read;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Variables that are never sent in a header, allowed or not.
const CREDENTIALS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Posts the payload. No redirects, no proxy.
pub fn run(request: &HttpRequest, payload: &str, timeout: Duration) -> HookExecutionResult {
    let begin = Instant::now();
    let mut result = HookExecutionResult::default();
    if let Err(error) = post(request, payload, timeout, &mut result) {
        result.timed_out = error.timed_out;
        result.error = Some(error.why);
    }
    result.success = result.error.is_none();
    result.duration = begin.elapsed();
    result
}

struct RequestFailure {
    why: String,
    timed_out: bool,
}

impl From<String> for RequestFailure {
    fn from(why: String) -> RequestFailure {
        RequestFailure { why, timed_out: false }
    }
}

fn post(
    request: &HttpRequest,
    payload: &str,
    timeout: Duration,
    result: &mut HookExecutionResult,
) -> Result<(), RequestFailure> {
    if let Some(why) = refused(&request.url) {
        return Err(why.into());
    }
    let failed = |error: ureq::Error| match error {
        ureq::Error::Timeout(_) => {
            RequestFailure { why: format!("timed out after {} s", timeout.as_secs_f64()), timed_out: true }
        }
        error => format!("could not post: {error}").into(),
    };
    let mut post =
        http_client::agent(timeout, timeout).post(&request.url).header("content-type", "application/json");
    for (name, value) in &request.headers {
        post = post.header(name, filled_in(value, &request.allowed_env_vars));
    }
    let mut response = post.send(payload).map_err(failed)?;
    let status = response.status().as_u16();
    result.status = Some(status);
    let mut body = Vec::new();
    let cap = crate::running::process::MAX_OUTPUT_BYTES as u64;
    response.body_mut().as_reader().take(cap).read_to_end(&mut body).map_err(
        |error| match ureq::Error::from(error) {
            error @ ureq::Error::Timeout(_) => failed(error),
            error => RequestFailure::from(format!("could not read the answer: {error}")),
        },
    )?;
    result.truncated = body.len() as u64 == cap;
    result.stdout = String::from_utf8_lossy(&body).into_owned();
    if !(200..300).contains(&status) {
        return Err(format!("HTTP status {status}").into());
    }
    let text = result.stdout.trim();
    if !text.is_empty() && !text.starts_with('{') {
        return Err("the body of the answer is not JSON".to_owned().into());
    }
    Ok(())
}

/// Addresses the client does not post to.
pub fn refused(url: &str) -> Option<String> {
    let private = is_private(host(url).parse().ok()?);
    private.then(|| "Claude Code posts to no private address but loopback".into())
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// Replaces `$NAME` and `${NAME}` by allowed variables; others become empty.
fn filled_in(text: &str, allowed: &[String]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (braced, body) = match after.strip_prefix('{') {
            Some(body) => (true, body),
            None => (false, after),
        };
        let length = body
            .bytes()
            .enumerate()
            .take_while(|(i, b)| b.is_ascii_alphabetic() || *b == b'_' || (*i > 0 && b.is_ascii_digit()))
            .count();
        let closed = !braced || body[length..].starts_with('}');
        if length == 0 || !closed {
            out.push('$');
            rest = after;
            continue;
        }
        let name = &body[..length];
        if allowed.iter().any(|a| a == name) && !CREDENTIALS.contains(&name) {
            out.push_str(&config::env(name).unwrap_or_default());
        }
        rest = &body[length + usize::from(braced)..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_variables_are_filled_in() {
        let allowed = ["PATH".to_owned(), "ANTHROPIC_API_KEY".to_owned()];
        let path = std::env::var("PATH").unwrap();
        let table = [
            ("v $PATH!", format!("v {path}!")),
            ("${PATH}", path),
            ("a-${HOME}-b", "a--b".to_owned()),
            ("$ANTHROPIC_API_KEY", String::new()),
            ("cost 5$, ${, $1 ${x", "cost 5$, ${, $1 ${x".to_owned()),
        ];
        for (text, expected) in table {
            assert_eq!(filled_in(text, &allowed), expected, "{text}");
        }
    }

    #[test]
    fn private_addresses_are_refused_and_loopback_is_not() {
        for url in
            ["http://10.0.0.1/x", "http://169.254.169.254/", "http://u@192.168.1.1:80/", "http://[fe80::1]/"]
        {
            assert!(refused(url).is_some(), "{url}");
        }
        for url in ["http://127.0.0.1:1/x", "http://[::1]:5/", "http://localhost/", "http://example.com"] {
            assert_eq!(refused(url), None, "{url}");
        }
    }
}
