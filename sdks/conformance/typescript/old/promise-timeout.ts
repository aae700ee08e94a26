// A promise that nobody settles in time, one that is resolved, and one that is rejected.

import { Failure, json, workflow } from '@segno/sdk';

export const promiseTimeout = workflow({ name: 'promise-timeout', promises: { late: json<string>({}), answer: json<number>({}), refused: json<number>({}) } }, async (_, ctx) => {
  const code = (error: unknown) => {
    if (error instanceof Failure) return error.code;
    throw error;
  };
  const late = await ctx.promise('late', { timeout: 200 }).catch(code);
  const answer = await ctx.promise('answer');
  const refused = await ctx.promise('refused').catch(code);
  return { late, answer, refused };
});
