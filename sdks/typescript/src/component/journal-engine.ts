// The engine of a workflow over the imports of the contract.

import * as generations from 'segno:workflow/generations@0.2.0';
import * as journal from 'segno:workflow/journal@0.2.0';
import * as objectPromises from 'segno:workflow/object-promises@0.2.0';
import * as sagas from 'segno:workflow/sagas@0.2.0';
import * as signals from 'segno:workflow/signals@0.2.0';
import * as state from 'segno:workflow/state@0.2.0';
import * as streams from 'segno:workflow/streams@0.2.0';
import type { Command, Engine } from '../core/engine.js';
import { going } from './asked-at.js';

/** The host as the engine of the workflow that it started. */
export const journalEngine: Engine = {
  issue(command) {
    if (command.kind !== 'promise') return { index: going(issued(command)) };
    const answer = journal.promise(command.name, { timeoutMs: command.timeoutMs });
    return { index: going(answer[0]), promise: answer[1] };
  },
  run(name) {
    const { tag, val: index } = journal.run(name);
    return { index: going(index), execute: tag === 'execute' };
  },
  runDone: (index, outcome) => journal.runDone(index, outcome),
  forget: (index) => journal.forget(index),
  unread: (numbers) => signals.unread(numbers),
  now: () => Number(journal.now()),
  log: (level, message) => journal.log(level, message),
  key: () => state.key(),
  finish: (outcome) => journal.finish(outcome),
  continueAsNew: (input, sameCode) => generations.continueAsNew(input, sameCode),
};

function issued(command: Exclude<Command, { kind: 'promise' }>): number {
  switch (command.kind) {
    case 'call':
      return command.step
        ? sagas.call(command.function, command.input, command.options, command.step)
        : journal.call(command.function, command.input, command.options);
    case 'send':
      return journal.send(command.function, command.input, command.options);
    case 'sleep':
      return journal.sleepUntil(command.untilMs);
    case 'settle':
      return journal.settle(command.promise, command.outcome);
    case 'http':
      return command.step ? sagas.http(command.request, command.options, command.step) : journal.http(command.request, command.options);
    case 'cancel':
      return journal.cancel(command.command);
    case 'publish':
      return journal.publish(command.topic, command.payload);
    case 'undo':
      return sagas.undo(command.step, command.input, command.options);
    case 'ask':
      return sagas.ask(command.step);
    case 'get-state':
      return state.get(command.name);
    case 'state-keys':
      return state.names();
    case 'set-state':
      return state.set(command.name, command.value);
    case 'clear-state':
      return state.clear(command.name);
    case 'clear-all-state':
      return state.clearAll();
    case 'wait-object-promise':
      return objectPromises.wait(command.name);
    case 'peek-object-promise':
      return objectPromises.peek(command.name);
    case 'settle-object-promise':
      return objectPromises.settle(command.name, command.outcome);
    case 'send-signal':
      return signals.send(command.invocation, command.name, command.payload);
    case 'append-stream':
      return streams.append(command.name, command.contentType, command.item);
    case 'close-stream':
      return streams.close(command.name, command.contentType);
  }
}
