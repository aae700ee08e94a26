// HTTP requests and responses.

import type { HttpRecord } from './engine.js';
import { HttpBody } from './http-body.js';
import type { ServerEvent } from './http-lines.js';
import { encode } from './value.js';

/** A request. */
export interface HttpRequest {
  /** Default: GET. */
  method?: string;
  /** The address. */
  url: string;
  /** The headers. One may name a secret: `Bearer {secret:PAY}`. */
  headers?: Readonly<Record<string, string>>;
  /** A body of JSON, with its content type. */
  json?: unknown;
  /** A body of text or bytes. */
  body?: string | Uint8Array;
}

/** The request in the host's form. */
export function httpRecord(given: string | HttpRequest): HttpRecord {
  const { method = 'GET', url, headers = {}, json, body }: HttpRequest = typeof given === 'string' ? { url: given } : given;
  if (typeof url !== 'string') throw new TypeError('a request needs an address: `{ url: "https://…" }`');
  if (json !== undefined && body !== undefined) throw new TypeError(`the request to ${url} has \`json\` and \`body\`: pass one of them`);
  const pairs = Object.entries(headers).map(([name, value]): [string, string] => {
    if (typeof value !== 'string') throw new TypeError(`the header \`${name}\` of the request to ${url} is ${String(value)}, and has to be a text`);
    return [name, value];
  });
  const record: HttpRecord = { method: method.toUpperCase(), url, headers: pairs };
  if (json !== undefined) {
    record.body = encode(json, `the body of the request to ${url}`);
    if (!pairs.some(([name]) => name.toLowerCase() === 'content-type')) pairs.push(['content-type', 'application/json']);
  } else if (body !== undefined) {
    record.body = { tag: 'bytes', val: typeof body === 'string' ? new TextEncoder().encode(body) : body };
  }
  return record;
}

/** The headers of a response; names are compared without case. */
export class HttpHeaders implements Iterable<[string, string]> {
  readonly #pairs: [string, string][];

  constructor(pairs: Iterable<[string, string]>) {
    this.#pairs = [...pairs].map(([name, value]) => [name.toLowerCase(), value]);
  }

  /** The value of a header, or null. */
  get(name: string): string | null {
    const values = this.#pairs.filter(([known]) => known === name.toLowerCase()).map(([, value]) => value);
    return values.length === 0 ? null : values.join(', ');
  }

  /** True if there is such a header. */
  has(name: string): boolean {
    return this.get(name) !== null;
  }

  /** Calls `callback` for each header. */
  forEach(callback: (value: string, name: string) => void): void {
    for (const [name, value] of this.#pairs) callback(value, name);
  }

  /** Names and values. */
  entries(): IterableIterator<[string, string]> {
    return this.#pairs.values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

/** A response, with the members of a response of `fetch`. */
export class HttpResponse {
  /** The status, such as 200. */
  readonly status: number;
  /** The headers. */
  readonly headers: HttpHeaders;
  /** The address of the request. */
  readonly url: string;
  /** The body in pieces, as they arrive: `for await (const piece of response.body)`. */
  readonly body: HttpBody;

  constructor(status: number, headers: Iterable<[string, string]>, body: Uint8Array | HttpBody, url = '') {
    this.status = status;
    this.headers = new HttpHeaders(headers);
    this.body = body instanceof HttpBody ? body : HttpBody.of(body);
    this.url = url;
  }

  /** True for 200 to 299. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Always empty: HTTP/2 has none. */
  get statusText(): string {
    return '';
  }

  /** True if the body was read in pieces, and cannot be read again. */
  get bodyUsed(): boolean {
    return this.body.locked;
  }

  /** The body as bytes. */
  async bytes(): Promise<Uint8Array> {
    return this.body.whole();
  }

  /** The body as an `ArrayBuffer`. */
  async arrayBuffer(): Promise<ArrayBuffer> {
    return Uint8Array.from(await this.body.whole()).buffer;
  }

  /** The body as text. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.body.whole());
  }

  /** The lines of the body, without their ends, as they arrive. */
  lines(): AsyncGenerator<string, undefined> {
    return this.body.lines();
  }

  /** The server-sent events of the body (`text/event-stream`), as they arrive. */
  events(): AsyncGenerator<ServerEvent, undefined> {
    return this.body.events();
  }

  /** The body, read as JSON. */
  async json(): Promise<any> {
    const text = await this.text();
    try {
      return JSON.parse(text);
    } catch {
      throw new SyntaxError(`the answer of ${this.url || 'a request'} (${this.status}) is no JSON: ${JSON.stringify(text.slice(0, 80))}`);
    }
  }

  /** The same response once more. */
  clone(): HttpResponse {
    return new HttpResponse(this.status, this.headers, this.body.share(), this.url);
  }
}

/** The response in the value with which the host completes a request. */
export function durableResponse(told: unknown, url: string): HttpResponse {
  const { status, headers = {}, body, body_base64: base64 } = told as {
    status: number;
    headers?: Record<string, string>;
    body?: string;
    body_base64?: string;
  };
  const bytes = base64 === undefined ? new TextEncoder().encode(body ?? '') : Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new HttpResponse(status, Object.entries(headers), bytes, url);
}

/** What `fetch` is given, as a request. */
export async function requestOf(input: unknown, init: FetchInit = {}): Promise<HttpRequest> {
  const url = typeof input === 'string' ? input : String((input as { href?: string; url?: string })?.href ?? (input as { url?: string })?.url ?? input);
  const headers: Record<string, string> = {};
  const given = init.headers ?? {};
  const pairs = typeof (given as Iterable<[string, string]>)[Symbol.iterator] === 'function' ? (given as Iterable<[string, string]>) : Object.entries(given);
  for (const [name, value] of pairs) headers[name] = String(value);
  const request: HttpRequest = { url, headers, method: init.method ?? 'GET' };
  const { body } = init;
  if (body === undefined || body === null) return request;
  if (typeof body === 'string' || body instanceof Uint8Array) return { ...request, body };
  if (body instanceof ArrayBuffer) return { ...request, body: new Uint8Array(body) };
  if (String(body) !== '[object Object]' && typeof (body as { append?: unknown }).append === 'function') {
    return { ...request, headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }, body: String(body) };
  }
  throw new TypeError(`the body of the request to ${url} is a ${(body as object).constructor?.name}: pass a text, bytes or URLSearchParams`);
}

/** The options of `fetch` that are used. */
export interface FetchInit {
  method?: string;
  headers?: Readonly<Record<string, string>> | Iterable<[string, string]>;
  body?: unknown;
  signal?: AbortSignal;
}
