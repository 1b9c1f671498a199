//! An alert in the form that each kind of webhook receives. Text of agents is hostile: in every form it is shown as text and
//! never read as markup. Pure.

use crate::alerts::ntfy::Actions;
use crate::alerts::{Alert, Cause};
use headspace_core::text::{markup, one_line};
use headspace_platform::config::{Webhook, WebhookFormat};
use serde_json::{Value, json};

/// One request, ready to send.
pub(super) struct Request {
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// The request that tells `hook` about `alert`, with the buttons in `actions` if the receiver is ntfy.
pub(super) fn request(hook: &Webhook, alert: &Alert, actions: &Actions) -> Request {
    let text = if hook.include_text { one_line(&alert.text, 1000) } else { String::new() };
    let message = Message { hook, alert, title: one_line(&alert.title(), 200), text };
    let mut request = match hook.format {
        WebhookFormat::Json => message.json(),
        WebhookFormat::Slack => message.slack(),
        WebhookFormat::Ntfy => message.ntfy(actions),
        WebhookFormat::Discord => message.discord(),
        WebhookFormat::Telegram => message.telegram(),
        WebhookFormat::Template => message.template(),
    };
    request.headers.push(("User-Agent", "headspace".to_owned()));
    request
}

/// An alert with the texts that the webhook may have.
struct Message<'a> {
    hook: &'a Webhook,
    alert: &'a Alert,
    title: String,
    /// Empty if the webhook must not get texts.
    text: String,
}

impl Message<'_> {
    fn json(&self) -> Request {
        let mut body = json!(self.alert);
        if !self.hook.include_text {
            body["text"] = json!(null);
        }
        body["title"] = json!(self.title);
        json_request(&body)
    }

    fn slack(&self) -> Request {
        let (title, text) = (markup(&self.title), markup(&self.text));
        let line = if text.is_empty() { title } else { format!("*{title}*\n{text}") };
        json_request(&json!({ "text": line }))
    }

    fn ntfy(&self, actions: &Actions) -> Request {
        let (priority, tag) = match self.alert.cause {
            Cause::Attention => ("high", "raised_hand"),
            Cause::Error => ("high", "x"),
            Cause::Finished => ("default", "white_check_mark"),
            Cause::Unlocked => ("high", "unlock"),
        };
        let mut headers = vec![
            ("X-Title", header_safe(&self.title)),
            ("X-Priority", priority.to_owned()),
            ("X-Tags", tag.to_owned()),
        ];
        headers.extend(self.alert.url.as_ref().map(|url| ("X-Click", header_safe(url))));
        headers.extend(actions.header.as_ref().map(|actions| ("X-Actions", header_safe(actions))));
        let token = self.hook.token.as_ref();
        headers.extend(token.map(|token| ("Authorization", format!("Bearer {}", header_safe(token)))));
        // An alert with an *Allow* button must show the whole command.
        let text = actions.whole.as_ref().unwrap_or(&self.text);
        Request { headers, body: if text.is_empty() { &self.title } else { text }.clone() }
    }

    fn discord(&self) -> Request {
        let mut lines = vec![format!("**{}**", without_markdown(&self.title))];
        lines.extend(Some(without_markdown(&self.text)).filter(|text| !text.is_empty()));
        // In angle brackets a link has no preview, which would be fetched.
        lines.extend(self.alert.url.as_ref().map(|url| format!("<{url}>")));
        // A command that contains `@everyone` must not notify everyone.
        json_request(&json!({"content": lines.join("\n"), "allowed_mentions": {"parse": []}}))
    }

    fn telegram(&self) -> Request {
        let lines = [self.title.as_str(), self.text.as_str(), self.alert.url.as_deref().unwrap_or_default()];
        let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        // Without a parse mode, nothing in it is markup.
        json_request(&json!({
            "chat_id": self.hook.chat, "text": lines.join("\n"), "disable_web_page_preview": true,
        }))
    }

    fn template(&self) -> Request {
        let alert = self.alert;
        let fields = [
            ("{title}", self.title.clone()),
            ("{text}", self.text.clone()),
            ("{cause}", alert.cause.word().to_owned()),
            ("{name}", one_line(&alert.name, 200)),
            ("{project}", one_line(alert.project.as_deref().unwrap_or_default(), 200)),
            ("{agent_id}", alert.agent_id.to_string()),
            ("{url}", alert.url.clone().unwrap_or_default()),
        ];
        match filled(self.hook.template.as_ref().unwrap_or(&Value::Null), &fields) {
            Value::String(body) => {
                Request { headers: vec![("Content-Type", "text/plain; charset=utf-8".to_owned())], body }
            }
            body => json_request(&body),
        }
    }
}

fn json_request(body: &Value) -> Request {
    Request { headers: vec![("Content-Type", "application/json".to_owned())], body: body.to_string() }
}

