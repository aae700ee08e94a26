// Reads a plan as a host does: all faults are found in one pass.

import { milliseconds } from '../../core/duration.js';
import { Code, Failure } from '../../core/failure.js';
import { INPUT } from '../../core/graph/template.js';

/** A node of a plan. */
export interface PlanNode {
  readonly kind: (typeof KINDS)[number];
  /** The content of the field of its kind. */
  readonly content: unknown;
  readonly needs: readonly string[];
  readonly function?: string;
  readonly input?: unknown;
  readonly when?: unknown;
  readonly retry?: { initial?: string; factor?: number; max?: string; max_attempts?: number };
  readonly once?: unknown;
  readonly timeoutMs?: number;
  readonly attemptTimeoutMs?: number;
}

/** A plan that can be run. Its nodes ascend by name. */
export interface Plan {
  readonly name: string | undefined;
  readonly maxParallel: number;
  readonly failsFast: boolean;
  readonly outputs: readonly string[];
  readonly nodes: ReadonlyMap<string, PlanNode>;
}

const KINDS = ['call', 'http', 'sleep', 'promise', 'signal', 'graph'] as const;
/** The kinds that have a field. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  needs: KINDS,
  when: KINDS,
  function: ['call'],
  input: ['call', 'promise', 'graph'],
  retry: ['call', 'http'],
  timeout: ['call', 'http', 'promise', 'signal', 'graph'],
  attempt_timeout: ['call', 'http'],
  once: ['call', 'http'],
};
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

type Table = Readonly<Record<string, unknown>>;

/** The plan. Throws a `Failure` with the code 422 that lists its faults. */
export function readPlan(given: unknown): Plan {
  const faults: string[] = [];
  const plan = read(given, (path, message) => faults.push(path === '' ? message : `${path}: ${message}`));
  if (plan === undefined || faults.length > 0) throw new Failure(Code.Refused, faults.join('\n'));
  return plan;
}

function read(given: unknown, fault: (path: string, message: string) => void): Plan | undefined {
  const fields = table(given);
  if (fields === undefined) return void fault('', 'a plan is a table with `nodes`');
  unknown(fields, '', ['name', 'max_parallel', 'on_failure', 'outputs', 'nodes'], fault);
  const { name, max_parallel: most = 16, on_failure: policy = 'drain', outputs, nodes: drafts } = fields;
  if (!Number.isInteger(most) || (most as number) < 1 || (most as number) > 1_000) fault('max_parallel', 'write a whole number from 1 to 1000');
  if (policy !== 'drain' && policy !== 'fail-fast') fault('on_failure', `\`${String(policy)}\` is no policy: write \`drain\` or \`fail-fast\``);
  const names = Object.keys(table(drafts) ?? {}).sort();
  if (names.length === 0) return void fault('nodes', 'a plan has at least one node: write a table for each, with its name as the key');
  const nodes = new Map<string, PlanNode>();
  for (const one of names) {
    const path = `nodes.${one}`;
    if (!NAME.test(one)) fault(path, `\`${one}\` is no name of a node: it has 1 to 64 letters, digits, \`-\` or \`_\`: rename it`);
    else if (one === INPUT) fault(path, '`input` is the name of the input of the run: rename this node');
    else nodes.set(one, node(one, (drafts as Table)[one], names, fault));
  }
  const needed = new Set([...nodes.values()].flatMap(({ needs }) => needs));
  for (const one of (outputs ?? []) as string[]) if (!names.includes(one)) fault('outputs', `there is no node \`${one}\`: add it, or remove it here`);
  const cycle = cycleOf(nodes);
  if (cycle !== undefined) fault('nodes', `the graph has a cycle, ${cycle.map((one) => `\`${one}\``).join(' → ')}: remove one of these from the \`needs\` of the next`);
  return {
    name: name as string | undefined,
    maxParallel: most as number,
    failsFast: policy === 'fail-fast',
    outputs: [...((outputs as string[] | undefined) ?? names.filter((one) => !needed.has(one)))].sort(),
    nodes,
  };
}

function node(name: string, draft: unknown, names: readonly string[], fault: (path: string, message: string) => void): PlanNode {
  const path = `nodes.${name}`;
  const fields = table(draft) ?? {};
  unknown(fields, path, [...KINDS, ...Object.keys(FIELDS)], fault);
  const kinds = KINDS.filter((kind) => kind in fields);
  const listed = (all: readonly string[]) => all.map((one) => `\`${one}\``).join(', ');
  if (kinds.length !== 1) fault(path, kinds.length === 0 ? `the node does nothing: write exactly one of ${listed(KINDS)}` : `the node has ${listed(kinds)}: keep exactly one`);
  const [kind = 'call'] = kinds;
  for (const [field, of] of Object.entries(FIELDS)) {
    if (field in fields && !of.includes(kind)) fault(`${path}.${field}`, `\`${field}\` is only for ${listed(of)}: remove it`);
  }
  if ('once' in fields && 'retry' in fields) fault(`${path}.once`, 'a node that is begun once is not repeated: remove `retry`');
  const needs = (Array.isArray(fields.needs) ? fields.needs : []) as string[];
  for (const one of needs) if (!names.includes(one)) fault(`${path}.needs`, `there is no node \`${one}\`: add it, or remove it here`);
  for (const from of [...references(fields.input), ...references(fields.http), ...references(fields.when)]) {
    if (from === INPUT || needs.includes(from)) continue;
    fault(path, names.includes(from) ? `\`${from}\` is not among the \`needs\` of this node: add it there` : `there is no node \`${from}\``);
  }
  const length = (field: string): number | undefined => {
    if (!(field in fields)) return undefined;
    try {
      return milliseconds(fields[field] as string, field);
    } catch (error) {
      return void fault(`${path}.${field}`, (error as Error).message);
    }
  };
  const { function: called, input, when, retry, once } = fields;
  if (kind === 'sleep') length('sleep');
  const [timeoutMs, attemptTimeoutMs] = [length('timeout'), length('attempt_timeout')];
  return { kind, content: fields[kind], needs: [...new Set(needs)].sort(), function: called, input, when, retry, once, timeoutMs, attemptTimeoutMs } as PlanNode;
}

function table(value: unknown): Table | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : undefined;
}

function unknown(fields: Table, path: string, known: readonly string[], fault: (path: string, message: string) => void): void {
  for (const field of Object.keys(fields)) {
    if (!known.includes(field)) fault(path === '' ? field : `${path}.${field}`, `there is no field \`${field}\` here: the fields are ${known.map((one) => `\`${one}\``).join(', ')}`);
  }
}

/** The nodes that a template or a condition refers to. */
function references(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  const fields = table(value);
  if (fields === undefined) return [];
  const from = fields.$from ?? fields.from;
  return typeof from === 'string' ? [from] : Object.values(fields).flatMap(references);
}

/** A cycle of names, if there is one. */
function cycleOf(nodes: ReadonlyMap<string, PlanNode>): string[] | undefined {
  const left = new Map([...nodes].map(([name, { needs }]) => [name, needs.filter((one) => nodes.has(one))]));
  for (let begun = true; begun; ) {
    begun = false;
    for (const [name, needs] of left) {
      if (needs.some((one) => left.has(one))) continue;
      begun = left.delete(name);
    }
  }
  const path: string[] = [];
  for (let at = [...left.keys()][0]; at !== undefined; at = left.get(at)!.find((one) => left.has(one))) {
    if (path.includes(at)) return [...path.slice(path.indexOf(at)), at].reverse();
    path.push(at);
  }
  return undefined;
}
