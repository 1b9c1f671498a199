//! An agent's card in lines: the whole ask, the last prompt and answer, the changes, the facts. `show` prints it and `top`
//! draws it, so that both say the same. Pure: values in, lines out. No line is wider than requested, and none has a
//! character that a terminal would interpret.

use crate::view::columns::{fit, fit_middle, width, wrap, wrap_code};
use crate::view::timeline;
use headspace_core::changes::{Changes, FileChange, relative};
use headspace_core::model::{
    Actor, AgentView, Choice, Group, Intent, InteractionKind, InteractionView, STOP_REQUESTED, Status,
};
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers::{counted, duration, thousands};
use headspace_core::text::one_line;
use headspace_core::wire::{StoredEvent, StoredTurn};
use headspace_platform::clock::local_clock;
use serde_json::Value;
use std::collections::HashMap;

/// The role of a line; each surface has its own color for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Bold,
    /// What needs you.
    Ask,
    Error,
    Faint,
    Added,
    Removed,
    Hunk,
}

/// One line: a faint label, then the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardLine {
    pub label: String,
    pub text: String,
    pub tone: Tone,
}

/// What the guard would say about open asks, by the ask's id.
pub type GuardWords = HashMap<i64, String>;

/// Columns of a label.
const LABEL: usize = 9;
const INDENT: usize = 2;

/// Collects lines of one width.
pub struct Card {
    columns: usize,
    pub lines: Vec<CardLine>,
}

impl Card {
    pub fn new(columns: usize) -> Card {
        Card { columns, lines: Vec::new() }
    }

    fn line(&mut self, text: String, tone: Tone) {
        self.lines.push(CardLine { label: String::new(), text, tone });
    }

