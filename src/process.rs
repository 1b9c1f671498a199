//! Whether a process lives, since when, and whose child it is. A pid alone proves nothing: pids are used again.

use crate::model::Process;

/// When a process started: on Linux clock ticks after boot (field 22 of `/proc/PID/stat`), elsewhere the second.
/// `None` if there is no such process. A zombie has ended.
pub fn start_of(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start)
}

/// The process that started this one.
pub fn parent_of(pid: u32) -> Option<u32> {
    stat(pid).map(|stat| stat.parent)
}

/// The same process still runs, not another one that got its pid.
pub fn lives(process: Process) -> bool {
    start_of(process.pid) == Some(process.start)
}

/// `child` is `ancestor` or was started by it, directly or not.
pub fn descends(child: u32, ancestor: u32) -> bool {
    let mut pid = child;
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        match parent_of(pid) {
            Some(parent) if parent > 0 => pid = parent,
            _ => return false,
        }
    }
    false
}

struct Stat {
    parent: u32,
    start: u64,
}

#[cfg(target_os = "linux")]
fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `PID (name) STATE PPID …`: the name may hold blanks and brackets, so what counts follows the last one.
#[cfg(any(target_os = "linux", test))]
fn parse_stat(line: &str) -> Option<Stat> {
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Stat { parent, start })
}

#[cfg(not(target_os = "linux"))]
fn stat(pid: u32) -> Option<Stat> {
    // `etime` has no zone and no language, unlike `lstart`: [[days-]hours:]minutes:seconds since the start.
    let out = std::process::Command::new("ps")
        .args(["-o", "ppid=,stat=,etime=", "-p", &pid.to_string()])
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let parent = fields.next()?.parse().ok()?;
    let state = fields.next()?;
    let elapsed = seconds(fields.next()?)?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    (!state.starts_with('Z')).then_some(Stat { parent, start: now.saturating_sub(elapsed) })
}

#[cfg(any(not(target_os = "linux"), test))]
fn seconds(etime: &str) -> Option<u64> {
    let (days, clock) = etime.split_once('-').unwrap_or(("0", etime));
    let clock = clock.split(':').try_fold(0, |sum, part| Some(sum * 60 + part.parse::<u64>().ok()?))?;
    Some(days.parse::<u64>().ok()? * 86_400 + clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_not_confuse_the_reader() {
        let line = "7 (a) b) (c) S 3 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 4242 0 0";
        let stat = parse_stat(line).unwrap();
        assert_eq!((stat.parent, stat.start), (3, 4242));
        assert!(parse_stat(&line.replace(" S ", " Z ")).is_none());
        assert!(parse_stat("nonsense").is_none());
    }

    #[test]
    fn elapsed_times_are_read() {
        assert_eq!(seconds("01:02"), Some(62));
        assert_eq!(seconds("2-03:00:01"), Some(2 * 86_400 + 3 * 3600 + 1));
        assert_eq!(seconds("x"), None);
    }

    #[test]
    fn this_process_lives_and_descends_from_its_parent() {
        let me = std::process::id();
        let start = start_of(me).unwrap();
        assert!(lives(Process { pid: me, start }));
        assert!(!lives(Process { pid: me, start: start + 1_000_000 }));
        assert!(descends(me, parent_of(me).unwrap()));
        assert!(!descends(1, me));
    }
}
