//! Watches one session's transcript: turns its lines into the events that no hook sent.
//!
//! Hooks report most things first and better, so a line is held back if a hook may still report it: a prompt and the end
//! of a turn wait [`HOOK_HAS_PRECEDENCE_FOR`] for their hooks. What hooks never report (Esc, a refusal, a text between two
//! tools) is reported at once. The engine decides by the event's time whether it still changes anything.

mod database;
mod find;
mod hooks;
mod lines;
mod settle;
mod usage;

pub use crate::reconcile::watcher::find::SessionEnd;
pub use crate::reconcile::watcher::hooks::HookSignal;

use crate::reconcile::watcher::hooks::HookHistory;
use crate::reconcile::watcher::lines::TranscriptLines;
use crate::reconcile::watcher::usage::UsageReports;
use headspace_core::model::{Source, observed};
use headspace_core::stamp::Stamp;
use headspace_core::transcript::{Entry, Seen};
use headspace_platform::tail::{Mark, Read};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a hook may take to report what a line says; also how long nothing may follow a final answer before it counts
/// as the end of the turn.
const HOOK_HAS_PRECEDENCE_FOR: Duration = Duration::from_secs(2);
/// How long to wait for the text of a Stop that came without one: a busy machine may take this long to write it.
const TEXT_OWED_FOR: Duration = Duration::from_secs(60);
/// How much is read from the end of a long file at first, then more if that did not reach far enough.
const FIRST_READ_BYTES: [u64; 3] = [256 << 10, 2 << 20, 16 << 20];
/// Tool calls whose names are remembered.
const MAX_REMEMBERED_CALLS: usize = 64;
/// How many queued prompts are remembered; no person types more.
const MAX_REMEMBERED_QUEUE: usize = 32;

/// An event that headspace itself observed, for the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub name: &'static str,
    pub session_id: String,
    pub at: Stamp,
    pub source: Source,
    pub body: Value,
    /// How far the transcript was read; stored in the same transaction.
    pub tail: Option<Mark>,
}

/// What a watcher needs to know about its agent at the moment.
#[derive(Clone, Copy, Debug)]
pub struct AgentNow {
    pub idle: bool,
    /// The main thread has a question open.
    pub asks: bool,
    /// A person answered through headspace, and the transcript will say whether that counted.
    pub answered: bool,
}

impl AgentNow {
    /// For a session that no agent has.
    pub const NO_AGENT: AgentNow = AgentNow { idle: true, asks: false, answered: false };
}

/// Which transcript is watched.
#[derive(Debug)]
enum Thread {
    Main,
    /// Only to see how its open question ends.
    Subagent(String),
}

/// A session's transcript, and what is known but not reported yet.
#[derive(Debug)]
pub struct TranscriptWatcher {
    session_id: String,
    thread: Thread,
    tail: TranscriptLines,
    /// Everything up to here is reported or dropped.
    settled: Mark,
    /// Lines before this moment are history: only the context's size is taken from them.
    since: Stamp,
    /// The file was not opened yet and nothing says how far it was read.
    fresh: bool,
    hooks: HookHistory,
    queue: VecDeque<Held>,
    ending: Ending,
    calls: VecDeque<(String, String)>,
    /// Prompts that were typed while a turn was running, oldest first.
    queued: VecDeque<String>,
    /// The title and mode last reported.
    details: Details,
    /// The client is idle: what looks like the end of the turn really is.
    at_rest: bool,
    usage: UsageReports,
    /// The newest line.
    last_at: Stamp,
    /// The hook before which everything was read that was written until then.
    read_before: Stamp,
}

/// Something to report.
#[derive(Debug)]
struct Held {
    report: Report,
    when: When,
}

/// When a line is worth an event.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Always,
    /// Only if no hook reports it until then; whatever follows it waits too.
    UnlessHook(Stamp),
    Silent,
    /// If the hooks are silent, or a question is open that this may answer.
    SilentOrAsked,
    /// If a person answered through headspace.
    Answered,
}

