import { type Clock, systemClock } from "./clock.js";
import { UnexpectedAnswerError, UnknownOutcomeError, UnreachableError, messageOf } from "./errors.js";
import type { RunEvent } from "./events.js";
import { type Body, type Document, formBody, textBody } from "./form.js";
import { newKey } from "./keys.js";
import { type Retries, defaultRetries } from "./retry.js";
import { type Answer, type Attempt, type Fetch, type Request, Sender, decode } from "./send.js";
import type {
  AuditRecord, Comparison, DocumentWindow, Finding, Invitation, InvitationLink, LoggedRequest, LoggedRequestDetail, Me,
  Member, MemberChange, MemberDraft, OrganizationChange, OrganizationSettings, Readiness, Run, RunResult, RunState, Source, Time, Token, TokenDraft, TokenRotation, TokenSecret, Usage, Workflow, WorkflowImport,
} from "./types.js";
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

/** The options of every call. */
export interface CallOptions {
  /** Ends the call. What it has started on the service goes on. */
  signal?: AbortSignal;
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

/** The options of a wait. */
export interface WaitOptions extends CallOptions {
  /** Called once for each event. */
  onEvent?: (event: RunEvent) => void;
}

/** The options of a start with a wait. */
export interface RunOptions extends WaitOptions {
  /** Called with the start before the wait begins: it has the id of the run and its key. */
  onStarted?: (started: Started) => void;
}

/** The options of a list. */
export interface ListOptions extends CallOptions {
  /** How many items are read at once, 200 at most. */
  pageSize?: number;
}

/** Narrows a list of runs; omitted members do not. */
export interface RunFilter extends ListOptions {
  state?: RunState;
  result?: RunResult;
  source?: Source;
  /** The id or the slug of a workflow. */
  workflow?: string;
  /** A part of the idempotency key or of the document's name, whatever the case of its letters. */
  search?: string;
  /** The idempotency key that the run was started with. */
  key?: string;
  /** Only runs that were created at this time or later. */
  since?: Date | Time;
  /** Only runs that were created before this time. */
  until?: Date | Time;
}

/** Narrows a list of requests; omitted members do not. */
export interface RequestFilter extends ListOptions {
  status?: "2xx" | "3xx" | "4xx" | "5xx";
  /** That of a problem. */
  code?: string;
  key?: string;
  /** The id of a token. */
  token?: string;
  /** The id of a run. */
  run?: string;
  /** Only requests that arrived at this time or later. */
  since?: Date | Time;
  /** Only requests that arrived before this time. */
  until?: Date | Time;
}

/** A format of a report of a run's findings. */
export type Report = "text" | "sarif" | "junit" | "github" | "csv";

/** What a process of the service says of itself. */
export interface Health extends Readiness {
  /** The time of the answer's Date header, to the second; null if it has none. */
  at: Time | null;
}

/** One page of a list. */
interface Page<T> {
  next: string | null;
  results: T[];
}

/**
 * Calls one service with one token. Many calls may be under way at once.
 *
 * A start always carries an idempotency key: the caller's, that of `newKey`, or a new UUIDv7. All attempts of one call
 * send the same key and the same bytes, so that however often the network fails, at most one run is started. The key is
 * in the result and in every error.
 */
export class Client {
  readonly #sender: Sender;
  readonly #newKey: () => string | Promise<string>;

