// Queries and updates.

import { Failure, activity, json, query, update, workflow } from '@segno/sdk';

interface Poll {
  votes: string[];
  isOver: boolean;
}

const voter = json<string>({ type: 'string' });

export const isKnown = activity({ name: 'is-known' }, async (voter: string) => voter !== 'mallory');

export const queryUpdate = workflow(
  {
    name: 'query-update',
    shared: (): Poll => ({ votes: [], isOver: false }),
    queries: { votes: query((poll: Poll) => poll.votes.length) },
    updates: {
      vote: update(
        {
          input: voter,
          validate(poll: Poll, voter) {
            if (poll.votes.includes(voter)) throw new Failure(422, `${voter} has voted`);
          },
        },
        async (poll: Poll, voter, ctx) => {
          if (!(await ctx.call(isKnown, voter))) throw new Failure(403, 'who is that?');
          return poll.votes.push(voter);
        },
      ),
      close: update((poll: Poll) => {
        poll.isOver = true;
      }),
    },
  },
  async (_, ctx) => {
    await ctx.until(() => ctx.shared.isOver);
    await ctx.updatesDone();
    return ctx.shared.votes;
  },
);

export const updatesDone = workflow(
  {
    name: 'updates-done',
    shared: (): { doors: number } => ({ doors: 0 }),
    queries: { more: query({ input: json<number>({ type: 'integer' }) }, (house: { doors: number }, than) => house.doors > than) },
    updates: {
      open: update({ input: json<number>({ type: 'integer' }) }, async (house: { doors: number }, door, ctx) => {
        house.doors += 1;
        await ctx.sleep(500);
        return door;
      }),
    },
  },
  async (_, ctx) => {
    await ctx.until(() => ctx.shared.doors === 1);
    await ctx.updatesDone();
    return ctx.shared.doors;
  },
);
