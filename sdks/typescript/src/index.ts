// Durable functions for Segno.

export { activity, type ActivityContext, type ActivityOptions, type Files } from './core/activity.js';
export type { Budget, BudgetLimits, BudgetUnit, SpentBudget } from './core/budget.js';
export { type BlobOptions, type BlobPiece, type BlobReference, type Blobs, type BlobWriter, blobReference } from './core/blob.js';
export type {
  Call,
  ObjectContext,
  ObjectMap,
  ObjectPromise,
  ObjectState,
  Signal,
  SignalOptions,
  WorkflowContext,
} from './core/context.js';
export { type Activity, type Answer, type Callable, type CommitMode, type Exposure, type FunctionOptions, type Remote, type Workflow, remote } from './core/definition.js';
export type { Duration, Instant } from './core/duration.js';
export type { FileEntry } from './core/engine.js';
export { Code, Failure } from './core/failure.js';
export type { AttemptOptions, GraphBuilder, NodeOptions, NodeOutput, NodeRequest, NodeResponse, WaitOptions } from './core/graph/builder.js';
export { type Graph, graph, type GraphOptions } from './core/graph/graph.js';
export type { Condition, Output, Place, Source, ValueOf } from './core/graph/place.js';
export { HttpHeaders, type HttpRequest, HttpResponse } from './core/http.js';
export type { HttpBody } from './core/http-body.js';
export type { ServerEvent } from './core/http-lines.js';
export type { Limit } from './core/limits.js';
export type { Logger } from './core/log.js';
export { mapOf, object, type ObjectFunctionMaker, type ObjectFunctionMakers, type ObjectOptions, type ObjectType } from './core/object.js';
export type { CallOptions, RetryOptions, SendOptions } from './core/retry.js';
export type { Saga, SagaReport, SagaStepReport, StepOptions, Undo } from './core/saga.js';
export { type InputOf, json, type JsonSchema, type OutputOf, type Schema, type, withJsonSchema } from './core/schema.js';
export type { ReadOptions, StreamReader } from './core/stream-reader.js';
export type { ActivityStream, StreamOptions, WorkflowStream } from './core/stream.js';
export { query, type Query, update, type Update, workflow, type WorkflowOptions } from './core/workflow.js';
