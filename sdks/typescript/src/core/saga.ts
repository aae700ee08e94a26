// Sagas: steps that are undone, the last one first, when the whole does not come about.

import { deferred } from './deferred.js';
import { type Callable, addressOf } from './definition.js';
import type { CallRecord, StepRecord } from './engine.js';
import type { WorkflowExecution } from './execution.js';
import { Code, Failure } from './failure.js';
import { type HttpRequest, type HttpResponse, durableResponse, httpRecord } from './http.js';
import { type CallOptions, callRecord } from './retry.js';
import { encode } from './value.js';

/** The input of a compensation: the input of the step, and its output, which is null if it is unknown. */
export interface Undo<In, Out> {
  /** The input of the step. */
  input: In;
  /** The output of the step; null if it is unknown. */
  output: Out | null;
}

/** The options of a step. */
export interface StepOptions<In, Out> extends Omit<CallOptions, 'signal'> {
  /** The function that undoes the step. It gets `{ input, output }`. */
  compensate: Callable<Undo<In, Out>, unknown> | string;
  /** If nobody knows whether the step acted (its deadline passed), undo it without asking a person. */
  compensateUnknown?: boolean;
}

/** A saga: a list of steps that are undone in reverse order if a later one fails. */
export interface Saga {
  /** A step that calls a function. */
  call<In, Out>(target: Callable<In, Out>, input: In, options: StepOptions<In, Out>): Promise<Out>;
  /** A step that calls a function by its name. */
  call<Out = unknown>(target: string, input: unknown, options: StepOptions<any, any>): Promise<Out>;
  /** A step that sends a request. A response 4xx says that the server did not act. */
  http(request: string | HttpRequest, options: StepOptions<any, any>): Promise<HttpResponse>;
  /** Runs a part of the workflow: a `Failure` that leaves it undoes the steps, and its end completes the saga. */
  scope<R>(part: () => Promise<R>): Promise<R>;
  /** Undoes the steps now, and throws the `Failure` (422) that says so: `await saga.abort('sold out')`. */
  abort(reason: string): Promise<never>;
  /** Ends the saga: its steps stay, whatever happens later. */
  complete(): void;
}

/** A step in the report of a saga. */
export interface SagaStepReport {
  /** The number of the step, from 0. */
  seq: number;
  /** The function or the request. */
  step: string;
  /** The function that undoes it. */
  compensate: string;
  /** Why it could not be undone. */
  error?: string;
}

/** What was undone: `sagas` in the details of the failure with which a workflow ends. */
export interface SagaReport {
  /** The name of the saga. */
  saga: string;
  /** Steps that were undone, the last one first. */
  undone: SagaStepReport[];
  /** The step that could not be undone: the unwinding stopped there. */
  failed: SagaStepReport[];
  /** The step of which nobody said whether it acted: the unwinding stopped there. */
  unclear: SagaStepReport[];
  /** Steps that acted and are not undone. */
  left: SagaStepReport[];
}

const OPTIONS = ['compensate', 'compensateUnknown'];

interface IssuedStep {
  declared: StepRecord;
  name: string;
  input: unknown;
  output: unknown;
  isHttp: boolean;
  /** True if there is something to undo. */
  registered: boolean;
  /** True if nobody knows whether it acted. */
  unknown: boolean;
  ended: Promise<void>;
  end: () => void;
}

/** The sagas of one execution. */
export class Sagas {
  readonly #execution: WorkflowExecution;
  readonly #begun: RunningSaga[] = [];
  readonly #steps = new Map<number, IssuedStep>();

  constructor(execution: WorkflowExecution) {
    this.#execution = execution;
  }

