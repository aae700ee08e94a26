// The tools of the agent. The policy of this module allows the shop, and nothing else.

import { activity, Failure, type ActivityContext } from '@segno/sdk';
import * as z from 'zod';

const options = { timeout: '1h', retry: { maxAttempts: 5 } } as const;
const Text = z.object({ text: z.string() });

export const order_status = activity(
  { ...options, input: z.object({ order: z.string() }), output: z.string() },
  async ({ order }, ctx) => Text.parse(await shop(ctx, 'GET', `/orders/${encodeURIComponent(order)}`)).text,
);

export const refund = activity(
  { ...options, input: z.object({ order: z.string(), cents: z.int().positive() }), output: z.string() },
  async (input, ctx) => Text.parse(await shop(ctx, 'POST', '/refunds', input)).text,
);

const Audit = z.object({ checked: z.int(), done: z.boolean() });

/** Begins an audit and follows it. It stops the audit when the call is cancelled. */
export const audit = activity(
  { ...options, input: z.object({ orders: z.int().positive() }), output: z.string() },
  async (input, ctx) => {
    // The shop knows the key: another attempt follows the same audit.
    await shop(ctx, 'POST', '/audits', input);
    for (;;) {
      const { checked, done } = Audit.parse(await shop(ctx, 'GET', '/audit'));
      if (done) return `${checked} orders checked`;
      if (ctx.heartbeat({ checked })) {
        await shop(ctx, 'DELETE', '/audit');
        throw new Failure(499, 'the audit was cancelled');
      }
    }
  },
);

export const read_page = activity(
  { ...options, input: z.object({ url: z.string() }), output: z.string() },
  async ({ url }, ctx) => (await sent(ctx, 'GET', url)).text(),
);

async function shop(ctx: ActivityContext, method: string, path: string, json?: object): Promise<unknown> {
  return (await sent(ctx, method, `${ctx.env('SHOP_URL')}${path}`, json)).json();
}

/** Sends a request. The same key in every attempt lets the shop act once. */
async function sent(ctx: ActivityContext, method: string, url: string, json?: object) {
  const response = await ctx.http({ method, url, json, headers: { 'idempotency-key': ctx.idempotencyKey } });
  if (!response.ok) throw new Failure(response.status, `the shop answered ${response.status}: ${await response.text()}`);
  return response;
}
