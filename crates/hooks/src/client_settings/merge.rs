//! Brings a settings file to the state that headspace wants: text in, text out, no I/O.
//!
//! Install and uninstall are the same function with different [`Plan`]s. It makes two passes over the text: the first
//! cuts out what must go, the second adds what is missing and updates what is outdated. Every byte that is not ours
//! stays.

use crate::client_settings::document::{Container, Diagnostic, SettingsDocument, Splices, member};
use crate::client_settings::entry;
use crate::client_settings::entry::{Call, Entry, Role, json_string};
use crate::client_settings::layout::{Layout, append, has_own_comment, inside_of_empty, remove};
use crate::client_settings::status_line;
use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use std::collections::HashSet;

/// What should happen to one part of headspace in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Desired<T> {
    /// Not touched.
    Leave,
    /// Updated where it is; not added.
    Refresh(T),
    /// Present exactly once.
    Put(T),
    Remove,
}

/// The desired state of the file.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where this headspace is: entries with this program are ours whatever its file name.
    pub program: Option<String>,
    pub notify: Desired<Notify>,
    pub guard: Desired<Entry>,
    /// The entry that waits for answers from anywhere.
    pub wait: Desired<Entry>,
    /// The program that should draw the status line.
    pub status_line: Desired<String>,
}

impl Plan {
    /// No entries of ours.
    pub fn nothing(program: Option<String>) -> Plan {
        Plan {
            program,
            notify: Desired::Remove,
            guard: Desired::Remove,
            wait: Desired::Remove,
            status_line: Desired::Remove,
        }
    }

    /// Everything as it is.
    pub fn as_it_is(program: Option<String>) -> Plan {
        Plan {
            program,
            notify: Desired::Leave,
            guard: Desired::Leave,
            wait: Desired::Leave,
            status_line: Desired::Leave,
        }
    }
}

/// The recorder's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notify {
    pub events: Vec<Event>,
    pub entry: Entry,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    /// Written only where the client requires one.
    pub matcher: Option<&'static str>,
    /// The entry for this event, if not the one for all.
    pub entry: Option<Entry>,
}

/// The outcome: the new text, what changed in it, and what else is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    pub text: String,
    /// Events that had none of our entries.
    pub added: Vec<String>,
    /// Events whose entry called something else (the binary moved).
    pub updated: Vec<String>,
    /// Events that lost an entry, even if it was only a duplicate.
    pub removed: Vec<String>,
    /// Events that were already right.
    pub kept: usize,
    /// Hook entries that are not ours.
    pub foreign: usize,
    pub guard_changed: bool,
    pub wait_changed: bool,
    pub status_line_changed: bool,
    /// There was no status line before.
    pub status_line_new: bool,
    pub warnings: Vec<Diagnostic>,
    /// The one among them that is about the first comment or trailing comma: what that means depends on the client.
    pub leniency: Option<Diagnostic>,
}

/// One of our entries in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledHook {
    pub event: String,
    pub role: Role,
    pub call: Call,
    /// The group it is in matches everything.
    pub matches_all: bool,
}

const GUARDED_EVENT: &str = "PreToolUse";
const WAITING_EVENT: &str = "PermissionRequest";

/// One bad entry under these makes the client ignore the whole file.
const STRICT_EVENTS: [&str; 2] = ["PreToolUse", "PermissionRequest"];

const BOM: &str = "\u{feff}";

/// Makes `text` what `plan` wants, or says what stands in the way and where. `pristine` is the file before headspace
/// first touched it, if known: lists that were empty then are left empty instead of being removed.
pub fn merge(text: &str, plan: &Plan, pristine: Option<&str>) -> Result<Merged, Diagnostic> {
    let (bom, text) = match text.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", text),
    };
    let pristine = pristine.map(|text| text.strip_prefix(BOM).unwrap_or(text));
    let pristine = pristine.and_then(|text| SettingsDocument::parse(text).ok());
    let document = SettingsDocument::parse(text)?;
    check_shape(&document, plan)?;
    let leniency = document.first_leniency();
    let mut merged = Merged { warnings: warnings(&document), leniency, ..Merged::default() };

    let cut_out = cut_out(&document, plan, pristine.as_ref(), &mut merged);
    let document = SettingsDocument::parse(&cut_out)?;
    let put_in = put_in(&document, plan, pristine.as_ref(), &mut merged);
    merged.text = format!("{bom}{put_in}");
    Ok(merged)
}

