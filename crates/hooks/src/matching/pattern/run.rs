//! Searches for a pattern by backtracking, with the open choices on a stack of its own.

use super::class::{folded, is_line_end, is_word};
use super::{Captures, GaveUp, Id, Node, Pattern, Repeat};

/// Steps that one search may take: some hundredths of a second. A matcher that needs more is one that backtracks
/// without end, in the client too.
const MOST_STEPS: usize = 1_000_000;

const UNSET: usize = usize::MAX;

pub(crate) fn find(pattern: &Pattern, text: &[u16]) -> Result<Option<Captures>, GaveUp> {
    let captures = 2 * (pattern.groups + 1);
    let slots = vec![UNSET; captures + 2 * pattern.repeats];
    let mut run = Run { pattern, text, captures, slots, choices: Vec::new(), trail: Vec::new(), steps: 0 };
    for start in 0..=text.len() {
        if let Some(end) = run.from(start)? {
            run.slots[..2].copy_from_slice(&[start, end]);
            let pairs = run.slots[..captures].chunks_exact(2);
            let range = |pair: &[usize]| (!pair.contains(&UNSET)).then(|| pair[0]..pair[1]);
            return Ok(Some(pairs.map(range).collect()));
        }
    }
    Ok(None)
}

/// Where to go on, and the place in the text.
type Step = (Id, usize);

struct Run<'p> {
    pattern: &'p Pattern,
    text: &'p [u16],
    /// How many slots the captures take.
    captures: usize,
    /// The start and end of each group, then the rounds and the start of the round of each repeat.
    slots: Vec<usize>,
    choices: Vec<Choice>,
    /// The former values of changed slots, for the way back.
    trail: Vec<(usize, usize)>,
    steps: usize,
}

/// What else can be tried, from a place in the text and with the slots as they were.
struct Choice {
    what: Untried,
    at: usize,
    trail: usize,
}

#[derive(Clone, Copy)]
enum Untried {
    Node(Id),
    /// An alternative.
    Option(Id, usize),
    /// Another round of a lazy repeat.
    Round(Id),
    /// Nothing in a lookaround is left to try.
    Look(Id),
}

