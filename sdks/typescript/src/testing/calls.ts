// The calls, sends and requests of workflows in a test.

import { BUDGET_FUNCTION } from '../core/budget.js';
import type { Definition } from '../core/definition.js';
import { milliseconds } from '../core/duration.js';
import type { CallRecord, Command, Level, Outcome, Payload } from '../core/engine.js';
import { failed, success } from '../core/execution.js';
import { Code } from '../core/failure.js';
import { STREAM_FUNCTION } from '../core/stream-reader.js';
import { decode } from '../core/value.js';
import { Attempts, type AttemptWorld, type Subject } from './attempts.js';
import { readPlan } from './graph/plan.js';
import { GRAPH, GraphRun } from './graph/run.js';
import type { Invocation } from './invocation.js';
import { misfit } from './json-schema.js';
import { type ObjectAddress, objectAddress } from './objects.js';
import { NULL, failure } from './scenario.js';
import type { World } from './world.js';

/** What invocations called, and how it is stopped. */
export class Calls {
  readonly #world: World;
  readonly #attempts = new Map<string, Attempts>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Sends a durable request. */
  http(invocation: Invocation, index: number, { request, options }: Extract<Command, { kind: 'http' }>): void {
    const id = invocation.ids.get(index) ?? `${invocation.id}/${index}`;
    const refused = this.#world.budgets.open(id, options, invocation.firstId);
    if (refused !== undefined) return this.#world.answer(invocation, index, refused);
    const deadline = options.timeoutMs === undefined ? undefined : this.#world.nowMs + options.timeoutMs;
    const attempts = new Attempts(this.#attemptWorld(invocation), { kind: 'http', request }, { tag: 'json', val: 'null' }, id, options, deadline);
    this.#attempt(invocation, index, attempts, id);
    return this.deadline(invocation, index, deadline);
  }

  #attemptWorld(caller: Invocation): AttemptWorld {
    const world = this.#world;
    return {
      doubles: world.scenario.doubles,
      streams: world.streams,
      budgets: world.budgets,
      owner: caller.firstId,
      now: () => world.nowMs,
      log: (level: Level, message: string) => world.log(level, message),
    };
  }

  /** The function with this name, and a double of it. */
  #target(caller: Invocation, address: string) {
    const object = objectAddress(address);
    const name = object?.name ?? address;
    const { module, learned, doubles } = this.#world.scenario;
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

  /** Calls a function: it begins when everything that was ready has been told. */
  call(invocation: Invocation, index: number, child: string, address: string, input: Payload, options: CallRecord): void {
    const tooDeep = this.#world.budgets.open(child, options, invocation.firstId);
    if (tooDeep !== undefined) return this.#world.answer(invocation, index, tooDeep);
    if (address === BUDGET_FUNCTION && !this.#world.scenario.doubles.functions.has(BUDGET_FUNCTION)) return this.#budget(invocation, index, child);
    if (address === STREAM_FUNCTION && !this.#world.scenario.doubles.functions.has(STREAM_FUNCTION)) {
      this.#world.reads.add(invocation, index, input);
      return this.deadline(invocation, index, options.timeoutMs === undefined ? undefined : this.#world.nowMs + options.timeoutMs);
    }
    if (address === GRAPH && !this.#world.scenario.doubles.functions.has(GRAPH)) return this.#graph(invocation, index, child, input, options);
    const { definition, double, object, name } = this.#target(invocation, address);
    const unfit = double === undefined ? misfit(definition?.options.input, decode(input)) : undefined;
    if (unfit !== undefined) return this.#world.answer(invocation, index, failure(Code.BadInput, `the input does not fit the schema of \`${name}\`: ${unfit}`));
    const own = definition?.options.timeout;
    const timeoutMs = options.timeoutMs ?? (own === undefined ? undefined : milliseconds(own, '`timeout`'));
    const deadline = timeoutMs === undefined ? undefined : this.#world.nowMs + timeoutMs;
    if (double === undefined && definition?.kind === 'workflow') {
      const refused = object && this.#accept(child, definition, object);
      if (refused !== undefined) return this.#world.answer(invocation, index, refused);
      const parent = { id: invocation.id, command: index };
      this.#world.expected.add(child);
      this.#world.at(this.#world.nowMs, () => {
        if (object !== undefined) this.#world.enter(child, definition, input, parent, object, () => {});
        else this.#world.begin(child, definition, name, input, parent);
      });
      return this.deadline(invocation, index, deadline, child);
    }
    const subject: Subject =
      double === undefined
        ? { kind: 'activity', definition: definition! }
        : { kind: 'double', name, double, definition, isFinal: definition?.kind === 'workflow' };
    const attempts = new Attempts(this.#attemptWorld(invocation), subject, input, child, options, deadline);
    this.#attempt(invocation, index, attempts, child);
    return this.deadline(invocation, index, deadline, child);
  }

  /** Answers what is left. */
  #budget(invocation: Invocation, index: number, child: string): void {
    this.#world.at(this.#world.nowMs, () => this.#world.answer(invocation, index, success(this.#world.budgets.least(child), 'what is left')));
  }

  /** Starts a run of a plan. */
  #graph(invocation: Invocation, index: number, child: string, payload: Payload, options: CallRecord): void {
    const { plan, input } = decode(payload) as { plan: unknown; input: unknown };
    try {
      const run = new GraphRun(readPlan(plan), input, (name) => this.#isWorkflow(name));
      this.#world.expected.add(child);
      this.#world.at(this.#world.nowMs, () => {
        run.invocation = this.#world.begin(child, run.definition, run.definition.title, payload, { id: invocation.id, command: index });
        run.invocation.isGraph = true;
      });
    } catch (error) {
      return this.#world.answer(invocation, index, failed(error));
    }
    return this.deadline(invocation, index, options.timeoutMs === undefined ? undefined : this.#world.nowMs + options.timeoutMs, child);
  }

