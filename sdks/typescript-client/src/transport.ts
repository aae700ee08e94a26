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
import { deadline, pause } from './time.js';
import { fromWire, queryPairs, toWire } from './wire.js';

/** A request of the route `R`. */
export interface Request<R extends keyof Routes> {
  /** The values of the names in braces of the path. */
  path?: Record<string, string> | undefined;
  /** The query, in camel case. */
  query?: Routes[R]['query'] | undefined;
  /** The body, in camel case, or bytes. */
  body?: Routes[R]['body'] | undefined;
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
  body: string | Uint8Array | undefined;
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

/** Sends requests to one host. */
export class Transport {
  #hasAnswered = false;

  constructor(readonly settings: Settings) {}

  /** Sends a request of a route, and returns its answer in camel case. */
  async send<R extends keyof Routes>(route: R, request: Request<R>): Promise<Routes[R]['answer']> {
    const [method, template] = route.split(' ') as [string, string];
    const [bodyType, answerType] = routes[route];
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(request.path?.[name] ?? ''));
    const query = new URLSearchParams(queryPairs(request.query)).toString();
    const headers: Record<string, string> = {};
    let body: string | Uint8Array | undefined;
    if (bodyType !== undefined) {
      headers['content-type'] = 'application/json';
      body = this.settings.json.stringify(toWire(request.body ?? {}, bodyType));
    } else if (request.body !== undefined) {
      headers['content-type'] = 'application/wasm';
      body = request.body as Uint8Array;
    }
    const response = await this.#attempts({
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers,
      body,
      isRepeatable: request.isRepeatable ?? method === 'GET',
      waitMs: request.waitMs ?? 0,
      retryForMs: request.retryForMs ?? this.settings.retry.forMs,
      signal: request.signal,
    });
    if (answerType === undefined) return response.bytes as Routes[R]['answer'];
    return fromWire(this.#parsed(response), answerType) as Routes[R]['answer'];
  }

  /** Sends any JSON to any path of the API. Names of fields stay as they are. */
  async raw(
    method: string,
    path: string,
    body: unknown,
    isRepeatable: boolean,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const response = await this.#attempts({
      method,
      path,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : this.settings.json.stringify(body),
      isRepeatable,
      waitMs: 0,
      retryForMs: this.settings.retry.forMs,
      signal,
    });
    return this.#parsed(response);
  }

  /** Sends a request until it is answered, or trying again has no use or is not safe, or the time is over. */
  async #attempts(request: RawRequest): Promise<{ status: number; bytes: Uint8Array }> {
    const startedAt = Date.now();
    let backoffMs = this.settings.retry.initialMs;
    for (;;) {
      try {
        return await this.#attempt(request);
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
    const { server, token, headers, requestTimeoutMs, fetch } = this.settings;
    request.signal?.throwIfAborted();
    const limit = deadline(requestTimeoutMs + request.waitMs, request.signal);
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
        ...(request.body === undefined ? {} : { body: request.body as BodyInit }),
        signal: limit.signal,
      });
      const bytes = new Uint8Array(await response.arrayBuffer());
      this.#hasAnswered = true;
      if (response.ok) return { status: response.status, bytes };
      throw this.#refusal(response, bytes);
    } catch (error) {
      if (error instanceof SegnoError) throw error;
      request.signal?.throwIfAborted();
      if (limit.isOver()) throw new RequestTimeoutError(server, requestTimeoutMs + request.waitMs);
      throw new UnreachableError(server, !NOT_SENT.has(causeOf(error)), error);
    } finally {
      limit.dispose();
    }
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
