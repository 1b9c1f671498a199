//! Who calls, and what they may do: one table for every route, and one place that turns a token into a person.

use crate::hub::database::Database;
use crate::level::Level;
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_postgres::Row;

pub const COOKIE_NAME: &str = "headspace_hub";

/// What a route requires of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// No token: it reveals nothing, or the request carries its own one-time secret.
    Open,
    /// A joined machine, or a browser that logged in.
    Reader,
    /// A joined machine.
    Machine,
    /// Only the machine that the path names.
    OwnEdge,
    /// The same, for its batches: the poster was looked up once, and the batch's own transaction checks again.
    OwnLog,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Machine,
    LoginLink,
    Browser,
}

impl Kind {
    pub const fn number(self) -> i16 {
        match self {
            Kind::Machine => 1,
            Kind::LoginLink => 2,
            Kind::Browser => 3,
        }
    }

    fn from_number(number: i16) -> Option<Kind> {
        [Kind::Machine, Kind::LoginLink, Kind::Browser].into_iter().find(|kind| kind.number() == number)
    }
}

/// A person or machine with a valid token.
#[derive(Clone, Debug)]
pub struct Reader {
    pub usr: i32,
    pub login: String,
    pub edge: Option<i32>,
    pub kind: Kind,
    /// The most that the machine's team accepts.
    pub share_max: Level,
    pub teams: Vec<Membership>,
    /// The token's hash, to check again whether it is still valid.
    pub hash: Vec<u8>,
}

/// What a person may see in a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Membership {
    pub team: i32,
    /// By the person's role: how much of what belongs to others.
    pub role: Level,
    /// The most that the team shares, whatever machines that are away have stored here before.
    pub share_max: Level,
}

impl Membership {
    /// From these columns and the next two: the team, the role, the team's maximum. `None`: the person is in no team.
    fn of(row: &Row, first: usize) -> Option<Membership> {
        let team = row.get::<_, Option<i32>>(first)?;
        let share_max = Level::from_number(row.get(first + 2));
        Some(Membership { team, role: role_level(row.get(first + 1)), share_max })
    }
}

impl Reader {
    pub fn team_ids(&self) -> Vec<i32> {
        self.teams.iter().map(|of| of.team).collect()
    }

    /// How much of what belongs to `usr` in `team` this person may see.
    pub fn level(&self, team: i32, usr: i32) -> Level {
        match self.teams.iter().find(|of| of.team == team) {
            None => Level::None,
            Some(of) if usr == self.usr => of.share_max,
            Some(of) => of.role.min(of.share_max),
        }
    }
}

/// Why a caller is refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    Unknown,
    Revoked,
}

/// Roles as they are stored: 1 states, 2 asks, 3 full, 9 admin.
pub fn role_level(role: i16) -> Level {
    if role >= 9 { Level::Full } else { Level::from_number(role) }
}

pub fn role_number(word: &str) -> Option<i16> {
    match word {
        "admin" => Some(9),
        "none" => None,
        word => Level::from_word(word).map(Level::number),
    }
}

/// The hash of a secret, which is all that is stored of it.
pub fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

