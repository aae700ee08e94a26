// The third step of a trip fails: the two before it are undone, the last one first.

import { Failure, type Undo, activity, workflow } from '@segno/sdk';

export const book = activity(async (what: string) => {
  if (what === 'car') throw new Failure(404, 'there is no car');
  return `${what}, number 7`;
});

export const unbook = activity(async ({ output }: Undo<string, string>) => output);

export const sagaUndo = workflow({ name: 'saga-undo' }, async (_, ctx) => {
  const saga = ctx.saga('trip');
  const flight = await saga.call(book, 'flight', { compensate: unbook });
  const hotel = await saga.call(book, 'hotel', { compensate: unbook });
  const car = await saga.call(book, 'car', { compensate: unbook });
  return [flight, hotel, car];
});
