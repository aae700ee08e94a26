// A run of a graph in a test. It is executed as a workflow without a journal, whose commands are the nodes.

import { Definition } from '../../core/definition.js';
import { milliseconds } from '../../core/duration.js';
import type { CallRecord, Command } from '../../core/engine.js';
import { Failure, cancelled, isFinal } from '../../core/failure.js';
import { INPUT, filled, partOf } from '../../core/graph/template.js';
import { retryRecord } from '../../core/retry.js';
import { encode } from '../../core/value.js';
import type { Invocation } from '../invocation.js';
import type { Plan, PlanNode } from './plan.js';
import { Progress, holds } from './progress.js';

/** The function that runs plans. */
export const GRAPH = 'segno:graph';

/** One run. Its steps are decided by the rules of a host. */
export class GraphRun {
  /** The run as a workflow. */
  readonly definition: Definition;
  /** The invocation of the run; known before the run begins. */
  invocation!: Invocation;
  readonly #progress: Progress;
  readonly #outputs = new Map<string, unknown>();
  readonly #failed = new Map<string, Failure>();
  /** The signals that have come, and the nodes that wait for the others. */
  readonly #delivered = new Map<string, { value: unknown } | { failure: Failure }>();
  readonly #waiting = new Map<string, string[]>();
  #end!: { resolve: (outputs: unknown) => void; reject: (failure: unknown) => void };

  constructor(
    readonly plan: Plan,
    readonly input: unknown,
    /** True for a function whose failed call is attempted by the run itself, as a new execution. */
    readonly isWorkflow: (name: string) => boolean,
  ) {
    this.#progress = new Progress(plan);
    const run = () =>
      new Promise((resolve, reject) => {
        this.#end = { resolve, reject };
        this.#begin();
      });
    this.definition = new Definition('workflow', { name: plan.name ?? GRAPH }, run);
  }

