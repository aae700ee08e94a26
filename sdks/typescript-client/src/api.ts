// Written by `sdks/api/generate.mjs` from the OpenAPI document of a host. Do not edit.

/** The answer to a request that changes an object. */
export interface Accepted {
  /** True if the request changed something. */
  changed: boolean;
  /** The id of the object. */
  id: string;
}

/** The body of `POST /v1/events/ack`. */
export interface AcknowledgeEvents {
  /** Ids of the events to acknowledge (at most 1000). */
  ids: string[];
}

/** The answer to an acknowledgement. */
export interface Acknowledged {
  /** Number of acknowledged ids, including ids that were acknowledged before. */
  acknowledged: number;
}

/** The body of `POST /v1/schedules/{id}/backfill`. */
export interface Backfill {
  /** The beginning of the interval (inclusive). */
  fromAtMs: number;
  /** The end of the interval (exclusive), limited to the present. */
  toAtMs: number;
}

/** The result of a backfill, which handles up to 100 occurrences. */
export interface Backfilled {
  /** Reason of the latest skip. */
  because?: string | undefined;
  /** Number of invocations that existed already. */
  existing: number;
  /** The `fromAtMs` to continue with; absent when the interval is complete. */
  nextAtMs?: number | undefined;
  /** Number of occurrences skipped. */
  skipped: number;
  /** Number of invocations started. */
  started: number;
}

/** The key of a limit that an execution is subject to. */
export interface BehindLimit {
  /** The key; absent if the limit has no key. */
  key?: string | undefined;
  /** The limit: `MODULE/FUNCTION`. */
  limit: string;
  /** The priority; 0 if absent. */
  priority?: number | undefined;
  /** Why it waits. Absent if it was admitted, or reaches its limit later. */
  waits?: LimitWait | undefined;
}

/** The blobs of an invocation, by digest. */
export interface BlobList {
  /** The blobs, at most 10,000. */
  blobs: ListedBlob[];
  /** True if there are more. */
  more?: boolean | undefined;
}

/** The reference of a blob. It is passed as any value, or as a part of one. */
export interface BlobView {
  /** Size of the content. */
  bytes: number;
  /** Content type. */
  content_type: string;
  /** `INVOCATION/blob/DIGEST`: the execution that owns the blob, and the SHA-256 of the content. */
  'segno:blob': string;
}

/** The budget of one execution, which everything below that execution draws on. */
export interface BudgetAccount {
  /** The execution. */
  id: string;
  /** Limits and use by unit. The host counts `calls`; activities report all others. */
  units: Record<string, BudgetUnit>;
}

/** Limit and use of a unit: decimal numbers with at most six places. */
export interface BudgetUnit {
  /** The most that may be used. */
  limit: number;
  /** The amount left. */
  remaining: number;
  /** The amount used so far. It exceeds the limit by what the calls in flight used. */
  spent: number;
}

/** The budgets of an execution. */
export interface BudgetView {
  /** The budgets that the execution draws on, the nearest first. */
  accounts: BudgetAccount[];
  /** The budgets of executions below it, by id; at most 1,000. */
  below: BudgetAccount[];
}

/** The body of `POST /v1/objects/{module}/{object}/{key}/{function}`. */
export interface CallObject {
  /**
   * The budget of the invocation and everything below it: limits by unit, decimal numbers with at
   * most six places. The host counts `calls`; activities report all others, as `tokens`.
   */
  budget?: Record<string, number> | undefined;
  /**
   * The id of the invocation. The same id again, with the same target and input, returns the
   * first execution. Absent: the host generates an id; for a function that runs once for each
   * key, the id is `MODULE/OBJECT@KEY/FUNCTION`.
   */
  id?: string | undefined;
  /** Any JSON that matches the function's input schema; `null` if absent. */
  input?: unknown | undefined;
  /** Labels by which invocations are listed. */
  labels?: Record<string, string> | undefined;
  /** The earliest start. */
  startAtMs?: number | undefined;
  /**
   * Milliseconds from now to the deadline, including the wait for the turn. Absent: the
   * function's own default, if it has one.
   */
  timeoutMs?: number | undefined;
  /** Maximum wait for the end before answering, in milliseconds. */
  waitMs?: number | undefined;
}

/** The progress of a cancellation. */
export type CancelProgress = 'none' | 'requested' | 'delivered' | 'missed';

/** The body of `PATCH /v1/objects/{module}/{object}/{key}`. The changes are atomic. */
export interface ChangeState {
  /** Names to delete. */
  clear?: string[] | undefined;
  /**
   * True to delete all names first. If the request sets no names, the promises of the object are
   * deleted as well.
   */
  clearAll?: boolean | undefined;
  /** Names and their new values: any JSON. */
  set?: Record<string, unknown> | undefined;
}

/** A CloudEvent, in structured mode. */
export interface CloudEvent {
  /** The payload, if the payload is JSON. */
  data?: unknown | undefined;
  /** The payload in base64, if the payload is bytes. */
  dataBase64?: string | undefined;
  /** The media type of `data`. */
  datacontenttype: string;
  /** The event's unique id, the same in every delivery. */
  id: string;
  /** The invocation, as a path of this host's API. */
  source: string;
  /** The version of the format. */
  specversion: string;
  /** The invocation's id. */
  subject: string;
  /** The time of publication, as an RFC 3339 text. */
  time: string;
  /** The topic under which the event was published. */
  type: string;
}

/** The body of `POST /v1/invocations/{id}/continue`. */
export interface ContinueInvocation {
  /**
   * The alias or digest of the module that continues the invocation. It must repeat the journal
   * so far. Absent: the module that began it.
   */
  module?: string | undefined;
}

/** The answer to `POST /v1/invocations/{id}/continue`. */
export interface Continued {
  /** Always `true`: the host refuses the request unless the invocation is halted. */
  changed: boolean;
  /** The id of the invocation. */
  id: string;
  /** The digest of the module to which the invocation was moved. */
  module?: string | undefined;
  /** Number of records that this module repeated: the whole journal. */
  records?: number | undefined;
}

/** The body of `POST /v1/promises`. */
export interface CreatePromise {
  /** The id of the promise. The same id again answers the first promise, unchanged. */
  id: string;
  /** A parameter for the client or worker that settles the promise: any JSON. */
  param?: unknown | undefined;
  /**
   * Tags. With `target` (`poll://…` or `http(s)://…`) an external worker produces the value;
   * `timer` with the value `true` resolves the promise at its deadline; `parent` shows the
   * promise in the tree of that parent.
   */
  tags?: Record<string, string> | undefined;
  /** Milliseconds from now to the deadline; no deadline if absent. */
  timeoutMs?: number | undefined;
}

/** The body of `POST /v1/schedules`. */
export interface CreateSchedule {
  /**
   * The budget of each invocation and everything below it: limits by unit, decimal numbers with at
   * most six places. The host counts `calls`; activities report all others, as `tokens`.
   */
  budget?: Record<string, number> | undefined;
  /**
   * Cron expression: minute, hour, day of month, month, weekday. With six fields the first one
   * is the second; with seven the last one is the year.
   */
  cron: string;
  /** The id of the schedule. The same id again answers the first schedule, unchanged. */
  id: string;
  /** Any JSON that matches the function's input schema; `null` if absent. */
  input?: unknown | undefined;
  /**
   * Template for the ids of invocations: `{{.id}}` is the schedule's id; `{{.timestamp}}`, which
   * is required, is the occurrence in milliseconds. Absent: `{{.id}}@{{.timestamp}}`.
   */
  invocationId?: string | undefined;
  /**
   * Maximum random delay between an occurrence and its start, at most one day. The delay of an
   * occurrence is always the same.
   */
  jitterMs?: number | undefined;
  /** Labels of the invocations. */
  labels?: Record<string, string> | undefined;
  /** Policy for occurrences while the last invocation has not ended. */
  overlap?: Overlap | undefined;
  /**
   * The function to start: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`; or the address of an
   * external worker: `poll://…`, `http(s)://…`.
   */
  target: string;
  /**
   * Milliseconds from each occurrence to the deadline of its invocation. Absent: the function's
   * own default, if it has one.
   */
  timeoutMs?: number | undefined;
  /**
   * IANA name of the time zone in which the expression is evaluated; UTC if absent. A local time
   * skipped by a clock change occurs once, at the first instant after the gap; a local time that
   * repeats occurs the first time only.
   */
  zone?: string | undefined;
}

