import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import type { Client, CloudEvent } from '../src/index.js';
import { sharedHost } from './host.js';

suite('events', () => {
  let client: Client;
  before(async () => {
    ({ client } = await sharedHost());
    for await (const _ of client.events({ untilEmpty: true })) void _;
  });

  test('an event whose handling throws comes again, and those before it do not', async () => {
    await client.call('herald/announce', [3, 0], { id: 'news' });
    const read = async (failAt?: number) => {
      const seen: unknown[] = [];
      for await (const event of client.events({ topic: 'news.*', untilEmpty: true })) {
        if (event.data === failAt) throw new Error('not handled');
        seen.push(event.data);
        assert.ok(seen.length < 100, 'it reads the same events for ever');
      }
      return seen;
    };
    await assert.rejects(read(1), /not handled/);
    assert.deepEqual(await read(), [1, 2]);
    assert.deepEqual(await read(), []);
  });

  test('a reader waits for events', async () => {
    const read = (async () => {
      const seen: CloudEvent[] = [];
      for await (const event of client.events({ topic: 'relayed' })) {
        seen.push(event);
        await client.acknowledge([event.id]);
        if (seen.length === 2) break;
      }
      return seen;
    })();
    const relay = await client.start('herald/relay', 2, { id: 'relayed' });
    await relay.signal('text', 'hello');
    await relay.signal('text', 'world');
    const seen = await read;
    assert.deepEqual(
      seen.map(({ type, subject, data }) => [type, subject, data]),
      [
        ['relayed', 'relayed', 'hello'],
        ['relayed', 'relayed', 'world'],
      ],
    );
    await relay.kill();
  });

  test('without acknowledgements a reader goes on behind what it has shown', async () => {
    await client.call('herald/announce', [2, 0], { id: 'bookmarks' });
    const read = async () => {
      const seen: unknown[] = [];
      for await (const event of client.events({ topic: 'news.*', untilEmpty: true, acknowledge: false, pageSize: 1 }))
        seen.push(event.data);
      return seen;
    };
    assert.deepEqual(await read(), [0, 1]);
    assert.deepEqual(await read(), [0, 1]);
  });

  test('an abort in the middle of a page acknowledges what was handled', async () => {
    for await (const _ of client.events({ untilEmpty: true })) void _;
    await client.call('herald/announce', [3, 0], { id: 'aborted news' });
    const controller = new AbortController();
    const seen: unknown[] = [];
    await assert.rejects(async () => {
      for await (const event of client.events({ topic: 'news.*', signal: controller.signal })) {
        seen.push(event.data);
        if (seen.length === 2) controller.abort(new Error('the program ends'));
      }
    }, /the program ends/);
    const rest = [];
    for await (const event of client.events({ topic: 'news.*', untilEmpty: true })) rest.push(event.data);
    assert.deepEqual([seen, rest], [[0, 1], [2]]);
  });

  test('an abort ends a reader', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 100);
    await assert.rejects(async () => {
      for await (const _ of client.events({ topic: 'nothing', signal: controller.signal })) void _;
    }, /enough/);
  });
});
