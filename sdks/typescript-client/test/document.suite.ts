// The API as the client knows it, and as a host describes it.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { suite, test } from 'node:test';
import { routes } from '../src/api.js';
import { SDKS, sharedHost } from './host.js';

type Files = [URL, string][];

const source = async (): Promise<string> => {
  const folder = new URL('typescript-client/src/', SDKS);
  const names = (await readdir(fileURLToPath(folder))).filter((name) => name !== 'api.ts');
  return (await Promise.all(names.map((name) => readFile(fileURLToPath(new URL(name, folder)), 'utf8')))).join('\n');
};

suite('the document of the API', () => {
  test('the types, fields and routes are those of the host', async () => {
    const { host } = await sharedHost();
    const document = await (await fetch(`${host.server}/openapi.json`)).json();
    const generator = (await import(new URL('api/generate.mjs', SDKS).href)) as { filesOf(document: unknown): Files };
    for (const [file, expected] of generator.filesOf(document)) {
      const actual = await readFile(fileURLToPath(file), 'utf8');
      assert.ok(
        actual === expected,
        `${fileURLToPath(file)} is not what the API says: run \`node sdks/api/generate.mjs ${host.server}\``,
      );
    }
  });

  test('each route has a method, and no other route is used', async () => {
    const used = new Set(
      [...(await source()).matchAll(/'((?:GET|POST|PUT|PATCH|DELETE) \/[^']*)'/g)].map(([, route]) => route),
    );
    assert.deepEqual([...used].sort(), Object.keys(routes).sort());
  });

  test('the codes that decide something are codes of the API', async () => {
    const { host } = await sharedHost();
    const document = JSON.stringify(await (await fetch(`${host.server}/openapi.json`)).json());
    const page = await readFile(fileURLToPath(new URL('../docs/reference/api.md', SDKS)), 'utf8');
    const codes = [
      'not-begun',
      'read-too-long',
      'unknown-outcome',
      'journal-grew',
      'query-failed',
      'update-refused',
      'key-reused',
      'object-busy',
    ];
    const text = await source();
    for (const code of codes) {
      assert.ok(text.includes(code), `\`${code}\` is not used`);
      assert.ok(document.includes(`\`${code}\``) || page.includes(`\`${code}\``), `\`${code}\` is no code of the API`);
    }
  });
});
