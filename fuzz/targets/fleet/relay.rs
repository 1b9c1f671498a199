//! Whatever a relay says, its board stays within its bounds and shows only agents of its own machine.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::model::MachineName;
use headspace_core::stamp::Stamp;
use headspace_fleet::machines::far_board::{FarBoard, MOST_AGENTS};
use headspace_fleet::machines::relay_line::{Question, RelayLine};

pub fn run(data: &[u8]) {
    let Some(machine) = MachineName::new("far") else { return };
    let mut board = FarBoard::new(machine);
    for line in data.split(|byte| *byte == b'\n') {
        if let Ok(question) = serde_json::from_slice::<Question>(line) {
            assert!(question.path().is_none_or(|path| path.bytes().all(|byte| byte.is_ascii_graphic())));
        }
        let Some(read) = RelayLine::read(line) else { continue };
        let Ok(changes) = board.take(read, line.len(), Stamp(1_000_000_000_000_000_000)) else { continue };
        for view in &changes.shown {
            assert!(view.id.machine == Some(machine) && view.machine == Some(machine) && view.elsewhere);
            assert!(view.claude_pid.is_none() && view.terminal.is_none() && view.transcript_path.is_none());
            assert!(view.interactions.iter().all(|open| open.answer.can().is_empty()));
        }
        assert!(changes.gone.iter().all(|id| id.machine == Some(machine)));
    }
    assert!(board.ids().len() <= MOST_AGENTS);
    assert!(board.cut().shown.iter().all(|view| view.not_heard_since.is_some()));
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
