import type { Clock } from "./clock.js";
import { type CallError, RefusedError, UnexpectedAnswerError } from "./errors.js";
import type { Body, Sending, Unreadable } from "./form.js";
import {
  type Failure, type Retried, type Retries, conclude, failureOfError, failureOfRefusal, isRetryable, retryAfterMs,
  waitBefore,
} from "./retry.js";
import type { Problem } from "./types.js";

/** One request that was sent, or was to be sent. It holds neither the token nor the document. */
export interface Attempt {
  method: string;
  path: string;
  /** Counts from 1. */
  number: number;
  /** The idempotency key, if any. */
  key: string | null;
  /** The status of the answer, or null where none came. */
  status: number | null;
  requestId: string | null;
  /** Why the attempt failed, or null where it did not. */
  error: unknown;
  tookMs: number;
}

/** What sends the requests: `fetch`, or a function that wraps it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The methods of the API. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** @internal */
export interface Settings {
  base: URL;
  token: string | null;
  userAgent: string | null;
  retries: Retries;
  fetch: Fetch;
  clock: Clock;
  onAttempt: (attempt: Attempt) => void;
  onRetry: (attempt: Attempt, waitMs: number) => void;
}

/**
 * A call in a form that can be sent several times.
 *
 * @internal
 */
export interface Request extends Retried {
  method: Method;
  /** Begins with a slash and may have a query. */
  path: string;
  headers?: Record<string, string>;
  body?: Body;
  signal?: AbortSignal | undefined;
}

/** A success that was read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  content: Uint8Array;
  /** How often the request was sent. */
  attempts: number;
}

/** Bounds what is read of an answer into memory. */
const maxAnswer = 256 * 2 ** 20;

/** Ends an attempt that took too long. */
class AttemptTimeout extends Error {
  override readonly name = "TimeoutError";
}

/**
 * Sends requests to one service with one token.
 *
 * @internal
 */
export class Sender {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get clock(): Clock {
    return this.#settings.clock;
  }

  /** Names the service in errors. */
  get origin(): string {
    return this.#settings.base.origin;
  }

  /** Sends the request, with retries, until it has a final answer. */
  async send(request: Request, changed: Partial<Retries> = {}): Promise<Answer> {
    const { clock, onAttempt, onRetry } = this.#settings;
    const retries = { ...this.#settings.retries, ...changed };
    request.signal?.throwIfAborted();
    const ends = clock.now() + retries.budgetMs;
    let lost = false;
    for (let number = 1; ; number++) {
      const { tried, result } = await this.#try(request, number, retries.attemptTimeoutMs);
      onAttempt(tried);
      if ("answer" in result) {
        return result.answer;
      }
      const { failure } = result;
      lost ||= failure.lost;
      const wait = waitBefore(retries, number, failure.refused?.retryAfterMs ?? 0, clock);
      if (wait === null || !isRetryable(failure, request) || clock.now() + wait > ends) {
        throw this.#conclude(failure, request, lost, number);
      }
      onRetry(tried, wait);
      try {
        await clock.sleep(wait, request.signal);
      } catch {
        throw this.#conclude(failure, request, lost, number);
      }
    }
  }

  /** Sends the request once and reads the answer to its end, whatever it is. */
  async exchange(request: Request, signal: AbortSignal): Promise<Omit<Answer, "attempts">> {
    const sending = await openBody(request.body);
    try {
      const response = await this.#fetch(request, signal, sending);
      return { status: response.status, headers: response.headers, content: await readAll(response) };
    } catch (error) {
      const unreadable = await sending?.failed();
      throw unreadable ? new SourceFailure(unreadable) : error;
    }
  }

  /** Sends the request once and leaves it to the caller to read the answer. */
  async open(request: Request, signal: AbortSignal): Promise<Response> {
    return this.#fetch(request, signal, null);
  }

  /** Calls the function with a signal that ends after the time, or with that of the caller. */
  async within<T>(ms: number, signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const stop = (): void => controller.abort(signal?.reason);
    if (signal?.aborted) {
      stop();
    }
    signal?.addEventListener("abort", stop, { once: true });
    const clear = this.#settings.clock.after(ms, () =>
      controller.abort(new AttemptTimeout(`there was no answer within ${ms} ms`)));
    try {
      return await call(controller.signal);
    } catch (error) {
      const reason: unknown = controller.signal.aborted ? controller.signal.reason : error;
      controller.abort(); // What has not been sent or read yet is not wanted.
      throw reason;
    } finally {
      clear();
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Asks once, as a probe does. */
  async once(
    request: Request, ms: number = this.#settings.retries.attemptTimeoutMs,
  ): Promise<Omit<Answer, "attempts">> {
    return this.within(ms, request.signal, (signal) => this.exchange(request, signal));
  }

  async #try(request: Request, number: number, ms: number): Promise<{ tried: Attempt; result: Result }> {
    const began = this.clock.now();
    const tried: Attempt = {
      method: request.method, path: request.path, number, key: request.key ?? null, status: null, requestId: null,
      error: null, tookMs: 0,
    };
    const result = await this.#attempt(request, number, ms, tried);
    tried.tookMs = this.clock.now() - began;
    if ("failure" in result) {
      tried.error = result.failure.error;
    }
    return { tried, result };
  }

  async #attempt(request: Request, number: number, ms: number, tried: Attempt): Promise<Result> {
    try {
      const answer = { ...await this.once(request, ms), attempts: number };
      tried.status = answer.status;
      tried.requestId = answer.headers.get("Request-Id");
      if (answer.status >= 200 && answer.status < 300) {
        return { answer };
      }
      return { failure: failureOfRefusal(refusalOf(answer, request.key ?? null)) };
    } catch (error) {
      if (error instanceof SourceFailure) {
        return { failure: { error: error.unreadable.reason, unreadable: true, lost: false, final: true } };
      }
      return { failure: failureOfError(error, request.signal?.aborted === true) };
    }
  }

