//! `cargo +nightly fuzz run payload`: whatever comes on standard input, the reader finds the end that serde_json
//! finds, however the bytes arrive, and what is spliced in leaves every other byte as it was.

#![cfg_attr(fuzzing, no_main)]

use headspace_notify::envelope::{Fields, splice};
use headspace_notify::scan::{Lists, Progress, Reader};
use headspace_notify::stdin::{Input, Payload};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub fn run(data: &[u8]) {
    let (step, bytes) = match data.split_first() {
        Some((step, bytes)) => (usize::from(*step) + 1, bytes),
        None => return,
    };

    let mut scanner = Reader::with(Lists::default());
    let mut progress = Progress::More;
    for end in (step..bytes.len()).step_by(step).chain([bytes.len()]) {
        progress = scanner.feed(&bytes[..end]);
        if progress != Progress::More {
            break;
        }
    }

    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    let is_object = bytes.iter().find(|b| !b" \n\r\t".contains(b)) == Some(&b'{');
    let theirs = matches!(stream.next(), Some(Ok(_))) && is_object;
    match progress {
        Progress::Done(end) => assert!(theirs && end == stream.byte_offset()),
        Progress::More | Progress::Bad => assert!(!theirs),
    }

    let Input::Object(payload) = Payload::parse(bytes.to_vec()) else { return assert!(!theirs) };
    let fields: Fields = vec![("host", "\"h\"".into()), ("sent_at", "1".into())];
    let body = splice(&payload, &fields);
    let object = payload.object();
    assert!(body.starts_with(&object[..object.len() - 1]) && body.ends_with(b"}"));
    // Texts that are not UTF-8 and depths that serde_json does not follow are compared up to here only.
    if let Ok(before) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(object) {
        let after: BTreeMap<String, &RawValue> = serde_json::from_slice(&body).expect("still an object");
        for (key, value) in &before {
            assert_eq!(after[key].get(), value.get());
        }
        for (name, value) in &fields {
            assert!(before.contains_key(*name) || after[*name].get().as_bytes() == value);
        }
        let added = fields.iter().filter(|(name, _)| !before.contains_key(*name)).count();
        assert_eq!(after.len(), before.len() + added);
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
