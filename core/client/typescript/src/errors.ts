import type { ErrorCode, FieldError, Problem } from "./types.js";

/** What every failed call has in common. */
export abstract class CallError extends Error {
  /** The idempotency key of the call, to repeat it with; null for a call that takes none. */
  readonly key: string | null;
  /** How often the request was sent, or tried to be. */
  readonly attempts: number;

  /** @internal */
  constructor(message: string, key: string | null, attempts: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.key = key;
    this.attempts = attempts;
  }
}

/** A refusal of the service. An answer of a proxy in front of the service has no code. */
export class RefusedError extends CallError {
  override readonly name = "RefusedError";
  /** The status of the answer; 0 for a redirect in a browser, which hides it. */
  readonly status: number;
  readonly code: ErrorCode | null;
  /** What was wrong and what to do about it, for people. */
  readonly detail: string;
  readonly requestId: string | null;
  /** Whether the same request may be sent again without a change. */
  readonly retryable: boolean;
  /** The id that the run has if it exists, where the service could tell it. */
  readonly runId: string | null;
  /** What differs from the first use of the key. */
  readonly differs: readonly string[];
  /** The request that used the key first. */
  readonly originalRequestId: string | null;
  /** The faults of the request, with their locations. */
  readonly errors: readonly FieldError[];
  /** How long the service asks to wait; null where it does not say. */
  readonly retryAfterMs: number | null;
  /** The whole body, or null where it is not that of the service. */
  readonly problem: Problem | null;

  /** @internal */
  constructor(refusal: Refusal) {
    super(wording(refusal), refusal.key, refusal.attempts);
    const { problem } = refusal;
    this.status = refusal.status;
    this.problem = problem;
    this.code = problem?.code || null;
    this.detail = problem?.detail ?? "";
    this.requestId = requestIdOf(refusal);
    this.retryable = problem?.retryable === true;
    this.runId = problem?.run_id || null;
    this.differs = problem?.differs ?? [];
    this.originalRequestId = problem?.original_request_id || null;
    this.errors = problem?.errors ?? [];
    this.retryAfterMs = refusal.retryAfterMs;
  }
}

/** @internal */
export interface Refusal {
  status: number;
  problem: Problem | null;
  requestId: string | null;
  retryAfterMs: number | null;
  key: string | null;
  attempts: number;
}

/**
 * A request may have been carried out, because it was sent and its answer never arrived. Repeating the call with the
 * key is safe, and finds out. Without a key, look first whether the call was carried out.
 */
export class UnknownOutcomeError extends CallError {
  override readonly name = "UnknownOutcomeError";
  /** The id that the run has if it exists, where the service could tell it. */
  readonly runId: string | null;

  /** @internal */
  constructor(key: string | null, runId: string | null, attempts: number, cause: unknown) {
    const advice = key === null
      ? "the answer did not come, and the request may have been carried out"
      : `the answer did not come: a run may exist; retry with key ${key}`;
    super(`${advice}: ${messageOf(cause)}`, key, attempts, cause);
    this.runId = runId;
  }
}

/** A request was never sent, or a read-only request got no answer. */
export class UnreachableError extends CallError {
  override readonly name = "UnreachableError";

  /** @internal */
  constructor(key: string | null, attempts: number, cause: unknown, origin: string) {
    super(`the service at ${origin} did not answer: ${messageOf(cause)}`, key, attempts, cause);
  }
}

/** The answer is not one of this service: not JSON, or a link that leads elsewhere. */
export class UnexpectedAnswerError extends CallError {
  override readonly name = "UnexpectedAnswerError";
}

/** The document could not be read, which is not the fault of the service. Nothing was started. */
export class DocumentError extends CallError {
  override readonly name = "DocumentError";

  /** @internal */
  constructor(key: string | null, attempts: number, cause: unknown) {
    super(`the document could not be read: ${messageOf(cause)}`, key, attempts, cause);
  }
}

/** Takes the idempotency key of a failed call out of its error, to repeat the call with; null where there is none. */
export function keyOf(error: unknown): string | null {
  return error instanceof CallError ? error.key : null;
}

/** @internal */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  // Node says "fetch failed" and keeps the reason below.
  return error instanceof TypeError && error.cause instanceof Error
    ? `${error.message}: ${messageOf(error.cause)}`
    : error.message || (error as NodeJS.ErrnoException).code || error.name;
}

function wording(refusal: Refusal): string {
  const text = refusal.problem?.detail || unexplained(refusal.status);
  const code = refusal.problem?.code;
  const requestId = requestIdOf(refusal);
  if (requestId === null) {
    return code ? `${text} (${code})` : text;
  }
  return code ? `${text} (${code}, request ${requestId})` : `${text} (request ${requestId})`;
}

function unexplained(status: number): string {
  return status === 0 || (status >= 300 && status < 400)
    ? `the answer is a redirect (status ${status}), which is not followed: give the URL of the service itself`
    : `the answer has the status ${status}`;
}

function requestIdOf(refusal: Refusal): string | null {
  return refusal.problem?.request_id || refusal.requestId;
}
