//! An agent's id: a number on the machine that runs it; everywhere else, the machine's name comes before the number.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The part before the slash: the name of one of the user's machines, or a hub's number for one. Kept inline, so that an id is
/// copied like a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineName {
    bytes: [u8; MachineName::LONGEST],
    length: u8,
}

impl MachineName {
    /// As long as a label of a host name may be.
    pub const LONGEST: usize = 63;

    /// Letters, digits, dots, dashes and underscores, not starting with punctuation: it is used in addresses, in window
    /// titles and among the arguments of commands.
    pub fn new(name: &str) -> Option<MachineName> {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let begins = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        if !begins || name.len() > MachineName::LONGEST || !name.bytes().all(inner) {
            return None;
        }
        let mut bytes = [0; MachineName::LONGEST];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Some(MachineName { bytes, length: name.len() as u8 })
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Debug for MachineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl fmt::Display for MachineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for MachineName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for MachineName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MachineName, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        MachineName::new(&text).ok_or_else(|| D::Error::custom("not the name of a machine"))
    }
}

/// An agent's id: `3` for one of this machine, `devbox/3` for one of another. A number alone would name the wrong agent:
/// every machine counts from one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId {
    pub machine: Option<MachineName>,
    pub number: i64,
}

impl AgentId {
    pub fn on(machine: MachineName, number: i64) -> AgentId {
        AgentId { machine: Some(machine), number }
    }

    /// The number, if it is an agent of this machine: what the store and the ledger know.
    pub fn own(self) -> Option<i64> {
        self.machine.is_none().then_some(self.number)
    }
}

impl From<i64> for AgentId {
    fn from(number: i64) -> AgentId {
        AgentId { machine: None, number }
    }
}

impl PartialEq<i64> for AgentId {
    fn eq(&self, number: &i64) -> bool {
        self.own() == Some(*number)
    }
}

impl FromStr for AgentId {
    type Err = ();

    fn from_str(text: &str) -> Result<AgentId, ()> {
        let number = |text: &str| text.parse::<i64>().map_err(drop);
        match text.split_once('/') {
            None => Ok(AgentId::from(number(text)?)),
            Some((machine, id)) => Ok(AgentId::on(MachineName::new(machine).ok_or(())?, number(id)?)),
        }
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.machine {
            None => f.pad(&self.number.to_string()),
            Some(machine) => f.pad(&format!("{machine}/{}", self.number)),
        }
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A number for an agent of this machine, a text for another machine's.
impl Serialize for AgentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.own() {
            Some(number) => serializer.serialize_i64(number),
            None => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AgentId, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = AgentId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an agent's id: a number, or MACHINE/NUMBER")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<AgentId, E> {
                Ok(number.into())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<AgentId, E> {
                i64::try_from(number).map(AgentId::from).map_err(|_| E::custom("the number is too large"))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<AgentId, E> {
                text.parse().map_err(|()| E::custom("not an agent's id"))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_is_a_number_here_and_a_text_with_its_machine_elsewhere() {
        let devbox = MachineName::new("devbox").unwrap();
        for (id, wire) in [(AgentId::from(3), json!(3)), (AgentId::on(devbox, 3), json!("devbox/3"))] {
            assert_eq!(json!(id), wire);
            assert_eq!(serde_json::from_value::<AgentId>(wire.clone()).unwrap(), id);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert!(AgentId::from(3) == 3 && AgentId::on(devbox, 3) != 3);
        assert_eq!((AgentId::from(3).own(), AgentId::on(devbox, 3).own()), (Some(3), None));
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for bad in
            [json!("x"), json!("/3"), json!("a b/3"), json!("a/b/3"), json!("a/"), json!(1.5), json!(null)]
        {
            assert!(serde_json::from_value::<AgentId>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_has_no_slash_no_blank_and_begins_with_a_letter_or_digit() {
        for bad in ["", "-a", ".a", "a/b", "a b", "ä", "a\u{1b}", &"a".repeat(MachineName::LONGEST + 1)] {
            assert!(MachineName::new(bad).is_none(), "{bad:?}");
        }
        for good in ["7", "build-host_2.lan", &"a".repeat(MachineName::LONGEST)] {
            assert_eq!(MachineName::new(good).unwrap().as_str(), good);
        }
    }
}
