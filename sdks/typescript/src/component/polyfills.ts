// The interfaces of the web that QuickJS does not have. Importing this file makes them global; it comes before everything
// else on a host.

import '../promise.js';
import clone from '@ungap/structured-clone';
import { URL as PlainURL, URLSearchParams as PlainURLSearchParams } from 'whatwg-url-minimum';
import { PlainAbortController, PlainAbortSignal, PlainCustomEvent, PlainEvent, PlainEventTarget } from './abort.js';
import { refuseLocales } from './locales.js';
import { Utf8Decoder, Utf8Encoder } from './utf8.js';

const missing: Record<string, unknown> = {
  AbortController: PlainAbortController,
  AbortSignal: PlainAbortSignal,
  CustomEvent: PlainCustomEvent,
  Event: PlainEvent,
  EventTarget: PlainEventTarget,
  TextDecoder: Utf8Decoder,
  TextEncoder: Utf8Encoder,
  URL: PlainURL,
  URLSearchParams: PlainURLSearchParams,
  structuredClone: (value: unknown, options?: object) => clone(value, options),
  Blob: absent('Blob', 'use `Uint8Array`'),
  File: absent('File', 'use `Uint8Array`'),
  FormData: absent('FormData', 'use `URLSearchParams`'),
  Headers: absent('Headers', 'pass headers as a plain object'),
  Request: absent('Request', 'pass address and options to `fetch`'),
  Response: absent('Response', '`fetch` gives an object with the same members'),
  console: quietConsole(),
  crypto: cryptography(),
  self: globalThis,
};
for (const [name, value] of Object.entries(missing)) {
  if ((globalThis as Record<string, unknown>)[name] !== undefined) continue;
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

// That of the engine cannot be changed, and counts from an unknown instant.
Object.defineProperty(globalThis, 'performance', { value: { now: () => 0, timeOrigin: 0 }, configurable: true, writable: true });
// These of the engine use promises of its own, which do not run.
globalThis.queueMicrotask = (callback) => void Promise.resolve().then(callback);
Object.defineProperty(Array, 'fromAsync', { value: fromAsync, configurable: true, writable: true });
refuseLocales();

async function fromAsync(values: AsyncIterable<unknown>, map?: (value: unknown, place: number) => unknown): Promise<unknown[]> {
  const list: unknown[] = [];
  for await (const value of values) list.push(map ? await map(value, list.length) : value);
  return list;
}

/** A class that programs compare with, and that nobody can make. */
function absent(name: string, instead: string): unknown {
  const made = class {
    constructor() {
      throw new Error(`there is no \`${name}\` here: ${instead}`);
    }
  };
  return Object.defineProperty(made, 'name', { value: name });
}

/** A console that writes nothing: functions have their own levels, and a module that is loaded has no log. */
function quietConsole(): object {
  const names = ['assert', 'clear', 'count', 'countReset', 'debug', 'dir', 'error', 'group', 'groupCollapsed', 'groupEnd', 'info', 'log', 'table', 'time', 'timeEnd', 'timeLog', 'trace', 'warn'];
  return Object.fromEntries(names.map((name) => [name, () => {}]));
}

/** Random numbers are those of the function; there is no other part of the interface. */
function cryptography(): object {
  const outside = (): never => {
    throw new Error('random numbers are drawn inside of a function, and not while the module is loaded');
  };
  return {
    getRandomValues: outside,
    randomUUID: outside,
    get subtle(): never {
      throw new Error('there is no `crypto.subtle` here: use a package in plain JavaScript, such as @noble/hashes');
    },
  };
}
