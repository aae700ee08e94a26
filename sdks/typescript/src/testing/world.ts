// The host's part in a test: it starts invocations, executes their commands, and advances virtual time.

import { Definition } from '../core/definition.js';
import { milliseconds } from '../core/duration.js';
import type { CallRecord, Command, EngineEvent, Level, Outcome, Payload } from '../core/engine.js';
import { failed, success } from '../core/execution.js';
import { Code, Failure } from '../core/failure.js';
import type { Module } from '../core/module.js';
import { seedOf } from '../core/random.js';
import { encode } from '../core/value.js';
import { Attempts, type Subject } from './attempts.js';
import type { Doubles } from './doubles.js';
import { Invocation } from './invocation.js';
import { type ObjectAddress, type ObjectWait, type TestObjects, objectAddress } from './objects.js';
import { type Asked, type PlannedSettlement, type PlannedSignal, unanswered } from './scenario.js';

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
  settlements: PlannedSettlement[];
  signals: PlannedSignal[];
  asked: Asked<any>[];
  cancelAfterMs: number | undefined;
}

/** A command of any invocation, with its time. */
export interface IssuedCommand {
  invocation: string;
  atMs: number;
  command: Command;
}

/** A line of a log. */
export interface LogLine {
  level: Level;
  message: string;
}

type Action = () => void | Promise<void>;

const NULL: Outcome = { tag: 'success', val: { tag: 'json', val: 'null' } };
const failure = (code: number, message: string): Outcome => failed(new Failure(code, message));