/** The answer to an upload. */
export interface Deployed {
  /** The alias of the upload. */
  alias?: string | undefined;
  /** True if this request stored the component; false if it was stored before. */
  created: boolean;
  /** The module. */
  module: Module;
  /**
   * The module to which the alias pointed before, if it was another one. Executions that began
   * on that module finish on it.
   */
  replaces?: string | undefined;
}

/** A page of unacknowledged events, the oldest first. */
export interface EventPage {
  /** The events. */
  events: CloudEvent[];
  /** The `cursor` of the next page; absent if there was no event. */
  next?: string | undefined;
}

/** A failure. Codes 400 to 599 have the same meaning as in HTTP. */
export interface FailureView {
  /** The code, for programs. */
  code: number;
  /** Further data from the failing side. */
  details?: unknown | undefined;
  /** The message, for people. */
  message: string;
}

/** Origin of an invocation that was forked from another one. */
export interface ForkedFrom {
  /** Id of the original invocation, which may have been removed since. */
  id: string;
  /** Number of records copied from the original. */
  records: number;
  /** Indexes of the commands whose results the request replaced. */
  set?: number[] | undefined;
}

/** A function of a module. */
export interface Function {
  /** Access to the object to which the function belongs; absent for functions without an object. */
  access?: ObjectAccess | undefined;
  /**
   * True if the module declares that the host commits the result of each `run`, and the outcome
   * of each call, before the workflow receives it.
   */
  commitsEach?: boolean | undefined;
  /**
   * Protocols by which the author offers the function to others, such as `mcp`. An operator
   * decides whose offers are taken.
   */
  expose?: string[] | undefined;
  /** Queries and updates that the function answers, during its execution and afterwards. */
  handlers?: Handler[] | undefined;
  /** The JSON schema of its input. */
  inputSchema?: unknown | undefined;
  /** The kind of the function. */
  kind: FunctionKind;
  /** Bounds on the concurrency and the start rate of executions, as the module declares them. */
  limit?: LimitRule | undefined;
  /** Messages that the function accepts while it runs, as far as its author declares them. */
  messages?: Message[] | undefined;
  /** The name of the function. */
  name: string;
  /** The JSON schema of its output. */
  outputSchema?: unknown | undefined;
  /** The default retry policy. */
  retry?: Retry | undefined;
  /** True if the function runs once for each key of its object. */
  runsOnce?: boolean | undefined;
  /** True if the function receives signals. */
  signals?: boolean | undefined;
  /** A description by the author. */
  summary?: string | undefined;
  /** Default time limit of a call, in milliseconds. */
  timeoutMs?: number | undefined;
}

/** The kind of a function. */
export type FunctionKind = 'workflow' | 'activity';

/** One generation of a workflow that continued as new. */
export interface Generation {
  /** Number of generations. */
  generations: number;
  /** Id of the generation that continues this one. */
  next?: string | undefined;
  /** Number of this generation, from 1; its id is `{of}/g/{number}`. */
  number: number;
  /** Id of the invocation, which leads to the newest generation. */
  of: string;
}

/** A query or an update of a workflow. */
export interface Handler {
  /** JSON schema of the input; the host rejects other inputs. */
  inputSchema?: unknown | undefined;
  /** Kind of the handler. */
  kind: HandlerKind;
  /** The name of the query or update. */
  name: string;
  /** JSON schema of the answer. */
  outputSchema?: unknown | undefined;
  /** A description by the author. */
  summary?: string | undefined;
}

/** Kind of a handler. */
export type HandlerKind = 'query' | 'update';

/** The answer of `GET /health`: the process answers. */
export interface Health {
  /** Always `ok`. */
  status: string;
  /** The version of the host. */
  version: string;
}

/** Imported functions of one interface with the same treatment. */
export interface Import {
  /** The names of the functions. */
  functions?: string[] | undefined;
  /** The name of the interface. */
  name: string;
  /** The alternative to refused functions. */
  note?: string | undefined;
  /** Treatment of a workflow's calls. Activities get real I/O as far as the host's policy allows. */
  status: ImportStatus;
}

/** Treatment of an import by the host. */
export type ImportStatus = 'provided' | 'deterministic' | 'refused';

/** An invocation, without its journal. */
export interface Invocation {
  /** Number of failed attempts since the last progress. */
  attempt: number;
  /** The ids of the invocations that wait for this one. */
  awaitedBy: string[];
  /** The budgets that it draws on, the nearest first. */
  budget?: BudgetAccount[] | undefined;
  /** The progress of a cancellation. */
  cancel: CancelProgress;
  /** The called invocations, newest first (at most 100). */
  children: InvocationSummary[];
  /** The costs that its last attempt reported, by unit; for activities that have ended. */
  cost?: Record<string, number> | undefined;
  /** When the invocation was created. */
  createdAtMs: number;
  /**
   * The invocations of a deadlock that includes this one or blocks it: each waits for the next,
   * the last one for the first. None of them continues until one is ended.
   */
  deadlock?: string[] | undefined;
  /** The failure, if not resolved. */
  failure?: FailureView | undefined;
  /** The origin of the invocation, if it is a fork. */
  forkedFrom?: ForkedFrom | undefined;
  /** The name of the function. */
  function: string;
  /** Position among the generations of its invocation, if it continued as new. */
  generation?: Generation | undefined;
  /** The id of the invocation. */
  id: string;
  /** The input. */
  input: unknown;
  /** Number of records in the journal. */
  journalLen: number;
  /** True if it was killed: cancelled without a chance to clean up. */
  killed?: boolean | undefined;
  /** The labels of the invocation. */
  labels: Record<string, string>;
  /** The lease of the worker that executes the invocation. */
  lease?: Lease | undefined;
  /** The limit that applies to the invocation, and why the invocation waits for it, if it does. */
  limit?: BehindLimit | undefined;
  /** Addresses of databases that do not answer. What it calls and awaits there is left out. */
  missing?: string[] | undefined;
  /** The digest of the module to which the invocation was pinned at its creation. */
  module?: string | undefined;
  /** The last error, or the reason of a halt. */
  note?: Note | undefined;
  /** The output, if resolved. */
  output?: unknown | undefined;
  /** The id of the calling invocation. */
  parent?: string | undefined;
  /** The progress of an activity that reports it and has not ended. */
  progress?: Progress | undefined;
  /** For a pending invocation: when the task is offered next. */
  retryAtMs?: number | undefined;
  /** Names of its sagas that have or had something to undo; `/sagas` shows them. */
  sagas?: string[] | undefined;
  /** The schedule that started the invocation. */
  schedule?: string | undefined;
  /** When the invocation ended. */
  settledAtMs?: number | undefined;
  /** Number of signals sent so far. */
  signals: number;
  /** The earliest start. */
  startAtMs?: number | undefined;
  /** The state of the invocation. */
  state: InvocationState;
  /** The address of the function. */
  target: string;
  /** The deadline, if any. */
  timeoutAtMs?: number | undefined;
  /** Messages that the invocation has not read, if any. */
  unread?: Unread | undefined;
  /** Version of the task: the number of times that the claim changed hands. */
  version: number;
  /** The awaited promises (at most 100). */
  waits: Wait[];
  /** Number of awaited promises. */
  waitsCount: number;
}

/** Numbers of invocations that match a filter, over all pages. */
export interface InvocationCounts {
  /** True if older invocations were not counted, because only the newest are. */
  newestOnly: boolean;
  /** The numbers by state; states without invocations are omitted. */
  states: Record<string, number>;
}

/** The state and the outcome of an invocation. */
export interface InvocationOutcome {
  /** Number of failed attempts since the last progress. */
  attempt: number;
  /** When the invocation was created. */
  createdAtMs: number;
  /** The failure, if not resolved. */
  failure?: FailureView | undefined;
  /** The id of the invocation. */
  id: string;
  /** True if it was killed: cancelled without a chance to clean up. */
  killed?: boolean | undefined;
  /** The last error, or the reason of a halt. */
  note?: Note | undefined;
  /** The output, if resolved. */
  output?: unknown | undefined;
  /** When the invocation ended. */
  settledAtMs?: number | undefined;
  /** The state of the invocation. */
  state: InvocationState;
  /** The address of the function. */
  target: string;
}

