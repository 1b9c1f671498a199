//! Reads a pattern into nodes, and links each node to the one that follows it.

mod escape;

use super::class::Set;
use super::{Id, Link, Node, Pattern, Repeat};
use std::mem::take;

/// A number of rounds without a bound.
const ENDLESS: u32 = u32::MAX;

/// Where and why reading ended.
pub(crate) struct Error {
    pub(crate) why: String,
    pub(crate) at: usize,
}

type Parsed<T> = Result<T, Error>;

fn fault<T>(at: usize, why: impl Into<String>) -> Parsed<T> {
    Err(Error { why: why.into(), at })
}

/// What `(?ims-ims:` switches.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multiline: bool,
    dot_all: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    /// `(?:`, and the whole pattern.
    Plain,
    Group(usize),
    Look {
        behind: bool,
        negated: bool,
    },
}

/// A group that is not closed yet.
struct Open {
    kind: Kind,
    at: usize,
    /// What there was before it.
    flags: Flags,
    groups: usize,
    names: usize,
    /// The alternatives that are complete, and the nodes of the current one.
    options: Vec<Id>,
    items: Vec<Id>,
}

/// The name of a group.
struct Name {
    name: String,
    group: usize,
    /// Whether the group can match together with one that begins here. Groups in different alternatives cannot, and may
    /// have the same name.
    near: bool,
}

struct Parser<'u> {
    units: &'u [u16],
    at: usize,
    nodes: Vec<Node>,
    open: Vec<Open>,
    flags: Flags,
    groups: usize,
    repeats: usize,
    names: Vec<Name>,
    /// Each `\k<name>`: its group may come later.
    named: Vec<(Id, String, usize)>,
    /// What the whole pattern has: the meaning of `\3` and `\k` depends on it.
    all_groups: usize,
    has_names: bool,
}

pub(crate) fn parse(units: &[u16]) -> Parsed<Pattern> {
    let (all_groups, has_names) = survey(units);
    let mut parser = Parser {
        units,
        at: 0,
        nodes: vec![Node::Done],
        open: Vec::new(),
        flags: Flags::default(),
        groups: 0,
        repeats: 0,
        names: Vec::new(),
        named: Vec::new(),
        all_groups,
        has_names,
    };
    let root = parser.whole()?;
    let links = link(&parser.nodes, root);
    Ok(Pattern { links, root, groups: parser.groups, repeats: parser.repeats, nodes: parser.nodes })
}

/// How many groups capture, and whether one of them has a name.
fn survey(units: &[u16]) -> (usize, bool) {
    let (mut groups, mut has_names, mut in_class) = (0, false, false);
    let mut at = 0;
    while at < units.len() {
        let sign = |offset: usize| units.get(at + offset).map_or(0, |unit| ascii(*unit));
        match sign(0) {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'(' if !in_class => {
                let is_named = sign(1) == b'?' && sign(2) == b'<' && !matches!(sign(3), b'=' | b'!');
                has_names |= is_named;
                groups += usize::from(is_named || sign(1) != b'?');
            }
            _ => {}
        }
        at += 1;
    }
    (groups, has_names)
}

/// The unit as ASCII; 0, which means nothing in a pattern, for any other.
fn ascii(unit: u16) -> u8 {
    u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(0)
}

