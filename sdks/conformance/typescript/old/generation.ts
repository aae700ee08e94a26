// A workflow that continues as new twice, and keeps the signal that it has not read.

import { json, workflow } from '@segno/sdk';

export const generation = workflow({ signals: { last: json<string>({}) } }, async (number: number, ctx) => {
  if (number < 3) {
    await ctx.sleep(300);
    return ctx.continueAsNew(number + 1);
  }
  return { number, last: await ctx.signal('last') };
});
