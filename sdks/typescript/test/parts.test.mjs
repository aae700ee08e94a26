import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { Failure, activity, json, mapOf, object, query, update, workflow } from '../dist/index.js';
import { TestHost } from '../dist/testing/index.js';

const book = activity({ name: 'book' }, async (what) => {
  if (what.endsWith('Atlantis')) throw new Failure(404, 'there is none');
  return `${what}, number 7`;
});
const unbook = activity({ name: 'unbook' }, async ({ input }) => input);

test('a failure undoes the steps of a saga, the last one first', async () => {
  const trip = workflow(async (city, ctx) => {
    const saga = ctx.saga('trip');
    await saga.call(book, 'flight', { compensate: unbook });
    await saga.call(book, 'train', { compensate: unbook });
    return saga.call(book, `hotel in ${city}`, { compensate: unbook });
  });
  const t = new TestHost();
  await assert.rejects(t.run(trip, 'Atlantis'), (error) => {
    assert.equal(error.message, 'there is none; saga `trip`: `book`, `book` undone');
    assert.deepEqual(error.details.sagas[0].undone.map(({ seq, compensate }) => [seq, compensate]), [[1, 'unbook'], [0, 'unbook']]);
    return error.code === 404;
  });
  assert.deepEqual(t.calls(unbook), [{ input: 'train', output: 'train, number 7' }, { input: 'flight', output: 'flight, number 7' }]);
  assert.equal(await new TestHost().run(trip, 'Rome'), 'hotel in Rome, number 7');
});

test('sagas: scopes, aborting, completing, unknown effects, compensations that fail', async () => {
  const scoped = workflow(async (_, ctx) => {
    const saga = ctx.saga('part');
    const failed = await saga.scope(async () => {
      await saga.call(book, 'flight', { compensate: unbook });
      throw new Failure(409, 'no');
    }).catch((error) => error.message);
    const other = ctx.saga('whole');
    await other.call(book, 'boat', { compensate: unbook });
    other.complete();
    const last = ctx.saga('last');
    await last.call(book, 'car', { compensate: unbook });
    ctx.log(failed);
    await last.abort('sold out');
  });
  const t = new TestHost();
  await assert.rejects(t.run(scoped), { code: 422, message: 'sold out; saga `last`: `book` undone' });
  assert.ok(t.logged('no; saga `part`: `book` undone'));
  assert.deepEqual(t.calls(unbook).map(({ input }) => input), ['flight', 'car']);

  const slow = workflow({ name: 'slow' }, async (_, ctx) => ctx.sleep('1d'));
  const unknown = workflow(async (compensateUnknown, ctx) => {
    const saga = ctx.saga('s');
    await saga.call(slow, undefined, { compensate: unbook, timeout: '1h', compensateUnknown });
  });
  const asked = new TestHost();
  asked.promise('test/u/s/0').after('1h').resolve(null);
  await assert.rejects(asked.run(unknown, false), { code: 408, message: 'timed out; saga `s`: `slow` undone' });
  assert.equal(asked.elapsed, 7_200_000);
  assert.deepEqual(asked.calls(unbook), [{ input: null, output: null }]);
  await assert.rejects(new TestHost().run(unknown, true), { code: 408 });

  const broken = new TestHost();
  const two = workflow(async (_, ctx) => {
    const saga = ctx.saga('s');
    await saga.call(book, 'a', { compensate: unbook });
    await saga.call(book, 'b', { compensate: unbook, retry: { maxAttempts: 1 } });
    throw new Failure(400, 'x');
  });
  broken.on(unbook, () => {
    throw new Failure(422, 'the office is closed');
  });
  await assert.rejects(broken.run(two), { message: 'x; saga `s`: nothing undone, `book` could not be undone: the office is closed, `book` not undone' });
});

const Account = object({ name: 'Account', state: { balance: z.int(), items: mapOf(z.int()) }, promises: { closed: z.string() } }, ({ exclusive, shared }) => ({
  deposit: exclusive({ input: z.int() }, async (cents, ctx) => {
    const balance = ((await ctx.state.get('balance')) ?? 0) + cents;
    await ctx.sleep(10);
    ctx.state.set('balance', balance);
    ctx.state.map('items').set(String(cents), cents);
    return balance;
  }),
  balance: shared(async (_, ctx) => [ctx.key, (await ctx.state.get('balance')) ?? 0, await ctx.state.map('items').keys()]),
  spoil: shared(async (_, ctx) => ctx.state.set('balance', 0)),
  clear: exclusive(async (_, ctx) => ctx.state.clearAll()),
  closing: shared(async (_, ctx) => ctx.objectPromise('closed').wait()),
  close: shared(async (by, ctx) => ctx.objectPromise('closed').resolve(by)),
}));

