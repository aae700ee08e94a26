// A node of a graph fails: those that need it do not run, the others finish, and a workflow reads the report.

import { Failure, activity, graph, workflow } from '@segno/sdk';

export const refuse = activity(async (what: string) => {
  throw new Failure(409, `no ${what}`, { what });
});
export const accept = activity(async (what: string) => what);

export const breaks = graph({ name: 'breaks' }, (g) => {
  const fine = g.call('fine', accept, 'tea');
  const wrong = g.call('wrong', refuse, 'milk');
  const after = g.call('after', accept, wrong);
  const rested = g.sleep('rest', '50ms', { after: fine });
  return [after, g.call('end', accept, 'sugar', { after: [after, rested] })];
});

export const graphFailure = workflow({ name: 'graph-failure' }, async (_, ctx) => {
  const report = await ctx.call(breaks).catch((error: Failure) => ({ code: error.code, message: error.message, details: error.details }));
  const wrong = await ctx.graph({ nodes: { a: { call: 'accept', needs: ['b'] } } }).catch((error: Failure) => [error.code, error.message]);
  const fast = await ctx
    .graph({ nodes: { slow: { sleep: '1d' }, wrong: { call: 'refuse', input: 'salt' } }, on_failure: 'fail-fast' })
    .catch((error: Failure) => [error.message, error.details]);
  return [report, wrong, fast];
});
