//! People and machines: invitations, joining, logging in, leaving. Only the hash of a secret is stored.

pub mod admin;

use crate::hub::database::{Database, said};
use crate::hub::http::access::{Kind, hash, role_number, secret};
use crate::level::Level;
use crate::protocol::storable;
use anyhow::{Context, Result, anyhow, bail};
use headspace_core::stamp::Stamp;
use std::time::{Duration, SystemTime};

const DEFAULT_TEAM: &str = "team";
/// How long an invitation is valid: by default, and at most.
pub const INVITATION_DAYS: (u32, u32) = (1, 7);
/// How long a login link is valid.
const LOGIN_LINK_FOR: Duration = Duration::from_secs(5 * 60);
/// How long a browser stays logged in.
pub const BROWSER_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// An invitation: who, to which team, with which role.
#[derive(Clone, Debug)]
pub struct Invitation<'a> {
    pub name: &'a str,
    pub team: Option<&'a str>,
    /// `states`, `asks`, `full` or `admin`.
    pub role: &'a str,
    pub days: u32,
    /// How many machines may join with it.
    pub uses: u32,
}

#[derive(Debug)]
pub struct Invited {
    pub url: String,
    pub code: String,
    pub expires_at: Stamp,
}

pub fn stamp(time: SystemTime) -> Stamp {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Stamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

pub async fn invite(database: &Database, wanted: &Invitation<'_>) -> Result<Invited> {
    let role = role_number(wanted.role).context("the role is states, asks, full or admin")?;
    let name = wanted.name.trim();
    if name.is_empty() || name.len() > 100 || name.chars().any(char::is_control) {
        bail!("could not invite {name:?}: a name has 1 to 100 characters");
    }
    let team_name = wanted.team.unwrap_or(DEFAULT_TEAM);
    let code = secret()?.chars().take(32).collect::<String>();
    let days = wanted.days.clamp(1, INVITATION_DAYS.1);
    let ends = SystemTime::now() + Duration::from_secs(u64::from(days) * 24 * 3600);
    let mut lease = database.lease().await?;
    let step = lease.client.transaction().await.map_err(failed)?;
    let team: i32 = one(&step, "teams", "name", team_name).await?;
    let usr: i32 = one(&step, "users", "login", name).await?;
    let uses = i32::try_from(wanted.uses.max(1)).unwrap_or(i32::MAX);
    step.execute(
        "INSERT INTO invites (hash, team, usr, role, uses_left, ends_at) VALUES ($1, $2, $3, $4, $5, $6)",
        &[&hash(&code), &team, &usr, &role, &uses, &ends],
    )
    .await
    .map_err(failed)?;
    let base = step
        .query_opt("SELECT value FROM settings WHERE key IN ('public_url', 'listen_url') ORDER BY key = 'public_url' DESC LIMIT 1", &[])
        .await
        .map_err(failed)?;
    step.commit().await.map_err(failed)?;
    lease.give_back();
    let base: String = base
        .map(|row| row.get(0))
        .context("no hub has run on this database yet: start `headspace hub serve`")?;
    Ok(Invited { url: format!("{}/#join={code}", base.trim_end_matches('/')), code, expires_at: stamp(ends) })
}

/// The id of the row with this name, created if there is none.
async fn one(step: &tokio_postgres::Transaction<'_>, table: &str, column: &str, name: &str) -> Result<i32> {
    let sql = format!(
        "INSERT INTO {table} ({column}) VALUES ($1) ON CONFLICT ({column}) DO UPDATE SET {column} = excluded.{column} RETURNING id"
    );
    Ok(step.query_one(&sql, &[&name]).await.map_err(failed)?.get(0))
}

fn failed(error: tokio_postgres::Error) -> anyhow::Error {
    anyhow!("{}", said(&error))
}

/// A machine that wants to join.
#[derive(Clone, Debug)]
pub struct Joining<'a> {
    pub code: &'a str,
    pub host: &'a str,
    /// A name that stays the same while machines come and go: `HEADSPACE_EDGE`.
    pub name: Option<&'a str>,
    pub version: Option<&'a str>,
}

#[derive(Debug)]
pub struct Joined {
    pub edge: i32,
    pub token: String,
    pub user: String,
    pub team: String,
    pub share_max: Level,
}

