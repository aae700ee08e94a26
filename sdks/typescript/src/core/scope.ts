// What the globals of the language do inside of a function: time, random numbers, timers, requests, log lines.

import type { Level } from './engine.js';
import type { WorkflowExecution } from './execution.js';
import { Failure } from './failure.js';
import { type FetchInit, type HttpResponse, requestOf } from './http.js';
import { workflowContext } from './workflow-context.js';

/** The globals of one execution or attempt. */
export interface Scope {
  readonly startedAtMs: number;
  now(): number;
  random(): number;
  log(level: Level, message: string): void;
  /** Calls back later; gives a number for `clearTimer`. */
  setTimer(callback: () => void, ms: number, repeats: boolean): number;
  clearTimer(timer: number): void;
  fetch(input: unknown, init?: FetchInit): Promise<HttpResponse>;
}

/** The globals of a workflow: everything is durable and the same in every replay. */
export class WorkflowScope implements Scope {
  readonly startedAtMs: number;
  /** The commands of timers by their numbers. */
  readonly #timers = new Map<number, number>();
  #last = 0;

  constructor(readonly execution: WorkflowExecution) {
    this.startedAtMs = execution.facts.startedAtMs;
  }

  now(): number {
    return this.execution.engine.now();
  }

  random(): number {
    return this.execution.random();
  }

  log(level: Level, message: string): void {
    this.execution.log(level, message);
  }

  setTimer(callback: () => void, ms: number, repeats: boolean): number {
    const timer = ++this.#last;
    const length = Math.max(1, Math.ceil(Number.isFinite(ms) ? ms : 1));
    const begin = (): void => {
      const { index } = this.execution.issue({ kind: 'sleep', untilMs: this.now() + length });
      this.#timers.set(timer, index);
      const due = (): void => {
        this.#timers.delete(timer);
        if (repeats) begin();
        try {
          callback();
        } catch (error) {
          this.execution.broke(error);
        }
      };
      // A cancellation does not touch it: it is no await.
      this.execution.await(index, { resolve: due, reject: () => this.#timers.delete(timer), shielded: true });
    };
    begin();
    return timer;
  }

  clearTimer(timer: number): void {
    const command = this.#timers.get(timer);
    if (command === undefined) return;
    this.#timers.delete(timer);
    this.execution.forget(command);
  }

  async fetch(input: unknown, init: FetchInit = {}): Promise<HttpResponse> {
    const request = await requestOf(input, init);
    const { signal } = init;
    try {
      return await workflowContext(this.execution).http(request, signal ? { signal } : {});
    } catch (error) {
      if (signal?.aborted && error instanceof Failure && error.isCancelled) throw signal.reason;
      throw error;
    }
  }
}
