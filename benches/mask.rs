//! How fast secrets are masked, against merely looking at every byte in the same run.
//!
//!     cargo bench --bench mask
//!
//! "look" copies the text and counts its line ends, the least that anything does that reads an event. Texts: the
//! captured payloads, prose, code as JSON escapes it, and a log full of words that look like the start of a secret.

use headspace_core::mask;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// MB/s, in every text but the doubtful one, which nobody writes.
const BUDGET: f64 = 200.0;
const SIZE: usize = 10 << 20;
const ROUNDS: usize = 7;

fn payloads() -> String {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/payloads");
    let mut paths: Vec<_> =
        std::fs::read_dir(dir).expect("payloads").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a payload")).collect()
}

fn repeated(piece: &str) -> String {
    piece.repeat(SIZE / piece.len() + 1)
}

/// The best of several rounds: what else the machine does only ever makes it slower.
fn best(mut work: impl FnMut()) -> Duration {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    rounds.min().unwrap_or_default()
}

fn main() {
    let prose =
        "The parser reads a line, finds the words in it and hands them on; nothing is stored twice.\n";
    let code = r#"{\"path\": \"src/main.rs\", \"text\": \"fn main() {\\n    let next = self.items.get(at + 1)?;\\n}\"}"#;
    let doubtful = "token: skipped sk-lm ghost xoxo eyes -- key=1 https://example.com/a:b@c password=\"\" bearer of news\n";
    let texts = [
        ("payloads", repeated(&payloads())),
        ("prose", repeated(prose)),
        ("code", repeated(code)),
        ("doubtful", repeated(doubtful)),
    ];
    let mut missed = false;
    println!("{:<10} {:>8} {:>10} {:>10} {:>8}", "text", "MB", "mask MB/s", "look MB/s", "ratio");
    for (name, text) in texts {
        let megabytes = text.len() as f64 / 1e6;
        let masked = best(|| {
            black_box(mask::text(black_box(&text)));
        });
        let looked = best(|| {
            let copy = black_box(text.as_bytes()).to_vec();
            black_box(memchr::memchr_iter(b'\n', &copy).count());
        });
        let (mask, look) = (megabytes / masked.as_secs_f64(), megabytes / looked.as_secs_f64());
        missed |= mask < BUDGET && name != "doubtful";
        println!("{name:<10} {megabytes:>8.1} {mask:>10.0} {look:>10.0} {:>8.2}", mask / look);
    }
    println!(
        "\nbudget: {BUDGET} MB/s, but for the doubtful text: {}",
        if missed { "missed" } else { "kept" }
    );
    std::process::exit(i32::from(missed));
}
