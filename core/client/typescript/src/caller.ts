import { UnexpectedAnswerError, UnknownOutcomeError } from "./errors.js";
import { type Body, textBody } from "./form.js";
import type { Retries } from "./retry.js";
import { type Answer, type Method, type Request, type Sender, decode } from "./send.js";
import type { Run, Time } from "./types.js";

/** The options of every call. */
export interface CallOptions {
  /** Ends the call. What it has started on the service goes on. */
  signal?: AbortSignal;
  /** How often and how long this call is tried; omitted members are those of the client. */
  retries?: Partial<Retries>;
}

/** The options of a call that creates something. */
export interface KeyedOptions extends CallOptions {
  /** The idempotency key; without one the client makes one. */
  key?: string;
}

/** The options of a list. */
export interface ListOptions extends CallOptions {
  /** How many items a page has, 200 at most; 100 by default. */
  pageSize?: number;
}

/** The result of a start or a rerun. */
export interface Started {
  /** The run as it was when it was started, also in a replay. */
  run: Run;
  /** The idempotency key that all attempts had. */
  key: string;
  /** When the key expires; null if the service does not say. */
  expires: Time | null;
  /** Whether the run had been started before with this key. */
  replayed: boolean;
  /** The id of this request. */
  requestId: string | null;
  /** The id of the request that started the run. */
  originalRequestId: string | null;
  /** How often the request was sent. */
  attempts: number;
}

/** One page of a list. */
export interface Page<T> {
  results: T[];
  /** The addresses of the pages beside this one, for {@link Pages.page}; null at the ends. */
  next: string | null;
  previous: string | null;
}

/** A list that the service answers page by page. Nothing is read before it is asked for. */
export interface Pages<T> extends AsyncIterable<T> {
  /** Reads one page: that of an address in another page, or the first one. */
  page(address?: string): Promise<Page<T>>;
}

type Query = Record<string, string | number | Date | undefined>;

/**
 * A call as the operations describe it.
 *
 * @internal
 */
export interface Call {
  method: Method;
  path: string;
  query?: Query;
  /** What is sent as JSON, or as a file. */
  json?: unknown;
  file?: string | Uint8Array;
  body?: Body;
  headers?: Record<string, string>;
  keyed?: boolean;
  creates?: boolean;
}

/**
 * Makes calls and reads their answers.
 *
 * @internal
 */
export class Caller {
  readonly #sender: Sender;
  readonly #newKey: () => string | Promise<string>;

  constructor(sender: Sender, newKey: () => string | Promise<string>) {
    this.#sender = sender;
    this.#newKey = newKey;
  }

