//! `cargo +nightly fuzz run machines`: whatever the configuration says about other machines, what is run for them is ssh with
//! a host that is no option, or the command as it was written; and which project shares how much has an answer.

#![cfg_attr(fuzzing, no_main)]

use headspace_fleet::level::Level;
use headspace_fleet::link::state::sharing;
use headspace_fleet::machines::machine::{Way, all};
use headspace_platform::config::Config;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(config) = Config::parse(text) else { return };
    let (machines, wrong) = all(&config.machines);
    assert!(machines.len() + wrong.len() == config.machines.len());
    for (_, why) in &wrong {
        assert!(!why.is_empty());
    }
    for (at, machine) in machines.iter().enumerate() {
        assert!(machines[..at].iter().all(|other| other.name != machine.name));
        let words = machine.relay();
        match &machine.way {
            Way::Command(command) => assert!(&words == command && machine.attach(7).is_err()),
            Way::Ssh { destination, .. } => {
                let attach = machine.attach(7).unwrap_or_default();
                for words in [&words, &attach] {
                    let host = words.iter().position(|word| word == "--").map(|at| &words[at + 1]);
                    assert!(words[0] == "ssh" && host == Some(destination) && !destination.starts_with('-'));
                    let plain = |word: &String| {
                        word.bytes().all(|byte| byte.is_ascii_graphic() && !b"'\"$`;&|<>()\\".contains(&byte))
                    };
                    assert!(words.iter().all(plain), "{words:?}");
                }
                let resumed = machine.resume(Some(text), "claude --resume x");
                assert!(resumed.is_none_or(|line| !line.contains('\n')));
            }
        }
    }
    let sharing = sharing(&config, Level::Asks, Level::Full);
    for directory in [None, Some("/home/me/work/x"), Some(text)] {
        assert!(!config.paranoid || sharing.of_directory(directory) <= Level::States);
        assert!(sharing.of_directory(directory) <= sharing.highest());
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
