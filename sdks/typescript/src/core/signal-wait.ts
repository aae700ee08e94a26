// Waits for signals. A wait that lost a race takes nothing, which plain promises cannot do: they do not know who waits.

import { deferred } from './deferred.js';

/** A signal with its number in the order of arrival. */
export interface HeardSignal {
  number: number;
  name: string;
  value: unknown;
}

/** One wait for a signal: the entry in the list of listeners. */
interface Source {
  readonly name: string | undefined;
  readonly read: (signal: HeardSignal) => unknown;
  readonly promise: Promise<unknown>;
  readonly resolve: (signal: HeardSignal | undefined) => void;
  readonly reject: (error: unknown) => void;
  uses: number;
  since: number;
  taken: HeardSignal | undefined;
  over: boolean;
}

/** The unread signals of an invocation, and the waits for them. */
export class Signals {
  /** Signals that nobody has read. */
  readonly unread: HeardSignal[] = [];
  readonly #listeners: Source[] = [];
  #heard = 0;
  /** The number of events so far; a wait that began after the last event comes first. */
  polls = 0;

  /** Counts a signal or an update, and gives its number. */
  count(): number {
    return this.#heard++;
  }

  /** Adds a signal, and gives it to a wait. */
  add(signal: HeardSignal): void {
    this.unread.push(signal);
    this.hear();
  }

  /** Fails all waits. */
  fail(error: () => unknown): void {
    for (const source of this.#listeners.splice(0)) {
      source.over = true;
      source.reject(error());
    }
  }

  /** Begins a wait for the next signal, with this name if one is given. It gives what `read` makes of the signal. */
  wait<T>(name: string | undefined, read: (signal: HeardSignal) => T): SignalWait<Awaited<T> | undefined> {
    const source = this.source(name, read);
    const wait = new SignalWait(this, source.promise as Promise<Awaited<T> | undefined>, [source]);
    wait.begin();
    return wait;
  }

  source(name: string | undefined, read: (signal: HeardSignal) => unknown): Source {
    const { promise: heard, resolve, reject } = deferred<HeardSignal | undefined>();
    const promise = heard.then((signal) => signal && read(signal));
    // A wait that nobody looks at any more may fail without a notice.
    promise.then(undefined, () => {});
    return { promise, resolve, reject, name, read, uses: 0, since: 0, taken: undefined, over: false };
  }

  listen(source: Source): void {
    if (source.taken || source.over || this.#listeners.includes(source)) return;
    source.since = this.polls;
    this.#listeners.push(source);
  }

  /** Removes a wait. True if it was waiting. */
  remove(source: Source): boolean {
    const place = this.#listeners.indexOf(source);
    if (place >= 0) this.#listeners.splice(place, 1);
    return place >= 0;
  }

  /** Puts a signal back that nobody saw. */
  giveBack(signal: HeardSignal): void {
    const place = this.unread.findIndex(({ number }) => number > signal.number);
    this.unread.splice(place < 0 ? this.unread.length : place, 0, signal);
  }

  /**
   * Gives unread signals to those that wait. Of several waits, one that began after the last event comes before those
   * that have waited longer: theirs may be a race that was lost in a way that nobody can see.
   */
  hear(): void {
    for (let place = 0; place < this.unread.length; ) {
      const signal = this.unread[place]!;
      const fitting = this.#listeners.filter(({ name }) => name === undefined || name === signal.name);
      const last = fitting.at(-1);
      const listener = fitting.find(({ since }) => since === last?.since);
      if (listener === undefined) {
        place += 1;
        continue;
      }
      this.unread.splice(place, 1);
      this.remove(listener);
      listener.taken = signal;
      listener.resolve(signal);
    }
  }
}

/**
 * A promise that waits for signals, directly or through others. Whoever uses it waits; where a race goes on without it,
 * nobody does, until it is used again.
 */
export class SignalWait<T> implements PromiseLike<T> {
  readonly #signals: Signals;
  #promise: Promise<T>;
  #sources: Source[];

  constructor(signals: Signals, promise: Promise<T>, sources: Source[]) {
    this.#signals = signals;
    this.#promise = promise;
    this.#sources = sources;
  }

