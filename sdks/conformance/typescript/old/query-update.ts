// An auction is asked for its leader, and told bids.

import { Failure, json, query, update, workflow } from '@segno/sdk';

interface Auction {
  bids: number[];
  isClosed: boolean;
}

const cents = json<number>({ type: 'integer' });

export const queryUpdate = workflow(
  {
    name: 'query-update',
    shared: (): Auction => ({ bids: [], isClosed: false }),
    queries: { highest: query((auction: Auction) => auction.bids.at(-1) ?? 0) },
    updates: {
      bid: update(
        {
          input: cents,
          validate(auction: Auction, bid) {
            if (bid <= (auction.bids.at(-1) ?? 0)) throw new Failure(422, 'bid more');
          },
        },
        async (auction: Auction, bid, ctx) => {
          await ctx.sleep(50);
          return auction.bids.push(bid);
        },
      ),
      close: update((auction: Auction) => {
        auction.isClosed = true;
      }),
    },
  },
  async (_, ctx) => {
    await ctx.until(() => ctx.shared.isClosed);
    await ctx.updatesDone();
    return ctx.shared.bids;
  },
);
