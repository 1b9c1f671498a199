//! Desktop notifications, by the desktop's own command: notify-send, terminal-notifier, osascript.

use crate::alerts::{Alert, Cause, Channel};
use headspace_core::text;
use headspace_core::text::{one_line, strip_control};
use std::process::{Command, Stdio};

pub struct Desktop;

/// Title, text and alert ▶ the command's arguments.
type Arguments = fn(&str, &str, &Alert) -> Vec<String>;

/// The commands that can notify, in the order they are tried.
const COMMANDS: &[(&str, Arguments)] =
    &[("notify-send", notify_send), ("terminal-notifier", terminal_notifier), ("osascript", osascript)];

fn notify_send(title: &str, text: &str, alert: &Alert) -> Vec<String> {
    let urgency = if alert.cause == Cause::Finished { "normal" } else { "critical" };
    // Notification servers read the body as markup.
    let words = ["--app-name=headspace", "--urgency", urgency, "--", title, &text::markup(text)];
    words.map(str::to_owned).to_vec()
}

fn terminal_notifier(title: &str, text: &str, alert: &Alert) -> Vec<String> {
    // A leading bracket or dash would be read as syntax; a blank is invisible.
    let safe = |text: &str| format!(" {text}");
    let group = format!("headspace-{}", alert.agent_id);
    ["-title", &safe(title), "-message", &safe(text), "-group", &group].map(str::to_owned).to_vec()
}

fn osascript(title: &str, text: &str, _: &Alert) -> Vec<String> {
    // The texts are passed as arguments, never as program text.
    let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
    ["-e", script, title, text].map(str::to_owned).to_vec()
}

impl Channel for Desktop {
    fn name(&self) -> String {
        "desktop".into()
    }

    fn send(&self, alert: &Alert) {
        let alert = alert.clone();
        let thread = std::thread::Builder::new().name("desktop".into());
        let _ = thread.spawn(move || Desktop.try_now(&alert));
    }

    fn try_now(&self, alert: &Alert) -> Result<(), String> {
        let (title, text) = (strip_control(&alert.title()), one_line(&alert.text, 300));
        for (program, arguments) in COMMANDS {
            let run = Command::new(program)
                .args(arguments(&title, &text, alert))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .output();
            return match run {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => Err(format!("could not run {program}: {error}")),
                Ok(out) if out.status.success() => Ok(()),
                Ok(out) => {
                    Err(format!("{program}: {}", one_line(&String::from_utf8_lossy(&out.stderr), 200)))
                }
            };
        }
        Err("neither notify-send, terminal-notifier nor osascript is installed".into())
    }
}