/** One run of a test. */
export class World {
  nowMs: number;
  readonly commands: IssuedCommand[] = [];
  readonly logs: LogLine[] = [];
  readonly invocations = new Map<string, Invocation>();
  readonly #scenario: Scenario;
  /** Future actions, sorted by time and then by their definition. */
  readonly #due: { atMs: number; order: number; act: Action }[] = [];
  #order = 0;
  /** Invocations that have something to do. */
  readonly #runnable = new Set<Invocation>();
  readonly #promises = new Map<string, { invocation: Invocation; command: number }>();
  readonly #updates = new Map<string, Asked<any>>();
  readonly #attempts = new Map<string, Attempts>();
  #unnamed = 0;
  /** The invocation under test; its newest generation. */
  root!: Invocation;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.nowMs = scenario.startAtMs;
  }

  /** Runs a function until it has an outcome. */
  async run(definition: Definition, name: string, input: Payload, object: ObjectAddress | undefined): Promise<Outcome> {
    const { signals, asked, cancelAfterMs, objects, settlements } = this.#scenario;
    objects.begin();
    for (const signal of signals) this.#at(this.nowMs + signal.afterMs, () => this.#signal(signal.name, signal.payload));
    for (const ask of asked) this.#at(this.nowMs + ask.afterMs, () => this.ask(ask));
    if (cancelAfterMs !== undefined) this.#at(this.nowMs + cancelAfterMs, () => this.#cancelRoot());
    for (const { key, afterMs, outcome } of settlements.filter(({ key }) => 'object' in key)) {
      const { object: path, name: promise } = key as { object: string; name: string };
      this.#at(this.nowMs + afterMs, async () => void this.#settleOfObject(path, promise, await outcome(promise)));
    }
    const { id } = this.#scenario;
    if (object === undefined) this.root = this.#begin(id, definition, name, input, undefined);
    else this.#enter(id, definition, input, undefined, object, (begun) => (this.root = begun));
    for (;;) {
      await this.#settleDown();
      const { end } = this.root.recorder;
      if (end !== undefined && 'outcome' in end) return end.outcome;
      const next = this.#due.shift();
      if (next === undefined) this.#stuck();
      this.nowMs = Math.max(this.nowMs, next.atMs);
      await next.act();
    }
  }

  /** Everything ends that the run leaves. */
  close(): void {
    for (const ask of this.#updates.values()) ask.outcome ??= { tag: 'failure', val: unanswered };
  }

  #at(atMs: number, act: Action): void {
    const place = this.#due.findLastIndex((due) => due.atMs <= atMs) + 1;
    this.#due.splice(place, 0, { atMs, order: this.#order++, act });
  }

  // --- Invocations ---

  #begin(id: string, definition: Definition, name: string, input: Payload, parent: Invocation['parent'], object?: ObjectAddress): Invocation {
    const seed = seedOf(`${this.#scenario.seed} ${id}`);
    const facts = { invocation: id, parent: parent?.id, startedAtMs: this.nowMs, seed };
    const run = { definition, facts, input, name, key: object?.key };
    const invocation = new Invocation(run, false, (level, message) => this.logs.push({ level, message }));
    invocation.objectPath = object?.path;
    invocation.parent = parent;
    this.invocations.set(id, invocation);
    this.#runnable.add(invocation);
    return invocation;
  }

  /** Begins a function of an object, or lets it wait for its turn. */
  #enter(id: string, definition: Definition, input: Payload, parent: Invocation['parent'], object: ObjectAddress, begun: (invocation: Invocation) => void): void {
    const name = `${object.path}/${object.name.split('/')[1]}`;
    const begin = () => begun(this.#begin(id, definition, name, input, parent, object));
    if (definition.access === 'shared') return begin();
    const place = this.#scenario.objects.of(object.path);
    if (place.holder === undefined) {
      place.holder = id;
      return begin();
    }
    place.line.push(() => {
      place.holder = id;
      begin();
    });
  }

  /** Delivers what can be delivered now, to all invocations. */
  async #settleDown(): Promise<void> {
    for (let invocation = first(this.#runnable); invocation !== undefined; invocation = first(this.#runnable)) {
      this.#runnable.delete(invocation);
      await this.#drive(invocation);
    }
  }

  /** Delivers events in the order of the host: reads of state, results of `run`, a cancellation, everything else. */
  async #drive(invocation: Invocation): Promise<void> {
    if (invocation.recorder.records.length === 1) await this.#poll(invocation, () => invocation.start());
    for (;;) {
      if (invocation.isOver) return this.#ended(invocation);
      for (const index of invocation.pendingReads.splice(0)) {
        const outcome = this.#readState(invocation, index);
        invocation.open.delete(index);
        invocation.reads.push({ tag: 'completed', val: { command: index, outcome } });
      }
      const read = invocation.reads.shift();
      if (read !== undefined) {
        await this.#deliver(invocation, read);
        continue;
      }
      const result = invocation.results.shift();
      if (result !== undefined) await this.#commit(invocation);
      else if (invocation.cancelDue && !invocation.cancelTold) {
        invocation.cancelTold = true;
        invocation.ready.unshift({ tag: 'cancelled' });
      }
      const event = result ?? invocation.ready.shift();
      if (event !== undefined) {
        await this.#deliver(invocation, event);
        continue;
      }
      await this.#commit(invocation);
      if (invocation.ready.length === 0 && invocation.results.length === 0) return;
    }
  }

  async #deliver(invocation: Invocation, event: EngineEvent): Promise<void> {
    if (event.tag === 'completed' && invocation.recorder.forgotten.has(event.val.command)) return;
    await this.#poll(invocation, () => invocation.tell(this.nowMs, event));
  }

  /** Runs the workflow, and takes what it asked for. */
  async #poll(invocation: Invocation, poll: () => Promise<void>): Promise<void> {
    await poll();
    for (const todo of invocation.recorder.todo.splice(0)) {
      if ('ran' in todo) {
        invocation.open.set(todo.ran, { command: { kind: 'run' }, committed: true });
        const event = { tag: 'completed' as const, val: { command: todo.ran, outcome: todo.outcome } };
        invocation.open.delete(todo.ran);
        invocation.results.push(event);
        continue;
      }
      const { index, command } = todo;
      this.commands.push({ invocation: invocation.id, atMs: this.nowMs, command });
      if (this.#write(invocation, command)) continue;
      invocation.open.set(index, { command, committed: false });
      if (command.kind === 'get-state' || command.kind === 'state-keys' || command.kind === 'peek-object-promise') invocation.pendingReads.push(index);
    }
  }

  /** The commands that were asked for since the last commit are executed. */
  async #commit(invocation: Invocation): Promise<void> {
    for (const [index, open] of [...invocation.open]) {
      if (open.committed) continue;
      open.committed = true;
      await this.#execute(invocation, index, open.command as Command);
    }
  }

  #answer(invocation: Invocation, command: number, outcome: Outcome): void {
    if (invocation.complete(command, outcome) && !invocation.isOver) this.#runnable.add(invocation);
  }

  #answerAt(atMs: number, invocation: Invocation, command: number, outcome: Outcome): void {
    this.#at(atMs, () => this.#answer(invocation, command, outcome));
  }

  async #ended(invocation: Invocation): Promise<void> {
    const { end } = invocation.recorder;
    if (end !== undefined) await this.#commit(invocation);
    for (const [index, { command }] of invocation.open) if (command.kind === 'call' || command.kind === 'undo') this.#stop(this.#childOf(invocation, index, command));
    invocation.open.clear();
    if (end !== undefined && 'input' in end) return this.#nextGeneration(invocation, end.input);
    const { objectPath, parent, id } = invocation;
    if (objectPath !== undefined) {
      const object = this.#scenario.objects.of(objectPath);
      if (object.holder === id) {
        object.holder = undefined;
        object.line.shift()?.();
      }
    }
    const caller = parent && this.invocations.get(parent.id);
    if (caller !== undefined && parent !== undefined && end !== undefined) {
      this.#at(this.nowMs, () => this.#answer(caller, parent.command, (end as { outcome: Outcome }).outcome));
    }
  }

  #nextGeneration(before: Invocation, input: Payload): void {
    const [id = '', number = '1'] = before.id.split('/g/');
    const next = this.#begin(`${id}/g/${Number(number) + 1}`, before.run.definition, before.run.name, input, before.parent);
    next.cancelDue = before.cancelDue && !before.cancelTold;
    if (this.root === before) this.root = next;
    const heard = before.told.flatMap(({ event }) => (event.tag === 'signal' ? [event] : []));
    for (const number of before.recorder.unreadSignals) if (heard[number]) next.ready.push(heard[number]);
    for (const event of before.ready) if (event.tag === 'signal') next.ready.push(event);
  }

  #childOf(invocation: Invocation, index: number, command: Command): string {
    return command.kind === 'undo' ? `${invocation.id}/c/${command.step.saga}/${command.step.seq}` : `${invocation.id}/${index}`;
  }

  /** Asks a called function to stop. */
  #stop(id: string): void {
    const attempts = this.#attempts.get(id);
    if (attempts !== undefined) attempts.isCancelled = true;
    const child = this.invocations.get(id);
    if (child === undefined || child.isOver) return;
    child.cancelDue = true;
    this.#runnable.add(child);
  }

  #stuck(): never {
    const waits = [...this.invocations.values()].flatMap((invocation) =>
      invocation.isOver
        ? []
        : [...invocation.open]
            .filter(([index]) => !invocation.recorder.forgotten.has(index))
            .map(([index, { command }]) => `\`${invocation.run.name}\` (${invocation.id}): command ${index}, ${nameOf(command as Command)}`),
    );
    const { name } = this.root.run;
    if (waits.length === 0) {
      throw new Error(`\`${name}\` waits, but for none of its commands: if it waits for a signal, add \`t.signal(name, value)\`, and if for an update, \`t.update(…)\`; a promise that nothing resolves waits for ever`);
    }
    throw new Error(`\`${name}\` waits, and this test never settles:\n  ${waits.join('\n  ')}\nadd for instance \`t.promise(name).resolve(value)\`, or give the wait a time limit`);
  }

  // --- Commands ---

  async #execute(invocation: Invocation, index: number, command: Command): Promise<void> {
    const { nowMs } = this;
    const { id } = invocation;
    switch (command.kind) {
      case 'call':
        return this.#call(invocation, index, `${id}/${index}`, command.function, command.input, command.options);
      case 'undo':
        return this.#call(invocation, index, `${id}/c/${command.step.saga}/${command.step.seq}`, command.step.compensate, command.input, command.options);
      case 'ask':
        return this.#promise(invocation, index, `${id}/u/${command.step.saga}/${command.step.seq}`, `u/${command.step.saga}/${command.step.seq}`, undefined);
      case 'send':
        return this.#send(invocation, index, command);
      case 'sleep':
        return this.#answerAt(command.untilMs, invocation, index, NULL);
      case 'promise': {
        const promise = command.name === undefined ? `${id}/${index}` : `${id}/p/${command.name}`;
        return this.#promise(invocation, index, promise, command.name, command.timeoutMs);
      }
      case 'settle':
        return this.#answer(invocation, index, this.#settle(command.promise, command.outcome));
      case 'http': {
        const deadline = command.options.timeoutMs === undefined ? undefined : nowMs + command.options.timeoutMs;
        const attempts = new Attempts(this.#attemptWorld(), { kind: 'http', request: command.request }, { tag: 'json', val: 'null' }, `${id}/${index}`, command.options, deadline);
        this.#attempt(invocation, index, attempts, `${id}/${index}`);
        return this.#deadline(invocation, index, deadline);
      }
      case 'cancel':
        return this.#answer(invocation, index, this.#cancel(invocation, command.command));
      case 'publish':
        return this.#answer(invocation, index, NULL);
      case 'send-signal':
        return this.#answer(invocation, index, this.#sendSignal(command.invocation, command.name, command.payload));
      case 'wait-object-promise': {
        const settled = this.#objectOf(invocation).wait(command.name, { invocation: id, command: index });
        if (settled !== undefined) this.#answer(invocation, index, settled);
        return;
      }
      case 'settle-object-promise': {
        const path = invocation.objectPath!;
        const isFirst = this.#settleOfObject(path, command.name, command.outcome);
        const message = `the promise \`${this.#objectId(path)}/p/${command.name}\` was settled before`;
        return this.#answer(invocation, index, isFirst ? success(true, '') : failure(Code.Conflict, message));
      }
      default:
        return;
    }
  }

  #objectId(path: string): string {
    return path.includes('/') ? path : `${this.#scenario.name}/${path}`;
  }

  #attemptWorld() {
    return { doubles: this.#scenario.doubles, now: () => this.nowMs, log: (level: Level, message: string) => void this.logs.push({ level, message }) };
  }

  /** The function with this name, and a double of it. */
  #target(caller: Invocation, address: string) {
    const object = objectAddress(address);
    const name = object?.name ?? address;
    const { module, learned, doubles } = this.#scenario;
    const double = doubles.functions.get(address) ?? doubles.functions.get(name);
    const isElsewhere = address.startsWith('wasm://') || (object === undefined && address.includes(':'));
    const definition = isElsewhere && object === undefined ? undefined : (module?.functions.get(name) ?? learned.get(name));
    if (definition === undefined && double === undefined) {
      throw new Error(
        isElsewhere
          ? `\`${caller.run.name}\` calls \`${address}\`, which this test does not define: add \`t.on('${address}', (input) => …)\``
          : `\`${caller.run.name}\` calls \`${name}\`, which the module does not have: a host would answer 404. Export it from the entry file, or add \`t.on('${name}', (input) => …)\``,
      );
    }
    return { definition, double, object, name };
  }

  #call(invocation: Invocation, index: number, child: string, address: string, input: Payload, options: CallRecord): void {
    const { definition, double, object, name } = this.#target(invocation, address);
    const own = definition?.options.timeout;
    const timeoutMs = options.timeoutMs ?? (own === undefined ? undefined : milliseconds(own, '`timeout`'));
    const deadline = timeoutMs === undefined ? undefined : this.nowMs + timeoutMs;
    if (double === undefined && definition?.kind === 'workflow') {
      const refused = object && this.#accept(child, definition, object);
      if (refused !== undefined) return this.#answer(invocation, index, refused);
      const parent = { id: invocation.id, command: index };
      this.#at(this.nowMs, () => {
        if (object !== undefined) this.#enter(child, definition, input, parent, object, () => {});
        else this.#begin(child, definition, name, input, parent);
      });
      return this.#deadline(invocation, index, deadline, child);
    }
    const subject: Subject =
      double === undefined
        ? { kind: 'activity', definition: definition! }
        : { kind: 'double', name, double, isFinal: definition?.kind === 'workflow' };
    const attempts = new Attempts(this.#attemptWorld(), subject, input, child, { ...options, retry: options.retry ?? retryOf(definition, double !== undefined) }, deadline);
    this.#attempt(invocation, index, attempts, child);
    return this.#deadline(invocation, index, deadline, child);
  }

  #attempt(invocation: Invocation, index: number, attempts: Attempts, id: string): void {
    this.#attempts.set(id, attempts);
    const next = async (): Promise<void> => {
      if (!invocation.open.has(index)) return;
      const made = await attempts.next();
      if ('outcome' in made) this.#answer(invocation, index, made.outcome);
      else this.#at(this.nowMs + made.delayMs, next);
    };
    this.#at(this.nowMs, next);
  }

  #deadline(invocation: Invocation, index: number, atMs: number | undefined, child?: string): void {
    if (atMs === undefined) return;
    this.#at(atMs, () => {
      if (!invocation.open.has(index)) return;
      const called = child === undefined ? undefined : this.invocations.get(child);
      // It is ended at once and cannot clean up; what it called is asked to stop.
      if (called !== undefined && !called.isOver) {
        called.isDead = true;
        this.#runnable.add(called);
      }
      this.#answer(invocation, index, failure(Code.TimedOut, 'timed out'));
    });
  }

  #accept(id: string, definition: Definition, object: ObjectAddress): Outcome | undefined {
    if (definition.access !== 'once') return undefined;
    const place = this.#scenario.objects.of(object.path);
    if (place.run !== undefined) return failure(Code.Conflict, `\`${this.#objectId(object.path)}\` has had its run, and runs once: read it by its id, \`${place.run}\`, or use another key`);
    place.run = id;
    return undefined;
  }

  #send(invocation: Invocation, index: number, { function: address, input, options }: Extract<Command, { kind: 'send' }>): void {
    const { definition, double, object, name } = this.#target(invocation, address);
    const id = `${invocation.id}/${index}`;
    const refused = object && definition && this.#accept(id, definition, object);
    if (refused !== undefined) return this.#answer(invocation, index, refused);
    this.#answer(invocation, index, success(id, 'an id'));
    this.#at(Math.max(this.nowMs, options.startAtMs ?? 0), async () => {
      if (double === undefined && definition?.kind === 'workflow') {
        if (object !== undefined) this.#enter(id, definition, input, undefined, object, () => {});
        else this.#begin(id, definition, name, input, undefined);
        return;
      }
      const subject: Subject = double === undefined ? { kind: 'activity', definition: definition! } : { kind: 'double', name, double, isFinal: true };
      // One attempt is enough: nobody sees its result.
      await new Attempts(this.#attemptWorld(), subject, input, id, options, undefined).next();
    });
  }

  // --- Promises, signals, updates ---

  #promise(invocation: Invocation, index: number, id: string, name: string | undefined, timeoutMs: number | undefined): void {
    this.#promises.set(id, { invocation, command: index });
    const { settlements } = this.#scenario;
    const place = settlements.findIndex(({ key }) =>
      'unnamed' in key ? name === undefined && key.unnamed === this.#unnamed : !('object' in key) && (key.name === id || key.name === name),
    );
    if (name === undefined) this.#unnamed += 1;
    if (place >= 0) {
      const [{ afterMs, outcome }] = settlements.splice(place, 1) as [PlannedSettlement];
      this.#at(this.nowMs + afterMs, async () => void this.#settle(id, await outcome(id)));
    }
    this.#deadline(invocation, index, timeoutMs === undefined ? undefined : this.nowMs + timeoutMs);
  }

  #settle(id: string, outcome: Outcome): Outcome {
    const update = this.#updates.get(id);
    if (update !== undefined) {
      update.outcome ??= outcome;
      return NULL;
    }
    const promise = this.#promises.get(id);
    if (promise === undefined) return failure(Code.NotFound, `\`${id}\` does not exist`);
    // The first settlement counts, and a later one changes nothing. Who settles is told before who waits.
    this.#answerAt(this.nowMs, promise.invocation, promise.command, outcome);
    return NULL;
  }

  #settleOfObject(path: string, name: string, outcome: Outcome): boolean {
    const waits: ObjectWait[] | undefined = this.#scenario.objects.of(path).settle(name, outcome);
    for (const { invocation, command } of waits ?? []) {
      const one = this.invocations.get(invocation);
      if (one !== undefined) this.#answerAt(this.nowMs, one, command, outcome);
    }
    return waits !== undefined;
  }

  #objectOf(invocation: Invocation) {
    return this.#scenario.objects.of(invocation.objectPath!);
  }

  #signal(name: string, payload: Payload): void {
    if (this.root.isOver) return;
    this.root.ready.push({ tag: 'signal', val: { name, payload } });
    this.#runnable.add(this.root);
  }

  #sendSignal(id: string, name: string, payload: Payload): Outcome {
    const receiver = id === this.#scenario.id ? this.root : this.invocations.get(id);
    if (receiver === undefined) return failure(Code.NotFound, `\`${id}\` does not exist`);
    const { signals } = receiver.run.definition.options;
    if (signals !== true && (signals === undefined || !Object.hasOwn(signals, name))) return failure(Code.Refused, `\`${receiver.run.name}\` takes no signal \`${name}\``);
    this.#at(this.nowMs, () => {
      if (receiver.isOver) return;
      receiver.ready.push({ tag: 'signal', val: { name, payload } });
      this.#runnable.add(receiver);
    });
    return NULL;
  }

  #cancelRoot(): void {
    if (this.root.isOver) return;
    this.root.cancelDue = true;
    this.#runnable.add(this.root);
  }

  #cancel(invocation: Invocation, command: number): Outcome {
    const open = invocation.open.get(command);
    if (open === undefined) return NULL;
    const asked = open.command as Command;
    if (asked.kind === 'wait-object-promise') return failure(Code.Refused, `\`${invocation.id}\` did not make the promise of its object and cannot cancel it`);
    const child = this.#childOf(invocation, command, asked);
    if (this.invocations.has(child)) this.#stop(child);
    else {
      const attempts = this.#attempts.get(child);
      if (attempts !== undefined) attempts.isCancelled = true;
      this.#answer(invocation, command, failure(Code.Cancelled, 'cancelled'));
    }
    return NULL;
  }

  /** Answers a query; accepts or refuses an update. */
  ask(ask: Asked<any>): void {
    const { root } = this;
    if (ask.kind === 'query') {
      ask.outcome = root.execution.query(ask.name, ask.input);
      return;
    }
    if (root.isOver) return;
    const refused = root.execution.validate(ask.name, ask.input);
    if (refused !== undefined) {
      ask.outcome = { tag: 'failure', val: refused };
      return;
    }
    const promise = `${this.#scenario.id}/a/${this.#updates.size}`;
    this.#updates.set(promise, ask);
    const input: unknown = ask.input.tag === 'json' ? JSON.parse(ask.input.val) : null;
    root.ready.push({ tag: 'signal', val: { name: `segno:update/${ask.name}`, payload: encode({ promise, input }, 'an update') } });
    this.#runnable.add(root);
  }

  // --- State ---

  /** Executes a write of the state. False for any other command. */
  #write(invocation: Invocation, command: Command): boolean {
    switch (command.kind) {
      case 'set-state':
        this.#objectOf(invocation).state.set(command.name, command.value);
        return true;
      case 'clear-state':
        this.#objectOf(invocation).state.delete(command.name);
        return true;
      case 'clear-all-state':
        this.#objectOf(invocation).state.clear();
        return true;
      default:
        return false;
    }
  }

  #readState(invocation: Invocation, index: number): Outcome {
    const command = invocation.open.get(index)!.command as Command;
    const object = this.#objectOf(invocation);
    if (command.kind === 'get-state') {
      const value = object.state.get(command.name);
      return value === undefined ? NULL : { tag: 'success', val: value };
    }
    if (command.kind === 'state-keys') return success([...object.state.keys()].sort(), 'the names of a state');
    return success(object.peek((command as { name: string }).name), 'a promise of an object');
  }
}

function first<T>(set: Set<T>): T | undefined {
  for (const one of set) return one;
  return undefined;
}

function retryOf(definition: Definition | undefined, isDouble: boolean): CallRecord['retry'] {
  if (!isDouble || definition?.options.retry === undefined) return undefined;
  const { initial = 100, factor = 2, max = 60_000, jitter = 0.2, maxAttempts, nonRetryable = [] } = definition.options.retry;
  return { initialMs: milliseconds(initial, 'initial'), factor, maxMs: milliseconds(max, 'max'), jitter, maxAttempts, nonRetryable: [...nonRetryable] };
}

function nameOf(command: Command): string {
  switch (command.kind) {
    case 'call':
    case 'send':
      return `${command.kind} \`${command.function}\``;
    case 'promise':
      return command.name === undefined ? 'a promise' : `the promise \`${command.name}\``;
    case 'http':
      return `${command.request.method} ${command.request.url}`;
    default:
      return command.kind;
  }
}
