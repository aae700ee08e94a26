// The responses that an attempt reads in a test.

import type { HttpHead, HttpRecord } from '../core/engine.js';
import { Code, Failure } from '../core/failure.js';
import type { Doubles } from './doubles.js';

/** The number of responses that an attempt may have open, as on a host. */
export const OPEN_RESPONSES_MAX = 16;

/** The open responses of one attempt, by number. */
export class OpenResponses {
  readonly #doubles: Doubles;
  readonly #bodies = new Map<number, { pieces: AsyncIterator<Uint8Array>; rest: Uint8Array }>();
  #opened = 0;

  constructor(doubles: Doubles) {
    this.#doubles = doubles;
  }

  async open(request: HttpRecord): Promise<HttpHead> {
    if (this.#bodies.size >= OPEN_RESPONSES_MAX) {
      throw new Failure(Code.BadInput, `this attempt has ${OPEN_RESPONSES_MAX} open responses: read one to its end, or cancel it, before it opens another`);
    }
    const { status, headers, pieces } = await this.#doubles.open(request);
    const response = this.#opened;
    this.#opened += 1;
    this.#bodies.set(response, { pieces: pieces[Symbol.asyncIterator](), rest: new Uint8Array(0) });
    return { response, status, headers };
  }

  async read(response: number, limit: number): Promise<Uint8Array> {
    const body = this.#bodies.get(response);
    if (body === undefined) throw new Failure(Code.NotFound, `no response ${response} is open: it was read to its end or closed`);
    try {
      if (body.rest.length === 0) body.rest = (await body.pieces.next()).value ?? new Uint8Array(0);
    } catch (error) {
      this.#bodies.delete(response);
      throw error;
    }
    const piece = body.rest.subarray(0, limit);
    body.rest = body.rest.subarray(limit);
    if (piece.length === 0) this.#bodies.delete(response);
    return piece;
  }

  close(response: number): void {
    this.#bodies.delete(response);
  }
}
