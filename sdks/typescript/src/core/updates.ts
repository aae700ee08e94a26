// The updates that a workflow accepted: they come as signals, run inside the workflow, and are answered.

import type { Outcome, Payload } from './engine.js';
import { type WorkflowExecution, checked, failed, success } from './execution.js';
import { Failure } from './failure.js';
import { validated } from './schema.js';
import { decode } from './value.js';
import { workflowContext } from './workflow-context.js';

/** Updates come as signals with names that begin so. */
export const UPDATE = 'segno:update/';

/** The updates of one execution. */
export class Updates {
  /** The number of updates that were accepted and not answered. */
  unanswered = 0;
  readonly #execution: WorkflowExecution;

  constructor(execution: WorkflowExecution) {
    this.#execution = execution;
  }

  /** Begins an update, if the signal is one. */
  accept(signal: string, payload: Payload): boolean {
    if (!signal.startsWith(UPDATE)) return false;
    const name = signal.slice(UPDATE.length);
    const told = decode(payload) as { promise?: unknown; input?: unknown } | null;
    if (typeof told?.promise !== 'string') {
      this.#execution.log('error', `update \`${name}\` names no promise; the sender gets no answer`);
      return true;
    }
    this.#begin(name, told.promise, told.input ?? null);
    return true;
  }

  #begin(name: string, promise: string, input: unknown): void {
    const execution = this.#execution;
    const settle = (outcome: Outcome) => {
      if (execution.isFinished) return;
      const { index } = execution.engine.issue({ kind: 'settle', promise, outcome });
      execution.engine.forget(index);
    };
    let found;
    try {
      found = execution.handler('update', name);
    } catch (error) {
      return settle(failed(error));
    }
    const { run, input: schema, output } = found;
    this.unanswered += 1;
    const body = async (): Promise<unknown> => {
      const given = await validated(schema, input === null && schema === undefined ? undefined : input, `the input of \`${name}\``);
      const answer = await (run as (...values: unknown[]) => unknown)(execution.shared, given, workflowContext(execution));
      return checked(output, answer, `the answer of \`${name}\``);
    };
    body()
      .then((value) => settle(success(value, `the answer of \`${name}\``)))
      .then(undefined, (error: unknown) => (error instanceof Failure ? settle(failed(error)) : execution.broke(error)))
      .then(() => {
        this.unanswered -= 1;
      });
  }
}