/// What the lines say about the end of the turn.
#[derive(Debug, Default)]
struct Ending {
    answer: Option<FinalText>,
    /// The line that ends a turn: its uuid, its time, and when we saw it.
    over: Option<(String, Stamp, Stamp)>,
    /// Esc ended this turn; the line that ends it adds nothing.
    interrupted: bool,
    /// When the main thread last said something.
    said_at: Option<Stamp>,
}

/// The session's title and mode, as far as its transcript says.
#[derive(Clone, Debug, Default, PartialEq)]
struct Details {
    title: Option<String>,
    mode: Option<String>,
}

/// A final text that nothing has followed yet.
#[derive(Debug)]
struct FinalText {
    text: String,
    message_id: Option<String>,
    error: Option<String>,
    uuid: String,
    at: Stamp,
    seen: Stamp,
}

impl TranscriptWatcher {
    /// A session that was first seen at `since`.
    pub fn new(session_id: &str, path: PathBuf, since: Stamp) -> TranscriptWatcher {
        TranscriptWatcher::of(Thread::Main, session_id, TranscriptLines::new(path, session_id), since)
    }

    fn of(thread: Thread, session_id: &str, tail: TranscriptLines, since: Stamp) -> TranscriptWatcher {
        TranscriptWatcher {
            session_id: session_id.to_owned(),
            thread,
            settled: tail.mark(),
            tail,
            since,
            fresh: true,
            hooks: HookHistory::default(),
            queue: VecDeque::new(),
            ending: Ending::default(),
            calls: VecDeque::new(),
            queued: VecDeque::new(),
            details: Details::default(),
            at_rest: false,
            usage: UsageReports::default(),
            last_at: since,
            read_before: Stamp::default(),
        }
    }

    /// A session known from before a restart, read up to `mark`; `active`: its last known activity.
    pub fn resume(session_id: &str, mark: Mark, active: Stamp) -> TranscriptWatcher {
        let mut watch = TranscriptWatcher::new(session_id, mark.path.clone(), Stamp::default());
        watch.tail = TranscriptLines::resume(mark.clone(), session_id);
        watch.settled = mark;
        watch.fresh = false;
        watch.hooks.reported_before(active);
        watch.last_at = active;
        watch
    }

    /// A subagent's own transcript, which is below that of its session.
    pub fn subagent(session_id: &str, agent_id: &str, main: &Path, since: Stamp) -> TranscriptWatcher {
        let path = headspace_clients::subagent_transcript(main, agent_id);
        let lines = TranscriptLines::new(path, agent_id);
        TranscriptWatcher::of(Thread::Subagent(agent_id.to_owned()), session_id, lines, since)
    }

    pub fn path(&self) -> &Path {
        self.tail.path()
    }

    /// The client moves its file when the session moves.
    pub fn moved_to(&mut self, path: PathBuf) {
        self.tail.moved_to(path);
    }

    /// A hook's event came.
    pub fn heard(&mut self, event: HookSignal) {
        if event.compacts() {
            self.usage = UsageReports::default();
        }
        if let Some(path) = event.transcript_path {
            self.tail.moved_to(path);
        }
        self.usage.turn_ended |= self.hooks.add(event.kind, event.at, event.prompt_id);
    }

    /// A turn ends or the next one begins: what the context holds now counts to the token, because the warnings look at it.
    pub fn between_turns(&mut self) {
        self.usage.turn_ended = true;
    }

    /// Everything was read that was written before this hook: what is read from now on comes after it, even in the same
    /// millisecond.
    pub fn read_before(&mut self, hook: Stamp) {
        self.read_before = hook;
    }

