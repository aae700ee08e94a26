// Values on their way to the host and back: JSON, checked where they are made.

import type { Payload } from './engine.js';

/**
 * Writes a value as JSON. `what` names the value in errors, such as `the input of \`charge\``.
 *
 * Fields that are undefined are left out, as in JSON. Everything else that JSON would change or lose is refused with
 * its path.
 */
export function encode(value: unknown, what: string): Payload {
  if (value === undefined) return { tag: 'json', val: 'null' };
  return { tag: 'json', val: JSON.stringify(plain(value, what, '', new Set())) };
}

/** Reads a value. */
export function decode(payload: Payload): unknown {
  return payload.tag === 'json' ? (payload.val === '' ? null : JSON.parse(payload.val)) : payload.val;
}

function refuse(what: string, path: string, is: string): never {
  throw new TypeError(`${what}${path === '' ? '' : `, at \`${path.replace(/^[.]/, '')}\`,`} is ${is}`);
}

function plain(value: unknown, what: string, path: string, above: Set<object>): unknown {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) {
        refuse(what, path, 'a text with half of a character (a lone surrogate): cut texts by `[...text]`, or write `text.toWellFormed()`');
      }
      return value;
    case 'number':
      if (!Number.isFinite(value)) refuse(what, path, `${value}, which JSON does not have`);
      return value;
    case 'boolean':
      return value;
    case 'bigint':
      return refuse(what, path, `the BigInt ${value}n, which JSON does not have: pass a number or a text`);
    case 'function':
      return refuse(what, path, `the function \`${value.name || 'without a name'}\`: values are data`);
    case 'symbol':
      return refuse(what, path, `${String(value)}, which JSON does not have: pass a text`);
    case 'undefined':
      return refuse(what, path, 'undefined, which JSON does not have in a list: pass null');
    default:
      return value === null ? null : composed(value as object, what, path, above);
  }
}

function composed(value: object, what: string, path: string, above: Set<object>): unknown {
  const is = unlisted(value);
  if (is !== undefined) refuse(what, path, is);
  if (above.has(value)) refuse(what, path, 'a part of itself: a circular value has no JSON');
  above.add(value);
  try {
    if (Array.isArray(value)) return Array.from(value, (part, place) => plain(part, what, `${path}[${place}]`, above));
    const toJson = (value as { toJSON?: unknown }).toJSON;
    if (typeof toJson === 'function') return plain(toJson.call(value), what, path, above);
    const fields: [string, unknown][] = [];
    for (const [name, part] of Object.entries(value)) {
      if (!name.isWellFormed()) refuse(what, path, 'an object with half of a character (a lone surrogate) in the name of a field');
      if (part !== undefined) fields.push([name, plain(part, what, place(path, name), above)]);
    }
    return Object.fromEntries(fields);
  } finally {
    above.delete(value);
  }
}

function place(path: string, name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** What JSON would change in silence. */
function unlisted(value: object): string | undefined {
  if (value instanceof Date) return 'a Date, which JSON does not have: pass `date.toISOString()` or `date.getTime()`';
  if (value instanceof Map) return 'a Map, which JSON does not have: pass `Object.fromEntries(map)` or `[...map]`';
  if (value instanceof Set) return 'a Set, which JSON does not have: pass `[...set]`';
  if (value instanceof WeakMap || value instanceof WeakSet) return 'a weak collection, which JSON does not have';
  if (value instanceof RegExp) return 'a regular expression, which JSON does not have: pass its `source`';
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return `a ${value.constructor.name}, which JSON does not have: pass \`[...bytes]\` or a text`;
  }
  if (typeof (value as PromiseLike<unknown>).then === 'function') return 'a promise: `await` it first';
  if (value instanceof Error && typeof (value as { toJSON?: unknown }).toJSON !== 'function') {
    return `the error ${value.name}, which JSON writes as {}: pass \`error.message\``;
  }
  return undefined;
}

/** The text of a value in a log line. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return value.stack?.includes(value.message) ? value.stack : String(value);
  if (typeof value !== 'object' || value === null) return String(value);
  try {
    return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)) ?? String(value);
  } catch {
    return String(value);
  }
}
