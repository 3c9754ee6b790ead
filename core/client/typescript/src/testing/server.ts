import { createHash, randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Finding, Problem, Run, RunResult, Step } from "../types.js";
import { endedRun, pendingRun, storyOf } from "./runs.js";

/** How long a key stands for its run. */
const keyLifeMs = 24 * 3600 * 1000;

/** An answer in place of the service's own. */
export interface FailedAnswer {
  status: number;
  /** The code of the problem; without one the answer is that of a proxy, and has no body. */
  code?: string;
  retryable?: boolean;
  retryAfterSeconds?: number;
}

/** What a key stands for. */
interface Use {
  print: string;
  run: Run;
  requestId: string;
}

/**
 * An in-memory fake of the service on a free port of this machine. It starts runs, keeps their idempotency keys and
 * ends runs as the test says; it loses answers, delays them and refuses requests on demand. It validates nothing, and
 * has only the calls start, list, read, findings, events and cancel.
 */
export class FakeServer {
  readonly #http: Server;
  readonly #runs: Run[] = [];
  readonly #uses = new Map<string, Use>();
  readonly #moved = new EventEmitter().setMaxListeners(0);
  #starts = 0;
  #drops = 0;
  #failures: FailedAnswer[] = [];
  #delayMs = 0;
  #left = Infinity;
  #held = false;
  #result: RunResult = "PASS";
  #steps: Step[] = [];

