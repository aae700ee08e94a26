// A workflow by key waits for a promise of its object, which another function settles.

import { json, object, workflow } from '@segno/sdk';

export const Delivery = object({ state: { to: json<string>({}) }, promises: { signed: json<string>({}) } }, ({ once, shared }) => ({
  deliver: once({ input: json<string>({}) }, async (to, ctx) => {
    ctx.state.set('to', to);
    return `${to}, signed by ${await ctx.objectPromise('signed').wait()}`;
  }),
  sign: shared({ input: json<string>({}) }, async (by, ctx) => ctx.objectPromise('signed').resolve(by)),
  status: shared(async (_, ctx) => ({ to: (await ctx.state.get('to')) ?? null, signed: (await ctx.objectPromise('signed').peek()) ?? null })),
}));

export const objectPromise = workflow({ name: 'object-promise' }, async (_, ctx) => {
  const delivery = ctx.object(Delivery, 'basket-1');
  const delivered = delivery.deliver('ada');
  await ctx.sleep(300);
  const before = await delivery.status();
  await delivery.sign('bob');
  const again = await delivery.sign('eve').catch((error) => error.code);
  return { before, again, delivered: await delivered, after: await delivery.status() };
});
