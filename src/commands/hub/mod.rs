//! `headspace hub`: a team's board. `serve`, `invite` and `revoke` are for whoever runs it; the rest is for each machine.

mod administer;
pub mod machine;

use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// Share this machine's board with a team, or run the team's hub
///
/// The hub is a separate server on PostgreSQL. Machines that have joined send it what their projects share, by default only
/// who works and who waits; it shows the same board to the whole team.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace hub serve --database-url postgres://hub@localhost/hub\n  headspace hub invite ada --database-url postgres://hub@localhost/hub\n  headspace hub join 'https://hub.example.org/#join=…'\n  headspace hub preview           # what would leave this machine"
)]
pub struct HubArgs {
    #[command(subcommand)]
    command: HubCommand,
}

#[derive(Debug, clap::Subcommand)]
enum HubCommand {
    Serve(administer::HubServeArgs),
    Invite(administer::InviteArgs),
    Revoke(administer::RevokeArgs),
    Check(administer::CheckArgs),
    Join(machine::JoinArgs),
    /// Leave the hub: nothing more is sent, and this machine's agents leave its board
    #[command(after_help = "Example:\n  headspace hub leave")]
    Leave,
    Status(machine::HubStatusArgs),
    Preview(machine::PreviewArgs),
    Login(machine::LoginArgs),
}

/// Where the hub's database is.
#[derive(Debug, clap::Args)]
struct DatabaseArgs {
    /// The hub's database, as postgres://user@host/name (default: $HEADSPACE_DATABASE_URL). On another machine it must use TLS
    /// with a certificate for its name; add `?sslmode=disable` if the network in between is safe
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// A file with the database password, to keep it out of the process list (default: $HEADSPACE_DATABASE_PASSWORD_FILE)
    #[arg(long, value_name = "FILE")]
    database_password_file: Option<PathBuf>,
}

impl DatabaseArgs {
    fn url(&self) -> Result<String> {
        use headspace_platform::config::{env, var};
        let given = self.database_url.clone().or_else(|| env(var::DATABASE_URL));
        given.ok_or_else(|| {
            headspace_platform::usage::Usage(
                "could not find the hub's database: give --database-url postgres://user@host/name, or set HEADSPACE_DATABASE_URL"
                    .into(),
            )
            .into()
        })
    }

    fn password_file(&self) -> Option<PathBuf> {
        use headspace_platform::config::{env, var};
        let given = self.database_password_file.clone();
        given.or_else(|| env(var::DATABASE_PASSWORD_FILE).map(PathBuf::from))
    }
}

pub fn run(args: &HubArgs) -> Result<ExitCode> {
    match &args.command {
        HubCommand::Serve(args) => administer::serve(args),
        HubCommand::Invite(args) => administer::invite(args),
        HubCommand::Revoke(args) => administer::revoke(args),
        HubCommand::Check(args) => administer::check(args),
        HubCommand::Join(args) => machine::join(args),
        HubCommand::Leave => machine::leave(),
        HubCommand::Status(args) => machine::status(args),
        HubCommand::Preview(args) => machine::preview(args),
        HubCommand::Login(args) => machine::login(args),
    }
}
