//! git: what irrecoverably loses uncommitted work or other people's commits, as far as words alone do not tell
//! (`rules/findings.toml` has those).

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{Machine, ShellState};
use crate::eval::value::{Stream, Tags, has_special};
use crate::programs::{Call, Options, Spec};
use crate::rules;
use crate::rules::Rule;
use crate::rules::names;

/// One git command, after its global options.
struct Git<'c> {
    verb: &'c str,
    args: &'c [String],
    /// `-c key=value`
    settings: Vec<(&'c str, &'c str)>,
}

pub(super) fn git(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    // `-C` affects this command only.
    let mut state = state.clone();
    let Some(git) = global_options(eval, &mut state, call) else { return Stream::Data(Tags::NONE) };
    for (key, value) in &git.settings {
        setting(eval, &mut state, key, value, call);
    }
    let plain = Options::read(git.args, Spec::default());
    if skips_checks(git.verb, git.args) {
        call.report(eval, &state, &rules::GIT_NO_VERIFY);
    }
    let rule = match git.verb {
        "reset" => reset(eval, &state, &plain),
        "push" => push(git.args),
        "clean" => return clean(eval, &mut state, &git, call),
        "checkout" => checkout(eval, &state, git.args),
        "restore" => restore(eval, &state, git.args),
        "filter-branch" | "filter-repo" => {
            for pair in git.args.windows(2).filter(|pair| pair[0].ends_with("-filter")) {
                eval.text(&mut state.clone(), &pair[1], &Stream::None, false);
            }
            None
        }
        "submodule" => {
            foreach(eval, &mut state, &git);
            None
        }
        "config" => return config(eval, &mut state, &git, call),
        "rm" => return remove(eval, &mut state, &plain, call),
        "mv" => return rename(eval, &mut state, &plain, call),
        "bisect" => {
            if git.args.first().is_some_and(|arg| arg == "run") {
                eval.call(&mut state.clone(), &git.args[1..], &Stream::None, false);
            }
            None
        }
        "rebase" => {
            let options =
                Options::read(git.args, Spec { short: "xsXC", long: &["exec", "onto"], stops: false });
            for command in options.values(&["x", "exec"]) {
                eval.text(&mut state.clone(), command, &Stream::None, false);
            }
            None
        }
        "send-email" if plain.has(&["help", "h", "dry-run", "dump-aliases"]) => None,
        "send-email" => Some(if eval.unattended { &rules::MESSAGE_UNATTENDED } else { &rules::MESSAGE_SEND }),
        "clone" => {
            cloned(eval, &state, &plain);
            None
        }
        "rev-parse" if git.args.iter().any(|arg| arg == "--show-toplevel") => {
            return match toplevel(eval, &state) {
                Some(root) => Stream::text(root + "\n"),
                None => Stream::Data(Tags::NOT_EMPTY),
            };
        }
        "rev-parse" | "describe" | "rev-list" => {
            return Stream::text(eval.origins.hole("$(git …)", Tags::TOKEN).to_string());
        }
        "show" | "diff" | "blame" | "grep" | "cat-file" | "archive" => {
            return shows(eval, &state, &git, &plain);
        }
        "log" if git.args.iter().any(|arg| matches!(arg.as_str(), "-p" | "-u" | "--patch")) => {
            return shows(eval, &state, &git, &plain);
        }
        "ls-files" | "ls-tree" | "status" | "branch-list" => return Stream::Data(Tags::FILES),
        _ => None,
    };
    if let Some(rule) = rule {
        call.report(eval, &state, rule);
    }
    if git.verb == "diff" { Stream::Data(Tags::FILES) } else { Stream::Data(Tags::NONE) }
}

fn global_options<'c>(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'c>) -> Option<Git<'c>> {
    let args = call.args();
    let mut settings = Vec::new();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let next = args.get(at + 1).map(String::as_str);
        match arg.as_str() {
            "-C" => {
                move_to(eval, state, next.unwrap_or("."));
                at += 2;
            }
            "-c" => {
                let (key, value) = next.unwrap_or("").split_once('=').unwrap_or((next.unwrap_or(""), "true"));
                settings.push((key, value));
                at += 2;
            }
            "--work-tree" => {
                move_to(eval, state, next.unwrap_or("."));
                at += 2;
            }
            "--git-dir" | "--namespace" | "--super-prefix" | "--config-env" | "--exec-path"
            | "--attr-source" => {
                at += 2;
            }
            arg if arg.starts_with("--work-tree=") => {
                move_to(eval, state, &arg["--work-tree=".len()..]);
                at += 1;
            }
            arg if arg.starts_with('-') => at += 1,
            verb => return Some(Git { verb, args: &args[at + 1..], settings }),
        }
    }
    None
}

