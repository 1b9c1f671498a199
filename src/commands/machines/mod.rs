//! `headspace machines` and `headspace relay`: one person's other machines on one board.

mod entries;
pub mod relay;

use crate::view::client::Client;
use crate::view::columns::{fit, pad, width};
use anyhow::{Result, bail};
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers::{counted, duration};
use headspace_core::text::{self, strip_control};
use headspace_core::wire::{LineState, MachineStatus, MachinesPage};
use headspace_fleet::machines::machine::{self, Machine, Way};
use headspace_platform::clock::WallClock;
use headspace_platform::config::{self, Config, OtherMachine};
use headspace_platform::usage::Usage;
use serde_json::json;
use std::process::ExitCode;

/// Show the agents of your other machines on this board
///
/// The server keeps a connection to each machine: it runs `ssh HOST headspace relay` and shows what that prints. Each
/// machine runs its own headspace; nothing from it is stored here.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace machines add devbox\n  headspace machines add box -- docker exec -i box headspace relay\n  headspace machines list"
)]
pub struct MachinesArgs {
    #[command(subcommand)]
    command: MachinesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MachinesCommand {
    /// Add a machine: an ssh host, or a name and a command that prints what `headspace relay` prints
    #[command(
        after_help = "Examples:\n  headspace machines add me@devbox\n  headspace machines add devbox --program '~/.cargo/bin/headspace'\n  headspace machines add box -- docker exec -i box headspace relay"
    )]
    Add(AddArgs),
    /// List the machines and the state of the connection to each
    #[command(after_help = "Example:\n  headspace machines list --json")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a machine and its agents off the board
    #[command(after_help = "Example:\n  headspace machines remove devbox")]
    Remove {
        /// The machine's name, as `list` shows it
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// Host as ssh takes it (devbox, me@devbox); with a command, the machine's name
    host: String,
    /// What to call it, if not by its host
    #[arg(long, conflicts_with = "command")]
    name: Option<String>,
    /// Path of headspace on that machine, if it is not on the PATH there
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    program: Option<String>,
    /// Send no notifications about its agents
    #[arg(long)]
    no_alerts: bool,
    /// A command to run instead of ssh; it must print what `headspace relay` prints
    #[arg(last = true)]
    command: Vec<String>,
}

pub fn run(args: &MachinesArgs) -> Result<ExitCode> {
    match &args.command {
        MachinesCommand::Add(args) => add(args),
        MachinesCommand::List { json } => list(*json),
        MachinesCommand::Remove { name } => remove(name),
    }
}

fn add(args: &AddArgs) -> Result<ExitCode> {
    let alerts = args.no_alerts.then_some(false);
    let mut entry = if args.command.is_empty() {
        let (name, program) = (args.name.clone(), args.program.clone());
        OtherMachine { name, ssh: Some(args.host.clone()), program, alerts, command: None }
    } else {
        let command = Some(args.command.clone());
        OtherMachine { name: Some(args.host.clone()), command, alerts, ..OtherMachine::default() }
    };
    let unusable = |why: String| Usage(format!("could not add it: {}", strip_control(&why)));
    let mut machine = Machine::of(&entry).map_err(unusable)?;
    let config = Config::load()?;
    let same = |other: &OtherMachine| Machine::of(other).is_ok_and(|other| other.name == machine.name);
    let known = config.machines.iter().position(same);
    // The same host once more, now with its --program or without notifications, is a change and not another machine.
    let changed = known.filter(|at| entry.ssh.is_some() && config.machines[*at].ssh == entry.ssh);
    if let Some(at) = changed {
        entry.program = entry.program.or_else(|| config.machines[at].program.clone());
        entry.alerts = entry.alerts.or(config.machines[at].alerts);
        machine = Machine::of(&entry).map_err(unusable)?;
    }
    if config.machines.contains(&entry) {
        println!("{} is already on the list; nothing changed.", machine.name);
        return Ok(ExitCode::SUCCESS);
    }
    if known.is_some() && changed.is_none() {
        bail!(
            "could not add {0}: another machine has this name; remove it with `headspace machines remove {0}`, or choose a name with --name",
            machine.name
        );
    }
    entries::change(|text| match changed {
        Some(at) => entries::with(&entries::without(text, at)?, &entry),
        None => entries::with(text, &entry),
    })?;
    let done = if changed.is_some() { "Changed" } else { "Added" };
    println!("{done} {} in {}", machine.name, config::config_file().display());
    println!("  the server runs  {}", strip_control(&shown(&machine.relay())));
    println!(
        "  it shows         {}'s agents, as {}/ID; nothing from there is stored here",
        machine.name, machine.name
    );
    match machine.way {
        Way::Ssh { .. } => {
            println!("  it needs         headspace running there, and a key that ssh uses without asking")
        }
        Way::Command(_) => println!("  it needs         headspace running there"),
    }
    println!("  see              `headspace machines list`");
    if let Err(error) = Client::new(&config)?.hook_status() {
        println!("\nNothing shows yet: {}", strip_control(&format!("{error:#}")));
    }
    Ok(ExitCode::SUCCESS)
}

