//! Disks and the machine's power.

use super::{Call, Spec};
use crate::guard::rules;
use crate::guard::walk::Walk;
use crate::guard::walk::env::Env;
use crate::guard::walk::value::Stream;

/// What a disk tool is asked to do.
struct Tool {
    name: &'static str,
    /// Any of these words or options makes it only look.
    looks: &'static [&'static str],
    /// Only these words make it write; empty means that everything else does.
    writes: &'static [&'static str],
}

static TOOLS: &[Tool] = &[
    Tool { name: "mkfs", looks: &["-V", "--help", "--version"], writes: &[] },
    Tool { name: "mke2fs", looks: &["-n", "-V"], writes: &[] },
    Tool { name: "mkswap", looks: &["--help", "--version"], writes: &[] },
    Tool { name: "mkdosfs", looks: &["--help"], writes: &[] },
    Tool { name: "newfs", looks: &["-N"], writes: &[] },
    Tool {
        name: "wipefs",
        looks: &["-n", "--no-act", "--help", "--version"],
        writes: &["-a", "--all", "-o", "--offset", "-f"],
    },
    Tool { name: "blkdiscard", looks: &["--help", "--version"], writes: &[] },
    Tool {
        name: "fdisk",
        looks: &["-l", "-s", "-x", "--list", "--version", "--help", "-v", "-h"],
        writes: &[],
    },
    Tool { name: "gdisk", looks: &["-l"], writes: &[] },
    Tool { name: "cfdisk", looks: &["--help", "--version"], writes: &[] },
    Tool {
        name: "sfdisk",
        looks: &["-l", "-d", "-J", "-n", "--list", "--dump", "--json", "--no-act", "--version", "--verify"],
        writes: &[],
    },
    Tool { name: "sgdisk", looks: &["-p", "-i", "--print", "--info", "-v", "--verify"], writes: &[] },
    Tool {
        name: "parted",
        looks: &[],
        writes: &["mklabel", "mktable", "mkpart", "rm", "resizepart", "rescue", "set", "name", "mkpartfs"],
    },
    Tool {
        name: "hdparm",
        looks: &[],
        writes: &[
            "--security-erase",
            "--security-erase-enhanced",
            "--trim-sector-ranges",
            "--make-bad-sector",
            "--write-sector",
        ],
    },
    Tool { name: "nvme", looks: &[], writes: &["format", "sanitize", "write", "write-zeroes"] },
    Tool { name: "cryptsetup", looks: &[], writes: &["luksFormat", "erase", "luksErase", "reencrypt"] },
    Tool { name: "badblocks", looks: &[], writes: &["-w", "-n"] },
    Tool {
        name: "diskutil",
        looks: &[],
        writes: &[
            "eraseDisk",
            "eraseVolume",
            "partitionDisk",
            "zeroDisk",
            "secureErase",
            "randomDisk",
            "reformat",
            "apfs",
        ],
    },
    Tool { name: "zpool", looks: &[], writes: &["destroy", "labelclear", "create"] },
    Tool { name: "zfs", looks: &[], writes: &["destroy", "rollback"] },
    Tool { name: "mdadm", looks: &[], writes: &["--zero-superblock", "--create", "-C"] },
    Tool { name: "lvremove", looks: &["--help", "-t", "--test"], writes: &[] },
    Tool { name: "vgremove", looks: &["--help", "-t", "--test"], writes: &[] },
    Tool { name: "pvremove", looks: &["--help", "-t", "--test"], writes: &[] },
    Tool { name: "diskpart", looks: &[], writes: &[] },
    Tool { name: "format", looks: &["/?"], writes: &[] },
];

pub fn disk_tool(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == call.name) else { return Stream::None };
    let has = |words: &[&str]| {
        call.args().iter().any(|arg| {
            let arg = arg.as_str();
            // Of the tools that look unless told otherwise, no letter takes a value right behind it: `-af` is two.
            words.contains(&arg) || !tool.writes.is_empty() && cluster_has(arg, words)
        })
    };
    let writes = if tool.writes.is_empty() { !has(tool.looks) } else { has(tool.writes) && !has(tool.looks) };
    // `format` and a few others are also names of everyday scripts.
    let is_format = call.name != "format" || call.args().iter().any(|arg| arg.ends_with(':'));
    if !writes || !is_format {
        return Stream::None;
    }
    let options = call.options(Spec::default());
    let on_file = matches!(call.name, "mkfs" | "mke2fs" | "mkswap" | "mkdosfs")
        && options.operands.last().is_some_and(|target| !target.starts_with("/dev/") && target.contains('.'));
    walk.found(
        &env.world.clone(),
        if on_file { &rules::DISK_IMAGE } else { &rules::DISK_FORMAT },
        call.show(),
    );
    Stream::None
}

/// Whether one of the single letters in `words` is among those of `-af`.
fn cluster_has(arg: &str, words: &[&str]) -> bool {
    let Some(letters) = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
    letters.chars().all(char::is_alphabetic)
        && words.iter().any(|word| {
            word.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && letters.contains(letter))
        })
}

/// `shutdown`, `reboot`, `systemctl poweroff`
pub fn power(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    const VERBS: [&str; 8] =
        ["poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "isolate", "soft-reboot"];
    let options = call.options(Spec { short: "tHM", ..Spec::default() });
    let stops = match call.name {
        "systemctl" | "loginctl" => options.operands.first().is_some_and(|verb| VERBS.contains(verb)),
        "init" | "telinit" => matches!(options.operands.first(), Some(&("0" | "6"))),
        "shutdown" => !options.has(&["c", "help", "version"]),
        _ => !options.has(&["help", "version"]),
    };
    if stops {
        walk.found(&env.world.clone(), &rules::POWER, call.show());
    }
    Stream::None
}
