// A child that settles a promise of its parent, another one that is only sent, and a signal between workflows.

import { json, workflow } from '@segno/sdk';

export const worker = workflow(async (promise: string, ctx) => {
  await ctx.resolve(promise, 'all is well');
  return ctx.resolve(promise, 'too late').catch((error) => error.code as number);
});

export const receiver = workflow({ signals: { hello: json<string>({}) } }, async (_, ctx) => ctx.signal('hello'));

export const later = workflow(async (text: string) => text);

export const childSend = workflow({ name: 'child-send' }, async (_, ctx) => {
  const report = ctx.promise<string>();
  const late = await ctx.call(worker, report.id);
  const sent = await ctx.send(later, 'next week', { delay: '7d', labels: { kind: 'follow-up' } });
  const waiting = ctx.call(receiver);
  await ctx.sleep(300);
  await ctx.sendSignal(waiting.id, 'hello', 'from above');
  return { report: await report, late, sent, waiting: await waiting };
});
