//! All reads from the database: by the server, the offline commands and the user interfaces.

pub mod conversations;
pub mod file_changes;
pub mod log;
pub mod queries;
pub mod search;
pub mod stats;
