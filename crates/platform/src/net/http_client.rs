//! How headspace speaks HTTP where time is not short: one way to make the client, and the question who is there.
//!
//! Two do it otherwise: the hook, by hand, because ureq alone would use up its budget; and webhooks, which leave the
//! machine and so go through the user's proxy.

use crate::config;
use headspace_core::wire::Health;
use std::time::Duration;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// Without proxy, redirects, or errors for what is only a status.
pub fn agent(connect: Duration, timeout: Duration) -> ureq::Agent {
    let settings = ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(connect))
        .timeout_global(Some(timeout))
        .build();
    ureq::Agent::with_parts(settings, DefaultConnector::default(), Literally::default())
}

/// An address that is one needs no lookup; the usual resolver starts a thread even for `127.0.0.1`.
#[derive(Debug, Default)]
struct Literally(DefaultResolver);

impl Resolver for Literally {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let address = uri.authority().and_then(|authority| authority.as_str().parse().ok());
        let Some(address) = address else { return self.0.resolve(uri, config, timeout) };
        let mut addresses = self.empty();
        addresses.push(address);
        Ok(addresses)
    }
}

/// Asks the server who it is; `None` if there is none, or it is something else than headspace.
pub fn health(url: &str, timeout: Duration) -> Option<Health> {
    let mut request = agent(timeout, timeout).get(format!("{url}/health"));
    if let Some(token) = config::token() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let text = request.call().ok()?.body_mut().with_config().limit(64 * 1024).read_to_string().ok()?;
    let health: Health = serde_json::from_str(&text).ok()?;
    (health.name == "headspace").then_some(health)
}
