// The blobs of a test, in memory.

import { createHash } from 'node:crypto';
import type { BlobReference } from '../core/blob.js';
import { Code, Failure } from '../core/failure.js';

/** Maximum number of open writers. */
const WRITERS_MAX = 16;

/** All blobs of a test, by id. */
export class TestBlobs {
  readonly #stored = new Map<string, Uint8Array>();
  readonly #writers = new Map<number, { contentType: string; pieces: Uint8Array[] }>();
  #next = 0;

  /** Stores a blob. */
  store(owner: string, contentType: string, content: Uint8Array): BlobReference {
    const id = `${owner}/blob/${createHash('sha256').update(content).digest('hex')}`;
    this.#stored.set(id, content);
    return { 'segno:blob': id, bytes: content.length, content_type: contentType };
  }

  content(blob: BlobReference): Uint8Array | undefined {
    return this.#stored.get(blob['segno:blob']);
  }

  create(contentType: string): number {
    if (!/^[ !-.0-~]+\/[ -~]+$/.test(contentType)) throw new Failure(Code.BadInput, `the content type \`${contentType}\` cannot be used: write one such as image/png`);
    if (this.#writers.size >= WRITERS_MAX) throw new Failure(Code.BadInput, `an attempt has at most ${WRITERS_MAX} blobs open for writing: finish or abandon one`);
    this.#next += 1;
    this.#writers.set(this.#next, { contentType, pieces: [] });
    return this.#next;
  }

  write(writer: number, piece: Uint8Array): void {
    this.#open(writer).pieces.push(piece.slice());
  }

  finish(owner: string, writer: number): string {
    const { contentType, pieces } = this.#open(writer);
    this.#writers.delete(writer);
    return JSON.stringify(this.store(owner, contentType, new Uint8Array(Buffer.concat(pieces))));
  }

  abandon(writer: number): void {
    this.#writers.delete(writer);
  }

  read(reference: string, offset: number, length: number): Uint8Array {
    const { 'segno:blob': id } = JSON.parse(reference) as BlobReference;
    const content = this.#stored.get(id);
    if (content === undefined) throw new Failure(Code.NotFound, `there is no blob \`${id}\`: in a test write \`t.blob('…')\``);
    return content.slice(offset, offset + length);
  }

  #open(writer: number): { contentType: string; pieces: Uint8Array[] } {
    const open = this.#writers.get(writer);
    if (open === undefined) throw new Failure(Code.BadInput, `the writer ${writer} of a blob is not open: it was finished or abandoned`);
    return open;
  }
}
