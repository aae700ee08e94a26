// The names of functions in tests. On a host the entry file gives each function its name.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type Definition, naming } from '../core/definition.js';
import type { Module } from '../core/module.js';
import { ObjectType } from '../core/object.js';

/** Functions that were called by their value, by name. */
export const learned = new Map<string, Definition>();
let unnamed = 0;
/** The module of the host that runs, if it has one: a function that it does not have is then refused. */
const modules = new AsyncLocalStorage<Module | undefined>();

/** Runs code for a host with this module. */
export function withModule<T>(module: Module | undefined, code: () => T): T {
  return modules.run(module, code);
}

/** The name of a function. Without a module, one without a name gets one of its own. */
export function nameOf(definition: Definition): string {
  naming.used?.(definition);
  return definition.assigned ?? definition.title;
}

/** The name of a kind of object. */
export function kindOf(kind: ObjectType): string {
  naming.keyed?.(kind);
  return kind.title;
}

naming.used = (definition) => {
  const strict = modules.getStore();
  if (definition.assigned === undefined) {
    if (strict !== undefined) return;
    unnamed += 1;
    definition.assigned = definition.run.name === '' ? `${definition.kind}-${unnamed}` : definition.run.name;
  }
  if (strict?.functions.get(definition.assigned) === definition) return;
  if (strict !== undefined && !strict.functions.has(definition.assigned)) {
    throw new TypeError(`\`${definition.assigned}\` is called, which the entry file does not export: a host would answer 404. Export it there`);
  }
  learned.set(definition.assigned, definition);
};

naming.keyed = (kind) => {
  if (!(kind instanceof ObjectType)) return;
  if (kind.assigned === undefined) {
    if (modules.getStore() !== undefined) return;
    unnamed += 1;
    kind.assigned = `Object${unnamed}`;
  }
  for (const [name, definition] of Object.entries(kind.functions as Record<string, Definition>)) {
    definition.assigned ??= `${kind.assigned}/${definition.options.name ?? name}`;
    learned.set(definition.assigned, definition);
  }
};
