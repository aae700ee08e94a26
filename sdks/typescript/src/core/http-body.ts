// Bodies of HTTP responses that are read in pieces, as they arrive.

import { concatenated, eventsOf, linesOf, type ServerEvent } from './http-lines.js';

/** Where the bytes of a body come from. */
export interface BodySource {
  /** The next bytes; none at the end. */
  read(): Uint8Array | Promise<Uint8Array>;
  /** Reads no more. */
  close(): void;
}

/** The body of a response, in pieces, as they arrive. It is read once. */
export class HttpBody implements AsyncIterable<Uint8Array> {
  readonly #source: BodySource;
  #isRead = false;
  #isShared = false;
  #whole: Promise<Uint8Array> | undefined;
  #reader: AsyncIterator<Uint8Array> | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** A body that has arrived as a whole. */
  static of(bytes: Uint8Array): HttpBody {
    const body = new HttpBody({ read: () => new Uint8Array(0), close: () => undefined });
    body.#whole = Promise.resolve(bytes);
    return body;
  }

  /** True if the body was read in pieces. */
  get locked(): boolean {
    return this.#isRead;
  }

  /** All bytes; as often as they are asked for. */
  whole(): Promise<Uint8Array> {
    if (this.#whole === undefined) {
      this.#read();
      this.#whole = joined(this.#pieces());
      // Who asks for it handles the failure.
      this.#whole.catch(() => undefined);
    }
    return this.#whole;
  }

  /** Lets several responses read the body, each of them all of it. */
  share(): this {
    if (this.#isRead && this.#whole === undefined) throw alreadyRead();
    this.#isShared = true;
    return this;
  }

  /** The pieces, as a reader of a `ReadableStream` reads them. */
  getReader(): { read(): Promise<{ done: boolean; value: Uint8Array | undefined }>; cancel(): Promise<void>; releaseLock(): void } {
    const pieces = (this.#reader ??= this[Symbol.asyncIterator]());
    return {
      read: async () => {
        const { done = false, value } = await pieces.next();
        return { done, value: done ? undefined : value };
      },
      cancel: () => this.cancel(),
      releaseLock: () => undefined,
    };
  }

  /** Reads no more. */
  async cancel(): Promise<void> {
    this.#isRead = true;
    this.#source.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    if (this.#isShared || this.#whole !== undefined) {
      const bytes = await this.whole();
      if (bytes.length > 0) yield bytes;
      return;
    }
    this.#read();
    yield* this.#pieces();
  }

  #read(): void {
    if (this.#isRead) throw alreadyRead();
    this.#isRead = true;
  }

  async *#pieces(): AsyncGenerator<Uint8Array, undefined> {
    let isOpen = true;
    try {
      for (;;) {
        // A source that has failed, or is at its end, is closed.
        isOpen = false;
        const piece = await this.#source.read();
        if (piece.length === 0) return;
        isOpen = true;
        yield piece;
      }
    } finally {
      if (isOpen) this.#source.close();
    }
  }

  /** The lines of the body, without their ends, as they arrive. */
  lines(): AsyncGenerator<string, undefined> {
    return linesOf(this);
  }

  /** The server-sent events of the body, as they arrive. */
  events(): AsyncGenerator<ServerEvent, undefined> {
    return eventsOf(this.lines());
  }
}

function alreadyRead(): TypeError {
  return new TypeError('the body was read in pieces before: read it once, or take all of it with `await response.bytes()`');
}

/** All pieces as one. */
export async function joined(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return concatenated(parts);
}
