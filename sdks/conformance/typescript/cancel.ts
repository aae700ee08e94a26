// Cancellation, from outside and of a command.

import { Failure, activity, json, workflow } from '@segno/sdk';

const code = (error: unknown): number => {
  if (error instanceof Failure) return error.code;
  throw error;
};

export const release = activity(async (room: number) => room);

export const cancelCleanup = workflow({ name: 'cancel-cleanup', input: json<number>({ type: 'integer' }) }, async (room, ctx) => {
  try {
    await ctx.sleep('1h');
  } finally {
    await ctx.call(release, room);
  }
});

export const cancelAnswered = workflow({ name: 'cancel-answered' }, async (_, ctx) => {
  try {
    await ctx.sleep('1h');
  } catch {
    return ['stopped', ctx.isCancelled];
  }
  return [];
});

export const cancelSleep = workflow({ name: 'cancel-sleep' }, async (_, ctx) => {
  const sleep = ctx.sleep('1h');
  await sleep.cancel();
  return sleep.then(() => 0, code);
});

export const search = workflow(async (_: void, ctx) => {
  try {
    await ctx.sleep('1h');
  } catch {
    return 'found nothing so far';
  }
  return 'found';
});

export const cancelCall = workflow({ name: 'cancel-call' }, async (_, ctx) => {
  const searching = ctx.call(search);
  await ctx.sleep(300);
  await searching.cancel();
  return searching;
});

export const manager = workflow(async (_: void, ctx) => ctx.call(search).catch((error: Failure) => error.code));

export const cancelTree = workflow({ name: 'cancel-tree', signals: { stop: json<null>({}) } }, async (_, ctx) => {
  const managing = ctx.call(manager);
  await ctx.signal('stop');
  await managing.cancel();
  const answer = await managing;
  await ctx.sleep(500);
  return answer;
});
