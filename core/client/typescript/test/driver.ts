// Executes calls for the tests that all clients have in common: one per line on standard input, and one outcome per
// line on standard output, in any order.
import { createInterface } from "node:readline";

import {
  CallError, Client, RefusedError, type Retries, type Run, type StartRequest, type Started, UnknownOutcomeError,
  UnreachableError, keyOf, verifyWebhook,
} from "../src/index.js";
import { documentFromFile, keyFromFile } from "../src/node.js";

interface Command {
  workflow?: string;
  version?: number;
  key?: string;
  key_file?: string;
  content_base64?: string;
  file?: string;
  filename?: string;
  media_type?: string;
  name?: string;
  short_description?: string;
  metadata?: Record<string, unknown>;
  run_id?: string;
  webhook?: { headers: Record<string, string>; body: string; secrets: string[] | null; now: number };
}

interface Call {
  id: string;
  base_url: string;
  token: string;
  op: string;
  args: Command;
  options: {
    attempts: number; min_wait_ms: number; max_wait_ms: number; budget_ms: number; attempt_timeout_ms: number;
  };
}

interface Outcome {
  id: string;
  ok: boolean;
  key?: string | null;
  run_id?: string | null;
  attempts?: number;
  replayed?: boolean;
  state?: string;
  result?: string;
  created_at?: string | null;
  started_at?: string | null;
  ended_at?: string | null;
  items?: string[];
  events?: string[];
  error?: string;
  text?: string;
  code?: string | null;
  status?: number;
  retry_after_ms?: number;
  retryable?: boolean;
}

const clients = new Map<string, Client>();

function clientOf(call: Call): Client {
  const settings = JSON.stringify([call.base_url, call.token, call.options]);
  const known = clients.get(settings);
  if (known !== undefined) {
    return known;
  }
  const { options } = call;
  const retries: Retries = {
    attempts: options.attempts, minWaitMs: options.min_wait_ms, maxWaitMs: options.max_wait_ms,
    budgetMs: options.budget_ms, attemptTimeoutMs: options.attempt_timeout_ms,
  };
  const made = new Client(call.base_url, { token: call.token, retries });
  clients.set(settings, made);
  return made;
}

async function keyFor(args: Command): Promise<{ key?: string }> {
  const key = args.key_file ? await keyFromFile(args.key_file) : args.key;
  return key ? { key } : {};
}

async function startOf(args: Command): Promise<StartRequest> {
  const start: StartRequest = {
    workflow: args.workflow ?? "", ...await keyFor(args),
    content: args.file ? (await documentFromFile(args.file)).content : Buffer.from(args.content_base64 ?? "", "base64"),
  };
  const said = {
    version: args.version, filename: args.filename, mediaType: args.media_type, name: args.name,
    shortDescription: args.short_description, metadata: args.metadata,
  };
  return Object.assign(start, Object.fromEntries(Object.entries(said).filter(([, value]) => value)));
}

async function idsOf(items: AsyncIterable<{ id: string }>): Promise<{ items: string[] }> {
  const ids: string[] = [];
  for await (const item of items) {
    ids.push(item.id);
  }
  return { items: ids };
}

function ofRun(run: Run): Partial<Outcome> {
  const { id, state, result, created_at, started_at, ended_at } = run;
  return { run_id: id, state, result, created_at, started_at, ended_at };
}

function ofStart({ run, key, replayed, attempts }: Started): Partial<Outcome> {
  return { ...ofRun(run), key, replayed, attempts };
}

async function make(call: Call): Promise<Partial<Outcome>> {
  const client = clientOf(call);
  const { args } = call;
  const runId = args.run_id ?? "";
  const events: string[] = [];
  const onEvent = ({ name }: { name: string }): void => void events.push(name);
  switch (call.op) {
    case "start":
      return ofStart(await client.start(await startOf(args)));
    case "run": {
      let begun: Partial<Outcome> = {};
      const run = await client.startAndWait(await startOf(args), {
        onEvent, onStarted: (started) => {
          begun = ofStart(started);
        },
      });
      return { ...begun, ...ofRun(run), events };
    }
    case "rerun":
      return ofStart(await client.rerun(runId, await keyFor(args)));
    case "wait":
      return { ...ofRun(await client.wait(runId, { onEvent })), events };
    case "get":
      return ofRun(await client.run(runId));
    case "cancel":
      return ofRun(await client.cancel(runId));
    case "findings":
      return idsOf(client.findings(runId));
    case "list_runs":
      return idsOf(client.runs());
    case "list_workflows":
      return idsOf(client.workflows());
    case "me":
      return { items: [(await client.me()).id] };
    case "verify": {
      const { headers, body, secrets, now } = args.webhook!;
      const raw = Buffer.from(body);
      return { items: [(await verifyWebhook(headers, raw, secrets ?? [], new Date(now * 1000))).type] };
    }
    default:
      throw new Error(`there is no operation ${call.op}`);
  }
}

function failed(error: unknown): Partial<Outcome> {
  const common = {
    key: keyOf(error), text: String(error), ...error instanceof CallError ? { attempts: error.attempts } : {},
  };
  if (error instanceof RefusedError) {
    return {
      ...common, error: "refused", code: error.code, status: error.status, retryable: error.retryable,
      run_id: error.runId, retry_after_ms: Math.round(error.retryAfterMs ?? 0),
    };
  }
  if (error instanceof UnknownOutcomeError) {
    return { ...common, error: "unknown_outcome", run_id: error.runId };
  }
  return { ...common, error: error instanceof UnreachableError ? "unreachable" : "invalid" };
}

async function execute(call: Call): Promise<Outcome> {
  try {
    return { id: call.id, ok: true, ...await make(call) };
  } catch (error) {
    return { id: call.id, ok: false, ...failed(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  void execute(JSON.parse(line) as Call).then((outcome) => process.stdout.write(`${JSON.stringify(outcome)}\n`));
}
