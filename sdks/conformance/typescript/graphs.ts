// Graphs: runs that end well, and a run of which a node fails.

import { Failure, type Place, activity, graph, workflow } from '@segno/sdk';

export const weigh = activity(async (text: string) => text.length);
export const join = activity(async ([left, right]: [number, number]) => left + right);

export const secondTry = workflow({ name: 'second-try' }, async (weight: number, ctx) => {
  const doubled = await ctx.run('double', () => weight * 2);
  if (ctx.id.endsWith('/0')) throw new Failure(503, 'not at once');
  return doubled;
});

export const weights = graph({ name: 'weights' }, (g, text: Place<string>) => {
  const left = g.call('left', weigh, text);
  return g.call('join', join, [left, 1]);
});

export const graphRun = graph({ name: 'graph-run', maxParallel: 4 }, (g, text: Place<string>) => {
  const first = g.call('first', weights, text);
  const second = g.call('second', weigh, text);
  const joined = g.call('join', join, [first, second]);
  const tried = g.call('try', secondTry, joined, { retry: { initial: '50ms', maxAttempts: 3 } });
  const approved = g.promise<boolean>('approve', { shows: joined });
  const released = g.signal<string>('release', { timeout: '1h' });
  const rested = g.sleep('rest', '20ms', { after: released });
  const light = g.call('light', weigh, 'light', { when: joined.below(3).or(approved.is(false)) });
  const heavy = g.call('heavy', weigh, 'heavy', { when: joined.atLeast(3).and(approved.is(true)), after: rested });
  return [tried, light, heavy];
});

export const refuse = activity(async (drink: string): Promise<string> => {
  throw new Failure(409, `no ${drink}`, { drink });
});
export const accept = activity(async (drink: string) => drink);

export const breaks = graph({ name: 'breaks' }, (g) => {
  const fine = g.call('fine', accept, 'tea');
  const after = g.call('after', accept, g.call('wrong', refuse, 'milk'));
  const rested = g.sleep('rest', '50ms', { after: fine });
  return [after, g.call('end', accept, 'sugar', { after: [after, rested] })];
});

const failed = ({ code, message, details }: Failure): unknown[] => [code, message, details ?? null];

export const graphFailure = workflow({ name: 'graph-failure' }, async (_, ctx) => {
  const slow = { nodes: { slow: { sleep: '1d' }, wrong: { call: 'refuse', input: 'salt' } }, on_failure: 'fail-fast' };
  return [await ctx.call(breaks).catch(failed), await ctx.graph({ nodes: { a: { call: 'accept', needs: ['b'] } } }).catch(failed), await ctx.graph(slow).catch(failed)];
});
