//! Desktop notifications: by notify-send, over the session's D-Bus, by terminal-notifier or osascript. There is one per ask: a
//! click opens its card or goes to its terminal, and it is withdrawn when the ask is answered.

#[cfg(unix)]
mod bus;
mod commands;

use crate::alerts::{Alert, AlertKey, Cause, Channel};
use commands::{COMMANDS, follow, group, notify_send, run};
use headspace_core::text::{one_line, strip_control};
use headspace_platform::config::Sounds;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones share the list of shown notifications.
#[derive(Clone, Default)]
pub struct Desktop {
    sounds: Arc<Sounds>,
    shown: ShownAlerts,
    /// The notify-send that is installed knows no actions.
    without_actions: Arc<AtomicBool>,
    #[cfg(unix)]
    bus: Arc<bus::Bus>,
}

type ShownAlerts = Arc<Mutex<HashMap<AlertKey, Shown>>>;

fn alerts_of(shown: &ShownAlerts) -> MutexGuard<'_, HashMap<AlertKey, Shown>> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A notification that may still be on the screen.
#[derive(Debug, Default)]
struct Shown {
    /// The number the desktop gave it, once that is known.
    id: Option<u32>,
    /// It was answered before its number was known.
    withdrawn: bool,
    /// The process that waits for a click; `None` if the bus reports clicks.
    waits: Option<Child>,
}

/// How many notifications wait for a click, each by a process. A person with more of them looks at the board.
const MAX_WAITING_FOR_CLICKS: usize = 32;
/// How many notifications are remembered for a click on the bus. Some notification servers never report that one is gone.
const MAX_REMEMBERED: usize = 256;

impl Desktop {
    pub fn new(sounds: &Sounds) -> Desktop {
        Desktop { sounds: Arc::new(sounds.clone()), ..Desktop::default() }
    }

    fn sound(&self, cause: Cause) -> Option<&str> {
        match cause {
            Cause::Attention | Cause::Unlocked => self.sounds.attention.as_deref(),
            Cause::Error => self.sounds.error.as_deref(),
            Cause::Finished => self.sounds.finished.as_deref(),
        }
    }

