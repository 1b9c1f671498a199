//! The names of the client's own tools, current and former.

/// What Claude Code 2.1 calls its tools, and a few that older versions had.
pub const KNOWN: &[&str] = &[
    "Agent",
    "Artifact",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "LS",
    "LSP",
    "ListAgents",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "PushNotification",
    "Read",
    "ReadMcpResourceDirTool",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "ScheduleWakeup",
    "SendMessage",
    "SendUserFile",
    "SendUserMessage",
    "Skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "Write",
];

/// Former name and current name. Matchers may use either; payloads show the current one.
const RENAMED: &[(&str, &str)] = &[
    ("Task", "Agent"),
    ("KillShell", "TaskStop"),
    ("KillBash", "TaskStop"),
    ("ListPeers", "ListAgents"),
    ("Brief", "SendUserMessage"),
    ("ListMcpResources", "ListMcpResourcesTool"),
    ("ReadMcpResource", "ReadMcpResourceTool"),
    ("ReadMcpResourceDir", "ReadMcpResourceDirTool"),
];

/// The name that the client uses today.
pub fn current(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// The tool's former names.
pub(crate) fn former(name: &str) -> impl Iterator<Item = &'static str> {
    RENAMED.iter().filter(move |(_, new)| *new == name).map(|(old, _)| *old)
}

/// Names that the current client or an older one knows.
pub fn is_known(name: &str) -> bool {
    KNOWN.contains(&name) || RENAMED.iter().any(|(old, _)| *old == name)
}

/// The tool whose name differs only in case.
pub fn differs_by_case(name: &str) -> Option<&'static str> {
    let names = KNOWN.iter().copied().chain(RENAMED.iter().map(|(old, _)| *old));
    names.into_iter().find(|known| *known != name && known.eq_ignore_ascii_case(name))
}