/** A page of invocations, newest first. */
export interface InvocationPage {
  /** Number of invocations in each state, if requested. */
  counts?: InvocationCounts | undefined;
  /** The invocations. */
  items: InvocationSummary[];
  /** Addresses of the databases that do not answer, whose rows are left out (`partial`). */
  missing?: string[] | undefined;
  /** The `after` of the next page; absent on the last page. */
  next?: string | undefined;
  /** Invocations of the page whose rows cannot be read. */
  unreadable?: UnreadableRow[] | undefined;
}

/** The state of an invocation: the task's until it ends, the promise's afterwards. */
export type InvocationState = 'pending' | 'acquired' | 'suspended' | 'halted' | 'resolved' | 'rejected' | 'cancelled' | 'timed-out';

/** An invocation in a listing. */
export interface InvocationSummary {
  /** Number of failed attempts since the last progress. */
  attempt: number;
  /** When the invocation was created. */
  createdAtMs: number;
  /**
   * The failure of an invocation that did not resolve: the first 500 characters of its message,
   * without details.
   */
  failure?: FailureView | undefined;
  /** The origin of the invocation, if it is a fork. */
  forkedFrom?: ForkedFrom | undefined;
  /** The name of the function; absent for external workers if the name is not known. */
  function?: string | undefined;
  /** The id of the invocation. */
  id: string;
  /** Number of records in the journal. */
  journalLen: number;
  /** True if it was killed: cancelled without a chance to clean up. */
  killed?: boolean | undefined;
  /** The labels of the invocation. */
  labels?: Record<string, string> | undefined;
  /** The last error, or the reason of a halt, without `details`. */
  note?: Note | undefined;
  /** The id of the calling invocation. */
  parent?: string | undefined;
  /** The schedule that started the invocation. */
  schedule?: string | undefined;
  /** When the invocation ended. */
  settledAtMs?: number | undefined;
  /** The state of the invocation. */
  state: InvocationState;
  /** Why it cannot continue without intervention, if the listing asks for stuck invocations. */
  stuck?: StuckView | undefined;
  /** The address of the function. */
  target: string;
  /** Number of unread signals and unread promises that were settled early. */
  unread?: number | undefined;
}

/** The workflow for which the outcome of a promise is kept until it creates the promise. */
export interface KeptFor {
  /**
   * Names of the promises that its module declares. If there are any, the workflow creates no
   * promise under another name.
   */
  declares: string[];
  /** The id of the workflow. */
  invocation: string;
  /** The name under which the workflow would create the promise. */
  name: string;
}

/** The last invocation of a schedule. */
export interface LastRun {
  /** Failure of the invocation, or the reason of its halt or of its last failed attempt. */
  error?: string | undefined;
  /** State of the invocation. */
  state: InvocationState;
}

/** The lease on an invocation's task. */
export interface Lease {
  /** The incarnation of the host: the number of its starts. */
  incarnation: number;
  /** The name of the host. */
  node: string;
  /** The end of the lease, unless it is extended. */
  untilAtMs: number;
}

/** Bounds on concurrency and rate. */
export interface LimitBounds {
  /** Maximum number of executions that were admitted and have not settled. */
  concurrency?: number | undefined;
  /** Maximum rate of admissions. */
  rate?: LimitRate | undefined;
}

/** Debouncing: only the last of several executions of a key begins. */
export interface LimitDebounce {
  /** Maximum delay after the first execution, in milliseconds. Absent: no maximum. */
  longestMs?: number | undefined;
  /** Quiet time in milliseconds: the execution begins when no other has arrived for this long. */
  periodMs: number;
}

/** An execution that a limit has admitted. */
export interface LimitHolder {
  /** Id of the execution. */
  id: string;
  /** State of the execution. */
  state: InvocationState;
}

/** Meaning of a higher priority. */
export type LimitOrder = 'strict' | 'weighted';

/** Location of the priority in the input, and its meaning. */
export interface LimitPriority {
  /** Meaning of a higher priority. */
  order?: LimitOrder | undefined;
  /** Path of an integer from 0 to 9 in the input; 0 if absent there. */
  path: string;
}

/** A rate of admissions: a token bucket that is full at first. */
export interface LimitRate {
  /** Capacity of the bucket: the maximum number of executions that begin in one go. */
  burst: number;
  /** Number of tokens added in each period. */
  count: number;
  /** The period in milliseconds, at most 366 days. */
  periodMs: number;
}

/** Bounds on the concurrency and the start rate of a function's executions. */
export interface LimitRule {
  /**
   * Debouncing: only the last of several executions of a key begins. Not together with
   * `singleton`.
   */
  debounce?: LimitDebounce | undefined;
  /**
   * Path of the key in the input: field names and array indexes separated by dots. Absent: all
   * executions of the function share one key.
   */
  key?: string | undefined;
  /** The bounds of each key. */
  perKey?: LimitBounds | undefined;
  /** Order of waiting executions by priority. */
  priority?: LimitPriority | undefined;
  /** Handling of an execution whose key already has one. */
  singleton?: LimitSingleton | undefined;
  /** The bounds of all keys together; only with a key. */
  total?: LimitBounds | undefined;
  /**
   * Relative shares of keys: a key with weight n gets n turns for each turn of a key with weight
   * 1 (the default).
   */
  weights?: Record<string, number> | undefined;
}

/** Handling of an execution whose key already has one. */
export type LimitSingleton = 'skip' | 'replace';

/** The reason why an execution waits for its limit. */
export interface LimitWait {
  /** Number of waiting executions of its key and priority that came earlier (at most 1,000). */
  before: number;
  /** True if there are more than `before`. */
  beforeMore?: boolean | undefined;
  /** Maximum number of concurrent executions of its key. */
  concurrency?: number | undefined;
  /** Earliest begin of an execution of its key, because of `debounce`. */
  debouncedUntilMs?: number | undefined;
  /**
   * The executions that occupy the places for which it waits: halted ones first, then in the
   * order of admission (at most 10).
   */
  holders?: LimitHolder[] | undefined;
  /** When the next token of its key becomes available, if there is none now. */
  nextTokenAtMs?: number | undefined;
  /** Number of executions of its key that were admitted and have not settled. */
  running: number;
  /** Maximum number of concurrent executions of all keys. */
  totalConcurrency?: number | undefined;
  /** When the next token of all keys together becomes available, if there is none now. */
  totalNextTokenAtMs?: number | undefined;
  /** Number of admitted executions of all keys. */
  totalRunning: number;
}

/** A blob of an invocation. */
export interface ListedBlob extends BlobView {
  /** Instant when it was stored. */
  storedAtMs: number;
}

/** The level of a line. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** A log line. */
export interface LogLine {
  /** When the line was logged. */
  atMs: number;
  /** The level of the line. */
  level: LogLevel;
  /** The number of the line in the invocation, from 0. */
  line: number;
  /** The text of the line. */
  message: string;
}

/** A page of an invocation's log. */
export interface LogPage {
  /** The id of the invocation. */
  id: string;
  /** The lines, in order. */
  lines: LogLine[];
  /** The `from` of the next page; absent if there are no further lines. */
  next?: number | undefined;
  /**
   * On the last page, if the last attempt of a workflow trapped: the lines logged since its last
   * commit, at most 8 KiB. They are not part of the log yet: the next attempt logs them again.
   */
  uncommitted?: LogLine[] | undefined;
}

/** A named promise that a workflow awaits, or a signal that it receives. */
export interface Message {
  /** Kind of the message. */
  kind: MessageKind;
  /** The name of the promise or signal. */
  name: string;
  /** JSON schema of the value; the host rejects other values. */
  schema: unknown;
}

/** The kinds of messages to a workflow. */
export type MessageKind = 'promise' | 'signal';

/** A stored module. */
export interface Module extends ModuleDescription {
  /** The current aliases of the module. */
  aliases: string[];
  /** When the module was first uploaded. */
  createdAtMs: number;
  /** The SHA-256 of the component, in hexadecimal. */
  digest: string;
  /** Number of unfinished executions of the module (counted up to 10,000). */
  inUse: number;
  /** The size of the component, in bytes. */
  size: number;
}

/** The description of a component, made at its upload. */
export interface ModuleDescription {
  /** The exports of the component. */
  exports: string[];
  /** The functions of the component. */
  functions: Function[];
  /** The imports of the component. */
  imports: Import[];
  /**
   * Why the host makes no snapshots of long executions and replays them in full. Absent if the
   * code shows no reason.
   */
  noSnapshots?: string | undefined;
}

