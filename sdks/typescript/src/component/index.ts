// The exports of a component, made of the functions of a module.

import { ActivityAttempt } from '../core/attempt.js';
import { defect, explained } from '../core/defect.js';
import type { AttemptFacts, EngineEvent, Facts, FailureRecord, Outcome, Payload } from '../core/engine.js';
import { WorkflowExecution, failed } from '../core/execution.js';
import { Code, Failure } from '../core/failure.js';
import { installGlobals } from '../core/globals.js';
import { Module } from '../core/module.js';
import { type Scope, WorkflowScope } from '../core/scope.js';
import { patchCombinators } from '../core/signal-wait.js';
import { drain, trackRejections } from '../promise.js';
import { attemptEngine } from './attempt-engine.js';
import { journalEngine } from './journal-engine.js';
import { inSource } from './source-lines.js';

/** The exports of a component. */
export interface ComponentExports {
  functions: object;
  messages: object;
  objects: object;
  runs: object;
  handlers: object;
  limits: object;
  commits: object;
  exposures: object;
}

/** The execution of the one workflow that this instance runs. */
let execution: WorkflowExecution | undefined;
/** What the globals ask. */
let scope: Scope | undefined;
/** Promises that were rejected while the module is loaded, and that nobody handles. */
const early = new Map<unknown, unknown>();

// The bundle passes an error of its own loading through this.
(globalThis as { segnoExplained?: typeof explained }).segnoExplained = explained;

installGlobals(() => scope);
patchCombinators();
trackRejections({
  unhandled(promise, reason) {
    if (scope instanceof WorkflowScope) scope.execution.unhandled(promise, reason);
    else if (scope instanceof ActivityAttempt) scope.unhandled.set(promise, reason);
    else early.set(promise, reason);
  },
  handled(promise) {
    if (scope instanceof WorkflowScope) scope.execution.handled(promise);
    else if (scope instanceof ActivityAttempt) scope.unhandled.delete(promise);
    else early.delete(promise);
  },
});

/**
 * The exports of a component, of the exports of an entry file. `segno build` generates the file that calls it:
 *
 * ```ts
 * import '@segno/sdk/polyfills';
 * import { component } from '@segno/sdk/component';
 * import * as exports from './src/index.ts';
 * export const { functions, messages, objects, runs, handlers, limits, commits, exposures } = component(exports);
 * ```
 */
export function component(exports: Readonly<Record<string, unknown>>): ComponentExports {
  drain();
  for (const reason of early.values()) throw reason;
  const module = new Module(exports);
  if (module.functions.size === 0) {
    throw new TypeError('the entry file exports no function: `export const order = workflow(async (input, ctx) => { … })`');
  }
  // All of it is written while the component is built, so that what is wrong is said there.
  const described = {
    functions: module.describe(),
    messages: module.messages(),
    objects: module.objects(),
    runs: module.runs(),
    handlers: module.handlers(),
    limits: module.limits(),
    commits: module.commits(),
    exposures: module.exposures(),
  };
  return {
    functions: {
      describe: () => described.functions,
      start: (name: string, input: Payload, facts: Facts) => start(module, name, input, facts),
      resume,
      perform: (name: string, input: Payload, facts: AttemptFacts) => perform(module, name, input, facts),
    },
    messages: { describeMessages: () => described.messages },
    objects: { describeObjects: () => described.objects },
    runs: { describeRuns: () => described.runs },
    handlers: {
      describeHandlers: () => described.handlers,
      query: (name: string, input: Payload): Outcome => current().query(name, input),
      validate: (name: string, input: Payload): FailureRecord | undefined => current().validate(name, input),
    },
    limits: { describeLimits: () => described.limits },
    commits: { describeCommits: () => described.commits },
    exposures: { describeExposures: () => described.exposures },
  };
}

function current(): WorkflowExecution {
  if (execution === undefined) throw new Error('no workflow was started');
  return execution;
}

function start(module: Module, name: string, input: Payload, facts: Facts): void {
  const definition = module.functions.get(name);
  if (definition === undefined) throw new Error(`there is no function \`${name}\``);
  execution = new WorkflowExecution(definition, { ...facts, parent: facts.parent ?? undefined, startedAtMs: Number(facts.startedAtMs) }, journalEngine);
  scope = new WorkflowScope(execution);
  execution.start(input);
  returned();
}

function resume(event: EngineEvent): void {
  current().tell(event);
  returned();
}

/** Runs everything that became ready. A defect ends the call, with a report that the host quotes. */
function returned(): void {
  const one = current();
  do {
    drain();
  } while (one.look());
  one.settle();
  if (one.defect === undefined) return;
  const { error } = one.defect;
  const { at, message } = defect(error, inSource, one.definition.made);
  journalEngine.log('error', `panicked at ${at ?? 'an unknown place'}:\n${message}`);
  throw error;
}

function perform(module: Module, name: string, input: Payload, facts: AttemptFacts): Outcome {
  const definition = module.functions.get(name);
  if (definition === undefined) return failed(new Failure(Code.NotFound, `there is no function \`${name}\``));
  const attempt = new ActivityAttempt(definition, numbers(facts), attemptEngine);
  scope = attempt;
  const describe = (error: unknown): string => {
    const { at, message } = defect(error, inSource, definition.made);
    return at === undefined ? message : `${at}: ${message}`;
  };
  let outcome: Outcome | undefined;
  void attempt.run(input, describe).then((ended) => (outcome = ended));
  drain();
  return attempt.settled(outcome, describe);
}

function numbers(facts: AttemptFacts): AttemptFacts {
  // An option that is none is null to QuickJS.
  const { startedAtMs, deadlineMs, fenceToken, lastProgress } = facts;
  return {
    ...facts,
    startedAtMs: Number(startedAtMs),
    fenceToken: Number(fenceToken),
    lastProgress: lastProgress ?? undefined,
    deadlineMs: typeof deadlineMs === 'number' ? Number(deadlineMs) : undefined,
  };
}
