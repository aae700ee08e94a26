import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { Failure, activity, graph, remote, type, workflow } from '../dist/index.js';
import { Module } from '../dist/core/module.js';
import { readPlan } from '../dist/testing/graph/plan.js';
import { holds } from '../dist/testing/graph/progress.js';
import { TestHost } from '../dist/testing/index.js';

const fetchRows = activity(async (source) => ({ rows: source.length }));
const merge = activity(async ([left, right]) => ({ rows: left.rows + right.rows }));
const report = activity(async ({ rows }) => `${rows} rows`);
const prices = graph({ input: z.object({ north: z.string(), south: z.string() }) }, (g, sources) => {
  const north = g.call('north', fetchRows, sources.at('north'));
  const south = g.call('south', fetchRows, sources.at('south'), { retry: { maxAttempts: 3, initial: '1s' }, timeout: '1m' });
  const merged = g.call('merge', merge, [north, south]);
  return g.call('report', report, merged, { when: merged.at('rows').above(2) });
});

test('a graph is a plan of its nodes', () => {
  const module = new Module({ fetchRows, merge, report, prices });
  assert.deepEqual(module.describe().map(({ name, kind }) => `${name} ${kind}`), ['fetchRows activity', 'merge activity', 'report activity', 'prices workflow']);
  assert.deepEqual(prices.plan(), {
    name: 'prices',
    outputs: ['report'],
    nodes: {
      north: { call: 'fetchRows', input: { $from: 'input', at: '/north' } },
      south: { call: 'fetchRows', input: { $from: 'input', at: '/south' }, timeout: '60000ms', retry: { initial: '1000ms', factor: 2, max: '60000ms', max_attempts: 3 } },
      merge: { call: 'merge', input: [{ $from: 'north' }, { $from: 'south' }], needs: ['north', 'south'] },
      report: { call: 'report', input: { $from: 'merge' }, when: { from: 'merge', at: '/rows', above: 2 }, needs: ['merge'] },
    },
  });
});

test('a graph runs in virtual time, and a skipped node gives null', async () => {
  const t = new TestHost();
  assert.equal(await t.run(prices, { north: 'a', south: 'bb' }), '3 rows');
  assert.deepEqual(t.calls(merge), [[{ rows: 1 }, { rows: 2 }]]);
  assert.ok(t.invocations.includes('test/0'));
  assert.deepEqual(t.journal('test/0'), []);
  assert.deepEqual(t.journal().map(({ kind }) => kind), ['started', 'command', 'notified', 'finished']);
  assert.equal(await new TestHost().run(prices, { north: '', south: 'b' }), null);
});

const draft = activity(async (topic) => {
  if (topic === '') throw new Failure(422, 'there is no topic');
  return `all about ${topic}`;
});
const publish = activity(async (text) => text.length);
const article = graph({ name: 'article' }, (g, topic) => {
  const text = g.call('draft', draft, topic);
  const approved = g.promise('approve', { shows: { text }, timeout: '7d' });
  const release = g.signal('release', { signal: 'released' });
  const published = g.call('publish', publish, text, { after: release, when: approved.is(true) });
  return { approved, published };
});

test('people and signals take part, by the name of the node or by id', async () => {
  let t = new TestHost();
  t.promise('approve').after('1d').resolve(true);
  t.promise('sig/released').after('2d').resolve(null);
  assert.deepEqual(await t.run(article, 'hats'), { approved: true, published: 14 });
  assert.equal(t.elapsed, 2 * 86_400_000);
  t = new TestHost();
  t.promise('test/0/n/approve/0').resolve(false);
  t.promise('test/0/sig/released').resolve(null);
  assert.deepEqual(await t.run(article, 'hats'), { approved: false, published: null });
  await assert.rejects(new TestHost().run(article, 'hats'), /`article` \(test\/0\): command 0, the promise `sig\/released`/);
});

test('a failure closes the nodes that need it, and names those that did not run', async () => {
  const t = new TestHost();
  t.promise('sig/released').resolve(null);
  await assert.rejects(t.run(article, ''), (error) => {
    assert.equal(error.code, 500);
    assert.equal(error.message, 'node `draft` failed: there is no topic');
    assert.deepEqual(error.details, { failed: { draft: { code: 422, message: 'there is no topic' } }, not_run: ['approve', 'publish'] });
    return true;
  });
  const late = new TestHost();
  late.promise('sig/released').resolve(null);
  await assert.rejects(late.run(article, 'hats'), { message: 'node `approve` failed: timed out' });
  assert.equal(late.elapsed, 7 * 86_400_000);
});