/// Lets a machine join; `None`: the code is unknown, used, or too old.
pub async fn join(database: &Database, who: &Joining<'_>) -> Result<Option<Joined>> {
    let token = secret()?;
    let mut lease = database.lease().await?;
    let step = lease.client.transaction().await.map_err(failed)?;
    let used = step
        .query_opt(
            "UPDATE invites SET used_at = now(), uses_left = uses_left - 1
             WHERE hash = $1 AND uses_left > 0 AND ends_at > now() RETURNING team, usr, role",
            &[&hash(who.code)],
        )
        .await
        .map_err(failed)?;
    let Some(used) = used else {
        step.rollback().await.map_err(failed)?;
        lease.give_back();
        return Ok(None);
    };
    let (team, usr, role): (i32, i32, i16) = (used.get(0), used.get(1), used.get(2));
    step.execute(
        "INSERT INTO members VALUES ($1, $2, $3) ON CONFLICT (team, usr) DO UPDATE SET role = excluded.role",
        &[&team, &usr, &role],
    )
    .await
    .map_err(failed)?;
    let host = Some(storable(who.host)).filter(|host| !host.is_empty()).unwrap_or_else(|| "machine".into());
    let (name, version) = (who.name.map(storable), who.version.map(storable));
    // A container recreated under the same name is the same machine: its last life is superseded, not kept beside it.
    let known = match &name {
        Some(name) => step
            .query_opt(
                "SELECT id FROM edges WHERE team = $1 AND usr = $2 AND name = $3 AND left_at IS NULL ORDER BY id DESC LIMIT 1 FOR UPDATE",
                &[&team, &usr, name],
            )
            .await
            .map_err(failed)?
            .map(|row| row.get::<_, i32>(0)),
        None => None,
    };
    let edge = match known {
        Some(edge) => {
            let sql = "UPDATE tokens SET revoked_at = now() WHERE edge = $1 AND revoked_at IS NULL";
            step.execute(sql, &[&edge]).await.map_err(failed)?;
            let sql =
                "UPDATE edges SET host = $2, version = $3, link = NULL, joined_at = now() WHERE id = $1";
            step.execute(sql, &[&edge, &host, &version]).await.map_err(failed)?;
            edge
        }
        None => {
            let sql = "INSERT INTO edges (team, usr, host, name, version, seen_at) VALUES ($1, $2, $3, $4, $5, now()) RETURNING id";
            step.query_one(sql, &[&team, &usr, &host, &name, &version]).await.map_err(failed)?.get(0)
        }
    };
    step.execute(
        "INSERT INTO tokens (hash, usr, edge, kind) VALUES ($1, $2, $3, $4)",
        &[&hash(&token), &usr, &edge, &Kind::Machine.number()],
    )
    .await
    .map_err(failed)?;
    let row = step
        .query_one(
            "SELECT teams.name, teams.share_max, users.login FROM teams, users WHERE teams.id = $1 AND users.id = $2",
            &[&team, &usr],
        )
        .await
        .map_err(failed)?;
    let (team, share_max, user) = (row.get(0), Level::from_number(row.get(1)), row.get(2));
    step.commit().await.map_err(failed)?;
    lease.give_back();
    Ok(Some(Joined { edge, token, user, team, share_max }))
}

/// A one-time code for the browser of this machine's user.
pub async fn login_link(database: &Database, usr: i32, edge: Option<i32>) -> Result<String> {
    let code = secret()?;
    database
        .run(
            "INSERT INTO tokens (hash, usr, edge, kind, ends_at) VALUES ($1, $2, $3, $4, $5)",
            &[&hash(&code), &usr, &edge, &Kind::LoginLink.number(), &(SystemTime::now() + LOGIN_LINK_FOR)],
        )
        .await?;
    Ok(code)
}

/// Exchanges the code for a browser's token; works once.
pub async fn redeem(database: &Database, code: &str) -> Result<Option<String>> {
    let token = secret()?;
    let rows = database
        .rows(
            "WITH link AS (UPDATE tokens SET used_at = now(), revoked_at = now()
                           WHERE hash = $1 AND kind = 2 AND used_at IS NULL AND revoked_at IS NULL AND ends_at > now()
                           RETURNING usr, edge)
             INSERT INTO tokens (hash, usr, edge, kind, ends_at) SELECT $2, usr, edge, 3, $3 FROM link RETURNING 1",
            &[&hash(code), &hash(&token), &(SystemTime::now() + BROWSER_FOR)],
        )
        .await?;
    Ok((!rows.is_empty()).then_some(token))
}

/// A machine that may post, for an administrator who decides whether it still may.
#[derive(Debug)]
pub struct JoinedMachine {
    pub edge: i32,
    pub user: String,
    pub host: String,
    pub team: String,
    /// `None`: it has never been heard.
    pub not_heard_for: Option<Duration>,
}

pub async fn machines(database: &Database) -> Result<Vec<JoinedMachine>> {
    let rows = database
        .rows(
            "SELECT edges.id, users.login, coalesce(edges.name, edges.host), teams.name,
                    extract(epoch FROM clock_timestamp() - edges.seen_at)::float8
             FROM edges JOIN users ON users.id = edges.usr JOIN teams ON teams.id = edges.team WHERE edges.left_at IS NULL
             ORDER BY edges.id",
            &[],
        )
        .await?;
    let quiet = |seconds: Option<f64>| {
        seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default())
    };
    Ok(rows
        .iter()
        .map(|row| JoinedMachine {
            edge: row.get(0),
            user: row.get(1),
            host: row.get(2),
            team: row.get(3),
            not_heard_for: quiet(row.get(4)),
        })
        .collect())
}

/// Revokes a machine's tokens, and those of browsers that logged in through it. `false`: there is no such machine.
pub async fn revoke(database: &Database, edge: i32) -> Result<bool> {
    let mut lease = database.lease().await?;
    let step = lease.client.transaction().await.map_err(failed)?;
    let sql =
        "UPDATE edges SET left_at = coalesce(left_at, now()), changed_at = clock_timestamp() WHERE id = $1";
    let known = step.execute(sql, &[&edge]).await.map_err(failed)?;
    let sql = "UPDATE tokens SET revoked_at = now() WHERE edge = $1 AND revoked_at IS NULL";
    step.execute(sql, &[&edge]).await.map_err(failed)?;
    step.commit().await.map_err(failed)?;
    lease.give_back();
    Ok(known > 0)
}
