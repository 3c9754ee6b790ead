import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";

import { Client, RefusedError, UnexpectedAnswerError, UnreachableError } from "../src/index.js";
import { signature } from "../src/sign.js";
import { FakeClock, answers, document, failureOf, made, refuses, runId, serve } from "./world.js";

describe("a list", () => {
  const total = 7;
  const size = 3;

  test("goes through its pages while it is read", async (t) => {
    const service = await serve(t, (response, { path }) => {
      const first = Number(new URL(path, "http://x").searchParams.get("cursor"));
      const results = Array.from({ length: Math.min(size, total - first) }, (_, i) => ({ id: String(first + i) }));
      const next = first + size < total ? `/api/runs/?cursor=${first + size}` : null;
      response.end(JSON.stringify({ next, previous: null, results }));
    });
    const client = made(service.url, new FakeClock());
    let ids = "";
    for await (const run of client.runs({ state: "COMPLETED", since: new Date(0), idempotencyKey: "" })) {
      ids += run.id;
    }
    assert.equal(ids, "0123456");
    assert.deepEqual(service.sent.map(({ path }) => path), [
      "/api/runs/?page_size=100&state=COMPLETED&since=1970-01-01T00%3A00%3A00.000Z",
      "/api/runs/?cursor=3", "/api/runs/?cursor=6",
    ]);
    for await (const _ of client.runs({ pageSize: 3 })) {
      break;
    }
    assert.equal(service.sent.length, 4);
  });

  for (const next of [
    "http://evil.example/api/runs/", "//evil.example/api/runs/", "evil", "/\\evil.example/", "\\\\evil.example",
    "/\t/evil.example/", " /api/runs/", "javascript:0", 7, "", undefined,
  ]) {
    test(`does not follow ${String(JSON.stringify(next))}`, async (t) => {
      const service = await serve(t, answers(200, JSON.stringify({ next, results: [] })));
      const error = await failureOf(made(service.url, new FakeClock()).findings(runId).page());
      assert.ok(error instanceof UnexpectedAnswerError, inspect(error));
      assert.match(error.message, /is not a path/);
      assert.equal(service.sent.length, 1);
    });
  }
});

