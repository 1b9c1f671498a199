//! Tasks for developers: `cargo xtask generate .` writes `completions/` and `man/`.

mod generate;

use clap::Parser;
use std::path::PathBuf;

#[derive(Parser)]
#[command(name = "xtask")]
enum Task {
    /// Write the completion files and the manual pages
    Generate {
        /// The directory that contains, or will contain, `completions/` and `man/`
        dir: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Generate { dir } => generate::run(&dir),
    }
}
