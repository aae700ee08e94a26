// The interface between the SDK and what executes it: the host, or the test kit. It knows nothing of promises.

/** A value as it crosses to the host. */
export type Payload = { tag: 'json'; val: string } | { tag: 'bytes'; val: Uint8Array };

/** A failure as it crosses to the host. */
export interface FailureRecord {
  code: number;
  message: string;
  details?: Payload | undefined;
}

/** The end of a function, a step or a promise. */
export type Outcome = { tag: 'success'; val: Payload } | { tag: 'failure'; val: FailureRecord };

/** An event for a workflow. */
export type EngineEvent =
  | { tag: 'completed'; val: { command: number; outcome: Outcome } }
  | { tag: 'signal'; val: { name: string; payload: Payload } }
  | { tag: 'cancelled' };

/** The severity of a log line. */
export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** A retry policy, complete. */
export interface RetryRecord {
  initialMs: number;
  factor: number;
  maxMs: number;
  jitter: number;
  maxAttempts?: number | undefined;
  nonRetryable: number[];
}

/** The options of a call. */
export interface CallRecord {
  timeoutMs?: number | undefined;
  retry?: RetryRecord | undefined;
  startAtMs?: number | undefined;
  labels: [string, string][];
}

/** A step of a saga. */
export interface StepRecord {
  saga: string;
  seq: number;
  compensate: string;
  compensateUnknown: boolean;
}

/** An HTTP request. */
export interface HttpRecord {
  method: string;
  url: string;
  headers: [string, string][];
  body?: Payload | undefined;
}

/** A command of a workflow. */
export type Command =
  | { kind: 'call'; function: string; input: Payload; options: CallRecord; step?: StepRecord | undefined }
  | { kind: 'send'; function: string; input: Payload; options: CallRecord }
  | { kind: 'sleep'; untilMs: number }
  | { kind: 'promise'; name?: string | undefined; timeoutMs?: number | undefined }
  | { kind: 'settle'; promise: string; outcome: Outcome }
  | { kind: 'http'; request: HttpRecord; options: CallRecord; step?: StepRecord | undefined }
  | { kind: 'cancel'; command: number }
  | { kind: 'publish'; topic: string; payload: Payload }
  | { kind: 'undo'; step: StepRecord; input: Payload; options: CallRecord }
  | { kind: 'ask'; step: StepRecord }
  | { kind: 'get-state'; name: string }
  | { kind: 'state-keys' }
  | { kind: 'set-state'; name: string; value: Payload }
  | { kind: 'clear-state'; name: string }
  | { kind: 'clear-all-state' }
  | { kind: 'wait-object-promise'; name: string }
  | { kind: 'peek-object-promise'; name: string }
  | { kind: 'settle-object-promise'; name: string; outcome: Outcome }
  | { kind: 'send-signal'; invocation: string; name: string; payload: Payload }
  | { kind: 'append-stream'; name: string; contentType: string; item: Payload }
  | { kind: 'close-stream'; name: string; contentType: string };

/** The facts of an invocation, the same in every replay. */
export interface Facts {
  invocation: string;
  parent?: string | undefined;
  startedAtMs: number;
  seed: ArrayLike<number>;
}

/** What executes a workflow. Every function returns immediately. */
export interface Engine {
  /** Issues a command. Returns its index, and the id of the promise that it makes, if it makes one with an id. */
  issue(command: Command): { index: number; promise?: string };
  /** Begins a computation whose result is recorded: it is to be executed now, or its result comes as a completion. */
  run(name: string): { index: number; execute: boolean };
  /** Records the result of the computation. */
  runDone(index: number, outcome: Outcome): void;
  /** The completion of the command is not needed. */
  forget(index: number): void;
  /** Reports the signals that were never read, by number. */
  unread(signals: number[]): void;
  /** Logical time, in milliseconds since the Unix epoch. */
  now(): number;
  /** Keeps a log line with the invocation. */
  log(level: Level, message: string): void;
  /** The key of the object whose function is executed. */
  key(): string;
  /** The end. */
  finish(outcome: Outcome): void;
  /** The end of this generation. */
  continueAsNew(input: Payload, sameCode: boolean): void;
}

/** The facts of one attempt of an activity. */
export interface AttemptFacts {
  invocation: string;
  idempotencyKey: string;
  fenceToken: number;
  attempt: number;
  lastProgress?: Payload | undefined;
  startedAtMs: number;
  deadlineMs?: number | undefined;
}

/** A file or a folder in a directory. */
export interface FileEntry {
  /** The name, without the directory. */
  name: string;
  /** True for a directory. */
  directory: boolean;
  /** The size in bytes. */
  size: number;
}

/** What executes an activity. Failures are thrown as `Failure`. */
export interface AttemptEngine {
  heartbeat(progress: Payload | undefined): boolean;
  /** Sends a request; its body is read by the number of the response. */
  openHttp(request: HttpRecord): HttpHead | Promise<HttpHead>;
  /** The next bytes of a body; none at its end. */
  readHttp(response: number, limit: number): Uint8Array | Promise<Uint8Array>;
  closeHttp(response: number): void;
  log(level: Level, message: string): void;
  env(name: string): string;
  secret(name: string): string;
  now(): number;
  readFile(path: string, offset: number, length: number): Uint8Array;
  writeFile(path: string, content: Uint8Array): void;
  appendFile(path: string, content: Uint8Array): void;
  listDirectory(path: string): FileEntry[];
  removeFile(path: string): void;
  keptOfStream(name: string): number;
  appendToStream(name: string, contentType: string, item: Payload): void;
  reportCost(unit: string, millionths: number): void;
  createBlob(contentType: string): number;
  writeBlob(writer: number, piece: Uint8Array): void;
  finishBlob(writer: number): string;
  abandonBlob(writer: number): void;
  readBlob(reference: string, offset: number, length: number): Uint8Array;
}

/** The answer to a request of an activity, without its body. */
export interface HttpHead {
  /** The number of the response, within the attempt. */
  response: number;
  status: number;
  headers: [string, string][];
}
