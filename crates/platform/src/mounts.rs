//! Which paths lie on file systems that can stop answering: network mounts, and what a program of a user serves.
//! Linux lists its mounts without touching them; elsewhere every path counts as one that may hang.

use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the list of mounts is reused.
const REUSE_MOUNTS_FOR: Duration = Duration::from_secs(5);
/// As many symbolic links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// File systems that ask nothing but this machine's memory and disks. All others may hang.
const LOCAL: &[&str] = &[
    "apfs", "bcachefs", "btrfs", "devtmpfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk",
    "hfsplus", "iso9660", "jfs", "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "proc", "ramfs", "reiserfs",
    "rootfs", "squashfs", "sysfs", "tmpfs", "udf", "vfat", "xfs", "zfs",
];

/// Whether a look at this path may never return. Links are followed as long as they lie on file systems that answer.
pub fn may_hang(path: &Path) -> bool {
    static KNOWN: Mutex<Option<(Instant, Mounts)>> = Mutex::new(None);
    if !cfg!(target_os = "linux") {
        return true;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.as_ref().is_none_or(|(at, _)| at.elapsed() >= REUSE_MOUNTS_FOR) {
        let list = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        *known = Some((Instant::now(), Mounts::parse(&String::from_utf8_lossy(&list))));
    }
    known
        .as_ref()
        .is_none_or(|(_, mounts)| mounts.lead_to_hanging(path, |path| std::fs::read_link(path).ok()))
}

#[derive(Debug, Default)]
struct Mounts(Vec<Mount>);

#[derive(Debug, PartialEq)]
struct Mount {
    point: PathBuf,
    may_hang: bool,
}

impl Mounts {
    /// The lines of `/proc/self/mountinfo`: `36 35 98:0 /root /point options - type source options`.
    fn parse(list: &str) -> Mounts {
        let mount = |line: &str| {
            let (before, after) = line.split_once(" - ")?;
            let point = unescape(before.split(' ').nth(4)?).into();
            Some(Mount { point, may_hang: !LOCAL.contains(&after.split(' ').next()?) })
        };
        Mounts(list.lines().filter_map(mount).collect())
    }

    /// The mount with the longest name counts, and of several in one place the last.
    fn at(&self, path: &Path) -> bool {
        let over = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        over.max_by_key(|mount| mount.point.as_os_str().len()).is_none_or(|mount| mount.may_hang)
    }

    /// `link`: where a symbolic link leads; asked only about paths that answer.
    fn lead_to_hanging(&self, path: &Path, link: impl Fn(&Path) -> Option<PathBuf>) -> bool {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let mut followed = None;
            let mut so_far = PathBuf::new();
            let mut parts = path.components();
            while let Some(part) = parts.next() {
                // No link is left in what lies behind, so its parent is the one it is named after.
                if part == Component::ParentDir {
                    so_far.pop();
                    continue;
                }
                so_far.push(part);
                if self.at(&so_far) {
                    return true;
                }
                if let Some(target) = link(&so_far) {
                    so_far.pop();
                    followed = Some(so_far.join(target).join(parts.as_path()));
                    break;
                }
            }
            match followed {
                Some(target) => path = target,
                None => return false,
            }
        }
        true
    }
}

/// Blanks and the like stand there as `\040`.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let octal =
            after.get(..3).filter(|_| *byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
23 22 0:5 / /proc rw - proc proc rw
30 22 0:40 / /net/team\\040share rw,nosuid master:2 shared:7 - nfs4 server:/export rw,hard
31 22 0:41 / /home/me/cloud rw - fuse.rclone cloud: rw
32 31 254:2 / /home/me/cloud/cache rw - xfs /dev/vdb rw
33 22 0:42 / /over rw - nfs4 server:/over rw
34 33 0:43 / /over rw - tmpfs tmpfs rw
not a mount
";

    #[test]
    fn only_paths_on_file_systems_that_ask_others_may_hang() {
        let link = |path: &Path| match path.to_str() {
            Some("/home/me/shared") => Some("../../net/team share/x".into()),
            Some("/home/me/near") => Some("project".into()),
            Some("/home/me/round") => Some("round".into()),
            _ if path.starts_with("/net/team share") => panic!("a dead mount was looked at"),
            _ => None,
        };
        let mounts = Mounts::parse(LIST);
        for (path, expected) in [
            ("/home/me/project", false),
            ("/net", false),
            ("/net/team share", true),
            ("/net/team share/project", true),
            ("/net/team shared", false),
            ("/home/me/cloud/x", true),
            ("/over/x", false),
            ("/home/me/shared/project", true),
            ("/home/me/near/src", false),
            ("/home/me/round", true),
        ] {
            assert_eq!(mounts.lead_to_hanging(Path::new(path), link), expected, "{path}");
        }
        assert!(Mounts::default().at(Path::new("/")), "nothing is known without a list");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_list_of_this_machine_is_read() {
        assert!(!may_hang(Path::new("/proc/self/stat")));
        assert!(!may_hang(Path::new("/proc/not there")));
    }
}
