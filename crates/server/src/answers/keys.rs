//! Keys: which pages and terminals may answer, and the codes that give a page its key. They are kept in memory only, so a
//! restart forgets them. Times are measured by a clock that cannot be set back.

use crate::http::auth::policy::same_secret;
use anyhow::Result;
use headspace_core::model::Surface;
use headspace_core::stamp::Stamp;
use headspace_core::wire::AnswerKey;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Answering;
use headspace_platform::process;
use std::time::{Duration, Instant};

/// After this many wrong attempts a code is void.
const MAX_WRONG_TRIES: u8 = 3;
/// Letters and digits that cannot be mistaken for each other.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// How long the key of a single command lasts: it answers at once.
const COMMAND_KEY_FOR: Duration = Duration::from_secs(120);
/// How many keys are kept; the oldest is dropped first.
const MAX_KEYS: usize = 64;

#[derive(Debug)]
pub struct AnswerKeys {
    code_for: Duration,
    key_for: Duration,
    code: Option<Code>,
    keys: Vec<Key>,
    given: u64,
}

#[derive(Debug)]
struct Code {
    text: String,
    since: Instant,
    wrong: u8,
    /// The terminal it was shown on.
    from: String,
}

/// A page or terminal that may answer.
#[derive(Clone, Debug)]
pub struct Key {
    pub id: u64,
    secret: String,
    pub surface: Surface,
    pub from: String,
    pub at: Stamp,
    since: Instant,
    lasts: Duration,
}

impl Key {
    fn counts(&self, now: Instant) -> bool {
        now.duration_since(self.since) < self.lasts
    }

    pub fn secret(&self) -> &str {
        &self.secret
    }

    pub fn lasts(&self) -> Duration {
        self.lasts
    }

    /// The key as status shows it, without its secret.
    pub fn shown(&self, own: Option<u64>) -> AnswerKey {
        AnswerKey {
            id: self.id,
            surface: self.surface,
            from: self.from.clone(),
            at: self.at,
            expires_at: self.at.plus(self.lasts),
            mine: own == Some(self.id),
        }
    }
}

impl AnswerKeys {
    pub fn new(config: &Answering) -> AnswerKeys {
        AnswerKeys {
            code_for: config.code_for(),
            key_for: config.key_for(),
            code: None,
            keys: Vec::new(),
            given: 0,
        }
    }

    /// A new code; the one before it is void.
    pub fn new_code(&mut self, from: &str, now: Instant) -> Result<(String, Duration)> {
        let bytes = process::random_bytes::<8>()?;
        let letter = |byte: &u8| char::from(LETTERS[usize::from(byte & 31)]);
        let mut text: String = bytes.iter().map(letter).collect();
        text.insert(4, '-');
        self.code = Some(Code { text: text.clone(), since: now, wrong: 0, from: from.to_owned() });
        Ok((text, self.code_for))
    }

    /// A key for the code, which is then used up. `None`: it is wrong or void.
    pub fn redeem(&mut self, given: &str, now: Instant) -> Result<Option<Key>> {
        let Some(code) = &mut self.code else { return Ok(None) };
        if now.duration_since(code.since) >= self.code_for {
            self.code = None;
            return Ok(None);
        }
        if !same_secret(&code.text, &given.trim().to_ascii_uppercase()) {
            code.wrong += 1;
            if code.wrong >= MAX_WRONG_TRIES {
                self.code = None;
            }
            return Ok(None);
        }
        let from = code.from.clone();
        self.code = None;
        self.give(Surface::Web, from, self.key_for, now).map(Some)
    }

    /// A key for a terminal with a person at it.
    pub fn for_terminal(&mut self, surface: Surface, from: &str, now: Instant) -> Result<Key> {
        let lasts = if surface == Surface::Cli { COMMAND_KEY_FOR.min(self.key_for) } else { self.key_for };
        self.give(surface, from.to_owned(), lasts, now)
    }

    fn give(&mut self, surface: Surface, from: String, lasts: Duration, now: Instant) -> Result<Key> {
        self.keys.retain(|key| key.counts(now));
        if self.keys.len() >= MAX_KEYS {
            self.keys.remove(0);
        }
        let secret = process::random_hex::<32>()?;
        self.given += 1;
        let key = Key { id: self.given, secret, surface, from, at: Stamp::now(), since: now, lasts };
        self.keys.push(key.clone());
        Ok(key)
    }

