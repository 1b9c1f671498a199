//! The token file, and the browsers that have logged in.

use crate::http::auth::policy::{DoorKeys, same_secret};
use anyhow::{Context, Result};
use fs_err as fs;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::{config, files, log, process};
use headspace_store::read_only::is_no_room;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A code from `headspace open` is good for one login within this time.
const CODE_VALID_FOR: Duration = Duration::from_secs(60);
/// A browser that was not seen for this long has to log in again.
const LOGIN_EXPIRES_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The time on disk at which a browser was last seen may be this far behind.
const LAST_SEEN_LAGS_BY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many browsers are remembered.
const MAX_LOGINS: usize = 32;

/// The token as the file has it, one-time codes, and cookies that were given out.
#[derive(Debug)]
pub struct KeyRing {
    token_file: PathBuf,
    logins_file: PathBuf,
    state: Mutex<KeyRingState>,
}

#[derive(Debug, Default)]
struct KeyRingState {
    token: String,
    /// There was no room for the file.
    is_unwritten: bool,
    modified: Option<SystemTime>,
    codes: Vec<(String, Instant)>,
    logins: Vec<KnownBrowser>,
}

/// A browser that has logged in.
#[derive(Debug)]
struct KnownBrowser {
    cookie: String,
    /// When it was last seen, and when the file says so.
    seen: Stamp,
    written: Stamp,
}

impl KnownBrowser {
    /// `cookie seen`, in nanoseconds since 1970. A line without the time is from before there was one.
    fn parse(line: &str, now: Stamp) -> KnownBrowser {
        let (cookie, seen) = line.split_once(' ').unwrap_or((line, ""));
        let seen = seen.parse().map_or(now, Stamp);
        KnownBrowser { cookie: cookie.to_owned(), seen, written: seen }
    }

    fn has_expired(&self, now: Stamp) -> bool {
        now.since(self.seen) > LOGIN_EXPIRES_AFTER
    }
}

impl KeyRing {
    /// Reads the token, or makes one that only this user can read. Logins count with the token they were given under,
    /// so one that was changed while no server ran ends them too.
    pub fn open(token_file: &Path) -> Result<KeyRing> {
        let logins_file = token_file.with_file_name("logins");
        let ring = KeyRing { token_file: token_file.into(), logins_file, state: Mutex::default() };
        let mut state = ring.lock();
        ring.read(&mut state)?;
        if state.token.is_empty() {
            let token = random_hex::<32>()?;
            match write_token(token_file, &token) {
                Ok(()) => ring.read(&mut state)?,
                // Requests through the socket or from this user do not need it.
                Err(error) if is_no_room(&error) => (state.token, state.is_unwritten) = (token, true),
                Err(error) => return Err(error).context("could not write the token"),
            }
        }
        let logins = files::read_text(&ring.logins_file).unwrap_or_default();
        let mut lines = logins.lines();
        if lines.next().is_some_and(|token| same_secret(token, &state.token)) {
            let now = Stamp::now();
            state.logins =
                lines.filter(|line| !line.is_empty()).map(|line| KnownBrowser::parse(line, now)).collect();
        }
        drop(state);
        Ok(ring)
    }

    /// Writes the token if there was no room for it at the start.
    pub fn write_if_unwritten(&self) {
        let mut state = self.lock();
        if !state.is_unwritten {
            return;
        }
        // The user may have written another one meanwhile.
        let is_there = files::read_text(&self.token_file).is_ok_and(|text| !text.trim().is_empty());
        if is_there || write_token(&self.token_file, &state.token).is_ok() {
            state.is_unwritten = false;
            if !is_there {
                state.modified = modified(&self.token_file);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeyRingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, state: &mut KeyRingState) -> Result<()> {
        state.modified = modified(&self.token_file);
        state.token.clear();
        state.token = config::read_token(&self.token_file)?.unwrap_or_default();
        Ok(())
    }

    /// A code that opens the dashboard once.
    pub fn new_code(&self) -> Result<String> {
        let code = random_hex::<16>()?;
        let mut state = self.current();
        state.codes.retain(|(_, made)| made.elapsed() < CODE_VALID_FOR);
        if state.codes.len() >= MAX_LOGINS {
            state.codes.remove(0);
        }
        state.codes.push((code.clone(), Instant::now()));
        Ok(code)
    }

    /// A cookie for a code, which is then used up.
    pub fn redeem(&self, code: &str) -> Result<Option<String>> {
        let mut state = self.current();
        let found = state
            .codes
            .iter()
            .position(|(known, made)| same_secret(known, code) && made.elapsed() < CODE_VALID_FOR);
        let Some(found) = found else { return Ok(None) };
        state.codes.remove(found);
        let cookie = random_hex::<32>()?;
        let now = Stamp::now();
        state.logins.push(KnownBrowser { cookie: cookie.clone(), seen: now, written: now });
        self.remember(&mut state, now)?;
        Ok(Some(cookie))
    }

    /// Writes the list of browsers, without those that were not seen for too long.
    fn remember(&self, state: &mut KeyRingState, now: Stamp) -> Result<()> {
        state.logins.retain(|login| !login.has_expired(now));
        let surplus = state.logins.len().saturating_sub(MAX_LOGINS);
        state.logins.drain(..surplus);
        let mut lines = format!("{}\n", state.token);
        for login in &mut state.logins {
            lines.push_str(&format!("{} {}\n", login.cookie, login.seen.0));
            login.written = login.seen;
        }
        files::replace(&self.logins_file, lines.as_bytes()).context("could not remember the login")
    }
}

impl KeyRing {
    /// The user may change the token while the server runs; browsers that logged in with the old one are then logged out.
    fn current(&self) -> MutexGuard<'_, KeyRingState> {
        let mut state = self.lock();
        if modified(&self.token_file) != state.modified {
            let old = std::mem::take(&mut state.token);
            if let Err(error) = self.read(&mut state) {
                log::line(&format!("nobody can log in: {error:#}"));
            }
            if state.token != old {
                state.logins.clear();
                state.codes.clear();
                let _ = fs::remove_file(&self.logins_file);
            }
        }
        state
    }
}

impl DoorKeys for KeyRing {
    fn token_fits(&self, given: &str) -> bool {
        let state = self.current();
        !state.token.is_empty() && same_secret(&state.token, given)
    }

