// Promises with a queue of their own, tick for tick as the language defines them. QuickJS returns from an exported
// function without running what its promises have made ready, and gives a program no way to ask for it; these promises
// are run by `drain`, at the end of each call. Importing this file puts them in the place of the engine's. The build
// lowers `async` functions to generators, which then wait on them as well.

import type { OwnPromises, PromiseWatch } from './core/completion.js';

type Settle = (value: unknown) => void;

interface Capability {
  promise: unknown;
  resolve: Settle;
  reject: Settle;
}

/** What follows when a promise settles. */
interface Reaction {
  /** The promise that settles then. */
  next: Settling | undefined;
  /** What settles it, if it is of another class. Neither for an `await`. */
  capability: Capability | undefined;
  fulfilled: unknown;
  rejected: unknown;
}

/** What is told of rejections. */
export interface RejectionTracker {
  /** A promise was rejected, and nobody handles it yet. */
  unhandled(promise: unknown, reason: unknown): void;
  /** It is handled after all. */
  handled(promise: unknown): void;
}

/** A function, or a promise that settled and what follows. Most jobs are the latter, which needs no function of its own. */
type Job = (() => void) | { of: Settling; reaction: Reaction };

let queue: Job[] = [];
let tracker: RejectionTracker | undefined;
/** Runs what follows a promise that settled. */
let react: (of: Settling, reaction: Reaction) => void;
/** Waits for a value as `await` does, without a promise of its own. The build calls it in lowered functions. */
let wait: (value: unknown, fulfilled: Settle, rejected: Settle) => void;

/** Runs everything that is ready, and what that makes ready. */
export function drain(): void {
  while (queue.length > 0) {
    const jobs = queue;
    queue = [];
    for (let next = 0; next < jobs.length; next += 1) {
      const job = jobs[next]!;
      if (typeof job === 'function') job();
      else react(job.of, job.reaction);
    }
  }
}

/** Names who is told of rejections. */
export function trackRejections(one: RejectionTracker): void {
  tracker = one;
}

/** In place of an executor: the promise is settled from here. */
const INSIDE = (): void => {};

class Settling {
  #state: 'pending' | 'fulfilled' | 'rejected' = 'pending';
  #value: unknown;
  #handled = false;
  #reactions: Reaction[] | undefined;
  #watch: PromiseWatch | undefined;

  constructor(executor: (resolve: Settle, reject: Settle) => void) {
    if (executor === INSIDE) return;
    if (typeof executor !== 'function') throw new TypeError('a promise takes a function: `new Promise((resolve, reject) => …)`');
    const { resolve, reject } = this.#resolvers();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  static {
    react = (of, { next, capability, fulfilled, rejected }) => {
      const isFulfilled = of.#state === 'fulfilled';
      const handler = isFulfilled ? fulfilled : rejected;
      let result = of.#value;
      let isResult = isFulfilled;
      if (typeof handler === 'function') {
        try {
          result = handler(result);
          isResult = true;
        } catch (error) {
          result = error;
          isResult = false;
        }
      }
      if (next === undefined) (isResult ? capability?.resolve : capability?.reject)?.(result);
      else if (isResult) next.#adopt(result);
      else next.#settle('rejected', result);
    };
    wait = (value, fulfilled, rejected) => {
      if (value instanceof Settling && value.constructor === Settling) value.#follow({ next: undefined, capability: undefined, fulfilled, rejected });
      else (Settling.resolve(value) as Settling).then(fulfilled, rejected);
    };
    const own = (promise: unknown): Settling => promise as Settling;
    const offered: OwnPromises = {
      pending: () => new Settling(INSIDE) as unknown as Promise<unknown>,
      fulfill: (promise, value) => own(promise).#adopt(value),
      reject: (promise, reason) => own(promise).#settle('rejected', reason),
      markHandled: (promise) => own(promise).#handle(),
      watch(promise, watch) {
        own(promise).#watch = watch;
      },
    };
    Object.defineProperty(Settling, Symbol.for('segno.promises'), { value: offered });
  }

