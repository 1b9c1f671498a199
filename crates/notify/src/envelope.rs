//! What `notify` adds to the client's payload, and how: spliced in before the closing brace, the rest untouched.
//!
//! | field | from |
//! |---|---|
//! | `tmux_session` | `CLAUDE_HEADSPACE_TMUX_SESSION` |
//! | `tmux_pane` | `TMUX_PANE` |
//! | `claude_pid`, `claude_pid_start` | `CLAUDE_PID` (a number), and the start time of that process |
//! | `entrypoint` | `CLAUDE_CODE_ENTRYPOINT` |
//! | `headspace_session_id` | `CLAUDE_HEADSPACE_SESSION_ID`, else `CLAUDE_SESSION_ID` |
//! | `session_role`, `session_mode` | `CLAUDE_SESSION_ROLE`, `CLAUDE_SESSION_MODE` |
//! | `terminal` | an object of what else names the window: see [`TERMINAL`] |
//! | `host`, `host_id` | this machine's name, and the id in its state directory: names are not unique |
//! | `sent_at` | the moment `notify` started, RFC 3339 with nine digits |
//! | `delivery_id` | unique per call: 16 hex digits of `sent_at`'s nanoseconds, 16 random ones |
//!
//! Only known values are added, and no other variable is read. A field that the payload already has is kept and not added:
//! the client knows best, no key appears twice, and an event that was delivered once (and so has its `delivery_id`) can be
//! sent again without counting twice.

use crate::stdin::{Payload, is_key};
use headspace_core::json;
use headspace_core::model::Machine;
use headspace_platform::config::{self, var};
use headspace_platform::machine;
use headspace_platform::process::{self, decimal};
use headspace_platform::spool::delivery::Delivery;

/// The largest body the server accepts, minus room for the added fields.
const MAX_BODY: usize = (16 << 20) - (64 << 10);

/// When a payload is too large for the server, members above this are left out.
const LARGE_MEMBER: usize = 16 << 10;

/// Names in `terminal`, and the variable each comes from. `ghostty` is there (as `true`) when its variable is set,
/// whatever it holds; `tmux_socket` is the first field of `TMUX`. Inside tmux the others describe the terminal
/// in which the tmux server was started, so the pane is the better address.
pub const TERMINAL: [(&str, &str); 7] = [
    ("kitty_window_id", var::KITTY_WINDOW_ID),
    ("kitty_listen_on", var::KITTY_LISTEN_ON),
    ("wezterm_pane", var::WEZTERM_PANE),
    ("iterm_session_id", var::ITERM_SESSION_ID),
    ("term_program", var::TERM_PROGRAM),
    ("ghostty", var::GHOSTTY),
    ("tmux_socket", var::TMUX),
];

/// Texts that are passed on as they are.
const PLAIN: [(&str, &str); 5] = [
    ("tmux_session", var::TMUX_SESSION),
    ("tmux_pane", var::TMUX_PANE),
    ("entrypoint", var::ENTRYPOINT),
    ("session_role", var::SESSION_ROLE),
    ("session_mode", var::SESSION_MODE),
];

