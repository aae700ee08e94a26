// Names of fields: `createdAtMs` here, `created_at_ms` in the API. Only the fields of the API's own types are renamed;
// values of users (inputs, outputs, labels, state) keep their names.

import { nested } from './api.js';

const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Renames the fields of a body of the type `type`. Fields that are `undefined` are left out. */
export const toWire = (value: unknown, type: string): unknown => renamed(value, type, snake, (name) => name);

/** Renames the fields of an answer of the type `type`. */
export const fromWire = (value: unknown, type: string): unknown => renamed(value, type, camel, camel);

/** Returns the pairs of a query in the names of the API, without those that are `undefined`. */
export const queryPairs = (query: object | undefined): [string, string][] =>
  Object.entries(query ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [snake(name), String(value)]);

function renamed(
  value: unknown,
  type: string,
  rename: (name: string) => string,
  lookUp: (name: string) => string,
): unknown {
  const fields = fieldsOf(type);
  if (fields === undefined || value === null || typeof value !== 'object') return value;
  const result: Record<string, unknown> = {};
  // The reference of a blob is a value of users, also where it has further fields.
  const isKept = (name: string) => name === 'content_type' && 'segno:blob' in value;
  for (const [name, part] of Object.entries(value)) {
    if (part === undefined) continue;
    const inner = Object.hasOwn(fields, lookUp(name)) ? fields[lookUp(name)] : undefined;
    result[isKept(name) ? name : rename(name)] = inner === undefined ? part : renamedPart(part, inner, rename, lookUp);
  }
  return result;
}

function renamedPart(
  part: unknown,
  type: string,
  rename: (name: string) => string,
  lookUp: (name: string) => string,
): unknown {
  if (type.startsWith('[') && Array.isArray(part))
    return part.map((one) => renamed(one, type.slice(1), rename, lookUp));
  if (type.startsWith('{') && part !== null && typeof part === 'object') {
    return Object.fromEntries(
      Object.entries(part).map(([name, one]) => [name, renamed(one, type.slice(1), rename, lookUp)]),
    );
  }
  return renamed(part, type, rename, lookUp);
}

/** The fields of `type` that hold other types, with those of its base. */
function fieldsOf(type: string): Record<string, string> | undefined {
  const fields = nested[type];
  const base = fields?.['...'];
  return base === undefined ? fields : { ...nested[base], ...fields };
}
