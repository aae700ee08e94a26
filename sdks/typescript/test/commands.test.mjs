import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { Failure, activity, json, remote, workflow } from '../dist/index.js';
import { TestHost } from '../dist/testing/index.js';

const HOUR = 3_600_000;

test('calls, sends, publishing and labels', async () => {
  const plus = activity({ input: z.tuple([z.number(), z.number()]) }, async ([a, b]) => a + b);
  const mail = activity(async (text) => text);
  const elsewhere = remote('wasm://payments/charge');
  const all = workflow(async (_, ctx) => {
    const sum = await ctx.call(plus, [1, 2], { labels: { team: 'a' } });
    const id = await ctx.send(mail, 'later', { delay: '7d' });
    await ctx.publish('summed', { sum });
    const charged = await ctx.call(elsewhere, { cents: sum });
    const byName = await ctx.call('wasm://other/f', 1, { timeout: '1m' });
    ctx.log.warn('done', { sum });
    return { sum, id, charged, byName };
  });
  const t = new TestHost({ startAt: '2026-01-01T00:00:00Z', id: 'order-7' });
  t.on(elsewhere, ({ cents }) => `${cents} charged`).on('wasm://other/f', (n) => n + 1);
  assert.deepEqual(await t.run(all), { sum: 3, id: 'order-7/1', charged: '3 charged', byName: 2 });
  assert.deepEqual(t.calls(plus), [[1, 2]]);
  assert.deepEqual(t.calls('wasm://other/f'), [1]);
  assert.deepEqual(t.sent(mail), [{ input: 'later', startAt: new Date('2026-01-08T00:00:00Z') }]);
  assert.deepEqual(t.published, [{ topic: 'summed', value: { sum: 3 } }]);
  assert.ok(t.logged('done {"sum":3}', 'warn'));
});

test('a generated reference is called as it is written', async () => {
  const order = { address: 'wasm://shop/order' };
  const caller = workflow(async (_, ctx) => {
    const id = await ctx.send(order, { id: 'o-2' });
    return [await ctx.call(order, { id: 'o-1' }), id];
  });
  const t = new TestHost().on(order, ({ id }) => `receipt for ${id}`);
  assert.deepEqual(await t.run(caller), ['receipt for o-1', 'test/0']);
  assert.deepEqual(t.calls('wasm://shop/order'), [{ id: 'o-1' }]);
  const wrong = workflow(async (_, ctx) => ctx.call({ address: 7 }));
  await assert.rejects(new TestHost().run(wrong), /a reference of `segno types`, or a name/);
});

test('retries back off in virtual time, until an attempt succeeds or the policy ends', async () => {
  const seen = [];
  const flaky = activity({ retry: { initial: '1s', maxAttempts: 4 } }, async (most, ctx) => {
    seen.push([ctx.attempt, Date.now() - ctx.startedAt.getTime(), ctx.idempotencyKey]);
    if (ctx.attempt < most) throw new Error('not yet');
    return ctx.attempt;
  });
  const call = workflow(async (most, ctx) => ctx.call(flaky, most));
  const t = new TestHost();
  assert.equal(await t.run(call, 3), 3);
  assert.equal(t.elapsed, 3_000);
  assert.deepEqual(seen, [[1, 0, 'test/0'], [2, 0, 'test/0'], [3, 0, 'test/0']]);
  await assert.rejects(new TestHost().run(call, 9), (error) => error.code === 500 && /^\S*commands\.test\.mjs:\d+: Error: not yet\n    at <anonymous> /.test(error.message));
  const final = new TestHost().on(flaky, () => {
    throw new Failure(422, 'no');
  });
  await assert.rejects(final.run(call, 1), { code: 422 });
  assert.equal(final.elapsed, 0);
});

test('a call that passes its deadline fails, and a workflow under it ends without cleaning up', async () => {
  const cleaned = [];
  const child = workflow(async (_, ctx) => {
    try {
      await ctx.sleep('1d');
    } finally {
      cleaned.push('never');
    }
  });
  const parent = workflow(async (_, ctx) => ctx.call(child, undefined, { timeout: '1h' }).catch((error) => [error.code, error.isTimeout]));
  const t = new TestHost();
  assert.deepEqual(await t.run(parent), [408, true]);
  assert.equal(t.elapsed, HOUR);
  assert.deepEqual(cleaned, []);
});

