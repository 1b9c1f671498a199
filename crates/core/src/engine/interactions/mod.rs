//! Open questions to the user: opened and closed by id, in the thread that asks.

pub(super) mod answers;
pub(super) mod notifications;

use crate::engine::agent::Call;
use crate::engine::agent::detail;
use crate::engine::hash;
use crate::engine::step::{Step, remember};
use crate::model::*;
use crate::stamp::Stamp;
use serde_json::Value;

/// A question before it becomes an interaction.
pub(super) struct Ask {
    pub kind: InteractionKind,
    pub tool_use_id: Option<String>,
    pub tool_name: Option<String>,
    pub subagent: Option<String>,
    pub text: String,
    pub options: Vec<String>,
    /// The whole ask, if one line cannot show it.
    pub asked: Option<Box<Asked>>,
}

/// The call an event is about.
pub(super) struct Named<'a> {
    pub tool: &'a str,
    pub id: Option<&'a str>,
    pub input: Option<&'a Value>,
    /// The thread: a subagent, or the main thread.
    pub subagent: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub fn of(event: &'a Event, subagent: Option<&'a str>) -> Named<'a> {
        Named {
            tool: event.text("tool_name").unwrap_or_default(),
            id: event.text("tool_use_id"),
            input: event.body.get("tool_input").filter(|input| !input.is_null()),
            subagent,
        }
    }
}

/// How many open calls are remembered.
const MAX_OPEN_CALLS: usize = 64;

/// How many open questions keep their whole ask; of older ones only the first line is shown. A person has a few.
const MAX_WHOLE_ASKS: usize = 32;

/// Whether a dialog of `asking` (a tool, or an MCP server: `mcp__name`) belongs to this tool.
pub(super) fn is_tool_of(asking: &str, tool: &str) -> bool {
    tool.strip_prefix(asking).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
}

