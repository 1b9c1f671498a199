//! Delivers alerts to webhooks: each has its own thread, a timeout, and retries for a receiver that is down. What is sent
//! is in [`webhook_format`](super::webhook_format).
//!
//! `https` uses `curl`, as desktop notifications use `notify-send`: it knows the proxies and certificates that people set up,
//! and the server needs no TLS of its own.

use crate::alerts::ntfy::{self, Actions};
use crate::alerts::webhook_format::{Request, request};
use crate::alerts::{Alert, Channel};
use crate::answers::buttons::ButtonMaker;
use headspace_core::text::one_line;
use headspace_platform::config::{Webhook, WebhookFormat};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Alerts that wait for one receiver; more would be outdated anyway.
const MAX_WAITING_ALERTS: usize = 64;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_AFTER: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(60)];

/// The queue of one webhook.
pub struct Outbox {
    hook: Webhook,
    queue: SyncSender<Alert>,
}

impl Outbox {
    /// `dashboard`: where the buttons of a notification reach this server.
    pub fn open(hook: Webhook, dashboard: String, buttons: Option<ButtonMaker>) -> Outbox {
        let (queue, alerts) = sync_channel(MAX_WAITING_ALERTS);
        let own = hook.clone();
        let buttons = buttons.filter(|_| hook.format == WebhookFormat::Ntfy).map(|maker| (maker, dashboard));
        let thread = std::thread::Builder::new().name("webhook".into());
        if let Err(error) = thread.spawn(move || deliver_all(&own, buttons.as_ref(), &alerts)) {
            eprintln!("headspace: could not start the webhook's thread: {error}");
        }
        Outbox { hook, queue }
    }
}

impl Channel for Outbox {
    /// Without the path: for ntfy and Slack the path is the secret.
    fn name(&self) -> String {
        format!("webhook {}", self.hook.host())
    }

    fn send(&self, alert: &Alert) {
        if self.queue.try_send(alert.clone()).is_err() {
            eprintln!("headspace: {} is behind by {MAX_WAITING_ALERTS} alerts; one was dropped", self.name());
        }
    }

    fn try_now(&self, alert: &Alert) -> Result<(), String> {
        deliver(&client(), &self.hook, &request(&self.hook, alert, &Actions::default()))
    }
}

fn deliver_all(hook: &Webhook, buttons: Option<&(ButtonMaker, String)>, alerts: &Receiver<Alert>) {
    let client = client();
    for alert in alerts {
        let mut pauses = RETRY_AFTER.iter();
        let actions = buttons.map_or(Actions::default(), |(maker, dashboard)| {
            ntfy::actions(&client, hook, maker, dashboard, &alert)
        });
        let request = request(hook, &alert, &actions);
        while let Err(why) = deliver(&client, hook, &request) {
            let Some(pause) = pauses.next() else {
                eprintln!(
                    "headspace: could not deliver to the webhook: {}",
                    headspace_core::text::strip_control(&why)
                );
                break;
            };
            std::thread::sleep(*pause);
        }
    }
}

pub(super) fn client() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(REQUEST_TIMEOUT)).max_redirects(0).build().into()
}

fn deliver(client: &ureq::Agent, hook: &Webhook, request: &Request) -> Result<(), String> {
    if hook.url.starts_with("https://") {
        return curl(&hook.url, request);
    }
    let mut post = client.post(&hook.url);
    for (name, value) in &request.headers {
        post = post.header(*name, value);
    }
    // ureq's errors contain no URL: nothing secret gets into the log.
    post.send(&request.body).map(drop).map_err(|error| error.to_string())
}

/// The URL and the texts are passed through standard input: in the arguments, every user on the machine could read them.
fn curl(url: &str, request: &Request) -> Result<(), String> {
    let body = format!("data-raw = {}\n", quoted(&request.body));
    run_curl(url, &request.headers, &["--fail"], &body).map(drop)
}

/// Runs curl with `more` in its configuration; returns what it printed.
pub(super) fn run_curl(
    url: &str,
    headers: &[(&str, String)],
    options: &[&str],
    more: &str,
) -> Result<String, String> {
    let mut config = format!("url = {}\n{more}", quoted(url));
    for (name, value) in headers {
        config.push_str(&format!("header = {}\n", quoted(&format!("{name}: {value}"))));
    }
    let mut child = Command::new("curl")
        .args(["--silent", "--show-error", "--proto", "=https", "--max-time", "10", "--config", "-"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not run curl, which https needs: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(config.as_bytes());
    }
    let out = child.wait_with_output().map_err(|error| error.to_string())?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(one_line(&String::from_utf8_lossy(&out.stderr), 200)),
    }
}

/// Quoted for curl's configuration file.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{}\"", escaped.replace('\r', "").replace('\t', "\\t"))
}
