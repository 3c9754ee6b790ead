import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { inspect } from "node:util";
import { describe, test } from "node:test";

import {
  type Attempt, RefusedError, UnknownOutcomeError, UnreachableError, defaultRetries, keyOf,
} from "../src/index.js";
import {
  type Answer, FakeClock, bare, breaksOff, created, document, failureOf, lost, made, refuses, runId, serve, token,
} from "./world.js";

describe("a start is tried again", () => {
  const clock = new FakeClock();
  const cases: Record<string, Answer> = {
    "after a lost answer": lost,
    "while the key is in progress": refuses("idempotency_key_in_progress", 409, true, "1"),
    "after a rate limit": refuses("rate_limited", 429, true, "3"),
    "while the service is unavailable": refuses("unavailable", 503, true, "1"),
    "after an unknown outcome": refuses("outcome_unknown", 503, true),
    "after a bad gateway": bare(502),
    "after a proxy's 503": bare(503),
    "after a gateway timeout": bare(504),
    "after an answer that breaks off": breaksOff,
    "after a document that was sent slowly": refuses("request_timeout", 408, true),
    "after an attempt that takes too long": () => clock.expire(120_000),
  };
  for (const [name, first] of Object.entries(cases)) {
    test(name, async (t) => {
      const service = await serve(t, first, first, created);
      const started = await made(service.url, clock).start(document());
      assert.equal(started.run.id, runId);
      assert.equal(started.attempts, 3);
      assert.equal(service.sent.length, 3);
      assert.equal(clock.timers, 0);
      for (const sent of service.sent) {
        assert.equal(sent.key, started.key);
        assert.equal(sent.digest, service.sent[0]?.digest);
      }
    });
  }
});

describe("a start is not tried again", () => {
  const farAway = "Fri, 31 Dec 2100 00:00:00 GMT";
  const cases: [string, number, boolean, string][] = [
    ["invalid_payload", 400, false, ""],
    ["not_authenticated", 401, false, ""],
    ["payment_required", 402, false, ""],
    ["permission_denied", 403, false, ""],
    ["not_found", 404, false, ""],
    ["", 409, false, ""],
    ["payload_too_large", 413, false, ""],
    ["idempotency_key_reused", 422, true, ""],
    ["quota_exceeded", 429, false, "1"],
    ["", 429, false, ""],
    ["rate_limited", 429, true, "61"],
    ["unavailable", 503, true, farAway],
    ["rate_limited", 429, true, "10000000000"],
    ["", 307, false, ""],
  ];
  for (const [code, status, retryable, retryAfter] of cases) {
    test(`after ${status} ${code || "of a proxy"} ${retryAfter}`, async (t) => {
      const clock = new FakeClock();
      const service = await serve(t, refuses(code, status, retryable, retryAfter));
      const error = await failureOf(made(service.url, clock).start({ ...document(), key: "order-1" }));
      assert.ok(error instanceof RefusedError, inspect(error));
      assert.equal(error.status, status);
      assert.equal(error.code, code || null);
      assert.equal(error.key, "order-1");
      assert.equal(error.attempts, 1);
      assert.equal(service.sent.length, 1);
      assert.deepEqual(clock.sleeps, []);
    });
  }
});

test("waits have full jitter", async (t) => {
  const service = await serve(t, bare(502));
  for (const random of [0, 0.5, 0.999]) {
    const clock = new FakeClock(() => random);
    const attempts: Attempt[] = [];
    const told: number[] = [];
    const client = made(service.url, clock, {
      retries: { attempts: 8 }, onAttempt: (attempt) => attempts.push(attempt),
      onRetry: (_, waitMs) => told.push(waitMs),
    });
    const error = await failureOf(client.start(document()));
    assert.ok(error instanceof UnknownOutcomeError && error.attempts === 8, inspect(error));
    const limits = [250, 500, 1000, 2000, 4000, 8000, 8000];
    assert.deepEqual(clock.sleeps, limits.map((limit) => random * limit));
    assert.deepEqual(told, clock.sleeps);
    assert.deepEqual(attempts.map(({ number, status, key }) => [number, status, key]),
      Array.from({ length: 8 }, (_, i) => [i + 1, 502, error.key]));
  }
});

