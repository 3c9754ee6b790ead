import assert from "node:assert/strict";
import { type TestContext, describe, test } from "node:test";
import { inspect } from "node:util";

import { type Fetch, RefusedError, type Run, UnreachableError } from "../src/index.js";
import { FakeServer, fakeStep } from "../src/testing/index.js";
import { FakeClock, bare, document, failureOf, made, runId, serve } from "./world.js";

interface Following {
  server: FakeServer;
  clock: FakeClock;
  begun: Run;
  told: string[];
}

async function held(t: TestContext): Promise<Following> {
  const server = await FakeServer.start();
  t.after(() => server.close());
  server.hold();
  const clock = new FakeClock();
  const { run } = await made(server.url, clock).start(document());
  return { server, clock, begun: run, told: [] };
}

/** Waits for the run with a client whose requests pass the function first. */
async function follow(f: Following, between: Fetch): Promise<Run> {
  return made(f.server.url, f.clock, { fetch: between }).wait(f.begun.id, { onEvent: ({ name }) => f.told.push(name) });
}

function end(f: Following): void {
  f.server.end(f.begun.id, "PASS", fakeStep({ step_id: "table" }));
}

function isEvents(url: string): boolean {
  return url.endsWith("/events/");
}

const whole = ["run.created", "step.completed", "run.completed"];
const ends = ["step.completed", "run.completed"];

describe("a wait", () => {
  test("follows events", async (t) => {
    const f = await held(t);
    const reads: string[] = [];
    const run = await made(f.server.url, f.clock, {
      fetch: (url, init) => {
        reads.push(new URL(url).pathname + new URL(url).search);
        return fetch(url, init);
      },
    }).wait(f.begun.id, {
      onEvent: ({ name, run: bare, step }) => {
        f.told.push(name);
        assert.equal(bare !== null, name.startsWith("run."));
        assert.equal(step?.step_id, name === "step.completed" ? "table" : undefined);
        if (name === "run.created") {
          end(f);
        }
      },
    });
    assert.equal(run.result, "PASS");
    assert.equal(run.steps.length, 1);
    assert.deepEqual(f.told, whole);
    assert.deepEqual(reads, [`/api/runs/${run.id}/events/`, `/api/runs/${run.id}/?wait=20`]);
    assert.equal(f.clock.timers, 0);
  });

  test("comes back to a stream that breaks", async (t) => {
    const f = await held(t);
    const lastIds: (string | null)[] = [];
    const run = await follow(f, async (url, init) => {
      if (!isEvents(url)) {
        return fetch(url, init);
      }
      lastIds.push(new Headers(init.headers).get("Last-Event-ID"));
      if (lastIds.length > 1) {
        end(f);
        return fetch(url, init);
      }
      const event = `id: 1\nevent: run.created\ndata: ${JSON.stringify(f.begun)}\n\nevent: run.comp`;
      return new Response(event, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
    });
    assert.equal(run.state, "COMPLETED");
    assert.deepEqual(f.told, whole);
    assert.deepEqual(lastIds, [null, "1"]);
  });

  test("reads patiently without events", async (t) => {
    const f = await held(t);
    let reads = 0;
    const run = await follow(f, async (url, init) => {
      if (isEvents(url)) {
        return new Response(null, { status: 404 });
      }
      if (++reads === 2) {
        end(f);
      }
      assert.ok(url.endsWith("/?wait=20"), url);
      return reads === 1 ? Response.json(f.begun) : fetch(url, init);
    });
    assert.equal(run.result, "PASS");
    assert.deepEqual(f.told, ends);
    assert.deepEqual(f.clock.sleeps, [1000]);
  });

  test("gives a silent stream up", async (t) => {
    const f = await held(t);
    const run = await follow(f, async (url, init) => {
      if (!isEvents(url)) {
        end(f);
        return fetch(url, init);
      }
      const silent = new ReadableStream({
        start: (controller) => init.signal?.addEventListener("abort", () => controller.error(init.signal?.reason)),
        pull: () => f.clock.expire(45_000),
      });
      return new Response(silent, { headers: { "Content-Type": "text/event-stream" } });
    });
    assert.equal(run.result, "PASS");
    assert.deepEqual(f.told, ends);
    assert.equal(f.clock.sleeps.length, 2);
  });

  test("polls where reads do not wait", async (t) => {
    const f = await held(t);
    let reads = 0;
    const run = await follow(f, async (url, init) => {
      if (isEvents(url)) {
        return new Response(null, { status: 404 });
      }
      if (url.includes("wait")) {
        return Response.json({ code: "invalid_parameter", status: 400 },
          { status: 400, headers: { "Content-Type": "application/problem+json" } });
      }
      if (++reads === 3) {
        end(f);
      }
      return fetch(url, init);
    });
    assert.equal(run.result, "PASS");
    assert.deepEqual(f.told, ends);
    assert.deepEqual(f.clock.sleeps, [1000, 1000, 1000]);
  });

  test("outlasts a restart", async (t) => {
    const f = await held(t);
    const run = await follow(f, async (url, init) => {
      if (f.clock.now() < 50_000) {
        return new Response(null, { status: 502 });
      }
      end(f);
      return fetch(url, init);
    });
    assert.equal(run.state, "COMPLETED");
  });

  test("passes over events that it cannot read", async (t) => {
    const f = await held(t);
    const run = await follow(f, async (url, init) => {
      if (!isEvents(url)) {
        end(f);
        return fetch(url, init);
      }
      return new Response("event: run.started\ndata: {\n\n", { headers: { "Content-Type": "text/event-stream" } });
    });
    assert.equal(run.state, "COMPLETED");
  });
});

describe("a wait ends", () => {
  test("with the signal, and the run goes on", async (t) => {
    const f = await held(t);
    const controller = new AbortController();
    const error = await failureOf(made(f.server.url, f.clock).wait(f.begun.id, {
      signal: controller.signal, onEvent: () => controller.abort(new Error("enough")),
    }));
    assert.equal((error as Error).message, "enough");
    assert.equal(f.server.runs[0]?.state, "PENDING");
  });

  test("with what the function throws", async (t) => {
    const f = await held(t);
    const reason = new Error("not this one");
    const error = await failureOf(made(f.server.url, f.clock).wait(f.begun.id, {
      onEvent: () => {
        throw reason;
      },
    }));
    assert.equal(error, reason);
  });

  test("where there is no run", async (t) => {
    const f = await held(t);
    const error = await failureOf(made(f.server.url, f.clock).wait(runId));
    assert.ok(error instanceof RefusedError && error.code === "not_found", inspect(error));
  });

  test("when the service stays away", async () => {
    const clock = new FakeClock();
    const error = await failureOf(made("http://127.0.0.1:9", clock, {
      fetch: () => Promise.reject(new TypeError("fetch failed")),
    }).wait(runId));
    assert.ok(error instanceof UnreachableError, inspect(error));
    assert.ok(clock.now() >= 120_000 && clock.now() < 180_000, `ended after ${clock.now()}`);
  });

  test("when the service refuses", async (t) => {
    const service = await serve(t, bare(403));
    const error = await failureOf(made(service.url, new FakeClock()).wait(runId));
    assert.ok(error instanceof RefusedError && error.status === 403, inspect(error));
  });
});
