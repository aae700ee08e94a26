// What an activity knows and may use.

import { activity, workflow } from '@segno/sdk';

export const facts = activity(async (_: void, ctx) => [ctx.id === ctx.idempotencyKey, ctx.attempt, ctx.fenceToken > 0]);

export const activityFacts = workflow({ name: 'activity-facts' }, async (_, ctx) => ctx.call(facts));

export const settings = activity(async (_: void, ctx) => {
  return [ctx.env('REGION'), ctx.secret('PAY').length, await ctx.files.readText('/in/greeting.txt')];
});

export const activitySettings = workflow({ name: 'activity-settings' }, async (_, ctx) => ctx.call(settings));

export const stepwise = activity({ retry: { initial: 10, jitter: 0, maxAttempts: 3 } }, async (_: void, ctx) => {
  const before = (ctx.lastProgress as number | undefined) ?? 0;
  ctx.heartbeat(before + 1);
  if (before < 2) throw new Error('not there yet');
  return before;
});

export const activityProgress = workflow({ name: 'activity-progress' }, async (_, ctx) => ctx.call(stepwise));

export const publishLog = workflow({ name: 'publish-log' }, async (_, ctx) => {
  ctx.log('begun');
  await ctx.publish('order.paid', { cents: 1200 });
  ctx.log.warn('ended');
  return 'published';
});
