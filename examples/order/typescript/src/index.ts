// An order from stock to shipment, with compensation when a step fails.
//
// It shows activities for side effects; a durable HTTP request, whose `Idempotency-Key` lets the payment service charge
// once however often it is sent; a promise that a person settles, with a time limit; steps in parallel; and
// compensation, which is ordinary code in `catch`.

import { activity, Failure, workflow, type WorkflowContext } from '@segno/sdk';
import * as z from 'zod';

const Item = z.object({
  sku: z.string(),
  quantity: z.int().nonnegative(),
  price_cents: z.int().nonnegative(),
});

const Order = z.object({
  id: z.string(),
  items: z.array(Item),
  payments: z.string().meta({ description: 'The address of the payment service, such as `http://127.0.0.1:9000`.' }),
  approve_within_s: z
    .int()
    .nonnegative()
    .default(3 * 24 * 60 * 60),
});
type Order = z.infer<typeof Order>;

const Reservation = z.object({ name: z.string(), items: z.array(Item) });

const Receipt = z.object({
  order: z.string(),
  charge: z.string(),
  amount_cents: z.int(),
  shipments: z.array(z.string()),
});

/** The payment service's response to a charge. */
const Charge = z.object({ charge: z.string(), accepted: z.boolean() });
type Charge = z.infer<typeof Charge>;

/**
 * The approval is the promise `{invocation}/p/approval`: `true` approves; `false`, a rejection or a timeout does not.
 */
export const order = workflow(
  {
    summary:
      'Reserves the stock, charges, waits for an approval, and ships. If a later step fails, the earlier ones are undone.',
    input: Order,
    output: Receipt,
    promises: { approval: z.boolean() },
  },
  async (order, ctx) => {
    // The name is known before the reservation is made, so a reservation that was in flight when the order was
    // cancelled can be released by it.
    const reservation = { name: `reservation-${ctx.id}`, items: order.items };
    try {
      await ctx.call(reserve, reservation);
    } catch (error) {
      if (isCancellation(error)) await ctx.call(release, reservation.name);
      throw error;
    }

    let paid: Charge;
    try {
      paid = await charge(order, ctx);
    } catch (error) {
      if (isCancellation(error)) await giveBack(order, ctx);
      if (error instanceof Failure) await ctx.call(release, reservation.name);
      throw error;
    }

    try {
      await approved(order, ctx);
      const shipments = await Promise.all(order.items.map((item) => ctx.call(ship, item)));
      ctx.log(`order ${order.id} shipped in ${shipments.length} parcels`);
      return { order: order.id, charge: paid.charge, amount_cents: amount(order), shipments };
    } catch (error) {
      // Any other error is a defect, after which mended code continues the execution: nothing is undone.
      if (error instanceof Failure) {
        ctx.log.warn(`order ${order.id} is undone: ${error.message}`);
        await Promise.all([refund(order, paid, ctx), ctx.call(release, reservation.name)]);
      }
      throw error;
    }
  },
);

function amount(order: Order): number {
  return order.items.reduce((sum, item) => sum + item.quantity * item.price_cents, 0);
}

function isCancellation(error: unknown): boolean {
  return error instanceof Failure && error.isCancelled;
}

async function approved(order: Order, ctx: WorkflowContext): Promise<void> {
  try {
    if (await ctx.promise('approval', { timeout: order.approve_within_s * 1_000 })) return;
  } catch (error) {
    if (error instanceof Failure && error.isTimeout) {
      throw new Failure(408, `nobody approved order ${order.id} in time`);
    }
    throw error;
  }
  throw new Failure(409, `order ${order.id} was not approved`);
}

/** Charges the order, under a key that stays the same when the charge is sent again. */
async function charge(order: Order, ctx: WorkflowContext): Promise<Charge> {
  const body = { order: order.id, amount_cents: amount(order) };
  const answer = await post(order, ctx, 'charges', body, { 'idempotency-key': `${ctx.id}/charge` });
  const charge = Charge.parse(answer);
  if (!charge.accepted) throw new Failure(402, `the payment of order ${order.id} was declined`);
  return charge;
}

/**
 * Refunds a payment that was in flight when the order was cancelled and may have been made. Sent again under the same
 * key, it is made at most once, and returns a number for the refund.
 */
async function giveBack(order: Order, ctx: WorkflowContext): Promise<void> {
  try {
    await refund(order, await charge(order, ctx), ctx);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 402) throw error;
  }
}

async function refund(order: Order, { charge }: Charge, ctx: WorkflowContext): Promise<void> {
  await post(order, ctx, 'refunds', { charge });
}

/** Sends the payment service a request, which the host retries until there is a response. */
async function post(order: Order, ctx: WorkflowContext, path: string, json: object, headers = {}): Promise<unknown> {
  const answer = await ctx.http(
    { method: 'POST', url: `${order.payments}/${path}`, headers, json },
    { retry: { initial: '200ms', max: '30s' }, labels: { order: order.id } },
  );
  if (!answer.ok) throw new Failure(answer.status, `HTTP status ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/**
 * It stands for a request to the warehouse's own system. The name of the reservation would let a second attempt find
 * the reservation of the first.
 */
export const reserve = activity(
  {
    summary: 'Reserves the items in the warehouse.',
    input: Reservation,
    timeout: '1m',
    retry: { initial: '100ms', maxAttempts: 10 },
  },
  async ({ name, items }, ctx) => {
    if (items.length === 0) throw new Failure(422, 'an order without items');
    const missing = items.find((item) => item.sku === 'sold-out');
    if (missing) throw new Failure(409, `\`${missing.sku}\` is sold out`);
    ctx.log(`${name}: ${items.length} lines`);
  },
);

export const release = activity(
  { summary: 'Releases a reservation, which may not exist.', input: z.string() },
  async (reservation, ctx) => ctx.log(`${reservation} released`),
);

export const ship = activity(
  {
    summary: 'Hands one item to the carrier and returns its tracking number.',
    input: Item,
    output: z.string(),
    timeout: '1h',
  },
  async (item, ctx) => {
    ctx.log(`${item.quantity} of \`${item.sku}\` handed over`);
    return `parcel-${ctx.idempotencyKey}`;
  },
);
