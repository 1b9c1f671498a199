//! Notifications over the session's D-Bus, for systems where notify-send is missing or knows no actions. One connection
//! shows them, receives the clicks and withdraws them.

use crate::alerts::desktop::commands::follow;
use crate::alerts::desktop::{ShownAlerts, alerts_of};
use crate::alerts::{Alert, Cause};
use headspace_core::text;
use headspace_platform::session_bus::SessionBus;
use headspace_platform::session_bus::message::{Body, Hint, Message, Method};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

const NAME: &str = "org.freedesktop.Notifications";
const NOTIFICATIONS: Method<'_> =
    Method { destination: NAME, path: "/org/freedesktop/Notifications", interface: NAME, member: "" };
/// Signals count only if they come from the notification server.
const CLICKS: &str =
    "type='signal',sender='org.freedesktop.Notifications',interface='org.freedesktop.Notifications'";

/// What notify-send calls them: 0 low, 1 normal, 2 critical.
const NORMAL: u8 = 1;
const CRITICAL: u8 = 2;

#[derive(Default)]
pub(super) struct Bus {
    connection: Mutex<Option<Arc<SessionBus>>>,
}

impl Bus {
    /// Shows the alert, replacing notification `replaces` (0: a new one); returns its number.
    pub(super) fn notify(
        &self,
        shown: &ShownAlerts,
        (title, text): (&str, &str),
        alert: &Alert,
        sound: Option<&str>,
        replaces: u32,
    ) -> io::Result<u32> {
        let urgency = if alert.cause == Cause::Finished { NORMAL } else { CRITICAL };
        let mut hints = vec![("urgency", Hint::Byte(urgency))];
        hints.extend(sound.map(|sound| {
            let kind = if sound.starts_with('/') { "sound-file" } else { "sound-name" };
            (kind, Hint::Text(sound.to_owned()))
        }));
        let actions: &[&str] = match alert.cause {
            Cause::Unlocked => &["default", "Open"],
            _ => &["default", "Open", "jump", "Go to its terminal"],
        };
        let body = Body::default()
            .text("headspace")
            .u32(replaces)
            .text("")
            .text(title)
            // Notification servers read the body as markup.
            .text(&text::markup(text))
            .texts(actions)
            .hints(&hints)
            .i32(-1);
        let answer = self.connection(shown)?.call(Method { member: "Notify", ..NOTIFICATIONS }, &body)?;
        answer
            .number()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "an answer without a number"))
    }

    /// Withdraws a notification; `false` if there is no bus.
    pub(super) fn close(&self, shown: &ShownAlerts, id: u32) -> bool {
        let method = Method { member: "CloseNotification", ..NOTIFICATIONS };
        self.connection(shown).and_then(|bus| bus.call(method, &Body::default().u32(id))).is_ok()
    }

    /// The connection, made again if it broke.
    fn connection(&self, shown: &ShownAlerts) -> io::Result<Arc<SessionBus>> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bus) = connection.as_ref().filter(|bus| !bus.is_broken()) {
            return Ok(bus.clone());
        }
        let shown = shown.clone();
        let bus = SessionBus::connect(move |signal| heard(signal, &shown))?;
        bus.subscribe(CLICKS)?;
        *connection = Some(bus.clone());
        Ok(bus)
    }
}

/// A signal of the notification server: a notification was clicked, or is gone.
fn heard(signal: &Message, shown: &ShownAlerts) {
    if signal.interface != NAME {
        return;
    }
    let Some(id) = signal.number() else { return };
    let mut shown = alerts_of(shown);
    let Some(key) = shown.iter().find(|(_, alert)| alert.id == Some(id)).map(|(key, _)| key.clone()) else {
        return;
    };
    match signal.member.as_str() {
        "ActionInvoked" => {
            let action = signal.text().unwrap_or_default();
            // Handling a click takes time; the next signal must not wait for it.
            let _ = std::thread::Builder::new().name("desktop".into()).spawn(move || follow(&action, &key));
        }
        // Of one that notify-send shows, notify-send says so.
        "NotificationClosed" if shown.get(&key).is_some_and(|alert| alert.waits.is_none()) => {
            shown.remove(&key);
        }
        _ => {}
    }
}
