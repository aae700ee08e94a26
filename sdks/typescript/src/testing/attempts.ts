// The attempts of one activity, double or request in a test.

import { setTimeout } from 'node:timers';
import { ActivityAttempt } from '../core/attempt.js';
import { reportCost } from '../core/budget.js';
import { defect } from '../core/defect.js';
import type { Definition } from '../core/definition.js';
import type { AttemptEngine, CallRecord, HttpRecord, Level, Outcome, Payload, RetryRecord } from '../core/engine.js';
import { failed, success } from '../core/execution.js';
import { Failure, isFinal } from '../core/failure.js';
import { retryRecord } from '../core/retry.js';
import { decode } from '../core/value.js';
import { AttemptCosts, type TestBudgets } from './budgets.js';
import type { Double, Doubles } from './doubles.js';
import { OpenResponses } from './responses.js';
import { drained, within } from './scopes.js';
import { inProject } from './stack.js';
import { AttemptStreams, type TestStreams } from './streams.js';

/** What is attempted. */
export type Subject =
  | { kind: 'activity'; definition: Definition }
  | { kind: 'double'; name: string; double: Double; definition: Definition | undefined; isFinal: boolean }
  | { kind: 'http'; request: HttpRecord };

/** The number of attempts that counts as an endless loop. */
const ATTEMPT_LIMIT = 1_000;
/** The longest time for which an attempt may do something outside of the test kit. */
const REAL_LIMIT_MS = 5_000;
/** The policy of a host for functions and calls without one. */
const DEFAULT_RETRY: RetryRecord = { initialMs: 500, factor: 2, maxMs: 60_000, jitter: 0.2, nonRetryable: [] };

/** The world in which attempts are made. */
export interface AttemptWorld {
  readonly doubles: Doubles;
  readonly streams: TestStreams;
  readonly budgets: TestBudgets;
  /** The invocation whose streams the attempts write. */
  readonly owner: string;
  now(): number;
  log(level: Level, message: string): void;
}

/** One call of an activity, with its attempts. */
export class Attempts {
  readonly #retry: RetryRecord;
  #attempt = 0;
  #progress: Payload | undefined;
  /** True when the call was cancelled: the attempt is told by its heartbeat. */
  isCancelled = false;

  constructor(
    readonly world: AttemptWorld,
    readonly subject: Subject,
    readonly input: Payload,
    readonly key: string,
    options: CallRecord,
    readonly deadlineMs: number | undefined,
  ) {
    const own = subject.kind === 'http' ? undefined : subject.definition?.options.retry;
    this.#retry = options.retry ?? (own && retryRecord(own)) ?? DEFAULT_RETRY;
  }

