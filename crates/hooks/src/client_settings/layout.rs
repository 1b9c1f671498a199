//! Where in the text an element is added or removed, in the style of what is already there.
//!
//! Adding and removing are inverse: an element comes with the blanks before it and one comma, and goes with them.

use crate::client_settings::document::{Container, SettingsDocument, Splices};
use crate::client_settings::entry::{Spacing, json_string};
use jsonc_parser::common::Ranged;
use std::collections::HashSet;

/// How the file is formatted: line breaks, indentation, spacing.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    newline: &'static str,
    unit: String,
    /// Everything is on one line, and stays there.
    one_line: bool,
    pub spacing: Spacing,
}

impl Layout {
    pub(super) fn of(document: &SettingsDocument<'_>) -> Layout {
        let text = document.text;
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let mut layout = Layout { newline, unit: "  ".into(), one_line: false, spacing: Spacing::Spaced };
        let Some(first) = document.root.as_ref().and_then(|root| root.properties.first()) else {
            return layout;
        };
        let root = document.root.as_ref().map_or(0..0, |root| Container::from(root).range);
        layout.one_line = !text[root].contains('\n');
        if layout.one_line && &text[first.name.end()..first.value.start()] == ":" {
            layout.spacing = Spacing::Compact;
        }
        if let Some(indent) = own_line_indent(text, first.range.start).filter(|indent| !indent.is_empty()) {
            layout.unit = indent.to_owned();
        }
        layout
    }

    pub(super) fn member(&self, name: &str, value: &str) -> String {
        format!("{}{}{value}", json_string(name), self.spacing.colon())
    }

    /// An object one level below the top: one member per line, or all on one line if the file is like that.
    pub(super) fn nested_object(&self, members: &[(String, String)]) -> String {
        let members: Vec<String> = members.iter().map(|(name, value)| self.member(name, value)).collect();
        if self.one_line {
            return format!("{{{}}}", members.join(self.spacing.comma()));
        }
        let (nl, unit) = (self.newline, &self.unit);
        format!("{{{nl}{unit}{unit}{}{nl}{unit}}}", members.join(&format!(",{nl}{unit}{unit}")))
    }

    /// The object for a file that has none; it goes after any comments.
    pub(super) fn whole_file(&self, document: &SettingsDocument<'_>, members: &[String]) -> String {
        let (nl, unit) = (self.newline, &self.unit);
        let (solid, line_comment) = document.solid_before(document.text.len());
        let broken = document.text[solid..].contains('\n');
        let lead =
            if solid > 0 && !broken && (line_comment || solid == document.text.len()) { nl } else { "" };
        format!("{lead}{{{nl}{unit}{}{nl}}}{nl}", members.join(&format!(",{nl}{unit}")))
    }
}

/// Adds `items` at the end of `container`.
pub(super) fn append(
    document: &SettingsDocument<'_>,
    layout: &Layout,
    container: &Container,
    items: &[String],
    splices: &mut Splices,
) {
    let text = document.text;
    let close = container.range.end - 1;
    let (solid, line_comment) = document.solid_before(close);
    let tail_breaks = text[solid..close].contains('\n');
    let outer = line_indent(text, container.range.start);
    let is_object = text[close..].starts_with('}');

    let Some(last) = container.elements.last() else {
        let block = line_comment || tail_breaks || (is_object && !layout.one_line);
        let separator =
            if block { format!("{}{outer}{}", layout.newline, layout.unit) } else { String::new() };
        let between = if block { format!(",{separator}") } else { layout.spacing.comma().to_owned() };
        let end = if block && !tail_breaks { format!("{}{outer}", layout.newline) } else { String::new() };
        let tail = if tail_breaks { solid..solid } else { solid..close };
        splices.replace(tail, format!("{separator}{}{end}", items.join(&between)));
        return;
    };
    let blanks = blanks_before(text, last.start);
    let block = line_comment || text[blanks..last.start].contains('\n');
    let separator = if block {
        let indent = own_line_indent(text, last.start)
            .map_or_else(|| format!("{outer}{}", layout.unit), str::to_owned);
        format!("{}{indent}", layout.newline)
    } else {
        layout.spacing.comma()[1..].to_owned()
    };
    let trailing = document.comma_after(last.end).is_some();
    if !trailing {
        splices.insert(last.end, ",");
    }
    let mut added: String = items.iter().map(|item| format!("{separator}{item},")).collect();
    if !trailing {
        added.pop();
    }
    splices.insert(solid, added);
}

