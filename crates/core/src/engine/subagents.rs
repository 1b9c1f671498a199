//! Subagents and teammates: children of an agent, keyed by (session, agent_id). They never change the parent's own
//! state; only their questions raise its status.

use crate::engine::agent::Child;
use crate::engine::interactions::Named;
use crate::engine::step::Step;
use crate::model::*;
use serde_json::Value;

/// How many ended children stay listed.
const MAX_ENDED_CHILDREN: usize = 32;

type SubagentEffect = fn(&mut Step, &str);

/// What an event with an `agent_id` does to the child. Events not named here leave it as it is.
const EFFECTS: &[(&str, SubagentEffect)] = &[
    ("SubagentStart", |_, _| ()),
    ("PreToolUse", pre_tool_use),
    ("PermissionRequest", permission_request),
    ("PostToolUse", post_tool_use),
    ("PostToolUseFailure", post_tool_use),
    ("PermissionDenied", post_tool_use),
    ("PermissionAnswered", |step, child| {
        step.close_answered(Some(child));
    }),
    ("PostToolBatch", post_tool_batch),
    ("Elicitation", |step, child| step.open_elicitation(Some(child))),
    ("ElicitationResult", |step, child| step.close_elicitation(Some(child))),
];

/// An event that came from inside a subagent.
pub(super) fn apply(step: &mut Step, child: &str) {
    let living = step.agent.ended_at.is_none() && step.event.session_id == step.agent.session_id;
    if !living {
        return;
    }
    match step.event.name.as_str() {
        "SubagentStop" => return stop(step, child),
        "TeammateIdle" => {
            let at = step.event.at;
            return step.close_children(|one| one.is(child) && one.at <= at);
        }
        _ => {}
    }
    let Some((_, effect)) = EFFECTS.iter().find(|(name, _)| *name == step.event.name) else { return };
    if !step.arrive(child) && !step.still_counts(child) {
        return;
    }
    effect(step, child);
    step.refresh_child(child);
}

fn pre_tool_use(step: &mut Step, child: &str) {
    let named = Named::of(step.event, Some(child));
    step.close_consented(&named);
    step.open_call(&named);
    if crate::engine::agent::detail::is_question(named.tool) {
        step.open_dialog(&named);
    }
}

fn permission_request(step: &mut Step, child: &str) {
    step.open_dialog(&Named::of(step.event, Some(child)));
}

fn post_tool_use(step: &mut Step, child: &str) {
    step.close_call(&Named::of(step.event, Some(child)));
}

fn post_tool_batch(step: &mut Step, child: &str) {
    step.close_batch(Some(child));
}

/// The child is done, and so is its task. An empty type is the summarizer of a compaction, which is not a child.
fn stop(step: &mut Step, child: &str) {
    if step.event.text("agent_type").is_none() && !step.agent.children.iter().any(|c| c.is(child)) {
        return;
    }
    let listed = step.agent.background.len();
    step.agent.background.retain(|task| task_id(task) != Some(child));
    if step.agent.background.len() == listed {
        step.agent.more_background.one_ended(true);
    }
    let beside = step.agent.background.len() < listed
        || step.agent.children.iter().any(|one| one.is(child) && one.background && one.at_work());
    if beside && step.agent.state == AgentState::Idle {
        step.agent.report_due = step.agent.report_due.max(Some(step.event.at));
    }
    if step.arrive(child) {
        step.close_children(|one| one.is(child));
    }
}

impl Child {
    pub fn is(&self, id: &str) -> bool {
        self.subagent.agent_id == id
    }

    pub fn at_work(&self) -> bool {
        self.subagent.ended_at.is_none()
    }

    /// A member of an agent team: its id contains its name.
    pub fn is_teammate(&self) -> bool {
        let name = &self.subagent.agent_type;
        !name.is_empty()
            && self
                .subagent
                .agent_id
                .strip_prefix('a')
                .and_then(|id| id.strip_prefix(name.as_str()))
                .is_some_and(|rest| rest.starts_with('-'))
    }
}

