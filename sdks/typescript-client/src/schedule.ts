// Schedules: functions that start by a clock.

import type { Accepted, Backfilled, ScheduleView } from './api.js';
import { Execution } from './execution.js';
import type { CallOptions } from './options.js';
import { instant } from './start.js';
import type { Transport } from './transport.js';

/** A schedule, known by its id. */
export class Schedule {
  readonly #transport: Transport;

  /** @internal */
  constructor(
    transport: Transport,
    /** Id of the schedule. */
    readonly id: string,
    /** After `createSchedule`: true if this request made it, false if it existed already. */
    readonly created?: boolean,
  ) {
    this.#transport = transport;
  }

  /** The schedule, with its next ten occurrences. */
  async status(options: CallOptions = {}): Promise<ScheduleView> {
    return this.#transport.send('GET /v1/schedules/{id}', { path: { id: this.id }, signal: options.signal });
  }

  /** Pauses it: its occurrences are skipped. */
  async pause(options: CallOptions = {}): Promise<ScheduleView> {
    return this.#transport.send('POST /v1/schedules/{id}/pause', this.#same(options));
  }

  /** Resumes it. */
  async resume(options: CallOptions = {}): Promise<ScheduleView> {
    return this.#transport.send('POST /v1/schedules/{id}/resume', this.#same(options));
  }

  /**
   * Starts an execution now, also of a paused schedule. With the instant `at` the same request again starts nothing.
   */
  async trigger<Output = unknown>(
    options: CallOptions & { at?: Date | number | undefined } = {},
  ): Promise<Execution<Output>> {
    const { id } = await this.#transport.send('POST /v1/schedules/{id}/trigger', {
      path: { id: this.id },
      body: { atMs: instant(options.at) },
      isRepeatable: options.at !== undefined,
      signal: options.signal,
    });
    return new Execution<Output>(this.#transport, id);
  }

  /**
   * Starts the missed occurrences from `from` up to `to`, at most the first 100: `nextAtMs` of the answer is the
   * `from` of the next request.
   */
  async backfill(from: Date | number, to: Date | number, options: CallOptions = {}): Promise<Backfilled> {
    return this.#transport.send('POST /v1/schedules/{id}/backfill', {
      ...this.#same(options),
      body: { fromAtMs: instant(from) as number, toAtMs: instant(to) as number },
    });
  }

  /** Removes it. Its executions remain. */
  async delete(options: CallOptions = {}): Promise<Accepted> {
    return this.#transport.send('DELETE /v1/schedules/{id}', { path: { id: this.id }, signal: options.signal });
  }

  #same(options: CallOptions) {
    return { path: { id: this.id }, isRepeatable: true, signal: options.signal };
  }
}
