# Written by `sdks/api/generate.mjs` from the OpenAPI document of a host. Do not edit.
"""The documents of the HTTP API as typed dictionaries, and the routes that the clients use."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

Json: TypeAlias = Any
"""Any value that JSON can say."""

Body = TypeVar("Body")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Route(Generic[Body, Answer]):
    """A route with the types of its body and its answer."""

    method: str
    path: str
    query: tuple[str, ...]


class Accepted(TypedDict):
    """The answer to a request that changes an object."""

    changed: bool
    """True if the request changed something."""
    id: str
    """The id of the object."""


class AcknowledgeEvents(TypedDict):
    """The body of `POST /v1/events/ack`."""

    ids: list[str]
    """Ids of the events to acknowledge (at most 1000)."""


class Acknowledged(TypedDict):
    """The answer to an acknowledgement."""

    acknowledged: int
    """Number of acknowledged ids, including ids that were acknowledged before."""


class Backfill(TypedDict):
    """The body of `POST /v1/schedules/{id}/backfill`."""

    from_at_ms: int
    """The beginning of the interval (inclusive)."""
    to_at_ms: int
    """The end of the interval (exclusive), limited to the present."""


class Backfilled(TypedDict):
    """The result of a backfill, which handles up to 100 occurrences."""

    because: NotRequired[str]
    """Reason of the latest skip."""
    existing: int
    """Number of invocations that existed already."""
    next_at_ms: NotRequired[int]
    """The `from_at_ms` to continue with; absent when the interval is complete."""
    skipped: int
    """Number of occurrences skipped."""
    started: int
    """Number of invocations started."""


InvocationState = Literal["pending", "acquired", "suspended", "halted", "resolved", "rejected", "cancelled", "timed-out"]
"""The state of an invocation: the task's until it ends, the promise's afterwards."""


class LimitHolder(TypedDict):
    """An execution that a limit has admitted."""

    id: str
    """Id of the execution."""
    state: InvocationState
    """State of the execution."""


class LimitWait(TypedDict):
    """The reason why an execution waits for its limit."""

    before: int
    """Number of waiting executions of its key and priority that came earlier (at most 1,000)."""
    before_more: NotRequired[bool]
    """True if there are more than `before`."""
    concurrency: NotRequired[int]
    """Maximum number of concurrent executions of its key."""
    debounced_until_ms: NotRequired[int]
    """Earliest begin of an execution of its key, because of `debounce`."""
    holders: NotRequired[list[LimitHolder]]
    """The executions that occupy the places for which it waits: halted ones first, then in the
    order of admission (at most 10).
    """
    next_token_at_ms: NotRequired[int]
    """When the next token of its key becomes available, if there is none now."""
    running: int
    """Number of executions of its key that were admitted and have not settled."""
    total_concurrency: NotRequired[int]
    """Maximum number of concurrent executions of all keys."""
    total_next_token_at_ms: NotRequired[int]
    """When the next token of all keys together becomes available, if there is none now."""
    total_running: int
    """Number of admitted executions of all keys."""


class BehindLimit(TypedDict):
    """The key of a limit that an execution is subject to."""

    key: NotRequired[str]
    """The key; absent if the limit has no key."""
    limit: str
    """The limit: `MODULE/FUNCTION`."""
    priority: NotRequired[int]
    """The priority; 0 if absent."""
    waits: NotRequired[LimitWait]
    """Why it waits. Absent if it was admitted, or reaches its limit later."""


BlobView = TypedDict("BlobView", {"bytes": int, "content_type": str, "segno:blob": str})
"""The reference of a blob. It is passed as any value, or as a part of one."""


class ListedBlob(BlobView):
    """A blob of an invocation."""

    stored_at_ms: int
    """Instant when it was stored."""


class BlobList(TypedDict):
    """The blobs of an invocation, by digest."""

    blobs: list[ListedBlob]
    """The blobs, at most 10,000."""
    more: NotRequired[bool]
    """True if there are more."""


class BudgetUnit(TypedDict):
    """Limit and use of a unit: decimal numbers with at most six places."""

    limit: float
    """The most that may be used."""
    remaining: float
    """The amount left."""
    spent: float
    """The amount used so far. It exceeds the limit by what the calls in flight used."""


class BudgetAccount(TypedDict):
    """The budget of one execution, which everything below that execution draws on."""

    id: str
    """The execution."""
    units: dict[str, BudgetUnit]
    """Limits and use by unit. The host counts `calls`; activities report all others."""


class BudgetView(TypedDict):
    """The budgets of an execution."""

    accounts: list[BudgetAccount]
    """The budgets that the execution draws on, the nearest first."""
    below: list[BudgetAccount]
    """The budgets of executions below it, by id; at most 1,000."""


class CallObject(TypedDict):
    """The body of `POST /v1/objects/{module}/{object}/{key}/{function}`."""

    budget: NotRequired[dict[str, float]]
    """The budget of the invocation and everything below it: limits by unit, decimal numbers with at
    most six places. The host counts `calls`; activities report all others, as `tokens`.
    """
    id: NotRequired[str | None]
    """The id of the invocation. The same id again, with the same target and input, returns the
    first execution. Absent: the host generates an id; for a function that runs once for each
    key, the id is `MODULE/OBJECT@KEY/FUNCTION`.
    """
    input: NotRequired[Json]
    """Any JSON that matches the function's input schema; `null` if absent."""
    labels: NotRequired[dict[str, str]]
    """Labels by which invocations are listed."""
    start_at_ms: NotRequired[int | None]
    """The earliest start."""
    timeout_ms: NotRequired[int | None]
    """Milliseconds from now to the deadline, including the wait for the turn. Absent: the
    function's own default, if it has one.
    """
    wait_ms: NotRequired[int | None]
    """Maximum wait for the end before answering, in milliseconds."""


CancelProgress = Literal["none", "requested", "delivered", "missed"]
"""The progress of a cancellation."""


class ChangeState(TypedDict):
    """The body of `PATCH /v1/objects/{module}/{object}/{key}`. The changes are atomic."""

    clear: NotRequired[list[str]]
    """Names to delete."""
    clear_all: NotRequired[bool]
    """True to delete all names first. If the request sets no names, the promises of the object are
    deleted as well.
    """
    set: NotRequired[dict[str, Json]]
    """Names and their new values: any JSON."""


class CloudEvent(TypedDict):
    """A CloudEvent, in structured mode."""

    data: NotRequired[Json]
    """The payload, if the payload is JSON."""
    data_base64: NotRequired[str]
    """The payload in base64, if the payload is bytes."""
    datacontenttype: str
    """The media type of `data`."""
    id: str
    """The event's unique id, the same in every delivery."""
    source: str
    """The invocation, as a path of this host's API."""
    specversion: str
    """The version of the format."""
    subject: str
    """The invocation's id."""
    time: str
    """The time of publication, as an RFC 3339 text."""
    type: str
    """The topic under which the event was published."""


