// The next prompt for an agent, typed into its terminal by the server; prompts that wait; and stopping it.

import { post } from '../lib/api.js';
import { answering } from '../lib/answer.js';
import { attr, button, el, keyed, show, text } from '../lib/dom.js';
import { line, plain } from '../lib/format.js';
import { tickNode, setTick } from '../lib/parts.js';
import { askUnlock } from './dialogs.js';

/** What became of a prompt, in words. */
const STATES = {
  queued: 'It waits until the agent is idle.', sent: 'Sent.', entered: 'Entered; the client does not confirm such a line.', in_box: 'It is in the input box of the terminal, not sent.', canceled: 'Taken back.', dropped: 'It was not typed.',
  interrupted: 'Stopped.', requested: 'Stop requested: its next tool call is denied, and the turn ends there.', withdrawn: 'The turn was over before.',
};

/** The box under an agent's card. */
export class Reply {
  constructor(id) {
    this.id = id;
    this.field = el('textarea', { rows: 2, 'aria-label': 'Next prompt', placeholder: 'Next prompt', maxlength: 60000 });
    this.send = button('button.main', null, 'Send', () => this.submit());
    this.sure = button('button', null, 'Send it anyway', () => this.submit(true), { hidden: true });
    this.unlock = button('button', null, 'Unlock to reply', () => askUnlock(), { hidden: true });
    this.stop = button('button', 'M6 6h12v12H6z', 'Stop', () => this.halt(), { hidden: true, title: 'Esc in its terminal, or a denial at its next tool call' });
    this.told = el('p.told', { role: 'status' });
    this.waiting = el('ol.queue', { 'aria-label': 'Prompts that wait' });
    this.node = el('div.reply', { hidden: true }, this.waiting, this.field, el('div.actions', null, this.send, this.sure, this.unlock), this.told);
    this.field.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.submit();
    });
    this.field.addEventListener('input', () => show(this.sure, false));
  }

  patch(agent) {
    // A server that knows replies says which ones wait.
    const reachable = Array.isArray(agent.replies) && !agent.ended_at && !agent.headless && agent.tmux_pane && answering?.on;
    const mine = Boolean(answering?.mine);
    show(this.node, Boolean(reachable));
    for (const part of [this.field, this.send]) show(part, mine);
    show(this.unlock, !mine);
    const runs = ['working', 'needs_you'].includes(agent.group);
    show(this.stop, Boolean(reachable && mine && runs));
    attr(this.stop, 'aria-disabled', agent.stop_requested ? 'true' : null);
    text(this.stop.word, agent.stop_requested ? 'Stop requested' : 'Stop');
    text(this.send.word, runs ? 'Send when it is idle' : 'Send');
    keyed(this.waiting, agent.replies ?? [], ({ id }) => id, (one) => {
      const bits = [el('span.ask', { dir: 'auto' }), tickNode(), button('button.small', null, 'Take back', () => this.act('reply/cancel', { reply_id: one.id }))];
      return Object.assign(el('li', null, ...bits), { bits });
    }, ({ bits: [words, since] }, one) => {
      text(words, [plain(one.text, 2000), one.why && `(${line(one.why, 200)})`].filter(Boolean).join(' '));
      setTick(since, Date.parse(one.queued_at));
    });
  }

  async submit(confirm = false) {
    const words = this.field.value;
    if (!words.trim()) return;
    if (/^\s*[!/#@]/.test(words) && !confirm) {
      show(this.sure, true);
      return text(this.told, `It begins with ${words.trim()[0]}: to the client that is more than a prompt.`);
    }
    show(this.sure, false);
    if (await this.act('reply', confirm ? { text: words, confirm: true } : { text: words })) this.field.value = '';
  }

  halt() {
    if (this.stop.getAttribute('aria-disabled') !== 'true') this.act('stop', {});
  }

  async act(verb, body) {
    try {
      const { state, why } = await post(`/api/agents/${this.id}/${verb}`, body);
      text(this.told, [STATES[state] ?? 'Done.', why && line(why, 200)].filter(Boolean).join(' '));
      return ['sent', 'queued', 'entered', 'in_box'].includes(state);
    } catch (error) {
      text(this.told, line(error.message.replace(/^could/, 'Could'), 300));
      return false;
    }
  }
}
