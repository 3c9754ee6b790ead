import { type CallOptions, Caller, type KeyedOptions, type Started, headerTime, segment } from "./caller.js";
import { type Clock, systemClock } from "./clock.js";
import { UnreachableError, messageOf } from "./errors.js";
import { type RunEvent, events } from "./events.js";
import { type Document, formBody, textBody } from "./form.js";
import { newKey } from "./keys.js";
import { Operations, version } from "./operations.js";
import { type Retries, defaultRetries } from "./retry.js";
import { type Answer, type Attempt, type Fetch, type Method, Sender, decode } from "./send.js";
import { type SignedCall, signature } from "./sign.js";
import type { CallbackReceipt, Readiness, Run, Time, ValidatorAnswer } from "./types.js";
import { Wait } from "./wait.js";

/** How a client is set up. */
export interface ClientOptions {
  /** The API token. */
  token?: string;
  /** How often and how long calls are tried; omitted members are those of {@link defaultRetries}. */
  retries?: Partial<Retries>;
  /** Makes the keys of calls without one; by default they are new UUIDv7s. */
  newKey?: () => string | Promise<string>;
  /** The name of the calling program, in front of the client's own. Browsers keep their own name. */
  userAgent?: string;
  /** Sends the requests, for example with traces of them. It must not follow redirects by itself. */
  fetch?: Fetch;
  /** Called with every attempt when it has ended. */
  onAttempt?: (attempt: Attempt) => void;
  /** Called with an attempt that failed and the wait before the next one. */
  onRetry?: (attempt: Attempt, waitMs: number) => void;
}

/** A document to be validated. */
export interface StartRequest extends Document {
  /** The id or the slug of the workflow. */
  workflow: string;
  /** Pins a version of the workflow; without one it is the latest. */
  version?: number;
  /** The idempotency key; without one the client makes one. */
  key?: string;
}

/** The options of a wait. */
export interface WaitOptions extends CallOptions {
  /** Called once for each event. */
  onEvent?: (event: RunEvent) => void;
}

/** The options of a start with a wait. */
export interface StartAndWaitOptions extends WaitOptions {
  /** Called with the start before the wait begins: it has the id of the run and its key. */
  onStarted?: (started: Started) => void;
}

/** A format of a report of a run's findings. */
export type Report = "text" | "sarif" | "junit" | "github" | "csv";

/** What a process of the service says of itself. */
export interface Health extends Readiness {
  /** The time of the answer's Date header, to the second; null if it has none. */
  at: Time | null;
}

/**
 * Calls one service with one token. Many calls may be under way at once.
 *
 * A start always carries an idempotency key: the caller's, that of `newKey`, or a new UUIDv7. All attempts of one call
 * send the same key and the same bytes, so that however often the network fails, at most one run is started. The key is
 * in the result and in every error.
 */
export class Client extends Operations {
  readonly #sender: Sender;
  readonly #caller: Caller;

  /** Makes a client of the service at the base URL, like `https://validations.example`. */
  constructor(baseUrl: string | URL, options?: ClientOptions);
  /** @internal */
  constructor(baseUrl: string | URL, options: ClientOptions | undefined, clock: Clock);
  constructor(baseUrl: string | URL, options: ClientOptions = {}, clock: Clock = systemClock) {
    const token = options.token ?? null;
    if (token !== null && !/^[\x21-\x7e]+$/.test(token)) {
      throw new TypeError("the token must be printable ASCII characters without spaces");
    }
    const sender = new Sender({
      base: checkedBase(baseUrl), token, clock,
      userAgent: userAgent(options.userAgent),
      retries: { ...defaultRetries, ...options.retries },
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      onAttempt: options.onAttempt ?? (() => undefined),
      onRetry: options.onRetry ?? (() => undefined),
    });
    const caller = new Caller(sender, options.newKey ?? newKey);
    super(caller);
    this.#sender = sender;
    this.#caller = caller;
  }

