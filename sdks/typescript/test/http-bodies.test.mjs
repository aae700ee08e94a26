import assert from 'node:assert/strict';
import test from 'node:test';
import { Utf8Decoder } from '../dist/component/utf8.js';
import { HttpBody } from '../dist/core/http-body.js';
import { Failure, activity, workflow } from '../dist/index.js';
import { TestHost } from '../dist/testing/index.js';

const URL = 'http://model.example/chat';
/** A workflow that calls an activity with this function. */
const calling = (run) => {
  const reads = activity({ name: 'reads', retry: { maxAttempts: 3 } }, run);
  return { reads, main: workflow(async (_, ctx) => ctx.call(reads)) };
};
/** The result of an activity, whose requests get these pieces. */
async function result(run, pieces, answer = {}) {
  const { main } = calling(run);
  const t = new TestHost();
  t.onHttp('GET', URL, () => ({ ...answer, pieces }));
  return t.run(main);
}
async function collected(items) {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
}
const bytes = (text) => new TextEncoder().encode(text);
/** All ways to cut a text into three pieces of bytes. */
function* cuts(text) {
  const whole = bytes(text);
  for (let first = 0; first <= whole.length; first += 1) {
    for (let second = first; second <= whole.length; second += 1) {
      yield [whole.slice(0, first), whole.slice(first, second), whole.slice(second)].filter((piece) => piece.length > 0);
    }
  }
}
const bodyOf = (pieces) => {
  const left = [...pieces];
  return new HttpBody({ read: () => left.shift() ?? new Uint8Array(0), close: () => undefined });
};

test('each piece is there before the next one is made', async () => {
  const made = [];
  function* pieces() {
    for (const piece of ['a', 'b', 'c']) {
      made.push(piece);
      yield piece;
    }
  }
  const seen = await result(async (_, ctx) => {
    const response = await ctx.http(URL);
    const all = [];
    for await (const piece of response.body) all.push([new TextDecoder().decode(piece), made.length]);
    return all;
  }, pieces());
  assert.deepEqual(seen, [['a', 1], ['b', 2], ['c', 3]]);
});

test('lines and events are the same wherever the body is cut', async () => {
  for (const pieces of cuts('één\r\n\r\ntwo\rthree\n\n€')) {
    assert.deepEqual(await collected(bodyOf(pieces).lines()), ['één', '', 'two', 'three', '', '€']);
  }
  const text = '\ufeff: c\nid: 7\nevent: token\ndata: é\ndata:  b\n\nretry: 5\n\ndata\n\ndata: cut off';
  for (const pieces of cuts(text)) {
    const events = await collected(bodyOf(pieces).events());
    assert.deepEqual(events, [{ event: 'token', data: 'é\n b', id: '7' }, { event: 'message', data: '', id: '7' }]);
  }
});

test('the decoder of a module keeps a character that is not complete', () => {
  for (const pieces of cuts('\ufeffé€\u{1f600}\ufeff')) {
    const decoder = new Utf8Decoder();
    const text = pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode();
    assert.equal(text, 'é€\u{1f600}\ufeff');
  }
  const decoder = new Utf8Decoder();
  assert.equal(decoder.decode(Uint8Array.of(0xc3), { stream: true }) + decoder.decode(), '\ufffd');
});

test('a body is read whole as often as wanted, and in pieces once', async () => {
  const told = await result(async () => {
    const response = await fetch(URL);
    const copy = response.clone();
    const whole = [await response.text(), await copy.json(), (await response.bytes()).length, response.status, await collected(copy.lines())];
    const once = await fetch(URL);
    const first = [];
    for await (const piece of once.body) {
      first.push(piece.length);
      break;
    }
    const again = await once.text().catch((error) => error.message);
    return [...whole, first, once.bodyUsed, again];
  }, ['{"a"', ':1}\n'], { status: 201 });
  assert.deepEqual(told, ['{"a":1}\n', { a: 1 }, 8, 201, ['{"a":1}'], [4], true, 'the body was read in pieces before: read it once, or take all of it with `await response.bytes()`']);
});

test('a body has a reader, as libraries for fetch want one', async () => {
  const told = await result(async () => {
    const reader = (await fetch(URL)).body.getReader();
    const first = await reader.read();
    const second = await reader.read();
    return [first.done, first.value.length, second.done];
  }, ['abc']);
  assert.deepEqual(told, [false, 3, true]);
});

test('a body that breaks off fails the attempt, and the next one goes on after what is kept', async () => {
  const { main } = calling(async (_, ctx) => {
    const tokens = ctx.stream('tokens');
    const kept = tokens.kept();
    let number = 0;
    for await (const { data } of (await ctx.http(URL)).events()) {
      if ((number += 1) > kept) tokens.append(data);
    }
    return ctx.attempt;
  });
  const t = new TestHost();
  let attempts = 0;
  t.onHttp('GET', URL, () => ({
    pieces: (function* () {
      yield 'data: a\n\ndata: b\n';
      yield '\n';
      if ((attempts += 1) === 1) throw new Failure(502, 'the connection broke');
      yield 'data: c\n\n';
    })(),
  }));
  assert.equal(await t.run(main), 2);
  assert.deepEqual(t.stream('tokens'), ['a', 'b', 'c']);
});

test('responses that nobody reads do not use up the 16 that may be open, and bodies that are being read do', async () => {
  const { main } = calling(async (_, ctx) => {
    for (let number = 0; number < 40; number += 1) await ctx.http(URL);
    const kept = await ctx.http(URL);
    const open = [];
    const begin = async () => {
      const pieces = (await ctx.http(URL)).body[Symbol.asyncIterator]();
      await pieces.next();
      open.push(pieces);
    };
    for (let number = 0; number < 16; number += 1) await begin();
    const refused = await begin().catch((error) => [error.code, error.message]);
    await open[0].return();
    await begin();
    return [await kept.text(), ...refused];
  });
  const t = new TestHost();
  t.onHttp('GET', URL, () => ({ pieces: ['a', 'b'] }));
  const [kept, code, message] = await t.run(main);
  assert.deepEqual([kept, code], ['ab', 400]);
  assert.match(message, /16 open responses/);
});

test('a durable request has the whole body, and its lines', async () => {
  const asks = workflow(async (_, ctx) => {
    const response = await ctx.http(URL);
    return collected(response.lines());
  });
  const t = new TestHost();
  t.onHttp('GET', URL, () => ({ pieces: ['a\nb', 'c'] }));
  assert.deepEqual(await t.run(asks), ['a', 'bc']);
});