  async #fetch(request: Request, signal: AbortSignal, sending: Sending | null): Promise<Response> {
    const { fetch } = this.#settings;
    const init: RequestInit & { duplex?: "half" } = {
      method: request.method,
      headers: this.#headers(request),
      // A redirect would lose the body and leak the token.
      redirect: "manual",
      cache: "no-store",
      credentials: "omit",
      signal,
    };
    if (sending !== null) {
      init.body = sending.data;
      init.duplex = "half";
    }
    return fetch(this.#resolve(request.path), init);
  }

  #headers(request: Request): Headers {
    const { token, userAgent } = this.#settings;
    const headers = new Headers(request.headers);
    if (request.body !== undefined) {
      headers.set("Content-Type", request.body.contentType);
    }
    if (userAgent !== null) {
      headers.set("User-Agent", userAgent);
    }
    if (token !== null) {
      headers.set("Authorization", `Bearer ${token}`);
    }
    if (request.key !== undefined) {
      headers.set("Idempotency-Key", request.key);
    }
    return headers;
  }

  /** Puts a path behind the base URL. */
  #resolve(path: string): string {
    const { base } = this.#settings;
    return base.origin + base.pathname.replace(/\/+$/, "") + path;
  }

  /** An abort by the caller is thrown with the caller's reason, unless the outcome of a start is unknown. */
  #conclude(failure: Failure, request: Request, lost: boolean, attempts: number): unknown {
    const concluded: CallError = conclude(failure, request, lost, attempts, this.origin);
    const knows = request.creates && (lost || failure.refused !== undefined);
    return request.signal?.aborted && !knows ? request.signal.reason : concluded;
  }
}

type Result = { answer: Answer } | { failure: Failure };

/** Carries the error of reading a document out of an attempt. */
class SourceFailure extends Error {
  constructor(readonly unreadable: Unreadable) {
    super("the document could not be read");
  }
}

async function openBody(body: Body | undefined): Promise<Sending | null> {
  try {
    return await body?.open() ?? null;
  } catch (reason) {
    throw new SourceFailure({ reason });
  }
}

async function readAll(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    length += read.value.byteLength;
    if (length > maxAnswer) {
      throw new Error(`the answer is longer than ${maxAnswer} bytes`);
    }
    chunks.push(read.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

/** @internal */
export function refusalOf(answer: Answer, key: string | null): RefusedError {
  return new RefusedError({
    status: answer.status, problem: problemOf(answer), requestId: answer.headers.get("Request-Id"),
    retryAfterMs: retryAfterMs(answer.headers), key, attempts: answer.attempts,
  });
}

/** What cannot be read is nothing, and the status says enough. */
function problemOf(answer: Answer): Problem | null {
  const [mediaType] = (answer.headers.get("Content-Type") ?? "").split(";");
  if (mediaType?.trim().toLowerCase() !== "application/problem+json") {
    return null;
  }
  try {
    const problem: unknown = JSON.parse(textOf(answer.content));
    return typeof problem === "object" && problem !== null ? problem as Problem : null;
  } catch {
    return null;
  }
}

/** @internal */
export function textOf(content: Uint8Array): string {
  return new TextDecoder().decode(content);
}

/**
 * Reads an answer as JSON.
 *
 * @internal
 */
export function decode<T>(content: Uint8Array, key: string | null, attempts: number): T {
  let value: unknown;
  try {
    value = JSON.parse(textOf(content));
  } catch (cause) {
    throw new UnexpectedAnswerError("the answer is not that of this service: it is not JSON", key, attempts, cause);
  }
  if (typeof value !== "object" || value === null) {
    throw new UnexpectedAnswerError("the answer is not that of this service: it is no JSON object", key, attempts);
  }
  return value as T;
}
