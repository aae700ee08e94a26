// Durable requests, and requests of an activity.

import { Failure, activity, json, workflow } from '@segno/sdk';

const address = json<string>({ type: 'string' });

export const httpStep = workflow({ name: 'http-step', input: address }, async (url, ctx) => {
  const answer = await ctx.http({ method: 'POST', url: `${url}/charges`, json: { cents: 5 } }, { retry: { initial: 10, maxAttempts: 3 } });
  return [answer.status, (await answer.json()).id];
});

export const httpMissing = workflow({ name: 'http-missing', input: address }, async (url, ctx) => {
  const answer = await ctx.http({ method: 'GET', url: `${url}/missing` });
  return [answer.status, answer.ok];
});

export const httpBroken = workflow({ name: 'http-broken', input: address }, async (url, ctx) => {
  try {
    await ctx.http({ method: 'GET', url: `${url}/broken` }, { retry: { initial: 10, maxAttempts: 2 } });
  } catch (error) {
    if (error instanceof Failure) return error.code;
  }
  return 0;
});

export const ask = activity({ input: address }, async (url, ctx) => {
  const answer = await ctx.http({ method: 'POST', url: `${url}/ask`, headers: { 'idempotency-key': ctx.idempotencyKey } });
  return [answer.status, await answer.json()];
});

export const httpActivity = workflow({ name: 'http-activity', input: address }, async (url, ctx) => ctx.call(ask, url));

export const listen = activity({ input: address }, async (url, ctx) => {
  const events = [];
  for await (const { event, data, id } of (await ctx.http(`${url}/events`)).events()) events.push(`${event}: ${data} (${id})`);
  const lines = [];
  for await (const line of (await ctx.http(`${url}/lines`)).lines()) lines.push(line);
  return [events, lines];
});

export const httpPieces = workflow({ name: 'http-pieces', input: address }, async (url, ctx) => ctx.call(listen, url));

export const httpHeaders = workflow({ name: 'http-headers', input: address }, async (url, ctx) => {
  const answer = await ctx.http({ method: 'POST', url: `${url}/note`, headers: { 'x-shop': 'north' }, body: 'ü' }, { timeout: '1m' });
  return answer.text();
});

export const httpRefused = workflow({ name: 'http-refused', input: address }, async (url, ctx) => {
  return ctx.http({ method: 'GET', url: `${url}/prices` }).then(
    () => [],
    (error: Failure) => [error.code, error.message],
  );
});