test('promises are settled from outside, by name or by id', async () => {
  const approve = workflow({ promises: { approval: z.boolean() } }, async (_, ctx) => {
    const unnamed = ctx.promise();
    const approved = await ctx.promise('approval', { timeout: '3d' }).catch((error) => error.code);
    return [approved, unnamed.id, await unnamed];
  });
  const t = new TestHost();
  t.promise('approval').after('1d').resolve(true);
  t.unnamedPromise(0).settleWith((id) => `settled ${id}`);
  assert.deepEqual(await t.run(approve), [true, 'test/0', 'settled test/0']);
  assert.equal(t.elapsed, 24 * HOUR);
  const late = new TestHost();
  late.unnamedPromise(0).resolve(1);
  assert.deepEqual(await late.run(approve), [408, 'test/0', 1]);
  const rejected = new TestHost();
  rejected.promise('approval').reject(new Failure(403, 'not you'));
  rejected.promise('test/0').resolve(2);
  assert.deepEqual(await rejected.run(approve), [403, 'test/0', 2]);
  const wrong = new TestHost();
  wrong.promise('approval').resolve('yes');
  await assert.rejects(wrong.run(workflow({ promises: { approval: z.boolean() } }, async (_, ctx) => ctx.promise('approval'))), { code: 400 });
});

test('signals: in order, by name, with a time limit, as a stream; those that nobody read are reported', async () => {
  const numbers = workflow({ signals: { add: z.int(), end: json({}), other: json({}) } }, async (_, ctx) => {
    let sum = 0;
    const end = ctx.signal('end').then(() => undefined);
    for (;;) {
      const next = await Promise.race([ctx.signal('add'), end]);
      if (next === undefined) break;
      sum += next;
    }
    const timedOut = await ctx.signal('add', { timeout: '1h' });
    return { sum, timedOut: timedOut === undefined };
  });
  const t = new TestHost();
  t.signal('add', 1, { after: '1h' }).signal('other').signal('add', 2).signal('end', null, { after: '2h' });
  assert.deepEqual(await t.run(numbers), { sum: 3, timedOut: true });
  assert.equal(t.elapsed, 3 * HOUR);
  assert.deepEqual(t.journal().find(({ command }) => command === 'unread')?.request, { signals: [0] });
  await assert.rejects(new TestHost().signal('ad', 1).run(numbers), /the signal `ad`, and it takes `add`, `end`, `other`/);
  await assert.rejects(new TestHost().signal('add', 'x').run(numbers), { code: 400 });

  const stream = workflow({ signals: { item: z.string() } }, async (_, ctx) => {
    const items = [];
    for await (const item of ctx.signals('item')) {
      items.push(item);
      if (item === 'last') return items;
    }
  });
  assert.deepEqual(await new TestHost().signal('item', 'a').signal('item', 'last', { after: 5 }).run(stream), ['a', 'last']);

  const any = workflow({ signals: true }, async (_, ctx) => [await ctx.anySignal(), (await ctx.anySignal({ timeout: 5 })) ?? null]);
  assert.deepEqual(await new TestHost().signal('x', 1).run(any), [{ name: 'x', value: 1 }, null]);
});

test('a wait for a signal that lost a race takes nothing', async () => {
  const racing = workflow({ signals: { go: json({}) } }, async (_, ctx) => {
    const already = await Promise.race([Promise.resolve('first'), ctx.signal('go')]);
    const slept = await Promise.any([ctx.signal('go', { timeout: '1d' }), ctx.sleep(10).then(() => 'slept')]);
    const both = await Promise.all([ctx.signal('go'), ctx.signal('go')]);
    return { already, slept, both };
  });
  const t = new TestHost();
  t.signal('go', 1, { after: 20 }).signal('go', 2, { after: 30 });
  assert.deepEqual(await t.run(racing), { already: 'first', slept: 'slept', both: [1, 2] });
});

