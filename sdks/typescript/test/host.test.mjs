import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Host, build } from './support/host.mjs';

const sdk = path.resolve(import.meta.dirname, '..');
const hasHost = spawnSync(process.env.SEGNO ?? 'segno', ['--version']).status === 0;
const skip = hasHost ? false : 'there is no host program: set SEGNO to its path';
const folder = mkdtempSync(path.join(tmpdir(), 'segno-sdk-'));
const host = new Host(Number(process.env.SEGNO_PORT ?? 7804));

/** A project in a folder of its own that depends on the packed package. */
function project(name) {
  const home = path.join(folder, name);
  cpSync(path.join(sdk, 'test/projects', name), home, { recursive: true });
  mkdirSync(path.join(home, 'node_modules'));
  const packed = spawnSync('npm', ['pack', '--ignore-scripts', '--pack-destination', home, '--json'], { cwd: sdk, encoding: 'utf8' });
  const [{ filename }] = Object.values(JSON.parse(packed.stdout));
  const unpacked = spawnSync('tar', ['-xzf', filename, '-C', path.join(home, 'node_modules')], { cwd: home, encoding: 'utf8' });
  assert.equal(unpacked.status, 0, unpacked.stderr);
  mkdirSync(path.join(home, 'node_modules/@segno'));
  spawnSync('mv', [path.join(home, 'node_modules/package'), path.join(home, 'node_modules/@segno/sdk')]);
  for (const other of ['zod', 'valibot', 'arktype', '@ark', 'arkregex', '@valibot', 'date-fns', 'uuid', 'lodash-es', 'nanoid', '@cfworker', '@standard-schema', '@ungap', 'whatwg-url-minimum']) {
    const there = path.join(sdk, 'node_modules', other);
    symlinkSync(there, path.join(home, 'node_modules', other));
  }
  return home;
}

before(async () => {
  if (!hasHost) return;
  const component = build(project('natural'));
  await host.start();
  host.deploy(component, 'natural');
});
after(async () => {
  if (hasHost) await host.close();
  rmSync(folder, { recursive: true, force: true });
});

async function ended(name, input = null) {
  await host.invoke(`natural/${name}`, name, input);
  return host.until(name, ['resolved', 'rejected', 'halted'], 60);
}

test('libraries work on a host', { skip }, async () => {
  const { state, output } = await ended('libraries', { a: 1 });
  assert.equal(state, 'resolved');
  assert.deepEqual(output, { b: '["day",36,36,21,2,1]' });
  assert.match(host.cli('replay', 'libraries').stdout, /identical/);
  await assert.rejects(host.invoke('natural/libraries', 'wrong', { a: 'x' }), /does not fit the schema/);
});

test('the globals of the language work on a host, and replay across a crash', { skip }, async () => {
  await host.invoke('natural/globals', 'globals', null);
  await host.until('globals', ['suspended']);
  await host.kill();
  await host.start();
  const { state, output, note } = await host.until('globals', ['resolved', 'rejected', 'halted']);
  assert.equal(state, 'resolved', note?.message);
  for (const [name, value] of Object.entries(output)) assert.deepEqual(value, EXPECTED[name], name);
  assert.deepEqual(Object.keys(output).sort(), Object.keys(EXPECTED).sort());
  assert.match(host.cli('replay', 'globals').stdout, /identical/);
});

const EXPECTED = {
  abort: 499,
  absent: 'Error: there is no `Blob` here: use `Uint8Array`',
  any: [true, [1, 2]],
  base64: 'hello',
  bytes: true,
  clear: false,
  clone: 3,
  date: true,
  echo: { x: { a: 1 }, env: 403 },
  events: 1,
  fromAsync: [1, 2],
  generators: [1, 2],
  interval: 3,
  locale: 'TypeError: `toLocaleDateString` would ignore the locale "de-DE", because there is no `Intl` here: format it by hand, or with a package such as date-fns',
  microtask: 'micro',
  performance: true,
  settled: [{ status: 'rejected', reason: { code: 400, message: 'x' } }, { status: 'fulfilled', value: 1 }],
  statics: 1,
  timeoutSignal: 'TimeoutError',
  url: ['https://a.b/c?d=1&x=y+z#e', '2'],
  utf8: 'äö\u{1f600}',
  uuid: true,
  zone: [0, 0, '2026-01-01T00:00:00.000Z'],
};

