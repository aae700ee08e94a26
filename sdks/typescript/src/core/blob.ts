// Blobs: large values that are stored beside the database and passed by reference.

import type { AttemptEngine } from './engine.js';
import { Code, Failure } from './failure.js';
import { guarded } from './guard.js';
import { checkOptions } from './retry.js';
import { type Schema, json } from './schema.js';

/**
 * The reference of a blob. It is JSON: pass it as any value, or as a part of one. The blob belongs to the root of the tree
 * of executions in which it was written, and is removed with it.
 */
export interface BlobReference {
  /** `INVOCATION/blob/DIGEST`, with the SHA-256 of the content. */
  readonly 'segno:blob': string;
  /** The size of the content. */
  readonly bytes: number;
  /** The media type of the content. */
  readonly content_type: string;
}

/** The schema of a reference: `activity({ input: blobReference }, …)`. */
export const blobReference: Schema<BlobReference> = json<BlobReference>({
  type: 'object',
  required: ['segno:blob', 'bytes', 'content_type'],
  properties: { 'segno:blob': { type: 'string' }, bytes: { type: 'integer', minimum: 0 }, content_type: { type: 'string' } },
});

/** The options of a blob. */
export interface BlobOptions {
  /** The media type of the content. Default: `text/plain; charset=utf-8` for a text, else `application/octet-stream`. */
  contentType?: string;
}

/** A piece of a blob. */
export type BlobPiece = string | Uint8Array;

/** A blob that is being written. */
export interface BlobWriter {
  /** Adds a piece. */
  write(piece: BlobPiece): void;
  /** Stores the blob. */
  finish(): BlobReference;
  /** Drops what was written. */
  abandon(): void;
}

/**
 * The blobs of an attempt. Failures: 403 the blob belongs to an execution that this one may not read, 404 there is no such
 * blob, 413 it is too large, 422 its content is damaged, 501 the host has no place for blobs, 503 the place does not answer.
 */
export interface Blobs {
  /** Stores a text, bytes, or the pieces of an iterable. */
  write(content: BlobPiece | Iterable<BlobPiece>, options?: BlobOptions): BlobReference;
  /** Stores the pieces of an asynchronous iterable, as they come. */
  writeFrom(content: AsyncIterable<BlobPiece>, options?: BlobOptions): Promise<BlobReference>;
  /** Begins a blob that is written in pieces. */
  create(options?: BlobOptions): BlobWriter;
  /** Reads a blob: all of it, or at most `length` bytes from `offset`. */
  read(blob: BlobReference, part?: { offset?: number; length?: number }): Uint8Array;
  /** Reads a blob as UTF-8. */
  readText(blob: BlobReference): string;
  /** Reads a blob in pieces. The host compares the whole with its digest before it gives the last one. */
  pieces(blob: BlobReference): Generator<Uint8Array, void, undefined>;
}

/** The size of one call of the host, in bytes. */
const PART = 1 << 20;

/** The blobs of an attempt. */
export function blobsOf(engine: AttemptEngine): Blobs {
  const create = (options: BlobOptions = {}, isText = false): BlobWriter => {
    checkOptions(options, ['contentType'], 'a blob');
    const writer = engine.createBlob(options.contentType ?? (isText ? 'text/plain; charset=utf-8' : 'application/octet-stream'));
    return {
      write(piece) {
        const bytes = bytesOf(piece);
        for (let at = 0; at < bytes.length; at += PART) engine.writeBlob(writer, bytes.subarray(at, at + PART));
      },
      finish: () => JSON.parse(engine.finishBlob(writer)) as BlobReference,
      abandon: () => engine.abandonBlob(writer),
    };
  };
  function* pieces(blob: BlobReference): Generator<Uint8Array, void, undefined> {
    yield* parts(engine, blob, 0, blob.bytes);
  }
  const read = (blob: BlobReference, { offset = 0, length = Number.MAX_SAFE_INTEGER }: { offset?: number; length?: number } = {}) =>
    joined([...parts(engine, blob, offset, length)]);
  const blobs: Blobs = {
    write(content, options) {
      const writer = create(options, typeof content === 'string');
      try {
        if (typeof content === 'string' || content instanceof Uint8Array) writer.write(content);
        else for (const piece of content) writer.write(piece);
        return writer.finish();
      } catch (error) {
        writer.abandon();
        throw error;
      }
    },
    async writeFrom(content, options) {
      const writer = create(options);
      try {
        for await (const piece of content) writer.write(piece);
        return writer.finish();
      } catch (error) {
        writer.abandon();
        throw error;
      }
    },
    create: (options) => create(options),
    read,
    readText: (blob) => new TextDecoder().decode(read(blob)),
    pieces,
  };
  return guarded(blobs, 'a function of `ctx.blobs`');
}

function* parts(engine: AttemptEngine, blob: BlobReference, offset: number, length: number): Generator<Uint8Array, void, undefined> {
  if (typeof blob?.['segno:blob'] !== 'string') throw new Failure(Code.BadInput, 'this is no reference of a blob: pass on what `ctx.blobs.write` gave');
  const reference = JSON.stringify(blob);
  for (let at = offset, left = length; left > 0; ) {
    const part = engine.readBlob(reference, at, Math.min(left, PART));
    if (part.length === 0) return;
    yield part;
    at += part.length;
    left -= part.length;
    if (at >= blob.bytes) return;
  }
}

function bytesOf(piece: BlobPiece): Uint8Array {
  if (typeof piece === 'string') return new TextEncoder().encode(piece);
  if (piece instanceof Uint8Array) return piece;
  throw new TypeError(`a piece of a blob is a text or a Uint8Array, and not ${typeof piece}`);
}

function joined(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}
