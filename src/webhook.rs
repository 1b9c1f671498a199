//! Webhooks: each has a thread of its own, a timeout, and patience with a receiver that is away.

use crate::alerts::{Alert, Cause, Channel};
use crate::config::{Webhook, WebhookFormat};
use crate::terminal::gist;
use serde_json::json;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Alerts that wait for one receiver; more would only be old news.
const QUEUE: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(10);
const RETRIES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(60)];

/// The queue in front of one webhook.
pub struct Outbox {
    hook: Webhook,
    queue: SyncSender<Alert>,
}

impl Outbox {
    pub fn open(hook: Webhook) -> Outbox {
        let (queue, alerts) = sync_channel(QUEUE);
        let own = hook.clone();
        let thread = std::thread::Builder::new().name("webhook".into());
        if let Err(error) = thread.spawn(move || deliver_all(&own, &alerts)) {
            eprintln!("headspace: could not start the webhook's thread: {error}");
        }
        Outbox { hook, queue }
    }
}

impl Channel for Outbox {
    /// Without the path: with ntfy and Slack that is the secret.
    fn name(&self) -> String {
        let host = self.hook.url.split('/').nth(2).unwrap_or("?");
        format!("webhook {}", host.rsplit('@').next().unwrap_or(host))
    }

    fn send(&self, alert: &Alert) {
        if self.queue.try_send(alert.clone()).is_err() {
            eprintln!("headspace: {} is behind by {QUEUE} alerts; one was dropped", self.name());
        }
    }

    fn try_now(&self, alert: &Alert) -> Result<(), String> {
        deliver(&client(), &self.hook, alert)
    }
}

fn deliver_all(hook: &Webhook, alerts: &Receiver<Alert>) {
    let client = client();
    for alert in alerts {
        let mut pauses = RETRIES.iter();
        while let Err(why) = deliver(&client, hook, &alert) {
            let Some(pause) = pauses.next() else {
                eprintln!("headspace: could not deliver to the webhook: {}", crate::terminal::plain(&why));
                break;
            };
            std::thread::sleep(*pause);
        }
    }
}

fn client() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).max_redirects(0).build().into()
}

fn deliver(client: &ureq::Agent, hook: &Webhook, alert: &Alert) -> Result<(), String> {
    let text = if hook.include_text { gist(&alert.text, 1000) } else { String::new() };
    let title = gist(&alert.title(), 200);
    let request = client.post(&hook.url).header("User-Agent", "headspace");
    let sent = match hook.format {
        WebhookFormat::Json => {
            let mut body = json!(alert);
            if !hook.include_text {
                body["text"] = json!(null);
            }
            body["title"] = json!(title);
            request.content_type("application/json").send(body.to_string())
        }
        WebhookFormat::Slack => {
            let line = if text.is_empty() {
                title
            } else {
                format!("*{}*\n{}", slack_escaped(&title), slack_escaped(&text))
            };
            request.content_type("application/json").send(json!({ "text": line }).to_string())
        }
        WebhookFormat::Ntfy => request
            .header("X-Title", header_safe(&title))
            .header("X-Priority", if alert.cause == Cause::Finished { "default" } else { "high" })
            .header(
                "X-Tags",
                match alert.cause {
                    Cause::Attention => "raised_hand",
                    Cause::Error => "x",
                    Cause::Finished => "white_check_mark",
                },
            )
            .send(if text.is_empty() { title.clone() } else { text }),
    };
    match sent {
        Ok(_) => Ok(()),
        // ureq's errors name no URL: nothing secret gets into the log.
        Err(error) => Err(error.to_string()),
    }
}

fn slack_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