test('executions of an object take turns; its state stays', async () => {
  const both = workflow(async (_, ctx) => {
    const account = ctx.object(Account, 'ada');
    const balances = await Promise.all([account.deposit(1), account.deposit(2), account.deposit(3)]);
    return { balances, read: await account.balance() };
  });
  const t = new TestHost().setState(Account, 'ada', 'balance', 10);
  assert.deepEqual(await t.run(both), { balances: [11, 13, 16], read: ['ada', 16, ['1', '2', '3']] });
  assert.equal(t.elapsed, 30);
  assert.equal(t.state(Account, 'ada', 'balance'), 16);
  assert.deepEqual(t.calls(Account.functions.deposit), [1, 2, 3]);
  assert.equal(await t.runObject(Account, 'ada', 'deposit', 4), 20, 'the state stays between runs');
  await t.runObject(Account, 'ada', 'clear');
  assert.deepEqual(await t.runObject(Account, 'ada', 'balance'), ['ada', 0, []]);
  await assert.rejects(t.runObject(Account, 'ada', 'spoil'), /`Account\/spoil` is shared, and writes/);
});

test('a promise of an object is settled once, from inside or outside', async () => {
  const t = new TestHost();
  t.objectPromise(Account, 'eve', 'closed').after('1h').resolve('bob');
  assert.equal(await t.runObject(Account, 'eve', 'closing'), 'bob');
  await assert.rejects(t.runObject(Account, 'eve', 'close', 'me'), { code: 409 });
  assert.deepEqual(t.objectPromiseState(Account, 'eve', 'closed'), { resolved: 'bob' });
  assert.equal(t.objectPromiseState(Account, 'ada', 'closed'), null);
});

const poll = workflow(
  {
    shared: () => ({ votes: [], isOver: false }),
    queries: { votes: query((shared) => shared.votes.length), of: query({ input: z.string() }, (shared, voter) => shared.votes.includes(voter)) },
    updates: {
      vote: update(
        {
          input: z.string(),
          validate(shared, voter) {
            if (shared.isOver || shared.votes.includes(voter)) throw new Failure(422, 'too late, or voted before');
          },
        },
        async (shared, voter, ctx) => {
          await ctx.sleep(10);
          return shared.votes.push(voter);
        },
      ),
    },
  },
  async (_, ctx) => {
    await ctx.sleep('1d');
    ctx.shared.isOver = true;
    await ctx.updatesDone();
    return ctx.shared.votes.length;
  },
);

test('queries read, updates are validated, run and answered', async () => {
  const t = new TestHost();
  const ada = t.update(poll, 'vote', 'ada', { after: '1h' });
  const again = t.update(poll, 'vote', 'ada', { after: '2h' });
  const last = t.update(poll, 'vote', 'eve', { after: 86_399_995 });
  const wrong = t.update(poll, 'vote', 7);
  const unknown = t.update(poll, 'leave', 7);
  const seen = t.query(poll, 'votes', undefined, { after: '3h' });
  assert.equal(await t.run(poll), 2);
  assert.deepEqual([ada.answer(), last.answer(), seen.answer()], [1, 2, 1]);
  assert.throws(() => again.answer(), { code: 422 });
  assert.throws(() => wrong.answer(), { code: 400 });
  assert.throws(() => unknown.answer(), { code: 404, message: /there is no update `leave`; there are: `vote`/ });
  assert.equal(t.query(poll, 'of', 'eve').answer(), true, 'after the end');
});

test('a generation ends and the next one begins, with the signals that nobody read', async () => {
  const counter = workflow({ signals: { add: json({}), end: json({}) } }, async (count, ctx) => {
    for (let n = 0; n < 3; n += 1) {
      const { name } = await ctx.anySignal();
      if (name === 'end') return { count, id: ctx.id };
      count += 1;
    }
    return ctx.continueAsNew(count);
  });
  const t = new TestHost();
  for (let n = 0; n < 7; n += 1) t.signal('add');
  t.signal('end', null, { after: '1h' });
  assert.deepEqual(await t.run(counter, 5), { count: 12, id: 'test/g/3' });
  assert.deepEqual(t.invocations, ['test', 'test/g/2', 'test/g/3']);
  assert.deepEqual(t.journal('test/g/1').at(-2).request, { input: 8 });
  const forgets = workflow(async (_, ctx) => {
    ctx.continueAsNew(1);
  });
  await assert.rejects(new TestHost().run(forgets), /write `return ctx\.continueAsNew/);
});

test('children, promises between workflows, and signals', async () => {
  const worker = workflow(async (promise, ctx) => ctx.resolve(promise, 'all is well'));
  const listener = workflow({ signals: { hello: z.string() } }, async (_, ctx) => ctx.signal('hello'));
  const boss = workflow(async (_, ctx) => {
    const report = ctx.promise();
    const listening = ctx.call(listener);
    await ctx.call(worker, report.id);
    await ctx.sleep(1);
    await ctx.sendSignal(listening.id, 'hello', 'you');
    const refused = await ctx.sendSignal(listening.id, 'bye').catch((error) => error.code);
    return [await report, await listening, refused, ctx.parent ?? null];
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(boss), ['all is well', 'you', 422, null]);
  assert.equal(t.journal('test/2').at(-1).kind, 'finished');
});

test('a graph has a double', async () => {
  const run = workflow(async (number, ctx) => ctx.graph({ nodes: { a: { call: 'double' } } }, number));
  const t = new TestHost().on('segno:graph', ({ plan, input }) => ({ a: Object.keys(plan.nodes).length + input }));
  assert.deepEqual(await t.run(run, 4), { a: 5 });
});
