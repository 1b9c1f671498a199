//! The state that all routes share.

use crate::answers::Answers;
use crate::blocking_pool;
use crate::http::accept::Connections;
use crate::http::auth::credentials::KeyRing;
use crate::http::auth::policy::Names;
use crate::ingest::hook_latency::HookLatency;
use crate::ingest::hook_reply::HookReplies;
use crate::ledger::Ledger;
use crate::other_machines::OtherMachines;
use crate::reconcile::Reconciler;
use crate::reply::Replies;
use anyhow::{Context, Result};
use headspace_core::stamp::Stamp;
use headspace_platform::config::Config;
use headspace_platform::file_look::FileLooks;
use headspace_store as store;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// What every route gets.
pub type SharedState = Arc<AppState>;

pub struct AppState {
    pub config: Config,
    pub ledger: Ledger,
    pub other_machines: Arc<OtherMachines>,
    pub readers: Readers,
    pub keys: KeyRing,
    pub answers: Arc<Answers>,
    pub names: Names,
    pub reconciler: Reconciler,
    /// The threads that read a transcript before an event, and may hang.
    pub transcript_looks: FileLooks,
    pub hook_replies: HookReplies,
    pub replies: Arc<Replies>,
    pub hook_latency: HookLatency,
    pub connections: Arc<Connections>,
    pub started_at: Stamp,
    pub stopping: AtomicBool,
}

/// Read-only connections to the database; each serves one query at a time and is kept for the next.
#[derive(Debug)]
pub struct Readers {
    path: PathBuf,
    idle: Mutex<(u64, Vec<Connection>)>,
}

/// How many idle connections are kept; more queries at once open their own.
const MAX_IDLE_READERS: usize = 2;

impl Readers {
    pub fn new(path: PathBuf) -> Readers {
        Readers { path, idle: Mutex::default() }
    }

    /// Asks the database, on the calling thread. `generation`: which database it is.
    pub fn ask<T>(&self, generation: u64, question: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = {
            let mut idle = idle();
            if idle.0 != generation {
                *idle = (generation, Vec::new());
            }
            idle.1.pop()
        };
        let db = match kept {
            Some(db) => db,
            None => store::open_to_read(&self.path)?,
        };
        let answer = question(&db);
        let mut idle = idle();
        if idle.0 == generation && idle.1.len() < MAX_IDLE_READERS && answer.is_ok() {
            idle.1.push(db);
        }
        answer
    }
}

impl AppState {
    /// Like [`AppState::ask`], for what is computed from events: includes every event that was answered before.
    pub async fn read_flushed<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.ledger.rows_written().await?;
        self.ask(question).await
    }

    /// Asks the database on a thread that may wait for it.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let app = Arc::clone(self);
        let ask = move || {
            let alone = app.ledger.alone();
            if let Some(db) = &*alone {
                return question(db);
            }
            drop(alone);
            app.readers.ask(app.ledger.generation(), question)
        };
        blocking_pool::run(ask).await.context("could not finish reading the database")?
    }
}
