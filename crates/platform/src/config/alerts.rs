//! What the user chose about notifications: when, how, and which webhooks get them.

use serde::{Deserialize, Serialize};
/// When to notify, and when not. The rules hold for the desktop and for webhooks.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct Notifications {
    /// `false` turns every notification off, webhooks included.
    pub enabled: bool,
    /// Show notifications on the desktop.
    pub desktop: bool,
    /// Notify when an agent needs you.
    pub on_attention: bool,
    /// Notify when a turn ends with an error.
    pub on_error: bool,
    /// Notify when an agent is done, background work included.
    pub on_finished: bool,
    /// Seconds of work below which a finished agent is not worth a notification.
    pub finished_after: f64,
    /// A span of local time without notifications, as `"22:00-07:30"`.
    pub quiet_hours: Option<QuietHours>,
    /// Projects, by name or path, that never notify.
    pub mute_projects: Vec<String>,
    /// Sounds of desktop notifications, by what happened.
    pub sound: Sounds,
}

impl Default for Notifications {
    fn default() -> Notifications {
        Notifications {
            enabled: true,
            desktop: true,
            on_attention: true,
            on_error: true,
            on_finished: true,
            finished_after: 30.0,
            quiet_hours: None,
            mute_projects: Vec::new(),
            sound: Sounds::default(),
        }
    }
}

/// Sounds of desktop notifications: a name of the desktop's sound theme (`"message-new-instant"`, on macOS `"Ping"`) or the path of a
/// sound file. Not every desktop plays them.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Sounds {
    /// When an agent needs you.
    pub attention: Option<String>,
    /// When a turn ends with an error.
    pub error: Option<String>,
    /// When an agent is done.
    pub finished: Option<String>,
}

/// A span of the day, in minutes after midnight; it may go over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuietHours {
    pub from: u16,
    pub to: u16,
}

impl QuietHours {
    pub fn contains(self, minute: u16) -> bool {
        if self.from <= self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl From<QuietHours> for String {
    fn from(hours: QuietHours) -> String {
        let clock = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        format!("{}-{}", clock(hours.from), clock(hours.to))
    }
}

impl TryFrom<String> for QuietHours {
    type Error = String;

    fn try_from(text: String) -> Result<QuietHours, String> {
        let minutes = |clock: &str| {
            let (hour, minute) = clock.trim().split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then(|| hour * 60 + minute)
        };
        text.split_once('-')
            .and_then(|(from, to)| Some(QuietHours { from: minutes(from)?, to: minutes(to)? }))
            .ok_or_else(|| format!("quiet_hours is {text:?}; write it like \"22:00-07:30\""))
    }
}

/// Receivers of notifications, each an object. `https` goes through `curl`, which must be installed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Webhook {
    /// Where to POST.
    pub url: String,
    /// The form of the message.
    #[serde(default)]
    pub format: WebhookFormat,
    /// Send the texts of questions and errors too, not only names and states.
    #[serde(default)]
    pub include_text: bool,
    /// For `telegram`: the chat that the bot writes to.
    #[serde(default)]
    pub chat: Option<String>,
    /// For `template`: what to send. In each of its texts, `{title}`, `{text}`, `{cause}`, `{name}`, `{project}`, `{agent_id}` and
    /// `{url}` are filled in. A string is sent as plain text, anything else as JSON.
    #[serde(default)]
    pub template: Option<serde_json::Value>,
    /// For `ntfy`: an access token that may write to the topic, and should not be able to read it.
    #[serde(default)]
    pub token: Option<String>,
    /// For `ntfy`: offer *Allow* in the notification, too. Only for your own server, whose topic cannot be read without your
    /// password. See [answering](answering.md#from-a-notification).
    #[serde(default)]
    pub allow: bool,
}

impl Webhook {
    /// The host it is sent to, without a password.
    pub fn host(&self) -> &str {
        let host = self.url.split('/').nth(2).unwrap_or("?");
        host.rsplit('@').next().unwrap_or(host)
    }

    /// The host without its port, in lower case.
    fn host_name(&self) -> String {
        let host = self.host();
        let name = match host.strip_prefix('[') {
            Some(address) => address.split(']').next(),
            None => host.split(':').next(),
        };
        name.unwrap_or(host).trim_end_matches('.').to_ascii_lowercase()
    }

