// A host that goes away and comes back.

import { api, assert, checks, open, server, until, visit } from './browser.mjs';
import { begin } from './own_host.mjs';

let host = await begin();
const browser = await open();
const { page, faults, allow } = browser;
try {
  await checks({
    'a page says that the host is away, keeps what it showed, and goes on by itself': async () => {
      await api('POST', '/v1/promises', { id: 'before' });
      await visit(page, 'inbox');
      await page.waitForSelector('tr:has(a.id:has-text("before"))');
      await page.waitForSelector('aside .state.good');
      allow('ERR_CONNECTION_REFUSED');
      allow('ERR_INCOMPLETE_CHUNKED_ENCODING');
      allow('ERR_CONNECTION_RESET');
      allow('ERR_EMPTY_RESPONSE');
      await host.kill('SIGKILL');
      await page.waitForSelector('aside .state.bad, aside .state.warn', { timeout: 10_000 });
      assert.equal(await page.locator('tr:has(a.id:has-text("before"))').count(), 1);
      host = await begin();
      await api('POST', '/v1/promises', { id: 'after' });
      await page.waitForSelector('aside .state.good', { timeout: 20_000 });
      await page.waitForSelector('tr:has(a.id:has-text("after"))', { timeout: 20_000 });
    },

    'a page of one promise goes on as well, after an orderly stop': async () => {
      await visit(page, 'promises/before');
      await host.kill('SIGTERM');
      await page.waitForSelector('aside .state.bad, aside .state.warn', { timeout: 15_000 });
      host = await begin();
      await page.waitForSelector('aside .state.good', { timeout: 20_000 });
      await api('POST', '/v1/promises/before/resolve', { value: 1 });
      await page.waitForSelector('.heading .state:has-text("resolved")', { timeout: 10_000 });
    },

    'a stream that is followed goes on where it was': async () => {
      const stream = `${server}/v1/stream/worked/stream/notes`;
      const send = async (method, body) => assert.ok((await fetch(stream, { method, headers: { 'content-type': 'text/plain' }, body })).ok);
      await api('POST', '/v1/promises', { id: 'worked', tags: { target: 'poll://any@nobody' }, param: { func: 'f', args: [] } });
      await send('PUT');
      await send('POST', 'one ');
      await visit(page, 'executions/worked/streams?stream=notes');
      const text = () => page.locator('.growing').innerText();
      await until('it is shown', async () => (await text()) === 'one ');
      await host.kill('SIGKILL');
      await page.waitForSelector('section.stream .state:has-text("connecting again")', { timeout: 10_000 });
      host = await begin();
      await send('POST', 'two');
      await until('it goes on, and nothing comes twice', async () => (await text()) === 'one two');
      await page.waitForSelector('section.stream .state:has-text("open")');
    },

    'nothing ran that is not of the console': async () => {
      assert.deepEqual(faults, []);
    },
  });
} finally {
  await browser.close();
  await host.kill('SIGTERM');
}
