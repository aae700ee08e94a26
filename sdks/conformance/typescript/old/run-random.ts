// Random numbers, UUIDs and time are the same in every replay; a computation is done once.

import { workflow } from '@segno/sdk';

export const runRandom = workflow({ name: 'run-random' }, async (_, ctx) => {
  const drawn = await ctx.run('draw', () => Math.random());
  const id = crypto.randomUUID();
  await ctx.sleep(300);
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return { drawn, again: Math.random(), id, bytes: bytes.length, elapsed: Date.now() - ctx.startedAt.getTime() >= 300 };
});
