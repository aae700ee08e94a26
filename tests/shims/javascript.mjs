// The shim of JavaScript over a host of a few lines, as both engines run it: `native` promises, and those of `promise.js`
// ("queued"). Usage: node javascript.mjs FOLDER native|queued

import fs from 'node:fs';
import assert from 'node:assert/strict';

const [folder, mode] = process.argv.slice(2);
const queued = mode === 'queued';
const Native = Promise;
const load = (source) => import(`data:text/javascript,${encodeURIComponent(source)}`);
const imported = /import \* as (\w+) from 'segno:workflow\/([a-z-]+)@0.2.0';/g;
const shim = fs.readFileSync(`${folder}/segno.js`, 'utf8').replace(imported, "const $1 = globalThis.host['$2'];");
if (queued) await load(fs.readFileSync(`${folder}/promise.js`, 'utf8'));
const pristine = ['all', 'allSettled', 'any', 'race'].map((name) => [name, Promise[name]]);

let said = [];
let commands = 0;
let replays = false;
const command = (name) => (...given) => {
  said.push([name, ...given]);
  return commands++;
};
const known = {
  journal: {
    call: command('call'),
    sleepUntil: command('sleep'),
    promise: (...given) => [command('promise')(...given), 'w/p/p'],
    http: command('http'),
    cancel: command('cancel'),
    now: () => 1_000,
    forget() {},
    log() {},
    finish: ({ val }) => said.push(['finish', val.val ?? val]),
    run: () => ({ tag: replays ? 'recorded' : 'execute', val: commands++ }),
    runDone() {},
  },
  signals: { unread: (numbers) => said.push(['unread', numbers]), send: command('send') },
  generations: { continueAsNew: (input, same) => said.push(['next', input.val, same]) },
};
globalThis.host = new Proxy(known, { get: (interfaces, name) => interfaces[name] ?? {} });

const signal = (value) => ({ tag: 'signal', val: { name: 'go', payload: { tag: 'json', val: JSON.stringify(value) } } });
const done = (index) => ({ tag: 'completed', val: { command: index, outcome: { tag: 'success', val: { tag: 'json', val: 'null' } } } });
const turns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Native((resolve) => setImmediate(resolve));
};

// As `async` is lowered to generators.
const lowered = (body) => (...given) =>
  new Promise((resolve, reject) => {
    const steps = body(...given);
    const go = (step) => (value) => {
      try {
        const { done: ended, value: awaited } = steps[step](value);
        if (ended) resolve(awaited);
        else Promise.resolve(awaited).then(go('next'), go('throw'));
      } catch (error) {
        reject(error);
      }
    };
    go('next')();
  });

let loads = 0;
async function run(body, events) {
  [said, commands] = [[], 0];
  for (const [name, plain] of pristine) Promise[name] = plain;
  const { module } = await load(`${shim}\n// ${(loads += 1)}`);
  const { functions } = module({ workflows: { w: { run: lowered(body), signals: true } } });
  try {
    functions.start('w', { tag: 'json', val: '1' }, { seed: [...Array(32).keys()], invocation: 'w' });
    await turns();
    for (const event of events) {
      functions.resume(event);
      await turns();
    }
  } catch (error) {
    said.push(['trap', String(error)]);
  }
  return said;
}
const outcome = async (body, events) => (await run(body, events)).at(-1);

// A wait that lost a race takes nothing: the next one does, at once and later.
assert.deepEqual(
  await outcome(function* (_, ctx) {
    yield Promise.race([ctx.signal(), ctx.sleep(5)]);
    return (yield ctx.signal()).value;
  }, [done(0), signal('A')]),
  ['finish', '"A"'],
);
assert.deepEqual(
  await outcome(function* (_, ctx) {
    yield Promise.race([ctx.signal().then((it) => it.value), ctx.sleep(5)]);
    yield ctx.sleep(9);
    return (yield ctx.signal()).value;
  }, [done(0), signal('A'), done(1)]),
  ['finish', '"A"'],
);
// Also in a function of the author's, whose race nobody sees, and in races of races.
assert.deepEqual(
  await outcome(function* (_, ctx) {
    const next = lowered(function* () {
      return (yield ctx.signal()).value;
    });
    yield Promise.race([next(), ctx.sleep(5)]);
    return yield next();
  }, [done(0), signal('A')]),
  ['finish', '"A"'],
);
assert.deepEqual(
  await outcome(function* (_, ctx) {
    const inner = Promise.any([Promise.all([ctx.signal(), ctx.call('f')]), ctx.call('g')]);
    yield Promise.race([inner, ctx.sleep(5)]);
    yield ctx.sleep(9);
    return (yield ctx.signal()).value;
  }, [done(2), signal('A'), done(3)]),
  ['finish', '"A"'],
);
// One that is kept goes on waiting where it is used again.
assert.deepEqual(
  await outcome(function* (_, ctx) {
    const next = ctx.signal();
    yield Promise.race([next, ctx.sleep(5)]);
    yield ctx.sleep(7);
    return (yield Promise.race([next, ctx.sleep(5)])).value;
  }, [done(0), signal('A'), done(1)]),
  ['finish', '"A"'],
);
// What was there and lost is there again.
assert.deepEqual(
  await outcome(function* (_, ctx) {
    yield ctx.sleep(1);
    const first = yield Promise.race([Promise.resolve('now'), ctx.signal()]);
    return [first, (yield ctx.signal()).value];
  }, [signal('A'), done(0)]),
  ['finish', '["now","A"]'],
);
// Nobody is given the signal of another, and none twice.
assert.deepEqual(
  await outcome(function* (_, ctx) {
    const both = yield Promise.all([ctx.signal(), ctx.signal()]);
    return both.map(({ value }) => value);
  }, [signal('A'), signal('B')]),
  ['finish', '["A","B"]'],
);
assert.deepEqual(
  await outcome(function* (_, ctx) {
    try {
      yield ctx.signal().finally(() => {});
    } catch (error) {
      return error.code;
    }
  }, [{ tag: 'cancelled' }]),
  ['finish', '499'],
);
// What nobody read is said at the end.
assert.deepEqual(
  (await run(function* (_, ctx) {
    yield ctx.signal();
    yield ctx.sleep(1);
  }, [signal('A'), signal('B'), signal('C'), done(0)])).slice(1),
  [['unread', [1, 2]], ['finish', 'null']],
);
assert.deepEqual(
  (await run(function* (_, ctx) {
    yield ctx.sleep(1);
    return ctx.continueAsNew({ n: 2 }, { sameCode: true });
  }, [signal('A'), done(0)])).slice(1),
  [['unread', [0]], ['next', '{"n":2}', true]],
);

