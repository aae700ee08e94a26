// Each action, on the page, and what came of it, on the host.

import { api, assert, checks, open, until, visit } from './browser.mjs';
import { is, populate } from './world.mjs';

await populate();
const browser = await open();
const { page, faults } = browser;
const dialog = page.locator('dialog');
const press = (name) => page.locator('.actions button', { hasText: new RegExp(`^${name}`) }).click();
const confirm = (name) => dialog.getByRole('button', { name, exact: true }).click();
const command = () => dialog.locator('.command code').innerText();
const begin = (id, target, input) => api('POST', '/v1/invocations', { id, target, input });

await checks({
  'a promise is resolved by a form from its schema': async () => {
    await visit(page, 'executions/doc-1');
    await page.getByRole('button', { name: 'resolve …' }).click();
    await dialog.locator('select').waitFor();
    const options = await dialog.locator('select option:enabled').allInnerTexts();
    assert.deepEqual(options.sort(), ['approve', 'refuse']);
    assert.ok(await dialog.getByRole('button', { name: 'Resolve', exact: true }).isDisabled(), 'nothing is chosen yet');
    await dialog.locator('select').selectOption({ label: 'refuse' });
    assert.match(await command(), /segno resolve doc-1\/p\/decision '"refuse"'/);
    await confirm('Resolve');
    await page.waitForSelector('.heading .state:has-text("resolved")');
    assert.equal((await api('GET', '/v1/invocations/doc-1')).output.decision, 'refuse');
  },

  'what does not fit is refused where it was given, and nothing is lost': async () => {
    await visit(page, 'executions/doc-2');
    await page.getByRole('button', { name: 'resolve …' }).click();
    await dialog.getByRole('button', { name: 'as JSON' }).click();
    await dialog.locator('textarea').fill('{"no": ');
    assert.ok(await dialog.getByRole('button', { name: 'Resolve', exact: true }).isDisabled());
    await dialog.locator('textarea').fill('"perhaps"');
    await confirm('Resolve');
    await dialog.locator('.failed', { hasText: 'perhaps' }).waitFor();
    assert.equal(await dialog.locator('textarea').inputValue(), '"perhaps"');
    await page.keyboard.press('Escape');
    await until('the dialog is closed', async () => (await dialog.count()) === 0);
  },

  'a signal, an update and a query': async () => {
    await press('signal');
    await dialog.locator('.value-form input').fill('looks good');
    await confirm('Send');
    await until('it was sent', async () => (await api('GET', '/v1/invocations/doc-2')).signals === 1);
    await visit(page, 'executions/lot-1');
    await press('update bid');
    await dialog.getByLabel('bidder').fill('ada');
    await dialog.getByLabel('amount').fill('25');
    assert.match(await command(), /segno update lot-1 bid '\{"amount":25,"bidder":"ada"\}'/);
    await confirm('Send');
    await dialog.locator('.answer', { hasText: 'completed' }).waitFor();
    await page.keyboard.press('Escape');
    await press('query leader');
    await confirm('Ask');
    await dialog.locator('.answer', { hasText: 'ada' }).waitFor();
    await page.keyboard.press('Escape');
  },

  'a rejection reaches whoever waits': async () => {
    await begin('wait-1', 'hostile/behave', { name: 'Ada', times: 1 });
    await visit(page, 'executions/wait-1');
    await page.getByRole('button', { name: 'reject …' }).click();
    await dialog.getByLabel('Message').fill('no reason');
    await confirm('Reject');
    await page.waitForSelector('.heading .state:has-text("rejected")');
  },

  'cancel, kill, halt, continue, restart, replay, remove': async () => {
    for (const id of ['act-1', 'act-2', 'act-3']) {
      await begin(id, 'hostile/behave', { name: 'Ada', times: 1 });
      await is(id, 'suspended');
    }
    await visit(page, 'executions/act-1');
    await press('cancel');
    await confirm('Cancel');
    await page.waitForSelector('.heading .state:has-text("cancelled")');
    await visit(page, 'executions/act-2');
    await press('kill');
    assert.equal((await command()).replace(/^\$\s*/, ''), 'segno kill act-2');
    await confirm('Kill');
    await page.waitForSelector('.heading .state:has-text("killed")');
    await visit(page, 'executions/act-3');
    await press('halt');
    await confirm('Halt');
    await page.waitForSelector('.heading .state:has-text("halted")');
    await press('continue');
    await confirm('Continue');
    await page.waitForSelector('.heading .state:has-text("suspended")');
    await press('replay');
    await confirm('Replay');
    await dialog.locator('.answer', { hasText: 'identical' }).waitFor();
    await page.keyboard.press('Escape');
    await visit(page, 'executions/hello-1');
    await press('restart');
    await confirm('Restart');
    await page.waitForURL(/executions\/hello-1-r1/);
    await page.waitForSelector('.heading .state:has-text("resolved")');
    await press('remove');
    await confirm('Remove');
    await page.waitForURL(/console\/$/);
    await until('it is gone', async () => {
      const answer = await api('GET', '/v1/invocations?prefix=hello-1-r1');
      return answer.items.length === 0;
    });
  },

  'a fork is tried, with another result, and begun': async () => {
    await visit(page, 'executions/doc-1');
    const { journal_len: records } = await api('GET', '/v1/invocations/doc-1');
    await press('fork');
    await dialog.getByLabel('Other results').fill('no line');
    await confirm('Fork');
    await dialog.locator('.failed', { hasText: '`no line` is not a result' }).waitFor();
    await dialog.getByLabel('Other results').fill('');
    assert.equal((await command()).replace(/^\$\s*/, ''), `segno fork doc-1 --at ${records - 1} --dry-run`);
    await confirm('Fork');
    await dialog.locator('.answer', { hasText: 'It ends, as this one did' }).waitFor();
    assert.equal((await api('GET', '/v1/invocations?prefix=doc-1-f')).items.length, 0, 'nothing is stored');
    await dialog.locator('select').selectOption('begin it');
    await confirm('Fork');
    await dialog.locator('.answer', { hasText: 'has begun' }).waitFor();
    await dialog.getByRole('link', { name: 'doc-1-f1' }).click();
    await page.waitForURL(/executions\/doc-1-f1/);
    await page.locator('.lead', { hasText: 'forked from doc-1 after' }).waitFor();
    await page.waitForSelector('.heading .state:has-text("resolved")');
  },

  'many at once, after a look at which': async () => {
    for (let number = 0; number < 5; number += 1) await begin(`bulk-${number}`, 'hostile/behave', { name: 'Ada', times: 1 });
    for (let number = 0; number < 5; number += 1) await is(`bulk-${number}`, 'suspended');
    await visit(page, '?prefix=bulk-');
    await until('all are shown', async () => (await page.locator('tbody tr').count()) === 5);
    await page.getByLabel('Select bulk-1', { exact: true }).check();
    await page.getByLabel('Select bulk-3', { exact: true }).check();
    await page.locator('.bar button', { hasText: 'kill' }).click();
    await until('both are shown', async () => (await dialog.locator('.rows-row').count()) === 2);
    await confirm('Kill 2');
    await dialog.locator('[role="status"]', { hasText: '2 executions changed' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    assert.equal((await api('GET', '/v1/invocations/bulk-2')).state, 'suspended');
    await page.locator('.bar button', { hasText: 'cancel' }).click();
    await until('the rest is shown', async () => (await dialog.locator('.rows-row').count()) === 3);
    await confirm('Cancel 3');
    await dialog.locator('[role="status"]', { hasText: '3 executions changed' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await until('all have ended', async () => (await page.locator('tbody .state:has-text("suspended")').count()) === 0, 5000);
    await visit(page, '?state=halted');
    await page.locator('.bar button', { hasText: 'continue' }).click();
    await until('the broken ones are shown', async () => (await dialog.locator('.rows-row').count()) === 2);
    await confirm('Continue 2');
    await dialog.locator('[role="status"]', { hasText: '2 executions changed' }).waitFor();
    await page.keyboard.press('Escape');
  },

  'a function is started by a form from its schema': async () => {
    await visit(page, 'modules/approval');
    await page.locator('.card', { hasText: 'approval' }).first().getByRole('link', { name: 'Start …' }).click();
    await page.getByLabel('title', { exact: true }).fill('Form');
    await page.getByLabel('approver', { exact: true }).fill('eve');
    await page.getByLabel(/^Id\s*Makes/).fill('by-form');
    await page.getByLabel('Labels').fill('team=forms');
    const line = await page.locator('form .command code').innerText();
    assert.match(line, /segno start approval\/approval '\{"approver":"eve","title":"Form"\}' --id by-form --label team=forms/);
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL(/executions\/by-form/);
    const started = await api('GET', '/v1/invocations/by-form');
    assert.deepEqual([started.input.approver, started.labels.team], ['eve', 'forms']);
  },

  'the inbox, a promise of nobody, a schedule, an object, events': async () => {
    await visit(page, 'inbox');
    await page.waitForSelector('tr:has(a.id:has-text("approval-7"))');
    assert.equal(await page.locator('tr:has(a.id:has-text("pack-7"))').count(), 0, 'a worker settles that');
    await page.locator('tr', { hasText: 'by-form/p/decision' }).getByRole('button', { name: 'resolve …' }).click();
    await dialog.locator('select').selectOption({ label: 'approve' });
    await confirm('Resolve');
    await is('by-form', 'resolved');
    await visit(page, 'promises/approval-7');
    await page.getByRole('button', { name: 'resolve …' }).click();
    await dialog.locator('textarea').fill('{"by": "ada"}');
    await confirm('Resolve');
    await page.waitForSelector('.heading .state:has-text("resolved")');
    await visit(page, 'schedules');
    await page.locator('tr', { hasText: 'nightly' }).getByRole('button', { name: 'pause' }).click();
    await until('it is paused', async () => (await api('GET', '/v1/schedules/nightly')).paused);
    await page.getByRole('link', { name: 'nightly', exact: true }).click();
    await page.locator('.tag', { hasText: 'paused' }).waitFor();
    await page.getByRole('button', { name: 'resume' }).click();
    await until('it goes on', async () => !(await api('GET', '/v1/schedules/nightly')).paused);
    await page.getByRole('button', { name: 'start now' }).click();
    await page.locator('.facts a.id', { hasText: 'nightly@' }).waitFor();
    await visit(page, 'objects');
    await page.getByRole('link', { name: 'signup/Signup@ada', exact: true }).click();
    await page.waitForSelector('main h1:has-text("signup/Signup@ada")');
    await visit(page, 'limits/hello/hello');
    await page.getByRole('button', { name: 'set …' }).click();
    await dialog.locator('textarea').fill('{"per_key": {"concurrency": 3}}');
    await confirm('Set');
    await page.waitForSelector('.lead:has-text("3 at a time")');
    await visit(page, 'events');
    const before = await page.locator('tbody tr').count();
    await page.locator('tbody input[type="checkbox"]').first().check();
    await page.getByRole('button', { name: /acknowledge/ }).click();
    await until('one less is owed', async () => (await page.locator('tbody tr').count()) === before - 1);
  },

  'a command is copied as it stands': async () => {
    await visit(page, 'executions/lot-1');
    await page.locator('main > .command').getByRole('button').click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'segno inspect lot-1');
  },

  'nothing ran that is not of the console': async () => {
    // A refusal is an error in the console of the browser as well: of what did not fit, and of what was
    // removed while it was looked at.
    assert.deepEqual(faults.filter((fault) => !/status of (404|422)/.test(fault)), []);
  },
});
await browser.close();