/// All of our entries, in the file's order.
pub fn find(text: &str, program: Option<&str>) -> Result<Vec<InstalledHook>, Diagnostic> {
    let document = SettingsDocument::parse(text.strip_prefix(BOM).unwrap_or(text))?;
    let found = ours(&document, program);
    Ok(found
        .into_iter()
        .map(|our| InstalledHook {
            event: our.event.name.as_str().to_owned(),
            role: our.role,
            call: our.call,
            matches_all: our.matches_all,
        })
        .collect())
}

/// One of our entries, with its position in the tree.
struct OwnEntry<'a, 'b> {
    event: &'b ObjectProp<'a>,
    group: usize,
    index: usize,
    entry: &'b Object<'a>,
    role: Role,
    call: Call,
    matches_all: bool,
}

fn ours<'a, 'b>(document: &'b SettingsDocument<'a>, program: Option<&str>) -> Vec<OwnEntry<'a, 'b>> {
    let mut found = Vec::new();
    for event in hooks_of(document).into_iter().flat_map(|hooks| &hooks.properties) {
        for (group, entries, matches_all) in groups_of(event) {
            for (index, entry) in entries.elements.iter().enumerate() {
                let Value::Object(entry) = entry else { continue };
                let Some(call) = entry::call_of(entry) else { continue };
                let Some(role) = entry::role_of(&call, program) else { continue };
                found.push(OwnEntry { event, group, index, entry, role, call, matches_all });
            }
        }
    }
    found
}

fn hooks_of<'a, 'b>(document: &'b SettingsDocument<'a>) -> Option<&'b Object<'a>> {
    member(document.root.as_ref()?, "hooks")?.value.as_object()
}

/// The well-formed groups of an event: index, entries, and whether the matcher matches everything.
fn groups_of<'a, 'b>(event: &'b ObjectProp<'a>) -> impl Iterator<Item = (usize, &'b Array<'a>, bool)> {
    let groups = event.value.as_array().into_iter().flat_map(|array| array.elements.iter().enumerate());
    groups.filter_map(|(i, group)| {
        let group = group.as_object()?;
        let entries = member(group, "hooks")?.value.as_array()?;
        let matches_all = match member(group, "matcher") {
            None => true,
            Some(matcher) => matcher.value.as_string_lit().is_some_and(|m| matches!(&*m.value, "" | "*")),
        };
        Some((i, entries, matches_all))
    })
}

fn check_shape(document: &SettingsDocument<'_>, plan: &Plan) -> Result<(), Diagnostic> {
    let Some(hooks) = document.root.as_ref().and_then(|root| member(root, "hooks")) else { return Ok(()) };
    let Value::Object(hooks) = &hooks.value else {
        return Err(document.diagnostic(hooks.value.start(), "\"hooks\" must be an object"));
    };
    for event in &hooks.properties {
        let name = event.name.as_str();
        let planned = match &plan.notify {
            Desired::Put(notify) | Desired::Refresh(notify) => notify.events.iter().any(|e| e.name == name),
            Desired::Leave | Desired::Remove => false,
        };
        let known = planned || headspace_core::model::event_names::by_name(name).is_some();
        if known && event.value.as_array().is_none() {
            return Err(
                document.diagnostic(event.value.start(), format!("\"hooks.{name}\" must be an array"))
            );
        }
    }
    Ok(())
}

fn warnings(document: &SettingsDocument<'_>) -> Vec<Diagnostic> {
    let mut warnings: Vec<Diagnostic> = document.first_leniency().into_iter().collect();
    if let Some(all) = document.root.as_ref().and_then(|root| member(root, "disableAllHooks"))
        && all.value.as_boolean_lit().is_some_and(|lit| lit.value)
    {
        warnings
            .push(document.diagnostic(all.start(), "disableAllHooks is true: no hooks run, including ours"));
    }
    for event in hooks_of(document).into_iter().flat_map(|hooks| &hooks.properties) {
        let name = event.name.as_str();
        let Some(groups) = event.value.as_array().filter(|_| STRICT_EVENTS.contains(&name)) else { continue };
        let bad = |group: &&Value<'_>| {
            group
                .as_object()
                .and_then(|g| member(g, "hooks"))
                .is_none_or(|hooks| hooks.value.as_array().is_none())
        };
        if let Some(group) = groups.elements.iter().find(bad) {
            let message = format!(
                "not a group with a list of hooks: under {name}, Claude Code ignores the whole file because of it"
            );
            warnings.push(document.diagnostic(group.start(), message));
        }
    }
    warnings
}

