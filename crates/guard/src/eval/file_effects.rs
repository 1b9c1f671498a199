//! What a command does to files: deleting, writing, reading, running. Every program's rules end here.

use crate::eval::Walk;
use crate::eval::env::{Env, World};
use crate::eval::pattern;
use crate::eval::value;
use crate::eval::value::{Stream, Tags, is_hole};
use crate::paths;
use crate::paths::Zone;
use crate::protected;
use crate::protected::Kind;
use crate::rules;
use crate::shell::characters;

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    Overwrite,
    Append,
    /// Nothing is left in it.
    Empty,
    /// The directory entry itself is replaced, as by `mv` and `ln`: a link there is not followed.
    Replace,
    /// From a template such as `.env.example`.
    FromTemplate,
}

/// Where a value leads, as far as it is known.
pub enum Spot {
    /// An absolute path, perhaps with globs.
    At(String),
    /// `$X/rest`
    UnknownStart(String),
    /// `/known/$X/rest`: the directory in front of the hole, and the whole.
    UnknownPart(String, String),
    /// Relative to a directory nobody knows.
    NoDirectory(String),
}

/// Directories that programs make anew; in a container nobody misses them.
const REMADE: [&str; 9] =
    ["tmp", "cache", ".cache", "node_modules", "__pycache__", "dist", "build", "target", "coverage"];

/// More matches of a glob than this are not looked at one by one.
const MOST_MATCHES: usize = 500;

