// A host for tests: it runs workflows natively, in virtual time.

import { type Budget, type BudgetLimits, limitsText } from '../core/budget.js';
import type { Arguments } from '../core/context.js';
import type { BlobReference } from '../core/blob.js';
import { type Callable, Definition, type Workflow } from '../core/definition.js';
import { type Duration, type Instant, instantMs, milliseconds } from '../core/duration.js';
import type { Level, Outcome } from '../core/engine.js';
import { Code, Failure } from '../core/failure.js';
import { Module } from '../core/module.js';
import type { ObjectType } from '../core/object.js';
import { checkOptions } from '../core/retry.js';
import { validated } from '../core/schema.js';
import { decode, encode } from '../core/value.js';
import type { Query, Update } from '../core/workflow.js';
import { Doubles, type DoubleInfo, type HttpDouble, type SeenRequest } from './doubles.js';
import type { Invocation } from './invocation.js';
import type { JournalRecord } from './journal.js';
import { misfit } from './json-schema.js';
import { kindOf, learned, nameOf, withModule } from './naming.js';
import { TestObjects, objectAddress } from './objects.js';
import { checkReplays } from './replay.js';
import { Asked, PromiseScript, type Scenario, answered } from './scenario.js';
import { withGlobals } from './scopes.js';
import { withFramesOfAuthor } from './stack.js';
import { type LogLine, World } from './world.js';

/** The minimum length of a secret, in bytes: so that it can be found in other text. */
const SECRET_BYTES_MIN = 8;

/** The options of a test host. */
export interface TestHostOptions {
  /**
   * The exports of the entry file: `import * as shop from '../src/index.js'`. Then a call of a function that it does not
   * export fails, as on a host.
   */
  module?: Readonly<Record<string, unknown>>;
  /** When the workflow begins. Default: a day in June 2025. */
  startAt?: Instant;
  /** The seed of random numbers. Default: 0. */
  seed?: number;
  /** The id of the workflow under test. Default: `test`. */
  id?: string;
  /** The name of the module, as messages of a host show it. Default: `test`. */
  name?: string;
  /** True: log lines, `console` included, are printed on standard error as well as kept. Default: false. */
  print?: boolean;
  /** False: a run is not followed by replays of every prefix of the journal. Default: true. */
  replay?: boolean;
}

/** The options of a run. */
export interface RunOptions {
  /** The budget of the run and everything below it. */
  budget?: BudgetLimits;
}

/** A send that a test has seen. */
export interface SeenSend<In> {
  /** The input. */
  input: In;
  /** The instant before which it does not begin. */
  startAt: Date | undefined;
}

type InputOf<F> = F extends Callable<infer In, any> ? In : unknown;
type QueriesOf<F> = F extends Workflow<any, any, infer T> ? (T extends { queries: infer Q } ? Q : {}) : {};
type UpdatesOf<F> = F extends Workflow<any, any, infer T> ? (T extends { updates: infer U } ? U : {}) : {};
type QueryIn<H> = H extends Query<any, infer I, any> ? I : unknown;
type UpdateIn<H> = H extends Update<any, infer I, any> ? I : unknown;
type QueryOut<H> = H extends Query<any, any, infer O> ? O : unknown;
type UpdateOut<H> = H extends Update<any, any, infer O> ? O : unknown;

/**
 * Runs workflows natively, in virtual time: no component, no host, no waiting. Functions that the workflow calls run for
 * real, unless the test has a double of them. After each run every prefix of the journal is replayed, as after a crash
 * at every await; a difference is a {@link ReplayDivergence}.
 *
 * ```ts
 * const t = new TestHost({ module: shop });
 * t.on(shop.charge, (order) => `receipt of ${order.id}`);
 * t.signal('approved', { by: 'ada' }, { after: '1h' });
 * assert.equal(await t.run(shop.order, { id: 'o-1', cents: 1200 }), 'receipt of o-1');
 * ```
 */
export class TestHost {
  readonly #scenario: Scenario;
  readonly #replays: boolean;
  #world: World | undefined;

