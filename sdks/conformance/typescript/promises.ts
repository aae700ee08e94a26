// Promises: named and unnamed ones, with and without a time limit.

import { Failure, json, workflow } from '@segno/sdk';

const code = (error: unknown): number => {
  if (error instanceof Failure) return error.code;
  throw error;
};

export const promiseTimeout = workflow({ name: 'promise-timeout', promises: { never: json<boolean>({}), answer: json<boolean>({ type: 'boolean' }) } }, async (_, ctx) => {
  const late = await ctx.promise('never', { timeout: 100 }).catch(code);
  return [late, await ctx.promise('answer', { timeout: '1h' })];
});

export const promiseRejected = workflow({ name: 'promise-rejected', promises: { answer: json<boolean>({}) } }, async (_, ctx) => {
  return ctx.promise('answer').then(
    () => [],
    (error: Failure) => [error.code, error.message],
  );
});

export const promiseEarly = workflow({ name: 'promise-early', promises: { early: json<string>({}) }, signals: { go: json<null>({}) } }, async (_, ctx) => {
  await ctx.signal('go');
  return ctx.promise('early');
});

export const settler = workflow(async (promise: string, ctx) => {
  await ctx.resolve(promise, 'all is well');
  return ctx.resolve(promise, 'too late').then(() => 0, code);
});

export const promiseGivenAway = workflow({ name: 'promise-given-away' }, async (_, ctx) => {
  const report = ctx.promise<string>();
  const late = await ctx.call(settler, report.id);
  return [await report, late];
});

export const promiseUnknown = workflow({ name: 'promise-unknown' }, async (_, ctx) => ctx.resolve('nobody/p/nothing', 1).then(() => 0, code));

export const promiseCancelled = workflow({ name: 'promise-cancelled', promises: { never: json<boolean>({}) } }, async (_, ctx) => {
  const promise = ctx.promise('never');
  await promise.cancel();
  return promise.then(() => 0, code);
});

export const promiseTwice = workflow({ name: 'promise-twice', promises: { answer: json<string>({ type: 'string' }) } }, async (_, ctx) => {
  return Promise.all([ctx.promise('answer'), ctx.promise('answer')]);
});
