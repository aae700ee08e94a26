// The rules of a run: which nodes begin, what a failure closes, and when the run has ended.

import { partOf } from '../../core/graph/template.js';
import type { Plan } from './plan.js';

/** How a node stands. */
export type NodeStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'skipped' | 'failed';

/** The state of a run. */
export class Progress {
  readonly #plan: Plan;
  readonly #status = new Map<string, NodeStatus>();

  constructor(plan: Plan) {
    this.#plan = plan;
    for (const name of plan.nodes.keys()) this.#status.set(name, 'pending');
  }

  /** Marks nodes that can run as running, ascending by name, as many as the plan allows at the same time. */
  dispatch(): string[] {
    if (this.end !== undefined) return [];
    const room = this.#plan.maxParallel - this.#with('running').length;
    const nodes = this.#with('pending').filter((name) => this.#isUnblocked(name)).slice(0, Math.max(0, room));
    for (const name of nodes) this.#status.set(name, 'running');
    return nodes;
  }

  /** A node ended, or waits for a signal. A failure closes the nodes that need it, directly or indirectly. */
  record(name: string, status: 'waiting' | 'completed' | 'skipped' | 'failed'): void {
    this.#status.set(name, status);
    if (status !== 'failed') return;
    for (const [next, { needs }] of this.#plan.nodes) {
      if (needs.includes(name) && this.#status.get(next) === 'pending') this.record(next, 'failed');
    }
  }

  /** The nodes that have neither completed nor been skipped. */
  get unfinished(): string[] {
    return [...this.#status].filter(([, status]) => status !== 'completed' && status !== 'skipped').map(([name]) => name);
  }

  /** How the run ended, if it has. */
  get end(): 'completed' | 'failed' | undefined {
    const hasFailed = this.#with('failed').length > 0;
    if (hasFailed && this.#plan.failsFast) return 'failed';
    const isOver = ['pending', 'running', 'waiting'].every((status) => this.#with(status as NodeStatus).length === 0);
    return isOver ? (hasFailed ? 'failed' : 'completed') : undefined;
  }

  #with(status: NodeStatus): string[] {
    return [...this.#status].filter(([, one]) => one === status).map(([name]) => name);
  }

  #isUnblocked(name: string): boolean {
    return this.#plan.nodes.get(name)!.needs.every((need) => ['completed', 'skipped'].includes(this.#status.get(need)!));
  }
}

/** True if a condition holds. A comparison with a missing value, or with one of another type, is false. */
export function holds(condition: any, source: (from: string, at: string) => unknown): boolean {
  if ('all' in condition) return condition.all.every((one: unknown) => holds(one, source));
  if ('any' in condition) return condition.any.some((one: unknown) => holds(one, source));
  if ('not' in condition) return !holds(condition.not, source);
  const { from, at = '', ...test } = condition;
  const found = source(from, at);
  const [[name, operand]] = Object.entries<any>(test) as [[string, any]];
  const numbers = typeof found === 'number' && typeof operand === 'number';
  switch (name) {
    case 'is':
      return equal(found ?? null, operand);
    case 'is_not':
      return !equal(found ?? null, operand);
    case 'above':
      return numbers && found > operand;
    case 'below':
      return numbers && found < operand;
    case 'at_least':
      return numbers && found >= operand;
    case 'at_most':
      return numbers && found <= operand;
    default:
      return (found !== undefined) === operand;
  }
}

function equal(left: unknown, right: unknown): boolean {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return left === right;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && equal(partOf(left, `/${escaped(key)}`), partOf(right, `/${escaped(key)}`)));
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
