// Signals: in order, unread, in races, and between workflows.

import { Failure, json, workflow } from '@segno/sdk';

const whole = json<number>({ type: 'integer' });
const text = json<string>({ type: 'string' });
const nothing = json<null>({});

export const namedSignalTimeout = workflow({ name: 'named-signal-timeout', signals: { go: whole } }, async (_, ctx) => {
  const first = (await ctx.signal('go', { timeout: 100 })) ?? 'late';
  return [first, await ctx.signal('go')];
});

export const signalRaceLoser = workflow({ name: 'signal-race-loser', signals: { note: text, stop: nothing } }, async (_, ctx) => {
  const first = await Promise.race([ctx.signal('note'), ctx.sleep(100).then(() => 'nothing')]);
  await ctx.signal('stop');
  return [first, await ctx.signal('note')];
});

export const signalOrder = workflow({ name: 'signal-order', signals: { number: whole } }, async (_, ctx) => {
  const numbers = [];
  for (let count = 0; count < 3; count += 1) numbers.push(await ctx.signal('number'));
  return numbers;
});

export const signalUnread = workflow({ name: 'signal-unread', signals: { read: whole, other: whole } }, async (_, ctx) => ctx.signal('read'));

export const signalAny = workflow({ name: 'signal-any', signals: { comment: text, stop: nothing } }, async (_, ctx) => {
  const comments = [];
  for (;;) {
    const { name, value } = await ctx.anySignal();
    if (name === 'stop') return comments;
    comments.push(value);
  }
});

export const receiver = workflow({ signals: { hello: text } }, async (_: void, ctx) => ctx.signal('hello'));

export const signalSent = workflow({ name: 'signal-sent' }, async (_, ctx) => {
  const waiting = ctx.call(receiver);
  await ctx.sleep(300);
  await ctx.sendSignal(waiting.id, 'hello', 'from above');
  return waiting;
});

export const signalUnknown = workflow({ name: 'signal-unknown' }, async (_, ctx) => {
  return ctx.sendSignal('nobody', 'hello').then(
    () => 0,
    (error: Failure) => error.code,
  );
});

export const signalUndeclared = workflow({ name: 'signal-undeclared' }, async (_, ctx) => {
  const waiting = ctx.call(receiver);
  await ctx.sleep(300);
  const code = await ctx.sendSignal(waiting.id, 'bye').then(
    () => 0,
    (error: Failure) => error.code,
  );
  await ctx.sendSignal(waiting.id, 'hello', 'from above');
  return [code, await waiting];
});

export const signalStart = workflow({ name: 'signal-start', input: whole, signals: { add: whole } }, async (number, ctx) => number + (await ctx.signal('add')));