    pub fn find(&self, secret: &str, now: Instant) -> Option<&Key> {
        self.keys.iter().find(|key| same_secret(&key.secret, secret)).filter(|key| key.counts(now))
    }

    /// Ends the keys that fit; returns how many.
    pub fn end(&mut self, fits: impl Fn(&Key) -> bool) -> usize {
        let before = self.keys.len();
        self.keys.retain(|key| !fits(key));
        before - self.keys.len()
    }

    pub fn end_all(&mut self) {
        self.code = None;
        self.keys.clear();
    }

    /// The keys whose holders see asks and can answer them. The key of a single command is not one of them.
    pub fn open(&self, now: Instant) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| key.counts(now) && key.surface != Surface::Cli)
    }
}

/// Whether this could be a code at all.
pub fn is_code(text: &str) -> bool {
    let text = text.trim().as_bytes();
    text.len() == 9
        && text
            .iter()
            .enumerate()
            .all(|(at, byte)| if at == 4 { *byte == b'-' } else { byte.is_ascii_alphanumeric() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> AnswerKeys {
        AnswerKeys::new(&Answering::default())
    }

    fn other(code: &str) -> String {
        let first = if code.starts_with('A') { 'B' } else { 'A' };
        format!("{first}{}", &code[1..])
    }

    #[test]
    fn a_code_works_once_and_only_the_newest() {
        let (mut keys, now) = (keys(), Instant::now());
        let (first, _) = keys.new_code("pts/1", now).unwrap();
        let (second, _) = keys.new_code("pts/1", now).unwrap();
        assert!(is_code(&first) && is_code(&second) && first != second);
        assert!(keys.redeem(&first, now).unwrap().is_none());
        let key = keys.redeem(&second.to_lowercase(), now).unwrap().unwrap();
        assert!(keys.redeem(&second, now).unwrap().is_none());
        assert_eq!(keys.find(key.secret(), now).unwrap().from, "pts/1");
        assert!(keys.find(&key.secret().to_uppercase(), now).is_none());
    }

    #[test]
    fn three_wrong_tries_end_a_code() {
        let (mut keys, now) = (keys(), Instant::now());
        let (code, _) = keys.new_code("", now).unwrap();
        for _ in 0..2 {
            assert!(keys.redeem(&other(&code), now).unwrap().is_none());
        }
        assert!(keys.redeem(&code, now).unwrap().is_some());
        let (code, _) = keys.new_code("", now).unwrap();
        for _ in 0..3 {
            assert!(keys.redeem(&other(&code), now).unwrap().is_none());
        }
        assert!(keys.redeem(&code, now).unwrap().is_none());
    }

    #[test]
    fn codes_and_keys_end_with_their_time_and_with_a_lock() {
        let (mut keys, now) = (keys(), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        let (code, _) = keys.new_code("", now).unwrap();
        assert!(keys.redeem(&code, later(301)).unwrap().is_none());
        let (code, _) = keys.new_code("", now).unwrap();
        let key = keys.redeem(&code, later(299)).unwrap().unwrap();
        assert!(keys.find(key.secret(), later(299 + 43_199)).is_some());
        assert!(keys.find(key.secret(), later(299 + 43_200)).is_none());
        assert_eq!(keys.end(|one| one.id == key.id), 1);
        assert!(keys.find(key.secret(), later(300)).is_none());
        let command = keys.for_terminal(Surface::Cli, "pts/2", now).unwrap();
        assert!(keys.open(now).next().is_none(), "a command unlocks nothing");
        assert!(keys.find(command.secret(), later(121)).is_none());
    }

    #[test]
    fn only_what_looks_like_a_code_is_one() {
        for bad in ["", "x", "AAAAAAAAA", "AAAA-AAA", "AAAA-AAAA-", "ÄAAA-AAAA", "AAAA AAAA"] {
            assert!(!is_code(bad), "{bad}");
        }
        assert!(is_code("AAAA-AAAA") && is_code(" abcd-2345\n"));
    }
}
