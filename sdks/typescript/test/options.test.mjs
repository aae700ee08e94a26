import assert from 'node:assert/strict';
import test from 'node:test';
import { instantMs, milliseconds } from '../dist/core/duration.js';
import { limitRecord } from '../dist/core/limits.js';
import { callRecord, nearest, retryRecord, sendRecord } from '../dist/core/retry.js';
import { Failure } from '../dist/index.js';

test('lengths of time are milliseconds or texts', () => {
  const rows = [[250, 250], ['30s', 30_000], ['1h 30m', 5_400_000], ['1.5s', 1_500], ['2d', 172_800_000], ['1w', 604_800_000], ['500ms', 500], [0.2, 1]];
  for (const [given, ms] of rows) assert.equal(milliseconds(given, 'it'), ms);
  for (const wrong of [-1, Number.NaN, '3 parsecs', '', '1h30m', 'soon', null, 1e18]) {
    assert.throws(() => milliseconds(wrong, '`timeout`'), /^RangeError: `timeout` is .*'30s'/);
  }
});

test('instants are dates, milliseconds or ISO texts', () => {
  for (const given of [new Date(5), 5, '1970-01-01T00:00:00.005Z']) assert.equal(instantMs(given, 'it'), 5);
  for (const wrong of ['tomorrow', new Date(Number.NaN), -1]) assert.throws(() => instantMs(wrong, '`startAt`'), /`startAt` is/);
});

test('options are written in the form of the host', () => {
  assert.deepEqual(callRecord({ timeout: '1m', attemptTimeout: 500, labels: { team: 'a' }, retry: { maxAttempts: 3 } }, 'the call'), {
    timeoutMs: 60_000,
    startAtMs: undefined,
    retry: { initialMs: 100, factor: 2, maxMs: 60_000, jitter: 0.2, maxAttempts: 3, nonRetryable: [] },
    labels: [['team', 'a'], ['segno:attempt-timeout-ms', '500']],
  });
  assert.equal(sendRecord({ delay: '1s' }, 'the send', 10).startAtMs, 1_010);
  assert.equal(sendRecord({ startAt: 7 }, 'the send', 10).startAtMs, 7);
});

test('an option that makes no sense is refused by its name', () => {
  const rows = [
    [() => callRecord({ timout: 1 }, 'the call of `a`'), /the call of `a` has no option `timout`; do you mean `timeout`\?/],
    [() => callRecord({ colour: 1 }, 'the call'), /there are timeout, attemptTimeout/],
    [() => callRecord({ labels: { a: 1 } }, 'the call'), /label `a` of the call is 1/],
    [() => retryRecord({ maxAttempts: 0 }), /`retry.maxAttempts` is 0/],
    [() => retryRecord({ jitter: 2 }), /`retry.jitter` is 2/],
    [() => retryRecord({ attempts: 2 }), /`retry` has no option `attempts`/],
    [() => sendRecord({ delay: 1, startAt: 1 }, 'the send', 0), /pass one of them/],
    [() => limitRecord('f', { rate: 'ten' }), /`ten` is no rate/],
    [() => limitRecord('f', { concurrency: 1.5 }), /limit.concurrency/],
    [() => limitRecord('f', { concurency: 1 }), /do you mean `concurrency`/],
    [() => new Failure('no', 'x'), /the code of a Failure/],
  ];
  for (const [wrong, message] of rows) assert.throws(wrong, message);
  assert.equal(nearest('cal', ['call', 'send']), 'call');
  assert.equal(nearest('telephone', ['call', 'send']), undefined);
});

test('limits are written in the form of the host', () => {
  assert.deepEqual(limitRecord('f', { key: 'a.b', concurrency: 2, rate: '5/10s', priority: 'p', debounce: '5s', debounceLongest: '1m' }), {
    function: 'f',
    key: 'a.b',
    perKey: { concurrency: 2, rate: { count: 5, periodMs: 10_000, burst: 5 } },
    total: { concurrency: undefined, rate: undefined },
    priority: { path: 'p', order: 'strict' },
    singleton: undefined,
    debounce: { periodMs: 5_000, longestMs: 60_000 },
  });
});