test('a failure ends the run at once, or lets the others finish', async () => {
  const fails = activity({ name: 'fails' }, async () => Promise.reject(new Failure(400, 'no')));
  for (const [failFast, elapsed] of [[true, 0], [false, 60_000]]) {
    const both = graph({ failFast, input: type() }, (g) => [g.call('a', fails), g.sleep('b', '1m')]);
    const t = new TestHost();
    await assert.rejects(t.run(both), /node `a` failed: no/);
    assert.equal(t.elapsed, elapsed);
  }
});

test('at most so many nodes run at the same time', async () => {
  const four = graph({ maxParallel: 2 }, (g) => ['a', 'b', 'c', 'd'].map((name) => g.sleep(name, '1h')));
  const t = new TestHost();
  assert.deepEqual(await t.run(four), [null, null, null, null]);
  assert.equal(t.elapsed, 2 * 3_600_000);
});

test('workflows are attempted again as new executions, and graphs call graphs', async () => {
  let tries = 0;
  const flaky = workflow({ name: 'flaky' }, async (_, ctx) => {
    await ctx.sleep('1s');
    tries = Number(ctx.id.split('/').at(-1));
    if (tries < 2) throw new Failure(500, 'again');
    return ctx.id;
  });
  const inner = graph({ name: 'inner' }, (g) => g.call('flaky', flaky, undefined, { retry: { initial: '10s', maxAttempts: 3 } }));
  const outer = graph({ name: 'outer' }, (g) => [g.call('one', inner)]);
  const t = new TestHost();
  assert.deepEqual(await t.run(outer), ['test/0/n/one/0/0/n/flaky/2']);
  assert.equal(t.elapsed, 3_000 + 10_000 + 20_000);
  const twice = graph({ name: 'twice' }, (g) => g.call('flaky', flaky, undefined, { retry: { initial: '10s', maxAttempts: 2 } }));
  const last = new TestHost();
  await assert.rejects(last.run(twice), { message: 'node `flaky` failed: again' });
  assert.equal(last.elapsed, 2_000 + 10_000);
});

test('requests are nodes', async () => {
  const asks = graph((g, host) => g.http('ask', { method: 'post', url: host, headers: { 'x-a': 'b' }, json: { host } }).at('body'));
  const t = new TestHost();
  t.onHttp('POST', 'https://example.com', () => ({ body: 'hello' }));
  assert.equal(await t.run(asks, 'https://example.com/a'), 'hello');
  assert.deepEqual(t.requests[0].json(), { host: 'https://example.com/a' });
  assert.match(t.requests[0].headers['idempotency-key'], /^test\/0\/n\/ask\/0$/);
  await assert.rejects(t.run(asks, 7), /node `ask` failed: the url of the request is no text: 7/);
});

test('a cancelled workflow ends its graph, and what that runs', async () => {
  const waits = workflow({ name: 'waits' }, async (_, ctx) => {
    try {
      await ctx.sleep('1d');
    } finally {
      ctx.log('stopped');
    }
  });
  const t = new TestHost();
  t.cancelAfter('1h');
  await assert.rejects(t.run(graph((g) => g.call('wait', waits))), { code: 499 });
  assert.ok(t.logged('stopped'));
});