class ContinueInvocation(TypedDict):
    """The body of `POST /v1/invocations/{id}/continue`."""

    module: NotRequired[str | None]
    """The alias or digest of the module that continues the invocation. It must repeat the journal
    so far. Absent: the module that began it.
    """


class Continued(TypedDict):
    """The answer to `POST /v1/invocations/{id}/continue`."""

    changed: bool
    """Always `true`: the host refuses the request unless the invocation is halted."""
    id: str
    """The id of the invocation."""
    module: NotRequired[str]
    """The digest of the module to which the invocation was moved."""
    records: NotRequired[int]
    """Number of records that this module repeated: the whole journal."""


class CreatePromise(TypedDict):
    """The body of `POST /v1/promises`."""

    id: str
    """The id of the promise. The same id again answers the first promise, unchanged."""
    param: NotRequired[Json]
    """A parameter for the client or worker that settles the promise: any JSON."""
    tags: NotRequired[dict[str, str]]
    """Tags. With `target` (`poll://…` or `http(s)://…`) an external worker produces the value;
    `timer` with the value `true` resolves the promise at its deadline; `parent` shows the
    promise in the tree of that parent.
    """
    timeout_ms: NotRequired[int | None]
    """Milliseconds from now to the deadline; no deadline if absent."""


Overlap = Literal["allow", "skip", "queue"]
"""Policy for an occurrence while the schedule's last invocation has not ended."""


class CreateSchedule(TypedDict):
    """The body of `POST /v1/schedules`."""

    budget: NotRequired[dict[str, float]]
    """The budget of each invocation and everything below it: limits by unit, decimal numbers with at
    most six places. The host counts `calls`; activities report all others, as `tokens`.
    """
    cron: str
    """Cron expression: minute, hour, day of month, month, weekday. With six fields the first one
    is the second; with seven the last one is the year.
    """
    id: str
    """The id of the schedule. The same id again answers the first schedule, unchanged."""
    input: NotRequired[Json]
    """Any JSON that matches the function's input schema; `null` if absent."""
    invocation_id: NotRequired[str | None]
    """Template for the ids of invocations: `{{.id}}` is the schedule's id; `{{.timestamp}}`, which
    is required, is the occurrence in milliseconds. Absent: `{{.id}}@{{.timestamp}}`.
    """
    jitter_ms: NotRequired[int | None]
    """Maximum random delay between an occurrence and its start, at most one day. The delay of an
    occurrence is always the same.
    """
    labels: NotRequired[dict[str, str]]
    """Labels of the invocations."""
    overlap: NotRequired[Overlap]
    """Policy for occurrences while the last invocation has not ended."""
    target: str
    """The function to start: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`; or the address of an
    external worker: `poll://…`, `http(s)://…`.
    """
    timeout_ms: NotRequired[int | None]
    """Milliseconds from each occurrence to the deadline of its invocation. Absent: the function's
    own default, if it has one.
    """
    zone: NotRequired[str | None]
    """IANA name of the time zone in which the expression is evaluated; UTC if absent. A local time
    skipped by a clock change occurs once, at the first instant after the gap; a local time that
    repeats occurs the first time only.
    """


ObjectAccess = Literal["exclusive", "shared"]
"""A function's access to the object to which it belongs."""


HandlerKind = Literal["query", "update"]
"""Kind of a handler."""


class Handler(TypedDict):
    """A query or an update of a workflow."""

    input_schema: NotRequired[Json]
    """JSON schema of the input; the host rejects other inputs."""
    kind: HandlerKind
    """Kind of the handler."""
    name: str
    """The name of the query or update."""
    output_schema: NotRequired[Json]
    """JSON schema of the answer."""
    summary: NotRequired[str]
    """A description by the author."""


FunctionKind = Literal["workflow", "activity"]
"""The kind of a function."""


class LimitDebounce(TypedDict):
    """Debouncing: only the last of several executions of a key begins."""

    longest_ms: NotRequired[int]
    """Maximum delay after the first execution, in milliseconds. Absent: no maximum."""
    period_ms: int
    """Quiet time in milliseconds: the execution begins when no other has arrived for this long."""


class LimitRate(TypedDict):
    """A rate of admissions: a token bucket that is full at first."""

    burst: int
    """Capacity of the bucket: the maximum number of executions that begin in one go."""
    count: int
    """Number of tokens added in each period."""
    period_ms: int
    """The period in milliseconds, at most 366 days."""


class LimitBounds(TypedDict):
    """Bounds on concurrency and rate."""

    concurrency: NotRequired[int]
    """Maximum number of executions that were admitted and have not settled."""
    rate: NotRequired[LimitRate]
    """Maximum rate of admissions."""


LimitOrder = Literal["strict", "weighted"]
"""Meaning of a higher priority."""


class LimitPriority(TypedDict):
    """Location of the priority in the input, and its meaning."""

    order: NotRequired[LimitOrder]
    """Meaning of a higher priority."""
    path: str
    """Path of an integer from 0 to 9 in the input; 0 if absent there."""


LimitSingleton = Literal["skip", "replace"]
"""Handling of an execution whose key already has one."""


class LimitRule(TypedDict):
    """Bounds on the concurrency and the start rate of a function's executions."""

    debounce: NotRequired[LimitDebounce]
    """Debouncing: only the last of several executions of a key begins. Not together with
    `singleton`.
    """
    key: NotRequired[str]
    """Path of the key in the input: field names and array indexes separated by dots. Absent: all
    executions of the function share one key.
    """
    per_key: NotRequired[LimitBounds]
    """The bounds of each key."""
    priority: NotRequired[LimitPriority]
    """Order of waiting executions by priority."""
    singleton: NotRequired[LimitSingleton]
    """Handling of an execution whose key already has one."""
    total: NotRequired[LimitBounds]
    """The bounds of all keys together; only with a key."""
    weights: NotRequired[dict[str, int]]
    """Relative shares of keys: a key with weight n gets n turns for each turn of a key with weight
    1 (the default).
    """


MessageKind = Literal["promise", "signal"]
"""The kinds of messages to a workflow."""


class Message(TypedDict):
    """A named promise that a workflow awaits, or a signal that it receives."""

    kind: MessageKind
    """Kind of the message."""
    name: str
    """The name of the promise or signal."""
    schema: Json
    """JSON schema of the value; the host rejects other values."""


