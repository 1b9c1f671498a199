//! This process and others, as the operating system sees them.

#[cfg(target_os = "linux")]
use crate::clock::WallClock;
use crate::config;
use headspace_core::model::Process;
use headspace_core::stamp::Stamp;
#[cfg(target_os = "linux")]
use std::io::Read;
use std::path::{Path, PathBuf};

/// Does what the Rust runtime does before `main` and a C `main` has to do itself: makes sure that the standard descriptors
/// are open (the number of a closed one would go to the next file or socket, and output would end up there), and turns
/// writing to a closed pipe into an error.
#[cfg(unix)]
pub fn prepare() {
    let mut standard = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: the array has the three entries that are announced; the path and the flags are constants.
    unsafe {
        if libc::poll(standard.as_mut_ptr(), 3, 0) > 0
            && standard.iter().any(|fd| fd.revents & libc::POLLNVAL != 0)
        {
            // The lowest free number is taken, so this fills the gaps.
            loop {
                match libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) {
                    0..=2 => {}
                    extra => {
                        libc::close(extra);
                        break;
                    }
                }
            }
        }
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// What the system knows about one process.
struct ProcessInfo {
    parent: u32,
    /// In the system's own unit: on Linux clock ticks since boot (field 22 of `/proc/PID/stat`), on macOS
    /// microseconds since 1970.
    start: u64,
}

/// When process `pid` started. Together they identify one process forever, because pids are reused.
/// `None`: there is no such process (a zombie has ended), or this system does not say.
pub fn start_time(pid: u32) -> Option<u64> {
    info(pid).map(|info| info.start)
}

/// The time of day at which process `pid` started, to a few hundredths of a second.
#[cfg(target_os = "linux")]
pub fn started_at(pid: u32) -> Option<Stamp> {
    /// What the kernel shows to programs is in this unit on every machine.
    const TICKS_PER_SECOND: f64 = 100.0;
    let start = start_time(pid)? as f64 / TICKS_PER_SECOND;
    let uptime: f64 = std::fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()?;
    let age = std::time::Duration::try_from_secs_f64(uptime - start).unwrap_or_default();
    Some(Stamp(Stamp::now().0.saturating_sub(i64::try_from(age.as_nanos()).ok()?)))
}

#[cfg(target_os = "macos")]
pub fn started_at(pid: u32) -> Option<Stamp> {
    Some(Stamp(i64::try_from(start_time(pid)?).ok()?.checked_mul(1000)?))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn started_at(_: u32) -> Option<Stamp> {
    None
}

/// The processes that `pid` started, as far as they run and it is still their parent.
#[cfg(target_os = "linux")]
pub fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let of_thread = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children")).ok();
    let lists: Vec<String> = threads.into_iter().flatten().flatten().filter_map(of_thread).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|child| child.parse().ok()).collect()
}

/// On other systems, listing processes takes a process of its own.
#[cfg(not(target_os = "linux"))]
pub fn children(_: u32) -> Vec<u32> {
    Vec::new()
}

