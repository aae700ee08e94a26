import assert from 'node:assert/strict';
import test from 'node:test';
import { Failure, activity, object, workflow } from '../dist/index.js';
import { ReplayDivergence, TestHost } from '../dist/testing/index.js';

const TEXT = { contentType: 'text/plain' };
/** The commands of a journal that concern streams. */
const written = (t, id) => t.journal(id).filter(({ command }) => /stream/.test(command ?? '')).map(({ command, name, request }) => [command, name, request]);

test('a workflow appends messages, text and bytes, and closes a stream', async () => {
  const writes = workflow(async (_, ctx) => {
    const tokens = ctx.stream('tokens');
    const log = ctx.stream('log', TEXT);
    const sound = ctx.stream('sound', { contentType: 'audio/ogg' });
    const bytes = Uint8Array.of(0, 255);
    sound.append(bytes);
    bytes[0] = 7;
    tokens.append({ text: 'a', left: undefined });
    log.append('grüß\n');
    await ctx.sleep('1s');
    log.append({ b: 1 });
    tokens.append([1, null]);
    tokens.append('text');
    log.close();
    log.close();
    ctx.stream('log', { contentType: 'Text/Plain' }).close();
    return [tokens.name, tokens.contentType, log.contentType];
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(writes), ['tokens', 'application/json', 'text/plain']);
  assert.deepEqual(t.stream('tokens'), [{ text: 'a' }, [1, null], 'text']);
  assert.equal(t.stream('log'), 'grüß\n{"b":1}');
  assert.deepEqual(t.stream('sound'), Uint8Array.of(0, 255));
  assert.equal(t.stream('other'), undefined);
  assert.deepEqual(written(t), [
    ['append-stream', 'sound', { 'content-type': 'audio/ogg', payload_bytes: { base64: 'AP8=' } }],
    ['append-stream', 'tokens', { 'content-type': 'application/json', item: { text: 'a' } }],
    ['append-stream', 'log', { 'content-type': 'text/plain', item: 'grüß\n' }],
    ['append-stream', 'log', { 'content-type': 'text/plain', item: { b: 1 } }],
    ['append-stream', 'tokens', { 'content-type': 'application/json', item: [1, null] }],
    ['append-stream', 'tokens', { 'content-type': 'application/json', item: 'text' }],
    ['close-stream', 'log', { 'content-type': 'text/plain' }],
  ]);
  assert.equal(t.elapsed, 1_000);
});

test('nothing is appended to a closed stream, and no command is issued', async () => {
  const late = workflow(async (_, ctx) => {
    ctx.stream('log', TEXT).close();
    ctx.stream('log', TEXT).append('late');
  });
  const t = new TestHost();
  await assert.rejects(t.run(late), (error) => error instanceof Failure && error.code === 409 && error.isFinal && /`log` is closed/.test(error.message));
  assert.deepEqual(written(t).map(([command]) => command), ['close-stream']);
});

test('names, content types and items that a host would refuse are defects at their line', async () => {
  const faults = [
    [(ctx) => ctx.stream(''), /the name of a stream is a text of 1 to 1024 bytes without a slash, and not ""/],
    [(ctx) => ctx.stream('a/b'), /and not "a[/]b"/],
    [(ctx) => ctx.stream('ä'.repeat(513)), /1 to 1024 bytes/],
    [(ctx) => ctx.stream(7), /and not 7/],
    [(ctx) => ctx.stream('a', { contentType: 'text' }), /the content type of the stream `a` is "text": write one such as/],
    [(ctx) => ctx.stream('a', { contentType: '/plain' }), /is "[/]plain"/],
    [(ctx) => ctx.stream('a', { contentType: 'text/' }), /is "text[/]"/],
    [(ctx) => ctx.stream('a', { contentType: 'text/pl\nain' }), /is "text[/]pl/],
    [(ctx) => ctx.stream('a', { contentType: `text/${'x'.repeat(252)}` }), /the content type of the stream `a`/],
    [(ctx) => ctx.stream('a', { content_type: 'text/plain' }), /a stream has no option `content_type`.*`contentType`/],
    [(ctx) => [ctx.stream('a'), ctx.stream('a', TEXT)], /`a` has the content type application[/]json, and is asked for with text[/]plain/],
    [(ctx) => ctx.stream('a').append({ at: [NaN] }), /the item of the stream `a`, at `at\[0\]`, is NaN/],
    [(ctx) => ctx.stream('a', { contentType: 'Application/JSON; x=1' }).append(Uint8Array.of(1)), /the item of the stream `a` is a Uint8Array/],
    [(ctx) => ctx.run('step', () => ctx.stream('a').append(1)), /a command \(append-stream\) inside `ctx\.run\('step'/],
    [(ctx) => ctx.run('step', () => ctx.stream('a').close()), /a command \(close-stream\) inside/],
  ];
  for (const [fault, message] of faults) {
    const defect = workflow(async (_, ctx) => void (await fault(ctx)));
    await assert.rejects(new TestHost().run(defect), (error) => !(error instanceof Failure && error.code !== 500) && message.test(error.message), String(fault));
  }
  const longest = workflow(async (_, ctx) => ctx.stream('x'.repeat(1_024), { contentType: 'a b/c; d=e' }).append(''));
  await new TestHost().run(longest);
});

test('an activity continues after what earlier attempts have stored', async () => {
  const kept = [];
  const words = activity({ retry: { initial: '1s', maxAttempts: 3 } }, async (count, ctx) => {
    const [stream, log] = [ctx.stream('words'), ctx.stream('log', TEXT)];
    kept.push([stream.kept(), log.kept()]);
    for (let word = stream.kept(); word < count; word += 1) {
      stream.append(`word ${word}`);
      log.append('é');
      if (word === 1) throw new Error('lost');
    }
    return [stream.name, stream.contentType, stream.kept(), log.kept()];
  });
  const both = workflow(async (_, ctx) => {
    ctx.stream('words').append('begin');
    const first = await ctx.call(words, 3);
    return [first, await ctx.call(words, 1)];
  });
  const t = new TestHost();
  assert.deepEqual(await t.run(both), [['words', 'application/json', 3, 6], ['words', 'application/json', 1, 2]]);
  assert.deepEqual(kept, [[0, 0], [2, 4], [0, 0]]);
  assert.deepEqual(t.stream('words'), ['begin', 'word 0', 'word 1', 'word 2', 'word 0']);
  assert.equal(t.stream('log'), 'éééé');
  assert.deepEqual(written(t).length, 1);
});

test('an activity fails with the refusal of a host', async () => {
  const tries = activity(async (what, ctx) => {
    const faults = {
      name: () => ctx.stream('a/b'),
      type: () => ctx.stream('a', { contentType: 'text' }),
      other: () => ctx.stream('log').append(1),
      closed: () => ctx.stream('over', TEXT).append('x'),
      caught() {
        assert.throws(() => ctx.stream('over', TEXT).append('x'), { code: 409 });
        // Nothing is stored after it.
        assert.throws(() => ctx.stream('log', TEXT).append('x'), { code: 409 });
      },
    };
    faults[what]();
  });
  const all = workflow(async (_, ctx) => {
    ctx.stream('log', TEXT).append('x');
    ctx.stream('over', TEXT).close();
    const codes = [];
    for (const what of ['name', 'type', 'other', 'closed', 'caught']) await ctx.call(tries, what).catch(({ code, message }) => codes.push(`${code} ${message}`));
    return codes;
  });
  const t = new TestHost();
  const codes = await t.run(all);
  assert.match(codes[0], /^400 the name of a stream/);
  assert.match(codes[1], /^400 the content type of the stream `a` is "text"/);
  assert.match(codes[2], /^409 .*`log` has the content type `text[/]plain`, and the request has `application[/]json`/);
  assert.match(codes[3], /^409 .*`over` is closed/);
  assert.equal(codes[4], codes[3]);
  assert.equal(t.stream('log'), 'x');
});

test('streams belong to the workflow that calls, through all its generations; secrets stay out', async () => {
  const tell = activity(async (text, ctx) => ctx.stream('log', TEXT).append(`${text} ${ctx.secret('PAY')}\n`));
  const child = workflow(async (_, ctx) => void (await ctx.call(tell, 'child')));
  const parent = workflow(async (round, ctx) => {
    ctx.stream('log', TEXT).append(`round ${round}\n`);
    await ctx.call(tell, 'parent');
    if (round === 1) return ctx.continueAsNew(2);
    return ctx.call(child);
  });
  const t = new TestHost().secret('PAY', 'hunter22');
  await t.run(parent, 1);
  assert.equal(t.stream('log'), 'round 1\nparent {secret:PAY}\nround 2\nparent {secret:PAY}\n');
  assert.equal(t.stream('log', 'test'), t.stream('log'));
  assert.equal(t.stream('log', 'test/g/2'), t.stream('log'));
  assert.equal(t.stream('log', t.invocations.at(-1)), 'child {secret:PAY}\n');
  await t.run(tell, 'alone');
  assert.equal(t.stream('log'), 'alone {secret:PAY}\n');
});

test('a write that a host would refuse to a workflow fails the test', async () => {
  const tell = activity(async (_, ctx) => ctx.stream('log', TEXT).append('x'));
  const other = workflow(async (_, ctx) => {
    await ctx.call(tell);
    ctx.stream('log').append('x');
  });
  await assert.rejects(new TestHost().run(other), /a host would halt `test`: the stream `log` has the content type/);
  const again = workflow(async (round, ctx) => {
    ctx.stream('log').close();
    return round === 1 ? ctx.continueAsNew(2) : round;
  });
  await assert.rejects(new TestHost().run(again, 1), /a host would halt `test`: the stream `log` is closed/);
});

test('a replay compares what is appended', async () => {
  let runs = 0;
  const counts = workflow(async (_, ctx) => ctx.stream('tokens').append((runs += 1)));
  await assert.rejects(new TestHost().run(counts), (error) => error instanceof ReplayDivergence && /append-stream tokens .*"item":2/.test(error.message) && /streams\.test\.mjs/.test(error.at));
});

test('the executions of an object write one stream, which stays', async () => {
  const account = object({ state: {} }, ({ exclusive, shared }) => ({
    deposit: exclusive(async (amount, ctx) => ctx.objectStream('history').append(amount)),
    close: exclusive(async (_, ctx) => ctx.objectStream('history').close()),
    peek: shared(async (_, ctx) => ctx.objectStream('history').append(0)),
  }));
  const t = new TestHost();
  await t.runObject(account, '4711', 'deposit', 5);
  assert.deepEqual(written(t), [['append-stream', 'object/history', { 'content-type': 'application/json', item: 5 }]]);
  await t.runObject(account, '4711', 'deposit', -2);
  assert.deepEqual(t.objectStream(account, '4711', 'history'), [5, -2]);
  assert.equal(t.stream('history'), undefined);
  await assert.rejects(t.runObject(account, '4711', 'peek'), /a function that is shared/);
  await t.runObject(account, '4711', 'close');
  await assert.rejects(t.runObject(account, '4711', 'deposit', 1), /is closed/);
});