fn move_to(eval: &mut Evaluator<'_>, state: &mut ShellState, dir: &str) {
    let dir = match eval.resolve(state, dir) {
        ResolvedPath::Known(path) if !has_special(&path) => Some(eval.locations.real(&path, true)),
        _ => None,
    };
    state.go(vec![dir]);
}

/// `-c key=value` and `git config key value`.
fn setting(eval: &mut Evaluator<'_>, state: &mut ShellState, key: &str, value: &str, call: &Call<'_>) {
    let key = key.to_lowercase();
    if key == "core.hookspath" {
        call.report(eval, state, &rules::GIT_HOOKS_PATH);
    }
    let shell = value.strip_prefix('!');
    let runs = names::GIT_COMMAND_SETTINGS.contains(&key.as_str())
        || key.ends_with(".textconv")
        || key.ends_with(".cmd")
        || key.starts_with("filter.");
    if let Some(command) = shell.or_else(|| (runs && !value.is_empty()).then_some(value)) {
        eval.text(&mut state.clone(), command, &Stream::None, false);
    } else if key.starts_with("alias.") {
        eval.text(&mut state.clone(), &format!("git {value}"), &Stream::None, false);
    }
}

/// `--no-verify`, and `commit -n` in any cluster.
fn skips_checks(verb: &str, args: &[String]) -> bool {
    if !matches!(verb, "commit" | "push" | "merge" | "am" | "rebase" | "cherry-pick" | "revert" | "pull") {
        return false;
    }
    let mut skip_value = false;
    for arg in args {
        if arg == "--" {
            return false;
        }
        if std::mem::take(&mut skip_value) {
            continue;
        }
        if arg == "--no-verify" || (arg.starts_with("--no-veri") && "--no-verify".starts_with(arg.as_str())) {
            return true;
        }
        if matches!(arg.as_str(), "--message" | "--file" | "--author" | "--date" | "--exec" | "--onto") {
            skip_value = true;
        } else if verb == "commit" && arg.starts_with('-') && !arg.starts_with("--") {
            for (at, c) in arg.char_indices().skip(1) {
                if c == 'n' {
                    return true;
                }
                // These take the rest of the cluster, or the next word, as their value.
                if "mFCctSu".contains(c) {
                    skip_value = at + 1 == arg.len() && !"Su".contains(c);
                    break;
                }
            }
        } else if arg.starts_with('-') && matches!(arg.as_str(), "-m" | "-F" | "-x" | "-X" | "-s" | "-o") {
            skip_value = true;
        }
    }
    false
}

fn reset(eval: &mut Evaluator<'_>, state: &ShellState, options: &Options<'_>) -> Option<&'static Rule> {
    if options.has(&["hard"]) {
        // Checking the tree requires running git, so this happens only where it makes a difference.
        let differs =
            eval.policy.decision(&rules::GIT_RESET_CLEAN) < eval.policy.decision(&rules::GIT_DISCARD);
        let is_clean = |eval: &mut Evaluator<'_>| {
            let root = toplevel(eval, state)?;
            eval.locations.files.is_clean(&root)
        };
        let clean = differs && state.machine == Machine::Local && is_clean(eval) == Some(true);
        Some(if clean { &rules::GIT_RESET_CLEAN } else { &rules::GIT_DISCARD })
    } else {
        options.has(&["merge"]).then_some(&rules::GIT_DISCARD_FILE)
    }
}

fn push(args: &[String]) -> Option<&'static Rule> {
    let options = Options::read(
        args,
        Spec { short: "o", long: &["push-option", "repo", "receive-pack", "exec"], stops: false },
    );
    if options.has(&["n", "dry-run"]) {
        return None;
    }
    let refs = options.operands.get(1..).unwrap_or(&[]);
    // `--force-with-lease` is another option: take an exact match, or an abbreviation of `--force` that it does not
    // share.
    let forced = options.names().any(|name| name == "f" || name == "force" || name == "forc");
    if forced || options.has(&["mirror"]) || refs.iter().any(|spec| spec.starts_with('+')) {
        return Some(&rules::GIT_FORCE_PUSH);
    }
    let deletes = options.has(&["d", "delete", "prune"])
        || refs.iter().any(|spec| spec.starts_with(':') && spec.len() > 1);
    deletes.then_some(&rules::GIT_DELETE_REF)
}

