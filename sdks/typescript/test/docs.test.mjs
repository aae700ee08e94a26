import { build } from 'esbuild';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const sdk = path.resolve(import.meta.dirname, '..');
const repository = path.resolve(sdk, '../..');
const folder = path.join(sdk, 'build/docs');

for (const page of ['docs/how-to/typescript.md', 'sdks/typescript/README.md']) {
  test(`the examples of ${page} are compiled, and their tests pass`, async () => {
    rmSync(folder, { recursive: true, force: true });
    const text = readFileSync(path.join(repository, page), 'utf8');
    const files = [...text.matchAll(/```ts\n\/\/ (\S+)\n([^]*?)```/g)].map(([, name, source]) => ({ name, source }));
    assert.ok(files.length > 1, 'there are examples');
    assert.equal(files.length, [...text.matchAll(/```ts\n/g)].length, 'every example names its file');
    for (const { name, source } of files) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), source);
    }
    mkdirSync(path.join(folder, 'node_modules/@segno'), { recursive: true });
    symlinkSync(sdk, path.join(folder, 'node_modules/@segno/sdk'));
    for (const name of ['zod', '@types']) symlinkSync(path.join(sdk, 'node_modules', name), path.join(folder, 'node_modules', name));
    const compilerOptions = { target: 'es2022', lib: ['es2023', 'dom'], module: 'nodenext', strict: true, noEmit: true, types: ['node'], skipLibCheck: true };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    const compiled = spawnSync(process.execPath, [path.join(sdk, 'node_modules/typescript/bin/tsc'), '-p', folder], { encoding: 'utf8' });
    assert.equal(compiled.status, 0, compiled.stdout);
    const tests = files.filter(({ name }) => name.includes('.test.'));
    for (const { name } of tests) {
      const outfile = path.join(folder, `${path.basename(name, '.ts')}.mjs`);
      await build({ entryPoints: [path.join(folder, name)], outfile, bundle: true, format: 'esm', platform: 'node', external: ['@segno/sdk'], logLevel: 'silent' });
      const ran = spawnSync(process.execPath, ['--test', outfile], { encoding: 'utf8', env: { ...process.env, NODE_TEST_CONTEXT: undefined } });
      assert.equal(ran.status, 0, ran.stdout);
    }
    assert.ok(tests.length > 0, 'there is a test');
  });
}
