// Commands that nobody awaits. A workflow that lacks an `await` ends without their results, and its end cancels them.

import { type PromiseWatch, watch } from './completion.js';
import type { Failure } from './failure.js';

interface UnawaitedCommand extends PromiseWatch {
  name: () => string;
  failure: Failure | undefined;
}

/** The commands of one execution whose promises nobody has looked at. */
export class UnawaitedCommands {
  readonly #commands = new Map<number, UnawaitedCommand>();

  /** Keeps a command, with its name in warnings, until somebody looks at its promise. */
  add(command: number, name: () => string, promise: Promise<unknown>): void {
    const known: UnawaitedCommand = { name, failure: undefined, isLookedAt: false };
    this.#commands.set(command, known);
    watch(promise, known);
  }

  /** The command is awaited, or cancelled on purpose. */
  delete(command: number): void {
    this.#commands.delete(command);
  }

  /** The command ended. Only a failure is worth a warning. */
  complete(command: number, failure: Failure | undefined): void {
    if (failure === undefined) return this.delete(command);
    const known = this.#commands.get(command);
    if (known !== undefined) known.failure = failure;
  }

  /** A sentence for each command that failed, and for each that is open at the end. */
  warnings(): string[] {
    const unawaited = [...this.#commands].filter(([, { isLookedAt }]) => !isLookedAt);
    return unawaited.map(([command, { name, failure }]) => {
      const end = failure === undefined ? 'and the workflow ends without it' : `which failed: ${failure.message} (code ${failure.code})`;
      return `nobody awaited ${name()} (command ${command}), ${end}: write \`await\``;
    });
  }
}
