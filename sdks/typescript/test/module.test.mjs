import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { Module } from '../dist/core/module.js';
import { activity, json, mapOf, object, query, update, workflow } from '../dist/index.js';

test('the exports of the entry file are the module', () => {
  const charge = activity({ input: z.int(), output: z.string(), summary: 'Charges.', retry: { maxAttempts: 2 }, limit: { concurrency: 1 } }, async () => 'x');
  const order = workflow(
    {
      name: 'place-order',
      timeout: '1d',
      commit: 'each',
      expose: 'mcp',
      signals: { approved: json({ type: 'boolean' }) },
      promises: { paid: z.string() },
      shared: () => ({ step: 1 }),
      queries: { step: query((shared) => shared.step) },
      updates: { next: update({ input: z.int() }, (shared) => (shared.step += 1)) },
    },
    async () => {},
  );
  const Cart = object({ state: { items: mapOf(z.int()) } }, ({ once, shared }) => ({ run: once({ commit: 'each', expose: 'mcp' }, async () => {}), list: shared({ commit: 'gathered' }, async () => []) }));
  const module = new Module({ charge, order, Cart, again: charge, helper: () => 1, PRICES: { a: 1 } });
  assert.deepEqual([...module.functions.keys()], ['charge', 'place-order', 'Cart/run', 'Cart/list']);
  const [described, second] = module.describe();
  assert.equal(described.kind, 'activity');
  assert.equal(JSON.parse(described.inputSchema).type, 'integer');
  assert.equal(described.summary, 'Charges.');
  assert.equal(described.retry.maxAttempts, 2);
  assert.deepEqual([second.signals, second.timeoutMs, second.inputSchema], [true, 86_400_000, undefined]);
  assert.deepEqual(module.messages().map(({ kind, name }) => `${kind} ${name}`), ['promise paid', 'signal approved']);
  assert.deepEqual(module.objects(), [
    { function: 'Cart/run', access: 'exclusive' },
    { function: 'Cart/list', access: 'shared' },
  ]);
  assert.deepEqual(module.runs(), ['Cart/run']);
  assert.deepEqual(module.handlers().map(({ kind, name }) => `${kind} ${name}`), ['query step', 'update next']);
  assert.equal(module.limits()[0].perKey.concurrency, 1);
  assert.deepEqual(module.commits(), ['place-order', 'Cart/run']);
  assert.deepEqual(module.exposures(), [{ function: 'place-order', protocol: 'mcp' }, { function: 'Cart/run', protocol: 'mcp' }]);
});

test('definitions that make no sense are refused where they are made', () => {
  const rows = [
    [() => activity({ input: z.int() }), /`activity` takes the function itself as its last argument/],
    [() => workflow({ commit: 'always' }, async () => {}), /`commit` is "always": write 'each' or 'gathered'/],
    [() => activity({ expose: 'http' }, async () => {}), /`expose` is "http": write 'mcp'/],
    [() => activity({ commit: 'each' }, async () => {}), /`activity` has no option `commit`/],
    [() => workflow({ retry: {} }, async () => {}), /`workflow` has no option `retry`/],
    [() => activity({ signal: {} }, async () => {}), /`activity` has no option `signal`/],
    [() => object({}, ({ exclusive }) => ({ add: async () => exclusive })), /the function `add` of an object is made by `exclusive`/],
    [() => query({}, 'x'), /`query` takes the function itself/],
    [() => mapOf({}), /`mapOf` takes the schema/],
    [() => new Module({ default: workflow(async () => {}) }), /a default export has no name/],
    [() => new Module({ a: workflow({ name: 'x y' }, async () => {}) }), /`x y` is no name of a function/],
    [() => new Module({ a: workflow({ name: 'x' }, async () => {}), b: workflow({ name: 'x' }, async () => {}) }), /two functions have the name `x`/],
  ];
  for (const [wrong, message] of rows) assert.throws(wrong, message);
});
