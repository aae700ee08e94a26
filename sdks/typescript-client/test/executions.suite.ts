import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import {
  type Client,
  ConflictError,
  ExecutionFailedError,
  ExecutionHaltedError,
  InvalidRequestError,
  NotFoundError,
  WaitTimeoutError,
} from '../src/index.js';
import { sharedHost, until } from './host.js';

suite('executions', () => {
  let client: Client;
  before(async () => {
    ({ client } = await sharedHost());
  });

  test('a call waits for the output', async () => {
    assert.equal(await client.call<number>('parts/chain', { children: 4 }), 6);
  });

  test('a start answers at once, and its handle waits', async () => {
    const started = await client.start<number>(
      'parts/chain',
      { children: 3 },
      { id: 'start/1', labels: { team: 'docs' } },
    );
    assert.deepEqual([started.id, started.created], ['start/1', true]);
    assert.equal(await started.result(), 3);
    const status = await client.execution('start/1').status();
    assert.deepEqual([status.state, status.labels, status.output], ['resolved', { team: 'docs' }, 3]);
    assert.equal(typeof status.createdAtMs, 'number');
  });

  test('the same id again is the same execution, and another input is refused', async () => {
    await client.call('parts/leaf', 7, { id: 'same' });
    const again = await client.start('parts/leaf', 7, { id: 'same' });
    assert.equal(again.created, false);
    assert.equal(await again.result(), 7);
    await assert.rejects(client.start('parts/leaf', 8, { id: 'same' }), (error: ConflictError) => {
      assert.ok(error instanceof ConflictError);
      assert.deepEqual([error.code, error.status], ['key-reused', 409]);
      return true;
    });
  });

  test('a start without an id has one of the client', async () => {
    const started = await client.start('parts/leaf', 1);
    assert.match(started.id, /^leaf-[0-9a-f]{36}$/);
    const age = (Math.floor(Date.now() / 1_000) - Number.parseInt(started.id.slice(5, 9), 16)) & 0xffff;
    assert.ok(age < 60, `it begins with the second: ${started.id}`);
    assert.equal(started.created, true);
  });

  test('a wait ends after its time with the present state, and a result throws then', async () => {
    const waiting = await client.start('parts/turns', { steps: 0, turns: 1 }, { id: 'waiting' });
    assert.equal((await waiting.wait({ waitMs: 50 })).state, 'suspended');
    await assert.rejects(waiting.result({ waitMs: 50 }), (error: WaitTimeoutError) => {
      assert.ok(error instanceof WaitTimeoutError);
      assert.deepEqual([error.code, error.id, error.state], ['wait-timeout', 'waiting', 'suspended']);
      return true;
    });
    await waiting.promise('turn-0').resolve(null);
    assert.equal(await waiting.result(), 1);
  });

  test('an abort ends a wait, and not the execution', async () => {
    const waiting = await client.start('parts/turns', { steps: 0, turns: 1 }, { id: 'aborted' });
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 100);
    await assert.rejects(waiting.result({ signal: controller.signal }), /enough/);
    assert.equal((await waiting.status()).state, 'suspended');
  });

  test('a failure has its code, its message and its details', async () => {
    const failing = await client.start('herald/relay', 0, { id: 'failing' });
    await failing.promise('done').reject({ code: 402, message: 'no money', details: { cents_short: 7 } });
    await assert.rejects(failing.result(), (error: ExecutionFailedError) => {
      assert.ok(error instanceof ExecutionFailedError);
      assert.equal(error.message, '`failing` failed: no money (code 402)');
      assert.deepEqual([error.state, error.failure.details, error.killed], ['rejected', { cents_short: 7 }, false]);
      return true;
    });
  });

  test('cancel, kill and time limits end an execution', async () => {
    const start = (id: string, timeoutMs?: number) =>
      client.start('parts/turns', { steps: 0, turns: 1 }, { id, timeoutMs });
    const cancelled = await start('cancelled');
    assert.deepEqual(await cancelled.cancel(), { id: 'cancelled', changed: true });
    await assert.rejects(cancelled.result(), { state: 'cancelled', killed: false });
    const killed = await start('killed');
    await killed.kill();
    await assert.rejects(killed.result(), { state: 'cancelled', killed: true });
    await assert.rejects((await start('late', 20)).result(), { state: 'timed-out' });
  });

  test('a halted execution ends the wait, and continues', async () => {
    const halted = await client.start('parts/turns', { steps: 0, turns: 1 }, { id: 'halted' });
    await halted.wait({ waitMs: 50 });
    assert.equal((await halted.halt()).changed, true);
    const began = Date.now();
    await assert.rejects(halted.result({ waitMs: 20_000 }), ExecutionHaltedError);
    assert.ok(Date.now() - began < 10_000);
    assert.equal((await halted.resume()).changed, true);
    await halted.promise('turn-0').resolve();
    assert.equal(await halted.result(), 1);
  });

  test('a restart is a new execution, and a removal leaves nothing', async () => {
    await client.call('parts/leaf', 5, { id: 'old' });
    const again = await client.execution<number>('old').restart({ id: 'new' });
    assert.equal(again.id, 'new');
    assert.equal(await again.result(), 5);
    // As soon as the messages about its end are delivered.
    const removed = await until(() =>
      again.remove().catch((error: { code: string }) => void assert.equal(error.code, 'not-removable')),
    );
    assert.equal(removed.id, 'new');
    await assert.rejects(
      again.status(),
      (error: NotFoundError) => error instanceof NotFoundError && error.code === 'unknown-invocation',
    );
  });

  test('a budget is given at the start, spent, read and raised', async () => {
    const start = (budget: Record<string, number>) =>
      client.start('parts/chain', { children: 2 }, { id: `budget/${JSON.stringify(budget)}`, budget });
    const spent = await start({ calls: 0, input_tokens: 0.5 });
    await assert.rejects(spent.result(), (error: ExecutionFailedError) => {
      const calls = { limit: 0, spent: 0, remaining: 0 };
      assert.deepEqual([error.failure.code, error.failure.details], [402, { account: spent.id, units: { calls } }]);
      return true;
    });
    const { accounts, below } = await spent.setBudget({ calls: 3 });
    assert.deepEqual(accounts, [
      {
        id: spent.id,
        units: {
          calls: { limit: 3, spent: 0, remaining: 3 },
          input_tokens: { limit: 0.5, spent: 0, remaining: 0.5 },
        },
      },
    ]);
    assert.deepEqual([below, await spent.budget()], [[], { accounts, below }]);
    const enough = await start({ calls: 3 });
    await enough.result();
    assert.deepEqual((await enough.budget()).accounts[0]?.units, { calls: { limit: 3, spent: 2, remaining: 1 } });
    await assert.rejects(start({ calls: -1 }), InvalidRequestError);
    const budget = { calls: 3, input_tokens: 1 };
    const signalled = client.execution('budget/signal');
    await signalled.signal('text', 'one', { start: { target: 'herald/relay', input: 2, budget } });
    const schedule = await client.createSchedule({ id: 'budget', cron: '0 0 1 1 *', target: 'parts/leaf', input: 1, budget });
    assert.deepEqual((await schedule.status()).budget, budget);
    const called = await client.object('parts/Tally', 'budget').start('add', 1, { id: 'budget/object', budget });
    for (const execution of [signalled, called, await schedule.trigger()]) {
      const [own] = (await execution.budget()).accounts;
      assert.deepEqual([own?.id, own?.units.calls?.limit, own?.units.input_tokens?.limit], [execution.id, 3, 1]);
    }
    await schedule.delete();
    await assert.rejects(start({ 'no unit': 1 }), InvalidRequestError);
  });

  test('a start in the future waits for it', async () => {
    const later = await client.start('parts/leaf', 1, { id: 'later', startAt: new Date(Date.now() + 60_000) });
    assert.equal((await later.wait({ waitMs: 20 })).state, 'pending');
    await later.remove({ cancel: true, graceMs: 0 });
  });

  test('lists have filters, pages and counts', async () => {
    for (let at = 0; at < 5; at += 1) await client.call('parts/leaf', at, { id: `list/${at}`, labels: { of: 'list' } });
    const ids: string[] = [];
    for await (const item of client.list({ label: 'of=list', function: 'leaf', state: 'resolved', pageSize: 2 }))
      ids.push(item.id);
    assert.deepEqual(ids, ['list/4', 'list/3', 'list/2', 'list/1', 'list/0']);
    assert.deepEqual((await client.list({ prefix: 'list/' }).take(2)).length, 2);
    assert.deepEqual(await client.counts({ prefix: 'list/' }), { states: { resolved: 5 }, newestOnly: false });
    assert.deepEqual(await client.list({ prefix: 'list/', until: 1 }).take(10), []);
  });

  test('log lines are listed', async () => {
    await client.call('herald/announce', [2, 0], { id: 'logged' });
    const lines = await client.execution('logged').logs().take(10);
    assert.deepEqual(
      lines.map((line) => [line.level, line.message]),
      [
        ['info', 'announcing 0'],
        ['info', 'announcing 1'],
      ],
    );
  });
});
