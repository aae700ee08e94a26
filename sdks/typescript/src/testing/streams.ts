// The streams of a test.

import type { Command, Payload } from '../core/engine.js';
import { Code, Failure } from '../core/failure.js';
import type { StreamPart } from '../core/stream-reader.js';
import { isJson } from '../core/stream.js';

/** One stream. */
interface TestStream {
  contentType: string;
  /** Messages as JSON; parts of any other content as bytes. */
  items: (string | Uint8Array)[];
  isClosed: boolean;
  /** Number of messages or bytes by the calls of activities that appended them. */
  kept: Map<string, number>;
}

/** All streams of a run. */
export class TestStreams {
  readonly #streams = new Map<string, TestStream>();

  /** Executes a write of a workflow. False for any other command. */
  write(owner: string, command: Command): boolean {
    if (command.kind !== 'append-stream' && command.kind !== 'close-stream') return false;
    const { name, contentType } = command;
    try {
      if (command.kind === 'append-stream') this.append(owner, name, contentType, command.item, owner);
      else this.#open(owner, name, contentType).isClosed = true;
    } catch (refused) {
      throw new Error(`a host would halt \`${owner}\`: ${(refused as Failure).message}`);
    }
    return true;
  }

  /** Appends to a stream, and counts it for the writer. Throws the `Failure` with which a host would refuse it. */
  append(owner: string, name: string, contentType: string, item: Payload, writer: string): void {
    const stream = this.#open(owner, name, contentType);
    if (stream.contentType.toLowerCase() !== contentType.toLowerCase()) {
      throw new Failure(Code.Conflict, `the stream \`${name}\` has the content type \`${stream.contentType}\`, and the request has \`${contentType}\``);
    }
    const stored = isJson(contentType) && item.tag === 'json' ? item.val : bytesOf(item);
    stream.items.push(stored);
    const count = typeof stored === 'string' ? 1 : stored.length;
    stream.kept.set(writer, (stream.kept.get(writer) ?? 0) + count);
  }

  /** The number of messages or bytes that a writer has appended. */
  kept(owner: string, name: string, writer: string): number {
    return this.#streams.get(key(owner, name))?.kept.get(writer) ?? 0;
  }

  /** Messages as a list, text, or bytes. */
  content(owner: string, name: string): unknown {
    const stream = this.#streams.get(key(owner, name));
    if (stream === undefined) return undefined;
    if (isJson(stream.contentType)) return stream.items.map((item) => JSON.parse(item as string) as unknown);
    const bytes = Buffer.concat(stream.items as Uint8Array[]);
    return isText(stream.contentType) ? bytes.toString('utf8') : new Uint8Array(bytes);
  }

  /** The content after a position. Undefined if nothing wrote the stream. */
  part(owner: string, name: string, position: number, hasEnded: boolean): StreamPart | undefined {
    const stream = this.#streams.get(key(owner, name));
    if (stream === undefined) return undefined;
    const closed = stream.isClosed || hasEnded;
    if (isJson(stream.contentType)) {
      const items = stream.items.slice(position).map((item) => JSON.parse(item as string) as unknown);
      return { items, next: position + items.length, closed };
    }
    const rest = Buffer.concat(stream.items as Uint8Array[]).subarray(position);
    const next = position + rest.length;
    return isText(stream.contentType) ? { text: rest.toString('utf8'), next, closed } : { base64: rest.toString('base64'), next, closed };
  }

  #open(owner: string, name: string, contentType: string): TestStream {
    const known = this.#streams.get(key(owner, name)) ?? { contentType, items: [], isClosed: false, kept: new Map() };
    if (known.isClosed) throw new Failure(Code.Conflict, `the stream \`${name}\` is closed: nothing can be appended`);
    this.#streams.set(key(owner, name), known);
    return known;
  }
}

/** The streams that one attempt of an activity writes. */
export class AttemptStreams {
  /** The refusal of an item. Nothing is appended after it, and the attempt cannot succeed. */
  refused: Failure | undefined;

  constructor(
    readonly streams: TestStreams,
    readonly owner: string,
    readonly call: string,
  ) {}

  append(name: string, contentType: string, item: Payload): void {
    try {
      if (this.refused === undefined) this.streams.append(this.owner, name, contentType, item, this.call);
    } catch (refused) {
      this.refused = refused as Failure;
    }
    if (this.refused !== undefined) throw this.refused;
  }

  kept(name: string): number {
    return this.streams.kept(this.owner, name, this.call);
  }
}

const key = (owner: string, name: string): string => `${owner}/stream/${name}`;

const isText = (contentType: string): boolean => /^text[/]/i.test(contentType);

/** JSON that is a string stands for its text. */
function bytesOf({ tag, val }: Payload): Uint8Array {
  if (tag === 'bytes') return val;
  const value: unknown = JSON.parse(val);
  return new TextEncoder().encode(typeof value === 'string' ? value : val);
}