  #begin(): void {
    const signals = [...this.plan.nodes.values()].filter(({ kind }) => kind === 'signal').map(({ content }) => content as string);
    for (const signal of [...new Set(signals)].sort()) {
      const settled = (answer: { value: unknown } | { failure: Failure }) => this.#deliver(signal, answer);
      this.#issue({ kind: 'promise', name: `sig/${signal}`, timeoutMs: undefined }, `sig/${signal}`, (value) => settled({ value }), (failure) => settled({ failure }));
    }
    this.#advance();
  }

  /** Starts the nodes that can run, and ends the run if it has settled. */
  #advance(): void {
    for (let nodes = this.#progress.dispatch(); nodes.length > 0; nodes = this.#progress.dispatch()) {
      for (const name of nodes) {
        const { when } = this.plan.nodes.get(name)!;
        if (when === undefined || holds(when, this.#source)) this.#start(name, 0);
        else this.#progress.record(name, 'skipped');
      }
    }
    const { end } = this.#progress;
    if (end === 'completed') {
      const outputs = this.plan.outputs.filter((name) => this.#outputs.has(name));
      this.#end.resolve(Object.fromEntries(outputs.map((name) => [name, this.#outputs.get(name)])));
    } else if (end === 'failed') this.#end.reject(this.#failure());
  }

  readonly #source = (from: string, at: string): unknown => partOf(from === INPUT ? this.input : this.#outputs.get(from), at);

  #inputOf({ input, needs }: PlanNode): unknown {
    if (input !== undefined) return filled(input, this.#source);
    if (needs.length === 0) return this.input;
    return Object.fromEntries(needs.filter((need) => this.#outputs.has(need)).map((need) => [need, this.#outputs.get(need)]));
  }

  #start(name: string, attempt: number): void {
    const node = this.plan.nodes.get(name)!;
    if (node.kind === 'signal') return this.#wait(name, node);
    const command = this.#commandOf(name, node);
    if (command instanceof Failure) return this.#fail(name, command);
    const failed = (failure: Failure): void => {
      const delayMs = this.#repeats(node, attempt, failure.code);
      if (delayMs === undefined) return this.#fail(name, failure);
      const untilMs = this.invocation.recorder.now() + delayMs;
      this.#issue({ kind: 'sleep', untilMs }, `n/${name}/${attempt + 1}/delay`, () => this.#start(name, attempt + 1));
    };
    const succeeded = (value: unknown): void => {
      this.#complete(name, value);
      this.#advance();
    };
    this.#issue(command, `n/${name}/${attempt}`, succeeded, failed);
  }

  #commandOf(name: string, node: PlanNode): Command | Failure {
    const { kind, content, timeoutMs } = node;
    const input = encode(this.#inputOf(node), `the input of the node \`${name}\``);
    const options = optionsOf(node);
    switch (kind) {
      case 'sleep':
        return { kind, untilMs: this.invocation.recorder.now() + milliseconds(content as string, 'sleep') };
      case 'promise':
        return { kind, name, timeoutMs };
      case 'http':
        return request(filled(content, this.#source), options);
      case 'graph':
        if (typeof content === 'string') return { kind: 'call', function: content, input, options };
        return { kind: 'call', function: GRAPH, input: encode({ plan: content, input: this.#inputOf(node) }, 'a nested plan'), options };
      default:
        return { kind: 'call', function: node.function === undefined ? (content as string) : `${content as string}#${node.function}`, input, options };
    }
  }

  /** The delay before the next attempt of a workflow. Activities and requests are repeated where they run. */
  #repeats({ kind, content, retry }: PlanNode, attempt: number, code: number): number | undefined {
    if (retry === undefined || kind !== 'call' || !this.isWorkflow(content as string) || isFinal(code)) return undefined;
    const { initialMs, factor, maxMs, maxAttempts = Number.POSITIVE_INFINITY } = policy(retry);
    return attempt + 1 >= maxAttempts ? undefined : Math.min(Math.floor(initialMs * factor ** attempt), maxMs);
  }

  #wait(name: string, { content, timeoutMs }: PlanNode): void {
    const signal = content as string;
    const delivered = this.#delivered.get(signal);
    if (delivered !== undefined) return 'value' in delivered ? this.#complete(name, delivered.value) : this.#fail(name, delivered.failure);
    const isFirst = !this.#waiting.has(signal);
    this.#waiting.set(signal, [...(this.#waiting.get(signal) ?? []), name]);
    this.#progress.record(name, 'waiting');
    if (!isFirst || timeoutMs === undefined) return;
    const untilMs = this.invocation.recorder.now() + timeoutMs;
    this.#issue({ kind: 'sleep', untilMs }, `sig/${signal}/timeout`, () => this.#deliver(signal, { failure: new Failure(408, 'timed out') }));
  }

  #deliver(signal: string, answer: { value: unknown } | { failure: Failure }): void {
    if (this.#delivered.has(signal)) return;
    this.#delivered.set(signal, answer);
    for (const name of this.#waiting.get(signal) ?? []) {
      if ('value' in answer) this.#complete(name, answer.value);
      else this.#fail(name, answer.failure);
    }
    this.#advance();
  }

  #complete(name: string, value: unknown): void {
    this.#outputs.set(name, value);
    this.#progress.record(name, 'completed');
  }

  #fail(name: string, failure: Failure): void {
    this.#failed.set(name, failure);
    this.#progress.record(name, 'failed');
  }

  /** Issues a command under the id that it has on a host. */
  #issue(command: Command, id: string, resolve: (value: unknown) => void, reject: (failure: Failure) => void = () => {}): void {
    const { execution, ids } = this.invocation;
    const { index } = execution.issue(command);
    ids.set(index, `${this.invocation.id}/${id}`);
    const failed = (error: unknown): void => {
      if (execution.isCancelled) return this.#end.reject(cancelled());
      reject(error as Failure);
      this.#advance();
    };
    execution.await(index, { resolve, reject: failed });
  }

  #failure(): Failure {
    const [[first, { message }]] = this.#failed as unknown as [[string, Failure]];
    const others = this.#failed.size - 1;
    const more = others === 0 ? '' : others === 1 ? '; another node failed as well' : `; ${others} other nodes failed as well`;
    const failed = Object.fromEntries([...this.#failed].sort().map(([name, failure]) => [name, detailOf(failure)]));
    const notRun = this.#progress.unfinished.filter((name) => !this.#failed.has(name));
    return new Failure(500, `node \`${first}\` failed: ${message}${more}`, { failed, not_run: notRun });
  }
}

function detailOf({ code, message, details }: Failure): object {
  return details === undefined ? { code, message } : { code, message, details };
}

function policy({ initial, factor, max, max_attempts }: NonNullable<PlanNode['retry']>) {
  const given = { initial, factor, max, maxAttempts: max_attempts };
  return retryRecord(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
}

function optionsOf({ retry, once, timeoutMs, attemptTimeoutMs }: PlanNode): CallRecord {
  const given = once === undefined ? retry : { max_attempts: 1 };
  const labels: [string, string][] = attemptTimeoutMs === undefined ? [] : [['segno:attempt-timeout-ms', String(attemptTimeoutMs)]];
  return { timeoutMs, startAtMs: undefined, retry: given && policy(given), labels };
}

function request(given: any, options: CallRecord): Command | Failure {
  const { method = 'GET', url, headers = {}, body } = given as { method?: string; url: unknown; headers?: Record<string, unknown>; body?: unknown };
  const pairs = Object.entries(headers);
  for (const [part, value] of [['url', url], ...pairs.map(([name, value]) => [`header \`${name}\``, value])] as [string, unknown][]) {
    if (typeof value !== 'string') return new Failure(400, `the ${part} of the request is no text: ${JSON.stringify(value)}`);
  }
  const content = body === undefined || body === null ? {} : { body: encode(body, 'the body of a request') };
  return { kind: 'http', request: { method, url: url as string, headers: pairs as [string, string][], ...content }, options };
}
