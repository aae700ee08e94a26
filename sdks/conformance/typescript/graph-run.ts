// A graph: nodes side by side, a person, a signal, a condition, a nested graph, and a workflow that is attempted twice.

import { Failure, type Place, activity, graph, workflow } from '@segno/sdk';

export const weigh = activity(async (text: string) => ({ weight: text.length }));
export const join = activity(async ([left, right]: [{ weight: number }, { weight: number }]) => ({ weight: left.weight + right.weight }));

export const secondTry = workflow({ name: 'second-try' }, async (weight: number, ctx) => {
  const doubled = await ctx.run('double', () => weight * 2);
  if (ctx.id.endsWith('/0')) throw new Failure(503, 'not at once');
  return doubled;
});

export const weights = graph({ name: 'weights' }, (g, text: Place<string>) => {
  const left = g.call('left', weigh, text);
  return g.call('join', join, [left, { weight: 1 }]);
});

export const graphRun = graph({ name: 'graph-run', maxParallel: 4 }, (g, text: Place<string>) => {
  const first = g.call('first', weights, text);
  const second = g.call('second', weigh, text);
  const joined = g.call('join', join, [first, second]);
  const tried = g.call('try', secondTry, joined.at('weight'), { retry: { initial: '50ms', maxAttempts: 3 } });
  const approved = g.promise<boolean>('approve', { shows: { joined } });
  const released = g.signal('release', { timeout: '1h' });
  const rested = g.sleep('rest', '20ms', { after: released });
  const light = g.call('light', weigh, 'light', { when: joined.at('weight').below(3).or(approved.is(false)) });
  const heavy = g.call('heavy', weigh, 'heavy', { when: joined.at('weight').atLeast(3).and(approved.is(true)), after: rested });
  return { tried, approved, released, light, of: [heavy.at('weight'), joined] };
});