/// The template with every placeholder in its texts filled in. Filled-in text is not expanded again: a `{url}` in a command
/// stays as it is.
fn filled(template: &Value, fields: &[(&str, String)]) -> Value {
    match template {
        Value::String(text) => Value::String(filled_text(text, fields)),
        Value::Array(items) => items.iter().map(|item| filled(item, fields)).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), filled(value, fields))).collect()
        }
        other => other.clone(),
    }
}

fn filled_text(text: &str, fields: &[(&str, String)]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (name, value) = fields
            .iter()
            .find(|(name, _)| rest.starts_with(name))
            .map_or(("{", "{"), |(name, value)| (*name, value.as_str()));
        out.push_str(value);
        rest = &rest[name.len()..];
    }
    out + rest
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

/// Headers are ASCII; anything else becomes a question mark rather than an error.
fn header_safe(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '·' => '-',
            c if c.is_ascii() && !c.is_ascii_control() => c,
            _ => '?',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::stamp::Stamp;

    const URL: &str = "http://box:5055/#/agents/7";

    /// The request for an alert whose text tries to be markup, a mention, a placeholder and a control sequence.
    fn hostile(format: &str, more: Value) -> Request {
        let alert = Alert {
            cause: Cause::Attention,
            agent_id: 7.into(),
            name: "fix".into(),
            project: Some("api".into()),
            machine: None,
            host: None,
            text: "Allow Bash: echo \"{url}\" @everyone **x** <!here> \u{1b}[2J\nrm".into(),
            timestamp: Stamp(0),
            ask: Some(3),
            url: Some(URL.into()),
        };
        let mut hook = json!({"url": "http://x", "format": format, "include_text": true});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request(&serde_json::from_value(hook).unwrap(), &alert, &Actions::default())
    }

    fn body(request: &Request) -> Value {
        serde_json::from_str(&request.body).unwrap()
    }

    #[test]
    fn json_leaves_the_text_out_unless_it_is_wanted() {
        let silent = body(&hostile("json", json!({"include_text": false})));
        assert_eq!((&silent["text"], &silent["title"]), (&Value::Null, &json!("api · fix needs you")));
        assert!(body(&hostile("json", json!({})))["text"].as_str().unwrap().starts_with("Allow Bash"));
    }

    #[test]
    fn slack_gets_no_markup_from_the_text() {
        let slack = body(&hostile("slack", json!({})));
        let text = slack["text"].as_str().unwrap();
        assert!(text.starts_with("*api · fix needs you*\nAllow Bash: echo"), "{text}");
        assert!(text.contains("&lt;!here&gt;"), "{text}");
    }

    #[test]
    fn ntfy_has_ascii_headers_and_the_link_of_the_card() {
        let ntfy = hostile("ntfy", json!({}));
        assert!(ntfy.headers.contains(&("X-Title", "api - fix needs you".to_owned())), "{:?}", ntfy.headers);
        assert!(ntfy.headers.contains(&("X-Click", URL.to_owned())), "{:?}", ntfy.headers);
    }

    #[test]
    fn discord_shows_the_text_as_it_is_and_mentions_no_one() {
        let discord = body(&hostile("discord", json!({})));
        assert_eq!(discord["allowed_mentions"]["parse"], json!([]));
        let content = discord["content"].as_str().unwrap();
        assert!(content.starts_with("**api · fix needs you**\nAllow Bash: echo"), "{content}");
        assert!(content.contains(r"\*\*x\*\*") && content.ends_with(&format!("<{URL}>")), "{content}");
        assert!(!content.contains('\u{1b}'), "{content}");
    }

    #[test]
    fn telegram_gets_plain_text_for_its_chat() {
        let telegram = body(&hostile("telegram", json!({"chat": "-100"})));
        assert_eq!(telegram["chat_id"], "-100");
        assert!(telegram["text"].as_str().unwrap().contains("@everyone **x** <!here> [2J rm"), "{telegram}");
        assert_eq!(telegram.get("parse_mode"), None);
    }

    #[test]
    fn a_template_is_filled_in_once_and_keeps_its_shape() {
        let template = json!({"to": ["{project}/{name}", 1], "{x": "{cause} {text} {agent_id} {nothing} {"});
        let filled = body(&hostile("template", json!({ "template": template })));
        assert_eq!(filled["to"], json!(["api/fix", 1]));
        let expected = "attention Allow Bash: echo \"{url}\" @everyone **x** <!here> [2J rm 7 {nothing} {";
        assert_eq!(filled["{x"], expected);
    }

    #[test]
    fn a_template_that_is_a_text_is_sent_as_plain_text() {
        let plain = hostile("template", json!({"template": "{title}: {url}"}));
        assert_eq!(plain.body, format!("api · fix needs you: {URL}"));
        assert!(plain.headers[0].1.starts_with("text/plain"), "{:?}", plain.headers);
    }
}