// A command is cancelled by what it answered: it fails, and nobody has to see that.
const failed = (index) => ({ tag: 'completed', val: { command: index, outcome: { tag: 'failure', val: { code: 499, message: 'cancelled' } } } });
for (const [ask, name] of [
  [(ctx) => ctx.call('f'), 'call'],
  [(ctx) => ctx.sleep(5), 'sleep'],
  [(ctx) => ctx.promise('p'), 'promise'],
  [(ctx) => ctx.promise('p').settled, 'promise'],
  [(ctx) => ctx.http({ url: 'http://a/' }), 'http'],
]) {
  const cancels = function* (_, ctx) {
    const asked = ask(ctx);
    yield ctx.sleep(1);
    yield ctx.cancel(asked);
    return (asked.settled ?? asked).catch(({ code }) => code);
  };
  const seen = await run(cancels, [done(1), failed(0), done(2)]);
  assert.deepEqual(seen.map(([what]) => what), [name, 'sleep', 'cancel', 'finish'], name);
  assert.deepEqual([seen[2], seen[3]], [['cancel', 0], ['finish', '499']], name);
}
assert.deepEqual(
  await outcome(function* (_, ctx) {
    const winner = yield Promise.race([ctx.signal(), ctx.call('f')]);
    void ctx.cancel(ctx.sleep(9));
    yield ctx.sleep(1);
    return winner.value;
  }, [signal('A'), failed(1), done(3)]),
  ['finish', '"A"'],
);

// A replay does not compute again, and draws the same numbers after it.
const draws = () =>
  outcome(function* (_, ctx) {
    yield ctx.run('draw', () => [Math.random(), ctx.random()]);
    return [Math.random(), ctx.random()];
  }, [done(0)]);
const drawn = await draws();
replays = true;
assert.deepEqual(await draws(), drawn);
replays = false;

// Options are named, with their values.
const text = ([what, value]) => (what === 'trap' ? value : value.message);
for (const value of ['5', NaN, -5, Infinity, 1.5, undefined, 253_402_300_800_000]) {
  const given = typeof value === 'string' ? `"${value}"` : String(value);
  assert.match(text(await outcome(function* (_, ctx) { yield ctx.sleep(value); }, [])), new RegExp(`\`sleep\` is ${given.replace('.', '[.]')}, and has to be`));
}
for (const asked of [undefined, 7, Promise.resolve(), {}]) {
  assert.match(text(await outcome(function* (_, ctx) { yield ctx.cancel(asked); }, [])), /`cancel` takes what `call`/);
}
for (const [option, how] of [
  ['timeoutMs', { timeoutMs: NaN }],
  ['timeoutMs', { timeoutMs: 1.5 }],
  ['timeoutMs', { timeoutMs: -1 }],
  ['timeoutMs', { timeoutMs: Infinity }],
  ['startAtMs', { startAtMs: '1' }],
  ['retry.maxAttempts', { retry: { maxAttempts: -1 } }],
  ['retry.maxAttempts', { retry: { maxAttempts: 1.5 } }],
  ['retry.factor', { retry: { factor: Infinity } }],
  ['retry.initialMs', { retry: { initialMs: -1 } }],
  ['retry.jitter', { retry: { jitter: 2 } }],
  ['retry.nonRetryable', { retry: { nonRetryable: ['x'] } }],
]) {
  assert.match(text(await outcome(function* (_, ctx) { yield ctx.call('f', 1, how); }, [])), new RegExp(`\`${option}\` is`));
}
console.log('fine');
