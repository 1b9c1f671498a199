//! Keys: which pages and terminals may answer, and the codes that give a page its key. They are kept in memory only, so a
//! restart forgets them. Times are measured by a clock that cannot be set back.

use crate::answers::peer::Terminal;
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
    commands: Vec<CommandTerminal>,
    given: u64,
}

/// A terminal on which commands answer. Each has a key of its own for a moment; what people are told about is the terminal.
#[derive(Debug)]
struct CommandTerminal {
    id: u64,
    terminal: Terminal,
    at: Stamp,
    since: Instant,
    /// Somebody took it back: no command answers from there.
    withdrawn: bool,
}

/// What a terminal gets that asks for a key.
#[derive(Debug)]
pub enum Given {
    /// Nobody knows about it yet.
    New(Key),
    /// One more command on a terminal that people were told about.
    Again(Key),
    /// Answering from this terminal was taken back.
    Withdrawn,
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
    fn shown(&self, own: Option<u64>) -> AnswerKey {
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
            commands: Vec::new(),
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

    /// A key for `top` on a terminal with a person at it.
    pub fn for_top(&mut self, terminal: &Terminal, now: Instant) -> Result<Given> {
        self.give(Surface::Top, terminal.name.clone(), self.key_for, now).map(Given::New)
    }

    /// A key for one command on a terminal with a person at it.
    pub fn for_command(&mut self, terminal: &Terminal, now: Instant) -> Result<Given> {
        let key_for = self.key_for;
        self.commands.retain(|command| now.duration_since(command.since) < key_for);
        let known = self.commands.iter().find(|command| command.terminal == *terminal);
        let known = known.map(|command| command.withdrawn);
        if known == Some(true) {
            return Ok(Given::Withdrawn);
        }
        let key = self.give(Surface::Cli, terminal.name.clone(), COMMAND_KEY_FOR.min(key_for), now)?;
        if known.is_some() {
            return Ok(Given::Again(key));
        }
        if self.commands.len() >= MAX_KEYS {
            self.commands.remove(0);
        }
        // An id of its own: the command gives its key back, and the terminal stays known.
        self.given += 1;
        self.commands.push(CommandTerminal {
            id: self.given,
            terminal: terminal.clone(),
            at: key.at,
            since: now,
            withdrawn: false,
        });
        Ok(Given::New(key))
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

    /// Takes back a key, or what commands on a terminal may do.
    pub fn end(&mut self, id: u64) {
        self.keys.retain(|key| key.id != id);
        if let Some(at) = self.commands.iter().position(|command| command.id == id) {
            let name = self.commands[at].terminal.name.clone();
            self.keys.retain(|key| key.surface != Surface::Cli || key.from != name);
            if self.commands[at].terminal.session.is_some() {
                self.commands[at].withdrawn = true;
            } else {
                // All terminals look alike, and the others were not meant.
                self.commands.remove(at);
            }
        }
    }

    pub fn end_all(&mut self) {
        self.code = None;
        self.keys.clear();
        self.commands.retain(|command| command.withdrawn);
    }

    /// Who may answer: pages and terminals with a key, and terminals on which commands have answered.
    pub fn shown(&self, own: Option<u64>, now: Instant) -> Vec<AnswerKey> {
        let commands = self
            .commands
            .iter()
            .filter(|command| !command.withdrawn && now.duration_since(command.since) < self.key_for);
        let commands = commands.map(|command| AnswerKey {
            id: command.id,
            surface: Surface::Cli,
            from: command.terminal.name.clone(),
            at: command.at,
            expires_at: command.at.plus(self.key_for),
            mine: false,
        });
        let mut shown: Vec<_> = self.open(now).map(|key| key.shown(own)).chain(commands).collect();
        shown.sort_by_key(|key| key.id);
        shown
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
    use headspace_core::model::Process;

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
        keys.end(key.id);
        assert!(keys.find(key.secret(), later(300)).is_none());
        let Given::New(command) = keys.for_command(&terminal(7), now).unwrap() else {
            panic!("it is the first")
        };
        assert!(keys.open(now).next().is_none(), "a command unlocks nothing");
        assert!(keys.find(command.secret(), later(121)).is_none());
    }

    fn terminal(leader: u32) -> Terminal {
        Terminal { name: "pts/2".into(), session: Some(Process { pid: leader, start: 1 }) }
    }

    #[test]
    fn a_terminal_whose_commands_answer_is_told_once_and_can_be_taken_back() {
        let (mut keys, now) = (keys(), Instant::now());
        let Given::New(first) = keys.for_command(&terminal(7), now).unwrap() else {
            panic!("it is the first")
        };
        let Given::Again(second) = keys.for_command(&terminal(7), now).unwrap() else {
            panic!("it is known")
        };
        // A command that is done gives its key back.
        keys.end(first.id);
        assert!(matches!(keys.for_command(&terminal(7), now), Ok(Given::Again(_))));
        // Another one that has got the same name.
        assert!(matches!(keys.for_command(&terminal(8), now), Ok(Given::New(_))));
        let shown: Vec<_> = keys.shown(None, now).iter().map(|key| (key.surface, key.from.clone())).collect();
        assert_eq!(shown, [(Surface::Cli, "pts/2".to_owned()), (Surface::Cli, "pts/2".to_owned())]);
        keys.end(keys.shown(None, now)[0].id);
        assert_eq!(keys.shown(None, now).len(), 1);
        assert!(keys.find(second.secret(), now).is_none());
        for _ in 0..2 {
            assert!(matches!(keys.for_command(&terminal(7), now), Ok(Given::Withdrawn)));
            keys.end_all();
        }
        assert!(matches!(keys.for_command(&terminal(8), now), Ok(Given::New(_))), "told again after a lock");
        let later = now + Duration::from_secs(43_201);
        assert!(keys.shown(None, later).is_empty());
        assert!(matches!(keys.for_command(&terminal(7), later), Ok(Given::New(_))));
        // Where terminals cannot be told apart, none is shut out.
        let any = Terminal { name: "a terminal".into(), session: None };
        assert!(matches!(keys.for_command(&any, later), Ok(Given::New(_))));
        keys.end(keys.shown(None, later).last().unwrap().id);
        assert!(matches!(keys.for_command(&any, later), Ok(Given::New(_))));
    }

    #[test]
    fn only_what_looks_like_a_code_is_one() {
        for bad in ["", "x", "AAAAAAAAA", "AAAA-AAA", "AAAA-AAAA-", "ÄAAA-AAAA", "AAAA AAAA"] {
            assert!(!is_code(bad), "{bad}");
        }
        assert!(is_code("AAAA-AAAA") && is_code(" abcd-2345\n"));
    }
}
