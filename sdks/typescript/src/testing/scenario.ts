// What happens from outside in a test, as it is defined before the run.

import type { Definition } from '../core/definition.js';
import { type Duration, milliseconds } from '../core/duration.js';
import type { FailureRecord, Outcome, Payload } from '../core/engine.js';
import { failed, failureOf, success } from '../core/execution.js';
import { Failure } from '../core/failure.js';
import type { Module } from '../core/module.js';
import { decode } from '../core/value.js';
import type { Doubles } from './doubles.js';
import type { TestObjects } from './objects.js';

/** A promise in a test: by name or whole id, the n-th without a name, or one of an object. */
export type PromiseKey = { name: string } | { unnamed: number } | { object: string; name: string };

/** A settlement that a test defined. */
export interface PlannedSettlement {
  key: PromiseKey;
  afterMs: number;
  outcome: (id: string) => Outcome | Promise<Outcome>;
}

/** Defines how a promise is settled: `t.promise('approval').after('30m').resolve(true)`. */
export class PromiseScript<T = unknown> {
  #afterMs = 0;

  constructor(
    private readonly key: PromiseKey,
    private readonly plan: (settlement: PlannedSettlement) => void,
  ) {}

  /** The time after the promise was made; for one of an object, after the start. */
  after(delay: Duration): this {
    this.#afterMs = milliseconds(delay, 'the delay of a promise');
    return this;
  }

  /** Resolves the promise. */
  resolve(value: T): void {
    const outcome = success(value, 'the value of a promise');
    this.#settle(() => outcome);
  }

  /** Rejects the promise. */
  reject(failure: Failure): void {
    this.#settle(() => failed(failure));
  }

  /** Settles the promise with what the function gives, or with the `Failure` that it throws. It gets the id. */
  settleWith(settle: (id: string) => T | Promise<T>): void {
    this.#settle(async (id) => {
      try {
        return success(await settle(id), 'the value of a promise');
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        return failed(error);
      }
    });
  }

  #settle(outcome: PlannedSettlement['outcome']): void {
    this.plan({ key: this.key, afterMs: this.#afterMs, outcome });
  }
}

/** A query or an update that is sent while the workflow runs. */
export class Asked<T = unknown> {
  /** What answered it, if something did. */
  outcome: Outcome | undefined;

  constructor(
    readonly kind: 'query' | 'update',
    readonly name: string,
    readonly input: Payload,
    readonly afterMs: number,
  ) {}

  /** The answer, after the run. Throws the `Failure` with which it was refused or answered. */
  answer(): T {
    if (this.outcome === undefined) throw new Error(`the ${this.kind} \`${this.name}\` was not sent: the workflow was not run, or ended before`);
    return answered(this.outcome) as T;
  }
}

/** The value of an outcome. A failure is thrown. */
export function answered(outcome: Outcome): unknown {
  if (outcome.tag === 'success') return decode(outcome.val);
  throw failureOf(outcome.val);
}

/** A signal that a test sends. */
export interface PlannedSignal {
  name: string;
  payload: Payload;
  afterMs: number;
}

/** Limits that a test sets during the run. */
export interface PlannedLimits {
  /** The execution whose budget it is. Default: the one under test. */
  account: string | undefined;
  limits: string;
  afterMs: number;
}

/** The failure of an update that was not answered. */
export const unanswered: FailureRecord = { code: 499, message: 'the invocation ended before it answered' };

/** The outcome of a command that has no result. */
export const NULL: Outcome = { tag: 'success', val: { tag: 'json', val: 'null' } };

/** The outcome of a command that is refused. */
export const failure = (code: number, message: string): Outcome => failed(new Failure(code, message));

/** What a test has defined, and what it reads after the run. */
export interface Scenario {
  module: Module | undefined;
  /** Functions that were called by their value, by name. */
  learned: Map<string, Definition>;
  doubles: Doubles;
  objects: TestObjects;
  startAtMs: number;
  seed: number;
  id: string;
  /** The name of the module. */
  name: string;
  /** True if log lines are printed. */
  print: boolean;
  settlements: PlannedSettlement[];
  signals: PlannedSignal[];
  asked: Asked<any>[];
  cancelAfterMs: number | undefined;
  /** The budget of the run. */
  budget: string | undefined;
  raises: PlannedLimits[];
}