/// What the plan wants for entries of one role under one event.
enum EntryGoal<'p> {
    Leave,
    Remove,
    /// The entry, the matcher to add it with if it is missing, and whether to add it at all.
    Have(&'p Entry, Option<&'static str>, bool),
}

fn goal_for<'p>(plan: &'p Plan, event: &str, role: Role) -> EntryGoal<'p> {
    match role {
        Role::Notify => {
            let (notify, add) = match &plan.notify {
                Desired::Leave => return EntryGoal::Leave,
                Desired::Remove => return EntryGoal::Remove,
                Desired::Refresh(notify) => (notify, false),
                Desired::Put(notify) => (notify, true),
            };
            match notify.events.iter().find(|e| e.name == event) {
                Some(event) => {
                    EntryGoal::Have(event.entry.as_ref().unwrap_or(&notify.entry), event.matcher, add)
                }
                None => EntryGoal::Remove,
            }
        }
        Role::Guard => only_under(GUARDED_EVENT, &plan.guard, event),
        Role::Wait => only_under(WAITING_EVENT, &plan.wait, event),
    }
}

/// The goal for an entry that belongs under a single event.
fn only_under<'p>(its: &str, desired: &'p Desired<Entry>, event: &str) -> EntryGoal<'p> {
    match desired {
        Desired::Leave => EntryGoal::Leave,
        Desired::Refresh(entry) if event == its => EntryGoal::Have(entry, None, false),
        Desired::Put(entry) if event == its => EntryGoal::Have(entry, None, true),
        _ => EntryGoal::Remove,
    }
}

/// First pass: removes the entries that must go, and the groups, events and `hooks` they leave empty.
fn cut_out(
    document: &SettingsDocument<'_>,
    plan: &Plan,
    pristine: Option<&SettingsDocument<'_>>,
    merged: &mut Merged,
) -> String {
    let found = ours(document, plan.program.as_deref());
    let going = entries_to_remove(&found, plan, merged);
    let cut = Cut { document, pristine, going };
    let mut splices = Splices::default();
    let Some(root) = &document.root else { return splices.apply(document.text) };
    let at = |name: &str| root.properties.iter().position(|member| member.name.as_str() == name);
    let mut members_gone = HashSet::new();
    if let Some(at) = at("hooks")
        && let Some(hooks) = root.properties[at].value.as_object()
        && !cut.going.is_empty()
        && cut.hooks(hooks, &mut splices)
    {
        members_gone.insert(at);
    }
    if plan.status_line == Desired::Remove
        && let Some(at) = at("statusLine")
        && let Some((line, _)) = status_line::ours(&root.properties[at], plan)
        && line.wrapped.is_none()
    {
        members_gone.insert(at);
        merged.status_line_changed = true;
    }
    if !members_gone.is_empty() {
        // A member that is removed as a whole has no inner splices: see `Cut`.
        let before = pristine.and_then(|before| inside_of_empty(before, &before.root.as_ref()?.into()));
        remove(document, &Container::from(root), &members_gone, before, &mut splices);
    }
    splices.apply(document.text)
}

/// Our entries that the plan does not want, or that are there more than once.
fn entries_to_remove<'f, 'a, 'b>(
    found: &'f [OwnEntry<'a, 'b>],
    plan: &Plan,
    merged: &mut Merged,
) -> Vec<&'f OwnEntry<'a, 'b>> {
    let mut going = Vec::new();
    for (i, our) in found.iter().enumerate() {
        let goes = match goal_for(plan, our.event.name.as_str(), our.role) {
            EntryGoal::Leave => false,
            EntryGoal::Remove => true,
            EntryGoal::Have(entry, ..) => keeper(found, our, entry) != Some(i),
        };
        if goes {
            going.push(our);
            match our.role {
                Role::Notify => push_once(&mut merged.removed, our.event.name.as_str()),
                Role::Guard => merged.guard_changed = true,
                Role::Wait => merged.wait_changed = true,
            }
        }
    }
    going
}

/// The first pass over the tree of hooks, from the outside in. Each step removes the items of its container that go, or says
/// that the container goes as a whole and leaves it alone. What the user had empty before install stays, empty, and so does
/// what holds a comment: we write none.
struct Cut<'c> {
    document: &'c SettingsDocument<'c>,
    /// The file as it was before install.
    pristine: Option<&'c SettingsDocument<'c>>,
    going: Vec<&'c OwnEntry<'c, 'c>>,
}

