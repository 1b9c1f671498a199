//! Dialogs the client tells of by other means than a tool's own events: notifications, and MCP servers that ask.

use super::endings;
use super::interactions::Ask;
use super::step::Step;
use crate::model::*;
use crate::terminal::gist;

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

pub(super) fn notification(step: &mut Step) {
    let kind = step.event.text("notification_type").unwrap_or_default();
    let Some((_, notice)) = NOTICES.iter().find(|(name, _)| *name == kind) else { return };
    match notice {
        Notice::Asks(kind) if step.fresh => notified_ask(step, *kind),
        Notice::Answered => step.close_elicitation(None),
        Notice::Idle if step.fresh => endings::idle_prompt(step),
        _ => {}
    }
}

/// A dialog the client speaks of seconds late. It is news only if nothing told of it before; then it belongs to the
/// newest open call, of the main thread or else of a child.
fn notified_ask(step: &mut Step, kind: InteractionKind) {
    if !step.agent.interactions.is_empty() {
        return;
    }
    let idle = step.agent.command.is_none();
    let worker = step.agent.children.iter().rev().find(|child| child.at_work());
    let worker = worker.filter(|_| idle).map(|child| child.subagent.agent_id.clone());
    let call = step.newest_call(worker.as_deref(), |_| true).cloned();
    let message = step.event.text("message").unwrap_or("Claude needs you");
    let text = match (&call, kind) {
        (Some(call), InteractionKind::Permission) => format!("Allow {}", call.detail),
        _ => gist(message, 240),
    };
    step.open(Ask {
        kind,
        tool_use_id: call.as_ref().and_then(|call| call.tool_use_id.clone()),
        tool_name: call.map(|call| call.tool_name),
        subagent: worker.clone(),
        text: text.clone(),
        options: Vec::new(),
    });
    match worker {
        Some(child) => step.refresh_child(&child),
        None => {
            step.wait();
            step.say(Actor::Agent, Intent::Question, &text);
        }
    }
}

impl Step<'_> {
    pub fn open_elicitation(&mut self, subagent: Option<&str>) {
        if subagent.is_none() && !self.fresh {
            return;
        }
        let server = self.event.text("mcp_server_name").unwrap_or("MCP");
        let prefix = format!("mcp__{server}");
        let call = self.newest_call(subagent, |call| call.tool_name.starts_with(&prefix)).cloned();
        let text = match self.event.text("message") {
            Some(message) => gist(&format!("MCP input for {server}: {message}"), 240),
            None => format!("MCP input for {server}"),
        };
        self.open(Ask {
            kind: InteractionKind::McpInput,
            tool_use_id: call.and_then(|call| call.tool_use_id),
            tool_name: Some(prefix),
            subagent: subagent.map(String::from),
            text: text.clone(),
            options: Vec::new(),
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
                && (server.is_none() || one.tool_name.is_none() || one.tool_name == server)
        });
        if subagent.is_none() {
            self.settle();
            if self.fresh {
                self.mark();
            }
        }
    }
}
