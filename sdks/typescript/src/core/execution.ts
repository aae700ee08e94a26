// One execution of a workflow: the table from commands to promises, and what waits.

import { CompletionWaiter, type Waiter } from './completion.js';
import { type Definition, type Handler } from './definition.js';
import type { Command, Engine, EngineEvent, Facts, FailureRecord, Level, Outcome, Payload } from './engine.js';
import { Code, Failure, cancelled } from './failure.js';
import { generator } from './random.js';
import { Sagas } from './saga.js';
import { validated } from './schema.js';
import { type HeardSignal, type SignalWait, Signals } from './signal-wait.js';
import type { KnownStream } from './stream.js';
import { UnawaitedCommands } from './unawaited.js';
import { Updates } from './updates.js';
import { decode, encode, shown } from './value.js';
import { workflowContext } from './workflow-context.js';

/** The end of a generation, as the author returns it. */
export class NextGeneration {
  constructor(
    readonly input: Payload,
    readonly sameCode: boolean,
  ) {}
}

interface Condition extends Waiter {
  holds(): boolean;
}

/** A successful outcome. `what` names the value in errors. */
export const success = (value: unknown, what: string): Outcome => ({ tag: 'success', val: encode(value, what) });

/** The outcome of an error that is no defect. */
export function failed(error: unknown): { tag: 'failure'; val: FailureRecord } {
  const failure = error instanceof Failure ? error : new Failure(Code.Unexpected, error instanceof Error ? String(error) : `thrown: ${shown(error)}`);
  const { code, message, details } = failure;
  return { tag: 'failure', val: { code, message, details: details === undefined ? undefined : encode(details, 'the details of the failure') } };
}

/** The failure in an outcome. */
export function failureOf({ code, message, details }: FailureRecord): Failure {
  // An option that is none is null to QuickJS.
  return new Failure(code, message, details ? decode(details) : undefined);
}

/** One execution of a workflow. Its shell delivers events, runs what became ready, and then calls {@link settle}. */
export class WorkflowExecution {
  readonly definition: Definition;
  readonly facts: Facts;
  readonly engine: Engine;
  readonly signals = new Signals();
  readonly sagas: Sagas;
  readonly updates: Updates;
  readonly unawaited = new UnawaitedCommands();
  /** The streams that the workflow has asked for, by name. */
  readonly streams = new Map<string, KnownStream>();
  /** Warnings for the author, which are in the log. */
  readonly warnings: string[] = [];
  readonly controller = new AbortController();
  /** The value that the workflow shares. */
  shared: unknown;
  isCancelled = false;
  isFinished = false;
  /** The `run` whose function computes, with random numbers of its own: a replay does not compute it again. */
  running: { name: string; random: () => number } | undefined;
  /** What was thrown that is no outcome. */
  defect: { error: unknown } | undefined;
  continuing: NextGeneration | undefined;
  /** Made when the first number is drawn: most executions draw none. */
  #drawn: (() => number) | undefined;
  readonly #waiting = new Map<number, Waiter>();
  readonly #conditions: Condition[] = [];
  readonly #lost = new Map<unknown, unknown>();
  readonly #timed = new Map<number, SignalWait<unknown>>();

  constructor(definition: Definition, facts: Facts, engine: Engine) {
    this.definition = definition;
    this.facts = facts;
    this.engine = engine;
    this.sagas = new Sagas(this);
    this.updates = new Updates(this);
  }

  /** A random number from 0 to 1. */
  random(): number {
    if (this.running !== undefined) return this.running.random();
    this.#drawn ??= generator(this.facts.seed);
    return this.#drawn();
  }

  /** Begins the workflow. */
  start(input: Payload): void {
    const { options, run } = this.definition;
    const what = `the input of \`${this.definition.title}\``;
    const body = async (): Promise<unknown> => {
      const given = await validated(options.input, inputOf(input, options.input !== undefined), what);
      if (options.shared !== undefined) this.shared = options.shared(given as never);
      return run(given as never, workflowContext(this) as never);
    };
    body()
      .then((value) => this.end(value))
      .then(undefined, (error: unknown) => this.fail(error))
      .then(undefined, (error: unknown) => this.broke(error));
  }

  /** Delivers an event. */
  tell(event: EngineEvent): void {
    this.signals.polls += 1;
    switch (event.tag) {
      case 'completed':
        return this.#complete(event.val.command, event.val.outcome);
      case 'signal':
        return this.#hear(event.val.name, event.val.payload);
      case 'cancelled':
        return this.#cancel();
    }
  }

