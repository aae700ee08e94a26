import assert from 'node:assert/strict';
import test from 'node:test';
import { limitsText, reportCost } from '../dist/core/budget.js';
import { callRecord } from '../dist/core/retry.js';
import { Code, Failure, activity, object, workflow } from '../dist/index.js';
import { TestHost } from '../dist/testing/index.js';

const unit = (limit, spent) => ({ limit, spent, remaining: Math.max(0, limit - spent) });
const labels = (budget) => callRecord({ attemptTimeout: 5, labels: { a: 'b' }, budget }, 'the call').labels;
const units = (number) => Object.fromEntries(Array.from({ length: number }, (_, n) => [`u${n}`, 1]));

/** An activity that reports these costs. */
const use = activity({ retry: { initial: '1s', maxAttempts: 3 } }, async (costs, ctx) => {
  for (const [name, amount] of costs) ctx.cost(name, amount);
  return ctx.attempt;
});
const caught = (promise) => promise.catch(({ code, spentBudget }) => [code, spentBudget]);

test('limits are a label of the call, in plain decimals and sorted by unit', () => {
  const rows = [
    [{ usd: 1.5, tokens: 20_000 }, 'tokens=20000,usd=1.5'],
    [{ a: 0, 'b.C_d-1': 0.000001 }, 'a=0,b.C_d-1=0.000001'],
    [{ a: 1e-7, b: 0.0000006, c: 0.1 + 0.2, d: 100 }, 'a=0,b=0.000001,c=0.3,d=100'],
    [{ a: 9_223_372_036_854 }, 'a=9223372036854'],
  ];
  for (const [budget, text] of rows) assert.deepEqual(labels(budget), [['a', 'b'], ['segno:attempt-timeout-ms', '5'], ['segno:budget', text]]);
  assert.deepEqual(labels({}), [['a', 'b'], ['segno:attempt-timeout-ms', '5']]);
});

test('limits that a host would refuse are refused by their unit', () => {
  const rows = [
    [{ a: -1 }, /limit of `a` in `budget` is refused: the amount is -1, and has to be a number from 0 to 9223372036854/],
    [{ a: NaN }, /the amount is NaN/],
    [{ a: Infinity }, /the amount is Infinity/],
    [{ a: 1e13 }, /the amount is 10000000000000/],
    [{ a: '1' }, /the amount is 1, and has to be a number/],
    [{ a: undefined }, /the amount is undefined/],
    [{ 'a b': 1 }, /`a b` in `budget` is refused: the name of a unit has 1 to 64 letters/],
    [{ ['x'.repeat(65)]: 1 }, /the name of a unit/],
    [units(17), /has 17 units, and 16 at most are possible/],
    [7, /`budget` is 7, and has to be limits by unit/],
    [null, /`budget` is null/],
  ];
  for (const [budget, message] of rows) assert.throws(() => limitsText(budget), message);
  assert.equal(limitsText(units(16)).split(',').length, 16);
});

