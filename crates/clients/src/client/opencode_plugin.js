// Tells headspace what opencode's sessions do. Written by `headspace install`, removed by `headspace uninstall`.
//
// It must never be noticed: every event is handed to a process of its own that outlives this one, nothing is waited for,
// nothing is printed, and whatever goes wrong stays in here.
import { spawn } from "node:child_process"
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { join, resolve } from "node:path"
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

// One event, one process that outlives this one. The payload goes through a file that has no name any more when the other
// side reads it: a pipe would be gone with this process, and an argument could be read by everybody on the machine.
const MOST_AT_ONCE = 16
let running = 0
const start = (payload) => {
  const path = join(tmpdir(), "headspace-" + randomUUID())
  let writer, reader
  try {
    writer = openSync(path, "wx", 0o600)
    reader = openSync(path, "r")
    unlinkSync(path)
    writeFileSync(writer, payload)
    const child = spawn(COMMAND[0], COMMAND.slice(1), { detached: true, stdio: [reader, "ignore", "ignore"] })
    running++
    child.once("exit", () => running--)
    child.once("error", () => {
      running--
      keep(payload)
    })
    child.unref()
  } finally {
    if (writer !== undefined) closeSync(writer)
    if (reader !== undefined) closeSync(reader)
  }
}

// A burst of events is not a burst of processes: what is too much is on disk before the hook returns, and a few shells
// hand it on in order, whatever becomes of this process. A shell ends when it can remove its lane, so nothing is left in a
// lane that nobody empties.
const LANES = 4
const EMPTY_LANE = `until rmdir "$0" 2>/dev/null; do
  for one in "$0"/[0-9]*; do [ -e "$one" ] || continue; "$@" <"$one" && rm "$one" || exit 1; done
done; rmdir "\${0%/*}" 2>/dev/null`
// More than this is not kept at a time: nobody takes anything, because the program was removed, say.
const MOST_KEPT = 20000
const AGAIN_MILLISECONDS = 5000
const lanes = new Map()
let folder, again
let kept = 0
let names = 0

const lane = (number) => {
  const known = lanes.get(number)
  if (known && existsSync(known.path)) return known
  if (!folder || !existsSync(folder)) {
    folder = mkdtempSync(join(tmpdir(), "headspace-"))
    kept = 0
  }
  const made = { path: join(folder, number + "-" + names), shell: undefined }
  mkdirSync(made.path, { mode: 0o700 })
  lanes.set(number, made)
  return made
}

const tryAgain = () => {
  again ??= setTimeout(() => {
    again = undefined
    for (const one of lanes.values()) if (existsSync(one.path)) empty(one)
  }, AGAIN_MILLISECONDS)
  again.unref?.()
}

const empty = (one) => {
  if (one.shell || again) return
  try {
    if (!existsSync(COMMAND[0])) return tryAgain()
    one.shell = spawn("/bin/sh", ["-c", EMPTY_LANE, one.path, ...COMMAND], { detached: true, stdio: "ignore" })
    const over = () => {
      one.shell = undefined
      if (existsSync(one.path)) tryAgain()
    }
    one.shell.once("exit", over)
    one.shell.once("error", over)
    one.shell.unref()
  } catch {
    one.shell = undefined
    tryAgain()
  }
}

const keep = (payload) => {
  const name = String(names++).padStart(9, "0")
  // A shell may remove its lane at any moment: then a new one is made.
  for (let attempt = 0; attempt < 3; attempt++) {
    let draft
    try {
      const one = lane(names % LANES)
      if (kept >= MOST_KEPT) return
      draft = join(folder, "draft-" + name)
      writeFileSync(draft, payload, { mode: 0o600 })
      renameSync(draft, join(one.path, name))
      kept++
      return empty(one)
    } catch {
      try {
        // On a full disk half of it would stay.
        if (draft) rmSync(draft, { force: true })
      } catch {}
    }
  }
}

const deliver = (payload) => {
  const text = JSON.stringify(payload)
  // Windows has no such shell.
  if (running < MOST_AT_ONCE || process.platform === "win32") {
    try {
      return start(text)
    } catch {}
  }
  keep(text)
}

// Nobody will come for what is left.
process.on("exit", () => {
  try {
    if (folder && !existsSync(COMMAND[0])) rmSync(folder, { recursive: true, force: true })
  } catch {}
})

