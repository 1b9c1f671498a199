//! Programs that run other programs: shells and interpreters, scripts of the project, wrappers such as `timeout`.

pub(super) mod scripts;
pub(super) mod shells;
pub(super) mod wrappers;
