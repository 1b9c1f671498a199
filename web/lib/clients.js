// The coding agents whose sessions stand on the board: glyph, word, and how a session is resumed. A test keeps this in step
// with the table of clients.

import { line } from './format.js';

const CLIENTS = {
  claude: { glyph: '✻', title: 'Claude Code', resume: 'claude --resume {session}' },
  codex: { glyph: '⬡', title: 'Codex', resume: 'codex resume {session}' },
  qwen: { glyph: '◆', title: 'Qwen Code', resume: 'qwen --resume {session}' },
  gemini: { glyph: '✦', title: 'Gemini', resume: 'gemini --resume {session}' },
  copilot: { glyph: '◈', title: 'Copilot', resume: 'copilot --resume={session}' },
  opencode: { glyph: '▣', title: 'opencode', resume: 'opencode --session {session}' },
  cursor: { glyph: '◮', title: 'Cursor', resume: 'cursor-agent --resume={session}' },
};

const known = (name) => (Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : null);

/** "⬡ codex": what tells a client from the others on a row. */
export const clientMark = (name) => `${known(name)?.glyph ?? '?'} ${line(name, 32)}`;

/** The command that resumes a session, or null if it is not known. */
export const resumeOf = (name, session) => known(name)?.resume.replace('{session}', session) ?? null;