class Retry(TypedDict):
    """The policy for repeating failed attempts."""

    factor: float
    """Factor by which each delay exceeds the previous one."""
    initial_ms: int
    """Delay before the second attempt, in milliseconds."""
    jitter: float
    """Random fraction of each delay, from 0 to 1."""
    max_attempts: NotRequired[int]
    """Maximum number of attempts; unlimited if absent."""
    max_ms: int
    """Maximum delay, in milliseconds."""
    non_retryable: NotRequired[list[int]]
    """Failure codes that are never retried."""


class Function(TypedDict):
    """A function of a module."""

    access: NotRequired[ObjectAccess]
    """Access to the object to which the function belongs; absent for functions without an object."""
    commits_each: NotRequired[bool]
    """True if the module declares that the host commits the result of each `run`, and the outcome
    of each call, before the workflow receives it.
    """
    expose: NotRequired[list[str]]
    """Protocols by which the author offers the function to others, such as `mcp`. An operator
    decides whose offers are taken.
    """
    handlers: NotRequired[list[Handler]]
    """Queries and updates that the function answers, during its execution and afterwards."""
    input_schema: NotRequired[Json]
    """The JSON schema of its input."""
    kind: FunctionKind
    """The kind of the function."""
    limit: NotRequired[LimitRule]
    """Bounds on the concurrency and the start rate of executions, as the module declares them."""
    messages: NotRequired[list[Message]]
    """Messages that the function accepts while it runs, as far as its author declares them."""
    name: str
    """The name of the function."""
    output_schema: NotRequired[Json]
    """The JSON schema of its output."""
    retry: NotRequired[Retry]
    """The default retry policy."""
    runs_once: NotRequired[bool]
    """True if the function runs once for each key of its object."""
    signals: NotRequired[bool]
    """True if the function receives signals."""
    summary: NotRequired[str]
    """A description by the author."""
    timeout_ms: NotRequired[int]
    """Default time limit of a call, in milliseconds."""


ImportStatus = Literal["provided", "deterministic", "refused"]
"""Treatment of an import by the host."""


class Import(TypedDict):
    """Imported functions of one interface with the same treatment."""

    functions: NotRequired[list[str]]
    """The names of the functions."""
    name: str
    """The name of the interface."""
    note: NotRequired[str]
    """The alternative to refused functions."""
    status: ImportStatus
    """Treatment of a workflow's calls. Activities get real I/O as far as the host's policy allows."""


class ModuleDescription(TypedDict):
    """The description of a component, made at its upload."""

    exports: list[str]
    """The exports of the component."""
    functions: list[Function]
    """The functions of the component."""
    imports: list[Import]
    """The imports of the component."""
    no_snapshots: NotRequired[str]
    """Why the host makes no snapshots of long executions and replays them in full. Absent if the
    code shows no reason.
    """


class Module(ModuleDescription):
    """A stored module."""

    aliases: list[str]
    """The current aliases of the module."""
    created_at_ms: int
    """When the module was first uploaded."""
    digest: str
    """The SHA-256 of the component, in hexadecimal."""
    in_use: int
    """Number of unfinished executions of the module (counted up to 10,000)."""
    size: int
    """The size of the component, in bytes."""


class Deployed(TypedDict):
    """The answer to an upload."""

    alias: NotRequired[str]
    """The alias of the upload."""
    created: bool
    """True if this request stored the component; false if it was stored before."""
    module: Module
    """The module."""
    replaces: NotRequired[str]
    """The module to which the alias pointed before, if it was another one. Executions that began
    on that module finish on it.
    """


class EventPage(TypedDict):
    """A page of unacknowledged events, the oldest first."""

    events: list[CloudEvent]
    """The events."""
    next: NotRequired[str]
    """The `cursor` of the next page; absent if there was no event."""


class FailureView(TypedDict):
    """A failure. Codes 400 to 599 have the same meaning as in HTTP."""

    code: int
    """The code, for programs."""
    details: NotRequired[Json]
    """Further data from the failing side."""
    message: str
    """The message, for people."""


class ForkedFrom(TypedDict):
    """Origin of an invocation that was forked from another one."""

    id: str
    """Id of the original invocation, which may have been removed since."""
    records: int
    """Number of records copied from the original."""
    set: NotRequired[list[int]]
    """Indexes of the commands whose results the request replaced."""


class Generation(TypedDict):
    """One generation of a workflow that continued as new."""

    generations: int
    """Number of generations."""
    next: NotRequired[str]
    """Id of the generation that continues this one."""
    number: int
    """Number of this generation, from 1; its id is `{of}/g/{number}`."""
    of: str
    """Id of the invocation, which leads to the newest generation."""


class Health(TypedDict):
    """The answer of `GET /health`: the process answers."""

    status: str
    """Always `ok`."""
    version: str
    """The version of the host."""


class Note(TypedDict):
    """The last error, or the reason of a halt."""

    details: NotRequired[Json]
    """Further data, if any."""
    kind: str
    """A word for programs, for example `divergence` or `trap`."""
    message: str
    """A sentence for people."""


class StuckView(TypedDict):
    """The reason why an invocation cannot continue without intervention."""

    reason: str
    """A word for programs: `halted`, `diverged`, `trapped`, `exhausted`, `claims-lost`, `damaged`,
    `waits-for-nothing`, `module-missing`, `deadlocked`, `limit-closed`, `no-worker`, `failing`
    or `unsettled`.
    """
    why: str
    """A sentence for people."""


class InvocationSummary(TypedDict):
    """An invocation in a listing."""

    attempt: int
    """Number of failed attempts since the last progress."""
    created_at_ms: int
    """When the invocation was created."""
    failure: NotRequired[FailureView]
    """The failure of an invocation that did not resolve: the first 500 characters of its message,
    without details.
    """
    forked_from: NotRequired[ForkedFrom]
    """The origin of the invocation, if it is a fork."""
    function: NotRequired[str]
    """The name of the function; absent for external workers if the name is not known."""
    id: str
    """The id of the invocation."""
    journal_len: int
    """Number of records in the journal."""
    killed: NotRequired[bool]
    """True if it was killed: cancelled without a chance to clean up."""
    labels: NotRequired[dict[str, str]]
    """The labels of the invocation."""
    note: NotRequired[Note]
    """The last error, or the reason of a halt, without `details`."""
    parent: NotRequired[str]
    """The id of the calling invocation."""
    schedule: NotRequired[str]
    """The schedule that started the invocation."""
    settled_at_ms: NotRequired[int]
    """When the invocation ended."""
    state: InvocationState
    """The state of the invocation."""
    stuck: NotRequired[StuckView]
    """Why it cannot continue without intervention, if the listing asks for stuck invocations."""
    target: str
    """The address of the function."""
    unread: NotRequired[int]
    """Number of unread signals and unread promises that were settled early."""


