//! What may leave a machine: levels, which project has which, and documents cut to them.
//!
//! A level lists what may leave, never what may not: a new field stays on the machine until it is added to the table
//! below. The hub uses the same table to cut what a reader's role does not cover.

use headspace_core::json::serialize::to_text;
use headspace_core::model::AgentView;
use serde_json::{Map, Value, json};

/// How much of a project leaves the machine. Each level includes everything in the levels before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing leaves, not even that the project exists.
    None,
    /// Who works, who waits and since when.
    States,
    /// Also what is asked, on which branch, where.
    Asks,
    /// Also everything else: events, turns, the whole document.
    Full,
}

impl Level {
    pub const ALL: [Level; 4] = [Level::None, Level::States, Level::Asks, Level::Full];

    pub const fn word(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::States => "states",
            Level::Asks => "asks",
            Level::Full => "full",
        }
    }

    pub fn from_word(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.word() == word)
    }

    pub const fn number(self) -> i16 {
        match self {
            Level::None => 0,
            Level::States => 1,
            Level::Asks => 2,
            Level::Full => 3,
        }
    }

    /// An unknown number is the lowest level: a newer version may have given it a meaning that this one does not know.
    pub fn from_number(number: i16) -> Level {
        Level::ALL.into_iter().find(|level| level.number() == number).unwrap_or(Level::None)
    }
}

/// Which project shares how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// Globs of directories, with `~` expanded, and their levels.
    globs: Vec<(String, Level)>,
    /// The level of `*`, or the one chosen when the machine joined.
    otherwise: Level,
    /// Nothing leaves above this level.
    most: Level,
}

impl Sharing {
    /// `configured` as in `hub.share`; an unknown word counts as `none`, because it is unclear what the user meant.
    pub fn new<'a>(
        configured: impl IntoIterator<Item = (&'a String, &'a String)>,
        home: &str,
        joined: Level,
        most: Level,
    ) -> Sharing {
        let mut sharing = Sharing { globs: Vec::new(), otherwise: joined, most };
        for (glob, word) in configured {
            let level = Level::from_word(word.trim()).unwrap_or(Level::None);
            match glob.trim() {
                "*" | "**" => sharing.otherwise = level,
                glob => sharing.globs.push((written_out(glob, home), level)),
            }
        }
        sharing
    }

    /// The level of a directory: the most specific glob that matches decides.
    pub fn of_directory(&self, directory: Option<&str>) -> Level {
        let exactness = |glob: &str| glob.chars().filter(|c| *c != '*').count();
        let chosen = directory.and_then(|directory| {
            let fitting = self.globs.iter().filter(|(glob, _)| fits(glob, directory));
            // Of two equally specific globs, the lower level counts.
            fitting.max_by_key(|(glob, level)| (exactness(glob), std::cmp::Reverse(*level)))
        });
        chosen.map_or(self.otherwise, |(_, level)| *level).min(self.most)
    }

    /// The level of an agent: its project's, or the lower one of its current directory if that is outside the project.
    pub fn of_agent(&self, project: Option<&str>, cwd: Option<&str>) -> Level {
        let level = self.of_directory(project.or(cwd));
        match (project, cwd) {
            (Some(project), Some(cwd)) if !is_below(cwd, project) => level.min(self.of_directory(Some(cwd))),
            _ => level,
        }
    }

    /// The highest level that anything can have.
    pub fn highest(&self) -> Level {
        let levels = self.globs.iter().map(|(_, level)| *level).chain([self.otherwise]);
        levels.max().unwrap_or(Level::None).min(self.most)
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn written_out(glob: &str, home: &str) -> String {
    match glob.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.trim_end_matches('/'))
        }
        _ => glob.to_owned(),
    }
}

/// `*` stands for anything within one part of a path, `**` for any number of parts, none included.
fn fits(glob: &str, path: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (glob, path) = (parts(glob), parts(path));
    // Row by row: whether the glob so far matches the path so far. No glob makes this slow.
    let mut taken: Vec<bool> = (0..=path.len()).map(|length| length == 0).collect();
    for part in &glob {
        let mut next = vec![false; path.len() + 1];
        for length in 0..=path.len() {
            next[length] = match part.as_str() {
                "**" => taken[length] || (length > 0 && next[length - 1]),
                part => length > 0 && taken[length - 1] && fits_part(part, &path[length - 1]),
            };
        }
        taken = next;
    }
    taken[path.len()]
}