  #resolvers(): { resolve: Settle; reject: Settle } {
    let decided = false;
    const reject: Settle = (reason) => {
      if (decided) return;
      decided = true;
      this.#settle('rejected', reason);
    };
    const resolve: Settle = (value) => {
      if (decided) return;
      decided = true;
      this.#adopt(value);
    };
    return { resolve, reject };
  }

  #adopt(value: unknown): void {
    if (value === this) return this.#settle('rejected', new TypeError('a promise cannot wait for itself'));
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return this.#settle('fulfilled', value);
    let then: unknown;
    try {
      then = (value as { then?: unknown }).then;
    } catch (error) {
      return this.#settle('rejected', error);
    }
    if (typeof then !== 'function') return this.#settle('fulfilled', value);
    const begin = then as (this: unknown, resolve: Settle, reject: Settle) => void;
    queue.push(() => {
      const { resolve, reject } = this.#resolvers();
      try {
        begin.call(value, resolve, reject);
      } catch (error) {
        reject(error);
      }
    });
  }

  #settle(state: 'fulfilled' | 'rejected', value: unknown): void {
    this.#state = state;
    this.#value = value;
    if (state === 'rejected' && !this.#handled) tracker?.unhandled(this, value);
    const reactions = this.#reactions;
    if (reactions === undefined) return;
    this.#reactions = undefined;
    for (const reaction of reactions) queue.push({ of: this, reaction });
  }

  then(fulfilled?: unknown, rejected?: unknown): unknown {
    // A promise of this class needs no functions that settle it: it is settled once, by the reaction.
    const next = this.constructor === Settling ? new Settling(INSIDE) : undefined;
    const other = next === undefined ? capability(this.constructor) : undefined;
    this.#follow({ next, capability: other, fulfilled, rejected });
    return next ?? other!.promise;
  }

  #follow(reaction: Reaction): void {
    if (this.#state !== 'pending') queue.push({ of: this, reaction });
    else if (this.#reactions === undefined) this.#reactions = [reaction];
    else this.#reactions.push(reaction);
    if (this.#watch !== undefined) this.#watch.isLookedAt = true;
    this.#handle();
  }

  #handle(): void {
    if (this.#state === 'rejected' && !this.#handled) tracker?.handled(this);
    this.#handled = true;
  }

  catch(rejected?: unknown): unknown {
    return this.then(undefined, rejected);
  }

  finally(last?: unknown): unknown {
    if (typeof last !== 'function') return this.then(last, last);
    const after = (end: () => unknown) => (Settling.resolve.call(this.constructor, last()) as Settling).then(end);
    return this.then(
      (value: unknown) => after(() => value),
      (reason: unknown) =>
        after(() => {
          throw reason;
        }),
    );
  }

  get [Symbol.toStringTag](): string {
    return 'Promise';
  }

  static get [Symbol.species](): unknown {
    return this;
  }

  static resolve(this: unknown, value?: unknown): unknown {
    if (value instanceof Settling && value.constructor === this) return value;
    if (this === Settling) {
      const made = new Settling(INSIDE);
      made.#adopt(value);
      return made;
    }
    const made = capability(this);
    made.resolve(value);
    return made.promise;
  }

  static reject(this: unknown, reason?: unknown): unknown {
    const made = capability(this);
    made.reject(reason);
    return made.promise;
  }

  static withResolvers(this: unknown): Capability {
    return capability(this);
  }

  static try(this: unknown, begin: (...values: unknown[]) => unknown, ...values: unknown[]): unknown {
    const made = capability(this);
    try {
      made.resolve(begin(...values));
    } catch (error) {
      made.reject(error);
    }
    return made.promise;
  }

  static all(this: unknown, values: Iterable<unknown>): unknown {
    return gather(this, values, (results, place, done, { reject }) => [(value) => ((results[place] = value), done()), reject], (results, { resolve }) => resolve(results));
  }

  static allSettled(this: unknown, values: Iterable<unknown>): unknown {
    const entry = (results: unknown[], place: number, done: () => void): [Settle, Settle] => [
      (value) => ((results[place] = { status: 'fulfilled', value }), done()),
      (reason) => ((results[place] = { status: 'rejected', reason }), done()),
    ];
    return gather(this, values, entry, (results, { resolve }) => resolve(results));
  }

  static any(this: unknown, values: Iterable<unknown>): unknown {
    return gather(
      this,
      values,
      (errors, place, done, { resolve }) => [resolve, (reason) => ((errors[place] = reason), done())],
      (errors, { reject }) => reject(new AggregateError(errors, 'every promise was rejected')),
    );
  }

  static race(this: unknown, values: Iterable<unknown>): unknown {
    const made = capability(this);
    try {
      for (const value of values) (Settling.resolve.call(this, value) as Settling).then(made.resolve, made.reject);
    } catch (error) {
      made.reject(error);
    }
    return made.promise;
  }
}

function capability(made: unknown): Capability {
  const parts = {} as Capability;
  const Made = (typeof made === 'function' ? made : Settling) as typeof Settling;
  parts.promise = new Made((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}

function gather(
  made: unknown,
  values: Iterable<unknown>,
  entry: (results: unknown[], place: number, done: () => void, whole: Capability) => [Settle, Settle],
  end: (results: unknown[], whole: Capability) => void,
): unknown {
  const whole = capability(made);
  const results: unknown[] = [];
  let missing = 1;
  const done = (): void => {
    missing -= 1;
    if (missing === 0) end(results, whole);
  };
  try {
    let place = 0;
    for (const value of values) {
      missing += 1;
      results[place] = undefined;
      (Settling.resolve.call(made, value) as Settling).then(...entry(results, place, done, whole));
      place += 1;
    }
  } catch (error) {
    whole.reject(error);
  }
  done();
  return whole.promise;
}

Object.defineProperty(Settling, 'name', { value: 'Promise' });
globalThis.Promise = Settling as unknown as PromiseConstructor;
(globalThis as { segnoAwait?: typeof wait }).segnoAwait = wait!;
