// The functions of a module: what the entry file exports, with their names and descriptions.

import { framesOf } from './defect.js';
import { type Access, Definition, type Handler, type KeptOptions } from './definition.js';
import { milliseconds } from './duration.js';
import { limitRecord } from './limits.js';
import { ObjectType } from './object.js';
import { retryRecord } from './retry.js';
import { type Schema, jsonSchemaOf } from './schema.js';

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** A module: its functions by name. Functions of objects are named `OBJECT/FUNCTION`. */
export class Module {
  readonly functions = new Map<string, Definition>();

  /** Takes the functions among the exports of the entry file, and gives them their names. */
  constructor(exports: Readonly<Record<string, unknown>>) {
    for (const [exported, value] of Object.entries(exports)) {
      if (value instanceof Definition) this.#add(nameOf(value.options.name, exported, value.made), value);
      if (value instanceof ObjectType) {
        const name = nameOf(value.assigned, exported);
        value.assigned = name;
        for (const [key, definition] of Object.entries(value.functions as Record<string, Definition>)) {
          this.#add(`${name}/${nameOf(definition.options.name, key)}`, definition);
        }
      }
    }
  }

  #add(name: string, definition: Definition): void {
    const known = this.functions.get(name);
    if (known === definition) return;
    if (known !== undefined) throw new TypeError(`two functions have the name \`${name}\`: give one another \`name\``);
    if (definition.assigned !== undefined && this.functions.get(definition.assigned) === definition) return;
    definition.assigned = name;
    this.functions.set(name, definition);
  }

  /** The descriptions of the functions. */
  describe(): object[] {
    this.#each((definition) => (definition.check(), []));
    return this.#each(({ kind, options }, name) => [{
      name,
      kind,
      summary: options.summary,
      inputSchema: text(options.input, 'input', `the input of \`${name}\``),
      outputSchema: text(options.output, 'output', `the output of \`${name}\``),
      // Updates come as signals.
      signals: options.signals !== undefined || Object.keys(options.updates ?? {}).length > 0,
      timeoutMs: options.timeout === undefined ? undefined : milliseconds(options.timeout, `\`timeout\` of \`${name}\``),
      retry: options.retry && retryRecord(options.retry),
    }]);
  }

  /** What may be sent to the workflows. */
  messages(): object[] {
    return this.#each(({ options }, name) => [
      ...described(name, 'promise', options.promises),
      ...described(name, 'signal', options.signals === true ? undefined : options.signals),
    ]);
  }

  /** The functions of objects. */
  objects(): object[] {
    return this.#each(({ access }, name) => (access === undefined ? [] : [{ function: name, access: access === 'shared' ? 'shared' : 'exclusive' }]));
  }

  /** The functions that run once per key. */
  runs(): string[] {
    return this.#each(({ access }, name) => (access === ('once' satisfies Access) ? [name] : []));
  }

  /** The queries and updates. */
  handlers(): object[] {
    return this.#each(({ options }, name) => [...handlers(name, 'query', options.queries), ...handlers(name, 'update', options.updates)]);
  }

  /** The limits. */
  limits(): object[] {
    return this.#each(({ options }, name) => (options.limit === undefined ? [] : [limitRecord(name, options.limit)]));
  }

  /** The workflows whose results are committed one by one. */
  commits(): string[] {
    return this.#each(({ options }, name) => (options.commit === 'each' ? [name] : []));
  }

  /** The protocols by which functions are offered. */
  exposures(): object[] {
    return this.#each(({ options: { expose } }, name) => (expose === undefined ? [] : [{ function: name, protocol: expose }]));
  }

  #each<T>(read: (definition: Definition, name: string) => T[]): T[] {
    return [...this.functions].flatMap(([name, definition]) => {
      try {
        return read(definition, name);
      } catch (error) {
        throw error instanceof Error ? placed(error, definition.made) : error;
      }
    });
  }
}

/** The error at the place where the function was defined. */
function placed(error: Error, made: Error): Error {
  const frames = framesOf(made).join('\n');
  // In QuickJS a stack has the frames alone.
  error.stack = made.stack?.startsWith('Error') ? `${String(error)}\n${frames}` : frames;
  return error;
}

function nameOf(given: string | undefined, exported: string, made?: Error): string {
  const name = given ?? exported;
  if (given === undefined && exported === 'default') {
    const error = new TypeError('a default export has no name: export it by name, or give it a `name`');
    throw made === undefined ? error : placed(error, made);
  }
  if (!NAME.test(name)) throw new TypeError(`\`${name}\` is no name of a function: it has letters, digits, \`_\`, \`-\` and \`.\`; give it another \`name\``);
  return name;
}

function text(schema: Schema | undefined, side: 'input' | 'output', what: string): string | undefined {
  const written = schema && jsonSchemaOf(schema, side, what);
  return written === undefined ? undefined : JSON.stringify(written);
}

function described(workflow: string, kind: 'promise' | 'signal', schemas: Readonly<Record<string, Schema>> = {}): object[] {
  return Object.entries(schemas).map(([name, schema]) => ({
    function: workflow,
    kind,
    name,
    schema: text(schema, 'input', `the ${kind} \`${name}\` of \`${workflow}\``) ?? 'true',
  }));
}

function handlers(workflow: string, kind: 'query' | 'update', known: KeptOptions['queries'] = {}): object[] {
  return Object.entries(known).map(([name, { run, summary, input, output }]: [string, Handler]) => {
    if (typeof run !== 'function') throw new TypeError(`the ${kind} \`${name}\` of \`${workflow}\` is made with \`${kind}(…)\``);
    const what = `the ${kind} \`${name}\` of \`${workflow}\``;
    return {
      function: workflow,
      kind,
      name,
      summary,
      inputSchema: text(input, 'input', `the input of ${what}`),
      outputSchema: text(output, 'output', `the output of ${what}`),
    };
  });
}
