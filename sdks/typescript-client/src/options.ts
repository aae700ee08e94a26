// Options of a client, and of single calls.

import { InvalidArgumentError } from './errors.js';
import type { JsonCodec } from './json.js';
import { plainJson } from './json.js';

/** When requests are tried again: after a lost connection if that is safe, and after an answer that asks for it. */
export interface RetryOptions {
  /** Longest time without an answer, in milliseconds. Default: 30,000. `Infinity` never gives up. */
  forMs?: number;
  /** Pause before the second attempt, in milliseconds, doubled for each further one. Default: 100. */
  initialMs?: number;
  /** Longest pause, in milliseconds. Default: 5,000. */
  maxMs?: number;
}

/** Options of a client. */
export interface ClientOptions {
  /** Address of the host. Default: `SEGNO_SERVER`, or `http://127.0.0.1:7766`. */
  server?: string;
  /** Token of the host. Default: `SEGNO_TOKEN`. */
  token?: string;
  /**
   * Longest time for the answer to one request, without the time that the request asks the host to wait, in
   * milliseconds. Default: 30,000.
   */
  requestTimeoutMs?: number;
  /** When requests are tried again; `false`: never. */
  retry?: RetryOptions | false;
  /** Further headers of every request, for example for a proxy. */
  headers?: Record<string, string>;
  /** How values become JSON. Default: `JSON`, with checks. */
  json?: JsonCodec;
  /** The `fetch` to use. Default: the global one. */
  fetch?: typeof globalThis.fetch;
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the call early: it then throws the signal's reason. The execution itself goes on. */
  signal?: AbortSignal | undefined;
}

/** Options of calls that wait. */
export interface WaitOptions extends CallOptions {
  /** Longest wait of this client, in milliseconds. Default: without end. */
  waitMs?: number | undefined;
}

/** Options with their defaults. */
export interface Settings {
  server: string;
  token: string | undefined;
  requestTimeoutMs: number;
  retry: Required<RetryOptions>;
  headers: Record<string, string>;
  json: JsonCodec;
  fetch: typeof globalThis.fetch;
}

const DEFAULT_SERVER = 'http://127.0.0.1:7766';

/** Completes the options of a client. */
export function settingsOf(options: ClientOptions): Settings {
  const environment: Record<string, string | undefined> =
    (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
  const retry = options.retry === false ? { forMs: 0 } : (options.retry ?? {});
  return {
    server: addressOf(options.server ?? (environment['SEGNO_SERVER'] || DEFAULT_SERVER)),
    token: options.token ?? (environment['SEGNO_TOKEN'] || undefined),
    requestTimeoutMs: positive('requestTimeoutMs', options.requestTimeoutMs ?? 30_000),
    retry: {
      forMs: length('retry.forMs', retry.forMs ?? 30_000),
      initialMs: length('retry.initialMs', retry.initialMs ?? 100),
      maxMs: length('retry.maxMs', retry.maxMs ?? 5_000),
    },
    headers: options.headers ?? {},
    json: options.json ?? plainJson,
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
  };
}

function addressOf(server: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw new InvalidArgumentError(`\`${server}\` is not a server's address; write it like ${DEFAULT_SERVER}`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new InvalidArgumentError(`\`${server}\` is not a server's address: it must begin with http:// or https://`);
  }
  if (url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new InvalidArgumentError(
      `\`${server}\` is not a server's address: it must end with the host name, the port or a path`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** Checks a length of time, which may be infinite. */
export function length(name: string, value: number): number {
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) {
    throw new InvalidArgumentError(`\`${name}\` is ${value}: it must be a number of milliseconds, 0 or more`);
  }
  return value;
}

function positive(name: string, value: number): number {
  if (length(name, value) === 0) throw new InvalidArgumentError(`\`${name}\` is 0: no request could be answered`);
  return value;
}