/// A secret that cannot be guessed, in letters that survive a URL.
pub fn secret() -> Result<String> {
    let bytes: [u8; 32] = headspace_platform::process::random_bytes()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub async fn reader(database: &Database, token: &str) -> Result<Result<Reader, Refused>> {
    let hash = hash(token);
    let rows = database
        .rows(
            "SELECT tokens.kind, tokens.usr, tokens.edge, users.login, tokens.revoked_at IS NOT NULL OR users.disabled_at IS NOT NULL,
                    tokens.ends_at < now(), coalesce(own.share_max, 3::smallint), members.team, members.role, teams.share_max
             FROM tokens JOIN users ON users.id = tokens.usr
             LEFT JOIN edges ON edges.id = tokens.edge LEFT JOIN teams AS own ON own.id = edges.team
             LEFT JOIN (members JOIN teams ON teams.id = members.team) ON members.usr = tokens.usr
             WHERE tokens.hash = $1",
            &[&hash],
        )
        .await?;
    let Some(first) = rows.first() else { return Ok(Err(Refused::Unknown)) };
    if first.get(4) {
        return Ok(Err(Refused::Revoked));
    }
    let kind = Kind::from_number(first.get(0)).filter(|kind| *kind != Kind::LoginLink);
    let (Some(kind), false) = (kind, first.get::<_, Option<bool>>(5).unwrap_or(false)) else {
        return Ok(Err(Refused::Unknown));
    };
    let mut teams: Vec<Membership> = rows.iter().filter_map(|row| Membership::of(row, 7)).collect();
    teams.sort_unstable();
    Ok(Ok(Reader {
        usr: first.get(1),
        login: first.get(3),
        edge: first.get(2),
        kind,
        share_max: Level::from_number(first.get(6)),
        teams,
        hash,
    }))
}

/// Which of these tokens are still valid, and what their owners may see now.
pub async fn memberships(
    database: &Database,
    hashes: &[Vec<u8>],
) -> Result<HashMap<Vec<u8>, Vec<Membership>>> {
    let rows = database
        .rows(
            "SELECT tokens.hash, members.team, members.role, teams.share_max
             FROM tokens JOIN users ON users.id = tokens.usr
             LEFT JOIN (members JOIN teams ON teams.id = members.team) ON members.usr = tokens.usr
             WHERE tokens.hash = ANY($1) AND tokens.revoked_at IS NULL AND users.disabled_at IS NULL
               AND (tokens.ends_at IS NULL OR tokens.ends_at >= now())",
            &[&hashes],
        )
        .await?;
    let mut found: HashMap<Vec<u8>, Vec<Membership>> = HashMap::new();
    for row in &rows {
        found.entry(row.get(0)).or_default().extend(Membership::of(row, 1));
    }
    found.values_mut().for_each(|teams| teams.sort_unstable());
    Ok(found)
}

/// Machines that posted a moment ago. An entry here allows reading a batch, not storing it: the transaction that stores
/// it checks the token itself. So a batch costs no query of its own, and a revoked token stops working with the next
/// batch.
#[derive(Default)]
pub struct Posters(Mutex<HashMap<Vec<u8>, Arc<Reader>>>);

impl Posters {
    const MAX_POSTERS: usize = 10_000;

    fn known(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Arc<Reader>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn reader(&self, database: &Database, token: &str) -> Result<Result<Arc<Reader>, Refused>> {
        if let Some(known) = self.known().get(&hash(token)) {
            return Ok(Ok(Arc::clone(known)));
        }
        let found = reader(database, token).await?.map(Arc::new);
        if let Ok(reader) = &found {
            let mut known = self.known();
            if known.len() >= Self::MAX_POSTERS {
                known.clear();
            }
            known.insert(reader.hash.clone(), Arc::clone(reader));
        }
        Ok(found)
    }

    pub fn forget(&self, hash: &[u8]) {
        self.known().remove(hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_cuts_what_belongs_to_others_and_nothing_of_another_team_is_seen() {
        let reader = Reader {
            usr: 1,
            login: "ada".into(),
            edge: None,
            kind: Kind::Browser,
            share_max: Level::Full,
            teams: vec![
                Membership { team: 5, role: Level::States, share_max: Level::Full },
                Membership { team: 7, role: Level::Full, share_max: Level::Asks },
            ],
            hash: Vec::new(),
        };
        assert_eq!(reader.level(5, 2), Level::States);
        assert_eq!(reader.level(5, 1), Level::Full);
        assert_eq!(reader.level(6, 1), Level::None);
        assert_eq!(
            (reader.level(7, 2), reader.level(7, 1)),
            (Level::Asks, Level::Asks),
            "the team's maximum"
        );
        assert_eq!(role_level(9), Level::Full);
        assert_eq!(role_level(7), Level::None, "a role that nobody knows sees nothing");
        assert_eq!((role_number("admin"), role_number("none"), role_number("boss")), (Some(9), None, None));
    }

    #[test]
    fn secrets_differ_and_their_hashes_do_not_contain_them() {
        let (a, b) = (secret().unwrap(), secret().unwrap());
        assert_ne!(a, b);
        assert_eq!((a.len(), hash(&a).len()), (64, 32));
    }
}