/** The stored modules. */
export interface ModuleList {
  /** The modules, newest first. */
  modules: Module[];
  /** Modules whose descriptions cannot be read: they are listed without functions. */
  unreadable?: UnreadableRow[] | undefined;
}

/** The last error, or the reason of a halt. */
export interface Note {
  /** Further data, if any. */
  details?: unknown | undefined;
  /** A word for programs, for example `divergence` or `trap`. */
  kind: string;
  /** A sentence for people. */
  message: string;
}

/** A function's access to the object to which it belongs. */
export type ObjectAccess = 'exclusive' | 'shared';

/** One object of a list. */
export interface ObjectItem {
  /** Total size of the values of its state, in bytes. */
  bytes: number;
  /** The invocation that holds the turn; absent if none does. */
  holder?: string | undefined;
  /** Number of names in its state. */
  names: number;
  /** The name: `MODULE/OBJECT@KEY`. */
  object: string;
}

/** A page of objects, by name. */
export interface ObjectList {
  /** The objects with state or with a retained invocation. */
  items: ObjectItem[];
  /** Addresses of the databases that do not answer, whose rows are left out (`partial`). */
  missing?: string[] | undefined;
  /** The `after` of the next page; absent on the last page. */
  next?: string | undefined;
}

/** A promise of an object. A promise that has not been created is pending. */
export interface ObjectPromiseView {
  /** The ids of the invocations that wait for the promise. */
  awaitedBy: string[];
  /**
   * True if this request settled the promise; absent in answers to reads. A promise settles
   * once: later attempts return the first outcome.
   */
  changed?: boolean | undefined;
  /** The failure with which the promise was rejected. */
  failure?: FailureView | undefined;
  /** The id of the promise. */
  id: string;
  /** The name of the promise within the object. */
  name: string;
  /** The object: `MODULE/OBJECT@KEY`. */
  object: string;
  /** When the promise was settled. */
  settledAtMs?: number | undefined;
  /** The state of the promise. */
  state: PromiseState;
  /** The value with which the promise was settled. */
  value?: unknown | undefined;
}

/** An object with its state. */
export interface ObjectView {
  /** The invocation that holds the turn; absent if none does. */
  holder?: string | undefined;
  /** The last invocation in the queue for the turn, if any. */
  last?: string | undefined;
  /** Sizes of the values in bytes, by name, in order. */
  names: Record<string, number>;
  /** The name: `MODULE/OBJECT@KEY`. */
  object: string;
  /** States of the first 100 promises, by name. */
  promises?: Record<string, PromiseState> | undefined;
  /** The invocation that ran for the key, if the function runs once for each key and has run. */
  run?: string | undefined;
  /**
   * Values by name: of the requested name, or of as many names as fit into 1 MiB, from the first
   * name on. Bytes are `{"base64": …}`.
   */
  state: Record<string, unknown>;
}

/** Policy for an occurrence while the schedule's last invocation has not ended. */
export type Overlap = 'allow' | 'skip' | 'queue';

/** The progress of an activity, from its heartbeats. */
export interface Progress {
  /** When the activity last made progress. */
  atMs: number;
  /** The last reported value; the next attempt receives it. */
  value: unknown;
}

/** The answer to `POST /v1/promises`. */
export interface PromiseCreated {
  /**
   * True if this request created the promise. False if it existed already; the answer shows that
   * one.
   */
  created: boolean;
  /** The promise. */
  promise: PromiseView;
}

/** A page of promises, by id. */
export interface PromisePage {
  /** The promises. */
  items: PromiseSummary[];
  /** Addresses of the databases that do not answer, whose rows are left out (`partial`). */
  missing?: string[] | undefined;
  /** The `after` of the next page; absent on the last page. */
  next?: string | undefined;
  /** Promises of the page whose rows cannot be read. */
  unreadable?: UnreadableRow[] | undefined;
}

/** The state of a promise. */
export type PromiseState = 'pending' | 'resolved' | 'rejected' | 'cancelled' | 'timed-out';

/** A promise in a listing. */
export interface PromiseSummary {
  /** When the promise was created. */
  createdAtMs: number;
  /** The id of the promise. */
  id: string;
  /** The id of the invocation that created the promise. */
  madeBy?: string | undefined;
  /** When the promise was settled. */
  settledAtMs?: number | undefined;
  /** The state of the promise. */
  state: PromiseState;
  /** The tags of the promise. */
  tags: Record<string, string>;
  /** The deadline, if any. */
  timeoutAtMs?: number | undefined;
}

/** A promise. */
export interface PromiseView {
  /** The ids of the invocations that wait for the promise. */
  awaitedBy: string[];
  /**
   * True if this request changed the promise; absent in answers to reads. A promise settles
   * once: later attempts return the first outcome.
   */
  changed?: boolean | undefined;
  /** When the promise was created. */
  createdAtMs: number;
  /** The failure with which the promise was rejected. */
  failure?: FailureView | undefined;
  /** The id of the promise. */
  id: string;
  /** The workflow for which the outcome is kept, if it has not created the promise yet. */
  keptFor?: KeptFor | undefined;
  /** The id of the invocation that created the promise. */
  madeBy?: string | undefined;
  /** The parameter with which the promise was created. */
  param?: unknown | undefined;
  /** When the promise was settled. */
  settledAtMs?: number | undefined;
  /** The state of the promise. */
  state: PromiseState;
  /** The tags of the promise. */
  tags: Record<string, string>;
  /** The deadline, if any. */
  timeoutAtMs?: number | undefined;
  /** The value with which the promise was settled. */
  value?: unknown | undefined;
}

/** The answer to a query. */
export interface QueryAnswer {
  /** Id of the invocation. */
  id: string;
  /**
   * Number of records in the journal, or the requested number. Larger than `records` if the code
   * does not get that far.
   */
  journalLen: number;
  /** Digest of the module that answered. */
  module: string;
  /** The name of the query. */
  name: string;
  /** Number of records that the workflow had replayed when it answered. */
  records: number;
  /** The workflow's answer. */
  value: unknown;
}

/** The answer of `GET /ready`: the store answers and the host takes work. */
export interface Readiness {
  /**
   * Addresses of databases that do not answer, of a store in several of them. Executions in
   * these wait, and the others go on.
   */
  missing?: string[] | undefined;
  /** Always `ready`; a host that is not ready answers with a problem. */
  status: string;
}

/**
 * The body of `POST /v1/promises/{id}/reject`: a failure with a code and a message, or any JSON as
 * `value`.
 */
export interface RejectPromise {
  /** The failure. */
  failure?: FailureView | undefined;
  /** Any JSON in place of `failure`, for readers other than functions. */
  value?: unknown | undefined;
}

/** The answer to `DELETE /v1/invocations/{id}`. */
export interface Removed {
  /** The id of the invocation. */
  id: string;
  /** Number of removed promises: the invocation's own and those of all its descendants. */
  promises: number;
}

/** The body of `POST /v1/promises/{id}/resolve`. */
export interface ResolvePromise {
  /** Any JSON; `null` if absent. */
  value?: unknown | undefined;
}

/** The body of `POST /v1/invocations/{id}/restart`. */
export interface RestartInvocation {
  /**
   * The id of the new invocation: the same id again returns the same invocation. Absent: the
   * first free id of `{id}-r1`, `{id}-r2`, ….
   */
  id?: string | undefined;
  /**
   * The alias or digest of the module to run. Absent: the alias under which the old invocation
   * was started, which may point to newer code by now.
   */
  module?: string | undefined;
}

/** The policy for repeating failed attempts. */
export interface Retry {
  /** Factor by which each delay exceeds the previous one. */
  factor: number;
  /** Delay before the second attempt, in milliseconds. */
  initialMs: number;
  /** Random fraction of each delay, from 0 to 1. */
  jitter: number;
  /** Maximum number of attempts; unlimited if absent. */
  maxAttempts?: number | undefined;
  /** Maximum delay, in milliseconds. */
  maxMs: number;
  /** Failure codes that are never retried. */
  nonRetryable?: number[] | undefined;
}

/** The answer to `POST /v1/schedules`. */
export interface ScheduleCreated {
  /**
   * True if this request created it. False if a schedule with this id existed already; the
   * answer shows that one.
   */
  created: boolean;
  /** The schedule. */
  schedule: ScheduleView;
}

