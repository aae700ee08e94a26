// The parts of the context that functions of objects have: key, state, streams and promises of the object.

import type { ObjectMap, ObjectPromise } from './context.js';
import { type WorkflowExecution, failed, failureOf, success } from './execution.js';
import type { Failure } from './failure.js';
import { StateMap } from './object.js';
import { type Schema, validated } from './schema.js';
import { OF_OBJECT, type StreamOptions, workflowStream } from './stream.js';
import { encode } from './value.js';

/** Key, state and promises, as properties of the context. None for a workflow that is no function of an object. */
export function objectParts(execution: WorkflowExecution): PropertyDescriptorMap {
  const { owner } = execution.definition;
  if (owner === undefined) return {};
  return {
    key: { enumerable: true, get: () => execution.engine.key() },
    state: { enumerable: true, value: state(execution, owner.state) },
    objectStream: { enumerable: true, value: (name: string, options?: StreamOptions) => workflowStream(execution, name, options, OF_OBJECT) },
    objectPromise: { enumerable: true, value: (name: string) => objectPromise(execution, name, owner.promises) },
  };
}

function state(execution: WorkflowExecution, schemas: Readonly<Record<string, unknown>>): object {
  const isOpen = Object.keys(schemas).length === 0;
  const declared = (name: string, map: boolean): Schema | undefined => {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (isOpen && !map) return undefined;
    const fits = map ? schema instanceof StateMap : schema !== undefined && !(schema instanceof StateMap);
    if (fits) return schema instanceof StateMap ? schema.value : (schema as Schema);
    const names = Object.keys(schemas).map((one) => `\`${one}\``).join(', ') || 'none';
    throw new TypeError(`the state has no ${map ? 'map' : 'field'} \`${name}\` in the options of \`object\`; it has: ${names}`);
  };
  const writes = (): void => {
    if (execution.definition.access === 'shared') {
      throw new TypeError(`\`${execution.definition.title}\` is shared, and writes: a shared function only reads`);
    }
  };
  const get = (name: string, schema: Schema | undefined): Promise<unknown> => {
    const { index } = execution.issue({ kind: 'get-state', name });
    return execution.completion(index, (told) => (told === null ? undefined : validated(schema, told, `the state \`${name}\``)));
  };
  const set = (name: string, value: unknown): void => {
    writes();
    execution.issue({ kind: 'set-state', name, value: encode(value, `the value of state \`${name}\``) });
  };
  const clear = (name: string): void => {
    writes();
    execution.issue({ kind: 'clear-state', name });
  };
  const names = (): Promise<string[]> => execution.completion<string[]>(execution.issue({ kind: 'state-keys' }).index);
  return {
    get: (name: string) => get(name, declared(name, false)),
    set: (name: string, value: unknown) => (declared(name, false), set(name, value)),
    clear: (name: string) => (declared(name, false), clear(name)),
    names,
    clearAll() {
      writes();
      execution.issue({ kind: 'clear-all-state' });
    },
    map(field: string): ObjectMap<unknown> {
      const schema = declared(field, true);
      const prefix = `${field}/`;
      return {
        get: (key) => get(`${prefix}${key}`, schema),
        set: (key, value) => set(`${prefix}${key}`, value),
        clear: (key) => clear(`${prefix}${key}`),
        keys: async () => (await names()).filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)),
      };
    },
  };
}

function objectPromise(execution: WorkflowExecution, name: string, schemas: Readonly<Record<string, Schema>>): ObjectPromise<unknown> {
  if (!Object.hasOwn(schemas, name)) {
    const names = Object.keys(schemas).map((one) => `\`${one}\``).join(', ') || 'none';
    throw new TypeError(`the object has no promise \`${name}\` in its options (\`promises\`); it has: ${names}`);
  }
  const what = `the value of promise \`${name}\``;
  const read = (value: unknown) => validated(schemas[name], value, what);
  return {
    wait: () => execution.completion(execution.issue({ kind: 'wait-object-promise', name }).index, read),
    peek: () => execution.completion(execution.issue({ kind: 'peek-object-promise', name }).index, (told) => standing(told, read)),
    async resolve(value) {
      await execution.completion(execution.issue({ kind: 'settle-object-promise', name, outcome: success(value, what) }).index);
    },
    async reject(failure: Failure) {
      await execution.completion(execution.issue({ kind: 'settle-object-promise', name, outcome: failed(failure) }).index);
    },
  };
}

/** How a promise stands, as the host says it. */
function standing(told: unknown, read: (value: unknown) => unknown): unknown {
  if (told === null) return undefined;
  const { rejected, resolved } = told as { rejected?: { code: number; message: string; details?: unknown }; resolved?: unknown };
  if (rejected === undefined) return read(resolved);
  const { code, message, details } = rejected;
  throw failureOf({ code, message, details: details === undefined || details === null ? undefined : encode(details, 'the details') });
}