  /** Makes one attempt. Gives the outcome, or the delay before the next attempt. */
  async next(): Promise<{ outcome: Outcome } | { delayMs: number }> {
    const spent = this.#isCounted ? this.world.budgets.begin(this.key) : undefined;
    if (spent !== undefined) return { outcome: spent };
    this.#attempt += 1;
    const costs = new AttemptCosts();
    const outcome = await this.#outcome(costs);
    this.world.budgets.spend(this.key, costs.spent);
    if (outcome.tag === 'success') return { outcome };
    const { code, message } = outcome.val;
    const { maxAttempts = Number.POSITIVE_INFINITY, nonRetryable, initialMs, factor, maxMs } = this.#retry;
    const isDouble = this.subject.kind === 'double' && this.subject.isFinal;
    if (isFinal(code) || nonRetryable.includes(code) || this.#attempt >= maxAttempts || isDouble) return { outcome };
    if (this.#attempt >= ATTEMPT_LIMIT) {
      throw new Error(`${this.#what} failed ${ATTEMPT_LIMIT} times, and its retry policy has no end; the last time: ${message}`);
    }
    return { delayMs: Math.min(Math.floor(initialMs * factor ** (this.#attempt - 1)), maxMs) };
  }

  /** True for an activity or a request. A double of a workflow makes no attempts on a host. */
  get #isCounted(): boolean {
    const { subject } = this;
    return subject.kind !== 'double' || (subject.definition?.kind !== 'workflow' && !subject.name.startsWith('segno:'));
  }

  get #what(): string {
    const { subject } = this;
    if (subject.kind === 'http') return `${subject.request.method} ${subject.request.url}`;
    return `\`${subject.kind === 'double' ? subject.name : subject.definition.title}\``;
  }

  async #outcome(costs: AttemptCosts): Promise<Outcome> {
    const { subject } = this;
    switch (subject.kind) {
      case 'activity':
        return this.#perform(subject.definition, costs);
      case 'double':
        return this.#double(subject.name, subject.double, costs);
      case 'http':
        return this.#request(subject.request).catch(failedWith);
    }
  }

  async #perform(definition: Definition, costs: AttemptCosts): Promise<Outcome> {
    const { world } = this;
    const facts = {
      invocation: this.key,
      idempotencyKey: this.key,
      fenceToken: this.#attempt,
      attempt: this.#attempt,
      lastProgress: this.#progress,
      startedAtMs: world.now(),
      deadlineMs: this.deadlineMs,
    };
    const streams = new AttemptStreams(world.streams, world.owner, this.key);
    const attempt = new ActivityAttempt(definition, facts, this.#engine(streams, costs));
    const describe = (error: unknown): string => {
      const { at, message } = defect(error, inProject, definition.made);
      return at === undefined ? message : `${at}: ${message}`;
    };
    const run = within(attempt, () => attempt.run(this.input, describe));
    const outcome = await Promise.race([run, limit()]);
    await drained();
    const ended = attempt.settled(outcome, describe);
    const settled = ended.tag === 'success' && streams.refused !== undefined ? failed(streams.refused) : ended;
    if (settled.tag === 'success') return this.#withoutSecrets(definition.title, settled);
    return { tag: 'failure', val: { ...settled.val, message: world.doubles.redacted(settled.val.message) } };
  }

  async #double(name: string, double: Double, costs: AttemptCosts): Promise<Outcome> {
    const cost = (unit: string, amount: number) => reportCost({ reportCost: (...told) => costs.report(...told) }, unit, amount);
    try {
      const value = await double(decode(this.input), { attempt: this.#attempt, idempotencyKey: this.key, cost });
      return this.#withoutSecrets(name, success(value, `the result of the double of \`${name}\``));
    } catch (error) {
      return failedWith(error);
    }
  }

  #withoutSecrets(name: string, outcome: Outcome): Outcome {
    try {
      if (outcome.tag === 'success' && outcome.val.tag === 'json') this.world.doubles.refuseSecrets(name, outcome.val.val);
      return outcome;
    } catch (error) {
      return failed(error);
    }
  }

  async #request(request: HttpRecord): Promise<Outcome> {
    const hasKey = request.headers.some(([name]) => name.toLowerCase() === 'idempotency-key');
    const secrets = (value: string) => value.replace(/\{secret:([^}]+)\}/g, (_, name: string) => this.world.doubles.setting('secrets', name));
    const headers = [...request.headers, ...(hasKey ? [] : [['Idempotency-Key', this.key] as [string, string]])].map(([name, value]): [string, string] => [name, secrets(value)]);
    const { status, headers: answered, body } = await this.world.doubles.answer({ ...request, headers });
    if (status >= 500 || [408, 425, 429].includes(status)) {
      return failed(new Failure(status, `${this.#what} answered ${status}`));
    }
    return success(answerValue({ status, headers: answered, body }), 'a response');
  }

  #engine(streams: AttemptStreams, costs: AttemptCosts): AttemptEngine {
    const { doubles } = this.world;
    const responses = new OpenResponses(doubles);
    return {
      heartbeat: (progress) => {
        if (progress !== undefined) {
          doubles.heartbeats.push(decode(progress));
          this.#progress = progress;
        }
        return this.isCancelled;
      },
      openHttp: (request) => responses.open(request),
      readHttp: (response, limit) => responses.read(response, limit),
      closeHttp: (response) => responses.close(response),
      log: (level, message) => this.world.log(level, doubles.redacted(message)),
      env: (name) => doubles.setting('env', name),
      secret: (name) => doubles.setting('secrets', name),
      now: () => this.world.now(),
      readFile: (path, offset, length) => doubles.file(path).subarray(offset, offset + length),
      writeFile: (path, content) => void doubles.files.set(path, content),
      appendFile: (path, content) => void doubles.files.set(path, Uint8Array.from([...(doubles.files.get(path) ?? []), ...content])),
      listDirectory: (path) => doubles.list(path),
      removeFile: (path) => void doubles.files.delete(path),
      keptOfStream: (name) => streams.kept(name),
      createBlob: (contentType) => doubles.blobs.create(contentType),
      writeBlob: (writer, piece) => doubles.blobs.write(writer, piece),
      // Blobs belong to the root of the tree; ids of a test have no slash.
      finishBlob: (writer) => doubles.blobs.finish(this.key.split('/')[0]!, writer),
      abandonBlob: (writer) => doubles.blobs.abandon(writer),
      readBlob: (reference, offset, length) => doubles.blobs.read(reference, offset, length),
      appendToStream: (name, contentType, item) => streams.append(name, contentType, doubles.withoutSecrets(item)),
      reportCost: (unit, millionths) => costs.report(unit, millionths),
    };
  }

}

/** A response, as the host gives it to a workflow. */
function answerValue({ status, headers, body }: { status: number; headers: [string, string][]; body: Uint8Array }): object {
  const named = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
  try {
    return { status, headers: named, body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { status, headers: named, body_base64: Buffer.from(body).toString('base64') };
  }
}

function limit(): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), REAL_LIMIT_MS).unref();
  });
}

/** The failed outcome of a `Failure`. Any other error is a defect of the test, and is thrown. */
function failedWith(error: unknown): Outcome {
  if (!(error instanceof Failure)) throw error;
  return failed(error);
}