fn fits_part(glob: &str, part: &str) -> bool {
    use headspace_core::text::glob::{GlobPart, fits};
    let pieces: Vec<GlobPart> = glob
        .chars()
        .map(|c| match c {
            '*' => GlobPart::Many,
            '?' => GlobPart::One,
            c => GlobPart::Literal(c),
        })
        .collect();
    fits(&pieces, part)
}

/// What replaces a field that the level does not include.
#[derive(Clone, Copy)]
enum Blank {
    Null,
    Text,
    List,
}

/// The fields of a document that leave below `full`: from which level, and what replaces them below it. Fields that are
/// not in the table leave only at `full`.
const FIELDS: &[(&str, Level, Blank)] = &[
    ("id", Level::States, Blank::Null),
    ("session_id", Level::States, Blank::Text),
    ("sessions", Level::States, Blank::List),
    ("client", Level::States, Blank::Null),
    ("name", Level::Asks, Blank::Text),
    ("project", Level::States, Blank::Null),
    ("project_path", Level::Asks, Blank::Null),
    ("cwd", Level::Asks, Blank::Null),
    ("branch", Level::Asks, Blank::Null),
    ("state", Level::States, Blank::Null),
    ("status", Level::States, Blank::Null),
    ("status_detail", Level::Asks, Blank::Null),
    ("group", Level::States, Blank::Null),
    ("error", Level::States, Blank::Null),
    ("unseen", Level::States, Blank::Null),
    ("stale", Level::States, Blank::Null),
    ("headless", Level::States, Blank::Null),
    ("started_at", Level::States, Blank::Null),
    ("last_active_at", Level::States, Blank::Null),
    ("waiting_since", Level::States, Blank::Null),
    ("ended_at", Level::States, Blank::Null),
    ("end_reason", Level::States, Blank::Null),
    ("host", Level::States, Blank::Null),
    ("elsewhere", Level::States, Blank::Null),
    ("context", Level::Asks, Blank::Null),
    ("cost_usd", Level::Asks, Blank::Null),
    ("background", Level::Full, Blank::List),
    ("crons", Level::Full, Blank::List),
    ("current_command", Level::Full, Blank::Null),
    ("interactions", Level::States, Blank::List),
    ("subagents", Level::States, Blank::List),
    ("turn_count", Level::States, Blank::Null),
    ("source", Level::States, Blank::Null),
    ("source_at", Level::States, Blank::Null),
    ("confidence", Level::States, Blank::Null),
    ("unconfirmed", Level::States, Blank::Null),
    // Added by the hub.
    ("edge", Level::States, Blank::Null),
    ("user", Level::States, Blank::Null),
    ("machine", Level::States, Blank::Null),
    ("not_heard_since", Level::States, Blank::Null),
];

/// The same for an open question.
const ASK_FIELDS: &[(&str, Level, Blank)] = &[
    ("id", Level::States, Blank::Null),
    ("kind", Level::States, Blank::Null),
    ("opened_at", Level::States, Blank::Null),
    ("closed_at", Level::States, Blank::Null),
    ("event_id", Level::States, Blank::Null),
    ("subagent", Level::States, Blank::Null),
    ("tool_name", Level::Asks, Blank::Null),
    ("tool_use_id", Level::Asks, Blank::Null),
    ("title", Level::Asks, Blank::Text),
    ("text", Level::Asks, Blank::Text),
    ("options", Level::Asks, Blank::List),
    ("questions", Level::Asks, Blank::List),
];

/// The same for a subagent.
const SUBAGENT_FIELDS: &[(&str, Level, Blank)] = &[
    ("agent_id", Level::States, Blank::Text),
    ("session_id", Level::States, Blank::Text),
    ("agent_type", Level::States, Blank::Text),
    ("status", Level::States, Blank::Null),
    ("status_detail", Level::Full, Blank::Null),
    ("started_at", Level::States, Blank::Null),
    ("ended_at", Level::States, Blank::Null),
];

