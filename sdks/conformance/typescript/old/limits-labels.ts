// Calls with labels and time limits of functions with limits.

import { activity, json, workflow } from '@segno/sdk';

export const slowly = activity(
  { input: json<{ customer: string }>({ type: 'object' }), limit: { key: 'customer', concurrency: 1, totalConcurrency: 5, rate: '100/s' }, timeout: '1m' },
  async ({ customer }) => customer,
);

export const limitsLabels = workflow({ name: 'limits-labels', limit: { concurrency: 10 } }, async (_, ctx) => {
  const options = { labels: { team: 'north' }, timeout: '30s', attemptTimeout: '5s' };
  const first = await ctx.call(slowly, { customer: 'ada' }, options);
  const second = await ctx.call(slowly, { customer: 'bob' });
  return [first, second];
});
