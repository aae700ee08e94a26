// A wait for a signal that loses a race takes nothing: the next wait gets the signal.

import { json, workflow } from '@segno/sdk';

export const signalRaceLoser = workflow({ name: 'signal-race-loser', signals: { go: json<number>({ type: 'integer' }) } }, async (_, ctx) => {
  const first = await Promise.race([ctx.signal('go'), ctx.sleep(200).then(() => 'nobody')]);
  const second = await ctx.signal('go');
  const third = await ctx.signal('go');
  return [first, second, third];
});