impl Cut<'_> {
    /// `true`: `hooks` goes as a whole.
    fn hooks(&self, hooks: &Object<'_>, splices: &mut Splices) -> bool {
        let events = hooks.properties.iter().enumerate();
        let gone: HashSet<usize> =
            events.filter(|(_, event)| self.event(event, splices)).map(|(at, _)| at).collect();
        let before = self.pristine.and_then(|before| member(before.root.as_ref()?, "hooks"));
        let had_hooks = before.is_some();
        let was_empty = before.and_then(|hooks| self.inside_of_empty(&hooks.value.as_object()?.into()));
        let container = Container::from(hooks);
        let all = !gone.is_empty() && gone.len() == hooks.properties.len();
        if all && !had_hooks && !has_own_comment(self.document, &container) {
            return true;
        }
        remove(self.document, &container, &gone, was_empty, splices);
        false
    }

    /// `true`: the event goes as a whole.
    fn event(&self, event: &ObjectProp<'_>, splices: &mut Splices) -> bool {
        let mut gone = HashSet::new();
        for (at, entries, _) in groups_of(event) {
            if self.group(event, at, entries, splices) {
                gone.insert(at);
            }
        }
        let Some(groups) = event.value.as_array().filter(|_| !gone.is_empty()) else { return false };
        let before = self.pristine.and_then(hooks_of);
        let before = before.and_then(|hooks| member(hooks, event.name.as_str()));
        let had_event = before.is_some();
        let was_empty = before.and_then(|event| self.inside_of_empty(&event.value.as_array()?.into()));
        let container = Container::from(groups);
        let all = gone.len() == groups.elements.len();
        if all && !had_event && !has_own_comment(self.document, &container) {
            return true;
        }
        remove(self.document, &container, &gone, was_empty, splices);
        false
    }

    fn inside_of_empty(&self, container: &Container) -> Option<&str> {
        inside_of_empty(self.pristine?, container)
    }

    /// `true`: the group goes as a whole.
    fn group(&self, event: &ObjectProp<'_>, at: usize, entries: &Array<'_>, splices: &mut Splices) -> bool {
        let goes = |index: &usize| {
            let mut going = self.going.iter();
            going.any(|our| our.event.start() == event.start() && our.group == at && our.index == *index)
        };
        let gone: HashSet<usize> = (0..entries.elements.len()).filter(goes).collect();
        if !gone.is_empty() && gone.len() == entries.elements.len() {
            return true;
        }
        remove(self.document, &Container::from(entries), &gone, None, splices);
        false
    }
}

/// The entry to keep out of several for the same purpose: in a group that matches everything, preferably with the right
/// call already.
fn keeper(found: &[OwnEntry<'_, '_>], like: &OwnEntry<'_, '_>, entry: &Entry) -> Option<usize> {
    let same = |our: &&OwnEntry<'_, '_>| our.event.start() == like.event.start() && our.role == like.role;
    let position = |right: &dyn Fn(&OwnEntry<'_, '_>) -> bool| {
        found.iter().position(|our| same(&our) && our.matches_all && right(our))
    };
    position(&|our| our.call == entry.call).or_else(|| position(&|_| true))
}

/// Second pass: adds what is missing and rewrites what is outdated where it is.
fn put_in(
    document: &SettingsDocument<'_>,
    plan: &Plan,
    pristine: Option<&SettingsDocument<'_>>,
    merged: &mut Merged,
) -> String {
    let layout = Layout::of(document);
    let found = ours(document, plan.program.as_deref());
    merged.foreign = count_entries(document) - found.len();
    let mut splices = Splices::default();
    for our in &found {
        if let EntryGoal::Have(entry, ..) = goal_for(plan, our.event.name.as_str(), our.role) {
            let changed = refresh(our, entry, &layout, &mut splices);
            match our.role {
                Role::Guard => merged.guard_changed |= changed,
                Role::Wait => merged.wait_changed |= changed,
                Role::Notify if changed => merged.updated.push(our.event.name.as_str().to_owned()),
                Role::Notify => merged.kept += 1,
            }
        }
    }
    let missing = missing(plan, &found, merged);
    let mut members = Vec::new();
    let hooks = hooks_of(document);
    let mut events = Vec::new();
    for (event, groups) in missing {
        let groups: Vec<String> = groups.iter().map(|group| group.render(&layout)).collect();
        match hooks.and_then(|hooks| member(hooks, &event)).and_then(|event| event.value.as_array()) {
            Some(array) => append(document, &layout, &Container::from(array), &groups, &mut splices),
            None => events.push((event, layout.spacing.array(groups))),
        }
    }
    match hooks {
        Some(hooks) if !events.is_empty() => {
            let items: Vec<String> = events.iter().map(|(name, value)| layout.member(name, value)).collect();
            append(document, &layout, &Container::from(hooks), &items, &mut splices);
        }
        None if !events.is_empty() => members.push(layout.member("hooks", &layout.nested_object(&events))),
        _ => {}
    }
    members.extend(status_line::put_in(document, plan, &layout, pristine, &mut splices, merged));
    match &document.root {
        Some(root) if !members.is_empty() => {
            append(document, &layout, &Container::from(root), &members, &mut splices);
        }
        None if !members.is_empty() => {
            splices.insert(document.text.len(), layout.whole_file(document, &members))
        }
        _ => {}
    }
    splices.apply(document.text)
}

