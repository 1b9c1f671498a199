//! Turns: what was said. A hook and the transcript report the same text, in either order; it counts once.

use crate::engine::agent::{RecordedTurn, SaidText};
use crate::engine::step::{Step, remember};
use crate::engine::{hash, intent};
use crate::model::*;
use crate::stamp::Stamp;
use crate::text::{last_sentence, one_line, without_marks};
use std::time::Duration;

/// How far apart the hook and the transcript may stamp the same text.
const SAME_TEXT_WITHIN: Duration = Duration::from_secs(120);
/// A prompt's transcript line may have other words (pasted text, expansions); then only the time matches them.
const SAME_PROMPT_WITHIN: Duration = Duration::from_secs(2);

pub(in crate::engine) fn apart(a: Stamp, b: Stamp) -> Duration {
    a.since(b).max(b.since(a))
}

/// Something said, before it becomes a turn.
pub(in crate::engine) struct Words<'a> {
    pub actor: Actor,
    pub intent: Intent,
    pub text: &'a str,
    pub command_id: Option<i64>,
    pub at: Stamp,
    pub uuid: Option<String>,
    /// Reported by the transcript, with its own time.
    pub jsonl: bool,
}

impl Step<'_> {
    /// A turn of this event, in the open command.
    pub fn say(&mut self, actor: Actor, intent: Intent, text: &str) {
        self.turn(Words {
            actor,
            intent,
            text,
            command_id: self.agent.command.as_ref().map(|command| command.id),
            at: self.event.at,
            uuid: self.event.text("uuid").map(String::from),
            jsonl: self.event.source == Source::Transcript,
        });
    }

    /// A question that was over before its event arrived, unless a notification already reported it.
    pub fn past_question(&mut self, text: &str) {
        let (wanted, command_id) = (hash::text(text), self.command_at(self.event.at));
        let reported = self.agent.memory.turns.iter().any(|turn| {
            turn.intent == Intent::Question && turn.text == wanted && turn.command_id == command_id
        });
        if !reported {
            let (actor, intent, at) = (Actor::Agent, Intent::Question, self.event.at);
            self.turn(Words { actor, intent, text, command_id, at, uuid: None, jsonl: false });
        }
    }

    /// The user's answer in a dialog, in the command that asked.
    pub fn reply(&mut self, text: &str) {
        let open = self.agent.command.as_ref().filter(|_| self.fresh).map(|command| command.id);
        self.turn(Words {
            actor: Actor::User,
            intent: Intent::Answer,
            text,
            command_id: open.or_else(|| self.command_at(self.event.at)),
            at: self.event.at,
            uuid: self.event.text("uuid").map(String::from),
            jsonl: false,
        });
    }

    /// Records a turn, unless the text is empty.
    pub fn turn(&mut self, words: Words) {
        if words.text.trim().is_empty() {
            return;
        }
        self.counters.turn += 1;
        self.agent.turn_count += 1;
        if words.actor == Actor::Agent && words.intent != Intent::Question && words.at >= self.agent.turn_at {
            self.agent.last_said = Some(one_line(&without_marks(words.text), 160));
            self.agent.last_words = Some(last_sentence(words.text, 160)).filter(|text| !text.is_empty());
        }
        remember(
            &mut self.agent.memory.turns,
            RecordedTurn {
                turn_id: self.counters.turn,
                command_id: words.command_id,
                actor: words.actor,
                intent: words.intent,
                text: hash::text(words.text),
                at: words.at,
                uuid: words.uuid.clone(),
                by_hook: self.event.source == Source::Hook && !words.jsonl,
                by_transcript: words.jsonl || words.uuid.is_some(),
            },
        );
        let turn = self.row(self.counters.turn, words);
        self.changes.push(Change::Turn(turn));
    }

    fn row(&self, id: i64, words: Words) -> Turn {
        Turn {
            id,
            agent_id: self.agent.id,
            session_id: self.event.session_id.clone(),
            command_id: words.command_id,
            actor: words.actor,
            intent: words.intent,
            text: words.text.to_string(),
            timestamp: words.at,
            timestamp_source: if words.jsonl { TimestampSource::Jsonl } else { TimestampSource::Server },
            confidence: if words.jsonl { Confidence::Medium } else { self.level() },
            uuid: words.uuid,
            event_id: self.event.id,
        }
    }

    /// The answer a turn ended with. The transcript may have reported it already: as the text that waits for the turn's
    /// end, or as progress, which then turns out to be the answer.
    pub fn answer(&mut self, text: &str, intent: Intent, command_id: Option<i64>) {
        if self.is_known_answer(text, intent, command_id) {
            return self.flush_tail();
        }
        let by_hook = self.event.source == Source::Hook;
        let uuid = self.take_from_tail(hash::text(text));
        // The line's own time; the event's time is that of the turn's end.
        let line_at = self.event.text("timestamp").filter(|_| !by_hook).and_then(Stamp::parse);
        self.turn(Words {
            actor: Actor::Agent,
            intent,
            text,
            command_id,
            at: line_at.unwrap_or(self.event.at),
            uuid: uuid.or_else(|| self.event.text("uuid").map(String::from)),
            jsonl: !by_hook,
        });
    }

    /// Whether the answer is recorded as a turn already. If it was recorded as progress, its intent is corrected.
    fn is_known_answer(&mut self, text: &str, intent: Intent, command_id: Option<i64>) -> bool {
        let wanted = hash::text(text);
        let by_hook = self.event.source == Source::Hook;
        let known = self.agent.memory.turns.iter_mut().rev().find(|turn| {
            turn.actor == Actor::Agent
                && turn.text == wanted
                && turn.command_id == command_id
                && !(by_hook && turn.by_hook)
        });
        let Some(known) = known else { return false };
        known.by_hook |= by_hook;
        if known.intent != intent {
            known.intent = intent;
            let (id, at, uuid) = (known.turn_id, known.at, known.uuid.clone());
            let words = Words { actor: Actor::Agent, intent, text, command_id, at, uuid, jsonl: true };
            let turn = self.row(id, words);
            self.changes.push(Change::Turn(turn));
        }
        true
    }

    /// Takes the text with this hash out of the texts that wait for the turn's end, which may be one of them or all together;
    /// returns its uuid. The texts before it were progress.
    fn take_from_tail(&mut self, wanted: u64) -> Option<String> {
        let tail = std::mem::take(&mut self.agent.memory.tail);
        let is_whole = hash::text(&joined(&tail)) == wanted;
        let Some(same) = tail.iter().rposition(|said| is_whole || hash::text(&said.text) == wanted) else {
            self.progress(tail);
            return None;
        };
        if !is_whole {
            self.progress(tail[..same].iter().cloned());
        }
        tail[same].uuid.clone()
    }

    /// The transcript's last text, for a turn whose end came without one.
    pub fn tail_text(&self) -> Option<String> {
        Some(joined(&self.agent.memory.tail)).filter(|text| !text.trim().is_empty())
    }

    /// The texts that were waiting were not the last message after all.
    pub fn flush_tail(&mut self) {
        let tail = std::mem::take(&mut self.agent.memory.tail);
        self.progress(tail);
    }

    fn progress(&mut self, texts: impl IntoIterator<Item = SaidText>) {
        for said in texts {
            self.turn(Words {
                actor: Actor::Agent,
                intent: Intent::Progress,
                text: &said.text,
                command_id: self.command_at(said.at),
                at: said.at,
                uuid: said.uuid,
                jsonl: true,
            });
        }
    }

    /// A transcript entry counts once, however often the file is read. And a fork begins with a copy of its original
    /// conversation: anything older than the session itself was said elsewhere.
    pub fn new_entry(&mut self) -> bool {
        let copied = self.agent.hooked
            && self.event.session_id == self.agent.session_id
            && self.event.at.plus(SAME_PROMPT_WITHIN) < self.agent.session_at;
        if copied {
            return false;
        }
        let Some(uuid) = self.event.text("uuid") else { return true };
        // An entry with several blocks has several texts under one uuid.
        let key = hash::bytes(hash::text(self.event.text("text").unwrap_or_default()), uuid.as_bytes())
            ^ hash::bytes(1, self.event.name.as_bytes());
        let known = self.agent.memory.entries.contains(&key);
        if !known {
            remember(&mut self.agent.memory.entries, key);
        }
        !known
    }

    /// A hook reported this text and the transcript repeats it (or the other way round).
    pub fn already_reported(&mut self, actor: Actor, text: &str, loosely: bool) -> Option<RecordedTurn> {
        let wanted = hash::text(text);
        let by_hook = self.event.source == Source::Hook;
        let at = self.event.at;
        let pending = |turn: &RecordedTurn| {
            turn.actor == actor
                && if by_hook {
                    turn.by_transcript && !turn.by_hook
                } else {
                    turn.by_hook && !turn.by_transcript
                }
        };
        let turns = &mut self.agent.memory.turns;
        let same = turns
            .iter()
            .position(|turn| pending(turn) && turn.text == wanted && apart(turn.at, at) <= SAME_TEXT_WITHIN)
            .or_else(|| {
                turns
                    .iter()
                    .position(|turn| loosely && pending(turn) && apart(turn.at, at) <= SAME_PROMPT_WITHIN)
            })?;
        turns[same].by_hook |= by_hook;
        turns[same].by_transcript |= !by_hook;
        Some(turns[same].clone())
    }

    /// A text of the main thread, found in the transcript. One that leads to a tool is progress at once; any other
    /// may be the turn's last message and waits for what follows.
    pub fn transcript_text(&mut self) {
        let Some(text) = self.event.text("text").filter(|text| !text.trim().is_empty()) else { return };
        if !self.new_entry() || self.already_reported(Actor::Agent, text, false).is_some() {
            return;
        }
        let said = SaidText {
            text: text.to_string(),
            uuid: self.event.text("uuid").map(String::from),
            message: self.event.text("message_id").map(|id| hash::bytes(0, id.as_bytes())),
            at: self.event.at,
        };
        let leads_on = self.event.text("stop_reason") == Some("tool_use");
        let open = self.fresh && self.agent.command.is_some();
        if self.fresh && !self.agent.hooked && leads_on {
            self.work();
        }
        if leads_on {
            self.flush_tail();
            self.progress([said]);
        } else if open {
            if self.agent.memory.tail.iter().any(|old| old.message != said.message) {
                self.flush_tail();
            }
            self.agent.memory.tail.push(said);
        } else if let Some(said) = self.late_answer(said) {
            self.progress([said]);
        }
    }

    /// A Stop came without its text, before the client had written it: this is that text, or it is returned. The client
    /// stamps the text before it calls the hook, which a busy machine starts seconds later, and writes it at some later
    /// time. The text still counts as a question, as long as nothing else came after the Stop.
    fn late_answer(&mut self, said: SaidText) -> Option<SaidText> {
        let stop = self.agent.memory.silent_stop;
        if self.event.session_id != self.agent.session_id
            || said.at.millis() < self.agent.turn_at.millis()
            || stop.is_none_or(|stop| said.at > stop.plus(SAME_TEXT_WITHIN))
        {
            return Some(said);
        }
        self.agent.memory.silent_stop = None;
        let judged = intent::at_stop(&said.text);
        let agent = &*self.agent;
        let rests = agent.ended_at.is_none() && agent.command.is_none() && !agent.interrupted;
        let asks = judged.intent == Intent::Question && rests;
        let command_id = self.command_at(said.at);
        if asks {
            self.wait();
            self.agent.unseen = false;
        }
        self.turn(Words {
            actor: Actor::Agent,
            intent: judged.intent,
            text: &said.text,
            command_id,
            at: said.at,
            uuid: said.uuid,
            jsonl: true,
        });
        if asks {
            self.open_reply(&said.text);
        }
        None
    }
}

fn joined(tail: &[SaidText]) -> String {
    tail.iter().map(|said| said.text.as_str()).collect::<Vec<_>>().join("\n\n")
}
