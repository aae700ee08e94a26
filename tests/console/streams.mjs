// Streams on the page of their execution: listed, followed while they grow, and bounded.

import { accessible, api, assert, checks, open, segno, server, until, visit } from './browser.mjs';

const browser = await open();
const { page, faults } = browser;
const start = (id, target, input) => api('POST', '/v1/invocations', { id, target, input });
/** Appends to a stream from outside; it is made if it does not exist. */
async function append(id, name, type, body) {
  const url = `${server}/v1/stream/${id}/stream/${name}`;
  await fetch(url, { method: 'PUT', headers: { 'content-type': type } });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
  assert.ok(answer.ok, await answer.text());
}
const section = page.locator('section.stream');
const says = (what, words) => until(what, async () => words.test(await section.locator('[role="status"]').innerText()));
const view = async (id, name) => {
  await visit(page, `executions/${id}/streams?stream=${name}`);
  await section.waitFor();
};

await start('doc-1', 'approval/approval', { title: 'Budget', approver: 'ada' });
await start('relayed', 'teller/relay', { items: 3 });
await until('it has ended', async () => (await api('GET', '/v1/invocations/relayed')).state === 'resolved');

await checks({
  'the page of an execution lists its streams, and leads to each': async () => {
    await visit(page, 'executions/relayed');
    await page.getByRole('link', { name: /^Streams 2/ }).click();
    await page.waitForURL(/relayed\/streams$/);
    const cells = (name) => page.locator('tr', { has: page.locator(`a.id:has-text("${name}")`) }).locator('td').allInnerTexts();
    await page.locator('a.id:has-text("tokens")').waitFor();
    assert.deepEqual((await cells('tokens')).slice(0, 5), ['tokens', 'application/json', '3', '6 B', 'closed']);
    assert.deepEqual((await cells('log')).slice(0, 5), ['log', 'text/plain', '10', '10 B', 'closed']);
    await page.locator('a.id:has-text("tokens")').click();
    await page.waitForURL(/stream=tokens$/);
    await says('all is there', /^3 messages$/);
    assert.deepEqual(await section.locator('.message').allInnerTexts(), ['0\n0', '1\n1', '2\n2']);
    assert.match(await page.locator('main > .command code').innerText(), /segno stream relayed tokens/);
    await page.locator('a.id:has-text("log")').click();
    await until('the text is there', async () => (await section.locator('.growing').innerText()) === 'begin\nend\n');
    await section.locator('.state:has-text("closed")').waitFor();
    await visit(page, 'executions/doc-1/streams');
    await page.locator('.empty:has-text("It has written no stream.")').waitFor();
  },

  'messages appear as the workflow appends them, and the end says closed': async () => {
    await start('telling', 'teller/tell', { items: 30, pause_every: 1, pause_ms: 100 });
    await page.goto('about:blank');
    await until('it has begun', async () => (await segno('stream', 'telling')).streams.length === 1);
    await view('telling', 'numbers');
    await section.locator('.state:has-text("open")').waitFor();
    const seen = new Set();
    await until('it is closed', async () => {
      seen.add((await section.locator('[role="status"]').innerText()).trim());
      return (await section.locator('.state:has-text("closed")').count()) > 0;
    });
    await says('all came', /^30 messages$/);
    assert.ok(seen.size >= 5, `it grows: ${[...seen]}`);
    const numbers = (await section.locator('.message .mono').allInnerTexts()).map(Number);
    assert.deepEqual(numbers, numbers.map((_, at) => numbers[0] + at), 'each once and in order');
    assert.equal(numbers.at(-1), 29, 'it stays at the end');
  },

  'a text grows, in whole characters, and is text whatever it says': async () => {
    await append('doc-1', 'notes', 'text/plain', 'Hello ');
    await view('doc-1', 'notes');
    const text = section.locator('.growing');
    await until('the first part', async () => (await text.innerText()) === 'Hello ');
    for (const part of ['wörld 🎉', '\n<b onclick="alert(1)">bold</b> ', 'end\n']) await append('doc-1', 'notes', 'text/plain', part);
    await until('all of it', async () => (await text.innerText()) === 'Hello wörld 🎉\n<b onclick="alert(1)">bold</b> end\n');
    assert.equal(await text.locator('b').count(), 0);
    await append('doc-1', 'facts', 'application/json', JSON.stringify([{ name: '<img src=x onerror=alert(1)>' }, 'second']));
    await until('the list has it as well', async () => (await page.locator('a.id:has-text("facts")').count()) === 1);
    await page.locator('a.id:has-text("facts")').click();
    await section.locator('.message', { hasText: 'onerror' }).click();
    await page.locator('.detail', { hasText: 'onerror' }).waitFor();
    await append('doc-1', 'sound', 'audio/ogg', new Uint8Array([1, 2, 255]));
    await view('doc-1', 'sound');
    await says('its bytes are counted', /^3 bytes$/);
    await section.locator('.empty:has-text("no text")').waitFor();
  },

  'of much, the newest is kept, and what is not shown is counted': async () => {
    const many = Array.from({ length: 7000 }, (_, at) => at);
    await append('doc-1', 'many', 'application/json', JSON.stringify(many));
    await view('doc-1', 'many');
    await says('the first are left out', /^7,000 messages, the first 2,000 not shown$/);
    await append('doc-1', 'many', 'application/json', JSON.stringify(many.slice(0, 500)));
    await says('more are left out', /^7,500 messages, the first 2,500 not shown$/);
    await until('the last is seen', async () => (await section.locator('.message').last().innerText()) === '7,499\n499');
    assert.ok((await section.locator('.message').count()) < 200, 'few rows are in the page');
    const line = 'x'.repeat(63) + '\n';
    await append('doc-1', 'long', 'text/plain', `first\n${line.repeat(1000)}`);
    await view('doc-1', 'long');
    await says('all of it', /^64,006 bytes$/);
    for (let time = 0; time < 5; time += 1) await append('doc-1', 'long', 'text/plain', line.repeat(1000));
    await says('the beginning is left out', /^384,006 bytes, the first 1[0-9]{2},[0-9]{3} not shown$/);
    const shown = await section.locator('.growing').evaluate((pre) => pre.textContent.length);
    assert.ok(shown <= 256 * 1024 && shown > 200 * 1024, `${shown} are kept`);
    const missing = Number(/first ([\d,]+) not/.exec(await section.locator('[role="status"]').innerText())[1].replaceAll(',', ''));
    assert.equal(shown + missing, 384_006);
  },

  'both views can be used by all, in both colours, and on a telephone': async () => {
    for (const [id, name] of [['relayed', 'tokens'], ['doc-1', 'notes'], ['doc-1', 'many']]) {
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        await view(id, name);
        await accessible(page, `${name}, ${colorScheme}`);
        for (const [width, height] of [[1280, 900], [400, 800]]) {
          await page.setViewportSize({ width, height });
          const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(over <= 0, `${name} is ${over} pixels wider than ${width}`);
          if (process.env.PICTURES) await page.screenshot({ fullPage: true, path: `${process.env.PICTURES}/${name}-${colorScheme}-${width}.png` });
        }
        await page.setViewportSize({ width: 1280, height: 900 });
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
  },

  'nothing ran that is not of the console': async () => {
    assert.deepEqual(faults, []);
  },
});
await browser.close();
