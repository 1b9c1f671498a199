// Tells headspace what opencode's sessions do. Written by `headspace install`, removed by `headspace uninstall`.
//
// It must never be noticed: every event is handed to a process of its own that outlives this one, nothing is waited for,
// nothing is printed, and whatever goes wrong stays in here.
import { spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { randomUUID } from "node:crypto"

const COMMAND = {command}
const LONGEST_TEXT = 16384
const REMEMBERED_SESSIONS = 500

const startOfThisProcess = () => {
  try {
    const stat = readFileSync("/proc/self/stat", "latin1")
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19])
  } catch {
    return undefined
  }
}

// Events can overtake each other on their way, so each carries its own time, and no two the same.
let lastNanoseconds = 0n
const sentAt = () => {
  const milliseconds = performance.timeOrigin + performance.now()
  let now = BigInt(Math.floor(milliseconds * 1000)) * 1000n
  if (now <= lastNanoseconds) now = lastNanoseconds + 1n
  lastNanoseconds = now
  const fraction = String(now % 1000000000n).padStart(9, "0")
  return new Date(Number(now / 1000000n)).toISOString().slice(0, 19) + "." + fraction + "Z"
}

const shortened = (value, depth = 0) => {
  if (typeof value === "string") return value.length > LONGEST_TEXT ? value.slice(0, LONGEST_TEXT) + "…" : value
  if (Array.isArray(value)) return depth > 6 ? [] : value.slice(0, 50).map((item) => shortened(item, depth + 1))
  if (value && typeof value === "object") {
    if (depth > 6) return {}
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item, depth + 1)]))
  }
  return value
}

// The payload goes through a file that has no name any more when the other side reads it: a pipe would be gone with
// this process, and an argument could be read by everybody on the machine.
const deliver = (payload) => {
  const path = join(tmpdir(), "headspace-" + randomUUID())
  let writer, reader
  try {
    writer = openSync(path, "wx", 0o600)
    reader = openSync(path, "r")
    unlinkSync(path)
    writeSync(writer, JSON.stringify(payload))
    const child = spawn(COMMAND[0], COMMAND.slice(1), { detached: true, stdio: [reader, "ignore", "ignore"] })
    child.on("error", () => {})
    child.unref()
  } finally {
    if (writer !== undefined) closeSync(writer)
    if (reader !== undefined) closeSync(reader)
  }
}

export const Headspace = async (context) => {
  const pid = process.pid
  const pidStart = startOfThisProcess()
  const sessions = new Map()

  const session = (id) => {
    let known = sessions.get(id)
    if (!known) {
      known = { parent: undefined, agent: undefined, directory: undefined, open: false, said: "", usage: {}, title: "" }
      sessions.set(id, known)
      if (sessions.size > REMEMBERED_SESSIONS) sessions.delete(sessions.keys().next().value)
    }
    return known
  }

  const rootOf = (id) => {
    let at = id
    for (let depth = 0; depth < 20 && sessions.get(at)?.parent; depth++) at = sessions.get(at).parent
    return at
  }

  const send = (name, id, fields) => {
    if (typeof id !== "string" || !id) return
    const root = rootOf(id)
    const payload = {
      hook_event_name: name,
      session_id: root,
      cwd: session(root).directory || context?.directory,
      claude_pid: pid,
      claude_pid_start: pidStart,
      sent_at: sentAt(),
      ...shortened(fields),
    }
    if (root !== id) {
      payload.agent_id = id
      payload.agent_type = session(id).agent || "subagent"
    }
    deliver(payload)
  }

  const learn = (info) => {
    if (!info?.id) return
    const known = session(info.id)
    known.parent = info.parentID || known.parent
    known.agent = info.agent || known.agent
    known.directory = info.directory || known.directory
  }

  const title = (info) => {
    const known = session(info.id)
    if (known.parent || !info.title || info.title === known.title || info.title.startsWith("New session - ")) return
    known.title = info.title
    send("SessionTitle", info.id, { title: info.title })
  }

  const asked = new Map()
  const bus = {
    "session.created": ({ info }) => {
      learn(info)
      send(info.parentID ? "SubagentCreated" : "SessionCreated", info.id, { source: "startup" })
    },
    "session.updated": ({ info }) => {
      learn(info)
      title(info)
    },
    "session.deleted": ({ info, sessionID }) => send("SessionDeleted", info?.id || sessionID, {}),
    "session.compacted": ({ sessionID }) => send("SessionCompacted", sessionID, {}),
    "session.error": ({ sessionID, error }) => {
      if (!sessionID || !session(sessionID).open) return
      session(sessionID).open = false
      send(error?.name === "MessageAbortedError" ? "SessionAborted" : "SessionError", sessionID, { error })
    },
    "session.idle": ({ sessionID }) => {
      const known = session(sessionID)
      if (!known.open) return
      known.open = false
      const name = known.parent ? "SubagentIdle" : "SessionIdle"
      send(name, sessionID, { last_assistant_message: known.said || undefined, ...known.usage })
    },
    "message.updated": ({ info }) => {
      if (info?.role !== "assistant" || !info.sessionID || !info.tokens?.input) return
      const cache = info.tokens.cache || {}
      session(info.sessionID).usage = {
        context_tokens: info.tokens.input + (cache.read || 0) + (cache.write || 0),
        model: info.modelID,
      }
    },
    "permission.asked": ({ id, sessionID, permission, metadata, patterns, tool }) => {
      asked.set(id, tool?.callID)
      const input = metadata && Object.keys(metadata).length ? metadata : { patterns: (patterns || []).join(", ") }
      send("PermissionAsked", sessionID, { tool_name: permission, tool_input: input, tool_use_id: tool?.callID })
    },
    "question.asked": ({ id, sessionID, questions, tool }) => {
      asked.set(id, tool?.callID)
      send("QuestionAsked", sessionID, { questions, tool_use_id: tool?.callID })
    },
  }
  const answered = (name) => ({ sessionID, requestID, permissionID, reply, response }) => {
    const id = requestID || permissionID
    send(name, sessionID, { tool_use_id: asked.get(id), reply: reply || response })
    asked.delete(id)
  }
  bus["permission.replied"] = answered("PermissionReplied")
  bus["question.replied"] = answered("QuestionReplied")
  bus["question.rejected"] = answered("QuestionRejected")

  // Whatever happens in here is nobody's trouble.
  const quiet = (work) => async (...args) => {
    try {
      work(...args)
    } catch {}
  }

  return {
    event: quiet(({ event }) => bus[event.type]?.(event.properties || {})),
    "chat.message": quiet((input, output) => {
      const known = session(input.sessionID)
      known.open = true
      known.said = ""
      if (known.parent) return
      const texts = (output?.parts || []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      send("ChatMessage", input.sessionID, { prompt, prompt_id: output?.message?.id, model: output?.message?.model?.modelID })
    }),
    "tool.execute.before": quiet(({ tool, sessionID, callID }, output) => {
      session(sessionID).open = true
      send("ToolExecuteBefore", sessionID, { tool_name: tool, tool_use_id: callID, tool_input: output?.args })
    }),
    "tool.execute.after": quiet(({ tool, sessionID, callID, args }) => {
      // After Esc a tool reports its end once the turn is over.
      if (!session(sessionID).open) return
      send("ToolExecuteAfter", sessionID, { tool_name: tool, tool_use_id: callID, tool_input: args })
    }),
    "experimental.text.complete": quiet(({ sessionID }, output) => {
      if (output?.text) session(sessionID).said = output.text
    }),
  }
}
