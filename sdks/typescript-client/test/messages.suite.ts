import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import {
  type Client,
  NotFoundError,
  PromiseFailedError,
  WaitTimeoutError,
  WorkflowRefusedError,
  reference,
} from '../src/index.js';
import { sharedHost } from './host.js';

suite('messages', () => {
  let client: Client;
  before(async () => {
    ({ client } = await sharedHost());
  });

  test('a signal starts the execution it is for, once', async () => {
    const relay = client.execution<string[]>('relay');
    const start = { target: 'herald/relay', input: 2, labels: { with_start: 'yes' } };
    assert.deepEqual(await relay.signal('text', 'one', { key: 'k1', start }), {
      id: 'relay',
      signal: 0,
      started: true,
    });
    assert.deepEqual(await relay.signal('text', 'one', { key: 'k1', start }), { id: 'relay', signal: 0 });
    assert.deepEqual((await relay.signal('text', 'two')).signal, 1);
    await relay.promise<number>('done').resolve(1);
    assert.deepEqual(await relay.result(), ['one', 'two']);
    assert.deepEqual((await relay.status()).labels, { with_start: 'yes' });
  });

  test('queries and updates get answers', async () => {
    const words = await client.start<string[]>('parts/collects', null, { id: 'words' });
    assert.equal(await words.update<number>('add_word', 'one', { key: 'first' }), 1);
    assert.equal(await words.update<number>('add_word', 'one', { key: 'first' }), 1);
    assert.deepEqual(await words.query<string[]>('words'), ['one']);
    const answer = await words.queryAnswer('words');
    assert.equal(answer.records, answer.journalLen);
    const accepted = await words.sendUpdate<number>('add_word', 'two');
    assert.match(accepted.promise, /^words\/a\//);
    assert.equal(await accepted.result(), 2);
    await words.update('add_word', 'three');
    assert.deepEqual(await words.result(), ['one', 'two', 'three']);
  });

  test('references stand in place of names', async () => {
    type Messages = { updates: { add_word: { input: string; output: number } } };
    const collects = reference<undefined, string[], Messages>('wasm://parts/collects');
    const words = await client.start(collects, undefined, { id: 'references' });
    for (const word of ['one', 'two', 'three']) await words.update('add_word', word);
    assert.deepEqual(await words.query<string[]>('words'), ['one', 'two', 'three']);
    assert.deepEqual(await client.execution('references', collects).result(), ['one', 'two', 'three']);
    assert.equal(await client.call(reference<number, number>('parts/leaf'), 7), 7);
    await assert.rejects(client.start({ address: 7 } as never), /or a reference of `segno types`/);
  });

  test('an update starts the execution it is for', async () => {
    const start = { target: 'parts/collects' };
    assert.equal(await client.execution('with-start').update('add_word', 'x', { start }), 1);
  });

  test('the refusal of a workflow has its failure', async () => {
    const words = await client.start('parts/collects', null, { id: 'refusing' });
    await words.update('add_word', 'one');
    await assert.rejects(words.update('add_word', 'one'), (error: WorkflowRefusedError) => {
      assert.ok(error instanceof WorkflowRefusedError);
      assert.deepEqual(
        [error.code, error.failure],
        ['update-refused', { code: 409, message: '`one` is there already' }],
      );
      return true;
    });
  });

  test('an unknown query names those that there are', async () => {
    const words = await client.start('parts/collects', null, { id: 'asked' });
    await assert.rejects(words.query('wrods'), (error: NotFoundError) => {
      assert.deepEqual([error.code, error.details['known']], ['unknown-query', ['words']]);
      return true;
    });
  });

  test('an update ends with its workflow', async () => {
    const words = await client.start('parts/collects', null, { id: 'ending' });
    await words.halt();
    const accepted = await words.sendUpdate('add_word', 'x');
    await assert.rejects(accepted.result({ waitMs: 100 }), WaitTimeoutError);
    await words.kill();
    await assert.rejects(
      accepted.result({ waitMs: 10_000 }),
      (error: { code: string }) => error.code === 'already-settled' || error.code === 'update-failed',
    );
  });

  test('promises are made, listed and settled', async () => {
    const approval = await client.createPromise<boolean>({
      id: 'approval/7',
      param: { sum: 12 },
      tags: { team: 'finance' },
      timeoutMs: 60_000,
    });
    const view = await approval.status();
    assert.deepEqual([view.state, view.param], ['pending', { sum: 12 }]);
    const listed = await client.promises({ tags: { team: 'finance' }, state: 'pending', external: true }).take(5);
    assert.deepEqual(
      listed.map(({ id }) => id),
      ['approval/7'],
    );
    const waiting = approval.result({ waitMs: 20_000 });
    assert.equal((await approval.resolve(true)).changed, true);
    assert.equal((await approval.resolve(false)).changed, false);
    assert.equal(await waiting, true);
  });

  test('a promise that is rejected, cancelled or late throws', async () => {
    const make = (id: string, timeoutMs?: number) => client.createPromise({ id, timeoutMs });
    const rejected = await make('p/rejected');
    await rejected.reject({ code: 402, message: 'no money' });
    await assert.rejects(
      rejected.result(),
      (error: PromiseFailedError) => error instanceof PromiseFailedError && error.failure?.code === 402,
    );
    const cancelled = await make('p/cancelled');
    await cancelled.cancel();
    await assert.rejects(cancelled.result(), { state: 'cancelled' });
    await assert.rejects((await make('p/late', 20)).result({ waitMs: 20_000 }), { state: 'timed-out' });
    await assert.rejects((await make('p/pending')).result({ waitMs: 10 }), WaitTimeoutError);
  });
});
