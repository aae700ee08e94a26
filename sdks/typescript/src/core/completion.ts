// The promises of completions. Those of a component offer more than the language does: a completion then needs no
// functions of its own. A test has the promises of its engine.

/** The mark of a promise for which somebody waits, or has waited. */
export interface PromiseWatch {
  isLookedAt: boolean;
}

/** What the promises of a component offer beyond the language. */
export interface OwnPromises {
  /** A promise that the two functions below settle. */
  pending(): Promise<unknown>;
  fulfill(promise: Promise<unknown>, value: unknown): void;
  reject(promise: Promise<unknown>, reason: unknown): void;
  /** As if somebody handled a failure. */
  markHandled(promise: Promise<unknown>): void;
  /** Sets the mark when somebody waits for the promise. */
  watch(promise: Promise<unknown>, watch: PromiseWatch): void;
}

const own = (Promise as unknown as { [name: symbol]: unknown })[Symbol.for('segno.promises')] as OwnPromises | undefined;

/** Whoever waits for the completion of a command. */
export interface Waiter {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** What the value is read as. An error of it is the failure. */
  read?: ((value: unknown) => unknown) | undefined;
  /** A cancellation does not touch it. */
  shielded?: boolean;
}

/** A completion, and the promise of it. A failure that nobody awaits is no defect. */
export class CompletionWaiter implements Waiter {
  readonly promise: Promise<unknown>;
  #resolve: ((value: unknown) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(
    readonly read: Waiter['read'],
    readonly shielded: boolean,
  ) {
    if (own !== undefined) {
      this.promise = own.pending();
      own.markHandled(this.promise);
      return;
    }
    this.promise = new Promise((resolve, reject) => {
      [this.#resolve, this.#reject] = [resolve, reject];
    });
    this.promise.then(undefined, () => {});
  }

  resolve(value: unknown): void {
    if (own === undefined) this.#resolve!(value);
    else own.fulfill(this.promise, value);
  }

  reject(error: unknown): void {
    if (own === undefined) this.#reject!(error);
    else own.reject(this.promise, error);
  }
}

/** Sets the mark when somebody looks at the promise. */
export function watch(promise: Promise<unknown>, mark: PromiseWatch): void {
  if (own !== undefined) return own.watch(promise, mark);
  const { constructor } = promise;
  // `await`, `then`, and the functions of `Promise` read this first.
  Object.defineProperty(promise, 'constructor', {
    get: () => {
      mark.isLookedAt = true;
      return constructor;
    },
  });
}
