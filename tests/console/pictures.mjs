// The pictures of the documents, made anew.

import { join } from 'node:path';
import { api, assert, checks, open, until, visit } from './browser.mjs';
import { is, populate } from './world.mjs';

const { PICTURES } = process.env;
await populate();
const browser = await open();
const { page } = browser;
const picture = async (name, path, ready, height = 760) => {
  await page.setViewportSize({ width: 1180, height });
  await visit(page, path);
  await page.waitForSelector(ready);
  await page.waitForSelector('aside .state.good');
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(PICTURES, `console-${name}.png`) });
};

await checks({
  'pictures are made': async () => {
    await api('POST', '/v1/invocations', { id: 'budget-2027', target: 'approval/approval', input: { title: 'Budget 2027', approver: 'ada', remind_after_s: 2, reminders: 50 }, labels: { team: 'finance' } });
    await is('budget-2027', 'suspended');
    await api('POST', '/v1/invocations/budget-2027/signals', { name: 'comment', payload: 'Please look at page 3.' });
    await until('it went on for a while', async () => (await api('GET', '/v1/invocations/budget-2027')).journal_len > 16, 60_000);
    await picture('execution', 'executions/budget-2027', '.step', 1020);
    await picture('list', '', 'tbody tr:nth-child(8)');
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture('dark', 'executions/run-1/graph', '.graph svg .node', 960);
    assert.ok(PICTURES);
  },
});
await browser.close();