fn clean(eval: &mut Evaluator<'_>, state: &mut ShellState, git: &Git<'_>, call: &Call<'_>) -> Stream {
    let options = Options::read(git.args, Spec { short: "e", long: &["exclude"], stops: false });
    let unforced = git.settings.iter().any(|(key, value)| {
        key.eq_ignore_ascii_case("clean.requireForce") && matches!(*value, "false" | "0" | "no" | "off")
    });
    if options.has(&["n", "dry-run"]) || !(options.has(&["f", "force", "i", "interactive"]) || unforced) {
        return Stream::None;
    }
    if options.operands.is_empty() {
        let asks = options.has(&["i", "interactive"]) && !options.has(&["f", "force"]);
        let rule = if asks { &rules::GIT_DISCARD_FILE } else { &rules::GIT_DISCARD };
        call.report(eval, state, rule);
    }
    // With a path it deletes like any other program.
    let subject = call.show();
    for path in options.operands {
        if is_whole(eval, state, path) && !is_inner_directory(eval, state, path) {
            eval.report(&state.machine, &rules::GIT_DISCARD, subject.clone());
        } else {
            eval.delete(state, path, &subject);
        }
    }
    Stream::None
}

/// More than one file: a directory, a pattern, the whole tree.
fn is_whole(eval: &mut Evaluator<'_>, state: &ShellState, pathspec: &str) -> bool {
    if pathspec.starts_with(':')
        || pathspec.contains(['*', '?', '['])
        || matches!(pathspec, "." | "./" | "..")
    {
        return true;
    }
    match eval.resolve(state, pathspec) {
        ResolvedPath::Known(path) => {
            let real = eval.locations.real(&path, true);
            has_special(&path) || pathspec.ends_with('/') || eval.locations.files.is_dir(&real)
        }
        _ => false,
    }
}

fn is_inner_directory(eval: &mut Evaluator<'_>, state: &ShellState, pathspec: &str) -> bool {
    if pathspec.starts_with(':') || pathspec.contains(['*', '?', '[']) {
        return false;
    }
    match eval.resolve(state, pathspec) {
        ResolvedPath::Known(path) if !has_special(&path) => {
            let real = eval.locations.real(&path, true);
            eval.locations.zone(&real) == crate::paths::Zone::Inside
        }
        _ => false,
    }
}

