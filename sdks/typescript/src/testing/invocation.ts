// One workflow in a test: its execution, its journal, and the events that wait for it.

import type { Definition } from '../core/definition.js';
import type { Command, EngineEvent, Facts, Level, Outcome, Payload } from '../core/engine.js';
import { WorkflowExecution } from '../core/execution.js';
import { WorkflowScope } from '../core/scope.js';
import { Recorder } from './recorder.js';
import { drained, within } from './scopes.js';

/** A command without its outcome. */
export interface OpenCommand {
  command: Command | { kind: 'run' };
  /** True when the world has done its part. */
  committed: boolean;
}

/** An event with the result of a command, or another one. */
export type QueuedEvent = EngineEvent;

/** What identifies a run of a workflow, for a replay too. */
export interface RunFacts {
  definition: Definition;
  facts: Facts;
  input: Payload;
  name: string;
  key: string | undefined;
}

/** The id of the first generation of an invocation. */
export const firstGeneration = (id: string): string => id.replace(/[/]g[/][0-9]+$/, '');

/** A workflow that runs, or ran, in a test. */
export class Invocation {
  readonly recorder: Recorder;
  readonly execution: WorkflowExecution;
  readonly scope: WorkflowScope;
  /** Events, in the order in which they are delivered, with their instants in the journal. */
  readonly told: { atMs: number; event: EngineEvent; place: number }[] = [];
  readonly open = new Map<number, OpenCommand>();
  readonly ready: QueuedEvent[] = [];
  /** Reads of the object's state that are not done yet, and the results of those that are. */
  readonly pendingReads: number[] = [];
  readonly reads: EngineEvent[] = [];
  /** Results of `run`. */
  readonly results: EngineEvent[] = [];
  /** Ids of what commands began, where they are not those of a workflow's commands. */
  readonly ids = new Map<number, string>();
  /** True for a run of a graph, which has no journal. */
  isGraph = false;
  /** True once it was started. A workflow that only waits for a signal has no further record then. */
  hasBegun = false;
  cancelDue = false;
  cancelTold = false;
  /** The path of the object whose function it is. */
  objectPath: string | undefined;
  /** The command that awaits its end. */
  parent: { id: string; command: number } | undefined;
  /** The deadline has passed, or it was killed. */
  isDead = false;

  constructor(
    readonly run: RunFacts,
    replays: boolean,
    sink: (level: Level, message: string) => void,
  ) {
    this.recorder = new Recorder(run.facts, run.name, run.input, run.key, replays, sink);
    this.execution = new WorkflowExecution(run.definition, run.facts, this.recorder);
    this.scope = new WorkflowScope(this.execution);
  }

  get id(): string {
    return this.run.facts.invocation;
  }

  /** The id of its first generation. */
  get firstId(): string {
    return firstGeneration(this.id);
  }

  /** True if it cannot go on. */
  get isOver(): boolean {
    return this.isDead || this.recorder.end !== undefined;
  }

  /** Begins it, and runs it until it waits. */
  async start(): Promise<void> {
    within(this.scope, () => this.execution.start(this.run.input));
    await this.#idle();
  }

  /** Delivers an event, and runs the workflow until it waits. */
  async tell(atMs: number, event: EngineEvent): Promise<void> {
    this.told.push({ atMs, event, place: this.recorder.records.length });
    this.recorder.tell(atMs, event);
    within(this.scope, () => this.execution.tell(event));
    await this.#idle();
  }

  async #idle(): Promise<void> {
    do await drained();
    while (within(this.scope, () => this.execution.look()));
    this.execution.settle();
    const { defect } = this.execution;
    if (defect === undefined || this.recorder.end !== undefined) return;
    // Nothing of a call that breaks is stored.
    this.recorder.records.length = this.told.pop()?.place ?? 1;
    throw defect.error;
  }

  /** Adds the outcome of a command to the events. */
  complete(command: number, outcome: Outcome): boolean {
    if (!this.open.delete(command)) return false;
    if (!this.recorder.forgotten.has(command)) this.ready.push({ tag: 'completed', val: { command, outcome } });
    return true;
  }
}
