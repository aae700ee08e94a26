// A real Chromium before a real host, and the command line beside it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

export { assert };

const { SEGNO, SERVER, TOKEN, CHROMIUM } = process.env;
export const server = SERVER;
export const token = TOKEN;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const run = promisify(execFile);

/** What the command line answers, as JSON. */
export async function segno(...words) {
  const given = ['--server', SERVER, ...(TOKEN ? ['--token', TOKEN] : []), '--json'];
  const { stdout } = await run(SEGNO, [...words, ...given], { maxBuffer: 64 << 20 });
  return stdout.trim() ? JSON.parse(stdout) : null;
}

/** A request of the API, past the pages. */
export async function api(method, path, body) {
  const headers = { ...(TOKEN ? { authorization: `Bearer ${TOKEN}` } : {}), ...(body ? { 'content-type': 'application/json' } : {}) };
  const answer = await fetch(SERVER + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${await answer.clone().text()}`);
  return answer.json();
}

/** Waits until `look` answers something true. */
export async function until(what, look, ms = 20_000) {
  const give_up = Date.now() + ms;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    assert.ok(Date.now() < give_up, `it does not come to be: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const arguments_ = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A browser; what it does that no page should is in `faults`. */
export async function open() {
  const profile = mkdtempSync(join(tmpdir(), 'segno-chromium-'));
  const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: arguments_, viewport: { width: 1280, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] });
  const faults = [];
  const allowed = [];
  context.on('page', (page) => watch(page));
  const watch = (page) => {
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
      faults.push(`a script ran: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on('console', (message) => {
      if (message.type() === 'error' && !allowed.some((part) => message.text().includes(part))) faults.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(SERVER) && !request.url().startsWith('data:')) faults.push(`a request to ${request.url()}`);
    });
  };
  const page = context.pages()[0] || (await context.newPage());
  watch(page);
  return { context, page, faults, allow: (part) => allowed.push(part), close: () => context.close() };
}

/** Opens a page of the console. */
export async function visit(page, path) {
  await page.goto(`${SERVER}/console/${path}`);
  await page.waitForSelector('main h1');
}

/** What the accessibility checker finds that is serious or worse. */
export async function accessible(page, what) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const words = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary.split('\n').slice(1, 3).join(' ').trim()})`).join(' | ')}`);
  assert.deepEqual(words, [], what);
}

/** Runs checks one after the other, and ends the process with 1 if one fails. */
export async function checks(all) {
  let failed = 0;
  for (const [name, check] of Object.entries(all)) {
    const began = Date.now();
    try {
      await check();
      console.log(`ok      ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n${error.stack}`);
    }
  }
  process.exitCode = failed ? 1 : 0;
}
