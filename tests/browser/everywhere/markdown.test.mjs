// Markdown on the page: a strict subset, and hostile texts that stay texts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, launch, open } from '../stage.mjs';

let server, browser, page;

before(async () => {
  server = await Server.start();
  browser = await launch();
  page = await open(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const drawn = (texts) => page.evaluate(async (all) => {
  const { markdown } = await import('/assets/lib/markdown.js');
  return all.map((text) => markdown(text).innerHTML.replaceAll(' tabindex="0" role="group"', ''));
}, texts);

async function table(rows) {
  const got = await drawn(rows.map(([text]) => text));
  rows.forEach(([text, wanted], at) => assert.equal(got[at], wanted, JSON.stringify(text)));
}

test('blocks', () => table([
  ['one\ntwo\n\nthree', '<p>one<br>two</p><p>three</p>'],
  ['## Head ##\ntext', '<p class="h2">Head</p><p>text</p>'],
  ['```js\nlet a = "<b>";\n\n# no head\n```\nafter', '<pre aria-label="js" data-language="js"><code>let a = "&lt;b&gt;";\n\n# no head</code></pre><p>after</p>'],
  ['```\nnever closed', '<pre aria-label="code"><code>never closed</code></pre>'],
  ['- a\n- b\n  - c\n- [x] d', '<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>☑ d</li></ul>'],
  ['3. a\n4. b', '<ol start="3"><li>a</li><li>b</li></ol>'],
  ['> quoted\n> more\n\nnot', '<blockquote><p>quoted<br>more</p></blockquote><p>not</p>'],
  ['---', '<hr>'],
  ['| a | b |\n|---|:-:|\n| 1 | `x` |', '<div class="scroll" aria-label="Table"><table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody><tr><td>1</td><td><code>x</code></td></tr></tbody></table></div>'],
]));

test('words in a line', () => table([
  ['**bold** and *thin* and ~~gone~~', '<p><strong>bold</strong> and <em>thin</em> and <s>gone</s></p>'],
  ['snake_case_name and __init__', '<p>snake_case_name and <strong>init</strong></p>'],
  ['2 * 3 * 4 and **open', '<p>2 * 3 * 4 and **open</p>'],
  ['src/*.js lib/*.css, a/**/b c/**/d, **/*.ts x/**', '<p>src/*.js lib/*.css, a/**/b c/**/d, **/*.ts x/**</p>'],
  ['`a ** b` and ``c ` d``', '<p><code>a ** b</code> and <code>c ` d</code></p>'],
  ['\\*not\\* \\# <', '<p>*not* # &lt;</p>'],
  ['**a *b* c**', '<p><strong>a <em>b</em> c</strong></p>'],
]));

test('an address is a button that shows where it leads', () => table([
  ['[docs](https://example.com/a)', '<p><button class="url" type="button" title="https://example.com/a">docs<span class="note"> (example.com)</span></button></p>'],
  ['see https://example.com/x.', '<p>see <button class="url" type="button" title="https://example.com/x">https://example.com/x</button>.</p>'],
]));

test('nothing hostile becomes more than text', () => table([
  ['<script>alert(1)</script>', '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  ['<img src=x onerror=alert(1)>', '<p>&lt;img src=x onerror=alert(1)&gt;</p>'],
  ['[x](javascript:alert(1))', '<p><span title="javascript:alert(1">x (javascript:alert(1)</span>)</p>'],
  ['[x](data:text/html,<script>alert(1)</script>)', '<p><span title="data:text/html,&lt;script&gt;alert(1">x (data:text/html,&lt;script&gt;alert(1)</span>&lt;/script&gt;)</p>'],
  ['![p](https://evil.example/pixel.png)', '<p><button class="url" type="button" title="https://evil.example/pixel.png">p<span class="note"> (evil.example)</span></button></p>'],
  ['[bank.example](https://evil.example)', '<p><button class="url" type="button" title="https://evil.example/">bank.example<span class="note"> (evil.example)</span></button></p>'],
  ['[x](https://bank.example@evil.example)', '<p><span title="https://bank.example@evil.example">x (https://bank.example@evil.example)</span></p>'],
  ['```"><img src=x onerror=alert(1)>\ncode\n```', '<pre aria-label="&quot;&gt;&lt;img src=x onerror=" data-language="&quot;&gt;&lt;img src=x onerror="><code>code</code></pre>'.replaceAll('onerror=', 'onerror…')],
  ['a\u202eb\u0007c', '<p>ab␇c</p>'],
]));

test('no text takes forever, however it is nested', async () => {
  const many = ['**a '.repeat(20000), '[a]('.repeat(20000), '`'.repeat(50001), '>'.repeat(20000), `${'- '.repeat(3000)}x`, '*_'.repeat(20000), 'https://a '.repeat(5000), '|a'.repeat(5000) + '\n|-' + '|-'.repeat(5000), '  - x\n'.repeat(5000), '('.repeat(50000) + '](' + ')'.repeat(50000), '~~~\n'.repeat(9999)];
  const lengths = await drawn(many);
  assert.equal(lengths.length, many.length);
  assert.deepEqual(page.faults, []);
});

test('nothing but the few known elements comes out, whatever goes in', async () => {
  const bad = await page.evaluate(async () => {
    const { markdown } = await import('/assets/lib/markdown.js');
    const ELEMENTS = new Set('P BR PRE CODE UL OL LI BLOCKQUOTE HR DIV TABLE THEAD TBODY TR TH TD STRONG EM S BUTTON SPAN'.split(' '));
    const ATTRIBUTES = new Set('class type title start scope tabindex role aria-label data-language'.split(' '));
    const PARTS = ['a', ' ', '\n', '\n\n', '    ', '\t', '#', '## ', '- ', '1. ', '* ', '_', '**', '~~', '`', '```', '~~~', '> ', '|', '|-|-|', '---', '[', ']', '](', ')', '!', '<', '>', '<img src=x onerror=alert(1)>', '</p>', '&lt;', '"', "'", 'https://a.example/x', 'javascript:alert(1)', '\\\\', '\u202e', '\u0000', '\u{1F600}', 'ß', '[x] '];
    // The same texts in every run.
    let state = 20261117;
    const roll = (sides) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % sides;
    const found = [];
    for (let round = 0; round < 3000 && found.length < 5; round++) {
      const text = Array.from({ length: 1 + roll(40) }, () => PARTS[roll(PARTS.length)]).join('');
      const root = markdown(text);
      for (const node of root.querySelectorAll('*')) {
        const odd = [...node.attributes].filter(({ name }) => !ATTRIBUTES.has(name)).map(({ name }) => name);
        if (!ELEMENTS.has(node.tagName) || odd.length || node.children.length > 0 && node.tagName === 'CODE') found.push([text, node.outerHTML, odd]);
      }
      if (/[\u0000-\u0008\u202a-\u202e]/.test(root.textContent)) found.push([text, 'control characters']);
    }
    return found;
  });
  assert.deepEqual(bad, []);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});

test('no address is opened or asked for before a click', async () => {
  const asked = [];
  page.context().on('request', (request) => asked.push(request.url()));
  await page.evaluate(async () => {
    const { markdown } = await import('/assets/lib/markdown.js');
    document.body.append(markdown('![p](https://evil.example/a.png) [x](https://evil.example/b) https://evil.example/c'));
  });
  const [popup] = await Promise.all([page.context().waitForEvent('page'), page.locator('.url', { hasText: /^x / }).click()]);
  assert.deepEqual(asked.filter((url) => url.includes('evil.example/a') || url.includes('evil.example/c')), []);
  assert.equal(await popup.evaluate(() => window.opener), null);
  await popup.close();
});
