// A durable request that is retried, a `fetch`, and a request of an activity.

import { activity, workflow } from '@segno/sdk';

export const ask = activity(async (url: string, ctx) => {
  const answer = await fetch(`${url}/activity`, { method: 'POST', headers: { 'idempotency-key': ctx.idempotencyKey }, body: 'ü' });
  return { status: answer.status, text: await answer.text() };
});

export const httpStep = workflow({ name: 'http-step' }, async (url: string, ctx) => {
  const first = await ctx.http({ method: 'POST', url: `${url}/charge`, json: { cents: 1200 } }, { retry: { initial: 20, maxAttempts: 5 } });
  const missing = await fetch(`${url}/missing`);
  const asked = await ctx.call(ask, url);
  return { first: await first.json(), missing: missing.status, asked };
});
