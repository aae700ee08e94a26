// Several parts at the same time, whose commands interleave: the order of events is the engine's, and the numbers of the
// commands show it.

import { json, object, workflow } from '@segno/sdk';

export const Notes = object({ state: { count: json<number>({}) } }, ({ exclusive }) => ({
  mix: exclusive(async (_, ctx) => {
    const read = async (n: number) => {
      const before = (await ctx.state.get('count')) ?? 0;
      ctx.state.set('count', before + n);
      await ctx.run(`read ${n}`, () => before);
      return ctx.state.get('count');
    };
    const publish = async () => {
      await ctx.publish('mixed', 1);
      const names = await ctx.state.names();
      await ctx.publish('mixed', names.length);
      return ctx.run('published', () => 'published');
    };
    const counts = await Promise.all([read(1), publish(), read(2), ctx.run('first', () => 1).then(() => ctx.state.get('count'))]);
    return counts.length;
  }),
}));

export const interleaving = workflow({ signals: { go: json<number>({}) } }, async (_, ctx) => {
  const runs = async (name: string, pause: number) => {
    await ctx.run(`${name} 1`, () => 1);
    await ctx.publish(name, 1);
    await ctx.run(`${name} 2`, () => 2);
    await ctx.sleep(pause);
    await ctx.publish(name, 2);
  };
  const sends = async () => {
    const promise = ctx.promise('p');
    await ctx.resolve(promise.id, 'by myself');
    await ctx.publish('resolved', await promise);
    const sleep = ctx.sleep('1h');
    await sleep.cancel();
    await sleep.catch(() => ctx.publish('cancelled', 1));
    await ctx.sleep(0);
    await ctx.run('after zero', () => 0);
  };
  const timers = async () => {
    await Promise.all([new Promise((resolve) => setTimeout(resolve, 100)), ctx.run('beside a timer', () => 0)]);
    await ctx.publish('timer', 1);
  };
  const signals = async () => {
    const first = await ctx.signal('go', { timeout: 30_000 });
    await ctx.run('signalled', () => first ?? null);
    await ctx.publish('signalled', await ctx.signal('go'));
  };
  await Promise.all([runs('a', 200), sends(), runs('b', 300), timers(), signals()]);
  return ctx.object(Notes, 'n').mix();
});