    /// Whether what is sent cannot be read on the way.
    fn is_private(&self) -> bool {
        let name = self.host_name();
        self.url.starts_with("https://")
            || name == "localhost"
            || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    /// What is missing for its format.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.allow {
            let public = self.host_name() == "ntfy.sh";
            let lacks = [
                (self.format != WebhookFormat::Ntfy, "only the ntfy format can have `allow`"),
                (public, "`allow` needs a server of your own: everybody can read a topic of ntfy.sh"),
                (!self.is_private(), "`allow` needs an https address"),
                (
                    self.token.is_none(),
                    "`allow` needs `token`, an access token that may only write to the topic",
                ),
                (!self.include_text, "`allow` needs `include_text`: a person must see what they allow"),
            ];
            return lacks.into_iter().find_map(|(lacks, why)| lacks.then_some(why));
        }
        match self.format {
            WebhookFormat::Telegram if self.chat.is_none() => {
                Some("the telegram format needs `chat`, the id of the chat to write to")
            }
            WebhookFormat::Template if self.template.is_none() => {
                Some("the template format needs `template`, the message with {title} and {text} in it")
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookFormat {
    #[default]
    Json,
    Ntfy,
    Slack,
    Discord,
    Telegram,
    Template,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn quiet_hours_may_go_over_midnight() {
        let night = QuietHours::try_from("22:00-07:30".to_owned()).unwrap();
        assert_eq!(String::from(night), "22:00-07:30");
        for (minute, quiet) in [(21 * 60 + 59, false), (22 * 60, true), (0, true), (449, true), (450, false)]
        {
            assert_eq!(night.contains(minute), quiet, "{minute}");
        }
        for bad in ["", "22-7", "25:00-07:00", "22:00", "2020:22-07:30"] {
            assert!(QuietHours::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_webhook_that_lacks_something_or_has_an_unknown_format_is_refused_with_the_fix() {
        for (hook, expected) in [
            (
                r#"{"url": "http://x", "format": "pager"}"#,
                "`webhooks.format` has to be one of `json`, `ntfy`, `slack`, `discord`, `telegram`, `template`",
            ),
            (r#"{"url": "http://x", "format": "telegram"}"#, "webhook 1: the telegram format needs `chat`"),
            (
                r#"{"url": "http://x", "format": "template"}"#,
                "webhook 1: the template format needs `template`",
            ),
        ] {
            let error = Config::parse(&format!("{{\"webhooks\": [{hook}]}}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let own = r#""format": "ntfy", "allow": true, "token": "x", "include_text": true"#;
        for (hook, expected) in [
            (r#"{"url": "https://x/t", "allow": true}"#.to_owned(), "only the ntfy format"),
            (format!(r#"{{"url": "https://ntfy.sh/t", {own}}}"#), "a server of your own"),
            (format!(r#"{{"url": "https://u:p@NTFY.SH./t", {own}}}"#), "a server of your own"),
            (format!(r#"{{"url": "https://ntfy.sh:443/t", {own}}}"#), "a server of your own"),
            (format!(r#"{{"url": "http://ntfy.lan/t", {own}}}"#), "needs an https address"),
            (r#"{"url": "https://x/t", "format": "ntfy", "allow": true}"#.to_owned(), "needs `token`"),
            (
                r#"{"url": "https://x/t", "format": "ntfy", "allow": true, "token": "x"}"#.to_owned(),
                "`include_text`",
            ),
        ] {
            let error = Config::parse(&format!("{{\"webhooks\": [{hook}]}}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{hook}: {error}");
        }
        for url in ["https://ntfy.lan/t", "http://127.0.0.1:80/t", "http://[::1]/t", "http://[::1]:80/t"] {
            assert!(
                Config::parse(&format!("{{\"webhooks\": [{{\"url\": \"{url}\", {own}}}]}}")).is_ok(),
                "{url}"
            );
        }
        let hook = r#"{"url": "http://x", "format": "template", "template": {"m": "{title}"}}"#;
        assert!(Config::parse(&format!("{{\"webhooks\": [{hook}]}}")).is_ok());
    }
}