/** A page of schedules, by id. */
export interface ScheduleList {
  /** The schedules. */
  items: ScheduleView[];
  /** Addresses of the databases that do not answer, whose rows are left out (`partial`). */
  missing?: string[] | undefined;
  /** The `after` of the next page; absent on the last page. */
  next?: string | undefined;
  /** Schedules of the page whose rows cannot be read. */
  unreadable?: UnreadableRow[] | undefined;
}

/** A schedule. */
export interface ScheduleView {
  /** The budget of each invocation: limits by unit. */
  budget?: Record<string, number> | undefined;
  /** When the schedule was created. */
  createdAtMs: number;
  /** The cron expression. */
  cron: string;
  /** The name of the function; absent for external workers if the name is not known. */
  function?: string | undefined;
  /** The id of the schedule. */
  id: string;
  /** The input of the invocations. */
  input: unknown;
  /** The template for the ids of invocations. */
  invocationId: string;
  /** Maximum random delay between an occurrence and its start, if any. */
  jitterMs?: number | undefined;
  /** Labels of the invocations. */
  labels: Record<string, string>;
  /** State of the last invocation, if it is still stored. */
  last?: LastRun | undefined;
  /** The last occurrence for which an invocation was started. */
  lastAtMs?: number | undefined;
  /** The id of the last invocation. */
  lastId?: string | undefined;
  /** The next occurrence; absent if there is none. */
  nextAtMs?: number | undefined;
  /** Policy for occurrences while the last invocation has not ended. */
  overlap: Overlap;
  /** True if the schedule is paused. */
  paused: boolean;
  /** Why the next occurrence cannot be started at present: its module or function is missing. */
  problem?: string | undefined;
  /** Number of skipped occurrences. */
  skipped: number;
  /**
   * Numbers of skipped occurrences by reason. They may add up to less than `skipped`, because
   * earlier versions did not record reasons.
   */
  skips?: SkipsView[] | undefined;
  /** The address of the function to start. */
  target: string;
  /** Milliseconds from an occurrence to the deadline of its invocation, if any. */
  timeoutMs?: number | undefined;
  /**
   * The next ten occurrences, for a paused schedule those after now. Present only when a single
   * schedule is read.
   */
  upcoming?: Upcoming[] | undefined;
  /** IANA name of the time zone in which the expression is evaluated. */
  zone?: string | undefined;
}

/** A query with its input. */
export interface SendQuery {
  /** Evaluates the query against the state after this number of journal records (1 or more). */
  at?: number | undefined;
  /** The input. */
  input?: unknown | undefined;
}

/** The body of `POST /v1/invocations/{id}/signals`. */
export interface SendSignal {
  /** Deduplication key: the same key again, with the same name and payload, sends nothing. */
  key?: string | undefined;
  /** The name of the signal, by which the function receives it. */
  name: string;
  /** Any JSON; `null` if absent. */
  payload?: unknown | undefined;
  /** The invocation to start, in the same transaction, if none with this id exists. */
  start?: StartFirst | undefined;
}

/** The body of an update request. */
export interface SendUpdate {
  /** The input. */
  input?: unknown | undefined;
  /**
   * Deduplication key: an update is sent once for each key. Without a key, a repeated request is
   * a new update.
   */
  key?: string | undefined;
  /** The invocation to start first, under the id in the route, if none exists. */
  start?: StartFirst | undefined;
  /**
   * Maximum wait in milliseconds (default 30 s, at most 300 s). An accepted update is processed
   * even if no client waits for it.
   */
  timeoutMs?: number | undefined;
  /** The stage to wait for: acceptance, or the answer. */
  wait?: UpdateWait | undefined;
}

/** The body of `PUT /v1/invocations/{id}/budget`. */
export interface SetBudget {
  /** New limits by unit. Units that are not named keep theirs. */
  limits: Record<string, number>;
}

/** The answer to a signal. */
export interface SignalAccepted {
  /** The id of the invocation. If it continued as new, the id of its newest generation. */
  id: string;
  /** The index of the signal in its invocation, from 0. */
  signal: number;
  /** True if this request started the invocation. */
  started?: boolean | undefined;
}

/** Occurrences skipped for the same reason. */
export interface SkipsView {
  /** Number of these occurrences. */
  count: number;
  /** Description of the cause. */
  detail: string;
  /** The latest of these occurrences. */
  lastAtMs: number;
  /**
   * `overlap`: the last invocation had not ended. `missed`: no host was running in time.
   * `refused`: the invocation could not be created.
   */
  reason: string;
}

/** An invocation to start if an update or a signal finds none. */
export interface StartFirst {
  /**
   * The budget of the invocation and everything below it: limits by unit, decimal numbers with at
   * most six places. The host counts `calls`; activities report all others, as `tokens`.
   */
  budget?: Record<string, number> | undefined;
  /** Input of the function; `null` if absent. */
  input?: unknown | undefined;
  /** Labels by which invocations are listed. */
  labels?: Record<string, string> | undefined;
  /** The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`. */
  target: string;
  /** Milliseconds from now to the deadline. Absent: the function's own default, if it has one. */
  timeoutMs?: number | undefined;
}

/** The body of `POST /v1/invocations`. */
export interface StartInvocation {
  /**
   * Maximum duration of one attempt of an activity, in milliseconds. An attempt that takes
   * longer is dropped and fails with code 408, so that `retry` applies. No effect on workflows.
   */
  attemptTimeoutMs?: number | undefined;
  /**
   * The budget of the invocation and everything below it: limits by unit, decimal numbers with at
   * most six places. The host counts `calls`; activities report all others, as `tokens`.
   */
  budget?: Record<string, number> | undefined;
  /**
   * The id of the invocation. The same id again, with the same target and input, returns the
   * first execution. Absent: the host generates an id; for a function that runs once for each
   * key, the id is `MODULE/OBJECT@KEY/FUNCTION`.
   */
  id?: string | undefined;
  /** Any JSON that matches the function's input schema; `null` if absent. */
  input?: unknown | undefined;
  /** Labels by which invocations are listed. */
  labels?: Record<string, string> | undefined;
  /** Retry policy of an activity; the function's own if absent. No effect on workflows. */
  retry?: StartRetry | undefined;
  /** The earliest start. */
  startAtMs?: number | undefined;
  /** The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`. */
  target: string;
  /** Milliseconds from now to the deadline. Absent: the function's own default, if it has one. */
  timeoutMs?: number | undefined;
  /** Maximum wait for the end before answering, in milliseconds. */
  waitMs?: number | undefined;
}

/**
 * Retry policy for a started activity. Absent fields default to the function's policy, then to the
 * host's.
 */
export interface StartRetry {
  /** Factor by which each delay exceeds the previous one. */
  factor?: number | undefined;
  /** The delay before the second attempt, in milliseconds. */
  initialMs?: number | undefined;
  /** Random fraction of each delay, from 0 to 1. */
  jitter?: number | undefined;
  /** Maximum number of attempts. */
  maxAttempts?: number | undefined;
  /** Maximum delay, in milliseconds. */
  maxMs?: number | undefined;
  /** Failure codes that are never retried. */
  nonRetryable?: number[] | undefined;
}

/** The answer to a start. */
export interface Started {
  /** The limit for which the invocation waits, if it does. */
  behind?: BehindLimit | undefined;
  /**
   * True if this request started it. False if an invocation with this id existed already; the
   * answer shows that one.
   */
  created: boolean;
  /** The id of the invocation. */
  id: string;
  /** The state of the invocation. */
  invocation: InvocationOutcome;
}

/** The reason why an invocation cannot continue without intervention. */
export interface StuckView {
  /**
   * A word for programs: `halted`, `diverged`, `trapped`, `exhausted`, `claims-lost`, `damaged`,
   * `waits-for-nothing`, `module-missing`, `deadlocked`, `limit-closed`, `no-worker`, `failing`
   * or `unsettled`.
   */
  reason: string;
  /** A sentence for people. */
  why: string;
}

/** The body of `POST /v1/schedules/{id}/trigger`. */
export interface Trigger {
  /**
   * The instant used in the invocation's id; now if absent. The same instant again starts
   * nothing, so a request with an instant may be repeated.
   */
  atMs?: number | undefined;
}

/** The answer to `POST /v1/schedules/{id}/trigger`. */
export interface Triggered {
  /** True if this request started it; false if it existed already. */
  created: boolean;
  /** The id of the invocation. */
  id: string;
}

