// Handles of values that a graph will have: the input of a run, the outputs of its nodes, and parts of them.

import { decode, encode } from '../value.js';
import { INPUT } from './template.js';

/** A value that is known when the graph runs, or a part of it. It is used as an input of nodes, and in conditions. */
export class Place<T = unknown> {
  /** The type, for the compiler only. */
  declare readonly '~value'?: T;

  constructor(
    /** The graph that it belongs to. */
    readonly owner: object,
    /** The name of the node, or `input`. */
    readonly from: string,
    /** A JSON pointer; empty for the whole. */
    readonly pointer: string = '',
  ) {}

  /** A field, or an item of a list. It is null where there is none. */
  at<K extends keyof NonNullable<T> & (string | number)>(key: K): Place<NonNullable<T>[K]> {
    const step = String(key).replaceAll('~', '~0').replaceAll('/', '~1');
    return new Place(this.owner, this.from, `${this.pointer}/${step}`);
  }

  /** Equal to this. */
  is(value: T): Condition {
    return this.#test('is', value);
  }

  /** Not equal to this. */
  isNot(value: T): Condition {
    return this.#test('is_not', value);
  }

  /** A number greater than this. */
  above(number: number): Condition {
    return this.#test('above', number);
  }

  /** A number less than this. */
  below(number: number): Condition {
    return this.#test('below', number);
  }

  /** A number not less than this. */
  atLeast(number: number): Condition {
    return this.#test('at_least', number);
  }

  /** A number not greater than this. */
  atMost(number: number): Condition {
    return this.#test('at_most', number);
  }

  /** There is such a value; null is one, and the output of a skipped node is none. */
  exists(): Condition {
    return this.#test('exists', true);
  }

  /** The place in the form of a plan. */
  written(key: '$from' | 'from'): Record<string, unknown> {
    return { [key]: this.from, ...(this.pointer === '' ? {} : { at: this.pointer }) };
  }

  /** A place is no value: it cannot be computed with. */
  toJSON(): never {
    throw new TypeError(`${this.shown} is known only when the graph runs: pass it to a node as it is`);
  }

  /** The text of a place in a message. */
  get shown(): string {
    return this.from === INPUT ? 'the input of the graph' : `the output of \`${this.from}\``;
  }

  #test(test: string, value: unknown): Condition {
    const operand = decode(encode(value, `the value that ${this.shown} is compared with`));
    return new Condition({ ...this.written('from'), [test]: operand }, [this]);
  }
}

/** The output of a node. */
export class Output<T = unknown> extends Place<T> {}

/** Decides if a node runs. */
export class Condition {
  constructor(
    /** The condition in the form of a plan. */
    readonly expression: object,
    /** What it tests. */
    readonly places: readonly Place[],
  ) {}

  /** Both hold. */
  and(other: Condition): Condition {
    return new Condition({ all: [this.expression, other.expression] }, [...this.places, ...other.places]);
  }

  /** At least one of both holds. */
  or(other: Condition): Condition {
    return new Condition({ any: [this.expression, other.expression] }, [...this.places, ...other.places]);
  }

  /** It does not hold. */
  not(): Condition {
    return new Condition({ not: this.expression }, this.places);
  }
}

type Literal<T> = T extends string | number | boolean | null | undefined ? T : T extends object ? { [K in keyof T]: Source<T[K]> } : T;

/** The source of a value: a place, a constant, or lists and objects of both. */
export type Source<T> = Place<T> | Literal<T>;

/** The value of a structure of places. */
export type ValueOf<R> = R extends Place<infer T> ? T : R extends string | number | boolean | null | undefined ? R : { -readonly [K in keyof R]: ValueOf<R[K]> };

/** A source in the form of a template. `found` is told of its places. */
export function templateOf(source: unknown, what: string, found: (place: Place) => void, path = ''): unknown {
  if (source instanceof Place) {
    found(source);
    return source.written('$from');
  }
  if (Array.isArray(source)) return source.map((one, place) => templateOf(one, what, found, `${path}[${place}]`));
  const prototype: unknown = typeof source === 'object' && source !== null ? Object.getPrototypeOf(source) : undefined;
  const place = path === '' ? what : `${what}, at \`${path.replace(/^[.]/, '')}\`,`;
  if (prototype !== Object.prototype && prototype !== null) return decode(encode(source, place));
  if ('$from' in (source as object)) throw new TypeError(`${place} has a field \`$from\`, which marks a place in a plan: pass the output itself`);
  const fields = Object.entries(source as object).filter(([, one]) => one !== undefined);
  return Object.fromEntries(fields.map(([key, one]) => [key, templateOf(one, what, found, `${path}.${key}`)]));
}
