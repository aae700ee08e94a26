// Streams of an invocation: output of workflows and activities while they run, for readers outside.

import type { AttemptEngine, Payload } from './engine.js';
import type { WorkflowExecution } from './execution.js';
import { Code, Failure } from './failure.js';
import { checkOptions } from './retry.js';
import { encode } from './value.js';

/** The options of a stream. */
export interface StreamOptions {
  /** The media type of the content. Default: `application/json`, a stream of messages. */
  contentType?: string;
}

/** A stream of a workflow's invocation. All generations of the invocation write the same streams. */
export interface WorkflowStream {
  /** The name of the stream in its invocation. */
  readonly name: string;
  /** The media type of its content. */
  readonly contentType: string;
  /**
   * Appends a message, or text or bytes to a stream that is not JSON. It is stored with the next step. After `close` it
   * throws a `Failure` 409.
   */
  append(item: unknown): void;
  /** Closes the stream: nothing is appended afterwards. The end of the invocation closes its streams, too. */
  close(): void;
}

/** A stream for an activity: that of the workflow that called it, or its own. */
export interface ActivityStream {
  /** The name of the stream in its invocation. */
  readonly name: string;
  /** The media type of its content. */
  readonly contentType: string;
  /**
   * Appends a message, or text or bytes to a stream that is not JSON. It is stored shortly afterwards, at the end of the
   * attempt at the latest, also if the attempt fails. A `Failure` may concern an earlier item.
   */
  append(item: unknown): void;
  /** The number of messages, or of bytes, that this call has stored in the stream, in earlier attempts and in this one. */
  kept(): number;
}

/** The state of a stream that an execution has asked for. */
export interface KnownStream {
  contentType: string;
  isClosed: boolean;
}

/** Begins the name of a stream of the workflow's object in commands. Names have no slash. */
export const OF_OBJECT = 'object/';
const JSON_TYPE = 'application/json';
/** Maximum length of a name, in bytes. */
const NAME_BYTES_MAX = 1_024;
/** Maximum length of a content type, in bytes. */
const TYPE_BYTES_MAX = 256;

/** True for the content type of a stream of messages. */
export function isJson(contentType: string): boolean {
  return contentType.split(';')[0]!.trim().toLowerCase() === JSON_TYPE;
}

/** A stream of the workflow, or of its object: commands name one of those `object/NAME`. */
export function workflowStream(execution: WorkflowExecution, name: string, options: StreamOptions = {}, prefix = ''): WorkflowStream {
  const contentType = typeOf(options);
  const fault = faultOf(name, contentType);
  if (fault !== undefined) throw new TypeError(fault);
  const address = prefix + name;
  const known = execution.streams.get(address) ?? { contentType, isClosed: false };
  if (known.contentType.toLowerCase() !== contentType.toLowerCase()) {
    throw new TypeError(`the stream \`${name}\` has the content type ${known.contentType}, and is asked for with ${contentType}`);
  }
  execution.streams.set(address, known);
  return {
    name,
    contentType,
    append(item) {
      if (known.isClosed) throw new Failure(Code.Conflict, `the stream \`${name}\` is closed: this workflow has called \`close\``);
      execution.issue({ kind: 'append-stream', name: address, contentType, item: itemOf(item, name, contentType) });
    },
    close() {
      if (known.isClosed) return;
      execution.issue({ kind: 'close-stream', name: address, contentType });
      known.isClosed = true;
    },
  };
}

/** A stream for an attempt. A fault of its name is final: another attempt would have it again. */
export function activityStream(engine: AttemptEngine, name: string, options: StreamOptions = {}): ActivityStream {
  const contentType = typeOf(options);
  const fault = faultOf(name, contentType);
  if (fault !== undefined) throw new Failure(Code.BadInput, fault);
  return {
    name,
    contentType,
    append: (item) => engine.appendToStream(name, contentType, itemOf(item, name, contentType)),
    kept: () => engine.keptOfStream(name),
  };
}

function typeOf(options: StreamOptions): string {
  checkOptions(options, ['contentType'], 'a stream');
  return options.contentType ?? JSON_TYPE;
}

/** Bytes are copied: the author may change them afterwards. */
function itemOf(item: unknown, name: string, contentType: string): Payload {
  if (item instanceof Uint8Array && !isJson(contentType)) return { tag: 'bytes', val: Uint8Array.from(item) };
  return encode(item, `the item of the stream \`${name}\``);
}

/** The reason why a host would refuse the name. */
export function nameFault(name: string): string | undefined {
  if (typeof name === 'string' && name !== '' && !name.includes('/') && new TextEncoder().encode(name).length <= NAME_BYTES_MAX) return undefined;
  return `the name of a stream is a text of 1 to ${NAME_BYTES_MAX} bytes without a slash, and not ${JSON.stringify(name)?.slice(0, 42)}`;
}

/** The reason why a host would refuse the name or the content type. */
function faultOf(name: string, contentType: string): string | undefined {
  const fault = nameFault(name);
  if (fault !== undefined) return fault;
  if (typeof contentType === 'string' && contentType.length <= TYPE_BYTES_MAX && /^[ !-.0-~]+[/][ -~]+$/.test(contentType)) return undefined;
  return `the content type of the stream \`${name}\` is ${JSON.stringify(contentType)?.slice(0, 42)}: write one such as application/json or text/plain`;
}
