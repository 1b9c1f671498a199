//! Retention: `schedule` decides when, `pruning` does it in slices, `prune` deletes by age, `by_size` deletes when the
//! database is too big. Nothing here knows the server. Begin with [`schedule`].

pub mod by_size;
pub mod prune;
mod pruning;
pub mod schedule;
