// Data that wants to be more than data: shown as text, and nothing of it runs.

import { accessible, api, assert, checks, open, segno, server, until, visit } from './browser.mjs';
import { is } from './world.mjs';

const SCRIPT = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
const BIDI = 'invoice\u202Egnp.exe';
const ids = ['<img src=x onerror=alert(3)>', `a/b?c#d&e="'<`, BIDI, '../../etc', 'x'.repeat(2000), 'javascript:alert(4)', 'ünïcödé 漢字 🂡', '{{constructor}}', '$(reboot)', "it's"];
const browser = await open();
const { page, faults, allow } = browser;
const start = (id, target, input, labels) => api('POST', '/v1/invocations', { id, target, input, labels });

await checks({
  'ids of any letters are texts in the list, links to their pages, and words for a shell': async () => {
    for (const id of ids) await start(id, 'hello/hello', SCRIPT, { [SCRIPT]: BIDI });
    for (const id of ids) await is(id, 'resolved');
    await visit(page, '');
    await until('all are shown', async () => (await page.locator('tbody tr').count()) === ids.length);
    assert.equal(await page.locator('tbody img, tbody script').count(), 0);
    const shown = await page.locator('tbody a.id').allInnerTexts();
    assert.ok(shown.includes('<img src=x onerror=alert(3)>'));
    assert.ok(shown.some((text) => text.includes('U+202E')), 'the mark is shown');
    for (const id of ids) {
      await visit(page, `executions/${encodeURIComponent(id)}`);
      await page.waitForSelector('.heading .state:has-text("resolved")');
      assert.equal(await page.locator('main img, main script').count(), 0);
      const line = await page.locator('main > .command code').innerText();
      if (id === '$(reboot)') assert.ok(line.includes("'$(reboot)'"), line);
      if (id === "it's") assert.ok(line.includes(`'it'\\''s'`), line);
    }
    await visit(page, '');
    await page.locator('a.id', { hasText: 'a/b?c#d' }).click();
    await page.waitForSelector('.heading .state:has-text("resolved")');
  },

  'payloads, errors and logs are texts, and megabytes are cut with a way to have all': async () => {
    await start('large', 'hostile/shout', 3_000_000);
    await is('large', 'resolved');
    await visit(page, 'executions/large');
    await page.getByRole('button', { name: /show all, 2.9 MiB/ }).waitFor();
    await start('bad', 'approval/approval', { title: SCRIPT, approver: BIDI });
    await is('bad', 'suspended');
    await segno('signal', 'bad', 'comment', JSON.stringify(`${SCRIPT}\u0000\u001b[31m`));
    await segno('reject', 'bad/p/decision', SCRIPT);
    await is('bad', 'rejected');
    for (const view of ['', '/journal', '/logs', '/tree']) {
      await visit(page, `executions/bad${view}`);
      await page.waitForSelector('.why.bad:has-text("<script>alert(2)</script>")');
      assert.equal(await page.locator('main img, main script').count(), 0);
    }
    await visit(page, 'executions/bad/journal');
    await page.locator('.journal-row', { hasText: 'signal comment' }).click();
    await page.waitForSelector('.detail .mark');
    await accessible(page, 'hostile data');
  },

  'the policy forbids what data could ask for': async () => {
    await visit(page, '');
    allow('Content Security Policy');
    allow('violates the following');
    allow('Refused to');
    const tried = await page.evaluate(async () => {
      const seen = [];
      addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'globalThis.ran = 1';
      document.body.append(script);
      const holder = document.createElement('div');
      // The image is refused, and an error: some browsers look at a handler only when it is to run.
      holder.innerHTML = '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" onerror="globalThis.ran = 2"><style>body { display: none }</style><a href="javascript:globalThis.ran=3" id="link">x</a>';
      document.body.append(holder);
      holder.querySelector('#link').click();
      await fetch('http://127.0.0.1:9/').catch(() => {});
      const frame = document.createElement('iframe');
      frame.src = 'https://example.org/';
      document.body.append(frame);
      // What is evaluated from here is let through: a timer is not from here.
      setTimeout('globalThis.ran = 4', 0);
      await new Promise((done) => setTimeout(done, 300));
      return { ran: globalThis.ran, seen, visible: getComputedStyle(document.body).display };
    });
    assert.equal(tried.ran, undefined);
    assert.notEqual(tried.visible, 'none');
    for (const directive of ['script-src-elem', 'script-src-attr', 'script-src', 'style-src-elem', 'connect-src', 'frame-src']) assert.ok(tried.seen.includes(directive), `${directive}: ${tried.seen}`);
    const { headers } = await fetch(`${server}/console/`);
    assert.match(headers.get('content-security-policy'), /frame-ancestors 'none'/);
  },

  'no script of data ran': async () => {
    assert.deepEqual(faults.filter((fault) => fault.startsWith('a script ran')), []);
    assert.deepEqual(faults.filter((fault) => fault.startsWith('error')), []);
  },
});
await browser.close();
