//! `cargo +nightly fuzz run membership`: whatever an invitation's link or `hub.json` says, it is refused or leads to a hub
//! over TLS or on this machine, and nothing of it can end a line of a request.

#![cfg_attr(fuzzing, no_main)]

use headspace_fleet::link::file::Membership;
use headspace_fleet::link::http::{HubUrl, invitation};

pub fn run(data: &[u8]) {
    if let Ok(read) = Membership::parse(data) {
        assert!(read.edge.parse::<u64>().is_ok());
        assert!(read.token.bytes().all(|byte| byte.is_ascii_graphic()));
        let _ = (read.share(), read.share_max());
        let _ = HubUrl::parse(&read.url).map(sound);
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = HubUrl::parse(text).map(sound);
    if let Ok((url, code)) = invitation(text) {
        assert!(!code.is_empty());
        sound(url);
    }
}

fn sound(url: HubUrl) {
    let shown = url.to_string();
    assert!(shown.bytes().all(|byte| byte.is_ascii_graphic()), "{shown:?}");
    let here = url.host.eq_ignore_ascii_case("localhost")
        || url.host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    assert!(url.secure || here, "{shown}");
    assert_eq!(HubUrl::parse(&shown).ok(), Some(url), "{shown}");
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
