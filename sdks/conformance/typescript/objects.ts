// Objects: their state, their turns, and their promises.

import { Failure, json, mapOf, object, workflow } from '@segno/sdk';

const whole = json<number>({ type: 'integer' });
const text = json<string>({ type: 'string' });

export const Counter = object({ state: { total: whole, parts: mapOf(whole) } }, ({ exclusive, shared }) => ({
  add: exclusive({ input: whole }, async (number, ctx) => {
    const total = ((await ctx.state.get('total')) ?? 0) + number;
    ctx.state.set('total', total);
    ctx.state.map('parts').set(String(number), number);
    return total;
  }),
  drop: exclusive({ input: text }, async (name, ctx) => {
    ctx.state.map('parts').clear(name);
    ctx.state.clear('total');
    return ctx.state.names();
  }),
  reset: exclusive(async (_, ctx) => ctx.state.clearAll()),
  read: shared(async (_, ctx) => [ctx.key, (await ctx.state.get('total')) ?? 0, await ctx.state.map('parts').keys()]),
}));

export const objectCounter = workflow({ name: 'object-counter', input: text }, async (key, ctx) => {
  const counter = ctx.object(Counter, key);
  await counter.add(2);
  await counter.add(3);
  return counter.read();
});

export const objectClear = workflow({ name: 'object-clear', input: text }, async (key, ctx) => {
  const counter = ctx.object(Counter, key);
  await counter.add(2);
  await counter.add(3);
  const left = await counter.drop('2');
  await counter.reset();
  return [left, await counter.read()];
});

export const objectKeys = workflow({ name: 'object-keys' }, async (_, ctx) => {
  await ctx.object(Counter, 'one').add(1);
  await ctx.object(Counter, 'two').add(20);
  return [await ctx.object(Counter, 'one').read(), await ctx.object(Counter, 'two').read()];
});

export const Gate = object({ promises: { opened: text } }, ({ once, shared }) => ({
  run: once(async (_, ctx) => {
    const by = await ctx.objectPromise('opened').wait();
    await ctx.sleep(1_000);
    return by;
  }),
  open: shared({ input: text }, async (by, ctx) => {
    return ctx.objectPromise('opened').resolve(by).then(
      () => true,
      (error: Failure) => error.code !== 409,
    );
  }),
  status: shared(async (_, ctx) => (await ctx.objectPromise('opened').peek()) ?? null),
}));

export const objectPromise = workflow({ name: 'object-promise', input: text }, async (key, ctx) => {
  const gate = ctx.object(Gate, key);
  const before = await gate.status();
  const running = gate.run();
  await ctx.sleep(300);
  const opened = [await gate.open('ada'), await gate.open('bob')];
  return [before, ...opened, await running];
});

export const objectOnce = workflow({ name: 'object-once', input: text }, async (key, ctx) => {
  const gate = ctx.object(Gate, key);
  await gate.open('ada');
  const first = await gate.run();
  return [first, await gate.run().then(() => 0, (error: Failure) => error.code)];
});

export const objectQueue = workflow({ name: 'object-queue', input: text }, async (key, ctx) => {
  const counter = ctx.object(Counter, key);
  const totals = await Promise.all([counter.add(1), counter.add(10), counter.add(100)]);
  return [totals, await counter.read()];
});
