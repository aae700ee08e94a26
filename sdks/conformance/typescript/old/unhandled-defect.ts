// A function that nobody awaits throws an error: a defect, which halts the execution.

import { workflow } from '@segno/sdk';

async function forgotten(pause: () => Promise<void>): Promise<void> {
  await pause();
  throw new TypeError('nobody sees this');
}

export const unhandledDefect = workflow({ name: 'unhandled-defect' }, async (_, ctx) => {
  void forgotten(() => ctx.sleep(200));
  await ctx.sleep(10_000);
  return 'nothing was wrong';
});
