import { activity, workflow, type } from '@segno/sdk';

/** Ends immediately. */
export const noop = workflow(async () => null);

/** Awaits promises that a client settles. */
export const turns = workflow({ input: type<{ turns: number }>() }, async (input, ctx) => {
  for (let turn = 0; turn < input.turns; turn += 1) await ctx.promise(`turn-${turn}`);
  return input.turns;
});

/** Returns its input. */
export const leaf = activity({ input: type<number>(), output: type<number>() }, async (number) => number);
