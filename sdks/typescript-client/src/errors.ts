// Errors of the client. Programs read `code`, which is stable; people read `message`.

import type { FailureView, InvocationState, ProblemCode } from './api.js';

/** Base of all errors that this client throws on purpose. */
export abstract class SegnoError extends Error {
  /** A stable code, in kebab case. For a refusal of the host, the code of its problem document. */
  abstract readonly code: string;
  override get name(): string {
    return this.constructor.name;
  }
}

/** A value that JSON cannot say, or that it would change silently. The message names the place. */
export class InvalidValueError extends SegnoError {
  readonly code = 'invalid-value';
}

/** An argument or an option that makes no sense, such as an address without a scheme. */
export class InvalidArgumentError extends SegnoError {
  readonly code = 'invalid-argument';
}

/** No host answered. Except when `wasSent` is false, it is unknown if a host acted on the request. */
export class UnreachableError extends SegnoError {
  readonly code = 'server-unreachable';
  constructor(
    /** Address of the host. */
    readonly server: string,
    /** False if no connection was made, so that the request did not reach a host. */
    readonly wasSent: boolean,
    cause: unknown,
  ) {
    super(
      `no host answers at ${server}${reasonOf(cause)}; start one with \`segno serve\`, or name another in SEGNO_SERVER`,
      { cause },
    );
  }
}

/** The host did not answer within `requestTimeoutMs`. It may have acted on the request. */
export class RequestTimeoutError extends SegnoError {
  readonly code = 'server-slow';
  constructor(
    /** Address of the host. */
    readonly server: string,
    /** Time that the request had, in milliseconds. */
    readonly timeoutMs: number,
  ) {
    super(`the host at ${server} did not answer within ${timeoutMs} ms; it may have acted on the request`);
  }
}

