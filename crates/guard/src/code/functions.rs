//! A table of the functions in several languages that run, delete, write or read something.

/// What a function does with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionEffect {
    /// Shell text, or a program and its arguments.
    Runs,
    /// Like [`FunctionEffect::Runs`], with the program named a second time: `execvp("rm", ["rm", …])`.
    RunsNamed,
    Deletes,
    Writes,
    Reads,
    /// Reads or writes, depending on its mode: `open(path, "w")`.
    Opens,
    /// From the first argument to the second.
    Copies,
    Moves,
    Links,
    /// From the network to a file.
    Downloads,
    /// Runs text as code.
    Evaluates,
    /// Acts on the object it is called on: `Path("x").write_text(…)`.
    WritesSelf,
    ReadsSelf,
}
use FunctionEffect::*;

/// The objects a function must belong to; empty means any or none.
pub(super) type Owners = &'static [&'static str];
pub(super) const SYSTEM: Owners = &[
    "os",
    "subprocess",
    "sp",
    "child_process",
    "cp",
    "kernel",
    "process",
    "io",
    "open3",
    "pty",
    "commands",
    "deno",
    "bun",
    "shell",
    "shelljs",
];
const FILES: Owners = &[
    "os",
    "fs",
    "fsp",
    "promises",
    "shutil",
    "fileutils",
    "file",
    "dir",
    "deno",
    "bun",
    "path",
    "pathlib",
    "io",
    "fse",
    "fsextra",
];

/// Sorted by name. The flag says whether the bare name is enough.
static FUNCTIONS: &[(&str, FunctionEffect, Owners, bool)] = &[
    ("Command", Runs, &["deno"], false),
    ("Function", Evaluates, &[], true),
    ("Popen", Runs, SYSTEM, true),
    ("appendFile", Writes, &[], true),
    ("appendFileSync", Writes, &[], true),
    ("call", Runs, &["subprocess", "sp"], false),
    ("capture2", Runs, SYSTEM, false),
    ("capture2e", Runs, SYSTEM, false),
    ("capture3", Runs, SYSTEM, false),
    ("check_call", Runs, &[], true),
    ("check_output", Runs, &[], true),
    ("copy", Copies, FILES, false),
    ("copy2", Copies, FILES, true),
    ("copyFile", Copies, &[], true),
    ("copyFileSync", Copies, &[], true),
    ("copyfile", Copies, FILES, true),
    ("copytree", Copies, FILES, true),
    ("cp", Copies, FILES, false),
    ("cpSync", Copies, &[], true),
    ("cp_r", Copies, FILES, true),
    ("createReadStream", Reads, &[], true),
    ("createWriteStream", Writes, &[], true),
    ("delete", Deletes, &["file", "dir", "fileutils", "pathname"], false),
    ("emptyDirSync", Deletes, &[], true),
    ("eval", Evaluates, &[], true),
    ("exec", Runs, SYSTEM, true),
    ("execFile", Runs, SYSTEM, true),
    ("execFileSync", Runs, SYSTEM, true),
    ("execSync", Runs, SYSTEM, true),
    ("execl", RunsNamed, SYSTEM, true),
    ("execle", RunsNamed, SYSTEM, true),
    ("execlp", RunsNamed, SYSTEM, true),
    ("execute", Runs, &["os"], false),
    ("execv", RunsNamed, SYSTEM, true),
    ("execve", RunsNamed, SYSTEM, true),
    ("execvp", RunsNamed, SYSTEM, true),
    ("file_get_contents", Reads, &[], true),
    ("file_put_contents", Writes, &[], true),
    ("fopen", Opens, &[], true),
    ("getoutput", Runs, &[], true),
    ("getstatusoutput", Runs, &[], true),
    ("instance_eval", Evaluates, &[], true),
    ("link", Links, FILES, false),
    ("ln_s", Links, &[], true),
    ("ln_sf", Links, &[], true),
    ("move", Moves, FILES, false),
    ("mv", Moves, FILES, false),
    ("open", Opens, &["os", "io", "file", "fs", "codecs", "deno", "aiofiles"], true),
    ("outputFile", Writes, FILES, true),
    ("outputFileSync", Writes, FILES, true),
    ("passthru", Runs, &[], true),
    ("popen", Runs, SYSTEM, true),
    ("proc_open", Runs, &[], true),
    ("read", Reads, &["file", "io"], false),
    ("readFile", Reads, &[], true),
    ("readFileSync", Reads, &[], true),
    ("readTextFile", Reads, &[], true),
    ("readTextFileSync", Reads, &[], true),
    ("read_bytes", ReadsSelf, &[], true),
    ("read_text", ReadsSelf, &[], true),
    ("readfile", Reads, &[], true),
    ("readlines", Reads, &["file", "io"], false),
    ("remove", Deletes, &["os", "fs", "deno", "fse", "fileutils"], false),
    ("removeSync", Deletes, &[], true),
    ("remove_dir", Deletes, &[], true),
    ("remove_entry", Deletes, &[], true),
    ("remove_entry_secure", Deletes, &[], true),
    ("remove_tree", Deletes, &[], true),
    ("removedirs", Deletes, &[], true),
    ("rename", Moves, FILES, true),
    ("renameSync", Moves, &[], true),
    ("renames", Moves, FILES, false),
    ("replace", Moves, &["os"], false),
    ("rimraf", Deletes, &[], true),
    ("rimrafSync", Deletes, &[], true),
    ("rm", Deletes, FILES, false),
    ("rmSync", Deletes, &[], true),
    ("rm_f", Deletes, &[], true),
    ("rm_r", Deletes, &[], true),
    ("rm_rf", Deletes, &[], true),
    ("rmdir", Deletes, FILES, true),
    ("rmdirSync", Deletes, &[], true),
    ("rmtree", Deletes, &[], true),
    ("run", Runs, &["subprocess", "sp", "deno"], false),
    ("runInNewContext", Evaluates, &[], true),
    ("runInThisContext", Evaluates, &[], true),
    ("shell_exec", Runs, &[], true),
    ("spawn", Runs, SYSTEM, true),
    ("spawnSync", Runs, SYSTEM, true),
    ("spawnl", RunsNamed, SYSTEM, true),
    ("spawnv", RunsNamed, SYSTEM, true),
    ("symlink", Links, FILES, true),
    ("symlinkSync", Links, &[], true),
    ("symlink_to", WritesSelf, &[], true),
    ("system", Runs, &[], true),
    ("touch", WritesSelf, &[], false),
    ("truncate", Writes, FILES, false),
    ("truncateSync", Writes, &[], true),
    ("unlink", Deletes, FILES, true),
    ("unlinkSync", Deletes, &[], true),
    ("urlretrieve", Downloads, &[], true),
    ("write", Writes, &["file", "io", "bun"], false),
    ("writeFile", Writes, &[], true),
    ("writeFileSync", Writes, &[], true),
    ("writeTextFile", Writes, &[], true),
    ("writeTextFileSync", Writes, &[], true),
    ("write_bytes", WritesSelf, &[], true),
    ("write_text", WritesSelf, &[], true),
];

/// What a function of this name does.
pub(super) fn find(name: &str) -> Option<&'static (&'static str, FunctionEffect, Owners, bool)> {
    FUNCTIONS.binary_search_by(|(known, ..)| (*known).cmp(name)).ok().map(|at| &FUNCTIONS[at])
}

#[cfg(test)]
mod tests {
    #[test]
    fn functions_are_sorted() {
        assert!(super::FUNCTIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
