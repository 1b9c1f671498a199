// Light, dark, or as the system has it. The choice is remembered in this browser.

import { attr, icon, remember, remembered } from './dom.js';

const NEXT = { system: 'light', light: 'dark', dark: 'system' };
const ICONS = { system: 'M12 3a9 9 0 1 0 0 18ZM12 3a9 9 0 0 1 0 18', light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4m11.2 11.2L19 19M5 19l1.4-1.4M17.6 6.4 19 5', dark: 'M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5Z' };
const WORDS = { system: 'as the system has them', light: 'light', dark: 'dark' };

export function startTheme(node) {
  let theme = Object.hasOwn(NEXT, remembered('theme') ?? '') ? remembered('theme') : 'system';
  const patch = () => {
    attr(document.documentElement, 'data-theme', theme === 'system' ? null : theme);
    node.replaceChildren(icon(ICONS[theme], 18));
    attr(node, 'title', `Colors: ${WORDS[theme]}`);
    attr(node, 'aria-label', `Colors: ${WORDS[theme]}`);
  };
  node.addEventListener('click', () => {
    theme = NEXT[theme];
    remember('theme', theme);
    patch();
  });
  patch();
}