  private constructor() {
    this.#http = createServer((request, response) => {
      // A client that has gone cannot be told anything.
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  /** Starts a server. Close it at the end. */
  static async start(): Promise<FakeServer> {
    const server = new FakeServer();
    server.#http.listen(0, "127.0.0.1");
    await once(server.#http, "listening");
    return server;
  }

  /** The base URL. */
  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** The runs that were started, in that order. */
  get runs(): Run[] {
    return structuredClone(this.#runs);
  }

  /** Counts the requests to start a run, including replays and refusals. */
  get starts(): number {
    return this.#starts;
  }

  /** Stops the server, and breaks what is under way. */
  async close(): Promise<void> {
    const closed = once(this.#http, "close");
    this.#http.close();
    this.#http.closeAllConnections();
    await closed;
  }

  /** Loses the next answers to starts: the start is carried out, and then the connection breaks. */
  dropResponses(count: number): void {
    this.#drops = count;
  }

  /** Answers the next starts with 409, as if their key were in progress. */
  busy(count: number): void {
    this.fail(count, { status: 409, code: "idempotency_key_in_progress", retryable: true, retryAfterSeconds: 1 });
  }

  /** Answers the next starts with this, and starts nothing. */
  fail(count: number, answer: FailedAnswer): void {
    this.#failures = Array.from({ length: count }, () => answer);
  }

  /** Delays all answers. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Sets how many runs may still be started; `Infinity` is no limit. */
  quota(left: number): void {
    this.#left = left;
  }

  /** Sets the result of the runs that are started from now on. */
  outcome(result: RunResult, ...steps: Step[]): void {
    this.#result = result;
    this.#steps = steps;
  }

  /** Keeps the runs that are started from now on pending until they are ended by {@link FakeServer.end}. */
  hold(): void {
    this.#held = true;
  }

  /** Completes a run with its steps. */
  end(runId: string, result: RunResult, ...steps: Step[]): void {
    const at = this.#runs.findIndex((run) => run.id === runId && run.state !== "COMPLETED");
    const run = this.#runs[at];
    if (run !== undefined) {
      this.#runs[at] = endedRun(run, result, steps);
      this.#moved.emit("moved");
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.url);
    response.setHeader("Request-Id", randomUUID());
    const body = await readBody(request);
    if (this.#delayMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, this.#delayMs));
    }
    const [, list, id, what] = /^\/api\/(workflows|runs)\/(?:([^/]+)\/)?(?:([a-z]+)\/)?$/.exec(url.pathname) ?? [];
    const route = `${request.method} ${list}${id === undefined ? "" : "/{id}"}${what === undefined ? "" : `/${what}`}`;
    const of = decodeURIComponent(id ?? "");
    switch (route) {
      case "POST workflows/{id}/start":
        return this.#start(of, url, request, response, body);
      case "GET runs":
        return this.#list(url, response);
    }
    const run = this.#runs.find((one) => one.id === of);
    if (run === undefined) {
      return refuse(response, { status: 404, code: "not_found" }, "There is nothing at this address.");
    }
    switch (route) {
      case "GET runs/{id}":
        return this.#read(run.id, url, response);
      case "GET runs/{id}/findings":
        return write(response, 200, page(run.steps.flatMap((step) =>
          step.issues.map((issue): Finding => ({ step_id: step.step_id, ...issue })))));
      case "GET runs/{id}/events":
        return this.#events(run.id, request, response);
      case "POST runs/{id}/cancel":
        return this.#cancel(run.id, response);
      default:
        return refuse(response, { status: 404, code: "not_found" }, "There is nothing at this address.");
    }
  }

  #start(workflow: string, url: URL, request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    this.#starts++;
    const key = String(request.headers["idempotency-key"] ?? "");
    const print = fingerprint(url, request, body);
    const known = key === "" ? undefined : this.#uses.get(key);
    const failure = this.#failures.shift();
    if (failure !== undefined) {
      return refuse(response, failure, "The server was told to fail.");
    }
    if (known !== undefined && known.print !== print) {
      return refuse(response, { status: 422, code: "idempotency_key_reused" },
        "Idempotency key has already been used with a different request body.");
    }
    if (known === undefined && this.#left <= 0) {
      return refuse(response, { status: 429, code: "quota_exceeded", retryAfterSeconds: 3600 },
        "The runs of this month are used.");
    }
    const run = known?.run ?? this.#admit(workflow, key, print, String(response.getHeader("Request-Id")));
    if (this.#drops > 0) {
      this.#drops--;
      response.destroy();
      return;
    }
    if (known !== undefined) {
      response.setHeader("Idempotent-Replayed", "true");
      response.setHeader("Original-Request-Id", known.requestId);
    }
    if (key !== "") {
      response.setHeader("Idempotency-Key", key);
      response.setHeader("Idempotency-Expires", new Date(Date.now() + keyLifeMs).toUTCString());
    }
    response.setHeader("Location", `/api/runs/${run.id}/`);
    write(response, 201, run);
  }

  /** Starts a run. What is remembered is the run as it was started. */
  #admit(workflow: string, key: string, print: string, requestId: string): Run {
    const run = pendingRun(workflow, key);
    this.#left--;
    if (key !== "") {
      this.#uses.set(key, { print, run, requestId });
    }
    this.#runs.push(this.#held ? run : endedRun(run, this.#result, this.#steps));
    return run;
  }

  /** Lists runs, newest first, in one page. */
  #list(url: URL, response: ServerResponse): void {
    const key = url.searchParams.get("idempotency_key");
    const found = this.#runs.filter((run) => key === null || run.idempotency_key === key);
    write(response, 200, page(found.map((run) => ({ ...run, steps: [] })).reverse()));
  }

  async #read(id: string, url: URL, response: ServerResponse): Promise<void> {
    const seconds = Number(url.searchParams.get("wait") ?? 0);
    const patience = AbortSignal.timeout(seconds * 1000);
    while (!patience.aborted && !response.destroyed && this.#now(id).state !== "COMPLETED") {
      await once(this.#moved, "moved", { signal: patience }).catch(() => undefined); // Its end is looked at above.
    }
    write(response, 200, this.#now(id));
  }

  async #events(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    let seen = Number(request.headers["last-event-id"] ?? 0);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.flushHeaders();
    while (!gone.signal.aborted) {
      const run = this.#now(id);
      for (const { name, data } of storyOf(run).slice(seen)) {
        seen++;
        response.write(`id: ${seen}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
      }
      if (run.state === "COMPLETED") {
        response.end();
        return;
      }
      await once(this.#moved, "moved", { signal: gone.signal }).catch(() => undefined); // Its end is looked at above.
    }
  }

  #cancel(id: string, response: ServerResponse): void {
    this.end(id, "CANCELED");
    const run = this.#now(id);
    if (run.result !== "CANCELED") {
      return refuse(response, { status: 422, code: "run_completed" }, "The run has already ended.");
    }
    write(response, 200, run);
  }

  #now(id: string): Run {
    const run = this.#runs.find((one) => one.id === id);
    if (run === undefined) {
      throw new Error(`there is no run ${id}`);
    }
    return run;
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/** A print of what a start means: its address and its body, whatever the boundary of a form is. */
function fingerprint(url: URL, request: IncomingMessage, body: Buffer): string {
  const [, boundary] = /boundary="?([^";]+)/.exec(String(request.headers["content-type"])) ?? [];
  const content = body.toString("latin1");
  const parts = boundary === undefined ? [content] : content.split(`--${boundary}`);
  return createHash("sha256").update(JSON.stringify([url.pathname, url.search, parts])).digest("hex");
}

function page<T>(results: T[]): { next: null; previous: null; results: T[] } {
  return { next: null, previous: null, results };
}

function write(response: ServerResponse, status: number, body: unknown, contentType = "application/json"): void {
  response.writeHead(status, { "Content-Type": contentType });
  response.end(JSON.stringify(body));
}

function refuse(response: ServerResponse, answer: FailedAnswer, detail: string): void {
  if (answer.retryAfterSeconds !== undefined) {
    response.setHeader("Retry-After", answer.retryAfterSeconds);
  }
  if (answer.code === undefined) {
    response.writeHead(answer.status).end();
    return;
  }
  const problem: Problem = {
    type: `/docs/errors/${answer.code}/`, title: answer.code, status: answer.status, detail, code: answer.code,
    request_id: String(response.getHeader("Request-Id")), retryable: answer.retryable === true,
  };
  write(response, answer.status, problem, "application/problem+json");
}
