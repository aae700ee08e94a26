// What `segno types` writes, as workflows call it. Each `@ts-expect-error` is an error that an author gets.

import { workflow } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';
import { type Order, type Payment, shop } from '../../../../host/types/tests/golden/shop.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>(): void => {};

const invoice: Payment = { kind: 'invoice', days: 14 };
const order: Order = {
  id: 'o-1',
  cents: 1,
  lines: [{ item: 'tea', cents: 1, parts: [{ item: 'leaf', cents: 0 }] }],
  gift: null,
  'paid with': invoice,
  place: [1, 2],
  range: ['a', 1, true, false],
  notes: { any: ['thing', null, { deep: 1 }] },
  contact: null,
  address: { city: 'Ghent', street: 7 },
  version: 1,
};
// @ts-expect-error: there is no such kind of payment
const wrong: Payment = { kind: 'cash' };

export const caller = workflow(async (_, ctx) => {
  const receipt = await ctx.call(shop.order, order, { timeout: '1h' });
  is<Equal<typeof receipt, string | null>>();
  // @ts-expect-error: fields are missing
  ctx.call(shop.order, { id: 'o-1' });
  // @ts-expect-error: the input is missing
  ctx.call(shop.order);
  const none = await ctx.call(shop['send-mail'], { to: 'ada' });
  is<Equal<typeof none, null>>();
  const ended = await ctx.call(shop.nightly);
  if (ended.kind === 'done') is<Equal<typeof ended.orders, number>>();
  else is<Equal<typeof ended.reason, string>>();
  await ctx.call(shop.delete);
  const lines = await ctx.call(shop.Cart('ada').add, 'tea');
  is<Equal<typeof lines, string[]>>();
  // @ts-expect-error: the input is a text
  ctx.send(shop.Cart('ada').add, 7, { delay: '1d' });
  const id: string = await ctx.send(shop.Cart('ada').add, 'tea');
  // @ts-expect-error: there is no such function
  ctx.call(shop.orders, order);
  return [id, wrong];
});

new TestHost().on(shop.order, (given) => `receipt for ${given.id}`);