  /** Starts a run, or finds the one that was started with the same key and the same document. */
  async start(start: StartRequest, options: CallOptions = {}): Promise<Started> {
    return this.#caller.create({
      method: "POST", path: `/api/workflows/${segment(start.workflow)}/start/`, query: { version: start.version },
      body: await formBody(start), keyed: true, creates: true,
    }, start.key === undefined ? options : { ...options, key: start.key });
  }

  /** Starts a run and returns it when it is completed: {@link Client.start} and then {@link Client.wait}. */
  async startAndWait(start: StartRequest, options: StartAndWaitOptions = {}): Promise<Run> {
    const started = await this.start(start, options);
    options.onStarted?.(started);
    return this.wait(started.run.id, options);
  }

  /**
   * Returns the run when it is completed, with its steps. It follows the run's events; if the stream fails, it
   * long-polls the run, or polls every second if that is not possible. It tolerates a service that does not answer for
   * up to two minutes. The signal ends the wait, never the run.
   */
  async wait(runId: string, options: WaitOptions = {}): Promise<Run> {
    return new Wait(this.#sender, runPath(runId), options.signal, options.onEvent ?? (() => undefined)).run();
  }

  /**
   * Iterates over the events of a run, from its first one or from that after the given id, until the run has ended or
   * the stream has, which the service ends after some minutes. {@link Client.wait} then continues by itself.
   */
  events(
    runId: string, options: { signal?: AbortSignal; after?: string } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    return events(this.#sender, `${runPath(runId)}events/`, options.after ?? "", options.signal);
  }

  /** Reads the findings of a run as a report. */
  async report(runId: string, format: Report, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#caller.content({ method: "GET", path: `${runPath(runId)}findings/`, query: { format } }, options);
  }

  /**
   * Sends the result of a call that an external validator has answered with 202, signed with the secret of the
   * validator. The client needs no token for it. The first result counts, so repeating it changes nothing.
   */
  async callBack(call: SignedCall, answer: ValidatorAnswer, options: CallOptions = {}): Promise<CallbackReceipt> {
    const content = JSON.stringify(answer);
    return this.#caller.read({
      method: "POST", path: `/api/callbacks/${segment(call.receipt)}/`, body: textBody("application/json", content),
      headers: { "Sv-Signature": await signature(call, Math.floor(Date.now() / 1000), content) },
    }, options);
  }

  /**
   * Sends a request that no other method sends, or whose answer is wanted as it came, with its headers. It is tried
   * again in the same way. A `POST` whose answer gets lost is sent again only if there is a key.
   */
  async send(
    method: Method, path: string,
    options: KeyedOptions & { headers?: Record<string, string>; json?: unknown } = {},
  ): Promise<Answer> {
    const { headers = {}, json } = options;
    return (await this.#caller.send({
      method, path, headers, json, creates: method === "POST", keyed: options.key !== undefined,
    }, options)).answer;
  }

  /**
   * Asks once, without retries, whether the service can do its work. A service that cannot is an answer and not an
   * error.
   */
  async health(options: { signal?: AbortSignal } = {}): Promise<Health> {
    options.signal?.throwIfAborted();
    let answer: Omit<Answer, "attempts">;
    try {
      answer = await this.#sender.once({ method: "GET", path: "/readyz/", signal: options.signal });
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new UnreachableError(null, 1, error, this.#sender.origin);
    }
    return { ...decode<Readiness>(answer.content, null, 1), at: headerTime(answer.headers, "Date") };
  }
}

function checkedBase(baseUrl: string | URL): URL {
  let base: URL;
  try {
    base = new URL(baseUrl);
  } catch (cause) {
    throw new TypeError(`the URL of the service must be like https://validations.example: ${messageOf(cause)}`);
  }
  if (base.protocol !== "http:" && base.protocol !== "https:") {
    throw new TypeError("the URL of the service must be like https://validations.example");
  }
  if (base.username !== "" || base.password !== "" || base.search !== "" || base.hash !== "") {
    throw new TypeError("the URL of the service must have neither a user, nor a query, nor a fragment");
  }
  return base;
}

/** Null in browsers, which send their own. */
function userAgent(program: string | undefined): string | null {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  const node = process?.versions?.node;
  if (node === undefined) {
    return null;
  }
  const own = `simplevalidations-typescript/${version} (node ${node})`;
  return program === undefined ? own : `${program} ${own}`;
}

function runPath(runId: string): string {
  return `/api/runs/${segment(runId)}/`;
}
