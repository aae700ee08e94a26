// One attempt of an activity.

import type { ActivityContext, Files } from './activity.js';
import { reportCost } from './budget.js';
import { blobsOf } from './blob.js';
import type { Definition } from './definition.js';
import type { AttemptEngine, AttemptFacts, Level, Outcome, Payload } from './engine.js';
import { checked, failed, inputOf, success } from './execution.js';
import { Code, Failure, cancelled } from './failure.js';
import { guarded } from './guard.js';
import { HttpBody } from './http-body.js';
import { type FetchInit, type HttpRequest, HttpResponse, httpRecord, requestOf } from './http.js';
import { logger } from './log.js';
import { generator, seedOf } from './random.js';
import type { Scope } from './scope.js';
import { validated } from './schema.js';
import { activityStream } from './stream.js';
import { decode, encode } from './value.js';

/** The number of responses that an attempt may have open. */
const OPEN_RESPONSES_MAX = 16;
/** The largest piece of a body, in bytes. */
const PIECE_BYTES_MAX = 65_536;

/** One attempt: its context, and the globals inside of it. */
export class ActivityAttempt implements Scope {
  readonly startedAtMs: number;
  readonly random: () => number;
  readonly controller = new AbortController();
  /** Promises that were rejected, and that nobody handles. */
  readonly unhandled = new Map<unknown, unknown>();
  /** The responses that are open at the host. */
  readonly #open = new Set<HttpBody>();
  readonly #definition: Definition;
  readonly #facts: AttemptFacts;
  readonly #engine: AttemptEngine;

  constructor(definition: Definition, facts: AttemptFacts, engine: AttemptEngine) {
    this.#definition = definition;
    this.#facts = facts;
    this.#engine = engine;
    this.startedAtMs = facts.startedAtMs;
    this.random = generator(seedOf(`${facts.idempotencyKey} ${facts.attempt} ${facts.startedAtMs}`));
  }

  /** Runs the function. `describe` makes a message of an error that is no `Failure`. */
  async run(input: Payload, describe: (error: unknown) => string): Promise<Outcome> {
    const { options, run, title } = this.#definition;
    try {
      const given = await validated(options.input, inputOf(input, options.input !== undefined), `the input of \`${title}\``);
      const value = await (run as (input: unknown, ctx: unknown) => unknown)(given, this.context());
      return await this.#result(value);
    } catch (error) {
      return failed(error instanceof Failure ? error : new Failure(Code.Unexpected, describe(error)));
    }
  }

  /** The outcome, when everything that was ready has run: an error that nobody handles fails the attempt. */
  settled(outcome: Outcome | undefined, describe: (error: unknown) => string): Outcome {
    if (outcome?.tag === 'failure') return outcome;
    for (const reason of this.unhandled.values()) return failed(new Failure(Code.Unexpected, `nobody awaited a promise that failed: ${describe(reason)}`));
    const { title } = this.#definition;
    return outcome ?? failed(new Failure(Code.Refused, `\`${title}\` waits for a promise that nothing settles: an activity waits only for \`fetch\` and \`ctx.http\``));
  }

  // A result that cannot be stored is final: another attempt would make it again.
  async #result(value: unknown): Promise<Outcome> {
    const { options, title } = this.#definition;
    const what = `the result of \`${title}\``;
    try {
      return success(options.output === undefined ? value : await checked(options.output, value, what), what);
    } catch (error) {
      throw error instanceof Failure ? error : new Failure(Code.Refused, (error as Error).message);
    }
  }

  now(): number {
    return this.#engine.now();
  }

  log(level: Level, message: string): void {
    this.#engine.log(level, message);
  }

  setTimer(): number {
    throw new Error('an activity cannot wait with a timer: let it fail and be retried, or sleep in the workflow that calls it');
  }

  clearTimer(): void {}

  async fetch(input: unknown, init: FetchInit = {}): Promise<HttpResponse> {
    init.signal?.throwIfAborted();
    return this.#http(await requestOf(input, init));
  }

  async #http(given: string | HttpRequest): Promise<HttpResponse> {
    const request = httpRecord(given);
    if (this.#open.size >= OPEN_RESPONSES_MAX) await this.#readUntouched();
    const { response, status, headers } = await this.#engine.openHttp(request);
    const body: HttpBody = new HttpBody({
      read: async () => {
        // A body that fails, or is at its end, is open no more.
        this.#open.delete(body);
        const piece = await this.#engine.readHttp(response, PIECE_BYTES_MAX);
        if (piece.length > 0) this.#open.add(body);
        return piece;
      },
      close: () => {
        this.#open.delete(body);
        this.#engine.closeHttp(response);
      },
    });
    this.#open.add(body);
    return new HttpResponse(status, headers, body, request.url);
  }

  /** Reads the oldest body that nobody has begun to read, so that another response can be opened. */
  async #readUntouched(): Promise<void> {
    for (const body of this.#open) {
      if (body.locked) continue;
      await body.whole().catch(() => undefined);
      this.#open.delete(body);
      return;
    }
  }

  context(): ActivityContext {
    const facts = this.#facts;
    const engine = this.#engine;
    const { controller } = this;
    const context: ActivityContext = {
      id: facts.invocation,
      idempotencyKey: facts.idempotencyKey,
      attempt: facts.attempt,
      fenceToken: facts.fenceToken,
      startedAt: new Date(facts.startedAtMs),
      deadline: facts.deadlineMs === undefined ? undefined : new Date(facts.deadlineMs),
      lastProgress: facts.lastProgress && decode(facts.lastProgress),
      signal: controller.signal,
      log: logger((level, message) => engine.log(level, message)),
      files: guarded(files(engine), 'a function of `ctx.files`'),
      blobs: blobsOf(engine),
      heartbeat(progress) {
        const stops = engine.heartbeat(progress === undefined ? undefined : encode(progress, 'the progress'));
        if (stops && !controller.signal.aborted) controller.abort(cancelled());
        return stops;
      },
      stream: (name, options) => activityStream(engine, name, options),
      cost: (unit, amount) => reportCost(engine, unit, amount),
      http: (request) => this.#http(request),
      env: (name) => engine.env(name),
      secret: (name) => engine.secret(name),
    };
    return guarded(context, 'a function or a field of the context of an activity');
  }
}

function files(engine: AttemptEngine): Files {
  const bytes = (content: string | Uint8Array) => (typeof content === 'string' ? new TextEncoder().encode(content) : content);
  const read = (path: string, { offset = 0, length = Number.MAX_SAFE_INTEGER }: { offset?: number; length?: number } = {}) => {
    const parts: Uint8Array[] = [];
    for (let at = offset, left = length; left > 0; ) {
      const part = engine.readFile(path, at, Math.min(left, 2 ** 32));
      if (part.length === 0) break;
      parts.push(part);
      at += part.length;
      left -= part.length;
    }
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
    return whole;
  };
  return {
    read,
    readText: (path) => new TextDecoder().decode(read(path)),
    write: (path, content) => engine.writeFile(path, bytes(content)),
    append: (path, content) => engine.appendFile(path, bytes(content)),
    list: (path) => engine.listDirectory(path),
    remove: (path) => engine.removeFile(path),
  };
}