/// The fields to add, as rendered JSON.
pub type Fields = Vec<(&'static str, Vec<u8>)>;

/// Everything this process knows about where it runs.
pub fn fields(delivery: &Delivery) -> Fields {
    let mut fields = Fields::with_capacity(16);
    for (name, variable) in PLAIN {
        fields.extend(config::env(variable).map(|value| (name, quoted(&value))));
    }
    let session = config::env(var::HEADSPACE_SESSION_ID).or_else(|| config::env(var::SESSION_ID));
    fields.extend(session.map(|id| ("headspace_session_id", quoted(&id))));
    if let Some(pid) = config::env(var::PID).and_then(|pid| pid.parse::<u32>().ok()) {
        fields.push(("claude_pid", decimal(pid.into()).into_bytes()));
        fields
            .extend(process::start_time(pid).map(|start| ("claude_pid_start", decimal(start).into_bytes())));
    }
    fields.extend(terminal().map(|terminal| ("terminal", terminal)));
    let Machine { name, id } = machine::this();
    fields.extend(name.map(|host| ("host", quoted(&host))));
    fields.extend(id.map(|id| ("host_id", quoted(&id))));
    fields.push(("sent_at", [b"\"", &delivery.sent_at.text()[..], b"\""].concat()));
    fields.push(("delivery_id", quoted(&delivery.id())));
    fields
}

fn terminal() -> Option<Vec<u8>> {
    let mut object = Vec::new();
    for (name, variable) in TERMINAL {
        let Some(value) = config::env(variable) else { continue };
        object.push(if object.is_empty() { b'{' } else { b',' });
        object.extend_from_slice(&quoted(name));
        object.push(b':');
        match name {
            "ghostty" => object.extend_from_slice(b"true"),
            "tmux_socket" => {
                object.extend_from_slice(&quoted(&value[..value.find(',').unwrap_or(value.len())]))
            }
            _ => object.extend_from_slice(&quoted(&value)),
        }
    }
    (!object.is_empty()).then(|| [&object[..], b"}"].concat())
}

/// A JSON string. Not written by serde_json, whose code the hook would have to page in for a dozen short texts; see post.rs
/// for what that costs.
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let mut json = String::new();
    json::quote(&mut json, text);
    json.into_bytes()
}

/// The payload's object with `fields` added: every byte of it as it was, no key twice. Pure.
pub fn splice(payload: &Payload, fields: &Fields) -> Vec<u8> {
    let object = payload.object();
    if object.len() > MAX_BODY {
        return splice_shortened(payload, fields);
    }
    let room: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    let mut body = Vec::with_capacity(object.len() + room);
    body.extend_from_slice(&object[..object.len() - 1]);
    add(&mut body, payload, fields, payload.members.is_empty());
    body
}

/// Leaves out the large members of a payload that the server would refuse for its size, and names them in
/// `headspace_cut`.
fn splice_shortened(payload: &Payload, fields: &Fields) -> Vec<u8> {
    let mut body = b"{".to_vec();
    let mut cut = Vec::new();
    for member in &payload.members {
        let (key, value) = (payload.at(&member.key), payload.at(&member.value));
        if key.len() + value.len() > LARGE_MEMBER || body.len() > MAX_BODY / 2 {
            cut.push(String::from_utf8_lossy(&key[..key.len().min(64)]).into_owned());
            continue;
        }
        if body.len() > 1 {
            body.push(b',');
        }
        for part in [b"\"", key, b"\":", value] {
            body.extend_from_slice(part);
        }
    }
    cut.truncate(64);
    let mut fields = fields.clone();
    fields.push(("headspace_cut", serde_json::to_vec(&cut).unwrap_or_else(|_| b"[]".to_vec())));
    let empty = body.len() == 1;
    add(&mut body, payload, &fields, empty);
    body
}