    fn cookie_fits(&self, given: &str) -> bool {
        let (mut state, now) = (self.current(), Stamp::now());
        let found = state.logins.iter_mut().find(|login| same_secret(&login.cookie, given));
        let Some(login) = found.filter(|login| !login.has_expired(now)) else { return false };
        login.seen = now;
        if now.since(login.written) > LAST_SEEN_LAGS_BY {
            // A full disk must not log anyone out.
            let _ = self.remember(&mut state, now);
        }
        true
    }
}

fn write_token(file: &Path, token: &str) -> Result<()> {
    // There may have been no room for the state directory either.
    file.parent().map_or(Ok(()), files::private_dir)?;
    files::replace(file, format!("{token}\n").as_bytes())
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

fn random_hex<const N: usize>() -> Result<String> {
    process::random_hex::<N>().context("could not get random numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once_and_the_cookie_outlives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let ring = KeyRing::open(&file).unwrap();
        let code = ring.new_code().unwrap();
        assert_eq!(ring.redeem("wrong").unwrap(), None);
        let cookie = ring.redeem(&code).unwrap().unwrap();
        assert_eq!(ring.redeem(&code).unwrap(), None);
        assert!(ring.cookie_fits(&cookie) && !ring.cookie_fits(&code));
        assert!(KeyRing::open(&file).unwrap().cookie_fits(&cookie));
    }

    #[test]
    fn a_changed_token_counts_at_once_and_ends_logins() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let ring = KeyRing::open(&file).unwrap();
        let old = std::fs::read_to_string(&file).unwrap();
        assert!(ring.token_fits(old.trim()) && !ring.token_fits(""));
        let code = ring.new_code().unwrap();
        let cookie = ring.redeem(&code).unwrap().unwrap();
        let later = SystemTime::now() + Duration::from_secs(5);
        std::fs::write(&file, "another\n").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        assert!(ring.token_fits("another") && !ring.token_fits(old.trim()) && !ring.cookie_fits(&cookie));
    }

    #[test]
    fn a_cookie_ends_after_thirty_days_of_rest() {
        const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let ring = KeyRing::open(&file).unwrap();
        let cookie = ring.redeem(&ring.new_code().unwrap()).unwrap().unwrap();
        let token = std::fs::read_to_string(&file).unwrap();
        for (days, fits) in [(29, true), (31, false)] {
            let seen = Stamp::now().0 - days * DAY;
            let logins = format!("{}\n{cookie} {seen}\n", token.trim());
            std::fs::write(dir.path().join("logins"), logins).unwrap();
            assert_eq!(KeyRing::open(&file).unwrap().cookie_fits(&cookie), fits, "{days}");
            // Being seen is remembered.
            let text = std::fs::read_to_string(dir.path().join("logins")).unwrap();
            assert_eq!(text.contains(&seen.to_string()), !fits, "{text}");
        }
    }

    #[test]
    fn a_token_changed_while_nobody_ran_ends_logins_too() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let ring = KeyRing::open(&file).unwrap();
        let code = ring.new_code().unwrap();
        let cookie = ring.redeem(&code).unwrap().unwrap();
        drop(ring);
        std::fs::write(&file, "another\n").unwrap();
        assert!(!KeyRing::open(&file).unwrap().cookie_fits(&cookie));
    }
}
