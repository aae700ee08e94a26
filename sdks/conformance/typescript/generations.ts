// Workflows that continue as new.

import { json, workflow } from '@segno/sdk';

const whole = json<number>({ type: 'integer' });

export const generation = workflow({ name: 'generation', input: whole, signals: { add: whole } }, async (total, ctx) => {
  const sum = total + (await ctx.signal('add'));
  // The second signal comes meanwhile.
  await ctx.sleep(1_000);
  return sum < 10 ? ctx.continueAsNew(sum) : sum;
});

export const generationCount = workflow({ name: 'generation-count', input: whole }, async (number, ctx) => {
  await ctx.sleep(50);
  return number < 3 ? ctx.continueAsNew(number + 1, { sameCode: true }) : number;
});