/// Writes the fields that the payload does not have, and the closing brace.
fn add(body: &mut Vec<u8>, payload: &Payload, fields: &Fields, mut first: bool) {
    let has = |name: &str| payload.members.iter().any(|member| is_key(payload.at(&member.key), name));
    for (name, value) in fields {
        // An event that names another machine comes from there; with our id it would count as ours.
        if has(name) || *name == "host_id" && has("host") {
            continue;
        }
        if !first {
            body.push(b',');
        }
        first = false;
        for part in [b"\"", name.as_bytes(), b"\":", value] {
            body.extend_from_slice(part);
        }
    }
    body.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdin::Input;
    use headspace_core::testing::any_json;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn payload(text: impl Into<Vec<u8>>) -> Payload {
        match Payload::parse(text.into()) {
            Input::Object(payload) => payload,
            other => panic!("{other:?}"),
        }
    }

    fn some_fields() -> Fields {
        vec![("host", "\"h\"".into()), ("claude_pid", "7".into()), ("sent_at", "\"now\"".into())]
    }

    /// The shortcut has its own tables, because it uses no other crate.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn the_short_way_knows_the_same_variables() {
        use headspace_clients::table::{CLIENTS, Environment};
        use headspace_shortcut::variables;
        assert_eq!(variables::PLAIN, PLAIN);
        assert_eq!(variables::TERMINAL, TERMINAL);
        let of_clients = CLIENTS.iter().filter_map(|row| match row.environment {
            Environment::None => None,
            Environment::Has(name) | Environment::Session(name) => Some(name),
        });
        for name in [var::URL, var::REHEARSAL, var::DEBUG].into_iter().chain(of_clients) {
            assert!(variables::NOT_PLAIN.contains(&name), "{name}");
        }
    }

    #[test]
    fn the_clients_bytes_stay_as_they_are() {
        let body = splice(&payload(" { \"a\" : 1.00 , \"b\":\"\\u00e4\" \n} "), &some_fields());
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "{ \"a\" : 1.00 , \"b\":\"\\u00e4\" \n,\"host\":\"h\",\"claude_pid\":7,\"sent_at\":\"now\"}"
        );
        assert_eq!(splice(&payload("{}"), &vec![("host", "1".into())]), b"{\"host\":1}");
    }

    #[test]
    fn a_field_that_the_payload_has_is_not_added() {
        let body = splice(&payload(r#"{"host":"mine","s\u0065nt_at":null}"#), &some_fields());
        assert_eq!(String::from_utf8(body).unwrap(), r#"{"host":"mine","s\u0065nt_at":null,"claude_pid":7}"#);
    }

    #[test]
    fn a_payload_too_large_for_the_server_loses_its_large_members_only() {
        let big = "x".repeat(17 << 20);
        let text = format!(r#"{{"session_id":"s","tool_input":{{"content":"{big}"}},"cwd":"/p"}}"#);
        let body: Value = serde_json::from_slice(&splice(&payload(text), &some_fields())).unwrap();
        assert_eq!(
            body,
            json!({"session_id": "s", "cwd": "/p", "host": "h", "claude_pid": 7, "sent_at": "now",
                   "headspace_cut": ["tool_input"]})
        );
    }

    fn any_object() -> impl Strategy<Value = Value> {
        let key = prop_oneof!["[a-z_]{1,9}", ".{0,6}", Just("host".to_owned()), Just("sent_at".to_owned())];
        prop::collection::btree_map(key, any_json(), 0..8)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn the_end_is_where_serde_json_finds_it(object in any_object(), pretty: bool, before in "[ \n\t]{0,3}", after in ".{0,9}") {
            let text = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) }.unwrap();
            let all = format!("{before}{text}{after}");
            let mut stream = serde_json::Deserializer::from_slice(all.as_bytes()).into_iter::<serde::de::IgnoredAny>();
            prop_assert!(stream.next().unwrap().is_ok());
            let payload = payload(all.as_bytes());
            prop_assert_eq!(before.len() + payload.object().len(), stream.byte_offset());
            prop_assert_eq!(payload.members.len(), object.as_object().unwrap().len());
        }

        #[test]
        fn broken_text_is_refused_exactly_when_serde_json_refuses_it(object in any_object(), at: prop::sample::Index, byte: u8) {
            let mut bytes = serde_json::to_vec(&object).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let mut stream = serde_json::Deserializer::from_slice(&bytes).into_iter::<serde::de::IgnoredAny>();
            let theirs = matches!(stream.next(), Some(Ok(_))) && bytes.trim_ascii_start().first() == Some(&b'{');
            let ours = match Payload::parse(bytes.clone()) {
                Input::Object(payload) => Some(payload.object().len()),
                _ => None,
            };
            prop_assert_eq!(ours.is_some(), theirs, "{}", String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn splicing_keeps_every_field_and_adds_the_missing_ones(object in any_object()) {
            let text = serde_json::to_string(&object).unwrap();
            let payload = payload(text.as_bytes());
            let body = splice(&payload, &some_fields());
            prop_assert!(body.starts_with(&text.as_bytes()[..text.len() - 1]));
            let Value::Object(mut spliced) = serde_json::from_slice(&body).unwrap() else { panic!() };
            let Value::Object(original) = serde_json::from_str(&text).unwrap() else { panic!() };
            for (name, value) in &original {
                let kept = spliced.shift_remove(name);
                prop_assert_eq!(kept.as_ref(), Some(value));
            }
            for (name, _) in some_fields() {
                prop_assert_ne!(spliced.shift_remove(name).is_some(), original.contains_key(name));
            }
            prop_assert!(spliced.is_empty());
        }
    }
}
