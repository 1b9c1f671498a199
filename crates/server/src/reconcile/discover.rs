//! Sessions on disk that no hook reported: started before headspace was installed, or with hooks switched off.
//!
//! A client without hooks does not report its end, and there are thousands of old transcripts, so a transcript counts only
//! if it was written to within [`FOUND_IF_WRITTEN_WITHIN`], by its newest line as well as by the file's time. It is checked
//! again after [`HOOKS_GO_FIRST_FOR`], because a hook may be on its way.

use crate::reconcile::watcher::{SessionEnd, TranscriptWatcher};
use headspace_core::stamp::Stamp;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

const FOUND_IF_WRITTEN_WITHIN: Duration = Duration::from_secs(10 * 60);
const HOOKS_GO_FIRST_FOR: Duration = Duration::from_secs(3);
/// Appending to a file does not change its directory, so all files are checked now and then.
const LOOK_AT_ALL_EVERY: Duration = Duration::from_secs(60);
/// A working session is checked again at once, an unreadable or idle one only when it is written to.
const MAX_CANDIDATES: usize = 1000;

/// The directory of all projects' transcripts, and what was there at the last look.
#[derive(Debug)]
pub struct Discovery {
    projects: PathBuf,
    directories: HashMap<PathBuf, SystemTime>,
    all_at: Option<Instant>,
    candidates: HashMap<String, Candidate>,
}

#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    since: Stamp,
    /// The file's time when it was read and was not a session to show.
    dismissed: Option<SystemTime>,
}

/// A session that no hook reported.
#[derive(Debug)]
pub struct FoundSession {
    pub session_id: String,
    pub path: PathBuf,
    pub watch: TranscriptWatcher,
    pub finding: SessionEnd,
}

impl Discovery {
    pub fn new(projects: PathBuf) -> Discovery {
        Discovery { projects, directories: HashMap::new(), all_at: None, candidates: HashMap::new() }
    }

    /// Looks once; returns the oldest first, so that a newer session in the same directory comes last.
    pub fn look(&mut self, now: Stamp, known: &dyn Fn(&str) -> bool) -> Vec<FoundSession> {
        self.list(now, known);
        self.candidates.retain(|session_id, candidate| {
            !known(session_id) && modified(&candidate.path).is_some_and(|time| recent(Stamp::from(time), now))
        });
        let mut found: Vec<FoundSession> = self
            .candidates
            .iter_mut()
            .filter(|(_, candidate)| now.since(candidate.since) >= HOOKS_GO_FIRST_FOR)
            .filter_map(|(session_id, candidate)| candidate.look(session_id, now))
            .collect();
        found.sort_by_key(|found| found.finding.last_at);
        for found in &found {
            self.candidates.remove(&found.session_id);
        }
        found
    }

    /// Whether some file waits for its second check.
    pub fn waits(&self) -> bool {
        self.candidates.values().any(|candidate| candidate.dismissed.is_none())
    }

    fn list(&mut self, now: Stamp, known: &dyn Fn(&str) -> bool) {
        let all = self.all_at.is_none_or(|at| at.elapsed() >= LOOK_AT_ALL_EVERY);
        if all {
            self.all_at = Some(Instant::now());
        }
        let before = std::mem::take(&mut self.directories);
        for directory in entries(&self.projects) {
            let Some(time) = modified(&directory) else { continue };
            let changed = before.get(&directory) != Some(&time);
            self.directories.insert(directory.clone(), time);
            if !changed && !all {
                continue;
            }
            for path in entries(&directory) {
                let Some(session_id) = session_of(&path) else { continue };
                let fresh = || modified(&path).is_some_and(|time| recent(Stamp::from(time), now));
                if !known(session_id) && self.candidates.len() < MAX_CANDIDATES && fresh() {
                    let since = now;
                    let session_id = session_id.to_owned();
                    self.candidates.entry(session_id).or_insert(Candidate { path, since, dismissed: None });
                }
            }
        }
    }
}

impl Candidate {
    fn look(&mut self, session_id: &str, now: Stamp) -> Option<FoundSession> {
        let time = modified(&self.path)?;
        if self.dismissed == Some(time) {
            return None;
        }
        let found = TranscriptWatcher::find(session_id, self.path.clone(), now)
            // A headless run is over when its turn is, and is not resumed.
            .filter(|(_, finding)| recent(finding.last_at, now) && (finding.busy || !headless(finding)));
        match found {
            Some((watch, finding)) => Some(FoundSession {
                session_id: session_id.to_owned(),
                path: self.path.clone(),
                watch,
                finding,
            }),
            None => {
                self.dismissed = Some(time);
                None
            }
        }
    }
}