impl Run<'_> {
    /// The end of the match that begins at `start`.
    fn from(&mut self, start: usize) -> Result<Option<usize>, GaveUp> {
        let (mut id, mut at) = (self.pattern.root, start);
        loop {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(GaveUp);
            }
            if let Node::Done = self.pattern.nodes[id] {
                return Ok(Some(at));
            }
            match self.step(id, at).or_else(|| self.back()) {
                Some(step) => (id, at) = step,
                None => {
                    self.unwind(0);
                    return Ok(None);
                }
            }
        }
    }

    fn step(&mut self, id: Id, at: usize) -> Option<Step> {
        let pattern = self.pattern;
        let next = pattern.links[id].next;
        let holds = |condition: bool| condition.then_some((next, at));
        match &pattern.nodes[id] {
            Node::Done | Node::Sequence(_) => Some((next, at)),
            Node::Unit { unit, ignore_case } => {
                let (found, at) = self.read(id, at)?;
                let fits = found == *unit || *ignore_case && folded(found) == folded(*unit);
                fits.then_some((next, at))
            }
            Node::Set(set) => {
                let (found, at) = self.read(id, at)?;
                set.has(found).then_some((next, at))
            }
            Node::Again { groups, ignore_case } => Some((next, self.again(id, at, groups, *ignore_case)?)),
            Node::Start { of_line } => holds(at == 0 || *of_line && is_line_end(self.text[at - 1])),
            Node::End { of_line } => holds(at == self.text.len() || *of_line && is_line_end(self.text[at])),
            Node::WordEdge { negated } => {
                let before = at > 0 && is_word(self.text[at - 1]);
                let after = self.text.get(at).is_some_and(|unit| is_word(*unit));
                holds((before != after) != *negated)
            }
            Node::Either(_) => self.option(id, 0, at),
            Node::Group { index, body } => {
                self.set(2 * index + usize::from(pattern.links[id].backward), at);
                Some((*body, at))
            }
            Node::GroupEnd { index } => {
                self.set(2 * index + usize::from(!pattern.links[id].backward), at);
                Some((next, at))
            }
            Node::Look { body, .. } => {
                self.choose(Untried::Look(id), at);
                Some((*body, at))
            }
            Node::LookEnd => self.seen(id - 1),
            Node::Repeat(repeat) => {
                self.set(self.captures + 2 * repeat.index, 0);
                self.repeat(id, repeat, at)
            }
            Node::RepeatEnd => self.round_ends(id - 1, at),
        }
    }

    /// The next unit in the node's direction, and the place behind it.
    fn read(&self, id: Id, at: usize) -> Option<(u16, usize)> {
        if self.pattern.links[id].backward {
            let before = at.checked_sub(1)?;
            return Some((self.text[before], before));
        }
        Some((*self.text.get(at)?, at + 1))
    }

    /// The place behind what a group has matched, if the same text is here, too. A group that has not matched is empty.
    fn again(&mut self, id: Id, at: usize, groups: &[usize], ignore_case: bool) -> Option<usize> {
        let of = |group: &usize| (self.slots[2 * group], self.slots[2 * group + 1]);
        let captured = groups.iter().map(of).find(|(start, end)| *start != UNSET && *end != UNSET);
        let Some((start, end)) = captured else { return Some(at) };
        let length = end - start;
        self.steps += length + groups.len();
        let (from, to) = if self.pattern.links[id].backward {
            (at.checked_sub(length)?, at.checked_sub(length)?)
        } else {
            (at, at + length)
        };
        let same = |(a, b): (&u16, &u16)| a == b || ignore_case && folded(*a) == folded(*b);
        let here = self.text.get(from..from + length)?;
        self.text[start..end].iter().zip(here).all(same).then_some(to)
    }

    fn option(&mut self, id: Id, number: usize, at: usize) -> Option<Step> {
        let Node::Either(options) = &self.pattern.nodes[id] else { return None };
        if number + 1 < options.len() {
            self.choose(Untried::Option(id, number + 1), at);
        }
        Some((options[number], at))
    }

    /// Before a round: whether there is one.
    fn repeat(&mut self, id: Id, repeat: &Repeat, at: usize) -> Option<Step> {
        let rounds = self.slots[self.captures + 2 * repeat.index];
        let after = self.pattern.links[id].next;
        if rounds >= repeat.most as usize {
            return Some((after, at));
        }
        if rounds >= repeat.least as usize {
            if !repeat.greedy {
                self.choose(Untried::Round(id), at);
                return Some((after, at));
            }
            self.choose(Untried::Node(after), at);
        }
        self.round(id, at)
    }

    fn round(&mut self, id: Id, at: usize) -> Option<Step> {
        let Node::Repeat(repeat) = &self.pattern.nodes[id] else { return None };
        self.set(self.captures + 2 * repeat.index + 1, at);
        self.steps += repeat.groups.len();
        for slot in 2 * repeat.groups.start..2 * repeat.groups.end {
            self.set(slot, UNSET);
        }
        Some((repeat.body, at))
    }

    /// After a round. One that was not needed and matched nothing would go on forever.
    fn round_ends(&mut self, id: Id, at: usize) -> Option<Step> {
        let Node::Repeat(repeat) = &self.pattern.nodes[id] else { return None };
        let slot = self.captures + 2 * repeat.index;
        let rounds = self.slots[slot];
        if rounds >= repeat.least as usize && self.slots[slot + 1] == at {
            return None;
        }
        self.set(slot, rounds + 1);
        self.repeat(id, repeat, at)
    }

    /// The body of a lookaround has matched: what else it could match does not count any more.
    fn seen(&mut self, id: Id) -> Option<Step> {
        let Node::Look { negated, .. } = self.pattern.nodes[id] else { return None };
        let place = self.choices.iter().rposition(|choice| matches!(choice.what, Untried::Look(_)))?;
        let Choice { at, trail, .. } = self.choices[place];
        self.choices.truncate(place);
        if negated {
            self.unwind(trail);
            return None;
        }
        Some((self.pattern.links[id].next, at))
    }

    fn choose(&mut self, what: Untried, at: usize) {
        self.choices.push(Choice { what, at, trail: self.trail.len() });
    }

    /// Goes back to the last choice.
    fn back(&mut self) -> Option<Step> {
        while let Some(Choice { what, at, trail }) = self.choices.pop() {
            self.unwind(trail);
            match what {
                Untried::Node(id) => return Some((id, at)),
                Untried::Option(id, number) => return self.option(id, number, at),
                Untried::Round(id) => return self.round(id, at),
                Untried::Look(id) => {
                    if let Node::Look { negated: true, .. } = self.pattern.nodes[id] {
                        return Some((self.pattern.links[id].next, at));
                    }
                }
            }
        }
        None
    }

    fn set(&mut self, slot: usize, value: usize) {
        let former = std::mem::replace(&mut self.slots[slot], value);
        if former != value {
            self.trail.push((slot, former));
        }
    }

    fn unwind(&mut self, length: usize) {
        for (slot, former) in self.trail.drain(length..).rev() {
            self.slots[slot] = former;
        }
    }
}
