import { addDays, format } from 'date-fns';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { groupBy } from 'lodash-es';
import { nanoid as browserNanoid } from '../node_modules/nanoid/index.browser.js';
import { v4, v7 } from 'uuid';
import { Failure, activity, json, workflow } from '../dist/index.js';
import { ReplayDivergence, TestHost } from '../dist/testing/index.js';

const START = Date.parse('2026-01-01T00:00:00Z');

test('the globals of the language are those of the workflow inside of it, and real outside', async () => {
  const before = Date.now();
  const natural = workflow(async (_, ctx) => {
    const told = { now: Date.now(), date: new Date().toISOString(), performance: performance.now(), random: Math.random(), id: crypto.randomUUID(), own: randomUUID(), uuid: ctx.uuid() };
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    let ticks = 0;
    await new Promise((resolve) => {
      const interval = setInterval(() => {
        ticks += 1;
        if (ticks === 3) resolve(clearInterval(interval));
      }, 100);
    });
    const never = setTimeout(() => assert.fail('it was cleared'), 10);
    clearTimeout(never);
    const signal = AbortSignal.timeout(50);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { ...told, elapsed: performance.now(), reason: signal.reason.name, isDate: new Date() instanceof Date, later: Date.now() };
  });
  const run = async (seed) => {
    const t = new TestHost({ startAt: START, seed });
    return t.run(natural);
  };
  const [first, again, other] = [await run(1), await run(1), await run(2)];
  assert.deepEqual(first, again);
  assert.notEqual(first.id, other.id);
  assert.deepEqual([first.now, first.date, first.performance], [START, '2026-01-01T00:00:00.000Z', 0]);
  assert.deepEqual([first.elapsed, first.reason, first.isDate, first.later], [1_350, 'TimeoutError', true, START + 1_350]);
  assert.notEqual(first.id, first.own);
  assert.ok(Date.now() >= before && Date.now() < before + 60_000, 'outside time is real');
});

test('libraries work in workflows, and replay', async () => {
  const libraries = workflow(async (_, ctx) => {
    const made = { day: format(addDays(new Date(), 1), 'yyyy-MM-dd'), v4: v4(), v7: await ctx.run('id', () => v7()), nanoid: browserNanoid(), groups: Object.keys(groupBy([1, 2], (n) => n % 2)) };
    await ctx.sleep('1h');
    return made;
  });
  const t = new TestHost({ startAt: START });
  const made = await t.run(libraries);
  assert.equal(made.day, '2026-01-02');
  assert.match(made.v4, /^[0-9a-f-]{36}$/);
});

test('the function of a run computes once, and draws its own random numbers', async () => {
  let computed = 0;
  const once = workflow(async (_, ctx) => {
    const drawn = await ctx.run('draw', () => {
      computed += 1;
      return Math.random();
    });
    const failed = await ctx.run('fail', () => JSON.parse('{')).catch((error) => [error instanceof Failure, error.code]);
    return [drawn, Math.random(), failed];
  });
  const [drawn, next, failed] = await new TestHost().run(once);
  assert.equal(computed, 1);
  assert.notEqual(drawn, next);
  assert.deepEqual(failed, [true, 500]);
  await assert.rejects(new TestHost().run(workflow(async (_, ctx) => ctx.run('a', async () => 1))), /only computes, so it is no `async` function/);
  await assert.rejects(new TestHost().run(workflow(async (_, ctx) => ctx.run('a', () => Number.NaN))), /the result of the step `a` is NaN/);
  await assert.rejects(new TestHost().run(workflow(async (_, ctx) => ctx.run('a', () => void ctx.sleep(1)))), /inside `ctx\.run\('a', …\)`|rejected|Error/);
});

test('a workflow that does something else in a replay is found, at the line of its author', async () => {
  let starts = 0;
  const fickle = workflow({ name: 'fickle' }, async (_, ctx) => {
    starts += 1;
    await ctx.sleep(starts);
  });
  await assert.rejects(new TestHost().run(fickle), (error) => {
    assert.ok(error instanceof ReplayDivergence);
    assert.match(error.at, /natural\.test\.mjs:\d+$/);
    return /`fickle` \(test\) does not replay: after a crash at event 0, record 1 is sleep \{"until_ms":1750000000002\}/.test(error.message);
  });
  const remembered = [];
  const late = workflow(async (_, ctx) => {
    await ctx.sleep(1);
    remembered.push(1);
    if (remembered.length > 1) await ctx.publish('again');
    await ctx.sleep(1);
  });
  await assert.rejects(new TestHost().run(late), /after a crash at event 1, record 3 is publish again/);
  const unlogged = new TestHost({ replay: false });
  starts = 0;
  await unlogged.run(fickle);
  await assert.rejects(unlogged.replayCheck(), ReplayDivergence);
});