fn headless(finding: &SessionEnd) -> bool {
    finding.entrypoint.as_deref().is_some_and(|entrypoint| entrypoint != "cli")
}

fn recent(time: Stamp, now: Stamp) -> bool {
    now.since(time) <= FOUND_IF_WRITTEN_WITHIN
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// The session a file is named after; subagents have their own files, in older clients in the same directory.
fn session_of(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    (path.extension()? == "jsonl" && !stem.starts_with("agent-")).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_platform::clock::WallClock;
    use std::fs;

    struct Disk {
        dir: tempfile::TempDir,
        discovery: Discovery,
        now: Stamp,
    }

    impl Disk {
        fn new() -> Disk {
            let dir = tempfile::tempdir().unwrap();
            let discovery = Discovery::new(dir.path().join("projects"));
            Disk { dir, discovery, now: Stamp::now() }
        }

        fn write(&self, name: &str, at: Stamp, rest: &str) -> PathBuf {
            let path = self.dir.path().join("projects/-p").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let line = format!(
                "{{\"type\":\"user\",\"uuid\":\"u\",\"timestamp\":\"{at}\",\"cwd\":\"/p\",\"gitBranch\":\"main\",\
                 \"message\":{{\"content\":\"hello\"}}{rest}}}\n"
            );
            fs::write(&path, line).unwrap();
            path
        }

        fn found(&mut self, known: &[&str]) -> Vec<String> {
            let known = |id: &str| known.contains(&id);
            let mut found: Vec<String> =
                self.discovery.look(self.now, &known).into_iter().map(|found| found.session_id).collect();
            found.sort_unstable();
            found
        }

        fn pass(&mut self, time: Duration) {
            self.now = self.now.plus(time);
        }
    }

    #[test]
    fn a_working_session_is_found_once_after_a_grace_period() {
        let mut disk = Disk::new();
        assert_eq!(disk.found(&[]), [""; 0]);
        disk.write("s1.jsonl", disk.now, "");
        assert_eq!(disk.found(&[]), [""; 0]);
        assert!(disk.discovery.waits());
        disk.pass(HOOKS_GO_FIRST_FOR);
        assert_eq!(disk.found(&[]), ["s1"]);
        assert_eq!(disk.found(&["s1"]), [""; 0]);
        assert!(!disk.discovery.waits());
    }

    #[test]
    fn a_session_that_a_hook_reports_meanwhile_is_not_found() {
        let mut disk = Disk::new();
        disk.write("s1.jsonl", disk.now, "");
        disk.found(&[]);
        disk.pass(HOOKS_GO_FIRST_FOR);
        assert_eq!(disk.found(&["s1"]), [""; 0]);
    }

    #[test]
    fn old_sessions_are_not_found_neither_by_file_time_nor_by_their_lines() {
        let mut disk = Disk::new();
        let old = disk.now.minus(Duration::from_secs(3600));
        disk.write("copied.jsonl", old, "");
        let path = disk.write("resting.jsonl", disk.now, "");
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(hour_ago).unwrap();
        disk.found(&[]);
        disk.pass(HOOKS_GO_FIRST_FOR);
        assert_eq!(disk.found(&[]), [""; 0]);
    }

    #[test]
    fn subagents_files_and_finished_runs_without_a_terminal_are_not_sessions() {
        let mut disk = Disk::new();
        disk.write("agent-a1.jsonl", disk.now, "");
        disk.write("s1/subagents/agent-a2.jsonl", disk.now, ",\"isSidechain\":true");
        disk.write("notes.txt", disk.now, "");
        let interrupted = ",\"entrypoint\":\"sdk-cli\",\"x\":0";
        let path = disk.write("done.jsonl", disk.now, interrupted);
        let text = fs::read_to_string(&path).unwrap().replace("hello", "[Request interrupted by user]");
        fs::write(&path, text).unwrap();
        disk.write("running.jsonl", disk.now, ",\"entrypoint\":\"sdk-cli\"");
        disk.found(&[]);
        disk.pass(HOOKS_GO_FIRST_FOR);
        assert_eq!(disk.found(&[]), ["running"]);
    }

    #[test]
    fn a_dismissed_file_is_read_again_when_it_is_written_to() {
        let mut disk = Disk::new();
        let path = disk.write("s1.jsonl", disk.now, "");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, "{\"type\":\"mode\"}\n").unwrap();
        disk.found(&[]);
        disk.pass(HOOKS_GO_FIRST_FOR);
        assert_eq!(disk.found(&[]), [""; 0]);
        assert!(!disk.discovery.waits());
        fs::write(&path, text).unwrap();
        let later = SystemTime::now() + Duration::from_secs(1);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_eq!(disk.found(&[]), ["s1"]);
    }
}
