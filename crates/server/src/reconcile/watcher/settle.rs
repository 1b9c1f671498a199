//! When what was seen in a transcript is reported: at once, or when nothing else can explain it any more.

use super::*;

impl TranscriptWatcher {
    /// What is to be reported by now. Call it after every reading and again until nothing waits.
    pub fn settle(&mut self, now: Stamp, agent: AgentNow) -> Vec<Report> {
        self.settle_until(now, agent, Stamp(i64::MAX))
    }

    /// Like [`TranscriptWatcher::settle`], but nothing that happened after `limit`: an event of that time comes first.
    pub fn settle_until(&mut self, now: Stamp, agent: AgentNow, limit: Stamp) -> Vec<Report> {
        // All of its lines that exist by now have been read.
        if self.hooks.text_missing_since.is_some()
            && let Some(answer) = self.ending.answer.take_if(|answer| answer.error.is_none())
        {
            self.hooks.text_missing_since = None;
            self.report_answer(answer);
        }
        if self.turn_is_over(now) && self.ending_at().is_none_or(|at| at <= limit) {
            let ending = std::mem::take(&mut self.ending);
            if !self.ended_by_others(&ending, agent) {
                self.report_end(ending);
            }
        }
        self.at_rest = false;
        let mut reports = self.release(now, agent, limit);
        reports.extend(self.usage.news().map(|(at, body)| self.report(observed::USAGE, at, body)));
        if !self.waits() {
            self.settled = self.tail.mark();
        }
        if let (Thread::Main, Some(last)) = (&self.thread, reports.last_mut()) {
            last.tail = Some(self.settled.clone());
        }
        reports
    }

    /// Like [`TranscriptWatcher::settle`], right before a Stop without text is handled: the answer it ended with goes first.
    pub fn settle_for_stop(&mut self, now: Stamp, agent: AgentNow) -> Vec<Report> {
        if self.ending.answer.is_some() {
            self.hooks.text_found = Some(now);
        }
        self.went_on();
        self.settle(now, agent)
    }

    /// Like [`TranscriptWatcher::settle`], right before the end of the session is handled: nothing follows that would be
    /// worth waiting for.
    pub fn settle_for_end(&mut self, now: Stamp, agent: AgentNow) -> Vec<Report> {
        self.settle(now.plus(HOOK_HAS_PRECEDENCE_FOR), agent)
    }

    /// Whether a line is still expected: the text of a Stop that came without one.
    pub fn expects_text(&self, now: Stamp) -> bool {
        self.hooks.text_missing_since.is_some_and(|stop| now.since(stop) < TEXT_OWED_FOR)
    }

    /// Whether something may have to be reported later without a new line.
    pub fn waits(&self) -> bool {
        !self.queue.is_empty() || self.ending.answer.is_some() || self.ending.over.is_some()
    }

    fn turn_is_over(&self, now: Stamp) -> bool {
        match (&self.ending.over, &self.ending.answer) {
            (Some(_), _) | (_, Some(_)) if self.at_rest => true,
            (Some((_, _, seen)), _) => self.hooks.silent || seen.plus(HOOK_HAS_PRECEDENCE_FOR) <= now,
            (None, Some(answer)) => answer.seen.plus(HOOK_HAS_PRECEDENCE_FOR) <= now,
            (None, None) => false,
        }
    }

    /// When the turn ended, if it seems to have ended.
    fn ending_at(&self) -> Option<Stamp> {
        let over = self.ending.over.as_ref().map(|over| over.1);
        over.or(self.ending.answer.as_ref().map(|answer| answer.at))
    }

    /// The agent is idle already, because the end was reported by other means.
    fn ended_by_others(&self, ending: &Ending, agent: AgentNow) -> bool {
        let known = match (&ending.answer, &ending.over) {
            (Some(answer), _) => self.hooks.reported_answer(answer.at),
            (None, _) => true,
        };
        agent.idle && known
    }

    /// The queued reports, in order, up to the first that has to wait.
    fn release(&mut self, now: Stamp, agent: AgentNow, limit: Stamp) -> Vec<Report> {
        let mut reports = Vec::new();
        while let Some(held) = self.queue.front().filter(|held| held.report.at <= limit) {
            let wanted = match held.when {
                When::Always => true,
                When::UnlessHook(_) if self.hooks.went_on(held.report.at) => false,
                When::UnlessHook(until) if until > now => break,
                When::UnlessHook(_) => {
                    self.hooks.silent = true;
                    true
                }
                When::Silent => self.hooks.silent,
                When::SilentOrAsked => self.hooks.silent || agent.asks,
                When::Answered => agent.answered,
            };
            if let Some(held) = self.queue.pop_front().filter(|_| wanted) {
                reports.push(held.report);
            }
        }
        reports
    }
}