test('a graph that makes no sense is refused where it is built', () => {
  const add = activity({ name: 'add' }, async () => 1);
  let other;
  graph((g) => (other = g.call('x', add))).plan();
  const rows = [
    [(g) => [g.call('a', add), g.call('a', add)], /there are two nodes `a`/],
    [(g) => g.call('a b', add), /`a b` is no name of a node/],
    [(g) => g.call('input', add), /`input` is no name of a node/],
    [(g) => g.call('a', add, null, { retries: 1 }), /the node `a` has no option `retries`/],
    [(g) => g.call('a', add, null, { retry: { jitter: 1 } }), /`retry` of the node `a` has no option `jitter`/],
    [(g) => g.call('a', add, null, { retry: {}, once: true }), /what begins once is not repeated/],
    [(g) => g.call('a', add, other), /the output of `x` belongs to another graph/],
    [(g) => g.call('a', add, null, { when: true }), /`when` of the node `a` takes a condition/],
    [(g) => g.call('a', add, null, { after: 'b' }), /`after` of the node `a` takes outputs/],
    [(g) => g.call('a', add, { $from: 'b' }), /a field `\$from`/],
    [(g) => g.call('a', add, { n: [NaN] }), /the input of the node `a`, at `n\[0\]`, is NaN/],
    [(g) => g.call('a', async () => 1), /the node `a` calls a plain function: wrap it in `activity/],
    [(g) => g.sleep('a', 'soon'), /the length of the node `a` is "soon"/],
    [(g) => JSON.stringify(g.call('a', add)), /is known only when the graph runs/],
    [() => 1, /returns no output of a node/],
    [async (g) => g.call('a', add), /it only builds, and waits for nothing/],
  ];
  for (const [build, message] of rows) assert.throws(() => graph({ name: 'wrong' }, build).plan(), message);
  assert.throws(() => graph({ maxParallel: 0 }, () => {}), /`maxParallel` is 0/);
  assert.throws(() => new Module({ wrong: graph(() => 1) }).describe(), /returns no output of a node/);
  assert.deepEqual(graph((g) => g.call('a', remote('poll://any@group#charge'), [1])).plan().nodes.a, { call: 'poll://any@group', function: 'charge', input: [1] });
});

test('a plan is read as a host reads it: all faults at once', async () => {
  const faults = [
    [{ nodes: {} }, /^nodes: a plan has at least one node/],
    [{ nodes: { a: { call: 'f', needs: ['b'] } } }, /^nodes.a.needs: there is no node `b`: add it, or remove it here$/],
    [{ nodes: { a: {} } }, /the node does nothing: write exactly one of `call`/],
    [{ nodes: { a: { call: 'f', sleep: '1s' } } }, /the node has `call`, `sleep`: keep exactly one/],
    [{ nodes: { a: { sleep: '1s', retry: {} } } }, /`retry` is only for `call`, `http`: remove it/],
    [{ nodes: { a: { call: 'f', input: { $from: 'b' } }, b: { call: 'f' } } }, /`b` is not among the `needs` of this node/],
    [{ nodes: { a: { call: 'f', needs: ['b'] }, b: { call: 'f', needs: ['a'] } } }, /the graph has a cycle, `a` → `b` → `a`|`b` → `a` → `b`/],
    [{ nodes: { a: { call: 'f', timeout: 'soon' } }, max_parallel: 0, x: 1 }, /no field `x`[^]*max_parallel[^]*nodes.a.timeout/],
    [{ nodes: { a: { call: 'f' } }, on_failure: 'stop' }, /`stop` is no policy/],
  ];
  for (const [plan, message] of faults) assert.throws(() => readPlan(plan), (error) => error.code === 422 && message.test(error.message) || assert.fail(error.message));
  const runs = workflow(async (_, ctx) => ctx.graph({ nodes: { a: { call: 'f', needs: ['b'] } } }));
  await assert.rejects(new TestHost().run(runs), { code: 422, message: 'nodes.a.needs: there is no node `b`: add it, or remove it here' });
});

test('conditions compare values of the same type', () => {
  const values = { a: { n: 2, t: 'x', l: [{ b: 1 }], null: null, 'x/y': 1 } };
  const source = (from, at) => at.split('/').slice(1).reduce((value, key) => value?.[key.replace('~1', '/')], values[from]);
  const rows = [
    [{ from: 'a', at: '/n', above: 1 }, true],
    [{ from: 'a', at: '/n', at_least: 2 }, true],
    [{ from: 'a', at: '/n', below: 2 }, false],
    [{ from: 'a', at: '/t', at_most: 9 }, false],
    [{ from: 'a', at: '/l', is: [{ b: 1 }] }, true],
    [{ from: 'a', at: '/l', is_not: [{ b: 2 }] }, true],
    [{ from: 'a', at: '/none', is: null }, true],
    [{ from: 'a', at: '/null', exists: true }, true],
    [{ from: 'a', at: '/none', exists: false }, true],
    [{ from: 'a', at: '/x~1y', is: 1 }, true],
    [{ all: [{ from: 'a', at: '/n', is: 2 }, { not: { from: 'a', at: '/t', is: 'x' } }] }, false],
    [{ any: [{ from: 'a', at: '/n', is: 3 }, { from: 'a', at: '/t', is: 'x' }] }, true],
  ];
  for (const [condition, expected] of rows) assert.equal(holds(condition, source), expected, JSON.stringify(condition));
});
