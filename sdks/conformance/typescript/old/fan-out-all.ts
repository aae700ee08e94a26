// Three calls at the same time; the results are in the order of the list.

import { activity, workflow } from '@segno/sdk';

export const price = activity(async (good: string) => good.length * 100);

export const fanOutAll = workflow({ name: 'fan-out-all' }, async (_, ctx) => {
  const prices = await Promise.all(['hat', 'glove', 'scarf'].map((good) => ctx.call(price, good)));
  await ctx.publish('priced', prices);
  return prices;
});