    pub fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.text.is_empty() || !line.label.is_empty()) {
            self.line(String::new(), Tone::Plain);
        }
    }

    /// Prose, broken at blanks.
    pub fn prose(&mut self, text: &str, tone: Tone, indent: usize) {
        for line in wrap(text, self.columns.saturating_sub(indent)) {
            self.line(format!("{}{line}", " ".repeat(indent)), tone);
        }
    }

    /// Commands and files: every blank is kept, and a line that is too long continues on the next.
    pub fn code(&mut self, text: &str, tone: Tone, indent: usize) {
        for line in wrap_code(text, self.columns.saturating_sub(indent)) {
            self.line(format!("{}{line}", " ".repeat(indent)), tone);
        }
    }

    /// A unified diff; its lines keep their signs.
    pub fn diff(&mut self, diff: &str, indent: usize) {
        for line in diff.lines() {
            let tone = match line.as_bytes().first() {
                Some(b'+') if !line.starts_with("+++ ") => Tone::Added,
                Some(b'-') if !line.starts_with("--- ") => Tone::Removed,
                Some(b'@') => Tone::Hunk,
                Some(b'+' | b'-') => Tone::Bold,
                _ => Tone::Plain,
            };
            self.code(line, tone, indent);
        }
    }

    /// A label and its value, on as many lines as it takes.
    pub fn fact(&mut self, label: &str, value: &str, tone: Tone) {
        let mut label = format!("{label:>LABEL$} ");
        for text in wrap(value, self.columns.saturating_sub(LABEL + 1)) {
            let blank = " ".repeat(LABEL + 1);
            self.lines.push(CardLine { label: std::mem::replace(&mut label, blank), text, tone });
        }
    }

    /// A path: relative to the project, cut in the middle.
    fn path(&mut self, label: &str, path: &str, root: Option<&str>) {
        let shown = fit_middle(relative(path, root), self.columns.saturating_sub(LABEL + 1));
        self.fact(label, &shown, Tone::Plain);
    }

    /// Markdown, simply rendered: headings are bold, code keeps its lines, emphasis marks are left out.
    pub fn markdown(&mut self, text: &str, indent: usize) {
        let mut in_code = false;
        for line in text.lines() {
            let bare = line.trim_start();
            if bare.starts_with("```") {
                in_code = !in_code;
            } else if in_code {
                self.code(line, Tone::Faint, indent + INDENT);
            } else if bare.starts_with('#') && bare.trim_start_matches('#').starts_with(' ') {
                self.prose(bare.trim_start_matches('#').trim(), Tone::Bold, indent);
            } else {
                let depth = line.len() - bare.len();
                let bullet = bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* "));
                let text = bullet.map_or(bare.to_owned(), |item| format!("• {item}"));
                self.prose(&without_bold_marks(&text), Tone::Plain, indent + depth.min(8));
            }
        }
    }

    /// All open asks, each in full, after what a person has asked of the agent and it has not done yet.
    pub fn asks(&mut self, agent: &AgentView, guard: &GuardWords) {
        self.pending(agent);
        for open in &agent.interactions {
            self.ask(agent, open, guard.get(&open.id).map(String::as_str));
            self.blank();
        }
    }

    fn pending(&mut self, agent: &AgentView) {
        if agent.pending().is_none() {
            return;
        }
        if agent.stop_requested.is_some() {
            self.prose(&format!("{STOP_REQUESTED}: its next tool call is denied"), Tone::Bold, 0);
        }
        for reply in &agent.replies {
            let why = reply.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            self.fact("waits", &format!("{}{why}", one_line(&reply.text, 300)), Tone::Plain);
        }
        self.blank();
    }

    fn ask(&mut self, agent: &AgentView, open: &InteractionView, guard: Option<&str>) {
        self.prose(&format!("! {}", heading(open)), Tone::Ask, 0);
        if let Some(description) = open.description.as_deref().filter(|text| !text.trim().is_empty()) {
            self.prose(description, Tone::Faint, INDENT);
        }
        if let Some(plan) = &open.plan {
            self.markdown(plan, INDENT);
        } else if !open.questions.is_empty() {
            self.questions(open);
        } else {
            let root = agent.project_path.as_deref();
            let file = open.diff.as_ref().and_then(|_| open.input.as_ref()?.get("file_path")?.as_str());
            match (&open.diff, file) {
                (Some(diff), file) => {
                    if let Some(path) = file {
                        self.path("file", path, root);
                    }
                    let hunks: String = diff
                        .lines()
                        .filter(|line| !line.starts_with("--- ") && !line.starts_with("+++ "))
                        .flat_map(|line| [line, "\n"])
                        .collect();
                    self.diff(&hunks, INDENT);
                }
                (None, _) => self.code(&open.text, Tone::Plain, INDENT),
            }
            for (number, option) in open.options.iter().enumerate() {
                self.prose(&format!("{} {option}", number + 1), Tone::Plain, 2 * INDENT);
            }
        }
        if let Some(cwd) = agent.cwd.as_deref().filter(|_| open.kind == InteractionKind::Permission) {
            self.path("in", cwd, None);
        }
        if let Some(subagent) = &open.subagent {
            self.fact("subagent", subagent, Tone::Plain);
        }
        if let Some(word) = guard {
            self.fact("guard", word, Tone::Error);
        }
        let can: Vec<&str> = open.answer.can().iter().map(|choice| in_words(*choice)).collect();
        if !can.is_empty() {
            self.fact("answer", &can.join(" · "), Tone::Plain);
        }
        if let Some(why) = open.answer.why() {
            self.fact(if can.is_empty() { "answer" } else { "" }, why, Tone::Faint);
        }
    }

    fn questions(&mut self, open: &InteractionView) {
        for (number, question) in open.questions.iter().enumerate() {
            let header = question.header.as_ref().map_or(String::new(), |header| format!("[{header}] "));
            let many = if question.multi_select { " (choose any)" } else { " (choose one)" };
            let number = if open.questions.len() > 1 { format!("{}. ", number + 1) } else { String::new() };
            self.prose(&format!("{number}{header}{}{many}", question.question), Tone::Bold, INDENT);
            for (at, option) in question.options.iter().enumerate() {
                self.prose(&format!("{} {}", at + 1, option.label), Tone::Plain, 2 * INDENT);
                if let Some(description) =
                    option.description.as_deref().filter(|text| !text.trim().is_empty())
                {
                    self.prose(description, Tone::Faint, 3 * INDENT);
                }
            }
        }
    }

    /// What was said, oldest first.
    pub fn conversation(&mut self, turns: &[StoredTurn]) {
        for turn in turns {
            self.turn(turn);
        }
    }

    /// The last prompt and the last answer.
    pub fn outcome(&mut self, turns: &[StoredTurn]) {
        let last = |actor: Actor| turns.iter().rposition(|turn| turn.actor == actor);
        let mut shown: Vec<usize> = [last(Actor::User), last(Actor::Agent)].into_iter().flatten().collect();
        shown.sort_unstable();
        for at in shown {
            self.turn(&turns[at]);
        }
    }

    fn turn(&mut self, turn: &StoredTurn) {
        let mine = turn.actor == Actor::User;
        let who = if mine { "you" } else { "agent" };
        self.prose(&format!("{} {who}", local_clock(turn.timestamp)), Tone::Faint, 0);
        // A permission is in our own words, with the command as it is: no Markdown, whose marks a shell uses too.
        let is_permission = turn.intent == Intent::Question && turn.text.starts_with("Allow ");
        if mine {
            self.prose(&turn.text, Tone::Bold, INDENT);
        } else if is_permission {
            self.prose(&turn.text, Tone::Plain, INDENT);
        } else {
            self.markdown(&turn.text, INDENT);
        }
    }

    /// What it is doing, and its subagents at work. What it asks is in the ask. The detail of an agent is one line; where it
    /// is cut, `events` have the whole call.
    pub fn doing(&mut self, agent: &AgentView, events: &[StoredEvent]) {
        if agent.ended_at.is_some() {
            return;
        }
        if let Some(detail) = detail_of_work(agent) {
            let is_it = |call: &String| one_line(call, detail.chars().count()) == detail;
            let whole = timeline::running_calls(events).find(is_it).filter(|_| detail.ends_with('…'));
            self.fact("doing", whole.as_deref().unwrap_or(detail), Tone::Plain);
        }
        for subagent in agent.subagents.iter().filter(|subagent| subagent.ended_at.is_none()) {
            let detail =
                subagent.status_detail.as_deref().map_or(String::new(), |detail| format!(" · {detail}"));
            let tone = if subagent.status == Status::Attention { Tone::Ask } else { Tone::Plain };
            self.fact("subagent", &format!("{}{detail}", one_line(&subagent.agent_type, 40)), tone);
        }
    }

    /// The files with their counts, one line each.
    pub fn changed_files(&mut self, changes: &Changes) {
        if changes.files.is_empty() {
            return;
        }
        let part = if changes.complete { "" } else { ", of its newest events" };
        let files = counted(changes.files.len() as u64, "file");
        let sum = format!("{files} changed, +{} −{}{part}", changes.added, changes.removed);
        self.prose(&sum, Tone::Bold, 0);
        for file in &changes.files {
            self.file(file);
        }
    }

    fn file(&mut self, file: &FileChange) {
        let state = match (file.created, file.deleted) {
            (_, true) => " deleted",
            (true, _) => " new",
            _ => "",
        };
        let tail = format!("  {}{state}", file.counts());
        let room = self.columns.saturating_sub(INDENT + width(&tail));
        self.line(format!("{}{}{tail}", " ".repeat(INDENT), fit_middle(&file.path, room)), Tone::Plain);
    }

    /// The diffs, at most `at_most` lines; returns how many lines were left out.
    pub fn diffs(&mut self, changes: &Changes, at_most: usize) -> usize {
        let (mut shown, mut left_out) = (0, 0);
        for file in &changes.files {
            if shown < at_most {
                self.blank();
                self.prose(&format!("{} {}", file.path, file.counts()), Tone::Bold, 0);
            }
            for edit in &file.edits {
                let room = at_most.saturating_sub(shown);
                let lines: Vec<&str> = edit.diff.lines().collect();
                let some: String = lines.iter().take(room).flat_map(|line| [*line, "\n"]).collect();
                self.diff(&some, INDENT);
                shown += lines.len().min(room);
                left_out += lines.len().saturating_sub(room);
                if edit.cut && room > 0 {
                    self.prose("… part of this edit was not kept", Tone::Faint, INDENT);
                }
            }
        }
        left_out
    }

    /// What is known about the agent.
    pub fn facts(&mut self, agent: &AgentView, now: Stamp) {
        for (label, value) in facts(agent, now) {
            match label {
                "in" => self.path(label, &value, None),
                _ => self.fact(label, &value, Tone::Plain),
            }
        }
    }
}