/// Whether any process has this pid.
#[cfg(unix)]
pub fn exists(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // Zero and below would mean a whole group of processes.
    // SAFETY: signal 0 is never delivered; the call only says whether it could be.
    pid > 0
        && (unsafe { libc::kill(pid, 0) } == 0
            || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

/// No cheap way to check: silence alone never ends an agent.
#[cfg(not(unix))]
pub fn exists(_: u32) -> bool {
    true
}

/// Whether the same process is still running, not another one that got its pid.
pub fn lives(process: Process) -> bool {
    start_time(process.pid) == Some(process.start)
}

/// The process that started this one.
#[cfg(unix)]
pub fn parent() -> Option<u32> {
    Some(std::os::unix::process::parent_id()).filter(|pid| *pid > 0)
}

#[cfg(not(unix))]
pub fn parent() -> Option<u32> {
    None
}

/// The process that started `pid`, if both still run.
pub fn parent_of(pid: u32) -> Option<u32> {
    info(pid).map(|info| info.parent).filter(|parent| *parent > 0)
}

/// The words process `pid` was started with.
#[cfg(target_os = "linux")]
pub fn command_line(pid: u32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.strip_suffix(&[0]).unwrap_or(&line).split(|b| *b == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// On other systems a word with a blank in it comes as two.
#[cfg(not(target_os = "linux"))]
pub fn command_line(pid: u32) -> Vec<String> {
    let out = std::process::Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()]).output();
    let text = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether `child` is `ancestor` or was started by it, directly or not.
pub fn descends(child: u32, ancestor: u32) -> bool {
    let mut pid = child;
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        match info(pid) {
            Some(ProcessInfo { parent, .. }) if parent > 0 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// What process `pid` calls itself.
#[cfg(target_os = "linux")]
pub fn name(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

/// On other systems its command line says more.
#[cfg(not(target_os = "linux"))]
pub fn name(_: u32) -> Option<String> {
    None
}

/// Whether process `pid` was started with this environment variable, set and not empty. Nothing else of its environment
/// is looked at.
#[cfg(target_os = "linux")]
pub fn has_variable(pid: u32, variable: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|b| *b == 0).any(|pair| {
        let value = pair.strip_prefix(variable.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| !value.is_empty())
    })
}

/// On other systems only a process's own environment can be read.
#[cfg(not(target_os = "linux"))]
pub fn has_variable(pid: u32, variable: &str) -> bool {
    pid == std::process::id() && config::is_set(variable)
}

/// Whether this process has a controlling terminal, where a person could be.
#[cfg(unix)]
pub fn has_controlling_terminal() -> bool {
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok()
}

#[cfg(not(unix))]
pub fn has_controlling_terminal() -> bool {
    use std::io::IsTerminal;
    std::io::stdin().is_terminal()
}

#[cfg(target_os = "linux")]
fn info(pid: u32) -> Option<ProcessInfo> {
    // One read: the kernel builds the line for each read, and the needed part is in its first half.
    let mut line = [0; 1024];
    let path = ["/proc/", &decimal(pid.into()), "/stat"].concat();
    let length = std::fs::File::open(path).ok()?.read(&mut line).ok()?;
    parse_stat(&line[..length])
}

/// The fields after the name in `/proc/PID/stat`: `STATE PPID PGRP SESSION TTY TPGID …`. The name may itself contain blanks and
/// brackets, so they follow the last bracket.
#[cfg(any(target_os = "linux", test))]
fn stat_fields(stat: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let after_name = stat.iter().rposition(|&b| b == b')')? + 1;
    Some(stat[after_name..].split(|&b| b == b' ').filter(|field| !field.is_empty()))
}

#[cfg(any(target_os = "linux", test))]
fn parse_stat(stat: &[u8]) -> Option<ProcessInfo> {
    let mut fields = stat_fields(stat)?;
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
    let state = fields.next()?;
    let parent = number(fields.next()?)?;
    let start = number(fields.nth(17)?)?;
    (!matches!(state, b"Z" | b"X")).then_some(ProcessInfo { parent: u32::try_from(parent).ok()?, start })
}

/// Whether what is typed on its terminal reaches process `pid`: one that was suspended with Ctrl-Z does not get it.
#[cfg(target_os = "linux")]
pub fn is_in_foreground(pid: u32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&[u8]> = stat_fields(&stat).into_iter().flatten().collect();
    let (group, foreground_group) = (fields.get(2), fields.get(5));
    group.is_some() && group == foreground_group
}

/// On other systems only the screen shows it.
#[cfg(not(target_os = "linux"))]
pub fn is_in_foreground(_: u32) -> bool {
    true
}

/// The controlling terminal of process `pid`, by the name people know: `pts/3`.
#[cfg(target_os = "linux")]
pub fn terminal_of(pid: u32) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let device = stat_fields(&stat)?.nth(4)?;
    let device: u64 = std::str::from_utf8(device).ok()?.parse::<i64>().ok()?.cast_unsigned();
    // As the kernel packs them: the major number in bits 8 to 19, the minor in the rest.
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
    match major {
        0 => None,
        136..=143 => Some(format!("pts/{}", (major - 136) * 256 + minor)),
        4 => Some(format!("tty{minor}")),
        _ => Some(format!("terminal {major}:{minor}")),
    }
}

/// Other systems do not say it about another process.
#[cfg(not(target_os = "linux"))]
pub fn terminal_of(_: u32) -> Option<String> {
    None
}

/// The id of the session that process `pid` belongs to: that of the shell, or whatever else opened its terminal.
#[cfg(target_os = "linux")]
pub fn session_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    std::str::from_utf8(stat_fields(&stat)?.nth(3)?).ok()?.parse().ok()
}

/// Other systems do not say it about another process.
#[cfg(not(target_os = "linux"))]
pub fn session_of(_: u32) -> Option<u32> {
    None
}

/// Whether process `pid` has a terminal.
#[cfg(target_os = "linux")]
pub fn has_terminal(pid: u32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat_fields(&stat).and_then(|mut fields| fields.nth(4)).is_some_and(|terminal| terminal != b"0")
}

#[cfg(target_os = "macos")]
fn info(pid: u32) -> Option<ProcessInfo> {
    let size = size_of::<libc::proc_bsdinfo>() as i32;
    // SAFETY: `info` is a plain struct of `size` bytes that the call fills.
    let info = unsafe {
        let mut info: libc::proc_bsdinfo = std::mem::zeroed();
        let buffer = (&raw mut info).cast::<libc::c_void>();
        let got = libc::proc_pidinfo(pid as i32, libc::PROC_PIDTBSDINFO, 0, buffer, size);
        (got == size && info.pbi_status != libc::SZOMB).then_some(info)?
    };
    Some(ProcessInfo {
        parent: info.pbi_ppid,
        start: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn info(_: u32) -> Option<ProcessInfo> {
    None
}

/// The working directory of process `pid`; unknown for another user's.
#[cfg(target_os = "linux")]
pub fn cwd(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

#[cfg(target_os = "macos")]
pub fn cwd(pid: u32) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let size = size_of::<libc::proc_vnodepathinfo>() as i32;
    // SAFETY: `info` is a plain struct of `size` bytes that the call fills.
    let info = unsafe {
        let mut info: libc::proc_vnodepathinfo = std::mem::zeroed();
        let buffer = (&raw mut info).cast::<libc::c_void>();
        let got = libc::proc_pidinfo(pid as i32, libc::PROC_PIDVNODEPATHINFO, 0, buffer, size);
        (got == size).then_some(info)?
    };
    // One string, which libc declares in pieces.
    let path: Vec<u8> = info.pvi_cdir.vip_path.as_flattened().iter().map(|&letter| letter as u8).collect();
    let path = std::ffi::CStr::from_bytes_until_nul(&path).ok()?.to_bytes();
    (!path.is_empty()).then(|| std::ffi::OsStr::from_bytes(path).into())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn cwd(_: u32) -> Option<PathBuf> {
    None
}

/// The file that process `pid` runs; the name it had, if it was replaced since. Unknown for another user's.
#[cfg(target_os = "linux")]
pub fn executable(pid: u32) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let before = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Some(before.unwrap_or(path))
}

#[cfg(target_os = "macos")]
pub fn executable(pid: u32) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut path = [0u8; libc::PROC_PIDPATHINFO_MAXSIZE as usize];
    // SAFETY: the pointer and the length describe `path`.
    let length = unsafe { libc::proc_pidpath(pid as i32, path.as_mut_ptr().cast(), path.len() as u32) };
    let length = usize::try_from(length).ok().filter(|length| *length > 0)?;
    Some(std::ffi::OsStr::from_bytes(path.get(..length)?).into())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn executable(_: u32) -> Option<PathBuf> {
    None
}

/// Whether process `pid` runs the very file that this process runs, wherever that is now.
#[cfg(target_os = "linux")]
pub fn is_same_program(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = |pid: u32| {
        // Follows to the file itself, even one that has no name any more.
        std::fs::metadata(format!("/proc/{pid}/exe")).ok().map(|meta| (meta.dev(), meta.ino()))
    };
    let own = file(std::process::id());
    own.is_some() && file(pid) == own
}

#[cfg(not(target_os = "linux"))]
pub fn is_same_program(pid: u32) -> bool {
    executable(pid).is_some_and(|path| executable(std::process::id()) == Some(path))
}

/// This machine's name.
#[cfg(unix)]
pub fn host_name() -> Option<String> {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is one byte longer than what the call may fill.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&b| b == 0)?;
    let name = std::str::from_utf8(&name[..end]).ok()?;
    (failed == 0 && end > 0).then(|| name.to_owned())
}

#[cfg(not(unix))]
pub fn host_name() -> Option<String> {
    crate::config::env("COMPUTERNAME")
}

/// A number as text, without the formatter: for the hook, which pays for every piece of code it uses for the first time.
pub fn decimal(mut number: u64) -> String {
    let mut digits = [0; 20];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let mut text = String::with_capacity(digits.len());
    for &digit in &digits[from..] {
        text.push(char::from(digit));
    }
    text
}

/// Random bytes from the system, fit for secrets; at most 256, the limit of one call.
#[cfg(unix)]
pub fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // SAFETY: the buffer has the length that is passed.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), N) } {
        0 => Ok(bytes),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(not(unix))]
pub fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// `N` random bytes of the system as hexadecimal digits, fit for secrets.
pub fn random_hex<const N: usize>() -> std::io::Result<String> {
    Ok(random_bytes::<N>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// 64 bits that differ with every call.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // The standard library's hash keys come from the system's random numbers too.
    random_bytes().map_or_else(|_| RandomState::new().hash_one(0), u64::from_ne_bytes)
}

/// The first executable of this name on `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = config::env_path("PATH")?;
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|candidate| is_program(candidate))
}

/// A file that may be run.
#[cfg(unix)]
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_is_listed_with_the_time_it_started() {
        let before = Stamp::now();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        let started = started_at(child.id()).unwrap();
        let slack = std::time::Duration::from_millis(100);
        assert!(started.plus(slack) >= before && started <= Stamp::now().plus(slack), "{before} {started}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(started_at(u32::MAX - 1), None);
        assert!(children(u32::MAX - 1).is_empty());
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn a_process_has_one_start_time_and_a_missing_one_has_none() {
        let own = start_time(std::process::id());
        assert!(own.is_some_and(|ticks| ticks > 0));
        assert_eq!(own, start_time(std::process::id()));
        assert_eq!(start_time(u32::MAX - 1), None);
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn the_working_directory_of_this_process_is_found() {
        assert_eq!(cwd(std::process::id()), std::env::current_dir().ok());
        assert_eq!(cwd(u32::MAX - 1), None);
    }

    #[test]
    fn names_with_brackets_do_not_confuse_the_parser() {
        let line = "7 (a) b) (c) S 3 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 4242 0 0";
        let info = parse_stat(line.as_bytes()).unwrap();
        assert_eq!((info.parent, info.start), (3, 4242));
        assert!(parse_stat(line.replace(" S ", " Z ").as_bytes()).is_none());
        assert!(parse_stat(b"nonsense").is_none());
    }

    #[test]
    fn this_process_lives_and_is_not_an_ancestor_of_init() {
        let pid = std::process::id();
        let start = start_time(pid).unwrap();
        assert!(lives(Process { pid, start }));
        assert!(!lives(Process { pid, start: start + 1_000_000 }));
        assert!(descends(pid, pid) && !descends(1, pid));
    }

    #[test]
    fn numbers_are_written_like_the_formatter_writes_them() {
        for number in [0, 7, 10, 4_294_967_296, u64::MAX] {
            assert_eq!(decimal(number), number.to_string());
        }
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
    }
}
