// Programs that use libraries and the globals of the language, and programs with defects.

import { Failure, activity, workflow } from '@segno/sdk';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type as ark } from 'arktype';
import { addDays, format } from 'date-fns';
import { groupBy } from 'lodash-es';
import { nanoid } from 'nanoid';
import { v4, v7 } from 'uuid';
import * as v from 'valibot';
import { z } from 'zod';
import { broken } from './helper.ts';

const Vali = toStandardJsonSchema(v.object({ a: v.number() }));
const Ark = ark({ b: 'string' });

export const libraries = workflow({ input: Vali, output: Ark, signals: { z: z.object({ n: z.int() }) } }, async (input, ctx) => {
  const day = format(addDays(new Date(0), 1), 'yyyy') === '1970' ? 'day' : 'another day';
  const made = [day, v4().length, v7().length, nanoid().length, Object.keys(groupBy([1, 2], (x) => x % 2)).length, input.a];
  await ctx.sleep(10);
  return { b: JSON.stringify(made) };
});

export const echo = activity(async (x: unknown, ctx) => {
  await Promise.resolve();
  try {
    return { x, env: ctx.env('NOPE') };
  } catch (error) {
    return { x, env: (error as Failure).code };
  }
});

export const globals = workflow(async (_: void, ctx) => {
  const told: Record<string, unknown> = {};
  const note = async (name: string, get: () => unknown) => {
    try {
      told[name] = await get();
    } catch (error) {
      told[name] = String(error);
    }
  };
  await note('any', () => Promise.any([Promise.reject(1), Promise.reject(2)]).catch((error) => [error instanceof AggregateError, error.errors]));
  await note('settled', () => Promise.allSettled([Promise.reject(new Failure(400, 'x')), 1]));
  await note('abort', () => {
    const controller = new AbortController();
    const sleep = ctx.sleep('1h', { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    return sleep.catch((error) => error.code);
  });
  await note('timeoutSignal', async () => {
    const signal = AbortSignal.timeout(30);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return signal.reason.name;
  });
  await note('interval', () => {
    let ticks = 0;
    return new Promise((resolve) => {
      const interval = setInterval(() => {
        ticks += 1;
        if (ticks < 3) return;
        clearInterval(interval);
        resolve(ticks);
      }, 5);
    });
  });
  await note('clear', async () => {
    let called = false;
    clearTimeout(setTimeout(() => (called = true), 5));
    await ctx.sleep(20);
    return called;
  });
  await note('microtask', () => new Promise((resolve) => queueMicrotask(() => resolve('micro'))));
  await note('clone', () => structuredClone({ a: [1, new Date(0), new Map([[1, 2]])] }).a.length);
  await note('utf8', () => new TextDecoder().decode(new TextEncoder().encode('äö\u{1f600}')));
  await note('url', () => {
    const url = new URL('https://a.b/c?d=1#e');
    url.searchParams.set('x', 'y z');
    return [url.href, new URLSearchParams('a=1&b=2').get('b')];
  });
  await note('base64', () => atob(btoa('hello')));
  await note('performance', () => performance.now() >= 0 && performance.now() < 600_000);
  await note('date', () => new Date().getTime() === Date.now() && Date.now() === ctx.now() && new Date() instanceof Date);
  await note('zone', () => [new Date(0).getHours(), new Date(0).getTimezoneOffset(), new Date(2026, 0, 1).toISOString()]);
  await note('uuid', () => crypto.randomUUID() !== crypto.randomUUID());
  await note('bytes', () => crypto.getRandomValues(new Uint8Array(16)).some((byte) => byte > 0));
  await note('fromAsync', () => Array.fromAsync(numbers()));
  await note('generators', async () => {
    const all = [];
    for await (const number of [Promise.resolve(1), 2]) all.push(number);
    return all;
  });
  await note('events', () => {
    const target = new EventTarget();
    let heard = 0;
    target.addEventListener('x', () => (heard += 1), { once: true });
    target.dispatchEvent(new Event('x'));
    target.dispatchEvent(new Event('x'));
    return heard;
  });
  await note('statics', () => {
    class Counter {
      static #first = 1;
      static all = Counter.#first;
    }
    return Counter.all;
  });
  await note('locale', () => new Date(0).toLocaleDateString('de-DE'));
  await note('absent', () => new Blob([]));
  await ctx.sleep(1_000);
  await note('echo', () => ctx.call(echo, { a: 1 }));
  return told;
});

async function* numbers(): AsyncGenerator<number> {
  yield 1;
  yield 2;
}

// Defects.
export const helper = workflow(async () => broken());
export const text = workflow(async () => {
  throw 'text';
});
export const settings = workflow(async () => process.env.HOME);
export const numbersOf = workflow({ name: 'numbers' }, async () => new Intl.NumberFormat('de').format(1));
export const sloppy = workflow(async () => {
  // @ts-expect-error: nothing declares it.
  undeclared = 1;
});
export const lost = workflow(async (_: void, ctx) => {
  void Promise.reject(new Error('lost'));
  await ctx.sleep(1_000);
});
export const hasty = workflow(async (_: void, ctx) => {
  void ctx.sleep('1d');
  await Promise.race([ctx.sleep('1d'), ctx.sleep(1)]);
});
export const never = workflow(async () => {
  await new Promise(() => {});
});
export const circular = workflow(async () => {
  const a: { b: { c?: unknown } } = { b: {} };
  a.b.c = a;
  return a;
});
export const typo = workflow(async (_: void, ctx) => (ctx as unknown as { cal: (target: unknown) => unknown }).cal(echo));

// Activities that do what an activity cannot do.
const once = { retry: { maxAttempts: 1 } };
export const waits = activity(once, async () => {
  await new Promise(() => {});
});
export const timer = activity(once, async () => {
  await new Promise((resolve) => setTimeout(resolve, 10));
});
export const digest = activity(once, async () => {
  await crypto.subtle.digest('SHA-256', new Uint8Array());
});

// Streams of a workflow and of the activity that it calls.
export const speak = activity({ retry: { initial: 10, maxAttempts: 3 } }, async (count: number, ctx) => {
  const [words, sound] = [ctx.stream('words'), ctx.stream('sound', { contentType: 'audio/ogg' })];
  for (let word = words.kept(); word < count; word += 1) {
    words.append({ word });
    sound.append(Uint8Array.of(word, 255));
    if (word === 1) throw new Error('lost');
  }
  return [words.kept(), sound.kept()];
});
export const streams = workflow(async (_: void, ctx) => {
  const [words, log] = [ctx.stream('words'), ctx.stream('log', { contentType: 'text/plain' })];
  log.append('grüß');
  log.append(new TextEncoder().encode(' dich\n'));
  words.append('begin');
  const kept = await ctx.call(speak, 3);
  words.append([1, null]);
  words.close();
  const code = await (async () => words.append('late'))().catch((error: Failure) => error.code);
  const refused = await ctx.call(appendsLate).catch((error: Failure) => error.code);
  return { kept, code, refused };
});
// The host refuses it when it stores it, at the end of the attempt at the latest.
export const appendsLate = activity(async (_: void, ctx) => ctx.stream('words').append('late'));

// A graph that is made at run time.
export const double = activity(async (number: number) => 2 * number);
export const graph = workflow(async (number: number, ctx) =>
  ctx.graph<{ large?: number; small?: number }>(
    {
      nodes: {
        large: { call: 'double', when: { from: 'input', above: 10 } },
        small: { call: 'double', when: { from: 'input', at_most: 10 } },
      },
    },
    number,
  ),
);
