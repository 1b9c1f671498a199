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

/// Run a hub: take what machines send, show the team's board
///
/// Any number of them may run on one PostgreSQL (14 or newer); the tables are made at the first start. Stays up while the database is
/// away. Beyond this machine it needs TLS: its own, or a proxy's.
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
    /// How machines and browsers reach the hub, if not by that address
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The hub's certificate and those that vouch for it, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Do without LISTEN and NOTIFY, for databases and poolers that have none: other hubs' changes then show within 2 s
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

/// Invite somebody: prints a link for `headspace hub join`
///
/// The link works once and for a day. The name is who the machine's agents belong to; inviting a name again is another machine of the
/// same person.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace hub invite ada --database-url postgres://hub@localhost/hub\n  headspace hub invite ci --uses 500 --days 7 --database-url …    # for containers that come and go"
)]
pub struct InviteArgs {
    /// The person's name on the board
    name: String,
    /// The team whose board it is; made if there is none of that name
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    /// How much of others' agents this person sees: states, asks, full or admin
    #[arg(long, value_name = "ROLE", default_value = "full", value_parser = ["states", "asks", "full", "admin"])]
    role: String,
    /// Days the invitation holds, at most 7
    #[arg(long, value_name = "DAYS", default_value_t = INVITATION_DAYS.0, value_parser = clap::value_parser!(u32).range(1..=7))]
    days: u32,
    /// How many machines may join with it
    #[arg(long, value_name = "MACHINES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    uses: u32,
    /// Print it as JSON
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

/// Take a machine's access away: its next batch is refused, its agents leave the board
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace hub revoke --database-url postgres://hub@localhost/hub      # which machines there are\n  headspace hub revoke 7 --database-url postgres://hub@localhost/hub    # 7 as in the ids 7/1, 7/2 on the board"
)]
pub struct RevokeArgs {
    /// The machine's number: what stands before the slash in its agents' ids. Without it the machines are listed
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

/// Ask a hub whether it can serve: exits 0 if so, for health checks
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
        bail!("the hub cannot serve: {}", answer.message());
    }
    println!("ok");
    Ok(ExitCode::SUCCESS)
}
