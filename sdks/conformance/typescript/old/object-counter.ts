// An object counts, one execution of a key at a time.

import { json, mapOf, object, workflow } from '@segno/sdk';

const whole = json<number>({ type: 'integer' });

export const Counter = object({ state: { count: whole, by: mapOf(whole) } }, ({ exclusive, shared }) => ({
  add: exclusive({ input: json<{ who: string; number: number }>({ type: 'object' }) }, async ({ who, number }, ctx) => {
    const count = ((await ctx.state.get('count')) ?? 0) + number;
    const by = ctx.state.map('by');
    by.set(who, ((await by.get(who)) ?? 0) + number);
    ctx.state.set('count', count);
    return count;
  }),
  read: shared(async (_, ctx) => ({ key: ctx.key, count: (await ctx.state.get('count')) ?? 0, by: await ctx.state.map('by').keys() })),
  clear: exclusive(async (_, ctx) => ctx.state.clearAll()),
}));

export const objectCounter = workflow({ name: 'object-counter' }, async (_, ctx) => {
  const counter = ctx.object(Counter, 'ada');
  await counter.add({ who: 'bob', number: 2 });
  await counter.add({ who: 'eve', number: 3 });
  const read = await counter.read();
  await counter.clear();
  return { read, after: await counter.read() };
});
