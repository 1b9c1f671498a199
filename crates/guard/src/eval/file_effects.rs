//! What a command does to files: deleting, writing, reading, running. The rules of every program end here.

use crate::eval::Evaluator;
use crate::eval::glob;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{Machine, ShellState, VOLUME};
use crate::eval::value;
use crate::eval::value::{Stream, Tags, is_hole};
use crate::paths;
use crate::paths::Zone;
use crate::protected;
use crate::protected::ProtectedKind;
use crate::rules;
use crate::rules::names;
use crate::shell::characters;

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteKind {
    Overwrite,
    Append,
    /// Truncated: its content is lost.
    Empty,
    /// The directory entry itself is replaced, as by `mv` and `ln`: a link there is not followed.
    Replace,
    /// From a template such as `.env.example`.
    FromTemplate,
}

/// A search in a protected directory looks at this many files at most.
const MAX_SEARCHED_FILES: usize = 200;

impl Evaluator<'_> {
    /// The path on this machine that corresponds to a path in a container; `None` if it is not shared.
    fn shared_path(mounts: &[(String, String)], value: &str) -> Option<String> {
        mounts.iter().find_map(|(here, there)| {
            let rest = value.strip_prefix(there.trim_end_matches('/'))?;
            let path = format!("{here}{rest}");
            // This machine's root would come out as the empty string.
            let path = if path.is_empty() { "/".to_owned() } else { path };
            (rest.is_empty() || rest.starts_with('/')).then_some(path)
        })
    }

    fn check_misleading(&mut self, state: &ShellState, value: &str) {
        if value.chars().any(|c| characters::is_slash(c) || characters::is_control(c)) {
            self.report(&state.machine, &rules::SHELL_HIDDEN_CHARACTER, value);
        }
    }

    /// Judges deleting `value`; `subject` is the command shown in the reason.
    pub(crate) fn delete(&mut self, state: &ShellState, value: &str, subject: &str) {
        if value.is_empty() || !self.tick() {
            return;
        }
        let machine = state.machine.clone();
        match &machine {
            Machine::Local => {}
            Machine::Remote => return self.report(&machine, &rules::REMOTE_CHANGE, subject),
            Machine::LiveContainer => {
                let remade = paths::split(value).any(|part| names::REBUILT_DIRECTORIES.contains(&part));
                // `cd / && rm -rf srv`; where a command begins is not known, and is the application's own directory.
                let moved = state.cwd.iter().any(Option::is_some);
                let elsewhere = value.starts_with(['/', '~']) || value.starts_with("..") || moved;
                // `rm -rf $PGDATA`: wherever that is.
                let unknown = value.starts_with(is_hole);
                if (elsewhere || unknown) && !remade || matches!(value, "." | "*") {
                    self.report(&machine, &rules::REMOTE_CHANGE, subject);
                }
                return;
            }
            Machine::Container(mounts) => {
                match Self::shared_path(mounts, value) {
                    Some(path) if path.starts_with(VOLUME) => {
                        let everything = paths::split(&path).skip(1).all(glob::matches_everything);
                        if everything {
                            self.report(&Machine::Local, &rules::CONTAINER_VOLUME, subject);
                        }
                    }
                    Some(path) => {
                        let here = ShellState { machine: Machine::Local, ..state.clone() };
                        self.delete(&here, &path, subject);
                    }
                    None => {}
                }
                return;
            }
        }
        self.check_misleading(state, value);
        self.check_user_protected(state, value, subject);
        match self.resolve(state, value) {
            ResolvedPath::Known(path) => self.delete_at(state, &path, subject),
            ResolvedPath::UnknownStart(path) => {
                let hole = path.chars().next().and_then(|c| self.origins.get(c));
                let tags = hole.map_or(Tags::NONE, |origin| origin.tags);
                let rest = path.trim_start_matches(is_hole);
                let all = rest.starts_with('/')
                    && !rest.contains(value::DEEP)
                    && paths::split(rest).all(glob::matches_everything);
                // `$PREFIX/lib`; a script's own variables are rarely empty.
                let system = rest.starts_with('/')
                    && paths::split(rest).count() == 1
                    && self.locations.is_system(rest)
                    && self.script.is_none();
                let safe = tags.has(Tags::NOT_EMPTY);
                self.report(
                    &machine,
                    if (all || system) && !safe {
                        &rules::DELETE_EMPTY_VARIABLE
                    } else {
                        &rules::DELETE_UNKNOWN
                    },
                    subject,
                );
            }
            ResolvedPath::UnknownPart(dir, path) => {
                let real = self.locations.real(&dir, true);
                let rule = match self.locations.zone(&real) {
                    Zone::Git => &rules::DELETE_GIT,
                    Zone::Outside => &rules::DELETE_OUTSIDE,
                    // An unknown name directly below the root or the home: if it is empty, everything goes.
                    Zone::Root
                        if (real.is_empty() || real == self.locations.real_home)
                            && paths::base_name(&path).chars().next().is_some_and(is_hole) =>
                    {
                        &rules::DELETE_OUTSIDE
                    }
                    _ => &rules::DELETE_UNKNOWN,
                };
                self.report(&machine, rule, subject);
            }
            ResolvedPath::NoDirectory(path) => {
                let in_git = paths::split(&path).any(|part| part.eq_ignore_ascii_case(".git"));
                self.report(
                    &machine,
                    if in_git { &rules::DELETE_GIT } else { &rules::DELETE_UNKNOWN },
                    subject,
                );
            }
        }
    }

    fn delete_at(&mut self, state: &ShellState, path: &str, subject: &str) {
        if value::has_glob(path) {
            return self.delete_matches(state, path, subject);
        }
        // With a trailing slash a link counts as the directory it points to.
        let follow = path.ends_with('/') || path.ends_with("/.");
        let real = self.locations.real(path, follow);
        let rule = match self.locations.zone(&real) {
            Zone::Root | Zone::TempRoot => Some(&rules::DELETE_PROJECT),
            Zone::Git if real.ends_with(".lock") => Some(&rules::DELETE_GIT_LOCK),
            Zone::Git => Some(&rules::DELETE_GIT),
            Zone::Temp => None,
            Zone::Inside if paths::base_name(&real) == ".claude" => Some(&rules::DELETE_PROTECTED),
            Zone::Inside => {
                protected::kind(&real, &self.locations.protected_roots).and_then(ProtectedKind::delete_rule)
            }
            Zone::Outside if self.is_own_worktree(&real) => Some(&rules::DELETE_WORKTREE),
            Zone::Outside => match protected::kind(&real, &self.locations.protected_roots) {
                Some(ProtectedKind::History) => Some(&rules::HISTORY),
                Some(ProtectedKind::Agent) => Some(&rules::WRITE_AGENT_SETTINGS),
                _ => Some(&rules::DELETE_OUTSIDE),
            },
        };
        if let Some(rule) = rule {
            self.report(&state.machine, rule, subject);
        }
    }

    /// Whether `real` is a worktree of the project's repository.
    fn is_own_worktree(&self, real: &str) -> bool {
        let Some(text) = self.locations.files.read(&format!("{real}/.git")) else { return false };
        let Some(dir) = text.trim().strip_prefix("gitdir: ") else { return false };
        self.locations
            .projects
            .iter()
            .any(|project| paths::contains(&format!("{project}/.git/worktrees"), dir))
    }

    /// Globs are judged by what they match now and by what they could match.
    fn delete_matches(&mut self, state: &ShellState, path: &str, subject: &str) {
        let (dir, patterns) = self.split_glob(path);
        if patterns.is_empty() {
            return self.delete_at(state, &dir, subject);
        }
        let is_project = self.locations.projects.contains(&dir);
        let zone = self.locations.zone(&dir);
        let hits_git =
            patterns.iter().any(|part| part.starts_with('.') && glob::matches(&part.to_lowercase(), ".git"));
        let rule = match zone {
            Zone::Git => Some(&rules::DELETE_GIT),
            Zone::Inside if hits_git => Some(&rules::DELETE_GIT),
            Zone::Root if is_project && hits_git => Some(&rules::DELETE_GIT),
            Zone::Root if is_project => {
                let all = patterns.iter().all(|part| glob::matches_everything(part));
                all.then_some(&rules::DELETE_EVERYTHING)
            }
            // `find /tmp -mtime +7` selects; `/tmp/*` takes what other sessions are using.
            Zone::TempRoot
                if patterns
                    .iter()
                    .all(|part| glob::matches_everything(part) && !part.contains(value::DEEP)) =>
            {
                Some(&rules::DELETE_EVERYTHING)
            }
            Zone::Inside | Zone::Temp | Zone::TempRoot => None,
            Zone::Root | Zone::Outside => Some(&rules::DELETE_OUTSIDE),
        };
        if let Some(rule) = rule {
            self.report(&state.machine, rule, subject);
        }
        // A matched link is removed as a link, even if a slash follows the glob.
        for matched in self.glob(&dir, &patterns) {
            self.delete_at(state, &matched, subject);
        }
    }

    /// Judges a write to `value`.
    pub(crate) fn write(&mut self, state: &ShellState, value: &str, how: WriteKind, subject: &str) {
        if value.is_empty() || !self.tick() {
            return;
        }
        let machine = state.machine.clone();
        if let Machine::Container(mounts) = &machine {
            if let Some(path) = Self::shared_path(mounts, value).filter(|path| !path.starts_with(VOLUME)) {
                let here = ShellState { machine: Machine::Local, ..state.clone() };
                self.write(&here, &path, how, subject);
            }
            return;
        }
        self.check_misleading(state, value);
        if !self.policy.protected_paths.is_empty()
            && let ResolvedPath::Known(path) = self.resolve(state, value)
            && value::has_glob(&path)
        {
            let (dir, patterns) = self.split_glob(&path);
            if self.search_reaches_user_protected(&dir, &patterns) {
                self.report(&machine, &rules::WRITE_PROTECTED, subject);
            }
        }
        for path in self.candidates(state, value) {
            let follow = how != WriteKind::Replace;
            let known_path = !value::has_hole(&path);
            let real = self.locations.real(&path, follow);
            let in_temp = known_path && matches!(self.locations.zone(&real), Zone::Temp);
            for (kind, _) in self.locations.kinds(&path, follow) {
                // A scratch copy of a repository, or a fixture: no real secrets.
                if in_temp && kind != ProtectedKind::Device {
                    continue;
                }
                let rule = match (kind, how) {
                    (ProtectedKind::Env, WriteKind::FromTemplate) => &rules::WRITE_TEMPLATE,
                    _ => kind.write_rule(),
                };
                self.report(&machine, rule, subject);
            }
            if self.is_user_protected(&path) || self.is_user_protected(&real) {
                self.report(&machine, &rules::WRITE_PROTECTED, subject);
            }
            if how == WriteKind::Empty && known_path && machine == Machine::Local {
                self.empty(state, &real, subject);
            }
        }
    }

    /// Truncating a file loses its content.
    fn empty(&mut self, state: &ShellState, real: &str, subject: &str) {
        let harmless = real.starts_with("/dev/");
        if self.locations.zone(real) == Zone::Outside
            && !harmless
            && (self.locations.is_system(real) || self.locations.files.exists(real))
        {
            self.report(&state.machine, &rules::DELETE_OUTSIDE, subject);
        }
    }

    /// Judges any change to `value` by the user's own `protected_paths`: the path itself, what is below it, and what is
    /// above.
    pub(crate) fn check_user_protected(&mut self, state: &ShellState, value: &str, subject: &str) {
        if self.policy.protected_paths.is_empty() || state.machine != Machine::Local {
            return;
        }
        let mut paths = match self.resolve(state, value) {
            ResolvedPath::Known(path) if value::has_glob(&path) => {
                let (dir, patterns) = self.split_glob(&path);
                let mut found = self.glob(&dir, &patterns);
                let everything = patterns.iter().all(|part| glob::matches_everything(part));
                // `find . -delete`, but not `find . -name '*.o' -delete` unless there are such files.
                if self.search_reaches_user_protected(&dir, &patterns) {
                    return self.report(&state.machine, &rules::WRITE_PROTECTED, subject);
                }
                let searched = patterns.iter().any(|part| part.contains(value::DEEP));
                if everything && !searched || self.is_user_protected(&dir) {
                    found.push(dir);
                }
                found
            }
            ResolvedPath::Known(path) => vec![path],
            ResolvedPath::UnknownPart(dir, _) => {
                if self.is_user_protected(&self.locations.real(&dir, true)) {
                    self.report(&state.machine, &rules::WRITE_PROTECTED, subject);
                }
                return;
            }
            _ => return,
        };
        let real: Vec<String> = paths.iter().map(|path| self.locations.real(path, false)).collect();
        paths.extend(real);
        if paths.iter().any(|path| self.is_user_protected(path) || self.holds_user_protected(path)) {
            self.report(&state.machine, &rules::WRITE_PROTECTED, subject);
        }
    }

    /// Whether a search below `dir` finds something in a user-protected directory: `find src -name '*.ts' -exec sed -i …`
    /// where `src/generated` holds such files.
    fn search_reaches_user_protected(&self, dir: &str, patterns: &[String]) -> bool {
        let [deep, rest @ ..] = patterns else { return false };
        if !deep.contains(value::DEEP) {
            return false;
        }
        let places = self.user_protected_paths();
        let below = places.iter().filter(|own| !own.contains('*') && paths::contains(dir, own));
        below.filter(|own| !self.is_left_out(own)).any(|own| match rest.last() {
            Some(name) => self.holds_file(own, name),
            None => true,
        })
    }

    /// Whether the search at hand leaves this directory out, by its name or its path.
    fn is_left_out(&self, dir: &str) -> bool {
        self.left_out.iter().any(|pattern| {
            let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
            let anywhere = format!("{}/{pattern}", value::STAR);
            glob::matches(&anywhere, dir) || glob::matches(&anywhere, &format!("{dir}/x"))
        })
    }

    /// Whether something with a matching name is at `path` or below it, as far as a short look tells.
    fn holds_file(&self, path: &str, name: &str) -> bool {
        let mut waiting = vec![path.to_owned()];
        for _ in 0..MAX_SEARCHED_FILES {
            let Some(path) = waiting.pop() else { return false };
            if glob::matches(name, paths::base_name(&path)) {
                return true;
            }
            waiting
                .extend(self.locations.files.names(&path).into_iter().map(|below| format!("{path}/{below}")));
        }
        // Too many to look at each: one of them may be meant.
        true
    }

    /// Whether a user-protected path is below this one.
    fn holds_user_protected(&self, path: &str) -> bool {
        self.user_protected_paths()
            .iter()
            .any(|own| !own.contains('*') && paths::contains(path, own) && own != path)
    }

    /// The user's protected paths as absolute paths.
    fn user_protected_paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        for own in &self.policy.protected_paths {
            let place = own.trim_end_matches("/**").trim_end_matches("/*").trim_end_matches('/');
            let place = place.strip_prefix("./").unwrap_or(place);
            match place.strip_prefix("~/") {
                Some(rest) => found.push(format!("{}/{rest}", self.locations.home)),
                None if place.starts_with('/') => found.push(place.to_owned()),
                None => {
                    found.extend(self.locations.projects.iter().map(|project| format!("{project}/{place}")))
                }
            }
        }
        found
    }

    /// Whether the user's own `protected_paths` cover this path.
    pub(crate) fn is_user_protected(&self, path: &str) -> bool {
        if self.policy.protected_paths.is_empty() {
            return false;
        }
        let places = self.user_protected_paths();
        if places.iter().any(|own| paths::contains(own, path) || globbed_above(own, path)) {
            return true;
        }
        // A bare name or pattern counts anywhere: `*.snap`, `migrations`.
        let below = self.locations.projects.iter().find_map(|project| path.strip_prefix(project.as_str()));
        self.policy.protected_paths.iter().filter(|own| !own.contains('/')).any(|own| {
            let own = value::activate(own);
            match below {
                Some(below) => paths::split(below).any(|part| glob::matches(&own, part)),
                None => glob::matches(&own, paths::base_name(path)),
            }
        })
    }

    /// Judges reading `value`, and returns what the reader gets.
    pub(crate) fn read(&mut self, state: &ShellState, value: &str) -> Stream {
        if let Some(stream) = value.chars().next().and_then(|c| self.origins.get(c)?.stream.clone()) {
            return stream;
        }
        if is_socket(value) {
            return Stream::Data(Tags::DOWNLOAD);
        }
        if !self.tick() {
            return Stream::Data(Tags::NONE);
        }
        if value == "/dev/null" {
            return Stream::text("");
        }
        let machine = state.machine.clone();
        let mut tags = Tags::LOCAL_FILE;
        if let Machine::Container(mounts) = &machine {
            let shared = Self::shared_path(mounts, value).filter(|path| !path.starts_with(VOLUME));
            let Some(path) = shared else { return Stream::Data(tags) };
            let here = ShellState { machine: Machine::Local, ..state.clone() };
            return self.read(&here, &path);
        }
        self.check_misleading(state, value);
        for path in self.candidates(state, value) {
            if !value::has_special(&path) {
                let real = self.locations.real(&path, true);
                if let Some(content) = self.written_files.get(&real) {
                    return content.clone();
                }
            }
            for (kind, candidate) in self.locations.kinds(&path, true) {
                if let Some(rule) = kind.read_rule(&candidate) {
                    self.report(&machine, rule, value);
                    tags = tags.and(Tags::SECRET);
                }
            }
            if paths::base_name(&path).to_lowercase().contains("pid") {
                tags = tags.and(Tags::OWN_PID);
            }
        }
        Stream::Data(tags)
    }

    /// Whether `value` names a file with secrets; nothing is reported.
    pub(crate) fn is_secret(&mut self, state: &ShellState, value: &str) -> bool {
        if value.is_empty() {
            return false;
        }
        self.candidates(state, value).into_iter().any(|path| {
            let made = self.written_files.get(&self.locations.real(&path, true));
            made.is_some_and(|stream| stream.tags().has(Tags::SECRET))
                || self.locations.kinds(&path, true).iter().any(|(kind, at)| kind.read_rule(at).is_some())
        })
    }

    /// Like [`Evaluator::is_secret`], for a path where a secret would be written; scratch files in a temp directory do
    /// not count.
    pub(crate) fn is_secret_place(&mut self, state: &ShellState, value: &str) -> bool {
        let in_temp = match self.resolve(state, value) {
            ResolvedPath::Known(path) => self.locations.zone(&self.locations.real(&path, true)) == Zone::Temp,
            _ => false,
        };
        !in_temp && self.is_secret(state, value)
    }

    /// Records what the line writes to a file. If it appends, only the new part is known, and that is the part that
    /// matters.
    pub(crate) fn remember(&mut self, state: &ShellState, target: &str, content: Stream, append: bool) {
        if state.machine != Machine::Local || target.starts_with("/dev/") {
            return;
        }
        if let ResolvedPath::Known(path) = self.resolve(state, target)
            && !value::has_special(&path)
        {
            let real = self.locations.real(&path, true);
            let content = match (append, self.written_files.remove(&real)) {
                (true, Some(old)) => self.origins.join(old, content),
                _ => content,
            };
            self.written_files.insert(real, content);
        }
    }

    /// Whether the line itself wrote this file.
    pub(crate) fn written_by_line(&mut self, state: &ShellState, value: &str) -> bool {
        match self.resolve(state, value) {
            ResolvedPath::Known(path) => self.written_files.contains_key(&self.locations.real(&path, true)),
            _ => false,
        }
    }

    /// What the line itself put into the file it now runs, and whether it came from the network.
    pub(crate) fn content_to_run(&mut self, state: &ShellState, value: &str) -> Option<Stream> {
        let ResolvedPath::Known(path) = self.resolve(state, value) else { return None };
        let real = self.locations.real(&path, true);
        if let Some(content) = self.written_files.get(&real) {
            return Some(content.clone());
        }
        let unpacked = self.unpacked.iter().any(|dir| paths::contains(dir, &real));
        (unpacked && !self.locations.files.exists(&real)).then_some(Stream::Data(Tags::DOWNLOAD))
    }
}

/// Whether a protected path with globs covers `path` or a directory above it.
fn globbed_above(own: &str, path: &str) -> bool {
    if !own.contains(['*', '?', '[']) {
        return false;
    }
    let own = value::activate(own);
    let mut dir = path;
    while !dir.is_empty() {
        if glob::matches(&own, dir) {
            return true;
        }
        dir = paths::parent(dir);
    }
    false
}

/// For these paths bash opens a connection instead of a file.
pub(crate) fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}
