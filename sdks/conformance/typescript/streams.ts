// Streams that a workflow and its activity write.

import { activity, type Failure, workflow } from '@segno/sdk';

const TEXT = { contentType: 'text/plain' };

export const recite = activity({ retry: { initial: 10, jitter: 0, maxAttempts: 3 } }, async (words: string[], ctx) => {
  const [tokens, log] = [ctx.stream('tokens'), ctx.stream('log', TEXT)];
  const kept = tokens.kept();
  for (const word of words.slice(kept)) {
    tokens.append({ word });
    log.append(`${word}\n`);
    if (word === 'two') throw new Error('lost');
  }
  return kept;
});

export const streamWrite = workflow({ name: 'stream-write' }, async (_, ctx) => {
  const [tokens, log] = [ctx.stream('tokens'), ctx.stream('log', TEXT)];
  tokens.append({ begin: true });
  log.append('grüß dich\n');
  await ctx.sleep(500);
  const kept = await ctx.call(recite, ['one', 'two', 'three']);
  tokens.append([1, null, 'end']);
  log.close();
  try {
    log.append('late');
  } catch (error) {
    return [kept, (error as Failure).code];
  }
  return [kept, 0];
});
