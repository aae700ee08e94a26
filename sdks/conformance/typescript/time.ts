// Sleeps, deadlines and races with them.

import { Failure, activity, workflow } from '@segno/sdk';

const HOUR = 3_600_000;
const code = (error: unknown): number => {
  if (error instanceof Failure) return error.code;
  throw error;
};

export const raceSleep = workflow({ name: 'race-sleep' }, async (_, ctx) => {
  return Promise.race([ctx.sleep(100).then(() => 'short'), ctx.sleep(HOUR).then(() => 'long')]);
});

export const sleepZero = workflow({ name: 'sleep-zero' }, async (_, ctx) => {
  await ctx.sleep(0);
  return 'slept';
});

export const sleepUntil = workflow({ name: 'sleep-until' }, async (_, ctx) => {
  const due = ctx.startedAt.getTime() + 200;
  await ctx.sleepUntil(new Date(due));
  return Date.now() >= due;
});

export const sleepPast = workflow({ name: 'sleep-past' }, async (_, ctx) => {
  await ctx.sleepUntil(new Date(1_000));
  return 'slept';
});

export const sleepTogether = workflow({ name: 'sleep-together' }, async (_, ctx) => {
  const long = ctx.sleep(400);
  const short = ctx.sleep(100);
  await long;
  await short;
  return 'slept';
});

export const sleepy = workflow(async (_: void, ctx) => {
  await ctx.sleep(HOUR);
  return 'awake';
});

export const deadlineOfCall = workflow({ name: 'deadline-of-call' }, async (_, ctx) => ctx.call(sleepy, undefined, { timeout: 200 }).then(() => 0, code));

export const never = activity({ retry: { initial: '1h', jitter: 0 } }, async (): Promise<void> => {
  throw new Error('never');
});

export const deadlineOfRetries = workflow({ name: 'deadline-of-retries' }, async (_, ctx) => ctx.call(never, undefined, { timeout: 200 }).then(() => 0, code));

export const interleaving = workflow({ name: 'interleaving' }, async (_, ctx) => {
  const order: string[] = [];
  const part = async (name: string, pause: number): Promise<void> => {
    await ctx.run(`${name} begins`, () => name);
    await ctx.sleep(pause);
    await ctx.publish(name, pause);
    order.push(name);
    await ctx.sleep(pause);
    order.push(await ctx.run(`${name} ends`, () => name));
  };
  await Promise.all([part('a', 900), part('b', 300), part('c', 1_500)]);
  return order;
});