test('a cancellation fails every await, and cleaning up works', async () => {
  const release = activity(async (room) => room);
  const hold = workflow({ signals: { x: json({}) } }, async (room, ctx) => {
    const aborted = new Promise((resolve) => ctx.abortSignal.addEventListener('abort', resolve));
    const codes = await Promise.all([ctx.sleep('1d'), ctx.signal('x'), ctx.until(() => false)].map((one) => Promise.resolve(one).catch((error) => error.code)));
    await aborted;
    await ctx.call(release, room);
    await ctx.sleep(5);
    return [codes, ctx.isCancelled];
  });
  const t = new TestHost().cancelAfter('1h');
  assert.deepEqual(await t.run(hold, 12), [[499, 499, 499], true]);
  assert.deepEqual(t.calls(release), [12]);
});

test('a command is cancelled by its promise or by an AbortSignal; a called workflow answers itself', async () => {
  const search = workflow(async (_, ctx) => {
    await ctx.sleep('1h').catch(() => {});
    return `cancelled: ${ctx.isCancelled}`;
  });
  const impatient = workflow(async (_, ctx) => {
    const controller = new AbortController();
    const searching = ctx.call(search, undefined, { signal: controller.signal });
    const alarm = ctx.sleep('1h');
    await alarm.cancel();
    setTimeout(() => controller.abort(), 10);
    const thrown = await ctx.sleep(1, { signal: AbortSignal.abort(new Error('at once')) }).catch((error) => error.message);
    return [await alarm.catch((error) => error.code), await searching, thrown];
  });
  await assert.rejects(new TestHost().run(impatient), /at once/, 'an aborted signal throws where it is used');
  const patient = workflow(async (_, ctx) => {
    const controller = new AbortController();
    const searching = ctx.call(search, undefined, { signal: controller.signal });
    const alarm = ctx.sleep('1h');
    await alarm.cancel();
    await ctx.sleep(1, { signal: controller.signal });
    setTimeout(() => controller.abort(), 9);
    return [await alarm.catch((error) => error.code), await searching];
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(patient), [499, 'cancelled: true']);
  assert.equal(t.journal().filter(({ command }) => command === 'cancel').length, 2, 'what has ended is not cancelled');
  assert.equal(t.elapsed, 10);
});

test('requests are durable in a workflow and plain in an activity', async () => {
  const ask = activity(async (url, ctx) => {
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ a: '1' }), headers: { authorization: ctx.secret('PAY') } });
    return [answer.status, answer.ok, answer.headers.get('X-Kind'), await answer.text()];
  });
  const both = workflow(async (_, ctx) => {
    const charged = await ctx.http({ method: 'POST', url: 'https://pay.example.com/charges', json: { cents: 1 }, headers: { authorization: 'Bearer {secret:PAY}' } });
    const missing = await fetch('https://pay.example.com/missing');
    return [await charged.json(), missing.status, await ctx.call(ask, 'https://other.example.com/')];
  });
  let failures = 2;
  const t = new TestHost().secret('PAY', 'hush-hush');
  t.onHttp('POST', 'https://pay.example.com/', () => (failures-- > 0 ? 503 : { json: { id: 'ch-1' } }));
  t.onHttp('GET', 'https://pay.example.com/missing', () => 404);
  t.onHttp('*', 'https://other.example.com/', ({ body }) => ({ status: 500, body, headers: { 'x-kind': 'echo' } }));
  assert.deepEqual(await t.run(both), [{ id: 'ch-1' }, 404, [500, false, 'echo', 'a=1']]);
  assert.equal(t.requests.length, 5);
  assert.equal(t.requests[0].headers['idempotency-key'], 'test/0');
  assert.equal(t.requests[0].headers.authorization, 'Bearer hush-hush');
  assert.deepEqual(t.requests[2].json(), { cents: 1 });
  await assert.rejects(new TestHost().secret('PAY', 'hush-hush').run(both), /this test defines no server.*onHttp\('POST'/);
});

