//! The change of one settings file: planned first, then applied.

use crate::commands::install::Choices;
use crate::commands::install::backup::{Backups, FileOrigin, InstallRecord, fingerprint};
use crate::commands::install::script;
use crate::commands::install::script::ScriptState;
use anyhow::{Context, Result, bail};
use fs_err as fs;
use headspace_hooks::client_settings::locate::Target;
use headspace_hooks::client_settings::merge;
use headspace_hooks::client_settings::merge::{Merged, Plan};
use headspace_platform::files;
use std::path::{Path, PathBuf};

/// A running client may rewrite the file after it was read; then the edit is planned again, at most this often.
const MAX_ATTEMPTS: usize = 5;

/// What an edit makes of a file.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Our entries among everybody else's.
    Entries(Box<Plan>),
    /// A file that is ours as a whole: its text, and how it is known again.
    Own { text: String, is_ours: fn(&str) -> bool },
}

impl Content {
    fn removes_all(&self) -> bool {
        match self {
            Content::Entries(plan) => matches!(plan.notify, merge::Desired::Remove),
            Content::Own { .. } => true,
        }
    }
}

/// What an edit is for.
#[derive(Clone, Debug)]
enum Purpose {
    Install { program: String, choices: Choices },
    Uninstall,
}

/// What is planned for a file; nothing is written yet.
#[derive(Debug)]
pub(super) struct PendingEdit {
    pub target: Target,
    pub before: Option<String>,
    /// `None`: the file is removed, because it did not exist before headspace.
    pub after: Option<String>,
    pub merged: Merged,
    /// The script, and what is at its path now.
    pub script: Option<(PathBuf, ScriptState)>,
    /// `after` is the file as it was before install, not the file with our entries removed.
    restored: bool,
    content: Content,
    purpose: Purpose,
    record: Option<InstallRecord>,
}

/// What was done to a file.
#[derive(Debug)]
pub(super) struct AppliedEdit {
    pub target: Target,
    pub changed: bool,
    pub merged: Merged,
    pub backup: Option<PathBuf>,
    pub restored: bool,
    pub deleted: bool,
    /// The file had a second hard link, which an atomic replacement cannot follow.
    pub hard_linked: bool,
    pub script: Option<(PathBuf, ScriptState)>,
}

impl PendingEdit {
    pub fn install(
        target: &Target,
        program: &str,
        content: Content,
        choices: &Choices,
    ) -> Result<PendingEdit> {
        let purpose = Purpose::Install { program: program.to_owned(), choices: choices.clone() };
        let mut edit = PendingEdit::new(target, content, purpose)?;
        if choices.wants_script() {
            let path = script::path_in(&target.config_dir);
            let state = script::state(&path, program);
            if state == ScriptState::Foreign && choices.script {
                bail!("could not write {}: a file that headspace did not write is there", path.display());
            }
            edit.script = Some((path, state));
        }
        Ok(edit)
    }

    pub fn uninstall(target: &Target, content: Content) -> Result<PendingEdit> {
        let everything = content.removes_all();
        let mut edit = PendingEdit::new(target, content, Purpose::Uninstall)?;
        if everything {
            edit.restore();
            let path = script::path_in(&target.config_dir);
            let state = script::state(&path, "");
            edit.script = (state == ScriptState::Outdated).then_some((path, state));
        }
        Ok(edit)
    }

    fn new(target: &Target, content: Content, purpose: Purpose) -> Result<PendingEdit> {
        let before = read(target)?;
        let backups = Backups::of(&target.file);
        let record = backups.record();
        let pristine = record.as_ref().and_then(|record| origin_text(&backups, record));
        let uninstalls = matches!(purpose, Purpose::Uninstall);
        let (merged, after) = match (&content, &before) {
            (_, None) if uninstalls => (Merged::default(), None),
            (Content::Entries(plan), text) => {
                let text = text.as_deref().unwrap_or_default();
                let merged = merge::merge(text, plan, pristine.as_deref()).map_err(|remark| {
                    anyhow::anyhow!("could not change {}:{remark}", target.path.display())
                })?;
                let after = merged.text.clone();
                (merged, Some(after))
            }
            (Content::Own { is_ours, .. }, Some(text)) if !is_ours(text) => {
                if !uninstalls {
                    bail!(
                        "could not write {}: a file that headspace did not write is there",
                        target.path.display()
                    );
                }
                (Merged::default(), before.clone())
            }
            (Content::Own { .. }, Some(_)) if uninstalls => (Merged::default(), None),
            (Content::Own { text, .. }, _) => (Merged::default(), Some(text.clone())),
        };
        let edit = PendingEdit {
            target: target.clone(),
            before,
            after,
            merged,
            script: None,
            restored: false,
            content,
            purpose,
            record,
        };
        if edit.changes() {
            check_writable(&edit.target)?;
        }
        Ok(edit)
    }