  get [Symbol.toStringTag](): string {
    return 'Promise';
  }

  then<A = T, B = never>(fulfilled?: ((value: T) => A | PromiseLike<A>) | null, rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): SignalWait<A | B> {
    this.begin();
    for (const source of this.#sources) source.uses += Number((source.promise as unknown) === this.#promise);
    return new SignalWait(this.#signals, this.#promise.then(fulfilled, rejected), this.#sources);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): SignalWait<T | B> {
    return this.then(undefined, rejected);
  }

  finally(last?: (() => void) | null): SignalWait<T> {
    const whole = () => this.#promise.finally(last);
    return this.then().then(whole, whole);
  }

  /** Begins to wait, unless it does. */
  begin(): void {
    for (const source of this.#sources) this.#signals.listen(source);
    this.#signals.hear();
  }

  /** Ends the wait with undefined, at its time limit. True if it was waiting. */
  expire(): boolean {
    const [source] = this.#sources;
    if (source === undefined || source.taken || !this.#signals.remove(source)) return false;
    source.over = true;
    source.resolve(undefined);
    return true;
  }

  /** Nobody goes on with it: what it took in the moment in which another one won, and what nobody saw, is unread again. */
  end(): void {
    for (const source of this.#sources) {
      this.#signals.remove(source);
      if (!source.taken || source.uses > 1 || (source.promise as unknown) !== this.#promise) continue;
      this.#signals.giveBack(source.taken);
      source.taken = undefined;
      const next = this.#signals.source(source.name, source.read);
      this.#sources = [next];
      this.#promise = next.promise as Promise<T>;
      this.#signals.hear();
    }
  }

  /** True if it has a signal that was not given back. */
  get isTaken(): boolean {
    return this.#sources.some(({ taken }) => taken !== undefined);
  }

  /** The waits of which it consists. */
  static sourcesOf(wait: SignalWait<unknown>): Source[] {
    return wait.#sources;
  }

  static signalsOf(wait: SignalWait<unknown>): Signals {
    return wait.#signals;
  }
}

const COMBINATORS = ['all', 'allSettled', 'any', 'race'] as const;
const PATCHED = Symbol.for('segno.combinators');

/**
 * Lets the combinators of promises know waits for signals: they wait for them as a whole, and the losers of `race` and
 * `any` end. Other values are treated as before.
 */
export function patchCombinators(): void {
  const marked = Promise as PromiseConstructor & { [PATCHED]?: boolean };
  if (marked[PATCHED]) return;
  Object.defineProperty(marked, PATCHED, { value: true });
  for (const name of COMBINATORS) {
    const plain = Promise[name] as (this: PromiseConstructor, values: Iterable<unknown>) => Promise<unknown>;
    const patched = function (this: PromiseConstructor, values: Iterable<unknown>): unknown {
      if (typeof values?.[Symbol.iterator] !== 'function') return plain.call(this, values);
      const given = [...values];
      const waits = given.filter((value) => value instanceof SignalWait) as SignalWait<unknown>[];
      return waits.length === 0 ? plain.call(this, given) : combined(name, plain, given, waits);
    };
    Object.defineProperty(Promise, name, { value: patched, configurable: true, writable: true });
  }
}

function combined(
  name: (typeof COMBINATORS)[number],
  plain: (this: PromiseConstructor, values: Iterable<unknown>) => Promise<unknown>,
  given: unknown[],
  waits: SignalWait<unknown>[],
): SignalWait<unknown> {
  let winner: { value: unknown } | undefined;
  const seen = (value: unknown) => {
    const first = () => (winner ??= { value });
    return Promise.resolve(value).then(
      (one) => (first(), one),
      (error: unknown) => {
        if (name === 'race') first();
        throw error;
      },
    );
  };
  const whole = plain.call(Promise, name === 'race' || name === 'any' ? given.map(seen) : given);
  const sources = waits.flatMap((wait) => SignalWait.sourcesOf(wait));
  const over = () => {
    sources.length = 0;
    if (winner) waits.filter((wait) => wait !== winner?.value).forEach((wait) => wait.end());
  };
  whole.then(over, over);
  return new SignalWait(SignalWait.signalsOf(waits[0]!), whole, sources);
}