test("every call goes to its address", async (t) => {
  const service = await serve(t, answers(200, JSON.stringify({ id: runId, next: null, results: [] })));
  const client = made(service.url + "/base/", new FakeClock());
  const id = "a/b";
  await client.rerun(id, { key: "k" });
  await client.run(id);
  await client.cancel(id);
  await client.findings(id).page();
  await client.report(id, "sarif");
  await client.document(id);
  await client.documentLines(id, { from: 5, lines: 1 });
  await client.compare(id);
  await client.runs({ q: "a b" }).page();
  await client.requests({ status: "4xx", key: "k", until: "2026-03-01T00:00:00Z" }).page();
  await client.request(id);
  await client.organization();
  await client.changeOrganization({ key_required: true, key_lifetime_ms: null });
  await client.workflows().page();
  await client.workflow(id, { version: 3 });
  await client.exportWorkflow(id);
  await client.importWorkflow("slug: x\n", { key: "k" });
  await client.me();
  await client.usage();
  await client.tokens().page();
  await client.createToken({ label: "l", role: "viewer" });
  await client.rotateToken(id, {});
  await client.revokeToken(id);
  await client.members().page();
  await client.inviteMember({ email: "a@b.example", role: "viewer" }, { key: "k" });
  await client.changeMember(id, { role: "owner" });
  await client.removeMember(id);
  await client.invitations().page();
  await client.linkInvitation(id);
  await client.revokeInvitation(id);
  await client.ownInvitations().page();
  await client.acceptInvitation(id);
  await client.declineInvitation(id);
  await client.leave();
  await client.auditRecords().page();
  await client.createWorkflow({ slug: "s", name: "n", definition: { accepts: ["text/csv"] } }, { key: "k" });
  await client.createVersion(id, { definition: { accepts: ["text/csv"] } }, { key: "k" });
  await client.updateWorkflow(id, { name: "n" });
  await client.activateWorkflow(id);
  await client.deactivateWorkflow(id);
  await client.keys({ state: "abandoned" }).page();
  await client.key(id);
  await client.keyActivity();
  await client.releaseKey(id, { reason: "r" });
  await client.signingSecrets();
  await client.organizations().page();
  await client.health();
  const shown = service.sent.map(({ method, path, key, headers, body }) =>
    [method, path, key ?? "", headers["content-type"] ?? "", body.toString()].join(" ").trim());
  assert.deepEqual(shown, [
    "POST /base/api/runs/a%2Fb/rerun/ k",
    "GET /base/api/runs/a%2Fb/",
    "POST /base/api/runs/a%2Fb/cancel/",
    "GET /base/api/runs/a%2Fb/findings/?page_size=100",
    "GET /base/api/runs/a%2Fb/findings/?format=sarif",
    "GET /base/api/runs/a%2Fb/document/content/",
    "GET /base/api/runs/a%2Fb/document/?from=5&lines=1",
    "GET /base/api/runs/a%2Fb/comparison/",
    "GET /base/api/runs/?page_size=100&q=a+b",
    "GET /base/api/requests/?page_size=100&status=4xx&key=k&until=2026-03-01T00%3A00%3A00Z",
    "GET /base/api/requests/a%2Fb/",
    "GET /base/api/organization/",
    'PATCH /base/api/organization/  application/json {"key_required":true,"key_lifetime_ms":null}',
    "GET /base/api/workflows/?page_size=100",
    "GET /base/api/workflows/a%2Fb/?version=3",
    "GET /base/api/workflows/a%2Fb/export/",
    "POST /base/api/workflows/import/ k application/yaml slug: x\n".trim(),
    "GET /base/api/me/",
    "GET /base/api/usage/",
    "GET /base/api/tokens/?page_size=100",
    'POST /base/api/tokens/  application/json {"label":"l","role":"viewer"}',
    "POST /base/api/tokens/a%2Fb/rotate/  application/json {}",
    "DELETE /base/api/tokens/a%2Fb/",
    "GET /base/api/members/?page_size=100",
    'POST /base/api/members/ k application/json {"email":"a@b.example","role":"viewer"}',
    'PATCH /base/api/members/a%2Fb/  application/json {"role":"owner"}',
    "DELETE /base/api/members/a%2Fb/",
    "GET /base/api/members/invitations/?page_size=100",
    "POST /base/api/members/invitations/a%2Fb/link/",
    "DELETE /base/api/members/invitations/a%2Fb/",
    "GET /base/api/invitations/?page_size=100",
    "POST /base/api/invitations/a%2Fb/accept/",
    "POST /base/api/invitations/a%2Fb/decline/",
    "DELETE /base/api/members/me/",
    "GET /base/api/audit/?page_size=100",
    'POST /base/api/workflows/ k application/json {"slug":"s","name":"n","definition":{"accepts":["text/csv"]}}',
    'POST /base/api/workflows/a%2Fb/versions/ k application/json {"definition":{"accepts":["text/csv"]}}',
    'PATCH /base/api/workflows/a%2Fb/  application/json {"name":"n"}',
    "POST /base/api/workflows/a%2Fb/activate/",
    "POST /base/api/workflows/a%2Fb/deactivate/",
    "GET /base/api/idempotency-keys/?page_size=100&state=abandoned",
    "GET /base/api/idempotency-keys/a%2Fb/",
    "GET /base/api/idempotency-keys/activity/",
    'POST /base/api/idempotency-keys/a%2Fb/release/  application/json {"reason":"r"}',
    "GET /base/api/signing-secrets/",
    "GET /base/api/orgs/",
    "GET /base/readyz/",
  ]);
  assert.ok(service.sent.every(({ headers }) => headers.authorization === "Bearer sv_secret"));
});

test("a start tells of the key and the requests", async (t) => {
  const service = await serve(t, answers(201, JSON.stringify({ id: runId }), {
    "Idempotent-Replayed": "true", "Request-Id": "r2", "Original-Request-Id": "r1",
    "Idempotency-Expires": "Mon, 02 Mar 2026 09:15:04 GMT",
  }));
  const started = await made(service.url, new FakeClock()).start({ ...document(), key: "k" });
  assert.deepEqual(started, {
    run: { id: runId }, key: "k", replayed: true, requestId: "r2", originalRequestId: "r1", attempts: 1,
    expires: "2026-03-02T09:15:04.000Z",
  });
});

test("a refusal tells what the service says", async (t) => {
  const service = await serve(t, answers(422, JSON.stringify({
    type: "/docs/errors/idempotency_key_reused/", title: "Key reused", status: 422, detail: "Other bytes.",
    code: "idempotency_key_reused", request_id: "r2", retryable: false, differs: ["content"], original_request_id: "r1",
    errors: [{ parameter: "Idempotency-Key", code: "reused", detail: "No." }],
  }), { "Content-Type": "application/problem+json" }));
  const error = await failureOf(made(service.url, new FakeClock()).start(document()));
  assert.ok(error instanceof RefusedError, inspect(error));
  const { name, message, code, detail, requestId, originalRequestId, differs, errors, retryAfterMs, problem } = error;
  assert.deepEqual({ name, message, code, detail, requestId, originalRequestId, differs, retryAfterMs }, {
    name: "RefusedError", message: "Other bytes. (idempotency_key_reused, request r2)",
    code: "idempotency_key_reused", detail: "Other bytes.", requestId: "r2", originalRequestId: "r1",
    differs: ["content"], retryAfterMs: null,
  });
  assert.equal(errors[0]?.parameter, "Idempotency-Key");
  assert.equal(problem?.title, "Key reused");
});