/// The rule for discarding changes in these paths.
fn discard(eval: &mut Evaluator<'_>, state: &ShellState, paths: &[&str]) -> Option<&'static Rule> {
    if paths.is_empty() {
        return None;
    }
    for path in paths {
        eval.check_user_protected(state, path, &format!("git … {path}"));
    }
    let whole = paths.iter().any(|path| is_whole(eval, state, path));
    Some(if whole { &rules::GIT_DISCARD } else { &rules::GIT_DISCARD_FILE })
}

fn checkout(eval: &mut Evaluator<'_>, state: &ShellState, args: &[String]) -> Option<&'static Rule> {
    let split = args.iter().position(|arg| arg == "--");
    let before = &args[..split.unwrap_or(args.len())];
    let options = Options::read(
        before,
        Spec { short: "bB", long: &["orphan", "conflict", "pathspec-from-file"], stops: false },
    );
    if options.has(&["f", "force"]) {
        return Some(&rules::GIT_DISCARD);
    }
    if options.has(&["p", "patch"]) {
        return None;
    }
    if options.has(&["pathspec-from-file"]) {
        return Some(&rules::GIT_DISCARD);
    }
    if let Some(split) = split {
        let paths: Vec<&str> = args[split + 1..].iter().map(String::as_str).collect();
        return discard(eval, state, &paths);
    }
    if options.has(&["b", "B", "orphan", "t", "track", "detach"]) {
        return None;
    }
    match options.operands.as_slice() {
        [] => None,
        // One word: a branch, unless it is a path and not a branch.
        [only] if is_path(eval, state, only) => {
            // A directory without a trailing slash may still be a branch.
            let clear = matches!(*only, "." | ".." | "*") || only.contains(['/', ':']) || has_special(only);
            let rule = discard(eval, state, &[only]);
            if clear { rule } else { Some(&rules::GIT_DISCARD_FILE) }
        }
        [_] => None,
        [first, rest @ ..] => {
            let paths = if is_path(eval, state, first) { options.operands.as_slice() } else { rest };
            discard(eval, state, paths)
        }
    }
}

fn is_path(eval: &mut Evaluator<'_>, state: &ShellState, word: &str) -> bool {
    if matches!(word, "." | "./" | ".." | ":/" | "*") || word.starts_with(":(") || word.starts_with("./") {
        return true;
    }
    if has_special(word) {
        return crate::eval::value::has_glob(word);
    }
    let ResolvedPath::Known(path) = eval.resolve(state, word) else { return false };
    let exists = eval.locations.files.exists(&eval.locations.real(&path, false));
    let is_branch = toplevel(eval, state)
        .is_some_and(|root| eval.locations.files.exists(&format!("{root}/.git/refs/heads/{word}")));
    exists && !is_branch
}

fn restore(eval: &mut Evaluator<'_>, state: &ShellState, args: &[String]) -> Option<&'static Rule> {
    let options = Options::read(
        args,
        Spec { short: "s", long: &["source", "conflict", "pathspec-from-file"], stops: false },
    );
    let staged = options.has(&["S", "staged"]);
    let worktree = options.has(&["W", "worktree"]);
    if (staged && !worktree) || options.has(&["p", "patch"]) {
        return None;
    }
    discard(eval, state, &options.operands)
}

fn config(eval: &mut Evaluator<'_>, state: &mut ShellState, git: &Git<'_>, call: &Call<'_>) -> Stream {
    let options = Options::read(
        git.args,
        Spec { short: "f", long: &["file", "blob", "type", "default"], stops: false },
    );
    let mut operands = options.operands.as_slice();
    let mut reads = options.names().any(|name| name.starts_with("get") || matches!(name, "list" | "l"));
    match operands.first() {
        Some(&("get" | "list" | "get-all" | "get-regexp")) => reads = true,
        Some(&("set" | "unset")) => operands = &operands[1..],
        _ => {}
    }
    if reads {
        return Stream::Data(Tags::NONE);
    }
    if let Some(file) = options.value(&["f", "file"]) {
        eval.write(state, file, WriteKind::Append, &call.show());
    }
    let unsets =
        options.names().any(|name| name.starts_with("unset")) || options.operands.first() == Some(&"unset");
    match operands {
        [key, value, ..] => setting(eval, state, key, value, call),
        [key] if unsets && key.eq_ignore_ascii_case("core.hooksPath") => {
            call.report(eval, state, &rules::GIT_HOOKS_PATH);
        }
        _ if options.has(&["e", "edit"]) => {
            call.report(eval, state, &rules::WRITE_GIT_DATA);
        }
        _ => {}
    }
    Stream::Data(Tags::NONE)
}

fn remove(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    options: &Options<'_>,
    call: &Call<'_>,
) -> Stream {
    if options.has(&["cached", "n", "dry-run"]) {
        return Stream::None;
    }
    for path in &options.operands {
        eval.check_user_protected(state, path, &call.show());
        if matches!(*path, "." | "./" | "*" | ":/") {
            call.report(eval, state, &rules::DELETE_EVERYTHING);
        } else if options.has(&["f", "force"]) {
            // Without force, git keeps uncommitted changes.
            eval.delete(state, path, &call.show());
        }
    }
    Stream::None
}

fn rename(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    options: &Options<'_>,
    call: &Call<'_>,
) -> Stream {
    if let Some((target, sources)) = options.operands.split_last() {
        for source in sources {
            eval.check_user_protected(state, source, &call.show());
        }
        eval.write(state, target, WriteKind::Replace, &call.show());
    }
    Stream::None
}

fn foreach(eval: &mut Evaluator<'_>, state: &mut ShellState, git: &Git<'_>) {
    if let Some(at) = git.args.iter().position(|arg| arg == "foreach") {
        let command: Vec<&str> =
            git.args[at + 1..].iter().map(String::as_str).filter(|arg| *arg != "--recursive").collect();
        let mut inner = state.clone();
        inner.go(vec![None]);
        eval.text(&mut inner, &command.join(" "), &Stream::None, false);
    }
}

/// A fresh clone is a download.
fn cloned(eval: &mut Evaluator<'_>, state: &ShellState, options: &Options<'_>) {
    let Some(url) = options.operands.first() else { return };
    let name = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or("repository");
    let name = name.strip_suffix(".git").unwrap_or(name);
    let dir = options.operands.get(1).copied().unwrap_or(name);
    if let ResolvedPath::Known(path) = eval.resolve(state, dir) {
        let real = eval.locations.real(&path, true);
        eval.unpacked.push(real);
    }
}

fn toplevel(eval: &mut Evaluator<'_>, state: &ShellState) -> Option<String> {
    let dir = eval.choose(&state.cwd.clone()).flatten()?;
    let mut dir = eval.locations.real(&dir, true);
    while !dir.is_empty() {
        if eval.locations.is_repository(&dir) {
            return Some(dir);
        }
        dir.truncate(crate::paths::parent(&dir).len());
    }
    None
}

/// Commands that print contents: `show HEAD:.env`, `diff .env`, `grep x -- .env`.
fn shows(eval: &mut Evaluator<'_>, state: &ShellState, git: &Git<'_>, options: &Options<'_>) -> Stream {
    if options.has(names::GIT_SUMMARIES) {
        return Stream::Data(Tags::FILES);
    }
    let skip = usize::from(git.verb == "grep" && !options.has(&["e"]));
    let mut tags = Tags::NONE;
    for operand in options.operands.iter().skip(skip) {
        let path = operand.rsplit(':').next().unwrap_or(operand);
        if eval.is_secret(state, path) {
            tags = eval.read(state, path).tags();
        }
    }
    Stream::Data(tags)
}
