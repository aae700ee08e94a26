import { build } from 'esbuild';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

// Programs log as they run. The same log has to come from the promises of Node and, lowered to generators as a component
// is, from those of `promise.js`.
const PROGRAMS = {
  'awaits take turns': `
    const f = async (name) => { log(name, 1); await null; log(name, 2); await Promise.resolve(); log(name, 3); return name; };
    f('a').then((v) => log('then', v)); f('b'); Promise.resolve().then(() => log('p1')).then(() => log('p2')).then(() => log('p3')); queueMicrotask(() => log('micro'));`,
  'a returned promise takes longer than a value': `
    const p = async () => Promise.resolve('promise'); const v = async () => 'value';
    p().then(log); v().then(log); new Promise((r) => r(Promise.resolve('adopted'))).then(log);
    let c = Promise.resolve(); for (let n = 0; n < 6; n += 1) c = c.then(() => log('tick', n));`,
  'thenables are adopted in a turn of their own': `
    const t = { then(r) { log('then called'); r('thenable'); } };
    (async () => log(await t))(); Promise.resolve(t).then(log); Promise.resolve(1).then(() => t).then(log); Promise.resolve().then(() => log('x')).then(() => log('y'));`,
  'combinators': `
    const later = (ms, v) => { let p = Promise.resolve(v); for (let n = 0; n < ms; n += 1) p = p.then((x) => x); return p; };
    const no = (ms, v) => later(ms).then(() => { throw v; });
    Promise.all([later(2, 'a'), 'b', later(1, 'c')]).then((v) => log('all', v)); Promise.all([later(3), no(1, 'e')]).catch((e) => log('all', e));
    Promise.race([later(3, 1), later(1, 2)]).then((v) => log('race', v)); Promise.any([no(1, 1), later(4, 'any')]).then((v) => log('any', v));
    Promise.any([no(1, 1), no(2, 2)]).catch((e) => log(e.constructor.name, e.errors)); Promise.allSettled([later(1, 1), no(1, 2)]).then((v) => log('settled', v));
    Promise.all([]).then((v) => log('none', v)); Promise.any([]).catch((e) => log(e.errors.length));`,
  'errors, catch and finally': `
    const f = async () => { try { await Promise.reject(new Error('x')); } catch (e) { log(e.message); throw new Error('y'); } finally { log('finally'); } };
    f().catch((e) => log('caught', e.message)).finally(() => log('last')).then(() => log('end'));
    Promise.reject(1).finally(() => { throw 2; }).catch((e) => log(e)); Promise.resolve(1).finally(() => 5).then(log); Promise.reject(3).then(1, 2).catch(log);
    new Promise(() => { throw 4; }).catch(log); new Promise((r, j) => { r(1); j(2); r(3); }).then(log, log);`,
  'generators and loops': `
    async function* count() { for (let n = 0; n < 3; n += 1) { log('make', n); yield n; } return 'done'; }
    (async () => { for await (const n of count()) log('got', n); for await (const v of [Promise.resolve('p'), 'v']) log(v); })();`,
  'subclasses and statics': `
    class Mine extends Promise { constructor(f) { super(f); } }
    const m = Mine.resolve(1); log(m instanceof Mine, m.then(() => 1) instanceof Mine, Promise.resolve(m) === m, Mine.resolve(m) === m, String(m));
    try { new Promise(); } catch (e) { log(e.constructor.name); } const p = Promise.resolve(1); log(Promise.resolve(p) === p);
    let self; self = new Promise((r) => setTimeoutLater(() => r(self))); self.catch((e) => log(e.constructor.name));`,
};

for (const [name, program] of Object.entries(PROGRAMS)) {
  test(`promises of a component behave as the language says: ${name}`, async () => {
    const expected = await run(program, 'native');
    assert.deepEqual(await run(program, 'lowered'), expected);
    assert.deepEqual(await run(program, 'light'), expected);
  });
}

const driver = readFileSync(new URL('../../../host/build/src/script/build.mjs', import.meta.url), 'utf8');
/** How esbuild waits in a lowered function, and what the build of a component puts in its place. */
const [lowered, light] = ['LOWERED', 'LIGHT'].map((name) => new RegExp(`const ${name}_AWAIT = '(.*)';`).exec(driver)[1]);

/** Runs a program; gives what it logged. */
async function run(program, form) {
  const isLowered = form !== 'native';
  const promises = fileURLToPath(new URL('../dist/promise.js', import.meta.url));
  const how = isLowered ? { supported: { 'async-await': false, 'async-generator': false, 'for-await': false }, inject: [promises] } : {};
  const drains = isLowered ? "import { drain } from 'promise'; globalThis.drain = drain;" : '';
  // Functions of another realm would have a queue of their own.
  const around = `${drains}
    const [lines, later] = [[], []];
    const log = (...values) => void lines.push(JSON.stringify(values));
    const queueMicrotask = (callback) => void Promise.resolve().then(callback);
    const setTimeoutLater = (callback) => void later.push(callback);
    Object.assign(globalThis, { lines, later });`;
  const { outputFiles } = await build({
    stdin: { contents: `${around}\n{ ${program} }`, resolveDir: '.' },
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    alias: { promise: promises },
    ...how,
  });
  const context = vm.createContext({}, isLowered ? {} : { microtaskMode: 'afterEvaluate' });
  const { text } = outputFiles[0];
  if (isLowered && text.includes('__async(')) assert.equal(text.split(lowered).length, 2, 'esbuild waits in another way');
  vm.runInContext(form === 'light' ? text.replace(lowered, light) : text, context);
  if (isLowered) context.drain();
  vm.runInContext('for (const callback of later) callback();', context);
  if (isLowered) context.drain();
  assert.ok(context.lines.length > 3);
  return [...context.lines];
}