  /** Makes a client of the service at the base URL, like `https://validations.example`. */
  constructor(baseUrl: string | URL, options?: ClientOptions);
  /** @internal */
  constructor(baseUrl: string | URL, options: ClientOptions | undefined, clock: Clock);
  constructor(baseUrl: string | URL, options: ClientOptions = {}, clock: Clock = systemClock) {
    const token = options.token ?? null;
    if (token !== null && !/^[\x21-\x7e]+$/.test(token)) {
      throw new TypeError("the token must be printable ASCII characters without spaces");
    }
    this.#newKey = options.newKey ?? newKey;
    this.#sender = new Sender({
      base: checkedBase(baseUrl), token, clock,
      userAgent: userAgent(options.userAgent),
      retries: { ...defaultRetries, ...options.retries },
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      onAttempt: options.onAttempt ?? (() => undefined),
      onRetry: options.onRetry ?? (() => undefined),
    });
  }

  /** Starts a run, or finds the one that was started with the same key and the same document. */
  async start(start: StartRequest, options: CallOptions = {}): Promise<Started> {
    const path = workflowPath(start.workflow, "start/", start.version);
    const key = await this.#keyFor(start.key);
    return this.#create({ method: "POST", path, key, body: await formBody(start), signal: options.signal });
  }

  /** Starts a run and returns it when it is completed: {@link Client.start} and then {@link Client.wait}. */
  async run(start: StartRequest, options: RunOptions = {}): Promise<Run> {
    const started = await this.start(start, options);
    options.onStarted?.(started);
    return this.wait(started.run.id, options);
  }

  /** Starts a new run on the document of an earlier one. Without a key the client makes one. */
  async rerun(runId: string, options: CallOptions & { key?: string } = {}): Promise<Started> {
    const path = `${runPath(runId)}rerun/`;
    return this.#create({ method: "POST", path, key: await this.#keyFor(options.key), signal: options.signal });
  }

  /**
   * Returns the run when it is completed, with its steps. It follows the run's events; if the stream fails, it
   * long-polls the run, or polls every second if that is not possible. It tolerates a service that does not answer for
   * up to two minutes. The signal ends the wait, never the run.
   */
  async wait(runId: string, options: WaitOptions = {}): Promise<Run> {
    return new Wait(this.#sender, runPath(runId), options.signal, options.onEvent ?? (() => undefined)).run();
  }

  /** Reads a run. */
  async getRun(runId: string, options: CallOptions = {}): Promise<Run> {
    return this.#get(runPath(runId), options);
  }

  /** Ends a run that has not ended yet. Canceling it again changes nothing. */
  async cancel(runId: string, options: CallOptions = {}): Promise<Run> {
    return this.#call({ method: "POST", path: `${runPath(runId)}cancel/`, signal: options.signal });
  }

  /** Iterates over the runs of the organization, newest first. */
  runs(filter: RunFilter = {}): AsyncGenerator<Run, void, undefined> {
    return this.#list("/api/runs/", filter, {
      state: filter.state, result: filter.result, source: filter.source, workflow: filter.workflow,
      q: filter.search, idempotency_key: filter.key, since: queryTime(filter.since), until: queryTime(filter.until),
    });
  }

  /** Iterates over the findings of a run in the order in which they were found. */
  findings(runId: string, options: ListOptions = {}): AsyncGenerator<Finding, void, undefined> {
    return this.#list(`${runPath(runId)}findings/`, options);
  }

  /** Reads the findings of a run as a report. */
  async report(runId: string, form: Report, options: CallOptions = {}): Promise<Uint8Array> {
    const path = `${runPath(runId)}findings/?format=${encodeURIComponent(form)}`;
    return (await this.#sender.send({ method: "GET", path, signal: options.signal })).content;
  }

  /** Reads the document of a run, byte for byte. One that is no longer kept is refused: `document_gone`. */
  async document(runId: string, options: CallOptions = {}): Promise<Uint8Array> {
    const path = `${runPath(runId)}document/content/`;
    return (await this.#sender.send({ method: "GET", path, signal: options.signal })).content;
  }

  /** Reads at most 200 lines of a run's document, with the findings on them. */
  async documentLines(
    runId: string, options: CallOptions & { from?: number; lines?: number } = {},
  ): Promise<DocumentWindow> {
    const { from = 1, lines = 100 } = options;
    return this.#get(`${runPath(runId)}document/?from=${from}&lines=${lines}`, options);
  }

  /** Compares the findings with those of the previous run of the same workflow on the same file. */
  async compare(runId: string, options: CallOptions = {}): Promise<Comparison> {
    return this.#get(`${runPath(runId)}comparison/`, options);
  }

  /** Iterates over the organization's requests that may change something, newest first. */
  requests(filter: RequestFilter = {}): AsyncGenerator<LoggedRequest, void, undefined> {
    return this.#list("/api/requests/", filter, {
      status: filter.status, code: filter.code, key: filter.key, token: filter.token, run: filter.run,
      since: queryTime(filter.since), until: queryTime(filter.until),
    });
  }

  /** Reads a request in the log by its `id`, which is not its `request_id`. */
  async getRequest(id: string, options: CallOptions = {}): Promise<LoggedRequestDetail> {
    return this.#get(`/api/requests/${segment(id)}/`, options);
  }

  /** Reads the settings of the organization. */
  async organization(options: CallOptions = {}): Promise<OrganizationSettings> {
    return this.#get("/api/organization/", options);
  }

  /** Changes settings of the organization. To repeat it changes nothing. */
  async changeOrganization(change: OrganizationChange, options: CallOptions = {}): Promise<OrganizationSettings> {
    return this.#call({ method: "PATCH", path: "/api/organization/", body: jsonBody(change), signal: options.signal });
  }

  /** Iterates over the workflows of the organization. */
  workflows(options: ListOptions = {}): AsyncGenerator<Workflow, void, undefined> {
    return this.#list("/api/workflows/", options);
  }

  /** Reads a workflow by its id or slug, as of a version; without one it is the latest. */
  async getWorkflow(workflow: string, options: CallOptions & { version?: number } = {}): Promise<Workflow> {
    return this.#get(workflowPath(workflow, "", options.version), options);
  }

  /** Reads a workflow as a YAML file, as of a version; without one it is the latest. */
  async exportWorkflow(workflow: string, options: CallOptions & { version?: number } = {}): Promise<Uint8Array> {
    const path = workflowPath(workflow, "export/", options.version);
    return (await this.#sender.send({ method: "GET", path, signal: options.signal })).content;
  }

  /**
   * Imports a YAML file: as a new workflow, or as the next version of the one that has its slug. Without a key the
   * client makes one.
   */
  async importWorkflow(
    file: string | Uint8Array, options: CallOptions & { key?: string } = {},
  ): Promise<WorkflowImport> {
    return this.#call({
      method: "POST", path: "/api/workflows/import/", key: await this.#keyFor(options.key), creates: true,
      body: textBody("application/yaml", file), signal: options.signal,
    });
  }

  /** Reads the user, the organization and the role of the token. */
  async me(options: CallOptions = {}): Promise<Me> {
    return this.#get("/api/me/", options);
  }

  /** Reads how many runs the organization has used this month. */
  async usage(options: CallOptions = {}): Promise<Usage> {
    return this.#get("/api/usage/", options);
  }

  /** Iterates over the tokens of the caller, newest first; for admins over those of all members. */
  tokens(options: ListOptions = {}): AsyncGenerator<Token, void, undefined> {
    return this.#list("/api/tokens/", options);
  }

  /**
   * Makes a token. It takes no idempotency key, because its answer must not be stored: if the answer is lost, the error
   * is an {@link UnknownOutcomeError}, and a token may exist whose secret is unknown. Revoke it.
   */
  async createToken(draft: TokenDraft, options: CallOptions = {}): Promise<TokenSecret> {
    return this.#call({
      method: "POST", path: "/api/tokens/", creates: true, body: jsonBody(draft), signal: options.signal,
    });
  }

  /**
   * Replaces a token, which keeps working for the overlap. As with {@link Client.createToken}, a lost answer is an
   * {@link UnknownOutcomeError}: the old token may then work only until the overlap is over, and cannot be rotated
   * again.
   */
  async rotateToken(
    tokenId: string, rotation: TokenRotation = {}, options: CallOptions = {},
  ): Promise<TokenSecret> {
    return this.#call({
      method: "POST", path: `/api/tokens/${segment(tokenId)}/rotate/`, creates: true, body: jsonBody(rotation),
      signal: options.signal,
    });
  }

  /** Ends a token permanently. Repeating it is not an error. */
  async revokeToken(tokenId: string, options: CallOptions = {}): Promise<void> {
    await this.#sender.send({ method: "DELETE", path: `/api/tokens/${segment(tokenId)}/`, signal: options.signal });
  }

  /** Iterates over the members of the organization. */
  members(options: ListOptions = {}): AsyncGenerator<Member, void, undefined> {
    return this.#list("/api/members/", options);
  }

  /** Invites a person, who becomes a member by accepting. Without a key the client makes one. */
  async inviteMember(draft: MemberDraft, options: CallOptions & { key?: string } = {}): Promise<Invitation> {
    return this.#call({
      method: "POST", path: "/api/members/", key: await this.#keyFor(options.key), creates: true,
      body: jsonBody(draft), signal: options.signal,
    });
  }

  /** Iterates over the open invitations of the organization. */
  invitations(options: ListOptions = {}): AsyncGenerator<Invitation, void, undefined> {
    return this.#list("/api/members/invitations/", options);
  }

  /** Makes a new link for an open invitation, shown only in this answer. The previous link stops working. */
  async linkInvitation(invitationId: string, options: CallOptions = {}): Promise<InvitationLink> {
    const path = `/api/members/invitations/${segment(invitationId)}/link/`;
    return this.#call({ method: "POST", path, signal: options.signal });
  }

  /** Ends an open invitation and its link. Repeating it is not an error. */
  async revokeInvitation(invitationId: string, options: CallOptions = {}): Promise<void> {
    const path = `/api/members/invitations/${segment(invitationId)}/`;
    await this.#sender.send({ method: "DELETE", path, signal: options.signal });
  }

  /** Iterates over the caller's own invitations, of all organizations. */
  ownInvitations(options: ListOptions = {}): AsyncGenerator<Invitation, void, undefined> {
    return this.#list("/api/invitations/", options);
  }

  /** Makes the caller a member of the organization that invites. Repeating it changes nothing. */
  async acceptInvitation(invitationId: string, options: CallOptions = {}): Promise<Invitation> {
    const path = `/api/invitations/${segment(invitationId)}/accept/`;
    return this.#call({ method: "POST", path, signal: options.signal });
  }

  /** Ends an invitation of the caller's. */
  async declineInvitation(invitationId: string, options: CallOptions = {}): Promise<void> {
    const path = `/api/invitations/${segment(invitationId)}/decline/`;
    await this.#sender.send({ method: "POST", path, signal: options.signal });
  }

  /** Ends the membership of the caller in the organization. */
  async leave(options: CallOptions = {}): Promise<void> {
    await this.#sender.send({ method: "DELETE", path: "/api/members/me/", signal: options.signal });
  }

  /** Gives a member another role. Repeating it changes nothing. */
  async changeMember(userId: string, change: MemberChange, options: CallOptions = {}): Promise<Member> {
    const path = `/api/members/${segment(userId)}/`;
    return this.#call({ method: "PATCH", path, body: jsonBody(change), signal: options.signal });
  }

  /** Ends a membership. Repeating it is not an error. */
  async removeMember(userId: string, options: CallOptions = {}): Promise<void> {
    await this.#sender.send({ method: "DELETE", path: `/api/members/${segment(userId)}/`, signal: options.signal });
  }

  /** Iterates over the audit log of the organization, newest first. */
  auditRecords(options: ListOptions = {}): AsyncGenerator<AuditRecord, void, undefined> {
    return this.#list("/api/audit/", options);
  }

  /**
   * Asks once, without retries, whether the service can do its work. A service that cannot is an answer and not an
   * error.
   */
  async health(options: CallOptions = {}): Promise<Health> {
    options.signal?.throwIfAborted();
    let answer: Omit<Answer, "attempts">;
    try {
      answer = await this.#sender.once({ method: "GET", path: "/readyz/", signal: options.signal });
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new UnreachableError(null, 1, error);
    }
    return { ...decode<Readiness>(answer.content, null, 1), at: headerTime(answer.headers, "Date") };
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

  async #create(request: Request & { key: string }): Promise<Started> {
    const { value: run, answer } = await this.#exchange<Run>({ ...request, creates: true });
    const { headers } = answer;
    if (typeof run.id !== "string") {
      const cause = new UnexpectedAnswerError("the answer is no run", request.key, answer.attempts);
      throw new UnknownOutcomeError(request.key, null, answer.attempts, cause);
    }
    const replayed = headers.get("Idempotent-Replayed") === "true";
    const requestId = headers.get("Request-Id");
    return {
      run, key: request.key, replayed, requestId, attempts: answer.attempts,
      expires: headerTime(headers, "Idempotency-Expires"),
      originalRequestId: replayed ? headers.get("Original-Request-Id") : requestId,
    };
  }

  async #get<T>(path: string, options: CallOptions): Promise<T> {
    return this.#call({ method: "GET", path, signal: options.signal });
  }

  async #call<T>(request: Request): Promise<T> {
    return (await this.#exchange<T>(request)).value;
  }

  /** Sends the request and reads the answer. An answer that cannot be read leaves it open what was done. */
  async #exchange<T>(request: Request): Promise<{ value: T; answer: Answer }> {
    const answer = await this.#sender.send(request);
    const key = request.key ?? null;
    try {
      return { value: decode<T>(answer.content, key, answer.attempts), answer };
    } catch (error) {
      throw request.creates ? new UnknownOutcomeError(key, null, answer.attempts, error) : error;
    }
  }

  /** Iterates over all pages of a list. */
  async *#list<T>(
    path: string, options: ListOptions, query: Record<string, string | undefined> = {},
  ): AsyncGenerator<T, void, undefined> {
    const all = new URLSearchParams({ page_size: String(options.pageSize ?? 100) });
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== "") {
        all.set(name, value);
      }
    }
    for (let next: string | null = `${path}?${all}`; next !== null;) {
      const page: Page<T> = await this.#get<Page<T>>(next, options);
      yield* page.results;
      next = nextPath(page.next);
    }
  }
}

