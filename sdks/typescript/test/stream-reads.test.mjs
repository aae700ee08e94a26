import assert from 'node:assert/strict';
import test from 'node:test';
import { Failure, activity, workflow } from '../dist/index.js';
import { TestHost } from '../dist/testing/index.js';

const TEXT = { contentType: 'text/plain' };
const SOUND = { contentType: 'audio/ogg' };

/** Writes a number each second. */
const count = workflow({ name: 'count' }, async (to, ctx) => {
  const numbers = ctx.stream('numbers');
  for (let number = 0; number < to; number += 1) {
    numbers.append(number);
    await ctx.sleep('1s');
  }
});

test('a workflow reads the stream of another one while it grows', async () => {
  const sum = workflow(async (to, ctx) => {
    const numbers = ctx.readStream(await ctx.send(count, to), 'numbers');
    const seen = [];
    for await (const number of numbers) seen.push([number, numbers.position, ctx.now() - ctx.startedAt.getTime()]);
    return [seen, numbers.position, numbers.name, numbers.invocation];
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(sum, 3), [[[0, 1, 0], [1, 2, 1_000], [2, 3, 2_000]], 3, 'numbers', 'test/0']);
  assert.deepEqual(t.calls('segno:stream'), [0, 1, 2, 3].map((position) => ({ invocation: 'test/0', stream: 'numbers', position })));
});

test('a reader begins at a position, and another loop continues where one was left', async () => {
  const parts = workflow(async (_, ctx) => {
    const counting = ctx.call(count, 5);
    await ctx.sleep('2500ms');
    const numbers = ctx.readStream(counting.id, 'numbers', { from: 1 });
    const seen = [];
    for await (const number of numbers) {
      seen.push(number);
      break;
    }
    seen.push(numbers.position);
    for await (const list of numbers.parts()) seen.push(list);
    for await (const number of numbers) seen.push(number);
    await counting;
    return [seen, numbers.position];
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(parts), [[1, 2, [2], [3], [4]], 5]);
  // The rest of a part is not asked for again.
  assert.deepEqual(t.calls('segno:stream').map(({ position }) => position), [1, 3, 4, 5]);
});

test('a loop that is left leaves nothing pending', async () => {
  const first = workflow(async (_, ctx) => {
    const id = await ctx.send(count, 1_000);
    for await (const number of ctx.readStream(id, 'numbers')) if (number === 1) break;
    for await (const [number] of ctx.readStream(id, 'numbers').parts()) return number;
  });
  const t = new TestHost();
  assert.equal(await t.run(first), 0);
  assert.equal(t.elapsed, 1_000);
  assert.equal(t.calls('segno:stream').length, 3);
});

test('loops over one reader share its messages', async () => {
  const shares = workflow(async (_, ctx) => {
    const numbers = ctx.readStream(await ctx.send(count, 6, { delay: '1s' }), 'numbers');
    const seen = [[], [], []];
    const loops = seen.map(async (own, place) => {
      if (place < 2) for await (const number of numbers) own.push(number);
      else for await (const list of numbers.parts()) own.push(...list);
    });
    await Promise.all(loops);
    return seen.flat().sort();
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(shares), [0, 1, 2, 3, 4, 5]);
  assert.equal(t.calls('segno:stream').length, 7);
});

test('text and bytes come as they were appended', async () => {
  const writes = workflow({ name: 'writes' }, async (_, ctx) => {
    const [log, sound] = [ctx.stream('log', TEXT), ctx.stream('sound', SOUND)];
    log.append('grüß');
    sound.append(Uint8Array.of(0, 255));
    await ctx.sleep('1s');
    log.append(' Gott');
    sound.append(Uint8Array.of(1));
    log.close();
    sound.close();
    // A stream that is closed needs no end of its writer.
    await ctx.sleep('30d');
  });
  const reads = workflow(async (_, ctx) => {
    const id = await ctx.send(writes);
    const [log, sound] = [ctx.readStream(id, 'log'), ctx.readStream(id, 'sound')];
    const seen = [];
    for await (const text of log.text()) seen.push([text, log.position]);
    for await (const bytes of sound.bytes()) seen.push([bytes.constructor.name, [...bytes], sound.position]);
    return seen;
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(reads), [['grüß', 6], [' Gott', 11], ['Uint8Array', [0, 255, 1], 3]]);
  assert.equal(t.elapsed, 1_000);
});

test('a reader sees what activities append, through all generations, and an empty stream', async () => {
  const tell = activity(async (text, ctx) => ctx.stream('log').append(text));
  const rounds = workflow({ name: 'rounds' }, async (round, ctx) => {
    ctx.stream('log').append(`round ${round}`);
    await ctx.call(tell, `activity ${round}`);
    if (round === 1) return ctx.continueAsNew(2);
    ctx.stream('empty', TEXT).close();
  });
  const reads = workflow(async (_, ctx) => {
    const id = await ctx.send(rounds, 1, { delay: '1h' });
    const seen = [];
    for await (const item of ctx.readStream(`${id}/g/2`, 'log')) seen.push(item);
    for await (const item of ctx.readStream(id, 'empty')) seen.push(item);
    return seen;
  });
  assert.deepEqual(await new TestHost().run(reads), ['round 1', 'activity 1', 'round 2', 'activity 2']);
});

test('a read fails with what is missing, and with another kind of content', async () => {
  const writes = workflow({ name: 'writes' }, async (_, ctx) => {
    ctx.stream('items').append(1);
    ctx.stream('log', TEXT).append('a');
    ctx.stream('sound', SOUND).append('b');
  });
  const all = workflow(async (_, ctx) => {
    const id = await ctx.send(writes);
    const log = ctx.readStream(id, 'log');
    const attempts = [
      ctx.readStream('nobody', 'log'),
      ctx.readStream(id, 'other'),
      log,
      ctx.readStream(id, 'items').text(),
      ctx.readStream(id, 'sound').parts(),
      ctx.readStream(id, 'log').bytes(),
    ];
    const codes = [];
    for (const attempt of attempts) {
      try {
        for await (const _ of attempt) assert.fail('it has no items');
      } catch (error) {
        assert.ok(error instanceof Failure, error);
        codes.push(`${error.code} ${error.message}`);
      }
    }
    // Nothing was read by the refused loop.
    codes.push(log.position);
    for await (const text of log.text()) codes.push(text);
    await ctx.call('segno:stream', { invocation: id }).catch(({ code, message }) => codes.push(`${code} ${message}`));
    return codes;
  });
  const t = new TestHost();
  const codes = await t.run(all);
  assert.deepEqual(codes, [
    '404 there is no invocation `nobody`',
    '404 `test/0` has no stream `other`',
    '422 the stream `log` of `test/0` consists of text: use `text()`',
    '422 the stream `items` of `test/0` consists of messages: write `for await (const item of reader)`, or use `parts()`',
    '422 the stream `sound` of `test/0` consists of bytes: use `bytes()`',
    '422 the stream `log` of `test/0` consists of text: use `text()`',
    0,
    'a',
    '400 `segno:stream` takes {"invocation": ID, "stream": NAME, "position": NUMBER}',
  ]);
});

test('arguments that a host would refuse are defects at their line', async () => {
  const faults = [
    [(ctx) => ctx.readStream('', 'a'), /takes the id of an invocation and the name of a stream, and not the id ""/],
    [(ctx) => ctx.readStream(undefined, 'a'), /and not the id undefined/],
    [(ctx) => ctx.readStream('x', 'a/b'), /the name of a stream is a text of 1 to 1024 bytes without a slash, and not "a[/]b"/],
    [(ctx) => ctx.readStream('x', 'a', { from: -1 }), /`from` is -1, and has to be a position/],
    [(ctx) => ctx.readStream('x', 'a', { from: 1.5 }), /`from` is 1\.5/],
    [(ctx) => ctx.readStream('x', 'a', { start: 1 }), /a read of a stream has no option `start`/],
  ];
  for (const [fault, message] of faults) {
    const defect = workflow(async (_, ctx) => void fault(ctx));
    await assert.rejects(new TestHost().run(defect), (error) => !(error instanceof Failure) && message.test(error.message), String(fault));
  }
});

test('a read that nothing answers is reported, can be cancelled, and can have a time limit', async () => {
  const silent = workflow({ name: 'silent' }, async (_, ctx) => void (await ctx.promise('never')));
  const waits = workflow(async (_, ctx) => {
    for await (const _ of ctx.readStream(await ctx.send(silent), 'log')) break;
  });
  await assert.rejects(new TestHost().run(waits), /waits, and this test never settles:\n.*command 1, call `segno:stream`/);
  await assert.rejects(new TestHost().cancelAfter('1h').run(waits), (error) => error instanceof Failure && error.isCancelled);
  const limited = workflow(async (_, ctx) => {
    const input = { invocation: await ctx.send(silent), stream: 'log', position: 0 };
    const late = await ctx.call('segno:stream', input, { timeout: '1m' }).catch(({ code }) => code);
    const read = ctx.call('segno:stream', input);
    await read.cancel();
    return [late, await read.catch(({ code }) => code)];
  });
  assert.deepEqual(await new TestHost().run(limited), [408, 499]);
  const raced = workflow(async (_, ctx) => {
    const next = ctx.readStream(await ctx.send(silent), 'log')[Symbol.asyncIterator]().next();
    return Promise.race([next.then(() => 'data'), ctx.sleep('1m').then(() => 'nothing')]);
  });
  assert.equal(await new TestHost().run(raced), 'nothing');
});

test('a double answers in place of the streams', async () => {
  const sum = workflow(async (_, ctx) => {
    const reader = ctx.readStream('far', 'numbers', { from: 7 });
    let sum = 0;
    for await (const number of reader) sum += number;
    return [sum, reader.position];
  });
  const t = new TestHost();
  t.on('segno:stream', ({ position }) => (position === 7 ? { items: [1, 2], next: 9, closed: false } : { items: [4], next: 10, closed: true }));
  assert.deepEqual(await t.run(sum), [7, 10]);
});