/// The document as it may be seen at `level`, marked with it; `None` for `none`. Cutting it again changes nothing.
pub fn cut(document: &Value, level: Level) -> Option<Value> {
    let whole = document.as_object()?;
    let before = whole.get("share").and_then(Value::as_str).and_then(Level::from_word).unwrap_or(Level::Full);
    let level = level.min(before);
    let mut left = match level {
        Level::None => return None,
        Level::Full => whole.clone(),
        _ => chosen(whole, FIELDS, level),
    };
    if level < Level::Full {
        for (list, fields) in [("interactions", ASK_FIELDS), ("subagents", SUBAGENT_FIELDS)] {
            if let Some(Value::Array(items)) = left.get_mut(list) {
                for item in items.iter_mut() {
                    *item = Value::Object(chosen(item.as_object().unwrap_or(&Map::new()), fields, level));
                }
            }
        }
        for field in ["error", "end_reason"] {
            if let Some(Value::String(text)) = left.get_mut(field) {
                *text = as_word(text);
            }
        }
        if let Some(Value::String(project)) = left.get_mut("project") {
            *project = last_part(project);
        }
        // Its row in lists was made of words that are cut now.
        left.remove("summary");
        left.insert("share".into(), json!(level.word()));
        if let Some(view) = view(&Value::Object(left.clone())) {
            left.insert("summary".into(), json!(view.summarize()));
        }
    }
    left.insert("share".into(), json!(level.word()));
    Some(Value::Object(left))
}

/// The document as an agent. One whose name was cut is called by its project. `None`: another version wrote it.
pub fn view(document: &Value) -> Option<AgentView> {
    // Parsed from text, as agents are everywhere: parsing from a tree would compile the same code once more.
    let mut view: AgentView = serde_json::from_slice(to_text(document).ok()?.as_bytes()).ok()?;
    if view.name.is_empty() {
        view.name = view.project.clone().unwrap_or_default();
    }
    Some(view)
}

fn chosen(whole: &Map<String, Value>, fields: &[(&str, Level, Blank)], level: Level) -> Map<String, Value> {
    let mut left = Map::new();
    for (name, from, blank) in fields {
        let Some(value) = whole.get(*name) else { continue };
        let value = match blank {
            _ if *from <= level => value.clone(),
            Blank::Null => Value::Null,
            Blank::Text => json!(""),
            Blank::List => json!([]),
        };
        left.insert((*name).to_owned(), value);
    }
    left
}

/// `rate_limit` is a word; a sentence in its place stays on the machine.
fn as_word(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if text.len() <= 40 && text.chars().all(word) { text.to_owned() } else { "other".to_owned() }
}

