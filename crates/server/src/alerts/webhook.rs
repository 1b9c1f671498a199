//! Webhooks: each has its own thread, a timeout, and retries for a receiver that is down.
//!
//! `https` uses `curl`, as desktop notifications use `notify-send`: it knows the proxies and certificates that people set up,
//! and the server needs no TLS of its own.

use crate::alerts::ntfy::{self, Actions};
use crate::alerts::{Alert, Cause, Channel};
use crate::answers::buttons::ButtonMaker;
use headspace_core::text::{markup, one_line};
use headspace_platform::config::{Webhook, WebhookFormat};
use serde_json::{Value, json};
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

/// One request, ready to send.
struct Request {
    headers: Vec<(&'static str, String)>,
    body: String,
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

fn request(hook: &Webhook, alert: &Alert, actions: &Actions) -> Request {
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
                Cause::Unlocked => ("high", "unlock"),
            };
            let mut headers = vec![
                ("X-Title", header_safe(&title)),
                ("X-Priority", priority.to_owned()),
                ("X-Tags", tag.to_owned()),
            ];
            headers.extend(alert.url.as_ref().map(|url| ("X-Click", header_safe(url))));
            headers.extend(actions.header.as_ref().map(|actions| ("X-Actions", header_safe(actions))));
            headers.extend(
                hook.token.as_ref().map(|token| ("Authorization", format!("Bearer {}", header_safe(token)))),
            );
            // What can be allowed from there must be there whole.
            let text = actions.whole.clone().unwrap_or(text);
            (headers, if text.is_empty() { title } else { text })
        }
        WebhookFormat::Discord => {
            let mut lines = vec![format!("**{}**", without_markdown(&title))];
            lines.extend(Some(without_markdown(&text)).filter(|text| !text.is_empty()));
            // In angle brackets a link has no preview, which would be fetched.
            lines.extend(alert.url.as_ref().map(|url| format!("<{url}>")));
            // Whoever writes `@everyone` into a command must not wake everyone.
            let body = json!({"content": lines.join("\n"), "allowed_mentions": {"parse": []}});
            (vec![json], body.to_string())
        }
        WebhookFormat::Telegram => {
            let lines: Vec<&str> = [Some(title.as_str()), Some(text.as_str()), alert.url.as_deref()]
                .into_iter()
                .flatten()
                .filter(|line| !line.is_empty())
                .collect();
            // Without a parse mode, nothing in it is markup.
            let body =
                json!({"chat_id": hook.chat, "text": lines.join("\n"), "disable_web_page_preview": true});
            (vec![json], body.to_string())
        }
        WebhookFormat::Template => {
            let fields = [
                ("{title}", title.clone()),
                ("{text}", text.clone()),
                ("{cause}", alert.cause.word().to_owned()),
                ("{name}", one_line(&alert.name, 200)),
                ("{project}", one_line(alert.project.as_deref().unwrap_or_default(), 200)),
                ("{agent_id}", alert.agent_id.to_string()),
                ("{url}", alert.url.clone().unwrap_or_default()),
            ];
            match filled(hook.template.as_ref().unwrap_or(&Value::Null), &fields) {
                Value::String(text) => (vec![("Content-Type", "text/plain; charset=utf-8".to_owned())], text),
                body => (vec![json], body.to_string()),
            }
        }
    };
    headers.push(("User-Agent", "headspace".to_owned()));
    Request { headers, body }
}

/// The template with every placeholder in its texts filled in. What is filled in is not looked at again: a `{url}` in a command
/// stays as it is.
fn filled(template: &Value, fields: &[(&str, String)]) -> Value {
    match template {
        Value::String(text) => {
            let (mut out, mut rest) = (String::new(), text.as_str());
            while let Some(at) = rest.find('{') {
                out.push_str(&rest[..at]);
                rest = &rest[at..];
                match fields.iter().find(|(name, _)| rest.starts_with(name)) {
                    Some((name, value)) => {
                        out.push_str(value);
                        rest = &rest[name.len()..];
                    }
                    None => {
                        out.push('{');
                        rest = &rest[1..];
                    }
                }
            }
            Value::String(out + rest)
        }
        Value::Array(items) => items.iter().map(|item| filled(item, fields)).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), filled(value, fields))).collect()
        }
        other => other.clone(),
    }
}

/// Text that Discord shows as it is.
fn without_markdown(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        if "\\*_~|`>#[]()<-".contains(c) {
            out.push('\\');
        }
        out.push(c);
        out
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::stamp::Stamp;

    #[test]
    fn every_format_carries_hostile_text_as_text() {
        let alert = Alert {
            cause: Cause::Attention,
            agent_id: 7.into(),
            name: "fix".into(),
            project: Some("api".into()),
            machine: None,
            host: None,
            text: "Allow Bash: echo \"{url}\" @everyone **x** \u{1b}[2J\nrm".into(),
            timestamp: Stamp(0),
            ask: Some(3),
            url: Some("http://box:5055/#/agents/7".into()),
        };
        let of = |format: &str, more: Value| {
            let mut hook = json!({"url": "http://x", "format": format, "include_text": true});
            hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            request(&serde_json::from_value(hook).unwrap(), &alert, &Actions::default())
        };
        let body = |request: &Request| serde_json::from_str::<Value>(&request.body).unwrap();
        let ntfy = of("ntfy", json!({}));
        assert!(ntfy.headers.contains(&("X-Click", "http://box:5055/#/agents/7".to_owned())));
        let discord = body(&of("discord", json!({})));
        assert_eq!(discord["allowed_mentions"]["parse"], json!([]));
        let content = discord["content"].as_str().unwrap();
        assert!(content.starts_with("**api · fix needs you**\nAllow Bash: echo"), "{content}");
        assert!(
            content.contains(r"\*\*x\*\*") && content.ends_with("<http://box:5055/#/agents/7>"),
            "{content}"
        );
        assert!(!content.contains('\u{1b}'));
        let telegram = body(&of("telegram", json!({"chat": "-100"})));
        assert_eq!(telegram["chat_id"], "-100");
        assert!(telegram["text"].as_str().unwrap().contains("@everyone **x** [2J rm"), "{telegram}");
        let template = json!({"template": {"to": ["{project}/{name}", 1], "{x": "{cause} {text} {agent_id} {nothing} {"}});
        let filled = body(&of("template", template));
        assert_eq!(filled["to"], json!(["api/fix", 1]));
        assert_eq!(filled["{x"], "attention Allow Bash: echo \"{url}\" @everyone **x** [2J rm 7 {nothing} {");
        let plain = of("template", json!({"template": "{title}: {url}"}));
        assert_eq!(plain.body, "api · fix needs you: http://box:5055/#/agents/7");
        assert!(plain.headers[0].1.starts_with("text/plain"));
    }
}
