// The engine of one workflow in a test: it keeps the journal, and collects what the workflow asked for.

import { framesOf } from '../core/defect.js';
import type { Command, Engine, EngineEvent, Facts, Level, Outcome, Payload } from '../core/engine.js';
import { type JournalRecord, type RecordedCommand, commandRecord, read, shownOutcome } from './journal.js';

/** What the world does for a workflow. */
export type Todo =
  | { index: number; command: Command }
  | { ran: number; outcome: Outcome };

/** The end of a workflow. */
export type End = { outcome: Outcome } | { input: Payload; sameCode: boolean };

/** Keeps the journal of one workflow. In a replay nothing is computed again, and nothing is logged. */
export class Recorder implements Engine {
  readonly records: JournalRecord[] = [];
  /** Errors that know where the commands were asked for. Their stacks are written only when somebody reads them. */
  readonly #askedAt: (Error | undefined)[] = [];
  readonly todo: Todo[] = [];
  readonly forgotten = new Set<number>();
  end: End | undefined;
  unreadSignals: number[] = [];
  #commands = 0;
  #now: number;

  constructor(
    readonly facts: Facts,
    readonly name: string,
    input: Payload,
    readonly objectKey: string | undefined,
    readonly replays: boolean,
    readonly sink: (level: Level, message: string) => void,
  ) {
    this.#now = facts.startedAtMs;
    this.#record({ kind: 'started', name, request: read(input) });
  }

  /** The author's file and line from which the command of a record was asked for. */
  site(seq: number): string | undefined {
    const error = this.#askedAt[seq];
    return error && site(error);
  }

  /** Notes an event that is about to be delivered. */
  tell(atMs: number, event: EngineEvent): void {
    this.#now = atMs;
    if (event.tag === 'cancelled') this.#record({ kind: 'cancelled' });
    else if (event.tag === 'completed') this.#record({ kind: 'notified', index: event.val.command, outcome: shownOutcome(event.val.outcome) });
    else {
      const value = read(event.val.payload);
      this.#record({ kind: 'signal', name: event.val.name, outcome: { value } });
    }
  }

  issue(command: Command): { index: number; promise?: string } {
    const index = this.#command(command);
    if (this.end === undefined) this.todo.push({ index, command });
    const id = this.facts.invocation;
    return command.kind === 'promise' ? { index, promise: command.name === undefined ? `${id}/${index}` : `${id}/p/${command.name}` } : { index };
  }

  run(name: string): { index: number; execute: boolean } {
    return { index: this.#command({ kind: 'run', name }), execute: !this.replays };
  }

  runDone(index: number, outcome: Outcome): void {
    if (this.end === undefined) this.todo.push({ ran: index, outcome });
  }

  forget(index: number): void {
    this.forgotten.add(index);
  }

  unread(signals: number[]): void {
    this.unreadSignals = signals;
    this.#command({ kind: 'unread', signals });
  }

  now(): number {
    return this.#now;
  }

  log(level: Level, message: string): void {
    if (!this.replays) this.sink(level, message);
  }

  key(): string {
    if (this.objectKey === undefined) throw new Error('only a function of an object has a key');
    return this.objectKey;
  }

  finish(outcome: Outcome): void {
    if (this.end !== undefined) return;
    this.end = { outcome };
    this.#record({ kind: 'finished', outcome: shownOutcome(outcome) });
  }

  continueAsNew(input: Payload, sameCode: boolean): void {
    if (this.end !== undefined) return;
    this.#command({ kind: 'continue-as-new', input, sameCode });
    this.end = { input, sameCode };
    this.#record({ kind: 'finished', outcome: {} });
  }

  #command(command: RecordedCommand): number {
    if (this.end !== undefined) return 0xffff_ffff;
    const index = this.#commands;
    this.#commands += 1;
    this.#record({ kind: 'command', index, ...commandRecord(command) });
    return index;
  }

  #record(record: Omit<JournalRecord, 'seq' | 'at_ms'>): void {
    this.records.push({ seq: this.records.length, at_ms: this.#now, ...record } as JournalRecord);
    this.#askedAt.push(record.kind === 'command' ? here() : undefined);
  }
}

const OWN = new URL('..', import.meta.url).pathname;

function here(): Error {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 40;
  const error = new Error();
  Error.stackTraceLimit = limit;
  return error;
}

/** The author's file and line in a stack. */
function site(error: Error): string | undefined {
  const own = framesOf(error).find((frame) => !frame.includes(OWN) && !frame.includes('/node_modules/') && !frame.includes('node:'));
  return own === undefined ? undefined : /[(]?(?:file:[/][/])?([^\s()]+:[0-9]+):[0-9]+[)]?$/.exec(own)?.[1];
}
