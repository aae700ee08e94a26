// Two calls, a pause, and a third call that needs both results.

import { activity, workflow } from '@segno/sdk';

export const plus = activity(async ([left, right]: [number, number]) => left + right);

export const sequence = workflow(async (_, ctx) => {
  const three = await ctx.call(plus, [1, 2]);
  const seven = await ctx.call(plus, [three, 4]);
  await ctx.sleep(1_000);
  return ctx.call(plus, [three, seven]);
});