  /** Reads the answer as JSON. An answer that cannot be read leaves it open what was done. */
  async read<T>(call: Call, options: CallOptions): Promise<T> {
    return (await this.#exchange<T>(call, options)).value;
  }

  async content(call: Call, options: CallOptions): Promise<Uint8Array> {
    return (await this.send(call, options)).answer.content;
  }

  async done(call: Call, options: CallOptions): Promise<void> {
    await this.send(call, options);
  }

  async create(call: Call, options: KeyedOptions): Promise<Started> {
    const { value: run, key, answer } = await this.#exchange<Run>(call, options);
    const { headers } = answer;
    if (typeof run.id !== "string") {
      const cause = new UnexpectedAnswerError("the answer is no run", key, answer.attempts);
      throw new UnknownOutcomeError(key, null, answer.attempts, cause);
    }
    const replayed = headers.get("Idempotent-Replayed") === "true";
    const requestId = headers.get("Request-Id");
    return {
      run, key: key ?? "", replayed, requestId, attempts: answer.attempts,
      expires: headerTime(headers, "Idempotency-Expires"),
      originalRequestId: replayed ? headers.get("Original-Request-Id") : requestId,
    };
  }

  pages<T>(path: string, options: ListOptions, filter: Query, paged: boolean): Pages<T> {
    const query = paged ? { page_size: options.pageSize ?? 100, ...filter } : filter;
    const page = async (address?: string): Promise<Page<T>> => {
      const first = address === undefined;
      const read = await this.read<Page<T>>(
        { method: "GET", path: first ? path : checked(address), ...first && { query } },
        { ...options.signal && { signal: options.signal }, ...options.retries && { retries: options.retries } },
      );
      return { ...read, next: checked(read.next) };
    };
    async function* all(): AsyncGenerator<T, void, undefined> {
      for (let read = await page(); ; read = await page(read.next)) {
        yield* read.results;
        if (read.next === null) {
          return;
        }
      }
    }
    return { page, [Symbol.asyncIterator]: all };
  }

  /** Sends a call, and returns the answer with the key that was sent. */
  async send(
    call: Call, options: KeyedOptions & { ifMatch?: string },
  ): Promise<{ answer: Answer; key: string | null }> {
    const request: Request = {
      method: call.method, path: call.path + written(call.query), headers: { ...call.headers }, signal: options.signal,
      creates: call.creates === true, ...bodyOf(call),
    };
    if (options.ifMatch !== undefined) {
      request.headers = { ...request.headers, "If-Match": options.ifMatch };
    }
    if (call.keyed) {
      request.key = await this.#keyFor(options.key);
    }
    return { answer: await this.#sender.send(request, options.retries), key: request.key ?? null };
  }

  async #exchange<T>(call: Call, options: KeyedOptions): Promise<{ value: T; key: string | null; answer: Answer }> {
    const { answer, key } = await this.send(call, options);
    try {
      return { value: decode<T>(answer.content, key, answer.attempts), key, answer };
    } catch (error) {
      throw call.creates ? new UnknownOutcomeError(key, null, answer.attempts, error) : error;
    }
  }

  /** The caller's key, or a new one. */
  async #keyFor(key: string | undefined): Promise<string> {
    if (key === undefined) {
      return this.#newKey();
    }
    if (!/^[\x20-\x7e]+$/.test(key)) {
      throw new TypeError("the key must be 1 to 255 printable ASCII characters; leave it out to have one made");
    }
    return key;
  }
}

/**
 * Escapes a part of a path. A URL with one of these would be that of something else.
 *
 * @internal
 */
export function segment(id: string): string {
  if (id === "" || id === "." || id === "..") {
    throw new TypeError(`${JSON.stringify(id)} is no id`);
  }
  return encodeURIComponent(id);
}

/** @internal */
export function headerTime(headers: Headers, name: string): Time | null {
  const at = new Date(headers.get(name) ?? NaN);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** Refuses a link that names a host, as a forged one to a next page could: it would be sent the token. */
function checked<T extends string | null>(address: T): T {
  // A browser takes a backslash for a slash, and passes over control characters.
  if (address !== null && (typeof address !== "string" || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(address))) {
    throw new UnexpectedAnswerError(`the address ${JSON.stringify(address)} of the next page is not a path`, null, 1);
  }
  return address;
}

function written(query: Query = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === "number" && (!Number.isSafeInteger(value) || value < 1)) {
      throw new TypeError(`${name} must be an integer from 1; leave it out to have the default`);
    }
    if (value !== undefined && value !== "") {
      all.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
  }
  const text = all.toString();
  return text === "" ? "" : `?${text}`;
}

function bodyOf({ json, file, body }: Call): { body?: Body } {
  if (json !== undefined) {
    return { body: jsonBody(json) };
  }
  return file === undefined ? body === undefined ? {} : { body } : { body: textBody("application/yaml", file) };
}

/** @internal */
export function jsonBody(value: unknown): Body {
  return textBody("application/json", JSON.stringify(value, finite));
}

/** Refuses NaN and infinities, which JSON.stringify makes null: as a period, that is the one of the service. */
function finite(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`${name} is ${value}, which is not a number that can be sent`);
  }
  return value;
}