/** The answer to `DELETE /v1/modules/{alias}`. */
export interface Undeployed {
  /** The removed alias. */
  alias: string;
  /** The module to which the alias pointed. Executions that began on it finish on it. */
  module: Module;
}

/** Messages that a workflow has not read. After its end they stay unread. */
export interface Unread {
  /** Names of settled promises that the workflow has not created yet. */
  promises?: string[] | undefined;
  /** Number of signals and updates. */
  signals: number;
}

/** An object whose rows cannot be read, or that the database cannot write. */
export interface UnreadableRow {
  /** The id of the object; for a message, that of its promise. */
  id: string;
  /** The kind of the object: promise, schedule, message or resource. */
  kind: string;
  /** The error. */
  reason: string;
}

/** A future occurrence. */
export interface Upcoming {
  /** The instant. */
  atMs: number;
  /** Local time of the occurrence in the schedule's zone. */
  local: string;
  /** When the invocation starts, if the schedule has jitter. */
  startsAtMs?: number | undefined;
}

/** An accepted update. */
export interface UpdateAnswer {
  /** The failure, if failed. */
  failure?: FailureView | undefined;
  /** Id of the invocation. */
  id: string;
  /** The name of the update. */
  name: string;
  /** The answer, if completed. */
  output?: unknown | undefined;
  /** The promise that the workflow settles with its answer. */
  promise: string;
  /** Progress of the update. */
  state: UpdateState;
}

/** Progress of an update. */
export type UpdateState = 'accepted' | 'completed' | 'failed';

/** The stage of an update for which its sender waits. */
export type UpdateWait = 'accepted' | 'completed';

/** A promise for which an invocation waits. */
export interface Wait {
  /** Number of failed attempts of a call since its last progress. */
  attempt?: number | undefined;
  /** The awaited promise. */
  id: string;
  /** The kind of the promise. */
  kind: WaitKind;
  /** The last error of a call, or the reason of a halt, without `details`. */
  note?: Note | undefined;
  /** For a pending call: when the task is offered next. */
  retryAtMs?: number | undefined;
  /** The state of a call. */
  state?: InvocationState | undefined;
  /** The called function's address, for calls. */
  target?: string | undefined;
  /** When the wait ends without further events: the instant of a timer, or a deadline. */
  untilAtMs?: number | undefined;
}

/** The kind of an awaited promise. */
export type WaitKind = 'call' | 'turn' | 'timer' | 'signal' | 'promise';

/** The routes that the client uses. */
export interface Routes {
  /** Answers as long as the process is alive. Needs no token. */
  'GET /health': { query: undefined; body: undefined; answer: Health };
  /** Answers 200 if the host accepts work and its store commits. Needs no token. */
  'GET /ready': { query: undefined; body: undefined; answer: Readiness };
  /**
   * Reads unacknowledged events, oldest first. With `waitMs`, an empty answer is sent only after
   * this time.
   */
  'GET /v1/events': { query: { topic?: string | undefined; cursor?: string | undefined; limit?: number | undefined; waitMs?: number | undefined }; body: undefined; answer: EventPage };
  /** Acknowledges events: they are not read or delivered again. */
  'POST /v1/events/ack': { query: undefined; body: AcknowledgeEvents; answer: Acknowledged };
  /** Lists invocations, newest first. */
  'GET /v1/invocations': { query: { module?: string | undefined; function?: string | undefined; state?: string | undefined; stuck?: boolean | undefined; error?: string | undefined; prefix?: string | undefined; label?: string | undefined; parent?: string | undefined; roots?: boolean | undefined; sinceAtMs?: number | undefined; untilAtMs?: number | undefined; counts?: boolean | undefined; partial?: boolean | undefined; after?: string | undefined; limit?: number | undefined }; body: undefined; answer: InvocationPage };
  /**
   * Starts an invocation. The same id again with the same target and input returns the first
   * execution; with others it is refused (409 `key-reused`).
   */
  'POST /v1/invocations': { query: undefined; body: StartInvocation; answer: Started };
  /** Reads an invocation, without its journal. */
  'GET /v1/invocations/{id}': { query: undefined; body: undefined; answer: Invocation };
  /**
   * Removes an ended invocation, with its journal, its log and all its descendants. The id is then
   * free again. With `cancel`, first cancels executions that have not ended, and kills them after
   * `graceMs` milliseconds.
   */
  'DELETE /v1/invocations/{id}': { query: { cancel?: boolean | undefined; graceMs?: number | undefined }; body: undefined; answer: Removed };
  /** Requests the cancellation of an invocation, which may clean up before it ends. */
  'POST /v1/invocations/{id}/cancel': { query: undefined; body: undefined; answer: Accepted };
  /** Kills an invocation: ends it immediately, without notifying it. */
  'POST /v1/invocations/{id}/kill': { query: undefined; body: undefined; answer: Accepted };
  /**
   * Halts an invocation until it is continued. The holder of its task loses the claim, and its
   * further writes are refused.
   */
  'POST /v1/invocations/{id}/halt': { query: undefined; body: undefined; answer: Accepted };
  /**
   * Continues a halted invocation. With a module, moves the invocation to it if a replay of the
   * journal is identical; otherwise changes nothing.
   */
  'POST /v1/invocations/{id}/continue': { query: undefined; body: ContinueInvocation; answer: Continued };
  /**
   * Starts a new invocation with the function, input, labels and time limit of this one, regardless
   * of this one's state. Its label `restart-of` names this one.
   */
  'POST /v1/invocations/{id}/restart': { query: undefined; body: RestartInvocation; answer: Started };
  /** Lists the blobs of an execution, which are those of the root of its tree. */
  'GET /v1/invocations/{id}/blobs': { query: undefined; body: undefined; answer: BlobList };
  /**
   * Stores the body as a blob of an execution, and answers with its reference. The execution need not
   * exist yet, so that its input can refer to the blob. A blob of a part of a tree belongs to the root,
   * and is removed with it. `Content-Digest: sha-256=:BASE64:` is compared with the content.
   */
  'POST /v1/invocations/{id}/blobs': { query: undefined; body: Uint8Array; answer: BlobView };
  /** Reads a blob of an execution, whole or a range of its bytes. */
  'GET /v1/invocations/{id}/blobs/{digest}': { query: { presign?: number | undefined }; body: undefined; answer: Uint8Array };
  /** Removes a blob of an execution. References to it then lead nowhere. */
  'DELETE /v1/invocations/{id}/blobs/{digest}': { query: undefined; body: undefined; answer: Uint8Array };
  /** Reads the budgets that an execution draws on, and those of the executions below it. */
  'GET /v1/invocations/{id}/budget': { query: undefined; body: undefined; answer: BudgetView };
  /**
   * Sets limits of an execution's own budget. The other units keep theirs, and what is used stays
   * used: 402 ends when the limit is above it.
   */
  'PUT /v1/invocations/{id}/budget': { query: undefined; body: SetBudget; answer: BudgetView };
  /** Lists the log lines of an invocation, in order. */
  'GET /v1/invocations/{id}/logs': { query: { from?: number | undefined; limit?: number | undefined }; body: undefined; answer: LogPage };
  /** Sends a query whose input is too long for a URL. */
  'POST /v1/invocations/{id}/queries/{name}': { query: undefined; body: SendQuery; answer: QueryAnswer };
  /**
   * Sends an update to a workflow, and waits until it is accepted or answered. The workflow first
   * validates the update; a refused update leaves no trace.
   */
  'POST /v1/invocations/{id}/updates/{name}': { query: undefined; body: SendUpdate; answer: UpdateAnswer };
  /**
   * Sends a signal to an invocation. With `start`, starts the invocation in the same transaction if
   * it does not exist.
   */
  'POST /v1/invocations/{id}/signals': { query: undefined; body: SendSignal; answer: SignalAccepted };
  /**
   * Waits for the end of the invocation. Answers with its current state when the time is over, and
   * at once if it is halted.
   */
  'GET /v1/invocations/{id}/wait': { query: { timeoutMs?: number | undefined }; body: undefined; answer: InvocationOutcome };
  /** Lists the stored modules, newest first. */
  'GET /v1/modules': { query: undefined; body: undefined; answer: ModuleList };
  /**
   * Uploads a component, checks it, and points an alias to it. Executions that began on the alias's
   * previous module finish on that module.
   */
  'POST /v1/modules': { query: { alias?: string | undefined }; body: Uint8Array; answer: Deployed };
  /** Describes one module. */
  'GET /v1/modules/{module}': { query: undefined; body: undefined; answer: Module };
  /**
   * Removes an alias. No further executions start through it. Executions that began finish on their
   * module, and retention removes the module after them.
   */
  'DELETE /v1/modules/{module}': { query: undefined; body: undefined; answer: Undeployed };
  /** Downloads the component of a module as it was uploaded. */
  'GET /v1/modules/{module}/component': { query: undefined; body: undefined; answer: Uint8Array };
  /** Lists objects with state or with a retained invocation, by name. */
  'GET /v1/objects': { query: { prefix?: string | undefined; partial?: boolean | undefined; after?: string | undefined; limit?: number | undefined }; body: undefined; answer: ObjectList };
  /**
   * Reads an object: its state, and the holder of its turn. An object that was never written has no
   * state.
   */
  'GET /v1/objects/{module}/{object}/{key}': { query: { name?: string | undefined }; body: undefined; answer: ObjectView };
  /**
   * Changes the state of an object: 409 `object-busy` while an invocation holds the turn, or waits
   * for it.
   */
  'PATCH /v1/objects/{module}/{object}/{key}': { query: undefined; body: ChangeState; answer: ObjectView };
  /**
   * Calls a function of an object, as `POST /v1/invocations` does with the target
   * `MODULE/OBJECT@KEY/FUNCTION`.
   */
  'POST /v1/objects/{module}/{object}/{key}/{function}': { query: undefined; body: CallObject; answer: Started };
  /** Reads a promise of an object. A promise that has not been created is pending. */
  'GET /v1/objects/{module}/{object}/{key}/promises/{name}': { query: undefined; body: undefined; answer: ObjectPromiseView };
  /**
   * Resolves a promise of an object, before, while or after an invocation waits for it. A promise
   * settles once: later attempts return the first outcome.
   */
  'POST /v1/objects/{module}/{object}/{key}/promises/{name}/resolve': { query: undefined; body: ResolvePromise; answer: ObjectPromiseView };
  /** Rejects a promise of an object with a failure, or with any JSON value. */
  'POST /v1/objects/{module}/{object}/{key}/promises/{name}/reject': { query: undefined; body: RejectPromise; answer: ObjectPromiseView };
  /** Lists promises by id, those of invocations and all others. */
  'GET /v1/promises': { query: { state?: string | undefined; external?: boolean | undefined; signals?: boolean | undefined; prefix?: string | undefined; tags?: string | undefined; partial?: boolean | undefined; after?: string | undefined; limit?: number | undefined }; body: undefined; answer: PromisePage };
  /**
   * Creates a promise. The same id again with the same parameter and target returns the first
   * promise, unchanged; with others it is refused (409 `key-reused`).
   */
  'POST /v1/promises': { query: undefined; body: CreatePromise; answer: PromiseCreated };
  /** Reads a promise. */
  'GET /v1/promises/{id}': { query: undefined; body: undefined; answer: PromiseView };
  /**
   * Resolves a promise with a value. A promise settles once: later attempts return the first
   * outcome. A named promise of a workflow (`ID/p/NAME`) may be settled before the workflow creates
   * it.
   */
  'POST /v1/promises/{id}/resolve': { query: undefined; body: ResolvePromise; answer: PromiseView };
  /** Rejects a promise with a failure, or with any JSON value. */
  'POST /v1/promises/{id}/reject': { query: undefined; body: RejectPromise; answer: PromiseView };
  /** Settles a promise as cancelled. */
  'POST /v1/promises/{id}/cancel': { query: undefined; body: undefined; answer: PromiseView };
  /** Lists schedules, by id. */
  'GET /v1/schedules': { query: { prefix?: string | undefined; label?: string | undefined; partial?: boolean | undefined; after?: string | undefined; limit?: number | undefined }; body: undefined; answer: ScheduleList };
  /**
   * Creates a schedule. The same id again with the same schedule returns the first one, unchanged;
   * with another schedule it is refused (409 `key-reused`).
   */
  'POST /v1/schedules': { query: undefined; body: CreateSchedule; answer: ScheduleCreated };
  /** Reads a schedule. */
  'GET /v1/schedules/{id}': { query: undefined; body: undefined; answer: ScheduleView };
  /** Removes a schedule. Its invocations remain. */
  'DELETE /v1/schedules/{id}': { query: undefined; body: undefined; answer: Accepted };
  /** Pauses a schedule until it is resumed. */
  'POST /v1/schedules/{id}/pause': { query: undefined; body: undefined; answer: ScheduleView };
  /**
   * Resumes a paused schedule with its next occurrence. Occurrences missed during the pause are not
   * started; a backfill starts them.
   */
  'POST /v1/schedules/{id}/resume': { query: undefined; body: undefined; answer: ScheduleView };
  /**
   * Starts an invocation now, as for an occurrence, even if the schedule is paused. Its deadline
   * counts from now.
   */
  'POST /v1/schedules/{id}/trigger': { query: undefined; body: Trigger; answer: Triggered };
  /**
   * Starts the missed occurrences of a schedule in a past interval, in order. Deadlines count from
   * now. Repeating a backfill starts nothing twice.
   */
  'POST /v1/schedules/{id}/backfill': { query: undefined; body: Backfill; answer: Backfilled };
}