class Lease(TypedDict):
    """The lease on an invocation's task."""

    incarnation: int
    """The incarnation of the host: the number of its starts."""
    node: str
    """The name of the host."""
    until_at_ms: int
    """The end of the lease, unless it is extended."""


class Progress(TypedDict):
    """The progress of an activity, from its heartbeats."""

    at_ms: int
    """When the activity last made progress."""
    value: Json
    """The last reported value; the next attempt receives it."""


class Unread(TypedDict):
    """Messages that a workflow has not read. After its end they stay unread."""

    promises: NotRequired[list[str]]
    """Names of settled promises that the workflow has not created yet."""
    signals: int
    """Number of signals and updates."""


WaitKind = Literal["call", "turn", "timer", "signal", "promise"]
"""The kind of an awaited promise."""


class Wait(TypedDict):
    """A promise for which an invocation waits."""

    attempt: NotRequired[int]
    """Number of failed attempts of a call since its last progress."""
    id: str
    """The awaited promise."""
    kind: WaitKind
    """The kind of the promise."""
    note: NotRequired[Note]
    """The last error of a call, or the reason of a halt, without `details`."""
    retry_at_ms: NotRequired[int]
    """For a pending call: when the task is offered next."""
    state: NotRequired[InvocationState]
    """The state of a call."""
    target: NotRequired[str]
    """The called function's address, for calls."""
    until_at_ms: NotRequired[int]
    """When the wait ends without further events: the instant of a timer, or a deadline."""


class Invocation(TypedDict):
    """An invocation, without its journal."""

    attempt: int
    """Number of failed attempts since the last progress."""
    awaited_by: list[str]
    """The ids of the invocations that wait for this one."""
    budget: NotRequired[list[BudgetAccount]]
    """The budgets that it draws on, the nearest first."""
    cancel: CancelProgress
    """The progress of a cancellation."""
    children: list[InvocationSummary]
    """The called invocations, newest first (at most 100)."""
    cost: NotRequired[dict[str, float]]
    """The costs that its last attempt reported, by unit; for activities that have ended."""
    created_at_ms: int
    """When the invocation was created."""
    deadlock: NotRequired[list[str]]
    """The invocations of a deadlock that includes this one or blocks it: each waits for the next,
    the last one for the first. None of them continues until one is ended.
    """
    failure: NotRequired[FailureView]
    """The failure, if not resolved."""
    forked_from: NotRequired[ForkedFrom]
    """The origin of the invocation, if it is a fork."""
    function: str
    """The name of the function."""
    generation: NotRequired[Generation]
    """Position among the generations of its invocation, if it continued as new."""
    id: str
    """The id of the invocation."""
    input: Json
    """The input."""
    journal_len: int
    """Number of records in the journal."""
    killed: NotRequired[bool]
    """True if it was killed: cancelled without a chance to clean up."""
    labels: dict[str, str]
    """The labels of the invocation."""
    lease: NotRequired[Lease]
    """The lease of the worker that executes the invocation."""
    limit: NotRequired[BehindLimit]
    """The limit that applies to the invocation, and why the invocation waits for it, if it does."""
    missing: NotRequired[list[str]]
    """Addresses of databases that do not answer. What it calls and awaits there is left out."""
    module: NotRequired[str]
    """The digest of the module to which the invocation was pinned at its creation."""
    note: NotRequired[Note]
    """The last error, or the reason of a halt."""
    output: NotRequired[Json]
    """The output, if resolved."""
    parent: NotRequired[str]
    """The id of the calling invocation."""
    progress: NotRequired[Progress]
    """The progress of an activity that reports it and has not ended."""
    retry_at_ms: NotRequired[int]
    """For a pending invocation: when the task is offered next."""
    sagas: NotRequired[list[str]]
    """Names of its sagas that have or had something to undo; `/sagas` shows them."""
    schedule: NotRequired[str]
    """The schedule that started the invocation."""
    settled_at_ms: NotRequired[int]
    """When the invocation ended."""
    signals: int
    """Number of signals sent so far."""
    start_at_ms: NotRequired[int]
    """The earliest start."""
    state: InvocationState
    """The state of the invocation."""
    target: str
    """The address of the function."""
    timeout_at_ms: NotRequired[int]
    """The deadline, if any."""
    unread: NotRequired[Unread]
    """Messages that the invocation has not read, if any."""
    version: int
    """Version of the task: the number of times that the claim changed hands."""
    waits: list[Wait]
    """The awaited promises (at most 100)."""
    waits_count: int
    """Number of awaited promises."""


class InvocationCounts(TypedDict):
    """Numbers of invocations that match a filter, over all pages."""

    newest_only: bool
    """True if older invocations were not counted, because only the newest are."""
    states: dict[str, int]
    """The numbers by state; states without invocations are omitted."""


class InvocationOutcome(TypedDict):
    """The state and the outcome of an invocation."""

    attempt: int
    """Number of failed attempts since the last progress."""
    created_at_ms: int
    """When the invocation was created."""
    failure: NotRequired[FailureView]
    """The failure, if not resolved."""
    id: str
    """The id of the invocation."""
    killed: NotRequired[bool]
    """True if it was killed: cancelled without a chance to clean up."""
    note: NotRequired[Note]
    """The last error, or the reason of a halt."""
    output: NotRequired[Json]
    """The output, if resolved."""
    settled_at_ms: NotRequired[int]
    """When the invocation ended."""
    state: InvocationState
    """The state of the invocation."""
    target: str
    """The address of the function."""


class UnreadableRow(TypedDict):
    """An object whose rows cannot be read, or that the database cannot write."""

    id: str
    """The id of the object; for a message, that of its promise."""
    kind: str
    """The kind of the object: promise, schedule, message or resource."""
    reason: str
    """The error."""


class InvocationPage(TypedDict):
    """A page of invocations, newest first."""

    counts: NotRequired[InvocationCounts]
    """Number of invocations in each state, if requested."""
    items: list[InvocationSummary]
    """The invocations."""
    missing: NotRequired[list[str]]
    """Addresses of the databases that do not answer, whose rows are left out (`partial`)."""
    next: NotRequired[str]
    """The `after` of the next page; absent on the last page."""
    unreadable: NotRequired[list[UnreadableRow]]
    """Invocations of the page whose rows cannot be read."""


class KeptFor(TypedDict):
    """The workflow for which the outcome of a promise is kept until it creates the promise."""

    declares: list[str]
    """Names of the promises that its module declares. If there are any, the workflow creates no
    promise under another name.
    """
    invocation: str
    """The id of the workflow."""
    name: str
    """The name under which the workflow would create the promise."""