/// A line of Markdown without the marks of bold text. Two asterisks in code or in a path (`src/**/*.rs`) are not such
/// marks: a command that is shown must be the command that is asked about.
fn without_bold_marks(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let starts_word = out.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '/');
        if let Some(bold) = bold_text(from).filter(|_| starts_word) {
            out.push_str(bold);
            rest = &from[bold.len() + 4..];
            continue;
        }
        // Code up to its end, or a run of asterisks.
        let run = from.len() - from.trim_start_matches('*').len();
        let code = from[1..].find('`').filter(|_| run == 0).map(|end| end + 2);
        let (kept, after) = from.split_at(code.unwrap_or(run.max(1)));
        out.push_str(kept);
        rest = after;
    }
    out + rest
}

/// What stands between the two pairs of asterisks at the beginning of `text`, if that is bold text.
fn bold_text(text: &str) -> Option<&str> {
    let (inner, after) = text.strip_prefix("**")?.split_once("**")?;
    let edge = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && c != '/' && c != '*');
    let ends_word = after.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '/' && c != '*');
    (edge(inner.chars().next()) && edge(inner.chars().next_back()) && ends_word).then_some(inner)
}

/// "Allow Bash?"
fn heading(open: &InteractionView) -> String {
    let tool = open.tool_name.as_deref().unwrap_or_default();
    match open.kind {
        InteractionKind::Permission if !tool.is_empty() => format!("Allow {tool}?"),
        InteractionKind::Plan if open.plan.is_some() => "Approve this plan?".to_owned(),
        InteractionKind::Question if !open.questions.is_empty() => "It asks you:".to_owned(),
        _ if open.ask.is_empty() => one_line(&open.text, 200),
        _ => open.ask.clone(),
    }
}

