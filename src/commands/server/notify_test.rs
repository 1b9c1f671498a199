//! `headspace notify-test`: does an alert arrive?

use anyhow::Result;
use headspace_core::stamp::Stamp;
use headspace_core::text::strip_control;
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_server::alerts;
use headspace_server::alerts::{Alert, Cause};
use serde_json::json;
use std::process::ExitCode;

/// Send a test alert through every notification channel
///
/// Says for each configured channel whether the alert was delivered. Exits 1 if one was not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace notify-test")]
pub struct NotifyTestArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &NotifyTestArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let alert = Alert {
        cause: Cause::Attention,
        agent_id: 0.into(),
        name: "test".into(),
        project: Some("headspace".into()),
        machine: None,
        host: None,
        text: "Allow Bash: npm test (this is only a test)".into(),
        timestamp: Stamp::now(),
        ask: None,
        url: Some(config.dashboard_url()),
    };
    let results: Vec<(String, Result<(), String>)> = alerts::channels(&config, None)
        .iter()
        .map(|channel| (channel.name(), channel.try_now(&alert)))
        .collect();
    if args.json {
        let rows: Vec<_> = results
            .iter()
            .map(|(name, result)| json!({"channel": name, "ok": result.is_ok(), "error": result.as_ref().err()}))
            .collect();
        println!("{:#}", json!({ "channels": rows }));
    } else if results.is_empty() {
        println!(
            "no channel is configured: set `notifications.desktop` or `webhooks` in {}",
            config::config_file().display()
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
