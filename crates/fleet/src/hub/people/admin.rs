//! What an administrator does on the database itself, without a hub: invite, revoke, list.

use crate::hub::database::schema;
use crate::hub::database::{Database, Settings};
use crate::hub::people::{self, Invitation, Invited, JoinedMachine};
use anyhow::{Context, Result};
use std::future::Future;
use std::path::Path;

/// Runs one task on the database. Its tables are created first: an invitation may come before the first hub.
fn on<T, F: Future<Output = Result<T>>>(
    url: &str,
    password_file: Option<&Path>,
    task: impl FnOnce(Database) -> F,
) -> Result<T> {
    let database = Database::new(Settings::new(url, password_file)?);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("could not start")?;
    runtime.block_on(async {
        let mut client = database.settings.connect().await?;
        schema::migrate(&mut client).await?;
        drop(client);
        task(database).await
    })
}

pub fn invite(url: &str, password_file: Option<&Path>, wanted: &Invitation<'_>) -> Result<Invited> {
    on(url, password_file, |database| async move { people::invite(&database, wanted).await })
}

/// The machines that may post.
pub fn machines(url: &str, password_file: Option<&Path>) -> Result<Vec<JoinedMachine>> {
    on(url, password_file, |database| async move { people::machines(&database).await })
}

/// `false`: there is no such machine.
pub fn revoke(url: &str, password_file: Option<&Path>, edge: i32) -> Result<bool> {
    on(url, password_file, |database| async move { people::revoke(&database, edge).await })
}