/// Removes the elements in `gone` from `container`, each with the blanks before it and a comma. `was_empty` is what was
/// between the brackets before install, if no element was: blanks and comments, which adding may have changed.
pub(super) fn remove(
    document: &SettingsDocument<'_>,
    container: &Container,
    gone: &HashSet<usize>,
    was_empty: Option<&str>,
    splices: &mut Splices,
) {
    if gone.is_empty() {
        return;
    }
    let text = document.text;
    let inner = container.range.start + 1..container.range.end - 1;
    let all = gone.len() == container.elements.len();
    if let Some(before) = was_empty.filter(|before| all && is_same(before, &left_over(document, container))) {
        splices.replace(inner, before);
        return;
    }
    if all && !has_own_comment(document, container) {
        splices.delete(inner);
        return;
    }
    let comma = |i: usize| document.comma_after(container.elements[i].end);
    // At the front, the blanks after the bracket stay, and those before the first remaining element go with the rest.
    let lead = (0..container.elements.len()).take_while(|i| gone.contains(i)).count();
    let front = container.elements.get(lead).map(|stays| container.elements[0].start..stays.start);
    let front = front.filter(|front| lead > 0 && !document.has_comment(front));
    let skip = if front.is_some() { lead } else { 0 };
    if let Some(front) = front {
        splices.delete(front);
    }
    for (i, element) in container.elements.iter().enumerate().skip(skip) {
        if gone.contains(&i) {
            splices.delete(blanks_before(text, element.start)..element.end);
            if let Some(comma) = comma(i) {
                splices.delete(comma);
            }
        }
    }
    // The last remaining element may now be followed by nothing, and then needs no comma.
    let end = container.elements.len() - 1;
    let survivor = (0..=end).rev().find(|i| !gone.contains(i));
    if let Some(survivor) = survivor.filter(|survivor| *survivor < end && comma(end).is_none())
        && let Some(comma) = comma(survivor)
    {
        splices.delete(comma);
    }
}

/// What is between the brackets of `container`, if nothing is an element of it.
pub(super) fn inside_of_empty<'a>(document: &SettingsDocument<'a>, container: &Container) -> Option<&'a str> {
    let inner = container.range.start + 1..container.range.end - 1;
    container.elements.is_empty().then(|| &document.text[inner])
}

/// What is between the brackets beside the elements and their commas.
fn left_over(document: &SettingsDocument<'_>, container: &Container) -> String {
    let mut rest = String::new();
    let mut from = container.range.start + 1;
    for element in &container.elements {
        rest.push_str(&document.text[from..element.start]);
        from = element.end;
        if let Some(comma) = document.comma_after(element.end) {
            rest.push_str(&document.text[from..comma.start]);
            from = comma.end;
        }
    }
    rest.push_str(&document.text[from..container.range.end - 1]);
    rest
}

/// Whether two texts differ only in blanks.
fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().flat_map(str::chars).eq(other.split_whitespace().flat_map(str::chars))
}

/// Whether there is a comment between the elements; one inside an element goes with it.
pub(super) fn has_own_comment(document: &SettingsDocument<'_>, container: &Container) -> bool {
    let starts = container.elements.iter().map(|element| element.start).chain([container.range.end]);
    let ends =
        [container.range.start].into_iter().chain(container.elements.iter().map(|element| element.end));
    ends.zip(starts).any(|(from, to)| document.has_comment(&(from..to)))
}

/// Where the blanks right before `at` start.
fn blanks_before(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches([' ', '\t', '\r', '\n']).len()
}

/// The blanks at the start of the line that contains `at`.
fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |i| i + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The indentation of what starts at `at`, if it is first on its line and not on the first line.
fn own_line_indent(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    Some(&text[start..at]).filter(|lead| lead.chars().all(|c| c == ' ' || c == '\t'))
}
