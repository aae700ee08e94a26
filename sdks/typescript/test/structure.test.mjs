import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const dist = path.resolve(import.meta.dirname, '../dist');
const imports = (file) => [...readFileSync(file, 'utf8').matchAll(/(?:from|import) '([^']+)'/g)].map(([, name]) => name);
const files = (folder) => readdirSync(path.join(dist, folder)).filter((name) => name.endsWith('.js')).map((name) => path.join(dist, folder, name));

test('the core imports neither the contract nor Node, and neither the component nor the test kit', () => {
  for (const file of [...files('core'), path.join(dist, 'index.js')]) {
    for (const name of imports(file)) assert.ok(name.startsWith('./') && !/component|testing|promise/.test(name), `${file} imports ${name}`);
  }
});

test('only the component imports the contract, and only the test kit imports Node', () => {
  for (const file of files('component')) for (const name of imports(file)) assert.ok(!name.startsWith('node:'), `${file} imports ${name}`);
  for (const file of files('testing')) for (const name of imports(file)) assert.ok(!name.startsWith('segno:') && !name.includes('component'), `${file} imports ${name}`);
});
