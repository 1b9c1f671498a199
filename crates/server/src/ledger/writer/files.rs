//! The files the writer writes to: opened, tried again while the disk refuses them, and given up when somebody removed or
//! replaced them.

use crate::ledger::Trouble;
use crate::ledger::writer::Writer;
use anyhow::Result;
use headspace_platform::log;
use headspace_store as store;
use headspace_store::on_disk::{FilesChanged, FilesOnDisk};
use headspace_store::wal::checkpoint::{Checkpoint, copy_all};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often writing is tried again after the disk refused it.
const TRY_TO_WRITE_EVERY: Duration = Duration::from_secs(2);
/// The reason, for people.
const NO_ROOM: &str = "the disk is full or read-only";
const LOG_IS_GONE: &str =
    "the database or its log was removed or replaced while another program reads it: end that program";

impl Writer {
    /// Starts with a store that can be written.
    pub fn writing(mut self) -> Result<Writer> {
        self.start_writing()?;
        Ok(self)
    }

    fn start_writing(&mut self) -> Result<()> {
        store::set_durability(&self.db, self.durability)?;
        self.ledger.published.log.start(&self.path, self.durability)?;
        self.checkpoint = Some(Checkpoint::start(&self.db, &self.path));
        (self.try_again, self.look_again) = (None, None);
        Ok(())
    }

    /// Starts without being able to write. Readers share the one possible connection.
    pub fn reading_only(mut self) -> Result<Writer> {
        let alone = std::mem::replace(&mut self.db, Connection::open_in_memory()?);
        *self.ledger.published.alone() = Some(alone);
        self.try_again = Some(Instant::now() + TRY_TO_WRITE_EVERY);
        self.ledger.published.set_trouble(Some(Trouble { why: NO_ROOM.into(), is_no_room: true }));
        Ok(self)
    }

    /// `Err`: writing is still not possible.
    pub(super) fn try_to_write(&mut self) -> Result<()> {
        let Some(next) = self.try_again else { return Ok(()) };
        if Instant::now() < next {
            anyhow::bail!(NO_ROOM);
        }
        self.try_again = Some(Instant::now() + TRY_TO_WRITE_EVERY);
        // While this connection is open, no other can open the database.
        *self.ledger.published.alone() = None;
        if let Err(error) = self.reopen() {
            let alone = store::read_only::open_alone(&self.path).or_else(|_| store::read_only::open_empty());
            *self.ledger.published.alone() = alone.ok();
            return Err(error.context(NO_ROOM));
        }
        self.ledger.published.set_trouble(None);
        log::line("there is room on the disk again: events are stored");
        Ok(())
    }

    /// Something happened to the files: what is written to the old ones would be lost. Continues with the file that is
    /// there now, or with a new one.
    pub(super) fn begin_again(&mut self, changed: FilesChanged) -> Result<()> {
        if changed != FilesChanged::LogUnreachable
            && let Some(checkpoint) = &mut self.checkpoint
        {
            checkpoint.stop();
        }
        let aside = self.files.make_way(changed, &self.db)?;
        let damaged = self.reopen()?;
        let kept = damaged.or(aside).map(|aside| format!("; the old one is kept as {}", aside.display()));
        let events = self.projection.as_ref().map_or(0, |projection| projection.marks.event);
        log::line(&format!(
            "{}: continuing with {}{}",
            changed.describe(&self.path),
            if events == 0 { "a new one" } else { "what is there now" },
            kept.unwrap_or_default()
        ));
        Ok(())
    }

    /// The events of the last COMMIT are stored in files that others find too. Otherwise does what makes that so.
    fn settle_files(&mut self) -> Result<()> {
        let changed = self.files.changed(&self.db);
        if changed == FilesChanged::LogUnreachable {
            self.copy_log()?;
        }
        if changed == FilesChanged::No { Ok(()) } else { self.begin_again(changed) }
    }

    /// Copies a log that nobody else finds into the database.
    pub(super) fn copy_log(&self) -> Result<()> {
        if copy_all(&self.db)? { Ok(()) } else { anyhow::bail!(LOG_IS_GONE) }
    }

    /// Opens the database that is there now; if it is damaged, a new one, and returns where the old one is.
    fn reopen(&mut self) -> Result<Option<PathBuf>> {
        let lock = match self.lock.take() {
            Some(lock) => lock.again(&self.path)?,
            None => store::lock::take(&self.path)?,
        };
        self.lock = Some(lock);
        let (db, damaged) = store::open_or_start_afresh(&self.path)?;
        let _ = store::preallocate_wal(&db, &self.path);
        (self.db, self.files) = (db, FilesOnDisk::of(&self.path));
        (self.projection, self.durable) = (None, true);
        self.start_writing()?;
        self.load()?;
        let published = &self.ledger.published;
        published.generation.fetch_add(1, Ordering::Relaxed);
        // Clients may show agents that no longer exist.
        published.hub.close();
        Ok(damaged)
    }

    /// Sees in a while whether the open database can be written again.
    pub(super) fn look_again_soon(&mut self) {
        self.look_again.get_or_insert(Instant::now() + TRY_TO_WRITE_EVERY);
    }

    /// Says that events are stored again, even if no event comes to show it.
    pub(super) fn see_if_it_can_write(&mut self) {
        match store::write_something(&self.db).and_then(|()| self.settle_files()) {
            Ok(()) => {
                self.look_again = None;
                self.ledger.published.set_trouble(None);
                log::line("the database can be written again: events are stored");
            }
            Err(_) => self.look_again = Some(Instant::now() + TRY_TO_WRITE_EVERY),
        }
    }
}
