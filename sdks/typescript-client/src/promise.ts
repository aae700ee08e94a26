// Promises that people and other systems settle.

import type { FailureView, PromiseView } from './api.js';
import { PromiseFailedError, WaitTimeoutError } from './errors.js';
import type { CallOptions, WaitOptions } from './options.js';
import { pause } from './time.js';
import type { Transport } from './transport.js';
import { endOf } from './waiting.js';

/** First and longest pause between two looks at a promise, in milliseconds. */
const LOOKS_MS = { first: 100, longest: 2_000 };

/** A promise, known by its id. */
export class PromiseHandle<Value = unknown> {
  readonly #transport: Transport;

  /** @internal */
  constructor(
    transport: Transport,
    /** Id of the promise. */
    readonly id: string,
  ) {
    this.#transport = transport;
  }

  /** Its state, and what it was settled with. */
  async status(options: CallOptions = {}): Promise<PromiseView> {
    return this.#transport.send('GET /v1/promises/{id}', { path: { id: this.id }, signal: options.signal });
  }

  /** Settles it with a value. A promise settles once: `changed` is false if it was settled before. */
  async resolve(value?: Value, options: CallOptions = {}): Promise<PromiseView> {
    return this.#transport.send('POST /v1/promises/{id}/resolve', {
      ...this.#same(options),
      body: { value: value ?? null },
    });
  }

  /** Settles it with a failure. */
  async reject(failure: FailureView, options: CallOptions = {}): Promise<PromiseView> {
    return this.#transport.send('POST /v1/promises/{id}/reject', { ...this.#same(options), body: { failure } });
  }

  /** Settles it as cancelled. */
  async cancel(options: CallOptions = {}): Promise<PromiseView> {
    return this.#transport.send('POST /v1/promises/{id}/cancel', this.#same(options));
  }

  /**
   * Waits until it is settled, and returns its value.
   *
   * @throws {PromiseFailedError} if it was rejected, cancelled, or timed out.
   * @throws {WaitTimeoutError} after `waitMs`.
   */
  async result(options: WaitOptions = {}): Promise<Value> {
    const until = endOf(options.waitMs);
    for (let pauseMs = LOOKS_MS.first; ; pauseMs = Math.min(pauseMs * 2, LOOKS_MS.longest)) {
      const view = await this.status(options);
      if (view.state === 'resolved') return (view.value ?? null) as Value;
      if (view.state !== 'pending') throw new PromiseFailedError(this.id, view.state, view.failure, view.value);
      if (Date.now() >= until) throw new WaitTimeoutError(this.id, view.state, options.waitMs ?? 0);
      await pause(Math.min(pauseMs, until - Date.now()), options.signal);
    }
  }

  #same(options: CallOptions) {
    return { path: { id: this.id }, isRepeatable: true, signal: options.signal };
  }
}
