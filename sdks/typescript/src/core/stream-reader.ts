// Streams that a workflow reads, of any invocation. Each part that it reads is the result of a call.

import { Code, Failure } from './failure.js';
import { checkOptions } from './retry.js';
import { nameFault } from './stream.js';

/** The options of a read. */
export interface ReadOptions {
  /** The position at which it begins: a number of messages, or of bytes in a stream that is not JSON. Default: 0. */
  from?: number;
}

/**
 * A stream of an invocation, for a workflow that reads it while it grows. The loop ends with the stream, and waits while
 * nothing comes. Another loop over the same reader continues after what was read.
 *
 * The loop throws a `Failure`: 404 if there is no such invocation, or it has ended without the stream; 422 if the stream
 * has another kind of content, or the invocation is out of reach.
 */
export interface StreamReader<T = unknown> extends AsyncIterable<T> {
  /** The id of the invocation. */
  readonly invocation: string;
  /** The name of the stream in its invocation. */
  readonly name: string;
  /** The position after what was read. */
  readonly position: number;
  /** The messages in lists, as they come: at least one message each. */
  parts(): AsyncIterableIterator<T[]>;
  /** The text of a stream of text, in pieces as it comes. */
  text(): AsyncIterableIterator<string>;
  /** The bytes of a stream of neither messages nor text, in pieces as they come. */
  bytes(): AsyncIterableIterator<Uint8Array>;
}

/** The input of the function that reads. */
export interface StreamQuery {
  invocation: string;
  stream: string;
  position: number;
}

/** Its answer, with one kind of content. */
export interface StreamPart {
  items?: unknown[];
  text?: string;
  base64?: string;
  /** The position after this part. */
  next: number;
  /** True if nothing follows. */
  closed: boolean;
}

/** The function that reads. */
export const STREAM_FUNCTION = 'segno:stream';

/** The kinds of content, with what reads them. */
const KINDS = {
  items: 'messages: write `for await (const item of reader)`, or use `parts()`',
  text: 'text: use `text()`',
  base64: 'bytes: use `bytes()`',
};

/** A reader that asks for one part after the other. */
export class PartReader<T> implements StreamReader<T> {
  readonly #ask: (query: StreamQuery) => Promise<StreamPart>;
  #position: number;
  #isOver = false;
  /** A call that is not answered. */
  #asked: Promise<StreamPart> | undefined;
  /** The part that was answered and is not read to its end. */
  #part: StreamPart | undefined;
  /** Number of messages of this part that were read. */
  #taken = 0;

  constructor(
    readonly invocation: string,
    readonly name: string,
    options: ReadOptions,
    ask: (query: StreamQuery) => Promise<StreamPart>,
  ) {
    checkOptions(options, ['from'], 'a read of a stream');
    const { from = 0 } = options;
    if (typeof invocation !== 'string' || invocation === '') {
      throw new TypeError(`\`ctx.readStream\` takes the id of an invocation and the name of a stream, and not the id ${JSON.stringify(invocation)?.slice(0, 42)}`);
    }
    const fault = nameFault(name);
    if (fault !== undefined) throw new TypeError(fault);
    if (!Number.isSafeInteger(from) || from < 0) throw new RangeError(`\`from\` is ${String(from)}, and has to be a position: a whole number from 0 on`);
    this.#ask = ask;
    this.#position = from;
  }

  get position(): number {
    return this.#position;
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<T> {
    for (let part = await this.#next('items'); part !== undefined; part = await this.#next('items')) {
      const items = part.items as T[];
      // Another loop may have read a part of it, or read it to its end during `yield`.
      while (this.#part === part) {
        const item = items[this.#taken] as T;
        if (this.#taken + 1 === items.length) this.#pass(part);
        else [this.#taken, this.#position] = [this.#taken + 1, this.#position + 1];
        yield item;
      }
    }
  }

  parts(): AsyncIterableIterator<T[]> {
    return this.#each('items', ({ items }) => items!.slice(this.#taken) as T[]);
  }

  text(): AsyncIterableIterator<string> {
    return this.#each('text', ({ text }) => text!);
  }

  bytes(): AsyncIterableIterator<Uint8Array> {
    return this.#each('base64', ({ base64 }) => Uint8Array.from(atob(base64!), (letter) => letter.charCodeAt(0)));
  }

  async *#each<C>(kind: keyof typeof KINDS, contentOf: (part: StreamPart) => C): AsyncIterableIterator<C> {
    for (let part = await this.#next(kind); part !== undefined; part = await this.#next(kind)) {
      // Another loop may have read it in the meantime.
      if (this.#part !== part) continue;
      const content = contentOf(part);
      this.#pass(part);
      yield content;
    }
  }

  /** The part that follows. Undefined at the end. */
  async #next(kind: keyof typeof KINDS): Promise<StreamPart | undefined> {
    while (this.#part === undefined && !this.#isOver) {
      this.#asked ??= this.#ask({ invocation: this.invocation, stream: this.name, position: this.#position });
      const asked = this.#asked;
      try {
        const part = await asked;
        // Another loop has read the answer.
        if (this.#asked !== asked) continue;
        if ((part.items ?? part.text ?? part.base64)?.length) this.#part = part;
        else this.#pass(part);
      } finally {
        if (this.#asked === asked) this.#asked = undefined;
      }
    }
    const part = this.#part;
    if (part === undefined || part[kind] !== undefined) return part;
    const content = (['items', 'text', 'base64'] as const).find((one) => part[one] !== undefined)!;
    throw new Failure(Code.Refused, `the stream \`${this.name}\` of \`${this.invocation}\` consists of ${KINDS[content]}`);
  }

  /** The part was read to its end. */
  #pass(part: StreamPart): void {
    [this.#part, this.#taken] = [undefined, 0];
    [this.#position, this.#isOver] = [part.next, part.closed];
  }
}
