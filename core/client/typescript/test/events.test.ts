import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser, type Message } from "../src/events.js";

function parse(text: string, size: number): Message[] {
  const told: Message[] = [];
  const parser = new EventParser((message) => told.push(message));
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) {
    parser.push(bytes.subarray(at, at + size));
  }
  return told;
}

test("events are read however they are cut", () => {
  const want: Message[] = [
    { id: "1", name: "run.created", data: '{"name":"Zähler ☃"}' },
    { id: "1", name: "other", data: "a\n b: c\n" },
    { id: "3", name: "last", data: "" },
  ];
  const lines = [
    ": a comment", "", "id: 1", "event: run.created", 'data: {"name":"Zähler ☃"}', "", "event:other", "data:a",
    "data:  b: c", "data", "retry: 5", "", "id:3", "event:last", "", "event: unfinished", "data: x",
  ];
  for (const ending of ["\n", "\r\n", "\r"]) {
    for (let size = 1; size < 80; size++) {
      assert.deepEqual(parse(lines.join(ending), size), want, `${JSON.stringify(ending)} by ${size}`);
    }
  }
});

test("an event without an end is given up", () => {
  assert.throws(() => parse(`data: ${"x".repeat(2 ** 21)}`, 2 ** 16), /too long/);
  assert.throws(() => parse("data: x\n".repeat(2 ** 18), 2 ** 16), /too long/);
});
