// JSON as the host takes it. Values that JSON cannot say are refused with their place, instead of becoming `null` or
// `{}`.

import { InvalidValueError } from './errors.js';

/**
 * How values become text and come back. The default is `JSON` with checks; another keeps, for example, all digits of
 * numbers.
 */
export interface JsonCodec {
  /** Writes a value. */
  stringify(value: unknown): string;
  /** Reads a text. */
  parse(text: string): unknown;
}

/**
 * `JSON`, which refuses what it would change silently. Numbers have the 53 bits of JavaScript: a longer one is
 * rounded.
 */
export const plainJson: JsonCodec = {
  stringify(value) {
    check(value, '', []);
    return JSON.stringify(value);
  },
  parse: (text) => JSON.parse(text),
};

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function check(value: unknown, place: string, above: readonly object[]): void {
  const refuse = (reason: string): never => {
    throw new InvalidValueError(`${place === '' ? 'the value' : `\`${place}\``} ${reason}`);
  };
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) refuse(`is ${value}, which JSON cannot say`);
      return;
    case 'string':
      if (LONE_SURROGATE.test(value)) refuse('has half of a surrogate pair, which is no character');
      return;
    case 'bigint':
      return refuse('is a BigInt, which JSON cannot say: pass a number or a text');
    case 'function':
    case 'symbol':
      return refuse(`is a ${typeof value}, which JSON cannot say`);
    case 'object':
      break;
    default:
      return;
  }
  if (value === null || typeof (value as { toJSON?: unknown }).toJSON === 'function') return;
  if (value instanceof Map || value instanceof Set) refuse(`is a ${value.constructor.name}, which JSON would empty`);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    refuse('is binary: pass a text, for example in base64');
  if (above.includes(value)) refuse('contains itself');
  const within = [...above, value];
  if (Array.isArray(value)) {
    value.forEach((item, at) => check(item, `${place}[${at}]`, within));
  } else {
    for (const [name, item] of Object.entries(value)) check(item, place === '' ? name : `${place}.${name}`, within);
  }
}
