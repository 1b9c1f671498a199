//! Retention: `schedule` decides when, `prune` deletes by age, `by_size` deletes when the database is too big. Nothing
//! here knows the server. Begin with [`schedule`].

pub mod by_size;
pub mod prune;
pub mod schedule;