test('a workflow runs a graph that is a value', { skip }, async () => {
  const { state, output, failure } = await ended('graph', 4);
  assert.equal(state, 'resolved', failure?.message);
  assert.deepEqual(output, { small: 8 });
});

test('a workflow and an activity write streams', { skip }, async () => {
  const { state, output, failure } = await ended('streams');
  assert.equal(state, 'resolved', failure?.message);
  assert.deepEqual(output, { kept: [3, 6], code: 409, refused: 409 });
  const content = async (name) => {
    const answer = await fetch(`${host.url}/v1/stream/streams/stream/${name}`);
    return [answer.headers.get('content-type'), await answer.text()];
  };
  const [type, words] = await content('words');
  assert.deepEqual([type, JSON.parse(words)], ['application/json', ['begin', { word: 0 }, { word: 1 }, { word: 2 }, [1, null]]]);
  assert.deepEqual(await content('log'), ['text/plain', 'grüß dich\n']);
  const sound = await (await fetch(`${host.url}/v1/stream/streams/stream/sound`)).arrayBuffer();
  assert.deepEqual([...new Uint8Array(sound)], [0, 255, 1, 255, 2, 255]);
  assert.match(host.cli('replay', 'streams').stdout, /identical/);
});

const DEFECTS = [
  ['helper', 'src/helper.ts:4: RangeError: from a helper'],
  ['text', /src\/index\.ts:\d+: text was thrown, which is no Error/],
  ['settings', /src\/index\.ts:\d+: ReferenceError: process is not defined: there is no `process` here: an activity reads settings with `ctx\.env/],
  ['numbers', /src\/index\.ts:\d+: ReferenceError: Intl is not defined: there is no `Intl` here/],
  ['sloppy', /src\/index\.ts:\d+: ReferenceError: undeclared is not defined/],
  ['lost', /src\/index\.ts:\d+: Error: lost/],
  ['circular', /src\/index\.ts:\d+: TypeError: the result of `circular`, at `b\.c`, is a part of itself/],
  ['typo', /src\/index\.ts:\d+: TypeError: `cal` is not a command .*; do you mean `call`\?/],
  ['never', /neither ended nor waits for anything/],
];
for (const [name, message] of DEFECTS) {
  test(`a defect names the author's file and line: ${name}`, { skip }, async () => {
    const { state, note } = await ended(name);
    assert.equal(state, 'halted');
    assert.ok(typeof message === 'string' ? note.message.includes(message) : message.test(note.message), note.message);
    assert.ok(!note.message.includes('node_modules/@segno'), note.message);
  });
}

test('a command that nobody awaited is a line of the log', { skip }, async () => {
  const { state } = await ended('hasty');
  assert.equal(state, 'resolved');
  const { stdout } = host.cli('logs', 'hasty');
  assert.match(stdout, /nobody awaited the sleep \(command 0\), and the workflow ends without it: write `await`/);
  assert.doesNotMatch(stdout, /command [12]/);
});

test('failures of activities name what an activity cannot do', { skip }, async () => {
  const rows = { waits: /`waits` waits for a promise that nothing settles/, timer: /src\/index\.ts:\d+: Error: an activity cannot wait with a timer/, digest: /there is no `crypto\.subtle` here/ };
  for (const [name, message] of Object.entries(rows)) {
    const { failure } = await ended(name);
    assert.match(failure.message, message);
  }
});