test("Retry-After is obeyed", async (t) => {
  const date = new Date(Date.now() + 30_000).toUTCString();
  for (const [retryAfter, least, most] of [["60", 60_000, 60_250], [date, 20_000, 30_250]] as const) {
    const clock = new FakeClock();
    const service = await serve(t, refuses("rate_limited", 429, true, retryAfter), created);
    await made(service.url, clock).start(document());
    assert.equal(clock.sleeps.length, 1);
    assert.ok(clock.sleeps[0]! >= least && clock.sleeps[0]! <= most, `waited ${clock.sleeps[0]}`);
  }
});

describe("retries end", () => {
  test("with the budget", async (t) => {
    const clock = new FakeClock();
    const service = await serve(t, refuses("idempotency_key_in_progress", 409, true, "10"));
    const retries = { attempts: 1000, budgetMs: 30_000 };
    const error = await failureOf(made(service.url, clock, { retries }).start(document()));
    assert.ok(error instanceof RefusedError && error.code === "idempotency_key_in_progress", inspect(error));
    assert.equal(error.retryAfterMs, 10_000);
    assert.ok(clock.now() > 10_000 && clock.now() <= 30_000, `ended after ${clock.now()}`);
  });

  test("with the signal, and the outcome is unknown", async (t) => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const service = await serve(t, () => controller.abort(reason));
    const error = await failureOf(
      made(service.url, new FakeClock()).start(document(), { signal: controller.signal }));
    assert.ok(error instanceof UnknownOutcomeError && error.cause === reason && error.key, inspect(error));
    assert.equal(service.sent.length, 1);
  });

  test("with the signal, which a read is told as it is", async (t) => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const service = await serve(t, () => controller.abort(reason));
    const client = made(service.url, new FakeClock());
    assert.equal(await failureOf(client.me({ signal: controller.signal })), reason);
    assert.equal(await failureOf(client.start(document(), { signal: controller.signal })), reason);
    assert.equal(await failureOf(client.wait(runId, { signal: controller.signal })), reason);
    assert.equal(service.sent.length, 1);
  });

  test("with the signal in a wait between attempts", async (t) => {
    const controller = new AbortController();
    const service = await serve(t, lost);
    const client = made(service.url, new FakeClock(), { onRetry: () => controller.abort() });
    const error = await failureOf(client.start(document(), { signal: controller.signal }));
    assert.ok(error instanceof UnknownOutcomeError && error.attempts === 1, inspect(error));
  });

  test("when nobody listens", async () => {
    const error = await failureOf(made(await nobody(), new FakeClock()).start(document()));
    assert.ok(error instanceof UnreachableError && error.attempts === 4 && keyOf(error), inspect(error));
    assert.match(error.message, /ECONNREFUSED/);
  });

  test("when the other side speaks no TLS", async (t) => {
    const service = await serve(t, created);
    const error = await failureOf(made(service.url.replace("http:", "https:"), new FakeClock()).start(document()));
    assert.ok(error instanceof UnreachableError && error.attempts === 1, inspect(error));
  });
});

test("only errors of the handshake tell that nothing was sent", async () => {
  const cases: [string, string, boolean][] = [
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "", true],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "", true],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "", true],
    ["CERT_HAS_EXPIRED", "", true],
    ["EPROTO", "routines:ssl3_get_record:wrong version number", true],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "", true],
    ["ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "", false],
    ["EPROTO", "sslv3 alert bad record mac", false],
    ["ECONNRESET", "", false],
    ["UND_ERR_SOCKET", "other side closed", false],
  ];
  for (const [code, message, unsent] of cases) {
    const fail = (): Promise<never> =>
      Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) }));
    const error = await failureOf(made("https://x", new FakeClock(), { fetch: fail }).start(document()));
    assert.ok(unsent ? error instanceof UnreachableError && error.attempts === 1
      : error instanceof UnknownOutcomeError && error.attempts === 4, `${code}: ${inspect(error)}`);
  }
});

