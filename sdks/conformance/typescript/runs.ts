// Computations that are kept, and what is the same in every replay.

import { Failure, workflow } from '@segno/sdk';

export const runRandom = workflow({ name: 'run-random' }, async (_, ctx) => {
  const number = Math.random();
  const kept = await ctx.run('kept', () => Math.floor(Math.random() * 1_000_000));
  const begun = Date.now();
  await ctx.sleep(1_000);
  return number >= 0 && number < 1 && kept >= 0 && kept < 1_000_000 && Date.now() - begun >= 1_000 && crypto.randomUUID() !== crypto.randomUUID();
});

export const runFailed = workflow({ name: 'run-failed' }, async (_, ctx) => {
  try {
    await ctx.run('parse', (): number => {
      throw new Failure(422, 'no number', { text: 'x' });
    });
  } catch (error) {
    if (error instanceof Failure) return [error.code, error.message, error.details];
  }
  return [];
});

export const runOrder = workflow({ name: 'run-order' }, async (_, ctx) => {
  const first = await ctx.run('first', () => [1, 'a']);
  await ctx.publish('runs', first);
  return ctx.run('second', () => ({ first }));
});
