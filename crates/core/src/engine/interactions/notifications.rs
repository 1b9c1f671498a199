//! Dialogs the client reports by other means than a tool's own events: notifications, and MCP servers that ask.

use crate::engine::agent::Call;
use crate::engine::conversation::turn_end;
use crate::engine::interactions::{Ask, is_tool_of};
use crate::engine::step::Step;
use crate::model::*;
use crate::text::one_line;

/// What a notification means.
#[derive(Clone, Copy)]
enum Notice {
    Asks(InteractionKind),
    Answered,
    Idle,
}

const NOTICES: &[(&str, Notice)] = &[
    ("permission_prompt", Notice::Asks(InteractionKind::Permission)),
    ("worker_permission_prompt", Notice::Asks(InteractionKind::Permission)),
    ("elicitation_dialog", Notice::Asks(InteractionKind::McpInput)),
    ("elicitation_url_dialog", Notice::Asks(InteractionKind::McpInput)),
    ("agent_needs_input", Notice::Asks(InteractionKind::Question)),
    ("elicitation_complete", Notice::Answered),
    ("elicitation_response", Notice::Answered),
    ("idle_prompt", Notice::Idle),
];

pub(in crate::engine) fn notification(step: &mut Step) {
    let kind = step.event.text("notification_type").unwrap_or_default();
    let Some((_, notice)) = NOTICES.iter().find(|(name, _)| *name == kind) else { return };
    match notice {
        Notice::Asks(kind) if step.fresh => notified_ask(step, *kind),
        Notice::Answered => step.close_elicitation(None),
        Notice::Idle if step.fresh => turn_end::idle_prompt(step),
        _ => {}
    }
}

/// A dialog the client reports seconds late. It is new only if nothing reported it before; then it belongs to the newest
/// open call of any thread; without one to the main thread, or if that is idle to a working child.
fn notified_ask(step: &mut Step, kind: InteractionKind) {
    if !step.agent.interactions.is_empty() {
        return;
    }
    let call = if kind == InteractionKind::Permission { step.newest_call_of_all() } else { None };
    let worker = match &call {
        Some(call) => call.subagent.clone(),
        None => step.asking_worker(),
    };
    let call = call.or_else(|| step.newest_call(worker.as_deref(), |_| true).cloned());
    if call.is_none() && step.answered_by_child() {
        return;
    }
    let message = step.event.text("message").unwrap_or("Claude needs you");
    let asked = message_in_full(message);
    let text = match (&call, kind) {
        (Some(call), InteractionKind::Permission) => format!("Allow {}", call.detail),
        _ => one_line(message, 240),
    };
    step.open(Ask {
        kind,
        tool_use_id: call.as_ref().and_then(|call| call.tool_use_id.clone()),
        tool_name: call.map(|call| call.tool_name),
        subagent: worker.clone(),
        text: text.clone(),
        options: Vec::new(),
        asked,
    });
    match worker {
        Some(child) => step.refresh_child(&child),
        None => {
            step.wait();
            step.say(Actor::Agent, Intent::Question, &text);
        }
    }
}

fn message_in_full(message: &str) -> Option<Box<Asked>> {
    Some(Box::new(Asked { text: Some(message.to_string()), ..Asked::default() }))
}

impl Step<'_> {
    fn newest_call_of_all(&self) -> Option<Call> {
        self.agent
            .calls
            .iter()
            .filter(|call| self.event.is_after(call.at))
            .max_by_key(|call| call.at)
            .cloned()
    }

    /// The child that asks when there is no call: the main thread of an idle agent has nothing to ask.
    fn asking_worker(&self) -> Option<String> {
        let child = self.agent.children.iter().rev().find(|child| child.at_work());
        child.filter(|_| self.agent.command.is_none()).map(|child| child.subagent.agent_id.clone())
    }

    /// The main thread is idle, and a child continued after the notification: it was the child's, and is answered.
    fn answered_by_child(&self) -> bool {
        self.agent.command.is_none() && self.agent.children.iter().any(|child| child.at > self.event.at)
    }

    pub fn open_elicitation(&mut self, subagent: Option<&str>) {
        if subagent.is_none() && !self.fresh {
            return;
        }
        let server = self.event.text("mcp_server_name").unwrap_or("MCP");
        let prefix = format!("mcp__{server}");
        let call = self.newest_call(subagent, |call| call.tool_name.starts_with(&prefix)).cloned();
        let text = match self.event.text("message") {
            Some(message) => one_line(&format!("MCP input for {server}: {message}"), 240),
            None => format!("MCP input for {server}"),
        };
        self.open(Ask {
            kind: InteractionKind::McpInput,
            tool_use_id: call.and_then(|call| call.tool_use_id),
            tool_name: Some(prefix),
            subagent: subagent.map(String::from),
            text: text.clone(),
            options: Vec::new(),
            asked: self.event.text("message").and_then(message_in_full),
        });
        if subagent.is_none() {
            self.wait();
            self.say(Actor::Agent, Intent::Question, &text);
        }
    }

    pub fn close_elicitation(&mut self, subagent: Option<&str>) {
        let server = self.event.text("mcp_server_name").map(|server| format!("mcp__{server}"));
        let event = self.event;
        self.close_interactions(|one| {
            one.kind == InteractionKind::McpInput
                && one.subagent.as_deref() == subagent
                && event.is_after(one.opened_at)
                && (server.as_deref().is_none_or(|server| {
                    one.tool_name.as_deref().is_none_or(|asking| is_tool_of(server, asking))
                }))
        });
        if subagent.is_none() {
            self.settle();
            if self.fresh {
                self.mark();
            }
        }
    }
}