test('a divergence names the lines that asked, now and before; a waiting workflow names its line', { skip }, async () => {
  const home = path.join(folder, 'natural');
  const deploy = (...lines) => {
    const source = ["import { workflow } from '@segno/sdk';", ...lines, 'async function step(ctx, name) {', '  await ctx.run(name, () => 1);', '}'];
    source.push('export const order = workflow(async (_, ctx) => {', '  await ctx.sleep(1);');
    source.push(`  await step(ctx, 'step ${lines.length}');`, "  await ctx.promise('never');", '});');
    writeFileSync(path.join(home, 'src/diverging.ts'), source.join('\n'));
    writeFileSync(path.join(home, 'package.json'), JSON.stringify({ main: 'src/diverging.ts', dependencies: { '@segno/sdk': '*' } }));
    host.deploy(build(home), 'diverging');
  };
  deploy();
  await host.invoke('diverging/order', 'diverging', null);
  await host.until('diverging', ['suspended']);
  assert.match(host.cli('why', 'diverging').stdout, /in its code:\s+src\/diverging\.ts:8\b/);
  deploy('// One line more.');
  const { status, stdout } = host.cli('replay', 'diverging', '--module', 'diverging');
  assert.equal(status, 7);
  assert.match(stdout, /asked: {4}command 1: run `step 1`\s+src\/diverging\.ts:4\b[^]*src\/diverging\.ts:8\b[^]*recorded by the earlier code at:\s+src\/diverging\.ts:3\b[^]*src\/diverging\.ts:7\b/);
});

test('a build names the module of Node, and the schema, that a component cannot have', { skip }, () => {
  const broken = (source) => {
    const home = path.join(folder, 'natural');
    writeFileSync(path.join(home, 'src/broken.ts'), source);
    writeFileSync(path.join(home, 'package.json'), JSON.stringify({ main: 'src/broken.ts', dependencies: { '@segno/sdk': '*' } }));
    return () => build(home);
  };
  assert.throws(broken("import { readFileSync } from 'node:fs';\nexport const a = readFileSync;"), /`node:fs` is a module of Node.*`ctx\.files`[^]*src\/broken\.ts:1/);
  assert.throws(broken('export const a = 1;'), /the entry file exports no function/);
  const module = (line) => broken(`import { workflow } from '@segno/sdk';\nconsole.log('loading');\n${line}\nexport const w = workflow(async () => {});`);
  assert.throws(module("import { a } from 'left-padd';\nconst b = a;"), /\] the package `left-padd` is not installed: is it misspelled[?] If not: `npm install left-padd`[^]*src\/broken\.ts:3/);
  assert.throws(module('const a = await 1;'), /a top-level `await` cannot work[^]*src\/broken\.ts:3/);
  assert.throws(module("void fetch('https://example.com');"), /`fetch` is called while the module is loaded[^]*src\/broken\.ts:3/);
  assert.throws(module('setTimeout(() => {}, 1);'), /`setTimeout` is called while the module is loaded/);
  assert.throws(module('const a = process.env.A;'), /process is not defined: there is no `process` here[^]*src\/broken\.ts:3/);
  assert.throws(module("void (async () => { throw new Error('early'); })();"), /Error: early[^]*src\/broken\.ts:3/);
  assert.doesNotThrow(module(''));
  const native = path.join(folder, 'natural/node_modules/bcrypt');
  mkdirSync(native, { recursive: true });
  writeFileSync(path.join(native, 'index.js'), "require('path');\nmodule.exports = require('fs');");
  assert.throws(module("import bcrypt from 'bcrypt';\nconst a = bcrypt.hash;"), (error) => {
    assert.match(error.message, /the package `bcrypt` needs `fs` and `path` of Node.*use bcryptjs[^]*src\/broken\.ts:3/);
    assert.equal(error.message.split('[ERROR]').length, 2, 'it is refused once');
    return true;
  });
  const dated = "import { z } from 'zod';\nimport { workflow } from '@segno/sdk';\nexport const w = workflow({ input: z.date() }, async () => {});";
  assert.throws(broken(dated), /the input of `w` cannot be written as a JSON schema/);
});
