//! Running a hub, and deciding who is on it.

use super::DatabaseArgs;
use anyhow::{Context, Result, bail};
use headspace_core::text;
use headspace_core::text::numbers::{counted, duration};
use headspace_core::text::one_line;
use headspace_fleet::hub::people::admin;
use headspace_fleet::hub::people::{INVITATION_DAYS, Invitation};
use headspace_fleet::hub::{DEFAULT_LISTEN, HubOptions};
use headspace_fleet::link::http::{HubClient, HubUrl};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run a hub: receive what machines send, and show the team's board
///
/// Any number of hubs can share one PostgreSQL database (14 or newer); the first one creates the tables. A hub stays up while
/// the database is down. To be reached from other machines it needs TLS: its own, or a proxy's.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace hub serve --database-url postgres://hub@localhost/hub\n  headspace hub serve --database-url postgres://hub@db/hub --listen 0.0.0.0:5056 \\\n      --tls-cert hub.crt --tls-key hub.key --public-url https://hub.example.org:5056"
)]
pub struct HubServeArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN)]
    listen: String,
    /// The address at which machines and browsers reach the hub, if it is not the one it listens on
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The hub's certificate and its chain, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Do not use LISTEN and NOTIFY, which some databases and poolers lack: changes of other hubs then show within 2 s
    #[arg(long)]
    no_notify: bool,
}

pub fn serve(args: &HubServeArgs) -> Result<ExitCode> {
    headspace_fleet::hub::serve(&HubOptions {
        database_url: args.database.url()?,
        password_file: args.database.password_file(),
        listen: args.listen.clone(),
        public_url: args.public_url.clone(),
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        notify: !args.no_notify,
    })
}

/// Invite somebody: prints the command that joins their machine
///
/// The link in it works once, for one day. The name says whose agents those are; invite the same name again for another
/// machine of the same person.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace hub invite ada --database-url postgres://hub@localhost/hub\n  headspace hub invite ci --uses 500 --days 7 --database-url …    # for containers that come and go"
)]
pub struct InviteArgs {
    /// The person's name on the board
    name: String,
    /// The team to join; created if it does not exist
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    /// How much of other people's agents this person sees
    #[arg(long, value_name = "ROLE", default_value = "full", value_parser = ["states", "asks", "full", "admin"])]
    role: String,
    /// Days until the invitation expires, at most 7
    #[arg(long, value_name = "DAYS", default_value_t = INVITATION_DAYS.0, value_parser = clap::value_parser!(u32).range(1..=7))]
    days: u32,
    /// How many machines may join with it
    #[arg(long, value_name = "MACHINES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    uses: u32,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub fn invite(args: &InviteArgs) -> Result<ExitCode> {
    let wanted = Invitation {
        name: &args.name,
        team: args.team.as_deref(),
        role: &args.role,
        days: args.days,
        uses: args.uses,
    };
    let password = args.database.password_file();
    let invited =
        admin::invite(&args.database.url()?, password.as_deref(), &wanted).context("could not invite")?;
    if args.json {
        let value = json!({"url": invited.url, "code": invited.code, "expires_at": invited.expires_at});
        println!("{}", text::json(&value, true));
    } else {
        println!("headspace hub join '{}'", invited.url);
        println!(
            "(for {}; the link works for {}, {})",
            args.name,
            counted(args.days, "day"),
            match args.uses {
                1 => "once".to_owned(),
                uses => format!("{uses} times"),
            }
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Revoke a machine's access: its next batch is refused, and its agents leave the board
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace hub revoke --database-url postgres://hub@localhost/hub      # lists the machines\n  headspace hub revoke 7 --database-url postgres://hub@localhost/hub    # the machine of 7/1, 7/2"
)]
pub struct RevokeArgs {
    /// The machine's number, which is the part before the slash in its agents' ids; without it, the machines are listed
    #[arg(value_parser = machine_number)]
    edge: Option<i32>,
    #[command(flatten)]
    database: DatabaseArgs,
}

fn machine_number(text: &str) -> Result<i32, &'static str> {
    text.parse()
        .map_err(|_| "a machine is a number: 7 for the agents 7/1, 7/2; `headspace hub revoke` lists them")
}

pub fn revoke(args: &RevokeArgs) -> Result<ExitCode> {
    let (url, password) = (args.database.url()?, args.database.password_file());
    let password = password.as_deref();
    let Some(edge) = args.edge else {
        for machine in admin::machines(&url, password).context("could not list the machines")? {
            let heard =
                machine.not_heard_for.map_or("never".into(), |quiet| format!("{} ago", duration(quiet)));
            let (user, host) = (one_line(&machine.user, 40), one_line(&machine.host, 60));
            println!("{:>5}  {user}@{host} in {}, heard {heard}", machine.edge, one_line(&machine.team, 40));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let known = admin::revoke(&url, password, edge).context("could not revoke")?;
    if !known {
        bail!("could not revoke {edge}: there is no such machine (`headspace hub revoke` lists them)");
    }
    println!("machine {edge} is revoked");
    Ok(ExitCode::SUCCESS)
}

/// Check that a hub works: exits 0 if it does, for health checks
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace hub check --url http://127.0.0.1:5056")]
pub struct CheckArgs {
    /// The hub's address
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:5056")]
    url: String,
}

pub fn check(args: &CheckArgs) -> Result<ExitCode> {
    let mut hub = HubClient::new(HubUrl::parse(&args.url)?, None, None, Duration::from_secs(3));
    let answer = hub.request("GET", "/health", None)?;
    if answer.status != 200 {
        bail!("could not use the hub at {}: {}", args.url, answer.message());
    }
    println!("ok");
    Ok(ExitCode::SUCCESS)
}