class LastRun(TypedDict):
    """The last invocation of a schedule."""

    error: NotRequired[str]
    """Failure of the invocation, or the reason of its halt or of its last failed attempt."""
    state: InvocationState
    """State of the invocation."""


LogLevel = Literal["trace", "debug", "info", "warn", "error"]
"""The level of a line."""


class LogLine(TypedDict):
    """A log line."""

    at_ms: int
    """When the line was logged."""
    level: LogLevel
    """The level of the line."""
    line: int
    """The number of the line in the invocation, from 0."""
    message: str
    """The text of the line."""


class LogPage(TypedDict):
    """A page of an invocation's log."""

    id: str
    """The id of the invocation."""
    lines: list[LogLine]
    """The lines, in order."""
    next: NotRequired[int]
    """The `from` of the next page; absent if there are no further lines."""
    uncommitted: NotRequired[list[LogLine]]
    """On the last page, if the last attempt of a workflow trapped: the lines logged since its last
    commit, at most 8 KiB. They are not part of the log yet: the next attempt logs them again.
    """


class ModuleList(TypedDict):
    """The stored modules."""

    modules: list[Module]
    """The modules, newest first."""
    unreadable: NotRequired[list[UnreadableRow]]
    """Modules whose descriptions cannot be read: they are listed without functions."""


class ObjectItem(TypedDict):
    """One object of a list."""

    bytes: int
    """Total size of the values of its state, in bytes."""
    holder: NotRequired[str]
    """The invocation that holds the turn; absent if none does."""
    names: int
    """Number of names in its state."""
    object: str
    """The name: `MODULE/OBJECT@KEY`."""


class ObjectList(TypedDict):
    """A page of objects, by name."""

    items: list[ObjectItem]
    """The objects with state or with a retained invocation."""
    missing: NotRequired[list[str]]
    """Addresses of the databases that do not answer, whose rows are left out (`partial`)."""
    next: NotRequired[str]
    """The `after` of the next page; absent on the last page."""


PromiseState = Literal["pending", "resolved", "rejected", "cancelled", "timed-out"]
"""The state of a promise."""


class ObjectPromiseView(TypedDict):
    """A promise of an object. A promise that has not been created is pending."""

    awaited_by: list[str]
    """The ids of the invocations that wait for the promise."""
    changed: NotRequired[bool]
    """True if this request settled the promise; absent in answers to reads. A promise settles
    once: later attempts return the first outcome.
    """
    failure: NotRequired[FailureView]
    """The failure with which the promise was rejected."""
    id: str
    """The id of the promise."""
    name: str
    """The name of the promise within the object."""
    object: str
    """The object: `MODULE/OBJECT@KEY`."""
    settled_at_ms: NotRequired[int]
    """When the promise was settled."""
    state: PromiseState
    """The state of the promise."""
    value: NotRequired[Json]
    """The value with which the promise was settled."""


class ObjectView(TypedDict):
    """An object with its state."""

    holder: NotRequired[str]
    """The invocation that holds the turn; absent if none does."""
    last: NotRequired[str]
    """The last invocation in the queue for the turn, if any."""
    names: dict[str, int]
    """Sizes of the values in bytes, by name, in order."""
    object: str
    """The name: `MODULE/OBJECT@KEY`."""
    promises: NotRequired[dict[str, PromiseState]]
    """States of the first 100 promises, by name."""
    run: NotRequired[str]
    """The invocation that ran for the key, if the function runs once for each key and has run."""
    state: dict[str, Json]
    """Values by name: of the requested name, or of as many names as fit into 1 MiB, from the first
    name on. Bytes are `{"base64": …}`.
    """


class PromiseView(TypedDict):
    """A promise."""

    awaited_by: list[str]
    """The ids of the invocations that wait for the promise."""
    changed: NotRequired[bool]
    """True if this request changed the promise; absent in answers to reads. A promise settles
    once: later attempts return the first outcome.
    """
    created_at_ms: int
    """When the promise was created."""
    failure: NotRequired[FailureView]
    """The failure with which the promise was rejected."""
    id: str
    """The id of the promise."""
    kept_for: NotRequired[KeptFor]
    """The workflow for which the outcome is kept, if it has not created the promise yet."""
    made_by: NotRequired[str]
    """The id of the invocation that created the promise."""
    param: NotRequired[Json]
    """The parameter with which the promise was created."""
    settled_at_ms: NotRequired[int]
    """When the promise was settled."""
    state: PromiseState
    """The state of the promise."""
    tags: dict[str, str]
    """The tags of the promise."""
    timeout_at_ms: NotRequired[int]
    """The deadline, if any."""
    value: NotRequired[Json]
    """The value with which the promise was settled."""


class PromiseCreated(TypedDict):
    """The answer to `POST /v1/promises`."""

    created: bool
    """True if this request created the promise. False if it existed already; the answer shows that
    one.
    """
    promise: PromiseView
    """The promise."""


class PromiseSummary(TypedDict):
    """A promise in a listing."""

    created_at_ms: int
    """When the promise was created."""
    id: str
    """The id of the promise."""
    made_by: NotRequired[str]
    """The id of the invocation that created the promise."""
    settled_at_ms: NotRequired[int]
    """When the promise was settled."""
    state: PromiseState
    """The state of the promise."""
    tags: dict[str, str]
    """The tags of the promise."""
    timeout_at_ms: NotRequired[int]
    """The deadline, if any."""


class PromisePage(TypedDict):
    """A page of promises, by id."""

    items: list[PromiseSummary]
    """The promises."""
    missing: NotRequired[list[str]]
    """Addresses of the databases that do not answer, whose rows are left out (`partial`)."""
    next: NotRequired[str]
    """The `after` of the next page; absent on the last page."""
    unreadable: NotRequired[list[UnreadableRow]]
    """Promises of the page whose rows cannot be read."""


class QueryAnswer(TypedDict):
    """The answer to a query."""

    id: str
    """Id of the invocation."""
    journal_len: int
    """Number of records in the journal, or the requested number. Larger than `records` if the code
    does not get that far.
    """
    module: str
    """Digest of the module that answered."""
    name: str
    """The name of the query."""
    records: int
    """Number of records that the workflow had replayed when it answered."""
    value: Json
    """The workflow's answer."""


class Readiness(TypedDict):
    """The answer of `GET /ready`: the store answers and the host takes work."""

    missing: NotRequired[list[str]]
    """Addresses of databases that do not answer, of a store in several of them. Executions in
    these wait, and the others go on.
    """
    status: str
    """Always `ready`; a host that is not ready answers with a problem."""


