// Records of a journal, in the form in which the host shows them (`GET /v1/invocations/{id}/journal`).

import { createHash } from 'node:crypto';
import type { CallRecord, Command, HttpRecord, Outcome, Payload, StepRecord } from '../core/engine.js';

/** A record of a journal. */
export interface JournalRecord {
  /** The number, from 0. */
  seq: number;
  /** Logical time. */
  at_ms: number;
  /** What happened. */
  kind: 'started' | 'command' | 'notified' | 'signal' | 'cancelled' | 'finished';
  /** The number of the command. */
  index?: number;
  /** The kind of the command. */
  command?: string;
  /** The name of the function, the step, the promise or the signal. */
  name?: string;
  /** The other fields of the command; of `started`, the input. */
  request?: unknown;
  /** The result of a command, the value of a signal, or the end. */
  outcome?: { value?: unknown; failure?: { code: number; message: string; details?: unknown } };
}

/** A command that only a journal has. */
export type RecordedCommand =
  | Command
  | { kind: 'run'; name: string }
  | { kind: 'unread'; signals: number[] }
  | { kind: 'continue-as-new'; input: Payload; sameCode: boolean };

type Field = [name: string, value: string | Uint8Array];

/** Longer values are kept as their digest. */
const INLINE_LIMIT = 256;
/** Fields that are texts and no JSON. */
const TEXTS = new Set(['message', 'undoes', 'saga', 'compensate', 'unknown', 'promise', 'signal', 'content-type']);

/** The record of a command, without its number and time. */
export function commandRecord(command: RecordedCommand): Pick<JournalRecord, 'command' | 'name' | 'request'> {
  const [kind, name, fields] = parts(command);
  const request = Object.fromEntries(fields.map((field) => [field[0], shownField(field)]));
  return name === '' ? { command: kind, request } : { command: kind, name, request };
}

function parts(command: RecordedCommand): [kind: string, name: string, fields: Field[]] {
  switch (command.kind) {
    case 'call':
      return ['call', command.function, [payload('input', command.input), ...options(command.options), ...stepOf(command.step)]];
    case 'send':
      return ['send', command.function, [payload('input', command.input), ...options(command.options)]];
    case 'sleep':
      return ['sleep', '', [['until_ms', String(command.untilMs)]]];
    case 'promise':
      return ['promise', command.name ?? '', number('timeout_ms', command.timeoutMs)];
    case 'settle':
      return ['settle', command.promise, outcome(command.outcome)];
    case 'http':
      return ['http', `${command.request.method} ${command.request.url}`, [...request(command.request), ...options(command.options), ...stepOf(command.step)]];
    case 'cancel':
      return ['cancel', '', number('command', command.command)];
    case 'publish':
      return ['publish', command.topic, [payload('payload', command.payload)]];
    case 'undo': {
      const { saga, seq, compensate } = command.step;
      return ['call', compensate, [payload('input', command.input), ...options(command.options), ['undoes', saga], ['seq', String(seq)]]];
    }
    case 'ask':
      return ['promise', '', stepOf(command.step)];
    case 'set-state':
      return ['set-state', command.name, [payload('value', command.value)]];
    case 'settle-object-promise':
      return ['settle-object-promise', command.name, outcome(command.outcome)];
    case 'send-signal':
      return ['send-signal', command.invocation, [['signal', command.name], payload('payload', command.payload)]];
    case 'append-stream':
      return ['append-stream', command.name, [['content-type', command.contentType], item(command.item)]];
    case 'close-stream':
      return ['close-stream', command.name, [['content-type', command.contentType]]];
    case 'get-state':
    case 'clear-state':
    case 'wait-object-promise':
    case 'peek-object-promise':
    case 'run':
      return [command.kind, command.name, []];
    case 'state-keys':
    case 'clear-all-state':
      return [command.kind, '', []];
    case 'unread':
      return ['unread', String(command.signals.length), [['signals', JSON.stringify(command.signals)]]];
    case 'continue-as-new':
      return ['continue-as-new', '', [payload('input', command.input), ...(command.sameCode ? ([['same_code', 'true']] as Field[]) : [])]];
  }
}

function payload(name: string, { tag, val }: Payload): Field {
  return tag === 'json' ? [name, val] : [`${name}_bytes`, val];
}

/** The field of an item of a stream. */
function item(appended: Payload): Field {
  return appended.tag === 'json' ? ['item', appended.val] : ['payload_bytes', appended.val];
}

function number(name: string, value: number | undefined): Field[] {
  return value === undefined ? [] : [[name, String(value)]];
}

function options({ timeoutMs, startAtMs, retry, labels }: CallRecord): Field[] {
  const fields = [...number('timeout_ms', timeoutMs), ...number('start_at_ms', startAtMs)];
  if (retry !== undefined) {
    const { initialMs, factor, maxMs, jitter, maxAttempts = null, nonRetryable } = retry;
    const written = { initial_ms: initialMs, factor, max_ms: maxMs, jitter, max_attempts: maxAttempts, non_retryable: nonRetryable };
    fields.push(['retry', JSON.stringify(written)]);
  }
  if (labels.length > 0) fields.push(['labels', JSON.stringify(labels)]);
  return fields;
}

function stepOf(step: StepRecord | undefined): Field[] {
  if (step === undefined) return [];
  const fields: Field[] = [['saga', step.saga], ['seq', String(step.seq)], ['compensate', step.compensate]];
  return step.compensateUnknown ? [...fields, ['unknown', 'compensate']] : fields;
}

function request({ headers, body }: HttpRecord): Field[] {
  const fields: Field[] = headers.length === 0 ? [] : [['headers', JSON.stringify(headers)]];
  return body === undefined ? fields : [...fields, payload('body', body)];
}

function outcome(ended: Outcome): Field[] {
  if (ended.tag === 'success') return [payload('success', ended.val)];
  const { code, message, details } = ended.val;
  const fields: Field[] = [['code', String(code)], ['message', message]];
  return details === undefined ? fields : [...fields, payload('details', details)];
}

function shownField([name, value]: Field): unknown {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  if (bytes.length > INLINE_LIMIT) return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  if (typeof value !== 'string') return { base64: Buffer.from(value).toString('base64') };
  return TEXTS.has(name) ? value : JSON.parse(value === '' ? 'null' : value);
}

/** An outcome, as the host shows it. A null is left out. */
export function shownOutcome(ended: Outcome): NonNullable<JournalRecord['outcome']> {
  if (ended.tag === 'success') {
    const value = read(ended.val);
    return value === null ? {} : { value };
  }
  const { code, message, details } = ended.val;
  return { failure: details === undefined ? { code, message } : { code, message, details: read(details) } };
}

/** A value, as the host shows it. */
export function read({ tag, val }: Payload): unknown {
  return tag === 'json' ? JSON.parse(val === '' ? 'null' : val) : { base64: Buffer.from(val).toString('base64') };
}

/** A record in one line, for messages. */
export function described(record: JournalRecord | undefined): string {
  if (record === undefined) return 'nothing';
  const { kind, command, name, request: fields, outcome: ended, index } = record;
  if (kind === 'command') return [command, name, JSON.stringify(fields)].filter((part) => part !== undefined && part !== '{}').join(' ');
  if (kind === 'notified') return `the result of command ${index}`;
  if (kind === 'finished') return `the end with ${JSON.stringify(ended)}`;
  return [kind, name].filter((part) => part !== undefined).join(' ');
}