test('settings, secrets, files, progress and logs of activities', async () => {
  const work = activity({ retry: { initial: 1 } }, async (_, ctx) => {
    if (ctx.attempt === 1) {
      ctx.heartbeat({ done: 1 });
      throw new Error('again');
    }
    ctx.files.write('/out/b.txt', `${ctx.env('REGION')} ${ctx.files.readText('/in/a.txt')}`);
    ctx.files.append('/out/b.txt', '!');
    console.log('working');
    return [ctx.lastProgress, ctx.files.list('/out').map(({ name, size }) => [name, size])];
  });
  const t = new TestHost().env('REGION', 'eu').file('/in/a.txt', 'ä');
  assert.deepEqual(await t.run(work), [{ done: 1 }, [['b.txt', 6]]]);
  assert.equal(t.fileContent('/out/b.txt'), 'eu ä!');
  assert.deepEqual(t.heartbeats, [{ done: 1 }]);
  assert.ok(t.logged('working', 'info'));
  const leak = activity(async (_, ctx) => ctx.secret('PAY'));
  await assert.rejects(new TestHost().secret('PAY', 'hush-hush').run(leak), { code: 422, message: /contains the secret `PAY`/ });
  const told = activity(async (_, ctx) => {
    ctx.log(`the key is ${ctx.secret('PAY')}`);
    throw new Failure(422, `${ctx.secret('PAY')} was refused`);
  });
  const redacted = new TestHost().secret('PAY', 'hush-hush');
  await assert.rejects(redacted.run(told), { message: '{secret:PAY} was refused' });
  assert.ok(redacted.logged('the key is {secret:PAY}'));
  await assert.rejects(new TestHost().run(leak), { code: 403, message: /`PAY` is not set/ });
});

test('a command that nobody awaits is a warning at the end, if it is open or has failed', async () => {
  const add = activity(async (n) => n + 1);
  const refuse = activity(async () => {
    throw new Failure(402, 'declined');
  });
  const undo = activity(async () => undefined);
  const careless = workflow(async (_, ctx) => {
    void ctx.call(refuse);
    void ctx.call(add, 1);
    await ctx.sleep(1_000);
    void ctx.call(add, 2);
    void ctx.sleep('1d');
    void ctx.promise('approval');
    void ctx.http('https://shop.test/');
    void ctx.saga('trip').call(add, 3, { compensate: undo });
  });
  const t = new TestHost({ module: { add, refuse, undo, careless } });
  await t.run(careless);
  const open = (name, command) => `nobody awaited ${name} (command ${command}), and the workflow ends without it: write \`await\``;
  assert.deepEqual(
    t.logs.map(({ level, message }) => [level, message]),
    [
      ['warn', 'nobody awaited the call of `refuse` (command 0), which failed: declined (code 402): write `await`'],
      ['warn', open('the call of `add`', 3)],
      ['warn', open('the sleep', 4)],
      ['warn', open('the promise `approval`', 5)],
      ['warn', open('the request to https://shop.test/', 6)],
      ['warn', open('the step `add` of the saga `trip`', 7)],
    ],
  );
});

test('commands that somebody looks at, or cancels, are no warning', async () => {
  const add = activity(async (n) => n + 1);
  const refuse = activity(async () => {
    throw new Failure(402, 'declined');
  });
  const careful = workflow(async (_, ctx) => {
    const [first, second] = [ctx.call(add, 1), ctx.call(add, 2)];
    await Promise.race([ctx.sleep('1d'), first]);
    await Promise.any([ctx.sleep('1d'), second]);
    await Promise.allSettled([ctx.call(refuse)]);
    ctx.call(refuse).catch(() => {});
    const stopped = ctx.sleep('1d');
    await stopped.cancel();
    const controller = new AbortController();
    void ctx.sleep('1d', { signal: controller.signal });
    controller.abort();
    return ctx.call(add, 3);
  });
  const failing = workflow(async (_, ctx) => {
    void ctx.call(add, 1);
    throw new Failure(409, 'not today');
  });
  const t = new TestHost();
  assert.equal(await t.run(careful), 4);
  assert.deepEqual(t.logs, []);
  await assert.rejects(t.run(failing), /not today/);
  assert.deepEqual(t.logs, []);
});
