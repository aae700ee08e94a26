// Tests of durable functions, natively and in virtual time.

export type { Answer, DoubleInfo, HttpDouble, SeenRequest } from './doubles.js';
export type { JournalRecord } from './journal.js';
export { ReplayDivergence } from './replay.js';
export type { Asked, PromiseScript } from './scenario.js';
export { type RunOptions, type SeenSend, TestHost, type TestHostOptions } from './test-host.js';
export type { LogLine } from './world.js';