/// A choice, in words.
pub fn in_words(choice: Choice) -> &'static str {
    match choice {
        Choice::Allow => "allow once",
        Choice::Deny => "deny",
        Choice::Stop => "stop it",
        Choice::Answers => "answer",
        Choice::Approve => "approve (mode afterwards: default)",
        Choice::KeepPlanning => "keep planning",
    }
}

fn facts(agent: &AgentView, now: Stamp) -> Vec<(&'static str, String)> {
    let context = agent.context.as_ref().map(|context| {
        let (used, window) = (thousands(context.used_tokens), thousands(context.window));
        format!("{:.0} % ({used} of {window} tokens)", context.percent)
    });
    let provenance =
        format!("{} · {} · {} ago", agent.state, agent.source, duration(now.since(agent.source_at)));
    let told = agent.current_command.as_ref().and_then(|command| command.instruction.clone());
    let text = |value: &Option<Value>, fields: &[&str]| -> Option<String> {
        let value = value.as_ref()?;
        let parts = fields.iter().filter_map(|field| match value.get(*field)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(format!("#{number}")),
            _ => None,
        });
        Some(parts.collect::<Vec<_>>().join(" · ")).filter(|text| !text.is_empty())
    };
    let listed = |values: &[Value], more: usize, what: &str| {
        let named = |value: &Value| {
            let field = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
            field("description")
                .or_else(|| field("prompt"))
                .or_else(|| field("command"))
                .or_else(|| field("type"))
        };
        let names: Vec<String> = values.iter().filter_map(named).map(|name| one_line(&name, 60)).collect();
        (!values.is_empty()).then(|| {
            let count = counted((values.len() + more) as u64, what);
            if names.is_empty() { count } else { format!("{count}: {}", names.join(", ")) }
        })
    };
    [
        ("state", Some(provenance)),
        ("error", agent.error.as_ref().map(|error| error.replace('_', " "))),
        ("asked", told.map(|text| fit(&text, 300))),
        ("in", agent.cwd.clone()),
        ("branch", agent.branch.clone()),
        ("worktree", text(&agent.worktree, &["name", "branch"])),
        ("PR", text(&agent.pr, &["number", "review_state", "url"])),
        ("client", Some(agent.client.clone()).filter(|name| name != "claude")),
        ("model", agent.model.clone()),
        ("mode", agent.permission_mode.clone()),
        ("context", context),
        ("cost", agent.cost_usd.map(|cost| format!("${cost:.2}"))),
        ("running", listed(&agent.background, agent.more_background, "background task")),
        ("planned", listed(&agent.crons, 0, "scheduled prompt")),
        ("host", agent.host.clone().filter(|_| agent.elsewhere)),
        ("tmux", agent.tmux_pane.clone()),
        ("resume", resume_command(agent)),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some((label, value.filter(|value| !value.trim().is_empty())?)))
    .collect()
}

fn detail_of_work(agent: &AgentView) -> Option<&str> {
    let works = matches!(agent.group, Group::Working | Group::Background);
    agent.status_detail.as_deref().filter(|_| works)
}

/// Whether only the events have all of what it is doing.
pub fn is_work_cut(agent: &AgentView) -> bool {
    detail_of_work(agent).is_some_and(|detail| detail.ends_with('…'))
}

/// What resumes its session from here.
pub fn resume_command(agent: &AgentView) -> Option<String> {
    match agent.machine {
        None if !agent.elsewhere => {
            headspace_clients::named(&agent.client).map(|row| row.resume_command(&agent.session_id))
        }
        _ => agent.resume.clone(),
    }
}

/// Whether the agent has ended, failed or is done, so that the outcome is shown before the conversation.
pub fn is_over(agent: &AgentView) -> bool {
    agent.ended_at.is_some() || matches!(agent.group, Group::Done | Group::Error | Group::Idle)
}

#[cfg(test)]
mod tests;
