// The objects of a test: their state, their promises, and whose turn it is.

import type { Command, Outcome, Payload } from '../core/engine.js';
import { success } from '../core/execution.js';
import { read } from './journal.js';
import { TestStreams } from './streams.js';

/** An object that a call names: `OBJECT@KEY/FUNCTION`, alone or after `wasm://MODULE/`. */
export interface ObjectAddress {
  /** The object, such as `Account@ada`. */
  path: string;
  key: string;
  /** The name of the function in its module, such as `Account/deposit`. */
  name: string;
}

/** Reads the address of a function of an object. */
export function objectAddress(address: string): ObjectAddress | undefined {
  const path = address.startsWith('wasm://') ? address.slice('wasm://'.length).replace(/^[^/]*[/]/, '') : address;
  if (path.includes('://')) return undefined;
  const at = path.indexOf('@');
  const slash = path.lastIndexOf('/');
  if (at < 0 || slash < at) return undefined;
  return { path: path.slice(0, slash), key: path.slice(at + 1, slash), name: `${path.slice(0, at)}/${path.slice(slash + 1)}` };
}

/** A command that waits for a promise of an object. */
export interface ObjectWait {
  invocation: string;
  command: number;
}

type Standing = { waits: ObjectWait[] } | { outcome: Outcome };

/** One object. */
export class TestObject {
  readonly state = new Map<string, Payload>();
  readonly promises = new Map<string, Standing>();
  /** The id of the run, of an object that runs once per key. */
  run: string | undefined;
  /** The invocation that has its turn. */
  holder: string | undefined;
  /** What begins when the turn is free. */
  readonly line: (() => void)[] = [];

  /** The outcome of a promise, or undefined while it is pending. */
  outcome(name: string): Outcome | undefined {
    const standing = this.promises.get(name);
    return standing !== undefined && 'outcome' in standing ? standing.outcome : undefined;
  }

  /** Adds a wait, unless the promise is settled. */
  wait(name: string, wait: ObjectWait): Outcome | undefined {
    const standing = this.promises.get(name) ?? { waits: [] };
    this.promises.set(name, standing);
    if ('outcome' in standing) return standing.outcome;
    standing.waits.push(wait);
    return undefined;
  }

  /** Settles a promise. Gives those that waited, or undefined if it was settled before. */
  settle(name: string, outcome: Outcome): ObjectWait[] | undefined {
    const standing = this.promises.get(name);
    if (standing !== undefined && 'outcome' in standing) return undefined;
    this.promises.set(name, { outcome });
    return standing?.waits ?? [];
  }

  /** Executes a write of the state. False for any other command. */
  write(command: Command): boolean {
    switch (command.kind) {
      case 'set-state':
        this.state.set(command.name, command.value);
        return true;
      case 'clear-state':
        return this.state.delete(command.name) || true;
      case 'clear-all-state':
        this.state.clear();
        return true;
      default:
        return false;
    }
  }

  /** Answers a read of the state. */
  read(command: Command): Outcome {
    if (command.kind === 'get-state') {
      const value = this.state.get(command.name);
      return value === undefined ? success(null, '') : { tag: 'success', val: value };
    }
    if (command.kind === 'state-keys') return success([...this.state.keys()].sort(), 'the names of a state');
    return success(this.peek((command as { name: string }).name), 'a promise of an object');
  }

  /** How a promise stands, as the host says it. */
  peek(name: string): unknown {
    const outcome = this.outcome(name);
    if (outcome === undefined) return null;
    if (outcome.tag === 'success') return { resolved: read(outcome.val) };
    const { code, message, details } = outcome.val;
    return { rejected: { code, message, details: details === undefined ? null : read(details) } };
  }
}

/** All objects of a test. They stay between runs. */
export class TestObjects {
  readonly #objects = new Map<string, TestObject>();
  /** The streams of objects, by path. */
  readonly streams = new TestStreams();

  of(path: string): TestObject {
    const known = this.#objects.get(path) ?? new TestObject();
    this.#objects.set(path, known);
    return known;
  }

  /** Ends the turns and waits of the last run. */
  begin(): void {
    for (const object of this.#objects.values()) {
      object.holder = undefined;
      object.line.length = 0;
      for (const standing of object.promises.values()) if ('waits' in standing) standing.waits.length = 0;
    }
  }
}
