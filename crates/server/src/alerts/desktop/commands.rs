//! The desktop's own commands: notify-send, terminal-notifier, osascript, and those that withdraw a notification.

use crate::alerts::{Alert, AlertKey, Cause};
use headspace_core::text;
use headspace_core::text::one_line;
use std::process::{Command, Output, Stdio};

/// Title, text, alert, sound ▶ the command's arguments.
pub(super) type Arguments = fn(&str, &str, &Alert, Option<&str>) -> Vec<String>;

/// The commands that can notify, in the order they are tried.
pub(super) const COMMANDS: &[(&str, Arguments)] =
    &[("notify-send", notify_send), ("terminal-notifier", terminal_notifier), ("osascript", osascript)];

pub(super) fn notify_send(title: &str, text: &str, alert: &Alert, sound: Option<&str>) -> Vec<String> {
    let urgency = if alert.cause == Cause::Finished { "normal" } else { "critical" };
    let mut words = vec!["--app-name=headspace".to_owned()];
    words.extend(sound.map(|sound| {
        let kind = if sound.starts_with('/') { "sound-file" } else { "sound-name" };
        format!("--hint=string:{kind}:{sound}")
    }));
    // Notification servers read the body as markup.
    words.extend(["--urgency", urgency, "--", title, &text::markup(text)].map(str::to_owned));
    words
}

fn terminal_notifier(title: &str, text: &str, alert: &Alert, sound: Option<&str>) -> Vec<String> {
    // A leading bracket or dash would be read as syntax; a blank is invisible.
    let safe = |text: &str| format!(" {text}");
    let group = group(&alert.key());
    let mut words: Vec<String> =
        ["-title", &safe(title), "-message", &safe(text), "-group", &group].map(str::to_owned).to_vec();
    if let Ok(program) = std::env::current_exe() {
        // This is run by a shell, so the only variable part is the agent's number.
        let quoted = program.display().to_string().replace('\'', r"'\''");
        words.extend(["-execute".to_owned(), format!("'{quoted}' open {}", alert.agent_id)]);
    }
    words.extend(sound.into_iter().flat_map(|sound| ["-sound".to_owned(), sound.to_owned()]));
    words
}

/// The id under which terminal-notifier knows a notification.
pub(super) fn group(key: &AlertKey) -> String {
    format!(
        "headspace-{}-{}",
        key.agent_id,
        key.ask.map_or(key.cause.word().to_owned(), |ask| ask.to_string())
    )
}

fn osascript(title: &str, text: &str, _: &Alert, sound: Option<&str>) -> Vec<String> {
    // The texts are passed as arguments, never as program text.
    let script = "on run argv\nif (count of argv) > 2 then\ndisplay notification (item 2 of argv) with title (item 1 of argv) sound name (item 3 of argv)\nelse\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend if\nend run";
    ["-e", script, title, text].into_iter().chain(sound).map(str::to_owned).collect()
}

/// Commands that withdraw a notification by its number, in the order they are tried; notify-send cannot.
const CLOSERS: &[(&str, &[&str], &str)] = &[
    (
        "gdbus",
        &[
            "call",
            "--session",
            "--dest",
            "org.freedesktop.Notifications",
            "--object-path",
            "/org/freedesktop/Notifications",
            "--method",
            "org.freedesktop.Notifications.CloseNotification",
        ],
        "",
    ),
    (
        "busctl",
        &[
            "--user",
            "call",
            "org.freedesktop.Notifications",
            "/org/freedesktop/Notifications",
            "org.freedesktop.Notifications",
            "CloseNotification",
            "u",
        ],
        "",
    ),
    (
        "dbus-send",
        &[
            "--session",
            "--dest=org.freedesktop.Notifications",
            "/org/freedesktop/Notifications",
            "org.freedesktop.Notifications.CloseNotification",
        ],
        "uint32:",
    ),
];

pub(super) fn run(program: &str, words: &[String]) -> std::io::Result<Output> {
    Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
}

/// Runs the headspace command behind a click: `open 12`, `jump 12`.
pub(super) fn follow(action: &str, key: &AlertKey) {
    let Ok(program) = std::env::current_exe() else { return };
    let words = match (action, key.cause) {
        // The alert is about no agent in particular: open the board.
        ("default" | "jump", Cause::Unlocked) => vec!["open".to_owned()],
        ("default", _) => vec!["open".to_owned(), key.agent_id.to_string()],
        ("jump", _) => vec!["jump".to_owned(), key.agent_id.to_string()],
        _ => return,
    };
    if let Ok(out) = run(&program.to_string_lossy(), &words)
        && !out.status.success()
    {
        eprintln!("{}", one_line(&String::from_utf8_lossy(&out.stderr), 300));
    }
}

/// Withdraws a notification; `false` if no command can.
pub(super) fn close(id: u32) -> bool {
    CLOSERS.iter().any(|(program, words, prefix)| {
        let words: Vec<String> =
            words.iter().map(|word| word.to_string()).chain([format!("{prefix}{id}")]).collect();
        run(program, &words).is_ok_and(|out| out.status.success())
    })
}
