// The host's part in a test: it starts invocations, executes their commands, and advances virtual time.

import { BUDGET_LABEL } from '../core/budget.js';
import type { Definition } from '../core/definition.js';
import type { Command, EngineEvent, Level, Outcome, Payload } from '../core/engine.js';
import { success } from '../core/execution.js';
import { Code } from '../core/failure.js';
import { seedOf } from '../core/random.js';
import { OF_OBJECT } from '../core/stream.js';
import { TestBudgets } from './budgets.js';
import { Calls } from './calls.js';
import { Invocation } from './invocation.js';
import type { ObjectAddress, TestObject } from './objects.js';
import { OutsideEvents } from './outside.js';
import { StreamReads } from './reads.js';
import { type Asked, NULL, type Scenario, failure } from './scenario.js';
import { TestStreams } from './streams.js';

/** A command of any invocation, with its time. */
export interface IssuedCommand {
  invocation: string;
  atMs: number;
  command: Command;
}

/** A line of a log. */
export interface LogLine {
  /** The severity. */
  level: Level;
  /** The text. */
  message: string;
}

type Action = () => void | Promise<void>;

/** One run of a test. */
export class World {
  nowMs: number;
  readonly commands: IssuedCommand[] = [];
  readonly logs: LogLine[] = [];
  readonly invocations = new Map<string, Invocation>();
  readonly scenario: Scenario;
  readonly streams = new TestStreams();
  readonly reads = new StreamReads(this);
  /** The ids of invocations that are to begin. */
  readonly expected = new Set<string>();
  readonly budgets = new TestBudgets();
  /** Future actions, sorted by time and then by their definition. */
  readonly #due: { atMs: number; act: Action }[] = [];
  /** Invocations that have something to do. */
  readonly runnable = new Set<Invocation>();
  readonly #calls = new Calls(this);
  readonly #outside = new OutsideEvents(this, this.#calls);
  /** The invocation under test; its newest generation. */
  root!: Invocation;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.nowMs = scenario.startAtMs;
  }

  /** Runs a function until it has an outcome. */
  async run(definition: Definition, name: string, input: Payload, object: ObjectAddress | undefined): Promise<Outcome> {
    const { signals, asked, cancelAfterMs, objects, settlements } = this.scenario;
    objects.begin();
    for (const signal of signals) this.at(this.nowMs + signal.afterMs, () => this.#outside.signal(signal.name, signal.payload));
    for (const ask of asked) this.at(this.nowMs + ask.afterMs, () => this.#outside.ask(ask));
    if (cancelAfterMs !== undefined) this.at(this.nowMs + cancelAfterMs, () => this.#outside.cancelRoot());
    for (const { key, afterMs, outcome } of settlements.filter(({ key }) => 'object' in key)) {
      const { object: path, name: promise } = key as { object: string; name: string };
      this.at(this.nowMs + afterMs, async () => void this.#outside.settleOfObject(path, promise, await outcome(promise)));
    }
    const { id, budget, raises } = this.scenario;
    this.budgets.open(id, { labels: budget === undefined ? [] : [[BUDGET_LABEL, budget]] });
    for (const { account = id, limits, afterMs } of raises) this.at(this.nowMs + afterMs, () => this.budgets.set(account, limits));
    if (object === undefined) this.root = this.begin(id, definition, name, input, undefined);
    else this.enter(id, definition, input, undefined, object, (begun) => (this.root = begun));
    for (;;) {
      await this.#settleDown();
      const { end } = this.root.recorder;
      if (end !== undefined && 'outcome' in end) return end.outcome;
      this.reads.serve();
      const next = this.#due.shift();
      if (next === undefined) this.#stuck();
      this.nowMs = Math.max(this.nowMs, next.atMs);
      await next.act();
    }
  }

  /** Everything ends that the run leaves. */
  close(): void {
    this.#outside.close();
  }

  /** Keeps a line of the log, and prints it if the test wants to see it. */
  log(level: Level, message: string): void {
    this.logs.push({ level, message });
    if (this.scenario.print) process.stderr.write(`${level.padEnd(5)} ${message}\n`);
  }

  /** Plans an action; of several at one time, the one that was planned first comes first. */
  at(atMs: number, act: Action): void {
    const place = this.#due.findLastIndex((due) => due.atMs <= atMs) + 1;
    this.#due.splice(place, 0, { atMs, act });
  }

  /** Begins an invocation. */
  begin(id: string, definition: Definition, name: string, input: Payload, parent: Invocation['parent'], object?: ObjectAddress): Invocation {
    const seed = seedOf(`${this.scenario.seed} ${id}`);
    const facts = { invocation: id, parent: parent?.id, startedAtMs: this.nowMs, seed };
    const run = { definition, facts, input, name, key: object?.key };
    const invocation = new Invocation(run, false, (level, message) => this.log(level, message));
    invocation.objectPath = object?.path;
    invocation.parent = parent;
    this.invocations.set(id, invocation);
    this.runnable.add(invocation);
    return invocation;
  }

  /** Begins a function of an object, or lets it wait for its turn. */
  enter(id: string, definition: Definition, input: Payload, parent: Invocation['parent'], object: ObjectAddress, begun: (invocation: Invocation) => void): void {
    const name = `${object.path}/${object.name.split('/')[1]}`;
    const begin = () => begun(this.begin(id, definition, name, input, parent, object));
    if (definition.access === 'shared') return begin();
    const place = this.scenario.objects.of(object.path);
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
    for (let invocation = first(this.runnable); invocation !== undefined; invocation = first(this.runnable)) {
      this.runnable.delete(invocation);
      await this.#drive(invocation);
    }
  }

  /** Delivers events in the order of the host: reads of state, results of `run`, a cancellation, everything else. */
  async #drive(invocation: Invocation): Promise<void> {
    if (!invocation.hasBegun) {
      invocation.hasBegun = true;
      await this.#poll(invocation, () => invocation.start());
    }
    for (;;) {
      if (invocation.isOver) return this.#ended(invocation);
      for (const index of invocation.pendingReads.splice(0)) {
        const outcome = this.objectOf(invocation).read(invocation.open.get(index)!.command as Command);
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
      if (this.#writesStream(invocation, command)) continue;
      if (invocation.objectPath !== undefined && this.objectOf(invocation).write(command)) continue;
      invocation.open.set(index, { command, committed: false });
      if (command.kind === 'get-state' || command.kind === 'state-keys' || command.kind === 'peek-object-promise') invocation.pendingReads.push(index);
    }
  }

  /** Executes a write of a stream. False for any other command. */
  #writesStream(invocation: Invocation, command: Command): boolean {
    if (command.kind !== 'append-stream' && command.kind !== 'close-stream') return false;
    if (!command.name.startsWith(OF_OBJECT)) return this.streams.write(invocation.firstId, command);
    const { objectPath, execution } = invocation;
    if (objectPath === undefined || execution.definition.access === 'shared') {
      throw new Error(`a host would halt \`${invocation.id}\`: a function that is shared, or belongs to no object, writes a stream of an object`);
    }
    return this.scenario.objects.streams.write(objectPath, { ...command, name: command.name.slice(OF_OBJECT.length) });
  }

  /** The commands that were asked for since the last commit are executed. */
  async #commit(invocation: Invocation): Promise<void> {
    for (const [index, open] of [...invocation.open]) {
      if (open.committed) continue;
      open.committed = true;
      await this.#execute(invocation, index, open.command as Command);
    }
  }

  /** Completes a command, unless it was answered. */
  answer(invocation: Invocation, command: number, outcome: Outcome): void {
    if (invocation.complete(command, outcome) && !invocation.isOver) this.runnable.add(invocation);
  }

  /** Completes a command at an instant. */
  answerAt(atMs: number, invocation: Invocation, command: number, outcome: Outcome): void {
    this.at(atMs, () => this.answer(invocation, command, outcome));
  }

  async #ended(invocation: Invocation): Promise<void> {
    const { end } = invocation.recorder;
    if (end !== undefined) await this.#commit(invocation);
    for (const warning of invocation.execution.warnings) process.emitWarning(`\`${invocation.run.name}\`: ${warning}`, 'SegnoWarning');
    for (const [index, { command }] of invocation.open) if (command.kind === 'call' || command.kind === 'undo') this.#calls.stop(this.childOf(invocation, index, command));
    invocation.open.clear();
    if (end !== undefined && 'input' in end) return this.#nextGeneration(invocation, end.input);
    const { objectPath, parent, id } = invocation;
    if (objectPath !== undefined) {
      const object = this.scenario.objects.of(objectPath);
      if (object.holder === id) {
        object.holder = undefined;
        object.line.shift()?.();
      }
    }
    const caller = parent && this.invocations.get(parent.id);
    if (caller !== undefined && parent !== undefined && end !== undefined) {
      this.at(this.nowMs, () => this.answer(caller, parent.command, (end as { outcome: Outcome }).outcome));
    }
  }

  #nextGeneration(before: Invocation, input: Payload): void {
    const [id = '', number = '1'] = before.id.split('/g/');
    const next = this.begin(`${id}/g/${Number(number) + 1}`, before.run.definition, before.run.name, input, before.parent);
    next.cancelDue = before.cancelDue && !before.cancelTold;
    if (this.root === before) this.root = next;
    const heard = before.told.flatMap(({ event }) => (event.tag === 'signal' ? [event] : []));
    for (const number of before.recorder.unreadSignals) if (heard[number]) next.ready.push(heard[number]);
    for (const event of before.ready) if (event.tag === 'signal') next.ready.push(event);
  }

  /** The id of what a command called. */
  childOf(invocation: Invocation, index: number, command: Command): string {
    return command.kind === 'undo' ? `${invocation.id}/c/${command.step.saga}/${command.step.seq}` : (invocation.ids.get(index) ?? `${invocation.id}/${index}`);
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
      throw new Error(`\`${name}\` waits, but for none of its commands: if it waits for a signal, add \`t.signal(name, value)\`, and if for an update, \`t.update(…)\`; a promise that nothing resolves waits for ever, and a workflow does no I/O of its own`);
    }
    throw new Error(`\`${name}\` waits, and this test never settles:\n  ${waits.join('\n  ')}\nadd for instance \`t.promise(name).resolve(value)\`, or give the wait a time limit`);
  }

  /** Executes a command, when it is committed. */
  async #execute(invocation: Invocation, index: number, command: Command): Promise<void> {
    const { id } = invocation;
    switch (command.kind) {
      case 'call':
        return this.#calls.call(invocation, index, this.childOf(invocation, index, command), command.function, command.input, command.options);
      case 'undo':
        return this.#calls.call(invocation, index, `${id}/c/${command.step.saga}/${command.step.seq}`, command.step.compensate, command.input, command.options);
      case 'ask':
        return this.#outside.promise(invocation, index, `${id}/u/${command.step.saga}/${command.step.seq}`, `u/${command.step.saga}/${command.step.seq}`, undefined);
      case 'send':
        return this.#calls.send(invocation, index, command);
      case 'sleep':
        return this.answerAt(command.untilMs, invocation, index, NULL);
      case 'promise': {
        const promise = invocation.ids.get(index) ?? (command.name === undefined ? `${id}/${index}` : `${id}/p/${command.name}`);
        return this.#outside.promise(invocation, index, promise, command.name, command.timeoutMs);
      }
      case 'settle':
        return this.answer(invocation, index, this.#outside.settle(command.promise, command.outcome));
      case 'http':
        return this.#calls.http(invocation, index, command);
      case 'cancel':
        return this.answer(invocation, index, this.#calls.cancel(invocation, command.command));
      case 'publish':
        return this.answer(invocation, index, NULL);
      case 'send-signal':
        return this.answer(invocation, index, this.#outside.sendSignal(command.invocation, command.name, command.payload));
      case 'wait-object-promise': {
        const settled = this.objectOf(invocation).wait(command.name, { invocation: id, command: index });
        if (settled !== undefined) this.answer(invocation, index, settled);
        return;
      }
      case 'settle-object-promise': {
        const path = invocation.objectPath!;
        const isFirst = this.#outside.settleOfObject(path, command.name, command.outcome);
        const message = `the promise \`${this.objectId(path)}/p/${command.name}\` was settled before`;
        return this.answer(invocation, index, isFirst ? success(true, '') : failure(Code.Conflict, message));
      }
      default:
        return;
    }
  }

  /** The id of an object, as a host shows it. */
  objectId(path: string): string {
    return path.includes('/') ? path : `${this.scenario.name}/${path}`;
  }

  /** The object of the function that an invocation runs. */
  objectOf(invocation: Invocation): TestObject {
    return this.scenario.objects.of(invocation.objectPath!);
  }

  /** Answers a query; accepts or refuses an update. */
  ask(ask: Asked<any>): void {
    this.#outside.ask(ask);
  }
}

function first<T>(set: Set<T>): T | undefined {
  for (const one of set) return one;
  return undefined;
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