impl Step<'_> {
    /// The child of this event, now working: found, created, or revived. False if the event is older than what is known.
    fn arrive(&mut self, id: &str) -> bool {
        let at = self.event.at;
        if let Some(child) = self.agent.children.iter_mut().find(|child| child.is(id)) {
            if at < child.at || child.subagent.ended_at.is_some_and(|ended| at <= ended) {
                return false;
            }
            child.at = at;
            child.subagent.ended_at = None;
            if child.subagent.agent_type.is_empty() {
                child.subagent.agent_type = self.event.text("agent_type").unwrap_or_default().to_string();
            }
            return true;
        }
        let launched_by_open_call = self.newest_call(None, |call| is_launcher(&call.tool_name)).is_some();
        self.agent.children.push(Child {
            subagent: Subagent {
                agent_id: id.to_string(),
                session_id: self.event.session_id.clone(),
                agent_type: self.event.text("agent_type").unwrap_or_default().to_string(),
                status: Status::Idle,
                status_detail: None,
                started_at: at,
                ended_at: None,
            },
            at,
            background: !launched_by_open_call,
        });
        true
    }

    /// Whether a late event of a working child still matters: the end of a call always does, its beginning and its request
    /// while it is running.
    fn still_counts(&self, child: &str) -> bool {
        let at_work = self.agent.children.iter().any(|one| one.is(child) && one.at_work());
        let named = Named::of(self.event, Some(child));
        at_work
            && match self.event.name.as_str() {
                "PreToolUse" => named.id.is_some_and(|id| !self.ended_before(id)),
                "PermissionRequest" => self.asks_for_open_call(&named),
                "SubagentStart" | "Elicitation" => false,
                _ => true,
            }
    }

    /// Updates the status and detail of a child from its open calls and questions.
    pub fn refresh_child(&mut self, id: &str) {
        let ask = self.agent.interactions.iter().rev().find(|one| one.subagent.as_deref() == Some(id));
        let call = self.newest_call(Some(id), |_| true);
        let (status, detail) = match (ask, call) {
            (Some(ask), _) => (Status::Attention, ask.text.clone()),
            (None, Some(call)) => (Status::Working, call.detail.clone()),
            (None, None) => (Status::Working, "Thinking".to_string()),
        };
        let agent_id = self.agent.id;
        let Some(child) = self.agent.children.iter_mut().find(|child| child.is(id) && child.at_work()) else {
            return;
        };
        let subagent = &mut child.subagent;
        if (subagent.status, subagent.status_detail.as_ref()) != (status, Some(&detail)) {
            subagent.status = status;
            subagent.status_detail = Some(detail);
            let subagent = subagent.clone();
            self.changes.push(Change::Subagent { agent_id, subagent });
        }
    }

    /// Ends the matching children, with their questions and calls. They stay listed for the session.
    pub fn close_children(&mut self, fits: impl Fn(&Child) -> bool) {
        let at = self.event.at;
        let ended: Vec<Subagent> = self
            .agent
            .children
            .iter_mut()
            .filter(|child| child.at_work() && fits(child))
            .map(|child| {
                child.subagent.status = Status::Idle;
                child.subagent.status_detail = None;
                child.subagent.ended_at = Some(at);
                child.subagent.clone()
            })
            .collect();
        self.drop_oldest_children();
        for subagent in ended {
            let id = subagent.agent_id.clone();
            self.close_interactions(|one| one.subagent.as_deref() == Some(id.as_str()));
            self.agent.calls.retain(|call| call.subagent.as_deref() != Some(id.as_str()));
            self.changes.push(Change::Subagent { agent_id: self.agent.id, subagent });
        }
    }

    /// A long session starts hundreds of subagents; the store has them all, the document only the last ones.
    fn drop_oldest_children(&mut self) {
        let children = &mut self.agent.children;
        let mut surplus =
            children.iter().filter(|child| !child.at_work()).count().saturating_sub(MAX_ENDED_CHILDREN);
        children.retain(|child| {
            let drop = surplus > 0 && !child.at_work();
            surplus -= usize::from(drop);
            !drop
        });
    }

    /// An interrupted turn also ends the children it was waiting for.
    pub fn close_foreground_children(&mut self) {
        if self.newest_call(None, |call| is_launcher(&call.tool_name)).is_some() {
            self.close_children(|child| !child.background);
        }
    }

    /// PostToolUse of the launching tool while its child is still running: it was launched into the background.
    pub fn note_launch(&mut self) {
        let launched = self.event.body.get("tool_response").and_then(|r| r.get("agentId")?.as_str());
        if let Some(child) =
            self.agent.children.iter_mut().find(|child| launched.is_some_and(|id| child.is(id)))
        {
            child.background = true;
        }
    }

    /// Whether the child of this task ended after the event that lists it.
    pub fn ended_since(&self, task: &Value) -> bool {
        let child = self.agent.children.iter().find(|child| task_id(task).is_some_and(|id| child.is(id)));
        child.and_then(|child| child.subagent.ended_at).is_some_and(|ended| ended > self.event.at)
    }

    /// The client's own list, which comes with every Stop: a child that is not on it is gone. Teammates have other ids
    /// there, so they stay while any teammate is listed.
    pub fn reconcile_children(&mut self, tasks: &[Value]) {
        let listed: Vec<&str> = tasks.iter().filter_map(task_id).collect();
        let team = tasks.iter().any(is_team_task);
        for child in
            self.agent.children.iter_mut().filter(|child| listed.contains(&child.subagent.agent_id.as_str()))
        {
            child.background = true;
        }
        let at = self.event.at;
        self.close_children(|child| {
            child.at <= at
                && !listed.contains(&child.subagent.agent_id.as_str())
                && !(team && child.is_teammate())
        });
    }
}

/// The tool that launches subagents, by its names.
fn is_launcher(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task" | "agent" | "task")
}

pub(super) fn task_id(task: &Value) -> Option<&str> {
    ["id", "task_id"].iter().find_map(|field| task.get(field)?.as_str())
}

pub(super) fn task_type(task: &Value) -> Option<&str> {
    task.get("type")?.as_str()
}

pub(super) fn is_team_task(task: &Value) -> bool {
    task_type(task) == Some("teammate")
}

/// A task on the client's list that is still running, as far as the list says.
pub(super) fn is_live_task(task: &Value) -> bool {
    !matches!(
        task.get("status").and_then(Value::as_str),
        Some("completed" | "failed" | "killed" | "stopped" | "cancelled" | "done" | "idle")
    )
}
