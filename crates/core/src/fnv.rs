//! FNV-1a: a hash that is the same on every day and every machine. Use it for stored hashes, and only where no one has
//! a reason to forge one.

pub const START: u64 = 0xcbf2_9ce4_8422_2325;
pub const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Continues `hash` with these bytes; pass [`START`] first.
pub const fn fnv1a(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(PRIME);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_matches_the_published_function_in_one_piece_or_in_two() {
        assert_eq!(fnv1a(START, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(START, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(START, b"hello"), 0xa430_d846_80aa_bd0b);
        assert_eq!(fnv1a(fnv1a(START, b"he"), b"llo"), fnv1a(START, b"hello"));
    }
}