test("health is an answer even when it is bad", async (t) => {
  const service = await serve(t, answers(503, '{"status": "unavailable"}', { Date: "Mon, 02 Mar 2026 09:15:04 GMT" }));
  const health = await made(service.url, new FakeClock()).health();
  assert.deepEqual(health, { status: "unavailable", at: "2026-03-02T09:15:04.000Z" });
  const away = made("http://x", new FakeClock(), { fetch: () => Promise.reject(new Error("away")) });
  assert.ok(await failureOf(away.health()) instanceof UnreachableError);
});

test("arguments at fault are refused before anything is sent", async (t) => {
  const service = await serve(t, refuses("not_found", 404, false));
  const client = made(service.url, new FakeClock());
  const faults: (() => Promise<unknown>)[] = [
    () => client.start({ ...document(), key: "" }),
    () => client.start({ ...document(), key: "a\nb" }),
    () => client.start({ ...document(), key: "ré" }),
    () => client.start({ ...document(), workflow: ".." }),
    () => client.start({ ...document(), workflow: "" }),
    () => client.start({ ...document(), version: 0 }),
    () => client.start({ ...document(), version: 1.5 }),
    () => client.start({ ...document(), mediaType: "text/csv\r\nX: y" }),
    () => client.start({ workflow: "w" } as never),
    () => client.run("."),
    () => client.findings("").page(),
    () => client.changeOrganization({ content_retention_ms: NaN }),
    () => client.changeOrganization({ key_lifetime_ms: Infinity }),
  ];
  for (const fault of faults) {
    assert.ok(await failureOf((async () => fault())()) instanceof TypeError);
  }
  assert.equal(service.sent.length, 0);
});

test("a client is not made of an address or a token at fault", () => {
  for (const address of ["", "validations.example", "ftp://x", "http://", "http://u:p@x", "http://x/?a=b", "http://x/#a"]) {
    assert.throws(() => new Client(address), TypeError, address);
  }
  for (const token of ["", "sv_a\n", "sv_ä", "sv a"]) {
    assert.throws(() => new Client("http://x", { token }), (error: Error) =>
      error instanceof TypeError && (token === "" || !error.message.includes(token)));
  }
});

test("a list can be read page by page", async (t) => {
  const service = await serve(t, answers(200, JSON.stringify({ next: "/api/tokens/?cursor=2", previous: null, results: [{ id: "1" }] })));
  const tokens = made(service.url, new FakeClock()).tokens({ state: "active", pageSize: 1 });
  const page = await tokens.page();
  assert.deepEqual(page, { next: "/api/tokens/?cursor=2", previous: null, results: [{ id: "1" }] });
  await tokens.page(page.next ?? "");
  assert.deepEqual(service.sent.map(({ path }) => path), ["/api/tokens/?page_size=1&state=active", "/api/tokens/?cursor=2"]);
});

test("an answer can be had as it came", async (t) => {
  const service = await serve(t, answers(200, JSON.stringify({ next: null, results: [] }), { ETag: '"1"' }));
  const client = made(service.url, new FakeClock());
  const answer = await client.send("POST", "/api/members/", { json: { role: "viewer" }, key: "k" });
  assert.deepEqual([answer.status, answer.headers.get("ETag"), answer.attempts], [200, '"1"', 1]);
  assert.deepEqual([service.sent[0]?.key, service.sent[0]?.body.toString()], ["k", '{"role":"viewer"}']);
  await client.keys({ key: "order-1" }).page();
  assert.deepEqual([service.sent[1]?.path, service.sent[1]?.key], ["/api/idempotency-keys/?page_size=100&key=order-1", undefined]);
  assert.match(String(service.sent[0]?.headers["user-agent"]), /^simplevalidations-typescript\/1\.0\.0 /);
});

test("a call can have retries of its own", async (t) => {
  const service = await serve(t, refuses("unavailable", 503, true));
  await failureOf(made(service.url, new FakeClock()).me({ retries: { attempts: 2 } }));
  assert.equal(service.sent.length, 2);
});

test("events are iterated over, and a refusal is thrown", async (t) => {
  const service = await serve(t, answers(200, "id: 1\nevent: run.created\ndata: {}\n\nid: 2\nevent: run.completed\ndata: {}\n\n",
    { "Content-Type": "text/event-stream" }));
  const names: string[] = [];
  for await (const event of made(service.url, new FakeClock()).events(runId)) {
    names.push(event.name);
  }
  assert.deepEqual(names, ["run.created", "run.completed"]);
  const other = await serve(t, refuses("not_found", 404, false));
  assert.ok(await failureOf(made(other.url, new FakeClock()).events(runId).next()) instanceof RefusedError);
});

test("a callback is signed", async () => {
  assert.equal(
    await signature({ receipt: "r-1", run: runId, secret: "secret" }, 1772442904, '{"result":"PASS"}'),
    "t=1772442904,v2=b1b3179137b99d2418550a7104c2c3c72ae867737772455bdcbcdb00f4a0ea6b",
  );
});
