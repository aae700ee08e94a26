// The shorter of two sleeps wins; the longer one is left behind.

import { workflow } from '@segno/sdk';

export const raceSleep = workflow({ name: 'race-sleep' }, async (_, ctx) => {
  const winner = await Promise.race([ctx.sleep(60_000).then(() => 'long'), ctx.sleep(200).then(() => 'short')]);
  await ctx.sleep(100);
  return winner;
});
