// What comes from outside of a workflow in a test: settlements, signals, updates, queries, and a cancellation.

import type { Outcome, Payload } from '../core/engine.js';
import { Code, Failure } from '../core/failure.js';
import { decode, encode } from '../core/value.js';
import type { Calls } from './calls.js';
import type { Invocation } from './invocation.js';
import { misfit } from './json-schema.js';
import type { ObjectWait } from './objects.js';
import { type Asked, NULL, type PlannedSettlement, failure, unanswered } from './scenario.js';
import type { World } from './world.js';

/** Promises, signals and updates of a run. */
export class OutsideEvents {
  readonly #world: World;
  readonly #calls: Calls;
  /** The commands that wait for a promise, and its outcome. */
  readonly #promises = new Map<string, { commands: [Invocation, number][]; outcome?: Outcome }>();
  /** Accepted updates by their promises. */
  readonly #updates = new Map<string, Asked<any>>();
  #unnamed = 0;

  constructor(world: World, calls: Calls) {
    this.#world = world;
    this.#calls = calls;
  }

  /** Cancels the updates that were not answered. */
  close(): void {
    for (const ask of this.#updates.values()) ask.outcome ??= { tag: 'failure', val: unanswered };
  }

  /** Makes a promise, which is settled as the test has defined. */
  promise(invocation: Invocation, index: number, id: string, name: string | undefined, timeoutMs: number | undefined): void {
    const promise = this.#promises.get(id) ?? { commands: [] };
    this.#promises.set(id, promise);
    promise.commands.push([invocation, index]);
    if (promise.outcome !== undefined) return this.#world.answerAt(this.#world.nowMs, invocation, index, promise.outcome);
    const { settlements } = this.#world.scenario;
    const place = settlements.findIndex(({ key }) =>
      'unnamed' in key ? name === undefined && key.unnamed === this.#unnamed : !('object' in key) && (key.name === id || key.name === name),
    );
    if (name === undefined) this.#unnamed += 1;
    if (place >= 0) {
      const [{ afterMs, outcome }] = settlements.splice(place, 1) as [PlannedSettlement];
      this.#world.at(this.#world.nowMs + afterMs, async () => void this.settle(id, fitting(invocation, name, await outcome(id))));
    }
    this.#calls.deadline(invocation, index, timeoutMs === undefined ? undefined : this.#world.nowMs + timeoutMs);
  }

  /** Settles a promise of an invocation or of an update. */
  settle(id: string, outcome: Outcome): Outcome {
    const update = this.#updates.get(id);
    if (update !== undefined) {
      update.outcome ??= outcome;
      return NULL;
    }
    const promise = this.#promises.get(id);
    if (promise === undefined) return failure(Code.NotFound, `\`${id}\` does not exist`);
    // The first settlement counts, and a later one changes nothing. Who settles is told before who waits.
    if (promise.outcome === undefined) {
      promise.outcome = outcome;
      for (const [invocation, command] of promise.commands) this.#world.answerAt(this.#world.nowMs, invocation, command, outcome);
    }
    return NULL;
  }

  /** Settles a promise of an object. False if it was settled before. */
  settleOfObject(path: string, name: string, outcome: Outcome): boolean {
    const waits: ObjectWait[] | undefined = this.#world.scenario.objects.of(path).settle(name, outcome);
    for (const { invocation, command } of waits ?? []) {
      const one = this.#world.invocations.get(invocation);
      if (one !== undefined) this.#world.answerAt(this.#world.nowMs, one, command, outcome);
    }
    return waits !== undefined;
  }

  /** Sends the workflow under test a signal. */
  signal(name: string, payload: Payload): void {
    if (this.#world.root.isOver) return;
    this.#world.root.ready.push({ tag: 'signal', val: { name, payload } });
    this.#world.runnable.add(this.#world.root);
  }

  /** Sends an invocation a signal of another one. */
  sendSignal(id: string, name: string, payload: Payload): Outcome {
    const receiver = id === this.#world.scenario.id ? this.#world.root : this.#world.invocations.get(id);
    if (receiver === undefined) return failure(Code.NotFound, `\`${id}\` does not exist`);
    const { signals } = receiver.run.definition.options;
    const known = signals === true ? [] : Object.keys(signals ?? {});
    if (signals !== true && !known.includes(name)) {
      return failure(Code.Refused, `\`${receiver.run.name}\` of \`${id}\` does not take the signal \`${name}\`: it takes ${known.join(', ') || 'none'}`);
    }
    const unfit = signals === true ? undefined : misfit(signals?.[name], decode(payload));
    if (unfit !== undefined) return failure(Code.Refused, `the signal \`${name}\` to \`${receiver.run.name}\` of \`${id}\` does not fit its schema: ${unfit}`);
    this.#world.at(this.#world.nowMs, () => {
      if (receiver.isOver) return;
      receiver.ready.push({ tag: 'signal', val: { name, payload } });
      this.#world.runnable.add(receiver);
    });
    return NULL;
  }

  /** Cancels the workflow under test. */
  cancelRoot(): void {
    if (this.#world.root.isOver) return;
    this.#world.root.cancelDue = true;
    this.#world.runnable.add(this.#world.root);
  }

  /** Answers a query; accepts or refuses an update. */
  ask(ask: Asked<any>): void {
    const { root } = this.#world;
    const { queries, updates } = root.run.definition.options;
    const handler = (ask.kind === 'query' ? queries : updates)?.[ask.name];
    const unfit = misfit(handler?.input, decode(ask.input));
    if (unfit !== undefined) {
      ask.outcome = failure(Code.BadInput, `the input of ${ask.kind} \`${ask.name}\` does not fit its schema: ${unfit}`);
      return;
    }
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
    const promise = `${this.#world.scenario.id}/a/${this.#updates.size}`;
    this.#updates.set(promise, ask);
    const input: unknown = ask.input.tag === 'json' ? JSON.parse(ask.input.val) : null;
    root.ready.push({ tag: 'signal', val: { name: `segno:update/${ask.name}`, payload: encode({ promise, input }, 'an update') } });
    this.#world.runnable.add(root);
  }
}

/** The outcome of a promise, if its value fits: a host refuses any other to its sender. */
function fitting(invocation: Invocation, name: string | undefined, outcome: Outcome): Outcome {
  const schema = name === undefined ? undefined : invocation.run.definition.options.promises?.[name];
  const unfit = outcome.tag === 'success' ? misfit(schema, decode(outcome.val)) : undefined;
  if (unfit !== undefined) throw new Failure(Code.BadInput, `the value of promise \`${name}\` does not fit its schema: ${unfit}`);
  return outcome;
}