class RejectPromise(TypedDict):
    """The body of `POST /v1/promises/{id}/reject`: a failure with a code and a message, or any JSON as
    `value`.
    """

    failure: NotRequired[FailureView | None]
    """The failure."""
    value: NotRequired[Json]
    """Any JSON in place of `failure`, for readers other than functions."""


class Removed(TypedDict):
    """The answer to `DELETE /v1/invocations/{id}`."""

    id: str
    """The id of the invocation."""
    promises: int
    """Number of removed promises: the invocation's own and those of all its descendants."""


class ResolvePromise(TypedDict):
    """The body of `POST /v1/promises/{id}/resolve`."""

    value: NotRequired[Json]
    """Any JSON; `null` if absent."""


class RestartInvocation(TypedDict):
    """The body of `POST /v1/invocations/{id}/restart`."""

    id: NotRequired[str | None]
    """The id of the new invocation: the same id again returns the same invocation. Absent: the
    first free id of `{id}-r1`, `{id}-r2`, ….
    """
    module: NotRequired[str | None]
    """The alias or digest of the module to run. Absent: the alias under which the old invocation
    was started, which may point to newer code by now.
    """


class SkipsView(TypedDict):
    """Occurrences skipped for the same reason."""

    count: int
    """Number of these occurrences."""
    detail: str
    """Description of the cause."""
    last_at_ms: int
    """The latest of these occurrences."""
    reason: str
    """`overlap`: the last invocation had not ended. `missed`: no host was running in time.
    `refused`: the invocation could not be created.
    """


class Upcoming(TypedDict):
    """A future occurrence."""

    at_ms: int
    """The instant."""
    local: str
    """Local time of the occurrence in the schedule's zone."""
    starts_at_ms: NotRequired[int]
    """When the invocation starts, if the schedule has jitter."""


class ScheduleView(TypedDict):
    """A schedule."""

    budget: NotRequired[dict[str, float]]
    """The budget of each invocation: limits by unit."""
    created_at_ms: int
    """When the schedule was created."""
    cron: str
    """The cron expression."""
    function: NotRequired[str]
    """The name of the function; absent for external workers if the name is not known."""
    id: str
    """The id of the schedule."""
    input: Json
    """The input of the invocations."""
    invocation_id: str
    """The template for the ids of invocations."""
    jitter_ms: NotRequired[int]
    """Maximum random delay between an occurrence and its start, if any."""
    labels: dict[str, str]
    """Labels of the invocations."""
    last: NotRequired[LastRun]
    """State of the last invocation, if it is still stored."""
    last_at_ms: NotRequired[int]
    """The last occurrence for which an invocation was started."""
    last_id: NotRequired[str]
    """The id of the last invocation."""
    next_at_ms: NotRequired[int]
    """The next occurrence; absent if there is none."""
    overlap: Overlap
    """Policy for occurrences while the last invocation has not ended."""
    paused: bool
    """True if the schedule is paused."""
    problem: NotRequired[str]
    """Why the next occurrence cannot be started at present: its module or function is missing."""
    skipped: int
    """Number of skipped occurrences."""
    skips: NotRequired[list[SkipsView]]
    """Numbers of skipped occurrences by reason. They may add up to less than `skipped`, because
    earlier versions did not record reasons.
    """
    target: str
    """The address of the function to start."""
    timeout_ms: NotRequired[int]
    """Milliseconds from an occurrence to the deadline of its invocation, if any."""
    upcoming: NotRequired[list[Upcoming]]
    """The next ten occurrences, for a paused schedule those after now. Present only when a single
    schedule is read.
    """
    zone: NotRequired[str]
    """IANA name of the time zone in which the expression is evaluated."""


class ScheduleCreated(TypedDict):
    """The answer to `POST /v1/schedules`."""

    created: bool
    """True if this request created it. False if a schedule with this id existed already; the
    answer shows that one.
    """
    schedule: ScheduleView
    """The schedule."""


class ScheduleList(TypedDict):
    """A page of schedules, by id."""

    items: list[ScheduleView]
    """The schedules."""
    missing: NotRequired[list[str]]
    """Addresses of the databases that do not answer, whose rows are left out (`partial`)."""
    next: NotRequired[str]
    """The `after` of the next page; absent on the last page."""
    unreadable: NotRequired[list[UnreadableRow]]
    """Schedules of the page whose rows cannot be read."""


class SendQuery(TypedDict):
    """A query with its input."""

    at: NotRequired[int | None]
    """Evaluates the query against the state after this number of journal records (1 or more)."""
    input: NotRequired[Json]
    """The input."""


class StartFirst(TypedDict):
    """An invocation to start if an update or a signal finds none."""

    budget: NotRequired[dict[str, float]]
    """The budget of the invocation and everything below it: limits by unit, decimal numbers with at
    most six places. The host counts `calls`; activities report all others, as `tokens`.
    """
    input: NotRequired[Json]
    """Input of the function; `null` if absent."""
    labels: NotRequired[dict[str, str]]
    """Labels by which invocations are listed."""
    target: str
    """The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`."""
    timeout_ms: NotRequired[int | None]
    """Milliseconds from now to the deadline. Absent: the function's own default, if it has one."""


class SendSignal(TypedDict):
    """The body of `POST /v1/invocations/{id}/signals`."""

    key: NotRequired[str | None]
    """Deduplication key: the same key again, with the same name and payload, sends nothing."""
    name: str
    """The name of the signal, by which the function receives it."""
    payload: NotRequired[Json]
    """Any JSON; `null` if absent."""
    start: NotRequired[StartFirst | None]
    """The invocation to start, in the same transaction, if none with this id exists."""


UpdateWait = Literal["accepted", "completed"]
"""The stage of an update for which its sender waits."""


class SendUpdate(TypedDict):
    """The body of an update request."""

    input: NotRequired[Json]
    """The input."""
    key: NotRequired[str | None]
    """Deduplication key: an update is sent once for each key. Without a key, a repeated request is
    a new update.
    """
    start: NotRequired[StartFirst | None]
    """The invocation to start first, under the id in the route, if none exists."""
    timeout_ms: NotRequired[int | None]
    """Maximum wait in milliseconds (default 30 s, at most 300 s). An accepted update is processed
    even if no client waits for it.
    """
    wait: NotRequired[UpdateWait]
    """The stage to wait for: acceptance, or the answer."""


class SetBudget(TypedDict):
    """The body of `PUT /v1/invocations/{id}/budget`."""

    limits: dict[str, float]
    """New limits by unit. Units that are not named keep theirs."""


class SignalAccepted(TypedDict):
    """The answer to a signal."""

    id: str
    """The id of the invocation. If it continued as new, the id of its newest generation."""
    signal: int
    """The index of the signal in its invocation, from 0."""
    started: NotRequired[bool]
    """True if this request started the invocation."""


