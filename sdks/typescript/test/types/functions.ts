// What the compiler accepts and refuses. Each `@ts-expect-error` is an error that an author gets.

import { type BudgetUnit, Failure, type Undo, activity, json, mapOf, object, query, remote, type, update, workflow } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';
import { type as ark } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>(): void => {};

const Order = z.object({ id: z.string(), cents: z.int().positive(), note: z.string().default('') });
export const charge = activity({ input: Order, output: z.string(), retry: { maxAttempts: 5 } }, async (order, ctx) => {
  is<Equal<typeof order, { id: string; cents: number; note: string }>>();
  is<Equal<typeof ctx.attempt, number>>();
  const kept = ctx.stream('tokens').kept();
  is<Equal<typeof kept, number>>();
  ctx.stream('log', { contentType: 'text/plain' }).append('a');
  ctx.http('http://localhost/').then(async (response) => {
    for await (const { event, data } of response.events()) (event + data).trim();
    for await (const piece of response.body) piece.subarray(1);
  });
  // @ts-expect-error: an activity closes no stream
  ctx.stream('tokens').close();
  ctx.cost('tokens', 1234);
  // @ts-expect-error: the amount is a number
  ctx.cost('tokens', '1234');
  // @ts-expect-error: the amount is missing
  ctx.cost('tokens');
  // @ts-expect-error: `cent` is no field
  order.cent;
  return order.note;
});
// @ts-expect-error: the output is a text
activity({ input: Order, output: z.string() }, async () => 7);
// @ts-expect-error: there is no option `retries`
activity({ retries: 3 }, async () => 7);

const plain = activity(async (text: string) => text.length);
const nothing = activity(async () => {});
const maybe = activity({ retry: { initial: '1s' } }, async (text: string): Promise<number | undefined> => (text ? 1 : undefined));
const Vali = v.object({ a: v.number() });
const vali = workflow({ input: Vali }, async (input) => input.a);
const arked = workflow({ input: ark({ b: 'string' }), output: json<boolean>({ type: 'boolean' }) }, async (input) => input.b === 'x');
const far = remote<{ cents: number }, string>('wasm://payments/charge');

export const order = workflow(
  { input: Order, signals: { approved: z.object({ by: z.string() }), stop: type<void>() }, promises: { paid: z.boolean() } },
  async (input, ctx) => {
    const approval = await ctx.signal('approved', { timeout: '2d' });
    is<Equal<typeof approval, { by: string } | undefined>>();
    const certain = await ctx.signal('approved');
    is<Equal<typeof certain, { by: string }>>();
    // @ts-expect-error: there is no such signal
    ctx.signal('aproved');
    const paid = await ctx.promise('paid');
    is<Equal<typeof paid, boolean>>();
    const receipt = await ctx.call(charge, { id: 'a', cents: 1 }, { timeout: '1m' });
    is<Equal<typeof receipt, string>>();
    // @ts-expect-error: a field is missing
    ctx.call(charge, { id: 'a' });
    // @ts-expect-error: the input is missing
    ctx.call(charge);
    await ctx.call(plain, 'a', { budget: { tokens: 20_000, usd: 1.5 } });
    await ctx.send(plain, 'a', { budget: { tokens: 20_000 }, delay: '1d' });
    // @ts-expect-error: a limit is a number
    ctx.call(plain, 'a', { budget: { tokens: '20000' } });
    const left = await ctx.budget();
    is<Equal<typeof left.tokens, BudgetUnit | undefined>>();
    const spent = new Failure(402, 'spent').spentBudget;
    const account: string | undefined = spent?.account;
    const used: number | undefined = spent?.units['tokens']?.spent;
    console.log(account, used);
    // @ts-expect-error: there is no option `time`
    ctx.call(plain, 'a', { time: 1 });
    // @ts-expect-error: the input is a text
    ctx.call(plain, 7);
    const length: number = await ctx.call(plain, 'abc');
    const none = await ctx.call(maybe, 'a');
    is<Equal<typeof none, number | null>>();
    await ctx.call(nothing);
    await ctx.call(nothing, undefined, { timeout: 1 });
    const a: number = await ctx.call(vali, { a: 1 });
    const b: boolean = await ctx.call(arked, { b: 'x' });
    const named = await ctx.call<number>('wasm://other/f', { any: 'thing' });
    is<Equal<typeof named, number>>();
    const paidBy: string = await ctx.call(far, { cents: 1 });
    const id: string = await ctx.send(charge, { id: 'a', cents: 1 }, { delay: '7d' });
    // @ts-expect-error: a call does not begin later
    ctx.call(plain, 'a', { delay: '7d' });
    // @ts-expect-error: there is no such command
    ctx.cal(plain, 'a');
    ctx.stream('tokens').append({ any: ['thing'] });
    ctx.stream('log', { contentType: 'text/plain' }).close();
    // @ts-expect-error: there is no option `type`
    ctx.stream('log', { type: 'text/plain' });
    // @ts-expect-error: a workflow knows what it appended
    ctx.stream('tokens').kept();
    const numbers = ctx.readStream<number>(id, 'numbers', { from: 1 });
    for await (const item of numbers) is<Equal<typeof item, number>>();
    for await (const items of numbers.parts()) is<Equal<typeof items, number[]>>();
    for await (const text of ctx.readStream(id, 'log').text()) is<Equal<typeof text, string>>();
    for await (const bytes of ctx.readStream(id, 'sound').bytes()) is<Equal<typeof bytes, Uint8Array>>();
    for await (const item of ctx.readStream(id, 'any')) is<Equal<typeof item, unknown>>();
    is<Equal<typeof numbers.position, number>>();
    // @ts-expect-error: a reader only reads
    numbers.append(1);
    // @ts-expect-error: the position changes by reading
    numbers.position = 0;
    // @ts-expect-error: a position is a number
    ctx.readStream(id, 'numbers', { from: '1' });
    // @ts-expect-error: the name of the stream is missing
    ctx.readStream(id);
    const saga = ctx.saga('trip');
    await saga.call(plain, 'a', { compensate: undo, budget: { calls: 1 } });
    // @ts-expect-error: the compensation is of another step
    await saga.call(charge, { id: 'a', cents: 1 }, { compensate: undo });
    await ctx.sleep('1h').catch((error: Failure) => error.code);
    return [receipt, length, a, b, paidBy, id, input.note];
  },
);
const undo = activity(async ({ input, output }: Undo<string, number>) => [input, output]);
// @ts-expect-error: a workflow without signals
workflow(async (_: void, ctx) => ctx.signal('approved'));

