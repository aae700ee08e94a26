// An activity that fails three times, then one that fails for good.

import { Failure, activity, workflow } from '@segno/sdk';

export const flaky = activity({ retry: { initial: 20, maxAttempts: 3, jitter: 0 } }, async (_, ctx): Promise<string> => {
  throw new Failure(503, `attempt ${ctx.attempt}`, { attempt: ctx.attempt });
});

export const declined = activity({ retry: { maxAttempts: 5 } }, async (): Promise<string> => {
  throw new Failure(402, 'declined');
});

export const retryThenFail = workflow({ name: 'retry-then-fail' }, async (_, ctx) => {
  const told: string[] = [];
  const note = (error: Failure) => void told.push(`${error.code} ${error.message}`);
  await ctx.call(flaky).catch(note);
  await ctx.call(flaky, undefined, { retry: { initial: 20, maxAttempts: 2 } }).catch(note);
  await ctx.call(declined).catch(note);
  throw new Failure(422, told.join('; '), { told });
});
