// The documentation in a browser: as a host serves it, and as files of a folder, whose search is a script.

import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { accessible, assert, checks, open, server } from './browser.mjs';

const folder = mkdtempSync(join(tmpdir(), 'segno-site-'));
const { context, page, faults } = await open();
/** What the pages did that they should not; files of the folder may be asked for. */
const wrong = () => faults.filter((fault) => !fault.startsWith(`a request to file://${folder}/`));
const HOSTILE = '<img src=x onerror="alert(1)"> lease';

/** Types into the search of the page, and answers the links of what is found. */
async function found(words) {
  await page.fill('#q', words);
  await page.press('#q', 'Enter');
  await page.waitForSelector('h1:has-text("Search")');
  await page.waitForSelector('[role=status]:has-text("result"), [role=status]:has-text("No page")');
  assert.equal(await page.inputValue('#q'), words, 'what was typed stays');
  return page.locator('.results li > a').all();
}

async function searches(first) {
  await page.goto(first);
  const links = await found('lease claim');
  assert.ok(links.length > 2, `${links.length} results`);
  assert.ok((await page.locator('.results mark').count()) > 2, 'the words are marked');
  await links[0].click();
  await page.waitForSelector('main h1');
  const text = (await page.locator('main').innerText()).toLowerCase();
  assert.ok(text.includes('lease') && text.includes('claim'), page.url());
  assert.deepEqual(await found('qqqqzzzz'), []);
  await found(HOSTILE);
  assert.equal(await page.locator('main img').count(), 0);
}

await checks({
  'the pages of a host are searched, and work without scripts': async () => {
    await searches(`${server}/docs/`);
    assert.equal(await page.locator('script').count(), 0);
  },

  'an address that has no page leads to those that are there': async () => {
    const answer = await page.goto(`${server}/docs/reference/nothing.html`);
    assert.equal(answer.status(), 404);
    assert.equal(await page.locator('h1').innerText(), 'No such page');
    await accessible(page, 'the page for unknown addresses');
    await page.locator('nav a[href$="guide.html"]').first().click();
    await page.waitForSelector('main h1');
    assert.ok(page.url().endsWith('/docs/guide.html'), page.url());
    // The browser tells of the status itself.
    const told = faults.findIndex((fault) => fault.includes('404'));
    if (told >= 0) faults.splice(told, 1);
  },

  'the same pages as files are searched by their script': async () => {
    await promisify(execFile)(process.env.SEGNO, ['docs', '-o', folder]);
    await searches(`file://${folder}/index.html`);
  },

  'pages are accessible, light and dark, and fit a telephone': async () => {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      for (const name of ['', 'engine.html', 'reference/cli.html', 'search?q=lease']) {
        await page.goto(`${server}/docs/${name}`);
        await accessible(page, `${name} in ${colorScheme}`);
      }
    }
    await page.setViewportSize({ width: 390, height: 800 });
    for (const name of ['', 'engine.html', 'metrics.html', 'reference/cli.html']) {
      await page.goto(`${server}/docs/${name}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
    }
  },

  'nothing else happened': async () => assert.deepEqual(wrong(), []),
});
await context.close();
