//! Hints.
use super::settings::Problem;
use super::sources::Sources;
use std::path::PathBuf;

pub fn hints(_sources: &Sources) -> Vec<(PathBuf, Problem)> {
    Vec::new()
}
