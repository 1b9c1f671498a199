//! The entry that waits for answers from anywhere: put in by `headspace answer on`, taken out by `off`, and the switch that a
//! running server follows.

use crate::commands::install::apply::{Content, PendingEdit};
use crate::commands::install::backup::Backups;
use crate::commands::install::{Choices, client_version};
use anyhow::{Context, Result, bail};
use headspace_hooks::client_settings::entry::{Call, Entry, Role};
use headspace_hooks::client_settings::locate::{self, Client, Scope};
use headspace_hooks::client_settings::merge::{self, Desired, Plan};
use headspace_platform::{config, files};
use std::path::{Path, PathBuf};

/// Brings the entry in or out, in every settings file that is meant. Returns the files that were changed.
pub fn switch(on: bool, dirs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let program = locate::program()?;
    let targets = locate::targets(Client::Claude, Scope::User, dirs)?;
    if on && let Some(target) = targets.iter().find(|target| !has(&target.path, Role::Notify)) {
        bail!(
            "could not switch answering on: the hooks are not in {}; run `headspace install` first",
            target.path.display()
        );
    }
    // First of all: an entry that cannot be taken out leaves at once, silent, when it finds the switch gone.
    if !on {
        forget_switch()?;
    }
    let old = client_version::version().is_some_and(|version| !version.knows_exec_form());
    let entry = Entry::wait(Call::for_role(&program, Role::Wait, old));
    let mut changed = Vec::new();
    for target in &targets {
        let wait = if on { Desired::Put(entry.clone()) } else { Desired::Remove };
        let plan = Plan { wait, ..Plan::as_it_is(Some(program.clone())) };
        let record = Backups::of(&target.file).record().unwrap_or_default();
        let choices = Choices { events: record.events, script: record.script, ..Choices::default() };
        if !on && lacks(&target.path, Role::Wait) {
            continue;
        }
        let done = PendingEdit::install(target, &program, Content::Entries(Box::new(plan)), &choices)
            .and_then(PendingEdit::apply);
        let done =
            if on { done? } else { done.context("answering is off, but its hook entry is still there")? };
        if done.changed {
            changed.push(target.path.clone());
        }
    }
    if on {
        files::private_dir(&config::state_dir())?;
        files::replace(&config::answering_file(), b"on\n").context("could not switch answering on")?;
    }
    Ok(changed)
}

/// Answering is off from now on, for a running server too.
pub fn forget_switch() -> Result<()> {
    match std::fs::remove_file(config::answering_file()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context("could not switch answering off")
        }
        _ => Ok(()),
    }
}

/// Whether the settings have an entry of this kind.
pub fn has(path: &Path, role: Role) -> bool {
    find(path, role).unwrap_or(false)
}

/// Whether the settings certainly have none. Those that cannot be read may have one.
fn lacks(path: &Path, role: Role) -> bool {
    !path.exists() || find(path, role) == Some(false)
}

/// `None`: the settings cannot be read.
fn find(path: &Path, role: Role) -> Option<bool> {
    let text = files::read_text(path).ok()?;
    let found = merge::find(&text, locate::program().ok().as_deref()).ok()?;
    Some(found.iter().any(|entry| entry.role == role))
}
