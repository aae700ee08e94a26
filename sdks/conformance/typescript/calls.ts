// Calls and sends of functions, and their options.

import { Failure, activity, json, workflow } from '@segno/sdk';

const whole = json<number>({ type: 'integer' });

export const double = activity({ input: whole, output: whole }, async (number) => 2 * number);

export const part = activity(async (number: number) => `part ${number}`);

export const child = workflow({ input: whole, output: whole }, async (number, ctx) => {
  await ctx.sleep(20);
  return number + 1;
});

export const middle = workflow(async (number: number, ctx) => ctx.call(double, await ctx.call(double, number)));

export const declined = workflow(async (_: void): Promise<void> => {
  throw new Failure(402, 'declined', { limit: 5 });
});

export const sequence = workflow({ name: 'sequence', input: whole }, async (number, ctx) => {
  const once = await ctx.call(double, number);
  await ctx.sleep(1_000);
  const twice = await ctx.call(double, once);
  return [number, once, twice];
});

export const fanOutAll = workflow({ name: 'fan-out-all', input: whole }, async (count, ctx) => {
  return Promise.all(Array.from({ length: count }, (_, number) => ctx.call(part, number)));
});

export const callNested = workflow({ name: 'call-nested', input: whole }, async (number, ctx) => ctx.call(middle, number));

export const callFailed = workflow({ name: 'call-failed' }, async (_, ctx) => {
  try {
    await ctx.call(declined);
  } catch (error) {
    if (error instanceof Failure) return [error.code, error.message, error.details];
  }
  return [];
});

export const callMissing = workflow({ name: 'call-missing' }, async (_, ctx) => {
  return ctx.call('wasm://conformance-none/nothing', 1).then(
    () => 0,
    (error) => error.code,
  );
});

export const callWrongInput = workflow({ name: 'call-wrong-input' }, async (_, ctx) => {
  return ctx.call('double', 'four').then(
    () => 0,
    (error) => error.code,
  );
});

export const childSend = workflow({ name: 'child-send', input: whole }, async (number, ctx) => {
  const sent = await ctx.send(child, number, { delay: '1h', labels: { kind: 'later' } });
  return [await ctx.call(child, number), sent];
});

export const sendAt = workflow({ name: 'send-at' }, async (_, ctx) => {
  return ctx.send(child, 1, { startAt: new Date(ctx.startedAt.getTime() + 3_600_000) });
});

export const limited = activity({ name: 'limited', input: json<string>({ type: 'string' }), limit: { rate: '100/s', burst: 10 } }, async (name) => name);

export const limitsLabels = workflow(
  { name: 'limits-labels', input: json<{ customer: string }>({ type: 'object' }), limit: { key: 'customer', concurrency: 5, totalConcurrency: 50 }, timeout: '1h' },
  async (order, ctx) => {
    return ctx.call(limited, order.customer, { labels: { customer: order.customer }, timeout: '1m', attemptTimeout: '30s' });
  },
);

export const fanOutFailures = workflow({ name: 'fan-out-failures' }, async (_, ctx) => {
  const settled = await Promise.allSettled([ctx.call(double, 4), ctx.call(declined), ctx.call(double, 5)]);
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.code));
});
