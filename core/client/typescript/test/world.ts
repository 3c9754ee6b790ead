import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

import { Client, type ClientOptions, type StartRequest } from "../src/index.js";
import type { Clock } from "../src/clock.js";

/** A clock on which time passes only where somebody sleeps. Timers go off when they are told. */
export class FakeClock implements Clock {
  readonly sleeps: number[] = [];
  #now = 0;
  readonly #timers = new Set<{ ms: number; call: () => void }>();
  readonly #random: () => number;

  constructor(random: () => number = () => 0.5) {
    this.#random = random;
  }

  now(): number {
    return this.#now;
  }

  random(): number {
    return this.#random();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.sleeps.push(ms);
    this.#now += ms;
    await new Promise(setImmediate);
    signal?.throwIfAborted();
  }

  after(ms: number, call: () => void): () => void {
    const timer = { ms, call };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets the time of the timers of this length be over. */
  expire(ms: number): void {
    for (const timer of [...this.#timers]) {
      if (timer.ms === ms) {
        this.#timers.delete(timer);
        timer.call();
      }
    }
  }

  get timers(): number {
    return this.#timers.size;
  }
}

/** A request as it came. */
export interface Sent {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  key: string | undefined;
  digest: string;
  body: Buffer;
}

export type Answer = (response: ServerResponse, sent: Sent) => void;

/** A service that answers each request with the next of its answers, and with the last one again and again. */
export interface Script {
  url: string;
  sent: Sent[];
}

export async function serve(t: TestContext, ...answers: Answer[]): Promise<Script> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) {
        chunks.push(chunk as Buffer);
      }
    } catch {
      return; // The client has gone.
    }
    const body = Buffer.concat(chunks);
    const one: Sent = {
      method: request.method ?? "", path: request.url ?? "", headers: request.headers, body,
      key: request.headers["idempotency-key"] as string | undefined,
      digest: createHash("sha256").update(String(request.headers["content-type"])).update(body).digest("hex"),
    };
    sent.push(one);
    answers[Math.min(sent.length, answers.length) - 1]?.(response, one);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

export const runId = "0199e0a4-51c0-7f0a-8a4e-0f3c5d7b9a11";

export const created: Answer = (response) => {
  response.writeHead(201, { "Request-Id": "req-1", "Idempotency-Expires": "Mon, 02 Mar 2026 09:15:04 GMT" });
  response.end(JSON.stringify({ id: runId, state: "PENDING" }));
};

/** Does what was asked for and breaks the connection. */
export const lost: Answer = (response) => {
  response.destroy();
};

/** Ends in the middle of the answer. */
export const breaksOff: Answer = (response) => {
  response.writeHead(201, { "Content-Length": "1000" });
  response.write('{"id"', () => response.destroy());
};

export function answers(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

/** Answers with a status alone, as proxies do. */
export function bare(status: number): Answer {
  return answers(status, "upstream error");
}

export function refuses(code: string, status: number, retryable: boolean, retryAfter = ""): Answer {
  const problem = { status, code, detail: "No.", request_id: `req-${status}`, retryable };
  return answers(status, JSON.stringify(problem), {
    "Content-Type": "application/problem+json", ...(retryAfter === "" ? {} : { "Retry-After": retryAfter }),
  });
}

export const token = "sv_secret";

export function made(url: string, clock: Clock, options: ClientOptions = {}): Client {
  // The second signature is that of tests.
  return new (Client as new (url: string, options: ClientOptions, clock: Clock) => Client)(
    url, { token, ...options }, clock);
}

export function document(): StartRequest {
  return {
    workflow: "meter-readings", content: "meter_id,kwh\n1,2\n", filename: "readings.csv", mediaType: "text/csv",
    metadata: { site: "harbour" },
  };
}

/** Returns what the promise fails with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("there was no error, want one");
}