/** The types of the body and the answer of each route, as far as they are JSON. */
export const routes: Record<keyof Routes, [body: string | undefined, answer: string | undefined]> = {
  'GET /health': [undefined, 'Health'],
  'GET /ready': [undefined, 'Readiness'],
  'GET /v1/events': [undefined, 'EventPage'],
  'POST /v1/events/ack': ['AcknowledgeEvents', 'Acknowledged'],
  'GET /v1/invocations': [undefined, 'InvocationPage'],
  'POST /v1/invocations': ['StartInvocation', 'Started'],
  'GET /v1/invocations/{id}': [undefined, 'Invocation'],
  'DELETE /v1/invocations/{id}': [undefined, 'Removed'],
  'POST /v1/invocations/{id}/cancel': [undefined, 'Accepted'],
  'POST /v1/invocations/{id}/kill': [undefined, 'Accepted'],
  'POST /v1/invocations/{id}/halt': [undefined, 'Accepted'],
  'POST /v1/invocations/{id}/continue': ['ContinueInvocation', 'Continued'],
  'POST /v1/invocations/{id}/restart': ['RestartInvocation', 'Started'],
  'GET /v1/invocations/{id}/blobs': [undefined, 'BlobList'],
  'POST /v1/invocations/{id}/blobs': [undefined, 'BlobView'],
  'GET /v1/invocations/{id}/blobs/{digest}': [undefined, undefined],
  'DELETE /v1/invocations/{id}/blobs/{digest}': [undefined, undefined],
  'GET /v1/invocations/{id}/budget': [undefined, 'BudgetView'],
  'PUT /v1/invocations/{id}/budget': ['SetBudget', 'BudgetView'],
  'GET /v1/invocations/{id}/logs': [undefined, 'LogPage'],
  'POST /v1/invocations/{id}/queries/{name}': ['SendQuery', 'QueryAnswer'],
  'POST /v1/invocations/{id}/updates/{name}': ['SendUpdate', 'UpdateAnswer'],
  'POST /v1/invocations/{id}/signals': ['SendSignal', 'SignalAccepted'],
  'GET /v1/invocations/{id}/wait': [undefined, 'InvocationOutcome'],
  'GET /v1/modules': [undefined, 'ModuleList'],
  'POST /v1/modules': [undefined, 'Deployed'],
  'GET /v1/modules/{module}': [undefined, 'Module'],
  'DELETE /v1/modules/{module}': [undefined, 'Undeployed'],
  'GET /v1/modules/{module}/component': [undefined, undefined],
  'GET /v1/objects': [undefined, 'ObjectList'],
  'GET /v1/objects/{module}/{object}/{key}': [undefined, 'ObjectView'],
  'PATCH /v1/objects/{module}/{object}/{key}': ['ChangeState', 'ObjectView'],
  'POST /v1/objects/{module}/{object}/{key}/{function}': ['CallObject', 'Started'],
  'GET /v1/objects/{module}/{object}/{key}/promises/{name}': [undefined, 'ObjectPromiseView'],
  'POST /v1/objects/{module}/{object}/{key}/promises/{name}/resolve': ['ResolvePromise', 'ObjectPromiseView'],
  'POST /v1/objects/{module}/{object}/{key}/promises/{name}/reject': ['RejectPromise', 'ObjectPromiseView'],
  'GET /v1/promises': [undefined, 'PromisePage'],
  'POST /v1/promises': ['CreatePromise', 'PromiseCreated'],
  'GET /v1/promises/{id}': [undefined, 'PromiseView'],
  'POST /v1/promises/{id}/resolve': ['ResolvePromise', 'PromiseView'],
  'POST /v1/promises/{id}/reject': ['RejectPromise', 'PromiseView'],
  'POST /v1/promises/{id}/cancel': [undefined, 'PromiseView'],
  'GET /v1/schedules': [undefined, 'ScheduleList'],
  'POST /v1/schedules': ['CreateSchedule', 'ScheduleCreated'],
  'GET /v1/schedules/{id}': [undefined, 'ScheduleView'],
  'DELETE /v1/schedules/{id}': [undefined, 'Accepted'],
  'POST /v1/schedules/{id}/pause': [undefined, 'ScheduleView'],
  'POST /v1/schedules/{id}/resume': [undefined, 'ScheduleView'],
  'POST /v1/schedules/{id}/trigger': ['Trigger', 'Triggered'],
  'POST /v1/schedules/{id}/backfill': ['Backfill', 'Backfilled'],
};

