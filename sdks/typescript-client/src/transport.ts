// Requests: paths, headers, time limits, attempts, and reading answers. It knows no operation of the API.

import type { Routes } from './api.js';
import { routes } from './api.js';
import type { Problem } from './errors.js';
import {
  RefusedError,
  RequestTimeoutError,
  SegnoError,
  UnexpectedAnswerError,
  UnreachableError,
  refusal,
} from './errors.js';
import type { Settings } from './options.js';
import { type Deadline, deadline, pause } from './time.js';
import { fromWire, queryPairs, toWire } from './wire.js';

/** Makes the pieces of a body that is sent as it is made. */
export type PieceSource = () => AsyncGenerator<Uint8Array>;

/** A request of the route `R`. */
export interface Request<R extends keyof Routes> {
  /** The values of the names in braces of the path. */
  path?: Record<string, string> | undefined;
  /** The query, in camel case. */
  query?: Routes[R]['query'] | undefined;
  /** The body, in camel case, or bytes. */
  body?: Routes[R]['body'] | Blob | PieceSource | undefined;
  /** Further headers, such as the content type of bytes. */
  headers?: Record<string, string> | undefined;
  /** True if the host treats the same request again as the same. Default: true for `GET`, false otherwise. */
  isRepeatable?: boolean | undefined;
  /** Time that the request asks the host to wait, in milliseconds. */
  waitMs?: number | undefined;
  /** Longest time without an answer, in milliseconds. Default: that of the client. */
  retryForMs?: number | undefined;
  /** Ends the request early. */
  signal?: AbortSignal | undefined;
}

/** A request as it is sent. */
interface RawRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array | Blob | PieceSource | undefined;
  isRepeatable: boolean;
  waitMs: number;
  retryForMs: number;
  signal: AbortSignal | undefined;
}

/**
 * Until a host has answered once, a wrong address is more likely than a restart: the client gives up after this time.
 */
const FIRST_ANSWER_MS = 2_000;
/** Causes of `fetch` failing before anything was sent. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Codes of 503 that say that trying again at once has no use. */
const NOT_AGAIN = new Set(['not-begun', 'read-too-long']);

/** An answer whose body has not been read. */
interface OpenAnswer {
  response: Response;
  limit: Deadline;
}

/** Options of a body that is not in memory. Without the last two, `fetch` keeps a copy of it for a redirect. */
const STREAMED: object = { duplex: 'half', redirect: 'error', window: null };

/** Sends requests to one host. */
export class Transport {
  #hasAnswered = false;

  constructor(readonly settings: Settings) {}