/// A command as it could be typed.
fn shown(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@%+=:,./_~-".contains(&byte))
    };
    let quoted =
        |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn remove(name: &str) -> Result<ExitCode> {
    let config = Config::load()?;
    let called = |entry: &OtherMachine| match Machine::of(entry) {
        Ok(machine) => machine.name.as_str() == name,
        // An entry that cannot be used must be removable, too.
        Err(_) => entry.name.as_deref().or(entry.ssh.as_deref()) == Some(name),
    };
    let Some(at) = config.machines.iter().position(called) else {
        bail!(
            "could not remove {:?}: no machine has this name; `headspace machines list` lists them",
            text::one_line(name, 80)
        );
    };
    entries::change(|text| entries::without(text, at))?;
    println!("Removed {}; its agents leave the board.", text::one_line(name, 80));
    Ok(ExitCode::SUCCESS)
}

/// The machines of the configuration, each with what the server says about its line, and whether a server is running.
pub fn statuses(config: &Config) -> (Vec<MachineStatus>, bool) {
    let (machines, wrong) = machine::all(&config.machines);
    let heard = Client::new(config).and_then(|client| client.get::<MachinesPage>("/api/machines"));
    let running = heard.is_ok();
    let heard = heard.map(|page| page.machines).unwrap_or_default();
    let status = |machine: &Machine| {
        let (ssh, command) = match &machine.way {
            Way::Ssh { destination, .. } => (Some(destination.clone()), None),
            Way::Command(command) => (None, Some(command.clone())),
        };
        let known = heard.iter().find(|known| known.name == machine.name.as_str());
        MachineStatus {
            name: machine.name.to_string(),
            ssh,
            command,
            runs: Some(shown(&machine.relay())),
            ..known.cloned().unwrap_or_default()
        }
    };
    let wrong = wrong.iter().map(|(name, why)| MachineStatus::unusable(name, why));
    (machines.iter().map(status).chain(wrong).collect(), running)
}

fn list(as_json: bool) -> Result<ExitCode> {
    let (machines, running) = statuses(&Config::load()?);
    if as_json {
        println!("{}", text::json(&json!({"machines": machines, "server_running": running}), true));
        return Ok(ExitCode::SUCCESS);
    }
    if machines.is_empty() {
        println!("No other machine yet. `headspace machines add HOST` adds one.");
        return Ok(ExitCode::SUCCESS);
    }
    let columns = machines.iter().map(|machine| width(&machine.name)).max().unwrap_or(0).min(30);
    for machine in &machines {
        println!("{}  {}", pad(&machine.name, columns), described(machine, running, Stamp::now()));
        if let Some(runs) = &machine.runs {
            println!("{}  {}", " ".repeat(columns), fit(runs, 160));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How the line is, in words.
pub fn described(machine: &MachineStatus, running: bool, now: Stamp) -> String {
    let since =
        |since: Option<Stamp>| since.map_or(String::new(), |at| format!(" {}", duration(now.since(at))));
    let why = machine.error.as_deref().map_or(String::new(), |why| format!(": {}", text::one_line(why, 200)));
    let mut words = match machine.state {
        LineState::Unusable => format!("cannot be used{why}"),
        _ if !running => "not heard: the server is not running here; `headspace up` starts it".into(),
        LineState::Connecting => "connecting".into(),
        LineState::Up => {
            let host = machine
                .host
                .as_deref()
                .map_or(String::new(), |host| format!(" ({})", text::one_line(host, 60)));
            format!("up for{}, {}{host}", since(machine.since), counted(machine.agents as u64, "agent"))
        }
        LineState::Cut => match machine.not_heard_since {
            Some(at) => format!("not heard since{}{why}", since(Some(at))),
            None => format!("not heard yet{why}"),
        },
    };
    if machine.left_out > 0 {
        words += &format!("; {} left out for want of room", counted(machine.left_out, "agent"));
    }
    if machine.not_understood > 0 {
        words += &format!("; {} not understood", counted(machine.not_understood, "line"));
    }
    words
}