  begin(name: string): Saga {
    if (this.#begun.some((saga) => saga.name === name)) throw new Error(`there is a saga \`${name}\` in this workflow: give each its own name`);
    const saga = new RunningSaga(this.#execution, this.#steps, name);
    this.#begun.push(saga);
    return saga;
  }

  /** True for a step: its completion is needed even if nobody awaits it. */
  has(command: number): boolean {
    return this.#steps.has(command);
  }

  /** Notes how a step ended. */
  complete(command: number, output: unknown, failure: Failure | undefined): void {
    const step = this.#steps.get(command);
    if (step === undefined) return;
    this.#steps.delete(command);
    const { compensateUnknown } = step.declared;
    if (failure === undefined) {
      const status = step.isHttp ? (output as { status: number }).status : 200;
      // With 4xx the server says that it did not act.
      step.registered = compensateUnknown || status < 400 || status >= 500;
      step.output = output;
    } else {
      step.unknown = failure.code === Code.TimedOut || failure.code === Code.Cancelled;
      step.registered = step.unknown && compensateUnknown;
    }
    step.end();
  }

  /** Unwinds the sagas that a failure leaves open, the last one first. */
  async unwindAll(failure: Failure): Promise<Failure> {
    let outcome = failure;
    for (const saga of [...this.#begun].reverse()) if (!saga.isOver) outcome = await saga.unwind(outcome);
    return outcome;
  }
}

class RunningSaga implements Saga {
  readonly name: string;
  isOver = false;
  readonly #execution: WorkflowExecution;
  readonly #commands: Map<number, IssuedStep>;
  readonly #steps: IssuedStep[] = [];

  constructor(execution: WorkflowExecution, commands: Map<number, IssuedStep>, name: string) {
    this.#execution = execution;
    this.#commands = commands;
    this.name = name;
  }

  call(target: string | Callable<never, unknown>, input: unknown, options: StepOptions<any, any>): Promise<any> {
    const name = addressOf(target, 'a saga calls');
    const payload = encode(input, `the input of \`${name}\``);
    const record = callRecord(options, `the step \`${name}\``, OPTIONS);
    const step = this.#declare(name, input ?? null, options, false);
    return this.#issue(step, this.#execution.issue({ kind: 'call', function: name, input: payload, options: record, step: step.declared }).index);
  }

  http(given: string | HttpRequest, options: StepOptions<any, any>): Promise<HttpResponse> {
    const request = httpRecord(given);
    const name = `${request.method} ${request.url}`;
    const record = callRecord(options, `the step \`${name}\``, OPTIONS);
    const body = request.body?.tag === 'json' ? JSON.parse(request.body.val) : null;
    const sent = { method: request.method, url: request.url, headers: request.headers, body };
    const step = this.#declare(name, sent, options, true);
    const { index } = this.#execution.issue({ kind: 'http', request, options: record, step: step.declared });
    return this.#issue(step, index).then((told) => durableResponse(told, request.url));
  }

  async scope<R>(part: () => Promise<R>): Promise<R> {
    try {
      const value = await part();
      this.complete();
      return value;
    } catch (error) {
      throw error instanceof Failure && !this.isOver ? await this.unwind(error) : error;
    }
  }

  async abort(reason: string): Promise<never> {
    throw await this.unwind(new Failure(Code.Refused, reason));
  }

  complete(): void {
    this.isOver = true;
  }

  #declare(name: string, input: unknown, { compensate, compensateUnknown = false }: StepOptions<any, any>, isHttp: boolean): IssuedStep {
    if (this.isOver) throw new Error(`the saga \`${this.name}\` is over, and \`${name}\` is a step of it: begin another`);
    if (compensate === undefined) throw new TypeError(`the step \`${name}\` of the saga \`${this.name}\` has no \`compensate\`, which is the function that undoes it`);
    const undoes = addressOf(compensate as string | Callable<never, unknown>, `the step \`${name}\` is undone by`);
    const declared = { saga: this.name, seq: this.#steps.length, compensate: undoes, compensateUnknown };
    const { promise, resolve } = deferred<void>();
    return { declared, name, input, output: null, isHttp, registered: false, unknown: false, ended: promise, end: resolve };
  }

  #issue(step: IssuedStep, command: number): Promise<unknown> {
    this.#steps.push(step);
    this.#commands.set(command, step);
    const promise = this.#execution.completion(command);
    this.#execution.unawaited.add(command, () => `the step \`${step.name}\` of the saga \`${this.name}\``, promise);
    return promise;
  }

  /** Undoes the steps, and adds the report to the failure that is the reason. */
  async unwind(failure: Failure): Promise<Failure> {
    this.isOver = true;
    for (const step of this.#steps) await step.ended;
    const report: SagaReport = { saga: this.name, undone: [], failed: [], unclear: [], left: [] };
    let stopped = false;
    for (const step of [...this.#steps].reverse()) {
      const { seq, compensate } = step.declared;
      const line: SagaStepReport = { seq, step: step.name, compensate };
      if (stopped) {
        if (step.registered || step.unknown) report.left.push(line);
        continue;
      }
      if (step.unknown && !step.registered && !(await this.#ask(step))) {
        report.unclear.push(line);
        stopped = true;
        continue;
      }
      if (!step.registered) continue;
      const error = await this.#undo(step);
      if (error === undefined) report.undone.push(line);
      else report.failed.push({ ...line, error: error.message });
      stopped = error !== undefined;
    }
    return withReport(failure, report);
  }

  /** Asks a person whether the step acted. False if there is no answer. */
  async #ask(step: IssuedStep): Promise<boolean> {
    const execution = this.#execution;
    const { saga, seq } = step.declared;
    const id = `${execution.facts.invocation}/u/${saga}/${seq}`;
    execution.log(
      'warn',
      `step ${seq} of the saga \`${saga}\` (\`${step.name}\`) is unclear: check whether it acted, then resolve the promise \`${id}\` if it did, which undoes it, or reject the promise if it did not`,
    );
    const { index } = execution.engine.issue({ kind: 'ask', step: step.declared });
    const answer = await execution.completion(index, undefined, true).then(() => 'acted', (error: Failure) => error.code);
    step.registered = answer === 'acted';
    return answer !== Code.Cancelled;
  }

  #undo(step: IssuedStep): Promise<Failure | undefined> {
    const input = encode({ input: step.input, output: step.output }, `the input of \`${step.declared.compensate}\``);
    const options: CallRecord = { labels: [] };
    const { index } = this.#execution.engine.issue({ kind: 'undo', step: step.declared, input, options });
    return this.#execution.completion(index, undefined, true).then(() => undefined, (error: Failure) => error);
  }
}

function withReport(failure: Failure, report: SagaReport): Failure {
  const names = (steps: SagaStepReport[]) => steps.map(({ step }) => `\`${step}\``).join(', ');
  let text = `saga \`${report.saga}\`: ${names(report.undone) || 'nothing'} undone`;
  for (const { step, error } of report.failed) text += `, \`${step}\` could not be undone: ${error}`;
  if (report.unclear.length > 0) text += `, unclear whether ${names(report.unclear)} acted`;
  if (report.left.length > 0) text += `, ${names(report.left)} not undone`;
  const known = failure.details as { sagas?: SagaReport[]; details?: unknown } | undefined;
  const before = Array.isArray(known?.sagas) ? known : { sagas: [], ...(known === undefined ? {} : { details: known }) };
  return new Failure(failure.code, `${failure.message}; ${text}`, { ...before, sagas: [...(before.sagas ?? []), report] });
}
