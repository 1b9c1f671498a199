//! Webhooks: each has its own thread, a timeout, and retries for a receiver that is down.
//!
//! `https` uses `curl`, as desktop notifications use `notify-send`: a TLS library would make up a seventh of this
//! binary.

use crate::alerts::{Alert, Cause, Channel};
use headspace_core::text::{markup, one_line};
use headspace_platform::config::{Webhook, WebhookFormat};
use serde_json::json;
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
    pub fn open(hook: Webhook) -> Outbox {
        let (queue, alerts) = sync_channel(MAX_WAITING_ALERTS);
        let own = hook.clone();
        let thread = std::thread::Builder::new().name("webhook".into());
        if let Err(error) = thread.spawn(move || deliver_all(&own, &alerts)) {
            eprintln!("headspace: could not start the webhook's thread: {error}");
        }
        Outbox { hook, queue }
    }
}

impl Channel for Outbox {
    /// Without the path: for ntfy and Slack the path is the secret.
    fn name(&self) -> String {
        let host = self.hook.url.split('/').nth(2).unwrap_or("?");
        format!("webhook {}", host.rsplit('@').next().unwrap_or(host))
    }

    fn send(&self, alert: &Alert) {
        if self.queue.try_send(alert.clone()).is_err() {
            eprintln!("headspace: {} is behind by {MAX_WAITING_ALERTS} alerts; one was dropped", self.name());
        }
    }

    fn try_now(&self, alert: &Alert) -> Result<(), String> {
        deliver(&client(), &self.hook, alert)
    }
}

fn deliver_all(hook: &Webhook, alerts: &Receiver<Alert>) {
    let client = client();
    for alert in alerts {
        let mut pauses = RETRY_AFTER.iter();
        while let Err(why) = deliver(&client, hook, &alert) {
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

fn client() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(REQUEST_TIMEOUT)).max_redirects(0).build().into()
}

/// One request, ready to send.
struct Request {
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn deliver(client: &ureq::Agent, hook: &Webhook, alert: &Alert) -> Result<(), String> {
    let request = request(hook, alert);
    if hook.url.starts_with("https://") {
        return curl(&hook.url, &request);
    }
    let mut post = client.post(&hook.url);
    for (name, value) in &request.headers {
        post = post.header(*name, value);
    }
    // ureq's errors contain no URL: nothing secret gets into the log.
    post.send(&request.body).map(drop).map_err(|error| error.to_string())
}

fn request(hook: &Webhook, alert: &Alert) -> Request {
    let text = if hook.include_text { one_line(&alert.text, 1000) } else { String::new() };
    let title = one_line(&alert.title(), 200);
    let json = ("Content-Type", "application/json".to_owned());
    let (mut headers, body) = match hook.format {
        WebhookFormat::Json => {
            let mut body = json!(alert);
            if !hook.include_text {
                body["text"] = json!(null);
            }
            body["title"] = json!(title);
            (vec![json], body.to_string())
        }
        WebhookFormat::Slack if text.is_empty() => {
            (vec![json], json!({ "text": markup(&title) }).to_string())
        }
        WebhookFormat::Slack => {
            let line = format!("*{}*\n{}", markup(&title), markup(&text));
            (vec![json], json!({ "text": line }).to_string())
        }
        WebhookFormat::Ntfy => {
            let (priority, tag) = match alert.cause {
                Cause::Attention => ("high", "raised_hand"),
                Cause::Error => ("high", "x"),
                Cause::Finished => ("default", "white_check_mark"),
            };
            let headers = vec![
                ("X-Title", header_safe(&title)),
                ("X-Priority", priority.to_owned()),
                ("X-Tags", tag.to_owned()),
            ];
            (headers, if text.is_empty() { title } else { text })
        }
    };
    headers.push(("User-Agent", "headspace".to_owned()));
    Request { headers, body }
}

/// The URL and the texts are passed through standard input: in the arguments, every user on the machine could read them.
fn curl(url: &str, request: &Request) -> Result<(), String> {
    let mut config = format!("url = {}\ndata-raw = {}\n", quoted(url), quoted(&request.body));
    for (name, value) in &request.headers {
        config.push_str(&format!("header = {}\n", quoted(&format!("{name}: {value}"))));
    }
    let mut child = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--fail",
            "--proto",
            "=https",
            "--max-time",
            "10",
            "--config",
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not run curl, which https needs: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(config.as_bytes());
    }
    let out = child.wait_with_output().map_err(|error| error.to_string())?;
    if out.status.success() { Ok(()) } else { Err(one_line(&String::from_utf8_lossy(&out.stderr), 200)) }
}

/// Quoted for curl's configuration file.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{}\"", escaped.replace('\r', "").replace('\t', "\\t"))
}

/// Headers are ASCII; anything else becomes a question mark rather than an error.
fn header_safe(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '·' {
                '-'
            } else if c.is_ascii() && !c.is_ascii_control() {
                c
            } else {
                '?'
            }
        })
        .collect()
}
