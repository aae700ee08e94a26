// What the compiler accepts and refuses in graphs.

import { type Output, activity, graph, workflow } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';
import { z } from 'zod';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>(): void => {};

const Sources = z.object({ north: z.string(), limits: z.array(z.number()), note: z.string().optional() });
const fetchRows = activity(async (_source: string) => ({ rows: 1, of: ['a'] }));
const merge = activity(async ([left, right]: [{ rows: number }, { rows: number }]) => ({ rows: left.rows + right.rows }));
const report = activity(async (given: { rows: number | null; title?: string }) => `${given.rows}`);
const now = activity(async () => 1);

export const prices = graph({ input: Sources, maxParallel: 4 }, (g, sources) => {
  const north = g.call('north', fetchRows, sources.at('north'), { retry: { maxAttempts: 2 }, timeout: '1m' });
  is<Equal<typeof north, Output<{ rows: number; of: string[] }>>>();
  g.call('constant', fetchRows, 'a text');
  g.call('item', fetchRows, north.at('of').at(0));
  g.call('now', now);
  // @ts-expect-error: the input is a text
  g.call('number', fetchRows, sources.at('limits').at(0));
  // @ts-expect-error: there is no such field
  sources.at('south');
  // @ts-expect-error: it takes two
  g.call('merge', merge, [north]);
  // @ts-expect-error: the input is missing
  g.call('missing', fetchRows);
  // @ts-expect-error: there is no option `retries`
  g.call('options', fetchRows, 'a', { retries: 1 });
  const merged = g.call('merge', merge, [north, { rows: 3 }], { when: north.at('rows').above(2).and(sources.at('note').exists()) });
  is<Equal<typeof merged, Output<{ rows: number } | null>>>();
  const text = g.call('report', report, { rows: merged.at('rows'), title: 'b' }, { after: [north] });
  const approved = g.promise<boolean>('approved', { shows: { text }, timeout: '3d' });
  const asked = g.http('ask', { url: 'https://example.com', json: { rows: north.at('rows') } });
  return { text, merged, list: [approved, asked.at('status')] };
});

export const both = workflow(async (_, ctx) => {
  const told = await ctx.call(prices, { north: 'n', limits: [] });
  is<Equal<typeof told.text, string>>();
  is<Equal<typeof told.merged, { rows: number } | null>>();
  // @ts-expect-error: the input has no field `north`
  await ctx.call(prices, { limits: [] });
  const one = graph((g) => g.call('now', now));
  is<Equal<Awaited<ReturnType<typeof ctx.call<void, number>>>, number>>();
  const number: number = await ctx.call(one);
  const t: string = (await new TestHost().run(prices, { north: 'n', limits: [] })).text;
  return [number, t];
});