/// A group of ours to add to an event.
struct NewGroup<'p> {
    matcher: Option<&'static str>,
    entry: &'p Entry,
}

impl NewGroup<'_> {
    fn render(&self, layout: &Layout) -> String {
        let spacing = layout.spacing;
        let matcher = self.matcher.map(|matcher| ("matcher", json_string(matcher)));
        let hooks = ("hooks", spacing.array([self.entry.render(spacing)]));
        spacing.object(matcher.into_iter().chain([hooks]))
    }
}

/// The groups that the plan wants and the file lacks, by event, in the plan's order.
fn missing<'p>(
    plan: &'p Plan,
    found: &[OwnEntry<'_, '_>],
    merged: &mut Merged,
) -> Vec<(String, Vec<NewGroup<'p>>)> {
    let mut events: Vec<&str> = match &plan.notify {
        Desired::Put(notify) => notify.events.iter().map(|event| event.name.as_str()).collect(),
        _ => Vec::new(),
    };
    if matches!(plan.guard, Desired::Put(_)) && !events.contains(&GUARDED_EVENT) {
        events.push(GUARDED_EVENT);
    }
    if matches!(plan.wait, Desired::Put(_)) && !events.contains(&WAITING_EVENT) {
        events.push(WAITING_EVENT);
    }
    let mut missing = Vec::new();
    for event in events {
        let mut groups = Vec::new();
        for role in [Role::Notify, Role::Guard, Role::Wait] {
            let stands = found.iter().any(|our| our.event.name.as_str() == event && our.role == role);
            if let EntryGoal::Have(entry, matcher, true) = goal_for(plan, event, role)
                && !stands
            {
                groups.push(NewGroup { matcher, entry });
                match role {
                    Role::Notify => merged.added.push(event.to_owned()),
                    Role::Guard => merged.guard_changed = true,
                    Role::Wait => merged.wait_changed = true,
                }
            }
        }
        if !groups.is_empty() {
            missing.push((event.to_owned(), groups));
        }
    }
    missing
}

/// Rewrites an entry that calls something else, or only its path if nothing else changed. Returns whether it did.
fn refresh(our: &OwnEntry<'_, '_>, entry: &Entry, layout: &Layout, splices: &mut Splices) -> bool {
    let on_failure_differs =
        entry.on_failure.as_deref().is_some_and(|want| entry::text_of(our.entry, "onFailure") != Some(want));
    if our.call == entry.call && !on_failure_differs {
        return false;
    }
    let only_path = match (&our.call, &entry.call) {
        (Call::Exec { args: a, .. }, Call::Exec { args: b, .. }) => a == b && !on_failure_differs,
        (Call::Shell(_), Call::Shell(_)) => !on_failure_differs,
        _ => false,
    };
    match (member(our.entry, "command").filter(|_| only_path), &entry.call) {
        (Some(command), Call::Exec { program: text, .. } | Call::Shell(text)) => {
            splices.replace(command.value.start()..command.value.end(), json_string(text));
        }
        (None, _) => splices.replace(our.entry.start()..our.entry.end(), entry.render(layout.spacing)),
    }
    true
}

fn count_entries(document: &SettingsDocument<'_>) -> usize {
    let events = hooks_of(document).into_iter().flat_map(|hooks| &hooks.properties);
    events.flat_map(groups_of).map(|(_, entries, _)| entries.elements.len()).sum()
}

fn push_once(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|n| n == name) {
        names.push(name.to_owned());
    }
}
