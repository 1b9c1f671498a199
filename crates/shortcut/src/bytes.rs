//! Compares bytes one by one and copies them with a processor instruction: the C library's functions are not ready yet.

use crate::scan::{Member, Memory};
use core::ops::Range;

pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

pub fn starts_with(bytes: &[u8], start: &[u8]) -> bool {
    bytes.len() >= start.len() && bytes.iter().zip(start).all(|(one, other)| one == other)
}

/// Where `part` begins.
pub fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    (0..=bytes.len().checked_sub(part.len())?)
        .find(|at| bytes.get(*at..).is_some_and(|rest| starts_with(rest, part)))
}

/// A number of 1 to 18 digits and nothing else.
pub fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// A text that grows inside memory that the caller provides.
#[derive(Debug)]
pub struct Text<'a> {
    room: &'a mut [u8],
    length: usize,
}

impl<'a> Text<'a> {
    pub fn new(room: &'a mut [u8]) -> Text<'a> {
        Text { room, length: 0 }
    }

    /// `None`: there is no room for it.
    pub fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length + bytes.len();
        let to = self.room.get_mut(self.length..end)?;
        // SAFETY: `to` is as long as `bytes`, and a mutable borrow overlaps no other.
        unsafe {
            core::arch::asm!(
                "rep movsb",
                inout("rcx") bytes.len() => _,
                inout("rdi") to.as_mut_ptr() => _,
                inout("rsi") bytes.as_ptr() => _,
                options(nostack, preserves_flags)
            );
        }
        self.length = end;
        Some(())
    }

    pub fn put_all(&mut self, parts: &[&[u8]]) -> Option<()> {
        parts.iter().try_for_each(|part| self.put(part))
    }

    pub fn decimal(&mut self, mut number: u64) -> Option<()> {
        let start = self.length;
        loop {
            self.put(&[b'0' + (number % 10) as u8])?;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.room.get_mut(start..self.length)?.reverse();
        Some(())
    }

    /// Exactly this many digits, with leading zeros.
    pub fn padded(&mut self, mut number: u64, digits: usize, base: u64) -> Option<()> {
        let start = self.length;
        for _ in 0..digits {
            let digit = b"0123456789abcdef".get((number % base) as usize)?;
            self.put(&[*digit])?;
            number /= base;
        }
        self.room.get_mut(start..self.length)?.reverse();
        Some(())
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn into_bytes(self) -> &'a [u8] {
        self.room.get(..self.length).unwrap_or_default()
    }
}

/// The scanner's memory where there is no allocator. A payload that needs more takes the ordinary way.
#[derive(Clone, Debug)]
pub struct Places {
    open: [u8; Places::DEPTH],
    depth: usize,
    members: [[u32; 4]; Places::MEMBERS],
    count: usize,
}

impl Places {
    const DEPTH: usize = 64;
    const MEMBERS: usize = 40;
    pub const NONE: Places =
        Places { open: [0; Places::DEPTH], depth: 0, members: [[0; 4]; Places::MEMBERS], count: 0 };

    pub fn forget(&mut self) {
        (self.depth, self.count) = (0, 0);
    }

    pub fn members(&self) -> impl DoubleEndedIterator<Item = Member> {
        let range = |from: u32, to: u32| -> Range<usize> { from as usize..to as usize };
        let members = self.members.get(..self.count).unwrap_or_default().iter();
        members.map(move |[key, key_end, value, value_end]| Member {
            key: range(*key, *key_end),
            value: range(*value, *value_end),
        })
    }

    /// The value of a member, as written; if a key occurs twice, the last one counts. Keys must not contain escapes.
    pub fn get<'a>(&self, text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
        let named = |member: &Member| text.get(member.key.clone()).is_some_and(|key| same(key, name));
        self.members().rev().find(named).and_then(|member| text.get(member.value))
    }

    pub fn has_escaped_key(&self, text: &[u8]) -> bool {
        self.members().any(|member| text.get(member.key).is_none_or(|key| key.contains(&b'\\')))
    }
}

impl Memory for &mut Places {
    fn depth(&self) -> usize {
        self.depth
    }

    fn innermost(&self) -> Option<u8> {
        self.open.get(self.depth.checked_sub(1)?).copied()
    }

    fn open(&mut self, bracket: u8) -> bool {
        let Some(place) = self.open.get_mut(self.depth) else { return false };
        *place = bracket;
        self.depth += 1;
        true
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn member(&mut self, member: Member) -> bool {
        let Some(place) = self.members.get_mut(self.count) else { return false };
        let Member { key, value } = member;
        *place = [key.start as u32, key.end as u32, value.start as u32, value.end as u32];
        self.count += 1;
        true
    }
}
