// Commands that nobody awaits. A workflow that lacks an `await` ends without their results, and its end cancels them.

import type { Failure } from './failure.js';

/** The commands of one execution whose promises nobody has looked at. */
export class UnawaitedCommands {
  readonly #commands = new Map<number, { name: string; failure?: Failure }>();

  /** Keeps a command, with its name in warnings, until somebody looks at its promise. */
  add(command: number, name: string, promise: Promise<unknown>): void {
    this.#commands.set(command, { name });
    const { constructor } = promise;
    // `await`, `then`, and the functions of `Promise` read this first.
    Object.defineProperty(promise, 'constructor', {
      get: () => {
        this.delete(command);
        return constructor;
      },
    });
  }

  /** The command is awaited, or cancelled on purpose. */
  delete(command: number): void {
    this.#commands.delete(command);
  }

  /** The command ended. Only a failure is worth a warning. */
  complete(command: number, failure: Failure | undefined): void {
    const known = this.#commands.get(command);
    if (known !== undefined && failure !== undefined) known.failure = failure;
    else this.delete(command);
  }

  /** A sentence for each command that failed, and for each that is open at the end. */
  warnings(): string[] {
    return [...this.#commands].map(([command, { name, failure }]) => {
      const end = failure === undefined ? 'and the workflow ends without it' : `which failed: ${failure.message} (code ${failure.code})`;
      return `nobody awaited ${name} (command ${command}), ${end}: write \`await\``;
    });
  }
}