/** Refuses a link that names a host, as a forged one to a next page could: it would be sent the token. */
function nextPath(next: unknown): string | null {
  if (next === null) {
    return null;
  }
  // A browser takes a backslash for a slash, and passes over control characters.
  if (typeof next !== "string" || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(next)) {
    throw new UnexpectedAnswerError(`the address ${JSON.stringify(next)} of the next page is not a path`, null, 1);
  }
  return next;
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
  const own = `simplevalidations-typescript/1 (node ${node})`;
  return program === undefined ? own : `${program} ${own}`;
}

function workflowPath(workflow: string, below: string, version: number | undefined): string {
  if (version !== undefined && (!Number.isSafeInteger(version) || version < 1)) {
    throw new TypeError("the version must be an integer from 1; leave it out to have the latest");
  }
  return `/api/workflows/${segment(workflow)}/${below}` + (version === undefined ? "" : `?version=${version}`);
}

function runPath(runId: string): string {
  return `/api/runs/${segment(runId)}/`;
}

/** A URL with one of these would be that of something else. */
function segment(id: string): string {
  if (id === "" || id === "." || id === "..") {
    throw new TypeError(`${JSON.stringify(id)} is no id`);
  }
  return encodeURIComponent(id);
}

function queryTime(time: Date | Time | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

function headerTime(headers: Headers, name: string): Time | null {
  const at = new Date(headers.get(name) ?? NaN);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

function jsonBody(value: unknown): Body {
  return textBody("application/json", JSON.stringify(value, finite));
}

/** Refuses NaN and infinities, which JSON.stringify makes null: as a period, that is the one of the service. */
function finite(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`${name} is ${value}, which is not a number that can be sent`);
  }
  return value;
}