test('a cost is reported in millionths, rounded to the nearest', () => {
  const seen = [];
  const engine = { reportCost: (...given) => seen.push(given) };
  for (const amount of [1234, 0.0042, 0.0000004, 0.0000006, 9_007_199_254, 0, -0]) reportCost(engine, 'usd', amount);
  assert.deepEqual(seen.map(([, millionths]) => millionths), [1_234_000_000, 4_200, 0, 1, 9_007_199_254_000_000, 0, 0]);
  for (const [name, amount] of [['a', NaN], ['a', Infinity], ['a', -1], ['a', 9_007_199_255], ['a', '1'], ['a', 1n], ['', 1], ['a=b', 1], [7, 1]]) {
    assert.throws(() => reportCost(engine, name, amount), (error) => error instanceof Failure && error.code === 400 && error.isFinal && /^the cost of `/.test(error.message));
  }
  assert.equal(seen.length, 7);
});

test('attempts are counted before they begin, and costs are charged with their end', async () => {
  const agent = workflow(async (_, ctx) => {
    const before = await ctx.budget();
    await ctx.call(use, [['tokens', 700], ['usd', 0.1], ['other', 5]]);
    const between = await ctx.budget();
    await ctx.call(use, [['tokens', 200], ['tokens', 200], ['usd', 0.2]]);
    const refused = await caught(ctx.call(use, [['tokens', 1]]));
    return [before, between, refused, await ctx.budget()];
  });
  const t = new TestHost({ id: 'agent-1' });
  const budget = { tokens: 1_000, usd: 1.5, calls: 10 };
  const spent = { calls: unit(10, 2), tokens: unit(1_000, 1_100), usd: unit(1.5, 0.3) };
  assert.deepEqual(await t.run(agent, undefined, { budget }), [
    { calls: unit(10, 0), tokens: unit(1_000, 0), usd: unit(1.5, 0) },
    { calls: unit(10, 1), tokens: unit(1_000, 700), usd: unit(1.5, 0.1) },
    [402, { account: 'agent-1', units: { tokens: unit(1_000, 1_100) } }],
    spent,
  ]);
  assert.deepEqual(t.budget(), spent);
  assert.equal(t.elapsed, 0);
  const [{ command, name, request }] = t.journal().filter(({ name }) => name === 'segno:budget');
  assert.deepEqual([command, name, request], ['call', 'segno:budget', { input: null }]);
});

test('without a budget nothing is charged, and nothing is left to say', async () => {
  const asks = workflow(async (_, ctx) => [await ctx.call(use, [['tokens', 7]]), await ctx.budget()]);
  const t = new TestHost();
  assert.deepEqual(await t.run(asks), [1, {}]);
  assert.throws(() => t.budget(), /`test` has no budget of its own; these have one: none/);
});

test('retries are charged, also if they fail, and a spent budget ends them', async () => {
  const fails = activity({ retry: { initial: '1s' } }, async (_, ctx) => {
    ctx.cost('usd', 0.5);
    throw new Error('busy');
  });
  const calls = workflow(async (_, ctx) => ctx.call(fails));
  const t = new TestHost();
  const ends = (units) => (error) => {
    assert.deepEqual([error.code, error.isFinal, error.spentBudget], [Code.BudgetSpent, true, { account: 'test', units }]);
    return true;
  };
  await assert.rejects(t.run(calls, undefined, { budget: { calls: 3 } }), ends({ calls: unit(3, 3) }));
  assert.equal(t.elapsed, 7_000);
  await assert.rejects(t.run(calls, undefined, { budget: { usd: 0.75 } }), (error) => {
    assert.equal(error.message, 'the budget of `test` is spent: 1 of 0.75 usd are used; `segno budget set test usd=…` raises it');
    return ends({ usd: unit(0.75, 1) })(error);
  });
  await assert.rejects(t.run(calls, undefined, { budget: { calls: 0 } }), ends({ calls: unit(0, 0) }));
});

test('a call with a budget spends those above it as well', async () => {
  const child = workflow(async (costs, ctx) => {
    for (const cost of costs) await ctx.call(use, [cost]);
    return ctx.budget();
  });
  const parent = workflow(async (_, ctx) => {
    const first = await ctx.call(child, [['tokens', 30]], { budget: { tokens: 40, calls: 9 } });
    const second = await caught(ctx.call(child, [['tokens', 50], ['tokens', 1]], { budget: { tokens: 40 } }));
    const sent = await ctx.send(use, [['usd', 1]], { budget: { usd: 1 } });
    await ctx.sleep('1s');
    const last = await caught(ctx.call(child, [['tokens', 20], ['tokens', 1]]));
    return [first, second, last, sent];
  });
  const t = new TestHost();
  const [first, second, last, sent] = await t.run(parent, undefined, { budget: { tokens: 100, calls: 5 } });
  assert.deepEqual(first, { calls: unit(5, 1), tokens: unit(40, 30) });
  assert.deepEqual(second, [402, { account: 'test/1', units: { tokens: unit(40, 50) } }]);
  assert.deepEqual(last, [402, { account: 'test', units: { tokens: unit(100, 100) } }]);
  assert.deepEqual([t.budget(), t.budget('test/0'), t.budget('test/1')], [
    { calls: unit(5, 4), tokens: unit(100, 100) },
    { calls: unit(9, 1), tokens: unit(40, 30) },
    { tokens: unit(40, 50) },
  ]);
  assert.deepEqual(t.budget(sent), { usd: unit(1, 1) });
  assert.throws(() => t.budget('test/7'), /`test\/7` has no budget of its own; these have one: `test`, `test\/0`, `test\/1`, `test\/2`/);
});

test('requests, graphs, objects, compensations and generations draw on the budget', async () => {
  const Box = object({}, ({ exclusive }) => ({ put: exclusive(async (_, ctx) => ctx.call(use, [])) }));
  const plan = { nodes: { a: { call: 'use', input: [] }, b: { http: { url: 'https://a.example/' }, needs: ['a'] } }, outputs: ['b'] };
  const all = workflow({ signals: true }, async (round, ctx) => {
    if (round === 1) {
      await ctx.http('https://a.example/', { budget: { calls: 1 } });
      await ctx.object(Box, 'ada').put(undefined, { budget: { calls: 1 } });
      await ctx.graph(plan, null, { budget: { calls: 2 } });
      return ctx.continueAsNew(2);
    }
    await ctx.saga('trip').call(use, [], { compensate: use, budget: { calls: 1 } });
    throw new Failure(422, 'no');
  });
  const module = { use, Box, all };
  const t = new TestHost({ module }).onHttp('GET', 'https://a.example/', () => 200);
  t.on(use, () => 1);
  await assert.rejects(t.run(all, 1, { budget: { calls: 100 } }), { code: 422 });
  assert.deepEqual(t.budget(), { calls: unit(100, 5) });
  for (const id of ['test/0', 'test/1', 'test/g/2/0']) assert.deepEqual(t.budget(id), { calls: unit(1, 1) });
  assert.deepEqual(t.budget('test/2'), { calls: unit(2, 2) });
});

test('the report of a saga leaves the spent budget recognisable', async () => {
  const trip = workflow(async (_, ctx) => {
    await ctx.saga('trip').call(use, [], { compensate: use });
    await ctx.call(use, []);
  });
  const parent = workflow(async (_, ctx) => caught(ctx.call(trip, undefined, { budget: { calls: 1 } })));
  const [code, { account }] = await new TestHost().run(parent);
  assert.deepEqual([code, account], [402, 'test/0']);
  for (const other of [new Failure(402, 'declined'), new Failure(402, 'declined', { account: 7 }), new Failure(422, 'no', { account: 'a', units: {} })]) assert.equal(other.spentBudget, undefined);
});

test('a double reports costs, and one of a workflow is no attempt', async () => {
  const inner = workflow(async () => 1);
  const outer = workflow(async (_, ctx) => [await ctx.call(use, []), await ctx.call(inner), await ctx.call('wasm://other/f')]);
  const t = new TestHost().on(use, (_, { cost }) => (cost('usd', 0.25), 7));
  t.on(inner, () => 2).on('wasm://other/f', () => 3);
  assert.deepEqual(await t.run(outer, undefined, { budget: { calls: 9, usd: 9 } }), [7, 2, 3]);
  assert.deepEqual(t.budget(), { calls: unit(9, 2), usd: unit(9, 0.25) });
});

test('an attempt fails with the refusal of a host, and what it reported is charged', async () => {
  const tries = workflow(async (costs, ctx) => ctx.call(use, costs));
  const t = new TestHost();
  const rows = [
    [[['usd', 1], ['calls', 1]], /the cost of `calls` is refused: `calls` is counted by the host/],
    [[['usd', 1], ...Object.entries(units(16))], /the cost of `u15` is refused: there are more than 16 units/],
    [[['usd', 1], ['a b', 1]], /the cost of `a b` is refused: the name of a unit/],
    [[['usd', 1], ['a', -1]], /the cost of `a` is refused: the amount is -1/],
  ];
  for (const [costs, message] of rows) {
    await assert.rejects(t.run(tries, costs, { budget: { usd: 10 } }), (error) => error.code === 400 && message.test(error.message));
    assert.deepEqual(t.budget(), { usd: unit(10, 1) });
  }
});

test('a limit is raised during the run', async () => {
  const patient = workflow(async (_, ctx) => {
    const results = [];
    for (let round = 0; round < 3; round += 1) {
      results.push(await ctx.call(use, []).catch((error) => error.spentBudget.account));
      await ctx.sleep('1h');
    }
    return results;
  });
  const t = new TestHost().setBudget({ calls: 2, usd: 1 }, { after: '90m' });
  assert.deepEqual(await t.run(patient, undefined, { budget: { calls: 1 } }), [1, 'test', 1]);
  assert.deepEqual(t.budget(), { calls: unit(2, 2), usd: unit(1, 0) });
  await assert.rejects(t.setBudget({ calls: 1 }, { id: 'other' }).run(patient), /`other` has no budget of its own/);
});

test('a ninth budget is refused', async () => {
  const nest = workflow(async (depth, ctx) => (depth === 0 ? 'deep' : ctx.call('nest', depth - 1, { budget: { calls: 1 } })));
  const run = (depth) => new TestHost({ module: { nest } }).run(nest, depth, { budget: { calls: 1 } });
  assert.equal(await run(7), 'deep');
  await assert.rejects(run(8), { code: 400, message: /is refused: it has 8 budgets above it already/ });
});

test('a run has no other options', async () => {
  await assert.rejects(new TestHost().run(use, [], { buget: {} }), /the run of `.*` has no option `buget`; do you mean `budget`\?/);
});