export const Account = object({ state: { balance: z.int(), items: mapOf(z.string()) }, promises: { closed: z.string() } }, ({ exclusive, shared }) => ({
  deposit: exclusive({ input: z.int() }, async (cents, ctx) => {
    const balance = await ctx.state.get('balance');
    is<Equal<typeof balance, number | undefined>>();
    // @ts-expect-error: the balance is a number
    ctx.state.set('balance', '1');
    // @ts-expect-error: there is no such field
    ctx.state.get('balanse');
    // @ts-expect-error: it is a map
    ctx.state.get('items');
    const item: string | undefined = await ctx.state.map('items').get('a');
    const closed: string = await ctx.objectPromise('closed').wait();
    return [cents, item, closed].length;
  }),
  balance: shared(async (_: void, ctx) => ctx.key),
}));
workflow(async (_: void, ctx) => {
  const account = ctx.object(Account, 'ada');
  const count: number = await account.deposit(1);
  const key: string = await account.balance();
  const sent: string = await account.send.deposit(1, { delay: '1d' });
  // @ts-expect-error: it takes a number
  account.deposit('1');
  // @ts-expect-error: there is no such function
  account.withdraw(1);
  return [count, key, sent];
});

interface Poll {
  votes: string[];
}
export const poll = workflow(
  {
    shared: (): Poll => ({ votes: [] }),
    queries: { votes: query((shared: Poll) => shared.votes.length) },
    updates: { vote: update({ input: z.string() }, async (shared: Poll, voter) => shared.votes.push(voter)) },
  },
  async (_: void, ctx) => ctx.shared.votes,
);
workflow(
  {
    shared: () => ({ other: 1 }),
    // @ts-expect-error: the query is of another shared value
    queries: { votes: query((shared: Poll) => shared.votes.length) },
  },
  async () => {},
);

export async function tests(): Promise<void> {
  const t = new TestHost();
  t.on(charge, (input) => input.id);
  // @ts-expect-error: the double gives a number
  t.on(charge, () => 7);
  const result: unknown[] = await t.run(order, { id: 'a', cents: 1 });
  // @ts-expect-error: a field is missing
  await t.run(order, { id: 'a' });
  await t.run(order, { id: 'a', cents: 1 }, { budget: { calls: 3 } });
  // @ts-expect-error: a limit is a number
  await t.run(order, { id: 'a', cents: 1 }, { budget: { calls: '3' } });
  // @ts-expect-error: there is no option `limits`
  await t.run(order, { id: 'a', cents: 1 }, { limits: { calls: 3 } });
  await t.run(poll, undefined, { budget: { calls: 3 } });
  t.setBudget({ calls: 9 }, { after: '1h' }).on(charge, (_, { cost }) => (cost('usd', 0.1), 'a'));
  const limit: number | undefined = t.budget().calls?.limit;
  const [first] = t.calls(charge);
  const cents: number | undefined = first?.cents;
  const answer: number = t.update(poll, 'vote', 'ada').answer();
  const votes: number = t.query(poll, 'votes').answer();
  // @ts-expect-error: there is no such update
  t.update(poll, 'leave');
  // @ts-expect-error: it takes a text
  t.update(poll, 'vote', 7);
  const balance: number = await t.runObject(Account, 'ada', 'deposit', 1, { budget: { calls: 3 } });
  // @ts-expect-error: there is no such function
  await t.runObject(Account, 'ada', 'withdraw', 1);
  console.log(result, cents, answer, votes, balance, limit);
}

// Without an annotation a function takes nothing.
const pause = workflow(async (_, ctx) => ctx.sleep(1));
workflow(async (_, ctx) => {
  await ctx.call(pause);
  // @ts-expect-error: it takes nothing
  ctx.call(pause, 1);
});
const named = workflow({ name: 'named', signals: { go: type<number>() } }, async (_, ctx) => (await ctx.signal('go')) + 1);
workflow(async (_, ctx) => (await ctx.call(named)) + 1);
const Cart = object({}, ({ exclusive }) => ({ clear: exclusive(async (_, ctx) => ctx.state.clearAll()) }));
workflow(async (_, ctx) => ctx.object(Cart, 'a').clear());
