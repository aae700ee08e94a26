// A host that asks for a token: the login, the session, and its end.

import { accessible, api, assert, checks, open, segno, server, token, until } from './browser.mjs';
import { begin } from './own_host.mjs';

const host = await begin('--token', token);
await segno('deploy', process.env.HELLO, '--as', 'hello');

const browser = await open();
const { page, context, faults, allow } = browser;
allow('status of 401');
const login = async (text) => {
  await page.getByLabel('Token of this host').fill(text);
  await page.getByRole('button', { name: 'Log in' }).click();
};

await checks({
  'a page without a session is the login, whatever its address': async () => {
    await page.goto(`${server}/console/executions/hello-1/journal`);
    await page.waitForSelector('h1:has-text("Log in")');
    await accessible(page, 'the login');
    assert.equal(await page.evaluate(() => document.activeElement.type), 'password');
  },

  'a wrong token is refused and leaves nothing behind': async () => {
    await login('wrong');
    await page.waitForSelector('[role="alert"]:has-text("does not take that token")');
    assert.deepEqual(await context.cookies(), []);
  },

  'the token opens a session that no script can read, and the page that was asked for': async () => {
    await api('POST', '/v1/invocations', { id: 'hello-1', target: 'hello/hello', input: 'Ada' });
    await login(token);
    await page.waitForSelector('h1:has-text("hello-1")');
    await page.waitForSelector('.journal-row:has-text("started hello")');
    const [cookie] = await context.cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path, cookie.secure], [true, 'Strict', '/', false]);
    assert.ok(!cookie.value.includes(token));
    assert.equal(await page.evaluate(() => document.cookie), '');
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    assert.ok(!kept.includes(token));
    await page.waitForSelector('aside .state.good');
  },

  'the session is still there after a reload, and its actions are taken': async () => {
    await page.reload();
    await page.waitForSelector('h1:has-text("hello-1")');
    await page.locator('.actions button', { hasText: 'restart' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Restart', exact: true }).click();
    await page.waitForURL(/hello-1-r1/);
  },

  'a request with the cookie alone changes nothing': async () => {
    allow('status of 403');
    const status = await page.evaluate(async () => (await fetch('/v1/invocations/hello-1/restart', { method: 'POST' })).status);
    assert.equal(status, 403);
  },

  'logging out ends the session on the host, also for a stolen cookie': async () => {
    const [{ name, value }] = await context.cookies();
    await page.getByRole('button', { name: 'log out' }).click();
    await page.waitForSelector('h1:has-text("Log in")');
    const answer = await fetch(`${server}/v1/modules`, { headers: { cookie: `${name}=${value}` } });
    assert.equal(answer.status, 401);
  },

  'a session that ends meanwhile leads to the login': async () => {
    await login(token);
    await page.waitForSelector('aside');
    await context.clearCookies();
    await page.goto(`${server}/console/modules`);
    await page.waitForSelector('h1:has-text("Log in")');
    await until('the address is kept', async () => page.url().endsWith('/console/modules'));
  },

  'nothing ran that is not of the console': async () => {
    assert.deepEqual(faults, []);
  },
});
await browser.close();
await host.kill('SIGTERM');
