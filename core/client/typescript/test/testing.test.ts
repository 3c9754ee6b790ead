import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import { Client, RefusedError, type Started } from "../src/index.js";
import { FakeServer, fakeStep } from "../src/testing/index.js";
import { failureOf } from "./world.js";

async function setup(t: TestContext): Promise<{ server: FakeServer; client: Client }> {
  const server = await FakeServer.start();
  t.after(() => server.close());
  const client = new Client(server.url, { retries: { minWaitMs: 1, maxWaitMs: 1 } });
  return { server, client };
}

function start(client: Client, key?: string, content = "a"): Promise<Started> {
  return client.start({ workflow: "meter-readings", content, ...(key === undefined ? {} : { key }) });
}

async function codeOf(promise: Promise<unknown>): Promise<string | null> {
  const error = await failureOf(promise);
  assert.ok(error instanceof RefusedError, String(error));
  return error.code;
}

test("the server replays keys", async (t) => {
  const { server, client } = await setup(t);
  const first = await start(client, "k");
  const again = await start(client, "k");
  assert.equal(again.run.id, first.run.id);
  assert.deepEqual(again.run, first.run);
  assert.ok(again.replayed && again.expires !== null && again.requestId !== first.requestId);
  assert.equal(again.originalRequestId, first.requestId);
  assert.equal(await codeOf(start(client, "k", "b")), "idempotency_key_reused");
  assert.equal(server.runs.length, 1);
  assert.equal(server.starts, 3);
});

test("the server loses answers", async (t) => {
  const { server, client } = await setup(t);
  server.dropResponses(2);
  const started = await start(client);
  assert.ok(started.attempts === 3 && started.replayed);
  assert.equal(server.runs.length, 1);
});

test("the server fails as it is told", async (t) => {
  const { server, client } = await setup(t);
  server.fail(2, { status: 503 });
  assert.equal((await start(client)).attempts, 3);
  server.fail(1, { status: 403, code: "permission_denied" });
  assert.equal(await codeOf(start(client)), "permission_denied");
  assert.equal(server.runs.length, 1);
});

test("the server counts its quota", async (t) => {
  const { server, client } = await setup(t);
  server.quota(1);
  await start(client, "k");
  assert.equal(await codeOf(start(client)), "quota_exceeded");
  assert.ok((await start(client, "k")).replayed);
});

test("the server ends runs as it is told", async (t) => {
  const { server, client } = await setup(t);
  const issue = {
    id: "i", severity: "ERROR" as const, code: "csv.minimum", message: "", path: "kwh", line: 7, column: 0, row: 6,
    excerpt: "", count: 2, sample_rows: [], assertion_id: null, truncated: false,
  };
  server.outcome("FAIL", fakeStep({ step_id: "s", counts: { errors: 2, warnings: 0, infos: 0 }, issues: [issue] }));
  const run = await client.startAndWait({ workflow: "w", content: "a" });
  assert.ok(run.result === "FAIL" && run.status === "FAILED" && run.counts.errors === 2 && run.started_at !== null);
  for await (const finding of client.findings(run.id)) {
    assert.deepEqual(finding, { step_id: "s", ...issue });
  }
  server.hold();
  const held = await start(client);
  assert.equal(held.run.started_at, null);
  assert.equal((await client.cancel(held.run.id)).result, "CANCELED");
  assert.equal(await codeOf(client.cancel(run.id)), "run_completed");
  assert.equal(await codeOf(client.run("unknown")), "not_found");
});

test("the server is busy and slow", async (t) => {
  const { server, client } = await setup(t);
  server.busy(1);
  server.delay(1);
  const started = await start(client);
  assert.ok(started.attempts === 2 && !started.replayed);
  const states: string[] = [];
  for await (const run of client.runs()) {
    states.push(run.state);
  }
  assert.deepEqual(states, ["COMPLETED"]);
});
