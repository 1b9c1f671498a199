//! Whatever is in a transcript, reading it never fails, and splitting it anywhere neither loses nor repeats a line.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::transcript::classify;
use headspace_platform::tail::Tail;
use std::io::Write;
use std::path::Path;

/// How the transcripts of the other clients are called.
const OTHER_CLIENTS: [&str; 5] = [
    "/h/.codex/sessions/rollout-1.jsonl",
    "/h/.copilot/session-state/x/events.jsonl",
    "/h/.qwen/projects/-h/chats/x.jsonl",
    "/h/.gemini/tmp/p/chats/session-1-x.jsonl",
    "/h/.local/share/opencode/opencode.db",
];

pub fn run(data: &[u8]) {
    let whole: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    for line in &whole {
        let _ = classify(line);
        for path in OTHER_CLIENTS {
            let _ = headspace_clients::reader(Path::new(path))(line);
        }
    }
    // The same bytes, appended in two parts and read after each: the same whole lines, each once.
    let path = std::env::temp_dir().join(format!("headspace-fuzz-{}.jsonl", std::process::id()));
    let cut = data.first().map_or(0, |byte| usize::from(*byte) * data.len() / 256);
    let Ok(mut file) = std::fs::File::create(&path) else { return };
    let mut tail = Tail::new(&path);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for part in [&data[..cut], &data[cut..]] {
        if file.write_all(part).is_err() || tail.read(|line| lines.push(line.to_vec())).is_err() {
            return;
        }
    }
    assert_eq!(lines, whole[..whole.len() - 1]);
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
