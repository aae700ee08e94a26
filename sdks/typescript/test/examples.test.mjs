// The examples in TypeScript: their types are checked, and their tests pass.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const sdk = path.resolve(import.meta.dirname, '..');
const repository = path.resolve(sdk, '../..');
const text = (...names) => readFileSync(path.join(repository, ...names), 'utf8');
const template = (name) => text('host/build/src/template/files/npm', `${name}.in`);

/** The parts of a manifest that all projects have in common. */
function tools(manifest) {
  const { scripts, dependencies, devDependencies } = JSON.parse(manifest);
  return { check: scripts.check, lint: scripts.lint, zod: dependencies.zod, devDependencies };
}

for (const example of ['examples/order/typescript', 'examples/agent/typescript']) {
  test(`the tests of ${example} pass`, () => {
    // In a folder below the package, which has installed the compiler and zod.
    const copy = path.join(sdk, 'build', example);
    rmSync(copy, { recursive: true, force: true });
    for (const name of ['package.json', 'tsconfig.json', 'src', 'test']) {
      cpSync(path.join(repository, example, name), path.join(copy, name), { recursive: true });
    }
    mkdirSync(path.join(copy, 'node_modules/@segno'), { recursive: true });
    symlinkSync(sdk, path.join(copy, 'node_modules/@segno/sdk'));
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const { status, stdout, stderr } = spawnSync('npm', ['test'], { cwd: copy, encoding: 'utf8', env });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^# pass [1-9]/m);
  });

  test(`${example} has the settings of a new project`, () => {
    assert.equal(text(example, 'tsconfig.json'), template('typescript.json'));
    assert.equal(text(example, '.oxlintrc.json'), template('oxlintrc.json'));
    assert.deepEqual(tools(text(example, 'package.json')), tools(template('package.json')));
  });
}
