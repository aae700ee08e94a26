// Blobs: large values of executions, which are stored beside the database and passed by reference.

import type { BlobList, BlobView } from './api.js';
import {
  BlobDamagedError,
  InvalidArgumentError,
  RequestTimeoutError,
  UnexpectedAnswerError,
  UnreachableError,
} from './errors.js';
import type { CallOptions } from './options.js';
import { type Hash, sha256 } from './sha256.js';
import type { PieceSource, Transport } from './transport.js';

/** The reference of a blob: JSON, which is passed as an input or as a part of one. */
export type BlobReference = BlobView;

/** A piece of content. */
export type BlobPiece = string | Uint8Array;

/** Content of a blob: a text, bytes, a `Blob` or `File`, or pieces, such as a stream. */
export type BlobContent = BlobPiece | Blob | ReadableStream<BlobPiece> | Iterable<BlobPiece> | AsyncIterable<BlobPiece>;

/** Options of an upload. */
export interface UploadOptions extends CallOptions {
  /** Media type. Default: that of a `Blob`, `text/plain; charset=utf-8` for a text, else `application/octet-stream`. */
  contentType?: string | undefined;
}

/** A range of a blob. */
export interface RangeOptions extends CallOptions {
  /** First byte. Default: 0. */
  offset?: number | undefined;
  /** Number of bytes. Default: all after `offset`. */
  length?: number | undefined;
}

/** Time that a host may take to store what it received, in milliseconds. */
const STORE_MS = 300_000;
/** Least speed of an upload whose progress the client does not see, in bytes per millisecond. */
const LEAST_SPEED = 100;

/** The blobs of a host. Content passes in pieces, and its digest is checked on both sides. */
export class Blobs {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Stores a blob of an execution, which need not exist yet, and returns its reference. A stream and other pieces are
   * read once, so their upload is not repeated.
   *
   * @throws {BlobDamagedError} if the host stored something else than was sent.
   */
  async upload(id: string, content: BlobContent, options: UploadOptions = {}): Promise<BlobReference> {
    const hash = sha256();
    let digest: Uint8Array | undefined;
    const headers: Record<string, string> = { 'content-type': options.contentType ?? typeOf(content) };
    let body: Uint8Array | Blob | PieceSource;
    let waitMs = STORE_MS;
    if (typeof content === 'string' || content instanceof Uint8Array || content instanceof Blob) {
      body = content instanceof Blob ? content : bytesOf(content);
      if (body instanceof Blob) for await (const piece of piecesOf(body.stream())) hash.update(piece);
      else hash.update(body);
      digest = hash.digest();
      headers['content-digest'] = `sha-256=:${btoa(String.fromCharCode(...digest))}:`;
      waitMs += (body instanceof Blob ? body.size : body.length) / LEAST_SPEED;
    } else {
      body = () => hashed(piecesOf(content), hash);
    }
    const blob = await this.#transport.send('POST /v1/invocations/{id}/blobs', {
      path: { id },
      body,
      headers,
      isRepeatable: typeof body !== 'function',
      waitMs,
      signal: options.signal,
    });
    compare(blob, digest ?? hash.digest());
    return blob;
  }

  /**
   * The content, or a range of it, as it arrives. A connection that breaks off is made again for the rest. Whoever reads
   * a blob to its end has what was written: otherwise the last piece is a `BlobDamagedError`. A range is checked only
   * for its size.
   */
  async *pieces(blob: BlobReference, options: RangeOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const path = pathOf(blob);
    const { offset = 0, length = blob.bytes - offset } = options;
    const end = offset + length;
    if (!(offset >= 0 && length >= 0 && end <= blob.bytes))
      throw new InvalidArgumentError(
        `\`offset\` and \`length\` name bytes ${offset} to ${end} of a blob of ${blob.bytes} bytes`,
      );
    const isWhole = length === blob.bytes;
    const hash = sha256();
    for (let at = offset; at < end || blob.bytes === 0;) {
      const beganAt = at;
      const range = isWhole && at === 0 ? undefined : `bytes=${at}-${end - 1}`;
      try {
        const answer = this.#transport.pieces('GET /v1/invocations/{id}/blobs/{digest}', {
          path,
          headers: range === undefined ? {} : { range },
          signal: options.signal,
        });
        for await (const piece of answer) {
          at += piece.length;
          if (isWhole) hash.update(piece);
          if (isWhole && at >= end) compare(blob, hash.digest());
          yield piece;
        }
      } catch (error) {
        const isLost = error instanceof UnreachableError || error instanceof RequestTimeoutError;
        if (!isLost || at === beganAt) throw error;
        continue;
      }
      if (at === end) return;
      const reason = `it sent ${at - beganAt} bytes of a blob, and not ${end - beganAt}`;
      throw new UnexpectedAnswerError(this.#transport.settings.server, 200, reason);
    }
  }

  /** The content, or a range of it. */
  async read(blob: BlobReference, options: RangeOptions = {}): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const piece of this.pieces(blob, options)) parts.push(piece);
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
    return whole;
  }

  /** The content as a text. */
  async readText(blob: BlobReference, options: CallOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(blob, options));
  }

  /** The blobs of an execution, by digest, at most 10,000. */
  async list(id: string, options: CallOptions = {}): Promise<BlobList> {
    return this.#transport.send('GET /v1/invocations/{id}/blobs', { path: { id }, signal: options.signal });
  }

  /** Removes a blob. References to it then lead nowhere. */
  async remove(blob: BlobReference, options: CallOptions = {}): Promise<void> {
    const path = pathOf(blob);
    await this.#transport.send('DELETE /v1/invocations/{id}/blobs/{digest}', { path, signal: options.signal });
  }
}

function typeOf(content: BlobContent): string {
  if (typeof content === 'string') return 'text/plain; charset=utf-8';
  return (content instanceof Blob && content.type) || 'application/octet-stream';
}

/** The path of a blob in the API. */
function pathOf(blob: BlobReference): { id: string; digest: string } {
  const id: unknown = blob?.['segno:blob'];
  const [, owner, digest] = (typeof id === 'string' && /^(.+)\/blob\/([0-9a-f]{64})$/s.exec(id)) || [];
  if (owner === undefined || digest === undefined || !Number.isSafeInteger(blob.bytes))
    throw new InvalidArgumentError(
      'this is no reference of a blob: pass on what `blobs.upload` or a function returned',
    );
  return { id: owner, digest };
}

/** Checks the digest of what passed. */
function compare(blob: BlobReference, passed: Uint8Array): void {
  const digest = Array.from(passed, (byte) => byte.toString(16).padStart(2, '0')).join('');
  if (!blob['segno:blob'].endsWith(`/${digest}`)) throw new BlobDamagedError(blob['segno:blob'], digest);
}

function bytesOf(piece: BlobPiece): Uint8Array {
  if (typeof piece === 'string') return new TextEncoder().encode(piece);
  if (piece instanceof Uint8Array) return piece;
  throw new InvalidArgumentError(`a piece of a blob is a text or a Uint8Array, and not ${typeof piece}`);
}

async function* hashed(pieces: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

async function* piecesOf(content: Exclude<BlobContent, BlobPiece | Blob>): AsyncGenerator<Uint8Array> {
  if ('getReader' in content) {
    // Not every browser can iterate over a stream.
    const reader = content.getReader();
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) yield bytesOf(read.value);
    } finally {
      await reader.cancel();
    }
    return;
  }
  for await (const piece of content) yield bytesOf(piece);
}