    /// A file that has not changed since install gets back exactly the bytes it had before.
    fn restore(&mut self) {
        if matches!(self.content, Content::Own { .. }) {
            return;
        }
        let (Some(before), Some(record)) = (&self.before, &self.record) else { return };
        if !record.wrote(before.as_bytes()) {
            return;
        }
        match &record.origin {
            Some(FileOrigin::Absent) => self.after = None,
            Some(FileOrigin::Backup(_)) => match origin_text(&Backups::of(&self.target.file), record) {
                Some(text) => self.after = Some(text),
                None => return,
            },
            None => return,
        }
        self.restored = true;
    }

    /// What the script will contain; `None` if it is removed.
    pub fn script_text(&self) -> Option<String> {
        match &self.purpose {
            Purpose::Install { program, .. } => Some(script::text(program)),
            Purpose::Uninstall => None,
        }
    }

    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// Applies the edit. If another program changes the file meanwhile, its change is kept.
    pub fn apply(mut self) -> Result<AppliedEdit> {
        for _ in 0..MAX_ATTEMPTS {
            let (target, content, purpose) =
                (self.target.clone(), self.content.clone(), self.purpose.clone());
            match self.attempt() {
                Err(error) if error.is::<Overtaken>() => {}
                result => return result,
            }
            self = match purpose {
                Purpose::Install { program, choices } => {
                    PendingEdit::install(&target, &program, content, &choices)?
                }
                Purpose::Uninstall => PendingEdit::uninstall(&target, content)?,
            };
        }
        bail!("could not change {}: another program keeps writing it", self.target.path.display())
    }

    fn attempt(self) -> Result<AppliedEdit> {
        let backups = Backups::of(&self.target.file);
        let mut made = Vec::new();
        match (&self.purpose, &self.script) {
            (
                Purpose::Install { program, .. },
                Some((path, ScriptState::Missing | ScriptState::Outdated)),
            ) => {
                made.extend(make_parents(path)?);
                script::write(path, program)?;
            }
            (Purpose::Uninstall, Some((path, _))) => {
                script::remove(path)?;
            }
            _ => {}
        }
        let mut done = AppliedEdit {
            target: self.target.clone(),
            changed: self.changes(),
            merged: self.merged.clone(),
            backup: None,
            restored: self.restored,
            deleted: self.changes() && self.after.is_none(),
            hard_linked: has_other_name(&self.target.file),
            script: self.script.clone(),
        };
        if done.changed {
            made.extend(make_parents(&self.target.file)?);
            done.backup = self.before.as_ref().map(|text| backups.save(text.as_bytes())).transpose()?;
            if let Purpose::Install { choices, .. } = &self.purpose {
                backups.keep(&self.next_record(choices, done.backup.as_deref(), made))?;
            }
            self.write()?;
        }
        if matches!(self.purpose, Purpose::Uninstall) && self.content.removes_all() {
            for dir in self.record.iter().flat_map(|record| record.made.iter().rev()) {
                // Only if it is still empty.
                let _ = fs::remove_dir(dir);
            }
            backups.forget();
        }
        backups.prune(backups.record().and_then(|record| record.origin).as_ref());
        Ok(done)
    }

