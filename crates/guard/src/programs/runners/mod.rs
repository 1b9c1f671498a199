//! Programs that run other programs: shells and interpreters, scripts of the project, wrappers such as `timeout`.

pub mod scripts;
pub mod shells;
pub mod wrappers;