    /// Reads what is new in the file; `true` if there is more than one reading takes.
    pub fn read(&mut self, now: Stamp) -> bool {
        if self.fresh {
            let since = self.since;
            let entries = self.end_of_file(|entries| {
                entries.iter().find_map(|entry| entry.at).is_some_and(|at| at < since)
                    && entries.iter().flat_map(|entry| &entry.seen).any(|seen| matches!(seen, Seen::Usage(_)))
            });
            for entry in entries {
                self.take(entry, now);
            }
            return false;
        }
        let mut entries = Vec::new();
        let classify = headspace_clients::reader(self.tail.path());
        let read = self.tail.read(|line| entries.extend(classify(line)));
        if let Ok(Read::Done { restarted: true, .. }) = read {
            // Whatever the file contains now: lines that are not newer than the last one we saw are not new.
            self.since = self.since.max(self.last_at.plus(Duration::from_millis(1)));
        }
        for entry in entries {
            self.take(entry, now);
        }
        matches!(read, Ok(Read::Done { more: true, .. }))
    }

    /// Reads as much of the end of the file as necessary.
    fn end_of_file(&mut self, enough: impl Fn(&[Entry]) -> bool) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let classify = headspace_clients::reader(self.tail.path());
        for bytes in FIRST_READ_BYTES {
            entries.clear();
            let cut = self.tail.near_end(bytes);
            loop {
                let read = self.tail.read(|line| entries.extend(classify(line)));
                self.fresh = matches!(read, Ok(Read::Missing));
                if !matches!(read, Ok(Read::Done { more: true, .. })) {
                    break;
                }
            }
            if !cut || enough(&entries) {
                break;
            }
        }
        entries
    }

    fn take(&mut self, entry: Entry, now: Stamp) {
        let at = self.placed(entry.at.unwrap_or(self.last_at).min(now));
        // In a file of its own not every client marks a subagent's lines.
        if entry.sidechain && matches!(self.thread, Thread::Main) {
            return;
        }
        self.last_at = self.last_at.max(at);
        // In the same millisecond the line counts as newer.
        let history = at.millis() < self.since.millis();
        for seen in entry.seen {
            match (seen, &self.thread) {
                (Seen::Usage(usage), Thread::Main) => self.usage.take(usage, at, history),
                (Seen::Queued { text }, _) => push_bounded(&mut self.queued, text, MAX_REMEMBERED_QUEUE),
                (Seen::Unqueued { text }, _) => {
                    if let Some(place) = self.queued.iter().position(|queued| *queued == text) {
                        self.queued.remove(place);
                    }
                }
                (Seen::Dequeued, _) if history => drop(self.queued.pop_front()),
                (Seen::Title(title), Thread::Main) => {
                    self.detail(at, When::Always, |details| details.title = Some(title));
                }
                (Seen::Mode(mode), Thread::Main) => {
                    self.detail(at, When::Silent, |details| details.mode = Some(mode));
                }
                (_, _) if history => {}
                (seen, Thread::Main) => self.observe(seen, &entry.uuid, at, now),
                (seen, Thread::Subagent(_)) => self.observe_subagent(seen, &entry.uuid, at),
            }
        }
    }

    /// The line's time among those of the hooks: lines have milliseconds, hooks nanoseconds.
    fn placed(&self, at: Stamp) -> Stamp {
        if at.millis() == self.read_before.millis() { at.max(self.read_before) } else { at }
    }

    fn observe(&mut self, seen: Seen, uuid: &str, at: Stamp, now: Stamp) {
        match seen {
            Seen::Prompt { text, prompt_id } => {
                self.close_turn(at);
                if !self.hooks.reported_prompt(prompt_id.as_ref(), at) {
                    let until = if self.hooks.silent { now } else { now.plus(HOOK_HAS_PRECEDENCE_FOR) };
                    let body = json!({"text": text, "prompt_id": prompt_id});
                    self.enqueue(When::UnlessHook(until), observed::PROMPT, uuid, at, body);
                }
            }
            Seen::Text { text, message_id, stop_reason } => {
                self.spoke(at);
                if stop_reason.as_deref() == Some("end_turn") {
                    self.answered(FinalText {
                        text,
                        message_id,
                        error: None,
                        uuid: uuid.into(),
                        at,
                        seen: now,
                    });
                } else {
                    self.went_on();
                    let body = json!({"text": text, "message_id": message_id, "stop_reason": stop_reason});
                    self.enqueue(When::Always, observed::TEXT, uuid, at, body);
                }
            }
            Seen::ToolUse { id, name, input } => {
                self.spoke(at);
                self.went_on();
                let input: Option<Value> = input.and_then(|raw| serde_json::from_str(raw.get()).ok());
                let body = json!({"tool_use_id": id, "tool_name": name, "tool_input": input});
                push_bounded(&mut self.calls, (id, name), MAX_REMEMBERED_CALLS);
                self.enqueue(When::Silent, observed::TOOL_USE, uuid, at, body);
            }
            Seen::ToolResult { id, error, refused } => {
                let body = json!({"tool_use_id": id, "tool_name": self.name_of(&id), "is_error": error});
                match refused {
                    true => self.enqueue(When::Always, observed::REFUSED, uuid, at, body),
                    false => self.enqueue(When::SilentOrAsked, observed::TOOL_RESULT, uuid, at, body),
                }
            }
            Seen::Decided { id, by } => {
                let body = json!({"tool_use_id": id, "decided_by": by});
                self.enqueue(When::Answered, observed::DECIDED, uuid, at, body);
            }
            Seen::Allowed { id } => {
                self.enqueue(When::Always, observed::ALLOWED, uuid, at, json!({"tool_use_id": id}));
            }
            Seen::Interrupted { tool } => {
                self.went_on();
                self.ending = Ending { interrupted: true, ..Ending::default() };
                self.usage.turn_ended = true;
                self.enqueue(When::Always, observed::INTERRUPTED, uuid, at, json!({"during_tool": tool}));
            }
            Seen::ApiError { error, text } => {
                self.spoke(at);
                let error = Some(error);
                self.answered(FinalText { text, message_id: None, error, uuid: uuid.into(), at, seen: now });
            }
            Seen::Failed { error } => {
                self.went_on();
                self.ending = Ending::default();
                self.usage.turn_ended = true;
                self.enqueue(When::Always, observed::TURN_END, uuid, at, json!({"text": "", "error": error}));
            }
            Seen::TurnEnd => {
                self.usage.turn_ended = true;
                if !std::mem::take(&mut self.ending.interrupted) {
                    self.ending.over = Some((uuid.to_owned(), at, now));
                }
            }
            Seen::Compaction { over } => {
                let name = if over { "PostCompact" } else { "PreCompact" };
                self.enqueue(When::Always, name, uuid, at, json!({}));
            }
            Seen::Dequeued => {
                if let Some(text) = self.queued.pop_front() {
                    let uuid = format!("dequeued-{}", at.0);
                    self.enqueue(When::Always, observed::DEQUEUED, &uuid, at, json!({"text": text}));
                }
            }
            Seen::Queued { .. } | Seen::Unqueued { .. } | Seen::Title(_) | Seen::Mode(_) | Seen::Usage(_) => {
            }
        }
    }

    /// These lines are repeated often, and have no time: only a change is worth reporting. Every hook reports the mode
    /// too, none the title.
    fn detail(&mut self, at: Stamp, when: When, change: impl FnOnce(&mut Details)) {
        let before = self.details.clone();
        change(&mut self.details);
        if self.details != before {
            let Details { title, mode } = &self.details;
            let body = json!({"title": title, "permission_mode": mode, "timestamp": at});
            let report = self.report(observed::DETAILS, at, body);
            self.queue.push_back(Held { report, when });
        }
    }

    /// The client waits for a prompt, so the turn is over; there is no need to wait any longer.
    pub fn client_rests(&mut self) {
        self.at_rest = true;
    }

    /// The session's hooks were removed from the settings: its lines are all there is from now on.
    pub fn hooks_are_gone(&mut self) {
        self.hooks.silent = true;
    }

    /// Whether hooks report what this session does.
    pub fn hooks_speak(&self) -> bool {
        !self.hooks.silent
    }

    /// For a subagent, only what ends its question matters; its hooks report the rest.
    fn observe_subagent(&mut self, seen: Seen, uuid: &str, at: Stamp) {
        match seen {
            Seen::ToolResult { id, error, refused } => {
                let name = if refused { observed::REFUSED } else { observed::TOOL_RESULT };
                self.enqueue(When::Always, name, uuid, at, json!({"tool_use_id": id, "is_error": error}));
            }
            Seen::Interrupted { tool } => {
                self.enqueue(When::Always, observed::INTERRUPTED, uuid, at, json!({"during_tool": tool}));
            }
            Seen::TurnEnd => self.enqueue(When::Always, observed::TURN_END, uuid, at, json!({})),
            _ => {}
        }
    }

    fn spoke(&mut self, at: Stamp) {
        self.ending.said_at = Some(at);
        self.ending.interrupted = false;
        self.ending.over = None;
    }

    /// A final text. One answer can consist of several lines.
    fn answered(&mut self, answer: FinalText) {
        match &mut self.ending.answer {
            Some(first) if first.message_id.is_some() && first.message_id == answer.message_id => {
                first.text = format!("{}\n{}", first.text, answer.text);
                first.seen = answer.seen;
            }
            _ => {
                self.went_on();
                self.ending.answer = Some(answer);
            }
        }
    }

    /// The turn continues after what looked like its last text: that was a text in between.
    fn went_on(&mut self) {
        let reported = |answer: &FinalText| answer.error.is_some() || self.hooks.stopped(answer.at);
        if let Some(answer) = self.ending.answer.take_if(|answer| !reported(answer)) {
            self.report_answer(answer);
        }
        self.ending.answer = None;
    }

    /// Reports a final text by itself, without saying whether the turn ended with it.
    fn report_answer(&mut self, answer: FinalText) {
        let FinalText { text, message_id, uuid, at, .. } = answer;
        let body = json!({"text": text, "message_id": message_id, "stop_reason": "end_turn"});
        self.enqueue(When::Always, observed::TEXT, &uuid, at, body);
    }

    /// The next prompt has come, so the turn before it is over, whether or not that was reported.
    fn close_turn(&mut self, prompt_at: Stamp) {
        let ending = std::mem::take(&mut self.ending);
        self.report_end(ending);
        self.hooks.stop_at = self.hooks.stop_at.filter(|stop| *stop >= prompt_at);
    }

    /// Reports the end of a turn, unless a hook did.
    fn report_end(&mut self, ending: Ending) {
        let Some(at) = ending.over.as_ref().map(|over| over.1).or(ending.answer.as_ref().map(|a| a.at))
        else {
            return;
        };
        self.usage.turn_ended = true;
        if self.hooks.stopped(ending.said_at.unwrap_or(at)) {
            return;
        }
        match (ending.answer, ending.over) {
            (Some(answer), _) => {
                let mut body = json!({"text": answer.text, "message_id": answer.message_id});
                if let Some(error) = answer.error {
                    body["error"] = error.into();
                }
                self.enqueue(When::Always, observed::TURN_END, &answer.uuid, at, body);
                self.last(|report| report.body["timestamp"] = json!(answer.at));
            }
            (None, Some((uuid, ..))) => self.enqueue(When::Always, observed::TURN_END, &uuid, at, json!({})),
            (None, None) => {}
        }
    }

    fn enqueue(&mut self, when: When, name: &'static str, uuid: &str, at: Stamp, mut body: Value) {
        body["uuid"] = uuid.into();
        body["timestamp"] = json!(at);
        if let Thread::Subagent(id) = &self.thread {
            body["agent_id"] = id.as_str().into();
        }
        let report = self.report(name, at, body);
        self.queue.push_back(Held { report, when });
    }

    fn report(&self, name: &'static str, at: Stamp, body: Value) -> Report {
        let session_id = self.session_id.clone();
        Report { name, session_id, at, source: Source::Transcript, body, tail: None }
    }

    fn last(&mut self, change: impl FnOnce(&mut Report)) {
        if let Some(held) = self.queue.back_mut() {
            change(&mut held.report);
        }
    }

    fn name_of(&self, id: &str) -> Option<&str> {
        self.calls.iter().rev().find(|(call, _)| call == id).map(|(_, name)| name.as_str())
    }
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests;
