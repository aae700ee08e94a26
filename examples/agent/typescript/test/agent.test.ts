import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';
import * as z from 'zod';
import * as agent from '../src/index.js';
import { Message } from '../src/model.js';

/** A host whose model asks for a refund, and tells what came of it. */
function host(): TestHost {
  const t = new TestHost({ module: agent });
  t.on(agent.complete, ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool') return { role: 'assistant' as const, content: last.content };
    const call = { name: 'refund', arguments: JSON.stringify({ order: '7', cents: 100 }) };
    const tool_calls = [{ id: '1', type: 'function' as const, function: call }];
    return { role: 'assistant' as const, content: '', tool_calls };
  });
  return t;
}

const say = (t: TestHost, text: string) => t.runObject(agent.Conversation, 'ada', 'say', text);

for (const { decision, answer, refunds } of [
  { decision: true, answer: 'done', refunds: 1 },
  { decision: false, answer: 'a person refused it', refunds: 0 },
]) {
  test(`a refund is ${decision ? '' : 'not '}made when a person decides so`, async () => {
    const t = host();
    t.on('wasm://tools/refund', () => 'done');
    t.promise('test/2/p/decision').resolve(decision);
    assert.equal(await say(t, 'refund'), answer);
    assert.equal(t.calls('wasm://tools/refund').length, refunds);
  });
}

test('a tool that fails is told to the model', async () => {
  const t = host();
  t.on('wasm://tools/refund', () => {
    throw new Failure(403, 'not this one');
  });
  t.promise('test/2/p/decision').resolve(true);
  assert.equal(await say(t, 'refund'), 'failed: not this one');
});

test('a cancelled turn goes on without the tool', async () => {
  const t = host();
  t.cancelAfter('1h');
  assert.equal(await say(t, 'refund'), 'cancelled');
});

test('each token is in the stream before the model sends the next one', async () => {
  const t = new TestHost({ module: agent });
  t.env('MODEL_URL', 'http://model').env('MODEL', 'scripted').secret('MODEL_KEY', 'sk-scripted');
  const seen: unknown[] = [];
  t.onHttp('POST', 'http://model/chat/completions', () => ({
    pieces: (function* () {
      for (const content of ['Good ', 'day']) {
        // The pieces cut the lines.
        yield `data: {"choices":[{"delta":{"content":"${content}`;
        yield '"}}]}\n\n';
        seen.push(t.stream('answer'));
      }
      yield 'data: [DONE]\n\n';
    })(),
  }));
  assert.equal(await say(t, 'hello'), 'Good day');
  assert.deepEqual(seen, [['Good '], ['Good ', 'day']]);
});

test('a long history is summarised', async () => {
  const t = new TestHost({ module: agent });
  t.on(agent.complete, ({ tools }) => {
    return { role: 'assistant' as const, content: tools.length > 0 ? 'x'.repeat(4_000) : 'long texts' };
  });
  for (let turn = 0; turn < 5; turn += 1) await say(t, 'more');
  const history = z.array(Message).parse(t.state(agent.Conversation, 'ada', 'messages'));
  assert.equal(history.length, 5, 'a summary and two turns');
  assert.match(String(history[0]?.content), /before: long texts$/);
});
