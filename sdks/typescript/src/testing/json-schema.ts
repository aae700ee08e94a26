// The JSON schema of a value in a test, which a host checks before anything else sees the value.

import { type Schema as PlainSchema, type SchemaDraft, Validator } from '@cfworker/json-schema';
import { type JsonSchema, type Schema, jsonSchemaOf } from '../core/schema.js';

/** Keywords whose values are schemas by name. */
const BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are no schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'examples']);
/** Keywords whose error only says that there is one deeper in the value. */
const OUTER = new Set(['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems', 'additionalItems', '$ref', 'allOf', 'dependentSchemas']);
const SHOWN = 5;

const known = new WeakMap<Schema, Validator | true>();

/** What does not fit the JSON schema of `schema`, with its place; `undefined` if everything fits. */
export function misfit(schema: Schema | undefined, value: unknown): string | undefined {
  if (schema === undefined) return undefined;
  const validator = known.get(schema) ?? validatorOf(schema);
  known.set(schema, validator);
  if (validator === true) return undefined;
  const { errors } = validator.validate(value);
  const inner = errors.filter(({ keyword }) => !OUTER.has(keyword));
  const words = (inner.length > 0 ? inner : errors).map(({ instanceLocation, error }) => {
    const place = decodeURIComponent(instanceLocation.slice(1));
    return place === '' ? error : `at ${place}: ${error}`;
  });
  return words.length === 0 ? undefined : [...new Set(words)].slice(0, SHOWN).join(' ');
}

function validatorOf(schema: Schema): Validator | true {
  const written = jsonSchemaOf(schema, 'input', 'the schema');
  if (written === undefined || written === true) return true;
  const draft = draftOf(written);
  // Later drafts describe a format, and do not check it.
  const checked = draft === '4' || draft === '7' ? written : (withoutFormats(written) as JsonSchema);
  return new Validator(checked as PlainSchema, draft, false);
}

function draftOf(schema: JsonSchema): SchemaDraft {
  const name = String((schema as { $schema?: unknown }).$schema ?? '');
  const drafts: SchemaDraft[] = ['4', '7', '2019-09'];
  return drafts.find((draft) => name.includes(draft.length === 1 ? `draft-0${draft}` : draft)) ?? '2020-12';
}

function withoutFormats(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutFormats);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => keyword !== 'format');
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, VALUES.has(keyword) ? value : BY_NAME.has(keyword) ? named(value) : withoutFormats(value)]));
}

const named = (schemas: object): object => Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutFormats(schema)]));