test('errors that nobody handles are defects; failures that nobody handles are a warning', async () => {
  const lost = workflow(async (_, ctx) => {
    void (async () => {
      await ctx.sleep(1);
      throw new TypeError('nobody sees this');
    })();
    await ctx.sleep(100);
    return 'fine';
  });
  await assert.rejects(new TestHost().run(lost), { name: 'TypeError', message: 'nobody sees this' });
  const timer = workflow(async (_, ctx) => {
    setTimeout(() => {
      throw new RangeError('in a timer');
    }, 1);
    await ctx.sleep(100);
  });
  await assert.rejects(new TestHost().run(timer), { name: 'RangeError' });
  const failing = activity(async () => {
    throw new Failure(404, 'not there');
  });
  const forgotten = workflow(async (_, ctx) => {
    void (async () => ctx.call(failing))();
    const late = ctx.call(failing);
    await ctx.sleep(100);
    return late.catch((error) => error.code);
  });
  const t = new TestHost();
  assert.equal(await t.run(forgotten), 404);
  assert.ok(t.logged('nobody awaited a promise that failed: not there', 'warn'));
});

test('messages name what was wrong', async () => {
  const rows = [
    [async (_, ctx) => ctx.cal('x'), /`cal` is not a command or a field of the context; do you mean `call`\?/],
    [async (_, ctx) => ctx.call(async () => 1), /`ctx\.call` is given a plain function: wrap it in `activity\(…\)`/],
    [async (_, ctx) => ctx.call('charge', { items: [{ price: Number.NaN }] }), /the input of `charge`, at `items\[0\]\.price`, is NaN/],
    [async (_, ctx) => ctx.sleep('soon'), /the length of a sleep is "soon"/],
    [async (_, ctx) => ctx.call('x', 1, { timout: 1 }), /do you mean `timeout`/],
    [async (_, ctx) => ctx.signal('x'), /declares no signal `x`/],
    [async (_, ctx) => ctx.anySignal(), /takes no signals: declare them/],
    [async (_, ctx) => void (ctx.total = 1), /`total` cannot be set/],
    [async () => ({ at: new Date() }), /the result of .* at `at`, is a Date/],
    [async () => new Promise(() => {}), /waits, but for none of its commands.*a promise that nothing resolves waits for ever/],
    [async (_, ctx) => ctx.promise('approval'), /command 0, the promise `approval`\nadd for instance `t\.promise/],
    [async (_, ctx) => ctx.call('nobody'), /calls `nobody`, which the module does not have/],
    [async (_, ctx) => ctx.saga('s').call('a', 1, {}), /has no `compensate`/],
    [async (_, ctx) => ctx.http({}), /a request needs an address/],
  ];
  for (const [run, message] of rows) await assert.rejects(new TestHost().run(workflow(run)), (error) => message.test(error.message) || assert.fail(`${error.stack} is not ${message}`));
  await assert.rejects(new TestHost().run(workflow({ output: json({}) }, async () => {
    throw 'text';
  })), (error) => error === 'text');
});

test('with a module, functions that it does not export are refused', async () => {
  const hidden = activity(async () => 1);
  const order = workflow(async (_, ctx) => ctx.call(hidden));
  await assert.rejects(new TestHost({ module: { order } }).run(order), /that the entry file does not export/);
  assert.equal(await new TestHost({ module: { order, hidden } }).run(order), 1);
});

test('an activity that waits for nothing, or with a timer, fails with a reason', async () => {
  const timer = activity({ retry: { maxAttempts: 1 } }, async () => new Promise((resolve) => setTimeout(resolve, 1)));
  await assert.rejects(new TestHost().run(timer), { message: /an activity cannot wait with a timer/ });
  const lost = activity({ retry: { maxAttempts: 1 } }, async () => void Promise.reject(new Error('lost')));
  await assert.rejects(new TestHost().run(lost), { message: /nobody awaited a promise that failed: \S*natural\.test\.mjs:\d+: Error: lost/ });
});

test('hosts run at the same time without knowing of each other', async () => {
  const hidden = activity({ name: 'hidden' }, async () => 1);
  const order = workflow({ name: 'order' }, async (_, ctx) => {
    await ctx.sleep('1h');
    return [await ctx.call(hidden).catch((error) => error.message), Date.now()];
  });
  const [strict, open] = await Promise.allSettled([
    new TestHost({ module: { order }, startAt: 1_000 }).run(order),
    new TestHost({ startAt: 2_000 }).run(order),
  ]);
  assert.match(strict.reason.message, /`hidden` is called, which the entry file does not export/);
  assert.deepEqual(open.value, [1, 3_602_000]);
});

test('the time zone of a workflow is UTC, whatever that of the machine is', async () => {
  const zone = process.env.TZ;
  process.env.TZ = 'Asia/Tokyo';
  try {
    assert.equal(new Date(0).getHours(), 9);
    assert.equal(await new TestHost().run(workflow(async () => new Date(0).getHours())), 0);
    assert.equal(new Date(0).getHours(), 9);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test('the stack of an error has the frames of the author, or the place of the function', async () => {
  const broken = workflow(async () => {
    const price = async () => undefined.cents;
    return price();
  });
  const unfit = workflow(async () => Number.NaN);
  const stack = async (one) => new TestHost().run(one).then(assert.fail, (error) => error.stack);
  const here = import.meta.url;
  for (const found of [await stack(broken), await stack(unfit)]) {
    assert.ok(found.split('\n')[1].includes(here), found);
    assert.ok(!found.includes('/dist/'), found);
  }
});

test('a function that the entry file does not export is no function to run', async () => {
  await assert.rejects(new TestHost().run(undefined), /and is given undefined: does the entry file export it\?/);
});
