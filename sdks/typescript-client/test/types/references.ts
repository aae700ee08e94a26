// What `segno types` writes, as programs use it. Each `@ts-expect-error` is an error that an author gets.

import { type Order, shop } from '../../../../host/types/tests/golden/shop.js';
import { Client, type Execution, reference } from '../../src/index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>(): void => {};

const client = new Client();
const given: Order = { id: 'o-1', cents: 1, lines: [], gift: true, 'paid with': 'voucher' };

export async function program(): Promise<void> {
  const receipt = await client.call(shop.order, given, { id: 'o-1', waitMs: 1_000 });
  is<Equal<typeof receipt, string | null>>();
  // @ts-expect-error: fields are missing
  await client.call(shop.order, { id: 'o-1' });
  // @ts-expect-error: the input is missing
  await client.start(shop.order);
  // @ts-expect-error: there is no option `idd`
  await client.start(shop.order, given, { idd: 'o-1' });
  const lines = await client.call(shop.Cart('ada').add, 'tea');
  is<Equal<typeof lines, string[]>>();

  const order = await client.start(shop.order, given);
  is<Equal<Awaited<ReturnType<typeof order.result>>, string | null>>();
  await order.signal('approved', { by: 'ada' }, { key: 'a' });
  await order.signal('stop');
  // @ts-expect-error: there is no such signal
  await order.signal('aproved', { by: 'ada' });
  // @ts-expect-error: the payload is an object
  await order.signal('approved', 'ada');
  // @ts-expect-error: the payload is missing
  await order.signal('approved');
  const status = await order.query('status');
  is<Equal<typeof status, 'waiting' | 'charged'>>();
  // @ts-expect-error: there is no such query
  await order.query('state');
  const count = await order.update('add-line', { item: 'tea', cents: 1 });
  is<Equal<typeof count, number>>();
  const later = await (await order.sendUpdate('add-line', { item: 'tea', cents: 1 })).result();
  is<Equal<typeof later, number>>();
  // @ts-expect-error: a field is missing
  await order.update('add-line', { item: 'tea' });
  await order.promise('receipt-sent').resolve(true);
  // @ts-expect-error: the value is a boolean
  await order.promise('receipt-sent').resolve('yes');
  // @ts-expect-error: there is no such promise
  order.promise('receipt');
  const again = client.execution('o-1', shop.order);
  is<Equal<typeof again, typeof order>>();
  is<Equal<Awaited<ReturnType<typeof order.restart>>, typeof order>>();

  // Declared by hand; kinds of messages that are left out take any name.
  const loose = reference<string, number, { signals: { go: boolean } }>('shop/loose');
  const running = await client.start(loose, 'a');
  await running.signal('go', true);
  const leader = await running.query<string>('leader');
  is<Equal<typeof leader, string>>();

  // By name, as before.
  const named: Execution<string> = await client.start<string>('shop/order', given);
  await named.signal('anything', 7);
  const any = await named.query<string | null>('leader');
  is<Equal<typeof any, string | null>>();
  const text = await client.call<string>('shop/order');
  is<Equal<typeof text, string>>();
  await (await client.start(shop.delete)).signal('anything');
}
