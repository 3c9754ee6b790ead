import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, describe, test } from "node:test";
import { inspect } from "node:util";

import { type Content, DocumentError, UnknownOutcomeError } from "../src/index.js";
import { documentFromFile } from "../src/node.js";
import { FakeClock, created, document, failureOf, lost, made, serve } from "./world.js";

const text = "meter_id,kwh\nMünster,2\n";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "client-"));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

/** Reads the parts of a form by what they say of themselves. */
async function partsOf(headers: { "content-type"?: string | undefined }, body: Buffer): Promise<FormData> {
  return new Response(new Blob([body as BlobPart]), { headers: { "Content-Type": headers["content-type"] ?? "" } }).formData();
}

describe("a document can be", () => {
  const bytes = new TextEncoder().encode(text);
  const cases: Record<string, (t: TestContext) => Content | Promise<Content>> = {
    "a text": () => text,
    "bytes": () => bytes,
    "a part of a buffer": () => Buffer.from(`....${text}....`).subarray(4, -4),
    "an ArrayBuffer": () => bytes.buffer,
    "a Blob": () => new Blob([text]),
    "a function that opens a stream of the web": () => () => new Blob([text]).stream(),
    "a function that opens a stream of Node": async (t) => {
      const path = join(await folder(t), "readings.csv");
      await writeFile(path, text);
      return () => createReadStream(path);
    },
    "a file": async (t) => {
      const path = join(await folder(t), "readings.csv");
      await writeFile(path, text);
      return (await documentFromFile(path)).content;
    },
  };
  for (const [name, open] of Object.entries(cases)) {
    test(name, async (t) => {
      const service = await serve(t, lost, lost, created);
      const started = await made(service.url, new FakeClock()).start({ ...document(), content: await open(t) });
      assert.equal(started.attempts, 3);
      for (const { headers, body, digest } of service.sent) {
        assert.equal(digest, service.sent[0]?.digest);
        const file = (await partsOf(headers, body)).get("file");
        assert.ok(file instanceof Blob);
        assert.equal(await file.text(), text);
      }
    });
  }

  test("changed by the caller without an effect", async (t) => {
    const changing = Buffer.from(text);
    const service = await serve(t, (response) => {
      changing.fill("x");
      response.destroy();
    }, created);
    await made(service.url, new FakeClock()).start({ ...document(), content: changing });
    assert.equal(service.sent[0]?.digest, service.sent[1]?.digest);
  });
});

test("a form says what is known of the document", async (t) => {
  const service = await serve(t, created);
  await made(service.url, new FakeClock()).start({
    workflow: "a b/c", version: 2, content: "x", filename: "Zähler 1.csv", mediaType: "text/csv", name: "July",
    shortDescription: "all\r\nof it", metadata: { site: "harbour", "ü": [1, null] },
  });
  const [sent] = service.sent;
  assert.ok(sent);
  assert.equal(sent.path, "/api/workflows/a%20b%2Fc/start/?version=2");
  const parts = await partsOf(sent.headers, sent.body);
  assert.equal(parts.get("name"), "July");
  assert.equal(parts.get("short_description"), "all\r\nof it");
  assert.deepEqual(JSON.parse(String(parts.get("metadata"))), { site: "harbour", "ü": [1, null] });
  assert.match(sent.body.toString(), /filename="Zähler 1.csv"\r\nContent-Type: text\/csv\r\n\r\nx\r\n--/);
});

test("a File brings its name and its type", async (t) => {
  const service = await serve(t, created);
  const content = Object.assign(new Blob(["x"], { type: "text/csv" }), { name: "a\r\nb.csv" });
  const client = made(service.url, new FakeClock());
  await client.start({ workflow: "w", content });
  assert.match(service.sent[0]!.body.toString(), /filename="a%0D%0Ab.csv"\r\nContent-Type: text\/csv\r\n/);
  await client.start({ workflow: "w", content, filename: 'a"\\b', mediaType: "text/plain" });
  assert.match(service.sent[1]!.body.toString(), /filename="a\\"\\\\b"\r\nContent-Type: text\/plain\r\n/);
  await client.start({ workflow: "w", content: "x" });
  assert.match(service.sent[2]!.body.toString(), /form-data; name="file"\r\n\r\nx\r\n--/);
});

describe("a document that cannot be read again", () => {
  test("is refused before anything is sent", async (t) => {
    const service = await serve(t, created);
    const once = new Blob([text]).stream() as unknown as Content;
    const error = await failureOf(made(service.url, new FakeClock()).start({ ...document(), content: once }));
    assert.ok(error instanceof TypeError, inspect(error));
    assert.match(error.message, /only once/);
    assert.equal(service.sent.length, 0);
  });

  test("fails with what it fails with", async (t) => {
    const service = await serve(t, created);
    const reason = new Error("the disk is broken");
    const client = made(service.url, new FakeClock());
    const cases: Content[] = [
      () => Promise.reject(reason),
      async function* () {
        yield new Uint8Array(1);
        throw reason;
      },
    ];
    for (const content of cases) {
      const error = await failureOf(client.start({ ...document(), content }));
      assert.ok(error instanceof DocumentError && error.cause === reason && error.attempts === 1, inspect(error));
    }
    assert.equal(service.sent.length, 0);
  });

  test("is a file that was changed", async (t) => {
    const path = join(await folder(t), "readings.csv");
    await writeFile(path, text);
    const { content, filename } = await documentFromFile(path);
    assert.equal(filename, "readings.csv");
    const service = await serve(t, created);
    await writeFile(path, "other things");
    const error = await failureOf(made(service.url, new FakeClock()).start({ ...document(), content }));
    assert.ok(error instanceof DocumentError && error.key !== null, inspect(error));
    assert.equal(service.sent.length, 0);
  });

  test("leaves the outcome unknown when an attempt was lost before", async (t) => {
    const service = await serve(t, lost);
    let opened = 0;
    const content: Content = () => {
      if (++opened > 1) {
        throw new Error("the disk is broken");
      }
      return new Blob([text]).stream();
    };
    const error = await failureOf(made(service.url, new FakeClock()).start({ ...document(), content }));
    assert.ok(error instanceof UnknownOutcomeError && error.attempts === 2, inspect(error));
  });
});