impl Walk<'_> {
    pub fn spot(&mut self, env: &Env, value: &str) -> Spot {
        self.spend(value.len() / 16 + 1);
        let value = self.known_tokens(value);
        let first = value.chars().next().unwrap_or('.');
        let path = if paths::is_windows(&value) {
            paths::slashed(&value)
        } else if first == '/' {
            value
        } else if is_hole(first) {
            return Spot::UnknownStart(value);
        } else {
            match self.choose(&env.cwd.clone()).flatten() {
                Some(dir) => format!("{dir}/{value}"),
                None => return Spot::NoDirectory(value),
            }
        };
        match path.find(is_hole) {
            Some(hole) => {
                let dir = path[..hole].rfind('/').unwrap_or(0);
                Spot::UnknownPart(path[..dir].to_owned(), path)
            }
            None => Spot::At(path),
        }
    }

    /// Numbers, dates and hashes cannot lead elsewhere: they become a letter of the name.
    fn known_tokens(&self, value: &str) -> String {
        if !value::has_special(value) {
            return value.to_owned();
        }
        value
            .chars()
            .map(|c| match self.origins.get(c) {
                Some(origin) if origin.tags.has(Tags::TOKEN) => '0',
                _ => c,
            })
            .collect()
    }

    /// The path on this machine behind a path in a container; `None` if it stays inside.
    fn shared_path(mounts: &[(String, String)], value: &str) -> Option<String> {
        mounts.iter().find_map(|(here, there)| {
            let rest = value.strip_prefix(there.trim_end_matches('/'))?;
            let path = format!("{here}{rest}");
            // The root of this machine has no name of its own.
            let path = if path.is_empty() { "/".to_owned() } else { path };
            (rest.is_empty() || rest.starts_with('/')).then_some(path)
        })
    }

    fn misleads(&mut self, env: &Env, value: &str) {
        if value.chars().any(|c| characters::is_slash(c) || characters::is_control(c)) {
            self.found(&env.world, &rules::SHELL_HIDDEN_CHARACTER, value);
        }
    }

    /// Judges the removal of `value`; `subject` is the command for the reason.
    pub fn delete(&mut self, env: &Env, value: &str, subject: &str) {
        if value.is_empty() || !self.tick() {
            return;
        }
        let world = env.world.clone();
        match &world {
            World::Here => {}
            World::Remote => return self.found(&world, &rules::REMOTE_CHANGE, subject),
            World::Running => {
                let remade = paths::split(value).any(|part| REMADE.contains(&part));
                let elsewhere = value.starts_with('/') || value.starts_with("..") || value.starts_with('~');
                if elsewhere && !remade || matches!(value, "." | "*") {
                    self.found(&world, &rules::REMOTE_CHANGE, subject);
                }
                return;
            }
            World::Container(mounts) => {
                if let Some(path) = Self::shared_path(mounts, value) {
                    let here = Env { world: World::Here, ..env.clone() };
                    self.delete(&here, &path, subject);
                }
                return;
            }
        }
        self.misleads(env, value);
        self.custom(env, value, subject);
        match self.spot(env, value) {
            Spot::At(path) => self.delete_at(env, &path, subject),
            Spot::UnknownStart(path) => {
                let hole = path.chars().next().and_then(|c| self.origins.get(c));
                let tags = hole.map_or(Tags::NONE, |origin| origin.tags);
                let rest = path.trim_start_matches(is_hole);
                let all = rest.starts_with('/')
                    && !rest.contains(value::DEEP)
                    && paths::split(rest).all(pattern::matches_everything);
                let safe = tags.has(Tags::NOT_EMPTY);
                self.found(
                    &world,
                    if all && !safe { &rules::DELETE_EMPTY_VARIABLE } else { &rules::DELETE_UNKNOWN },
                    subject,
                );
            }
            Spot::UnknownPart(dir, path) => {
                let real = self.ground.real(&dir, true);
                let rule = match self.ground.zone(&real) {
                    Zone::Git => &rules::DELETE_GIT,
                    Zone::Outside => &rules::DELETE_OUTSIDE,
                    // An unknown name right below the root or the home: everything, if it is empty.
                    Zone::Root
                        if (real.is_empty() || real == self.ground.real_home)
                            && paths::base_name(&path).chars().next().is_some_and(is_hole) =>
                    {
                        &rules::DELETE_OUTSIDE
                    }
                    _ => &rules::DELETE_UNKNOWN,
                };
                self.found(&world, rule, subject);
            }
            Spot::NoDirectory(path) => {
                let in_git = paths::split(&path).any(|part| part.eq_ignore_ascii_case(".git"));
                self.found(&world, if in_git { &rules::DELETE_GIT } else { &rules::DELETE_UNKNOWN }, subject);
            }
        }
    }

    fn delete_at(&mut self, env: &Env, path: &str, subject: &str) {
        if value::has_glob(path) {
            return self.delete_matches(env, path, subject);
        }
        // Behind a slash a link counts as the directory it leads to.
        let follow = path.ends_with('/') || path.ends_with("/.");
        let real = self.ground.real(path, follow);
        let rule = match self.ground.zone(&real) {
            Zone::Root | Zone::TempRoot => Some(&rules::DELETE_PROJECT),
            Zone::Git if real.ends_with(".lock") => Some(&rules::DELETE_GIT_LOCK),
            Zone::Git => Some(&rules::DELETE_GIT),
            Zone::Temp => None,
            Zone::Inside if paths::base_name(&real) == ".claude" => Some(&rules::DELETE_PROTECTED),
            Zone::Inside => protected::kind(&real, &self.ground.known).and_then(Kind::delete_rule),
            Zone::Outside if self.is_own_worktree(&real) => Some(&rules::DELETE_WORKTREE),
            Zone::Outside => match protected::kind(&real, &self.ground.known) {
                Some(Kind::History) => Some(&rules::HISTORY),
                Some(Kind::Agent) => Some(&rules::WRITE_AGENT_SETTINGS),
                _ => Some(&rules::DELETE_OUTSIDE),
            },
        };
        if let Some(rule) = rule {
            self.found(&env.world, rule, subject);
        }
    }

    /// Whether `real` is a work tree that belongs to the project's repository.
    fn is_own_worktree(&self, real: &str) -> bool {
        let Some(text) = self.ground.files.read(&format!("{real}/.git")) else { return false };
        let Some(dir) = text.trim().strip_prefix("gitdir: ") else { return false };
        self.ground.projects.iter().any(|project| paths::contains(&format!("{project}/.git/worktrees"), dir))
    }

    /// Globs count as what they match now and as what they could match.
    fn delete_matches(&mut self, env: &Env, path: &str, subject: &str) {
        let (dir, patterns) = self.split_glob(path);
        if patterns.is_empty() {
            return self.delete_at(env, &dir, subject);
        }
        let is_project = self.ground.projects.contains(&dir);
        let zone = self.ground.zone(&dir);
        let hits_git = patterns
            .iter()
            .any(|part| part.starts_with('.') && pattern::matches(&part.to_lowercase(), ".git"));
        let rule = match zone {
            Zone::Git => Some(&rules::DELETE_GIT),
            Zone::Inside if hits_git => Some(&rules::DELETE_GIT),
            Zone::Root if is_project && hits_git => Some(&rules::DELETE_GIT),
            Zone::Root if is_project => {
                let all = patterns.iter().all(|part| pattern::matches_everything(part));
                all.then_some(&rules::DELETE_EVERYTHING)
            }
            // `find /tmp -mtime +7` picks; `/tmp/*` takes what other sessions work with.
            Zone::TempRoot
                if patterns
                    .iter()
                    .all(|part| pattern::matches_everything(part) && !part.contains(value::DEEP)) =>
            {
                Some(&rules::DELETE_EVERYTHING)
            }
            Zone::Inside | Zone::Temp | Zone::TempRoot => None,
            Zone::Root | Zone::Outside => Some(&rules::DELETE_OUTSIDE),
        };
        if let Some(rule) = rule {
            self.found(&env.world, rule, subject);
        }
        // A link among the matches is removed as a link, even if a slash follows the glob.
        for matched in self.glob(&dir, &patterns) {
            self.delete_at(env, &matched, subject);
        }
    }

    /// The canonical directory in front of the first glob, and the components from there on, with `..` undone.
    fn split_glob(&self, path: &str) -> (String, Vec<String>) {
        let parts: Vec<&str> = paths::split(path).collect();
        let first = parts.iter().position(|part| value::has_special(part)).unwrap_or(parts.len());
        let mut dir = self.ground.real(&format!("/{}", parts[..first].join("/")), true);
        let mut patterns: Vec<String> = Vec::new();
        for part in &parts[first..] {
            if *part != ".." {
                patterns.push((*part).to_owned());
            } else if patterns.pop().is_none() {
                dir.truncate(paths::parent(&dir).len());
            }
        }
        if !patterns.iter().any(|part| value::has_special(part)) {
            dir = format!("{dir}/{}", patterns.join("/"));
            patterns.clear();
        }
        (dir, patterns)
    }

    /// The canonical directory in front of a path's globs; the whole path if it has none.
    pub fn before_glob(&self, path: &str) -> (String, Vec<String>) {
        if value::has_glob(path) { self.split_glob(path) } else { (self.ground.real(path, true), Vec::new()) }
    }

    /// What a path with globs matches on the disk now.
    pub fn glob_path(&self, path: &str) -> Vec<String> {
        let (dir, patterns) = self.split_glob(path);
        self.glob(&dir, &patterns)
    }

    /// What `dir/pattern/…` matches on the disk now.
    fn glob(&self, dir: &str, patterns: &[String]) -> Vec<String> {
        let mut found = vec![dir.to_owned()];
        for (at, part) in patterns.iter().enumerate() {
            let mut next = Vec::new();
            for base in &found {
                if !value::has_special(part) {
                    next.push(format!("{base}/{part}"));
                    continue;
                }
                if part.contains(value::DEEP) || next.len() >= MOST_MATCHES {
                    return Vec::new();
                }
                let dir = if base.is_empty() { "/" } else { base };
                for name in self.ground.files.names(dir) {
                    if pattern::matches_visible(part, &name) {
                        next.push(format!("{base}/{name}"));
                    }
                }
            }
            if at > 0 || next.len() < MOST_MATCHES {
                next.truncate(MOST_MATCHES);
            }
            found = next;
        }
        found.retain(|path| self.ground.files.exists(&self.ground.real(path, false)));
        found
    }

    /// All paths that a value may mean, for judging by name: as written, and what its globs match.
    fn candidates(&mut self, env: &Env, value: &str) -> Vec<String> {
        match self.spot(env, value) {
            Spot::At(path) if value::has_glob(&path) => {
                let (dir, patterns) = self.split_glob(&path);
                let mut found = self.glob(&dir, &patterns);
                found.push(format!("{dir}/{}", patterns.join("/")));
                found
            }
            Spot::At(path) | Spot::UnknownPart(_, path) | Spot::UnknownStart(path) => vec![path],
            Spot::NoDirectory(path) => {
                vec![format!("{}/{path}", self.origins.hole("$PWD", Tags::NOT_EMPTY))]
            }
        }
    }

    /// Judges a write to `value`.
    pub fn write(&mut self, env: &Env, value: &str, how: Write, subject: &str) {
        if value.is_empty() || !self.tick() {
            return;
        }
        let world = env.world.clone();
        if let World::Container(mounts) = &world {
            if let Some(path) = Self::shared_path(mounts, value) {
                let here = Env { world: World::Here, ..env.clone() };
                self.write(&here, &path, how, subject);
            }
            return;
        }
        self.misleads(env, value);
        for path in self.candidates(env, value) {
            let follow = how != Write::Replace;
            let known_path = !value::has_hole(&path);
            let real = self.ground.real(&path, follow);
            let in_temp = known_path && matches!(self.ground.zone(&real), Zone::Temp);
            for (kind, _) in self.ground.kinds(&path, follow) {
                // A scratch copy of a repository, or a fixture: nobody's secrets.
                if in_temp && kind != Kind::Device {
                    continue;
                }
                let rule = match (kind, how) {
                    (Kind::Env, Write::FromTemplate) => &rules::WRITE_TEMPLATE,
                    _ => kind.write_rule(),
                };
                self.found(&world, rule, subject);
            }
            if self.is_custom(&path) || self.is_custom(&real) {
                self.found(&world, &rules::WRITE_PROTECTED, subject);
            }
            if how == Write::Empty && known_path && world == World::Here {
                self.empty(env, &real, subject);
            }
        }
    }

    /// Emptying a file loses what was in it.
    fn empty(&mut self, env: &Env, real: &str, subject: &str) {
        let harmless = real.starts_with("/dev/");
        if self.ground.zone(real) == Zone::Outside
            && !harmless
            && (self.ground.is_system(real) || self.ground.files.exists(real))
        {
            self.found(&env.world, &rules::DELETE_OUTSIDE, subject);
        }
    }

    /// Judges any change at `value` by the user's own `protected_paths`: the path, what is below it, and what is above.
    pub fn custom(&mut self, env: &Env, value: &str, subject: &str) {
        if self.choices.protected_paths.is_empty() || env.world != World::Here {
            return;
        }
        let mut paths = match self.spot(env, value) {
            Spot::At(path) if value::has_glob(&path) => {
                let (dir, patterns) = self.split_glob(&path);
                let mut found = self.glob(&dir, &patterns);
                let everything = patterns.iter().all(|part| pattern::matches_everything(part));
                // `find . -delete`, but not `find . -name '*.o' -delete`
                if everything || self.is_custom(&dir) {
                    found.push(dir);
                }
                found
            }
            Spot::At(path) => vec![path],
            Spot::UnknownPart(dir, _) => {
                if self.is_custom(&self.ground.real(&dir, true)) {
                    self.found(&env.world, &rules::WRITE_PROTECTED, subject);
                }
                return;
            }
            _ => return,
        };
        let real: Vec<String> = paths.iter().map(|path| self.ground.real(path, false)).collect();
        paths.extend(real);
        if paths.iter().any(|path| self.is_custom(path) || self.holds_custom(path)) {
            self.found(&env.world, &rules::WRITE_PROTECTED, subject);
        }
    }

    /// Whether a protected path lies below this one.
    fn holds_custom(&self, path: &str) -> bool {
        self.custom_paths().iter().any(|own| !own.contains('*') && paths::contains(path, own) && own != path)
    }

    /// The user's protected paths that are places, absolute.
    fn custom_paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        for own in &self.choices.protected_paths {
            let place = own.trim_end_matches("/**").trim_end_matches("/*").trim_end_matches('/');
            let place = place.strip_prefix("./").unwrap_or(place);
            match place.strip_prefix("~/") {
                Some(rest) => found.push(format!("{}/{rest}", self.ground.home)),
                None if place.starts_with('/') => found.push(place.to_owned()),
                None => found.extend(self.ground.projects.iter().map(|project| format!("{project}/{place}"))),
            }
        }
        found
    }

    /// Whether the user's own `protected_paths` name this path.
    pub fn is_custom(&self, path: &str) -> bool {
        if self.choices.protected_paths.is_empty() {
            return false;
        }
        let places = self.custom_paths();
        if places.iter().any(|own| paths::contains(own, path) || globbed_above(own, path)) {
            return true;
        }
        // A bare name or pattern means it wherever it stands: `*.snap`, `migrations`.
        let below = self.ground.projects.iter().find_map(|project| path.strip_prefix(project.as_str()));
        self.choices.protected_paths.iter().filter(|own| !own.contains('/')).any(|own| {
            let own = value::activate(own);
            match below {
                Some(below) => paths::split(below).any(|part| pattern::matches(&own, part)),
                None => pattern::matches(&own, paths::base_name(path)),
            }
        })
    }

    /// Judges reading `value` and tells what comes out of it.
    pub fn read(&mut self, env: &Env, value: &str) -> Stream {
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
        let world = env.world.clone();
        let mut tags = Tags::LOCAL_FILE;
        if let World::Container(_) = world {
            return Stream::Data(tags);
        }
        self.misleads(env, value);
        for path in self.candidates(env, value) {
            if !value::has_special(&path) {
                let real = self.ground.real(&path, true);
                if let Some(content) = self.made.get(&real) {
                    return content.clone();
                }
            }
            for (kind, candidate) in self.ground.kinds(&path, true) {
                if let Some(rule) = kind.read_rule(&candidate) {
                    self.found(&world, rule, value);
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
    pub fn is_secret(&mut self, env: &Env, value: &str) -> bool {
        if value.is_empty() {
            return false;
        }
        self.candidates(env, value).into_iter().any(|path| {
            let made = self.made.get(&self.ground.real(&path, true));
            made.is_some_and(|stream| stream.tags().has(Tags::SECRET))
                || self.ground.kinds(&path, true).iter().any(|(kind, at)| kind.read_rule(at).is_some())
        })
    }

    /// As [`Walk::is_secret`], for a place where a secret would be written; scratch files in a temp directory are none.
    pub fn is_secret_place(&mut self, env: &Env, value: &str) -> bool {
        let in_temp = match self.spot(env, value) {
            Spot::At(path) => self.ground.zone(&self.ground.real(&path, true)) == Zone::Temp,
            _ => false,
        };
        !in_temp && self.is_secret(env, value)
    }

    /// Notes what the line puts into a file. Of a file that it appends to, only the new part is known, and the new
    /// part is what counts.
    pub fn remember(&mut self, env: &Env, target: &str, content: Stream, append: bool) {
        if env.world != World::Here || target.starts_with("/dev/") {
            return;
        }
        if let Spot::At(path) = self.spot(env, target)
            && !value::has_special(&path)
        {
            let real = self.ground.real(&path, true);
            let content = match (append, self.made.remove(&real)) {
                (true, Some(old)) => self.origins.join(old, content),
                _ => content,
            };
            self.made.insert(real, content);
        }
    }

    /// Whether the line itself wrote this very file.
    pub fn made_here(&mut self, env: &Env, value: &str) -> bool {
        match self.spot(env, value) {
            Spot::At(path) => self.made.contains_key(&self.ground.real(&path, true)),
            _ => false,
        }
    }

    /// What the line itself put into the file it now runs, and whether that came from the network.
    pub fn content_to_run(&mut self, env: &Env, value: &str) -> Option<Stream> {
        let Spot::At(path) = self.spot(env, value) else { return None };
        let real = self.ground.real(&path, true);
        if let Some(content) = self.made.get(&real) {
            return Some(content.clone());
        }
        let unpacked = self.unpacked.iter().any(|dir| paths::contains(dir, &real));
        (unpacked && !self.ground.files.exists(&real)).then_some(Stream::Data(Tags::DOWNLOAD))
    }
}

/// Whether a place with globs means `path` or a directory above it.
fn globbed_above(own: &str, path: &str) -> bool {
    if !own.contains(['*', '?', '[']) {
        return false;
    }
    let own = value::activate(own);
    let mut dir = path;
    while !dir.is_empty() {
        if pattern::matches(&own, dir) {
            return true;
        }
        dir = paths::parent(dir);
    }
    false
}

/// bash opens a connection where no file is.
pub fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}
