import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { Client, InvalidValueError } from '../src/index.js';
import { fromWire, toWire } from '../src/wire.js';
import { type Host, sharedHost } from './host.js';

suite('values', () => {
  let client: Client;
  let host: Host;
  before(async () => {
    ({ client, host } = await sharedHost());
  });

  test('what JSON cannot say is refused with its place', async () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const cases: [unknown, RegExp][] = [
      [{ price: Number.NaN }, /`input\.price` is NaN/],
      [[1, { at: Infinity }], /`input\[1\]\.at` is Infinity/],
      [10n, /`input` is a BigInt/],
      [new Map(), /`input` is a Map/],
      [{ of: new Set() }, /`input\.of` is a Set/],
      [new Uint8Array(1), /`input` is binary/],
      [() => 1, /`input` is a function/],
      [circular, /`input\.self` contains itself/],
      ['\ud83d', /`input` has half of a surrogate pair/],
    ];
    for (const [value, message] of cases) {
      await assert.rejects(
        client.start('parts/leaf', value),
        (error: Error) => error instanceof InvalidValueError && message.test(error.message),
      );
    }
  });

  test('names in values of users stay as they are', async () => {
    const promise = await client.createPromise({
      id: 'names',
      param: { snake_case: 1, camelCase: 2, undefined: undefined },
    });
    assert.deepEqual((await promise.status()).param, { snake_case: 1, camelCase: 2 });
    await promise.resolve({ created_at_ms: 3 });
    assert.deepEqual(await promise.result(), { created_at_ms: 3 });
  });

  test('another codec keeps every digit', async () => {
    const digits = '123456789012345678901234567890';
    const raw = (value: unknown): string => JSON.stringify(value).replace(/"#(\d+)"/g, '$1');
    const exact = new Client({
      server: host.server,
      json: { stringify: raw, parse: (text) => JSON.parse(text.replace(/([:[,])(\d{17,})/g, '$1"#$2"')) },
    });
    const promise = await exact.createPromise({ id: 'digits', param: `#${digits}` });
    assert.equal((await promise.status()).param, `#${digits}`);
    assert.equal((await client.promise('digits').status()).param, Number(digits));
  });

  test('names of the API are renamed both ways, whatever is nested', () => {
    const module = fromWire(
      { functions: [{ input_schema: { max_length: 1 }, retry: { max_attempts: 2 } }], created_at_ms: 1, new_field: 1 },
      'Module',
    );
    assert.deepEqual(module, {
      functions: [{ inputSchema: { max_length: 1 }, retry: { maxAttempts: 2 } }],
      createdAtMs: 1,
      newField: 1,
    });
    const start = { target: 'x', startAtMs: 1, retry: { maxAttempts: 2 }, input: { aB: 1 }, id: undefined };
    assert.deepEqual(toWire(start, 'StartInvocation'), {
      target: 'x',
      start_at_ms: 1,
      retry: { max_attempts: 2 },
      input: { aB: 1 },
    });
  });
});