class StartRetry(TypedDict):
    """Retry policy for a started activity. Absent fields default to the function's policy, then to the
    host's.
    """

    factor: NotRequired[float | None]
    """Factor by which each delay exceeds the previous one."""
    initial_ms: NotRequired[int | None]
    """The delay before the second attempt, in milliseconds."""
    jitter: NotRequired[float | None]
    """Random fraction of each delay, from 0 to 1."""
    max_attempts: NotRequired[int | None]
    """Maximum number of attempts."""
    max_ms: NotRequired[int | None]
    """Maximum delay, in milliseconds."""
    non_retryable: NotRequired[list[int]]
    """Failure codes that are never retried."""


class StartInvocation(TypedDict):
    """The body of `POST /v1/invocations`."""

    attempt_timeout_ms: NotRequired[int | None]
    """Maximum duration of one attempt of an activity, in milliseconds. An attempt that takes
    longer is dropped and fails with code 408, so that `retry` applies. No effect on workflows.
    """
    budget: NotRequired[dict[str, float]]
    """The budget of the invocation and everything below it: limits by unit, decimal numbers with at
    most six places. The host counts `calls`; activities report all others, as `tokens`.
    """
    id: NotRequired[str | None]
    """The id of the invocation. The same id again, with the same target and input, returns the
    first execution. Absent: the host generates an id; for a function that runs once for each
    key, the id is `MODULE/OBJECT@KEY/FUNCTION`.
    """
    input: NotRequired[Json]
    """Any JSON that matches the function's input schema; `null` if absent."""
    labels: NotRequired[dict[str, str]]
    """Labels by which invocations are listed."""
    retry: NotRequired[StartRetry | None]
    """Retry policy of an activity; the function's own if absent. No effect on workflows."""
    start_at_ms: NotRequired[int | None]
    """The earliest start."""
    target: str
    """The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`."""
    timeout_ms: NotRequired[int | None]
    """Milliseconds from now to the deadline. Absent: the function's own default, if it has one."""
    wait_ms: NotRequired[int | None]
    """Maximum wait for the end before answering, in milliseconds."""


class Started(TypedDict):
    """The answer to a start."""

    behind: NotRequired[BehindLimit]
    """The limit for which the invocation waits, if it does."""
    created: bool
    """True if this request started it. False if an invocation with this id existed already; the
    answer shows that one.
    """
    id: str
    """The id of the invocation."""
    invocation: InvocationOutcome
    """The state of the invocation."""


class Trigger(TypedDict):
    """The body of `POST /v1/schedules/{id}/trigger`."""

    at_ms: NotRequired[int | None]
    """The instant used in the invocation's id; now if absent. The same instant again starts
    nothing, so a request with an instant may be repeated.
    """


class Triggered(TypedDict):
    """The answer to `POST /v1/schedules/{id}/trigger`."""

    created: bool
    """True if this request started it; false if it existed already."""
    id: str
    """The id of the invocation."""


class Undeployed(TypedDict):
    """The answer to `DELETE /v1/modules/{alias}`."""

    alias: str
    """The removed alias."""
    module: Module
    """The module to which the alias pointed. Executions that began on it finish on it."""


UpdateState = Literal["accepted", "completed", "failed"]
"""Progress of an update."""


class UpdateAnswer(TypedDict):
    """An accepted update."""

    failure: NotRequired[FailureView]
    """The failure, if failed."""
    id: str
    """Id of the invocation."""
    name: str
    """The name of the update."""
    output: NotRequired[Json]
    """The answer, if completed."""
    promise: str
    """The promise that the workflow settles with its answer."""
    state: UpdateState
    """Progress of the update."""


