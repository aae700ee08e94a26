// Updates of workflows: sent, accepted, answered.

import type { UpdateAnswer } from './api.js';
import { RefusedError, UpdateFailedError, WaitTimeoutError } from './errors.js';
import type { CallOptions, WaitOptions } from './options.js';
import type { StartFirstOptions } from './start.js';
import { randomKey } from './time.js';
import type { Transport } from './transport.js';
import { endOf } from './waiting.js';

/** Longest wait of one request, in milliseconds. */
const POLL_MS = 30_000;
/** Refusals after which the same update may be sent again: nothing was stored. */
const NOT_STORED = new Set(['not-begun', 'journal-grew']);

/** Options of an update. */
export interface UpdateOptions extends WaitOptions {
  /** Key of the update: the same key again is the same update, which runs once. Default: made by the client. */
  key?: string | undefined;
  /** The execution to start first, if none has this id. */
  start?: StartFirstOptions | undefined;
}

/** An update that a workflow has accepted. */
export class Update<Answer = unknown> {
  readonly #transport: Transport;
  readonly #request: UpdateRequest;

  /** @internal */
  constructor(transport: Transport, request: UpdateRequest, answer: UpdateAnswer) {
    this.#transport = transport;
    this.#request = request;
    this.id = answer.id;
    this.name = answer.name;
    this.key = request.key;
    this.promise = answer.promise;
  }

  /** Id of the execution. */
  readonly id: string;
  /** Name of the update. */
  readonly name: string;
  /** Key of the update. */
  readonly key: string;
  /** Id of the promise that the workflow settles with its answer. */
  readonly promise: string;

  /** Waits for the answer. Throws `UpdateFailedError` if it is a failure, `WaitTimeoutError` after `waitMs`. */
  async result(options: WaitOptions = {}): Promise<Answer> {
    return (await completed(this.#transport, this.#request, options)) as Answer;
  }
}

/** What one update sends, each time it is sent. */
export interface UpdateRequest {
  id: string;
  name: string;
  input: unknown;
  key: string;
  start: StartFirstOptions | undefined;
}

/** The request of an update. */
export const updateRequest = (id: string, name: string, input: unknown, options: UpdateOptions): UpdateRequest => ({
  id,
  name,
  input,
  key: options.key ?? randomKey(),
  start: options.start,
});

/** Sends an update until it is accepted. */
export async function accepted(
  transport: Transport,
  request: UpdateRequest,
  options: WaitOptions,
): Promise<UpdateAnswer> {
  return sent(transport, request, 'accepted', endOf(options.waitMs), options);
}

/** Sends an update until it is answered. */
export async function completed(transport: Transport, request: UpdateRequest, options: WaitOptions): Promise<unknown> {
  const until = endOf(options.waitMs);
  for (;;) {
    const answer = await sent(transport, request, 'completed', until, options);
    if (answer.state === 'completed') return answer.output ?? null;
    if (answer.state === 'failed') {
      throw new UpdateFailedError(
        answer.id,
        answer.name,
        answer.failure ?? { code: 500, message: 'without a failure' },
      );
    }
    if (Date.now() >= until) throw new WaitTimeoutError(answer.promise, answer.state, options.waitMs ?? 0);
  }
}

async function sent(
  transport: Transport,
  { id, name, input, key, start }: UpdateRequest,
  wait: 'accepted' | 'completed',
  until: number,
  options: CallOptions,
): Promise<UpdateAnswer> {
  for (;;) {
    const waitMs = Math.max(0, Math.min(POLL_MS, until - Date.now()));
    try {
      return await transport.send('POST /v1/invocations/{id}/updates/{name}', {
        path: { id, name },
        body: { input, key, wait, start, timeoutMs: Math.ceil(waitMs) },
        isRepeatable: true,
        waitMs,
        signal: options.signal,
      });
    } catch (error) {
      if (!(error instanceof RefusedError) || !NOT_STORED.has(error.code) || Date.now() >= until) throw error;
    }
  }
}