  /** Wakes those whose condition holds. True if there are some, whose work is then to be run. */
  look(): boolean {
    if (this.#conditions.length === 0) return false;
    const held = this.#conditions.filter((condition) => {
      try {
        return condition.holds();
      } catch (error) {
        condition.reject(error);
        return true;
      }
    });
    for (const condition of held) {
      this.#conditions.splice(this.#conditions.indexOf(condition), 1);
      condition.resolve(undefined);
    }
    return held.length > 0;
  }

  /** Notes a promise that was rejected and that nobody handles, as far as known. */
  unhandled(promise: unknown, reason: unknown): void {
    this.#lost.set(promise, reason);
  }

  /** Notes that a promise is handled after all. */
  handled(promise: unknown): void {
    this.#lost.delete(promise);
  }

  /** Forgets the time limit of a wait when it has its signal. */
  whenTaken(wait: SignalWait<unknown>, timer: number): void {
    this.#timed.set(timer, wait);
  }

  /** After everything that was ready has run: an error that nobody handles is a defect, unless it is a `Failure`. */
  settle(): void {
    if (this.#timed.size > 0) this.#endTimed();
    if (this.#lost.size > 0) this.#endLost();
  }

  #endTimed(): void {
    for (const [timer, wait] of this.#timed) {
      if (!wait.isTaken && this.#waiting.has(timer)) continue;
      this.#timed.delete(timer);
      this.forget(timer);
    }
  }

  #endLost(): void {
    for (const [promise, reason] of this.#lost) {
      if (reason instanceof Failure) continue;
      this.#lost.delete(promise);
      this.broke(reason);
    }
  }

  /** Notes a defect; the first one counts. */
  broke(error: unknown): void {
    this.defect ??= { error };
  }

  /** Refuses commands inside the function of a `run`. */
  refuseInRun(what: string): void {
    if (this.running === undefined) return;
    throw new Error(`${what} inside \`ctx.run('${this.running.name}', …)\`: its function only computes; do this before or after it`);
  }

  /** Issues a command. */
  issue(command: Command): { index: number; promise?: string } {
    if (this.running !== undefined) this.refuseInRun(`a command (${command.kind})`);
    return this.engine.issue(command);
  }

  /** A promise of a command's completion. A failure that nobody awaits is no defect. */
  completion<T = unknown>(index: number, read?: (value: unknown) => T, shielded = false): Promise<T> {
    const waiter = new CompletionWaiter(read, shielded);
    this.#waiting.set(index, waiter);
    return waiter.promise as Promise<T>;
  }

  /** True while the completion of a command is to come. */
  isOpen(index: number): boolean {
    return this.#waiting.has(index);
  }

  /** Waits for a completion by callbacks. */
  await(index: number, waiter: Waiter): void {
    this.#waiting.set(index, waiter);
  }

  /** The completion of a command is not needed any more. */
  forget(index: number): void {
    if (this.#waiting.delete(index) && !this.isFinished) this.engine.forget(index);
  }

  /** Waits until a condition holds. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      if (holds()) resolve();
      else this.#conditions.push({ holds, resolve: () => resolve(), reject });
    });
  }

  log(level: Level, message: string): void {
    this.engine.log(level, message);
  }

  /** The query or update with this name. */
  handler(kind: 'query' | 'update', name: string): Handler {
    const known = (kind === 'query' ? this.definition.options.queries : this.definition.options.updates) ?? {};
    const found = Object.hasOwn(known, name) ? known[name] : undefined;
    if (found !== undefined) return found;
    const names = Object.keys(known).map((one) => `\`${one}\``).join(', ') || 'none';
    throw new Failure(Code.NotFound, `there is no ${kind} \`${name}\`; there are: ${names}`);
  }

  /** Answers a query. */
  query(name: string, input: Payload): Outcome {
    try {
      const { run, input: schema, output } = this.handler('query', name);
      const given = atOnce(validated(schema, inputOf(input, schema !== undefined), `the input of \`${name}\``), name);
      const answer = atOnce((run as (shared: unknown, input: unknown) => unknown)(this.shared, given), name);
      return success(atOnce(validated(output, answer, `the answer of \`${name}\``), name), `the answer of \`${name}\``);
    } catch (error) {
      return failed(error);
    }
  }

  /** The failure that refuses an update now, or undefined. */
  validate(name: string, input: Payload): FailureRecord | undefined {
    try {
      const { validate, input: schema } = this.handler('update', name);
      const given = atOnce(validated(schema, inputOf(input, schema !== undefined), `the input of \`${name}\``), name);
      (validate as ((shared: unknown, input: unknown) => void) | undefined)?.(this.shared, given);
      return undefined;
    } catch (error) {
      return failed(error).val;
    }
  }

  /** The end of the author's function. */
  async end(value: unknown): Promise<void> {
    const { output } = this.definition.options;
    const what = `the result of \`${this.definition.title}\``;
    if (value instanceof NextGeneration) return this.#over(() => this.engine.continueAsNew(value.input, value.sameCode));
    if (this.continuing !== undefined) throw new Error('`ctx.continueAsNew` was called, and something else returned: write `return ctx.continueAsNew(input)`');
    const outcome = success(output === undefined ? value : await checked(output, value, what), what);
    for (const warning of this.unawaited.warnings()) this.#warn(warning);
    this.#over(() => this.engine.finish(outcome));
  }

  /** The end by an error: a `Failure` is the outcome, and anything else a defect. */
  async fail(error: unknown): Promise<void> {
    if (!(error instanceof Failure)) return this.broke(error);
    const outcome = failed(await this.sagas.unwindAll(error));
    this.#over(() => this.engine.finish(outcome));
  }

  #over(end: () => void): void {
    if (this.isFinished) return;
    this.isFinished = true;
    for (const reason of this.#lost.values()) {
      if (!(reason instanceof Failure) || reason.isCancelled) continue;
      this.#warn(`nobody awaited a promise that failed: ${reason.message} (code ${reason.code})`);
    }
    if (this.signals.unread.length > 0) this.engine.unread(this.signals.unread.map(({ number }) => number));
    end();
  }

  #warn(message: string): void {
    this.warnings.push(message);
    this.log('warn', message);
  }

  #complete(command: number, outcome: Outcome): void {
    const waiter = this.#waiting.get(command);
    this.#waiting.delete(command);
    if (outcome.tag === 'failure') {
      const failure = failureOf(outcome.val);
      this.unawaited.complete(command, failure);
      this.sagas.complete(command, undefined, failure);
      waiter?.reject(failure);
      return;
    }
    this.unawaited.complete(command, undefined);
    // A saga keeps a value of its own, which the author cannot change.
    if (this.sagas.has(command)) this.sagas.complete(command, decode(outcome.val), undefined);
    if (waiter === undefined) return;
    const value = decode(outcome.val);
    if (waiter.read === undefined) return waiter.resolve(value);
    try {
      waiter.resolve(waiter.read(value));
    } catch (error) {
      waiter.reject(error);
    }
  }

  #hear(name: string, payload: Payload): void {
    const number = this.signals.count();
    if (this.updates.accept(name, payload)) return;
    const signal: HeardSignal = { number, name, value: decode(payload) };
    this.signals.add(signal);
  }

  // Seen as an error at every await that is pending; what the workflow asks for after that is its cleaning up.
  #cancel(): void {
    this.isCancelled = true;
    for (const [command, waiter] of [...this.#waiting]) {
      if (waiter.shielded) continue;
      this.#waiting.delete(command);
      if (!this.sagas.has(command)) this.engine.forget(command);
      this.unawaited.delete(command);
      waiter.reject(cancelled());
    }
    this.signals.fail(cancelled);
    for (const condition of this.#conditions.splice(0)) condition.reject(cancelled());
    this.controller.abort(cancelled());
  }
}

/** The input of a function: without a schema, null is no input. */
export function inputOf(input: Payload, typed: boolean): unknown {
  const value = decode(input);
  return value === null && !typed ? undefined : value;
}

/** The value that a schema makes of a result. What does not fit is a defect of the function. */
export async function checked(schema: Definition['options']['output'], value: unknown, what: string): Promise<unknown> {
  try {
    return await validated(schema, value, what);
  } catch (error) {
    throw error instanceof Failure ? new TypeError(error.message) : error;
  }
}

function atOnce(value: unknown, name: string): unknown {
  if (typeof (value as { then?: unknown } | undefined)?.then === 'function') throw new Error(`\`${name}\` waits: a query and a validation answer at once`);
  return value;
}
