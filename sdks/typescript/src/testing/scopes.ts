// Which function runs: it follows the promises of the language, so that globals can ask for it.

import { AsyncLocalStorage } from 'node:async_hooks';
import * as nodeCrypto from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { setImmediate } from 'node:timers';
import { runInThisContext } from 'node:vm';
import { ActivityAttempt } from '../core/attempt.js';
import { installGlobals, filled } from '../core/globals.js';
import { type Scope, WorkflowScope } from '../core/scope.js';
import { patchCombinators } from '../core/signal-wait.js';
import { uuid } from '../core/random.js';

const scopes = new AsyncLocalStorage<Scope>();
// Before anybody replaces it by a fake one.
const immediate = setImmediate;
// That of Node: jest gives its tests another one, which hears of nothing.
const process = runInThisContext('process') as NodeJS.Process;
let installed = 0;
let restore: (() => void) | undefined;

/** Runs code inside of a function's scope. */
export function within<T>(scope: Scope, code: () => T): T {
  return scopes.run(scope, code);
}

/** Waits until everything that became ready has run. */
export function drained(): Promise<void> {
  return new Promise((resolve) => immediate(() => resolve()));
}

/** Runs code while the globals ask the present scope, and errors that nobody handles are those of their function. */
export async function withGlobals<T>(code: () => Promise<T>): Promise<T> {
  if (installed === 0) restore = install();
  installed += 1;
  try {
    return await code();
  } finally {
    installed -= 1;
    if (installed === 0) restore?.();
  }
}

function install(): () => void {
  patchCombinators();
  const present = () => scopes.getStore();
  const globals = installGlobals(present);
  const ofNode = patchNodeCrypto(present);
  const others = process.listeners('unhandledRejection');
  const unhandled = (reason: unknown, promise: Promise<unknown>): void => {
    const scope = present();
    if (scope instanceof WorkflowScope) scope.execution.unhandled(promise, reason);
    else if (scope instanceof ActivityAttempt) scope.unhandled.set(promise, reason);
    else if (others.length > 0) others.forEach((listener) => listener(reason, promise));
    else throw reason;
  };
  const handled = (promise: Promise<unknown>): void => {
    const scope = present();
    if (scope instanceof WorkflowScope) scope.execution.handled(promise);
  };
  // The time zone of a component.
  const zone = process.env.TZ;
  process.env.TZ = 'UTC';
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', unhandled);
  process.on('rejectionHandled', handled);
  return () => {
    process.off('unhandledRejection', unhandled);
    process.off('rejectionHandled', handled);
    for (const listener of others) process.on('unhandledRejection', listener);
    ofNode();
    globals();
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  };
}

/** Packages use Node's own module for random numbers when they run in Node. */
function patchNodeCrypto(present: () => Scope | undefined): () => void {
  const module = createRequire(import.meta.url)('node:crypto') as Record<string, unknown>;
  const { randomUUID, randomBytes, randomFillSync } = nodeCrypto;
  const before = { randomUUID, randomBytes, randomFillSync };
  module.randomUUID = (...given: never[]) => {
    const scope = present();
    return scope === undefined ? randomUUID(...given) : uuid(() => scope.random());
  };
  module.randomBytes = (size: number, ...given: never[]) => {
    const scope = present();
    return scope === undefined ? (randomBytes as Function)(size, ...given) : filled(Buffer.alloc(size), scope);
  };
  module.randomFillSync = (array: ArrayBufferView, ...given: never[]) => {
    const scope = present();
    return scope === undefined || given.length > 0 ? (randomFillSync as Function)(array, ...given) : filled(array, scope);
  };
  syncBuiltinESMExports();
  return () => {
    Object.assign(module, before);
    syncBuiltinESMExports();
  };
}