// Where this opencode keeps its sessions.
const database = () => {
  const data = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
  const named = process.env.OPENCODE_DB
  if (named) return named === ":memory:" ? undefined : resolve(data, named)
  const standard = join(data, "opencode.db")
  if (existsSync(standard)) return standard
  const others = readdirSync(data).filter((name) => /^opencode-[\w.-]+\.db$/.test(name))
  return others.length === 1 ? join(data, others[0]) : undefined
}

export const Headspace = async (context) => {
  // A server has the sessions of many terminals: its process says nothing about one of them.
  const words = process.argv.slice(1, 4)
  const isServer = words.includes("serve") || words.includes("web")
  const origin = isServer
    ? { shared_process: true, claude_pid: null }
    : {
        claude_pid: process.pid,
        claude_pid_start: startOfThisProcess(),
        entrypoint: words.includes("run") ? "print" : "cli",
      }
  const sessions = new Map()
  try {
    origin.transcript_path = database()
  } catch {}

  const session = (id) => {
    let known = sessions.get(id)
    if (!known) {
      known = { parent: undefined, agent: undefined, directory: undefined, open: false, begun: false, retrying: false, compacting: false, said: "", usage: {}, windows: new Map(), title: "" }
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
      ...origin,
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

  // Esc ends it too, and then nothing says so but that the session is idle.
  const compacted = (id, always) => {
    if (!always && !session(id).compacting) return
    session(id).compacting = false
    send("SessionCompacted", id, {})
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
    "session.compacted": ({ sessionID }) => compacted(sessionID, true),
    "session.error": ({ sessionID, error }) => {
      if (!sessionID || !session(sessionID).open) return
      session(sessionID).open = false
      send(error?.name === "MessageAbortedError" ? "SessionAborted" : "SessionError", sessionID, { error })
    },
    "session.idle": ({ sessionID }) => {
      compacted(sessionID, false)
      const known = session(sessionID)
      if (!known.open) return
      known.open = false
      // A turn that the user breaks off before the model has begun to answer, or between two attempts, ends without an error.
      const turnEnd = known.begun && !known.retrying ? "SessionIdle" : "SessionAborted"
      const name = known.parent ? "SubagentIdle" : turnEnd
      send(name, sessionID, { last_assistant_message: known.said || undefined, ...known.usage })
    },
    "session.status": ({ sessionID, status }) => {
      if (status?.type === "retry" || status?.type === "busy") session(sessionID).retrying = status.type === "retry"
    },
    "message.updated": ({ info }) => {
      if (info?.role !== "assistant" || !info.sessionID) return
      session(info.sessionID).begun = info.error?.name !== "MessageAbortedError"
      if (!info.tokens?.input) return
      const cache = info.tokens.cache || {}
      const known = session(info.sessionID)
      known.usage = {
        context_window: known.windows.get(info.modelID),
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
      known.begun = known.retrying = false
      known.said = ""
      if (known.parent) return
      const texts = (output?.parts || []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      send("ChatMessage", input.sessionID, { prompt, prompt_id: output?.message?.id, model: output?.message?.model?.modelID })
    }),
    // The only place that says how much the model can hold.
    "chat.params": quiet(({ sessionID, model }) => {
      if (model?.id && model.limit?.context) session(sessionID).windows.set(model.id, model.limit.context)
    }),
    "tool.execute.before": quiet(({ tool, sessionID, callID }, output) => {
      session(sessionID).open = session(sessionID).begun = true
      send("ToolExecuteBefore", sessionID, { tool_name: tool, tool_use_id: callID, tool_input: output?.args })
    }),
    "tool.execute.after": quiet(({ tool, sessionID, callID, args }) => {
      // After Esc a tool reports its end once the turn is over.
      if (!session(sessionID).open) return
      send("ToolExecuteAfter", sessionID, { tool_name: tool, tool_use_id: callID, tool_input: args })
    }),
    "experimental.session.compacting": quiet(({ sessionID }) => {
      session(sessionID).compacting = true
      send("SessionCompacting", sessionID, {})
    }),
    "experimental.text.complete": quiet(({ sessionID }, output) => {
      if (output?.text) session(sessionID).said = output.text
    }),
  }
}
