import type { Clock } from "./clock.js";
import {
  type CallError, DocumentError, RefusedError, UnknownOutcomeError, UnreachableError,
} from "./errors.js";

/** Says how often and how long a call is tried. */
export interface Retries {
  /** How often a request is sent at most; 1 means no retries. */
  attempts: number;
  /** The waits between attempts are random times below a limit, which begins here and doubles. */
  minWaitMs: number;
  /** The limit of the waits doubles up to this one. */
  maxWaitMs: number;
  /** The time since the beginning of the call after which no further attempt begins. */
  budgetMs: number;
  /** Bounds one attempt, including the upload of the document. */
  attemptTimeoutMs: number;
}

/** The retries of a client without the option `retries`. */
export const defaultRetries: Readonly<Retries> = Object.freeze({
  attempts: 4,
  minWaitMs: 250,
  maxWaitMs: 8_000,
  budgetMs: 5 * 60_000,
  attemptTimeoutMs: 2 * 60_000,
});

/** The longest Retry-After that is honored. A longer one ends the call. */
const maxRetryAfterMs = 60_000;

/**
 * Why one attempt failed.
 *
 * @internal
 */
export interface Failure {
  error: unknown;
  refused?: RefusedError;
  /** The document could not be read. */
  unreadable?: boolean;
  /** The service may have done what was asked for. */
  lost: boolean;
  /** A retry would fail in the same way. */
  final: boolean;
}

/**
 * What the rules need to know of a request.
 *
 * @internal
 */
export interface Retried {
  /** The idempotency key, if the call takes one. */
  key?: string;
  /** The call does something that must not be done twice. */
  creates?: boolean;
}

/**
 * The failure of an attempt that was answered with a refusal.
 *
 * @internal
 */
export function failureOfRefusal(refused: RefusedError): Failure {
  return { error: refused, refused, lost: refused.status >= 500 && refused.code !== "unavailable", final: false };
}

/**
 * The failure of an attempt without an answer.
 *
 * @internal
 */
export function failureOfError(error: unknown, aborted: boolean): Failure {
  if (isUntrusted(error)) {
    return { error, lost: false, final: true };
  }
  return { error, lost: !isUnsent(error), final: aborted };
}

/**
 * Reports whether sending the request again is safe and may succeed.
 *
 * @internal
 */
export function isRetryable(failure: Failure, request: Retried): boolean {
  const safe = request.key !== undefined || !request.creates;
  const { refused } = failure;
  if (failure.final) {
    return false;
  }
  if (refused === undefined) {
    return safe || !failure.lost;
  }
  if (refused.code !== null) {
    return refused.retryable && refused.status !== 422;
  }
  // A proxy in front of the service answered.
  return safe && [502, 503, 504].includes(refused.status);
}

/**
 * Makes the error of the whole call. If the answer of any attempt was lost, the outcome is unknown, unless a later
 * answer settles it.
 *
 * @internal
 */
export function conclude(
  failure: Failure, request: Retried, lost: boolean, attempts: number, origin: string,
): CallError {
  const key = request.key ?? null;
  const { refused } = failure;
  if (failure.unreadable && !lost) {
    return new DocumentError(key, attempts, failure.error);
  }
  if (refused !== undefined && (!request.creates || !lost || tellsTheOutcome(refused))) {
    return refused;
  }
  if (request.creates && lost) {
    return new UnknownOutcomeError(key, refused?.runId ?? null, attempts, failure.error);
  }
  return new UnreachableError(key, attempts, failure.error, origin);
}

/**
 * Reports whether a refusal comes only after the key was looked up and not found in use, so that no earlier attempt can
 * have succeeded.
 */
function tellsTheOutcome(refused: RefusedError): boolean {
  return refused.code !== null && [
    "quota_exceeded", "payment_required", "idempotency_key_reused", "workflow_inactive", "workflow_has_no_steps",
    "unsupported_media_type", "document_gone",
  ].includes(refused.code);
}

/**
 * The time before the next attempt, or null where there may be none.
 *
 * @internal
 */
export function waitBefore(retries: Retries, attempts: number, askedMs: number, clock: Clock): number | null {
  if (attempts >= retries.attempts || askedMs > maxRetryAfterMs) {
    return null;
  }
  if (askedMs > 0) {
    // Clients that were refused together should not come back together.
    return askedMs + clock.random() * retries.minWaitMs;
  }
  const limit = Math.min(retries.minWaitMs * 2 ** (attempts - 1), retries.maxWaitMs);
  return clock.random() * limit;
}

/**
 * Reads Retry-After, which is a number of seconds or a date; null where it is neither.
 *
 * @internal
 */
export function retryAfterMs(headers: Headers): number | null {
  const text = headers.get("Retry-After")?.trim() ?? "";
  if (/^\d+$/.test(text)) {
    return Math.min(Number(text), 2 ** 31) * 1000;
  }
  const at = /^[A-Za-z]{3,9}, /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

/**
 * Reports whether there was not even a connection. Browsers do not tell, so the answer then is no.
 *
 * @internal
 */
export function isUnsent(error: unknown): boolean {
  if (error instanceof AggregateError) {
    return error.errors.length > 0 && error.errors.every(isUnsent);
  }
  const { code, syscall, cause } = detailsOf(error);
  return syscall === "connect" || syscall === "getaddrinfo" || code === "UND_ERR_CONNECT_TIMEOUT" ||
    (cause !== undefined && isUnsent(cause));
}

/**
 * Reports whether the server is not to be trusted, or speaks no TLS, so that nothing was sent to it. Other errors of TLS
 * may come when the request was carried out.
 */
function isUntrusted(error: unknown): boolean {
  const { code, message, cause } = detailsOf(error);
  const text = typeof code === "string" ? code : "";
  const certificate = /CERT|_ISSUER|LEAF_SIGNATURE|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH/.test(text) &&
    !text.startsWith("ERR_SSL_");
  const plain = /^(EPROTO|ERR_SSL_)/.test(text) &&
    /wrong version number|packet length too long|http request|unknown protocol/i.test(`${text} ${String(message)}`
      .replaceAll("_", " "));
  return certificate || plain || (cause !== undefined && isUntrusted(cause));
}

function detailsOf(error: unknown): { code?: unknown; message?: unknown; syscall?: unknown; cause?: unknown } {
  return typeof error === "object" && error !== null ? error : {};
}