impl Parser<'_> {
    fn peek(&self) -> Option<u16> {
        self.units.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u16> {
        let unit = self.peek()?;
        self.at += 1;
        Some(unit)
    }

    fn eat(&mut self, sign: u8) -> bool {
        let is_next = self.peek() == Some(sign.into());
        self.at += usize::from(is_next);
        is_next
    }

    /// The next unit as a digit.
    fn digit(&mut self, radix: u32) -> Option<u32> {
        let digit = char::from(ascii(self.peek()?)).to_digit(radix)?;
        self.at += 1;
        Some(digit)
    }

    fn push(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn item(&mut self, id: Id) {
        if let Some(open) = self.open.last_mut() {
            open.items.push(id);
        }
    }

    fn whole(&mut self) -> Parsed<Id> {
        self.begin(Kind::Plain, 0);
        while self.at < self.units.len() {
            self.term()?;
        }
        if let [_, .., open] = self.open.as_slice() {
            return fault(open.at, "this group is never closed");
        }
        for (id, name, at) in take(&mut self.named) {
            let named = self.names.iter().filter(|known| known.name == name);
            let groups: Vec<usize> = named.map(|known| known.group).collect();
            if groups.is_empty() {
                return fault(at, format!("no group has the name {name:?}"));
            }
            let ignore_case = matches!(self.nodes[id], Node::Again { ignore_case: true, .. });
            self.nodes[id] = Node::Again { groups, ignore_case };
        }
        Ok(self.end().map_or(0, |(_, body)| body))
    }

    fn term(&mut self) -> Parsed<()> {
        let (at, groups) = (self.at, self.groups);
        if self.quantifier().is_some() {
            return fault(at, "there is nothing to repeat before this");
        }
        let Flags { multiline, dot_all, .. } = self.flags;
        let Some(unit) = self.take() else { return Ok(()) };
        let node = match ascii(unit) {
            b'|' => {
                self.option();
                return Ok(());
            }
            b'(' => return self.open(at),
            b')' => return self.close(at),
            b'^' => return self.assertion(Node::Start { of_line: multiline }),
            b'$' => return self.assertion(Node::End { of_line: multiline }),
            b'\\' if self.eat(b'b') => return self.assertion(Node::WordEdge { negated: false }),
            b'\\' if self.eat(b'B') => return self.assertion(Node::WordEdge { negated: true }),
            b'\\' => self.escape(at)?,
            b'[' => self.class(at)?,
            b'.' => Node::Set(Set::any(dot_all)),
            _ => self.unit(unit),
        };
        let id = self.push(node);
        self.quantified(id, groups)
    }

    fn unit(&self, unit: u16) -> Node {
        Node::Unit { unit, ignore_case: self.flags.ignore_case }
    }

    /// Assertions cannot be repeated.
    fn assertion(&mut self, node: Node) -> Parsed<()> {
        let id = self.push(node);
        self.item(id);
        Ok(())
    }

    /// Adds what can be repeated, together with the quantifier after it. `groups` is how many there were before.
    fn quantified(&mut self, body: Id, groups: usize) -> Parsed<()> {
        let at = self.at;
        let Some((least, most)) = self.quantifier() else {
            self.item(body);
            return Ok(());
        };
        if least > most {
            return fault(at, "the numbers in these braces are out of order");
        }
        let greedy = !self.eat(b'?');
        let (index, groups) = (self.repeats, groups + 1..self.groups + 1);
        self.repeats += 1;
        let id = self.push(Node::Repeat(Repeat { body, least, most, greedy, groups, index }));
        self.push(Node::RepeatEnd);
        self.item(id);
        Ok(())
    }

    /// The least and the most rounds, if there is a quantifier here. Braces in any other form stand for themselves.
    fn quantifier(&mut self) -> Option<(u32, u32)> {
        let from = self.at;
        let bounds = match ascii(self.take()?) {
            b'*' => Some((0, ENDLESS)),
            b'+' => Some((1, ENDLESS)),
            b'?' => Some((0, 1)),
            b'{' => self.braces(),
            _ => None,
        };
        if bounds.is_none() {
            self.at = from;
        }
        bounds
    }

    fn braces(&mut self) -> Option<(u32, u32)> {
        let least = self.number()?;
        let most = if self.eat(b',') { self.number().unwrap_or(ENDLESS) } else { least };
        self.eat(b'}').then_some((least, most))
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = self.digit(10)?;
        while let Some(digit) = self.digit(10) {
            number = number.saturating_mul(10).saturating_add(digit);
        }
        Some(number)
    }

    fn begin(&mut self, kind: Kind, at: usize) {
        let (flags, groups, names) = (self.flags, self.groups, self.names.len());
        self.open.push(Open { kind, at, flags, groups, names, options: Vec::new(), items: Vec::new() });
    }

    /// Ends an alternative.
    fn option(&mut self) {
        let Some(open) = self.open.last_mut() else { return };
        self.nodes.push(Node::Sequence(take(&mut open.items)));
        open.options.push(self.nodes.len() - 1);
        self.names[open.names..].iter_mut().for_each(|name| name.near = false);
    }

    /// Ends the innermost group and gives its body.
    fn end(&mut self) -> Option<(Open, Id)> {
        self.option();
        let mut open = self.open.pop()?;
        self.flags = open.flags;
        self.names[open.names..].iter_mut().for_each(|name| name.near = true);
        let body = match open.options.as_slice() {
            [only] => *only,
            _ => self.push(Node::Either(take(&mut open.options))),
        };
        Some((open, body))
    }

    /// Reads what follows `(`.
    fn open(&mut self, at: usize) -> Parsed<()> {
        let look = |behind, negated| Kind::Look { behind, negated };
        let mut flags = self.flags;
        let mut name = None;
        let kind = if !self.eat(b'?') {
            Kind::Group(self.groups + 1)
        } else if self.eat(b':') {
            Kind::Plain
        } else if self.eat(b'=') {
            look(false, false)
        } else if self.eat(b'!') {
            look(false, true)
        } else if !self.eat(b'<') {
            flags = self.modifiers(at)?;
            Kind::Plain
        } else if self.eat(b'=') {
            look(true, false)
        } else if self.eat(b'!') {
            look(true, true)
        } else {
            name = Some(self.name()?);
            Kind::Group(self.groups + 1)
        };
        // A name belongs to the alternative that its group is in.
        if let Some(name) = name {
            if self.names.iter().any(|known| known.near && known.name == name) {
                return fault(at, format!("another group has the name {name:?} too"));
            }
            self.names.push(Name { name, group: self.groups + 1, near: true });
        }
        self.begin(kind, at);
        self.flags = flags;
        self.groups += usize::from(matches!(kind, Kind::Group(_)));
        Ok(())
    }

    /// The flags of `(?i-s:`.
    fn modifiers(&mut self, at: usize) -> Parsed<Flags> {
        let mut flags = self.flags;
        let (mut seen, mut on) = (Vec::new(), true);
        loop {
            let sign = self.take().map_or(0, ascii);
            let flag = match sign {
                b':' if !seen.is_empty() => return Ok(flags),
                b'-' if on => {
                    on = false;
                    continue;
                }
                b'i' => &mut flags.ignore_case,
                b'm' => &mut flags.multiline,
                b's' => &mut flags.dot_all,
                _ => return fault(at, "JavaScript has no group that begins like this"),
            };
            if seen.contains(&sign) {
                return fault(at, "this group names a flag twice");
            }
            seen.push(sign);
            *flag = on;
        }
    }

    fn close(&mut self, at: usize) -> Parsed<()> {
        if self.open.len() < 2 {
            return fault(at, "this closes no group");
        }
        let Some((open, body)) = self.end() else { return Ok(()) };
        let (node, end) = match open.kind {
            Kind::Plain => return self.quantified(body, open.groups),
            Kind::Group(index) => (Node::Group { index, body }, Node::GroupEnd { index }),
            Kind::Look { behind, negated } => (Node::Look { body, behind, negated }, Node::LookEnd),
        };
        let id = self.push(node);
        self.push(end);
        if matches!(open.kind, Kind::Look { behind: true, .. }) {
            self.item(id);
            return Ok(());
        }
        self.quantified(id, open.groups)
    }
}

/// Where each node leads to. The body of a lookbehind is read backward, its last item first.
fn link(nodes: &[Node], root: Id) -> Vec<Link> {
    let mut links = vec![Link::default(); nodes.len()];
    let mut todo = vec![(root, Link::default())];
    while let Some((id, link)) = todo.pop() {
        links[id] = link;
        match &nodes[id] {
            Node::Sequence(items) => {
                for place in 0..items.len() {
                    let item = if link.backward { items[place] } else { items[items.len() - 1 - place] };
                    todo.push((item, Link { next: links[id].next, ..link }));
                    links[id].next = item;
                }
            }
            Node::Either(options) => todo.extend(options.iter().map(|option| (*option, link))),
            Node::Group { body, .. } | Node::Repeat(Repeat { body, .. }) => {
                links[id + 1] = link;
                todo.push((*body, Link { next: id + 1, ..link }));
            }
            Node::Look { body, behind, .. } => todo.push((*body, Link { next: id + 1, backward: *behind })),
            _ => {}
        }
    }
    links
}
