// Dialogs that stand between a key and an answer: unlocking this browser, a second look before an answer goes out.

import { answering, CHOICES, INERT_FOR, lock, onAnswering, unlock } from '../lib/answer.js';
import { attr, button, byId, el, show, text } from '../lib/dom.js';
import { clock, line, plain, tilde } from '../lib/format.js';
import { announce } from '../lib/signal.js';

function dialog(id, title, ...content) {
  const said = el('p.told', { role: 'status' });
  const node = el('dialog', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, title), ...content, said);
  node.addEventListener('close', () => node.remove());
  document.body.append(node);
  return Object.assign(node, { said });
}

const cancel = (node) => button('button', null, 'Cancel', () => node().close(), { autofocus: true });

/** Asks for the code that `headspace answer unlock` shows in a terminal. */
export function askUnlock() {
  if (byId('unlock')) return;
  const code = el('input.code', { type: 'text', 'aria-label': 'Code', placeholder: 'XXXX-XXXX', maxlength: 12, autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false', autofocus: true });
  const form = el('form', { method: 'dialog' }, code, el('div.actions', null, el('button.button.main', { type: 'submit' }, 'Unlock'), button('button', null, 'Cancel', () => node.close())));
  const node = dialog('unlock', 'Unlock this browser', el('p', null, 'Run ', el('code', null, 'headspace answer unlock'), ' in a terminal of yours and type the code it shows.'), form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      await unlock(code.value.trim().toUpperCase());
      node.close();
      announce('Unlocked: this browser can answer');
    } catch (error) {
      text(node.said, `Could not unlock: ${line(error.message, 200)}`);
      code.select();
    }
  });
  node.showModal();
}

/** Shows what would be answered, each ask by itself, and waits for a second yes. `answer(ask, choice, more)` sends one. */
export function confirmAll(asks, choices, answer) {
  if (byId('confirm') || !asks.length) return;
  const rows = asks.map(({ agent, ask }) => {
    const state = el('span.note', { role: 'status' });
    const row = el('li', null, el('b', { dir: 'auto' }, line(agent.summary.title, 80)), el('span.note', null, line(tilde(ask.cwd ?? agent.cwd ?? ''), 80)), el('pre', { tabindex: '0', dir: 'ltr' }, plain(ask.text, 70000)), state);
    return Object.assign(row, { state });
  });
  const confirm = asks.map(({ ask }) => ask.answer.confirm).find(Boolean);
  const typed = confirm && choices.includes('allow') && el('input.free', { type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-label': `Type ${confirm} to allow`, placeholder: `Type ${confirm} to allow` });
  const openedAt = performance.now();
  let done = false;
  async function go(choice) {
    if (done || performance.now() - openedAt < INERT_FOR) return;
    if (choice === 'allow' && typed && typed.value !== confirm) return text(node.said, `Type ${confirm} to allow this.`);
    done = true;
    for (const [at, { ask }] of asks.entries()) text(rows[at].state, await answer(ask, choice, choice === 'allow' && ask.answer.confirm ? { confirm: typed.value } : {}));
    for (const each of buttons) show(each, false);
    text(close.word, 'Close');
    if (asks.length === 1) node.close();
  }
  const keys = { allow: 'a', deny: 'd' };
  const buttons = choices.map((choice) => button(choice === 'allow' ? 'button.main' : 'button', null, `${CHOICES[choice][0]}${asks.length > 1 ? `, all ${asks.length}` : ''} (${keys[choice]})`, () => go(choice), { 'aria-disabled': 'true', 'data-choice': choice }));
  setTimeout(() => buttons.forEach((each) => attr(each, 'aria-disabled', null)), INERT_FOR);
  const close = cancel(() => node);
  const node = dialog('confirm', asks.length > 1 ? `${asks.length} agents ask for the same` : `${CHOICES[choices[0]][0]}?`, el('ul.alike', null, ...rows), typed, el('div.actions', null, close, ...buttons));
  node.addEventListener('keydown', (event) => {
    const choice = choices.find((each) => keys[each] === event.key);
    if (!choice || event.repeat || event.target === typed || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(choice);
  });
  node.showModal();
}

/** The padlock in the header, there while answering is on; and a line for every unlock that was not there before. */
export function startLock(changed) {
  const node = byId('lock');
  const told = byId('unlocked');
  const what = (surface, from) => (surface === 'cli' ? `\`headspace answer\` is used on ${from}, first` : `${line(surface, 20)} was unlocked${from ? ` from ${from}` : ''}`);
  const where = ({ surface, from, at }) => `${what(surface, line(from, 60))} at ${clock(Date.parse(at))}`;
  let known = null;
  const patch = () => {
    show(node, Boolean(answering?.on));
    const keys = answering?.keys ?? [];
    const mine = Boolean(answering?.mine);
    attr(node, 'aria-pressed', mine);
    attr(node, 'title', [mine ? 'This browser can answer. Click or press L to lock it.' : 'Click to unlock this browser for answers.', ...keys.map(where)].join('\n'));
    attr(node, 'aria-label', mine ? 'Lock answering' : 'Unlock answering');
    const fresh = known && keys.filter(({ id }) => !known.has(id));
    if (answering) known = new Set(keys.map(({ id }) => id));
    if (fresh?.length) {
      const words = `Answering: ${where(fresh.at(-1))}.`;
      told.replaceChildren(el('b', null, words), ' Not you? ', button('button.small', null, 'Lock it', () => lockNow(fresh.at(-1).id)), button('button.small', null, 'It was me', () => show(told, false)));
      show(told, true);
      announce(words);
    } else if (!keys.length) show(told, false);
    changed();
  };
  onAnswering(patch);
  node.addEventListener('click', () => (answering?.mine ? lockNow() : askUnlock()));
  patch();
}

/** Locks this browser; if it is not unlocked itself, the page or terminal that was unlocked last. */
export function lockNow(id = answering?.mine ? undefined : answering?.keys?.at(-1)?.id) {
  if (!answering?.mine && !answering?.unlocked) return announce('Nothing is unlocked');
  lock(id).then(() => announce('Locked'), (error) => announce(`Could not lock: ${line(error.message, 200)}`));
}
