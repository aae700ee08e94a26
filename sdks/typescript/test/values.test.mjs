import assert from 'node:assert/strict';
import test from 'node:test';
import { decode, encode } from '../dist/core/value.js';
import { Failure } from '../dist/index.js';

const written = (value) => encode(value, 'the input').val;

test('values are written as JSON writes them', () => {
  class Point {
    #secret = 1;
    constructor(x) {
      this.x = x;
    }
  }
  const rows = [
    [undefined, 'null'],
    [{ a: undefined, b: [1, 'ü', null, true] }, '{"b":[1,"ü",null,true]}'],
    [new Point(2), '{"x":2}'],
    [{ failure: new Failure(400, 'no') }, '{"failure":{"code":400,"message":"no"}}'],
    [{ toJSON: () => ({ a: 1 }) }, '{"a":1}'],
    [new URL('https://a.example/'), '"https://a.example/"'],
    [Object.create(null), '{}'],
    ['\u{1f600}', '"\u{1f600}"'],
  ];
  for (const [value, text] of rows) assert.equal(written(value), text);
  assert.equal(decode({ tag: 'json', val: '' }), null);
  const twice = { a: 1 };
  assert.equal(written([twice, twice]), '[{"a":1},{"a":1}]', 'a value may stand in two places');
});

test('what JSON cannot say is refused with its path', () => {
  const circular = { list: [{}] };
  circular.list[0].back = circular;
  const rows = [
    [{ items: [{ price: 1 }, { price: Number.NaN }] }, /^the input, at `items\[1\]\.price`, is NaN/],
    [Number.POSITIVE_INFINITY, /^the input is Infinity/],
    [{ a: 10n }, /`a`, is the BigInt 10n/],
    [{ at: new Date(0) }, /`at`, is a Date.*toISOString/],
    [new Map(), /is a Map.*Object\.fromEntries/],
    [[new Set()], /`\[0\]`, is a Set/],
    [[1, undefined], /`\[1\]`, is undefined.*null/],
    [{ f: () => 1 }, /`f`, is the function `f`/],
    [{ s: Symbol('x') }, /Symbol\(x\)/],
    [{ 'a-b': new Uint8Array(1) }, /`\["a-b"\]`, is a Uint8Array/],
    [circular, /`list\[0\]\.back`, is a part of itself/],
    [{ text: 'x\ud800' }, /half of a character/],
    [{ '\udc00': 1 }, /half of a character.*name of a field/],
    [{ later: Promise.resolve(1) }, /`later`, is a promise: `await` it/],
    [new TypeError('x'), /is the error TypeError/],
    [/x/, /a regular expression/],
  ];
  for (const [value, message] of rows) assert.throws(() => encode(value, 'the input'), (error) => error instanceof TypeError && message.test(error.message));
});