GET_HEALTH: Route[None, Health] = Route("GET", "/health", ())
GET_READY: Route[None, Readiness] = Route("GET", "/ready", ())
GET_EVENTS: Route[None, EventPage] = Route("GET", "/v1/events", ("topic", "cursor", "limit", "wait_ms",))
POST_EVENTS_ACK: Route[AcknowledgeEvents, Acknowledged] = Route("POST", "/v1/events/ack", ())
GET_INVOCATIONS: Route[None, InvocationPage] = Route("GET", "/v1/invocations", ("module", "function", "state", "stuck", "error", "prefix", "label", "parent", "roots", "since_at_ms", "until_at_ms", "counts", "partial", "after", "limit",))
POST_INVOCATIONS: Route[StartInvocation, Started] = Route("POST", "/v1/invocations", ())
GET_INVOCATIONS_ID: Route[None, Invocation] = Route("GET", "/v1/invocations/{id}", ())
DELETE_INVOCATIONS_ID: Route[None, Removed] = Route("DELETE", "/v1/invocations/{id}", ("cancel", "grace_ms",))
POST_INVOCATIONS_ID_CANCEL: Route[None, Accepted] = Route("POST", "/v1/invocations/{id}/cancel", ())
POST_INVOCATIONS_ID_KILL: Route[None, Accepted] = Route("POST", "/v1/invocations/{id}/kill", ())
POST_INVOCATIONS_ID_HALT: Route[None, Accepted] = Route("POST", "/v1/invocations/{id}/halt", ())
POST_INVOCATIONS_ID_CONTINUE: Route[ContinueInvocation, Continued] = Route("POST", "/v1/invocations/{id}/continue", ())
POST_INVOCATIONS_ID_RESTART: Route[RestartInvocation, Started] = Route("POST", "/v1/invocations/{id}/restart", ())
GET_INVOCATIONS_ID_BLOBS: Route[None, BlobList] = Route("GET", "/v1/invocations/{id}/blobs", ())
POST_INVOCATIONS_ID_BLOBS: Route[bytes, BlobView] = Route("POST", "/v1/invocations/{id}/blobs", ())
GET_INVOCATIONS_ID_BLOBS_DIGEST: Route[None, bytes] = Route("GET", "/v1/invocations/{id}/blobs/{digest}", ("presign",))
DELETE_INVOCATIONS_ID_BLOBS_DIGEST: Route[None, bytes] = Route("DELETE", "/v1/invocations/{id}/blobs/{digest}", ())
GET_INVOCATIONS_ID_BUDGET: Route[None, BudgetView] = Route("GET", "/v1/invocations/{id}/budget", ())
PUT_INVOCATIONS_ID_BUDGET: Route[SetBudget, BudgetView] = Route("PUT", "/v1/invocations/{id}/budget", ())
GET_INVOCATIONS_ID_LOGS: Route[None, LogPage] = Route("GET", "/v1/invocations/{id}/logs", ("from", "limit",))
POST_INVOCATIONS_ID_QUERIES_NAME: Route[SendQuery, QueryAnswer] = Route("POST", "/v1/invocations/{id}/queries/{name}", ())
POST_INVOCATIONS_ID_UPDATES_NAME: Route[SendUpdate, UpdateAnswer] = Route("POST", "/v1/invocations/{id}/updates/{name}", ())
POST_INVOCATIONS_ID_SIGNALS: Route[SendSignal, SignalAccepted] = Route("POST", "/v1/invocations/{id}/signals", ())
GET_INVOCATIONS_ID_WAIT: Route[None, InvocationOutcome] = Route("GET", "/v1/invocations/{id}/wait", ("timeout_ms",))
GET_MODULES: Route[None, ModuleList] = Route("GET", "/v1/modules", ())
POST_MODULES: Route[bytes, Deployed] = Route("POST", "/v1/modules", ("alias",))
GET_MODULES_MODULE: Route[None, Module] = Route("GET", "/v1/modules/{module}", ())
DELETE_MODULES_MODULE: Route[None, Undeployed] = Route("DELETE", "/v1/modules/{module}", ())
GET_MODULES_MODULE_COMPONENT: Route[None, bytes] = Route("GET", "/v1/modules/{module}/component", ())
GET_OBJECTS: Route[None, ObjectList] = Route("GET", "/v1/objects", ("prefix", "partial", "after", "limit",))
GET_OBJECTS_MODULE_OBJECT_KEY: Route[None, ObjectView] = Route("GET", "/v1/objects/{module}/{object}/{key}", ("name",))
PATCH_OBJECTS_MODULE_OBJECT_KEY: Route[ChangeState, ObjectView] = Route("PATCH", "/v1/objects/{module}/{object}/{key}", ())
POST_OBJECTS_MODULE_OBJECT_KEY_FUNCTION: Route[CallObject, Started] = Route("POST", "/v1/objects/{module}/{object}/{key}/{function}", ())
GET_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME: Route[None, ObjectPromiseView] = Route("GET", "/v1/objects/{module}/{object}/{key}/promises/{name}", ())
POST_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME_RESOLVE: Route[ResolvePromise, ObjectPromiseView] = Route("POST", "/v1/objects/{module}/{object}/{key}/promises/{name}/resolve", ())
POST_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME_REJECT: Route[RejectPromise, ObjectPromiseView] = Route("POST", "/v1/objects/{module}/{object}/{key}/promises/{name}/reject", ())
GET_PROMISES: Route[None, PromisePage] = Route("GET", "/v1/promises", ("state", "external", "signals", "prefix", "tags", "partial", "after", "limit",))
POST_PROMISES: Route[CreatePromise, PromiseCreated] = Route("POST", "/v1/promises", ())
GET_PROMISES_ID: Route[None, PromiseView] = Route("GET", "/v1/promises/{id}", ())
POST_PROMISES_ID_RESOLVE: Route[ResolvePromise, PromiseView] = Route("POST", "/v1/promises/{id}/resolve", ())
POST_PROMISES_ID_REJECT: Route[RejectPromise, PromiseView] = Route("POST", "/v1/promises/{id}/reject", ())
POST_PROMISES_ID_CANCEL: Route[None, PromiseView] = Route("POST", "/v1/promises/{id}/cancel", ())
GET_SCHEDULES: Route[None, ScheduleList] = Route("GET", "/v1/schedules", ("prefix", "label", "partial", "after", "limit",))
POST_SCHEDULES: Route[CreateSchedule, ScheduleCreated] = Route("POST", "/v1/schedules", ())
GET_SCHEDULES_ID: Route[None, ScheduleView] = Route("GET", "/v1/schedules/{id}", ())
DELETE_SCHEDULES_ID: Route[None, Accepted] = Route("DELETE", "/v1/schedules/{id}", ())
POST_SCHEDULES_ID_PAUSE: Route[None, ScheduleView] = Route("POST", "/v1/schedules/{id}/pause", ())
POST_SCHEDULES_ID_RESUME: Route[None, ScheduleView] = Route("POST", "/v1/schedules/{id}/resume", ())
POST_SCHEDULES_ID_TRIGGER: Route[Trigger, Triggered] = Route("POST", "/v1/schedules/{id}/trigger", ())
POST_SCHEDULES_ID_BACKFILL: Route[Backfill, Backfilled] = Route("POST", "/v1/schedules/{id}/backfill", ())

ProblemCode = Literal[
    "alias-moved",
    "already-sent",
    "already-settled",
    "bad-request",
    "beyond-the-end",
    "blob-damaged",
    "blobs-unavailable",
    "body-too-large",
    "body-too-slow",
    "broken-body",
    "conflict",
    "diverges",
    "foreign-host",
    "foreign-origin",
    "id-taken",
    "internal",
    "invalid-body",
    "invalid-field",
    "invalid-header",
    "invalid-id",
    "invalid-input",
    "invalid-json",
    "invalid-limit",
    "invalid-path",
    "invalid-plan",
    "invalid-query",
    "invalid-result",
    "invalid-target",
    "is-a-graph-run",
    "is-an-invocation",
    "journal-damaged",
    "journal-grew",
    "journal-mismatch",
    "key-reused",
    "method-not-allowed",
    "missing-csrf",
    "no-blobs",
    "no-fork-there",
    "no-handlers",
    "no-journal",
    "no-module",
    "no-such-command",
    "no-such-record",
    "not-a-graph-run",
    "not-allowed",
    "not-begun",
    "not-counted",
    "not-ended",
    "not-holder",
    "not-ready",
    "not-removable",
    "not-signed",
    "object-busy",
    "overloaded",
    "query-failed",
    "query-trapped",
    "ran-already",
    "read-too-long",
    "replay-failed",
    "resource-busy",
    "schedule-overlaps",
    "sequence-gap",
    "stale-epoch",
    "stale-token",
    "stale-version",
    "store-unavailable",
    "stream-closed",
    "stream-content-type",
    "stream-differs",
    "stream-gone",
    "stream-of-execution",
    "stream-rate",
    "stream-sequence",
    "too-large",
    "unauthorized",
    "unknown-blob",
    "unknown-function",
    "unknown-invocation",
    "unknown-module",
    "unknown-outcome",
    "unknown-promise",
    "unknown-query",
    "unknown-resource",
    "unknown-route",
    "unknown-schedule",
    "unknown-signal",
    "unknown-stream",
    "unknown-task",
    "unknown-update",
    "unprocessable",
    "unreadable",
    "unreadable-input",
    "unreadable-module",
    "unsupported-media-type",
    "update-refused",
    "wrong-digest",
    "wrong-state",
]
"""The stable codes of problems that the OpenAPI document names."""