impl Step<'_> {
    pub fn open(&mut self, ask: Ask) {
        // This describes a dialog that so far only the client's status file showed.
        self.close_interactions(|one| one.kind == InteractionKind::Dialog);
        self.counters.interaction += 1;
        let interaction = Interaction {
            id: self.counters.interaction,
            kind: ask.kind,
            tool_use_id: ask.tool_use_id,
            tool_name: ask.tool_name,
            subagent: ask.subagent,
            text: ask.text,
            options: ask.options,
            opened_at: self.event.at,
            closed_at: None,
            event_id: self.event.id,
            asked: ask.asked,
            answer: None,
        };
        self.agent.interactions.push(interaction.clone());
        let mut whole = self.agent.interactions.iter_mut().filter(|one| one.asked.is_some());
        if let Some(oldest) = whole.next().filter(|_| whole.count() >= MAX_WHOLE_ASKS) {
            oldest.asked = None;
        }
        self.changes.push(Change::Interaction { agent_id: self.agent.id, interaction });
    }

    /// Closes the interactions that match; returns how many.
    pub fn close_interactions(&mut self, fits: impl Fn(&Interaction) -> bool) -> usize {
        let (closed, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.agent.interactions).into_iter().partition(|one| fits(one));
        self.agent.interactions = open;
        let count = closed.len();
        for mut interaction in closed {
            interaction.closed_at = Some(self.event.at);
            self.remember_ask(&interaction);
            self.changes.push(Change::Interaction { agent_id: self.agent.id, interaction });
        }
        count
    }

    /// PreToolUse: the call is open from now on.
    pub fn open_call(&mut self, call: &Named) {
        self.agent.calls.retain(|old| {
            old.subagent.as_deref() != call.subagent
                || call.id.is_none()
                || old.tool_use_id.as_deref() != call.id
        });
        // With only PreToolUse subscribed, the end of a call never arrives.
        if self.agent.calls.len() >= MAX_OPEN_CALLS {
            self.agent.calls.remove(0);
        }
        self.agent.calls.push(Call {
            tool_use_id: call.id.map(String::from),
            tool_name: call.tool.to_string(),
            detail: detail::call(call.tool, call.input),
            input: call.input.map(hash::input).unwrap_or_default(),
            subagent: call.subagent.map(String::from),
            at: self.event.at,
        });
        self.name_request(call);
    }

    /// The call a PermissionRequest is about. It has no id, so: the same input, otherwise the newest call of the same
    /// tool; never one that already asks.
    pub fn call_of_request(&self, request: &Named) -> Option<Call> {
        let asking =
            |call: &Call| {
                call.tool_use_id.is_some()
                    && self.agent.interactions.iter().any(|one| {
                        one.tool_use_id == call.tool_use_id && one.kind == InteractionKind::Permission
                    })
            };
        let input = request.input.map(hash::input).unwrap_or_default();
        let fits = |call: &Call| call.tool_name == request.tool && call.at <= self.event.at && !asking(call);
        self.newest_call(request.subagent, |call| fits(call) && call.input == input)
            .or_else(|| self.newest_call(request.subagent, fits))
            .cloned()
    }

    /// Whether a late request is about a call that is still running: only its input can tell.
    pub fn asks_for_open_call(&self, request: &Named) -> bool {
        let input = request.input.map(hash::input).unwrap_or_default();
        self.call_of_request(request).is_some_and(|call| call.input == input)
    }

    /// The late PreToolUse of a call whose request overtook it: the dialog has no id yet, or another call's.
    fn name_request(&mut self, call: &Named) {
        // Nearly every call: nothing is asked, so there is no need to say what the call would have asked.
        if self.agent.interactions.is_empty() {
            return;
        }
        let (at, agent_id) = (self.event.at, self.agent.id);
        let text = detail::ask(call.tool, call.input);
        let input = call.input.map(hash::input).unwrap_or_default();
        let calls = &self.agent.calls;
        let sure = |id: &Option<String>| calls.iter().any(|one| one.tool_use_id == *id && one.input == input);
        let request = self.agent.interactions.iter_mut().find(|one| {
            one.subagent.as_deref() == call.subagent
                && one.tool_name.as_deref() == Some(call.tool)
                && one.text == text
                && one.opened_at > at
                && !sure(&one.tool_use_id)
        });
        if let Some(request) = request {
            request.tool_use_id = call.id.map(String::from);
            let interaction = request.clone();
            self.changes.push(Change::Interaction { agent_id, interaction });
        }
    }

    /// Opens the dialog of a tool: PreToolUse of a tool that is a question, or a PermissionRequest. Returns whether it is
    /// new: the request of a tool whose PreToolUse already opened a dialog is the same one.
    pub fn open_dialog(&mut self, named: &Named) -> bool {
        let call = match named.id {
            Some(_) => None,
            None => self.call_of_request(named),
        };
        let id = named.id.map(String::from).or_else(|| call.and_then(|call| call.tool_use_id));
        let asked = self.asked(named);
        let same = self.agent.interactions.iter_mut().find(|one| {
            one.subagent.as_deref() == named.subagent
                && one.tool_name.as_deref() == Some(named.tool)
                && (one.tool_use_id == id && id.is_some()
                    || id.is_none() && one.text == detail::ask(named.tool, named.input))
        });
        if let Some(same) = same {
            // A notification knew only that there is a dialog; the request knows all of it.
            same.asked = asked.or(same.asked.take());
            return false;
        }
        self.open(Ask {
            kind: detail::kind_of(named.tool),
            tool_use_id: id,
            tool_name: Some(named.tool).filter(|tool| !tool.is_empty()).map(String::from),
            subagent: named.subagent.map(String::from),
            text: detail::ask(named.tool, named.input),
            options: detail::options(named.input),
            asked,
        });
        true
    }

    fn asked(&self, named: &Named) -> Option<Box<Asked>> {
        let input = named.input?;
        Some(Box::new(Asked {
            key: hash::input(input),
            input: input.clone(),
            text: None,
            facts: self.event.facts.ask.clone(),
        }))
    }

    /// The call is over, however it ended: this closes its question, or its tool's question if that had no id.
    pub fn close_call(&mut self, named: &Named) -> usize {
        let event = self.event;
        let mine = |thread: Option<&str>, opened: Stamp| thread == named.subagent && event.is_after(opened);
        match named.id {
            Some(id) => {
                let gone = |call: &Call| {
                    mine(call.subagent.as_deref(), call.at) && call.tool_use_id.as_deref() == Some(id)
                };
                self.agent.calls.retain(|call| !gone(call));
                remember(&mut self.agent.memory.closed, hash::bytes(0, id.as_bytes()));
            }
            None => {
                let newest = self.newest_call(named.subagent, |call| call.tool_name == named.tool).cloned();
                self.agent.calls.retain(|call| Some(call) != newest.as_ref());
            }
        }
        self.close_interactions(|one| {
            mine(one.subagent.as_deref(), one.opened_at)
                && match (&one.tool_use_id, named.id) {
                    (Some(asked), Some(ended)) => asked == ended,
                    _ => one.tool_name.as_deref().is_some_and(|asking| is_tool_of(asking, named.tool)),
                }
        })
    }

    /// Whether the user has answered what this call asks.
    pub fn is_consented(&self) -> bool {
        self.event.body.get(hints::CONSENTED) == Some(&Value::Bool(true))
    }

    /// A call that begins after the user consented to it: its question is answered.
    pub fn close_consented(&mut self, named: &Named) {
        if !self.is_consented() {
            return;
        }
        let text = detail::ask(named.tool, named.input);
        let asks = |one: &Interaction| {
            one.subagent.as_deref() == named.subagent
                && one.kind != InteractionKind::Reply
                && one.tool_name.as_deref() == Some(named.tool)
        };
        // If the tool has several questions, it is the one with the same input.
        let exact = self.agent.interactions.iter().any(|one| asks(one) && one.text == text);
        self.close_interactions(|one| asks(one) && (!exact || one.text == text));
    }

    /// A dialog of this thread was answered: the one of the call that the event names, else all of them.
    pub fn close_answered(&mut self, subagent: Option<&str>) -> usize {
        let (event, id) = (self.event, self.event.text("tool_use_id"));
        let open = |one: &Interaction| {
            one.subagent.as_deref() == subagent
                && one.kind != InteractionKind::Reply
                && event.is_after(one.opened_at)
        };
        let known = |one: &Interaction| id.is_some() && one.tool_use_id.as_deref() == id;
        let exact = self.agent.interactions.iter().any(|one| open(one) && known(one));
        self.close_interactions(|one| open(one) && (!exact || known(one)))
    }

    /// Closes dialogs that only a notification reported, with no call to belong to: any event of the main thread's tools
    /// shows that they were answered.
    pub fn close_loose(&mut self) {
        let event = self.event;
        self.close_interactions(|one| {
            one.subagent.is_none()
                && one.tool_use_id.is_none()
                && one.tool_name.is_none()
                && one.kind != InteractionKind::Reply
                && event.is_after(one.opened_at)
        });
    }

    /// Whether the call has already ended: then its PreToolUse or request is late.
    pub fn ended_before(&self, id: &str) -> bool {
        let id = hash::bytes(0, id.as_bytes());
        self.agent.memory.closed.contains(&id)
    }
}
