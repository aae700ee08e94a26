// Failures, retries and defects.

import { Failure, activity, json, workflow } from '@segno/sdk';
import { never } from './time.ts';

const noted = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Failure) return [error.code, error.message];
    throw error;
  }
};

export const flaky = activity({ retry: { initial: 10, max: 20, jitter: 0, maxAttempts: 3 } }, async (_: void, ctx): Promise<string> => {
  throw new Failure(503, `attempt ${ctx.attempt}`, { attempt: ctx.attempt });
});

export const retryThenFail = workflow({ name: 'retry-then-fail' }, async (_, ctx) => [
  await noted(ctx.call(flaky)),
  await noted(ctx.call(flaky, undefined, { retry: { initial: 10, maxAttempts: 1 } })),
]);

export const third = activity({ retry: { initial: 10, jitter: 0, maxAttempts: 5 } }, async (_: void, ctx) => {
  if (ctx.attempt < 3) throw new Failure(503, 'not yet');
  return `attempt ${ctx.attempt}`;
});

export const retryThenSuccess = workflow({ name: 'retry-then-success' }, async (_, ctx) => ctx.call(third));

export const picky = activity({ retry: { initial: 10, maxAttempts: 5, nonRetryable: [503] } }, async (code: number, ctx): Promise<void> => {
  throw new Failure(code, `attempt ${ctx.attempt}`);
});

export const retryNever = workflow({ name: 'retry-never' }, async (_, ctx) => [await noted(ctx.call(picky, 503)), await noted(ctx.call(picky, 402))]);

export const failureDetails = workflow({ name: 'failure-details' }, async (): Promise<void> => {
  throw new Failure(422, 'nö: “quoted” \n line 2', { items: [1, null, { deep: true }] });
});

export const failureOfCall = workflow({ name: 'failure-of-call' }, async (_, ctx) => {
  await ctx.call(picky, 402);
});

export const halting = workflow({ name: 'unhandled-defect', input: json<number>({ type: 'integer' }) }, async (number, ctx) => {
  await ctx.sleep(20);
  if (number === 0) throw new TypeError('there is nothing to divide by');
  return 1 / number;
});

export const hostFailures = workflow({ name: 'host-failures', input: json<string>({ type: 'string' }) }, async (url, ctx) => {
  const deadline = await noted(ctx.call(never, undefined, { timeout: 200 }));
  const sleep = ctx.sleep('1h');
  await sleep.cancel();
  const slept = await noted(sleep);
  const promise = ctx.promise('unknown');
  await promise.cancel();
  return [
    deadline,
    slept,
    await noted(promise),
    await noted(ctx.http({ method: 'GET', url: `${url}/broken` }, { retry: { initial: 10, maxAttempts: 2 } })),
    await noted(ctx.resolve('nobody/p/nothing', 1)),
    await noted(ctx.sendSignal('nobody', 'hello')),
  ];
});
