// The examples of `docs/how-to/clients.md` are compiled.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SDKS } from './host.js';

suite('the page about clients', () => {
  test('each example in TypeScript compiles', async () => {
    const page = await readFile(fileURLToPath(new URL('../docs/how-to/clients.md', SDKS)), 'utf8');
    const readme = await readFile(fileURLToPath(new URL('typescript-client/README.md', SDKS)), 'utf8');
    const blocks = [page, readme].map((text) =>
      [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block as string),
    );
    assert.ok(blocks.flat().length >= 10);
    const folder = new URL('typescript-client/build/page/', SDKS);
    await mkdir(folder, { recursive: true });
    await Promise.all(blocks.map((of, at) => writeFile(new URL(`page${at}.ts`, folder), program(of))));
    const tsc = fileURLToPath(new URL('typescript-client/node_modules/typescript/bin/tsc', SDKS));
    const options = [
      '--ignoreConfig',
      '--noEmit',
      '--skipLibCheck',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2023,dom,dom.asynciterable',
    ];
    const files = blocks.map((_, at) => fileURLToPath(new URL(`page${at}.ts`, folder)));
    const said = await new Promise<string>((resolve) =>
      execFile(tsc, [...options, '--types', 'node', ...files], (_, output) => resolve(output)),
    );
    assert.equal(said, '');
  });
});

/** The blocks of a page as one program. Each sees the handles that the page has before. */
function program(blocks: string[]): string {
  const generated = "import { shop } from '../../../../host/types/tests/golden/shop.js';\n";
  const files =
    "import { createReadStream, openAsBlob } from 'node:fs';\nimport { writeFile } from 'node:fs/promises';\n";
  const imports = `${files}import { Client, ExecutionFailedError } from '../../src/index.js';\n${generated}`;
  const before = "const client = new Client();\nconst order = client.execution<string>('order-7');\nvoid order;\n";
  const bodies = blocks.map((block) => {
    const body = block.replace(/^import .*\n/gm, '');
    const isWhole = /^const (client|order) = /m.test(body);
    const client = /const order/.test(body) && !/const client/.test(body) ? 'const client = new Client();\n' : '';
    return `{\n${isWhole ? '' : before}${client}${body}}\n`;
  });
  return `${imports}${bodies.join('')}`;
}
