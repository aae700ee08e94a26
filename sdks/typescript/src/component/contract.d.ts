// The imports of the contract, as componentize-qjs gives them to a component.

declare module 'segno:workflow/journal@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  type Outcome = import('../core/engine.js').Outcome;
  type Options = import('../core/engine.js').CallRecord;
  type Request = import('../core/engine.js').HttpRecord;
  export function call(name: string, input: Payload, options: Options): number;
  export function send(name: string, input: Payload, options: Options): number;
  export function sleepUntil(ms: number): number;
  export function promise(name: string | undefined, options: { timeoutMs?: number | undefined }): [number, string];
  export function settle(id: string, outcome: Outcome): number;
  export function http(request: Request, options: Options): number;
  export function cancel(command: number): number;
  export function forget(command: number): void;
  export function publish(topic: string, payload: Payload): number;
  export function run(name: string): { tag: 'execute' | 'recorded'; val: number };
  export function runDone(command: number, outcome: Outcome): void;
  export function now(): number;
  export function log(level: string, message: string): void;
  export function finish(outcome: Outcome): void;
}

declare module 'segno:workflow/sagas@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  type Options = import('../core/engine.js').CallRecord;
  type Request = import('../core/engine.js').HttpRecord;
  type Step = import('../core/engine.js').StepRecord;
  export function call(name: string, input: Payload, options: Options, step: Step): number;
  export function http(request: Request, options: Options, step: Step): number;
  export function undo(step: Step, input: Payload, options: Options): number;
  export function ask(step: Step): number;
}

declare module 'segno:workflow/state@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  export function key(): string;
  export function get(name: string): number;
  export function names(): number;
  export function set(name: string, value: Payload): number;
  export function clear(name: string): number;
  export function clearAll(): number;
}

declare module 'segno:workflow/object-promises@0.2.0' {
  type Outcome = import('../core/engine.js').Outcome;
  export function wait(name: string): number;
  export function peek(name: string): number;
  export function settle(name: string, outcome: Outcome): number;
}

declare module 'segno:workflow/signals@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  export function send(invocation: string, name: string, payload: Payload): number;
  export function unread(signals: number[]): void;
}

declare module 'segno:workflow/generations@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  export function continueAsNew(input: Payload, sameCode: boolean): void;
}

declare module 'segno:workflow/streams@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  export function append(name: string, contentType: string, item: Payload): number;
  export function close(name: string, contentType: string): number;
}

declare module 'segno:workflow/activity-streams@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  export function kept(name: string): number;
  export function append(name: string, contentType: string, item: Payload): void;
}

declare module 'segno:workflow/blobs@0.2.0' {
  export function create(contentType: string): number;
  export function write(writer: number, piece: Uint8Array): void;
  export function finish(writer: number): string;
  export function abandon(writer: number): void;
  export function read(reference: string, offset: number, length: number): Uint8Array;
}

declare module 'segno:workflow/costs@0.2.0' {
  export function report(unit: string, millionths: number): void;
}

declare module 'segno:workflow/activity@0.2.0' {
  type Payload = import('../core/engine.js').Payload;
  export function heartbeat(progress: Payload | undefined): boolean;
  export function log(level: string, message: string): void;
}

declare module 'segno:workflow/http-bodies@0.2.0' {
  type Request = import('../core/engine.js').HttpRecord;
  type Head = import('../core/engine.js').HttpHead;
  export function open(request: Request): Head;
  export function read(response: number, limit: number): Uint8Array;
  export function close(response: number): void;
}

declare module 'segno:workflow/configuration@0.2.0' {
  export function env(name: string): string;
  export function secret(name: string): string;
}

declare module 'segno:workflow/files@0.2.0' {
  type Entry = import('../core/engine.js').FileEntry;
  export function read(path: string, offset: number, length: number): Uint8Array;
  export function write(path: string, content: Uint8Array): void;
  export function append(path: string, content: Uint8Array): void;
  export function listDirectory(path: string): Entry[];
  export function remove(path: string): void;
}
