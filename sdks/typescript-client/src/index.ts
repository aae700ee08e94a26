/**
 * A client of a Segno host.
 *
 * @packageDocumentation
 */

export { Client } from './client.js';
export { Blobs } from './blobs.js';
export type { BlobContent, BlobPiece, BlobReference, RangeOptions, UploadOptions } from './blobs.js';
export type { ExecutionFilter, ListOptions, PromiseFilter } from './filters.js';
export type { CallOptions, ClientOptions, RetryOptions, WaitOptions } from './options.js';
export { Execution } from './execution.js';
export type { QueryOptions, RemoveOptions, RestartOptions, SignalOptions } from './execution.js';
export type { StartFirstOptions, StartOptions } from './start.js';
export { reference } from './reference.js';
export type { FunctionReference, MessageTypes } from './reference.js';
export { Update } from './update.js';
export type { UpdateOptions } from './update.js';
export { PromiseHandle } from './promise.js';
export { ObjectHandle, ObjectPromise } from './object.js';
export type { ObjectStartOptions } from './object.js';
export { Schedule } from './schedule.js';
export type { EventOptions } from './events.js';
export { Listing } from './listing.js';
export type { JsonCodec } from './json.js';
export {
  BlobDamagedError,
  ConflictError,
  ExecutionFailedError,
  ExecutionHaltedError,
  ForbiddenError,
  HostError,
  InvalidArgumentError,
  InvalidRequestError,
  InvalidValueError,
  NotFoundError,
  PromiseFailedError,
  RefusedError,
  RequestTimeoutError,
  SegnoError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedAnswerError,
  UnreachableError,
  UpdateFailedError,
  WaitTimeoutError,
  WorkflowRefusedError,
} from './errors.js';
export type { Problem } from './errors.js';
export type {
  BudgetView,
  CloudEvent,
  CreatePromise,
  CreateSchedule,
  FailureView,
  Invocation,
  InvocationOutcome,
  InvocationState,
  InvocationSummary,
  Module,
  ModuleList,
  Note,
  ObjectView,
  ProblemCode,
  PromiseState,
  PromiseView,
  ScheduleView,
} from './api.js';
/** All documents of the HTTP API that the client uses. */
export type * as Api from './api.js';
