// A cancelled workflow cleans up with ordinary code, and ends as cancelled.

import { activity, workflow } from '@segno/sdk';

export const release = activity(async (room: number) => room);

export const cancelCleanup = workflow({ name: 'cancel-cleanup' }, async (room: number, ctx) => {
  try {
    await ctx.sleep('1d');
  } finally {
    await ctx.call(release, room);
  }
  return 'not cancelled';
});
