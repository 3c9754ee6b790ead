import assert from "node:assert/strict";
import fs, { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

import { keyFromStorage, newKey } from "../src/index.js";
import { keyFromFile } from "../src/node.js";

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "client-"));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

test("a key is a UUIDv7 of its own", async () => {
  const before = Date.now();
  const keys = await Promise.all(Array.from({ length: 1000 }, newKey));
  assert.equal(new Set(keys).size, 1000);
  for (const key of keys) {
    assert.match(key, uuid7);
    const at = Number.parseInt(key.replace("-", "").slice(0, 12), 16);
    assert.ok(at >= before && at <= Date.now(), `${key} is of ${at}`);
  }
});

test("a key in a file stays", async (t) => {
  const home = await folder(t);
  const path = join(home, "key");
  const key = await keyFromFile(path);
  assert.match(key, uuid7);
  assert.equal(await readFile(path, "utf8"), `${key}\n`);
  assert.equal(await keyFromFile(path), key);
  await writeFile(path, "invoice-4711\r\n");
  assert.equal(await keyFromFile(path), "invoice-4711");
  assert.deepEqual(await readdir(home), ["key"]);
});

test("a race for a file has one winner", async (t) => {
  const home = await folder(t);
  const keys = await Promise.all(Array.from({ length: 20 }, () => keyFromFile(join(home, "key"))));
  assert.equal(new Set(keys).size, 1);
  assert.deepEqual(await readdir(home), ["key"]);
});

test("the key of another program is not replaced", async (t) => {
  const home = await folder(t);
  const path = join(home, "key");
  const { open } = fs;
  t.after(() => {
    fs.open = open;
    syncBuiltinESMExports();
  });
  // The other program is first when this one has seen that there is no file.
  let first = true;
  fs.open = async (...args: Parameters<typeof open>) => {
    if (first) {
      first = false;
      await writeFile(path, "other\n");
    }
    return open(...args);
  };
  syncBuiltinESMExports();
  assert.equal(await keyFromFile(path), "other");
  assert.deepEqual(await readdir(home), ["key"]);
});

test("a file or a storage without a key is refused", async (t) => {
  const path = join(await folder(t), "key");
  for (const text of ["", "\n", "two words", "a\nb\n", "ré", "k".repeat(256)]) {
    await writeFile(path, text);
    await assert.rejects(keyFromFile(path), /is no idempotency key/);
    const storage = { getItem: () => text, setItem: () => assert.fail("the storage is written") };
    await assert.rejects(keyFromStorage(storage, "import"), /is no idempotency key/);
  }
  await assert.rejects(keyFromFile(join(path, "below", "a file")));
});

test("a key in a storage stays", async () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: async (name: string) => kept.get(name) ?? null,
    setItem: async (name: string, value: string) => void kept.set(name, value),
  };
  const key = await keyFromStorage(storage, "import");
  assert.match(key, uuid7);
  assert.equal(kept.get("import"), key);
  assert.equal(await keyFromStorage(storage, "import"), key);
  assert.notEqual(await keyFromStorage(storage, "export"), key);
});

test("a key that cannot be kept is not used", async () => {
  const full = {
    getItem: () => null,
    setItem: () => {
      throw new Error("QuotaExceededError");
    },
  };
  await assert.rejects(keyFromStorage(full, "import"), /QuotaExceededError/);
});
