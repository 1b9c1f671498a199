//! Desktop notifications, by the command the desktop brings: notify-send, terminal-notifier, osascript.

use crate::alerts::{self, Alert, Cause, Channel};
use anyhow::Result;
use headspace_core::stamp::Stamp;
use headspace_core::text::{self, one_line, strip_control};
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use std::process::{Command, ExitCode, Stdio};

pub struct Desktop;

/// Title, text and alert ▶ the command's arguments.
type Arguments = fn(&str, &str, &Alert) -> Vec<String>;

/// The commands that can do it, in the order they are tried.
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
    // The texts are arguments, never program text.
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

/// Try every notification channel
///
/// Sends one alert through each channel of the configuration and says how it went.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace notify-test")]
pub struct NotifyTestArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn notify_test(args: &NotifyTestArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let alert = Alert {
        cause: Cause::Attention,
        agent_id: 0,
        name: "test".into(),
        project: Some("headspace".into()),
        host: None,
        text: "Allow Bash: npm test (this is only a test)".into(),
        timestamp: Stamp::now(),
    };
    let results: Vec<(String, Result<(), String>)> =
        alerts::channels(&config).iter().map(|channel| (channel.name(), channel.try_now(&alert))).collect();
    if args.json {
        let rows: Vec<_> = results
            .iter()
            .map(|(name, result)| serde_json::json!({"channel": name, "ok": result.is_ok(), "error": result.as_ref().err()}))
            .collect();
        println!("{:#}", serde_json::json!({ "channels": rows }));
    } else if results.is_empty() {
        println!(
            "no channel is configured: `notifications.desktop` and `webhooks` in {}",
            headspace_platform::config::config_file().display()
        );
    }
    for (name, result) in results.iter().filter(|_| !args.json) {
        match result {
            Ok(()) => println!("ok    {}", strip_control(name)),
            Err(why) => println!("FAIL  {}: {}", strip_control(name), strip_control(why)),
        }
    }
    Ok(if results.iter().all(|(_, result)| result.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
