// What a test defines in place of functions, servers, settings and files.

import type { FileEntry, HttpRecord, Payload } from '../core/engine.js';
import { Code, Failure } from '../core/failure.js';
import { joined } from '../core/http-body.js';
import { TestBlobs } from './blobs.js';

/** The facts of an attempt of a double. */
export interface DoubleInfo {
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The idempotency key of the call. */
  idempotencyKey: string;
  /** Reports a cost of the attempt, as `ctx.cost` does. */
  cost(unit: string, amount: number): void;
}

/** A function in place of another one. */
export type Double = (input: any, info: DoubleInfo) => unknown;

/** A request that a test has seen. */
export interface SeenRequest {
  /** The method, in capitals. */
  method: string;
  /** The whole address. */
  url: string;
  /** The headers, with names in lower case. */
  headers: Record<string, string>;
  /** The body as text; empty if there is none. */
  body: string;
  /** The body, read as JSON. */
  json(): any;
}

/** The pieces in which a body arrives. What they throw breaks the body off. */
export type BodyPieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** The answer of a server: a status, or more of it. */
export type Answer = number | { status?: number; headers?: Record<string, string>; body?: string | Uint8Array; json?: unknown; pieces?: BodyPieces };

/** The answer of a server, with its body as it arrives. */
export interface ArrivingAnswer {
  status: number;
  headers: [string, string][];
  pieces: AsyncIterable<Uint8Array>;
}

/** A server in a test. */
export type HttpDouble = (request: SeenRequest) => Answer | Promise<Answer>;

/** What a test defines in place of the world. */
export class Doubles {
  readonly functions = new Map<string, Double>();
  readonly env = new Map<string, string>();
  readonly secrets = new Map<string, string>();
  readonly files = new Map<string, Uint8Array>();
  readonly blobs = new TestBlobs();
  readonly requests: SeenRequest[] = [];
  readonly heartbeats: unknown[] = [];
  readonly #servers: { method: string; url: string; answer: HttpDouble }[] = [];

  server(method: string, url: string, answer: HttpDouble): void {
    this.#servers.unshift({ method: method.toUpperCase(), url, answer });
  }

  /** Answers a request as `open`, and waits for all of the body. */
  async answer(request: HttpRecord): Promise<{ status: number; headers: [string, string][]; body: Uint8Array }> {
    const { status, headers, pieces } = await this.open(request);
    return { status, headers, body: await joined(pieces) };
  }

  /** Answers a request by the server with the longest address that fits. */
  async open({ method, url, headers, body }: HttpRecord): Promise<ArrivingAnswer> {
    const text = body === undefined ? '' : body.tag === 'json' ? body.val : new TextDecoder().decode(body.val);
    const lower = headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
    const seen: SeenRequest = { method, url, headers: Object.fromEntries(lower), body: text, json: () => JSON.parse(text) };
    this.requests.push(seen);
    const fitting = this.#servers.filter((server) => (server.method === '*' || server.method === method) && url.startsWith(server.url));
    fitting.sort((left, right) => right.url.length - left.url.length);
    const [server] = fitting;
    if (server === undefined) {
      throw new Error(`${method} ${url} is sent, and this test defines no server for it: add \`t.onHttp('${method}', '${url}', (request) => 200)\``);
    }
    const given = await server.answer(seen);
    const { status = 200, headers: own = {}, body: content, json, pieces }: Exclude<Answer, number> = typeof given === 'number' ? { status: given } : given;
    const type: Record<string, string> = json === undefined ? {} : { 'content-type': 'application/json' };
    const whole = json === undefined ? (content ?? '') : JSON.stringify(json);
    if (pieces !== undefined && whole !== '') throw new Error(`the answer to ${method} ${url} has \`pieces\` and a body: return one of them`);
    return { status, headers: Object.entries({ ...type, ...own }), pieces: bytesOf(pieces ?? [whole]) };
  }

  setting(kind: 'env' | 'secrets', name: string): string {
    const value = this[kind].get(name);
    if (value !== undefined) return value;
    const method = kind === 'env' ? 'env' : 'secret';
    throw new Failure(403, `\`${name}\` is not set: in a test write \`t.${method}('${name}', '…')\`, and on a host \`${kind} = { ${name} = … }\` in policy.toml`);
  }

  /** A text without the secrets, as the host stores it. */
  redacted(text: string): string {
    let told = text;
    for (const [name, value] of this.secrets) told = told.replaceAll(value, `{secret:${name}}`);
    return told;
  }

  /** A value without the secrets, as the host stores it. */
  withoutSecrets(payload: Payload): Payload {
    return payload.tag === 'json' ? { tag: 'json', val: this.redacted(payload.val) } : payload;
  }

  /** Refuses a result that contains a secret, as the host does. */
  refuseSecrets(name: string, text: string): void {
    for (const [secret, value] of this.secrets) {
      if (text.includes(value)) throw new Failure(Code.Refused, `the result of \`${name}\` contains the secret \`${secret}\`, and results are stored: return something else`);
    }
  }

  file(path: string): Uint8Array {
    const content = this.files.get(path);
    if (content !== undefined) return content;
    throw new Failure(Code.NotFound, `there is no file \`${path}\`: in a test write \`t.file('${path}', '…')\``);
  }

  list(path: string): FileEntry[] {
    const folder = path.endsWith('/') ? path : `${path}/`;
    const entries = new Map<string, FileEntry>();
    for (const [file, content] of this.files) {
      if (!file.startsWith(folder)) continue;
      const [name = '', ...rest] = file.slice(folder.length).split('/');
      entries.set(name, { name, directory: rest.length > 0, size: rest.length > 0 ? 0 : content.length });
    }
    return [...entries.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }
}

async function* bytesOf(pieces: BodyPieces): AsyncGenerator<Uint8Array, undefined> {
  for await (const piece of pieces) {
    if (piece.length > 0) yield typeof piece === 'string' ? new TextEncoder().encode(piece) : piece;
  }
}
