// A program of a user with strict types.
import {
  Client, type Finding, RefusedError, type Run, type Started, UnknownOutcomeError, keyOf,
} from "@simplevalidations/client";
import { documentFromFile } from "@simplevalidations/client/node";
import { FakeServer, fakeStep } from "@simplevalidations/client/testing";

const { URL: url = "", TOKEN: token = "", KEY: key = "" } = process.env;

async function check(client: Client): Promise<Run> {
  const started: Started = await client.start({
    workflow: "building", key, ...await documentFromFile("good.json"), mediaType: "application/json",
  }, { signal: AbortSignal.timeout(60_000) });
  const ended: string | null = started.run.ended_at;
  if (ended !== null) {
    throw new Error("the run has ended before it began");
  }
  return client.wait(started.run.id, { onEvent: (event) => console.log(event.name) });
}

async function explain(client: Client): Promise<string> {
  try {
    await client.start({ workflow: "unknown", ...await documentFromFile("package.json") });
  } catch (error) {
    if (error instanceof RefusedError && error.code === "not_found") {
      return keyOf(error) ?? "";
    }
    if (error instanceof UnknownOutcomeError) {
      return error.runId ?? "";
    }
    throw error;
  }
  return "";
}

const client = new Client(url, { token, retries: { attempts: 6 } });
if (await explain(client) === "") {
  throw new Error("an unknown workflow was started");
}
const server = await FakeServer.start();
server.outcome("FAIL", fakeStep());
if ((await new Client(server.url).startAndWait({ workflow: "building", content: "x" })).result !== "FAIL") {
  throw new Error("the fake server does not do as it is told");
}
await server.close();
const run = await check(client);
const findings: Finding[] = [];
for await (const finding of client.findings(run.id)) {
  findings.push(finding);
}
console.log(findings.length, run.state, run.result);