/** The answer is none of this API: another program answers, a proxy, or another version of Segno. */
export class UnexpectedAnswerError extends SegnoError {
  readonly code = 'unexpected-answer';
  constructor(
    /** Address of the host. */
    readonly server: string,
    /** HTTP status of the answer. */
    readonly status: number,
    reason: string,
    /** Time after which the answer asks to try again, in milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(`what answers at ${server} does not speak this API: ${reason}`);
  }
}

/** The content that passed is not that of the blob: it was changed where it is stored, or on its way. */
export class BlobDamagedError extends SegnoError {
  readonly code = 'blob-damaged';
  constructor(
    /** Id of the blob. */
    readonly id: string,
    digest: string,
  ) {
    super(`the content of the blob \`${id}\` is damaged: what passed has the digest ${digest}`);
  }
}

/** The problem document of a refusal, as the host sent it. */
export interface Problem {
  /** URN that contains the code. */
  type: string;
  /** Title, the same for every problem with this code. */
  title: string;
  /** HTTP status of the answer. */
  status: number;
  /** The error in this request, and how to correct it. */
  detail: string;
  /** A stable code, in kebab case. */
  code: string;
  /** Further data for programs, for example `known` or `errors`. */
  [name: string]: unknown;
}

/** A refusal of the host. Its subclasses are the families of codes; `code` tells the reason exactly. */
export class RefusedError extends SegnoError {
  override readonly code: ProblemCode | (string & {});
  /** HTTP status of the answer. */
  readonly status: number;
  /** Title, the same for every problem with this code. */
  readonly title: string;
  /** Further data for programs, for example `known`, `errors`, `id`, `failure`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Id of the request, if the host or a proxy before it names one (`x-request-id`). */
  readonly requestId: string | undefined;
  /** Time after which the host asks to try again, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(problem: Problem, requestId?: string, retryAfterMs?: number) {
    super(problem.detail);
    const { type: _, title, status, detail: __, code, ...details } = problem;
    this.code = code;
    this.status = status;
    this.title = title;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** 400, 405, 408, 413, 415, 422: the request makes no sense to this host; the same again is refused again. */
export class InvalidRequestError extends RefusedError {}
/** 422 `query-failed`, `update-refused`: the workflow itself refused a query or an update. */
export class WorkflowRefusedError extends InvalidRequestError {
  /** The workflow's failure. */
  get failure(): FailureView {
    return this.details['failure'] as FailureView;
  }
}
/** 401: the token is missing or wrong. */
export class UnauthorizedError extends RefusedError {}
/** 403: the token does not allow the request, or it is for another host or from a page of another site. */
export class ForbiddenError extends RefusedError {}
/** 404: there is no such module, function, invocation, promise, schedule, query or update. */
export class NotFoundError extends RefusedError {}
/** 409: the state of what the request is about does not allow it; `key-reused`: the id belongs to another request. */
export class ConflictError extends RefusedError {}
/** 429 and 503: temporary. The client has tried again for as long as its options allow. */
export class UnavailableError extends RefusedError {}
/** 500: a fault of the host. */
export class HostError extends RefusedError {}

/** Returns the error of the family of `problem`. */
export function refusal(problem: Problem, requestId?: string, retryAfterMs?: number): RefusedError {
  return new (familyOf(problem))(problem, requestId, retryAfterMs);
}

function familyOf({ status, code }: Problem): typeof RefusedError {
  if (code === 'query-failed' || code === 'update-refused') return WorkflowRefusedError;
  if (status === 401) return UnauthorizedError;
  if (status === 403) return ForbiddenError;
  if (status === 404) return NotFoundError;
  if (status === 409) return ConflictError;
  if (status === 429 || status === 503) return UnavailableError;
  return status >= 500 ? HostError : InvalidRequestError;
}

/** An execution ended without a result: it was rejected, cancelled, killed, or timed out. */
export class ExecutionFailedError extends SegnoError {
  readonly code = 'execution-failed';
  constructor(
    /** Id of the execution. */
    readonly id: string,
    /** How it ended. */
    readonly state: InvocationState,
    /** The failure: a code that reads as in HTTP, a message, optional details. */
    readonly failure: FailureView,
    /** True if it was killed. */
    readonly killed: boolean,
  ) {
    super(
      `\`${id}\` ${killed ? 'was killed' : (WORDS[state] ?? `is ${state}`)}: ${failure.message} (code ${failure.code})`,
    );
  }
}

/** An execution is halted: it has not ended, and needs a person. */
export class ExecutionHaltedError extends SegnoError {
  readonly code = 'execution-halted';
  constructor(
    /** Id of the execution. */
    readonly id: string,
    /** The reason of the halt. */
    readonly reason: string,
  ) {
    super(`\`${id}\` is halted: ${reason}; \`segno inspect ${id}\` shows more`);
  }
}

/** What was waited for has not happened within `waitMs`. It goes on: wait again, or look later. */
export class WaitTimeoutError extends SegnoError {
  readonly code = 'wait-timeout';
  constructor(
    /** Id of the execution or promise. */
    readonly id: string,
    /** Its state when the time was over. */
    readonly state: string,
    /** The time, in milliseconds. */
    readonly waitMs: number,
  ) {
    super(`\`${id}\` has not ended within ${waitMs} ms: it is ${state}`);
  }
}

/** A workflow answered an accepted update with a failure. */
export class UpdateFailedError extends SegnoError {
  readonly code = 'update-failed';
  constructor(
    /** Id of the execution. */
    readonly id: string,
    /** Name of the update. */
    readonly update: string,
    /** The failure. */
    readonly failure: FailureView,
  ) {
    super(`the update \`${update}\` of \`${id}\` failed: ${failure.message} (code ${failure.code})`);
  }
}

/** A promise was settled without a value: it was rejected, cancelled, or timed out. */
export class PromiseFailedError extends SegnoError {
  readonly code = 'promise-failed';
  constructor(
    /** Id of the promise. */
    readonly id: string,
    /** How it was settled. */
    readonly state: string,
    /** The failure, if it was rejected with one. */
    readonly failure: FailureView | undefined,
    /** The value with which it was rejected, if it was no failure. */
    readonly value: unknown,
  ) {
    super(`\`${id}\` ${WORDS[state] ?? `is ${state}`}${failure ? `: ${failure.message} (code ${failure.code})` : ''}`);
  }
}

const WORDS: Record<string, string> = { rejected: 'failed', cancelled: 'was cancelled', 'timed-out': 'timed out' };

function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
  const { code, message } = (inner ?? {}) as { code?: string; message?: string };
  const reason = code ?? message;
  return reason ? ` (${reason})` : '';
}