  /** Sends a request of a route, and returns its answer in camel case. */
  async send<R extends keyof Routes>(route: R, request: Request<R>): Promise<Routes[R]['answer']> {
    const answerType = routes[route][1];
    const response = await this.#attempts(this.#rawOf(route, request), (raw) => this.#attempt(raw));
    if (answerType === undefined) return response.bytes as Routes[R]['answer'];
    return fromWire(this.#parsed(response), answerType) as Routes[R]['answer'];
  }

  /** Sends a request of a route, and yields the bytes of the answer as they arrive. */
  async *pieces<R extends keyof Routes>(route: R, request: Request<R>): AsyncGenerator<Uint8Array, void, undefined> {
    const raw = this.#rawOf(route, request);
    const { response, limit } = await this.#attempts(raw, (raw) => this.#open(raw));
    const reader = response.body?.getReader();
    try {
      if (raw.headers['range'] !== undefined && response.status !== 206)
        throw new UnexpectedAnswerError(this.settings.server, response.status, 'it sent no range');
      while (reader !== undefined) {
        limit.restart();
        const { done, value } = await reader.read();
        limit.stop();
        if (done) return;
        yield value;
      }
    } catch (error) {
      throw this.#lost(error, raw, limit);
    } finally {
      limit.dispose();
      // Ends a transfer that is not complete.
      await reader?.cancel().catch(() => undefined);
    }
  }

  /** The request as it is sent. */
  #rawOf<R extends keyof Routes>(route: R, request: Request<R>): RawRequest {
    const [method, template] = route.split(' ') as [string, string];
    const bodyType = routes[route][0];
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(request.path?.[name] ?? ''));
    const query = new URLSearchParams(queryPairs(request.query)).toString();
    const headers: Record<string, string> = {};
    let body: RawRequest['body'];
    if (bodyType !== undefined) {
      headers['content-type'] = 'application/json';
      body = this.settings.json.stringify(toWire(request.body ?? {}, bodyType));
    } else if (request.body !== undefined) {
      headers['content-type'] = 'application/wasm';
      body = request.body as Uint8Array | Blob | PieceSource;
    }
    return {
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: { ...headers, ...request.headers },
      body,
      isRepeatable: request.isRepeatable ?? method === 'GET',
      waitMs: request.waitMs ?? 0,
      retryForMs: request.retryForMs ?? this.settings.retry.forMs,
      signal: request.signal,
    };
  }

  /** Sends any JSON to any path of the API. Names of fields stay as they are. */
  async raw(
    method: string,
    path: string,
    body: unknown,
    isRepeatable: boolean,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const request: RawRequest = {
      method,
      path,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : this.settings.json.stringify(body),
      isRepeatable,
      waitMs: 0,
      retryForMs: this.settings.retry.forMs,
      signal,
    };
    return this.#parsed(await this.#attempts(request, (raw) => this.#attempt(raw)));
  }

  /** Sends a request until it is answered, or trying again has no use or is not safe, or the time is over. */
  async #attempts<T>(request: RawRequest, attempt: (request: RawRequest) => Promise<T>): Promise<T> {
    const startedAt = Date.now();
    let backoffMs = this.settings.retry.initialMs;
    for (;;) {
      try {
        return await attempt(request);
      } catch (error) {
        if (!(error instanceof SegnoError) || !isWorthAnother(error, request.isRepeatable)) throw error;
        const forMs =
          error instanceof UnreachableError && !this.#hasAnswered
            ? Math.min(request.retryForMs, FIRST_ANSWER_MS)
            : request.retryForMs;
        const pauseMs = retryAfterOf(error) ?? backoffMs * (0.5 + Math.random() / 2);
        if (Date.now() + pauseMs > startedAt + forMs) throw error;
        await pause(pauseMs, request.signal);
        backoffMs = Math.min(backoffMs * 2, this.settings.retry.maxMs);
      }
    }
  }

  async #attempt(request: RawRequest): Promise<{ status: number; bytes: Uint8Array }> {
    const { response, limit } = await this.#open(request);
    try {
      return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
    } catch (error) {
      throw this.#lost(error, request, limit);
    } finally {
      limit.dispose();
    }
  }

  /** Sends a request once, and returns its answer when the headers have arrived. */
  async #open(request: RawRequest): Promise<OpenAnswer> {
    const { server, token, headers, requestTimeoutMs, fetch } = this.settings;
    request.signal?.throwIfAborted();
    const limit = deadline(requestTimeoutMs + request.waitMs, request.signal);
    const source = typeof request.body === 'function' ? sent(request.body(), limit) : undefined;
    const body = source?.stream ?? request.body;
    try {
      const response = await fetch(server + request.path, {
        method: request.method,
        headers: {
          accept: 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
          ...request.headers,
        },
        // `Uint8Array` is a body, whatever buffer it is a view of.
        ...(body === undefined ? {} : { body: body as BodyInit }),
        ...(source === undefined && !(body instanceof Blob) ? {} : STREAMED),
        signal: limit.signal,
      });
      this.#hasAnswered = true;
      if (response.ok) return { response, limit };
      throw this.#refusal(response, new Uint8Array(await response.arrayBuffer()));
    } catch (error) {
      limit.dispose();
      if (source?.failure !== undefined) throw source.failure.reason;
      throw this.#lost(error, request, limit);
    }
  }

  /** The error of the client for one of `fetch`. */
  #lost(error: unknown, request: RawRequest, limit: Deadline): unknown {
    const { server, requestTimeoutMs } = this.settings;
    if (error instanceof SegnoError) return error;
    if (request.signal?.aborted) return request.signal.reason;
    if (limit.isOver()) return new RequestTimeoutError(server, requestTimeoutMs + request.waitMs);
    return new UnreachableError(server, !NOT_SENT.has(causeOf(error)), error);
  }

  #refusal(response: Response, bytes: Uint8Array): SegnoError {
    const retryAfterMs = retryAfter(response.headers.get('retry-after'));
    if (response.headers.get('content-type')?.startsWith('application/problem+json')) {
      const problem = this.#parsed({ status: response.status, bytes }) as Problem;
      return refusal(problem, response.headers.get('x-request-id') ?? undefined, retryAfterMs);
    }
    return new UnexpectedAnswerError(
      this.settings.server,
      response.status,
      `it answered ${response.status} without a problem document`,
      retryAfterMs,
    );
  }

  #parsed({ status, bytes }: { status: number; bytes: Uint8Array }): unknown {
    try {
      return this.settings.json.parse(new TextDecoder().decode(bytes));
    } catch {
      throw new UnexpectedAnswerError(this.settings.server, status, 'the answer is not JSON');
    }
  }
}

/** The pieces as a stream. The time runs while the host takes one, and not while the next one is made. */
function sent(pieces: AsyncGenerator<Uint8Array>, limit: Deadline) {
  const source: { stream: ReadableStream<Uint8Array>; failure?: { reason: unknown } } = {
    stream: new ReadableStream({
      async pull(controller) {
        limit.stop();
        try {
          const { done, value } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (reason) {
          source.failure = { reason };
          controller.error(reason);
        }
        limit.restart();
      },
      async cancel() {
        await pieces.return(undefined);
      },
    }),
  };
  return source;
}

/** True if another attempt may succeed, and does nothing twice. */
function isWorthAnother(error: SegnoError, isRepeatable: boolean): boolean {
  if (error instanceof UnreachableError) return isRepeatable || !error.wasSent;
  if (error instanceof RequestTimeoutError) return isRepeatable;
  if (error instanceof UnexpectedAnswerError)
    return error.status === 429 || (isRepeatable && [502, 503, 504].includes(error.status));
  if (!(error instanceof RefusedError)) return false;
  if (error.status === 429) return true;
  if (error.status !== 503 || NOT_AGAIN.has(error.code)) return false;
  return isRepeatable || error.code !== 'unknown-outcome';
}

const retryAfterOf = (error: SegnoError) =>
  error instanceof RefusedError || error instanceof UnexpectedAnswerError ? error.retryAfterMs : undefined;

/** Reads `Retry-After`: seconds, or a date. */
function retryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function causeOf(error: unknown): string {
  const cause = (error as { cause?: { code?: string; errors?: { code?: string }[] } } | undefined)?.cause;
  return cause?.code ?? cause?.errors?.[0]?.code ?? '';
}
