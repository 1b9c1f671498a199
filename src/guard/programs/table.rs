//! Name ▶ rules.

use super::{
    Handler, archives, builtins, containers, copying, deleting, disks, find as finding, git, kill, machine, network,
    output, reading, shells, wrappers,
};

static PROGRAMS: &[(&[&str], Handler)] = &[
    // The shell's own.
    (&["cd", "chdir"], builtins::cd),
    (&["pushd"], builtins::pushd),
    (&["popd"], builtins::popd),
    (&["export", "declare", "typeset", "local", "readonly"], builtins::declare),
    (&["unset"], builtins::unset),
    (&["alias"], builtins::alias),
    (&["unalias"], builtins::unalias),
    (&["set", "setopt", "unsetopt"], builtins::set),
    (&["shift"], builtins::shift),
    (&["exit", "return"], builtins::leave),
    (&["read"], builtins::read),
    (&["mapfile", "readarray"], builtins::mapfile),
    (&["eval"], builtins::eval),
    (&["source", "."], builtins::source),
    (&["trap"], builtins::trap),
    (&["history", "Clear-History"], builtins::history),
    (&["fc"], builtins::fc),
    // What later commands build on.
    (&[":", "true", "false"], output::nothing),
    (&["echo", "print"], output::echo),
    (&["printf"], output::printf),
    (&["cat"], output::cat),
    (&["pwd"], output::pwd),
    (&["basename"], output::basename),
    (&["dirname"], output::dirname),
    (&["realpath", "readlink", "grealpath", "greadlink"], output::realpath),
    (&["which", "whereis", "type", "whence", "where"], output::which),
    (&["mktemp"], output::mktemp),
    (
        &["date", "id", "whoami", "hostname", "uname", "nproc", "seq", "uuidgen", "wc", "sha256sum", "sha1sum", "md5sum", "shasum", "md5", "cksum", "tput", "getconf", "expr"],
        output::token,
    ),
    (&["ls", "dir", "exa", "eza", "lsd"], output::ls),
    (&["base64", "base32", "basenc", "xxd", "uudecode", "rev"], output::decoder),
    (&["ps", "pgrep", "pidof", "lsof", "ss", "netstat", "top", "htop", "pstree"], output::process_list),
    (&["jobs"], output::jobs),
    (
        &["ssh-agent", "pyenv", "rbenv", "nodenv", "goenv", "jenv", "brew", "fnm", "opam", "starship", "zoxide", "micromamba", "dircolors", "keychain", "luarocks", "resize", "lesspipe", "thefuck", "atuin", "register-python-argcomplete", "fzf", "pip", "minikube", "docker-machine", "mcfly", "navi", "volta"],
        output::settings_printer,
    ),
    (&["rustup", "cargo", "helm", "hugo", "just"], output::completion_printer),
    // Files.
    (&["rm", "unlink", "rimraf", "del", "erase", "del-cli", "rd"], deleting::rm),
    (&["rmdir"], deleting::rmdir),
    (&["trash", "trash-put", "gio", "gvfs-trash"], deleting::trash),
    (&["shred", "srm", "wipe"], deleting::shred),
    (&["truncate"], deleting::truncate),
    (&["chmod", "chown", "chgrp", "setfacl"], deleting::permissions),
    (&["rsync"], deleting::rsync),
    (&["cp", "install", "ditto"], copying::cp),
    (&["mv"], copying::mv),
    (&["ln"], copying::ln),
    (&["tee"], copying::tee),
    (&["touch", "sponge", "dos2unix", "unix2dos"], copying::writes_operands),
    (&["mkfifo", "mknod"], copying::fifo),
    (&["vi", "vim", "nvim", "ex", "ed", "nano", "emacs", "emacsclient", "pico", "micro", "hx", "kak"], copying::editor),
    (&["dd", "dcfldd", "dc3dd"], copying::dd),
    (&["patch"], copying::patch),
    (&["crontab"], copying::crontab),
    (&["tar", "bsdtar"], archives::tar),
    (&["unzip"], archives::unzip),
    (&["zip", "7z", "7za", "7zz", "rar"], archives::zip),
    (&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4"], archives::gzip),
    (
        &["head", "tail", "tac", "nl", "more", "less", "strings", "od", "hexdump", "hd", "fold", "fmt", "expand", "column", "comm", "paste", "bat", "batcat", "zcat", "gzcat", "xzcat", "bzcat", "lolcat", "glow", "mdcat", "view", "vis", "iconv", "diff", "sdiff", "colordiff", "delta", "vimdiff", "cut", "sort", "uniq", "grep", "egrep", "fgrep", "zgrep", "pcregrep", "ugrep", "rg", "ag", "ack", "pt", "sift", "sed", "jq", "gojq", "jaq", "yq", "sd", "xmllint", "csvcut", "csvlook", "mlr", "pygmentize", "highlight", "pandoc"],
        reading::reader,
    ),
    (&["awk", "gawk", "mawk", "nawk"], reading::awk),
    (&["openssl"], reading::openssl),
    (&["gpg", "gpg2"], reading::gpg),
    (&["ssh-keygen"], reading::ssh_keygen),
    (&["find"], finding::find),
    (&["fd", "fdfind"], finding::fd),
    (&["xargs"], finding::xargs),
    (&["parallel"], finding::parallel),
    // Processes, disks, rights.
    (&["pkill", "killall", "killall5", "skill", "xkill", "kill-port", "fkill", "slay", "tskill"], kill::by_pattern),
    (&["kill"], kill::kill),
    (&["fuser"], kill::fuser),
    (&["taskkill"], kill::taskkill),
    (
        &["mkfs", "mke2fs", "mkswap", "mkdosfs", "newfs", "wipefs", "blkdiscard", "fdisk", "gdisk", "cfdisk", "sfdisk", "sgdisk", "parted", "hdparm", "nvme", "cryptsetup", "badblocks", "diskutil", "zpool", "zfs", "mdadm", "lvremove", "vgremove", "pvremove", "diskpart", "format"],
        disks::disk_tool,
    ),
    (&["shutdown", "reboot", "poweroff", "halt", "systemctl", "loginctl", "init", "telinit"], disks::power),
    (
        &["sudo", "su", "doas", "pkexec", "sudoedit", "visudo", "run0", "runuser", "gosu", "su-exec", "gsudo", "gksudo", "kdesudo", "pfexec", "calife", "please", "runas", "machinectl"],
        machine::privilege,
    ),
    // Shells and interpreters.
    (&["sh", "bash", "zsh", "dash", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "yash", "elvish", "nu", "xonsh"], shells::shell),
    (
        &["python", "pypy", "ipython", "node", "nodejs", "tsx", "ts-node", "deno", "bun", "perl", "ruby", "php", "lua", "luajit", "Rscript", "julia", "elixir", "groovy", "tclsh", "expect", "guile", "swift"],
        shells::interpreter,
    ),
    (&["powershell", "pwsh", "cmd"], shells::powershell),
    (&["osascript"], machine::osascript),
    // Wrappers.
    (&["env"], wrappers::env_command),
    (&["command"], wrappers::command),
    (&["busybox", "toybox"], wrappers::multicall),
    (
        &["arch", "asdf", "aws-vault", "builtin", "bundle", "bunx", "bwrap", "caffeinate", "chamber", "chronic", "chroot", "chrt", "concurrently", "conda", "cross-env", "cross-env-shell", "dbus-launch", "dbus-run-session", "direnv", "doppler", "dotenv", "dotenvx", "entr", "exec", "fakeroot", "firejail", "flatpak-spawn", "flock", "gdb", "hyperfine", "infisical", "ionice", "ld.so", "linux32", "linux64", "ltrace", "mise", "nice", "nix", "nix-shell", "nocorrect", "nodemon", "noglob", "nohup", "npm", "npx", "nsenter", "numactl", "op", "pdm", "perf", "pipenv", "pixi", "pnpm", "pnpx", "poetry", "prlimit", "proot", "proxychains", "proxychains4", "retry", "rlwrap", "rye", "script", "sem", "setarch", "setpriv", "setsid", "sg", "split", "stdbuf", "strace", "systemd-inhibit", "systemd-run", "taskset", "time", "timeout", "torify", "torsocks", "unbuffer", "unshare", "uv", "uvx", "valgrind", "watch", "watchexec", "winpty", "xvfb-run", "yarn"],
        wrappers::wrapper,
    ),
    // Elsewhere and later.
    (&["git"], git::git),
    (&["curl"], network::curl),
    (&["wget", "aria2c"], network::wget),
    (&["nc", "ncat", "netcat", "socat", "telnet"], network::netcat),
    (&["ssh", "autossh", "mosh"], network::ssh),
    (&["scp"], network::scp),
    (
        &["http", "https", "xh", "xhs", "lynx", "w3m", "links", "elinks", "fetch", "GET", "HEAD", "POST", "dig", "nslookup", "host", "ping", "ftp", "sftp", "lftp", "aws", "gsutil", "gcloud", "az", "rclone", "mc", "s3cmd", "gh", "glab", "ngrok"],
        network::client,
    ),
    (&["mail", "mailx", "sendmail", "mutt", "neomutt", "msmtp", "ssmtp", "swaks", "signal-cli", "imsg"], network::mail),
    (&["docker", "podman", "nerdctl", "docker-compose"], containers::docker),
    (&["kubectl", "oc", "lxc", "incus", "vagrant", "k3s"], containers::kubectl),
    (&["tmux"], machine::tmux),
    (&["screen"], machine::screen),
    (&["at", "batch"], machine::at),
    (&["headspace"], machine::headspace),
    // Only words: never looked at further.
    (
        &["man", "whatis", "apropos", "info", "help", "tldr", "cheat", "say", "notify-send", "logger", "test", "[", "hash", "make", "apt", "apt-get", "dnf", "yum", "pacman", "apk", "dpkg", "pip3", "cowsay", "figlet", "banner", "wall", "write", "fzf-tmux"],
        text_only,
    ),
];

fn text_only(
    _: &mut crate::guard::walk::Walk<'_>,
    _: &mut crate::guard::walk::env::Env,
    call: &super::Call<'_>,
) -> crate::guard::walk::value::Stream {
    call.filtered()
}

/// Every name in the table, for globs that could mean one of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().flat_map(|(names, _)| names.iter().copied())
}

pub fn find(name: &str) -> Option<Handler> {
    PROGRAMS.iter().find(|(names, _)| names.contains(&name)).map(|(_, handler)| *handler)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_program_has_one_row() {
        let mut names: Vec<&str> = super::PROGRAMS.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
