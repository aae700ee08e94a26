// The globals of the language, for code that runs inside of a function: they are asked in its scope, and are as before
// outside of one.

import type { Level } from './engine.js';
import type { Scope } from './scope.js';
import { uuid } from './random.js';
import { shown } from './value.js';

/** Puts a property in place of another, and notes how it was. */
type Put = (owner: object, name: PropertyKey, value: unknown) => void;

/**
 * Installs globals that ask the present scope. Returns the function that restores what was there.
 */
export function installGlobals(present: () => Scope | undefined): () => void {
  const before: [object, PropertyKey, PropertyDescriptor | undefined][] = [];
  const put: Put = (owner, name, value) => {
    before.push([owner, name, Object.getOwnPropertyDescriptor(owner, name)]);
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  };
  clock(present, put);
  randomness(present, put);
  timers(present, put);
  const { fetch: plainFetch, console: plainConsole } = globalThis as { fetch?: Function; console?: Console };
  put(globalThis, 'fetch', (input: unknown, init?: object) => {
    const scope = present();
    if (scope !== undefined) return scope.fetch(input, init);
    return plainFetch === undefined ? outside('fetch') : plainFetch(input, init);
  });
  logs(present, put, plainConsole);
  return () => {
    for (const [owner, name, descriptor] of before.reverse()) {
      if (descriptor === undefined) delete (owner as Record<PropertyKey, unknown>)[name];
      else Object.defineProperty(owner, name, descriptor);
    }
  };
}

/** In a component, what a function may use is refused while the module is loaded. */
function outside(name: string): never {
  throw new Error(`\`${name}\` is called while the module is loaded: call it inside of a workflow or an activity`);
}

function clock(present: () => Scope | undefined, put: Put): void {
  const Plain = globalThis.Date;
  const now = (): number => present()?.now() ?? Plain.now();
  const Virtual = new Proxy(Plain, {
    construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made) as object,
    apply: () => new Plain(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  });
  put(globalThis, 'Date', Virtual);
  put(Plain.prototype, 'constructor', Virtual);
  const performance = globalThis.performance as typeof globalThis.performance | undefined;
  if (performance === undefined) return;
  const elapsed = performance.now.bind(performance);
  put(performance, 'now', () => {
    const scope = present();
    return scope === undefined ? elapsed() : scope.now() - scope.startedAtMs;
  });
  const origin = performance.timeOrigin;
  before(performance, 'timeOrigin', () => present()?.startedAtMs ?? origin, put);
}

/** Puts a getter in place. */
function before(owner: object, name: string, get: () => unknown, put: Put): void {
  put(owner, name, undefined);
  Object.defineProperty(owner, name, { get, configurable: true });
}

function randomness(present: () => Scope | undefined, put: Put): void {
  const plain = Math.random;
  put(Math, 'random', () => {
    const scope = present();
    return scope === undefined ? plain() : scope.random();
  });
  const crypto = globalThis.crypto as typeof globalThis.crypto | undefined;
  if (crypto === undefined) return;
  const values = crypto.getRandomValues.bind(crypto);
  const id = crypto.randomUUID.bind(crypto);
  put(crypto, 'getRandomValues', (array: ArrayBufferView) => {
    const scope = present();
    return scope === undefined ? values(array as Uint8Array) : filled(array, scope);
  });
  put(crypto, 'randomUUID', () => {
    const scope = present();
    return scope === undefined ? id() : uuid(() => scope.random());
  });
}

/** The array, filled with random bytes of the scope. */
export function filled<T extends ArrayBufferView>(array: T, scope: Pick<Scope, 'random'>): T {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let place = 0; place < bytes.length; place += 1) bytes[place] = Math.floor(scope.random() * 256);
  return array;
}

type Callback = (...values: unknown[]) => void;

function timers(present: () => Scope | undefined, put: Put): void {
  const plain = globalThis as unknown as Record<string, ((...given: unknown[]) => unknown) | undefined>;
  for (const [name, repeats] of [['setTimeout', false], ['setInterval', true]] as const) {
    const before = plain[name];
    put(globalThis, name, (callback: Callback, ms = 0, ...values: unknown[]) => {
      const scope = present();
      if (scope === undefined) return before === undefined ? outside(name) : before(callback, ms, ...values);
      if (typeof callback !== 'function') throw new TypeError(`\`${name}\` takes a function, and not ${shown(callback)}`);
      return scope.setTimer(() => callback(...values), Number(ms), repeats);
    });
  }
  for (const name of ['clearTimeout', 'clearInterval']) {
    const before = plain[name];
    put(globalThis, name, (timer: unknown) => {
      const scope = present();
      if (scope === undefined || typeof timer !== 'number') return before?.(timer);
      return scope.clearTimer(timer);
    });
  }
  const Signal = globalThis.AbortSignal as typeof AbortSignal | undefined;
  if (Signal === undefined) return;
  const timeout = (Signal.timeout as typeof AbortSignal.timeout | undefined)?.bind(Signal);
  put(Signal, 'timeout', (ms: number) => {
    const scope = present();
    if (scope === undefined && timeout) return timeout(ms);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('the time limit passed', 'TimeoutError')), ms);
    return controller.signal;
  });
}

const LEVELS: Record<string, Level> = { trace: 'debug', debug: 'debug', log: 'info', info: 'info', dir: 'info', table: 'info', warn: 'warn', error: 'error' };

function logs(present: () => Scope | undefined, put: Put, plain: Console | undefined): void {
  const console = plain ?? ({} as Console);
  if (plain === undefined) put(globalThis, 'console', console);
  for (const [name, level] of Object.entries(LEVELS)) {
    const before = (console as unknown as Record<string, Function | undefined>)[name];
    put(console, name, (...values: unknown[]) => {
      const scope = present();
      if (scope === undefined) before?.apply(console, values);
      else scope.log(level, values.map(shown).join(' '));
    });
  }
}