async function nobody(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

describe("the outcome", () => {
  const cases: [string, Answer, boolean, string][] = [
    // A refusal that comes before the key is looked up tells nothing of the attempt that was lost.
    ["is unknown after a lost answer and a bad token", refuses("not_authenticated", 401, false), true, ""],
    ["is known after a lost answer and a full quota", refuses("quota_exceeded", 429, false), false, "quota_exceeded"],
    ["is unknown when the service says so", refuses("outcome_unknown", 503, true), true, ""],
  ];
  for (const [name, last, unknown, code] of cases) {
    test(name, async (t) => {
      const service = await serve(t, lost, last);
      const error = await failureOf(made(service.url, new FakeClock()).start(document()));
      if (unknown) {
        assert.ok(error instanceof UnknownOutcomeError && error.cause instanceof RefusedError, inspect(error));
        assert.match(error.message, new RegExp(`retry with key ${error.key}`));
      } else {
        assert.ok(error instanceof RefusedError && error.code === code, inspect(error));
      }
    });
  }

  test("has the id that the run has if it exists", async (t) => {
    const problem = { status: 503, code: "outcome_unknown", detail: "No.", retryable: true, run_id: runId };
    const service = await serve(t, (response) => {
      response.writeHead(503, { "Content-Type": "application/problem+json" }).end(JSON.stringify(problem));
    });
    const error = await failureOf(made(service.url, new FakeClock()).start(document()));
    assert.ok(error instanceof UnknownOutcomeError && error.runId === runId, inspect(error));
  });

  for (const body of ["", "[]", "null", "<html>", "{}"]) {
    test(`is unknown after the answer ${JSON.stringify(body)}`, async (t) => {
      const service = await serve(t, (response) => {
        response.writeHead(201).end(body);
      });
      const error = await failureOf(made(service.url, new FakeClock()).start(document()));
      assert.ok(error instanceof UnknownOutcomeError && error.key && error.attempts === 1, inspect(error));
    });
  }
});

test("a call without a key is not repeated when it may have been carried out", async (t) => {
  const service = await serve(t, lost);
  const error = await failureOf(
    made(service.url, new FakeClock()).createToken({ label: "ci", role: "executor" }));
  assert.ok(error instanceof UnknownOutcomeError && error.key === null && error.attempts === 1, inspect(error));
  const busy = await serve(t, refuses("rate_limited", 429, true), (response) => {
    response.writeHead(201).end('{"secret": "sv_new"}');
  });
  const secret = await made(busy.url, new FakeClock()).createToken({ label: "ci", role: "executor" });
  assert.equal(secret.secret, "sv_new");
});

test("redirects are not followed", async (t) => {
  const elsewhere = await serve(t, created);
  const service = await serve(t, (response) => {
    response.writeHead(307, { Location: `${elsewhere.url}/` }).end();
  });
  const error = await failureOf(made(service.url, new FakeClock()).start(document()));
  assert.ok(error instanceof RefusedError && error.status === 307, inspect(error));
  assert.match(error.message, /redirect/);
  assert.equal(elsewhere.sent.length, 0);
});

test("nothing shows the token", async (t) => {
  const service = await serve(t, refuses("unavailable", 503, true));
  const told: unknown[] = [];
  const client = made(service.url, new FakeClock(), {
    userAgent: "myapp/2", newKey: () => "from-func", onAttempt: (attempt) => told.push(attempt),
    onRetry: (attempt) => told.push(attempt),
  });
  const error = await failureOf(client.start(document()));
  assert.equal(keyOf(error), "from-func");
  for (const shown of [error, told, client]) {
    assert.ok(!inspect(shown, { depth: 20, showHidden: true }).includes(token));
  }
  assert.ok(!JSON.stringify([error, told, client]).includes(token));
  assert.equal(service.sent[0]?.headers.authorization, `Bearer ${token}`);
  assert.match(String(service.sent[0]?.headers["user-agent"]), /^myapp\/2 simplevalidations-typescript\/1\.0\.0 /);
});

test("the defaults are those of every client", () => {
  assert.deepEqual(defaultRetries, {
    attempts: 4, minWaitMs: 250, maxWaitMs: 8000, budgetMs: 300_000, attemptTimeoutMs: 120_000,
  });
});
