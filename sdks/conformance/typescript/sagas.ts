// Sagas: steps that are undone, the last one first.

import { Failure, type Undo, activity, json, workflow } from '@segno/sdk';

export const book = activity(async (item: string) => {
  if (item === 'hotel') throw new Failure(404, 'there is no hotel');
  return `${item} 7`;
});

export const unbook = activity(async ({ input }: Undo<string, string>) => {
  if (input === 'ferry') throw new Failure(422, 'a ferry is not given back');
});

export const refund = activity(async (_: unknown) => {});

export const sagaUndo = workflow({ name: 'saga-undo' }, async (_, ctx) => {
  const saga = ctx.saga('trip');
  await saga.call(book, 'flight', { compensate: unbook });
  await saga.call(book, 'car', { compensate: unbook, compensateUnknown: true });
  await saga.call(book, 'hotel', { compensate: unbook });
  return 'booked';
});

export const sagaDone = workflow({ name: 'saga-done' }, async (_, ctx) => {
  const saga = ctx.saga('trip');
  const flight = await saga.call(book, 'flight', { compensate: unbook });
  saga.complete();
  throw new Failure(409, `${flight} stays`);
});

export const sagaAbort = workflow({ name: 'saga-abort' }, async (_, ctx) => {
  const saga = ctx.saga('trip');
  await saga.call(book, 'flight', { compensate: unbook });
  await saga.abort('nobody wants to go');
});

export const sagaNested = workflow({ name: 'saga-nested' }, async (_, ctx) => {
  const outer = ctx.saga('outer');
  const flight = await outer.call(book, 'flight', { compensate: unbook });
  try {
    const inner = ctx.saga('inner');
    await inner.scope(async () => {
      await inner.call(book, 'car', { compensate: unbook });
      await inner.call(book, 'hotel', { compensate: unbook });
    });
  } catch (error) {
    return [flight, (error as Failure).message];
  }
  return [];
});

export const sagaUndoFails = workflow({ name: 'saga-undo-fails' }, async (_, ctx) => {
  const saga = ctx.saga('trip');
  await saga.call(book, 'flight', { compensate: unbook });
  await saga.call(book, 'ferry', { compensate: unbook });
  await saga.call(book, 'hotel', { compensate: unbook });
});

export const sagaCancelled = workflow({ name: 'saga-cancelled' }, async (_, ctx) => {
  const saga = ctx.saga('trip');
  await saga.call(book, 'flight', { compensate: unbook });
  await ctx.sleep('1h');
});

export const sagaHttp = workflow({ name: 'saga-http', input: json<string>({ type: 'string' }) }, async (url, ctx) => {
  const saga = ctx.saga('pay');
  await saga.http({ method: 'POST', url: `${url}/pay` }, { compensate: refund });
  throw new Failure(409, 'changed my mind');
});