    /// The step that counts: everything before it can be repeated, and everything after it can be lost.
    fn write(&self) -> Result<()> {
        let path = &self.target.path;
        let before = self.before.as_deref().map(str::as_bytes);
        match &self.after {
            Some(text) => match files::replace_if(path, before, text.as_bytes()) {
                Ok(false) => Err(Overtaken.into()),
                other => other.map(drop),
            },
            None if read(&self.target).ok() != Some(self.before.clone()) => Err(Overtaken.into()),
            None => fs::remove_file(&self.target.file).map_err(Into::into),
        }
        .map_err(|error| match error.is::<Overtaken>() {
            true => error,
            false => error.context(format!("could not write {}", path.display())),
        })
    }

    /// Written before the file is replaced. A record of a change that never happened does no harm; without a record, the
    /// original bytes could not be restored.
    fn next_record(&self, choices: &Choices, backup: Option<&Path>, made: Vec<PathBuf>) -> InstallRecord {
        let old = self.record.clone().unwrap_or_default();
        let before = self.before.as_deref();
        let after = self.after.as_deref().unwrap_or_default();
        let name = backup.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let (origin, written) = match before {
            None => (Some(FileOrigin::Absent), vec![fingerprint(after.as_bytes())]),
            Some(text) if is_clean(text, &self.content) => {
                (name.map(FileOrigin::Backup), vec![fingerprint(after.as_bytes())])
            }
            Some(text) if old.wrote(text.as_bytes()) => {
                (old.origin, vec![fingerprint(after.as_bytes()), fingerprint(text.as_bytes())])
            }
            // Edited since: the old bytes must not come back, but they still show what was empty.
            Some(_) => (old.origin, Vec::new()),
        };
        // As it is now: an install that runs beside this one may have noted the directories it made.
        let noted = Backups::of(&self.target.file).record().map_or(old.made, |record| record.made);
        let new = made.into_iter().filter(|dir| !noted.contains(dir)).collect::<Vec<_>>();
        let made = noted.iter().cloned().chain(new).collect();
        InstallRecord {
            path: self.target.path.clone(),
            origin,
            written,
            events: choices.events.clone(),
            script: choices.script,
            made,
        }
    }
}

/// Another program wrote the file while we planned the edit.
#[derive(Debug)]
struct Overtaken;

impl std::fmt::Display for Overtaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the file was changed meanwhile")
    }
}

impl std::error::Error for Overtaken {}

/// It contains none of our entries.
fn is_clean(text: &str, content: &Content) -> bool {
    let Content::Entries(plan) = content else { return false };
    let nothing = Plan::nothing(plan.program.clone());
    merge::merge(text, &nothing, Some(text)).is_ok_and(|merged| merged.text == text)
}

fn origin_text(backups: &Backups, record: &InstallRecord) -> Option<String> {
    match record.origin.as_ref()? {
        FileOrigin::Absent => None,
        FileOrigin::Backup(name) => String::from_utf8(backups.read(name)?).ok(),
    }
}

/// `None`: there is no file.
fn read(target: &Target) -> Result<Option<String>> {
    let bytes = match files::read(&target.path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if files::is_not_regular(&error) => {
            bail!(
                "could not change {}: {error}. Put a file there, or name another directory",
                target.path.display()
            )
        }
        Err(error) => {
            return Err(error)
                .with_context(|| format!("could not read the settings {}", target.path.display()));
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            bail!("could not read {}:{line}:{column}: not UTF-8", target.path.display())
        }
    }
}

/// A file that its owner made read-only must not be changed, even though renaming over it would work.
fn check_writable(target: &Target) -> Result<()> {
    let read_only = fs::metadata(&target.file).is_ok_and(|meta| meta.permissions().readonly())
        || (target.file.exists()
            && files::open_regular(&target.file, std::fs::OpenOptions::new().write(true)).is_err());
    if read_only {
        bail!("could not change {}: the file is read-only", target.path.display());
    }
    Ok(())
}

#[cfg(unix)]
fn has_other_name(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|meta| meta.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_name(_: &Path) -> bool {
    false
}

/// Creates the directories above `path`; returns those that were missing, outermost first.
fn make_parents(path: &Path) -> Result<Vec<PathBuf>> {
    let Some(parent) = path.parent() else { return Ok(Vec::new()) };
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|dir| !dir.exists()).map(Path::to_path_buf).collect();
    if !missing.is_empty() {
        files::private_dir(parent)?;
    }
    Ok(missing.into_iter().rev().collect())
}
