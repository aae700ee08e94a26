// Failures that the host makes: their codes and messages.

import { type Failure, activity, object, withJsonSchema, workflow } from '@segno/sdk';

export const never = activity({ retry: { initial: '1h', jitter: 0 } }, async (): Promise<void> => {
  throw new Error('never');
});

/** A schema of one's own. */
const Whole = withJsonSchema(
  {
    '~standard': {
      version: 1 as const,
      vendor: 'conformance',
      types: undefined as unknown as { input: number; output: number },
      validate: (value: unknown) => (Number.isInteger(value) ? { value: value as number } : { issues: [{ message: 'is no whole number' }] }),
    },
  },
  { type: 'integer' },
);

export const half = activity({ input: Whole, output: Whole, retry: { maxAttempts: 1 } }, async (number: number) => number / 2);

export const Once = object({}, ({ once }) => ({ go: once(async () => 'went') }));

export const hostFailures = workflow({ name: 'host-failures' }, async (url: string, ctx) => {
  const told: string[] = [];
  const note = (error: Failure) => void told.push(`${error.code} ${error.message}`);
  await ctx.call(never, undefined, { timeout: 300 }).catch(note);
  const sleep = ctx.sleep('1h');
  await sleep.cancel();
  await sleep.catch(note);
  const promise = ctx.promise('unknown');
  await promise.cancel();
  await promise.catch(note);
  await ctx.http(`${url}/broken`, { retry: { initial: 10, maxAttempts: 2 } }).catch(note);
  await ctx.resolve('nobody/p/nothing', 1).catch(note);
  await ctx.sendSignal('nobody', 'hello').catch(note);
  const run = ctx.object(Once, 'k');
  await run.go();
  await run.go().catch(note);
  await ctx.call('half', 'four').catch((error) => void told.push(`${error.code}`));
  await ctx.call(half, 3).catch(note);
  const controller = new AbortController();
  const aborted = ctx.sleep('1h', { signal: controller.signal });
  controller.abort();
  await aborted.catch(note);
  return told;
});
