// Workflows of a test that read streams.

import type { Outcome, Payload } from '../core/engine.js';
import { success } from '../core/execution.js';
import { Code } from '../core/failure.js';
import { STREAM_FUNCTION, type StreamPart, type StreamQuery } from '../core/stream-reader.js';
import { decode } from '../core/value.js';
import { type Invocation, firstGeneration } from './invocation.js';
import { failure } from './scenario.js';
import type { World } from './world.js';

interface StreamRead {
  /** The workflow and the command that read. */
  reader: Invocation;
  index: number;
  query: StreamQuery;
}

/** The reads of a run that wait for data. */
export class StreamReads {
  readonly #world: World;
  #open: StreamRead[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Keeps a read until it can be answered. */
  add(reader: Invocation, index: number, input: Payload): void {
    const query = queryOf(decode(input));
    if (query !== undefined) this.#open.push({ reader, index, query });
    else this.#world.answer(reader, index, failure(Code.BadInput, `\`${STREAM_FUNCTION}\` takes {"invocation": ID, "stream": NAME, "position": NUMBER}`));
  }

  /** Answers the reads that have data, or whose stream is at its end. */
  serve(): void {
    this.#open = this.#open.filter(({ reader, index, query }) => {
      if (reader.isOver || !reader.open.has(index)) return false;
      const outcome = this.#outcomeOf(query);
      if (outcome === undefined) return true;
      this.#world.answerAt(this.#world.nowMs, reader, index, outcome);
      return false;
    });
  }

  #outcomeOf({ invocation, stream, position }: StreamQuery): Outcome | undefined {
    const owner = firstGeneration(invocation);
    const newest = [...this.#world.invocations.values()].findLast(({ firstId }) => firstId === owner);
    if (newest === undefined && !this.#world.expected.has(owner)) {
      const path = /^[^/@]+[/]([^/@]+@.+)$/.exec(invocation)?.[1];
      if (path !== undefined) return answerOf(this.#world.scenario.objects.streams.part(path, stream, position, false), position);
      return failure(Code.NotFound, `there is no invocation \`${owner}\``);
    }
    const hasEnded = newest?.isOver ?? false;
    const part = this.#world.streams.part(owner, stream, position, hasEnded);
    if (part === undefined) return hasEnded ? failure(Code.NotFound, `\`${owner}\` has no stream \`${stream}\``) : undefined;
    return answerOf(part, position);
  }
}

/** The answer to a read, or undefined while there is no data. */
function answerOf(part: StreamPart | undefined, position: number): Outcome | undefined {
  return part !== undefined && (part.closed || part.next > position) ? success(part, 'a part of a stream') : undefined;
}

function queryOf(input: unknown): StreamQuery | undefined {
  const { invocation, stream, position = 0 } = (input ?? {}) as Partial<StreamQuery>;
  if (typeof invocation !== 'string' || typeof stream !== 'string' || !Number.isSafeInteger(position) || position < 0) return undefined;
  return { invocation, stream, position };
}
