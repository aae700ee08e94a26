// A plain JSON schema in a test. A host checks every keyword; this checks those that describe the shape of a value.

import { type JsonSchema, type Schema, jsonSchemaOf } from '../core/schema.js';

/** What does not fit the plain JSON schema of `schema`, with its place; `undefined` if everything fits. */
export function misfit(schema: Schema | undefined, value: unknown): string | undefined {
  if (schema?.['~standard'].vendor !== 'segno') return undefined;
  const written = jsonSchemaOf(schema, 'input', 'the schema');
  return written === undefined ? undefined : problem(written, value, '');
}

function problem(schema: JsonSchema, value: unknown, place: string): string | undefined {
  if (schema === true) return undefined;
  const shown = `${place === '' ? '' : `\`${place}\`: `}${JSON.stringify(value)}`;
  if (schema === false) return `${shown} is not allowed`;
  const { type, enum: allowed, required, properties, items, anyOf } = schema as Keywords;
  if (type !== undefined && ![type].flat().some((one) => isOf(one, value))) return `${shown} is not of type ${[type].flat().join(' or ')}`;
  if (allowed !== undefined && !allowed.some((one) => JSON.stringify(one) === JSON.stringify(value))) return `${shown} is none of ${JSON.stringify(allowed)}`;
  if (anyOf !== undefined && anyOf.every((one) => problem(one, value, place) !== undefined)) return `${shown} fits none of the schemas`;
  if (Array.isArray(value)) return items === undefined ? undefined : first(value.map((one, at) => problem(items, one, `${place}/${at}`)));
  if (typeof value !== 'object' || value === null) return undefined;
  const missing = required?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${shown} has no \`${missing}\``;
  const known = Object.entries(properties ?? {}).filter(([name]) => Object.hasOwn(value, name));
  return first(known.map(([name, one]) => problem(one, (value as Record<string, unknown>)[name], `${place}/${name}`)));
}

interface Keywords {
  type?: string | string[];
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
}

const first = (problems: (string | undefined)[]): string | undefined => problems.find((one) => one !== undefined);

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