  #isWorkflow(name: string): boolean {
    const { module, learned } = this.#world.scenario;
    return (module?.functions.get(name) ?? learned.get(name))?.kind === 'workflow';
  }

  #attempt(invocation: Invocation, index: number, attempts: Attempts, id: string): void {
    this.#attempts.set(id, attempts);
    const next = async (): Promise<void> => {
      if (!invocation.open.has(index)) return;
      const made = await attempts.next();
      if ('outcome' in made) this.#world.answer(invocation, index, made.outcome);
      else this.#world.at(this.#world.nowMs + made.delayMs, next);
    };
    this.#world.at(this.#world.nowMs, next);
  }

  /** Fails the command at its deadline, unless it was answered. */
  deadline(invocation: Invocation, index: number, atMs: number | undefined, child?: string): void {
    if (atMs === undefined) return;
    this.#world.at(atMs, () => {
      if (!invocation.open.has(index)) return;
      const called = child === undefined ? undefined : this.#world.invocations.get(child);
      // It is ended at once and cannot clean up; what it called is asked to stop.
      if (called !== undefined && !called.isOver) {
        called.isDead = true;
        this.#world.runnable.add(called);
      }
      this.#world.answer(invocation, index, failure(Code.TimedOut, 'timed out'));
    });
  }

  #accept(id: string, definition: Definition, object: ObjectAddress): Outcome | undefined {
    if (definition.access !== 'once') return undefined;
    const place = this.#world.scenario.objects.of(object.path);
    if (place.run !== undefined) return failure(Code.Conflict, `\`${this.#world.objectId(object.path)}\` has had its run, and runs once: read it by its id, \`${place.run}\`, or use another key`);
    place.run = id;
    return undefined;
  }

  /** Starts a function that nobody waits for. */
  send(invocation: Invocation, index: number, { function: address, input, options }: Extract<Command, { kind: 'send' }>): void {
    const { definition, double, object, name } = this.#target(invocation, address);
    const id = `${invocation.id}/${index}`;
    const refused = this.#world.budgets.open(id, options, invocation.firstId) ?? (object && definition && this.#accept(id, definition, object));
    if (refused !== undefined) return this.#world.answer(invocation, index, refused);
    this.#world.answer(invocation, index, success(id, 'an id'));
    if (double === undefined && definition?.kind === 'workflow') this.#world.expected.add(id);
    this.#world.at(Math.max(this.#world.nowMs, options.startAtMs ?? 0), async () => {
      if (double === undefined && definition?.kind === 'workflow') {
        if (object !== undefined) this.#world.enter(id, definition, input, undefined, object, () => {});
        else this.#world.begin(id, definition, name, input, undefined);
        return;
      }
      const subject: Subject = double === undefined ? { kind: 'activity', definition: definition! } : { kind: 'double', name, double, definition, isFinal: true };
      // One attempt is enough: nobody sees its result.
      await new Attempts(this.#attemptWorld(invocation), subject, input, id, options, undefined).next();
    });
  }

  /** Asks a called function to stop. */
  stop(id: string): void {
    const attempts = this.#attempts.get(id);
    if (attempts !== undefined) attempts.isCancelled = true;
    const child = this.#world.invocations.get(id);
    if (child === undefined || child.isOver) return;
    child.cancelDue = true;
    this.#world.runnable.add(child);
  }

  /** Cancels a command of an invocation. */
  cancel(invocation: Invocation, command: number): Outcome {
    const open = invocation.open.get(command);
    if (open === undefined) return NULL;
    const asked = open.command as Command;
    if (asked.kind === 'wait-object-promise') return failure(Code.Refused, `\`${invocation.id}\` did not make the promise of its object and cannot cancel it`);
    const child = this.#world.childOf(invocation, command, asked);
    if (this.#world.invocations.has(child)) this.stop(child);
    else {
      const attempts = this.#attempts.get(child);
      if (attempts !== undefined) attempts.isCancelled = true;
      this.#world.answer(invocation, command, failure(Code.Cancelled, 'cancelled'));
    }
    return NULL;
  }
}
