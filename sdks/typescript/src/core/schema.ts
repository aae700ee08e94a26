// Types of values at run time: Standard Schemas, plain JSON schemas, and bare types.

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { Code, Failure } from './failure.js';

/** A schema of a value: of zod, valibot or arktype (any Standard Schema), {@link json} or {@link type}. */
export type Schema<In = any, Out = In> = StandardSchemaV1<In, Out>;

/** The type that a schema takes. */
export type InputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : never;

/** The type that a schema gives. */
export type OutputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : never;

/** A JSON schema, draft 2020-12. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

const VENDOR = 'segno';

function bare<T>(schema: JsonSchema | undefined): Schema<T> {
  const standard = { version: 1 as const, vendor: VENDOR, validate: (value: unknown) => ({ value: value as T }), schema };
  return { '~standard': standard };
}

/**
 * A schema from a plain JSON schema. The host checks values against it.
 *
 * ```ts
 * const Cents = json<number>({ type: 'integer', minimum: 1 });
 * ```
 */
export function json<T = unknown>(schema: JsonSchema): Schema<T> {
  const isSchema = typeof schema === 'boolean' || (typeof schema === 'object' && schema !== null && !Array.isArray(schema));
  if (!isSchema) throw new TypeError(`\`json\` takes a JSON schema such as { type: 'string' }, and not ${String(schema)}`);
  return bare<T>(schema);
}

/** A type that only the compiler checks: it has no schema, and any value is taken at run time. */
export function type<T>(): Schema<T> {
  return bare<T>(undefined);
}

/** Adds a JSON schema to a schema whose library cannot write one, or whose own is not wanted. */
export function withJsonSchema<S extends StandardSchemaV1>(schema: S, jsonSchema: JsonSchema): S {
  const standard = { ...schema['~standard'], jsonSchema: { input: () => jsonSchema, output: () => jsonSchema } };
  return Object.assign(Object.create(schema as object), { '~standard': standard }) as S;
}

/** True for a value that is a schema. */
export function isSchema(value: unknown): value is Schema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  return typeof (value as Partial<Schema>)['~standard']?.validate === 'function';
}

type Side = 'input' | 'output';
type Written = { vendor: string; schema?: JsonSchema; jsonSchema?: StandardJSONSchemaV1.Props['jsonSchema'] };

/** The JSON schema of a schema. `undefined` if it has none on purpose. `what` names it in errors. */
export function jsonSchemaOf(schema: Schema, side: Side, what: string): JsonSchema | undefined {
  if (!isSchema(schema)) {
    throw new TypeError(`${what} is no schema: pass one of zod, valibot or arktype, \`json({ … })\` or \`type<T>()\``);
  }
  const standard: Written = schema['~standard'];
  if (standard.vendor === VENDOR) return standard.schema;
  try {
    const written = standard.jsonSchema?.[side]({ target: 'draft-2020-12' }) ?? ofLibrary(schema, side);
    if (written !== undefined) return written as JsonSchema;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new TypeError(`${what} cannot be written as a JSON schema: ${message}. Use types that JSON has, or \`withJsonSchema(schema, { … })\``);
  }
  const advice =
    standard.vendor === 'valibot'
      ? 'wrap it in `toStandardJsonSchema(schema)` of the package `@valibot/to-json-schema`'
      : standard.vendor === 'zod'
        ? 'update zod to 4.2 or newer; with zod/mini, write `withJsonSchema(schema, z.toJSONSchema(schema))`'
        : 'add it with `withJsonSchema(schema, { … })`';
  throw new TypeError(`${what} is a schema of ${standard.vendor} that gives no JSON schema: ${advice}`);
}

/** The JSON schema by the library's own method, of versions without the standard one. */
function ofLibrary(schema: Schema, side: Side): unknown {
  const own = schema as Schema & { toJsonSchema?: () => unknown; toJSONSchema?: (options: object) => unknown };
  return own.toJsonSchema?.() ?? own.toJSONSchema?.({ io: side });
}

/** Checks a value, and gives what the schema makes of it. `what` names the value in the failure (code 400). */
export function validated(schema: Schema | undefined, value: unknown, what: string): unknown {
  if (schema === undefined) return value;
  const result = schema['~standard'].validate(value);
  const read = (done: StandardSchemaV1.Result<unknown>): unknown => {
    if (done.issues === undefined) return done.value;
    const issues = done.issues.map(({ message, path = [] }) => `${place(path)}${message}`);
    throw new Failure(Code.BadInput, `${what} does not fit: ${issues.slice(0, 5).join('; ')}`, {
      issues: done.issues.map(({ message, path = [] }) => ({ path: path.map(keyOf), message })),
    });
  };
  return result instanceof Promise || typeof (result as { then?: unknown }).then === 'function'
    ? (result as Promise<StandardSchemaV1.Result<unknown>>).then(read)
    : read(result as StandardSchemaV1.Result<unknown>);
}

type Segment = PropertyKey | StandardSchemaV1.PathSegment;

const keyOf = (segment: Segment): string | number => {
  const key = typeof segment === 'object' ? segment.key : segment;
  return typeof key === 'number' ? key : String(key);
};

function place(path: readonly Segment[]): string {
  const parts = path.map(keyOf).map((key, at) => (typeof key === 'number' ? `[${key}]` : at === 0 ? key : `.${key}`));
  return parts.length === 0 ? '' : `\`${parts.join('')}\`: `;
}
