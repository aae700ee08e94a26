// Each page with something on it, live, narrow and wide, light and dark.

import { accessible, api, assert, checks, open, segno, server, until, visit } from './browser.mjs';
import { IN_STATE, is, populate } from './world.mjs';

await populate();
const browser = await open();
const { page, faults } = browser;
const text = (selector = 'main') => page.locator(selector).innerText();
const PAGES = ['', 'executions/doc-1', 'executions/doc-1/journal', 'executions/doc-1/logs', 'executions/fan-1/tree', 'executions/run-1/graph', 'executions/broken-1', 'executions/declined-1', 'executions/pack-8', 'executions/trip-1/sagas', 'executions/sum-1', 'executions/sum-1%2Fg%2F1', 'executions/early-1', 'schedules/each-second', 'compare/doc-1/doc-2', 'inbox', 'promises/approval-7', 'modules', 'modules/approval', 'modules/approval/check', 'rerun?function=fan-out%2Ffan_out', 'start/approval/approval', 'schedules', 'objects', 'objects/signup/Signup/ada', 'limits', 'limits/reports/report', 'events', 'tasks', 'tasks?state=pending', 'host'];

await checks({
  'the root of the host leads a browser to the console': async () => {
    await page.goto(server);
    assert.equal(new URL(page.url()).pathname, '/console/');
    await page.waitForSelector('a.id:has-text("doc-1")');
  },

  'the list has executions in each state, filters them by its address, and counts them': async () => {
    for (const [state, id] of Object.entries(IN_STATE)) {
      await visit(page, `?state=${state}`);
      await page.waitForSelector(`tr:has(a.id:has-text("${id}"))`);
      const states = await page.locator('tbody .state').allInnerTexts();
      assert.ok(states.every((shown) => shown === state || (state === 'cancelled' && shown === 'killed')), `${state}: ${states}`);
      assert.equal(await page.locator('.chip.here').innerText().then((chip) => chip.split(/\s/)[0]), state);
    }
    await visit(page, '');
    await page.getByLabel('Id begins with').fill('doc-');
    await page.keyboard.press('Enter');
    await page.waitForURL(/prefix=doc-/);
    await until('only those are there', async () => (await page.locator('tbody tr').count()) === 2);
    await until('they are counted', async () => /suspended\s*2/.test((await text('.chips')).replaceAll('\n', ' ')));
    await visit(page, '?state=rejected');
    await page.locator('tr', { hasText: 'declined-1' }).locator('.sub.bad', { hasText: /\d+: / }).waitFor();
    await visit(page, '?label=customer%3D7');
    await until('one has the label', async () => (await page.locator('tbody a.id').allInnerTexts()).join() === 'doc-1');
    await visit(page, '?error=DECLINES');
    await until('one has the error', async () => (await page.locator('tbody a.id').allInnerTexts()).join() === 'declined-1');
    await visit(page, '?since=15m&module=approval');
    await until('two are young', async () => (await page.locator('tbody tr').count()) === 2);
    const line = await page.locator('main > .command code').innerText();
    assert.match(line, /segno list --module approval --roots --since 15m/);
  },

  'a change from the command line is seen without a reload': async () => {
    await visit(page, '');
    await page.waitForSelector('aside .state.good');
    await segno('start', 'hello/hello', '"live"', '--id', 'live-1');
    await page.waitForSelector('tr:has(a.id:has-text("live-1")) .state:has-text("resolved")', { timeout: 5000 });
    await visit(page, 'executions/doc-2');
    await page.waitForSelector('.heading .state:has-text("suspended")');
    await page.waitForSelector('aside .state.good');
    await segno('signal', 'doc-2', 'comment', '"from the shell"');
    await until('the signal is in the timeline', async () => (await page.locator('.step-name:has-text("signal")').count()) > 0, 5000);
    await segno('resolve', 'doc-2/p/decision', '"approve"');
    await page.waitForSelector('.heading .state:has-text("resolved")', { timeout: 5000 });
  },

  'an execution that a worker has in hand says whose, and for how long': async () => {
    await visit(page, 'executions/pack-8');
    await page.waitForSelector('.heading .state:has-text("acquired")');
    await until('the worker is named', async () => /packer-1/.test(await text()));
    await visit(page, 'tasks?state=acquired');
    await page.locator('tr', { hasText: 'pack-8' }).filter({ hasText: 'packer-1' }).waitFor();
  },

  'a signal that is waited for is in the inbox with its declared form, and is sent from there': async () => {
    await visit(page, 'inbox');
    const row = page.locator('tr', { hasText: 'signal comment: string' }).filter({ hasText: 'doc-1' });
    await row.getByRole('button', { name: 'signal …' }).click();
    await page.locator('dialog .value-form input').waitFor();
    await page.keyboard.press('Escape');
  },

  'two executions stand side by side, and the first difference is marked': async () => {
    await visit(page, 'compare/doc-1');
    await page.getByLabel('With the execution').fill('doc-2');
    await page.getByRole('button', { name: 'compare' }).click();
    await page.waitForURL(/compare\/doc-1\/doc-2$/);
    await page.locator('tr.first-difference').first().click();
    await until('both records are shown', async () => (await page.locator('section.detail').count()) === 2);
  },

  'the page of the host draws curves': async () => {
    await visit(page, 'host');
    await until('memory has a value', async () => /\d/.test(await page.locator('.chart', { hasText: 'Memory' }).locator('strong').innerText()), 15_000);
    assert.equal(await page.locator('.chart').count(), 4);
  },

  'a saga that was unwound shows each step, and what undid it': async () => {
    await visit(page, 'executions/trip-1');
    await page.getByRole('link', { name: /Sagas/ }).click();
    const saga = page.locator('section', { hasText: 'undone' }).first();
    for (const [did, undid] of [['book_flight', 'cancel_flight'], ['book_hotel', 'cancel_hotel'], ['rent_car', 'return_car']]) {
      const step = saga.locator('tr', { hasText: did });
      await step.filter({ hasText: 'acted' }).filter({ hasText: undid }).filter({ hasText: 'completed' }).waitFor();
    }
    assert.match(await page.locator('main > .command code').innerText(), /segno saga show trip-1/);
  },

  'an execution that continued as new shows its generations, and each leads to the others': async () => {
    await visit(page, 'executions/sum-1');
    const fact = page.locator('.facts div', { hasText: 'Generation' });
    await fact.filter({ hasText: '3 of 3 of sum-1' }).waitFor();
    assert.equal(await fact.getByRole('link', { name: 'newest' }).count(), 0, 'it is the newest');
    await fact.getByRole('link', { name: 'earlier' }).click();
    await fact.filter({ hasText: '2 of 3' }).waitFor();
    await fact.getByRole('link', { name: 'earlier' }).click();
    await fact.filter({ hasText: '1 of 3' }).waitFor();
    await page.waitForURL(/sum-1%2Fg%2F1$/);
    await until('its steps are there', async () => (await page.locator('.step').count()) > 2);
    await fact.getByRole('link', { name: 'newest' }).click();
    await page.waitForURL(/sum-1%2Fg%2F3$/);
    await page.locator('.actions button', { hasText: 'signal' }).waitFor();
  },

  'what an execution never read is said where it ended, and in the list': async () => {
    await visit(page, 'executions/early-1');
    await page.locator('.why.warn', { hasText: 'never read 1 signal and the early promise never' }).waitFor();
    await visit(page, '?prefix=early-1');
    await page.locator('tr', { hasText: 'early-1' }).locator('.sub.warn', { hasText: '2 unread' }).waitFor();
  },

  'a schedule shows its next ten occurrences in both times, and what it skipped and why': async () => {
    await visit(page, 'schedules');
    await page.getByRole('link', { name: 'each-second', exact: true }).click();
    await page.waitForURL(/schedules\/each-second$/);
    const next = page.getByRole('table').filter({ hasText: 'In Europe/Berlin' }).locator('tbody tr');
    await until('there are ten', async () => (await next.count()) === 10);
    const [there, utc] = await next.first().locator('td').allInnerTexts();
    const hours = (text) => Number(/[T ](\d\d):/.exec(text)[1]);
    assert.ok([1, 2].includes((hours(there) - hours(utc) + 24) % 24), `${there} in Berlin is ${utc}`);
    await page.getByRole('table').filter({ hasText: 'How many' }).locator('tr', { hasText: 'overlap' }).filter({ hasText: 'each-second@' }).waitFor();
  },

  'what recovery found is on the page of the host': async () => {
    await visit(page, 'host');
    const halted = page.locator('tr', { hasText: 'Executions halted' }).locator('.num');
    await until('both halted ones are counted', async () => (await halted.innerText()) === '2', 10_000);
    assert.match(await page.locator('tr', { hasText: 'Tasks taken back: reconcile' }).locator('.num').innerText(), /^0$/);
  },

  'what is in flight is checked on a module, and each that differs says how': async () => {
    await visit(page, 'modules/approval');
    await page.getByRole('link', { name: 'Check on what the name stands for' }).click();
    await page.waitForURL(/modules\/approval\/check$/);
    await page.locator('section', { hasText: 'On it already' }).locator('a.id', { hasText: 'doc-1' }).waitFor();
    const other = (await api('GET', '/v1/modules/hello')).digest;
    await visit(page, `modules/approval/check/${other}`);
    const fails = page.locator('section', { hasText: 'cannot repeat them' });
    await fails.locator('a.id', { hasText: 'doc-1' }).waitFor();
    assert.match(await fails.innerText(), /approval/);
    await page.locator('[role="status"]', { hasText: /fail/ }).waitFor();
  },

  'executions are run again, page by page, and nothing is stored': async () => {
    const status = (part) => page.locator('[role="status"]:not([aria-busy])', { hasText: part }).waitFor();
    const run = () => page.getByRole('button', { name: 'Run', exact: true }).click();
    const calls = async () => (await api('GET', '/v1/invocations?limit=1000')).items.length;
    const before = await calls();
    await visit(page, 'executions/fan-1');
    await page.getByRole('link', { name: 'rerun', exact: true }).click();
    await page.waitForURL(/rerun\?function=fan-out%2Ffan_out$/);
    assert.equal(await page.getByLabel('Function').inputValue(), 'fan-out/fan_out');
    await run();
    await status('1 execution: 1 the same');
    await page.locator('tr', { hasText: 'fan-1' }).filter({ hasText: 'same' }).waitFor();
    assert.match(await text('.facts'), /12 answered, 0 new/);
    assert.equal(await page.locator('main > .command code').innerText(), '$ segno rerun --function fan-out/fan_out --limit 20');

    await page.getByLabel('Module to run').selectOption('hello');
    await run();
    await status('1 execution: 1 failed');
    await page.waitForURL(/module=hello/);
    await page.locator('article', { hasText: 'has no workflow' }).locator('a.id', { hasText: 'fan-1' }).waitFor();

    await visit(page, 'rerun');
    await page.getByLabel('Label').fill('nothing=here');
    await run();
    await page.locator('.empty', { hasText: 'No executions match' }).waitFor();
    browser.allow('status of 400');
    await page.getByLabel('Function').fill('approval');
    await run();
    await page.locator('.failed', { hasText: 'MODULE/FUNCTION' }).waitFor();

    // Pages follow each other up to the number that was asked for.
    let requests = 0;
    const counted = (request) => (requests += request.url().endsWith('/v1/rerun') ? 1 : 0);
    page.on('request', counted);
    await visit(page, 'rerun?count=11');
    await run();
    await status('11 executions');
    assert.equal(requests, 2);
    page.off('request', counted);
    await page.locator('table a.id').first().click();
    await page.waitForURL(/executions\//);
    assert.equal(await calls(), before);

    // It ends with the page.
    let ended = '';
    page.on('requestfailed', (request) => (ended ||= request.url().endsWith('/v1/rerun') ? request.failure().errorText : ''));
    await page.route('**/v1/rerun', () => {});
    await visit(page, 'rerun');
    await run();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByRole('link', { name: 'Modules', exact: true }).click();
    await until('the request is given up', () => ended === 'net::ERR_ABORTED');
    await page.unroute('**/v1/rerun');
  },

  'an execution shows why it waits, its steps, its records, what it logged and called': async () => {
    await visit(page, 'executions/doc-1');
    await page.waitForSelector('.why-line:has-text("waits for the promise doc-1/p/decision")');
    await page.waitForSelector('.why-commands code:has-text("segno resolve doc-1/p/decision JSON")');
    await page.waitForSelector('.step-name:has-text("promise decision")');
    await page.getByRole('link', { name: /^Journal/ }).click();
    await page.waitForURL(/doc-1\/journal/);
    await page.locator('.journal-row', { hasText: 'started approval' }).click();
    await page.waitForSelector('.detail:has-text("Budget")');
    await page.getByPlaceholder('Search in all records').fill('budget');
    await until('one record has it', async () => (await page.locator('.rows .journal-row').count()) === 1);
    await visit(page, 'executions/fan-1/tree');
    await until('all calls are there', async () => (await page.locator('.tree li').count()) === 13);
    await visit(page, 'executions/broken-1');
    await page.waitForSelector('.why:has-text("it stumbled on purpose")');
    await page.waitForSelector('.frames:has-text("hostile/src/lib.rs")');
    await visit(page, 'executions/run-1/graph');
    await page.waitForSelector('.graph svg .node');
    assert.equal(await page.locator('.graph svg .node').count(), 5);
    await page.waitForSelector('tr:has-text("approved"):has-text("waiting")');
  },

  'every page shows what there is, by the keyboard too, with labels, in both colours and at each width': async () => {
    const found = [];
    const look = (what) => accessible(page, what).catch((error) => found.push(`${what}: ${error.actual ?? error.message}`));
    for (const path of PAGES) {
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 1280, height: 900 });
      await visit(page, path);
      await until(`${path} is read`, async () => (await page.locator('[aria-busy="true"]').count()) === 0);
      assert.equal(await page.locator('.failed').count(), 0, `${path}: ${await page.locator('.failed').allInnerTexts()}`);
      assert.match(await page.title(), /· Segno$/);
      await look(`${path}, light`);
      await page.emulateMedia({ colorScheme: 'dark' });
      await look(`${path}, dark`);
      await page.setViewportSize({ width: 360, height: 740 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) found.push(`${path} is ${over} pixels wider than a telephone`);
    }
    assert.deepEqual(found, []);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 900 });
    await visit(page, '');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.getByRole('button', { name: /^Colours/ }).click();
    await page.getByRole('button', { name: /^Colours/ }).click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await page.reload();
    await page.waitForSelector('main h1');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  },

  'nothing ran that is not of the console, and nothing was asked of others': async () => {
    assert.deepEqual(faults, []);
  },
});
await browser.close();
