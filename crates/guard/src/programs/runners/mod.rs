//! Programs that run other programs: shells and interpreters, the project's scripts, wrappers such as `timeout`.

pub(super) mod scripts;
pub(super) mod shells;
pub(super) mod wrappers;
