// One signal comes in time, and the next one does not. A signal with another name stays unread.

import { json, workflow } from '@segno/sdk';

export const namedSignalTimeout = workflow(
  { name: 'named-signal-timeout', signals: { approved: json<{ by: string }>({ type: 'object' }), other: json<number>({ type: 'number' }) } },
  async (_, ctx) => {
    const first = await ctx.signal('approved', { timeout: 20_000 });
    const second = await ctx.signal('approved', { timeout: 200 });
    return { by: first?.by ?? null, again: second ?? null };
  },
);