fn last_part(path: &str) -> String {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharing(pairs: &[(&str, &str)], joined: Level, most: Level) -> Sharing {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        Sharing::new(pairs.iter().map(|(a, b)| (a, b)), "/home/ada", joined, most)
    }

    #[test]
    fn the_most_exact_glob_decides() {
        let table = sharing(
            &[
                ("~/work/**", "asks"),
                ("~/work/secret/**", "none"),
                ("~/work/*-open", "full"),
                ("/srv/app", "full"),
                ("~/odd/**", "everything"),
                ("*", "states"),
            ],
            Level::Full,
            Level::Full,
        );
        for (directory, level) in [
            ("/home/ada/work", Level::Asks),
            ("/home/ada/work/api", Level::Asks),
            ("/home/ada/work/api/deep/er", Level::Asks),
            ("/home/ada/work/secret/x", Level::None),
            ("/home/ada/work/secret", Level::None),
            ("/home/ada/work/api-open", Level::Full),
            ("/home/ada/work/api-open/sub", Level::Asks),
            ("/home/ada/workshop", Level::States),
            ("/srv/app", Level::Full),
            ("/srv/app/x", Level::States),
            ("/home/ada/odd/x", Level::None),
        ] {
            assert_eq!(table.of_directory(Some(directory)), level, "{directory}");
        }
        assert_eq!(table.of_directory(None), Level::States);
        assert_eq!(sharing(&[], Level::Asks, Level::Full).of_directory(Some("/x")), Level::Asks);
        assert_eq!(
            sharing(&[("*", "full")], Level::Full, Level::States).of_directory(Some("/x")),
            Level::States
        );
    }

    #[test]
    fn an_agent_that_goes_elsewhere_takes_the_lower_level_with_it() {
        let table = sharing(&[("~/open/*", "full"), ("~/private/**", "none")], Level::States, Level::Full);
        let level = |project, cwd| table.of_agent(Some(project), Some(cwd));
        assert_eq!(level("/home/ada/open/api", "/home/ada/open/api/src"), Level::Full);
        assert_eq!(level("/home/ada/open/api", "/home/ada/private/diary"), Level::None);
        assert_eq!(level("/home/ada/open/api", "/home/ada/open/api2"), Level::Full);
        assert_eq!(level("/home/ada/open/api", "/tmp"), Level::States);
    }

    fn document() -> Value {
        json!({
            "id": 7, "session_id": "s", "sessions": ["s"], "client": "claude", "name": "NAME", "project": "/PATH/proj",
            "project_path": "PATH", "cwd": "PATH", "branch": "BRANCH", "state": "awaiting_input", "status": "attention",
            "status_detail": "DETAIL", "group": "needs_you", "error": "SAID in words", "unseen": true, "stale": false,
            "headless": false, "started_at": "2026-11-14T10:00:00Z", "last_active_at": "2026-11-14T10:00:00Z",
            "waiting_since": "2026-11-14T10:00:00Z", "ended_at": null, "end_reason": null, "tmux_session": "TMUX",
            "host": "box", "context": {"used_tokens": 1, "window": 2, "percent": 50.0}, "background": [{"c": "TOOL"}],
            "interactions": [{"id": 1, "kind": "permission", "text": "ASK", "tool_name": "ASKPROGRAM", "input": {"x": "TOOL"},
                "diff": "TOOL", "opened_at": "2026-11-14T10:00:00Z", "closed_at": null, "event_id": 3, "later": "NEW"}],
            "subagents": [{"agent_id": "a", "session_id": "s", "agent_type": "Explore", "status": "working",
                "status_detail": "TOOL", "started_at": "2026-11-14T10:00:00Z", "ended_at": null, "later": "NEW"}],
            "current_command": {"id": 1, "state": "processing", "instruction": "PROMPT", "started_at": "2026-11-14T10:00:00Z"},
            "turn_count": 3, "last_said": "SAID", "transcript_path": "PATH", "source": "hook",
            "source_at": "2026-11-14T10:00:00Z", "confidence": "high", "later": "NEW",
            "summary": {"title": "NAME", "label": "x", "about": "ASK", "since": "2026-11-14T10:00:00Z", "age_kind": "waiting", "order": "1"},
        })
    }

    #[test]
    fn nothing_above_its_level_leaves_and_every_level_is_still_an_agent() {
        let words = ["NAME", "PATH", "BRANCH", "DETAIL", "SAID", "TMUX", "TOOL", "ASK", "PROMPT", "NEW"];
        let allowed: [(Level, &[&str]); 3] = [
            (Level::States, &[]),
            (Level::Asks, &["NAME", "PATH", "BRANCH", "DETAIL", "ASK"]),
            (Level::Full, &words),
        ];
        for (level, allowed) in allowed {
            let left = cut(&document(), level).unwrap();
            let text = left.to_string();
            let there: Vec<&str> = words.into_iter().filter(|word| text.contains(word)).collect();
            assert_eq!(there, allowed, "{level:?}: {text}");
            let view: AgentView = serde_json::from_value(left.clone()).unwrap();
            assert_eq!((view.id.number, view.status.word(), view.turn_count), (7, "attention", 3));
            assert_eq!(left["share"], level.word());
        }
        assert!(cut(&document(), Level::None).is_none());
        let states = cut(&document(), Level::States).unwrap();
        assert_eq!(states["project"], "proj");
        assert_eq!(states["summary"]["title"], "proj");
        assert_eq!(states["interactions"][0]["kind"], "permission");
    }

    #[test]
    fn what_was_cut_cannot_be_raised_again() {
        let states = cut(&document(), Level::States).unwrap();
        assert_eq!(cut(&states, Level::Full).unwrap(), states);
        assert_eq!(cut(&cut(&document(), Level::Asks).unwrap(), Level::States).unwrap(), states);
    }

    #[test]
    fn no_nonsense_makes_it_fail() {
        for odd in [json!(null), json!([]), json!({}), json!({"interactions": [1, "x"], "subagents": {}})] {
            let _ = cut(&odd, Level::States);
        }
    }
}