/**
 * The fields of each type that hold other types: `Type`, `[Type` for a list, `{Type` for a map; `...` names a
 * base.
 */
export const nested: Record<string, Record<string, string>> = {
  Accepted: {},
  AcknowledgeEvents: {},
  Acknowledged: {},
  Backfill: {},
  Backfilled: {},
  BehindLimit: {"waits":"LimitWait"},
  BlobList: {"blobs":"[ListedBlob"},
  BlobView: {},
  BudgetAccount: {"units":"{BudgetUnit"},
  BudgetUnit: {},
  BudgetView: {"accounts":"[BudgetAccount","below":"[BudgetAccount"},
  CallObject: {},
  ChangeState: {},
  CloudEvent: {},
  ContinueInvocation: {},
  Continued: {},
  CreatePromise: {},
  CreateSchedule: {},
  Deployed: {"module":"Module"},
  EventPage: {"events":"[CloudEvent"},
  FailureView: {},
  ForkedFrom: {},
  Function: {"handlers":"[Handler","limit":"LimitRule","messages":"[Message","retry":"Retry"},
  Generation: {},
  Handler: {},
  Health: {},
  Import: {},
  Invocation: {"budget":"[BudgetAccount","children":"[InvocationSummary","failure":"FailureView","forkedFrom":"ForkedFrom","generation":"Generation","lease":"Lease","limit":"BehindLimit","note":"Note","progress":"Progress","unread":"Unread","waits":"[Wait"},
  InvocationCounts: {},
  InvocationOutcome: {"failure":"FailureView","note":"Note"},
  InvocationPage: {"counts":"InvocationCounts","items":"[InvocationSummary","unreadable":"[UnreadableRow"},
  InvocationSummary: {"failure":"FailureView","forkedFrom":"ForkedFrom","note":"Note","stuck":"StuckView"},
  KeptFor: {},
  LastRun: {},
  Lease: {},
  LimitBounds: {"rate":"LimitRate"},
  LimitDebounce: {},
  LimitHolder: {},
  LimitPriority: {},
  LimitRate: {},
  LimitRule: {"debounce":"LimitDebounce","perKey":"LimitBounds","priority":"LimitPriority","total":"LimitBounds"},
  LimitWait: {"holders":"[LimitHolder"},
  ListedBlob: {"...":"BlobView"},
  LogLine: {},
  LogPage: {"lines":"[LogLine","uncommitted":"[LogLine"},
  Message: {},
  Module: {"...":"ModuleDescription"},
  ModuleDescription: {"functions":"[Function","imports":"[Import"},
  ModuleList: {"modules":"[Module","unreadable":"[UnreadableRow"},
  Note: {},
  ObjectItem: {},
  ObjectList: {"items":"[ObjectItem"},
  ObjectPromiseView: {"failure":"FailureView"},
  ObjectView: {},
  Progress: {},
  PromiseCreated: {"promise":"PromiseView"},
  PromisePage: {"items":"[PromiseSummary","unreadable":"[UnreadableRow"},
  PromiseSummary: {},
  PromiseView: {"failure":"FailureView","keptFor":"KeptFor"},
  QueryAnswer: {},
  Readiness: {},
  RejectPromise: {"failure":"FailureView"},
  Removed: {},
  ResolvePromise: {},
  RestartInvocation: {},
  Retry: {},
  ScheduleCreated: {"schedule":"ScheduleView"},
  ScheduleList: {"items":"[ScheduleView","unreadable":"[UnreadableRow"},
  ScheduleView: {"last":"LastRun","skips":"[SkipsView","upcoming":"[Upcoming"},
  SendQuery: {},
  SendSignal: {"start":"StartFirst"},
  SendUpdate: {"start":"StartFirst"},
  SetBudget: {},
  SignalAccepted: {},
  SkipsView: {},
  StartFirst: {},
  StartInvocation: {"retry":"StartRetry"},
  StartRetry: {},
  Started: {"behind":"BehindLimit","invocation":"InvocationOutcome"},
  StuckView: {},
  Trigger: {},
  Triggered: {},
  Undeployed: {"module":"Module"},
  Unread: {},
  UnreadableRow: {},
  Upcoming: {},
  UpdateAnswer: {"failure":"FailureView"},
  Wait: {"note":"Note"},
};

/** The stable codes of problems that the OpenAPI document names. */
export type ProblemCode =
  | 'alias-moved'
  | 'already-sent'
  | 'already-settled'
  | 'bad-request'
  | 'beyond-the-end'
  | 'blob-damaged'
  | 'blobs-unavailable'
  | 'body-too-large'
  | 'body-too-slow'
  | 'broken-body'
  | 'conflict'
  | 'diverges'
  | 'foreign-host'
  | 'foreign-origin'
  | 'id-taken'
  | 'internal'
  | 'invalid-body'
  | 'invalid-field'
  | 'invalid-header'
  | 'invalid-id'
  | 'invalid-input'
  | 'invalid-json'
  | 'invalid-limit'
  | 'invalid-path'
  | 'invalid-plan'
  | 'invalid-query'
  | 'invalid-result'
  | 'invalid-target'
  | 'is-a-graph-run'
  | 'is-an-invocation'
  | 'journal-damaged'
  | 'journal-grew'
  | 'journal-mismatch'
  | 'key-reused'
  | 'method-not-allowed'
  | 'missing-csrf'
  | 'no-blobs'
  | 'no-fork-there'
  | 'no-handlers'
  | 'no-journal'
  | 'no-module'
  | 'no-such-command'
  | 'no-such-record'
  | 'not-a-graph-run'
  | 'not-allowed'
  | 'not-begun'
  | 'not-counted'
  | 'not-ended'
  | 'not-holder'
  | 'not-ready'
  | 'not-removable'
  | 'not-signed'
  | 'object-busy'
  | 'overloaded'
  | 'query-failed'
  | 'query-trapped'
  | 'ran-already'
  | 'read-too-long'
  | 'replay-failed'
  | 'resource-busy'
  | 'schedule-overlaps'
  | 'sequence-gap'
  | 'stale-epoch'
  | 'stale-token'
  | 'stale-version'
  | 'store-unavailable'
  | 'stream-closed'
  | 'stream-content-type'
  | 'stream-differs'
  | 'stream-gone'
  | 'stream-of-execution'
  | 'stream-rate'
  | 'stream-sequence'
  | 'too-large'
  | 'unauthorized'
  | 'unknown-blob'
  | 'unknown-function'
  | 'unknown-invocation'
  | 'unknown-module'
  | 'unknown-outcome'
  | 'unknown-promise'
  | 'unknown-query'
  | 'unknown-resource'
  | 'unknown-route'
  | 'unknown-schedule'
  | 'unknown-signal'
  | 'unknown-stream'
  | 'unknown-task'
  | 'unknown-update'
  | 'unprocessable'
  | 'unreadable'
  | 'unreadable-input'
  | 'unreadable-module'
  | 'unsupported-media-type'
  | 'update-refused'
  | 'wrong-digest'
  | 'wrong-state';