  constructor({ module, startAt = 1_750_000_000_000, seed = 0, id = 'test', name = 'test', print = false, replay = true }: TestHostOptions = {}) {
    this.#replays = replay;
    this.#scenario = {
      module: module === undefined ? undefined : new Module(module),
      learned,
      doubles: new Doubles(),
      objects: new TestObjects(),
      startAtMs: instantMs(startAt, '`startAt`'),
      seed,
      id,
      name,
      print,
      settlements: [],
      signals: [],
      asked: [],
      cancelAfterMs: undefined,
      budget: undefined,
      raises: [],
    };
  }

  // --- Before the run ---

  /** Puts a double in place of a function. It gets the input, and gives the result or throws a `Failure`. */
  on<In, Out>(target: Callable<In, Out>, double: (input: NoInfer<In>, info: DoubleInfo) => NoInfer<Out> | Promise<NoInfer<Out>>): this;
  /** Puts a double in place of a function that is called by this name or address. */
  on(target: string, double: (input: any, info: DoubleInfo) => unknown): this;
  on(target: string | Callable<any, any>, double: (input: any, info: DoubleInfo) => unknown): this {
    this.#scenario.doubles.functions.set(this.#nameOf(target), double);
    return this;
  }

  /** Answers requests with this method (`*`: any) to addresses that begin with `url`; the longest address applies. */
  onHttp(method: string, url: string, answer: HttpDouble): this {
    this.#scenario.doubles.server(method, url, answer);
    return this;
  }

  /** Sends the workflow a signal, `after` this time from its start. */
  signal(name: string, value?: unknown, { after = 0 }: { after?: Duration } = {}): this {
    this.#scenario.signals.push({ name, payload: encode(value, `the value of signal \`${name}\``), afterMs: milliseconds(after, '`after`') });
    return this;
  }

  /** Defines how the promise with this name, or this whole id, is settled. */
  promise<T = unknown>(name: string): PromiseScript<T> {
    return new PromiseScript<T>({ name }, (plan) => this.#scenario.settlements.push(plan));
  }

  /** Defines how the n-th promise without a name is settled, from 0. */
  unnamedPromise<T = unknown>(n: number): PromiseScript<T> {
    return new PromiseScript<T>({ unnamed: n }, (plan) => this.#scenario.settlements.push(plan));
  }

  /** Defines how a promise of an object is settled from outside. */
  objectPromise<T = unknown>(kind: ObjectType, key: string, name: string): PromiseScript<T> {
    return new PromiseScript<T>({ object: this.#pathOf(kind, key), name }, (plan) => this.#scenario.settlements.push(plan));
  }

  /** Cancels the workflow, this time after its start. */
  cancelAfter(delay: Duration): this {
    this.#scenario.cancelAfterMs = milliseconds(delay, 'the delay of the cancellation');
    return this;
  }

  /** Sets limits during the run, as `segno budget set` does, `after` this time from its start. Default of `id`: the workflow under test. */
  setBudget(limits: BudgetLimits, { after = 0, id }: { after?: Duration; id?: string } = {}): this {
    const text = limitsText(limits);
    if (text !== undefined) this.#scenario.raises.push({ account: id, limits: text, afterMs: milliseconds(after, '`after`') });
    return this;
  }

  /** Sends an update while the workflow runs; read its `answer()` after the run. */
  update<F extends Workflow, N extends Extract<keyof UpdatesOf<F>, string>>(
    _workflow: F,
    name: N,
    input?: UpdateIn<UpdatesOf<F>[N]>,
    { after = 0 }: { after?: Duration } = {},
  ): Asked<UpdateOut<UpdatesOf<F>[N]>> {
    const asked = new Asked<UpdateOut<UpdatesOf<F>[N]>>('update', name, encode(input, `the input of \`${name}\``), milliseconds(after, '`after`'));
    this.#scenario.asked.push(asked);
    return asked;
  }

  /** Sends a query while the workflow runs, or, after the run and without `after`, to its final state. */
  query<F extends Workflow, N extends Extract<keyof QueriesOf<F>, string>>(
    _workflow: F,
    name: N,
    input?: QueryIn<QueriesOf<F>[N]>,
    { after }: { after?: Duration } = {},
  ): Asked<QueryOut<QueriesOf<F>[N]>> {
    const payload = encode(input, `the input of \`${name}\``);
    const asked = new Asked<QueryOut<QueriesOf<F>[N]>>('query', name, payload, milliseconds(after ?? 0, '`after`'));
    if (this.#world !== undefined && after === undefined) this.#world.ask(asked);
    else this.#scenario.asked.push(asked);
    return asked;
  }

  /** Sets a setting that activities read with `ctx.env`. */
  env(name: string, value: string): this {
    this.#scenario.doubles.env.set(name, value);
    return this;
  }

  /** Sets a secret that activities read with `ctx.secret`. A host takes secrets of 8 bytes or more. */
  secret(name: string, value: string): this {
    const { length } = new TextEncoder().encode(value);
    if (length < SECRET_BYTES_MIN) {
      throw new TypeError(`the secret \`${name}\` has ${length} bytes, and a host takes ${SECRET_BYTES_MIN} or more: put a setting in \`t.env\``);
    }
    this.#scenario.doubles.secrets.set(name, value);
    return this;
  }

  /** Makes a file that activities read with `ctx.files`. */
  file(path: string, content: string | Uint8Array): this {
    this.#scenario.doubles.files.set(path, typeof content === 'string' ? new TextEncoder().encode(content) : content);
    return this;
  }

  /** Stores a blob, as a client does before it starts the workflow under test. */
  blob(content: string | Uint8Array, contentType = 'application/octet-stream'): BlobReference {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    return this.#scenario.doubles.blobs.store(this.#scenario.id, contentType, bytes);
  }

  /** Sets a field of an object's state. A field of a map has the name `MAP/KEY`. */
  setState(kind: ObjectType, key: string, name: string, value: unknown): this {
    this.#scenario.objects.of(this.#pathOf(kind, key)).state.set(name, encode(value, `the state \`${name}\``));
    return this;
  }

  // --- The run ---

  /** Runs a workflow, or an activity as a call of it. Gives its result, or throws its `Failure`. */
  async run<In, Out>(target: Callable<In, Out>, ...given: Arguments<In, RunOptions>): Promise<Out> {
    const definition = this.#definitionOf(target);
    const name = this.#nameOf(target);
    return this.#execute(definition, name, given, undefined) as Promise<Out>;
  }

  /** Runs one function of an object. */
  async runObject<F extends Record<string, Workflow>, N extends Extract<keyof F, string>>(
    kind: ObjectType<F>,
    key: string,
    name: N,
    ...given: Arguments<InputOf<F[N]>, RunOptions>
  ): Promise<F[N] extends Callable<any, infer Out> ? Out : unknown> {
    const definition = this.#definitionOf(kind.functions[name]!);
    const address = `${this.#pathOf(kind, key)}/${definition.options.name ?? name}`;
    return this.#execute(definition, definition.title, given, address) as Promise<any>;
  }

  async #execute(definition: Definition, name: string, given: readonly [input?: unknown, options?: RunOptions], address: string | undefined): Promise<unknown> {
    const [input, options = {}] = given;
    checkOptions(options, ['budget'], `the run of \`${name}\``);
    this.#scenario.budget = options.budget && limitsText(options.budget);
    try {
      return await this.#executed(definition, name, input, address);
    } catch (error) {
      throw withFramesOfAuthor(error, definition.made);
    }
  }

  async #executed(definition: Definition, name: string, input: unknown, address: string | undefined): Promise<unknown> {
    return withModule(this.#scenario.module, () =>
      withGlobals(async () => {
        const payload = encode(input, `the input of \`${name}\``);
        // As a host, which looks at the schema before an execution begins.
        await validated(definition.options.input, decode(payload), `the input of \`${name}\``);
        const unfit = misfit(definition.options.input, decode(payload));
        if (unfit !== undefined) throw new Failure(Code.BadInput, `the input does not fit the schema of \`${name}\`: ${unfit}`);
        await this.#checkSignals(definition, name);
        const world = new World(this.#scenario);
        this.#world = world;
        const { signals, asked, settlements } = this.#scenario;
        const outcome = await this.#outcome(world, definition, name, payload, address);
        world.close();
        signals.length = 0;
        asked.length = 0;
        this.#scenario.raises.length = 0;
        this.#scenario.settlements = settlements.filter(({ key }) => !('object' in key));
        this.#scenario.cancelAfterMs = undefined;
        if (this.#replays) await this.replayCheck();
        return answered(outcome);
      }),
    );
  }

  async #outcome(world: World, definition: Definition, name: string, payload: ReturnType<typeof encode>, address: string | undefined): Promise<Outcome> {
    if (definition.kind === 'workflow') return world.run(definition, name, payload, address === undefined ? undefined : objectAddress(address));
    const caller = new Definition('workflow', { name: `a call of ${name}` }, async (_: void, ctx: { call: Function }) => ctx.call(name, decode(payload)));
    return world.run(caller, caller.title, encode(undefined, 'no input'), undefined);
  }

  async #checkSignals(definition: Definition, name: string): Promise<void> {
    const { signals: declared, updates } = definition.options;
    for (const { name: signal, payload } of this.#scenario.signals) {
      if (declared === true) continue;
      if (declared === undefined || !Object.hasOwn(declared, signal)) {
        const known = Object.keys(declared ?? {}).map((one) => `\`${one}\``).join(', ') || (updates === undefined ? 'no signals' : 'updates only');
        throw new TypeError(`the test sends \`${name}\` the signal \`${signal}\`, and it takes ${known}: declare it in its options (\`signals\`)`);
      }
      const what = `the value of signal \`${signal}\``;
      await validated(declared[signal], decode(payload), what);
      const unfit = misfit(declared[signal], decode(payload));
      if (unfit !== undefined) throw new Failure(Code.BadInput, `${what} does not fit its schema: ${unfit}`);
    }
  }

  // --- After the run ---

  /** The inputs of the calls of a function, in the order of the calls. */
  calls<In>(target: Callable<In, any>): In[];
  calls(target: string): any[];
  calls(target: string | Callable<any, any>): unknown[] {
    const name = this.#nameOf(target);
    return this.#issued.flatMap(({ command }) => {
      const called = command.kind === 'call' ? command.function : command.kind === 'undo' ? command.step.compensate : undefined;
      const isIt = called !== undefined && (called === name || objectAddress(called)?.name === name);
      return isIt ? [decode((command as { input: ReturnType<typeof encode> }).input)] : [];
    });
  }

  /** The sends of a function. */
  sent<In>(target: Callable<In, any>): SeenSend<In>[];
  sent(target: string): SeenSend<any>[];
  sent(target: string | Callable<any, any>): SeenSend<unknown>[] {
    const name = this.#nameOf(target);
    return this.#issued.flatMap(({ command }) => {
      if (command.kind !== 'send' || (command.function !== name && objectAddress(command.function)?.name !== name)) return [];
      const { startAtMs } = command.options;
      return [{ input: decode(command.input), startAt: startAtMs === undefined ? undefined : new Date(startAtMs) }];
    });
  }

  /** The events that were published. */
  get published(): { topic: string; value: unknown }[] {
    return this.#issued.flatMap(({ command }) => (command.kind === 'publish' ? [{ topic: command.topic, value: decode(command.payload) }] : []));
  }

  /** The requests that were sent, each attempt once. */
  get requests(): readonly SeenRequest[] {
    return this.#scenario.doubles.requests;
  }

  /** What activities passed to `ctx.heartbeat`. */
  get heartbeats(): readonly unknown[] {
    return this.#scenario.doubles.heartbeats;
  }

  /** The log lines. */
  get logs(): readonly LogLine[] {
    return this.#ran.logs;
  }

  /** True if a line of the log contains this text. */
  logged(text: string, level?: Level): boolean {
    return this.logs.some((line) => line.message.includes(text) && (level === undefined || line.level === level));
  }

  /** The virtual time that passed, in milliseconds. */
  get elapsed(): number {
    return this.#ran.nowMs - this.#scenario.startAtMs;
  }

  /** The ids of all workflows that ran. */
  get invocations(): string[] {
    return [...this.#ran.invocations.keys()];
  }

  /**
   * The journal of a workflow, in the records of a host. Default: the workflow under test, in its newest generation. A
   * run of a graph has none.
   */
  journal(id?: string): JournalRecord[] {
    const { isGraph, recorder } = this.#invocation(id);
    return isGraph ? [] : structuredClone(recorder.records);
  }

  /**
   * The content of a stream: the list of messages of a JSON stream, the text of any other with a type `text/…`, else the
   * bytes; undefined if nothing wrote it. Default of `id`: the workflow under test.
   */
  stream(name: string, id?: string): any {
    return this.#ran.streams.content(this.#invocation(id).firstId, name);
  }

  /** The content of a stream of an object, as `stream` gives it, of all runs. */
  objectStream(kind: ObjectType, key: string, name: string): any {
    return this.#scenario.objects.streams.content(this.#pathOf(kind, key), name);
  }

  /** The budget of the run, or of a call that has its own: limits and use by unit. Default of `id`: the workflow under test. */
  budget(id: string = this.#scenario.id): Budget {
    return this.#ran.budgets.of(id);
  }

  /** The content of a file. */
  fileContent(path: string): string | undefined {
    const content = this.#scenario.doubles.files.get(path);
    return content && new TextDecoder().decode(content);
  }

  /** The content of a blob. */
  blobContent(blob: BlobReference): Uint8Array | undefined {
    return this.#scenario.doubles.blobs.content(blob);
  }

  /** A field of an object's state. */
  state(kind: ObjectType, key: string, name: string): unknown {
    const value = this.#scenario.objects.of(this.#pathOf(kind, key)).state.get(name);
    return value && decode(value);
  }

  /** How a promise of an object stands: `null` while it is pending, else `{ resolved }` or `{ rejected }`. */
  objectPromiseState(kind: ObjectType, key: string, name: string): unknown {
    return this.#scenario.objects.of(this.#pathOf(kind, key)).peek(name);
  }

  /**
   * Replays every prefix of the journal of every workflow of the last run, and compares each command. A run does so by
   * itself. Gives the number of replays; throws a {@link ReplayDivergence} at the first difference.
   */
  async replayCheck(): Promise<number> {
    const all = async (): Promise<number> => {
      let replays = 0;
      for (const invocation of this.#ran.invocations.values()) if (!invocation.isGraph && invocation.recorder.records.length > 1) replays += await checkReplays(invocation);
      return replays;
    };
    return withModule(this.#scenario.module, () => withGlobals(all));
  }

  get #ran(): World {
    if (this.#world === undefined) throw new Error('nothing has run yet: `await t.run(workflow, input)`');
    return this.#world;
  }

  get #issued() {
    return this.#ran.commands;
  }

  #invocation(id: string | undefined): Invocation {
    const found = id === undefined ? this.#ran.root : this.#ran.invocations.get(id.replace(/[/]g[/]1$/, ''));
    if (found === undefined) throw new Error(`no workflow \`${id}\` ran; there are ${this.invocations.join(', ')}`);
    return found;
  }

  #definitionOf(target: unknown): Definition {
    if (target instanceof Definition) return target;
    const given = target === undefined ? 'undefined: does the entry file export it?' : `a ${typeof target}`;
    throw new TypeError(`a test runs a workflow or an activity of this module, \`t.run(order, input)\`, and is given ${given}`);
  }

  #nameOf(target: unknown): string {
    if (typeof target === 'string') return target;
    const address: unknown = (target as { address?: unknown } | undefined)?.address;
    if (typeof address === 'string') return address;
    if (!(target instanceof Definition)) throw new TypeError('this takes a function of the module, a `remote` one, or a name');
    return withModule(this.#scenario.module, () => nameOf(target));
  }

  #pathOf(kind: ObjectType, key: string): string {
    return `${withModule(this.#scenario.module, () => kindOf(kind))}@${key}`;
  }
}