    fn shown(&self) -> MutexGuard<'_, HashMap<AlertKey, Shown>> {
        alerts_of(&self.shown)
    }

    /// Shows the alert. With `clickable`, it may return only when it was clicked or is gone.
    fn show(&self, alert: &Alert, clickable: bool) -> Result<(), String> {
        let (title, text) = (strip_control(&alert.title()), one_line(&alert.text, 300));
        let sound = self.sound(alert.cause);
        let mut old_notify_send = false;
        if clickable
            && !self.without_actions.load(Ordering::Relaxed)
            && self.shown().len() < MAX_WAITING_FOR_CLICKS
        {
            match self.wait_for_click(alert, &notify_send(&title, &text, alert, sound)) {
                Ok(out) if out.status.success() => return Ok(()),
                // Either an old notify-send, or there is no display, and then the next attempt fails as well.
                Ok(_) => old_notify_send = true,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(format!("could not run notify-send: {error}")),
            }
        }
        let shown = match self.show_on_the_bus(alert, (&title, &text), sound) {
            Ok(()) => Ok(()),
            Err(no_bus) => self.show_by_command(alert, (&title, &text), sound, &no_bus),
        };
        if old_notify_send {
            self.without_actions.store(shown.is_ok(), Ordering::Relaxed);
        }
        shown
    }

    #[cfg(unix)]
    fn show_on_the_bus(&self, alert: &Alert, words: (&str, &str), sound: Option<&str>) -> Result<(), String> {
        let key = alert.key();
        let replaces = {
            let mut shown = self.shown();
            if shown.len() >= MAX_REMEMBERED {
                shown.retain(|_, alert| alert.waits.is_some());
            }
            // Listed before its number is known, because the ask may be answered meanwhile.
            shown.entry(key.clone()).or_default().id.unwrap_or_default()
        };
        let id = self.bus.notify(&self.shown, words, alert, sound, replaces).map_err(|error| {
            self.shown().remove(&key);
            one_line(&error.to_string(), 200)
        })?;
        let wanted = match self.shown().get_mut(&key).filter(|shown| !shown.withdrawn) {
            Some(shown) => {
                shown.id = Some(id);
                true
            }
            None => false,
        };
        if !wanted {
            self.shown().remove(&key);
            self.close(id);
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn show_on_the_bus(&self, _: &Alert, _: (&str, &str), _: Option<&str>) -> Result<(), String> {
        Err("no session bus".into())
    }

    /// Shows the alert without a click action, with the first command that is installed.
    fn show_by_command(
        &self,
        alert: &Alert,
        (title, text): (&str, &str),
        sound: Option<&str>,
        no_bus: &str,
    ) -> Result<(), String> {
        for (program, arguments) in COMMANDS {
            return match run(program, &arguments(title, text, alert, sound)) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => Err(format!("could not run {program}: {error}")),
                Ok(out) if out.status.success() => Ok(()),
                Ok(out) => {
                    Err(format!("{program}: {}", one_line(&String::from_utf8_lossy(&out.stderr), 200)))
                }
            };
        }
        Err(format!(
            "neither notify-send, terminal-notifier nor osascript is installed, and D-Bus shows nothing: {no_bus}"
        ))
    }

    /// Withdraws a notification; `false` if that is not possible.
    fn close(&self, id: u32) -> bool {
        #[cfg(unix)]
        if self.bus.close(&self.shown, id) {
            return true;
        }
        commands::close(id)
    }

    /// notify-send prints the notification's number, and then the name of the action when one is chosen.
    fn wait_for_click(&self, alert: &Alert, words: &[String]) -> std::io::Result<Output> {
        let key = alert.key();
        let mut command = Command::new("notify-send");
        command.args(["--print-id", "--action=default=Open", "--action=jump=Go to its terminal"]);
        if let Some(id) = self.shown().get(&key).and_then(|shown| shown.id) {
            command.arg(format!("--replace-id={id}"));
        }
        let mut child =
            command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (stdout, stderr, pid) = (child.stdout.take(), child.stderr.take(), child.id());
        if let Some(before) =
            self.shown().insert(key.clone(), Shown { waits: Some(child), ..Shown::default() })
        {
            end(before.waits);
        }
        let mut clicked = None;
        for line in stdout.into_iter().flat_map(|out| BufReader::new(out).lines().map_while(Result::ok)) {
            match line.trim().parse() {
                Ok(id) => {
                    let withdrawn = self.shown().get_mut(&key).is_some_and(|shown| {
                        shown.id = Some(id);
                        shown.withdrawn
                    });
                    if withdrawn {
                        self.close(id);
                    }
                }
                Err(_) => clicked = Some(line.trim().to_owned()),
            }
        }
        let mut said = Vec::new();
        let _ = stderr.map(|mut stderr| stderr.read_to_end(&mut said));
        // A newer notification about the same ask may have taken its place.
        let child = {
            let mut shown = self.shown();
            let mine = |shown: &Shown| shown.waits.as_ref().is_some_and(|child| child.id() == pid);
            if shown.get(&key).is_some_and(mine) { shown.remove(&key) } else { None }
        };
        let child = child.and_then(|shown| shown.waits);
        let status = child.map(|mut child| child.wait()).transpose()?.unwrap_or_default();
        if let Some(action) = clicked {
            follow(&action, &key);
        }
        Ok(Output { status, stdout: Vec::new(), stderr: said })
    }
}

fn end(child: Option<Child>) {
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Channel for Desktop {
    fn name(&self) -> String {
        "desktop".into()
    }

    fn send(&self, alert: &Alert) {
        let (desktop, alert) = (self.clone(), alert.clone());
        let thread = std::thread::Builder::new().name("desktop".into());
        let _ = thread.spawn(move || desktop.show(&alert, true));
    }

    fn withdraw(&self, key: &AlertKey) {
        let (desktop, key) = (self.clone(), key.clone());
        let thread = std::thread::Builder::new().name("desktop".into());
        let _ = thread.spawn(move || {
            let shown = desktop.shown().get_mut(&key).map(|shown| {
                shown.withdrawn = true;
                shown.id
            });
            if shown.is_none() && cfg!(target_os = "macos") {
                let _ = run("terminal-notifier", &["-remove".to_owned(), group(&key)]);
            }
            let Some(id) = shown.flatten() else { return };
            // notify-send ends when its notification is gone. If nothing can withdraw it, the process must not wait forever.
            if !desktop.close(id) {
                let waits = desktop.shown().remove(&key).and_then(|shown| shown.waits);
                end(waits);
            }
        });
    }

    fn try_now(&self, alert: &Alert) -> Result<(), String> {
        self.show(alert, false)
    }
}
